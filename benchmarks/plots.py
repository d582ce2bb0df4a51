"""Scaling plots in the style of the report: cost against states, seeds, N and workers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.lines import Measured
from burnside.report.plots import Plot, plot

Curves = Mapping[str, Sequence[tuple[float, float]]]


def _curves(
    name: str,
    caption: str,
    axes: tuple[str, str],
    curves: Curves,
    *,
    log: tuple[bool, bool] = (True, True),
    guide: tuple[str, Callable[[float], float]] | None = None,
) -> Plot:
    def draw(figure: Any) -> None:
        ax = figure.subplots()
        for label, points in curves.items():
            ax.plot(*zip(*points, strict=True), marker="o", markersize=3.5, label=label)
        if guide is not None:
            xs = sorted({x for points in curves.values() for x, _ in points})
            ax.plot(xs, [guide[1](x) for x in xs], color="#5c6670", linestyle="--", linewidth=1, label=guide[0])
        ax.set(xlabel=axes[0], ylabel=axes[1])
        ax.set_xscale("log" if log[0] else "linear")
        ax.set_yscale("log" if log[1] else "linear")
        if not log[1]:
            ax.set_ylim(bottom=0)
        if not log[0] or max(x for points in curves.values() for x, _ in points) < 1000:
            ticks = sorted({x for points in curves.values() for x, _ in points})
            ax.set_xticks(ticks, [f"{x:g}" for x in ticks])
            ax.minorticks_off()
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2)

    rows = [(label, x, y) for label, points in curves.items() for x, y in points]
    return plot(name, caption, draw, ("curve", axes[0], axes[1]), rows, size=(6.4, 4.4))


def states(core: Measured) -> Plot | None:
    """Verify + quotient, one pass, and discover, against the number of pairs."""
    curves: dict[str, list[tuple[float, float]]] = {}
    for row in core.rows:
        if row.get("what") == "verify+quotient":
            how = "at random" if row["scattered"] else "orbit by orbit"
            curves.setdefault(f"verify + quotient, numbered {how}", []).append(
                (row["pairs"], row["verify_quotient_ms"])
            )
            curves.setdefault(f"one pass of P @ v, {how}", []).append((row["pairs"], row["pass_ms"]))
        elif row.get("what") == "discover" and row["n"] > 5:  # the first one compiles
            curves.setdefault("discover, ring game", []).append((row["pairs"], row["discover_ms"]))
            curves.setdefault("minimise, ring game", []).append((row["pairs"], row["minimise_ms"]))
    if not curves:
        return None
    return _curves(
        "scaling-states",
        "Cost against the size of the model: verify + quotient of random models with four successors per pair and two "
        "generators, and discover and minimise on the ring game (N = 6 to 10).",
        ("state-action pairs", "milliseconds"),
        curves,
    )


def seeds(scaling: Measured) -> Plot | None:
    """Microseconds per DQN update against seeds trained together."""
    rows = [row for row in scaling.rows if row.get("against") == "seeds"]
    if not rows:
        return None
    curves = {
        "by the clock, two threads": [(r["x"], r["clock_us"]) for r in rows],
        "processor time": [(r["x"], r["cpu_us"]) for r in rows],
    }
    return _curves(
        "scaling-seeds",
        "Cost of one DQN update against the number of seeds trained together (ring N = 20, one update per step).",
        ("seeds", "µs per update"),
        curves,
        log=(True, False),
    )


def sizes(scaling: Measured) -> Plot | None:
    """Cost against N: the ring's updates and the cube's canonical forms."""
    curves: dict[str, list[tuple[float, float]]] = {}
    for row in scaling.rows:
        if row.get("against") == "n":
            curves.setdefault(str(row["what"]), []).append((row["x"], row["cpu_us"]))
    if not curves:
        return None
    return _curves(
        "scaling-n",
        "Cost against N: one DQN update on a ring of N cells, one canonical form of an n×n×n cube; one thread.",
        ("N", "µs of processor time"),
        curves,
    )


def workers(scaling: Measured) -> Plot | None:
    """How much sooner a sweep ends with more workers."""
    taken = {row["x"]: row["seconds"] for row in scaling.rows if row.get("against") == "workers"}
    if 1 not in taken:
        return None
    cores = int(scaling.machine.get("cores") or 1)
    return _curves(
        "scaling-workers",
        f"How much sooner a sweep of eight equal cells ends with more workers, on {cores} cores; the start of the "
        "processes is included.",
        ("workers", "times as fast as one worker"),
        {"sweep of eight cells": [(x, taken[1] / seconds) for x, seconds in sorted(taken.items())]},
        log=(False, False),
        guide=(f"ideal on {cores} cores", lambda x: min(x, cores)),
    )


def draw(results: Mapping[str, Measured]) -> list[Plot]:
    """Every plot for which there are numbers."""
    found = []
    for name, make in (("core", states), ("scaling", seeds), ("scaling", sizes), ("scaling", workers)):
        picture = make(results[name]) if name in results else None
        if picture is not None:
            found.append(picture)
    return found
