"""Results as rows of text, shared by the command line and the HTML report."""

from __future__ import annotations

import math
from typing import NamedTuple

from burnside.theory import Audit, Size

__all__ = ["Row", "audit_rows", "bound_rows", "number", "plus_minus", "span", "whole"]


class Row(NamedTuple):
    """A label and three cells."""

    label: str
    first: str
    second: str = ""
    third: str = ""


def number(x: float | None) -> str:
    """A float for people; a dash for what is undefined.

    >>> number(1.5e12), number(125000.0), number(None), number(57.142857), number(math.nan), number(-math.inf)
    ('1.5e+12', '125000', '–', '57.14', '–', '−∞')
    """
    if x is None or math.isnan(x):
        return "–"
    if not math.isfinite(x):
        return "∞" if x > 0 else "−∞"
    return f"{x:.0f}" if x == round(x) and abs(x) < 1e9 else f"{x:.4g}"


def span(low: float | None, high: float | None) -> str:
    """An interval for people; a dash where there is none.

    >>> span(1.234, 5.678), span(1.0, math.inf), span(math.nan, math.nan), span(None, 2.0)
    ('1.23–5.68', '1–∞', '–', '–')
    """
    ends = [x for x in (low, high) if x is not None and not math.isnan(x)]
    return "–".join(number(x) if math.isinf(x) else f"{x:.3g}" for x in ends) if len(ends) == 2 else "–"


def plus_minus(mean: float | None, se: float | None) -> str:
    """A mean and its standard error for people; without the latter where there is none.

    >>> plus_minus(-67.38, 1.12), plus_minus(3.0, None), plus_minus(None, None)
    ('-67.4 ± 1.1', '3.0', '–')
    """
    if mean is None:
        return "–"
    return f"{mean:.1f}" + ("" if se is None else f" ± {se:.1f}")


def whole(n: int | None) -> str:
    """An integer of any size for people."""
    if n is None:
        return "unknown"
    return str(n) if n < 10**12 else f"10^{math.log10(n):.1f}"


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
