"""The N×N×N cube from integer geometry: stickers, turns of layers, rotations and mirrors, as permutations.

A sticker is a pair of integer vectors (position of its cubelet, outward normal). Coordinates run over
``−(N−1), −(N−3), …, N−1``; x points right, y up and z to the front. Stickers are numbered face by face in the order
U, F, L, D, B, R, and row by row within a face as seen from outside, in the usual unfolded net: U with F below it, D
with F above it, and L, F, R, B side by side with U above them. Colour c is the colour of face c of the solved cube.

Every table of permutations is to be read as ``new[i] = old[perm[i]]``: what is at place ``perm[i]`` comes to place i.
For a matrix M that sends sticker j to sticker σ(j) this is ``perm = σ⁻¹``, so the matrices act from the left.
"""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np

from burnside._types import AnyArray, IntArray
from burnside.errors import InvalidParameter
from burnside.groups.permutations import compose, inverse

__all__ = [
    "FACES",
    "check_size",
    "collapse",
    "colour_table",
    "inverse_elements",
    "matrices",
    "paper_rotations",
    "products",
    "representatives",
    "standard_turn",
    "stickers",
    "symmetry_table",
    "turn_image",
    "turn_table",
    "turns",
]

#: The faces in the order in which the stickers are numbered; also the colours.
FACES = "UFLDBR"

# (normal, direction of increasing row, direction of increasing column) of each face
_FRAMES = np.array(
    [
        [(0, 1, 0), (0, 0, 1), (1, 0, 0)],
        [(0, 0, 1), (0, -1, 0), (1, 0, 0)],
        [(-1, 0, 0), (0, -1, 0), (0, 0, 1)],
        [(0, -1, 0), (0, 0, -1), (1, 0, 0)],
        [(0, 0, -1), (0, -1, 0), (-1, 0, 0)],
        [(1, 0, 0), (0, -1, 0), (0, 0, -1)],
    ]
)
_LARGEST = 40


def check_size(n: int) -> int:
    """The size of a cube as an int, or an error."""
    if isinstance(n, bool) or n != int(n) or not 2 <= n <= _LARGEST:
        raise InvalidParameter(f"a cube needs a whole number of layers from 2 to {_LARGEST}, got n={n}")
    return int(n)


def _frozen(array: AnyArray) -> AnyArray:
    array.flags.writeable = False
    return array


@lru_cache(maxsize=64)
def stickers(n: int) -> tuple[IntArray, IntArray]:
    """Positions and normals of all stickers, each ``(6n², 3)``.

    >>> positions, normals = stickers(2)
    >>> positions[0].tolist(), normals[0].tolist()      # the first sticker of U: at the back on the left
    ([-1, 1, -1], [0, 1, 0])
    """
    n = check_size(n)
    line = np.arange(-(n - 1), n, 2)
    positions, normals = [], []
    for normal, row, column in _FRAMES:
        for a, b in itertools.product(line, line):
            positions.append((n - 1) * normal + a * row + b * column)
            normals.append(normal)
    return _frozen(np.array(positions)), _frozen(np.array(normals))


@lru_cache(maxsize=64)
def _numbers(n: int) -> dict[tuple[int, ...], int]:
    positions, normals = stickers(n)
    return {(*p, *v): i for i, (p, v) in enumerate(zip(positions.tolist(), normals.tolist(), strict=True))}


@lru_cache(maxsize=1)
def matrices() -> IntArray:
    """The 48 symmetries of the cube as matrices ``(48, 3, 3)``: 24 rotations, the identity first, then 24 with mirrors.

    Element ``24 + i`` is the rotation i followed by the inversion in the centre.

    >>> matrices()[0].diagonal().tolist(), int(np.linalg.det(matrices()[24:]).round().sum())
    ([1, 1, 1], -24)
    """
    found = []
    for axes in itertools.permutations(range(3)):
        for signs in itertools.product((1, -1), repeat=3):
            m = np.zeros((3, 3), dtype=np.int64)
            m[np.arange(3), axes] = signs
            if round(np.linalg.det(m)) == 1:
                found.append(m)
    rotations = np.array(found)
    return _frozen(np.concatenate([rotations, -rotations]))


@lru_cache(maxsize=1)
def products() -> IntArray:
    """``products()[g, h]``: the number of the element gh, first h and then g; ``(48, 48)``."""
    found = {m.tobytes(): i for i, m in enumerate(matrices())}
    table = np.einsum("gij,hjk->ghik", matrices(), matrices())
    return _frozen(np.array([[found[m.tobytes()] for m in row] for row in table]))


@lru_cache(maxsize=1)
def inverse_elements() -> IntArray:
    """``inverse_elements()[g]``: the number of g⁻¹."""
    return _frozen(np.argmin(products(), axis=1))


def _images(n: int, matrix: AnyArray, moved: AnyArray | None = None) -> IntArray:
    """Where each sticker goes; those not in the mask stay."""
    positions, normals = stickers(n)
    number = _numbers(n)
    where = np.concatenate([positions @ matrix.T, normals @ matrix.T], axis=1).tolist()
    image = np.array([number[tuple(v)] for v in where] if moved is None else range(len(where)))
    if moved is not None:
        for i in np.flatnonzero(moved):
            image[i] = number[tuple(where[i])]
    return image


@lru_cache(maxsize=64)
def symmetry_table(n: int) -> IntArray:
    """The 48 elements of :func:`matrices` as permutations of stickers, ``(48, 6n²)``: ``new[i] = old[perm[i]]``.

    >>> symmetry_table(3).shape, symmetry_table(3)[0, :4].tolist()
    ((48, 54), [0, 1, 2, 3])
    """
    return _frozen(np.stack([inverse(_images(n, m)) for m in matrices()]))


@lru_cache(maxsize=1)
def colour_table() -> IntArray:
    """``colour_table()[g, c]``: the face to which element g brings face c; ``(48, 6)``."""
    normals = _FRAMES[:, 0]
    number = {tuple(v): i for i, v in enumerate(normals.tolist())}
    return _frozen(np.array([[number[tuple(v)] for v in (normals @ m.T).tolist()] for m in matrices()]))


# ---------------------------------------------------------------------- turns

#: A quarter turn: face, layer counted from that face (0 is the outer one), and whether it is anticlockwise.
Turn = tuple[int, int, bool]


def turns(n: int, slices: bool = False) -> list[Turn]:
    """The quarter turns in their order: the 12 outer ones U, U', F, F', …, then with ``slices`` all inner layers.

    An inner layer is seen from the nearer of its two faces; a middle layer turns as L, D or F (M, E and S).

    >>> len(turns(3)), len(turns(3, slices=True)), len(turns(4, slices=True)), len(turns(5, slices=True))
    (12, 18, 24, 30)
    """
    n = check_size(n)
    found = [(face, 0, back) for face in range(6) for back in (False, True)]
    if slices:
        found += [(face, k, back) for k in range(1, n // 2) for face in range(6) for back in (False, True)]
        if n % 2:
            found += [(FACES.index(face), n // 2, back) for face in "LDF" for back in (False, True)]
    return found


def _quarter(face: int, back: bool) -> IntArray:
    """The rotation by 90° about the normal of a face, clockwise as seen from outside unless ``back``."""
    x, y, z = _FRAMES[face, 0].tolist()
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.outer((x, y, z), (x, y, z)) + (cross if back else -cross)


@lru_cache(maxsize=64)
def turn_table(n: int, slices: bool = False) -> IntArray:
    """The turns of :func:`turns` as permutations of stickers, ``(turns, 6n²)``: ``new[i] = old[perm[i]]``.

    >>> turn_table(3).shape
    (12, 54)
    >>> turn_table(3)[0, :9].tolist()                                 # U turns its own face clockwise
    [6, 3, 0, 7, 4, 1, 8, 5, 2]
    """
    positions, _ = stickers(n)
    found = []
    for face, layer, back in turns(n, slices):
        moved = positions @ _FRAMES[face, 0] == n - 1 - 2 * layer
        found.append(inverse(_images(n, _quarter(face, back), moved)))
    return _frozen(np.stack(found))


def standard_turn(n: int, turn: Turn) -> Turn:
    """The same turn as it is listed in :func:`turns`: seen from the nearer face."""
    face, layer, back = turn
    if 2 * layer > n - 1 or (2 * layer == n - 1 and FACES[face] not in "LDF"):
        return (face + 3) % 6, n - 1 - layer, not back
    return turn


@lru_cache(maxsize=64)
def turn_image(n: int, slices: bool = False) -> IntArray:
    """``turn_image(n)[g, a]``: the turn ``g·a = g a g⁻¹``, ``(48, turns)``; mirrors exchange the two directions.

    >>> sorted(len(set(turn_image(3)[:24, a])) for a in range(12)) == [6] * 12, len(set(turn_image(3)[:, 0]))
    (True, 12)
    """
    listed = turns(n, slices)
    number = {turn: a for a, turn in enumerate(listed)}
    return _frozen(
        np.array(
            [
                [
                    number[standard_turn(n, (int(colours[face]), layer, back != (g >= 24)))]
                    for face, layer, back in listed
                ]
                for g, colours in enumerate(colour_table())
            ]
        )
    )


# ---------------------------------------------------------------------- outer turns see a 3-cube


@lru_cache(maxsize=64)
def collapse(n: int) -> IntArray:
    """``collapse(n)[i]``: the sticker of the 3-cube that always has the colour of sticker i, under outer turns; n ≥ 3.

    Outer turns keep the inner stickers of an edge, and those of a centre, together: rows and columns 1 … n−2 become 1.

    >>> collapse(4)[:8].tolist()
    [0, 1, 1, 2, 3, 4, 4, 5]
    """
    if check_size(n) < 3:
        raise InvalidParameter("the 2-cube has no edges and no centres: only n ≥ 3 collapses to the 3-cube")
    line = np.minimum(np.arange(n), 1) + (np.arange(n) == n - 1)
    face = 3 * line[:, None] + line
    return _frozen((9 * np.arange(6)[:, None] + face.ravel()).ravel())


@lru_cache(maxsize=64)
def representatives(n: int) -> IntArray:
    """The first sticker of each class of :func:`collapse`, 54 of them in increasing order (all 24 for n = 2).

    >>> representatives(4)[:9].tolist()
    [0, 1, 3, 4, 5, 7, 12, 13, 15]
    """
    if check_size(n) == 2:
        return _frozen(np.arange(24))
    return _frozen(np.unique(collapse(n), return_index=True)[1])


# ---------------------------------------------------------------------- the construction of App. C


def paper_rotations(n: int) -> IntArray:
    """The 24 rotations as App. C makes them, ``(24, 6n²)``: by search at n = 2, then lifted face by face.

    ``x = R∘L'`` and ``y = U∘D'`` are rotations of the whole cube at n = 2 only. Of each element found there, the face
    that comes to face f and the quarter turns it makes on the way are read off the 2×2 grids, and redone on n×n grids.
    The order is that of the search; as a set these are the first 24 rows of :func:`symmetry_table`.

    >>> len({row.tobytes() for row in paper_rotations(4)} & {row.tobytes() for row in symmetry_table(4)[:24]})
    24
    """
    n = check_size(n)
    table = turn_table(2)
    at = {name: table[2 * FACES.index(name[0]) + (len(name) - 1)] for name in ("R", "L'", "U", "D'")}
    steps = [compose(at["R"], at["L'"]), compose(at["U"], at["D'"])]
    seen = {np.arange(24).tobytes(): np.arange(24)}
    queue = list(seen.values())
    for current in queue:  # grows while it is read
        for step in steps:
            after = compose(current, step)
            if after.tobytes() not in seen:
                seen[after.tobytes()] = after
                queue.append(after)
    grid = np.arange(6 * n * n).reshape(6, n, n)
    small = np.arange(24).reshape(6, 2, 2)
    lifted = []
    for perm in queue:
        faces = []
        for block in perm.reshape(6, 2, 2):
            source = int(block[0, 0]) // 4
            quarter = next(k for k in range(4) if np.array_equal(np.rot90(small[source], k), block))
            faces.append(np.rot90(grid[source], quarter))
        lifted.append(np.concatenate([face.ravel() for face in faces]))
    return np.stack(lifted)
