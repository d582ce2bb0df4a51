"""``World``: where a learner acts — on M, on M̄, or on M *through* the homomorphism (Def. 9).

A learner always sees an *agent's* MDP (its states, its pairs) and acts in a *true* one. Acting through the
homomorphism, it observes σ(s), chooses ā and plays an action of α_s⁻¹(ā); it then sees exactly the process M̄.

Every draw is made in two steps: first the class of the successor, by inverting the distribution function over
classes, then its member within the class. So a learner on M through σ and the same learner on M̄, fed the same
random numbers, see the same classes: the coupling by which the exactness of the quotient is tested.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from burnside._types import AnyArray, FloatArray, IntArray
from burnside.errors import InvalidParameter, NotVerified
from burnside.mdp import Quotient, TabularMDP, solve

__all__ = ["AgentArrays", "World", "WorldArrays", "first_policy"]

Lift = Literal["first", "uniform"]


class WorldArrays(NamedTuple):
    """The true MDP as the compiled loops need it: draws by class and member, lifting, and exact evaluation."""

    start_cdf: FloatArray
    start_ptr: IntArray
    start_member: IntArray
    start_member_cdf: FloatArray
    row_ptr: IntArray  # classes of the successors of each pair
    row_cdf: FloatArray
    member_ptr: IntArray  # members within each such class
    member: IntArray
    member_cdf: FloatArray
    sigma: IntArray
    lift_base: IntArray  # of each state: where the lifts of the agent's pairs of σ(s) begin
    lift_ptr: IntArray
    lift_pair: IntArray
    indptr: IntArray
    indices: IntArray
    data: FloatArray
    reward: FloatArray  # (1, pairs) or (H, pairs)
    p0: FloatArray


class AgentArrays(NamedTuple):
    """What the learner knows of its MDP: which pairs there are and what they pay, and a place for its counts.

    The counts of successors are stored on the support of the kernel. That is a matter of storage: nothing is
    read there before it has been observed, except by UCFH with known support, whose input the support is.
    """

    pair_ptr: IntArray
    indptr: IntArray
    indices: IntArray
    reward: FloatArray
    span: FloatArray  # (H+1,): what the rewards from time t on can differ by, Σ_{u≥t} (max r_u − min r_u)


@dataclass(frozen=True)
class World:
    """A true MDP, the MDP the agent sees, and the maps between them; make one by ``direct`` or ``through``.

    >>> from burnside.mdp import quotient, zoo
    >>> ring = zoo.slip_ring(5)
    >>> q = quotient(ring, ring.symmetry("Z"))
    >>> World.direct(ring), World.through(q)
    (World('slip-ring(n=5)'), World('slip-ring(n=5)' seen as 'slip-ring(n=5)/~'))
    """

    mdp: TabularMDP
    agent: TabularMDP
    sigma: IntArray
    alpha: IntArray
    lift: Lift = "first"

    @classmethod
    def direct(cls, mdp: TabularMDP) -> World:
        """The agent sees the MDP it acts in: M, or a quotient M̄ by itself."""
        return cls(mdp, mdp, np.arange(mdp.n_states), np.arange(mdp.n_pairs))

    @classmethod
    def through(cls, quotient: Quotient, lift: Lift = "first") -> World:
        """The agent acts in M but observes σ(s) and chooses among the pairs of M̄.

        ``lift`` says which action of α_s⁻¹(ā) is played: the ``"first"``, or one drawn at random (``"uniform"``).
        """
        if lift not in ("first", "uniform"):
            raise InvalidParameter(f"lift must be 'first' or 'uniform', not {lift!r}")
        mdp, hom = quotient.hom.source, quotient.hom
        if mdp is None:
            raise InvalidParameter("the quotient does not know its M: make it with burnside.quotient")
        check = hom.check(mdp, quotient.mdp)
        if not check.ok:
            raise NotVerified(f"acting on {mdp.name} through the homomorphism needs one that holds: {check.why}")
        return cls(mdp, quotient.mdp, hom.sigma, hom.alpha, lift)

    @property
    def identical(self) -> bool:
        """Whether the agent sees the true MDP itself."""
        return self.mdp is self.agent

    @cached_property
    def best(self) -> float:
        """R*, the optimal return in the true MDP."""
        return solve(self.mdp).value

    @cached_property
    def agent_arrays(self) -> AgentArrays:
        """The agent's MDP for the compiled loops."""
        m = self.agent
        reward = _two_dimensional(m.R)
        low, high = m.reward_limits(reward)
        spread = np.broadcast_to(high - low, (m.H,))
        span = np.concatenate([np.cumsum(spread[::-1])[::-1], [0.0]])
        return AgentArrays(_int(m.pair_ptr), _int(m.P.indptr), _int(m.P.indices), reward, span)

    @cached_property
    def arrays(self) -> WorldArrays:
        """The true MDP for the compiled loops."""
        m = self.mdp
        row = np.repeat(np.arange(m.n_pairs), np.diff(m.P.indptr))
        ptr, classes, cdf, inner = _two_steps(row, m.P.indices, m.P.data, self.sigma, m.n_pairs)
        self._check_rows(ptr, classes)
        support = np.flatnonzero(m.p0)
        start = _two_steps(np.zeros(support.size, dtype=np.int64), support, m.p0[support], self.sigma, 1)
        return WorldArrays(
            start[2],
            *start[3],
            ptr,
            cdf,
            *inner,
            _int(self.sigma),
            *self._lifts(),
            _int(m.P.indptr),
            _int(m.P.indices),
            np.array(m.P.data, dtype=np.float64),
            _two_dimensional(m.R),
            np.array(m.p0),
        )

    def _check_rows(self, ptr: IntArray, classes: IntArray) -> None:
        """The successors of a pair, as classes, are those of its image: so counts of M̄ have a place for each."""
        of_image = self.agent.P[self.alpha]
        if not (np.array_equal(of_image.indptr, ptr) and np.array_equal(of_image.indices, classes)):
            raise NotVerified(
                f"the successors of {self.mdp.name} do not map onto those of {self.agent.name}: learning through "
                f"a homomorphism needs an exact one"
            )

    def _lifts(self) -> tuple[IntArray, IntArray, IntArray]:
        """For every state s and every pair ā of σ(s): the pairs of s that map to ā."""
        m, ptr = self.mdp, _int(self.agent.pair_ptr)
        width = np.diff(ptr)[self.sigma]
        base = np.concatenate([[0], np.cumsum(width)]).astype(np.int64)
        slot = base[m.pair_state] + self.alpha - ptr[self.sigma[m.pair_state]]
        order = np.argsort(slot, kind="stable")
        if self.lift == "first":
            _, first = np.unique(slot[order], return_index=True)
            order = order[first]
        counts = np.bincount(slot[order], minlength=int(base[-1]))
        return base[:-1], np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), _int(order)

    def __repr__(self) -> str:
        seen = "" if self.identical else f" seen as {self.agent.name!r}"
        return f"World({self.mdp.name!r}{seen})"


def first_policy(mdp: TabularMDP) -> IntArray:
    """The policy that takes the first action everywhere, shape ``(H, n_states)``; −1 in terminal states."""
    return np.repeat(np.where(mdp.terminal, -1, mdp.pair_ptr[:-1])[None].astype(np.int64), mdp.H, axis=0)


def _int(values: AnyArray) -> IntArray:
    return np.array(values, dtype=np.int64)


def _two_dimensional(reward: FloatArray) -> FloatArray:
    return np.array(np.atleast_2d(reward), dtype=np.float64, order="C")


def _two_steps(
    row: AnyArray, state: AnyArray, p: FloatArray, sigma: IntArray, rows: int
) -> tuple[IntArray, IntArray, FloatArray, tuple[IntArray, IntArray, FloatArray]]:
    """Rows of probabilities as (row pointer, classes, class distribution function, the same within the classes)."""
    label = sigma[state]
    order = np.lexsort((state, label, row))
    row, label, state, p = row[order], label[order], state[order], p[order]
    new = np.ones(row.size, dtype=np.bool_)
    new[1:] = (np.diff(row) != 0) | (np.diff(label) != 0)
    begin = np.flatnonzero(new)
    mass = np.add.reduceat(p, begin)
    ptr = np.searchsorted(row[begin], np.arange(rows + 1)).astype(np.int64)
    inner_ptr = np.concatenate([begin, [row.size]]).astype(np.int64)
    inner = (inner_ptr, _int(state), _within(p, inner_ptr) / np.repeat(mass, np.diff(inner_ptr)))
    return ptr, _int(label[begin]), _within(mass, ptr), inner


def _within(p: FloatArray, ptr: IntArray) -> FloatArray:
    """Running sums of ``p`` that start afresh at every ``ptr[i]``, added up in order as a loop would."""
    total = np.empty_like(p)
    for a, b in zip(ptr[:-1].tolist(), ptr[1:].tolist(), strict=True):
        total[a:b] = np.cumsum(p[a:b])
    return total
