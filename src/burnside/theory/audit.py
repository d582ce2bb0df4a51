"""``audit``: what a symmetry saves, by the paper's formula and exactly, side by side, and whether it can be had.

Three factors, each by how much the number of things to learn shrinks:

``paper``
    ``|G_S|·|G_A|·|G_C|`` of Thm. 1, where all orbits of states have one size, all orbits of actions have one size, and
    ``|G_C| = C/C̄``. Undefined where sizes differ or where relabelling depends on the state.
``joint``
    ``|S×A| / |(S×A)/G|``: exact, at most ``|G|``, equal to it iff G acts freely on pairs. Terminal states have none.
``reachable``
    the same ratio among the pairs that an episode from p₀ can reach: what a learner on M really pays for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, overload, runtime_checkable

import numpy as np

from burnside._types import IntArray
from burnside.errors import InvalidParameter, NotVerified
from burnside.groups.orbits import orbit_labels
from burnside.mdp import GraphMDP, Symmetry, TabularMDP, Verdict, VertexSymmetry, quotient, verify
from burnside.mdp.approximate import regret_bound
from burnside.mdp.quotient import Quotient
from burnside.mdp.reach import reachable
from burnside.theory._checks import in_unit, positive
from burnside.theory.bounds import Size, leading, leading_log10, lower, theorem1, ucfh

__all__ = ["Audit", "Auditable", "PaperFactor", "audit", "paper_factor", "reachable_sizes"]

#: Larger integers are reported by their logarithm only: few readers of JSON take more.
_MOST_BITS = 1024


@dataclass(frozen=True)
class PaperFactor:
    """The factor of Thm. 1 and its parts; ``value`` is None where the formula does not apply, and ``why`` says why."""

    value: float | None
    states: float | None
    actions: float | None
    successors: float
    why: str
    average: float | None = None

    @property
    def pairs(self) -> float | None:
        """``|G_S|·|G_A|``, the part that Thm. 2 has as well."""
        return None if self.states is None or self.actions is None else self.states * self.actions


@dataclass(frozen=True)
class Audit:
    """The result of :func:`audit`; :meth:`to_dict` gives the JSON of ``burnside audit --json``.

    ``group_order`` is the order of the group. ``acting_order`` is the number of different permutations that it makes of
    the pairs an episode can reach and of their images: what moves only other pairs saves nothing.
    """

    model: str
    horizon: int
    eps: float
    delta: float
    reward_range: float | None
    size: Size
    quotient_size: Size
    actions: int | None
    group_name: str
    group_order: int | None
    acting_order: int | None
    verdict: Verdict
    trusted: bool
    paper: PaperFactor
    joint: float
    reachable: dict[str, int] | None
    attainable: bool
    why: str
    quotient: Quotient | None = None

    def __repr__(self) -> str:
        # the order of a discovered group can have more digits than Python will print
        return f"Audit({self.model!r} under {self.group_name!r}: joint={self.joint:g}, attainable={self.attainable})"

    @property
    def averaged(self) -> dict[str, float] | None:
        """For a table whose symmetry does not hold: how far it is from the group-averaged MDP that was audited.

        ``eps_r``, ``eps_p``, and the ``regret_limit`` that :mod:`burnside.mdp.approximate` derives from them.
        """
        if self.verdict.ok or self.quotient is None or self.quotient.hom.source is None:
            return None
        return _distance(self.quotient.hom.source, self.quotient)

    @property
    def reachable_factor(self) -> float | None:
        """Pairs that can be reached over their classes."""
        if self.reachable is None:
            return None
        return _reachable_factor(self.reachable)

    @property
    def successor_factor(self) -> float:
        """``C / C̄``."""
        return self.size.succ / self.quotient_size.succ

    def bounds(self) -> dict[str, dict[str, float | None]]:
        """Upper bounds on mistakes for M and M̄: the paper's formula, with joint orbits, with explicit constants."""
        return {
            "M": self._bounds(self.size, paper=None),
            "quotient": self._bounds(self.quotient_size, paper=self.paper),
        }

    def _bounds(self, size: Size, paper: PaperFactor | None) -> dict[str, float | None]:
        at = (self.horizon, self.eps, self.delta)
        parts = (1.0, 1.0, 1.0) if paper is None else (paper.states, paper.actions, paper.successors)
        stated = None
        if (
            self.actions is not None
            and parts[0] is not None
            and parts[1] is not None
            and (paper is None or paper.value)
        ):
            acting = self.size.states - self.size.terminal
            stated = theorem1(acting, self.actions, self.size.succ, *at, parts[0], parts[1], parts[2])
        # Constant rewards fit into [0, 1] as they are; an unknown range leaves the two bounds that need it unknown.
        span = None if self.reward_range is None else self.reward_range or 1.0
        floor = None if span is None else lower(size, *at, span)
        return {
            "paper": _finite(stated),
            "joint": _finite(leading(size, *at)),
            "joint_log10": _finite(leading_log10(size, *at)),
            "explicit": None if span is None else _finite(ucfh(size, *at, span).episodes),
            "lower": _finite(floor.value) if floor is not None and floor.valid else None,
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "model": self.model,
            "states": _whole(self.size.states),
            "terminal_states": self.size.terminal,
            "pairs": _whole(self.size.pairs),
            "successors": self.size.succ,
            "log10": {"states": _log10(self.size.states), "pairs": _log10(self.size.pairs)},
            "horizon": self.horizon,
            "eps": self.eps,
            "delta": self.delta,
            "reward_range": self.reward_range,
            "group": {
                "name": self.group_name,
                "order": None if self.group_order is None else _whole(self.group_order),
                "log10_order": None if self.group_order is None else _log10(self.group_order),
                "acting_order": None if self.acting_order is None else _whole(self.acting_order),
                "log10_acting_order": None if self.acting_order is None else _log10(self.acting_order),
            },
            "verified": self.verdict.to_dict() | {"averaged": self.averaged},
            "trusted": self.trusted,
            "quotient": {
                "states": _whole(self.quotient_size.states),
                "terminal_states": self.quotient_size.terminal,
                "pairs": _whole(self.quotient_size.pairs),
                "successors": self.quotient_size.succ,
            },
            "reachable": self.reachable,
            "factors": {
                "paper": self.paper.value,
                "joint": self.joint,
                "reachable": self.reachable_factor,
                "paper_average": self.paper.average,
                "paper_parts": {
                    "states": self.paper.states,
                    "actions": self.paper.actions,
                    "successors": self.paper.successors,
                },
                "joint_with_successors": self.joint * self.successor_factor,
            },
            "attainable": self.attainable,
            "why": self.why,
            "bounds": self.bounds(),
        }


@runtime_checkable
class Auditable(Protocol):
    """A model that is neither a table nor a graph, and says itself what a symmetry of it saves; the cube is one."""

    name: str

    @property
    def symmetries(self) -> Mapping[str, Any]:
        """Declared symmetries by name; the first one is the default."""

    @property
    def compared(self) -> tuple[str, ...]:
        """Names of symmetries that are worth seeing side by side."""

    def symmetry(self, name: str | None = None) -> Any:
        """The symmetry of that name; the default one if no name is given."""

    def audit(
        self, symmetry: Any, *, eps: float, delta: float, trust: bool, progress: Callable[[int, int], object] | None
    ) -> Any:
        """Its audit, whose ``to_dict`` has the keys of :meth:`Audit.to_dict`."""


@overload
def audit(
    model: TabularMDP | GraphMDP,
    symmetry: Symmetry | VertexSymmetry | None = None,
    *,
    eps: float = ...,
    delta: float = ...,
    trust: bool = ...,
    progress: Callable[[int, int], object] | None = ...,
) -> Audit: ...
@overload
def audit(
    model: Auditable,
    symmetry: Any = None,
    *,
    eps: float = ...,
    delta: float = ...,
    trust: bool = ...,
    progress: Callable[[int, int], object] | None = ...,
) -> Any: ...
def audit(
    model: TabularMDP | GraphMDP | Auditable,
    symmetry: Any = None,
    *,
    eps: float = 0.1,
    delta: float = 0.1,
    trust: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> Any:
    """Verify a symmetry and say what it saves.

    Args:
        model: a table, or a graph MDP, which is audited from its orbit structure without enumerating a state; or a
            model with an ``audit`` of its own, such as the cube.
        symmetry: the group; default the model's declared one.
        eps, delta: accuracy and confidence of the bounds. ``eps`` is in units of reward; the explicit-constant bound
            and the lower bound divide it by the range of the rewards, as their source needs rewards in [0, 1] (without
            a known range there are none), the paper's formula and the leading term take it as it is.
        trust: accept a symmetry that does not hold: the group-averaged MDP is then audited, nothing counts as
            attainable, and ``why`` says how far the model is from it.
        progress: called with ``(done, total)`` while a model with an audit of its own counts.

    >>> from burnside.mdp import zoo
    >>> ring = zoo.ring(n=5)
    >>> found = audit(ring, ring.symmetry("Z"))
    >>> found.joint, found.reachable_factor, found.paper.value, found.attainable
    (5.0, 4.0, 5.0, True)
    """
    positive("eps", eps)
    in_unit("delta", delta)
    known = isinstance(model, TabularMDP | GraphMDP | Auditable)
    chosen = model.symmetry() if symmetry is None and known else symmetry
    if isinstance(model, TabularMDP) and isinstance(chosen, Symmetry):
        return _audit_table(model, chosen, eps, delta, trust)
    if isinstance(model, GraphMDP) and isinstance(chosen, VertexSymmetry):
        return _audit_orbits(model, chosen, eps, delta, trust)
    if isinstance(model, Auditable):
        return model.audit(chosen, eps=eps, delta=delta, trust=trust, progress=progress)
    raise InvalidParameter(
        f"audit takes a TabularMDP with a Symmetry, or a GraphMDP with a VertexSymmetry; "
        f"got {type(model).__name__} with {type(chosen).__name__}"
    )


# ---------------------------------------------------------------------- tables


def _reachable_factor(sizes: dict[str, int]) -> float:
    """Pairs for each class, among those that an episode reaches; 1 where every episode is over before it begins."""
    return sizes["pairs"] / sizes["quotient_pairs"] if sizes["quotient_pairs"] else 1.0


def _audit_table(mdp: TabularMDP, symmetry: Symmetry, eps: float, delta: float, trust: bool) -> Audit:
    verdict = verify(mdp, symmetry)
    reduced = quotient(mdp, symmetry, trust=trust and not verdict.ok, verdict=verdict)
    found = reachable_sizes(mdp, reduced)
    paper = paper_factor(mdp, symmetry, reduced)
    joint = reduced.reduction.pair_factor
    attainable, why = _judge(paper, joint, symmetry.order, mdp.n_pairs, reduced.reduction.successor_factor)
    size = Size(mdp.n_states, mdp.n_pairs, mdp.successors, mdp.n_terminal)
    small = Size(reduced.mdp.n_states, reduced.mdp.n_pairs, reduced.mdp.successors, reduced.mdp.n_terminal)
    if paper.pairs is not None and not attainable:
        acting = mdp.n_states - mdp.n_terminal
        why += _products(acting * mdp.n_actions * mdp.successors, paper, size, small)
    ratio = _reachable_factor(found)
    if ratio < joint * (1 - 1e-9):
        why += (
            f". From p₀ an episode reaches {found['pairs']} of the {mdp.n_pairs} pairs, in {found['quotient_pairs']} "
            f"classes: a learner can save at most {_show(ratio)}"
        )
    if not verdict.ok:
        eps_r, eps_p, limit = _distance(mdp, reduced).values()
        attainable = False
        why = (
            f"{symmetry.name} does not hold: {verdict.counterexample}; from the group-averaged MDP the model differs "
            f"by ε_r = {_gap(eps_r)}, ε_p = {_gap(eps_p)}, so what is optimal there can lose up to {limit:.4g} here. "
            f"Of the averaged MDP: {why}"
        )
    return Audit(
        model=mdp.name,
        horizon=mdp.H,
        eps=eps,
        delta=delta,
        reward_range=mdp.reward_range,
        size=size,
        quotient_size=small,
        actions=mdp.n_actions,
        group_name=symmetry.name,
        group_order=symmetry.order,
        acting_order=symmetry.order_on(mdp, reachable(mdp)[mdp.pair_state]),
        verdict=verdict,
        trusted=reduced.trusted,
        paper=paper,
        joint=joint,
        reachable=found,
        attainable=attainable,
        why=why,
        quotient=reduced,
    )


def _distance(mdp: TabularMDP, averaged: Quotient) -> dict[str, float]:
    eps_r, _ = averaged.hom.reward_gap(mdp, averaged.mdp)
    eps_p, _ = averaged.hom.transition_gap(mdp, averaged.mdp)
    limit = regret_bound(mdp.H, eps_r, eps_p, mdp.reward_range)
    return {"eps_r": eps_r, "eps_p": eps_p, "regret_limit": limit}


def reachable_sizes(mdp: TabularMDP, reduced: Quotient) -> dict[str, int]:
    """States and pairs that an episode can meet, and the classes they fall into.

    >>> from burnside.mdp import zoo
    >>> ring = zoo.slip_ring(10, goal="fixed")
    >>> sizes = reachable_sizes(ring, quotient(ring, ring.symmetry("Z")))
    >>> sizes["pairs"], sizes["quotient_pairs"]
    (40, 40)
    """
    reached = reachable(mdp)
    pairs = reached[mdp.pair_state]
    return {
        "states": int(reached.sum()),
        "pairs": int(pairs.sum()),
        "quotient_states": int(np.unique(reduced.hom.sigma[reached]).size),
        "quotient_pairs": int(np.unique(reduced.hom.alpha[pairs]).size),
    }


def paper_factor(mdp: TabularMDP, symmetry: Symmetry, reduced: Quotient) -> PaperFactor:
    """``|G_S|·|G_A|·|G_C|`` of Prop. 1 and Thm. 1 where it is defined, and its average form elsewhere."""
    successors = reduced.reduction.successor_factor
    permutations = symmetry.action_permutations(mdp)
    acting = ~mdp.terminal  # orbits of the others are not orbits of pairs
    state_size = _common_size(symmetry.state_orbits[acting])
    if permutations is None:
        why = "the paper's formula is undefined: the relabelling of actions depends on the state"
        return PaperFactor(None, state_size, None, successors, why)
    actions = orbit_labels(permutations)
    action_size = _common_size(actions)
    states = int(acting.sum()) / int((~reduced.mdp.terminal).sum())
    average = states * (mdp.n_actions / (int(actions.max()) + 1)) * successors
    if state_size is None or action_size is None:
        what, labels = ("states", symmetry.state_orbits[acting]) if state_size is None else ("actions", actions)
        why = f"the paper's formula is undefined: orbits of {what} differ in size ({_sizes(labels)})"
        return PaperFactor(None, state_size, action_size, successors, why, average)
    return PaperFactor(state_size * action_size * successors, state_size, action_size, successors, "", average)


def _judge(paper: PaperFactor, joint: float, order: int | None, pairs: int, successors: float) -> tuple[bool, str]:
    """Can the paper's factor be had? It counts pairs as |S̄|·|Ā|; exact is the number of orbits of pairs."""
    # an order beyond the number of pairs bounds nothing
    group = "|G|" if order is None or order > pairs or order.bit_length() > 60 else f"|G| = {order}"
    if paper.pairs is None or paper.value is None:
        return False, f"{paper.why}; the exact factor is {_show(joint)}, at most {group}"
    if paper.pairs <= joint * (1 + 1e-9):
        why = f"every orbit of pairs has the {_show(joint)} members that the formula assumes"
        if successors != 1:
            why += f"; the part C/C̄ = {successors:.4g} is owed to the bound of UCFH, optimal rates have no C"
        return True, why
    beyond = (
        f"exceeds {group}" if order is not None and paper.pairs > order * (1 + 1e-9) else "exceeds the exact factor"
    )
    return False, (
        f"|G_S|·|G_A| = {_show(paper.states)}·{_show(paper.actions)} = {_show(paper.pairs)} {beyond}: G is not "
        f"transitive on every (orbit of states)×(orbit of actions), so |(S×A)/G| exceeds |S̄|·|Ā|; the "
        f"exact factor is {_show(joint)}"
    )


def _products(ambient: int, paper: PaperFactor, size: Size, small: Size) -> str:
    exact = small.succ * small.pairs
    if paper.value is None:
        return ""
    return (
        f". C·|S×A| = {ambient} would become {ambient / paper.value:.6g} by the formula; it becomes "
        f"C̄·|(S×A)/G| = {small.succ}·{small.pairs} = {exact}"
    )


def _common_size(labels: IntArray) -> float | None:
    sizes = _orbit_sizes(labels)
    return float(sizes[0]) if (sizes == sizes[0]).all() else None


def _orbit_sizes(labels: IntArray) -> IntArray:
    sizes = np.bincount(labels)
    return sizes[sizes > 0]


def _sizes(labels: IntArray) -> str:
    """'4×5, 38×10': how many orbits of which size."""
    sizes, counts = np.unique(_orbit_sizes(labels), return_counts=True)
    shown = [f"{c} of size {s}" for s, c in zip(sizes, counts, strict=True)]
    return ", ".join(shown[:6]) + (", …" if len(shown) > 6 else "")


# ---------------------------------------------------------------------- orbit structure


def _audit_orbits(game: GraphMDP, symmetry: VertexSymmetry, eps: float, delta: float, trust: bool) -> Audit:
    verdict = verify(game.implicit(), symmetry.implicit(), samples=200 if game.n_vertices > 10_000 else 2_000)
    if not verdict.ok and not trust:
        raise NotVerified(
            f"{symmetry.name} is not a symmetry of {game.name}: {verdict.counterexample}; pass trust=True (in burnside "
            f"audit: --trust) to count its orbits anyway"
        )
    orbits = game.orbits(symmetry)
    size = Size(orbits.states, orbits.pairs, orbits.successors)
    small = Size(orbits.quotient_states, orbits.quotient_pairs, orbits.quotient_successors)
    joint = orbits.pairs / orbits.quotient_pairs
    if orbits.free:
        paper = PaperFactor(float(symmetry.order), float(symmetry.order), 1.0, 1.0, "", float(symmetry.order))
    else:
        paper = PaperFactor(None, None, None, 1.0, "the paper's formula is undefined: orbits of states differ in size")
    attainable, why = _judge(paper, joint, symmetry.order, orbits.pairs, 1.0)
    if not verdict.ok:
        attainable = False
        why = (
            f"{symmetry.name} does not hold: {verdict.counterexample}; in the sample ε_r = {verdict.eps_r:.3g}, ε_p = "
            f"{verdict.eps_p:.3g}, and what is not enumerated has no limit of the regret. Of the orbits alone: {why}"
        )
    return Audit(
        model=game.name,
        horizon=game.H,
        eps=eps,
        delta=delta,
        reward_range=game.reward_range,
        size=size,
        quotient_size=small,
        actions=None,
        group_name=symmetry.name,
        group_order=symmetry.order,
        acting_order=None,
        verdict=verdict,
        trusted=not verdict.ok,
        paper=paper,
        joint=joint,
        reachable=None,
        attainable=attainable,
        why=f"{why}; {orbits.why}. Nothing is enumerated, so what p₀ reaches is not counted",
    )


# ---------------------------------------------------------------------- numbers for JSON


def _whole(n: int) -> int | None:
    return int(n) if int(n).bit_length() <= _MOST_BITS else None


def _log10(n: int) -> float:
    return math.log10(n)


def _show(x: float | None) -> str:
    return "–" if x is None else f"{x:.0f}" if x == round(x) else f"{x:.4g}"


def _gap(x: float) -> str:
    return f"{x:.3g}" if x > 1e-12 else "0"  # averages are rounded


def _finite(x: float | None) -> float | None:
    return None if x is None or not math.isfinite(x) else float(x)
