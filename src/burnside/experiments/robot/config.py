"""What is run: tasks, frames, demonstrations, seeds and budgets by preset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from burnside.agents.flow_ppo.config import FlowPPOConfig
from burnside.envs.manipulation.tasks import EVALUATION_SCENES, FRAMES, find_task
from burnside.errors import InvalidParameter, UnknownName
from burnside.nn.flow.config import FlowConfig

__all__ = ["ARMS", "NOISE", "OBSERVATIONS", "PRESETS", "SETTINGS", "Part", "Recipe", "Settings", "recipe"]

#: What can be compared; the paper: the first and the last.
ARMS = FRAMES
#: What a policy sees: poses, in an MLP; point clouds, in a transformer; poses, in the transformer of the clouds.
OBSERVATIONS = ("state", "cloud", "tokens")
#: Of the executed commands in the demonstrations, in metres, by task: what 'burnside demos' is given in the docs.
NOISE = {"stack-three": 0.003, "nut-assembly": 0.002}


@dataclass(frozen=True)
class Recipe:
    """Everything one run of the pipeline depends on, besides its seed.

    Attributes:
        task: "stack-three" or "nut-assembly".
        arm: the frame of observations and actions, one of :data:`ARMS`.
        demos: how many demonstrations; the first so many of the file.
        policy: shape of the flow policy.
        imitation: fields of :class:`~burnside.nn.flow.ImitationConfig`.
        agent: of PPO over the chain.
        scenes: held-out scenes of a test.
        evaluate_every: rollouts between tests while fine-tuning.
        noise: of the demonstrations, see :data:`NOISE`.
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
        return {**own, **seen, **learnt, "evaluate_every": self.evaluate_every}

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
    """

    state: FlowConfig
    cloud: FlowConfig
    imitation: Mapping[str, Any]
    cloud_imitation: Mapping[str, Any]
    agent: FlowPPOConfig
    scenes: int
    evaluate_every: int
    demos: Mapping[str, int]


_CHUNK: dict[str, Any] = {"act_dim": 10, "horizon": 16, "n_obs": 2, "n_act": 8, "trunk": "direct"}
# The flow has learned one action per scene and forgets the noise of all steps but the last: only that one is noisy. Its
# size is a share of the range of the actions (0.02 × 0.3 m); with 0.05 two thirds of the successes are gone.
_NOISE: dict[str, Any] = {"noise": "constant", "logprob": "last_step", "sigma": 0.02, "executed_only": True}
_SMALL = FlowConfig(**_CHUNK, **_NOISE, layers=2, width=64, value_width=32)
_STATE = FlowConfig(**_CHUNK, **_NOISE, layers=3, width=512)
_TINY_CLOUD = FlowConfig.preset("tiny", act_dim=10, **_NOISE)
_CLOUD = FlowConfig.preset("laptop", points=64, cloud_steps=1, **_NOISE)
# A rollout is as long as an episode (50 decisions of 8 steps): failures last to the limit, so shorter ones would be by
# turns all beginnings and all dead ends.
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
        {"stack-three": 2, "nut-assembly": 2},
    ),
    "laptop": Settings(
        replace(_STATE, width=256),
        _CLOUD,
        {"steps": 1_000, "batch": 128, "warmup": 100, "time": "grid"},
        {"steps": 200, "batch": 64, "warmup": 20},
        replace(_AGENT, scenes=4, rollout=20, budget=2_000, minibatch=80, critic_rollouts=1),
        10,
        5,
        {"stack-three": 30, "nut-assembly": 30},
    ),
    "study": Settings(
        _STATE,
        _CLOUD,
        {"steps": 4_000, "batch": 256, "warmup": 100, "time": "grid"},
        {"steps": 2_000, "batch": 64, "warmup": 100, "time": "grid"},
        _AGENT,
        50,
        4,
        {"stack-three": 500, "nut-assembly": 200},
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
        {"stack-three": 1_000, "nut-assembly": 1_000},
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
) -> Recipe:
    """The recipe of a preset.

    >>> found = recipe("study", "nut-assembly", "gripper", demos=50)
    >>> found.policy.obs_dim, found.demos, found.agent.budget
    (35, 50, 100000)

    Args:
        preset: smoke, laptop, study or paper.
        task: "stack-three" or "nut-assembly".
        arm: the frame of observations and actions, one of :data:`ARMS`.
        observation: one of :data:`OBSERVATIONS`.
        points: size of the cloud; default the preset's.
        demos: how many demonstrations; default the preset's.
        budget: environment steps of fine-tuning; default the preset's.
    """
    from burnside.envs.manipulation.observations import ACTION_LAYOUT, state_layout  # loads compiled code

    if preset not in SETTINGS:
        raise UnknownName("preset", preset, SETTINGS)
    if arm not in ARMS:
        raise UnknownName("arm", arm, ARMS)
    if observation not in OBSERVATIONS:
        raise UnknownName("observation", observation, OBSERVATIONS)
    if demos is not None and demos < 1:
        raise InvalidParameter(f"demonstrations is {demos}: give at least 1")
    size, which = SETTINGS[preset], find_task(task)
    cloud = observation == "cloud"
    like_cloud = observation != "state"
    policy = replace(
        size.cloud if like_cloud else size.state,
        obs_dim=state_layout(which, objects=not cloud).width,
        act_dim=ACTION_LAYOUT.width,
    )
    if cloud and points is not None:
        policy = replace(policy, points=points)
    elif like_cloud and not cloud:
        policy = replace(policy, encoder="state", points=0, cloud_steps=0)
    return Recipe(
        task,
        arm,
        size.demos[task] if demos is None else demos,
        policy,
        size.cloud_imitation if like_cloud else size.imitation,
        size.agent if budget is None else replace(size.agent, budget=budget),
        size.scenes,
        size.evaluate_every,
        NOISE[task],
    )


@dataclass(frozen=True)
class Part:
    """Some cells of a plan: every arm × number of demonstrations × seed.

    Attributes:
        task: "stack-three" or "nut-assembly".
        arms: what is compared.
        demos: numbers of demonstrations.
        seeds: how many, from ``first`` on.
        finetune: whether PPO follows: ``no``, ``gate`` (if imitation succeeds neither too rarely nor
            too often) or ``always``.
        observation: one of :data:`OBSERVATIONS`.
        budget: environment steps of PPO; default the preset's.
        first: the first seed.
    """

    task: str
    arms: tuple[str, ...]
    demos: tuple[int, ...]
    seeds: int
    finetune: str = "no"
    observation: str = "state"
    budget: int | None = None
    first: int = 0


_STACK, _NUT = "stack-three", "nut-assembly"
_PAPER_ARMS = ("world", "base", "gripper")

PRESETS: dict[str, tuple[Part, ...]] = {
    "smoke": (
        Part(_STACK, ("world", "gripper"), (2,), 1, "always"),
        Part(_NUT, ("gripper",), (2,), 1, "gate"),
    ),
    "laptop": (Part(_STACK, ("world", "gripper"), (30,), 1),),
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
    ),
    "paper": (
        Part(_STACK, _PAPER_ARMS, (1_000,), 5, "always", "cloud"),
        Part(_NUT, _PAPER_ARMS, (1_000,), 5, "always", "cloud"),
    ),
}
