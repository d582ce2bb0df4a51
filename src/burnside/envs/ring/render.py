"""Pictures of cyclic games, after the paper's illustration: cells as dots on a circle, the agent marked in blue.

One dimension is a ring, cell 0 on top, clockwise. In more, the last two axes make a panel of dots, and there is one
panel per value of the others: the slices.
"""

from __future__ import annotations

import math

import numpy as np

from burnside._types import AnyArray
from burnside.envs.ring.core import RingSpec

__all__ = ["draw_ansi", "draw_rgb"]

_SIGNS = {0: "o", -1: "x", 1: "$"}
_LEGEND = "o safe   x mine   $ end   [ ] agent"
# gray!25, red!55, green!55 of the paper's TikZ picture
_FILL = {0: (223, 223, 223), -1: (255, 115, 115), 1: (115, 255, 115)}
_BLACK, _WHITE, _AGENT = (0, 0, 0), (255, 255, 255), (31, 90, 220)
_SMOOTH = 2  # pixels are drawn at twice the size and averaged


def _mark(code: int, cell: int, pos: int) -> str:
    sign = _SIGNS[int(code)]
    return f"[{sign}]" if cell == pos else f" {sign} "


def draw_ansi(spec: RingSpec, items: AnyArray, pos: int) -> str:
    """The game as text.

    >>> print(draw_ansi(RingSpec(5, d=2), np.array([1] + [0, -1] * 12), 7))
     $  o  x  o  x
     o  x [o] x  o
     x  o  x  o  x
     o  x  o  x  o
     x  o  x  o  x
    o safe   x mine   $ end   [ ] agent
    """
    marks = [_mark(items[c], c, pos) for c in range(spec.n_cells)]
    if spec.d == 1:
        return _text_ring(marks) + "\n" + _LEGEND
    grid = np.array(marks, dtype=object).reshape(-1, spec.n, spec.n)
    lines = [" | ".join("".join(panel[row]) for panel in grid) for row in range(spec.n)]
    return "\n".join([*lines, _LEGEND])


def _text_ring(marks: list[str]) -> str:
    n = len(marks)
    rows = max(2, math.ceil(n / 5))  # radius in lines; with n / 6 some dots fell on each other
    columns = max(6, math.ceil(0.42 * n) * 2)
    canvas = [[" "] * (2 * columns + 3) for _ in range(2 * rows + 1)]
    for c, mark in enumerate(marks):
        angle = 2 * math.pi * c / n
        y, x = rows - round(rows * math.cos(angle)), columns + round(columns * math.sin(angle))
        canvas[y][x : x + 3] = list(mark)
    return "\n".join("".join(line).rstrip() for line in canvas)


def draw_rgb(spec: RingSpec, items: AnyArray, pos: int, size: int = 240) -> AnyArray:
    """The game as an image, uint8 of shape ``(size, width, 3)``.

    >>> draw_rgb(RingSpec(10), np.array([1] + [0] * 9), 0).shape
    (240, 240, 3)
    """
    big = size * _SMOOTH
    if spec.d == 1:
        canvas = np.full((big, big, 3), 255, dtype=np.uint8)
        radius, dot = 0.38 * big, min(0.06, 1.0 / spec.n) * big
        _disc(canvas, big / 2, big / 2, radius + 0.01 * big, _BLACK)
        _disc(canvas, big / 2, big / 2, radius - 0.01 * big, _WHITE)
        for c in range(spec.n):
            angle = 2 * math.pi * c / spec.n
            y, x = big / 2 - radius * math.cos(angle), big / 2 + radius * math.sin(angle)
            _dot(canvas, y, x, dot, int(items[c]), c == pos)
    else:
        canvas = np.hstack([_panel(spec, items, pos, k, big) for k in range(spec.n ** (spec.d - 2))])
    height, width = canvas.shape[:2]
    blocks = canvas.reshape(height // _SMOOTH, _SMOOTH, width // _SMOOTH, _SMOOTH, 3)
    return blocks.mean(axis=(1, 3)).astype(np.uint8)


def _panel(spec: RingSpec, items: AnyArray, pos: int, k: int, big: int) -> AnyArray:
    canvas = np.full((big, big, 3), 255, dtype=np.uint8)
    canvas[:, : max(1, big // 120)] = _BLACK
    step = big / spec.n
    for row in range(spec.n):
        for column in range(spec.n):
            cell = (k * spec.n + row) * spec.n + column
            _dot(canvas, (row + 0.5) * step, (column + 0.5) * step, 0.3 * step, int(items[cell]), cell == pos)
    return canvas


def _dot(canvas: AnyArray, y: float, x: float, radius: float, code: int, agent: bool) -> None:
    if agent:
        _disc(canvas, y, x, 1.5 * radius, _AGENT)
    _disc(canvas, y, x, radius, _BLACK)
    _disc(canvas, y, x, 0.85 * radius, _FILL[code])


def _disc(canvas: AnyArray, y: float, x: float, radius: float, colour: tuple[int, int, int]) -> None:
    top, left = max(0, int(y - radius)), max(0, int(x - radius))
    part = canvas[top : int(y + radius) + 2, left : int(x + radius) + 2]
    rows, columns = np.ogrid[top : top + part.shape[0], left : left + part.shape[1]]
    part[(rows + 0.5 - y) ** 2 + (columns + 0.5 - x) ** 2 <= radius**2] = colour
