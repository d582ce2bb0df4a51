"""Results as rows of text, shared by the command line and the HTML report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from burnside.stats.ratios import bound_text
from burnside.theory import Audit, Size

__all__ = [
    "Row",
    "Table",
    "audit_rows",
    "between",
    "bound_rows",
    "markdown",
    "number",
    "per_cent",
    "spaced",
    "span",
    "three_digits",
    "whole",
    "with_error",
    "with_interval",
    "with_limits",
]


#: Headers and rows of text.
Table = tuple[Sequence[str], list[list[str]]]


class Row(NamedTuple):
    """A label and three cells."""

    label: str
    first: str
    second: str = ""
    third: str = ""


def number(x: float | None) -> str:
    """A float for people; a dash for what is undefined.

    >>> number(1.5e12), number(203813.8), number(None), number(57.142857), number(math.nan), number(-math.inf)
    ('1.5e+12', '203814', '–', '57.14', '–', '−∞')
    """
    if x is None or math.isnan(x):
        return "–"
    if not math.isfinite(x):
        return "∞" if x > 0 else "−∞"
    return f"{x:.0f}" if abs(x) < 1e9 and (x == round(x) or abs(x) >= 1e4) else f"{x:.4g}"


def span(low: float | None, high: float | None) -> str:
    """An interval for people; a dash where there is none.

    >>> span(1.234, 5.678), span(1.0, math.inf), span(math.nan, math.nan), span(None, 2.0)
    ('1.23–5.68', '1.00–∞', '–', '–')
    """
    ends = [x for x in (low, high) if x is not None and not math.isnan(x)]
    return "–".join(number(x) if math.isinf(x) else three_digits(x) for x in ends) if len(ends) == 2 else "–"


def three_digits(x: float) -> str:
    """A number with three significant digits, zeros included.

    >>> three_digits(1.301), three_digits(215.2), three_digits(36.0)
    ('1.30', '215', '36.0')
    """
    return f"{x:#.3g}".removesuffix(".")


def whole(n: int | None) -> str:
    """An integer of any size for people."""
    if n is None:
        return "unknown"
    return str(n) if n < 10**12 else f"10^{math.log10(n):.1f}"


def markdown(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table.

    >>> print(markdown(["N", "mean"], [["5", "1.2"]]))
    | N | mean |
    | --- | --- |
    | 5 | 1.2 |
    """
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def spaced(value: float | None, digits: int = 0) -> str:
    """A number with spaces between thousands and a real minus; a dash for None.

    >>> spaced(203813.8), spaced(-4028.31, 1), spaced(None), spaced(-0.01, 1)
    ('203 814', '−4 028.3', '–', '0.0')
    """
    if value is None:
        return "–"
    text = f"{value:,.{digits}f}".replace(",", " ")
    return text.removeprefix("-") if not text.strip("-0. ") else text.replace("-", "−")


def with_error(value: float | None, error: float | None, digits: int = 1) -> str:
    """A mean and its standard error; without the latter where there is none.

    >>> with_error(-67.38, 1.12), with_error(3.0, None), with_error(None, None)
    ('−67.4 ± 1.1', '3.0', '–')
    """
    return spaced(value, digits) + ("" if value is None or error is None else f" ± {spaced(error, digits)}")


def between(low: float | None, high: float | None, digits: int = 1) -> str:
    """An interval; a dash if there is none."""
    if low is None or high is None:
        return "–"
    return f"{spaced(low, digits)}{' … ' if min(low, high) < 0 else '–'}{spaced(high, digits)}"


def per_cent(low: float | None, high: float | None, digits: int = 1) -> str:
    """An interval of shares as one of percentages.

    >>> per_cent(0.25, 0.5), per_cent(None, 0.5)
    ('25.0–50.0', '–')
    """
    return "–" if low is None or high is None else between(100 * low, 100 * high, digits)


def with_interval(value: float | None, low: float | None, high: float | None, *, digits: int = 1) -> str:
    """A value and, in brackets, its interval."""
    if value is None or low is None or high is None:
        return spaced(value, digits)
    return f"{spaced(value, digits)} ({between(low, high, digits)})"


def with_limits(value: float, low: float | None, high: float | None, bound: str, digits: int = 1) -> str:
    """A value with its interval, of which a limit may be unknown; of a bound the limit alone, where there is one.

    >>> with_limits(7.9, 6.2, 9.7, ""), with_limits(36.4, 15.38, None, ""), with_limits(30.0, 26.33, None, "at least")
    ('7.9 (6.2–9.7)', '36.4 (at least 15.3)', 'at least 26.3')
    """
    limit = low if bound == "at least" else high if bound == "at most" else None
    if bound:
        return bound_text(value if limit is None else limit, bound, digits)
    if low is not None and high is not None:
        return with_interval(value, low, high, digits=digits)
    if low is None and high is None:
        return spaced(value, digits)
    known = bound_text(low, "at least", digits) if low is not None else bound_text(float(high or 0), "at most", digits)
    return f"{spaced(value, digits)} ({known})"


def audit_rows(found: Audit) -> list[Row]:
    """Sizes, verification and factors of an audit: label, M, quotient, factor."""
    size, small = found.size, found.quotient_size
    verdict = found.verdict
    how = (
        f"exhaustive, {verdict.checked} checks"
        if verdict.exhaustive
        else f"sampled, {verdict.checked} checks: at most {verdict.failure_rate:.2%} fail at {verdict.confidence:.0%}"
    )
    rows = [
        *_order_rows(found),
        Row("verified", "yes" if verdict.ok else "NO", how, f"ε_r = {verdict.eps_r:.3g}, ε_p = {verdict.eps_p:.3g}"),
        Row("states", whole(size.states), whole(small.states), number(size.states / small.states)),
        *_terminal_rows(size, small),
        Row("pairs (joint)", whole(size.pairs), whole(small.pairs), number(found.joint)),
        Row("successors C", str(size.succ), str(small.succ), number(found.successor_factor)),
    ]
    if found.reachable is not None:
        reached = found.reachable
        rows.append(
            Row(
                "pairs reachable from p₀",
                str(reached["pairs"]),
                str(reached["quotient_pairs"]),
                number(found.reachable_factor),
            )
        )
    parts = found.paper
    formula = f"|G_S|·|G_A|·|G_C| = {number(parts.states)}·{number(parts.actions)}·{number(parts.successors)}"
    rows.append(Row("paper's factor (Thm. 1)", "", formula, number(parts.value)))
    if parts.value is None and parts.average is not None:
        rows.append(Row("  with average orbit sizes", "", "", number(parts.average)))
    return rows


def _order_rows(found: Audit) -> list[Row]:
    """The order of the group: what it counts, and without what happens to pairs that are never met."""
    order, acting = found.group_order, found.acting_order
    if acting is None or acting == order:
        return [Row("order |G|, as permutations of pairs", whole(order))]
    return [Row("order |G|, on the pairs reachable from p₀", whole(acting)), Row("  on all pairs", whole(order))]


def _terminal_rows(size: Size, small: Size) -> list[Row]:
    if not size.terminal:
        return []
    said = "no choices there, so no pairs"
    return [Row("  terminal", whole(size.terminal), whole(small.terminal), said)]


def bound_rows(found: Audit) -> list[Row]:
    """Upper bounds of an audit: label, M, quotient, ratio."""
    bounds = found.bounds()
    names = {
        "paper": "paper's formula",
        "joint": "leading term, joint orbits",
        "joint_log10": "  its log10",
        "explicit": "UCFH with explicit constants",
    }
    rows = []
    for key, label in names.items():
        full, small = bounds["M"][key], bounds["quotient"][key]
        if key == "joint_log10" and bounds["M"]["joint"] is not None:
            continue
        ratio = full / small if full and small and key != "joint_log10" else None
        rows.append(Row(label, number(full), number(small), number(ratio)))
    return rows
