"""What the parts of the report that show an experiment share: two sets of results, and figures with their files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from burnside.report.page import Page
from burnside.report.plots import Plot
from burnside.runs.results import committed

__all__ = ["Show", "add_figures", "add_results"]


class Show(Protocol):
    """Adds one folder of results to a page; the names of its figures end in ``suffix``."""

    def __call__(self, page: Page, folder: Path, caption: str, out: Path, *, suffix: str = "") -> None:
        """Add tables and figures."""


def add_results(page: Page, name: str, show: Show, preset: str, folder: Path | None, out: Path) -> None:
    """Add the results of this machine and, beside them, the committed study of the same experiment.

    Args:
        page: the page.
        name: of the experiment.
        show: draws one folder of its results.
        preset: that was run on this machine.
        folder: what was measured here; None if nothing was.
        out: folder of the report; figures and their data go to ``out/figures``.
    """
    if folder is not None:
        show(page, folder, f"This machine, preset '{preset}': burnside sweep {name} --preset {preset}", out)
    study = committed(name)
    if study is not None:
        show(page, study, f"The committed study: burnside sweep {name} --preset study", out, suffix="-study")


def add_figures(page: Page, figures: Iterable[Plot | None], out: Path) -> None:
    """Add plots to the page and write them, with their data, to ``out/figures``; None is a plot without data."""
    for figure in figures:
        if figure is not None:
            figure.save(out / "figures")
            page.figure(figure.svg, figure.caption)
