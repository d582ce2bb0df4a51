"""The theory figures: their data are the formulas, and the golden crossings of Fig. 3 hold."""

import csv
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from burnside.report.plots import Plot
from burnside.report.theory_plots import covering_curves, reduction
from burnside.theory.bounds import Size, optimality_at, ucfh


@pytest.fixture(scope="module")
def fig3() -> Plot:
    return reduction()


def test_fig3_crosses_95_percent_where_it_should(fig3: Plot, tmp_path: Path) -> None:
    svg, png, table = fig3.save(tmp_path)
    ET.parse(svg)
    assert png.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    with table.open() as file:
        rows = list(csv.DictReader(file))
    left = [r for r in rows if r["panel"] == "A"]
    crossing = {
        name: min(float(r["x"]) for r in left if r["curve"] == name and float(r["y"]) >= 0.95)
        for name in ("M", "quotient, C kept", "quotient, C̄ = 1")
    }
    # the grid of episodes has 25 points per decade, hence 10 %
    assert crossing["M"] == pytest.approx(9.6e8, rel=0.1)
    assert crossing["quotient, C kept"] == pytest.approx(9.6e3, rel=0.1)
    assert crossing["quotient, C̄ = 1"] == pytest.approx(4.8e3, rel=0.1)
    assert float(left[0]["y"]) == pytest.approx(optimality_at(Size(10**5, 4 * 10**5, 2), float(left[0]["x"]), 0.05))


def test_fig3_marks_the_degenerate_end(fig3: Plot) -> None:
    explicit = {r[2]: r[3] for r in fig3.rows if r[0] == "B" and r[1] == "UCFH, explicit"}
    lower = {r[2]: r[3] for r in fig3.rows if r[0] == "B" and r[1] == "lower"}
    assert explicit[1] == pytest.approx(6.4e19, rel=0.02)
    assert (
        explicit[50_000]
        == pytest.approx(ucfh(Size(2, 8, 2), 10, 0.5, 0.05).episodes)
        == pytest.approx(1.25e12, rel=0.01)
    )
    assert explicit[100_000] == 0
    assert lower[50_000] == 0 and lower[100_000] == 0 and lower[25_000] > 0
    assert "one abstract state" in fig3.caption


def test_covering_curves_lie_between_their_bounds() -> None:
    figure = covering_curves(("circle", "sphere", "so3/O24"), samples=4_000)
    assert {row[0] for row in figure.rows} == {"circle", "sphere", "so3/O24"}
    for name, alpha, low, count, _ in figure.rows:
        if name == "circle":  # a net is at least as large as the smallest cover of the samples, up to sampling
            assert count >= low * 0.9, (name, alpha)
    by_alpha = {(row[0], row[1]): row[3] for row in figure.rows}
    circles = [count for (name, _), count in sorted(by_alpha.items()) if name == "circle"]
    assert circles == sorted(circles, reverse=True)
