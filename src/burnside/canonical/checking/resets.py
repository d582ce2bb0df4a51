"""The law of ``reset``: are the first observations distributed like their images?

It decides what a symmetry can save, not whether it is one, so it is reported by itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from burnside._types import FloatArray
from burnside.canonical.base import numbers
from burnside.canonical.checking.access import SEEDS, Outcome, reset_env, show
from burnside.canonical.checking.spaces import Numbers
from burnside.canonical.checking.tolerance import Ruler, typical
from burnside.canonical.checking.twosample import Sample, encode, p_values, resolution, total_variation
from burnside.errors import BurnsideError
from burnside.symmetry.declaration import EnvSymmetry

__all__ = ["ResetLaw", "compare_resets"]

_MOST = 500  # resets on either side
_COARSE = 0.3  # differences in probability that must be visible for the law to be called the same


@dataclass(frozen=True)
class ResetLaw:
    """What was found: verdict, largest difference of a number (of its mean, if random), resolution, in words."""

    verdict: str
    eps: float | None
    median: float | None
    share: float
    samples: int
    resolution: float
    text: str


def compare_resets(
    env: Any,
    symmetry: EnvSymmetry,
    described: Numbers,
    tol: float,
    samples: int,
    confidence: float,
    rng: np.random.Generator,
) -> ResetLaw:
    """Compare independent samples of first observations, one of them moved by each generator."""
    count = min(_MOST, max(20, samples))
    one, other = (_draw(env, count, rng) for _ in range(2))
    ruler = _ruler([*one, *other], described, tol)
    try:
        if not any(ruler.gap(outcome, one[0]).parts for outcome in (*one, *other)):
            return _always_the_same(one[0], symmetry, ruler, described, 2 * count)
        return _random(env, symmetry, described, ruler, one, other, confidence, rng)
    except BurnsideError as error:
        return ResetLaw("inconclusive", None, None, 0.0, 0, 1.0, f"the images could not be compared: {error}")


def _draw(env: Any, count: int, rng: np.random.Generator) -> list[Outcome]:
    return [Outcome(reset_env(env, int(rng.integers(SEEDS))), 0.0, False) for _ in range(count)]


def _ruler(outcomes: list[Outcome], described: Numbers, tol: float) -> Ruler:
    rows = [numbers(o.observation) for o in outcomes]
    same = len({row.size for row in rows}) == 1 and rows[0].size == described.label.size
    scale = typical(np.stack(rows)) if same else np.zeros(described.label.size)
    return Ruler(tol, scale, 0.0, described.label)


def _image(symmetry: EnvSymmetry, g: Any, outcome: Outcome) -> Outcome:
    return Outcome(symmetry.act_on_observation(g, outcome.observation), 0.0, False)


def _always_the_same(first: Outcome, symmetry: EnvSymmetry, ruler: Ruler, described: Numbers, count: int) -> ResetLaw:
    """Every episode starts alike: the start must be its own image. Its size is what a tolerance can be relative to."""
    size = np.abs(numbers(first.observation))
    exact = Ruler(ruler.tol, np.where(np.isfinite(size), size, 0.0), 0.0, ruler.label)
    for j, g in enumerate(symmetry.generators):
        image = _image(symmetry, g, first)
        gap = exact.gap(image, first)
        if gap.parts:
            eps = None if gap.observation is None else float(np.max(gap.observation))
            text = (
                f"every episode starts at {show(first.observation)}, which generator {j} maps to "
                f"{show(image.observation)}"
            )
            finite = eps if eps is not None and np.isfinite(eps) else None
            return ResetLaw("refuted", finite, finite, 1.0, count, 0.0, text)
    text = f"every episode starts at {show(first.observation)}, which is its own image ({count} resets)"
    return ResetLaw("holds", 0.0, 0.0, 0.0, count, 0.0, text)


def _random(
    env: Any,
    symmetry: EnvSymmetry,
    described: Numbers,
    ruler: Ruler,
    one: list[Outcome],
    other: list[Outcome],
    confidence: float,
    rng: np.random.Generator,
) -> ResetLaw:
    level = math.sqrt((1 - confidence) / len(symmetry.generators))
    count, worst, used = len(one), 0.0, 2 * len(one)
    for j, g in enumerate(symmetry.generators):
        here, there = one, other
        for attempt in range(2):
            images = [_image(symmetry, g, outcome) for outcome in here]
            p = p_values(Sample.of(images), Sample.of(there), ruler, level, rng).get("dynamics", 1.0)
            apart, name = _apart(images, there, ruler, described)
            worst = max(worst, apart)
            if p >= level:
                break
            if attempt == 0:
                here, there = (_draw(env, count, rng) for _ in range(2))
                used += 2 * count
        else:
            coded = encode(Sample.of(images), Sample.of(there), ruler)
            distance = total_variation(coded.labels[:count], coded.labels[count:])
            text = (
                f"first observations and their images under generator {j} are distributed differently: {name} has "
                f"means that differ by {apart:.4g}, and {count} of each are {distance:.2g} apart in total variation"
            )
            return ResetLaw("refuted", apart, None, 1 / len(symmetry.generators), used, 0.0, text)
    events = 2 * min(64, max(1, described.label.size)) + 3
    fine = resolution([(count, level)], 0.9, events)
    said = (
        f"{count} first observations and {count} images show no difference; one of {fine:.2g} in the probability of an "
        "event would have been seen"
    )
    verdict = "holds" if fine <= _COARSE else "inconclusive"
    if verdict == "inconclusive":
        said += f" (take {_needed(level, events)} samples)"
    return ResetLaw(verdict, worst, None, 0.0, used, fine, said)


def _needed(level: float, events: int) -> int:
    count = 20
    while count < _MOST and resolution([(count, level)], 0.9, events) > _COARSE:
        count += 10
    return count


def _apart(images: list[Outcome], there: list[Outcome], ruler: Ruler, described: Numbers) -> tuple[float, str]:
    """The largest difference of means, in its own unit, of the number that stands out most; and its name."""
    rows = [[numbers(o.observation) for o in side] for side in (images, there)]
    if len({row.size for side in rows for row in side}) != 1 or not rows[0][0].size:
        return 1.0, "the form of the observation"
    left, right = (np.stack(side) for side in rows)
    with np.errstate(invalid="ignore", over="ignore"):
        apart: FloatArray = np.nan_to_num(np.abs(left.mean(axis=0) - right.mean(axis=0)))
        error = np.sqrt(left.var(axis=0) / len(left) + right.var(axis=0) / len(right))
    if ruler.label.size == apart.size:
        for k in np.flatnonzero(ruler.label)[:64]:
            _, index = np.unique(np.concatenate([left[:, k], right[:, k]]), return_inverse=True)
            apart[k] = total_variation(index[: len(left)], index[len(left) :])
    k = int(np.argmax(apart / np.maximum(np.nan_to_num(error), 1e-300)))
    return float(apart[k]), described.names[k] if k < len(described.names) else f"number {k}"
