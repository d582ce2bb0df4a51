"""What is run: arms, budgets, sizes and seeds by preset; and what others have published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from burnside.agents.cube_walks.config import WalkConfig

__all__ = [
    "ARMS",
    "FIRST_TABLE",
    "PRESETS",
    "PUBLISHED",
    "RATES",
    "SHIPPED",
    "SLICES",
    "TUNED",
    "Plan",
    "Published",
    "Slices",
    "agent",
]

#: The arms by name: what is done with the symmetry, and whether both sides of the walk are learned.
ARMS: dict[str, tuple[str, int]] = {
    "none": ("baseline", 1),
    "position": ("position", 1),
    "augment": ("augment", 1),
    "canonical-48": ("conjugation", 1),
    "equivariant-48": ("equivariant", 1),
    # both ends of the walk are learned: without symmetry, and with 96 elements
    "none, two sides": ("baseline", 2),
    "equivariant-96": ("equivariant", 2),
}
#: Learning rates that every arm is tried with.
RATES = (2e-3, 6e-3, 1.8e-2)
#: The best of them for every arm: what ``burnside table cube_solver`` says of the kind ``rate``. The smallest is the
#: best nearly everywhere, so smaller ones might be better still, for all arms.
TUNED: Mapping[str, float] = dict.fromkeys(ARMS, 2e-3) | {"position": 6e-3}
#: The arm of the shipped policy.
SHIPPED = "equivariant-96"
#: The arm of cubes whose inner layers turn: equal centres leave s⁻¹ without a meaning, so there is one side.
SLICES = "equivariant-48"
#: Depth of the table of the last turns in cells that do not name it: the first ones of cubes with slice turns.
FIRST_TABLE = 4
#: Seeds of the runs that chose the rates; the others never use them.
RATE_SEEDS = 100


@dataclass(frozen=True)
class Slices:
    """A cube whose inner layers turn too, which is really harder than the 3-cube.

    Attributes:
        n: layers along an edge.
        agent: the recipe.
        seeds: how many, from 0 on.
        tries: turns of a scramble, width of the beam, and how many cubes it is tried on.
        depth: layers the beam may use.
        table: depth of the table of the last turns.
        shipped: the policy that comes with the package is tried; it was made by this recipe, and nothing is trained.
    """

    n: int
    agent: WalkConfig
    seeds: int
    tries: tuple[tuple[int, int, int], ...]
    depth: int = 100
    table: int = FIRST_TABLE
    shipped: bool = False


@dataclass(frozen=True)
class Plan:
    """A preset.

    Attributes:
        budgets: training states by arm, each a run of its own, whose rate falls to zero at its end.
        seeds: of these, from 0 on.
        rate_budgets: training states of the runs that choose the rate, by arm.
        rate_seeds: of these, from 100 on.
        sizes: hidden units by arm, at ``size_states`` training states.
        size_states: see above.
        size_seeds: of these, from 0 on.
        cubes: random cubes a network is tried on, the same for all.
        turns: of their scrambles.
        width: of the beam.
        depth: layers it may use.
        batch: states in an update.
        hidden: units where sizes are not the question.
        shipped: preset of :class:`~burnside.agents.cube_walks.WalkConfig` that the recipe of the shipped policy is.
        shipped_seeds: of runs of that recipe, from 0 on.
        efforts: what these try, as ``burnside solve`` does: effort and number of random cubes, the first of them all.
        slices: cubes whose inner layers turn.
    """

    budgets: Mapping[str, tuple[int, ...]]
    seeds: int
    rate_budgets: Mapping[str, int] = field(default_factory=dict)
    rate_seeds: int = 0
    sizes: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    size_states: int = 0
    size_seeds: int = 0
    cubes: int = 200
    turns: int = 100
    width: int = 256
    depth: int = 60
    batch: int = 1024
    hidden: tuple[int, int] = (768, 192)
    shipped: str = "shipped"
    shipped_seeds: int = 0
    efforts: tuple[tuple[int, int], ...] = ()
    slices: tuple[Slices, ...] = ()


def agent(
    plan: Plan, arm: str, states: int, *, hidden: tuple[int, int] | None = None, rate: float | None = None
) -> WalkConfig:
    """The settings of a run; states are rounded to whole updates."""
    return WalkConfig(
        hidden=hidden or plan.hidden,
        batch=plan.batch,
        states=max(1, round(states / plan.batch)) * plan.batch,
        learning_rate=TUNED[arm] if rate is None else rate,
        sides=ARMS[arm][1],
    )


_M = 1_000_000
PRESETS: dict[str, Plan] = {
    "smoke": Plan(
        {"none": (4_096,), "equivariant-48": (2_048, 4_096)},
        1,
        sizes={"equivariant-48": ((48, 48),)},
        size_states=2_048,
        size_seeds=1,
        cubes=3,
        turns=4,
        width=16,
        depth=8,
        batch=256,
        hidden=(96, 48),
        shipped="smoke",
        shipped_seeds=1,
        efforts=((0, 2), (1, 1)),
        slices=(
            Slices(4, WalkConfig.preset("smoke"), 1, ((2, 8, 2),), 10),
            Slices(4, WalkConfig.preset("shipped-slices"), 1, ((5, 8, 2),), 10, table=5, shipped=True),
        ),
    ),
    # two minutes of one core: what ``make reproduce`` shows; the study has the figures
    "laptop": Plan(
        {"none": (_M,), "equivariant-96": (_M, 2 * _M)},
        1,
        cubes=50,
    ),
    # About 3 core-hours. Budgets were cut twice before the first of these runs, when the rates had been chosen:
    # 2 million states solved 78 % without symmetry and 100 % in canonical form, 17 % when both sides are learned, and a
    # quarter of a million 90 % with tied weights. The largest budgets of `canonical-48` and `equivariant-96` were added
    # when the first of five seeds had fallen short of 90 % below them.
    "study": Plan(
        {
            "none": (_M, 2 * _M, 4 * _M),
            "position": (2 * _M, 4 * _M),
            "augment": (2 * _M, 4 * _M),
            "canonical-48": (_M // 4, _M // 2, _M, 2 * _M),
            "equivariant-48": (_M // 16, _M // 8, _M // 4, _M // 2),
            "none, two sides": (2 * _M,),
            "equivariant-96": (_M // 16, _M // 8, _M // 4, _M // 2, _M),
        },
        5,
        rate_budgets={arm: _M // 4 if arm.startswith("equivariant") else 2 * _M for arm in ARMS},
        rate_seeds=1,
        sizes={
            "none": ((8, 8), (24, 24), (64, 32), (192, 64), (768, 192)),
            "equivariant-48": ((48, 48), (96, 48), (192, 48), (384, 96), (768, 192)),
            "equivariant-96": ((96, 96), (192, 96), (384, 96), (768, 192)),
        },
        size_states=_M,
        size_seeds=3,
        shipped_seeds=3,
        efforts=((0, 2_000), (2, 100), (4, 40), (6, 15), (8, 5)),
        # The first: what 45 minutes of one core reach. A pilot (300 CPU seconds each): of four times the states a
        # network of 768 units gains no solved cube, twice the units gain as much loss; walks of 45 turns, about as far
        # as a random 4-cube is, leave the states near the goal less well known than walks of 30, and those far away as
        # unknown.
        slices=(
            Slices(
                4,
                WalkConfig(hidden=(1536, 384), walk=32, states=24_000 * 1_024, learning_rate=6e-3),
                1,
                (
                    *((turns, 1_024, 100) for turns in (10, 15, 20, 25, 30)),
                    (100, 1_024, 50),
                    *((turns, 16_384, 20) for turns in (15, 20, 25, 30)),
                    (100, 16_384, 10),
                ),
                80,
            ),
            # The policy that is shipped: 1.8 times the weights and 1.7 times the walks of the one above, two hours of
            # one core. In a pilot on other cubes, in the middle of its training, 80 layers were too few: a beam of
            # 1 024 solved 3 of 8 in 78 to 132 turns, one of 4 096 all of 3.
            Slices(
                4,
                WalkConfig.preset("shipped-slices"),
                1,
                ((20, 1_024, 50), (30, 1_024, 50), (100, 1_024, 50), (100, 4_096, 50), (100, 16_384, 10)),
                250,
                table=6,
                shipped=True,
            ),
            # The 5-cube, as far as half an hour of one core goes.
            Slices(
                5,
                WalkConfig(hidden=(1536, 384), walk=32, states=12_000 * 1_024, learning_rate=2e-3),
                1,
                (*((turns, 1_024, 50) for turns in (10, 15, 20)), (30, 1_024, 20), (100, 4_096, 5)),
                250,
                table=5,
            ),
        ),
    ),
    # a hundred times the budgets of the study, for those who have the cores
    "paper": Plan(dict.fromkeys(ARMS, (100 * _M, 400 * _M)), 10, cubes=1_000, width=1_024),
}


@dataclass(frozen=True)
class Published:
    """A solver as its authors describe it; see ``docs/experiments/cube.md`` for the sources.

    Attributes:
        name: of the solver.
        weights: of its network.
        states: it was trained on.
        note: what it solved, and how.
    """

    name: str
    weights: float
    states: float
    note: str


#: Learned solvers of the 3-cube with quarter turns: their files and logs, not our runs.
PUBLISHED = (
    Published("DeepCubeA", 14.66e6, 1.2e10, "A*, 10 000 states at a time: 100 %, 21.4 turns"),
    Published("EfficientCube", 14.66e6, 5.2e10, "beam of 1024: 100 %, 23.3 turns; of 2¹⁸: 21.3"),
    Published("CayleyPy", 0.73e6, 1.28e8, "beam of 2²⁰: 100 % of ten cubes, 20.5 turns"),
)
