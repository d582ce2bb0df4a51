"""Intervals cover what they say: measured, for 3, 5 and 10 seeds, in worlds where the truth is known.

The simulations are seeded, and large enough to tell 95 % from the ends of what is allowed (a standard error of about
half a per cent). Rates need no simulation: their coverage is a finite sum.
"""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from burnside.stats import Times, difference, rate_over_seeds, times_ratio, wilson
from burnside.stats.intervals import clopper_pearson, mean_band
from burnside.stats.ratios import means_ratio
from burnside.stats.scaling import crossing, loglog_slope

SEEDS = (3, 5, 10)
WORLDS = 2_000


def times(values: np.ndarray, budget: float = np.inf) -> Times:
    return Times(tuple(range(values.size)), np.minimum(values, budget), values <= budget)


def inside(truth: float, low: float | None, high: float | None) -> bool:
    return (low is None or low <= truth) and (high is None or truth <= high)


@pytest.mark.parametrize("seeds", SEEDS)
def test_means(seeds: int) -> None:
    rng = np.random.default_rng(seeds)
    normal = rng.normal(7.0, 2.0, size=(seeds, 40_000))
    _, low, high = mean_band(normal)
    assert np.mean((low <= 7) & (high >= 7)) == pytest.approx(0.95, abs=0.005)
    skewed = rng.lognormal(0.0, 0.3, size=(seeds, 40_000))  # as uneven as the times of our studies
    _, low, high = mean_band(skewed)
    truth = np.exp(0.3**2 / 2)
    assert 0.93 <= np.mean((low <= truth) & (high >= truth)) <= 0.97


@pytest.mark.parametrize("seeds", SEEDS)
def test_differences(seeds: int) -> None:
    rng = np.random.default_rng(seeds)
    hits = {True: 0, False: 0}
    for _ in range(WORLDS):
        shared = rng.normal(size=seeds)
        a, b = 5 + shared + rng.normal(size=seeds), 3 + shared + 0.5 * rng.normal(size=seeds)
        alone = 3 + 0.5 * rng.normal(size=seeds + 2)
        for paired, other in ((True, b), (False, alone)):
            found = difference(dict(enumerate(a)), dict(enumerate(other)), paired=paired)
            hits[paired] += inside(2.0, found.low, found.high)
    assert all(0.93 <= hit / WORLDS <= 0.97 for hit in hits.values()), hits


@pytest.mark.parametrize("seeds", SEEDS)
def test_ratios_of_times(seeds: int) -> None:
    """Log-normal times whose spreads differ by a factor of two; then the slower ones with a budget."""
    rng = np.random.default_rng(seeds)
    whole = bound = 0
    for _ in range(WORLDS):
        slow, fast = rng.lognormal(8.0, 0.5, seeds), rng.lognormal(6.0, 0.25, seeds)
        found = times_ratio(times(slow), times(fast))
        assert found.bound == ""
        whole += inside(np.exp(2.0), found.low, found.high)
        cut = times_ratio(times(slow, np.exp(8.0 + 0.5)), times(fast))  # a sixth of the runs does not arrive
        assert cut.bound in ("", "at least")
        bound += inside(np.exp(2.0), cut.low, cut.high)
    assert 0.93 <= whole / WORLDS <= 0.97
    assert bound / WORLDS >= 0.94


@pytest.mark.parametrize("seeds", SEEDS)
def test_bounds_of_censored_times_are_never_too_large(seeds: int) -> None:
    """Half of the slow runs do not arrive: the lower limit lies below the truth at least 97.5 % of the time."""
    rng = np.random.default_rng(seeds)
    hits = 0
    for _ in range(WORLDS):
        slow, fast = rng.lognormal(8.0, 0.5, seeds), rng.lognormal(6.0, 0.25, seeds)
        found = times_ratio(times(slow, np.exp(8.0)), times(fast))
        hits += inside(np.exp(2.0), found.low, found.high)
    assert hits / WORLDS >= 0.97


@pytest.mark.parametrize("seeds", SEEDS)
def test_ratios_of_counts(seeds: int) -> None:
    """Negative binomial counts, as uneven as measured mistakes; some seeds make none."""
    rng = np.random.default_rng(seeds)
    hits = used = 0
    for _ in range(WORLDS):
        a, b = rng.negative_binomial(3, 3 / 63, seeds), rng.negative_binomial(3, 3 / 15, seeds)
        found = means_ratio(dict(enumerate(a.tolist())), dict(enumerate(b.tolist())))
        used += found.low is not None
        hits += found.low is not None and inside(5.0, found.low, found.high)
    assert used > 0.99 * WORLDS and 0.93 <= hits / used <= 0.97


@pytest.mark.parametrize("seeds", SEEDS)
def test_slopes(seeds: int) -> None:
    rng = np.random.default_rng(seeds)
    sizes = [5, 10, 20, 40]
    hits = {"geometric": 0, "arithmetic": 0}
    for _ in range(WORLDS // 2):
        samples = [3.0 * n**1.5 * rng.lognormal(0, 0.3, seeds) for n in sizes]
        for of in ("geometric", "arithmetic"):
            found = loglog_slope(sizes, samples, of=of)  # type: ignore[arg-type, call-overload]
            hits[of] += inside(1.5, found.low, found.high)
    assert all(0.93 <= hit / (WORLDS // 2) <= 0.97 for hit in hits.values()), hits


@pytest.mark.parametrize("seeds", SEEDS)
def test_crossings(seeds: int) -> None:
    """Curves that rise from 0 to 3, with noise that a seed shares along its curve; the height is reached at 1.5."""
    rng = np.random.default_rng(seeds)
    hits, worlds = 0, WORLDS // 2
    for _ in range(worlds):
        curves = np.arange(4.0) + 0.1 * rng.normal(size=(seeds, 4)) + 0.1 * rng.normal(size=(seeds, 1))
        found = crossing(range(4), curves, 1.5 + 0.1 * rng.normal(size=seeds))
        hits += inside(1.5, found.low, found.high)
    assert 0.93 <= hits / worlds <= 0.97


@pytest.mark.parametrize("seeds", [6, 10, 15])
def test_medians(seeds: int) -> None:
    """Exact whatever the distribution, so that the coverage that is claimed is the one that is measured."""
    rng = np.random.default_rng(seeds)
    hits, cut, claimed = 0, 0, 0.0
    for _ in range(WORLDS):
        values = rng.exponential(1.0, seeds) + 0.01
        found, censored = times(values).median(), times(values, 1.2).median()
        assert found.coverage is not None and found.coverage >= 0.95
        claimed = found.coverage
        hits += inside(np.log(2) + 0.01, found.low, found.high)
        cut += inside(np.log(2) + 0.01, censored.low, censored.high)
    assert hits / WORLDS == pytest.approx(claimed, abs=0.015)
    assert cut / WORLDS >= claimed - 0.015


def test_medians_of_few_seeds_have_no_interval() -> None:
    for seeds in range(1, 6):
        found = times(np.arange(1.0, seeds + 1)).median()
        assert (found.low, found.high, found.coverage) == (None, None, None)
    assert times(np.arange(1.0, 4.0)).median(level=0.5)[1:] == (1.0, 3.0, 0.75)


# Rates.


def covered(interval: object, n: int, p: np.ndarray) -> np.ndarray:
    """The exact coverage at every p: the probability of the counts whose interval contains it."""
    ends = [interval(k, n) for k in range(n + 1)]  # type: ignore[operator]
    good = np.array([[e.low <= x <= e.high for e in ends] for x in p])
    return (scipy_stats.binom.pmf(np.arange(n + 1), n, p[:, None]) * good).sum(axis=1)


@pytest.mark.parametrize("n", [10, 50, 200])
def test_rates_within_a_run(n: int) -> None:
    p = np.linspace(0.02, 0.98, 193)
    plain, exact = covered(wilson, n, p), covered(clopper_pearson, n, p)
    assert 0.94 <= plain.mean() <= 0.96 and plain.min() > 0.82
    assert exact.min() >= 0.95


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize(("p", "between"), [(0.1, 0.02), (0.3, 0.0), (0.3, 0.1), (0.5, 0.02), (0.9, 0.02)])
def test_rates_over_seeds(seeds: int, p: float, between: float) -> None:
    """Policies that differ (``between`` is the correlation of two trials of one seed), 50 trials each.

    Where seeds differ no more than chance the interval is a little wide, up to 99 %. Pooled trials would cover 58 % of
    the time at a correlation of 0.1.
    """
    rng = np.random.default_rng(seeds)
    size = 1 / between - 1 if between else np.inf
    rates = rng.beta(p * size, (1 - p) * size, (WORLDS, seeds)) if between else np.full((WORLDS, seeds), p)
    won = rng.binomial(50, rates)
    hits = pooled = 0
    for world, row in enumerate(won.tolist()):
        found = rate_over_seeds({s: (k, 50) for s, k in enumerate(row)})
        hits += inside(p, found.low, found.high)
        if between == 0.1 and world < 400:  # scipy takes its time
            whole = wilson(sum(row), 50 * seeds)
            pooled += inside(p, whole.low, whole.high)
    assert 0.935 <= hits / WORLDS <= 0.995
    assert pooled / 400 < 0.7
