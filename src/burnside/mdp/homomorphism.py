"""``Homomorphism``: the maps (σ, α_s) of Def. 9, their check, and the lifting of policies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from burnside._types import AnyArray, ArrayLike, FloatArray, IntArray
from burnside.errors import InvalidParameter
from burnside.mdp.tabular import TabularMDP

__all__ = ["Homomorphism", "HomomorphismCheck"]


@dataclass(frozen=True)
class HomomorphismCheck:
    """What :meth:`Homomorphism.check` found, in both directions.

    Attributes:
        forward: every pair of M has the reward and the aggregated transitions of its image in M̄.
        backward: every state of M̄ is the image of one of M, and every pair of ``σ(s)`` that of a pair of ``s``, for
            every ``s`` (surjectivity of σ and of each α_s).
        initial: p̄₀ is the push-forward of p₀. Not part of Def. 9, but returns from p₀ agree only then.
        eps_r, eps_p: largest reward difference and total-variation distance over pairs.
        why: the first failure in words, empty if there is none.
    """

    forward: bool
    backward: bool
    initial: bool
    eps_r: float
    eps_p: float
    why: str = ""

    @property
    def ok(self) -> bool:
        """Def. 9 holds, and p̄₀ is the push-forward of p₀."""
        return self.forward and self.backward and self.initial

    def __bool__(self) -> bool:
        return self.ok


class Homomorphism:
    """An MDP homomorphism ``h = (σ, {α_s})`` from M to M̄ (Def. 9).

    Args:
        sigma: image in M̄ of every state of M.
        alpha: image in M̄ of every *pair* of M, as a pair number; this is α_s for all s at once.
        source: M itself; only lifting needs it.

    >>> from burnside.mdp import quotient, zoo
    >>> ring = zoo.ring(n=5)
    >>> q = quotient(ring, ring.symmetry("Z"))
    >>> q.hom.check(ring, q.mdp).ok
    True
    """

    def __init__(self, sigma: ArrayLike, alpha: ArrayLike, source: TabularMDP | None = None) -> None:
        self.sigma: IntArray = np.ascontiguousarray(sigma)
        self.alpha: IntArray = np.ascontiguousarray(alpha)
        if self.sigma.ndim != 1 or self.alpha.ndim != 1 or {self.sigma.dtype.kind, self.alpha.dtype.kind} - set("iu"):
            raise InvalidParameter("sigma and alpha must be vectors of whole numbers: one per state, one per pair")
        self.source = source

    def check(self, M: TabularMDP, M_bar: TabularMDP, *, tol: float = 1e-9) -> HomomorphismCheck:
        """Check Def. 9 on every state and pair; linear in the size of M."""
        self._fits(M, M_bar)
        backward = self._surjectivity_failure(M, M_bar)
        if (misplaced := M_bar.pair_state[self.alpha] != self.sigma[M.pair_state]).any():
            i = int(np.argmax(misplaced))
            why = f"{M.pair_name(i)} is mapped to {M_bar.pair_name(int(self.alpha[i]))}, which is not a pair of σ(s)"
            return HomomorphismCheck(False, not backward, False, np.inf, 1.0, why)
        eps_r, worst_reward = self.reward_gap(M, M_bar)
        eps_p, worst_row = self.transition_gap(M, M_bar)
        pushed = np.bincount(self.sigma, weights=M.p0, minlength=M_bar.n_states)
        initial = bool(np.abs(pushed - M_bar.p0).max() <= tol)
        why = backward
        if not initial:
            why = "p̄₀ is not the push-forward of p₀"
        if eps_p > tol:
            why = f"{M.pair_name(worst_row)} and its image differ by {eps_p:.3g} in total variation"
        if eps_r > tol:
            why = f"{M.pair_name(worst_reward)} and its image differ by {eps_r:.3g} in reward"
        return HomomorphismCheck(eps_r <= tol and eps_p <= tol, not backward, initial, eps_r, eps_p, why)

    def _fits(self, M: TabularMDP, M_bar: TabularMDP) -> None:
        if self.sigma.size != M.n_states or self.alpha.size != M.n_pairs:
            raise InvalidParameter(
                f"the homomorphism maps {self.sigma.size} states and {self.alpha.size} pairs, but {M.name} has "
                f"{M.n_states} and {M.n_pairs}"
            )
        inside = self.sigma.min() >= 0 and self.sigma.max() < M_bar.n_states
        if not inside or self.alpha.min() < 0 or self.alpha.max() >= M_bar.n_pairs:
            raise InvalidParameter(f"the homomorphism has images outside {M_bar.name}")
        if M.H != M_bar.H:
            raise InvalidParameter(f"{M.name} has horizon {M.H}, {M_bar.name} has {M_bar.H}: they must agree")

    def _surjectivity_failure(self, M: TabularMDP, M_bar: TabularMDP) -> str:
        missed = np.bincount(self.sigma, minlength=M_bar.n_states) == 0
        if missed.any():
            return f"no state is mapped to {M_bar.state_name(int(np.argmax(missed)))}"
        # α_s is onto iff s has as many distinct images among the pairs of σ(s) as there are
        inside = M_bar.pair_state[self.alpha] == self.sigma[M.pair_state]
        key = (M.pair_state.astype(np.int64) * M_bar.n_pairs + self.alpha)[inside]
        distinct = np.bincount(np.unique(key) // M_bar.n_pairs, minlength=M.n_states)
        short = distinct < np.diff(M_bar.pair_ptr)[self.sigma]
        if short.any():
            s = int(np.argmax(short))
            return (
                f"the actions of {M.state_name(s)} do not reach every action of {M_bar.state_name(int(self.sigma[s]))}"
            )
        return ""

    def reward_gap(self, M: TabularMDP, M_bar: TabularMDP) -> tuple[float, int]:
        """Largest ``|r_t(s, a) − r̄_t(σ(s), α_s(a))|`` and the pair that attains it."""
        gap = np.zeros(M.n_pairs)
        for t in range(M.H if M.time_dependent or M_bar.time_dependent else 1):
            np.maximum(gap, np.abs(M.reward(t) - M_bar.reward(t)[self.alpha]), out=gap)
        worst = int(np.argmax(gap))
        return float(gap[worst]), worst

    def transition_gap(self, M: TabularMDP, M_bar: TabularMDP) -> tuple[float, int]:
        """Largest total variation between ``σ₊p(· | s, a)`` and ``p̄(· | σ(s), α_s(a))``, and its pair."""
        difference = abs(self.push_rows(M, M_bar.n_states) - M_bar.P[self.alpha])
        distance = 0.5 * np.asarray(difference.sum(axis=1)).ravel()
        worst = int(np.argmax(distance))
        return float(distance[worst]), worst

    def push_rows(self, M: TabularMDP, n_bar: int) -> sp.csr_matrix:
        """``σ₊p``: the kernel of M with successors added up over the classes of σ."""
        pushed = sp.csr_matrix((M.P.data, self.sigma[M.P.indices], M.P.indptr), shape=(M.n_pairs, n_bar), copy=True)
        pushed.sum_duplicates()
        return pushed

    # ------------------------------------------------------------------ policies

    def lift(self, policy: AnyArray, mode: str = "uniform") -> AnyArray:
        """A policy of M̄ as a policy of M.

        Args:
            policy: deterministic ``(H, n̄_states)`` of pairs of M̄ (−1 in terminal states), or stochastic
                ``(H, n̄_pairs)``.
            mode: ``"uniform"`` spreads the weight of ā evenly over ``α_s⁻¹(ā)``, which makes the lifted policy
                equivariant; ``"deterministic"`` takes the first action of ``α_s⁻¹(ā)`` (deterministic policies only).

        Both have in M exactly the return that ``policy`` has in M̄.
        """
        M = self.source
        if M is None:
            raise InvalidParameter(
                "lifting needs the MDP that the maps start from: Homomorphism(sigma, alpha, source=M)"
            )
        policy = np.asarray(policy)
        deterministic = policy.dtype.kind in "iu"
        width = int((self.sigma if deterministic else self.alpha).max()) + 1
        if policy.ndim != 2 or policy.shape[1] != width:
            raise InvalidParameter(f"the policy has shape {policy.shape}: one of the quotient has {width} columns")
        if mode == "deterministic":
            if not deterministic:
                raise InvalidParameter("a stochastic policy has no deterministic lift: use mode='uniform'")
            return self._lift_deterministic(M, policy)
        if mode != "uniform":
            raise InvalidParameter(f"unknown lift mode {mode!r}: 'uniform' or 'deterministic'")
        key = M.pair_state.astype(np.int64) * (int(self.alpha.max()) + 1) + self.alpha
        _, inverse, counts = np.unique(key, return_inverse=True, return_counts=True)
        share = 1.0 / counts[inverse]
        if deterministic:
            return np.stack([(row[self.sigma[M.pair_state]] == self.alpha) * share for row in policy])
        lifted: FloatArray = policy[:, self.alpha] * share
        return lifted

    def _lift_deterministic(self, M: TabularMDP, policy: AnyArray) -> IntArray:
        lifted = np.empty((len(policy), M.n_states), dtype=np.int64)
        for t, row in enumerate(policy):
            chosen = row[self.sigma[M.pair_state]] == self.alpha
            first = np.where(chosen, np.arange(M.n_pairs), M.n_pairs)
            lifted[t] = M.over_actions(np.minimum, first, -1)
        return lifted

    def push(self, s: int, pair: int, r: float, s_next: int) -> tuple[int, int, float, int]:
        """What a learner on M̄ sees of a step of M: ``(σ(s), α_s(a), r, σ(s'))``."""
        return int(self.sigma[s]), int(self.alpha[pair]), r, int(self.sigma[s_next])

    def then(self, other: Homomorphism) -> Homomorphism:
        """The composition: first this one, then ``other``."""
        return Homomorphism(other.sigma[self.sigma], other.alpha[self.alpha], self.source)

    def __repr__(self) -> str:
        states, pairs = int(self.sigma.max()) + 1, int(self.alpha.max()) + 1
        return f"Homomorphism(states={self.sigma.size}→{states}, pairs={self.alpha.size}→{pairs})"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"sigma": self.sigma.tolist(), "alpha": self.alpha.tolist()}
