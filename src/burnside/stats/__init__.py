"""Honest statistics of runs: censored times, intervals, scaling fits.

What lives here: ``censored`` — times to a threshold of runs that may never reach it; ``intervals`` — rates, bootstraps
and scores in rliable's format; ``scaling`` — where curves reach a level, and slopes on
logarithmic axes with bootstrap intervals over seeds. Seeds are
labels, never positions, and everything random takes an explicit seed, so that an interval is the same tomorrow. It may
import the layers below, and knows no experiment.
"""

from __future__ import annotations

from burnside.stats.censored import (
    Curve,
    Estimate,
    Ratio,
    Reach,
    Times,
    first_reach,
    first_reach_evaluated,
    paired_ratio,
)
from burnside.stats.intervals import (
    Interval,
    Scores,
    bootstrap,
    iqm,
    optimality_gap,
    point_estimates,
    rliable_export,
    score_table,
    stratified_bootstrap,
    wilson,
)
from burnside.stats.scaling import Level, Slope, loglog_slope, reaches

__all__ = [
    "Curve",
    "Estimate",
    "Interval",
    "Level",
    "Ratio",
    "Reach",
    "Scores",
    "Slope",
    "Times",
    "bootstrap",
    "first_reach",
    "first_reach_evaluated",
    "iqm",
    "loglog_slope",
    "optimality_gap",
    "paired_ratio",
    "point_estimates",
    "reaches",
    "rliable_export",
    "score_table",
    "stratified_bootstrap",
    "wilson",
]
