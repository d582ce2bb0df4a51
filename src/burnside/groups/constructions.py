"""New actions from old ones, as pure functions on the images of generators (rows are permutations)."""

from __future__ import annotations

import numpy as np

from burnside._types import ArrayLike, IntArray
from burnside.errors import InvalidAction, ModelTooLarge
from burnside.groups.orbits import orbit_labels, representatives
from burnside.groups.permutations import identity

__all__ = ["disjoint_images", "function_images", "power_images", "product_images", "restricted_images"]

# Points beyond which an action is refused rather than filling the memory (int64: 400 MB per generator).
_MAX_POINTS = 50_000_000


def _guard(points: int, what: str) -> None:
    if points > _MAX_POINTS:
        raise ModelTooLarge(
            f"{what} has {points} points, more than {_MAX_POINTS}: act on fewer colours or points, or lazily"
        )


def product_images(left: IntArray, right: IntArray) -> IntArray:
    """Images on pairs, ``(i, j)`` numbered ``i * m + j``.

    >>> product_images(np.array([[1, 0]]), np.array([[1, 0]]))
    array([[3, 2, 1, 0]])
    """
    k, m = right.shape
    _guard(left.shape[1] * m, "the product")
    return (left[:, :, None] * m + right[:, None, :]).reshape(k, left.shape[1] * m)


def disjoint_images(left: IntArray, right: IntArray) -> IntArray:
    """Images on the disjoint union, the right points after the left ones.

    >>> disjoint_images(np.array([[1, 0]]), np.array([[0, 1]]))
    array([[1, 0, 2, 3]])
    """
    return np.hstack([left, right + left.shape[1]])


def function_images(images: IntArray, colours: int) -> IntArray:
    """Images on the ``colours ** n`` labellings ``x`` of the points, ``(g·x)(v) = x(g⁻¹ v)``.

    A labelling is numbered in C order, ``Σ x(v) colours**(n-1-v)``, as ``numpy.ravel_multi_index`` does.

    >>> function_images(np.array([[1, 0]]), 2)
    array([[0, 2, 1, 3]])
    """
    k, n = images.shape
    size = colours**n
    _guard(size, "the set of labellings")
    out = np.zeros((k, size), dtype=np.int64)
    for row, g in zip(out, images, strict=True):
        rest = identity(size)
        for v in range(n - 1, -1, -1):
            rest, colour = np.divmod(rest, colours)
            row += colour * colours ** int(n - 1 - g[v])  # (g·x)(g v) = x(v)
    return out


def power_images(images: IntArray, top: IntArray) -> IntArray:
    """Images on tuples for the generators of a wreath product, in the order of ``Group.wreath``.

    The base moves one coordinate, the top permutes the coordinates: ``(t·x)(c) = x(t⁻¹ c)``. C order.

    >>> power_images(np.array([[1, 0]]), np.array([[1, 0]]))
    array([[2, 3, 0, 1],
           [0, 2, 1, 3]])
    """
    m, n = images.shape[1], top.shape[1]
    _guard(m**n, "the set of tuples")
    cube = identity(m**n).reshape((m,) * n)
    rows = [np.take(cube, gen, axis=int(copy)).ravel() for copy in representatives(orbit_labels(top)) for gen in images]
    rows.extend(function_images(top, m))
    return np.array(rows, dtype=np.int64).reshape(len(rows), m**n)


def restricted_images(images: IntArray, points: ArrayLike) -> IntArray:
    """Images on an invariant set of points, numbered in the order given.

    >>> restricted_images(np.array([[1, 0, 2]]), [2, 1, 0])
    array([[0, 2, 1]])
    """
    n = images.shape[1]
    chosen = np.asarray(points)
    if chosen.size == 0:
        return np.empty((len(images), 0), dtype=np.int64)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or chosen.min() < 0 or chosen.max() >= n:
        raise InvalidAction(f"the points to restrict to must be a list of whole numbers in 0…{n - 1}")
    number = np.full(n, -1, dtype=np.int64)
    number[chosen] = identity(chosen.size)
    if np.count_nonzero(number >= 0) != chosen.size:
        raise InvalidAction("a point to restrict to is listed twice: list every point once")
    out = number[images[:, chosen]]
    if out.size and out.min() < 0:
        j, i = (int(x[0]) for x in np.nonzero(out < 0))
        raise InvalidAction(
            f"the points are not invariant: generator {j} sends point {chosen[i]} to "
            f"{images[j, chosen[i]]}, which is "
            "not among them; restrict to a union of orbits"
        )
    return out
