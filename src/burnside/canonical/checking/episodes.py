"""Whole episodes and their mirror images: for what depends on a clock, which setting the state cannot turn back."""

from __future__ import annotations

from typing import Any

import numpy as np

from burnside.canonical.checking.access import SEEDS, Outcome, Pair, copied, reset_env, step_env
from burnside.canonical.checking.bench import Bench
from burnside.canonical.checking.evidence import EnvCounterexample, Kind, Place, counterexample, outcome_text
from burnside.errors import BurnsideError

__all__ = ["mirrored_truncation"]

_EPISODES = 20
_APART = 1e3  # times the tolerance: from here on two episodes are different ones


def mirrored_truncation(bench: Bench, budget: int) -> EnvCounterexample | None:
    """An episode that is truncated while its image, played with the images of the actions, is not; None if none is.

    Only for deterministic environments. An episode is followed as long as it and its image correspond: rounding makes
    them drift apart.
    """
    made = 0
    for number in range(_EPISODES):
        j = number % len(bench.symmetry.generators)
        seed = int(bench.rng.integers(SEEDS))
        seen = reset_env(bench.env, seed)
        start = copied(bench.access.get(bench.env))
        played: list[tuple[Any, Outcome]] = []
        while made < budget:
            action = bench.actions.random()
            outcome = step_env(bench.env, action)
            made += 1
            played.append((action, outcome))
            if outcome.terminated or outcome.truncated:
                break
        place = Place(Pair(start, seen, played[0][0] if played else None), j)
        try:
            found = _follow(bench, place, seed, played)
        except BurnsideError:
            continue
        if found is not None:
            return found
        if made >= budget:
            break
    return None


def _follow(bench: Bench, place: Place, seed: int, played: list[tuple[Any, Outcome]]) -> EnvCounterexample | None:
    g = bench.symmetry.generators[place.j]
    bench.prober.place(bench.target(g, place.pair.state), seed)
    for step, (action, outcome) in enumerate(played, start=1):
        there = step_env(
            bench.env, bench.image_pair(Place(Pair(place.pair.state, place.pair.observation, action), place.j))[1]
        )
        expected = bench.image(g, outcome)
        gap = bench.ruler.gap(expected, there)
        wide = np.full(0, 0.0) if gap.observation is None else _APART * bench.ruler.tol * bench.ruler.scale
        if gap.observation is None or gap.terminated or (wide.size and bool(np.any(gap.observation > wide + 1e-9))):
            return None
        if gap.truncated:
            which = "first" if expected.truncated else "second"
            text = (
                f"and so the {step} actions that follow; what is seen corresponds all the way, but only the {which} "
                f"episode is truncated after {step} steps"
            )
            image = bench.image_pair(place)
            where = Kind("walk", "reached by random play")
            return counterexample(
                "truncation",
                "truncation",
                place,
                g,
                image,
                1.0,
                text,
                where,
                [outcome_text(expected)],
                [outcome_text(there)],
            )
        if there.terminated or there.truncated:
            return None
    return None
