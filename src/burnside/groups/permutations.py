"""Pure functions on permutation arrays.

A permutation is an integer array ``p`` with ``p[i] = g·i``: the array of a *left* action. Products read like
functions, ``compose(g, h)[i] = g[h[i]]``: first ``h``, then ``g``. Every module of the package keeps to this.
"""

from __future__ import annotations

import numpy as np

from burnside._types import AnyArray, ArrayLike, IntArray
from burnside.errors import InvalidAction

__all__ = [
    "check_permutations",
    "compose",
    "cycle_count",
    "cycles",
    "fixed_points",
    "identity",
    "inverse",
    "is_permutation",
]


def identity(n: int) -> IntArray:
    """The permutation of ``n`` points that moves none.

    >>> identity(3)
    array([0, 1, 2])
    """
    return np.arange(n, dtype=np.int64)


def compose(g: AnyArray, h: AnyArray) -> AnyArray:
    """The product ``gh``: first ``h``, then ``g``. O(n).

    >>> compose(np.array([1, 2, 0]), np.array([1, 0, 2]))
    array([2, 1, 0])
    """
    return np.asarray(g)[np.asarray(h)]


def inverse(g: AnyArray) -> IntArray:
    """The permutation that undoes ``g``, or row by row for a stack of permutations. O(n).

    >>> inverse(np.array([1, 2, 0]))
    array([2, 0, 1])
    """
    g = np.asarray(g)
    out = np.empty(g.shape, dtype=np.int64)
    if g.ndim == 1:
        out[g] = np.arange(g.size, dtype=np.int64)
    else:
        np.put_along_axis(out, g, np.broadcast_to(np.arange(g.shape[-1], dtype=np.int64), g.shape), axis=-1)
    return out


def is_permutation(p: ArrayLike) -> bool:
    """Whether ``p`` is a one-dimensional integer array holding each of ``0 … n-1`` once. O(n).

    >>> is_permutation([1, 0]), is_permutation([1, 1]), is_permutation([0.0, 1.0])
    (True, False, False)
    """
    a = np.asarray(p)
    if a.ndim != 1 or (a.size and a.dtype.kind not in "iu"):
        return False
    if a.size == 0:
        return True
    if a.min() < 0 or a.max() >= a.size:
        return False
    seen = np.zeros(a.size, dtype=bool)
    seen[a] = True
    return bool(seen.all())


def check_permutations(perms: ArrayLike, n: int | None = None, what: str = "generator") -> IntArray:
    """``perms`` as a C-contiguous int64 array of shape ``(k, n)``, or :class:`InvalidAction` saying why not.

    ``what`` is the noun by which the message names a row; ``n=None`` takes the number of points from the rows.

    >>> check_permutations([[1, 0, 2]], 3)
    array([[1, 0, 2]])
    >>> check_permutations([[1, 1, 2]], 3)
    Traceback (most recent call last):
    ...
    burnside.errors.InvalidAction: generator 0 is not a permutation of 3 points: the image 1 occurs twice ...
    """
    try:
        a = np.asarray(perms)
    except ValueError:
        raise InvalidAction(
            f"the {what}s have different lengths: give one row per {what}, all on the same points"
        ) from None
    if a.size == 0 and a.ndim == 1:
        a = np.empty((0, n or 0), dtype=np.int64)
    if a.ndim != 2:
        raise InvalidAction(
            f"the {what}s have shape {a.shape}: give a list of permutations, one row per {what}, shape (k, n)"
        )
    size = a.shape[1] if n is None else n
    if a.shape[1] != size:
        raise InvalidAction(
            f"{what} 0 permutes {a.shape[1]} points, but {size} were expected: give {size} images per {what}"
        )
    if a.size and a.dtype.kind not in "iu":
        raise InvalidAction(
            f"the {what}s have dtype {a.dtype}: give integer images, row[i] = the point to which i is sent"
        )
    out = np.ascontiguousarray(a, dtype=np.int64)
    seen = np.empty(size, dtype=bool)
    for j, row in enumerate(out):
        start = f"{what} {j} is not a permutation of {size} points: "
        if size and (row.min() < 0 or row.max() >= size):
            i = int(np.flatnonzero((row < 0) | (row >= size))[0])
            raise InvalidAction(f"{start}point {i} is sent to {row[i]}; images must lie in 0…{size - 1}")
        seen[:] = False
        seen[row] = True
        if not seen.all():
            missing = int(np.flatnonzero(~seen)[0])
            twice = int(np.flatnonzero(np.bincount(row, minlength=size) > 1)[0])
            raise InvalidAction(
                f"{start}the image {twice} occurs twice and {missing} never; each point must be an image once"
            )
    return out


def cycles(p: ArrayLike, *, fixed: bool = False) -> list[list[int]]:
    """The cycles of a permutation, each from its smallest point; those of length one only if ``fixed``.

    >>> cycles([1, 0, 2, 4, 3])
    [[0, 1], [3, 4]]
    """
    row = check_permutations([np.asarray(p)], what="permutation")[0].tolist()
    seen = [False] * len(row)
    found = []
    for start in range(len(row)):
        cycle = []
        i = start
        while not seen[i]:
            seen[i] = True
            cycle.append(i)
            i = row[i]
        if len(cycle) > 1 or (cycle and fixed):
            found.append(cycle)
    return found


def cycle_count(p: ArrayLike) -> int:
    """The number of cycles, fixed points included.

    A permutation fixes ``k ** cycle_count(p)`` colourings of its points with ``k`` colours (Pólya).

    >>> cycle_count([1, 0, 2])
    2
    """
    return len(cycles(p, fixed=True))


def fixed_points(p: ArrayLike) -> IntArray:
    """The points a permutation leaves where they are. O(n).

    >>> fixed_points([1, 0, 2])
    array([2])
    """
    a = np.asarray(p)
    return np.flatnonzero(a == np.arange(a.size)).astype(np.int64, copy=False)
