"""``verify``: is this group a symmetry of this MDP (Def. 7)? If not, here is a pair on which it fails.

It is enough to check generators: if ``g`` and ``h`` preserve rewards and transitions, so do ``gh`` and ``g⁻¹``. The
check of a tabular model is therefore exhaustive at the cost of one pass over the kernel per generator.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from burnside._types import AnyArray, FloatArray
from burnside.errors import InvalidParameter
from burnside.mdp.implicit import ImplicitMDP, ImplicitSymmetry, sample_violations
from burnside.mdp.symmetry import Symmetry
from burnside.mdp.tabular import TabularMDP

__all__ = ["TOLERANCE", "Counterexample", "Verdict", "verify"]

#: Two numbers that differ by no more than this are taken as equal, here and in ``discover`` and ``minimise``.
TOLERANCE = 1e-9

#: Below this many pairs one thread is faster than two.
_CHUNK = 100_000


@dataclass(frozen=True)
class Counterexample:
    """A place where a claimed symmetry fails: generator ``g`` maps ``pair`` to ``image``, and they differ.

    ``kind`` is ``"reward"``, ``"transition"`` or ``"action"`` (the image is not an action of the state ``g·s``).
    """

    kind: str
    generator: int
    state: Any
    action: Any
    image_state: Any
    image_action: Any
    amount: float
    text: str

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        keys = ("kind", "generator", "state", "action", "image_state", "image_action", "amount", "text")
        return {key: getattr(self, key) for key in keys}


@dataclass(frozen=True)
class Verdict:
    """What :func:`verify` found.

    Attributes:
        ok: no violation beyond the tolerance.
        exhaustive: every pair was checked under every generator; else only a sample was.
        checked: number of (generator, pair) checks.
        eps_r: largest measured reward difference ``|r(g·s, g·a) − r(s, a)|`` over generators.
        eps_p: largest measured total-variation distance between ``p(g·· | g·s, g·a)`` and ``p(· | s, a)``.
        counterexample: the worst violation, None if there is none.
        tolerance: what was taken as equal.
        confidence: for a sample, the confidence of ``failure_rate``; 1 if exhaustive.
        failure_rate: with that confidence, at most this share of (pair, generator) under the sampling law fails.
    """

    ok: bool
    exhaustive: bool
    checked: int
    eps_r: float
    eps_p: float
    counterexample: Counterexample | None
    tolerance: float = TOLERANCE
    confidence: float = 1.0
    failure_rate: float = 0.0
    subject: tuple[Any, Any] | None = field(default=None, repr=False, compare=False)

    def __bool__(self) -> bool:
        return self.ok

    def about(self, model: Any, symmetry: Any) -> bool:
        """Whether this verdict was reached on these very objects."""
        return self.subject is not None and self.subject[0] is model and self.subject[1] is symmetry

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        keys = ("ok", "exhaustive", "checked", "eps_r", "eps_p", "tolerance", "confidence", "failure_rate")
        found = {key: getattr(self, key) for key in keys}
        found["counterexample"] = None if self.counterexample is None else self.counterexample.to_dict()
        return found


def verify(
    model: TabularMDP | ImplicitMDP,
    symmetry: Symmetry | ImplicitSymmetry,
    *,
    tol: float = TOLERANCE,
    samples: int = 2_000,
    confidence: float = 0.99,
    seed: int = 0,
) -> Verdict:
    """Check Def. 7: ``r_t(g·s, g·a) = r_t(s, a)`` and ``p(g·c | g·s, g·a) = p(c | s, a)`` for every generator ``g``.

    A tabular model is checked exhaustively. An implicit one (three callables, see :class:`ImplicitMDP`) is checked on
    ``samples`` random (pair, generator), and the verdict states the failure rate excluded at that confidence.

    >>> from burnside.mdp import zoo
    >>> ring = zoo.ring(n=5)
    >>> verify(ring, ring.symmetry("D")).ok
    True
    >>> broken = ring.replace(R=ring.R + 0.5 * (np.arange(ring.n_pairs) == 7))
    >>> verdict = verify(broken, ring.symmetry("D"))
    >>> verdict.ok, verdict.eps_r, verdict.eps_p, verdict.counterexample.kind
    (False, 0.5, 0.0, 'reward')
    """
    if not tol >= 0:
        raise InvalidParameter(f"tol must not be negative, got {tol}")
    if isinstance(model, TabularMDP) and isinstance(symmetry, Symmetry):
        return _verify_tabular(model, symmetry, tol)
    if isinstance(model, ImplicitMDP) and isinstance(symmetry, ImplicitSymmetry):
        return _verify_sampled(model, symmetry, tol, samples, confidence, seed)
    raise InvalidParameter(
        f"verify takes a TabularMDP with a Symmetry, or an ImplicitMDP with an ImplicitSymmetry; "
        f"got {type(model).__name__} with {type(symmetry).__name__}"
    )


# ---------------------------------------------------------------------- tabular


def _verify_tabular(mdp: TabularMDP, symmetry: Symmetry, tol: float) -> Verdict:
    symmetry.describes(mdp)
    rewards = mdp.R if mdp.time_dependent else mdp.R[None]
    eps_r = eps_p = 0.0
    example: Counterexample | None = None
    for j in range(symmetry.n_generators):
        g_states, g_pairs = symmetry.on_states[j], symmetry.on_pairs[j]
        wrong, worst_r, at_r, worst_p, at_p = _violation(mdp, rewards, g_states, g_pairs)
        if wrong >= 0:
            worst_p = 1.0
        if wrong >= 0 and (example is None or example.kind != "action"):
            example = _action_example(mdp, j, g_states, g_pairs, wrong)
        elif worst_r > max(eps_r, tol) and (example is None or example.kind == "reward"):
            example = _reward_example(mdp, j, g_pairs, at_r, worst_r)
        elif worst_p > max(eps_p, tol) and (example is None or example.kind == "transition"):
            example = _transition_example(mdp, j, g_states, g_pairs, at_p, worst_p)
        eps_r, eps_p = max(eps_r, worst_r), max(eps_p, worst_p)
    return Verdict(
        ok=example is None,
        exhaustive=True,
        checked=symmetry.n_generators * mdp.n_pairs,
        eps_r=eps_r,
        eps_p=eps_p,
        counterexample=example,
        tolerance=tol,
        subject=(mdp, symmetry),
    )


def _violation(
    mdp: TabularMDP, rewards: FloatArray, g_states: AnyArray, g_pairs: AnyArray
) -> tuple[int, float, int, float, int]:
    from burnside.mdp import kernels

    # numba's stubs know nothing of compiled signatures
    misplaced: Any = kernels.first_misplaced
    by_reward: Any = kernels.reward_violation
    by_row: Any = kernels.row_violation

    def part(k: int) -> tuple[int, tuple[float, int], tuple[float, int]]:
        share = (k * mdp.n_pairs // workers, (k + 1) * mdp.n_pairs // workers)
        return (
            misplaced(mdp.pair_state, g_states, g_pairs, *share),
            by_reward(rewards, g_pairs, *share),
            by_row(mdp.P.indptr, mdp.P.indices, mdp.P.data, g_states, g_pairs, *share),
        )

    # The kernels release the GIL, so plain threads share the work; every part reports its own worst pair.
    workers = 1 if mdp.n_pairs < _CHUNK else min(4, os.cpu_count() or 1)
    if workers == 1:
        parts = [part(0)]
    else:
        with ThreadPoolExecutor(workers) as pool:
            parts = list(pool.map(part, range(workers)))
    wrong = next((p[0] for p in parts if p[0] >= 0), -1)
    worst_r, at_r = max((p[1] for p in parts), key=lambda found: found[0])
    worst_p, at_p = max((p[2] for p in parts), key=lambda found: found[0])
    return wrong, worst_r, at_r, worst_p, at_p


def _example(
    mdp: TabularMDP, kind: str, generator: int, pair: int, image: int, amount: float, text: str
) -> Counterexample:
    return Counterexample(
        kind=kind,
        generator=generator,
        state=int(mdp.pair_state[pair]),
        action=int(mdp.pair_action[pair]),
        image_state=int(mdp.pair_state[image]),
        image_action=int(mdp.pair_action[image]),
        amount=float(amount),
        text=text,
    )


def _reward_example(mdp: TabularMDP, j: int, g_pairs: AnyArray, i: int, amount: float) -> Counterexample:
    image = int(g_pairs[i])
    gaps = np.abs(np.atleast_2d(mdp.R)[:, i] - np.atleast_2d(mdp.R)[:, image])
    t = int(np.argmax(gaps))
    when = f" at time {t + 1}" if mdp.time_dependent else ""
    rewards = mdp.reward(t)
    text = (
        f"generator {j} maps {mdp.pair_name(i)} with reward {rewards[i]:.10g} to {mdp.pair_name(image)} with reward "
        f"{rewards[image]:.10g}{when}"
    )
    return _example(mdp, "reward", j, i, image, amount, text)


def _action_example(mdp: TabularMDP, j: int, g_states: AnyArray, g_pairs: AnyArray, i: int) -> Counterexample:
    image, target = int(g_pairs[i]), int(g_states[mdp.pair_state[i]])
    text = (
        f"generator {j} maps {mdp.pair_name(i)} to {mdp.pair_name(image)}, but it maps that state to "
        f"{mdp.state_name(target)}: a pair must go to a pair of g·s"
    )
    return _example(mdp, "action", j, i, image, 1.0, text)


def _transition_example(
    mdp: TabularMDP, j: int, g_states: AnyArray, g_pairs: AnyArray, i: int, amount: float
) -> Counterexample:
    image = int(g_pairs[i])
    row, other = mdp.P[i], mdp.P[image]
    pushed = dict(zip(g_states[row.indices].tolist(), row.data.tolist(), strict=True))
    found = dict(zip(other.indices.tolist(), other.data.tolist(), strict=True))
    target = max(sorted(set(pushed) | set(found)), key=lambda c: abs(pushed.get(c, 0.0) - found.get(c, 0.0)))
    source = int(np.argmax(g_states == target))
    text = (
        f"generator {j} maps {mdp.pair_name(i)} to {mdp.pair_name(image)}, but the first reaches "
        f"{mdp.state_name(source)} with probability {pushed.get(target, 0.0):.10g} and the second reaches its image "
        f"{mdp.state_name(target)} with probability {found.get(target, 0.0):.10g}"
    )
    return _example(mdp, "transition", j, i, image, amount, text)


# ---------------------------------------------------------------------- implicit


def _verify_sampled(
    model: ImplicitMDP, symmetry: ImplicitSymmetry, tol: float, samples: int, confidence: float, seed: int
) -> Verdict:
    if samples < 1 or not 0 < confidence < 1:
        raise InvalidParameter(
            f"a sampling check needs samples ≥ 1 and a confidence between 0 and 1, got {samples} and {confidence}"
        )
    eps_r = eps_p = 0.0
    example: Counterexample | None = None
    for violation in sample_violations(model, symmetry, samples, np.random.default_rng(seed)):
        eps_r, eps_p = max(eps_r, violation.reward), max(eps_p, violation.transition)
        worst = max(violation.reward, violation.transition)
        if worst > tol and (example is None or worst > example.amount):
            kind = "reward" if violation.reward >= violation.transition else "transition"
            example = Counterexample(
                kind=violation.kind or kind,
                generator=violation.generator,
                state=model.show(violation.state),
                action=str(violation.action),
                image_state=model.show(violation.image_state),
                image_action=str(violation.image_action),
                amount=worst,
                text=violation.describe(model),
            )
    return Verdict(
        ok=example is None,
        exhaustive=False,
        checked=samples,
        eps_r=eps_r,
        eps_p=eps_p,
        counterexample=example,
        tolerance=tol,
        confidence=confidence,
        # zero failures in n draws: a rate q would show with probability 1 − (1−q)ⁿ
        failure_rate=1.0 if example is not None else 1.0 - (1.0 - confidence) ** (1.0 / samples),
        subject=(model, symmetry),
    )
