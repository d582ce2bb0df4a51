"""The theory part of the report: the zoo audited, the ring game under four groups, and where the formula overstates."""

from __future__ import annotations

from typing import Any

from burnside.mdp import Symmetry, TabularMDP, approximate, check_invariance, discover, minimise, quotient, solve, zoo
from burnside.report.graphs import orbit_view
from burnside.report.page import Page
from burnside.report.tables import number, whole
from burnside.theory import Audit, audit

__all__ = ["theory_part"]

_HEADERS = [
    "model",
    "group",
    "order",
    "states",
    "S/G",
    "pairs",
    "(S×A)/G",
    "paper",
    "joint",
    "reachable",
    "attainable",
    "|V* − V̄*∘σ|",
]


def theory_part(page: Page, preset: str) -> None:
    """Add the theory part to the page: exact, so it is computed where it is drawn, in seconds."""
    page.text(
        "Each model is verified pair by pair under every generator of its group, then quotiented. 'paper' is the "
        "factor of Thm. 1 where orbit sizes make it well defined; 'joint' is |S×A| / |(S×A)/G|, exact; 'reachable' "
        "counts only the pairs that an episode from p₀ can meet. The last column compares optimal values of model "
        "and quotient."
    )
    rows = []
    for name in zoo.names():
        model = zoo.make(name)
        if isinstance(model, TabularMDP) and model.symmetries:
            rows.append(_row(model, model.symmetry()))
        elif isinstance(model, TabularMDP):
            rows.append(_row(model, discover(model)))
    page.table(_HEADERS, rows, "The zoo under its declared symmetries: burnside audit MODEL")
    for n in [5] if preset == "smoke" else [5, 6, 7, 8]:
        _ring(page, n)
    _overstated(page)
    _implicit(page)
    _broken(page)


def _row(model: TabularMDP, symmetry: Symmetry) -> list[Any]:
    found = audit(model, symmetry)
    assert found.quotient is not None
    gap = abs(solve(model).V - solve(found.quotient.mdp).V[:, found.quotient.sigma]).max()
    return [
        model.name,
        symmetry.name,
        whole(symmetry.order),
        model.n_states,
        found.quotient_size.states,
        model.n_pairs,
        found.quotient_size.pairs,
        number(found.paper.value),
        number(found.joint),
        number(found.reachable_factor),
        "yes" if found.attainable else "no",
        f"{gap:.1e}",
    ]


def _ring(page: Page, n: int) -> None:
    ring = zoo.ring(n)
    coarsest = minimise(ring)
    groups = [ring.symmetry(name) for name in ("Z", "D", "graph")] + [discover(ring)]
    rows = [_row(ring, group) for group in groups]
    caption = (
        f"The ring game at N = {n}: burnside audit ring --n {n} --symmetry Z|D|graph|discover. The coarsest "
        f"homomorphism, which needs no group, has {coarsest.mdp.n_states} states and {coarsest.mdp.n_pairs} pairs "
        f"(burnside minimise ring --n {n})."
    )
    page.table(_HEADERS, rows, caption)
    if n == 5:
        orbit_view(page, ring, quotient(ring, groups[2]), symmetry_name=groups[2].name)


def _overstated(page: Page) -> None:
    cases: list[tuple[str, Audit]] = [
        ("Fig. 2, as drawn", audit(zoo.fig2())),
        ("Fig. 2 with L ≡ R and U ≡ D", audit(zoo.fig2(duplicates=True))),
        ("rotated bandit, 8 arms", audit(zoo.bandit(8))),
        ("rotated bandit, 16 arms", audit(zoo.bandit(16))),
        ("grid 5×5 with D4", audit(zoo.grid(5))),
        ("ring, goal fixed in p₀", audit(zoo.slip_ring(10, goal="fixed"))),
    ]
    rows = [
        [
            label,
            number(a.paper.value if a.paper.value is not None else a.paper.average),
            number(a.joint * a.successor_factor),
            number(a.joint),
            number(a.reachable_factor),
            a.why,
        ]
        for label, a in cases
    ]
    headers = ["case", "paper (average sizes)", "exact, with C", "exact, pairs", "reachable", "why"]
    page.table(headers, rows, "Where |G_S|·|G_A|·|G_C| is not what a learner gets")
    river = zoo.river()
    found = check_invariance(river, river.symmetry())
    page.text(
        f"App. A on {river.name}: V* and Q* are invariant (gaps {found.value_gap:.1e}, {found.q_gap:.1e}) and sets of "
        f"optimal actions equivariant ({'yes' if found.argmax_equivariant else 'no'}), but no deterministic optimal "
        f"policy is: at state {found.obstruction} the reflection swaps the two optimal actions."
    )


def _implicit(page: Page) -> None:
    rows = []
    for n, d in ((5, 3), (20, 3)):
        game = zoo.ring_game(n, d)
        found = audit(game)
        rows.append(
            [game.name, found.group_name, found.group_order, whole(found.size.states), number(found.joint), found.why]
        )
    headers = ["model", "group", "order", "states", "joint factor", "why"]
    page.table(
        headers, rows, "The game in three dimensions, from its orbit structure: burnside audit ring --n 50 --d 3"
    )


def _broken(page: Page) -> None:
    import numpy as np

    grid = zoo.grid(5)
    rows = []
    for size in (0.0, 0.001, 0.01, 0.1):
        noise = size * np.random.default_rng(0).random(grid.n_pairs)
        found = approximate(grid.replace(R=grid.R + noise), grid.symmetry())
        rows.append([size, number(found.eps_r), number(found.eps_p), number(found.worst_regret), number(found.bound)])
    headers = ["reward noise", "ε_r", "ε_p", "measured regret, worst state", "bound 2Hε_r + H(H−1)ε_p"]
    page.table(headers, rows, "Broken symmetry: the lifted optimum of the group-averaged 5×5 grid")
