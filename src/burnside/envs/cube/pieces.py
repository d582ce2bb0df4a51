"""Pieces of the cube, and what can be wrong with a colouring: counts, pieces that do not exist, parity, orientation."""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import Any

import numpy as np

from burnside._types import AnyArray, IntArray
from burnside.envs.cube.core import CubeSpec, as_array, is_torch
from burnside.envs.cube.geometry import FACES, collapse, colour_table, representatives, stickers, symmetry_table
from burnside.errors import InvalidModel

__all__ = ["check_states", "corner_pieces", "corner_places", "parse_stickers"]

#: Corners as signs of (x, y, z); the one at D, B, L comes last.
_CORNERS = tuple(itertools.product((1, -1), repeat=3))


@lru_cache(maxsize=64)
def corner_places(n: int) -> IntArray:
    """The three stickers of each corner, ``(8, 3)``: that of U or D first, then clockwise as seen from outside.

    >>> ["".join(FACES[i // 4] for i in row) for row in corner_places(2)[[0, 7]]]
    ['URF', 'DBL']
    """
    positions, normals = stickers(n)
    places = np.empty((8, 3), dtype=np.int64)
    for c, corner in enumerate(_CORNERS):
        own = np.flatnonzero((positions == (n - 1) * np.array(corner)).all(axis=1))
        first = own[normals[own, 1] != 0][0]
        one, other = own[own != first]
        if np.linalg.det(normals[[first, one, other]]) > 0:  # clockwise: a left-handed frame
            one, other = other, one
        places[c] = first, one, other
    places.flags.writeable = False
    return places


@lru_cache(maxsize=1)
def corner_pieces() -> IntArray:
    """``[36a + 6b + c]``: 3·corner + twist of the piece with colours a, b, c at the places of a corner, −1 if none."""
    found = np.full(216, -1, dtype=np.int64)
    for c, twist in itertools.product(range(8), range(3)):
        a, b, d = np.roll(corner_places(2)[c] // 4, twist)  # twist t: the colour U or D is at place t
        found[36 * a + 6 * b + d] = 3 * c + twist
    found.flags.writeable = False
    return found


@lru_cache(maxsize=1)
def _edges() -> tuple[IntArray, IntArray]:
    """Stickers of the twelve edges of the 3-cube, ``(12, 2)``, and 2·edge + flip from two colours."""
    positions, _ = stickers(3)
    middle = {tuple(p) for p in positions.tolist() if p.count(0) == 1}
    places = np.array([np.flatnonzero((positions == p).all(axis=1)) for p in sorted(middle)])
    pieces = np.full(36, -1, dtype=np.int64)
    for e, (one, other) in enumerate(places // 9):
        pieces[6 * one + other], pieces[6 * other + one] = 2 * e, 2 * e + 1
    return places, pieces


def _odd(orders: AnyArray) -> AnyArray:
    """Parity of permutations, by counting inversions."""
    size = orders.shape[1]
    return sum((orders[:, i + 1 :] < orders[:, i : i + 1]).sum(axis=1) for i in range(size)) % 2


def _fail(bad: AnyArray, sentence: Any) -> None:
    """Raise for the first row of a mask ``(B,)`` or ``(B, k)``; ``sentence(row, k)`` says what is wrong."""
    if bad.any():
        where = np.argwhere(bad)[0]
        raise InvalidModel(f"state {where[0]} {sentence(*(int(i) for i in where))}")


def check_states(spec: CubeSpec, states: Any) -> None:
    """Refuse states that no turns lead to from a goal, and say what is wrong with the first of them.

    With slice turns and n > 3 only counts and corners are checked: equal pieces hide what else there is.

    >>> check_states(CubeSpec(2), np.zeros(24, np.uint8))
    Traceback (most recent call last):
    ...
    burnside.errors.InvalidModel: state 0 has 24 stickers of colour U: each colour must occur 4 times
    """
    found = as_array(spec, states)
    flat = (found.detach().cpu().numpy() if is_torch(found) else found).reshape(-1, spec.n_stickers)
    if flat.dtype.kind not in "iu" or (flat.size and not (flat.min() >= 0 and flat.max() <= 5)):
        raise InvalidModel("stickers must be whole numbers from 0 to 5")
    flat, n = flat.astype(np.int64), spec.n
    count = (flat[:, :, None] == np.arange(6)).sum(axis=1)
    _fail(
        count != n**2,
        lambda b, c: f"has {count[b, c]} stickers of colour {FACES[c]}: each colour must occur {n**2} times",
    )
    corners, twists = _read(flat, corner_places(n), n, corner_pieces(), 3)
    _fail(twists.sum(axis=1) % 3 != 0, lambda b: "cannot be solved: its corners are twisted (one turned in its place)")
    if n == 2 or (spec.slices and n > 3):
        return
    if n > 3:
        split = flat != flat[:, representatives(n)][:, collapse(n)]
        _fail(split, lambda b, i: f"cannot be made by outer turns: sticker {i} differs from its edge or centre block")
        flat = flat[:, representatives(n)]
    centres = flat[:, 4::9]
    same = (centres[:, None] == colour_table()[:24]).all(axis=2)
    _fail(~same.any(axis=1), lambda b: "has centres that are not a rotation of a cube's")
    turned = np.argmax(same, axis=1)
    if spec.goal == "fixed":
        _fail(turned != 0, lambda b: "is a turned cube, which outer turns cannot bring to the goal 'fixed'")
    flat = np.take_along_axis(flat, symmetry_table(3)[turned], axis=1)
    corners, _ = _read(flat, corner_places(3), 3, corner_pieces(), 3)
    edges, flips = _read(flat, _edges()[0], 3, _edges()[1], 2)
    _fail(flips.sum(axis=1) % 2 != 0, lambda b: "cannot be solved: one edge is flipped")
    _fail(_odd(corners) != _odd(edges), lambda b: "cannot be solved: two pieces are exchanged (odd permutation)")


def _read(flat: AnyArray, places: IntArray, n: int, table: IntArray, stickers_each: int) -> tuple[AnyArray, AnyArray]:
    """Which piece is at each place and how it is turned."""
    seen = flat[:, places]
    kind = "corner" if stickers_each == 3 else "edge"
    piece = table[seen @ 6 ** np.arange(stickers_each - 1, -1, -1)]

    def name(p: int) -> str:
        return "".join(FACES[i // n**2] for i in places[p])

    def letters(b: int, p: int) -> str:
        return "".join(FACES[i] for i in seen[b, p])

    _fail(piece < 0, lambda b, p: f"has a piece that does not exist: {letters(b, p)} at the {kind} {name(p)}")
    number = piece // stickers_each
    times = (number[:, :, None] == np.arange(len(places))).sum(axis=1)
    _fail(times > 1, lambda b, p: f"has the {kind} piece {name(p)} {times[b, p]} times")
    return number, piece % stickers_each


def parse_stickers(text: str, spec: CubeSpec | None = None) -> AnyArray:
    """A state from letters U F L D B R, face by face in that order; white space is ignored.

    >>> parse_stickers("UUUU FFFF LLLL DDDD BBBB RRRR").tolist()[:5]
    [0, 0, 0, 0, 1]
    >>> parse_stickers("UUUF UFFF LLLL DDDD BBBB RRRR")
    Traceback (most recent call last):
    ...
    burnside.errors.InvalidModel: state 0 has a piece that does not exist: FRF at the corner URF
    """
    letters = "".join(text.split())
    strange = sorted(set(letters) - set(FACES))
    if strange:
        raise InvalidModel(f"stickers are written with the letters {' '.join(FACES)}, got {' '.join(strange)}")
    n = round((len(letters) / 6) ** 0.5)
    if n < 2 or 6 * n * n != len(letters):
        raise InvalidModel(f"a cube has 24, 54, 96, … stickers, got {len(letters)} letters")
    found = np.array([FACES.index(letter) for letter in letters], dtype=np.uint8)
    check_states(spec or CubeSpec(n), found)
    return found
