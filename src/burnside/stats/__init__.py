"""Honest statistics of runs: intervals, ratios, censored times, scaling fits.

What lives here: ``intervals`` — means, differences and rates over seeds; ``censored`` — times to a threshold of runs
that may never reach it; ``ratios`` — how many times as long, also where runs are censored; ``scaling`` — where curves
reach a level, and slopes on logarithmic axes. Seeds are labels, never positions. Nothing here is random: there is no
resampling. It needs numpy and scipy, imports errors and types alone, and knows no experiment, so that every other layer
may use it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from burnside._lazy import lazy

if TYPE_CHECKING:
    from burnside.stats.censored import Times as Times
    from burnside.stats.censored import first_reach as first_reach
    from burnside.stats.intervals import difference as difference
    from burnside.stats.intervals import mean_interval as mean_interval
    from burnside.stats.intervals import rate_over_seeds as rate_over_seeds
    from burnside.stats.intervals import wilson as wilson
    from burnside.stats.ratios import times_ratio as times_ratio
else:
    __all__, __getattr__, __dir__ = lazy(__name__)
