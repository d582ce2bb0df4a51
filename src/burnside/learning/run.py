"""``Run``: what the mistake meter read — the exact gap R* − R^π of every episode, run-length encoded (Def. 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np

from burnside._types import FloatArray, IntArray
from burnside.errors import InvalidParameter
from burnside.mdp import TabularMDP, solve

__all__ = ["Recorder", "Run", "check_delta", "check_eps", "eps_absolute"]


def check_eps(eps: float) -> float:
    """``eps`` if it is a positive finite number."""
    if isinstance(eps, bool) or not isinstance(eps, (int, float, np.floating, np.integer)) or not 0 < eps < np.inf:
        raise InvalidParameter(f"eps must be a positive number, not {eps!r}")
    return float(eps)


def check_delta(delta: float) -> float:
    """``delta`` if it lies strictly between 0 and 1."""
    if isinstance(delta, bool) or not isinstance(delta, (int, float, np.floating)) or not 0 < delta < 1:
        raise InvalidParameter(f"delta must lie strictly between 0 and 1, not {delta!r}")
    return float(delta)


def eps_absolute(mdp: TabularMDP, eps: float = 0.1, best: float | None = None) -> float:
    """ε as a fraction of the optimal return R*, in the units of the return.

    >>> from burnside.mdp import zoo
    >>> round(eps_absolute(zoo.slip_ring(5), 0.1), 4)
    0.7
    """
    best = solve(mdp).value if best is None else best
    if not best > 0:
        raise InvalidParameter(
            f"R* of {mdp.name} is {best:.6g}, so ε cannot be a fraction of it: give eps in the units of the return, "
            f"with absolute=True (in burnside measure: --absolute)"
        )
    return check_eps(eps) * best


@dataclass(frozen=True)
class Run:
    """One run of a learner, and the exact gap of the policy executed in each of its episodes.

    Attributes:
        gaps: values of R* − R^π, in order; equal neighbours are merged.
        lengths: for how many episodes each gap lasted.
        best: R*.
        eps: the ε of the stopping rule, in the units of the return.
        delta: δ.
        label: the learner's setting in words, with what is proved of it.
        guarantee: what is proved, or None.
        capped: the episode budget ran out before the plateau (as long a stretch without a mistake as before it).
        settled: the learner can no longer change its policy (UCFH after its last update); if the last gap exceeds ε,
            its mistakes never end.
        seed, stream: which random numbers.
        config: the learner's options and the stopping rule.
        notes: guards that were needed, in words.

    >>> run = Run((2.0, 0.5, 0.0), (10, 5, 100), best=4.0, eps=0.4, delta=0.1)
    >>> run.episodes, run.mistakes(), run.mistakes([0.05, 0.1, 0.25]).tolist()
    (115, 15, [15, 15, 10])
    """

    gaps: FloatArray
    lengths: IntArray
    best: float
    eps: float
    delta: float
    label: str = ""
    guarantee: str | None = None
    capped: bool = False
    settled: bool = False
    seed: int = 0
    stream: int = 0
    config: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "gaps", np.asarray(self.gaps, dtype=np.float64))
        object.__setattr__(self, "lengths", np.asarray(self.lengths, dtype=np.int64))

    @property
    def episodes(self) -> int:
        """How many episodes were played."""
        return int(self.lengths.sum())

    @property
    def regret(self) -> float:
        """Sum of the gaps over all episodes."""
        return float(self.gaps @ self.lengths)

    @overload
    def mistakes(self, eps: None = None, *, absolute: bool = False) -> int: ...
    @overload
    def mistakes(self, eps: float, *, absolute: bool = False) -> int: ...
    @overload
    def mistakes(self, eps: Sequence[float] | FloatArray, *, absolute: bool = False) -> IntArray: ...
    def mistakes(
        self, eps: float | Sequence[float] | FloatArray | None = None, *, absolute: bool = False
    ) -> int | IntArray:
        """Episodes whose policy was more than ε worse than optimal (Def. 2), for one ε or many.

        ε is a fraction of R* unless ``absolute``; left out, it is the ε of this run. For ε below that of the run the
        count is a lower bound, since the run was not prolonged for it.
        """
        if eps is None:
            return int(self.lengths[self.gaps > self.eps].sum())
        wanted = np.asarray(eps, dtype=np.float64)
        if wanted.size and not (wanted > 0).all():
            raise InvalidParameter("every eps must be positive")
        if not absolute:
            if not self.best > 0:
                raise InvalidParameter(
                    f"R* is {self.best:.6g}: give eps in the units of the return, with absolute=True"
                )
            wanted = wanted * self.best
        order = np.argsort(self.gaps)
        above = np.concatenate([np.cumsum(self.lengths[order][::-1])[::-1], [0]])
        counts = above[np.searchsorted(self.gaps[order], wanted, side="right")]
        return int(counts) if wanted.ndim == 0 else counts

    def per_episode(self) -> FloatArray:
        """The gap of every episode, written out; for runs of moderate length."""
        if self.episodes > 50_000_000:
            raise InvalidParameter(f"{self.episodes} episodes are too many to write out: use gaps and lengths")
        return np.repeat(self.gaps, self.lengths)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Run:
        """The run that ``to_dict(gaps=True)`` wrote.

        >>> run = Run((2.0, 0.5), (10, 5), best=4.0, eps=0.4, delta=0.1)
        >>> Run.from_dict(run.to_dict(gaps=True)).mistakes(0.25)
        10
        """
        keys = ("best", "eps", "delta", "label", "guarantee", "capped", "settled", "seed", "stream", "config")
        plain: dict[str, Any] = {key: content[key] for key in keys}
        run = cls(content["gaps"], content["lengths"], **plain, notes=tuple(content["notes"]))
        kinds: dict[str, Any] = dict.fromkeys(("best", "eps", "delta"), (int, float)) | {"label": str, "config": dict}
        kinds |= {"capped": bool, "settled": bool, "seed": int, "stream": int, "guarantee": (str, type(None))}
        wrong = [key for key, kind in kinds.items() if not isinstance(plain[key], kind)]
        if wrong or run.gaps.ndim != 1 or run.gaps.shape != run.lengths.shape or (run.lengths < 0).any():
            raise InvalidParameter("this is not a run: a value has another type, or gaps and lengths do not fit")
        return run

    def to_dict(self, *, gaps: bool = False) -> dict[str, Any]:
        """Plain values, for JSON; the gaps themselves only if asked for."""
        found = {
            "mistakes": self.mistakes(),
            "episodes": self.episodes,
            "best": self.best,
            "eps": self.eps,
            "delta": self.delta,
            "label": self.label,
            "guarantee": self.guarantee,
            "capped": self.capped,
            "settled": self.settled,
            "seed": self.seed,
            "stream": self.stream,
            "config": dict(self.config),
            "notes": list(self.notes),
        }
        return found | {"gaps": self.gaps.tolist(), "lengths": self.lengths.tolist()} if gaps else found


class Recorder:
    """Collects gaps × lengths, merging equal neighbours across chunks."""

    def __init__(self) -> None:
        self._gaps: list[FloatArray] = []
        self._lengths: list[IntArray] = []

    def add(self, gaps: FloatArray, lengths: IntArray | None = None) -> None:
        """Append; each gap lasts one episode unless lengths are given."""
        lengths = np.ones(gaps.size, dtype=np.int64) if lengths is None else lengths
        merged = _merge(gaps[lengths > 0], lengths[lengths > 0])
        self._gaps.append(merged[0])
        self._lengths.append(merged[1])

    def finish(self) -> tuple[FloatArray, IntArray]:
        """All gaps and lengths."""
        if not self._gaps:
            return np.empty(0), np.empty(0, dtype=np.int64)
        return _merge(np.concatenate(self._gaps), np.concatenate(self._lengths))


def _merge(gaps: FloatArray, lengths: IntArray) -> tuple[FloatArray, IntArray]:
    if gaps.size == 0:
        return gaps, lengths
    begin = np.flatnonzero(np.concatenate([[True], np.diff(gaps) != 0]))
    return gaps[begin], np.add.reduceat(lengths, begin)
