"""``burnside audit cube`` and ``burnside show cube``: what symmetries of the cube merge, and the orbit of a state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from burnside.cli.console import output, print_json, print_problem, progress, styled, table
from burnside.cli.models import SymmetryOptions
from burnside.envs.cube.audit import AUDITED, CubeAudit, audit_cube, count_layers, same_as_three
from burnside.envs.cube.core import CubeSpec, apply_moves, solved
from burnside.envs.cube.render import orbit_figure
from burnside.envs.cube.symmetry import CubeSymmetry
from burnside.errors import InvalidParameter, UnknownName
from burnside.report.cube_view import add_player
from burnside.report.page import Page
from burnside.report.tables import number, whole

if TYPE_CHECKING:
    from burnside.cli.audit import Audit
    from burnside.cli.show import Show

__all__ = ["CubeOptions", "run_cube", "show_cube"]

_DEFAULT = "conjugation+mirror"


@dataclass(frozen=True)
class CubeOptions:
    """Size, turns and goal as given on the command line; a goal that was not given depends on the symmetry."""

    n: int = 3
    turns: str = "outer"
    goal: str | None = None

    def spec(self, symmetry: str) -> CubeSpec:
        """The cube on which a symmetry is judged.

        ``position`` turns the solved cube, so it needs every orientation as a goal. For n ≥ 3 with outer turns that
        changes no value: the other orientations cannot be reached.

        >>> CubeOptions(3).spec("position").goal, CubeOptions(3).spec("conjugation").goal
        ('any-orientation', 'fixed')
        """
        goal = "any-orientation" if self.goal is None and symmetry == "position" else self.goal
        return CubeSpec(self.n, self.turns, goal)  # type: ignore[arg-type]


def run_cube(options: Audit) -> int:
    """Audit the cube as the options say; 1 if a symmetry was refused."""
    cube = _options(options, slices=options.slices, goal=options.goal)
    if options.symmetry is not None and options.symmetry not in AUDITED:
        raise UnknownName("symmetry of the cube", options.symmetry, AUDITED)
    names = AUDITED if options.symmetry is None and not options.json else (options.symmetry or _DEFAULT,)
    raw = None
    found = []
    for name in names:
        spec = cube.spec(name)
        far = (6 if spec.n == 2 else 5) if options.depth is None else options.depth
        if raw is None:
            with progress(f"counting states of the {spec.n}-cube by depth") as update:
                raw = count_layers(spec, far, progress=update)
        given: dict[str, Any] = {"eps": options.eps, "delta": options.delta, "trust": options.trust}
        with progress(f"counting classes under {name} by depth") as update:
            found.append(audit_cube(spec, name, depth=far, raw=raw, progress=update, **given))
    refused = [each for each in found if each.canonical is None]
    if options.json:
        print_json(found[0].to_dict())
    elif len(found) > len(refused) or options.symmetry is None:
        _print(found)
    for each in refused:
        print_problem("refused", each.why)
    return 1 if refused else 0


def show_cube(options: Show) -> int:
    """Draw the orbit of a state and its representative; an HTML file also plays the turns that lead to it."""
    symmetry = options.symmetry or _DEFAULT
    spec = _options(options).spec(symmetry)
    moves = spec.parse("R U F'" if options.moves is None else options.moves)
    state = apply_moves(spec, solved(spec), moves)
    picture = orbit_figure(spec, state, symmetry)
    if options.out.suffix == ".html":
        text = spec.format(moves) or "no turns"
        page = Page(f"The {spec.n}-cube after {text}", contents=False)
        add_player(page, spec, solved(spec), moves, f"from the solved cube: {text}")
        path = page.figure(picture.svg, picture.label).write(options.out)
    else:
        path = picture.save(options.out)
    if options.json:
        order = CubeSymmetry(spec, symmetry).order
        print_json({"path": str(path), "moves": spec.format(moves), "symmetry": symmetry, "images": order})
    else:
        output().print(styled(f"{picture.label}: {path}"), soft_wrap=True)
    return 0


def _options(options: SymmetryOptions, *, slices: bool = False, goal: str | None = None) -> CubeOptions:
    given = options.parameters()
    for name in ("d", "horizon", "terminal_actions"):
        if getattr(options, name) not in (None, False):
            raise InvalidParameter(
                f"the cube has no --{name.replace('_', '-')}: it takes --n, and turns and goal with --param"
            )
    unknown = next((name for name in given if name not in ("turns", "goal")), None)
    if unknown is not None:
        raise UnknownName("parameter of the cube", unknown, ("turns", "goal"))
    if slices and given.get("turns", "slices") != "slices":
        raise InvalidParameter(f"--slices contradicts --param turns={given['turns']}: give one of them")
    turns = "slices" if slices else str(given.get("turns", "outer"))
    goal = goal or given.get("goal")
    return CubeOptions(3 if options.n is None else options.n, turns, None if goal is None else str(goal))


def _print(found: list[CubeAudit]) -> None:
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
            cells += [_count(None if each.canonical is None else each.canonical[depth]), _ratio(each.ratios[depth])]
        grid.add_row(str(depth), _count(raw), *cells)
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


def _count(n: int | None) -> str:
    return "–" if n is None else f"{n:,}".replace(",", " ")


def _ratio(x: float | None) -> str:
    return "–" if x is None else f"{x:.1f}"
