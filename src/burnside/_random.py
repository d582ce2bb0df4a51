"""Counter-based random numbers: each is a hash of (seed, stream, counter), so there is no generator state at all.

A seed therefore gives the same numbers alone or among others, a checkpoint has nothing to save, and two uses of
randomness never share a stream by accident. The same bits come out of :mod:`burnside._random_kernels` inside compiled
code. The mixing is the finaliser of splitmix64 (Steele, Lea, Flood 2014), applied four times: seed and stream make a
key, and the counter is enciphered under it in two rounds, so that two streams never are shifted copies of each other.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from burnside._types import AnyArray, ArrayLike, FloatArray, IntArray
from burnside.errors import InvalidParameter

__all__ = ["Stream", "hash_u64", "held_out", "normal", "randint", "uniform"]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_STREAM = np.uint64(0xD1342543DE82EF95)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_U = np.uint64


class Stream(IntEnum):
    """What a random number is for; numbers of different streams are independent."""

    INIT = 0
    ENV = 1
    EXPLORE = 2
    REPLAY = 3
    EVAL = 4
    AUGMENT = 5
    POLICY = 6
    MISC = 7


def _words(value: ArrayLike, name: str) -> AnyArray:
    """An array of 64-bit words; refuses what would wrap or round."""
    found = np.asarray(value)
    if found.dtype.kind not in "iub" or (found.dtype.kind == "i" and found.size and found.min() < 0):
        shown = found.item() if found.size == 1 else found.tolist()
        raise InvalidParameter(f"{name} must be integers from 0 to 2⁶⁴ − 1, got {shown!r:.80}")
    return found.astype(np.uint64)


def _mix(z: AnyArray) -> AnyArray:
    z = (z ^ (z >> _U(30))) * _MIX1
    z = (z ^ (z >> _U(27))) * _MIX2
    return z ^ (z >> _U(31))


def hash_u64(seed: ArrayLike, stream: ArrayLike, counter: ArrayLike) -> AnyArray:
    """64 random bits for each (seed, stream, counter); the arguments broadcast.

    >>> hex(int(hash_u64(42, Stream.ENV, 0)))
    '0x12c1a5597dd096a'
    >>> hash_u64([[1], [2]], Stream.INIT, [0, 1, 2]).shape
    (2, 3)
    """
    s, k, c = _words(seed, "seed"), _words(stream, "stream"), _words(counter, "counter")
    with np.errstate(over="ignore"):  # wrapping is the point; only zero-dimensional arrays would warn
        key = _mix(_mix(s + _GOLDEN) ^ ((k + _U(1)) * _STREAM))
        return np.asarray(_mix(_mix(key + (c + _U(1)) * _GOLDEN) + key))


def uniform(seed: ArrayLike, stream: ArrayLike, counter: ArrayLike) -> FloatArray:
    """Uniform numbers in [0, 1) with 53 random bits.

    >>> float(uniform(42, Stream.ENV, 0))
    0.0045792063682378314
    """
    return np.asarray((hash_u64(seed, stream, counter) >> _U(11)).astype(np.float64) * 2.0**-53)


def normal(seed: ArrayLike, stream: ArrayLike, counter: ArrayLike) -> FloatArray:
    """Standard normal numbers (Box and Muller's method); number c takes the uniform numbers 2c and 2c + 1.

    >>> normal(42, Stream.POLICY, np.arange(3)).round(4).tolist()
    [-0.6661, -0.8039, -0.7322]
    """
    first = 2 * np.asarray(counter)
    radius = np.sqrt(-2.0 * np.log1p(-uniform(seed, stream, first)))
    return np.asarray(radius * np.cos(2.0 * np.pi * uniform(seed, stream, first + 1)))


def randint(seed: ArrayLike, stream: ArrayLike, counter: ArrayLike, n: ArrayLike) -> IntArray:
    """Integers from 0 to n − 1, for n up to 2³²; no value is likelier than another by more than n / 2³².

    >>> randint(42, Stream.REPLAY, np.arange(5), 10).tolist()
    [4, 8, 6, 8, 3]
    """
    bound = _words(n, "n")
    if bound.size and not (int(bound.min()) >= 1 and int(bound.max()) <= 2**32):
        raise InvalidParameter(f"n must lie between 1 and 2³², got {n!r:.80}")
    high = hash_u64(seed, stream, counter) >> _U(32)
    return np.asarray(((high * bound) >> _U(32)).astype(np.int64))


def held_out(seed: int = 0) -> int:
    """The seed of episodes that no training run sees: a hashed one opens a fresh family (stream EVAL).

    >>> held_out(0) != held_out(1)
    True
    """
    return int(hash_u64(seed, Stream.EVAL, 0)) >> 1
