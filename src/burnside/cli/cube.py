"""The cube in ``burnside audit`` and ``burnside show``: how its audits are printed and its orbits are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from burnside.cli.audit import print_audits
from burnside.cli.console import output, print_problem, styled, table
from burnside.cli.show import Show, draw_orbits
from burnside.envs.cube.audit import CubeAudit, same_as_three
from burnside.envs.cube.core import apply_moves, solved
from burnside.envs.cube.model import CubeModel
from burnside.envs.cube.render import orbit_figure
from burnside.envs.cube.symmetry import CubeSymmetry
from burnside.report.cube_view import add_player
from burnside.report.page import Page
from burnside.report.tables import number, spaced, whole

__all__ = ["CubeModel"]


@print_audits.register
def _(first: CubeAudit, found: Sequence[CubeAudit], *, quiet: bool) -> int:
    """All symmetries side by side; 1 if one was refused."""
    refused = [each for each in found if each.canonical is None]
    if not quiet and (len(found) > 1 or not refused):
        _print(found)
    for each in refused:
        print_problem("refused", each.why)
    return 1 if refused else 0


@draw_orbits.register
def _(model: CubeModel, symmetry: CubeSymmetry, command: Show) -> tuple[str, dict[str, Any]]:
    """The orbit of a state and its representative; an HTML file also plays the turns that lead to it."""
    spec = symmetry.spec
    moves = spec.parse("R U F'" if command.moves is None else command.moves)
    state = apply_moves(spec, solved(spec), moves)
    picture = orbit_figure(spec, state, symmetry.name)
    if command.out.suffix == ".html":
        text = spec.format(moves) or "no turns"
        page = Page(f"The {spec.n}-cube after {text}", contents=False)
        add_player(page, spec, solved(spec), moves, f"from the solved cube: {text}")
        page.figure(picture.svg, picture.label).write(command.out)
    else:
        picture.save(command.out)
    content = {"moves": spec.format(moves), "symmetry": symmetry.name, "images": symmetry.order}
    return picture.label, content


def _print(found: Sequence[CubeAudit]) -> None:
    console = output()
    first = found[0].spec
    known = found[0].states
    size = "" if known is None else f", {whole(known)} states can be reached"
    heading = f"cube n={first.n}, {first.turns} turns"
    console.print(styled((heading, "bold"), f": {first.n_moves} turns{size}"), soft_wrap=True)
    grid = table("", *(each.symmetry for each in found))
    grid.add_row("order of the group", *(str(each.group.order) for each in found))
    grid.add_row("goal", *(each.spec.goal for each in found))
    grid.add_row("verified", *(_verdict(each) for each in found))
    grid.add_row("  failure rate, at most (99 %)", *(f"{each.verdict.failure_rate:.2%}" for each in found))
    grid.add_row("turns go to turns in all states", *("yes" if each.everywhere else "NO" for each in found))
    grid.add_row("exact factor", *(number(each.factor) for each in found))
    console.print(grid)
    headers = [h for each in found for h in (each.symmetry, "ratio")]
    grid = table("depth", "states", *headers)
    for depth, raw in enumerate(found[0].raw):
        cells = []
        for each in found:
            cells += [spaced(None if each.canonical is None else each.canonical[depth]), _ratio(each.ratios[depth])]
        grid.add_row(str(depth), spaced(raw), *cells)
    console.print(grid)
    console.print("ratio: states for each class, among all up to that depth; –: not counted", soft_wrap=True)
    for each in found:
        if each.canonical is not None:
            console.print(styled((each.symmetry, "bold"), f": {_own(each)}"), soft_wrap=True)
    if same_as_three(first):
        console.print(styled((f"n={first.n}", "bold"), f": {found[0].sameness}"), soft_wrap=True)
    if any(each.trusted for each in found):
        console.print(styled(("not verified", "bold red"), ": these figures rest on trust, not on a check"))


def _own(each: CubeAudit) -> str:
    """What is said about the symmetry and not about the cube."""
    return each.why.removesuffix("; " + each.sameness) if each.sameness else each.why


def _verdict(each: CubeAudit) -> str:
    if not each.verdict.ok:
        return "NO" + (" (trusted)" if each.trusted else "")
    return f"yes, {each.verdict.checked} sampled"


def _ratio(x: float | None) -> str:
    return "–" if x is None else f"{x:.1f}"
