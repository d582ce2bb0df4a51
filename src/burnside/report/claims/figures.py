"""Figures of a row: where they stand in what a command prints, how they are rounded, compared and written."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Mapping
from typing import Any

from burnside.errors import UnreadableFile

__all__ = ["agree", "figure_at", "fill", "placeholders", "rounded"]

_PART = re.compile(r"(?P<name>[^.\[\]]+)|\[(?P<inside>[^\]]*)\]|\.")


def figure_at(document: Any, path: str) -> Any:
    """The value at a path in a JSON document; ``[k=v, …]`` picks the one entry of a list with these values.

    >>> figure_at([{"name": "a, b", "x": 1}, {"name": "a", "x": 2}], "[name=a, b,x=1].x")
    1

    >>> table = {"rows": [{"n": 5, "arm": "a", "mean": 1.5}, {"n": 9, "arm": "a", "mean": 4}], "seeds": [7, 8]}
    >>> figure_at(table, "rows[n=9,arm=a].mean"), figure_at(table, "seeds[-1]")
    (4, 8)
    """
    found = document
    for part in _PART.finditer(path):
        if name := part["name"]:
            if not isinstance(found, dict) or name not in found:
                raise UnreadableFile(f"the command prints nothing at {path!r} (no {name!r})")
            found = found[name]
        elif part["inside"] is not None:
            found = _picked(found, part["inside"], path)
    return found


def _picked(found: Any, inside: str, path: str) -> Any:
    if not isinstance(found, list):
        raise UnreadableFile(f"the command prints no list at {path!r}")
    if re.fullmatch(r"-?\d+", inside):
        try:
            return found[int(inside)]
        except IndexError:
            raise UnreadableFile(f"the list at {path!r} has {len(found)} entries only") from None
    # a comma that no key follows belongs to the value before it
    wanted = dict(pair.split("=", 1) for pair in re.split(r",\s*(?=\w+=)", inside) if "=" in pair)
    matching = [row for row in found if all(_text(row.get(key.strip())) == v.strip() for key, v in wanted.items())]
    if not wanted or len(matching) != 1:
        raise UnreadableFile(f"{path!r} fits {len(matching)} entries: it must name exactly one")
    return matching[0]


def _text(value: Any) -> str:
    return "null" if value is None else str(value)


def rounded(value: Any) -> Any:
    """A figure as it is kept: floats to nine digits, so that the last bits of a machine do not matter.

    >>> rounded([1 / 3, 7]), rounded(9.0)
    ([0.333333333, 7], 9.0)
    """
    if isinstance(value, list):
        return [rounded(part) for part in value]
    return float(f"{value:.9g}") if isinstance(value, float) and math.isfinite(value) else value


def agree(found: Any, kept: Any, tolerance: float) -> bool:
    """Whether a figure is the one that is kept, numbers up to a relative (or absolute) tolerance.

    >>> agree([1.0, 2], [1.00001, 2], 1e-4), agree(True, 1.5, 1), agree("a", "a", 0)
    (True, False, True)
    """
    if isinstance(kept, list) or isinstance(found, list):
        both = isinstance(kept, list) and isinstance(found, list) and len(found) == len(kept)
        return both and all(agree(f, k, tolerance) for f, k in zip(found, kept, strict=True))
    if any(isinstance(value, (bool, str)) or value is None for value in (found, kept)):
        return type(found) is type(kept) and bool(found == kept)
    return math.isclose(found, kept, rel_tol=tolerance, abs_tol=tolerance * 1e-3)


class _Formatter(string.Formatter):
    """Numbers as the documentation writes them: 203 814, 33 %, a list without brackets; ``floor.1f`` rounds down."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, list):
            return ", ".join(self.format_field(part, format_spec) for part in value)
        if isinstance(value, bool) or value is None:
            return {True: "yes", False: "no", None: "none"}[value]
        if format_spec.startswith("floor."):  # of a lower bound, so that 'at least' stays true
            format_spec = format_spec.removeprefix("floor")
            digits = 10 ** int(format_spec[1:-1])
            value = math.floor(value * digits) / digits
        found = str(format(value, format_spec))
        if isinstance(value, (int, float)):
            found = found.replace(",", " ").replace("%", " %").replace("-", "−")
            found = re.sub(r"e\+?(−?)0*(\d+)$", lambda e: "·10" + _superscript(e[1] + e[2]), found)
        return found


def _superscript(exponent: str) -> str:
    return exponent.translate(str.maketrans("−0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def placeholders(template: str) -> set[str]:
    """The figures a text uses.

    >>> placeholders("{a} and {b[0]:.2f}") == {"a", "b"}
    True
    """
    try:
        return {key.split("[")[0] for _, key, _, _ in string.Formatter().parse(template) if key}
    except ValueError as error:
        raise UnreadableFile(f"the text cannot be filled in: {error}") from None


def fill(template: str, figures: Mapping[str, Any]) -> str:
    """A text with its figures filled in.

    >>> fill("{a:,} of {b:.2g}, {c:.0%}, {d}", {"a": 203814, "b": 9.6e14, "c": 0.33, "d": [1, 2]})
    '203 814 of 9.6·10¹⁴, 33 %, 1, 2'
    >>> fill("at least {a:floor.1f}", {"a": 2.98})
    'at least 2.9'
    """
    try:
        return _Formatter().vformat(template, (), figures)
    except (ValueError, TypeError, IndexError, KeyError) as error:
        raise UnreadableFile(f"the text cannot be filled in: {error}") from None
