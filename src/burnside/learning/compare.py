"""``compare``: mistakes on M against mistakes on M̄, beside what theory predicts of their ratio."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from burnside.errors import InvalidParameter
from burnside.learning.learn import learn
from burnside.learning.learners import Learner, make_learner
from burnside.learning.run import Run
from burnside.learning.world import World
from burnside.mdp import Quotient, Symmetry, TabularMDP, quotient
from burnside.mdp.reach import reachable
from burnside.stats.ratios import Ratio, means_ratio
from burnside.theory.audit import paper_factor, reachable_sizes

__all__ = ["ON_M", "ON_QUOTIENT", "Archive", "Comparison", "compare", "predictions"]

Progress = Callable[[float, int], object]


class Archive(Protocol):
    """Where finished runs are kept, so that an interrupted comparison resumes where it stopped."""

    def load(self, seed: int, stream: int) -> Run | None:
        """The finished run, or None."""

    def save(self, run: Run) -> None:
        """Keep a finished run."""


#: Streams of random numbers: runs on M, and runs on M̄.
ON_M, ON_QUOTIENT = 0, 1


@dataclass(frozen=True)
class Comparison:
    """What :func:`compare` measured, and the factors that claim to predict it.

    Attributes:
        name: the model.
        on_m, on_quotient: the runs, one per seed.
        ratio: mean mistakes on M over mean mistakes on M̄, with its interval; where runs spent their budget, a bound.
        joint: ``|S×A| / |(S×A)/G|``.
        reachable: the same on the pairs an episode can meet: what a learner on M really has to learn more.
        order: ``|G|`` as permutations of the pairs an episode can meet and of their images, None if unknown.
        terminal_states: of M; nothing is chosen there, so they have no pairs.
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
    terminal_states: int = 0

    @classmethod
    def of(cls, name: str, on_m: Sequence[Run], on_quotient: Sequence[Run], predicted: Mapping[str, Any]) -> Comparison:
        """Runs on both sides, with what :func:`predictions` says of their ratio."""
        return cls(name, tuple(on_m), tuple(on_quotient), _ratio(on_m, on_quotient), **predicted)

    @property
    def label(self) -> str:
        """The learner's setting in words, with what is proved of it."""
        return self.on_m[0].label

    @property
    def errors(self) -> dict[str, float | None]:
        """How far each prediction is off, as a factor ≥ 1 (ratio over prediction or the inverse)."""
        predictions = {"joint": self.joint, "reachable": self.reachable, "order": self.order, "paper": self.paper}
        return {key: _off(self.ratio.value, value) for key, value in predictions.items()}

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; what is not a finite number becomes None."""
        ratio = {"mean": self.ratio.value, "low": self.ratio.low, "high": self.ratio.high}
        first = self.on_m[0]
        return {
            "model": self.name,
            "terminal_states": self.terminal_states,
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
            "ratio": {key: _finite(value) for key, value in ratio.items()} | {"bound": self.ratio.bound},
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
        progress: called several times a second with (runs done, runs in all); runs under way count by the share of the
            episodes that such runs took, or may take.
        archive: keeps finished runs; what it already holds is not run again.

    >>> from burnside.mdp import zoo
    >>> c = compare(zoo.slip_ring(5), "Z", width="heuristic", seeds=2)
    >>> c.joint, c.reachable, c.order, c.paper, c.ratio.value > 2
    (5.0, 5.0, 5, 5.0, True)
    """
    group = symmetry if isinstance(symmetry, Symmetry) else mdp.symmetry(symmetry)
    reduced = quotient(mdp, group)
    setting = make_learner(learner, scale, **options)
    numbers = _seed_list(seeds)
    worlds = (World.direct(mdp), World.direct(reduced.mdp))
    for world in worlds:  # made once, before the threads share them
        _ = world.best, world.arrays, world.agent_arrays  # planning first: it refuses what is too large

    def one(seed: int, stream: int, report: Callable[[int, int], object]) -> Run:
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
            progress=report,
        )
        if archive is not None:
            archive.save(run)
        return run

    runs = _run_all(one, numbers, workers, progress)
    on_m = tuple(runs[s, ON_M] for s in numbers)
    on_quotient = tuple(runs[s, ON_QUOTIENT] for s in numbers)
    return Comparison.of(mdp.name, on_m, on_quotient, predictions(mdp, group, reduced))


def predictions(mdp: TabularMDP, group: Symmetry, reduced: Quotient) -> dict[str, Any]:
    """The factors that claim to predict the ratio, by the names that :class:`Comparison` gives them."""
    met = reachable_sizes(mdp, reduced)
    return {
        "joint": reduced.reduction.pair_factor,
        "reachable": met["pairs"] / met["quotient_pairs"],
        "order": group.order_on(mdp, reachable(mdp)[mdp.pair_state]),
        "paper": paper_factor(mdp, group, reduced).average,
        "terminal_states": mdp.n_terminal,
    }


#: A run: seed, stream, and where to say how far it is, which ends it by raising.
_One = Callable[[int, int, Callable[[int, int], object]], Run]


class _Stopped(Exception):
    """Raised inside a run whose result is no longer wanted."""


def _run_all(one: _One, seeds: Sequence[int], workers: int, progress: Progress | None) -> dict[tuple[int, int], Run]:
    """Every seed on both streams; the long runs, those on M, first.

    This thread only waits, so that Ctrl-C is noticed at once; the others check between chunks whether to stop. They are
    daemons: one that is busy for longer, compiling for instance, does not keep the program from ending.
    """
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise InvalidParameter(f"workers must be a whole number of at least 1, not {workers!r}")
    jobs = [(seed, stream) for stream in (ON_M, ON_QUOTIENT) for seed in seeds]
    waiting = list(reversed(jobs))
    shares: dict[tuple[int, int], float] = {}
    done: dict[tuple[int, int], Run] = {}
    failures: list[BaseException] = []
    stop = threading.Event()
    news = threading.Condition()

    def work() -> None:
        while not stop.is_set():
            with news:
                if not waiting:
                    return
                job = waiting.pop()

            def report(played: int, expected: int, job: tuple[int, int] = job) -> None:
                if stop.is_set():
                    raise _Stopped
                like = [run.episodes for other, run in list(done.items()) if other[1] == job[1]]
                usual = sum(like) / len(like) if like else float(expected)
                shares[job] = min(0.99, played / max(1.0, usual))

            try:
                run = one(*job, report)
            except BaseException as error:
                with news:
                    failures.append(error)
                    stop.set()
                    news.notify()
                return
            with news:
                done[job] = run
                news.notify()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(workers, len(jobs)))]
    for thread in threads:
        thread.start()
    told = 0.0
    try:
        while len(done) < len(jobs) and not failures:
            with news:
                news.wait(0.2)
            if progress is not None:
                under_way = sum(share for job, share in list(shares.items()) if job not in done)
                told = max(told, len(done) + under_way)  # forecasts change, but nothing is undone
                progress(told, len(jobs))
    finally:
        stop.set()
        deadline = time.monotonic() + 0.5
        for thread in threads:
            thread.join(timeout=max(0.0, deadline - time.monotonic()))
    if failures:
        raise next((error for error in failures if not isinstance(error, _Stopped)), failures[0])
    if progress is not None and told < len(jobs):  # the last of them ended between two looks, or all before the first
        progress(len(jobs), len(jobs))
    return done


def _seed_list(seeds: int | Sequence[int]) -> list[int]:
    numbers = list(range(seeds)) if isinstance(seeds, (int, np.integer)) else [int(s) for s in seeds]
    if not numbers or len(set(numbers)) < len(numbers) or min(numbers) < 0:
        raise InvalidParameter(f"seeds must be a positive number or distinct whole numbers, not {seeds!r}")
    return numbers


def _ratio(on_m: Sequence[Run], on_quotient: Sequence[Run]) -> Ratio:
    """Means, because a seed may make no mistake. A run that spent its budget may have had mistakes to come."""
    sides = (on_m, on_quotient)
    first, second = ({run.seed: float(run.mistakes()) for run in side} for side in sides)
    return means_ratio(first, second, censored=(sum(r.capped for r in on_m), sum(r.capped for r in on_quotient)))


def _off(measured: float, predicted: float | None) -> float | None:
    if predicted is None:
        return None
    if not measured > 0 or not math.isfinite(measured):
        return math.nan
    return max(measured / predicted, predicted / measured)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
