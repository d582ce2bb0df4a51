"""All models of Gymnasium and dm_control, linted: the table of ``docs/howto/lint-models.md``.

``python -m burnside.symmetry.lint.survey docs/howto/lint-models.md`` writes the table into the page again, between its
markers; a test compares the page with what is installed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from burnside._files import read_text, write_text
from burnside.errors import BurnsideError, MissingExtra
from burnside.symmetry.lint.layout import lint
from burnside.symmetry.lint.models import Source, load_source
from burnside.symmetry.lint.repairs import Confirmation, confirm

__all__ = ["Row", "names", "page_table", "survey"]

_MARK = re.compile(r"(<!-- survey -->\n).*?(<!-- end -->)", re.S)
_VERDICTS = ("confirmed", "not separated", "cleared")
_SHOWN = 8  # violations of one model that are listed; larger ones first


@dataclass(frozen=True)
class Row:
    """One model, which several environments may share.

    Attributes:
        environments: their ids.
        maps: for every motion its name, and its violations with what the simulator says of each.
    """

    environments: tuple[str, ...]
    maps: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]


def names() -> list[str]:
    """Ids of all MuJoCo environments of Gymnasium (v4 and v5) and all tasks of dm_control's suite."""
    try:
        import gymnasium
    except ImportError:
        raise MissingExtra("gymnasium", "envs") from None
    found = [
        name
        for name, spec in gymnasium.registry.items()
        if str(spec.entry_point).startswith("gymnasium.envs.mujoco") and re.search(r"-v[45]$", name)
    ]
    try:
        from dm_control import suite
    except ImportError:
        raise MissingExtra("dm_control", "dm-control") from None
    return sorted(found) + [f"dm_control:{domain}-{task}" for domain, task in suite.ALL_TASKS]


def survey(chosen: list[str] | None = None) -> Iterator[Row]:
    """Lint all models; environments whose models are equal share a row."""
    groups: dict[str, list[str]] = {}
    for name in names() if chosen is None else chosen:
        try:
            source = load_source(name)
        except BurnsideError:  # an id that this version of MuJoCo refuses (Pusher-v4)
            continue
        groups.setdefault(_text(source), []).append(name)
    for shared in groups.values():
        yield row(shared)


def row(shared: list[str]) -> Row:
    """Lint the model that some environments share."""
    source = load_source(shared[0])
    report = lint(source)
    maps = []
    for found in report.maps:
        answers = [Confirmation(violation, "not separated", None) for violation in found.violations]
        if found.violations and found.order == 2:
            answers = confirm(source.model, found)
        answers.sort(key=lambda a: (_VERDICTS.index(a.verdict), -(a.violation.amount or 0.0)))
        maps.append((found.motion, tuple((str(answer.violation), answer.verdict) for answer in answers)))
    return Row(tuple(shared), tuple(maps))


def _text(source: Source) -> str:
    """What decides the model: its XML."""
    if source.path is not None:
        return read_text(source.path)
    return source.xml or source.name


def page_table(rows: Iterator[Row]) -> str:
    """The rows as Markdown."""
    made_with = ", ".join(f"{name} {version(name)}" for name in ("mujoco", "gymnasium", "dm_control"))
    lines = [f"Made with {made_with}.", "", "| model of | motion | violations |", "| --- | --- | --- |"]
    for who, maps in _merged(rows):
        clean = [motion for motion, violations in maps if not violations]
        if clean or not maps:
            lines.append(f"| {who} | {', '.join(clean) or 'none'} | {'none' if clean else '–'} |")
        for motion, violations in maps:
            told = [f"{text} — **{verdict}**" for text, verdict in violations[:_SHOWN]]
            if len(violations) > _SHOWN:
                told.append(f"and {len(violations) - _SHOWN} more ({_counts(violations[_SHOWN:])})")
            if told:
                lines.append(f"| {who} | {motion} | {'<br>'.join(told)} |")
    return "\n".join(lines)


def _merged(rows: Iterator[Row]) -> list[tuple[str, Any]]:
    """Rows of one domain with the same answer are one row."""
    found: list[tuple[str, list[str], Any]] = []
    for entry in rows:
        domain = entry.environments[0].partition("-")[0]
        if found and found[-1][0] == domain and found[-1][2] == entry.maps:
            found[-1][1].extend(entry.environments)
        else:
            found.append((domain, list(entry.environments), entry.maps))
    return [(", ".join(environments), maps) for _, environments, maps in found]


def _counts(violations: tuple[tuple[str, str], ...]) -> str:
    verdicts = [verdict for _, verdict in violations]
    return ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in sorted(set(verdicts)))


if __name__ == "__main__":
    page = Path(sys.argv[1])
    table = page_table(survey())
    write_text(page, _MARK.sub(lambda match: f"{match[1]}{table}\n{match[2]}", read_text(page)))
