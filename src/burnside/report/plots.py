"""Plots: a figure with its data beside it, as SVG, PNG and CSV, in one style."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from burnside._files import write_atomically, write_text
from burnside.report import style
from burnside.report.arms import mark, name_arms

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Plot", "as_csv", "band", "plot"]


@dataclass(frozen=True)
class Plot:
    """A drawn figure: its SVG text, the table it was drawn from, and a caption."""

    name: str
    caption: str
    svg: str
    png: bytes
    headers: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def save(self, folder: str | Path) -> list[Path]:
        """Write NAME.svg, NAME.png and NAME.csv, each atomically."""
        base = Path(folder)
        return [
            write_text(base / f"{self.name}.svg", self.svg),
            write_atomically(base / f"{self.name}.png", lambda file: file.write(self.png)),
            write_text(base / f"{self.name}.csv", as_csv(self.headers, self.rows)),
        ]


def as_csv(headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table as CSV text.

    >>> as_csv(["n", "mistakes"], [[5, 228]])
    'n,mistakes\\n5,228\\n'
    """
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(headers)
    writer.writerows(rows)
    return table.getvalue()


def plot(
    name: str,
    caption: str,
    draw: Callable[[Any], None],
    headers: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    size: tuple[float, float] = (6.4, 4.2),
    seeds: int | None = None,
) -> Plot:
    """Call ``draw(figure)`` on an empty matplotlib figure and keep the result with its data.

    Labelled curves can be switched off where the plot is put on a page; see :mod:`burnside.report.arms`.

    Args:
        name: of the files.
        caption: below the figure.
        draw: fills the figure.
        headers, rows: the data, for the table beside the figure.
        size: in inches.
        seeds: the fewest seeds behind a curve; a plot of a single one is marked as such.
    """
    with _house_style() as figure_class:
        figure = figure_class(figsize=size, facecolor=style.PAPER, layout="constrained")
        draw(figure)
        arms = mark(figure)
        if seeds is not None and seeds < 2:
            figure.text(0.5, 0.5, "single seed", ha="center", va="center", rotation=25, fontsize=26, color="#00000022")
        text, picture = io.BytesIO(), io.BytesIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Title": name})
        figure.savefig(picture, format="png", dpi=160, metadata={"Title": name})
    svg = name_arms(text.getvalue().decode(), arms)
    return Plot(name, caption, svg, picture.getvalue(), tuple(headers), tuple(map(tuple, rows)))


def band(axes: Any, x: Any, middle: Any, low: Any, high: Any, *, color: str, scale: float = 1.0, **line: Any) -> None:
    """Draw a curve with a shaded band from ``low`` to ``high``; all three are multiplied by ``scale``."""
    middle, low, high = (scale * np.asarray(values, dtype=float) for values in (middle, low, high))
    axes.plot(x, middle, color=color, **line)
    axes.fill_between(x, low, high, color=color, alpha=0.15, linewidth=0)


@contextmanager
def _house_style() -> Iterator[Any]:
    import matplotlib
    from cycler import cycler
    from matplotlib.figure import Figure

    settings: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": "burnside",
        "font.family": style.FONTS,
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": style.MUTED,
        "axes.labelcolor": style.INK,
        "axes.prop_cycle": cycler(color=[style.colour(i) for i in range(7)]),
        "xtick.color": style.MUTED,
        "ytick.color": style.MUTED,
        "legend.frameon": False,
        "legend.fontsize": 8,
        "grid.color": style.LINE,
        "grid.linewidth": 0.5,
        "axes.grid": True,
        "axes.axisbelow": True,
        "lines.linewidth": 1.6,
    }
    with matplotlib.rc_context(settings):
        yield Figure
