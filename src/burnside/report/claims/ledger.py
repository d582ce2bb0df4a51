"""``load``: the rows of ``claims.toml``, each complete, or one sentence about the first that is not."""

from __future__ import annotations

import re
import shlex
import string
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib import resources
from pathlib import Path
from typing import Any

from burnside.errors import UnknownName, UnreadableFile

__all__ = ["KINDS", "VERDICTS", "Claim", "counts", "load"]

#: What a row may say of its claim, and what that means.
VERDICTS: dict[str, str] = {
    "holds": "true as written",
    "holds as corrected": "false, or incomplete, as written; the row says what is true, docs/theory.md why",
    "does not hold as stated": "a counter-example or the paper's own text contradicts it",
    "reproduced": "measured here, with the same outcome",
    "not reproduced": "measured here, with another outcome",
    "needs a GPU: recipe runs at small scale": "the full scale is out of reach of a CPU; the same code runs smaller",
    "pending": "not measured yet",
}

KINDS = (
    "definition",
    "proposition",
    "lemma",
    "theorem",
    "corollary",
    "figure",
    "table",
    "sentence",
    "setup",
    "compute",
)

_TEXTS = ("id", "kind", "where", "claim", "how", "command", "verdict", "evidence")


@dataclass(frozen=True)
class Claim:
    """One row of the ledger.

    Attributes:
        id: short name, unique.
        kind: one of :data:`KINDS`.
        where: section and number in the paper.
        claim: what the paper says, in one sentence.
        how: how it is checked.
        command: ``burnside …`` or ``pytest path::test``, which checks it.
        verdict: one of :data:`VERDICTS`.
        evidence: the figures, filled in from ``figures``.
        sources: files of the repository in which the evidence is found.
        check: name of the function that computes the figures again; empty if that takes too long.
        figures: what it must find.
        tolerance: largest relative difference at which two figures agree.
    """

    id: str
    kind: str
    where: str
    claim: str
    how: str
    command: str
    verdict: str
    evidence: str
    sources: tuple[str, ...] = ()
    check: str = ""
    figures: Mapping[str, Any] = field(default_factory=dict)
    tolerance: float = 1e-6

    @property
    def argv(self) -> list[str]:
        """The command as a shell splits it."""
        return shlex.split(self.command)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        found = {f.name: getattr(self, f.name) for f in fields(self)}
        return found | {"sources": list(self.sources), "figures": dict(self.figures)}


def counts(claims: Sequence[Claim]) -> dict[str, int]:
    """How many claims have each verdict, in the order of :data:`VERDICTS`; verdicts nobody has are left out."""
    found = Counter(claim.verdict for claim in claims)
    return {verdict: found[verdict] for verdict in VERDICTS if found[verdict]}


def load(path: str | Path | None = None) -> tuple[Claim, ...]:
    """The ledger of the package, or another one.

    >>> claims = load()
    >>> next(c.verdict for c in claims if c.id == "fig2-64-to-8")
    'does not hold as stated'
    """
    try:
        if path is None:
            text = (resources.files(__package__) / "claims.toml").read_text(encoding="utf-8")
        else:
            text = Path(path).read_text(encoding="utf-8")
        content = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UnreadableFile(f"cannot read the claims in {path or 'claims.toml'}: {error}") from None
    rows = content.get("claim")
    if not isinstance(rows, list) or not rows:
        raise UnreadableFile(f"there is no [[claim]] in {path or 'claims.toml'}")
    found: dict[str, Claim] = {}
    for number, row in enumerate(rows, start=1):
        claim = _claim(row, number)
        if claim.id in found:
            raise UnreadableFile(f"two claims have the id {claim.id!r}: rename one")
        found[claim.id] = claim
    return tuple(found.values())


def _claim(row: Any, number: int) -> Claim:
    name = f"claim {number} ({row.get('id', 'without id')})" if isinstance(row, dict) else f"claim {number}"
    if not isinstance(row, dict):
        raise UnreadableFile(f"{name} must be a table of fields")
    if unknown := sorted(set(row) - {f.name for f in fields(Claim)}):
        raise UnreadableFile(f"{name} has an unknown field: {', '.join(unknown)}")
    for key in _TEXTS:
        if not isinstance(row.get(key), str) or not row[key].strip():
            raise UnreadableFile(f"{name} needs the text {key!r}")
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", row["id"]):
        raise UnreadableFile(f"{name}: an id has small letters, digits and single hyphens")
    if row["verdict"] not in VERDICTS:
        raise UnknownName(f"verdict of {name}", row["verdict"], VERDICTS)
    if row["kind"] not in KINDS:
        raise UnknownName(f"kind of {name}", row["kind"], KINDS)
    if not row["command"].startswith(("burnside ", "pytest ")):
        raise UnreadableFile(f"{name}: the command must be 'burnside …' or 'pytest path::test'")
    if bool(row.get("check")) != bool(row.get("figures")):
        raise UnreadableFile(f"{name}: 'check' and 'figures' go together")
    figures = row.get("figures", {})
    wanted = {key for _, key, _, _ in string.Formatter().parse(row["evidence"]) if key}
    if missing := sorted(wanted - set(figures)):
        raise UnreadableFile(f"{name}: the evidence uses figures that are not given: {', '.join(missing)}")
    try:
        evidence = row["evidence"].format(**figures)
    except (ValueError, TypeError, IndexError) as error:
        raise UnreadableFile(f"{name}: the evidence cannot be filled in: {error}") from None
    return Claim(**{**row, "evidence": evidence, "sources": tuple(row.get("sources", ()))})
