"""Pictures of the cube: the unfolded net as SVG, PNG or an array, and the orbit of a state with its representative.

A picture is a list of rectangles and words in units of a sticker, written as SVG here and painted by matplotlib for
PNG, so both show the same. Nets are laid out as in ``draw_ansi``: U above F, D below it, and L, F, R, B side by side.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from burnside._files import write_atomically, write_text
from burnside._types import AnyArray, ArrayLike
from burnside.envs.cube.core import CubeSpec, as_array
from burnside.envs.cube.geometry import FACES
from burnside.envs.cube.symmetry import CubeCanonicalizer, CubeSymmetry
from burnside.errors import InvalidModel, InvalidParameter

__all__ = ["COLOURS", "Picture", "draw_png", "draw_rgb", "draw_svg", "net", "net_places", "one_state", "orbit_figure"]

#: Colours of the faces U F L D B R: white in front of the usual scheme.
COLOURS = ("#f5f5f5", "#009b48", "#ff7a1a", "#ffd500", "#0051ba", "#c41e3a")
_DARK_TEXT = (0, 2, 3)  # faces on whose colour black letters are read best
_PLASTIC, _INK, _MARK = "#1b1f24", "#5c6670", "#0072b2"
#: Where each face of the net lies, in faces: (column, row).
_NET = {"U": (1, 0), "L": (0, 1), "F": (1, 1), "R": (2, 1), "B": (3, 1), "D": (1, 2)}
_ACROSS = 8  # images in a row of the orbit


@dataclass(frozen=True)
class Rect:
    """A rectangle; ``line`` is the width of its outline."""

    x: float
    y: float
    w: float
    h: float
    fill: str = "none"
    stroke: str = "none"
    line: float = 0.0


@dataclass(frozen=True)
class Word:
    """Text centred at a point; sizes are in the units of the picture."""

    x: float
    y: float
    text: str
    size: float
    fill: str = _INK


@dataclass(frozen=True)
class Picture:
    """A drawing: :attr:`svg` is its text, :meth:`png` its bytes, :meth:`save` takes the format from the suffix."""

    width: float
    height: float
    rects: tuple[Rect, ...]
    words: tuple[Word, ...]
    label: str
    unit: float = 24.0

    @property
    def svg(self) -> str:
        """The picture as SVG text."""
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}" '
            f'width="{self.width * self.unit:g}" height="{self.height * self.unit:g}" role="img" '
            f'aria-label="{escape(self.label)}" font-family="sans-serif" text-anchor="middle">'
        ]
        for r in self.rects:
            edge = "" if r.stroke == "none" else f' stroke="{r.stroke}" stroke-width="{r.line:g}"'
            parts.append(f'<rect x="{r.x:g}" y="{r.y:g}" width="{r.w:g}" height="{r.h:g}" fill="{r.fill}"{edge}/>')
        for w in self.words:
            at = f'x="{w.x:g}" y="{w.y + 0.35 * w.size:g}"'
            parts.append(f'<text {at} font-size="{w.size:g}" fill="{w.fill}">{escape(w.text)}</text>')
        return "".join([*parts, "</svg>"])

    def png(self, dpi: int = 160) -> bytes:
        """The picture as PNG, painted by matplotlib."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.patches import Rectangle

        points = 72 * self.unit / 96  # of a unit, at 96 CSS pixels to the inch
        figure = Figure(figsize=(self.width * points / 72, self.height * points / 72), facecolor="white")
        FigureCanvasAgg(figure)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set(xlim=(0, self.width), ylim=(self.height, 0))
        axes.axis("off")
        for r in self.rects:
            look: dict[str, Any] = {"facecolor": r.fill, "edgecolor": r.stroke, "linewidth": r.line * points}
            axes.add_patch(Rectangle((r.x, r.y), r.w, r.h, **look))
        for w in self.words:
            size = 0.95 * w.size * points
            axes.text(w.x, w.y, w.text, ha="center", va="center", color=w.fill, fontsize=size, parse_math=False)
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=dpi, metadata={"Software": None})
        return out.getvalue()

    def save(self, path: str | Path) -> Path:
        """Write the picture, all or nothing; the suffix is .svg or .png."""
        target = Path(path)
        if target.suffix == ".svg":
            return write_text(target, self.svg)
        if target.suffix == ".png":
            return write_atomically(target, lambda file: file.write(self.png()))
        raise InvalidParameter(f"pictures of the cube are written as .svg or .png, got {target.name!r}")


def net_places(n: int) -> AnyArray:
    """Where each sticker lies in the net, ``(6n², 2)``: column and row, in stickers.

    >>> net_places(2)[:5].tolist()
    [[2, 0], [3, 0], [2, 1], [3, 1], [2, 2]]
    """
    row, column = np.divmod(np.arange(n * n), n)
    return np.concatenate([np.stack([x * n + column, y * n + row], axis=1) for x, y in (_NET[face] for face in FACES)])


def one_state(spec: CubeSpec, state: ArrayLike) -> AnyArray:
    """The colours of one state as an array; any colouring will do, it need not be solvable."""
    found = as_array(spec, state)
    found = found.detach().cpu().numpy() if not isinstance(found, np.ndarray) else found
    if found.ndim != 1:
        raise InvalidModel(f"one state is drawn at a time, got shape {found.shape}")
    if found.dtype.kind not in "iu" or found.min() < 0 or found.max() > 5:
        raise InvalidModel("stickers must be whole numbers from 0 to 5")
    return np.asarray(found)


def _rects(spec: CubeSpec, colours: AnyArray, x: float, y: float, unit: float) -> list[Rect]:
    side = spec.n * unit
    faces = [Rect(x + cx * side, y + cy * side, side, side, _PLASTIC) for cx, cy in (_NET[f] for f in FACES)]
    gap = 0.06 * unit
    stickers = [
        Rect(x + c * unit + gap, y + r * unit + gap, unit - 2 * gap, unit - 2 * gap, COLOURS[k])
        for (c, r), k in zip(net_places(spec.n).tolist(), colours.tolist(), strict=True)
    ]
    return faces + stickers


def _says(spec: CubeSpec, colours: AnyArray) -> str:
    letters = "".join(FACES[c] for c in colours)
    step = spec.n**2
    faces = ", ".join(f"{face} {letters[k * step : (k + 1) * step]}" for k, face in enumerate(FACES))
    return f"net of a cube with n={spec.n}: {faces}"


def net(spec: CubeSpec, state: ArrayLike, letters: bool = True) -> Picture:
    """The unfolded cube; letters on the stickers help where colours do not.

    >>> from burnside.envs.cube.core import solved
    >>> picture = net(CubeSpec(2), solved(CubeSpec(2)))
    >>> picture.width, picture.height, len(picture.rects), len(picture.words)
    (8.4, 6.4, 30, 24)
    """
    colours = one_state(spec, state)
    margin = 0.2
    words = [
        Word(c + 0.5 + margin, r + 0.5 + margin, FACES[k], 0.5, "#00000099" if k in _DARK_TEXT else "#ffffffcc")
        for (c, r), k in zip(net_places(spec.n).tolist(), colours.tolist(), strict=True)
    ]
    size = (4 * spec.n + 2 * margin, 3 * spec.n + 2 * margin)
    rects = _rects(spec, colours, margin, margin, 1.0)
    return Picture(*size, tuple(rects), tuple(words) if letters else (), _says(spec, colours))


def draw_svg(spec: CubeSpec, state: ArrayLike, letters: bool = True) -> str:
    """The unfolded cube as SVG text.

    >>> from burnside.envs.cube.core import solved
    >>> draw_svg(CubeSpec(2), solved(CubeSpec(2))).count("<rect")
    30
    """
    return net(spec, state, letters).svg


def draw_png(spec: CubeSpec, state: ArrayLike, letters: bool = True) -> bytes:
    """The unfolded cube as the bytes of a PNG file; needs matplotlib."""
    return net(spec, state, letters).png()


def draw_rgb(spec: CubeSpec, state: ArrayLike, size: int = 240) -> AnyArray:
    """The unfolded cube as an image, uint8 ``(height, width, 3)``, at least ``size`` pixels high, without matplotlib.

    >>> from burnside.envs.cube.core import solved
    >>> draw_rgb(CubeSpec(3), solved(CubeSpec(3))).shape
    (243, 324, 3)
    """
    colours = one_state(spec, state)
    cell = max(3, -(-size // (3 * spec.n)))
    image = np.full((3 * spec.n * cell, 4 * spec.n * cell, 3), 255, dtype=np.uint8)
    palette = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in (*COLOURS, _PLASTIC)], dtype=np.uint8)
    edge = max(1, cell // 16)
    for (column, row), colour in zip(net_places(spec.n).tolist(), colours.tolist(), strict=True):
        block = image[row * cell : (row + 1) * cell, column * cell : (column + 1) * cell]
        block[:] = palette[6]
        block[edge : cell - edge, edge : cell - edge] = palette[colour]
    return image


def orbit_figure(spec: CubeSpec, state: ArrayLike, symmetry: str = "conjugation+mirror") -> Picture:
    """The images of a state under a group, and the representative that replaces it (App. C, canonicalization figure).

    On the left the state s, in the middle all images g·s with their numbers, on the right the smallest of them by
    lexicographic order, r(s). Images equal to r(s) have a frame; there are several if s is symmetric itself.

    >>> from burnside.envs.cube.core import apply_moves, solved
    >>> spec = CubeSpec(2)
    >>> picture = orbit_figure(spec, apply_moves(spec, solved(spec), "R U"), "position")
    >>> picture.label
    'the 24 images of a state of the 2-cube under position, 24 of them different; the smallest is image 0'
    """
    colours = one_state(spec, state).astype(np.uint8)
    group = CubeSymmetry(spec, symmetry)
    images = group.act(np.arange(group.order), colours)
    smallest, chosen = CubeCanonicalizer(group)(colours)
    equal = (images == smallest).all(axis=1)
    unit = 3.0 / spec.n  # all nets have one size whatever n is
    wide, high, gap, top = 12 * 0.45, 9 * 0.45, 0.6, 1.6
    small, big = 0.45 * unit, unit
    rows = -(-group.order // _ACROSS)
    height = top + rows * (high + 1.0) + 0.4
    rects, words = _rects(spec, colours, 0.5, (height - 9) / 2, big), [Word(6.5, (height - 9) / 2 - 0.8, "s", 1.2)]
    left = 14.5
    for g, image in enumerate(images):
        x, y = left + g % _ACROSS * (wide + gap), top + g // _ACROSS * (high + 1.0)
        if equal[g]:
            rects.append(Rect(x - 0.2, y - 0.2, wide + 0.4, high + 0.4, "none", _MARK, 0.16))
        rects += _rects(spec, image, x, y, small)
        words.append(Word(x + 0.78 * wide, y + 0.12 * high, f"g = {g}", 0.62, _MARK if equal[g] else _INK))
    right = left + _ACROSS * (wide + gap) + 1.0
    words.append(Word(left + _ACROSS * (wide + gap) / 2, 0.7, f"orbit under {symmetry}, {group.order} elements", 0.9))
    rects += [Rect(right - 0.3, (height - 9) / 2 - 0.3, 12.6, 9.6, "none", _MARK, 0.2)]
    rects += _rects(spec, smallest, right, (height - 9) / 2, big)
    words.append(Word(right + 6, (height - 9) / 2 - 1.0, f"r(s) = g·s, g = {int(chosen)}", 1.2, _MARK))
    different = len(np.unique(images, axis=0))
    label = (
        f"the {group.order} images of a state of the {spec.n}-cube under {symmetry}, {different} of them different; "
        f"the smallest is image {int(chosen)}"
    )
    return Picture(right + 12.8, height, tuple(rects), tuple(words), label, unit=12.0)
