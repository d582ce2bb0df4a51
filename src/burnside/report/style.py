"""Colours and fonts, shared by the matplotlib figures and the HTML pages.

Orbits are told apart by colours that a colour-blind reader can separate too: the first ones are those of Okabe and Ito,
further ones step round the OKLCH hue circle by the golden angle on three levels of lightness, so that neighbouring
numbers differ in hue *and* in lightness and colour ``i`` does not depend on how many there are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from burnside.report.graphs import Panel

__all__ = [
    "ARM_COLOURS",
    "FONTS",
    "GLYPH",
    "INK",
    "LINE",
    "MUTED",
    "PAPER",
    "arm_colour",
    "colour",
    "faintness",
    "font_size",
    "labels",
    "luminance",
    "paint",
    "text_on",
]

#: Fonts of the figures: matplotlib brings the first one along.
FONTS = ["DejaVu Sans", "sans-serif"]

#: Colours of the printed figure.
INK, MUTED, LINE, PAPER = "#1b1f24", "#5c6670", "#c3cad1", "#ffffff"

#: Arms of the experiments and frames: each has one colour in all pictures, at least three times as dark as paper (as
#: WCAG asks of graphics). What uses no symmetry is orange, a canonical form blue.
ARM_COLOURS = {
    "baseline": "#d55e00",
    "none": "#d55e00",
    "world": "#d55e00",
    "none, two sides": "#8a3c00",
    "canonical": "#0072b2",
    "conjugation": "#0072b2",
    "canonical-48": "#0072b2",
    "robot": "#0072b2",
    "gripper": "#0072b2",
    "augment": "#008a64",
    "augmented": "#008a64",
    "augmented-relative": "#5a6e00",
    "augment-random": "#4f9d4f",
    "averaging": "#7b4fb5",
    "equivariant": "#b5518a",
    "equivariant-48": "#b5518a",
    "equivariant-96": "#74204f",
    "mirror-loss": "#8c6d1f",
    "relaxed": "#5a5a00",
    "feature": "#5c6670",
    "position": "#b87a00",
    "relative": "#b87a00",
    "upright": "#7b4fb5",
    "azimuth": "#b5518a",
    "base": "#3d6b4f",
}

#: Cells of a ring game (Fig. 1): goal, mine, free cell, and the outline of the agent.
GLYPH = {"goal": "#2e9e5b", "mine": "#d63a3a", "free": "#e9ecef", "agent": "#111417", "ring": "#9aa4ae"}

# Okabe and Ito (2008), reordered so that the first few differ most; their yellow is darkened to be seen on white.
_FIRST = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d1f")
_GOLDEN_ANGLE = 180.0 * (3.0 - math.sqrt(5.0))
_LEVELS = ((0.62, 0.15), (0.74, 0.12), (0.50, 0.13))  # lightness and chroma
_DARK_LIFT = 0.09  # on a dark page every colour is this much lighter


@lru_cache(maxsize=4096)
def colour(i: int, *, dark: bool = False) -> str:
    """Colour of orbit ``i`` as ``#rrggbb``, for light or dark paper.

    >>> colour(0), colour(0, dark=True) != colour(0), len({colour(i) for i in range(200)})
    ('#0072b2', True, 200)
    """
    if i < len(_FIRST):
        if not dark:
            return _FIRST[i]
        lightness, chroma, hue = _to_oklch(_FIRST[i])
    else:
        k = i - len(_FIRST)
        lightness, chroma = _LEVELS[k % len(_LEVELS)]
        hue = (20.0 + k * _GOLDEN_ANGLE) % 360.0
    return _from_oklch(min(lightness + _DARK_LIFT * dark, 0.9), chroma, hue)


def arm_colour(arm: str) -> str:
    """The colour of an arm; ink for one that has none.

    >>> arm_colour("canonical") == arm_colour("robot"), arm_colour("something else")
    (True, '#1b1f24')
    """
    return ARM_COLOURS.get(arm, INK)


def luminance(hexadecimal: str) -> float:
    """Relative luminance of WCAG 2, from 0 (black) to 1 (white).

    >>> round(luminance("#ffffff"), 6), round(luminance("#000000"), 6)
    (1.0, 0.0)
    """
    r, g, b = _linear(hexadecimal)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def text_on(background: str) -> str:
    """Black or white, whichever reads better on that colour.

    >>> text_on("#0072b2"), text_on("#e69f00")
    ('#ffffff', '#000000')
    """
    return "#ffffff" if luminance(background) < 0.2 else "#000000"


def _linear(hexadecimal: str) -> tuple[float, float, float]:
    channels = (int(hexadecimal[k : k + 2], 16) / 255.0 for k in (1, 3, 5))
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return r, g, b


def _to_oklch(hexadecimal: str) -> tuple[float, float, float]:
    """Ottosson's OKLab in polar form."""
    r, g, b = _linear(hexadecimal)
    long = (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) ** (1 / 3)
    medium = (0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) ** (1 / 3)
    short = (0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b) ** (1 / 3)
    lightness = 0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short
    a = 1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short
    b_ = 0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short
    return lightness, math.hypot(a, b_), math.degrees(math.atan2(b_, a))


def _from_oklch(lightness: float, chroma: float, hue: float) -> str:
    """Nearest displayable colour of that lightness and hue: the chroma gives way."""
    for step in range(21):
        c = chroma * (1 - step / 20)
        a, b = c * math.cos(math.radians(hue)), c * math.sin(math.radians(hue))
        long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
        medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
        short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
        rgb = (
            4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
            -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
            -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
        )
        if all(-1e-4 <= x <= 1.0001 for x in rgb):
            break
    shown = (12.92 * x if x <= 0.0031308 else 1.055 * x ** (1 / 2.4) - 0.055 for x in (min(max(x, 0), 1) for x in rgb))
    return "#" + "".join(f"{round(255 * x):02x}" for x in shown)


def font_size(text: str, r: float) -> float:
    """Size at which a text fits into a disc, in widths of a panel; 0 if it would be too small to read."""
    size = min(1.72 * r / (0.62 * max(len(text), 1)), 0.85 * r, 0.032)
    return size if size >= 0.015 else 0.0


def labels(names: Sequence[str], radii: Sequence[float]) -> list[tuple[str, float]]:
    """Every name with the size at which it fits into its disc; if one does not fit, numbers instead, where they do.

    >>> labels(["s1", "s2"], [0.05, 0.05])[1][0], labels(["a", "a very long name indeed"], [0.05, 0.05])[1][0]
    ('s2', '1')
    """
    sizes = [font_size(name, r) for name, r in zip(names, radii, strict=True)]
    if all(sizes):
        return list(zip(names, sizes, strict=True))
    found = [(str(k), font_size(str(k), r)) for k, r in enumerate(radii)]
    return [(text if size else "", size) for text, size in found]


def faintness(lines: int) -> float:
    """Opacity of that many lines."""
    return min(0.85, max(0.07, 7 / math.sqrt(max(lines, 1))))


def paint(axes: Any, panel: Panel, points: float) -> None:
    """One graph on matplotlib axes of that many points: circles of orbits, then lines, nodes and labels."""
    from matplotlib.collections import LineCollection, PatchCollection
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Circle, Polygon

    def add(patches: list[Any], **look: Any) -> None:
        axes.add_collection(PatchCollection(patches, **look))

    if panel.rings:
        circles, hues = [Circle((g.x, g.y), g.r) for g in panel.rings], [colour(g.orbit) for g in panel.rings]
        dashes = ["--" if g.note else "-" for g in panel.rings]
        tints = [to_rgba(hue, 0.1) for hue in hues]
        add(circles, facecolors=tints, edgecolors=hues, linestyles=dashes, linewidths=0.8, zorder=1)
    for g in panel.rings:
        if g.note and (size := font_size(g.note, g.r)):
            axes.text(g.x, g.y, g.note, fontsize=size * points, ha="center", va="center", color=INK)
    if panel.lines:
        alpha = faintness(len(panel.lines))
        thick = [0.35 + 0.75 * line.weight for line in panel.lines]
        ends = [(line.start, line.end) for line in panel.lines]
        axes.add_collection(LineCollection(ends, linewidths=thick, colors=MUTED, alpha=alpha, zorder=2))
        heads = [Polygon(line.head) for line in panel.lines if line.head]
        add(heads, facecolors=MUTED, edgecolors="none", alpha=max(alpha, 0.5), zorder=2)
    hues = [colour(node.orbit) for node in panel.nodes]
    glyphs = any(node.glyph for node in panel.nodes)
    discs = [Circle((node.x, node.y), node.r) for node in panel.nodes]
    if glyphs:
        rims = [min(1.8, 0.14 * node.r * points) for node in panel.nodes]
        add(discs, facecolors=PAPER, edgecolors=hues, linewidths=rims, zorder=3)
    else:
        add(discs, facecolors=hues, edgecolors=PAPER, linewidths=0.5, zorder=3)
    for node, hue in zip(panel.nodes, hues, strict=True):
        if node.label and not glyphs:
            look = {"ha": "center", "va": "center", "color": text_on(hue), "zorder": 5, "parse_math": False}
            axes.text(node.x, node.y, node.label, fontsize=node.font * points, **look)
    cells = [(node, cell) for node in panel.nodes for cell in node.glyph]
    if cells:
        spots = [Circle((n.x + 0.9 * n.r * c.x, n.y + 0.9 * n.r * c.y), 0.9 * n.r * c.radius) for n, c in cells]
        outline = [GLYPH["agent" if c.agent else "ring"] for _, c in cells]
        thick = [min(1.4, 0.12 * n.r * points) if c.agent else 0.3 for n, c in cells]
        add(spots, facecolors=[GLYPH[c.holds] for _, c in cells], edgecolors=outline, linewidths=thick, zorder=4)
