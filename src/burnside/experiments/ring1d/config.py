"""What is run: sizes, arms, seeds and budgets by preset, and the paper's own numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["PAPER", "PRESETS", "RULES", "VARIANTS", "Plan", "Rule"]


@dataclass(frozen=True)
class Rule:
    """When a run counts as converged; the paper does not say, so several readings are reported.

    Attributes:
        share: of the exact expected optimal return.
        greedy: judged on greedy episodes on held-out boards instead of the moving average of training returns.
    """

    share: float
    greedy: bool = False


#: ``train95`` is the rule of the table: the mean return of the last 100 training episodes reaches 95 % of the optimum.
RULES: dict[str, Rule] = {
    "train95": Rule(0.95),
    "train90": Rule(0.90),
    "greedy95": Rule(0.95, greedy=True),
}


#: Changes of DQN, one thing at a time, to tell instability from a need for samples: fields of ``DQNConfig``.
#: ``paper`` is App. C's. There the target network is copied every ten episodes, that is every 1 600 steps where the
#: baseline fails at N = 40 and about every 250 where it succeeds; ``target-steps`` copies it every 1 000 steps.
VARIANTS: dict[str, Mapping[str, Any]] = {
    "paper": {},
    "huber": {"loss": "huber"},
    "limit-ends": {"limit_ends": True},
    "target-steps": {"target_every_steps": 1_000},
    "double": {"double": True},
    "slow": {"learning_rate": 2.5e-4},
    "slower": {"learning_rate": 1e-4},
}


@dataclass(frozen=True)
class Plan:
    """A preset: sizes, arms, seeds, and episodes per run.

    Attributes:
        sizes: N.
        arms: how the symmetry is used.
        seeds: number of seeds, from ``first`` on.
        episodes: budget of every run.
        block: seeds that share a cell.
        augment: sizes that also run the arm ``augment``.
        equivariant: sizes that also run the arm ``equivariant``.
        equivariant_episodes: budget of those runs, whose engine is slow (see ``players``); they converge well within.
        variants: changes of DQN, by their names in ``VARIANTS``.
        first: the first seed.
        also: further plans that the preset runs after this one, with other sizes and budgets.
    """

    sizes: tuple[int, ...]
    seeds: int
    episodes: int
    arms: tuple[str, ...] = ("baseline", "canonical")
    block: int = 2
    augment: tuple[int, ...] = ()
    equivariant: tuple[int, ...] = ()
    equivariant_episodes: int = 2_000
    variants: tuple[str, ...] = ("paper",)
    first: int = 0
    also: tuple[Plan, ...] = ()


PRESETS: dict[str, Plan] = {
    "smoke": Plan((5,), seeds=2, episodes=150),
    # Up to the sizes where the arms part: at N ≤ 15 there is nothing to see.
    "laptop": Plan(
        (10, 20, 30, 40),
        seeds=3,
        episodes=5_000,
        block=1,
        also=(Plan((5,), seeds=2, episodes=600, augment=(5,), equivariant=(5,), equivariant_episodes=600),),
    ),
    "study": Plan(
        (5, 10, 15, 20, 25, 30, 35, 40, 50),
        seeds=10,
        episodes=10_000,
        augment=(5, 10, 15, 20),
        equivariant=(5, 10),
        also=(
            # The equivariant network at the sizes where the arms part; 15 is cheap, 30 takes ten minutes a run.
            Plan((15, 20), seeds=5, episodes=2_000, arms=(), block=1, equivariant=(15, 20)),
            Plan((30,), seeds=5, episodes=3_000, arms=(), block=1, equivariant=(30,), equivariant_episodes=3_000),
            # Does a longer run of the baseline converge where 10 000 episodes did not, and does the canonical arm stay
            # where it is? One seed per cell: the longest take half an hour.
            Plan((40,), seeds=5, episodes=200_000, block=1),
            Plan((35,), seeds=5, episodes=50_000, arms=("baseline",), block=1),
            # Is it the symmetry, or that the goal's place is subtracted? The control of the canonical form: the place
            # as seen from the goal is a feature of boards that are not moved.
            Plan((10, 20, 30, 35, 40), seeds=10, episodes=10_000, arms=("feature",), block=2),
            # Is it the algorithm's instability? Each change alone; App. C's own settings are in the first of these.
            Plan(
                (40,),
                seeds=5,
                episodes=20_000,
                arms=("baseline",),
                block=1,
                variants=("huber", "limit-ends", "target-steps", "double", "slow"),
            ),
            # A smaller rate was what helped (3 of 5 seeds converged): what is left of the gap if both arms have it?
            Plan((30, 35, 50), seeds=5, episodes=20_000, block=1, variants=("slow",)),
            Plan((40,), seeds=5, episodes=20_000, arms=("canonical",), block=1, variants=("slow",)),
            Plan((40,), seeds=5, episodes=20_000, block=1, variants=("slower",)),
            # and is what is left the symmetry's? The control at the smaller rate.
            Plan((30, 50), seeds=5, episodes=20_000, arms=("feature",), block=1, variants=("slow",)),
            # Five seeds left that open at 35 and 40 (1.4 and 1.9 times as many episodes as the canonical agent's), so
            # five more were added to both; those of the canonical agent from 0 on are named above.
            Plan((35, 40), seeds=10, episodes=20_000, arms=("feature",), block=1, variants=("slow",)),
            Plan((35, 40), seeds=5, first=5, episodes=20_000, arms=("canonical",), block=1, variants=("slow",)),
        ),
    ),
    "paper": Plan(
        (5, 10, 15, 20, 25, 30, 35, 40, 50),
        seeds=10,
        episodes=10_000,
        augment=(5, 10, 15, 20),
        equivariant=(5, 10),
    ),
}

#: Table 1 of the paper: mean and standard error over ten seeds, non-equivariant and equivariant.
PAPER: dict[tuple[int, str], tuple[float, float]] = {
    (5, "baseline"): (280.5, 20.9),
    (5, "canonical"): (290.1, 13.0),
    (10, "baseline"): (484.5, 22.9),
    (10, "canonical"): (405.1, 18.0),
    (15, "baseline"): (788.6, 33.0),
    (15, "canonical"): (493.1, 15.6),
    (20, "baseline"): (1444.1, 137.0),
    (20, "canonical"): (617.1, 28.8),
    (25, "baseline"): (1966.1, 129.4),
    (25, "canonical"): (829.1, 63.9),
    (30, "baseline"): (3016.3, 158.0),
    (30, "canonical"): (997.0, 71.0),
    (35, "baseline"): (6206.6, 635.4),
    (35, "canonical"): (1350.9, 144.2),
    (40, "baseline"): (177334.3, 21201.9),
    (40, "canonical"): (2157.4, 208.2),
}
