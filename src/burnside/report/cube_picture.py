"""A cube being solved, as one animated SVG file: ``python -m burnside.report.cube_picture FILE``.

The cube is random, and the shipped policy finds the turns; the file says both, so that a reader (and a test) can check
them. A viewer that does not animate shows the scrambled cube.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.resources import as_file
from pathlib import Path

import numpy as np

from burnside._files import write_text
from burnside.agents.cube_walks.config import shipped_policy
from burnside.envs.cube.core import CubeSpec, move, scramble, solved
from burnside.envs.cube.render import COLOURS, net_places
from burnside.report import style
from burnside.report.page import escape

__all__ = ["solving_svg", "write_picture"]

_UNIT = 18.0  # pixels of a sticker
_FONT = 13  # pixels
_LETTER = 0.6 * _FONT  # as wide as a letter of the widest usual font is on average
_TURN = 0.35  # seconds
_REST = 2.0


def solving_svg(spec: CubeSpec, turns: Sequence[int], moves: Sequence[int], words: str = "") -> str:
    """The unfolded cube after ``turns`` from the solved one, and how ``moves`` solve it.

    >>> spec = CubeSpec(2)
    >>> text = solving_svg(spec, spec.parse("R U"), spec.parse("U' R'"))
    >>> text.count("<animate "), "scramble: R U; solution: U&#x27; R&#x27;" in text
    (25, True)
    """
    states = [_after(spec, turns)]
    for action in moves:
        states.append(np.asarray(move(spec, states[-1], action)))
    if not np.array_equal(states[-1], solved(spec)):
        raise ValueError("these turns do not solve the cube")
    seconds = _TURN * len(moves) + 2 * _REST
    times = [0.0, *((_REST + _TURN * k) / seconds for k in range(1, len(states)))]
    keys = ";".join(f"{t:.4f}" for t in times)
    timing = f'dur="{seconds:.2f}s" repeatCount="indefinite" calcMode="discrete" keyTimes="{keys}"'
    side, margin = spec.n * _UNIT, 8.0
    words = words or f"{len(moves)} turns"
    width, height = max(4 * side, _LETTER * len(words)) + 2 * margin, 3 * side + 2 * margin + 22
    left = (width - 4 * side) / 2
    said = f"scramble: {spec.format(turns)}; solution: {spec.format(moves)}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" font-family="sans-serif">'
        f"<title>{escape(words)}</title>"
        f"<desc>{escape(said)}</desc>"
    ]
    for (column, row), sequence in zip(net_places(spec.n).tolist(), np.stack(states).T.tolist(), strict=True):
        shown = [COLOURS[k] for k in sequence]
        at = f'x="{left + column * _UNIT + 1:g}" y="{margin + row * _UNIT + 1:g}"'
        inside = f'<animate attributeName="fill" {timing} values="{";".join(shown)}"/>'
        look = f'width="{_UNIT - 2:g}" height="{_UNIT - 2:g}" rx="3" fill="{shown[0]}" stroke="#222"'
        parts.append(f"<rect {at} {look}>{inside}</rect>")
    bar = ";".join(f"{width * k / max(len(moves), 1):.1f}" for k in range(len(states)))
    parts += [
        f'<rect x="0" y="{height - 4:g}" width="0" height="4" fill="{style.arm_colour("canonical")}">'
        f'<animate attributeName="width" {timing} values="{bar}"/></rect>',
        f'<text x="{margin:g}" y="{height - 9:g}" font-size="{_FONT}" fill="{style.MUTED}">{escape(words)}</text>',
        "</svg>\n",
    ]
    return "".join(parts)


def _after(spec: CubeSpec, turns: Sequence[int]) -> np.ndarray:
    state = np.asarray(solved(spec))
    for action in turns:
        state = np.asarray(move(spec, state, action))
    return state


def write_picture(path: str | Path, seed: int = 7, length: int = 100) -> Path:
    """A random cube, solved by the policy of the package."""
    from burnside.agents.cube_walks import load_policy
    from burnside.search import solve_cube

    spec = CubeSpec(3)
    (state,), (turns,) = scramble(spec, seeds=seed, lengths=length)
    with as_file(shipped_policy(spec)) as file:
        policy = load_policy(file)
    found = solve_cube(policy, state)
    words = f"solved in {found.length} quarter turns by {policy.weights:,} weights".replace(",", " ")
    return write_text(path, solving_svg(spec, [int(t) for t in turns], list(found.moves), words))


if __name__ == "__main__":
    print(f"wrote {write_picture(sys.argv[1])}")
