"""Whether two samples of outcomes come from one distribution.

Numbers that agree up to the tolerance are first made equal, in both samples together, so that rounding decides nothing.
Then statistics are computed for the samples as they are and for random divisions of the same outcomes into two (a
permutation test, which is exact however rare the outcomes are and however few): for every number the difference of the
mean ranks and of the spread of the ranks; the energy distance of all numbers together, which sees every difference of
the joint laws; χ² on outcomes that repeat themselves, and the largest difference in the frequency of one of them. Each
is brought to the same scale over the divisions, and the largest decides.

The statistics are kept apart by component, so that a reward that differs is not blamed on the dynamics.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from burnside._types import AnyArray, FloatArray, IntArray
from burnside.canonical.base import numbers, precision, structure
from burnside.canonical.checking.access import Outcome
from burnside.canonical.checking.tolerance import Ruler, typical

__all__ = [
    "GROUPS",
    "Encoded",
    "Sample",
    "best",
    "certainty",
    "chi_square",
    "distances",
    "divisions",
    "encode",
    "keys_of",
    "merged",
    "p_values",
    "resolution",
    "statistics",
    "total_variation",
]

#: What is tested by itself. ``joint`` is what the components do together.
GROUPS = ("dynamics", "reward", "termination", "truncation", "joint")

_COLUMNS = 64  # numbers that are tested one by one; all of them go into the joint statistics
_LARGE = 2 * 10**7  # numbers up to which keys are merged
_CHUNK = 2 * 10**6  # entries of the divisions that are held at a time
_FIRST = 199  # divisions that tell the clearly equal from the rest


# ---------------------------------------------------------------------- equal up to rounding


def merged(values: FloatArray, widths: FloatArray | float) -> FloatArray:
    """Ranks of each column, the same for numbers that are linked by steps of at most the width of the column.

    Numbers so dense that links make a long chain are continuous: they keep ranks of their own.

    >>> merged(np.array([[0.0], [1.0], [1.0 + 1e-9], [5.0]]), 1e-6).ravel().tolist()
    [0.0, 1.5, 1.5, 3.0]
    """
    order = np.argsort(values, axis=0, kind="stable")
    ordered = np.take_along_axis(values, order, axis=0)
    with np.errstate(invalid="ignore", over="ignore"):  # ∞ − ∞
        differ = ~((ordered[1:] == ordered[:-1]) | (np.isnan(ordered[1:]) & np.isnan(ordered[:-1])))
        fresh = differ & ~(np.diff(ordered, axis=0) <= widths)
        first, last = _ends(fresh)
        long = _at(ordered, last) - _at(ordered, first) > 3 * np.asarray(widths)
    first, last = _ends(fresh | (differ & long[1:]))
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, (first + last) / 2, axis=0)
    return ranks


def _ends(fresh: AnyArray) -> tuple[IntArray, IntArray]:
    """For every row of sorted columns, the first and last row of its class, given which rows begin a new one."""
    rows = np.arange(len(fresh) + 1)[:, None]
    edge = np.ones((1, fresh.shape[1]), dtype=bool)
    first = np.maximum.accumulate(np.where(np.concatenate([edge, fresh]), rows, 0), axis=0)
    final = np.where(np.concatenate([fresh, edge]), rows, len(fresh))
    return first, np.minimum.accumulate(final[::-1], axis=0)[::-1]


def _at(ordered: FloatArray, rows: IntArray) -> FloatArray:
    return np.take_along_axis(ordered, rows, axis=0)


def _widths(values: FloatArray, eps: FloatArray, ruler: Ruler, more: FloatArray | float = 0.0) -> FloatArray:
    """How far numbers of a column may be apart and count as equal: by its own scale, and rounding of its own type."""
    largest = np.max(np.abs(values), axis=0, initial=0.0, where=np.isfinite(values))
    scale = ruler.scale if ruler.fits(values.shape[1]) else np.zeros(values.shape[1])
    return np.where(eps > 0, ruler.tol * scale + 2 * eps * largest + more, 0.0)


def keys_of(things: Sequence[object], tolerance: float) -> list[Hashable]:
    """A hashable stand-in for each thing, equal for those whose numbers agree, each up to its own typical size.

    >>> one, two, three = keys_of([np.array([1 / 64]), [1 / 64 + 1e-12], np.float32([0.5])], 1e-6)
    >>> one == two, one == three
    (True, False)
    """
    raw = [_raw(x) for x in things]
    distinct = dict(zip(raw, things, strict=True))
    if len(distinct) < len(things):
        found = dict(zip(distinct, keys_of(list(distinct.values()), tolerance), strict=True))
        return [found[key] for key in raw]
    forms = [structure(x, values=True) for x in things]
    rows = [numbers(x) + 0.0 for x in things]  # adding 0.0 turns −0.0 into 0.0, which has other bytes
    groups: dict[Hashable, dict[bytes, FloatArray]] = defaultdict(dict)
    kinds: dict[Hashable, FloatArray] = {}
    for thing, form, row in zip(things, forms, rows, strict=True):
        groups[form].setdefault(row.tobytes(), row)
        if form not in kinds:
            kinds[form] = precision(thing)
        else:
            kinds[form] = np.maximum(kinds[form], precision(thing))
    names: dict[tuple[Hashable, bytes], bytes] = {}
    for form, members in groups.items():
        values = np.stack(list(members.values()))
        ranks = values
        if 0 < values.size <= _LARGE:
            largest = np.max(np.abs(values), axis=0, initial=0.0, where=np.isfinite(values))
            widths = np.where(kinds[form] > 0, tolerance * typical(values) + 2 * kinds[form] * largest, 0.0)
            ranks = merged(values, widths)
        names |= {(form, raw): rank.tobytes() for raw, rank in zip(members, ranks, strict=True)}
    return [(form, names[form, row.tobytes()]) for form, row in zip(forms, rows, strict=True)]


def _raw(x: object) -> Hashable:
    """Something equal for things that are the same to the last bit, and quickly made."""
    if isinstance(x, np.ndarray):
        return x.dtype.str, x.shape, x.tobytes() if x.dtype != object else repr(x)
    if isinstance(x, tuple | list):
        return type(x).__name__, tuple(_raw(part) for part in x)
    if isinstance(x, dict):
        return tuple((key, _raw(part)) for key, part in x.items())
    return (type(x).__name__, x) if isinstance(x, int | float | str | np.generic) else repr(x)


@dataclass(frozen=True)
class Sample:
    """Outcomes as arrays, one row for each.

    Attributes:
        outcomes: as they were drawn.
        values: the numbers of the observations; None if they are not alike in form.
        eps: their relative rounding errors.
        rewards: with ``reward_eps``, their relative rounding error.
        ends: termination and truncation.
    """

    outcomes: Sequence[Outcome]
    values: FloatArray | None
    eps: FloatArray
    rewards: FloatArray
    reward_eps: float
    ends: FloatArray

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> Sample:
        """From outcomes."""
        first = outcomes[0].observation
        values: FloatArray | None
        if (
            type(first) is np.ndarray
            and first.dtype.kind in "biuf"
            and all(_twins(o.observation, first) for o in outcomes)
        ):
            values = np.stack([o.observation for o in outcomes]).reshape(len(outcomes), -1).astype(np.float64)
        else:
            form = structure(first, values=True)
            alike = all(structure(o.observation, values=True) == form for o in outcomes)
            values = np.stack([numbers(o.observation) for o in outcomes]) if alike else None
        return cls(
            outcomes,
            values,
            precision(first),
            np.array([[o.reward] for o in outcomes], dtype=np.float64),
            max(o.reward_eps for o in outcomes),
            np.array([[o.terminated, o.truncated] for o in outcomes], dtype=np.float64),
        )

    def __len__(self) -> int:
        return len(self.outcomes)


def _twins(x: object, y: AnyArray) -> bool:
    return type(x) is np.ndarray and x.shape == y.shape and x.dtype == y.dtype


@dataclass(frozen=True)
class Encoded:
    """Outcomes of two samples together, as ranks and labels, one row for each.

    Attributes:
        ranks: of all numbers that vary: of the observation, then reward, termination, truncation.
        columns: which number of the observation each column is; −1, −2, −3 for the other three.
        observed: the number of the observation in a list of all different ones.
        rewarded: the same for the reward.
        labels: the same for whole outcomes.
    """

    ranks: FloatArray
    columns: IntArray
    observed: IntArray
    rewarded: IntArray
    labels: IntArray


def encode(one: Sample, other: Sample, ruler: Ruler, more: FloatArray | float = 0.0) -> Encoded:
    """Both samples together; ``more`` is what rounding adds to the numbers of the observation."""
    rewards = np.concatenate([one.rewards, other.rewards])
    largest = float(np.max(np.abs(rewards), initial=0.0, where=np.isfinite(rewards)))
    eps = max(one.reward_eps, other.reward_eps)
    paid = merged(rewards, ruler.tol * ruler.reward_scale + 2 * eps * largest)
    ends = np.concatenate([one.ends, other.ends])
    shown = np.zeros((len(rewards), 0))
    if _comparable(one, other):
        assert one.values is not None and other.values is not None
        values = np.concatenate([one.values, other.values])
        if values.shape[1]:
            shown = merged(values, _widths(values, np.maximum(one.eps, other.eps), ruler, more))
        observed = _classes(shown)
    else:
        keys = keys_of([o.observation for o in (*one.outcomes, *other.outcomes)], ruler.tol)
        names: dict[Hashable, int] = {}
        observed = np.array([names.setdefault(key, len(names)) for key in keys])
    columns = np.concatenate([np.arange(shown.shape[1]), [-1, -2, -3]])
    ranks = np.concatenate([shown, paid, ends], axis=1)
    rewarded = _classes(paid)
    whole = _classes(np.concatenate([observed[:, None], rewarded[:, None], ends], axis=1))
    varies = np.ptp(ranks, axis=0) > 0
    return Encoded(ranks[:, varies], columns[varies], observed, rewarded, whole)


def _comparable(one: Sample, other: Sample) -> bool:
    """Whether the observations of both samples are of one form."""
    if one.values is None or other.values is None or one.values.shape[1] != other.values.shape[1]:
        return False
    first, second = one.outcomes[0].observation, other.outcomes[0].observation
    return structure(first, values=True) == structure(second, values=True)


def _classes(rows: FloatArray) -> IntArray:
    """The number of each row in a list of all different ones."""
    if not rows.shape[1]:
        return np.zeros(len(rows), dtype=np.int64)
    plain = np.ascontiguousarray(rows, dtype=np.float64) + 0.0
    raw = plain.view(np.dtype((np.void, plain.dtype.itemsize * plain.shape[1]))).ravel()
    return np.asarray(np.unique(raw, return_inverse=True)[1]).ravel()


# ---------------------------------------------------------------------- statistics


def divisions(one: int, other: int, count: int, rng: np.random.Generator) -> FloatArray:
    """Weights of the two samples, first as they are and then as chance divides them: 1/n in one, −1/m in the other."""
    weights = np.concatenate([np.full(one, 1 / one), np.full(other, -1 / other)])
    return np.concatenate([weights[None], rng.permuted(np.tile(weights, (count, 1)), axis=1)])


def distances(ranks: FloatArray) -> FloatArray:
    """The distances between all rows, after every column is brought to variance one."""
    scaled = _standard(ranks)
    norms = np.sum(scaled**2, axis=1)
    return np.sqrt(np.maximum(norms[:, None] + norms[None] - 2 * scaled @ scaled.T, 0.0))


def _standard(ranks: FloatArray) -> FloatArray:
    return (ranks - ranks.mean(axis=0)) / np.maximum(ranks.std(axis=0), 1e-12)


def statistics(coded: Encoded, signs: FloatArray) -> dict[str, FloatArray]:
    """For each group that varies, its statistics: one row for every division."""
    found: dict[str, list[FloatArray]] = {name: [] for name in GROUPS}
    seen = coded.columns >= 0
    chosen = np.flatnonzero(seen)[:_COLUMNS]
    if chosen.size:
        found["dynamics"] += _alone(coded.ranks[:, chosen], signs)
    if seen.sum() > 1:
        found["dynamics"].append(_energy(coded.ranks[:, seen], signs))
    found["dynamics"] += _frequencies(coded.observed, signs)
    for name, column in (("reward", -1), ("termination", -2), ("truncation", -3)):
        at = np.flatnonzero(coded.columns == column)
        if at.size:
            found[name] += _alone(coded.ranks[:, at], signs)
    found["reward"] += _frequencies(coded.rewarded, signs)
    if sum(bool(found[name]) for name in GROUPS) > 1:
        if coded.ranks.shape[1] > 1:
            found["joint"].append(_energy(coded.ranks, signs))
        found["joint"] += _frequencies(coded.labels, signs)
    return {name: np.concatenate(parts, axis=1) for name, parts in found.items() if parts}


def _alone(ranks: FloatArray, signs: FloatArray) -> list[FloatArray]:
    """Every column by itself: mean rank, and how far ranks are from the middle one."""
    scaled = _standard(ranks)
    away = _standard(np.abs(ranks - np.median(ranks, axis=0)))
    return [np.abs(signs @ scaled), np.abs(signs @ away)]


def _energy(ranks: FloatArray, signs: FloatArray) -> FloatArray:
    apart = distances(ranks)
    found = -np.einsum("ij,ij->i", signs @ apart, signs)
    return np.cbrt(np.maximum(found, 0.0))[:, None]


def chi_square(labels: IntArray, signs: FloatArray) -> FloatArray | None:
    """χ² of the frequencies of outcomes, without pooling the rare ones; None if none repeats itself, or all do."""
    found = _shares(labels, signs)
    return None if found is None else np.sum(found[0] ** 2 / found[1], axis=1)


def _frequencies(labels: IntArray, signs: FloatArray) -> list[FloatArray]:
    """χ², and the largest difference of a single frequency."""
    found = _shares(labels, signs)
    if found is None:
        return []
    shares, counts = found
    scale = np.sqrt(counts * (len(labels) - counts))
    chi = np.cbrt(np.sum(shares**2 / counts, axis=1))
    return [chi[:, None], np.max(np.abs(shares) / scale, axis=1)[:, None]]


def _shares(labels: IntArray, signs: FloatArray) -> tuple[FloatArray, IntArray] | None:
    """The difference in the frequency of every outcome, for every division, and how often each occurs."""
    _, index, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if len(counts) == 1 or len(counts) == len(labels):
        return None
    order = np.argsort(index, kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    return np.add.reduceat(signs[:, order], starts, axis=1), counts


def best(rows: FloatArray) -> float:
    """The p-value of the first row, when every row is judged by the statistic in which it stands out most."""
    spread = rows.std(axis=0)
    varies = spread > 1e-12 * np.maximum(np.abs(rows).max(axis=0), 1e-300)
    if not varies.any():
        return 1.0
    largest = ((rows[:, varies] - rows[:, varies].mean(axis=0)) / spread[varies]).max(axis=1)
    return float(np.mean(largest >= largest[0] - 1e-9))


def certainty(coded: Encoded, one: int) -> dict[str, float]:
    """A bound on the p-value of each group that needs no divisions, to be done with what is plain to see.

    The bound e·exp(−2nD²) of Dvoretzky, Kiefer and Wolfowitz on the largest distance D of the distribution functions of
    a number, with Wei and Dudley's constant for two samples; it holds for any number of draws and for ties.
    """
    other = len(coded.labels) - one
    weights = np.concatenate([np.full(one, 1 / one), np.full(other, -1 / other)])
    found: dict[str, float] = {}
    if not coded.ranks.shape[1]:
        return found
    order = np.argsort(coded.ranks, axis=0, kind="stable")
    ordered = np.take_along_axis(coded.ranks, order, axis=0)
    gap = np.abs(np.cumsum(weights[order], axis=0))[:-1]
    largest = np.max(gap, axis=0, where=ordered[1:] != ordered[:-1], initial=0.0)
    bound = np.exp(1.0 - 2.0 * one * other / (one + other) * largest**2)
    for k, column in enumerate(coded.columns.tolist()):
        name = {-1: "reward", -2: "termination", -3: "truncation"}.get(column, "dynamics")
        found[name] = min(found.get(name, 1.0), float(bound[k]) * coded.ranks.shape[1])
    return found


# ---------------------------------------------------------------------- the test


def p_values(
    one: Sample,
    other: Sample,
    ruler: Ruler,
    level: float,
    rng: np.random.Generator,
    more: FloatArray | float = 0.0,
) -> dict[str, float]:
    """For each group that varies, the probability of samples at least this different, were they of one distribution.

    With enough divisions that a p-value below the level can be reached; few where that is out of reach.

    >>> rng, ruler = np.random.default_rng(0), Ruler(1e-6, np.ones(2), 1.0, np.zeros(2, bool))
    >>> draw = lambda sign: Sample.of([Outcome(np.array([z, sign * z]), 0.0, False) for z in rng.normal(size=100)])
    >>> bool(p_values(draw(1), draw(1), ruler, 0.05, rng)["dynamics"] > 0.05)
    True
    >>> bool(p_values(draw(1), draw(-1), ruler, 0.05, rng)["dynamics"] < 0.05)
    True
    """
    coded = encode(one, other, ruler, more)
    if coded.labels.max() == 0:
        return {}
    found = statistics(coded, divisions(len(one), len(other), _FIRST, rng))
    ps = {name: best(rows) for name, rows in found.items()}
    wanted = math.ceil(12 / level)
    # Stopping early where it is far from the level can only keep a difference from being called one.
    if wanted > _FIRST and min(ps.values(), default=1.0) <= max(0.05, 5 * level):
        chunk = max(100, _CHUNK // (len(one) + len(other)))
        rows = {name: [part] for name, part in found.items()}
        for start in range(_FIRST, wanted, chunk):
            more_signs = divisions(len(one), len(other), min(chunk, wanted - start), rng)[1:]
            for name, part in statistics(coded, more_signs).items():
                rows[name].append(part)
        ps = {name: best(np.concatenate(parts)) for name, parts in rows.items()}
    return ps


# ---------------------------------------------------------------------- how much was seen


def total_variation(one: IntArray, other: IntArray) -> float:
    """The distance of two empirical distributions of labels."""
    kinds = int(max(one.max(), other.max())) + 1
    left, right = (np.bincount(part, minlength=kinds) / len(part) for part in (one, other))
    return 0.5 * float(np.abs(left - right).sum())


def resolution(stages: Sequence[tuple[int, float]], power: float, events: int) -> float:
    """Roughly, the least difference in the probability of an event that is seen with this probability.

    Args:
        stages: draws on either side and level of tests that must all alarm.
        power: the probability of seeing it.
        events: how many statistics share each level.

    >>> round(resolution([(32, 0.2), (64, 0.1)], 0.5, 5), 2)
    0.29
    """
    from scipy import special

    def seen(apart: float) -> float:
        found = 1.0
        for draws, level in stages:
            p = np.array([0.5 - apart / 2, 0.5 + apart / 2])
            error = math.sqrt(float(np.sum(p * (1 - p))) / draws) or 1e-9
            null = math.sqrt(0.5 / draws)
            limit = -float(special.ndtri(level / (2 * events))) * null
            found *= float(special.ndtr((apart - limit) / error))
        return found

    low, high = 0.0, 1.0
    if seen(high) < power:
        return 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if seen(middle) >= power else (middle, high)
    return high
