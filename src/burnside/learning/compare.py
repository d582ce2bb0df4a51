"""``compare``: mistakes on M against mistakes on M̄, beside what theory predicts of their ratio."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from burnside._types import FloatArray
from burnside.errors import InvalidParameter
from burnside.learning.learn import generator, learn
from burnside.learning.learners import Learner, make_learner
from burnside.learning.run import Run
from burnside.learning.world import World
from burnside.mdp import Symmetry, TabularMDP, quotient
from burnside.theory.audit import paper_factor, reachable_sizes

__all__ = ["Archive", "Comparison", "Ratio", "bootstrap_ratio", "compare"]

Progress = Callable[[int, int], object]


class Archive(Protocol):
    """Where finished runs are kept, so that an interrupted comparison goes on where it was."""

    def load(self, seed: int, stream: int) -> Run | None:
        """The finished run, or None."""

    def save(self, run: Run) -> None:
        """Keep a finished run."""


#: Streams of random numbers: runs on M, runs on M̄, and the bootstrap.
ON_M, ON_QUOTIENT, BOOTSTRAP = 0, 1, 2


@dataclass(frozen=True)
class Ratio:
    """Ratio of mean mistakes with its 95 % bootstrap interval over seeds."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """What :func:`compare` measured, and the factors that claim to predict it.

    Attributes:
        name: the model.
        on_m, on_quotient: the runs, one per seed.
        ratio: mean mistakes on M over mean mistakes on M̄, with its interval.
        joint: ``|S×A| / |(S×A)/G|``.
        reachable: the same on the pairs an episode can meet: what a learner on M really has to learn more.
        order: ``|G|``, None if unknown.
        paper: ``(|S|/|S̄|)·(|A|/|A/G|)·(C/C̄)`` as in Thm. 1; None where actions are relabelled state by state.
    """

    name: str
    on_m: tuple[Run, ...]
    on_quotient: tuple[Run, ...]
    ratio: Ratio
    joint: float
    reachable: float
    order: int | None
    paper: float | None

    @property
    def label(self) -> str:
        """The learner's setting in words, with what is proved of it."""
        return self.on_m[0].label

    @property
    def errors(self) -> dict[str, float | None]:
        """How far each prediction is off, as a factor ≥ 1 (ratio over prediction or the inverse)."""
        predictions = {"joint": self.joint, "reachable": self.reachable, "order": self.order, "paper": self.paper}
        return {key: _off(self.ratio.mean, value) for key, value in predictions.items()}

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; what is not a finite number becomes None."""
        ratio = {"mean": self.ratio.mean, "low": self.ratio.low, "high": self.ratio.high}
        first = self.on_m[0]
        return {
            "model": self.name,
            "label": self.label,
            "guarantee": first.guarantee,
            "eps": first.eps,
            "best": first.best,
            "delta": first.delta,
            "seeds": [run.seed for run in self.on_m],
            "config": dict(first.config),
            "mistakes": {
                "M": [run.mistakes() for run in self.on_m],
                "quotient": [run.mistakes() for run in self.on_quotient],
            },
            "episodes": {
                "M": [run.episodes for run in self.on_m],
                "quotient": [run.episodes for run in self.on_quotient],
            },
            "capped": {
                "M": sum(run.capped for run in self.on_m),
                "quotient": sum(run.capped for run in self.on_quotient),
            },
            "ratio": {key: _finite(value) for key, value in ratio.items()},
            "joint": self.joint,
            "reachable": self.reachable,
            "order": self.order,
            "paper": self.paper,
            "errors": {key: _finite(value) for key, value in self.errors.items()},
            "notes": list(first.notes),
        }


def compare(
    mdp: TabularMDP,
    symmetry: Symmetry | str | None = None,
    learner: str | Learner = "ubev",
    eps: float = 0.1,
    delta: float = 0.1,
    *,
    seeds: int | Sequence[int] = 10,
    workers: int = 2,
    progress: Progress | None = None,
    absolute: bool = False,
    scale: float | None = None,
    min_episodes: int = 1_000,
    max_episodes: int | None = None,
    archive: Archive | None = None,
    **options: Any,
) -> Comparison:
    """Measure mistakes on M and on its quotient, seed by seed, and set the ratio beside the predicted factors.

    By Lemma 1 a learner on M through the homomorphism makes the mistakes of the learner on M̄; so the ratio is what
    knowing the symmetry saves. A symmetry that does not hold is refused (:class:`burnside.errors.NotVerified`).

    Args:
        mdp: M.
        symmetry: a symmetry, the name of a declared one, or None for the default one.
        learner, eps, delta, absolute, scale, min_episodes, max_episodes, options: as for :func:`learn`.
        seeds: how many, or which ones. A seed gives the same run alone or among others.
        workers: threads; the compiled loops run beside each other.
        progress: called with (runs done, runs in all) after every run.
        archive: keeps finished runs; what it already holds is not run again.

    >>> from burnside.mdp import zoo
    >>> c = compare(zoo.slip_ring(5), "Z", width="heuristic", seeds=2)
    >>> c.joint, c.reachable, c.order, c.paper, c.ratio.mean > 2
    (5.0, 5.0, 5, 5.0, True)
    """
    group = symmetry if isinstance(symmetry, Symmetry) else mdp.symmetry(symmetry)
    reduced = quotient(mdp, group)
    setting = make_learner(learner, scale, **options)
    numbers = _seed_list(seeds)
    worlds = (World.direct(mdp), World.direct(reduced.mdp))
    for world in worlds:  # made once, before the threads share them
        _ = world.arrays, world.agent_arrays, world.best

    def one(seed: int, stream: int) -> Run:
        kept = None if archive is None else archive.load(seed, stream)
        if kept is not None:
            return kept
        run = learn(
            worlds[stream],
            setting,
            eps,
            delta,
            absolute=absolute,
            seed=seed,
            stream=stream,
            min_episodes=min_episodes,
            max_episodes=max_episodes,
        )
        if archive is not None:
            archive.save(run)
        return run

    runs = _run_all(one, numbers, workers, progress)
    on_m = tuple(runs[s, ON_M] for s in numbers)
    on_quotient = tuple(runs[s, ON_QUOTIENT] for s in numbers)
    met = reachable_sizes(mdp, reduced)
    return Comparison(
        mdp.name,
        on_m,
        on_quotient,
        bootstrap_ratio([r.mistakes() for r in on_m], [r.mistakes() for r in on_quotient], seed=numbers[0]),
        reduced.reduction.pair_factor,
        met["pairs"] / met["quotient_pairs"],
        group.order,
        paper_factor(mdp, group, reduced).average,
    )


def _run_all(
    one: Callable[[int, int], Run], seeds: Sequence[int], workers: int, progress: Progress | None
) -> dict[tuple[int, int], Run]:
    """Every seed on both streams; the long runs, those on M, first."""
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise InvalidParameter(f"workers must be a whole number of at least 1, not {workers!r}")
    jobs = [(seed, stream) for stream in (ON_M, ON_QUOTIENT) for seed in seeds]
    done: dict[tuple[int, int], Run] = {}
    with ThreadPoolExecutor(workers) as pool:
        futures = {pool.submit(one, *job): job for job in jobs}
        try:
            for future in as_completed(futures):
                done[futures[future]] = future.result()
                if progress is not None:
                    progress(len(done), len(jobs))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return done


def _seed_list(seeds: int | Sequence[int]) -> list[int]:
    numbers = list(range(seeds)) if isinstance(seeds, (int, np.integer)) else [int(s) for s in seeds]
    if not numbers or len(set(numbers)) < len(numbers) or min(numbers) < 0:
        raise InvalidParameter(f"seeds must be a positive number or distinct whole numbers, not {seeds!r}")
    return numbers


def bootstrap_ratio(on_m: Sequence[int], on_quotient: Sequence[int], *, seed: int = 0, draws: int = 10_000) -> Ratio:
    """Ratio of means with a 95 % percentile interval, both sides resampled over seeds; a single seed has none (NaN).

    >>> bootstrap_ratio([10, 10], [5, 5]), bootstrap_ratio([10], [5])
    (Ratio(mean=2.0, low=2.0, high=2.0), Ratio(mean=2.0, low=nan, high=nan))
    """
    rng = generator(seed, BOOTSTRAP)
    sides: list[FloatArray] = [np.asarray(side, dtype=np.float64) for side in (on_m, on_quotient)]
    means = [side[rng.integers(side.size, size=(draws, side.size))].mean(axis=1) for side in sides]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = means[0] / means[1]
        mean = np.divide(sides[0].mean(), sides[1].mean())
    usable = ratios[~np.isnan(ratios)]
    if usable.size == 0 or min(side.size for side in sides) == 1:
        return Ratio(float(mean), math.nan, math.nan)
    low, high = np.quantile(usable, [0.025, 0.975], method="nearest")
    return Ratio(float(mean), float(low), float(high))


def _off(measured: float, predicted: float | None) -> float | None:
    if predicted is None:
        return None
    if not measured > 0 or not math.isfinite(measured):
        return math.nan
    return max(measured / predicted, predicted / measured)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
