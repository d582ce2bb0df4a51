"""What is run: cubes, arms, seeds and budgets by preset, and the paper's own numbers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from burnside.agents.cube_values.config import ARMS, DaviConfig
from burnside.envs.cube import CubeSpec

__all__ = ["EPOCH_STATES", "PAPER", "PRESETS", "DaviPlan", "LabelPlan", "Plan", "SolvePlan", "cube_spec"]


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
class SolvePlan:
    """A* at every point of the learning curve, on the same scrambles each time (App. C).

    The paper states neither its node limit nor the batch and the weight of its search, so they are settings here.

    Attributes:
        depths: numbers of turns of the scrambles.
        scrambles: of each depth.
        weight: λ in f = λ·g + h.
        batch: states expanded together.
        cap: children a search may make; one that would need more has failed.
    """

    depths: tuple[int, ...]
    scrambles: int = 50
    weight: float = 0.6
    batch: int = 1_000
    cap: int = 1_000_000


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
        solve: A* per depth at every evaluation; None leaves it out.
        shared: symmetry of the equivariant network; None is the other arms' (``agent.group``).
        kind: of its cells: ``davi``, or ``astar`` where A* by depth is the question.
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
    solve: SolvePlan | None = None
    shared: str | None = None
    kind: str = "davi"


@dataclass(frozen=True)
class Plan:
    """A preset: both questions, and the test states per depth."""

    labels: tuple[LabelPlan, ...]
    davi: tuple[DaviPlan, ...]
    per_depth: int = 500


#: Small enough for hours on two cores, large enough that the arms differ as they do with networks four times as large.
_STUDY = DaviConfig.preset("laptop", hidden=(256, 128), batch=500, states=400_000, states_per_round=10_000)


#: What we take for an "epoch" of App. C, which does not say. With DeepCubeA's network 10 000 of them are 4·10¹⁸ flops:
#: 20 hours at 60 teraflops, about what an A100 reaches, and App. C's "approximately 20 A100-hours".
EPOCH_STATES = 1_000_000


def _paper(n: int, epochs: int, arms: tuple[str, ...], shared: str) -> DaviPlan:
    """DeepCubeA's recipe for a number of epochs, tested at 20 points on 50 scrambles of every depth up to 30."""
    agent = DaviConfig.preset("paper", states=epochs * EPOCH_STATES, forced_copies=())
    solve = SolvePlan(tuple(range(1, 31)), batch=10_000, cap=10_000_000)
    return DaviPlan(n, 10, agent, arms, 20, 1_000, 30, 10_000, 40, solve, shared)


def _study(n: int, arms: tuple[str, ...] = ("baseline", "position", "conjugation"), seeds: int = 5) -> DaviPlan:
    return DaviPlan(n, seeds, replace(_STUDY, back_max=12), arms)


def _table(n: int, seeds: int, states: int) -> DaviPlan:
    """Table 2 as the paper has it, as far as hours of one core go: walks of up to 30 turns, A* on scrambles of every
    depth from 1 to 30 and on full ones; its equivariant column is read as weights shared over ``position``.
    """
    solve = SolvePlan((*range(1, 31), 100), scrambles=10, batch=1_000, cap=50_000)
    agent = replace(_STUDY, states=states, back_max=30)
    arms = ("baseline", "position", "equivariant", "conjugation")
    return DaviPlan(n, seeds, agent, arms, 1, solve=solve, shared="position", kind="astar")


def _laptop(n: int) -> DaviPlan:
    agent = replace(_STUDY, states=60_000, back_max=8)
    return DaviPlan(n, 2, agent, ("baseline", "conjugation"), 6, scrambles=20, scramble_length=7, beam_depth=16)


_SMOKE = DaviConfig.preset("smoke", states=6_000)

_SIZES = (2, 3, 4, 5, 6)

PRESETS: dict[str, Plan] = {
    "smoke": Plan(
        (LabelPlan(3, (200, 400), 1, ("baseline", "conjugation", "equivariant"), 15, _SMOKE),),
        (DaviPlan(3, 2, _SMOKE, ("baseline", "conjugation"), 2, 5, 3, 8, 8, SolvePlan((1, 2), 4, batch=20, cap=500)),),
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
        # The 2-cube has states at distance 14, and 400 000 states do not carry values that far: its errors are large.
        # Table 2 comes last, about four hours of one core; without N = 4, which with outer turns is the 3-cube as well.
        (
            *(_study(3, ARMS), _study(4), _study(5), _study(2, seeds=3), _study(6, seeds=3)),
            *(_table(2, 5, 500_000), _table(3, 3, 1_500_000), _table(5, 3, 1_500_000)),
        ),
    ),
    "paper": Plan(
        (LabelPlan(3, (1_000, 2_000, 5_000, 20_000, 100_000), 10, updates=2_000),),
        # Table 2's columns are baseline, position and equivariant, the last with either reading of its symmetry.
        (
            *(_paper(n, 10_000, ("baseline", "position", "conjugation", "equivariant"), "conjugation") for n in _SIZES),
            *(_paper(n, 10_000, ("equivariant",), "position") for n in _SIZES),
            _paper(5, 50_000, ("baseline", "position", "conjugation", "equivariant"), "conjugation"),
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
