"""``quotient``: the MDP on orbits (Prop. 1, with the sizes corrected), its homomorphism, and what it saves.

The quotient has ``|S/G|`` states and ``|(S×A)/G| = Σ_[s] |A(s)/G_s|`` pairs: the actions of an orbit are the orbits of
the *stabilizer* on ``A(s)``, not the orbits of G on the ambient action set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from burnside._types import AnyArray, FloatArray, IntArray
from burnside.errors import InvalidParameter, NotVerified
from burnside.mdp._checks import needs_table
from burnside.mdp.homomorphism import Homomorphism
from burnside.mdp.symmetry import Symmetry
from burnside.mdp.tabular import TabularMDP
from burnside.mdp.verify import TOLERANCE, Verdict, verify

__all__ = ["Quotient", "Reduction", "quotient", "quotient_by_labels"]


@dataclass(frozen=True)
class Reduction:
    """Sizes of an MDP and of its quotient, and the factors between them."""

    states: int
    pairs: int
    successors: int
    quotient_states: int
    quotient_pairs: int
    quotient_successors: int

    @property
    def state_factor(self) -> float:
        """``|S| / |S̄|``."""
        return self.states / self.quotient_states

    @property
    def pair_factor(self) -> float:
        """``|S×A| / |(S×A)/G|``: the joint factor, at most the order of the group."""
        return self.pairs / self.quotient_pairs

    @property
    def successor_factor(self) -> float:
        """``C / C̄``."""
        return self.successors / self.quotient_successors


@dataclass(frozen=True)
class Quotient:
    """A quotient MDP with the maps that lead to it.

    Attributes:
        mdp: M̄.
        hom: the homomorphism (σ, α) from M to M̄; ``hom.lift`` brings policies back.
        reduction: sizes and factors.
        verdict: the verification it rests on; None for :func:`burnside.minimise`, whose check is the homomorphism's.
        trusted: True if the caller asked to skip verification. It is stamped on everything made from this quotient.

    >>> from burnside.mdp import solve, zoo
    >>> ring = zoo.ring(n=5)
    >>> small = quotient(ring, ring.symmetry("Z"))
    >>> small.mdp.n_states, small.lift(solve(small.mdp).policy).shape[-1] == ring.n_pairs
    (80, True)
    """

    mdp: TabularMDP
    hom: Homomorphism
    reduction: Reduction
    verdict: Verdict | None = None
    trusted: bool = False

    @property
    def sigma(self) -> IntArray:
        """σ: the class of every state."""
        return self.hom.sigma

    def lift(self, policy: AnyArray, mode: str = "uniform") -> AnyArray:
        """A policy of M̄ as a policy of M; see :meth:`Homomorphism.lift`."""
        return self.hom.lift(policy, mode)

    def to_dict(self) -> dict[str, Any]:
        """Sizes, for JSON."""
        return {
            "states": self.mdp.n_states,
            "terminal_states": self.mdp.n_terminal,
            "pairs": self.mdp.n_pairs,
            "successors": self.mdp.successors,
        }


def quotient(
    mdp: TabularMDP,
    symmetry: Symmetry,
    *,
    trust: bool = False,
    verdict: Verdict | None = None,
    tol: float = TOLERANCE,
) -> Quotient:
    """The quotient of an MDP by a verified symmetry; linear in the size of the MDP.

    Args:
        mdp: the MDP.
        symmetry: the group; it is verified here unless ``verdict`` already says so of these very objects.
        trust: skip the verification. The result is then the quotient of the *group-averaged* MDP and says so.
        verdict: an earlier result of :func:`verify` on the same objects.
        tol: tolerance of the verification.

    >>> from burnside.mdp import zoo
    >>> ring = zoo.ring(n=5)
    >>> q = quotient(ring, ring.symmetry("D"))
    >>> q.mdp.n_states, q.mdp.n_pairs
    (42, 160)
    """
    needs_table(mdp, "quotient")
    if not isinstance(symmetry, Symmetry):
        raise InvalidParameter(f"quotient takes a Symmetry, got a {type(symmetry).__name__}: see mdp.symmetry(name)")
    symmetry.describes(mdp)
    if not trust:
        if verdict is None or not verdict.about(mdp, symmetry) or verdict.tolerance > tol:
            verdict = verify(mdp, symmetry, tol=tol)
        if not verdict.ok:
            raise NotVerified(
                f"{symmetry.name} is not a symmetry of {mdp.name}: {verdict.counterexample}; "
                f"pass trust=True (in burnside audit: --trust) to use the group-averaged MDP anyway"
            )
    else:
        _check_pairs_follow_states(mdp, symmetry)
    return quotient_by_labels(
        mdp, symmetry.state_orbits, symmetry.pair_orbits, average=trust, verdict=verdict, trusted=trust
    )


def quotient_by_labels(
    mdp: TabularMDP,
    state_labels: IntArray,
    pair_labels: IntArray,
    *,
    average: bool = False,
    verdict: Verdict | None = None,
    trusted: bool = False,
) -> Quotient:
    """The MDP on classes of states and pairs that are numbered by their smallest member.

    The smallest pair of a class lies in the smallest state of its state class, since pairs are sorted by state; so the
    classes of pairs come out sorted by state as well. With ``average``, rewards and rows are averaged over the
    class instead of read at its representative.
    """
    n_states, n_pairs = int(state_labels.max()) + 1, int(pair_labels.max()) + 1
    state_rep = _first_members(state_labels, n_states)
    pair_rep = _first_members(pair_labels, n_pairs)
    if average:
        P, R = _averaged(mdp, state_labels, pair_labels, n_states, n_pairs)
    else:
        P, R = _at_representatives(mdp, state_labels, pair_rep, n_states)
    reduced = TabularMDP(
        P,
        R,
        np.bincount(state_labels, weights=mdp.p0, minlength=n_states),
        mdp.H,
        pair_state=state_labels[mdp.pair_state[pair_rep]],
        pair_action=mdp.pair_action[pair_rep],
        name=f"{mdp.name}/~",
        state_names=lambda s: f"[{mdp.state_name(int(state_rep[s]))}]",
        action_names=mdp.action_name,
    )
    reduction = Reduction(
        mdp.n_states, mdp.n_pairs, mdp.successors, reduced.n_states, reduced.n_pairs, reduced.successors
    )
    return Quotient(reduced, Homomorphism(state_labels, pair_labels, mdp), reduction, verdict, trusted)


def _first_members(labels: IntArray, count: int) -> IntArray:
    first = np.empty(count, dtype=np.int64)
    first[labels[::-1]] = np.arange(labels.size - 1, -1, -1)
    return first


def _at_representatives(
    mdp: TabularMDP, state_labels: IntArray, pair_rep: IntArray, n_states: int
) -> tuple[sp.csr_matrix, FloatArray]:
    from burnside.mdp.kernels import aggregate_rows

    ptr, columns, values = aggregate_rows(mdp.P.indptr, mdp.P.indices, mdp.P.data, pair_rep, state_labels, n_states)
    P = sp.csr_matrix((values, columns, ptr), shape=(pair_rep.size, n_states))
    P.has_canonical_format = True
    return P, mdp.R[..., pair_rep]


def _averaged(
    mdp: TabularMDP, state_labels: IntArray, pair_labels: IntArray, n_states: int, n_pairs: int
) -> tuple[sp.csr_matrix, FloatArray]:
    sizes = np.bincount(pair_labels, minlength=n_pairs)
    weights = sp.csr_matrix(
        (1.0 / sizes[pair_labels], (pair_labels, np.arange(mdp.n_pairs))), shape=(n_pairs, mdp.n_pairs)
    )
    pushed = Homomorphism(state_labels, pair_labels).push_rows(mdp, n_states)
    P = sp.csr_matrix(weights @ pushed)
    P.sum_duplicates()
    return P, np.asarray((weights @ mdp.R.T).T)


def _check_pairs_follow_states(mdp: TabularMDP, symmetry: Symmetry) -> None:
    """Even a trusted symmetry must map the pairs of s to pairs of g·s, or orbits of pairs mean nothing."""
    for j in range(symmetry.n_generators):
        wrong = mdp.pair_state[symmetry.on_pairs[j]] != symmetry.on_states[j][mdp.pair_state]
        if wrong.any():
            raise NotVerified(
                f"generator {j} of {symmetry.name} maps {mdp.pair_name(int(np.argmax(wrong)))} to a pair of another "
                f"state than g·s: no quotient exists, not even on trust"
            )
