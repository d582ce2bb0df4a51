"""``burnside claims``: the claims of the paper, what is true of them, what was run here, and whether that is so.

``--check`` runs the command of every row in this process and looks for the row's figures in what it prints.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from burnside._files import write_text
from burnside.cli.console import error_console, output, print_json, progress, styled
from burnside.errors import BurnsideError, InvalidParameter, MissingExtra, UnknownName, UnreadableFile
from burnside.report.claims import (
    OURS,
    STATUSES,
    Claim,
    Kept,
    agree,
    compute,
    counts,
    figure_at,
    fingerprint,
    holds,
    is_quoted,
    kept,
    load,
    markdown,
    rounded,
    squeezed,
)

__all__ = ["Claims", "Finding", "command_problem", "examine", "shown"]


@dataclass(frozen=True)
class Claims:
    """Show every claim of the paper: what is true of it, what was run here, and the command that shows the figures."""

    id: str = ""
    """Only the claim of this id."""
    status: str = ""
    """Only claims of this status, or one that starts with this word: what is true of the paper's sentence."""
    ours: str = ""
    """Only claims with this outcome, or one that starts with this word: what was done here."""
    check: bool = False
    """Run the command of every row and compare: figures, conditions, quotes. A minute or two; exit code 1 if wrong."""
    compute: str = ""
    """Compute and print one group of figures that no other command prints; rows name it in their command."""
    paper: Path | None = None
    """LaTeX source of the paper: with --check and --update, every quote is looked for in it."""
    update: bool = False
    """Compute every figure again and keep it in claims.json; then the same checks as --check."""
    json: bool = False
    """Print one JSON object."""
    write: Path | None = None
    """Write the page of the documentation to this file."""
    file: Path | None = None
    """Read another ledger instead of the one in the package."""

    def run(self) -> int:
        """Run the command: 1 if --check finds something wrong."""
        if self.compute:
            figures = compute(self.compute)
            if self.json:
                print_json(figures)
            else:
                for name, value in figures.items():
                    output().print(f"{name}: {rounded(value)}", soft_wrap=True)
            return 0
        if self.paper is not None and not (self.check or self.update):
            raise InvalidParameter("--paper goes with --check or --update: it is where the quotes are looked for")
        claims = self._chosen(load(self.file, updating=self.update))
        if self.write is not None:
            write_text(self.write, markdown(claims))
            output().print(styled(f"{len(claims)} claims written to {self.write}"), soft_wrap=True)
            return 0
        if self.check or self.update:
            return self._check(claims)
        if self.json:
            print_json({"counts": counts(claims), "claims": [claim.to_dict() for claim in claims]})
        else:
            _show(claims)
        return 0

    def _chosen(self, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
        if self.id and self.id not in {claim.id for claim in claims}:
            raise UnknownName("claim", self.id, (claim.id for claim in claims))
        for name, wanted, known in (("status", self.status, STATUSES), ("outcome", self.ours, OURS)):
            if wanted and not any(word.startswith(wanted) for word in known):
                raise UnknownName(name, wanted, known)
        return tuple(
            claim
            for claim in claims
            if (not self.id or claim.id == self.id)
            and _begins(claim.status, self.status, STATUSES)
            and _begins(claim.ours, self.ours, OURS)
        )

    def _check(self, claims: tuple[Claim, ...]) -> int:
        text = None if self.paper is None else squeezed(_read(self.paper))
        before = kept(self.file)
        findings: list[Finding] = []
        with progress("claims") as report:
            for k, claim in enumerate(claims):
                findings.append(examine(claim, before, paper=text, updating=self.update))
                report(k + 1, len(claims))
        if self.update:
            _keep(self.file, before, findings, load(self.file, updating=True))
        return _report(findings, claims, as_json=self.json)


def _begins(word: str, wanted: str, known: dict[str, str]) -> bool:
    """'correct' is a status and the beginning of another: an exact name means itself."""
    return word == wanted if wanted in known else word.startswith(wanted)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableFile(f"cannot read the paper in {path}: {error}") from None


def _show(claims: tuple[Claim, ...]) -> None:
    console = output()
    for claim in claims:
        heading = f"{claim.id} — {claim.where} — of the paper: {claim.status}; here: {claim.ours}"
        console.print(heading, style="bold", soft_wrap=True)
        lines = [f"“{claim.quote}”", claim.claim, f"found: {claim.found}"]
        lines += [f"to decide it: {claim.needs}"] if claim.needs else []
        for line in (*lines, f"command: {claim.command}"):
            console.print(f"  {line}", soft_wrap=True)
    found = counts(claims)
    for title, axis in (("of the paper", "status"), ("here", "ours")):
        words = ", ".join(f"{number} {name}" for name, number in found[axis].items())
        console.print(f"{len(claims)} claims, {title}: {words or 'none'}", soft_wrap=True)


# ---------------------------------------------------------------------- checking


@dataclass(frozen=True)
class Finding:
    """What came of examining a row.

    Attributes:
        claim: its id.
        figures: its figures, computed now; empty if there are none or they could not be computed here.
        problems: what is wrong, one sentence each.
        skipped: why the figures could not be computed here (results or packages that are not there).
        quoted: whether the quote was found in the paper; None if it was not looked for.
    """

    claim: str
    figures: dict[str, Any] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    skipped: str = ""
    quoted: bool | None = None


def examine(claim: Claim, before: Kept, *, paper: str | None = None, updating: bool = False) -> Finding:
    """Run the command of a row, find its figures in what it prints, and compare with what is kept."""
    problems = [] if (wrong := command_problem(claim.command)) is None else [wrong]
    quoted = None if paper is None else is_quoted(claim.quote, paper)
    if quoted is False:
        problems.append("the quote does not stand in the paper")
    elif not updating and before.quotes.get(claim.id) != fingerprint(claim.quote) and quoted is None:
        problems.append("the quote was never compared with the paper as it is now: run with --update --paper FILE")
    if not claim.paths or wrong is not None:
        return Finding(claim.id, {}, tuple(problems), quoted=quoted)
    try:
        document = shown(claim.command)
        figures = {name: figure_at(document, path) for name, path in claim.paths.items()}
    except (MissingExtra, ImportError) as reason:
        if isinstance(reason, ImportError) and str(reason.name).startswith("burnside"):  # ours: it must be there
            return Finding(claim.id, {}, (*problems, str(reason)), quoted=quoted)
        return Finding(claim.id, {}, tuple(problems), str(reason), quoted)
    except BurnsideError as reason:
        if _checkout() is None and isinstance(reason, UnreadableFile):  # an installed wheel has no results
            return Finding(claim.id, {}, tuple(problems), str(reason), quoted)
        return Finding(claim.id, {}, (*problems, str(reason)), quoted=quoted)
    if not updating:
        problems += [
            f"{name} is {rounded(value)!r} where the ledger has {claim.figures.get(name)!r}"
            for name, value in figures.items()
            if not agree(value, claim.figures.get(name), claim.tolerance)
        ]
    for what, conditions in (("its verdict", claim.expect), ("its scale", claim.scale)):
        problems += [f"{what} needs {text!r}, which does not hold" for text in conditions if not _met(text, figures)]
    return Finding(claim.id, figures, tuple(problems), quoted=quoted)


def _met(condition: str, figures: dict[str, Any]) -> bool:
    try:
        return holds(condition, figures)
    except (TypeError, ZeroDivisionError, IndexError):  # a figure that is null or a list of another length
        return False


def _report(findings: list[Finding], claims: tuple[Claim, ...], *, as_json: bool) -> int:
    problems = {found.claim: list(found.problems) for found in findings if found.problems}
    skipped = {found.claim: found.skipped for found in findings if found.skipped}
    shown_now = sum(bool(found.figures) and not found.problems for found in findings)
    quotes = sum(bool(found.quoted) for found in findings)
    if as_json:
        summary: dict[str, Any] = {"claims": len(claims), "shown": shown_now, "quotes_found": quotes}
        print_json(summary | {"wrong": len(problems), "skipped": skipped, "problems": problems, **_axes(claims)})
        return 1 if problems else 0
    for name, why in skipped.items():
        output().print(f"skipped {name}: {why}", soft_wrap=True)
    for name, sentences in problems.items():
        for sentence in sentences:
            error_console().print(f"wrong: {name}: {sentence}", soft_wrap=True)
    words = [f"{shown_now} rows have figures, and their commands show them"]
    words += [f"{quotes} quotes stand in the paper"] if quotes else []
    words += [f"{len(problems)} wrong", f"{len(skipped)} skipped"]
    output().print(f"{len(claims)} claims: {', '.join(words)}", soft_wrap=True)
    return 1 if problems else 0


def _axes(claims: tuple[Claim, ...]) -> dict[str, Any]:
    return {"counts": counts(claims)}


def _keep(file: Path | None, before: Kept, findings: list[Finding], claims: tuple[Claim, ...]) -> None:
    """Write ``claims.json``; what could not be computed here stays as it was, and rows that are gone go."""
    known = {claim.id: claim for claim in claims}
    figures = {name: dict(values) for name, values in before.figures.items() if name in known}
    quotes = {name: value for name, value in before.quotes.items() if name in known}
    for found in findings:
        if found.figures:
            figures[found.claim] = {name: rounded(value) for name, value in found.figures.items()}
        if found.quoted:
            quotes[found.claim] = fingerprint(known[found.claim].quote)
    order = [claim.id for claim in claims]
    content = {
        "about": "written by 'burnside claims --update --paper FILE': figures as last computed, fingerprints of quotes",
        "figures": {name: figures[name] for name in order if name in figures},
        "quotes": {name: quotes[name] for name in order if name in quotes},
    }
    target = Path(str(file)).with_suffix(".json") if file is not None else _packaged()
    write_text(target, json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def _packaged() -> Path:
    import burnside.report.claims as package

    return Path(str(package.__file__)).with_name("claims.json")


# ---------------------------------------------------------------------- commands


@cache
def shown(command: str) -> Any:
    """What a command of the ledger prints, as JSON; it is run in this process, once.

    >>> shown("burnside minimise ring --n 5 --json")["pairs"]
    18
    """
    import shlex

    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(io.StringIO()):
        code = _parsed(shlex.split(command)[1:]).run()
    try:
        return json.loads(text.getvalue())
    except ValueError:
        raise UnreadableFile(f"{command!r} prints no JSON (exit code {code})") from None


@cache
def command_problem(command: str) -> str | None:
    """What is wrong with a command of the ledger, or None; nothing is run.

    >>> command_problem("burnside audit ring --n 5 --json"), command_problem("burnside adit ring --json")
    (None, "the command line does not understand 'burnside adit ring --json'")
    """
    import shlex

    words = shlex.split(command)
    if words[0] == "burnside":
        if words[-1] != "--json":
            return f"{command!r} must end with --json, so that its figures can be found"
        try:
            _parsed(words[1:])
        except SystemExit:
            return f"the command line does not understand {command!r}"
        return None
    if words[0] != "pytest" or len(words) != 2:
        return f"{command!r} is neither 'burnside …' nor 'pytest path::test'"
    path, _, name = words[1].partition("::")
    top = _checkout()
    if top is None:
        return None  # an installed wheel has no tests to look at
    if not (top / path).is_file():
        return f"there is no file {path}"
    if name not in _functions(top / path):
        return f"{path} has no test {name}"
    return None


def _parsed(argv: list[str]) -> Any:
    import tyro

    from burnside.cli import commands

    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        parse: Callable[..., Any] = tyro.cli
        return parse(commands.Command, args=argv, prog="burnside")


def _checkout() -> Path | None:
    """The checkout we run from, if there is one."""
    top = Path(__file__).resolve().parents[3]
    return top if (top / "tests").is_dir() and (top / "pyproject.toml").is_file() else None


@cache
def _functions(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
