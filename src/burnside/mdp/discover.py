"""``discover``: the automorphism group of a tabular MDP, relabelling of actions by state included.

The MDP becomes a coloured directed graph: a vertex per state, a vertex per pair coloured by its rewards, and where a
pair has outcomes of different probability a vertex per (pair, probability). Its automorphisms are those of the MDP.
Three reductions come first, because real models are full of them and a graph tool would spend its time there:

1. partition refinement colours the states; if all colours differ, the group is trivial and nothing else runs;
2. actions of one state that do exactly the same are merged (the group permutes them freely);
3. the graph falls into connected components (a board that never changes is one), each handled alone by BLISS; equal
   ones are recognised by their canonical form and may be exchanged.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from burnside._resources import needs_memory
from burnside._types import AnyArray, BoolArray, IntArray, Progress
from burnside.errors import InvalidParameter
from burnside.groups import Group
from burnside.mdp._checks import needs_table
from burnside.mdp.refine import automorphism_colours, hash64, levels, reward_levels
from burnside.mdp.symmetry import Symmetry
from burnside.mdp.tabular import TabularMDP
from burnside.mdp.verify import TOLERANCE, verify

__all__ = ["discover"]

#: Up to this many terminal states that nothing leads to, the order is computed: it has their factorial.
_MOST_LONELY = 10_000


def discover(mdp: TabularMDP, *, tol: float = TOLERANCE, progress: Progress | None = None) -> Symmetry:
    """The automorphisms of an MDP: all permutations of states and pairs that preserve rewards and transitions.

    The generators returned have the same orbits as the full automorphism group and are few (at most one for duplicate
    actions, one for equal components, and those of the largest component). They are verified before they are returned.
    ``order`` is the order of the full group, ``elements()`` yields all of it, and ``all_generators()`` generates it.
    It counts permutations of states and pairs: where actions of one state do the same, each exchange of them counts.
    p₀ is not required to be invariant: the quotient pushes it forward.

    The cost is that of refinement, linear per round, plus BLISS on each component, which is fast on the graphs that
    occur in practice but has no polynomial guarantee (the problem is graph isomorphism).

    >>> from burnside.mdp import quotient, zoo
    >>> ring = zoo.ring(n=5)
    >>> found = discover(ring)
    >>> q = quotient(ring, found)
    >>> q.mdp.n_states <= 13, q.mdp.n_pairs <= 28
    (True, True)
    """
    needs_table(mdp, "discover")
    size = 500.0 * (mdp.P.nnz + mdp.n_pairs)
    needs_memory(f"the search for automorphisms of {mdp.name}", size, "make the model smaller or declare a symmetry")
    colours = automorphism_colours(mdp, tol)
    pair_class, twins = _merge_equal_actions(mdp, tol)
    factor = math.prod(math.factorial(int(m)) for m in twins[twins > 1])
    if int(colours.max()) + 1 == mdp.n_states:
        components: list[_Component] = []
    else:
        components = _components(mdp, colours, pair_class, twins, tol, progress)
    symmetry = _assemble(mdp, components, pair_class, factor)
    verdict = verify(mdp, symmetry, tol=tol)
    if not verdict.ok:
        raise InvalidParameter(
            f"the symmetry found does not hold within tol ({verdict.counterexample}): the model has numbers that "
            f"differ by about tol={tol:g}, so pass a smaller or larger tol"
        )
    return symmetry


# ---------------------------------------------------------------------- equal actions


def _merge_equal_actions(mdp: TabularMDP, tol: float) -> tuple[IntArray, IntArray]:
    """The class of every pair under 'same state, same rewards, same row', and the size of each class."""
    probability = levels(mdp.P.data, tol)
    entry = hash64(hash64(mdp.P.indices) + probability.astype(np.uint64))
    row = np.add.reduceat(entry, mdp.P.indptr[:-1].astype(np.int64))
    order = np.lexsort((row, reward_levels(mdp, tol), mdp.pair_state))
    keys = np.stack([mdp.pair_state.astype(np.uint64), reward_levels(mdp, tol).astype(np.uint64), row])[:, order]
    starts = np.concatenate([[True], (np.diff(keys, axis=1) != 0).any(axis=0)])
    classes = np.empty(mdp.n_pairs, dtype=np.int64)
    classes[order] = np.cumsum(starts) - 1
    return classes, np.bincount(classes)


# ---------------------------------------------------------------------- components


@dataclass
class _Component:
    """A connected part of the graph: its states, its pair classes, and its place in canonical order."""

    states: IntArray
    classes: IntArray
    canonical: IntArray  # position of each vertex in the canonical form
    form: bytes
    graph: Any
    colours: list[int]


def _components(
    mdp: TabularMDP,
    colours: IntArray,
    pair_class: IntArray,
    twins: IntArray,
    tol: float,
    progress: Progress | None,
) -> list[_Component]:
    representative = np.unique(pair_class, return_index=True)[1]
    builder = _GraphBuilder(mdp, colours, pair_class, twins, representative, tol)
    origin = np.repeat(mdp.pair_state, np.diff(mdp.P.indptr))
    links = sp.coo_matrix((np.ones(origin.size, dtype=np.int8), (origin, mdp.P.indices)), shape=(mdp.n_states,) * 2)
    count, label = connected_components(links, directed=False)
    by_component = np.split(np.argsort(label, kind="stable"), np.cumsum(np.bincount(label))[:-1])
    # A component whose colours occur nowhere else and all differ has no automorphism: nothing to do for it.
    spread = np.bincount(colours)
    found = []
    lonely = _lonely(mdp)
    for done, states in enumerate(by_component):
        if progress is not None:
            progress(done, count)
        if not lonely[states[0]] and (spread[colours[states]] > 1).any():
            found.append(builder.component(states))
    if progress is not None:
        progress(count, count)
    return found


def _lonely(mdp: TabularMDP) -> BoolArray:
    """Terminal states that nothing leads to: all of them are alike, and there may be very many."""
    lonely = mdp.terminal.copy()
    lonely[mdp.P.indices] = False
    return lonely


class _GraphBuilder:
    """Builds the coloured graph of one component at a time."""

    def __init__(
        self,
        mdp: TabularMDP,
        colours: IntArray,
        pair_class: IntArray,
        twins: IntArray,
        representative: IntArray,
        tol: float,
    ) -> None:
        self.mdp, self.colours, self.representative = mdp, colours, representative
        self.probability = levels(mdp.P.data, tol)
        # colour of a pair class: rewards, multiplicity, and its probability if it is one and the same for all outcomes
        begin = mdp.P.indptr[:-1].astype(np.int64)
        low = np.minimum.reduceat(self.probability, begin)
        self.mixed = np.maximum.reduceat(self.probability, begin) > low
        kinds = np.stack([reward_levels(mdp, tol), twins[pair_class], np.where(self.mixed, -1, low)])
        self.kind = np.unique(kinds, axis=1, return_inverse=True)[1].ravel()
        self.class_of_pair = pair_class
        self.n_kinds = int(self.kind.max()) + 1
        self.n_colours = int(colours.max()) + 1

    def component(self, states: IntArray) -> _Component:
        """The component made of these states."""
        import igraph

        mdp = self.mdp
        number = {int(s): k for k, s in enumerate(states)}
        classes = np.unique(np.concatenate([self.class_of_pair[mdp.pair_ptr[s] : mdp.pair_ptr[s + 1]] for s in states]))
        colour = [int(c) for c in self.colours[states]]
        edges: list[tuple[int, int]] = []
        vertex = len(states)
        extra = len(states) + len(classes)
        extra_colours: list[int] = []
        for pair in self.representative[classes]:
            edges.append((number[int(mdp.pair_state[pair])], vertex))
            colour.append(self.n_colours + int(self.kind[pair]))
            row = slice(int(mdp.P.indptr[pair]), int(mdp.P.indptr[pair + 1]))
            outcomes = zip(self.probability[row].tolist(), mdp.P.indices[row].tolist(), strict=True)
            via: dict[int, int] = {}
            for level, successor in outcomes:
                source = vertex
                if self.mixed[pair]:
                    if level not in via:
                        via[level] = extra
                        edges.append((vertex, extra))
                        extra_colours.append(self.n_colours + self.n_kinds + level)
                        extra += 1
                    source = via[level]
                edges.append((source, number[successor]))
            vertex += 1
        colour += extra_colours
        graph = igraph.Graph(n=extra, edges=edges, directed=True)
        canonical = np.asarray(_bliss(graph.canonical_permutation, colour), dtype=np.int64)
        if _lists_preimages():
            canonical = np.argsort(canonical)
        ends = canonical[np.asarray(edges, dtype=np.int64).reshape(-1, 2)]
        sorted_edges = ends[np.lexsort((ends[:, 1], ends[:, 0]))]
        ordered = np.empty(extra, dtype=np.int64)
        ordered[canonical] = colour
        form = np.int64(extra).tobytes() + ordered.tobytes() + sorted_edges.tobytes()
        return _Component(states, classes, canonical, form, graph, colour)


def _bliss(call: Callable[..., Any], colours: list[int]) -> Any:
    """Call BLISS, and let Ctrl-C be Ctrl-C: igraph hears it, but some of its calls hide it in a SystemError."""
    try:
        return call(color=colours)
    except SystemError as error:
        if isinstance(error.__cause__, KeyboardInterrupt) or isinstance(error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise


@lru_cache(maxsize=1)
def _lists_preimages() -> bool:
    """Whether igraph's permutations list who comes to each place (1.0 on) or each vertex's place (before)."""
    import igraph

    edge = igraph.Graph(n=3, edges=[(0, 1)], directed=True).permute_vertices([1, 2, 0]).get_edgelist()[0]
    return tuple(edge) == (2, 0)


# ---------------------------------------------------------------------- generators


def _assemble(mdp: TabularMDP, components: list[_Component], pair_class: IntArray, factor: int) -> Symmetry:
    """Generators with the orbits of the full group, and its order."""
    alike: dict[bytes, list[_Component]] = {}
    for component in components:
        alike.setdefault(component.form, []).append(component)
    kinds = [_Kind(group, _bliss(group[0].graph.automorphism_group, group[0].colours)) for group in alike.values()]
    lonely = np.flatnonzero(_lonely(mdp))
    maker = _Generators(mdp, pair_class)
    # the k-th automorphisms of unlike components act at once: same orbits, fewer generators
    for k in range(max((len(kind.automorphisms) for kind in kinds), default=0)):
        maker.start()
        for kind in kinds:
            if k < len(kind.automorphisms):
                maker.move(kind.first, kind.first, kind.automorphisms[k])
    if lonely.size > 1 or any(len(kind.members) > 1 for kind in kinds):
        maker.start()
        maker.turn_states(lonely)
        for kind in kinds:
            maker.exchange(kind.members)
    if factor > 1:
        maker.start()
        for c in maker.several():
            maker.turn_equal_actions(c)
    if not maker.on_states:
        return Symmetry.trivial(mdp)
    order = None
    if lonely.size <= _MOST_LONELY:
        counts = [kind.order ** len(kind.members) * math.factorial(len(kind.members)) for kind in kinds]
        order = factor * math.factorial(lonely.size) * math.prod(counts)
    whole = _Automorphisms(mdp, kinds, pair_class, lonely)
    return Symmetry(np.array(maker.on_states), np.array(maker.on_pairs), name="Aut(M)", order=order, whole=whole)


class _Kind:
    """Components that are alike, and the automorphisms of one of them."""

    def __init__(self, members: list[_Component], automorphisms: list[list[int]]) -> None:
        self.members, self.first = members, members[0]
        self.automorphisms = [np.asarray(image, dtype=np.int64) for image in automorphisms]
        self.order = _order(self.first, self.first.colours) if automorphisms else 1

    def order_on(self, moved: BoolArray) -> int:
        """Number of permutations that the group makes of the classes of pairs that are marked, in all members."""
        n = self.first.states.size
        marked = np.flatnonzero(moved[self.first.classes])
        if marked.size == 0 or (self.order == 1 and len(self.members) == 1):
            return 1
        colours = list(self.first.colours)
        new = max(colours) + 1
        for k, vertex in enumerate(marked):  # each of them a colour of its own: what is left moves none of them
            colours[n + int(vertex)] = new + k
        count = len(self.members)
        return (self.order // _order(self.first, colours)) ** count * math.factorial(count)


@dataclass(frozen=True)
class _Automorphisms:
    """All automorphisms of an MDP, by components and classes of equal actions; the ``whole`` of a :class:`Symmetry`."""

    mdp: TabularMDP
    kinds: list[_Kind]
    pair_class: IntArray
    lonely: IntArray

    def generators(self) -> tuple[AnyArray, AnyArray]:
        """One generator for each thing that can be done by itself."""
        maker = _Generators(self.mdp, self.pair_class)
        for kind in self.kinds:
            for image in kind.automorphisms:
                maker.start()
                maker.move(kind.first, kind.first, image)
            for some in (kind.members[:2], kind.members)[: min(2, len(kind.members) - 1)]:
                maker.start()
                maker.exchange(some)
        for size in {2, self.lonely.size} if self.lonely.size > 1 else ():
            maker.start()
            maker.turn_states(self.lonely[:size])
        for c in maker.several():
            for length in {2, maker.size(c)}:
                maker.start()
                maker.turn_equal_actions(c, length)
        return np.array(maker.on_states), np.array(maker.on_pairs)

    def order_on(self, pairs: BoolArray) -> int:
        """Number of permutations that they make of these pairs, a union of orbits."""
        sizes = np.bincount(self.pair_class)
        moved = np.zeros(sizes.size, dtype=np.bool_)
        moved[self.pair_class[pairs]] = True
        exchanges = math.prod(math.factorial(int(m)) for m in sizes[moved])
        return exchanges * math.prod(kind.order_on(moved) for kind in self.kinds)


def _order(component: _Component, colours: list[int]) -> int:
    """Number of automorphisms of a component that preserve these colours."""
    count = _bliss(component.graph.count_automorphisms, colours)
    if count < 2**53:
        return int(count)
    automorphisms = _bliss(component.graph.automorphism_group, colours)
    return Group.from_permutations(automorphisms).order  # BLISS counts in floating point; this is exact


class _Generators:
    """Collects generators as permutations of states and pairs."""

    def __init__(self, mdp: TabularMDP, pair_class: IntArray) -> None:
        self.mdp = mdp
        self.on_states: list[AnyArray] = []
        self.on_pairs: list[AnyArray] = []
        self.members = np.argsort(pair_class, kind="stable")
        self.begin = np.concatenate([[0], np.cumsum(np.bincount(pair_class))])

    def start(self) -> None:
        """A new generator, so far the identity."""
        self.on_states.append(np.arange(self.mdp.n_states))
        self.on_pairs.append(np.arange(self.mdp.n_pairs))

    def move(self, source: _Component, target: _Component, image: IntArray) -> None:
        """Let the newest generator take the vertices of one component to those of another."""
        n = source.states.size
        self.on_states[-1][source.states] = target.states[image[:n]]
        images = target.classes[image[n : n + source.classes.size] - n]
        for old, new in zip(source.classes, images, strict=True):
            a, b = self.begin[old], self.begin[new]
            length = self.begin[old + 1] - a
            self.on_pairs[-1][self.members[a : a + length]] = self.members[b : b + length]

    def exchange(self, members: list[_Component]) -> None:
        """Let the newest generator take each of several like components to the next, and the last to the first."""
        if len(members) < 2:
            return
        for source, target in zip(members, members[1:] + members[:1], strict=True):
            back = np.empty_like(target.canonical)
            back[target.canonical] = np.arange(back.size)
            self.move(source, target, back[source.canonical])

    def turn_states(self, states: IntArray) -> None:
        """Let the newest generator take each of these states, which have no pairs, to the next."""
        self.on_states[-1][states] = np.roll(states, 1)

    def several(self) -> list[int]:
        """The classes of equal actions that have more than one member."""
        return [int(c) for c in np.flatnonzero(np.diff(self.begin) > 1)]

    def size(self, c: int) -> int:
        """Number of equal actions in a class."""
        return int(self.begin[c + 1] - self.begin[c])

    def turn_equal_actions(self, c: int, length: int | None = None) -> None:
        """Let the newest generator turn the first actions of a class of equal ones, all by default, by one place."""
        a = int(self.begin[c])
        some = self.members[a : a + (self.size(c) if length is None else length)]
        self.on_pairs[-1][some] = np.roll(some, 1)
