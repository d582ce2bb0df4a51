"""``burnside claims``: the claims of the paper with their verdicts, and whether the ledger itself is sound."""

from __future__ import annotations

import ast
import contextlib
import io
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from burnside._files import write_text
from burnside.cli.console import error_console, output, print_json, progress, styled
from burnside.errors import UnknownName
from burnside.report.claims import VERDICTS, Claim, counts, load, markdown, recompute

__all__ = ["Claims", "command_problem"]


@dataclass(frozen=True)
class Claims:
    """Show every claim of the paper with its verdict, its evidence and the command that checks it."""

    id: str = ""
    """Only the claim of this id."""
    verdict: str = ""
    """Only claims with this verdict, or one that begins like it."""
    check: bool = False
    """Check the ledger: every row complete, every command understood, the cheap figures computed again."""
    json: bool = False
    """Print one JSON object."""
    write: Path | None = None
    """Write the page of the documentation to this file."""
    file: Path | None = None
    """Another ledger than that of the package."""

    def run(self) -> int:
        """Run the command: 1 if --check finds something wrong."""
        claims = self._chosen(load(self.file))
        if self.write is not None:
            write_text(self.write, markdown(claims))
            output().print(styled(f"{len(claims)} claims written to {self.write}"), soft_wrap=True)
            return 0
        if self.check:
            return _check(claims, as_json=self.json)
        if self.json:
            print_json({"counts": counts(claims), "claims": [claim.to_dict() for claim in claims]})
        else:
            _show(claims)
        return 0

    def _chosen(self, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
        if self.id and self.id not in {claim.id for claim in claims}:
            raise UnknownName("claim", self.id, (claim.id for claim in claims))
        if self.verdict and not any(verdict.startswith(self.verdict) for verdict in VERDICTS):
            raise UnknownName("verdict", self.verdict, VERDICTS)
        # 'holds' is a verdict and the beginning of another: an exact name means itself
        exact = self.verdict in VERDICTS
        return tuple(
            claim
            for claim in claims
            if (not self.id or claim.id == self.id)
            and (claim.verdict == self.verdict if exact else claim.verdict.startswith(self.verdict))
        )


def _show(claims: tuple[Claim, ...]) -> None:
    console = output()
    for claim in claims:
        console.print(f"{claim.id} — {claim.where}: {claim.verdict}", style="bold", soft_wrap=True)
        for line in (claim.claim, f"found: {claim.evidence}", f"check: {claim.command}"):
            console.print(f"  {line}", soft_wrap=True)
    words = ", ".join(f"{number} {verdict}" for verdict, number in counts(claims).items())
    console.print(f"{len(claims)} claims: {words or 'none'}", soft_wrap=True)


def _check(claims: tuple[Claim, ...], *, as_json: bool) -> int:
    problems: dict[str, str] = {}
    skipped: dict[str, str] = {}
    agreed = 0
    with progress("claims") as report:
        for k, claim in enumerate(claims):
            found = recompute(claim)
            if found.status == "differs":
                problems[claim.id] = found.message
            elif found.status == "skipped":
                skipped[claim.id] = found.message
            agreed += found.status == "agrees"
            if (wrong := command_problem(claim.command)) is not None:
                problems.setdefault(claim.id, wrong)
            report(k + 1, len(claims))
    if as_json:
        print_json({"claims": len(claims), "agree": agreed, "skipped": skipped, "problems": problems})
    else:
        for name, why in skipped.items():
            output().print(f"skipped {name}: {why}", soft_wrap=True)
        for name, why in problems.items():
            error_console().print(f"wrong: {name}: {why}", soft_wrap=True)
        words = f"{agreed} have figures that were computed again and agree, {len(problems)} are wrong"
        output().print(f"{len(claims)} claims, {words}, {len(skipped)} skipped", soft_wrap=True)
    return 1 if problems else 0


@cache
def command_problem(command: str) -> str | None:
    """What is wrong with a command of the ledger, or None; nothing is run.

    >>> command_problem("burnside audit ring --n 5"), command_problem("burnside adit ring")
    (None, "the command line does not understand 'burnside adit ring'")
    """
    import shlex

    words = shlex.split(command)
    if words[0] == "burnside":
        return None if _parses(words[1:]) else f"the command line does not understand {command!r}"
    if words[0] != "pytest" or len(words) != 2:
        return f"{command!r} is neither 'burnside …' nor 'pytest path::test'"
    path, _, name = words[1].partition("::")
    top = _checkout()
    if top is None:
        return None  # an installed wheel has no tests to look at
    if not (top / path).is_file():
        return f"there is no file {path}"
    if name and name not in _functions(top / path):
        return f"{path} has no test {name}"
    return None


def _parses(argv: list[str]) -> bool:
    import tyro

    from burnside.cli import commands

    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        try:
            tyro.cli(commands.Command, args=argv, prog="burnside")
        except SystemExit:
            return False
    return True


def _checkout() -> Path | None:
    """The checkout we run from, if there is one."""
    top = Path(__file__).resolve().parents[3]
    return top if (top / "tests").is_dir() and (top / "pyproject.toml").is_file() else None


@cache
def _functions(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
