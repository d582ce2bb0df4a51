"""The mined ring game against an enumeration of App. C that shares no code with the library."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.mdp.helpers import classes, coarser, same_partition

from burnside.mdp import TabularMDP, discover, minimise, quotient, solve, verify, zoo
from burnside.mdp.reach import reachable

MOVES = (-2, -1, 1, 2)
State = tuple[int, int, frozenset[int]]  # goal, agent, mined cells


# ---------------------------------------------------------------------- the oracle


def game_states(n: int) -> list[State]:
    """All states of App. C with the goal as part of the state: n goals, n positions, 2^(n−1) boards."""
    found = []
    for goal, agent in itertools.product(range(n), repeat=2):
        others = [c for c in range(n) if c != goal]
        for bits in itertools.product((0, 1), repeat=n - 1):
            found.append((goal, agent, frozenset(c for c, b in zip(others, bits, strict=True) if b)))
    return found


def play(n: int, state: State, cell: int) -> tuple[State, float]:
    """Enter ``cell``: the next state and the item of that cell; on the goal nothing happens any more."""
    goal, agent, mines = state
    if agent == goal:
        return state, 0.0
    reward = 10.0 if cell == goal else -1.0 if cell in mines else 0.0
    return (goal, cell, mines), reward


def graph_automorphisms(n: int) -> list[tuple[int, ...]]:
    """All permutations of the cells that preserve 'differ by 1 or 2', by trying every one of them."""
    adjacent = {(q, (q + m) % n) for q in range(n) for m in MOVES}
    return [g for g in itertools.permutations(range(n)) if all((g[q], g[v]) in adjacent for q, v in adjacent)]


@cache
def group(n: int, name: str) -> tuple[tuple[int, ...], ...]:
    """All elements of a declared group as permutations of the cells."""
    rotations = [tuple((c + k) % n for c in range(n)) for k in range(n)]
    if name == "Z":
        return tuple(rotations)
    if name == "D":
        return tuple(rotations + [tuple((k - c) % n for c in range(n)) for k in range(n)])
    return tuple(graph_automorphisms(n))


def act(g: tuple[int, ...], s: State) -> State:
    goal, agent, mines = s
    return g[goal], g[agent], frozenset(g[c] for c in mines)


@cache
def oracle(n: int, name: str) -> tuple[int, int, int, int]:
    """Orbits of states and of pairs by search over all elements, then both again by Burnside's lemma."""
    elements = group(n, name)
    states = game_states(n)
    pairs = [(s, (s[1] + m) % n) for s in states for m in MOVES]
    counts = []
    for points, move in (
        (states, lambda g, s: act(g, s)),
        (pairs, lambda g, p: (act(g, p[0]), g[p[1]])),
    ):
        seen: set[Any] = set()
        orbits = 0
        for point in points:
            if point not in seen:
                orbits += 1
                seen.update(move(g, point) for g in elements)
        counts.append(orbits)
    fixed_states = sum(act(g, s) == s for g in elements for s in states)
    fixed_pairs = sum(act(g, s) == s and g[v] == v for g in elements for s, v in pairs)
    assert fixed_states % len(elements) == fixed_pairs % len(elements) == 0
    return counts[0], counts[1], fixed_states // len(elements), fixed_pairs // len(elements)


def library_state(n: int, s: int) -> State:
    """What the library's state number means, by its documented layout."""
    boards = 2 ** (n - 1)
    goal, agent, bits = s // boards // n, s // boards % n, s % boards
    return goal, agent, frozenset((goal + 1 + k) % n for k in range(n - 1) if bits >> k & 1)


# ---------------------------------------------------------------------- counts


@pytest.mark.parametrize(
    ("name", "order", "states", "pairs"), [("Z", 5, 80, 320), ("D", 10, 42, 160), ("graph", 120, 13, 28)]
)
def test_counts_at_five(name: str, order: int, states: int, pairs: int) -> None:
    ring = zoo.ring(n=5)
    symmetry = ring.symmetry(name)
    q = quotient(ring, symmetry)
    assert (ring.n_states, ring.n_pairs, ring.successors, ring.H) == (400, 1600, 1, 20)
    assert symmetry.order == order == sum(1 for _ in symmetry.elements())
    assert (q.mdp.n_states, q.mdp.n_pairs) == (states, pairs) == symmetry.burnside_counts()
    assert oracle(5, name) == (states, pairs, states, pairs)


def test_discover_and_minimise_at_five() -> None:
    ring = zoo.ring(n=5)
    found, graph = discover(ring), ring.symmetry("graph")
    assert verify(ring, found).ok
    assert found.n_state_orbits <= 13 and found.n_pair_orbits <= 28
    assert coarser(found.state_orbits, graph.state_orbits) and coarser(found.pair_orbits, graph.pair_orbits)
    small = minimise(ring)
    assert (small.mdp.n_states, small.mdp.n_pairs) == (8, 18)
    assert coarser(small.sigma, found.state_orbits) and coarser(small.hom.alpha, found.pair_orbits)


@pytest.mark.parametrize("name", ["Z", "D", "graph"])
@pytest.mark.parametrize("n", [6, 7])
def test_counts_by_brute_force(n: int, name: str) -> None:
    ring = zoo.ring(n)
    symmetry = ring.symmetry(name)
    assert verify(ring, symmetry).ok
    expected = oracle(n, name)
    assert (symmetry.n_state_orbits, symmetry.n_pair_orbits) == expected[:2] == expected[2:]
    assert symmetry.burnside_counts() == expected[:2]
    assert symmetry.order == len(group(n, name))


@pytest.mark.parametrize("name", ["Z", "D", "graph"])
def test_counts_by_brute_force_at_eight(name: str) -> None:
    ring = zoo.ring(8)
    symmetry = ring.symmetry(name)
    assert verify(ring, symmetry).ok
    expected = oracle(8, name)
    assert (symmetry.n_state_orbits, symmetry.n_pair_orbits) == expected[:2] == expected[2:]
    assert coarser(discover(ring).pair_orbits, symmetry.pair_orbits)


@pytest.mark.parametrize(("n", "order"), [(5, 120), (6, 48), (7, 14), (8, 16), (9, 18)])
def test_order_of_the_graph_group(n: int, order: int) -> None:
    """C5(1,2) is complete, C6(1,2) the octahedron (48), from 7 on only the dihedral group is left."""
    assert len(graph_automorphisms(n)) == order
    assert zoo.ring(n).symmetry("graph").order == order


@pytest.mark.parametrize("n", [5, 6])
def test_minimise_is_the_coarsest(n: int) -> None:
    """Partition refinement by hand: states with the same set of (reward, class of the next state)."""
    states = game_states(n)
    colour = dict.fromkeys(states, 0)
    while True:
        signature: dict[State, Any] = {}
        for s in states:
            outcomes = (play(n, s, (s[1] + m) % n) for m in MOVES)
            signature[s] = (colour[s], frozenset((r, colour[c]) for c, r in outcomes))
        numbers = {value: k for k, value in enumerate(dict.fromkeys(signature.values()))}
        refined = {s: numbers[signature[s]] for s in states}
        if len(numbers) == len(set(colour.values())):
            break
        colour = refined
    pairs = sum(len(sig[1]) for sig in {signature[s] for s in states})
    ring = zoo.ring(n)
    q = minimise(ring)
    assert (q.mdp.n_states, q.mdp.n_pairs) == (len(set(colour.values())), pairs)
    assert same_partition(q.sigma, [colour[library_state(n, s)] for s in range(ring.n_states)])


# ---------------------------------------------------------------------- dynamics


@pytest.mark.parametrize("n", [5, 6, 7])
def test_table_is_the_game_of_the_paper(n: int) -> None:
    ring = zoo.ring(n)
    number = {library_state(n, s): s for s in range(ring.n_states)}
    assert set(number) == set(game_states(n))
    assert ring.P.nnz == ring.n_pairs and (ring.P.data == 1.0).all()
    for i in range(ring.n_pairs):
        state = library_state(n, int(ring.pair_state[i]))
        successor, reward = play(n, state, (state[1] + MOVES[int(ring.pair_action[i])]) % n)
        assert ring.R[i] == reward and ring.P.indices[i] == number[successor]
    for s in range(ring.n_states):
        goal, agent, mines = library_state(n, s)
        expected = 0.7 ** len(mines) * 0.3 ** (n - 1 - len(mines)) / (n - 1) if agent == 0 != goal else 0.0
        assert ring.p0[s] == pytest.approx(expected, abs=1e-15)
    assert 4 * n == ring.H


def test_declared_group_acts_as_on_cells() -> None:
    """The image of every state and pair under every generator is the naive one on cells."""
    n = 6
    ring = zoo.ring(n)
    number = {library_state(n, s): s for s in range(ring.n_states)}
    for name in ("Z", "D", "graph"):
        symmetry = ring.symmetry(name)
        naive = {tuple(number[act(g, library_state(n, s))] for s in range(ring.n_states)): g for g in group(n, name)}
        for on_states, on_pairs in zip(symmetry.on_states, symmetry.on_pairs, strict=True):
            g = naive[tuple(on_states.tolist())]
            for i, j in enumerate(on_pairs):
                s, t = library_state(n, int(ring.pair_state[i])), library_state(n, int(ring.pair_state[j]))
                entered = (s[1] + MOVES[int(ring.pair_action[i])]) % n
                assert t == act(g, s) and (t[1] + MOVES[int(ring.pair_action[j])]) % n == g[entered]


def test_reachable_part() -> None:
    """The goal is never drawn on the start cell: 4 goals × 5 positions × 16 boards, the goal's own included."""
    ring = zoo.ring(5)
    mask = reachable(ring)
    seen = {library_state(5, s) for s in range(ring.n_states) if ring.p0[s] > 0}
    assert len(seen) == 64
    for _ in range(ring.H - 1):
        seen |= {play(5, s, (s[1] + m) % 5)[0] for s in seen for m in MOVES}
    assert mask.sum() == 320 == len(seen)
    assert {library_state(5, int(s)) for s in np.flatnonzero(mask)} == seen
    assert reachable(ring.replace(H=1)).sum() == 64
    assert reachable(ring.replace(H=2)).sum() == 320


@pytest.mark.parametrize("n", [5, 6, 7])
def test_same_game_as_a_graph(n: int) -> None:
    """``ring`` and the same game through Defs. 3–6 agree state by state: rewards, transitions, V*."""
    ring, game = zoo.ring(n), zoo.ring_game(n)
    table = game.tabular()
    index = list(game.states())
    assert (game.n_states, game.n_pairs) == (table.n_states, table.n_pairs) == (ring.n_states, ring.n_pairs)
    number = {library_state(n, s): s for s in range(ring.n_states)}
    other = np.empty(table.n_states, dtype=np.int64)
    for i, (x, q) in enumerate(index):
        other[i] = number[x.index("end"), q, frozenset(c for c, item in enumerate(x) if item == "mine")]
    moves = [int(table.action_name(a)) for a in table.pair_action]
    twin = ring.pair_index(other[table.pair_state], [MOVES.index(m) for m in moves])
    assert sorted(twin) == list(range(ring.n_pairs))
    assert (ring.R[twin] == table.R).all()
    assert (other[table.P.indices] == ring.P.indices[twin]).all()
    assert np.abs(solve(table).V - solve(ring).V[:, other]).max() == 0
    rotation = table.symmetry("Z")
    assert verify(table, rotation).ok and (rotation.order, table.H) == (n, ring.H)
    assert same_partition(rotation.state_orbits, ring.symmetry("Z").state_orbits[other])
    structure = game.orbits(game.symmetry("Z"))
    assert (structure.quotient_states, structure.quotient_pairs) == oracle(n, "Z")[:2]
    assert structure.free and structure.quotient_successors == 1


def test_same_value_after_quotient() -> None:
    """From cell 0 the goal is one or two jumps away, and a mine may lie on every way there."""
    for n in (5, 6, 8):
        ring: TabularMDP = zoo.ring(n)
        value = solve(ring).value
        for name in ("Z", "D", "graph"):
            assert solve(quotient(ring, ring.symmetry(name)).mdp).value == pytest.approx(value, abs=1e-9)


def test_oracle_orbits_are_those_of_generators() -> None:
    """A check of the helper that other tests rely on."""
    ring = zoo.ring(5)
    for name in ("Z", "D", "graph"):
        symmetry = ring.symmetry(name)
        assert classes(symmetry.on_states, ring.n_states) == symmetry.state_orbits.tolist()
        assert classes(symmetry.on_pairs, ring.n_pairs) == symmetry.pair_orbits.tolist()
