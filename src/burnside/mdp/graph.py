"""``GraphMDP``: states are labellings of a graph together with the agent's vertex (Defs. 3–6)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from burnside._types import AnyArray
from burnside.errors import GroupTooLarge, InvalidAction, InvalidModel, ModelTooLarge, UnknownName
from burnside.groups.orbits import orbit_labels
from burnside.mdp.build import from_step
from burnside.mdp.implicit import ImplicitMDP
from burnside.mdp.symmetry import Symmetry
from burnside.mdp.tabular import TabularMDP
from burnside.mdp.vertices import GraphState, OrbitStructure, VertexSymmetry

__all__ = ["GraphMDP"]


class GraphMDP:
    """An MDP on a graph: ``S = X^V × V``, and the actions in ``(x, q)`` are the out-neighbours of ``q`` (Defs. 3–6).

    Args:
        graph: a networkx graph on ``0..n-1``, or the out-neighbours of every vertex (lists or an array).
        alphabet: the labels X.
        step: ``step(x, q, v)`` → ``[(probability, (x', q')), …]``; left out, the agent moves to ``v`` and x stays.
        reward: ``reward(x, q, v)`` → mean reward of choosing ``v``.
        H: horizon.
        counts: labels that occur exactly this many times (the game has exactly one goal, say).
        starts: states to enumerate from; all states if left out.
        p0: probability of each initial state; uniform over ``starts`` if left out.
        successors: ``C``, the largest number of outcomes of ``step`` (1 without one).
        reward_range: largest minus smallest mean reward, which bounds of an audit need; nothing is enumerated there.
        symmetries: declared vertex symmetries, name → function of the model; the first is the default.

    >>> import networkx as nx
    >>> lights = GraphMDP(nx.cycle_graph(4), alphabet=(0, 1), reward=lambda x, q, v: x[v], H=8)
    >>> lights.n_states, lights.n_pairs
    (64, 128)
    >>> lights.tabular().n_states
    64
    >>> turn = VertexSymmetry([[1, 2, 3, 0]], name="Z4")
    >>> lights.orbits(turn).quotient_states
    16
    """

    def __init__(
        self,
        graph: Any,
        alphabet: Sequence[Any],
        step: Callable[..., Sequence[tuple[float, GraphState]]] | None = None,
        reward: Callable[..., float] = lambda x, q, v: 0.0,
        H: int = 1,
        *,
        counts: Mapping[Any, int] | None = None,
        starts: Iterable[GraphState] | None = None,
        p0: Mapping[GraphState, float] | None = None,
        successors: int | None = None,
        reward_range: float | None = None,
        name: str = "graph MDP",
        action_label: Callable[[int, int], Any] | None = None,
        symmetries: Mapping[str, Callable[[GraphMDP], VertexSymmetry]] | None = None,
    ) -> None:
        self.neighbours = _neighbours(graph)
        self.alphabet = tuple(alphabet)
        self.counts = dict(counts or {})
        self.H, self.name = H, name
        self._step, self._reward = step, reward
        self._starts, self.p0 = None if starts is None else tuple(starts), p0
        self._action_label = action_label or (lambda q, v: v)
        self.successors = successors if successors is not None else (1 if step is None else None)
        self.reward_range = reward_range
        self.symmetries = dict(symmetries or {})
        if reward_range is not None and not 0 <= reward_range < math.inf:
            raise InvalidModel(f"reward_range is {reward_range}: give a finite number, 0 or more, or None if unknown")
        strangers = set(self.counts) - set(self.alphabet)
        if strangers:
            raise InvalidModel(f"counts names {strangers.pop()!r}, which is not in the alphabet {self.alphabet}")
        if len(set(self.alphabet)) < len(self.alphabet) or not self.alphabet:
            raise InvalidModel(f"the alphabet {self.alphabet} must hold at least one label, and each of them once")
        if min(self.counts.values(), default=0) < 0:
            raise InvalidModel(f"counts must not be negative, got {self.counts}")
        if sum(self.counts.values()) > self.n_vertices:
            raise InvalidModel(f"counts asks for more labels than the graph has vertices ({self.n_vertices})")

    # ------------------------------------------------------------------ sizes

    @property
    def n_vertices(self) -> int:
        """``|V|``."""
        return len(self.neighbours)

    @property
    def n_edges(self) -> int:
        """``|E|`` of the directed graph."""
        if isinstance(self.neighbours, np.ndarray):
            return int(self.neighbours.size)
        return sum(len(out) for out in self.neighbours)

    @property
    def n_states(self) -> int:
        """``|S|``, exact however large."""
        return self._labellings(self.n_vertices) * self.n_vertices

    @property
    def n_pairs(self) -> int:
        """Number of admissible pairs, exact however large."""
        return self._labellings(self.n_vertices) * self.n_edges

    def _labellings(self, cells: int) -> int:
        """Labellings of this many cells that respect ``counts``."""
        total, left = 1, cells
        for count in self.counts.values():
            total *= math.comb(left, count)
            left -= count
        free = len(self.alphabet) - len(self.counts)
        return total * free**left if left >= 0 else 0

    # ------------------------------------------------------------------ dynamics

    def actions(self, state: GraphState) -> tuple[int, ...]:
        """Def. 4: the out-neighbours of the agent's vertex."""
        return tuple(int(v) for v in self.neighbours[state[1]])

    def step(self, state: GraphState, v: int) -> list[tuple[float, GraphState, float]]:
        """Defs. 5 and 6: outcomes ``(probability, next state, reward)``."""
        x, q = state
        reward = float(self._reward(x, q, v))
        outcomes = [(1.0, (x, v))] if self._step is None else self._step(x, q, v)
        return [(p, successor, reward) for p, successor in outcomes]

    def sample(self, rng: np.random.Generator) -> GraphState:
        """A state drawn uniformly."""
        n = self.n_vertices
        free = [label for label in self.alphabet if label not in self.counts]
        labels = [free[k] for k in rng.integers(len(free), size=n).tolist()] if free else [self.alphabet[0]] * n
        places = rng.permutation(n)
        for label, count in self.counts.items():
            for v in places[:count]:
                labels[int(v)] = label
            places = places[count:]
        return tuple(labels), int(rng.integers(n))

    def implicit(self) -> ImplicitMDP:
        """The same model as three callables, for sampling checks."""
        return ImplicitMDP(
            step=self.step,
            actions=self.actions,
            sample=self.sample,
            name=self.name,
            H=self.H,
            n_states=self.n_states,
            n_pairs=self.n_pairs,
            successors=self.successors,
            show=_show,
        )

    # ------------------------------------------------------------------ tables

    def states(self, limit: int = 2_000_000) -> Iterable[GraphState]:
        """All states, if they are few enough."""
        if self.n_states > limit:
            raise ModelTooLarge(
                f"{self.name} has {_big(self.n_states)} states, more than the limit of {limit}: "
                f"audit it from its orbit structure (burnside audit), or make it smaller"
            )
        for x in self._all_labellings() if self.n_states else ():
            for q in range(self.n_vertices):
                yield x, q

    def _all_labellings(self) -> Iterator[tuple[Any, ...]]:
        """Labellings that respect ``counts``, in the order of ``itertools.product``, without trying the others."""
        left = dict(self.counts)
        x: list[Any] = []
        turns = [iter(self.alphabet)]
        while turns:
            label = next(turns[-1], turns)
            if label is turns:  # every label was tried here: one step back
                turns.pop()
                if x and (last := x.pop()) in left:
                    left[last] += 1
                continue
            if label in left:
                if left[label] == 0:
                    continue
                left[label] -= 1
            elif sum(left.values()) >= self.n_vertices - len(x):
                continue  # the cells that remain are all needed for counted labels
            x.append(label)
            if len(x) < self.n_vertices:
                turns.append(iter(self.alphabet))
                continue
            yield tuple(x)
            if (last := x.pop()) in left:
                left[last] += 1

    def tabular(self, limit: int = 2_000_000) -> TabularMDP:
        """Enumerate what is reachable from ``starts`` (all states if none were given)."""
        starts = self.states(limit) if self._starts is None else self._starts
        table: dict[tuple[int, Any], int] = {}

        def actions(state: GraphState) -> list[Any]:
            labels = []
            for v in self.actions(state):
                label = self._action_label(state[1], v)
                table[state[1], label] = v
                labels.append(label)
            return labels

        index: list[GraphState] = []
        mdp = from_step(
            starts,
            actions,
            lambda s, label: self.step(s, table[s[1], label]),
            self.H,
            p0=self.p0,
            limit=limit,
            name=self.name,
            state_names=lambda i: _show(index[i]),
            collect=index,
        )
        mdp.symmetries.update(
            {
                key: (lambda m, make=make: self.lift(m, index, make(self)))  # type: ignore[misc]
                for key, make in self.symmetries.items()
            }
        )
        return mdp

    def lift(self, mdp: TabularMDP, index: Sequence[GraphState], vertices: VertexSymmetry) -> Symmetry:
        """A vertex symmetry as a symmetry of the enumerated MDP."""
        self._check_automorphisms(vertices)
        number = {state: i for i, state in enumerate(index)}
        on_states = np.empty((len(vertices.on_vertices), mdp.n_states), dtype=np.int64)
        on_pairs = np.empty((len(vertices.on_vertices), mdp.n_pairs), dtype=np.int64)
        # within a state, pairs are sorted by action number; find them by the vertex they lead to
        where = {}
        for i in range(len(index)):
            for pair in mdp.pairs_of(i):
                where[i, mdp.action_name(mdp.pair_action[pair])] = pair
        for j, g in enumerate(vertices.on_vertices):
            for i, state in enumerate(index):
                image = number.get(vertices.act(g, state))
                if image is None:
                    raise InvalidAction(
                        f"generator {j} of {vertices.name} maps {_show(state)} to a state that is not reachable"
                    )
                on_states[j, i] = image
                q, gq = state[1], int(g[state[1]])
                for v in self.actions(state):
                    source = where[i, str(self._action_label(q, v))]
                    target = where.get((image, str(self._action_label(gq, int(g[v])))))
                    if int(g[v]) not in self.neighbours[gq] or target is None:
                        raise InvalidAction(f"generator {j} of {vertices.name} maps the edge ({q}, {v}) to no edge")
                    on_pairs[j, source] = target
        return Symmetry(on_states, on_pairs, name=vertices.name, order=vertices.order)

    # ------------------------------------------------------------------ orbit structure

    def orbits(self, symmetry: VertexSymmetry, limit: int = 50_000_000) -> OrbitStructure:
        """Sizes of the quotient by Burnside's lemma on the graph's vertices alone; no state is enumerated.

        A state ``(x, q)`` is fixed by g iff g fixes q and x is constant on the cycles of g. If the group moves every
        vertex freely only the identity fixes a state, and every orbit has ``|G|`` members.
        """
        self._check_automorphisms(symmetry)
        vertex_orbits = orbit_labels(symmetry.on_vertices)
        order = symmetry.order
        free = bool((np.bincount(vertex_orbits) == order).all())
        if self.successors is None:
            raise InvalidModel(f"{self.name} has a step of its own: pass successors=, the largest number of outcomes")
        successors = self.successors
        if free:
            why = (
                f"{symmetry.name} moves every vertex freely, so every orbit of states and of pairs has {order} members"
            )
            states, pairs = self.n_states // order, self.n_pairs // order
        else:
            if order * self.n_vertices > limit:
                raise GroupTooLarge(
                    f"{symmetry.name} has order {_big(order)}, fixes vertices and is too large to enumerate: choose a "
                    f"subgroup that moves every vertex, or one of order up to {limit // self.n_vertices}"
                )
            states, pairs = self._burnside(symmetry)
            why = f"counted by Burnside's lemma over the {order} elements of {symmetry.name}"
        return OrbitStructure(
            self.n_states, self.n_pairs, successors, states, pairs, min(successors, states), free, why
        )

    def _check_automorphisms(self, symmetry: VertexSymmetry) -> None:
        """Raise unless every generator maps edges to edges: counts of orbits mean nothing otherwise."""
        n, vertices = self.n_vertices, symmetry.on_vertices
        if vertices.shape[1] != n:
            raise InvalidAction(
                f"{symmetry.name} acts on {vertices.shape[1]} vertices but {self.name} has {n}: "
                f"build the symmetry for this very graph"
            )
        # the out-neighbours of g·q are the images of those of q iff sums of random 64-bit weights over both agree
        flat = np.concatenate([np.asarray(out) for out in self.neighbours])
        begin = np.concatenate([[0], np.cumsum([len(out) for out in self.neighbours])[:-1]])
        weight = np.random.default_rng(0).integers(0, 2**64, size=n, dtype=np.uint64)
        total = np.add.reduceat(weight[flat], begin)
        for j, g in enumerate(vertices):
            off = np.add.reduceat(weight[g][flat], begin) != total[g]
            if off.any():
                q = int(np.argmax(off))
                v = next((int(v) for v in self.neighbours[q] if g[v] not in self.neighbours[g[q]]), q)
                raise InvalidAction(
                    f"generator {j} of {symmetry.name} maps the edge ({q}, {v}) to ({g[q]}, {g[v]}), which is not an "
                    f"edge: it is not an automorphism of the graph"
                )

    def _burnside(self, symmetry: VertexSymmetry) -> tuple[int, int]:
        states = pairs = 0
        elements = symmetry.group.elements
        for g in elements:
            fixed = [v for v in range(self.n_vertices) if g[v] == v]
            if not fixed:
                continue
            labellings = self._fixed_labellings(np.bincount(orbit_labels(g[None])).tolist())
            states += len(fixed) * labellings
            still = set(fixed)
            pairs += sum(sum(v in still for v in self.neighbours[q]) for q in fixed) * labellings
        return states // len(elements), pairs // len(elements)

    def _fixed_labellings(self, cycles: list[int]) -> int:
        """Labellings constant on cycles: a label that occurs c times must fill cycles of total length c."""
        ways = {tuple(self.counts.values()): 1}
        free = len(self.alphabet) - len(self.counts)
        for length in cycles:
            updated: dict[tuple[int, ...], int] = {}
            for left, count in ways.items():
                if free:
                    updated[left] = updated.get(left, 0) + count * free
                for k, remaining in enumerate(left):
                    if remaining >= length:
                        key = (*left[:k], remaining - length, *left[k + 1 :])
                        updated[key] = updated.get(key, 0) + count
            ways = updated
        return ways.get((0,) * len(self.counts), 0)

    def symmetry(self, name: str | None = None) -> VertexSymmetry:
        """The declared vertex symmetry of that name; the default one if no name is given."""
        if name is None and self.symmetries:
            name = next(iter(self.symmetries))
        for known, make in self.symmetries.items():
            if name is not None and known.lower() == name.lower():
                return make(self)
        raise UnknownName(f"symmetry of {self.name}", name or "default", self.symmetries)

    def __repr__(self) -> str:
        return f"GraphMDP({self.name!r}, vertices={self.n_vertices}, states={_big(self.n_states)}, H={self.H})"


def _neighbours(graph: Any) -> Sequence[Any] | AnyArray:
    if isinstance(graph, np.ndarray):
        if graph.ndim != 2 or graph.shape[1] == 0 or graph.min() < 0 or graph.max() >= len(graph):
            raise InvalidModel(
                f"an array of out-neighbours has shape (n, degree) and entries in 0..n-1, got {graph.shape}"
            )
        return graph
    if hasattr(graph, "adjacency"):
        n = graph.number_of_nodes()
        if set(graph.nodes) != set(range(n)):
            raise InvalidModel(
                "the vertices of the graph must be 0..n-1: relabel with networkx.convert_node_labels_to_integers"
            )
        lists: Iterable[Iterable[int]] = (graph.neighbors(v) for v in range(n))
    else:
        lists = graph
    result = [tuple(int(v) for v in out) for out in lists]
    for q, out in enumerate(result):
        if not out:
            raise InvalidModel(f"vertex {q} has no out-neighbour, so its states admit no action: add a loop ({q}, {q})")
        if min(out) < 0 or max(out) >= len(result):
            raise InvalidModel(f"vertex {q} has an out-neighbour outside 0..{len(result) - 1}")
    return result


def _show(state: GraphState) -> str:
    labels, q = state
    shown = labels if len(labels) <= 60 else (*labels[:50], "…")
    return f"({' '.join(str(label) for label in shown)} @{q})"


def _big(n: int) -> str:
    """An integer of any size, readable."""
    return str(n) if n < 10**12 else f"about 10^{math.log10(n):.1f}"
