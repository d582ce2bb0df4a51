"""What is run: algorithms, arms, encoders, seeds and budgets by preset, and the paper's own numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from burnside.agents.dqn.config import DQNConfig
from burnside.agents.ppo.config import RingPPOConfig
from burnside.errors import UnknownName

__all__ = ["ALGORITHMS", "PAPER", "PRESETS", "SETTINGS", "VARIANTS", "Budget", "Plan", "Setting", "agent"]

ALGORITHMS = ("dqn", "ppo")


@dataclass(frozen=True, order=True)
class Setting:
    """A row of the table: who learns, how it uses the symmetry, and through which encoder.

    ``pool`` is the paper's encoder. It averages over all cells and so forgets where the goal is, except for what zero
    padding lets through: a handicap of the baseline that has nothing to do with samples. ``flatten`` keeps places.
    ``variant`` names one change of App. C's learner, see ``VARIANTS``; empty: none.
    """

    algorithm: str
    arm: str
    encoder: str
    variant: str = ""

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.algorithm.upper()} {self.arm} {self.encoder} {self.variant}".strip()


SETTINGS: tuple[Setting, ...] = tuple(
    Setting(algorithm, arm, encoder)
    for algorithm, encoder, arm in product(ALGORITHMS, ("pool", "flatten"), ("baseline", "canonical"))
)


#: What was tried to make App. C's PPO learn: fields of ``RingPPOConfig``. The value loss begins at about 60², and one
#: clip of 0.5 holds for the gradients of policy and value together: ``value`` and ``clip`` ask whether that leaves the
#: policy nothing. ``rollout`` asks about noise: a rollout of 512 steps of one environment is five episodes that fail.
#: ``scale`` and ``place`` ask about the input: the goal enters with 20, a mine with −1, the place with three numbers
#: from 0 to 0.8, so that what depends on the place is learned last.
_CHANGES: dict[str, Mapping[str, Any]] = {
    "entropy": {"entropy": 0.01},
    "value": {"value_weight": 0.01},
    "rate": {"learning_rate": 1e-3},
    "rollout": {"rollout": 4_096, "batch": 512},
    "scale": {"item_scale": 0.05},
    "place": {"place": "onehot"},
}


def _all_but(*names: str) -> dict[str, Any]:
    return {key: value for name, change in _CHANGES.items() if name not in names for key, value in change.items()}


#: Those without which nothing is learned in 6 000 episodes.
_SMALLEST = _all_but("entropy", "rollout", "scale")

VARIANTS: dict[str, Mapping[str, Any]] = {
    **_CHANGES,
    "clip": {"grad_clip": 50.0},
    "all": _all_but("scale", "place"),
    "input": {**_CHANGES["scale"], **_CHANGES["place"]},
    "input, rate": {**_CHANGES["scale"], **_CHANGES["place"], **_CHANGES["rate"]},
    "everything": _all_but(),
    **{f"without {name}": _all_but(name) for name in _CHANGES},
    "smallest": _SMALLEST,
    # their control: what the canonical form shows of the place, as a feature without the symmetry
    "smallest, feature": {**_SMALLEST, "place": "relative"},
}
#: Those that were tried for 3 000 episodes.
_SHORT = (*_CHANGES, "clip", "all", "input", "input, rate")


@dataclass(frozen=True)
class Budget:
    """Episodes of a run, and fields of the agent's configuration that differ from App. C because of it."""

    episodes: int
    changes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """A preset.

    Attributes:
        seeds: number of seeds, from 0 on.
        budgets: by algorithm.
        evaluate_every: episodes between evaluations for the learning curve.
        boards: held-out boards of each of them.
        final_boards: held-out boards of the last one.
        settings: what is compared.
        block: seeds that share a cell.
        n: cells along an axis.
        also: further plans that the preset runs after this one, with other settings and budgets.
    """

    seeds: int
    budgets: Mapping[str, Budget]
    evaluate_every: int
    boards: int = 100
    final_boards: int = 1_000
    settings: tuple[Setting, ...] = SETTINGS
    block: int = 1
    n: int = 5
    also: tuple[Plan, ...] = ()


_STUDY = {"dqn": Budget(400, {"batch": 32, "update_every": 4, "epsilon_decay": 0.985}), "ppo": Budget(300)}


def _pool(algorithm: str, *arms: str) -> tuple[Setting, ...]:
    """The paper's encoder, with both arms or those named."""
    return tuple(Setting(algorithm, arm, "pool") for arm in arms or ("baseline", "canonical"))


#: Differences of a preset from App. C are the ``changes`` of its budgets; ``paper`` has none.
PRESETS: dict[str, Plan] = {
    "smoke": Plan(
        2,
        {"dqn": Budget(4, {"update_every": 32}), "ppo": Budget(4, {"rollout": 128, "epochs": 1})},
        evaluate_every=4,
        boards=10,
        final_boards=20,
        block=2,
    ),
    "laptop": Plan(
        2,
        {
            "dqn": Budget(120, {"batch": 16, "update_every": 4, "epsilon_decay": 0.978}),
            "ppo": Budget(40),
        },
        evaluate_every=20,
        boards=20,
        final_boards=200,
        settings=tuple(s for s in SETTINGS if s.encoder == "pool"),
    ),
    "study": Plan(
        5,
        _STUDY,
        evaluate_every=25,
        settings=tuple(s for s in SETTINGS if (s.encoder, s.arm) != ("flatten", "canonical")),
        also=(
            # The encoder as a control of both arms.
            Plan(5, _STUDY, evaluate_every=25, settings=(Setting("dqn", "canonical", "flatten"),)),
            # What makes PPO learn: each change alone, then all, then all but one.
            Plan(
                1,
                {"ppo": Budget(3_000)},
                evaluate_every=250,
                settings=tuple(Setting("ppo", "canonical", "pool", name) for name in _SHORT),
            ),
            Plan(
                1,
                {"ppo": Budget(6_000)},
                evaluate_every=250,
                settings=tuple(Setting("ppo", "canonical", "pool", f"without {name}") for name in _CHANGES),
            ),
            Plan(
                1,
                {"ppo": Budget(20_000)},
                evaluate_every=500,
                settings=tuple(Setting("ppo", "canonical", "pool", name) for name in ("everything", "all")),
            ),
            # The three changes without which it does not learn, alone: both arms, and with the encoder in which the
            # baseline can see the goal.
            Plan(
                3,
                {"ppo": Budget(10_000)},
                evaluate_every=500,
                settings=tuple(
                    Setting("ppo", arm, encoder, "smallest")
                    for encoder in ("pool", "flatten")
                    for arm in ("canonical", "baseline")
                ),
            ),
            Plan(
                3,
                {"ppo": Budget(10_000)},
                evaluate_every=500,
                settings=tuple(
                    Setting("ppo", "baseline", encoder, "smallest, feature") for encoder in ("pool", "flatten")
                ),
            ),
            # PPO to the letter, all its 50 000 episodes: 30 to 40 minutes of one core a run. A second seed of the
            # canonical agent was cut when the first had learned nothing.
            Plan(2, {"ppo": Budget(50_000)}, evaluate_every=500, settings=_pool("ppo", "baseline")),
            Plan(1, {"ppo": Budget(50_000)}, evaluate_every=500, settings=_pool("ppo", "canonical")),
            # DQN to the letter as far as an hour of one core goes, and a long baseline at the study's settings.
            Plan(1, {"dqn": Budget(10_000)}, evaluate_every=100, settings=_pool("dqn", "canonical")),
            Plan(
                1,
                {"dqn": replace(_STUDY["dqn"], episodes=5_000)},
                evaluate_every=100,
                settings=_pool("dqn", "baseline"),
            ),
        ),
    ),
    "paper": Plan(10, {"dqn": Budget(50_000), "ppo": Budget(50_000)}, evaluate_every=500, block=10),
}

#: Section 5: final reward and standard error over ten seeds, non-equivariant and equivariant; algorithm unnamed.
PAPER: dict[str, tuple[float, float]] = {"baseline": (-67.38, 1.12), "canonical": (16.96, 0.32)}


def agent(setting: Setting, plan: Plan) -> DQNConfig | RingPPOConfig:
    """The configuration of a setting's learner.

    >>> agent(SETTINGS[0], PRESETS["paper"]) == DQNConfig.preset("ring3d")
    True
    """
    if setting.algorithm not in ALGORITHMS:
        raise UnknownName("algorithm", setting.algorithm, ALGORITHMS)
    kind: type[DQNConfig | RingPPOConfig] = DQNConfig if setting.algorithm == "dqn" else RingPPOConfig
    changes = dict(plan.budgets[setting.algorithm].changes) | dict(VARIANTS.get(setting.variant, {}))
    return kind.preset("ring3d", encoder=setting.encoder, **changes)
