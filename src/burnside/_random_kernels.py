"""The random numbers of :mod:`burnside._random` inside compiled code, bit for bit the same.

Import it where it is used: it loads numba. Arguments are cast to 64-bit words, because numba would turn a sum of signed
and unsigned integers into a float.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from burnside._compiled import njit
from burnside._random import Stream

__all__ = ["AUGMENT", "ENV", "EXPLORE", "POLICY", "REPLAY", "hash_u64_nb", "randint_nb", "uniform_nb"]

#: Streams as plain numbers: compiled code does not know Python's enumerations.
ENV, EXPLORE, REPLAY = int(Stream.ENV), int(Stream.EXPLORE), int(Stream.REPLAY)
AUGMENT, POLICY = int(Stream.AUGMENT), int(Stream.POLICY)

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_STREAM = np.uint64(0xD1342543DE82EF95)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_ONE = np.uint64(1)
_11, _27, _30, _31, _32 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)


@njit(cache=True, nogil=True)
def _mix_nb(z: Any) -> Any:
    z = (z ^ (z >> _30)) * _MIX1
    z = (z ^ (z >> _27)) * _MIX2
    return z ^ (z >> _31)


@njit(cache=True, nogil=True)
def hash_u64_nb(seed: Any, stream: Any, counter: Any) -> Any:
    """64 random bits, as :func:`burnside._random.hash_u64`."""
    key = _mix_nb(_mix_nb(np.uint64(seed) + _GOLDEN) ^ ((np.uint64(stream) + _ONE) * _STREAM))
    return _mix_nb(_mix_nb(key + (np.uint64(counter) + _ONE) * _GOLDEN) + key)


@njit(cache=True, nogil=True)
def uniform_nb(seed: Any, stream: Any, counter: Any) -> Any:
    """A number in [0, 1), as :func:`burnside._random.uniform`."""
    return np.float64(hash_u64_nb(seed, stream, counter) >> _11) * 2.0**-53


@njit(cache=True, nogil=True)
def randint_nb(seed: Any, stream: Any, counter: Any, n: Any) -> Any:
    """An integer from 0 to n − 1, as :func:`burnside._random.randint`; 1 ≤ n ≤ 2³² is the caller's to see to."""
    return np.int64(((hash_u64_nb(seed, stream, counter) >> _32) * np.uint64(n)) >> _32)
