"""What is run: cubes, arms, seeds and budgets by preset, and the paper's own numbers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from burnside.agents.davi.config import ARMS, DaviConfig
from burnside.envs.cube import CubeSpec

__all__ = ["PAPER", "PRESETS", "DaviPlan", "LabelPlan", "Plan", "cube_spec"]


@dataclass(frozen=True)
class LabelPlan:
    """Regression on exact labels.

    Attributes:
        n: size of the cube.
        counts: numbers of labelled states.
        seeds: how many, from 0 on.
        arms: what is compared.
        updates: minibatches of a run.
        agent: network and optimizer.
    """

    n: int
    counts: tuple[int, ...]
    seeds: int
    arms: tuple[str, ...] = ARMS
    updates: int = 400
    agent: DaviConfig = field(default_factory=lambda: DaviConfig.preset("laptop"))


@dataclass(frozen=True)
class DaviPlan:
    """Value iteration.

    Attributes:
        n: size of the cube.
        seeds: how many, from 0 on.
        agent: network, optimizer and budget in states.
        arms: what is compared.
        evaluations: points of the learning curve.
        scrambles: random scrambles the finished network is tried on with beam search.
        scramble_length: turns of each.
        beam_width: states kept in each layer of that search.
        beam_depth: layers it may use.
    """

    n: int
    seeds: int
    agent: DaviConfig
    arms: tuple[str, ...] = ("baseline", "position", "conjugation")
    evaluations: int = 10
    scrambles: int = 50
    scramble_length: int = 12
    beam_width: int = 64
    beam_depth: int = 24


@dataclass(frozen=True)
class Plan:
    """A preset: both questions, and the test states per depth."""

    labels: tuple[LabelPlan, ...]
    davi: tuple[DaviPlan, ...]
    per_depth: int = 500


#: Small enough for hours on two cores, large enough that the arms differ as they do with networks four times as large.
_STUDY = DaviConfig.preset("laptop", hidden=(256, 128), batch=500, states=400_000, states_per_round=10_000)


def _study(n: int, arms: tuple[str, ...] = ("baseline", "position", "conjugation")) -> DaviPlan:
    # No 2-cube: it has states at distance 14, and 400 000 states do not carry values that far.
    return DaviPlan(n, 5, replace(_STUDY, back_max=12), arms)


def _laptop(n: int) -> DaviPlan:
    agent = replace(_STUDY, states=60_000, back_max=8)
    return DaviPlan(n, 2, agent, ("baseline", "conjugation"), 6, scrambles=20, scramble_length=7, beam_depth=16)


_SMOKE = DaviConfig.preset("smoke", states=6_000)

PRESETS: dict[str, Plan] = {
    "smoke": Plan(
        (LabelPlan(3, (200, 400), 1, ("baseline", "conjugation", "equivariant"), 15, _SMOKE),),
        (DaviPlan(3, 2, _SMOKE, ("baseline", "conjugation"), 2, 5, 3, 8, 8),),
        per_depth=20,
    ),
    "laptop": Plan(
        (
            LabelPlan(
                3, (1_000, 4_000), 2, updates=150, agent=DaviConfig.preset("laptop", hidden=(256, 128), batch=500)
            ),
        ),
        (_laptop(3), _laptop(4)),
        per_depth=200,
    ),
    "study": Plan(
        (
            LabelPlan(3, (1_000, 2_000, 5_000, 20_000), 5, updates=600, agent=replace(_STUDY, batch=250)),
            # how far the baseline gets with many more, to read off what the others are worth
            LabelPlan(3, (60_000,), 5, ("baseline",), updates=600, agent=replace(_STUDY, batch=250)),
        ),
        (_study(3, ARMS), _study(4), _study(5)),
    ),
    "paper": Plan(
        (LabelPlan(3, (1_000, 2_000, 5_000, 20_000, 100_000), 10, updates=2_000),),
        tuple(
            DaviPlan(
                n,
                10,
                DaviConfig.preset("paper"),
                ("baseline", "position", "conjugation", "equivariant"),
                scrambles=1_000,
                scramble_length=30,
                beam_width=10_000,
                beam_depth=40,
            )
            for n in (2, 3, 4, 5, 6)
        ),
        per_depth=1_000,
    ),
}

#: Table 2: percentages solved, mean and what the paper calls SE over ten seeds. Its "Canonical" is ``position``.
PAPER: dict[tuple[int, str], tuple[float, float]] = {
    (2, "baseline"): (100.0, 0.0),
    (2, "position"): (100.0, 0.0),
    (2, "equivariant"): (100.0, 0.0),
    (3, "baseline"): (98.7, 1.5),
    (3, "position"): (99.3, 1.2),
    (3, "equivariant"): (99.0, 1.7),
    (4, "baseline"): (61.7, 4.0),
    (4, "position"): (97.0, 3.0),
    (4, "equivariant"): (95.0, 2.6),
    (5, "baseline"): (42.7, 4.5),
    (5, "position"): (83.7, 4.5),
    (5, "equivariant"): (81.0, 2.6),
}


def cube_spec(n: int) -> CubeSpec:
    """The cube of the experiment: 12 outer turns; at n = 2 any orientation of the solved cube is a goal, for all arms.

    With one solved orientation ``position`` would be no symmetry of the 2-cube, and the arms would not share a task.

    >>> cube_spec(2).goal, cube_spec(3).goal
    ('any-orientation', 'fixed')
    """
    return CubeSpec(n, goal="any-orientation" if n == 2 else "fixed")
