"""``Symmetry``: a group acting on the states and on the admissible pairs of an MDP (Def. 7)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from burnside._types import AnyArray, ArrayLike, BoolArray, IntArray
from burnside.errors import GroupTooLarge, InvalidAction
from burnside.groups import Group
from burnside.groups.orbits import orbit_labels
from burnside.mdp._checks import needs_table
from burnside.mdp.tabular import TabularMDP

__all__ = ["Symmetry", "WholeGroup"]

#: Schreier–Sims is left to sympy only up to this many points; beyond it a symmetry should state its order.
ORDER_DEGREE_LIMIT = 5_000


class WholeGroup(Protocol):
    """A group of which a :class:`Symmetry` lists some generators only, enough to have its orbits."""

    def generators(self) -> tuple[AnyArray, AnyArray]:
        """Generators of all of it, on states and on pairs."""

    def order_on(self, pairs: BoolArray) -> int | None:
        """Number of permutations it makes of these pairs, a union of orbits; None if it cannot tell."""


class Symmetry:
    """A group of permutations of states and of pairs, given by generators.

    Row ``j`` of ``on_states`` is the image ``g_j·s`` of every state, row ``j`` of ``on_pairs`` the image of every pair.
    Acting on *pairs* lets the relabelling of actions depend on the state, as homomorphisms allow (Def. 9). Whether it
    preserves rewards and transitions is for :func:`burnside.verify` to say; here only permutations are checked.

    Args:
        on_states: shape ``(k, n_states)``, or one permutation.
        on_pairs: shape ``(k, n_pairs)``, or one permutation.
        name: shown in reports.
        order: the order of the group, if known; computed by Schreier–Sims on demand for up to 5 000 points.
        whole: for a group of which these generators are only a part with the same orbits (orbits, verification and
            quotients need no more): what gives generators of all of it, and counts what it does to some pairs.

    Example:
        >>> from burnside.mdp import zoo
        >>> ring = zoo.ring(n=5)
        >>> Z = ring.symmetry("Z")
        >>> Z.order, Z.n_generators, int(Z.state_orbits.max()) + 1
        (5, 1, 80)
    """

    def __init__(
        self,
        on_states: ArrayLike,
        on_pairs: ArrayLike,
        *,
        name: str = "G",
        order: int | None = None,
        whole: WholeGroup | None = None,
    ) -> None:
        self.on_states = _permutations(on_states, "on_states", "state")
        self.on_pairs = _permutations(on_pairs, "on_pairs", "pair")
        if len(self.on_states) != len(self.on_pairs):
            raise InvalidAction(
                f"on_states has {len(self.on_states)} generators and on_pairs {len(self.on_pairs)}: "
                f"every generator needs an image of both"
            )
        self.name = name
        self._order = order
        self._whole = whole

    # ------------------------------------------------------------------ making one

    @classmethod
    def from_actions(
        cls,
        mdp: TabularMDP,
        on_states: ArrayLike,
        on_actions: ArrayLike | None = None,
        *,
        name: str = "G",
        order: int | None = None,
    ) -> Symmetry:
        """From generators on states and on the ambient action set (the paper's setting).

        ``on_actions[j][a]`` is ``g_j·a``, the same in every state; left out, the group acts trivially on actions.

        >>> from burnside.mdp import TabularMDP
        >>> coin = TabularMDP([[1, 0], [0, 1], [0, 1], [1, 0]], [1, 1, 1, 1], [1, 0], 3)
        >>> swap = Symmetry.from_actions(coin, [[1, 0]], name="swap")
        >>> swap.on_pairs.tolist()
        [[2, 3, 0, 1]]
        """
        needs_table(mdp, "Symmetry.from_actions")
        states = _permutations(on_states, "on_states", "state")
        if states.shape[1] != mdp.n_states:
            raise _wrong_set("on_states", states.shape[1], "states", mdp.n_states, mdp.name)
        if on_actions is None:
            actions = np.tile(np.arange(mdp.n_actions), (len(states), 1))
        else:
            actions = _permutations(on_actions, "on_actions", "action")
        if actions.shape[1] < mdp.n_actions or len(actions) != len(states):
            raise InvalidAction(
                f"on_actions has shape {actions.shape}: it needs one row per generator ({len(states)}) and one column "
                f"per action of {mdp.name} ({mdp.n_actions})"
            )
        pairs = np.empty((len(states), mdp.n_pairs), dtype=mdp.pair_state.dtype)
        for j, (g_states, g_actions) in enumerate(zip(states, actions, strict=True)):
            image = mdp.pair_index(g_states[mdp.pair_state], g_actions[mdp.pair_action])
            if (image < 0).any():
                i = int(np.argmax(image < 0))
                s, a = int(g_states[mdp.pair_state[i]]), int(g_actions[mdp.pair_action[i]])
                raise InvalidAction(
                    f"generator {j} maps the admissible pair {mdp.pair_name(i)} to ({mdp.state_name(s)}, "
                    f"{mdp.action_name(a)}), which is not admissible: a symmetry maps A(s) onto A(g·s)"
                )
            pairs[j] = image
        return cls(states, pairs, name=name, order=order)

    @classmethod
    def trivial(cls, mdp: TabularMDP) -> Symmetry:
        """The group with one element."""
        return cls(np.arange(mdp.n_states)[None], np.arange(mdp.n_pairs)[None], name="trivial", order=1)

    def __mul__(self, other: Symmetry) -> Symmetry:
        """The group generated by both. Its order is computed, since the two may overlap."""
        partial = self._whole is not None or other._whole is not None
        return Symmetry(
            np.vstack([self.on_states, other.on_states]),
            np.vstack([self.on_pairs, other.on_pairs]),
            name=f"{self.name}·{other.name}",
            whole=_Joined(self, other) if partial else None,
        )

    # ------------------------------------------------------------------ reading it

    @property
    def n_generators(self) -> int:
        """Number of generators."""
        return len(self.on_states)

    @property
    def order(self) -> int | None:
        """Order of the group; None if it was not stated and there are too many points to compute it."""
        if self._order is None and self.on_states.shape[1] + self.on_pairs.shape[1] <= ORDER_DEGREE_LIMIT:
            n = self.on_states.shape[1]
            on_states, on_pairs = self.all_generators()
            self._order = Group.from_permutations(np.hstack([on_states, n + on_pairs]), name=self.name).order
        return self._order

    def order_on(self, mdp: TabularMDP, pairs: BoolArray) -> int | None:
        """Number of different permutations that the group makes of these pairs (a mask) and of their images.

        At most the order: what moves other pairs only, or terminal states only, does not count. None if there are too
        many points to compute it.

        >>> from burnside.mdp import TabularMDP, discover
        >>> from burnside.mdp.reach import reachable
        >>> walk = TabularMDP.from_gym("CliffWalking-v1")         # a step on its cliff leads back to the start
        >>> found = discover(walk)
        >>> found.order, found.order_on(walk, reachable(walk)[walk.pair_state])
        (53747712, 8)
        """
        self.describes(mdp)
        met = np.zeros(self.n_pair_orbits, dtype=np.bool_)
        met[self.pair_orbits[pairs]] = True
        moved = met[self.pair_orbits]
        if not moved.any():
            return 1
        if moved.all() and not mdp.n_terminal:
            return self.order
        found = None if self._whole is None else self._whole.order_on(moved)
        if found is not None:
            return found
        if int(moved.sum()) > ORDER_DEGREE_LIMIT:
            return None
        number = np.cumsum(moved) - 1
        _, on_pairs = self.all_generators()
        return Group.from_permutations(np.unique(number[on_pairs[:, moved]], axis=0), name=self.name).order

    def all_generators(self) -> tuple[AnyArray, AnyArray]:
        """Generators of the whole group, on states and on pairs: more than ``on_states`` after :func:`discover`."""
        return (self.on_states, self.on_pairs) if self._whole is None else self._whole.generators()

    @cached_property
    def state_orbits(self) -> IntArray:
        """σ: the orbit of every state, orbits numbered by their smallest member."""
        return orbit_labels(self.on_states)

    @cached_property
    def pair_orbits(self) -> IntArray:
        """The orbit of every pair, orbits numbered by their smallest member."""
        return orbit_labels(self.on_pairs)

    @property
    def n_state_orbits(self) -> int:
        """``|S/G|``."""
        return int(self.state_orbits.max()) + 1

    @property
    def n_pair_orbits(self) -> int:
        """``|(S×A)/G|``: what an agent really has to learn."""
        return int(self.pair_orbits.max()) + 1

    def burnside_counts(self) -> tuple[int, int]:
        """``|S/G|`` and ``|(S×A)/G|`` as averages of fixed points over all elements (Burnside's lemma).

        An independent check of the orbits, which come from generators alone. Needs every element of the group.

        >>> from burnside.mdp import zoo
        >>> zoo.ring(n=5).symmetry("D").burnside_counts()
        (42, 160)
        """
        states = pairs = order = 0
        for g_states, g_pairs in self.elements():
            states += int((g_states == np.arange(g_states.size)).sum())
            pairs += int((g_pairs == np.arange(g_pairs.size)).sum())
            order += 1
        if self._order is None:
            self._order = order
        if states % order or pairs % order:
            raise InvalidAction(f"the generators of {self.name} do not act as a group: fixed points do not average out")
        return states // order, pairs // order

    def elements(self, limit: int = 100_000_000) -> Iterator[tuple[AnyArray, AnyArray]]:
        """All elements as (permutation of states, permutation of pairs), identity first, each once.

        Raises :class:`GroupTooLarge` when the table would exceed ``limit`` entries.
        """
        degree = self.on_states.shape[1] + self.on_pairs.shape[1]
        n = self.on_states.shape[1]
        if self._order is not None and self._order * degree > limit:
            raise self._too_large()
        generators = [np.concatenate([s, n + p]) for s, p in zip(*self.all_generators(), strict=True)]
        identity = np.arange(degree, dtype=generators[0].dtype)
        seen = {identity.tobytes()}
        frontier = [identity]
        yield identity[:n], identity[n:] - n
        while frontier:
            layer = []
            for element in frontier:
                for g in generators:
                    image = g[element].astype(identity.dtype, copy=False)
                    key = image.tobytes()
                    if key not in seen:
                        if (len(seen) + 1) * degree > limit:
                            raise self._too_large()
                        seen.add(key)
                        layer.append(image)
                        yield image[:n], image[n:] - n
            frontier = layer

    def action_permutations(self, mdp: TabularMDP) -> IntArray | None:
        """How each generator permutes the ambient actions; None if that depends on the state."""
        width = mdp.n_actions
        result = np.tile(np.arange(width, dtype=np.int64), (self.n_generators, 1))
        for j, pairs in enumerate(self.on_pairs):
            image = np.full(width, -1, dtype=np.int64)
            image[mdp.pair_action] = mdp.pair_action[pairs]
            if (image[mdp.pair_action] != mdp.pair_action[pairs]).any():
                return None
            used = image >= 0
            if len(np.unique(image[used])) < used.sum():
                return None
            result[j, used] = image[used]
            if len(np.unique(result[j])) < width:
                return None
        return result

    def describes(self, mdp: TabularMDP) -> None:
        """Raise unless this symmetry acts on the states and pairs of ``mdp``."""
        if self.on_states.shape[1] != mdp.n_states:
            raise _wrong_set(self.name, self.on_states.shape[1], "states", mdp.n_states, mdp.name)
        if self.on_pairs.shape[1] != mdp.n_pairs:
            raise _wrong_set(self.name, self.on_pairs.shape[1], "pairs", mdp.n_pairs, mdp.name)

    def _too_large(self) -> GroupTooLarge:
        size = (
            "unknown order"
            if self._order is None
            else f"order about 10^{math.log10(self._order):.1f}"  # it may exceed what a float or str() can hold
            if self._order > 10**9
            else f"order {self._order}"
        )
        return GroupTooLarge(
            f"the group {self.name} ({size}) is too large to enumerate on {self.on_pairs.shape[1]} pairs: "
            f"orbits, verification and the quotient need its generators only"
        )

    def __repr__(self) -> str:
        return (
            f"Symmetry({self.name!r}, generators={self.n_generators}, states={self.on_states.shape[1]}, "
            f"pairs={self.on_pairs.shape[1]})"
        )


@dataclass(frozen=True)
class _Joined:
    """The group that two symmetries generate together."""

    first: Symmetry
    second: Symmetry

    def generators(self) -> tuple[AnyArray, AnyArray]:
        (a_states, a_pairs), (b_states, b_pairs) = self.first.all_generators(), self.second.all_generators()
        return np.vstack([a_states, b_states]), np.vstack([a_pairs, b_pairs])

    def order_on(self, pairs: BoolArray) -> int | None:
        return None


def _wrong_set(what: str, got: int, kind: str, expected: int, model: str) -> InvalidAction:
    return InvalidAction(
        f"{what} acts on {got} {kind} but {model} has {expected}: build the symmetry for this very model"
    )


def _permutations(values: Any, what: str, point: str) -> AnyArray:
    """``values`` as a read-only (k, n) integer array whose rows are permutations."""
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.empty(0)  # ragged: refused below
    if array.ndim == 1 and array.dtype.kind in "iu":
        array = array[None]
    if array.ndim != 2 or array.dtype.kind not in "iu" or 0 in array.shape:
        raise InvalidAction(
            f"{what} must be a table of whole numbers, one row per generator and one column per {point}; "
            f"got {array.dtype} of shape {array.shape}"
        )
    if array.dtype not in (np.int32, np.int64):
        array = array.astype(np.int64)
    array = np.array(array, order="C")  # a copy: what was verified must not change under our feet
    n = array.shape[1]
    for j, row in enumerate(array):
        low, high = int(row.min()), int(row.max())
        if low < 0 or high >= n:
            bad = high if high >= n else low
            raise InvalidAction(
                f"row {j} of {what} sends a {point} to {bad}, outside 0..{n - 1}: it is not a permutation"
            )
        hit = np.zeros(n, dtype=np.bool_)
        hit[row] = True
        if not hit.all():
            raise InvalidAction(
                f"row {j} of {what} is not a permutation: no {point} goes to {int(np.argmin(hit))}, one is hit twice"
            )
    view = array.view()
    view.flags.writeable = False
    return view
