"""Which parts of a plot belong to which label, and the buttons that hide them."""

import re
from collections import Counter
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree as ET

from burnside.report.arms import controls
from burnside.report.page import Page, figure
from burnside.report.plots import plot

RED, BLUE = "#d55e00", "#0072b2"


def arms(draw: Callable[[Any], None]) -> Counter[str]:
    """How many drawn things carry each label, after the SVG was parsed as XML."""
    svg = plot("x", "", draw, (), []).svg
    ET.fromstring(svg)
    assert "burnside-arm" not in svg
    return Counter(re.findall(r'data-arm="([^"]*)"', svg))


def test_a_band_and_points_go_with_the_curve_of_their_colour() -> None:
    def draw(f: Any) -> None:
        axes = f.subplots()
        axes.scatter([0], [1], color=RED, alpha=0.5)  # before its curve
        axes.plot([0, 1], [0, 1], color=RED, label="baseline")
        axes.plot([0, 1], [1, 1], color=BLUE, label="canonical")
        axes.fill_between([0, 1], [0, 0], [1, 1], color=BLUE, alpha=0.1)
        axes.axhline(0.5, color="#000000")  # a guide, of nobody
        axes.legend()

    assert arms(draw) == {"baseline": 2, "canonical": 2}


def test_of_two_curves_of_one_colour_a_band_goes_with_the_one_before_it() -> None:
    def draw(f: Any) -> None:
        axes = f.subplots()
        for name, line in (("pool", "-"), ("flatten", ":"), ("bare", "--")):
            axes.plot([0, 1], [0, 1], color=RED, linestyle=line, label=name)
            if name != "bare":
                axes.fill_between([0, 1], [0, 0], [1, 1], color=RED, alpha=0.1)
        axes.axhline(0.5, color=RED)  # whose it is cannot be told: always shown

    assert arms(draw) == {"pool": 2, "flatten": 2, "bare": 1}


def test_panels_share_their_labels_and_error_bars_are_whole() -> None:
    def draw(f: Any) -> None:
        left, right = f.subplots(1, 2)
        for axes in (left, right):
            axes.errorbar([0, 1], [0, 1], yerr=[0.1, 0.1], fmt="o", capsize=2, color=RED, label="measured")
            axes.plot([0, 1], [0, 1], color=BLUE, label="law")

    assert arms(draw) == {"measured": 8, "law": 2}  # a line, two rows of caps and the bars, in two panels


def test_labels_are_escaped_once() -> None:
    def draw(f: Any) -> None:
        axes = f.subplots()
        for label in ('a < b & "c"', "other"):
            axes.plot([0, 1], [0, 1], label=label)

    svg = plot("x", "", draw, (), []).svg
    shown = controls(svg)
    assert 'data-shows="a &lt; b &amp; &quot;c&quot;"' in shown and shown.count("&amp;") == 2
    ET.fromstring(shown)


def test_one_curve_needs_no_button_and_no_script() -> None:
    page = Page("t").figure(plot("x", "", lambda f: f.subplots().plot([0], [0], label="only"), (), []).svg)
    assert "<button" not in page.render() and "<script>" not in page.render()
    assert figure("<svg></svg>", "c") == "<figure><svg></svg><figcaption>c</figcaption></figure>"
