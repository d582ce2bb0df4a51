"""Counter-based random numbers: known answers, the same bits in compiled code, and statistics that a bad mix fails."""

import itertools

import numpy as np
import pytest
from scipy import stats

from burnside import _random_kernels as kernels
from burnside._random import Stream, hash_u64, randint, uniform
from burnside.errors import InvalidParameter

KNOWN = {
    (0, 0, 0): 0x3C7FDEEC8450E291,
    (42, 1, 0): 0x12C1A5597DD096A,
    (42, 1, 1): 0xE7F30536BA1F73C9,
    (42, 2, 0): 0xEF88499BB2A738AC,
    (43, 1, 0): 0x7B1EA18A83C94766,
    (2**64 - 1, 7, 2**64 - 1): 0x6A3883C20F21EEE,
    (123456789, 5, 10**15): 0x236327360F1BB8CF,
}
M = 2**64


def reference(seed: int, stream: int, counter: int) -> int:
    """The definition in plain integers, sharing nothing with the implementation."""

    def mix(z: int) -> int:
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % M
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % M
        return z ^ (z >> 31)

    golden = 0x9E3779B97F4A7C15
    key = mix(mix((seed + golden) % M) ^ (stream + 1) * 0xD1342543DE82EF95 % M)
    return mix((mix((key + (counter + 1) * golden) % M) + key) % M)


@pytest.mark.parametrize(("words", "bits"), KNOWN.items())
def test_known_answers(words: tuple[int, int, int], bits: int) -> None:
    assert int(hash_u64(*words)) == bits
    assert reference(*words) == bits
    assert int(kernels.hash_u64_nb(*(np.uint64(w) for w in words))) == bits


def test_stream_numbers_are_pinned() -> None:
    """They are part of every saved curve."""
    names = ["INIT", "ENV", "EXPLORE", "REPLAY", "EVAL", "AUGMENT", "POLICY", "MISC"]
    assert [(s.name, int(s)) for s in Stream] == list(zip(names, range(8), strict=True))


def test_numpy_and_numba_give_the_same_bits() -> None:
    rng = np.random.default_rng(0)
    words = rng.integers(0, 2**64, size=(500, 3), dtype=np.uint64)
    words[:50] = rng.integers(0, 5, size=(50, 3))
    bound = rng.integers(1, 2**32, size=500, endpoint=True)
    bits, floats = hash_u64(*words.T), uniform(*words.T)
    ints = randint(*words.T, bound)
    for (s, k, c), b, x, i, n in zip(words, bits, floats, ints, bound, strict=True):
        assert int(kernels.hash_u64_nb(s, k, c)) == int(b) == reference(int(s), int(k), int(c))
        assert kernels.uniform_nb(s, k, c) == x == (int(b) >> 11) / 2**53
        assert kernels.randint_nb(s, k, c, n) == i == ((int(b) >> 32) * int(n)) >> 32
    # signed arguments of compiled code must not turn into floats
    assert int(kernels.hash_u64_nb(np.int64(42), np.int32(1), np.int64(1))) == KNOWN[42, 1, 1]


def test_arguments_broadcast() -> None:
    grid = hash_u64(np.arange(3)[:, None, None], np.arange(2)[None, :, None], np.arange(4))
    assert grid.shape == (3, 2, 4) and grid.dtype == np.uint64
    for s, k, c in itertools.product(range(3), range(2), range(4)):
        assert grid[s, k, c] == hash_u64(s, k, c)


@pytest.mark.parametrize(
    "call",
    [
        lambda: hash_u64(-1, 0, 0),
        lambda: hash_u64(0, 0, [0, -3]),
        lambda: hash_u64(1.5, 0, 0),
        lambda: randint(0, 0, 0, 0),
        lambda: randint(0, 0, 0, 2**32 + 1),
    ],
)
def test_what_would_wrap_or_round_is_refused(call) -> None:
    with pytest.raises(InvalidParameter):
        call()


AXES = {
    "counter": lambda i: (42, 1, i),
    "seed": lambda i: (i, 1, 0),
    "stream": lambda i: (42, i, 0),
    "episodes": lambda i: (42, 1, i * 21),
}


@pytest.mark.parametrize("axis", AXES)
def test_uniform_along_every_axis(axis: str) -> None:
    i = np.arange(200_000)
    x = uniform(*AXES[axis](i))
    assert x.min() >= 0 and x.max() < 1
    assert stats.kstest(x, "uniform").pvalue > 1e-4
    pairs = np.histogram2d(x[:-1:2], x[1::2], bins=20, range=[[0, 1], [0, 1]])[0]
    assert stats.chisquare(pairs.ravel()).pvalue > 1e-4
    lags = [np.corrcoef(x[:-k], x[k:])[0, 1] for k in (1, 2, 5, 64)]
    assert np.abs(lags).max() < 5 / np.sqrt(x.size)


def test_bits_are_balanced_and_independent() -> None:
    bits = np.unpackbits(hash_u64(7, 3, np.arange(100_000)).view(np.uint8).reshape(-1, 8), axis=1).astype(float)
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 5 * 0.5 / np.sqrt(len(bits))
    correlation = np.corrcoef(bits.T) - np.eye(64)
    assert np.abs(correlation).max() < 6 / np.sqrt(len(bits))


@pytest.mark.parametrize("word", [0, 1, 2])
def test_avalanche(word: int) -> None:
    """Flipping any one input bit flips each output bit half of the time."""
    rng = np.random.default_rng(word)
    words = [rng.integers(0, 2**64, size=4000, dtype=np.uint64) for _ in range(3)]
    before = hash_u64(*words)
    for bit in range(64):
        flipped = list(words)
        flipped[word] = words[word] ^ np.uint64(1 << bit)
        changed = np.unpackbits((before ^ hash_u64(*flipped)).view(np.uint8).reshape(-1, 8), axis=1)
        assert np.abs(changed.mean(axis=0) - 0.5).max() < 6 * 0.5 / np.sqrt(4000)


def test_seeds_and_streams_are_independent() -> None:
    """The trap of PureJaxRL: all 'seeds' sharing a stream. Neither equal, nor correlated, nor shifted copies."""
    counters = np.arange(20_000)
    runs = uniform(np.repeat(np.arange(8), 8)[:, None], np.tile(np.arange(8), 8)[:, None], counters)
    correlation = np.corrcoef(runs) - np.eye(64)
    assert np.abs(correlation).max() < 6 / np.sqrt(counters.size)
    everything = hash_u64(np.arange(30)[:, None, None], np.arange(8)[None, :, None], np.arange(2000))
    assert np.unique(everything).size == everything.size


@pytest.mark.parametrize("n", [1, 2, 3, 7, 10, 125, 1000])
def test_randint_is_uniform(n: int) -> None:
    counts = np.bincount(randint(11, Stream.REPLAY, np.arange(100_000), n), minlength=n)
    assert counts.size == n
    assert n == 1 or stats.chisquare(counts).pvalue > 1e-4
