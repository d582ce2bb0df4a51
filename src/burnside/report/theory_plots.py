"""Plots of the theory: the paper's Fig. 3 redrawn, and covering numbers against the radius."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from burnside.report.plots import Plot, plot
from burnside.theory import covering, nets
from burnside.theory.bounds import Size, episodes_for_optimality, lower, optimality_at, ucfh

__all__ = ["CURVES", "covering_curves", "reduction"]

#: What Fig. 3 leaves unsaid: actions, successors and confidence (its caption gives |S| = 10⁵ and 95 %).
STATES, ACTIONS, SUCCESSORS, DELTA = 10**5, 4, 2, 0.05
HORIZON, EPS = 10, 0.5

CURVES = ("circle", "circle/Z16", "torus:2", "sphere", "sphere/SO2", "so3", "so3/O24")


def reduction() -> Plot:
    """The paper's Fig. 3: what |G| = |S| = 10⁵ would mean for the number of episodes, and where it stops meaning it."""
    whole = Size(STATES, STATES * ACTIONS, SUCCESSORS)
    single = Size(1, ACTIONS, SUCCESSORS)
    episodes = np.logspace(2, 10, 200)
    curves = {
        "M": whole,
        "quotient, C kept": single,
        "quotient, C̄ = 1": Size(1, ACTIONS, 1),
    }
    left = {name: [optimality_at(size, k, DELTA) for k in episodes] for name, size in curves.items()}
    orders = _divisors(STATES)
    right = {
        name: [_episodes(name, g) for g in orders] for name in ("leading (paper = joint)", "UCFH, explicit", "lower")
    }
    rows: list[tuple[Any, ...]] = [
        ("A", name, k, y) for name in left for k, y in zip(episodes, left[name], strict=True)
    ]
    rows += [("B", name, g, y) for name in right for g, y in zip(orders, right[name], strict=True)]

    def draw(figure: Any) -> None:
        a, b = figure.subplots(1, 2)
        for name, values in left.items():
            a.plot(episodes, values, label=name)
        a.axhline(0.95, color="#5c6670", linestyle="--", linewidth=1)
        a.annotate("95 %", (6e6, 0.955), fontsize=8, color="#5c6670")
        a.set(xscale="log", xlabel="episodes", ylabel="guaranteed share of the optimal return", ylim=(0, 1.02))
        a.set_title("A  leading term of the upper bound", loc="left", fontsize=9)
        a.legend(loc="center", bbox_to_anchor=(0.38, 0.4))
        for name, numbers in right.items():
            shown = [v if v and v > 0 else math.nan for v in numbers]
            b.plot(orders, shown, marker=".", markersize=3, label=name)
        b.axvspan(STATES / 4, STATES, color="#d55e00", alpha=0.12, linewidth=0)
        b.annotate("|S̄| ≤ 4:\ndegenerate", (STATES / 3.6, 1e16), fontsize=7, color="#a04000", ha="right")
        b.set(xscale="log", yscale="log", xlabel="order of the group |G|", ylabel="episodes")
        b.set_title(f"B  bounds at ε = {EPS}, H = {HORIZON}", loc="left", fontsize=9)
        b.legend(loc="lower left")

    crossing = [episodes_for_optimality(size, 0.95, DELTA) for size in (whole, single)]
    caption = (
        f"Fig. 3 redrawn for |S| = 10⁵, |A| = {ACTIONS}, C = {SUCCESSORS}, δ = {DELTA}, which the paper leaves unsaid. "
        f"A: M reaches 95 % after {crossing[0]:.2g} episodes, the quotient after {crossing[1]:.2g}, with R* = H (a "
        "smaller R* needs more). B: at |G| = |S| one abstract state is left; rewards are known, so nothing is left to "
        "learn, the explicit bound is 0 and so is the lower one below |S̄| = 4. The paper's own ring game with about "
        "10⁵ states has N = 11 and |G| = 11."
    )
    return plot("fig3-reduction", caption, draw, ("panel", "curve", "x", "y"), rows, size=(9.0, 3.8))


def _divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]


def _episodes(name: str, order: int) -> float | None:
    size = Size(STATES // order, STATES // order * ACTIONS, SUCCESSORS if order < STATES else 1)
    if name == "lower":
        return lower(size, HORIZON, EPS, DELTA).value
    if name == "UCFH, explicit":
        return ucfh(size, HORIZON, EPS, DELTA).episodes
    return episodes_for_optimality(size, 1 - EPS / HORIZON, DELTA)


def covering_curves(names: Sequence[str] = CURVES, *, samples: int = 20_000, seed: int = 0) -> Plot:
    """N(α) of spaces and quotients: proved bounds as bands, a farthest-point net as a line."""
    rows: list[tuple[Any, ...]] = []
    lines: dict[str, tuple[Any, Any]] = {}
    bands: dict[str, tuple[list[float], list[int], list[int]]] = {}
    for name in names:
        points, distance = nets.space(name)
        net = nets.net(points(np.random.default_rng(seed), samples), distance, max_points=samples // 20)
        alphas = [a for a in np.geomspace(0.05, 1.5, 40) if a >= net.radii[-1]]
        counts = [net(a) for a in alphas]
        bounds = [covering.cover(name, a) for a in alphas]
        lines[name] = (alphas, counts)
        bands[name] = ([float(a) for a in alphas], [b.lower for b in bounds], [b.upper for b in bounds])
        rows += [(name, a, b.lower, c, b.upper) for a, b, c in zip(alphas, bounds, counts, strict=True)]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for name, (alphas, counts) in lines.items():
            (line,) = axes.plot(alphas, counts, label=name)
            axes.fill_between(*bands[name], color=line.get_color(), alpha=0.12, linewidth=0)
        axes.set(xscale="log", yscale="log", xlabel="radius α", ylabel="balls N(α)")
        axes.legend(ncols=2)

    caption = (
        f"Covering numbers: bands are proved lower and upper bounds, lines farthest-point nets of {samples} samples "
        f"(seed {seed}), drawn while they use at most a twentieth of the samples. A finite group divides N(α) only "
        "below its orbit spacing; a group of positive dimension lowers the slope."
    )
    return plot("covering-numbers", caption, draw, ("space", "alpha", "lower", "numeric", "upper"), rows)
