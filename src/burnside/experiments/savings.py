"""How many demonstrations a frame saves: where the success of the world's frame reaches that of another one."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from burnside.stats.scaling import Crossing, crossing, reaches

__all__ = ["saving"]


def saving(world: Mapping[int, Mapping[int, float]], own: Mapping[int, float], demos: int) -> Crossing | None:
    """How many times as many demonstrations the world's frame needs for an arm's success with ``demos``.

    The world's success is interpolated on the logarithm of the number of demonstrations. The bound is "at least" if the
    world never got as far, "at most" if it was further with its fewest. Limits are over the seeds that all have;
    without such seeds there are none.

    Args:
        world: success in the world's frame, by number of demonstrations and seed; None comes back for fewer than two.
        own: the arm's success by seed.
        demos: its number of demonstrations.

    >>> world = {10: {0: 0.1, 1: 0.2}, 100: {0: 0.7, 1: 0.8}}
    >>> found = saving(world, {0: 0.4, 1: 0.5}, 10)
    >>> round(found.at, 2), found.bound
    (3.16, '')
    """
    if len(world) < 2 or not own:
        return None
    ordered = dict(sorted(world.items()))
    counts = np.log(list(ordered))
    seeds = sorted(set(own).intersection(*ordered.values()))
    if seeds:
        found = crossing(counts, [[ordered[n][s] for n in ordered] for s in seeds], [own[s] for s in seeds])
    else:
        means = [float(np.mean(list(by_seed.values()))) for by_seed in ordered.values()]
        at, bound = reaches(counts, means, float(np.mean(list(own.values()))))
        found = Crossing(at, None, None, bound)
    low, high = (None if place is None else math.exp(place) / demos for place in (found.low, found.high))
    return Crossing(math.exp(found.at) / demos, low, high, found.bound)
