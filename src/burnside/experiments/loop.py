"""The loop of every cell that trains: advance the learner furthest behind, look at it, say how far it is, save it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from burnside._types import AnyArray
from burnside.runs import Context

__all__ = ["Keepable", "run_learners"]


class Keepable(Protocol):
    """What can be put into a checkpoint and taken out again."""

    def arrays(self) -> dict[str, AnyArray]:
        """Everything needed to resume."""
        ...

    def restore(self, arrays: Mapping[str, AnyArray]) -> Any:
        """Resume from them."""
        ...


K = TypeVar("K", bound=Keepable)


def run_learners(
    context: Context,
    learners: Sequence[K],
    advance: Callable[[K], object],
    *,
    done: Callable[[K], int],
    budget: int,
    finished: Callable[[K], bool] | None = None,
    after: Callable[[K], object] = lambda learner: None,
    notes: dict[str, Any] | None = None,
) -> None:
    """Train the learners of a cell to their budgets; a cell that was stopped resumes to the same bits.

    Args:
        context: of the cell.
        learners: one or more; the one furthest behind goes next, so that a stopped sweep has all its seeds at about the
            same point.
        advance: takes a learner a little further.
        done: how far a learner is, in the counts of its budget.
        budget: of each learner.
        finished: whether a learner is done before its budget is spent; default: never.
        after: called after every advance, to evaluate and log.
        notes: plain values that ``after`` changes; they are kept in the checkpoint beside the learners.
    """
    kept = {} if notes is None else notes
    saved = context.restore()
    if saved is not None:
        for k, learner in enumerate(learners):
            prefix = f"{k}/"
            own = {name.removeprefix(prefix): a for name, a in saved.arrays.items() if name.startswith(prefix)}
            learner.restore(own)
        kept.update({key: saved.meta[key] for key in kept})
    context.resumed()
    total = budget * len(learners)

    def going(learner: K) -> bool:
        return done(learner) < budget and not (finished is not None and finished(learner))

    while left := [learner for learner in learners if going(learner)]:
        learner = min(left, key=done)
        advance(learner)
        after(learner)
        context.progress(min(total, sum(min(done(each), budget) for each in learners)), total)
        if context.due():
            arrays = {f"{k}/{name}": a for k, each in enumerate(learners) for name, a in each.arrays().items()}
            context.checkpoint(arrays, **kept)
