"""What is run: tasks, spreads, arms, seeds and budgets by preset."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from burnside.agents.flow_ppo.config import FlowPPOConfig
from burnside.agents.ppo.config import PPOConfig
from burnside.nn.flow.config import FlowConfig

__all__ = ["ARMS", "FULL", "PRESETS", "THRESHOLD", "WINDOW", "FinetunePlan", "ImitationPlan", "PPOPlan", "Plan"]

ARMS = ("world", "relative", "robot")
#: (L, Θ) of scenes anywhere on the table, in any direction.
FULL = (1.0, math.pi)
#: A PPO run has arrived when this share of its last ``WINDOW`` training episodes succeeded.
THRESHOLD, WINDOW = 0.9, 500


@dataclass(frozen=True)
class PPOPlan:
    """PPO until 90 % of the training episodes succeed, or the budget is spent.

    Attributes:
        spreads: (L, Θ).
        episodes: budget.
        seeds: how many, from 0 on.
        task: ``push`` or ``stack``.
        arms: what is compared.
        agent: hyperparameters.
        block: seeds that share a cell.
    """

    spreads: tuple[tuple[float, float], ...]
    episodes: int
    seeds: int
    task: str = "push"
    arms: tuple[str, ...] = ARMS
    agent: PPOConfig = field(
        # small steps: with the default rate the world frame stops improving early, and the robot's gains nothing
        default_factory=lambda: PPOConfig.preset("planar", learning_rate=3e-4, epochs=8)
    )
    block: int = 1


@dataclass(frozen=True)
class ImitationPlan:
    """Flow matching on expert episodes.

    Attributes:
        demos: numbers of demonstrations.
        seeds: how many, from 0 on.
        steps: updates.
        task: ``push`` or ``stack``.
        arms: what is compared.
        spread: (L, Θ).
        episodes: held-out scenes of the test.
        policy: preset of the flow policy.
        time: at which times of the flow it learns, see :class:`~burnside.nn.flow.ImitationConfig`.
        noise: of the expert's executed commands; what is recorded is the command, so that the pupil sees how to come
            back (``demonstrate``).
    """

    demos: tuple[int, ...]
    seeds: int
    steps: int
    task: str = "push"
    arms: tuple[str, ...] = ARMS
    spread: tuple[float, float] = FULL
    episodes: int = 500
    policy: str = "planar-direct"
    time: str = "grid"
    noise: float = 0.3


@dataclass(frozen=True)
class FinetunePlan:
    """Imitation, then PPO over the denoising chain.

    Attributes:
        demos: of each arm; with ``steps`` chosen so that imitation ends between 20 % and 60 %, where the reward has
            something to say.
        seeds: how many, from 0 on.
        steps: updates of imitation, of each arm.
        agent: of PPO.
        evaluate_every: rollouts between evaluations.
        task: ``push`` or ``stack``.
        spread: (L, Θ).
        episodes: held-out scenes of the test.
        policy: preset of the flow policy.
        noise: of the demonstrations, as in :class:`ImitationPlan`.
        variant: what is taken back of the settings, for an ablation; its cells have a kind of their own.
        flow: fields of the flow policy that the variant changes.
    """

    demos: Mapping[str, int]
    seeds: int
    steps: Mapping[str, int]
    agent: FlowPPOConfig
    evaluate_every: int = 5
    task: str = "push"
    spread: tuple[float, float] = FULL
    episodes: int = 500
    policy: str = "planar"
    noise: float = 0.3
    variant: str = ""
    flow: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """A preset: what is run of each question."""

    ppo: tuple[PPOPlan, ...] = ()
    imitation: tuple[ImitationPlan, ...] = ()
    finetune: tuple[FinetunePlan, ...] = ()


#: Where imitation in the world's frame is neither hopeless nor done.
_MEDIUM = (0.3, math.pi / 4)
#: What was changed before fine-tuning worked, each taken back: fields of the flow policy, fields of PPO.
_TAKEN_BACK: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "noise at every step": ({"noise": "flow_sde", "logprob": "sum"}, {}),
    "no warm-up": ({}, {"actor_warmup": 0}),
    "rollouts of half an episode": ({}, {"rollout": 25}),
}
_TAKEN_BACK["all three"] = (
    {key: value for flow, _ in _TAKEN_BACK.values() for key, value in flow.items()},
    {key: value for _, agent in _TAKEN_BACK.values() for key, value in agent.items()},
)
_TUNED = FinetunePlan(
    {"world": 100, "robot": 10}, 5, {"world": 1_500, "robot": 120}, FlowPPOConfig.preset("planar"), spread=_MEDIUM
)
#: A fifth of the study's budget, which lifts a robot's policy by some twenty points.
_QUICK = FlowPPOConfig.preset("planar", scenes=256, minibatch=1_600, budget=200_000, critic_rollouts=1, actor_warmup=40)
_SMALL = PPOConfig.preset("planar", scenes=64, rollout=16, batch=512)

PRESETS: dict[str, Plan] = {
    "smoke": Plan(
        (PPOPlan((FULL,), 200, 1, agent=_SMALL),),
        (ImitationPlan((5,), 1, 20, episodes=20),),
        (
            FinetunePlan(
                {"world": 5, "robot": 5},
                1,
                {"world": 20, "robot": 20},
                FlowPPOConfig.preset("planar", scenes=8, rollout=4, budget=600, minibatch=16, critic_rollouts=1),
                1,
                episodes=20,
            ),
        ),
    ),
    "laptop": Plan(
        (PPOPlan((FULL,), 10_000, 2),),
        (ImitationPlan((10, 40), 2, 600, episodes=200),),
        (
            FinetunePlan(
                {"robot": 10},
                1,
                {"robot": 120},
                _QUICK,
                2,
                spread=_MEDIUM,
                episodes=200,
            ),
        ),
    ),
    "study": Plan(
        (PPOPlan(((0.0, 0.0), (0.5, math.pi / 2), FULL), 80_000, 5),),
        (
            # the world's frame needs the updates: with 3 000 it does a third as well at 200 demonstrations
            ImitationPlan((10, 40, 200), 3, 6_000),
            ImitationPlan((1_000,), 3, 6_000, arms=("world",)),
            ImitationPlan((40, 200), 1, 6_000, task="stack"),
        ),
        (
            _TUNED,
            *(
                replace(_TUNED, variant=name, flow=flow, agent=FlowPPOConfig.preset("planar", **agent))
                for name, (flow, agent) in _TAKEN_BACK.items()
            ),
        ),
    ),
    "paper": Plan(
        (PPOPlan(((0.0, 0.0), (0.3, math.pi / 4), (0.5, math.pi / 2), FULL), 500_000, 10),),
        (ImitationPlan((10, 40, 200, 1_000), 10, 20_000),),
        (FinetunePlan(dict.fromkeys(ARMS, 200), 10, dict.fromkeys(ARMS, 20_000), FlowPPOConfig.preset("paper")),),
    ),
}


def flow_config(preset: str, obs_dim: int, act_dim: int) -> FlowConfig:
    """The flow policy of a task.

    >>> flow_config("planar", 8, 3).chunk[1]
    3
    """
    return FlowConfig.preset(preset, obs_dim=obs_dim, act_dim=act_dim)
