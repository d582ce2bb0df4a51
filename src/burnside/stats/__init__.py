"""Honest statistics of runs: intervals, ratios, censored times, scaling fits.

What lives here: ``intervals`` — means, differences and rates over seeds; ``censored`` — times to a threshold of runs
that may never reach it; ``ratios`` — how many times as long, also where runs are censored; ``scaling`` — where curves
reach a level, and slopes on logarithmic axes. Seeds are labels, never positions. Nothing here is random: there is no
resampling. It needs numpy and scipy, imports errors and types alone, and knows no experiment, so that every other layer
may use it.
"""

from __future__ import annotations

from burnside.stats.censored import (
    Curve,
    Estimate,
    Median,
    Reach,
    Times,
    first_reach,
    first_reach_evaluated,
)
from burnside.stats.intervals import (
    Band,
    Interval,
    clopper_pearson,
    difference,
    mean_band,
    mean_interval,
    rate_over_seeds,
    wilson,
)
from burnside.stats.ratios import Bound, Ratio, bound_text, means_ratio, ratio_columns, times_ratio
from burnside.stats.scaling import Crossing, Level, Slope, crossing, loglog_slope, reaches

__all__ = [
    "Band",
    "Bound",
    "Crossing",
    "Curve",
    "Estimate",
    "Interval",
    "Level",
    "Median",
    "Ratio",
    "Reach",
    "Slope",
    "Times",
    "bound_text",
    "clopper_pearson",
    "crossing",
    "difference",
    "first_reach",
    "first_reach_evaluated",
    "loglog_slope",
    "mean_band",
    "mean_interval",
    "means_ratio",
    "rate_over_seeds",
    "ratio_columns",
    "reaches",
    "times_ratio",
    "wilson",
]
