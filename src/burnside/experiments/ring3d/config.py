"""What is run: algorithms, arms, encoders, seeds and budgets by preset, and the paper's own numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from burnside.agents.dqn.config import DQNConfig
from burnside.agents.ppo.config import RingPPOConfig
from burnside.errors import UnknownName

__all__ = ["ALGORITHMS", "PAPER", "PRESETS", "SETTINGS", "Budget", "Plan", "Setting", "agent"]

ALGORITHMS = ("dqn", "ppo")


@dataclass(frozen=True, order=True)
class Setting:
    """A row of the table: who learns, how it uses the symmetry, and through which encoder.

    ``pool`` is the paper's encoder. It averages over all cells and so forgets where the goal is, except for what zero
    padding lets through: a handicap of the baseline that has nothing to do with samples. ``flatten`` keeps places.
    """

    algorithm: str
    arm: str
    encoder: str

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.algorithm.upper()} {self.arm} {self.encoder}"


SETTINGS: tuple[Setting, ...] = tuple(
    Setting(algorithm, arm, encoder)
    for algorithm, encoder, arm in product(ALGORITHMS, ("pool", "flatten"), ("baseline", "canonical"))
)


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
            # PPO to the letter, all its 50 000 episodes: a bit more than a core-hour a run.
            Plan(2, {"ppo": Budget(50_000)}, evaluate_every=500, settings=_pool("ppo")),
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
    return kind.preset("ring3d", encoder=setting.encoder, **plan.budgets[setting.algorithm].changes)
