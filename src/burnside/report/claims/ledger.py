"""``load``: the rows of ``claims.toml`` with the figures last computed, or one sentence about what is wrong with them.

A row keeps two things apart. ``status`` says what is true of the paper's sentence. ``ours`` says what was done here,
and "reproduced" is only for what was run at a scale that decides it.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

from burnside._files import read_json, read_text
from burnside.errors import UnknownName, UnreadableFile
from burnside.report.claims.conditions import condition_names
from burnside.report.claims.figures import fill, placeholders

__all__ = ["KINDS", "OURS", "STATUSES", "Claim", "Kept", "counts", "kept", "load"]

#: What is true of the paper's sentence.
STATUSES: dict[str, str] = {
    "correct": "true as written",
    "correct with a condition": "true once a condition is added that the paper leaves out; the row names it",
    "wrong": "a counter-example, a count or the paper's own text contradicts it; the row gives it",
    "underspecified": "the paper leaves out what one must know to call it true or false",
    "measurement": "a report of the authors' own runs, which only running it again can support or contradict",
    "setting": "a definition, or what was done: there is nothing in it to be true or false",
}

#: What was done here.
OURS: dict[str, str] = {
    "computed exactly": "proved, counted or computed in full; no scale is involved",
    "reproduced": "run at a scale that decides it, with the same outcome",
    "contradicted": "run at a scale that decides it, with another outcome",
    "not decided here": "not run, or not at a scale that could decide it; the row says what would",
    "built": "implemented as described and tested; nothing was measured",
}

#: Which of them go together: a measurement is not computed, and what is called wrong has been shown to be.
_TOGETHER: dict[str, tuple[str, ...]] = {
    "correct": ("computed exactly", "reproduced", "built"),
    "correct with a condition": ("computed exactly", "reproduced", "built"),
    "wrong": ("computed exactly", "contradicted"),
    "underspecified": ("computed exactly", "not decided here", "built"),
    "measurement": ("reproduced", "contradicted", "not decided here"),
    "setting": ("built", "not decided here", "computed exactly"),
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

_TEXTS = ("id", "kind", "where", "quote", "claim", "status", "ours", "evidence", "how", "command")


@dataclass(frozen=True)
class Claim:
    """One row of the ledger.

    Attributes:
        id: short name, unique.
        kind: one of :data:`KINDS`.
        where: section and number in the paper.
        quote: words of the paper, as they stand there; ``…`` for words left out.
        claim: what the sentence says, in our words.
        status: one of :data:`STATUSES`.
        ours: one of :data:`OURS`.
        evidence: what was found, with figures in braces; :attr:`found` has them filled in.
        how: how it is checked.
        command: ``burnside … --json``, which prints the figures, or ``pytest path::test`` where there are none.
        needs: what would decide it, for what is not decided here.
        sources: files of the repository in which the evidence is found.
        paths: for every figure, where it stands in what the command prints.
        expect: conditions on the figures without which status and outcome would not be what they are.
        scale: conditions on the figures that make the scale of a run a deciding one.
        tolerance: largest relative difference at which two figures agree.
        figures: the figures as they were last computed.
    """

    id: str
    kind: str
    where: str
    quote: str
    claim: str
    status: str
    ours: str
    evidence: str
    how: str
    command: str
    needs: str = ""
    sources: tuple[str, ...] = ()
    paths: Mapping[str, str] = field(default_factory=dict)
    expect: tuple[str, ...] = ()
    scale: tuple[str, ...] = ()
    tolerance: float = 1e-4
    figures: Mapping[str, Any] = field(default_factory=dict)

    @property
    def argv(self) -> list[str]:
        """The command as a shell splits it."""
        return shlex.split(self.command)

    @cached_property
    def found(self) -> str:
        """The evidence with its figures."""
        return fill(self.evidence, self.figures)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        lists = {"sources": list(self.sources), "expect": list(self.expect), "scale": list(self.scale)}
        return plain | lists | {"paths": dict(self.paths), "figures": dict(self.figures), "evidence": self.found}


@dataclass(frozen=True)
class Kept:
    """What ``burnside claims --update`` writes beside the rows.

    Attributes:
        figures: by claim and name, as they were last computed.
        quotes: by claim, the fingerprint of a quote that was found in the paper.
    """

    figures: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    quotes: Mapping[str, str] = field(default_factory=dict)


def counts(claims: Sequence[Claim]) -> dict[str, dict[str, int]]:
    """How many claims have each status and each outcome, in the order of the lists; what no claim has is left out."""
    status, ours = Counter(claim.status for claim in claims), Counter(claim.ours for claim in claims)
    return {
        "status": {name: status[name] for name in STATUSES if status[name]},
        "ours": {name: ours[name] for name in OURS if ours[name]},
    }


def kept(path: str | Path | None = None) -> Kept:
    """The figures and fingerprints beside a ledger: ``claims.json`` beside ``claims.toml``; empty if there is none."""
    try:
        if path is None:
            content = json.loads((resources.files(__package__) / "claims.json").read_text(encoding="utf-8"))
        else:
            content = read_json(Path(path).with_suffix(".json"))
        json.dumps(content, allow_nan=False)  # refuses numbers that are none
        found = Kept(dict(content["figures"]), dict(content["quotes"]))
        if not all(isinstance(figures, dict) for figures in found.figures.values()):
            raise TypeError
        return found
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        if path is not None and not Path(path).with_suffix(".json").exists():
            return Kept()
        raise UnreadableFile(
            "the figures of the ledger (claims.json) are damaged: write them again with 'burnside claims --update'"
        ) from None


def load(path: str | Path | None = None, *, updating: bool = False) -> tuple[Claim, ...]:
    """The ledger of the package, or another one; ``updating`` also takes rows whose figures are not yet computed.

    >>> claims = load()
    >>> next((c.status, c.ours) for c in claims if c.id == "thm-1")
    ('wrong', 'computed exactly')
    """
    try:
        if path is None:
            text = (resources.files(__package__) / "claims.toml").read_text(encoding="utf-8")
        else:
            text = read_text(path)
        content = tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, UnreadableFile):
            raise
        raise UnreadableFile(f"cannot read the claims in {path or 'claims.toml'}: {error}") from None
    rows = content.get("claim")
    if not isinstance(rows, list) or not rows:
        raise UnreadableFile(f"there is no [[claim]] in {path or 'claims.toml'}")
    figures = kept(path).figures
    found: dict[str, Claim] = {}
    for number, row in enumerate(rows, start=1):
        claim = _claim(row, number, figures, updating)
        if claim.id in found:
            raise UnreadableFile(f"two claims have the id {claim.id!r}: rename one")
        found[claim.id] = claim
    return tuple(found.values())


def _claim(row: Any, number: int, computed: Mapping[str, Mapping[str, Any]], updating: bool) -> Claim:
    name = f"claim {number} ({row.get('id', 'without id')})" if isinstance(row, dict) else f"claim {number}"
    if not isinstance(row, dict):
        raise UnreadableFile(f"{name} must be a table of fields")
    known = {f.name for f in fields(Claim)} - {"paths"}
    if unknown := sorted(set(row) - known):
        raise UnreadableFile(f"{name} has an unknown field: {', '.join(unknown)}")
    for key in _TEXTS:
        if not isinstance(row.get(key), str) or not row[key].strip():
            raise UnreadableFile(f"{name} needs the text {key!r}")
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", row["id"]):
        raise UnreadableFile(f"{name}: an id has small letters, digits and single hyphens")
    for key, allowed in (("kind", KINDS), ("status", STATUSES), ("ours", OURS)):
        if row[key] not in allowed:
            raise UnknownName(f"{key} of {name}", row[key], allowed)
    tolerance = row.get("tolerance", 0.0)
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not 0 <= tolerance < 1:
        raise UnreadableFile(f"{name}: the tolerance is a share from 0 to 1, not {tolerance!r:.40}")
    for key, kind, words in (("needs", str, "a text"), *((k, list, "a list") for k in ("sources", "expect", "scale"))):
        if not isinstance(row.get(key, kind()), kind):
            raise UnreadableFile(f"{name}: {key!r} must be {words}")
    _check_verdict(name, row)
    _check_figures(name, row)
    figures = {key: value for key, value in computed.get(row["id"], {}).items() if key in row.get("figures", {})}
    if not updating and (missing := sorted(set(row.get("figures", {})) - set(figures))):
        raise UnreadableFile(
            f"{name}: figures that were never computed: {', '.join(missing)}; run 'burnside claims --update'"
        )
    lists = {key: tuple(row.get(key, ())) for key in ("sources", "expect", "scale")}
    return Claim(**{**row, **lists, "paths": dict(row.get("figures", {})), "figures": figures})


def _check_verdict(name: str, row: dict[str, Any]) -> None:
    status, ours = row["status"], row["ours"]
    if ours not in _TOGETHER[status]:
        together = " or ".join(repr(word) for word in _TOGETHER[status])
        raise UnreadableFile(f"{name}: what is {status!r} of the paper must be {together} here, not {ours!r}")
    if bool(row.get("needs")) != (ours == "not decided here"):
        raise UnreadableFile(f"{name}: 'needs' says what would decide what is 'not decided here', and only that")
    if bool(row.get("scale")) != (ours in ("reproduced", "contradicted")):
        raise UnreadableFile(f"{name}: 'scale' says why a run decides what is 'reproduced' or 'contradicted'")
    if row.get("scale") and not row.get("expect"):
        raise UnreadableFile(f"{name}: {ours!r} needs 'expect', the conditions that make it so")


def _check_figures(name: str, row: dict[str, Any]) -> None:
    paths = row.get("figures", {})
    if not isinstance(paths, dict) or not all(isinstance(path, str) and path for path in paths.values()):
        raise UnreadableFile(f"{name}: 'figures' names, for every figure, where it stands in what the command prints")
    if row["command"].startswith("burnside ") != bool(paths):
        raise UnreadableFile(f"{name}: figures are printed by 'burnside …', which a row without any has no use for")
    if not row["command"].startswith(("burnside ", "pytest ")):
        raise UnreadableFile(f"{name}: the command must be 'burnside …' or 'pytest path::test'")
    for key in ("sources", "expect", "scale"):
        if not all(isinstance(text, str) for text in row.get(key, ())):
            raise UnreadableFile(f"{name}: {key!r} is a list of texts")
    wanted = placeholders(row["evidence"])
    for condition in (*row.get("expect", ()), *row.get("scale", ())):
        wanted |= condition_names(condition)
    if missing := sorted(wanted - set(paths)):
        raise UnreadableFile(f"{name} uses figures that are not given: {', '.join(missing)}")
