"""What is run: tasks, frames, demonstrations, seeds and budgets by preset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from burnside.agents.flow_ppo.config import FlowPPOConfig
from burnside.envs.manipulation.cell import STILL
from burnside.envs.manipulation.tasks import (
    EVALUATION_SCENES,
    EVALUATION_SEED,
    FRAMES,
    FRESH_SEED,
    SUBSTEPS,
    find_task,
)
from burnside.errors import InvalidParameter, UnknownName
from burnside.nn.flow.config import FlowConfig

__all__ = [
    "ARMS",
    "AUGMENTED",
    "CANONICAL",
    "LATER",
    "NOISE",
    "OBSERVATIONS",
    "PILOT_SEED",
    "PRESETS",
    "SETTINGS",
    "VARIANTS",
    "Part",
    "Recipe",
    "Settings",
    "part_recipe",
    "recipe",
]

#: The seed of the first scene on which settings of fine-tuning are chosen.
PILOT_SEED = 300_000
#: Frames in which every demonstration is seen under many motions of the cell, by arm. From the hand's place only the
#: headings of these motions can be told apart.
AUGMENTED = {"augmented": "world", "augmented-relative": "relative"}
#: What can be compared: frames (the paper: the world's and the hand's), and those in which motions are learned from.
ARMS = (*FRAMES, *AUGMENTED)
#: Frames that a motion of the whole cell does not change: what they learn is the same for every spread.
CANONICAL = ("base", "azimuth", "upright", "gripper")
#: What a policy sees: poses, in an MLP; point clouds, in a transformer; poses, in the transformer of the clouds.
OBSERVATIONS = ("state", "cloud", "tokens")
#: Of the executed commands in the demonstrations, in metres, by task: what 'burnside demos' is given in the docs.
NOISE = {"stack-two": 0.003, "stack-three": 0.003, "nut-assembly": 0.002}
#: Settings that came after the first study: at these values they are left out of the configuration of cells.
LATER: dict[str, Any] = {
    "shift": 0.0,
    "turn": 0.0,
    "features": "poses",
    "scales": "range",
    "substeps": SUBSTEPS[0],
    "pool": 0,
    "test_from": EVALUATION_SEED,
    "mishaps": 0.0,
    "pays": "sparse",
    "variant": "",
}


@dataclass(frozen=True)
class Recipe:
    """Everything one run of the pipeline depends on, besides its seed.

    Attributes:
        task: "stack-two", "stack-three" or "nut-assembly".
        arm: the frame of observations and actions, one of :data:`ARMS`.
        demos: how many demonstrations.
        policy: shape of the flow policy.
        imitation: fields of :class:`~burnside.nn.flow.ImitationConfig`.
        agent: of PPO over the chain.
        scenes: held-out scenes of a test.
        evaluate_every: rollouts between tests while fine-tuning.
        noise: of the demonstrations, see :data:`NOISE`.
        shift, turn: how far cells are moved, in metres and degrees.
        features: what the state holds, ``poses`` or ``relations``.
        scales: of observations and actions: ``range`` (of the data, so another one in every frame) or ``metric``.
        substeps: physics steps in a control step.
        pool: the seed draws demonstrations from this many at the beginning of the file, the same for all arms; 0: the
            first ``demos`` for every seed.
        test_from: the seed of the first scene of a test.
        mishaps: probability per step of the demonstrations that something goes wrong and the expert recovers.
        pays: the reward of fine-tuning, ``sparse`` or ``staged``.
        variant: a name for other settings of PPO, see :data:`VARIANTS`.
    """

    task: str
    arm: str
    demos: int
    policy: FlowConfig
    imitation: Mapping[str, Any]
    agent: FlowPPOConfig
    scenes: int = EVALUATION_SCENES
    evaluate_every: int = 5
    noise: float = 0.0
    shift: float = 0.0
    turn: float = 0.0
    features: str = "poses"
    scales: str = "range"
    substeps: int = SUBSTEPS[0]
    pool: int = 0
    test_from: int = EVALUATION_SEED
    mishaps: float = 0.0
    pays: str = "sparse"
    variant: str = ""

    @property
    def frame(self) -> str:
        """The frame of the arm."""
        return AUGMENTED.get(self.arm, self.arm)

    @property
    def cloud(self) -> bool:
        """Whether the policy sees clouds."""
        return self.policy.encoder == "cloud"

    @property
    def observation(self) -> str:
        """One of :data:`OBSERVATIONS`."""
        return "cloud" if self.cloud else "tokens" if self.policy.trunk == "ditx" else "state"

    def to_json(self) -> dict[str, Any]:
        """Plain values, for the configuration of cells."""
        own = {"task": self.task, "arm": self.arm, "demos": self.demos, "noise": self.noise}
        seen = {"observation": self.observation, "test_scenes": self.scenes}
        learnt = {"policy": self.policy.to_json(), "imitation": dict(self.imitation), "agent": self.agent.to_json()}
        later = {key: getattr(self, key) for key, usual in LATER.items() if getattr(self, key) != usual}
        more = {"setting": later} if later else {}
        return {**own, **seen, **learnt, "evaluate_every": self.evaluate_every, **more}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Recipe:
        """The inverse of :meth:`to_json`; further keys are left alone."""
        return cls(
            str(found["task"]),
            str(found["arm"]),
            int(found["demos"]),
            FlowConfig.from_json(dict(found["policy"])),
            dict(found["imitation"]),
            FlowPPOConfig(**found["agent"]),
            int(found["test_scenes"]),
            int(found["evaluate_every"]),
            float(found["noise"]),
            **{key: type(usual)(found.get("setting", {}).get(key, usual)) for key, usual in LATER.items()},
        )


@dataclass(frozen=True)
class Settings:
    """How large a preset is.

    Attributes:
        state: the policy that sees poses; ``obs_dim`` is filled in.
        cloud: the policy that sees clouds.
        imitation: of the first.
        cloud_imitation: of the second.
        agent: of PPO.
        scenes: of a test.
        evaluate_every: rollouts between tests.
        demos: by task.
        fair: the policy that sees relations (or, as ``fair_cloud``, clouds); one observation.
        fair_imitation: of it.
        fair_agent: of PPO from it.
        fair_scenes: of a test of it, and the seed of the first.
        pool: from how many demonstrations its own are drawn.
    """

    state: FlowConfig
    cloud: FlowConfig
    imitation: Mapping[str, Any]
    cloud_imitation: Mapping[str, Any]
    agent: FlowPPOConfig
    scenes: int
    evaluate_every: int
    demos: Mapping[str, int]
    fair: FlowConfig
    fair_imitation: Mapping[str, Any]
    fair_agent: FlowPPOConfig
    fair_scenes: tuple[int, int]
    pool: int


_CHUNK: dict[str, Any] = {"act_dim": 10, "horizon": 16, "n_obs": 2, "n_act": 8, "trunk": "direct"}
# The flow has learned one action per scene and forgets the noise of all steps but the last: only that one is noisy. Its
# size is a share of the range of the actions (0.02 × 0.3 m); with 0.05 two thirds of the successes are gone.
_NOISE: dict[str, Any] = {"noise": "constant", "logprob": "last_step", "sigma": 0.02, "executed_only": True}
_SMALL = FlowConfig(**_CHUNK, **_NOISE, layers=2, width=64, value_width=32)
_STATE = FlowConfig(**_CHUNK, **_NOISE, layers=3, width=512)
_TINY_CLOUD = FlowConfig.preset("tiny", act_dim=10, **_NOISE)
_CLOUD = FlowConfig.preset("laptop", points=64, cloud_steps=1, **_NOISE)
# A rollout is as long as an episode (50 decisions of 8 steps): failures last to the limit, so shorter ones would
# alternate between all beginnings and all dead ends.
_AGENT = FlowPPOConfig(
    scenes=16,
    rollout=50,
    budget=100_000,
    epochs=5,
    minibatch=400,
    critic_rollouts=2,
    critic_epochs=4,
    actor_rate=2e-5,
    actor_warmup=20,
)

# One observation: with two, velocity is an input of unit variance where the hand itself stands still, and is copied.
# Noise of σ × 0.1 m = 3 mm, one draw for a chunk, and for the gripper one that can change its sign.
_FAIR = FlowConfig(
    **{**_CHUNK, **_NOISE, "n_obs": 1, "sigma": 0.03},
    grip_sigma=0.5,
    chunk_noise=True,
    value_time=True,
    layers=3,
    width=256,
    value_width=256,
)
# A rollout is an episode of stack-two long. The actor waits for the critic, and is stopped by what the whole rollout
# says. An update sees all of it: most of its decisions follow a failure and say nothing, so a gradient of a quarter is
# mostly noise, which four updates of Adam turn into the whole trust region. λ is short, since what a miss costs is seen
# at the next decision and the rest of the episode is noise.
_FAIR_AGENT = FlowPPOConfig(
    scenes=128,
    rollout=20,
    budget=1_000_000,
    epochs=20,
    minibatch=2560,
    lam=0.6,
    critic_rollouts=2,
    critic_epochs=40,
    actor_rate=5e-5,
    actor_warmup=20,
    target_kl=0.1,
    separate_clips=True,
    kl_stop="rollout",
    actor_waits=0.3,
    critic_limit=15,
    timeout="end",
)
#: Updates on quarters of a rollout and the usual λ.
_QUARTERS: dict[str, Any] = {"minibatch": 640, "epochs": 5, "critic_epochs": 10, "lam": 0.95}

SETTINGS: dict[str, Settings] = {
    # every step of the pipeline, in seconds
    "smoke": Settings(
        _SMALL,
        _TINY_CLOUD,
        {"steps": 10, "batch": 32, "warmup": 2, "time": "grid"},
        {"steps": 4, "batch": 8, "warmup": 1},
        replace(_AGENT, scenes=2, rollout=2, budget=64, minibatch=4, critic_rollouts=1),
        2,
        1,
        {"stack-two": 2, "stack-three": 2, "nut-assembly": 2},
        replace(_FAIR, layers=2, width=64, value_width=32),
        {"steps": 10, "batch": 32, "warmup": 2, "time": "grid"},
        replace(_FAIR_AGENT, scenes=2, rollout=2, budget=64, minibatch=4, critic_rollouts=1, critic_limit=2),
        (2, EVALUATION_SEED),
        3,
    ),
    "laptop": Settings(
        replace(_STATE, width=256),
        _CLOUD,
        {"steps": 1_000, "batch": 128, "warmup": 100, "time": "grid"},
        {"steps": 200, "batch": 64, "warmup": 20},
        replace(_AGENT, scenes=4, rollout=20, budget=2_000, minibatch=80, critic_rollouts=1),
        10,
        5,
        {"stack-two": 30, "stack-three": 30, "nut-assembly": 30},
        _FAIR,
        {"steps": 1_000, "batch": 128, "warmup": 100, "time": "grid"},
        replace(_FAIR_AGENT, scenes=16, budget=10_000, minibatch=320, critic_rollouts=1, critic_limit=2),
        (20, EVALUATION_SEED),
        30,
    ),
    "study": Settings(
        _STATE,
        _CLOUD,
        {"steps": 4_000, "batch": 256, "warmup": 100, "time": "grid"},
        {"steps": 2_000, "batch": 64, "warmup": 100, "time": "grid"},
        _AGENT,
        50,
        4,
        {"stack-two": 60, "stack-three": 500, "nut-assembly": 200},
        _FAIR,
        {"steps": 3_000, "batch": 256, "warmup": 100, "time": "grid"},
        _FAIR_AGENT,
        (200, FRESH_SEED),
        600,
    ),
    # App. C; its imitation is not described, so ManiFlow's own numbers stand here
    "paper": Settings(
        FlowConfig(**_CHUNK, layers=4, width=1024),
        FlowConfig.preset("paper"),
        {"steps": 200_000, "batch": 256, "warmup": 500, "learning_rate": 1e-4},
        {"steps": 200_000, "batch": 256, "warmup": 500, "learning_rate": 1e-4},
        FlowPPOConfig.preset("paper"),
        50,
        3,
        {"stack-two": 1_000, "stack-three": 1_000, "nut-assembly": 1_000},
        replace(_FAIR, layers=4, width=1024),
        {"steps": 200_000, "batch": 256, "warmup": 500, "learning_rate": 1e-4},
        replace(_FAIR_AGENT, budget=2_000_000),
        (200, FRESH_SEED),
        1_000,
    ),
}


def recipe(
    preset: str,
    task: str,
    arm: str,
    *,
    observation: str = "state",
    points: int | None = None,
    demos: int | None = None,
    budget: int | None = None,
    features: str = "poses",
    spread: tuple[float, float] = STILL,
    mishaps: float = 0.0,
    pays: str = "sparse",
) -> Recipe:
    """The recipe of a preset.

    With the features ``relations`` all arms get the same information, in the same units: one observation, metric
    scales, physics of 5 ms, demonstrations drawn by the seed. With ``poses`` it is what the first study ran.

    >>> found = recipe("study", "nut-assembly", "gripper", demos=50)
    >>> found.policy.obs_dim, found.demos, found.agent.budget
    (35, 50, 100000)

    Args:
        preset: smoke, laptop, study or paper.
        task: "stack-two", "stack-three" or "nut-assembly".
        arm: the frame of observations and actions, one of :data:`ARMS`.
        observation: one of :data:`OBSERVATIONS`.
        points: size of the cloud; default the preset's.
        demos: how many demonstrations; default the preset's.
        budget: environment steps of fine-tuning; default the preset's.
        features: what the state holds, ``poses`` or ``relations``.
        spread: how far cells are moved, in metres and degrees.
        mishaps: of the demonstrations, see :class:`Recipe`.
        pays: reward of fine-tuning, ``sparse`` or ``staged``.
    """
    from burnside.envs.manipulation.cell import check_spread
    from burnside.envs.manipulation.observations import ACTION_LAYOUT, FEATURES, state_layout  # loads compiled code

    if preset not in SETTINGS:
        raise UnknownName("preset", preset, SETTINGS)
    if arm not in ARMS:
        raise UnknownName("arm", arm, ARMS)
    if observation not in OBSERVATIONS:
        raise UnknownName("observation", observation, OBSERVATIONS)
    if features not in FEATURES:
        raise UnknownName("features", features, FEATURES)
    shift, turn = check_spread(spread)
    if arm in AUGMENTED and (shift, turn) == STILL:
        raise InvalidParameter("augmentation moves cells within their spread, which is 0: give a spread")
    if (shift or turn) and arm in ("base", "azimuth") and features == "poses":
        raise InvalidParameter(f"the arm {arm} of a cell that is moved must see its base: give the features relations")
    if demos is not None and demos < 1:
        raise InvalidParameter(f"demonstrations is {demos}: give at least 1")
    size, which = SETTINGS[preset], find_task(task)
    cloud = observation == "cloud"
    like_cloud = observation != "state"
    fair = features == "relations"
    usual = size.fair if fair else size.state
    policy = replace(
        _seen_once(size.cloud, size.fair) if fair and like_cloud else size.cloud if like_cloud else usual,
        obs_dim=state_layout(which, not cloud, features).width,
        act_dim=ACTION_LAYOUT.width,
    )
    if cloud and points is not None:
        policy = replace(policy, points=points)
    elif like_cloud and not cloud:
        policy = replace(policy, encoder="state", points=0, cloud_steps=0)
    agent = size.fair_agent if fair else size.agent
    imitation = size.fair_imitation if fair else size.imitation
    scenes, first = size.fair_scenes if fair else (size.scenes, EVALUATION_SEED)
    return Recipe(
        task,
        arm,
        size.demos[task] if demos is None else demos,
        policy,
        size.cloud_imitation if like_cloud else imitation,
        agent if budget is None else replace(agent, budget=budget),
        scenes,
        size.evaluate_every,
        NOISE[task],
        shift,
        turn,
        features,
        "metric" if fair else "range",
        SUBSTEPS[1] if fair else SUBSTEPS[0],
        size.pool if fair else 0,
        first,
        mishaps,
        pays,
    )


def _seen_once(cloud: FlowConfig, fair: FlowConfig) -> FlowConfig:
    """The network of clouds with one observation and the noise of the fair settings."""
    same = ("sigma", "grip_sigma", "chunk_noise", "value_time", "noise", "logprob", "executed_only")
    return replace(cloud, n_obs=1, cloud_steps=1, **{name: getattr(fair, name) for name in same})


@dataclass(frozen=True)
class Part:
    """Some cells of a plan: every arm × number of demonstrations × seed.

    Attributes:
        task: "stack-two", "stack-three" or "nut-assembly".
        arms: what is compared.
        demos: numbers of demonstrations.
        seeds: how many, from ``first`` on.
        finetune: whether PPO follows: ``no``, ``gate`` (if imitation succeeds neither too rarely nor
            too often) or ``always``.
        observation: one of :data:`OBSERVATIONS`.
        budget: environment steps of PPO; default the preset's.
        first: the first seed.
        features: ``poses``, or ``relations`` for the fair comparison; see :func:`recipe`.
        spread: how far cells are moved, in metres and degrees.
        mishaps: of the demonstrations.
        pays: reward of PPO.
        variant: a name for other settings of PPO, see :data:`VARIANTS`.
        updates: of imitation; default the preset's.
        test_from: the seed of the first scene of a test; default the preset's.
        kind: of the cells, so that a part of a study can be run: ``pipeline`` (the first study), ``frames`` (the
            comparison of frames), ``tuning`` (what moves PPO) or ``finetune`` (in several frames).
    """

    task: str
    arms: tuple[str, ...]
    demos: tuple[int, ...]
    seeds: int
    finetune: str = "no"
    observation: str = "state"
    budget: int | None = None
    first: int = 0
    features: str = "poses"
    spread: tuple[float, float] = STILL
    mishaps: float = 0.0
    pays: str = "sparse"
    variant: str = ""
    updates: int | None = None
    test_from: int | None = None
    kind: str = "pipeline"


#: Other settings of PPO: fields of the policy, fields of the agent.
VARIANTS: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "": ({}, {}),
    # what each repair is worth: one of them taken back
    "no gripper noise": ({"grip_sigma": 0.0}, {}),
    "noise per action": ({"chunk_noise": False}, {}),
    "bootstrapped timeouts": ({"value_time": False}, {"timeout": "bootstrap"}),
    "actor does not wait": ({}, {"actor_waits": 0.0}),
    "small batches": ({}, {**_QUARTERS, "target_kl": 0.05}),
    "KL stop per update": ({}, {**_QUARTERS, "target_kl": 0.05, "kl_stop": "update"}),
    "one clip": ({}, {"separate_clips": False}),
    # 1 cm and 0.05 rad, with which a policy that solves 58 of 100 scenes solves 40: a trust region three times as wide
    "wide noise": ({"sigma": 0.1}, {"actor_rate": 1e-4}),
    # App. C to the letter, but for the network: σ = 0.3 at every step, log-probabilities summed, one epoch, KL 0.03
    "App. C": (
        {
            "noise": "flow_sde",
            "sigma": 0.3,
            "logprob": "sum",
            "executed_only": False,
            "grip_sigma": 0.0,
            "chunk_noise": False,
        },
        {
            **_QUARTERS,
            "epochs": 1,
            "target_kl": 0.03,
            "actor_rate": 1e-5,
            "critic_rate": 2e-4,
            "value_clip": 0.2,
            "kl_stop": "update",
            "separate_clips": False,
        },
    ),
}


def part_recipe(preset: str, part: Part, arm: str, demos: int) -> Recipe:
    """The recipe of one cell of a part."""
    found = recipe(
        preset,
        part.task,
        arm,
        observation=part.observation,
        demos=demos,
        budget=part.budget,
        features=part.features,
        spread=part.spread,
        mishaps=part.mishaps,
        pays=part.pays,
    )
    if part.variant not in VARIANTS:
        raise UnknownName("variant of PPO", part.variant, VARIANTS)
    policy, agent = VARIANTS[part.variant]
    found = replace(
        found,
        policy=replace(found.policy, **policy),
        agent=replace(found.agent, **agent),
        variant=part.variant,
        test_from=found.test_from if part.test_from is None else part.test_from,
    )
    if part.updates is None:
        return found
    return replace(found, imitation={**found.imitation, "steps": part.updates})


_STACK, _NUT, _TWO = "stack-three", "nut-assembly", "stack-two"
_PAPER_ARMS = ("world", "base", "gripper")
#: Spreads of the cell: as in the paper, where it stands still; a little; anywhere on a square, in any direction.
_NEAR, _FAR = (0.15, 45.0), (0.3, 180.0)
_RECOVERY = 0.03


def _fair(task: str, arms: tuple[str, ...], demos: tuple[int, ...], seeds: int, **more: Any) -> Part:
    return Part(task, arms, demos, seeds, features="relations", **{"kind": "frames", **more})


# The comparison of frames. The arms that a moved cell does not change are run where it stands still, and one cell far
# away shows that they are the same there. In a cell that stands still `base` is `world` but for rounding, network and
# batches included, so it is run once per task, as a check. Of the sizes, 500 demonstrations in the canonical arms and
# the small spread of stack-three and nut assembly were cut; 15 was added, since with 60 most arms are near the top of
# stack-two, and 30, so that stack-three has a ratio. The most important cells come first.
_FRAMES: tuple[Part, ...] = (
    _fair(_TWO, ("world", "augmented"), (15, 30, 60, 150), 5, spread=_FAR),
    _fair(_TWO, ("gripper", "upright", "world"), (15, 30, 60, 150), 5),
    _fair(_TWO, ("augmented-relative", "relative"), (15, 30, 60), 5, spread=_FAR),
    _fair(_TWO, ("gripper",), (60,), 1, spread=_FAR),
    _fair(_TWO, ("base",), (60,), 1),
    _fair(_STACK, ("world", "augmented"), (30, 60, 150, 500), 5, spread=_FAR),
    _fair(_STACK, ("gripper", "world"), (30, 60, 150), 5),
    _fair(_STACK, ("base",), (150,), 1),
    _fair(_TWO, ("world", "augmented"), (500,), 5, spread=_FAR),
    _fair(_NUT, ("gripper", "world"), (30, 60, 150), 5),
    _fair(_NUT, ("world", "augmented"), (30, 60, 150), 5, spread=_FAR),
    _fair(_NUT, ("base",), (150,), 1),
    _fair(_TWO, ("world", "augmented"), (15, 30, 60, 150), 5, spread=_NEAR),
)
# Whether PPO moves: it begins where imitation in the world's frame succeeds about a third of the time. Settings are
# chosen here, so the scenes of the test are not those that the comparison is judged on.
_START: dict[str, Any] = {"kind": "tuning", "finetune": "always", "mishaps": _RECOVERY, "test_from": PILOT_SEED}
_PILOT: tuple[Part, ...] = tuple(
    _fair(_TWO, ("world",), (15,), 1, **_START, pays=pays, variant=variant)
    for pays, variant in (
        ("staged", ""),
        ("staged", "small batches"),
        ("sparse", ""),
        ("staged", "no gripper noise"),
        ("sparse", "App. C"),
        ("staged", "wide noise"),
        ("sparse", "wide noise"),
    )
)

# Does the frame help fine-tuning? The paper's sparse reward, with the settings that the pilot chose: the wide noise,
# with which it gained 44 points with the staged reward where the others gained 14. In a moved cell
# `base` is what `world` is in one that stands still. From 15 demonstrations the arms begin anywhere from 1 of 200
# scenes (`world`, moved) to 190 (`augmented`), so each is fine-tuned from as many as let it begin near a quarter: 46 to
# 76 of 200 with seed 1 on the pilot's scenes, the augmented arm with the least there can sensibly be.
_TUNE: dict[str, Any] = {**_START, "kind": "finetune", "test_from": None, "first": 1, "variant": "wide noise"}
_TUNED: tuple[Part, ...] = (
    _fair(_TWO, ("world",), (15,), 3, **_TUNE),
    _fair(_TWO, ("gripper",), (8,), 3, **_TUNE),
    _fair(_TWO, ("world",), (30,), 3, **_TUNE, spread=_FAR),
    _fair(_TWO, ("augmented",), (2,), 3, **_TUNE, spread=_FAR),
    _fair(_TWO, ("gripper",), (15,), 3, **_TUNE),
)

PRESETS: dict[str, tuple[Part, ...]] = {
    "smoke": (
        Part(_STACK, ("world", "gripper"), (2,), 1, "always"),
        Part(_NUT, ("gripper",), (2,), 1, "gate"),
        _fair(_TWO, ("world", "base"), (2,), 1, **_START, spread=_FAR, pays="staged"),
        _fair(_TWO, ("augmented", "augmented-relative"), (2,), 1, spread=_FAR, mishaps=_RECOVERY),
    ),
    "laptop": (
        Part(_STACK, ("world", "gripper"), (30,), 1),
        _fair(_TWO, ("world", "gripper"), (30,), 1, spread=_FAR),
    ),
    "study": (
        # PPO from numbers of demonstrations for which imitation ends inside the gate, so other ones per frame (with 50
        # the world's frame turned out to be below it); it costs most
        Part(_STACK, ("gripper",), (500,), 2, "always"),
        Part(_STACK, ("world",), (50,), 2, "always"),
        Part(_STACK, ("world",), (500,), 3),
        Part(_STACK, ("gripper",), (500,), 1, first=2),
        Part(_STACK, ("world",), (100,), 1, "always"),
        Part(_NUT, ("world", "gripper"), (200,), 3),
        Part(_STACK, ("gripper",), (50,), 1, "always", "cloud", budget=20_000),
        Part(_STACK, ("world",), (50,), 1, observation="cloud"),
        Part(_STACK, ("base",), (500,), 2),
        # which of the gripper's symmetries costs what: frames between the world's and the gripper's
        Part(_STACK, ("upright", "azimuth", "relative"), (500,), 1),
        Part(_STACK, ("gripper", "world"), (50,), 1, observation="cloud", first=1),
        # imitation of nut assembly in the gripper's frame turned out to lie inside the gate
        Part(_NUT, ("gripper",), (200,), 1, "gate", first=3),
        # whether poses and clouds disagree because of the number of demonstrations: poses at that of the clouds
        Part(_STACK, ("gripper",), (50, 100), 2),
        Part(_STACK, ("world",), (100,), 1, first=1),
        Part(_STACK, ("upright", "azimuth", "relative"), (500,), 2, first=1),
        Part(_STACK, ("upright", "azimuth", "relative"), (50,), 2),
        # or because of the network: poses in the network of the clouds
        Part(_STACK, ("gripper", "world"), (50,), 2, observation="tokens"),
        *_FRAMES,
        *_PILOT,
        *_TUNED,
    ),
    "paper": (
        Part(_STACK, _PAPER_ARMS, (1_000,), 5, "always", "cloud"),
        Part(_NUT, _PAPER_ARMS, (1_000,), 5, "always", "cloud"),
    ),
}
