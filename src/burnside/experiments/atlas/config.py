"""What is measured: environments, learners, budgets and thresholds, all fixed before the study.

A threshold is a fraction of the way from the score of random actions to the best one known. ``random`` and ``best`` are
mean returns; how they were found is said beside each task, with what a pilot of one seed of the baseline showed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from burnside.errors import InvalidParameter, UnknownName

__all__ = ["ARMS", "CONTROLS", "FRACTIONS", "MAIN", "PATIENCE", "PRESETS", "TASKS", "Task", "conditions"]

#: Thresholds as fractions of the way from random to best, and the one of the table.
FRACTIONS, MAIN = (0.5, 0.65, 0.8, 0.9), 0.8
#: Evaluations in a row that must reach a threshold; the time is that of the first of them.
PATIENCE = 2
#: Arms that ``burnside measure`` knows.
ARMS = (
    "baseline", "canonical", "augment", "augment-random", "averaging", "equivariant", "mirror-loss", "relaxed",
)  # fmt: skip
#: Controls, and the arms they belong to: a saving that a control shares is not one by symmetry.
CONTROLS: Mapping[str, tuple[str, ...]] = {
    "domain": ("canonical",),  # another fundamental domain
    "feature": ("canonical",),  # the indicator of the domain, or the frame's coordinates, without the symmetry
    "placebo": tuple(arm for arm in ARMS if arm != "baseline"),  # a symmetry of the same shape that does not hold
}
USUAL = ("baseline", "canonical", "augment", "averaging")


@dataclass(frozen=True)
class Task:
    """An environment with a learner and a budget.

    Attributes:
        env: a Gymnasium id, ``tictactoe``, or ``module:function``.
        family: where it belongs.
        learner: ``ppo``, ``dqn``, ``sac``, ``sb3:PPO``, …, or ``module:function``.
        steps: environment steps of a run.
        random, best: scores between which thresholds lie; None: what random play and the baseline reach.
        every: environment steps between evaluations.
        episodes: of an evaluation.
        seeds: how many runs of each arm.
        settings: of the learner, where they are not its usual ones.
        arms: which.
        controls: which.
        make: arguments of the environment.
        symmetry: ``atlas``, ``module:obj``, or a declaration in plain values.
        cost: seconds of one run of one seed on one core, from the pilot.
        variant: tells tasks of one environment apart.
        block: seeds of a cell.
        first_seed: the first of the seeds.
        tuned: settings of conditions (``arm/control``) that were tuned, instead of ``settings``.
        code: digests of the user's files that it uses, so that runs of older ones are not taken for its own.
    """

    env: str
    family: str
    learner: str
    steps: int
    random: float | None = None
    best: float | None = None
    every: int = 1000
    episodes: int = 10
    seeds: int = 10
    settings: Mapping[str, Any] = field(default_factory=dict)
    arms: tuple[str, ...] = USUAL
    controls: tuple[str, ...] = tuple(CONTROLS)
    make: Mapping[str, Any] = field(default_factory=dict)
    symmetry: str | Mapping[str, Any] = "atlas"
    cost: float = 30.0
    variant: str = ""
    block: int = 5
    first_seed: int = 0
    tuned: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    code: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what makes no sense, in one sentence."""
        if min(self.steps, self.every, self.episodes, self.seeds, self.block) < 1:
            raise InvalidParameter("steps, evaluations, episodes and seeds must be at least 1")
        if self.every > self.steps:
            raise InvalidParameter(f"a run of {self.steps} steps is never evaluated every {self.every}: give fewer")
        for arm in self.arms:
            if arm not in ARMS:
                raise UnknownName("arm", arm, ARMS)
        for control in self.controls:
            if control not in CONTROLS:
                raise UnknownName("control", control, CONTROLS)
        if (self.random is None) != (self.best is None) or (
            self.best is not None and self.random is not None and not self.random < self.best
        ):
            raise InvalidParameter(f"thresholds need two scores, random {self.random} below best {self.best}")

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.env} {self.variant}".strip()

    def thresholds(self) -> list[float] | None:
        """The scores of :data:`FRACTIONS`; None if they are not known before."""
        if self.random is None or self.best is None:
            return None
        return [self.random + f * (self.best - self.random) for f in FRACTIONS]


def conditions(task: Task) -> list[tuple[str, str]]:
    """Arms and controls of a task, the baseline first: pairs (arm, control).

    >>> conditions(Task("CartPole-v1", "classic control", "ppo", 1000, arms=("baseline", "canonical")))[:3]
    [('baseline', ''), ('canonical', ''), ('canonical', 'domain')]
    """
    found = [("baseline", "")] + [(arm, "") for arm in task.arms if arm != "baseline"]
    for control in task.controls:
        found += [(arm, control) for arm in CONTROLS[control] if arm in task.arms]
    return found


# ---------------------------------------------------------------------- the tasks

_ALL = (*USUAL, "augment-random", "equivariant", "mirror-loss", "relaxed")

#: DQN with a small network and an update after every step, as in the pilots.
_EVERY_STEP = {"hidden": [64, 64], "batch": 64, "update_every": 1, "target_every_steps": 500}

#: For groups over whose elements a network cannot be averaged: rigid motions move points. Of infinite groups every
#: transition gets one image: batches with many were begun, and given up because they took several times as long.
_FORMS = ("baseline", "canonical", "augment-random")

# Comments give what a pilot with one seed of the baseline showed (seeds that the study does not use). Budgets are about
# twice what it needed. That of DoorKey was cut before any of its runs, for want of processor time.
# InvertedDoublePendulum with four updates a step, Reacher with its mirror only, Walker2d-v4 and dm_control's cart-pole
# (swing-up; SAC has 600 after 20 000 steps, 750 after 30 000) were cut whole, before any run. Where a first plan could
# not decide (most runs did not arrive, or all did at once), another one replaced it, chosen from a pilot of the
# baseline alone. Ant was begun and left out: it gets 993 for standing still, above what a gait reaches here (PPO stays
# below that for 160 000 steps); without the reward for standing, SAC has learned nothing after 60 000.
TASKS: tuple[Task, ...] = (
    # 500 after 10 000 to 20 000 steps
    Task("CartPole-v1", "classic control", "ppo", 40_000, 22.0, 500.0, every=512, arms=_ALL, cost=4),
    # −130 after 3 600 steps; −150 is what good policies have on average
    Task("Pendulum-v1", "classic control", "sac", 8_000, -1220.0, -150.0, every=250, arms=_ALL, cost=9),
    Task(
        "Pendulum-v1", "classic control", "sac", 5_000, -1220.0, -150.0, every=250, settings={"updates": 4}, cost=20,
        variant="4 updates a step",
    ),
    # 9.6 after 5 000 steps: the best policies have 9.7; the greedy policy begins below random
    Task(
        "burnside/Ring1D-v0", "Burnside", "dqn", 20_000, 4.8, 9.7, every=500, episodes=50, settings=_EVERY_STEP, cost=6,
    ),
    # 1000 after 12 000 steps. The pole stands a little askew (ε > 0): what relying on the mirror costs
    Task("InvertedPendulum-v5", "MuJoCo", "ppo", 40_000, 5.8, 1000.0, every=512, cost=8),
    # 9 360 after 13 000 steps
    Task("InvertedDoublePendulum-v5", "MuJoCo", "sac", 25_000, 50.0, 9_360.0, every=500, cost=32),
    # 0.8 after 6 000 steps, then up and down; perfect play against random moves has about 0.95
    Task(
        "tictactoe", "board games", "dqn", 30_000, -0.93, 0.95, every=1000, episodes=200, settings=_EVERY_STEP, cost=11,
    ),
    # solved after 6 000 and 40 000 steps; random actions reach 0.44 and 0.01
    Task(
        "MiniGrid-Empty-Random-5x5-v0", "MiniGrid", "ppo", 20_000, 0.0, 0.97, every=512, episodes=50,
        settings={"entropy": 0.01}, cost=9,
    ),
    # An ablation, planned when no arm had differed from the baseline there: is it updates that are wanting?
    Task(
        "MiniGrid-Empty-Random-5x5-v0", "MiniGrid", "ppo", 10_000, 0.0, 0.97, every=512, episodes=50,
        settings={"entropy": 0.01, "epochs": 40}, cost=18, variant="40 epochs",
        arms=("baseline", "averaging", "augment"), controls=("placebo",),
    ),
    # It was not. Is it rounds of improvement, of which each changes the policy by so much only? A pilot (seeds 0 to 4,
    # therefore others here) said so: averaging 1.57 (1.16–2.12).
    Task(
        "MiniGrid-Empty-Random-5x5-v0", "MiniGrid", "ppo", 10_000, 0.0, 0.97, every=256, episodes=50,
        settings={"entropy": 0.01, "rollout": 16, "batch": 64}, cost=8, variant="128 steps a rollout",
        arms=("baseline", "averaging", "augment"), controls=("placebo",), first_seed=10,
    ),
    # 7.2 to 8.4 after 400 000 steps of 64 scenes; a third of the learning rate is slower (7.7 after 1.2 million)
    Task(
        "burnside/PlanarPush-v0", "Burnside", "ppo", 800_000, 0.0, 9.0, every=10_240, episodes=50, arms=_FORMS,
        controls=("feature", "placebo"), settings={"scenes": 64, "rollout": 32, "batch": 512}, cost=16,
    ),
    # Random actions reach −42 and no action at all −10.3, which is therefore the lower end; −4.8 after 12 000 steps
    Task(
        "Reacher-v5", "MuJoCo", "sac", 20_000, -10.3, -3.9, every=500, episodes=50, cost=26,
        arms=("baseline", "canonical", "augment-random", "averaging"),
    ),
    # −500 (nothing) until 50 000 steps, −80 after 90 000; with the usual settings nothing within 40 000
    Task(
        "Acrobot-v1", "classic control", "ppo", 160_000, -500.0, -80.0, every=2048,
        settings={"entropy": 0.01, "learning_rate": 5e-4}, cost=24,
    ),
    # 55 after 80 000 steps, 115 from 190 000 on. SAC, as first planned, was unstable and at its best in the first
    # evaluations
    Task(
        "Swimmer-v5", "MuJoCo", "ppo", 300_000, -2.4, 115.0, every=5120, episodes=5, cost=35,
        settings={"scenes": 8, "rollout": 256, "gamma": 0.9999, "lam": 0.98, "learning_rate": 6e-4},
    ),
    Task(
        "MiniGrid-DoorKey-5x5-v0", "MiniGrid", "ppo", 80_000, 0.0, 0.96, every=2048, episodes=50,
        settings={"entropy": 0.01}, cost=28,
    ),
    # 140 after 44 000 steps, then up and down; 200 is what the environment calls solved. 30 000 steps, as first
    # planned, were over before most runs arrived. Ten seeds became five when the baseline's ten were finished and no
    # other: time was short, and its other five do worse, so that leaving them out cannot make a saving
    Task("LunarLanderContinuous-v3", "Box2D", "sac", 60_000, -247.0, 200.0, every=1000, seeds=5, cost=64),
    # A gait: 1 020 after 220 000 steps, 1 930 after 240 000; no action has 100, the lower end. SAC within 40 000 steps,
    # as first planned, was over before most runs arrived, and so was PPO within 400 000: one of five of the baseline.
    Task(
        "Walker2d-v5", "MuJoCo", "ppo", 600_000, 100.0, 1600.0, every=5120, episodes=5, seeds=5, cost=100,
        settings={"scenes": 16, "rollout": 128, "learning_rate": 3e-4},
    ),
)  # fmt: skip


def _scaled(task: Task, **changes: Any) -> Task:
    return replace(task, **changes)


_SMOKE = (
    _scaled(TASKS[0], steps=3_072, seeds=2, episodes=2, block=2, arms=("baseline", "canonical"), controls=("feature",)),
    _scaled(
        TASKS[1], steps=800, seeds=1, episodes=2, block=1, arms=("baseline", "averaging"), controls=(),
        settings={"hidden": [16, 16], "begin": 200},
    ),
)  # fmt: skip
_LAPTOP = (
    _scaled(TASKS[0], seeds=5, arms=USUAL),
    _scaled(TASKS[1], seeds=3, block=3, arms=("baseline", "averaging"), controls=("placebo",)),
)

#: Tasks of a preset, the cheapest and most decisive first.
PRESETS: dict[str, tuple[Task, ...]] = {"smoke": _SMOKE, "laptop": _LAPTOP, "study": TASKS, "paper": TASKS}
