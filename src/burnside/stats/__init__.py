"""Honest statistics of runs: intervals, scaling fits, and (with the deep learners) censored times.

What lives here: ``scaling`` — slopes on logarithmic axes with bootstrap intervals over seeds. Everything takes an
explicit seed, so that an interval is the same tomorrow. It may import the layers below, and knows no experiment.
"""

from __future__ import annotations

from burnside.stats.scaling import Slope, loglog_slope

__all__ = ["Slope", "loglog_slope"]
