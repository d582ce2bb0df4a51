"""``discover``: the order and the orbits of known automorphism groups, and of random models by brute force."""

from __future__ import annotations

import itertools
import math
import signal
import time
from collections import Counter

import igraph
import networkx as nx
import numpy as np
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st
from tests.mdp.helpers import ZOO, classes, dense, one_sentence, plant, same_partition, shuffled

from burnside.errors import GroupTooLarge
from burnside.mdp import Symmetry, TabularMDP, discover, minimise, quotient, verify, zoo
from burnside.mdp.discover import _bliss


def walk(graph: nx.Graph, copies: int = 1, slip: float = 0.0) -> TabularMDP:
    """A walk on a graph: one action per edge (``copies`` of it), which may fail and stay."""
    graph = nx.convert_node_labels_to_integers(graph)
    n = graph.number_of_nodes()
    rows, states, actions = [], [], []
    for s in range(n):
        for k, c in enumerate(sorted(graph.neighbors(s)) * copies):
            row = np.zeros(n)
            row[c] += 1 - slip
            row[s] += slip
            rows.append(row)
            states.append(s)
            actions.append(k)
    return TabularMDP(rows, np.zeros(len(rows)), np.full(n, 1 / n), 3, pair_state=states, pair_action=actions)


SHRIKHANDE = nx.Graph(
    ((a, b), ((a + x) % 4, (b + y) % 4))
    for a in range(4) for b in range(4) for x, y in ((0, 1), (1, 0), (1, 1))
)  # fmt: skip
ROOK = nx.cartesian_product(nx.complete_graph(4), nx.complete_graph(4))

KNOWN = {
    "triangle": (nx.cycle_graph(3), 6),
    "cycle 12": (nx.cycle_graph(12), 24),
    "directed cycle 9": (nx.cycle_graph(9, create_using=nx.DiGraph), 9),
    "path 2": (nx.path_graph(2), 2),
    "path 7": (nx.path_graph(7), 2),
    "star 6": (nx.star_graph(6), math.factorial(6)),
    "complete 6": (nx.complete_graph(6), 720),
    "K3,4": (nx.complete_bipartite_graph(3, 4), 6 * 24),
    "Petersen": (nx.petersen_graph(), 120),
    "cube": (nx.hypercube_graph(3), 48),
    "tesseract": (nx.hypercube_graph(4), 384),
    "dodecahedron": (nx.dodecahedral_graph(), 120),
    "Heawood": (nx.heawood_graph(), 336),
    "Frucht": (nx.frucht_graph(), 1),
    "rook 4×4": (ROOK, 2 * 24**2),
    "Shrikhande": (SHRIKHANDE, 192),
    "Tutte": (nx.tutte_graph(), 3),
}


@pytest.mark.parametrize("slip", [0.0, 0.25])
@pytest.mark.parametrize("name", KNOWN)
def test_order_of_a_graph(name: str, slip: float) -> None:
    graph, order = KNOWN[name]
    mdp = walk(graph, slip=slip)
    found = discover(mdp)
    assert found.order == order and verify(mdp, found).ok
    if order <= 1152:
        assert sum(1 for _ in found.elements()) == order  # one component, no duplicates: the generators generate it all
        assert found.burnside_counts() == (found.n_state_orbits, found.n_pair_orbits)


@pytest.mark.parametrize(
    ("name", "k"), [("path 2", 3), ("directed cycle 9", 4), ("Petersen", 3), ("cube", 2), ("Frucht", 5)]
)
def test_equal_components_are_exchanged(name: str, k: int) -> None:
    graph, order = KNOWN[name]
    graph = nx.convert_node_labels_to_integers(graph)
    mdp, _ = shuffled(walk(nx.disjoint_union_all([graph] * k)), np.random.default_rng(k))
    found, single = discover(mdp), discover(walk(graph))
    assert found.order == math.factorial(k) * order**k
    assert sorted(np.bincount(found.state_orbits)) == sorted(k * np.bincount(single.state_orbits))
    assert sorted(np.bincount(found.pair_orbits)) == sorted(k * np.bincount(single.pair_orbits))


def test_components_that_refinement_cannot_tell_apart() -> None:
    """The rook's graph and Shrikhande's are strongly regular with equal parameters, but not isomorphic."""
    one, other = (nx.convert_node_labels_to_integers(g) for g in (ROOK, SHRIKHANDE))
    mdp, new = shuffled(walk(nx.disjoint_union_all([one, other, one])), np.random.default_rng(0))
    found = discover(mdp)
    assert found.order == 2 * 1152**2 * 192
    assert sorted(np.bincount(found.state_orbits)) == [16, 32]
    odd = set(new[16:32].tolist())
    assert {s for s in range(48) if found.state_orbits[s] == found.state_orbits[new[16]]} == odd
    assert minimise(mdp).mdp.n_states == 1  # the coarsest homomorphism needs no group


@pytest.mark.parametrize("copies", [2, 3])
@pytest.mark.parametrize("name", ["path 2", "cycle 12", "Petersen", "Frucht"])
def test_duplicate_actions_give_factorials(name: str, copies: int) -> None:
    graph, order = KNOWN[name]
    mdp = walk(graph, copies)
    pairs = walk(graph).n_pairs
    found = discover(mdp)
    assert found.order == order * math.factorial(copies) ** pairs
    single = discover(walk(graph))
    assert found.n_pair_orbits == single.n_pair_orbits and found.n_state_orbits == single.n_state_orbits
    assert quotient(mdp, found).mdp.n_pairs == single.n_pair_orbits


def test_unequal_multiplicities_break_the_symmetry() -> None:
    """A path whose one end has its action twice: the mirror is gone, the swap of the two copies is left."""
    mdp = TabularMDP(
        [[0, 1, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0]], np.zeros(5), [1, 0, 0], 2, pair_state=[0, 0, 1, 1, 2]
    )
    found = discover(mdp)
    assert found.order == 2 and found.n_state_orbits == 3 and found.n_pair_orbits == 4


# ---------------------------------------------------------------------- brute force

ROWS = [(1.0,), (0.5, 0.5), (0.25, 0.75), (0.25, 0.25, 0.5)]


@st.composite
def coarse(draw: st.DrawFn) -> TabularMDP:
    """Tiny random MDPs with few different numbers, hence many accidental symmetries."""
    n = draw(st.integers(1, 5))
    H = draw(st.integers(1, 2))
    timed = draw(st.booleans())
    P, R, states = [], [], []
    some = draw(st.integers(0, n - 1))  # at least this one is not terminal
    for s in range(n):
        for _ in range(draw(st.integers(int(s == some), 3))):
            weights = draw(st.sampled_from([w for w in ROWS if len(w) <= n]))
            targets = draw(st.permutations(range(n)))
            row = np.zeros(n)
            row[list(targets[: len(weights)])] = weights
            P.append(row)
            R.append(draw(st.tuples(*[st.sampled_from([0.0, 1.0])] * (H if timed else 1))))
            states.append(s)
    rewards = np.array(R).T
    p0 = np.zeros(n)
    p0[draw(st.integers(0, n - 1))] = 1
    return TabularMDP(P, rewards if timed else rewards[0], p0, H, pair_state=states)


def brute_force(mdp: TabularMDP) -> tuple[int, list[int], list[int]]:
    """Order and orbits of the automorphism group, by trying every permutation of the states."""
    P, R = dense(mdp)
    order = 0
    state_links, pair_links = [], []
    for g in itertools.permutations(range(mdp.n_states)):
        back = np.argsort(g)
        ways = 1
        links = []
        for s in range(mdp.n_states):
            here = Counter((tuple(R[:, i]), tuple(P[i][back])) for i in mdp.pairs_of(s))
            there = Counter((tuple(R[:, j]), tuple(P[j])) for j in mdp.pairs_of(g[s]))
            if here != there:
                ways = 0
                break
            ways *= math.prod(math.factorial(m) for m in here.values())
            links += [
                (i, j)
                for i in mdp.pairs_of(s)
                for j in mdp.pairs_of(g[s])
                if (R[:, i] == R[:, j]).all() and (P[i][back] == P[j]).all()
            ]
        order += ways
        if ways:
            state_links.append(g)
            pair_links += links
    chains = []
    for i, j in pair_links:
        swap = list(range(mdp.n_pairs))
        swap[i], swap[j] = j, i
        chains.append(swap)
    return order, classes(state_links, mdp.n_states), classes(chains, mdp.n_pairs)


@settings(deadline=None, max_examples=150)
@given(coarse())
def test_random_models_by_brute_force(mdp: TabularMDP) -> None:
    found = discover(mdp)
    order, states, pairs = brute_force(mdp)
    assert found.order == order
    assert found.state_orbits.tolist() == states and found.pair_orbits.tolist() == pairs


def test_terminal_states_were_among_them() -> None:
    assert find(coarse(), lambda mdp: mdp.n_terminal >= 2 and discover(mdp).order > 1).n_states <= 5


def some_pairs(mdp: TabularMDP, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random(mdp.n_pairs) < 0.3


@settings(deadline=None, max_examples=150)
@given(coarse(), st.integers(0, 99))
def test_elements_are_as_many_as_the_order_says(mdp: TabularMDP, seed: int) -> None:
    found = discover(mdp)
    if found.order > 3_000:
        return
    elements = list(found.elements())
    P, R = dense(mdp)
    assert len({(*g, *h) for g, h in ((tuple(g), tuple(h)) for g, h in elements)}) == len(elements) == found.order
    for g, h in elements:
        assert (mdp.pair_state[h] == g[mdp.pair_state]).all()
        assert (R[:, h] == R).all() and (P[h][:, g] == P).all()
    mask = some_pairs(mdp, seed)
    moved = {int(h[i]) for _, h in elements for i in np.flatnonzero(mask)}
    assert found.order_on(mdp, mask) == len({tuple(int(h[i]) for i in sorted(moved)) for _, h in elements})
    declared = Symmetry([g for g, _ in elements], [h for _, h in elements])
    assert declared.order == found.order and declared.order_on(mdp, mask) == found.order_on(mdp, mask)
    assert found.burnside_counts() == (found.n_state_orbits, found.n_pair_orbits)


@settings(deadline=None, max_examples=30)
@given(coarse())
def test_all_of_a_product_of_symmetries(mdp: TabularMDP) -> None:
    found = discover(mdp)
    if found.order <= 3_000:
        assert (found * Symmetry.trivial(mdp)).order == found.order == sum(1 for _ in (found * found).elements())


@pytest.mark.parametrize(
    ("graph", "copies"), [(nx.disjoint_union(nx.cycle_graph(3), nx.path_graph(3)), 1), (nx.path_graph(3), 3)]
)
def test_unlike_components_and_equal_actions_are_moved_one_by_one(graph: nx.Graph, copies: int) -> None:
    mdp = walk(graph, copies)
    found = discover(mdp)
    assert found.n_generators < len(found.all_generators()[0])
    assert sum(1 for _ in found.elements()) == found.order
    twice = walk(nx.disjoint_union(nx.disjoint_union(nx.path_graph(2), nx.path_graph(2)), nx.path_graph(2)))
    assert sum(1 for _ in discover(twice).elements()) == discover(twice).order == 2**3 * 6


@settings(deadline=None, max_examples=60)
@given(coarse(), st.integers(0, 10**6))
def test_relabelling_changes_nothing(mdp: TabularMDP, seed: int) -> None:
    other, new = shuffled(mdp, np.random.default_rng(seed))
    here, there = discover(mdp), discover(other)
    assert here.order == there.order
    assert same_partition(here.state_orbits, there.state_orbits[new])
    assert sorted(np.bincount(here.pair_orbits)) == sorted(np.bincount(there.pair_orbits))
    assert (minimise(mdp).mdp.n_states, minimise(mdp).mdp.n_pairs) == (
        minimise(other).mdp.n_states,
        minimise(other).mdp.n_pairs,
    )


@pytest.mark.parametrize("model", [k for k in ZOO if k != "ring 6"])
def test_relabelling_the_zoo_changes_nothing(model: str) -> None:
    mdp = ZOO[model]()
    other, new = shuffled(mdp, np.random.default_rng(len(model)))
    here, there = discover(mdp), discover(other)
    assert here.order == there.order
    assert same_partition(here.state_orbits, there.state_orbits[new])
    assert sorted(np.bincount(here.pair_orbits)) == sorted(np.bincount(there.pair_orbits))


# ---------------------------------------------------------------------- probabilities and rewards


def fork(*weights: float) -> TabularMDP:
    """One state that leads to absorbing leaves with the given probabilities."""
    n = len(weights) + 1
    P = np.eye(n)
    P[0] = [0, *weights]
    return TabularMDP(P, np.zeros(n), np.eye(n)[0], 2)


@pytest.mark.parametrize(
    ("weights", "order"),
    [
        ((0.5, 0.5), 2),
        ((0.4, 0.6), 1),
        ((0.5, 0.25, 0.25), 2),
        ((0.25, 0.25, 0.25, 0.25), 24),
        ((0.1, 0.1, 0.1, 0.2, 0.2, 0.3), 12),
        ((0.5 + 1e-6, 0.5 - 1e-6), 1),
        ((0.5 + 1e-13, 0.5 - 1e-13), 2),
    ],
)
def test_probabilities_that_differ_are_not_merged(weights: tuple[float, ...], order: int) -> None:
    mdp = fork(*weights)
    found = discover(mdp)
    assert found.order == order and verify(mdp, found).ok
    assert minimise(mdp).mdp.n_states == 1  # nothing pays, so nothing need be told apart


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("change", [1e-6, 0.5])
def test_rewards_that_differ_are_not_merged(change: float, timed: bool) -> None:
    mdp = walk(nx.petersen_graph())
    R = np.zeros((3, mdp.n_pairs)) if timed else np.zeros(mdp.n_pairs)
    R[..., 0] += np.array([0, change, 0]) if timed else change
    one = mdp.replace(R=R)
    assert discover(one).order == 120 // 30  # the stabilizer of an arc of the Petersen graph
    assert discover(one).n_pair_orbits > 1
    with_all = mdp.replace(R=np.full(mdp.n_pairs, change))
    assert discover(with_all).order == 120


def test_incoming_transitions_count() -> None:
    """Two absorbing states of which only one can be entered: the same future, but no automorphism swaps them."""
    mdp = TabularMDP(np.eye(3)[[1, 1, 2]], np.zeros(3), [1, 0, 0], 2)
    assert discover(mdp).order == 1 and minimise(mdp).mdp.n_states == 1


def test_no_symmetry_in_deep_sea() -> None:
    for n in (2, 3, 6, 12):
        mdp = zoo.deep_sea(n)
        found = discover(mdp)
        assert found.order == 1 and found.n_pair_orbits == mdp.n_pairs


def test_progress_is_reported() -> None:
    seen: list[tuple[int, int]] = []
    discover(zoo.ring(5), progress=lambda done, total: seen.append((done, total)))
    assert seen[0][0] == 0 and seen[-1][0] == seen[-1][1] > 1
    assert [d for d, _ in seen] == sorted(d for d, _ in seen)


def test_generic_models_have_the_planted_group() -> None:
    for group, order in (("Z4", 4), ("S3", 6), ("V4", 4), ("Z2xZ3", 6)):
        found = plant(5, group, ("regular", "points"), ("points", "two fixed"), density=1.0, timed=True)
        assert discover(found.mdp).order == order


def test_huge_groups_are_refused_in_one_sentence() -> None:
    """At n = 6 the order has more than 308 digits: it must not be turned into a float on the way to the message."""
    for n in (5, 6):
        found = discover(zoo.ring(n))
        assert found.order > 10**200
        one_sentence(GroupTooLarge, found.burnside_counts, "too large to enumerate", "generators")


def test_huge_order_can_be_shown() -> None:
    """Python refuses to print integers beyond 4300 digits; a symmetry of the ring at n = 9 has such an order."""
    found = discover(zoo.ring(9))
    assert isinstance(found, Symmetry) and found.order.bit_length() > 4300 * math.log2(10)
    assert "Aut" in repr(found)
    one_sentence(GroupTooLarge, lambda: next(iter(found.elements())), "too large")


@settings(deadline=None, max_examples=100)
@given(coarse())
def test_minimise_random_models_by_naive_refinement(mdp: TabularMDP) -> None:
    """States agree iff they offer the same set of (rewards, probability of every class); numbers are exact here."""
    P, R = dense(mdp)
    colour = [0] * mdp.n_states
    while True:
        kinds = []
        for i in range(mdp.n_pairs):
            mass = Counter()
            for c in range(mdp.n_states):
                mass[colour[c]] += P[i, c]
            kinds.append((tuple(R[:, i]), frozenset((c, p) for c, p in mass.items() if p)))
        offers = [(colour[s], frozenset(kinds[i] for i in mdp.pairs_of(s))) for s in range(mdp.n_states)]
        refined = [list(dict.fromkeys(offers)).index(o) for o in offers]
        if len(set(refined)) == len(set(colour)):
            break
        colour = refined
    least = minimise(mdp)
    assert same_partition(least.sigma, colour)
    assert least.mdp.n_pairs == sum(len(offer) for _, offer in set(offers))
    assert least.hom.check(mdp, least.mdp).ok


def test_ctrl_c_inside_bliss_is_ctrl_c() -> None:
    """A signal in the middle of a call: igraph raises a SystemError by itself.

    How long a graph takes depends on the machine, so the signal comes after the time that a graph with a quarter of
    the vertices took, about an eighth of its own; a call that ended all the same is tried with the next graph.
    """

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    def cube(d: int) -> igraph.Graph:
        edges = [(s, s ^ (1 << k)) for s in range(2**d) for k in range(d)]
        return igraph.Graph(n=2**d, edges=edges, directed=True)

    def call(graph: igraph.Graph) -> float:
        began = time.perf_counter()
        _bliss(graph.canonical_permutation, [0] * graph.vcount())
        return time.perf_counter() - began

    wait = call(cube(12))
    before = signal.signal(signal.SIGALRM, stop)
    try:
        for d in (14, 16):
            graph = cube(d)
            signal.setitimer(signal.ITIMER_REAL, wait)
            try:
                wait = call(graph)
            except KeyboardInterrupt:
                return
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    pytest.fail("no call was interrupted")
