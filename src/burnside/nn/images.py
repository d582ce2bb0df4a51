"""Networks that know a finite group: averaged over the images of their input, or with weights that are shared.

*Averaging*: a network is asked at all images ``g·x``, its outputs are turned back by g, and their mean is the output:
exactly equivariant, whatever the network is. *Shared weights*: the hidden layers carry the regular representation of
the group, so that equivariance is a set of equations ``w_i = ± w_j`` between weights; gradients are averaged over those
that are equal, which keeps them equal under Adam. :mod:`burnside.nn.image_kernels` uses both inside compiled code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from burnside._types import AnyArray, FloatArray, IntArray
from burnside.errors import InvalidParameter
from burnside.nn.mlp import Net, matrices

__all__ = ["ALONE", "AVERAGE", "FREE", "MIRROR", "Images", "Ties", "images_of", "shared", "tied", "turned"]

#: What is done with the outputs at the images: nothing, their mean is the output, or they are pulled to their mean.
NOTHING, AVERAGE, MIRROR = 0, 1, 2


class Images(NamedTuple):
    """How the outputs at the images of an observation belong together.

    The rows of a network come in blocks of ``count``, the images of one observation, itself first.
    """

    count: int  # type: ignore[assignment]
    turns: AnyArray  # (count, outputs, outputs), float32: outputs at g·x as outputs at x
    mode: int
    weight: float  # of the mirror loss


class Ties(NamedTuple):
    """Which parameters are equal up to their sign; empty if all are free."""

    orbit: AnyArray  # of every parameter, int64
    sign: AnyArray  # float32; 0 where the parameter must vanish
    size: AnyArray  # parameters in each orbit, float32
    pull: float  # 1: always equal; below: pulled together by this share after every update


ALONE = Images(1, np.ones((1, 1, 1), dtype=np.float32), NOTHING, 0.0)
FREE = Ties(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32), np.zeros(0, dtype=np.float32), 1.0)


def images_of(turns: AnyArray, mode: int, weight: float = 0.0) -> Images:
    """Images with turned outputs.

    >>> images_of(np.ones((2, 1, 1)), AVERAGE).count
    2
    """
    return Images(len(turns), np.ascontiguousarray(turns, dtype=np.float32), mode, float(weight))


def turned(out: AnyArray, images: Images) -> AnyArray:
    """The mean of the outputs ``(rows · count, outputs)`` at all images, turned back: plain numpy.

    >>> turned(np.array([[1.0], [3.0]]), images_of(np.ones((2, 1, 1)), AVERAGE))
    array([[2.]])
    """
    blocks = np.asarray(out).reshape(-1, images.count, np.shape(out)[-1])
    return np.einsum("gij,ngj->ni", images.turns, blocks) / images.count


# ---------------------------------------------------------------------- shared weights


class _Signed(NamedTuple):
    """A group acting by signed permutations: ``(g·x)[i] = sign[g, i] · x[index[g, i]]``."""

    index: IntArray  # type: ignore[assignment]
    sign: FloatArray


def _regular(product: IntArray, width: int) -> _Signed:
    """Hidden units in blocks, one unit for every element: g moves unit h to unit gh."""
    order = len(product)
    if width % order:
        raise InvalidParameter(f"a hidden layer of {width} units cannot be shared by {order} elements: give a multiple")
    back = np.argsort(product, axis=1)  # (g·x)[gh] = x[h]
    blocks = np.arange(width // order)[None, :, None] * order + back[:, None, :]
    return _Signed(blocks.reshape(order, width), np.ones((order, width)))


def shared(net: Net, product: IntArray, inputs: tuple[IntArray, FloatArray], outputs: AnyArray) -> list[AnyArray]:
    """Triples (parameter, image, sign) for every element: which parameters of a network are to be equal.

    Args:
        net: where its parameters lie.
        product: the multiplication table.
        inputs: index and sign of the action on the input.
        outputs: ``(order, outputs, outputs)`` signed permutation matrices: how outputs at x become those at g·x.
    """
    where = matrices(np.arange(net.end, dtype=np.float64), net)
    first, second = _regular(product, net.h1), _regular(product, net.h2)
    given = _Signed(*inputs)
    last = _Signed(np.abs(outputs).argmax(axis=2), np.take_along_axis(
        np.asarray(outputs, dtype=np.float64), np.abs(outputs).argmax(axis=2)[..., None], axis=2)[..., 0])  # fmt: skip
    found = []
    for name, rows, columns in (("w1", given, first), ("w2", first, second), ("w3", second, last)):
        bias = where[f"b{name[1]}"].astype(np.int64)
        matrix = where[name].astype(np.int64)
        for g in range(len(product)):
            # W[index(i), index(j)] = ± W[i, j]: the outputs move as the inputs do
            image = matrix[rows.index[g]][:, columns.index[g]]
            sign = rows.sign[g][:, None] * columns.sign[g][None]
            found.append(np.stack([matrix.ravel(), image.ravel(), sign.ravel()]))
            found.append(np.stack([bias, bias[columns.index[g]], columns.sign[g]]))
    return found


def tied(size: int, triples: list[AnyArray], pull: float = 1.0) -> Ties:
    """Orbits of parameters from triples of all elements; a parameter that would equal its negative is zero."""
    best, sign = np.arange(size), np.ones(size)
    zero = np.zeros(size, dtype=np.bool_)
    for at, image, signs in triples:
        here, there = at.astype(np.int64), image.astype(np.int64)
        zero[here[(here == there) & (signs < 0)]] = True
        lower = there < best[here]
        best[here[lower]], sign[here[lower]] = there[lower], signs[lower]
    _, orbit = np.unique(best, return_inverse=True)
    sign = np.where(zero | zero[best], 0.0, sign)
    return Ties(
        orbit.astype(np.int64), sign.astype(np.float32), np.bincount(orbit).astype(np.float32), float(pull)
    )  # fmt: skip


def begin(flat: AnyArray, ties: Ties) -> None:
    """Give tied parameters one value, that of the first of each orbit, in place."""
    if not ties.orbit.size:
        return
    first = np.full(len(ties.size), -1, dtype=np.int64)
    for i in range(flat.size - 1, -1, -1):
        first[ties.orbit[i]] = i
    flat[:] = flat[first[ties.orbit]] * ties.sign * ties.sign[first[ties.orbit]]
