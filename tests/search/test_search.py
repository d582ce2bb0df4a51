"""The searches against exact distances; every solution is replayed on the state that was given."""

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnside.envs.cube import CubeSpec, CubeSymmetry, apply_moves, scramble, solved
from burnside.envs.cube.core import is_solved
from burnside.envs.cube.tables import ball, two_values
from burnside.search import AStarConfig, BeamConfig, CubePuzzle, astar, beam, greedy
from burnside.search.puzzle import pack_keys
from burnside.search.result import SearchResult

TWO, THREE = CubeSpec(2), CubeSpec(3)


def zero(states: np.ndarray) -> np.ndarray:
    return np.zeros(len(states), np.float32)


def noisy(states: np.ndarray) -> np.ndarray:
    """Misplaced stickers: a heuristic that is neither exact nor admissible."""
    return (states != np.repeat(np.arange(6, dtype=np.uint8), states.shape[1] // 6)).mean(axis=1) * 12


def check(spec: CubeSpec, state: np.ndarray, found: SearchResult) -> None:
    """A solution solves; otherwise the partial path leads to the partial state."""
    if found.solved:
        assert found.partial is None and found.reason == "goal" and found.length == len(found.moves)
        assert bool(is_solved(spec, apply_moves(spec, state, list(found.moves))))
        assert spec.parse(found.text) == list(found.moves)
    else:
        assert found.partial is not None and found.moves == () and found.length is None and found.text == ""
        assert (apply_moves(spec, state, list(found.partial.moves)) == found.partial.state).all()


def ball_heuristic(spec: CubeSpec, depth: int):
    """Exact distances within a ball and one more than its radius outside."""
    puzzle = CubePuzzle(spec)
    states, distances = ball(spec, depth)
    known = {key.tobytes(): d for key, d in zip(puzzle.keys(states), distances.tolist(), strict=True)}
    return lambda states: np.array([known.get(k.tobytes(), depth + 1) for k in puzzle.keys(states)], np.float32)


# ---------------------------------------------------------------------- exact heuristics


def test_with_exact_values_all_searches_are_optimal() -> None:
    states, _ = scramble(TWO, seeds=range(60), lengths=np.arange(60) % 25)
    exact, puzzle = two_values(states).astype(int), CubePuzzle(TWO)
    assert exact.max() >= 11
    by_beam = beam(puzzle, states, two_values, BeamConfig(width=3))
    by_descent = greedy(puzzle, states, two_values)
    for k, state in enumerate(states):
        alone = astar(puzzle, state, two_values, AStarConfig(weight=1.0, batch=1))
        merged = astar(
            puzzle,
            state,
            two_values,
            AStarConfig(weight=1.0, batch=7),
            canonical=CubeSymmetry(TWO, "position").canonicalizer,
        )
        for found in (alone, merged, by_beam[k], by_descent[k]):
            check(TWO, state, found)
            assert found.length == exact[k]
        # With exact values nothing but the states along one shortest path is expanded.
        assert alone.expanded == exact[k] and alone.generated == 12 * exact[k]
        assert by_descent[k].generated == 12 * exact[k]


def test_beam_with_exact_distances_of_a_ball() -> None:
    states, _ = scramble(THREE, seeds=range(12), lengths=4)
    heuristic = ball_heuristic(THREE, 4)
    for state, found in zip(states, beam(CubePuzzle(THREE), states, heuristic, BeamConfig(width=2)), strict=True):
        check(THREE, state, found)
        assert found.length == heuristic(state[None])[0]


# ---------------------------------------------------------------------- no heuristic: breadth first


@pytest.mark.parametrize("depth", [0, 1, 2, 3, 4])
def test_with_no_heuristic_a_star_is_breadth_first(depth: int) -> None:
    states, distances = ball(THREE, depth)
    rows = np.flatnonzero(distances == depth)[:: max(1, int((distances == depth).sum()) // 3)]
    sizes = np.cumsum([0, 1, 12, 114, 1068, 10011])
    for state in states[rows]:
        found = astar(CubePuzzle(THREE), state, zero, AStarConfig(weight=1.0, batch=1))
        check(THREE, state, found)
        assert found.length == depth
        # A goal of layer d is popped after all of layer d − 1 and before the last of layer d.
        assert sizes[depth] <= found.expanded < sizes[depth + 1]


def test_cheaper_ways_are_reopened() -> None:
    """A line 0 … 9 with a detour: the heuristic lures the search over the long way to node 5 first."""

    class Line:
        """Node 0 has the children 1 and 6; 1 → 5 (short), 6 → 7 → 8 → 5 (long); 5 → 9, the goal."""

        n_moves = 2
        after = np.array(
            [[1, 6], [5, 1], [2, 2], [3, 3], [4, 4], [9, 5], [7, 6], [8, 7], [5, 8], [9, 9]], dtype=np.uint8
        )
        h = np.array([0, 9, 0, 0, 0, 20, 0, 0, 0, 0], dtype=np.float32)

        def children(self, states: np.ndarray) -> np.ndarray:
            return self.after[states[:, 0]][:, :, None]

        def is_goal(self, states: np.ndarray) -> np.ndarray:
            return states[:, 0] == 9

        def keys(self, states: np.ndarray) -> np.ndarray:
            return pack_keys(states, 10)

        def format(self, moves: Iterable[int]) -> str:
            return "".join(map(str, moves))

    line = Line()
    found = astar(line, np.zeros(1, np.uint8), lambda s: line.h[s[:, 0]], AStarConfig(weight=1.0, batch=1))
    # 0, 6, 7, 8 are expanded first; 5 is found with g = 4, then by way of 1 (f = 10) with g = 2, and that one counts.
    assert found.solved and found.moves == (0, 0, 0)
    assert found.expanded == 6 and found.evaluated == 7  # 0 6 7 8 1 5; a reopened state is not evaluated again


def test_nodes_are_admitted_as_the_plain_twin_does() -> None:
    """Ten rounds of random children with few keys: many are known, some are cheaper, some are met twice in a round."""
    from burnside.search import kernels, plain

    room = 1 + 10 * 5 * 4
    found = []
    for code in (plain, kernels):
        rng = np.random.default_rng(0)
        columns = [np.zeros((room, 3), np.uint8), np.zeros((room, 1), np.uint64)]
        columns += [np.full(room, -1, kind) for kind in (np.int32, np.int16, np.int32, np.int32)]
        nodes = plain.Nodes(*columns, np.zeros(room, np.bool_), np.full(1024, -1, np.int32))
        nodes.depth[0] = 0
        kernels.rehash(nodes.table, nodes.keys, nodes.superseded, 1)
        count = 1
        for _ in range(10):
            parents = rng.integers(0, count, size=5).astype(np.int32)
            states = rng.integers(0, 4, size=(5, 4, 3)).astype(np.uint8)
            count = code.admit(nodes, states, pack_keys(states.reshape(-1, 3), 4).reshape(5, 4, 1), parents, count)
        found.append((nodes, count))
    (mine, count), (theirs, other) = found
    assert count == other < room and mine.superseded.any() and (mine.source[:count] >= 0).any()
    for name, one, two in zip(mine._fields, mine, theirs, strict=True):
        assert name == "table" or np.array_equal(one, two), name
    assert sorted(theirs.table[theirs.table >= 0]) == np.flatnonzero(~mine.superseded[:count]).tolist()


# ---------------------------------------------------------------------- canonical forms


class FromSolved(CubePuzzle):
    """The way back: from the solved cube to any conjugate of a target, so that the start has the whole symmetry."""

    def __init__(self, spec: CubeSpec, target: np.ndarray) -> None:
        super().__init__(spec)
        self.form = CubeSymmetry(spec, "conjugation+mirror").canonicalizer
        self.target = self.form(target)[0]

    def is_goal(self, states: np.ndarray) -> np.ndarray:
        return (self.form(states)[0] == self.target).all(axis=1)


def test_canonical_forms_shrink_a_symmetric_search_at_equal_length() -> None:
    target = apply_moves(THREE, solved(THREE), "R U F D'")
    puzzle, config = FromSolved(THREE, target), AStarConfig(weight=1.0, batch=1)
    raw = astar(puzzle, solved(THREE), zero, config)
    merged = astar(puzzle, solved(THREE), zero, config, canonical=puzzle.form)
    assert raw.length == merged.length == 4
    # Not by 48: the raw search has 48 goals in its last layer and meets one of them early.
    assert raw.generated > 5 * merged.generated
    for found in (raw, merged):
        assert puzzle.is_goal(apply_moves(THREE, solved(THREE), list(found.moves))[None])[0]


def test_a_symmetric_ball_shrinks_by_the_order_of_the_group() -> None:
    """To the end of layer 4: 1 + 12 + 114 + 1068 expansions raw, 1 + 1 + 5 + 25 classes."""

    class Nowhere(CubePuzzle):
        def is_goal(self, states: np.ndarray) -> np.ndarray:
            return np.zeros(len(states), np.bool_)

    for canonical, layer in ((None, [1, 12, 114, 1068]), (CubeSymmetry(THREE, "conjugation+mirror"), [1, 1, 5, 25])):
        form = None if canonical is None else canonical.canonicalizer
        found = astar(
            Nowhere(THREE), solved(THREE), zero, AStarConfig(weight=1.0, batch=1, cap=12 * sum(layer)), canonical=form
        )
        assert found.expanded == sum(layer) and found.reason == "node cap reached"
        assert found.evaluated == sum(layer) + {1068: 10011, 25: 219}[layer[-1]]


def test_canonical_forms_merge_next_to_nothing_around_a_state_without_symmetry() -> None:
    """The images of such a state are far away, so the search never meets them: forms help where they act nearby."""
    state, _ = scramble(THREE, [1], [30])
    config = AStarConfig(batch=50, cap=12_000)
    form = CubeSymmetry(THREE, "conjugation+mirror").canonicalizer
    raw, merged = (astar(CubePuzzle(THREE), state, noisy, config, canonical=c) for c in (None, form))
    assert raw.evaluated == merged.evaluated


def test_large_tables_lose_and_double_nothing() -> None:
    """All of layers 0 to 4 expanded, through several enlargements of the tables: layer 5 has 93 840 states."""
    target = apply_moves(THREE, solved(THREE), "R U F D' L B'")
    puzzle = FromSolved(THREE, target)
    cap = 12 * (1 + 12 + 114 + 1068 + 10011)
    found = astar(puzzle, solved(THREE), zero, AStarConfig(weight=1.0, batch=500, cap=cap))
    assert not found.solved and found.generated == cap
    assert found.evaluated == 1 + 12 + 114 + 1068 + 10011 + 93840


def test_position_merges_rotations_of_the_two_cube() -> None:
    states, _ = scramble(TWO, seeds=range(200), lengths=5)
    state = states[np.argmax(two_values(states) == 5)][None]
    config = AStarConfig(weight=1.0, batch=64)
    raw = astar(CubePuzzle(TWO), state, zero, config)
    merged = astar(CubePuzzle(TWO), state, zero, config, canonical=CubeSymmetry(TWO, "position").canonicalizer)
    for found in (raw, merged):
        check(TWO, state[0], found)
        assert found.length == 5
    assert raw.generated > 5 * merged.generated


@pytest.mark.parametrize("name", ["conjugation", "conjugation+mirror+inverse"])
def test_forms_that_keep_distances_keep_the_length(name: str) -> None:
    form = CubeSymmetry(THREE, name).canonicalizer
    states, distances = ball(THREE, 3)
    for row in np.flatnonzero(distances == 3)[::200]:
        found = astar(CubePuzzle(THREE), states[row], zero, AStarConfig(weight=1.0, batch=1), canonical=form)
        check(THREE, states[row], found)
        assert found.length == 3


# ---------------------------------------------------------------------- limits


def test_node_cap_gives_the_best_partial_result() -> None:
    state, _ = scramble(THREE, [3], [20])
    found = astar(CubePuzzle(THREE), state, noisy, AStarConfig(batch=10, cap=1000))
    check(THREE, state[0], found)
    assert found.reason == "node cap reached" and found.generated == 996 and found.expanded == 83
    assert found.partial.heuristic < noisy(state)[0]
    assert found.partial.heuristic == pytest.approx(noisy(found.partial.state[None])[0], rel=1e-6)
    tiny = astar(CubePuzzle(THREE), state, noisy, AStarConfig(cap=11))
    assert tiny.generated == 0 and tiny.partial.moves == () and tiny.reason == "node cap reached"


def test_depth_limits_and_circles() -> None:
    states, _ = scramble(THREE, [3, 4], [20, 0])
    found = beam(CubePuzzle(THREE), states, noisy, BeamConfig(width=5, depth=3))
    check(THREE, states[0], found[0])
    assert found[0].reason == "depth limit of 3 moves reached" and found[0].expanded == 1 + 5 + 5
    assert found[1].solved and found[1].length == 0 and found[1].generated == 0
    found = greedy(CubePuzzle(THREE), states, zero, depth=9)
    # Without a heuristic the first move is made forever: four quarter turns come back.
    assert found[0].reason == "the path came back to one of its states" and found[0].expanded == 4
    check(THREE, states[0], found[0])
    found = greedy(CubePuzzle(THREE), states, zero, depth=2)
    assert found[0].reason == "depth limit of 2 moves reached"


def test_a_space_that_ends_is_searched_to_its_end() -> None:
    class Stuck(CubePuzzle):
        def is_goal(self, states: np.ndarray) -> np.ndarray:
            return np.zeros(len(states), np.bool_)

        def children(self, states: np.ndarray) -> np.ndarray:
            return np.repeat(states[:, None], 12, axis=1)

    state, _ = scramble(THREE, [1], [5])
    assert astar(Stuck(THREE), state, zero).reason == "no state is left to expand"
    found = beam(Stuck(THREE), state, zero)[0]
    assert found.reason == "no state is left to expand" and found.partial.moves == ()


# ---------------------------------------------------------------------- properties


@settings(max_examples=40, deadline=None)
@given(
    n=st.sampled_from([2, 3, 4]),
    seed=st.integers(0, 10**6),
    length=st.integers(0, 7),
    weight=st.sampled_from([0.0, 0.6, 1.0]),
    batch=st.sampled_from([1, 13, 200]),
    form=st.sampled_from([None, "conjugation", "conjugation+mirror", "position"]),
)
def test_every_path_is_legal(n: int, seed: int, length: int, weight: float, batch: int, form: str | None) -> None:
    spec = CubeSpec(n)
    state, _ = scramble(spec, [seed], [length])
    canonical = None if form is None else CubeSymmetry(spec, form).canonicalizer
    puzzle = CubePuzzle(spec)
    config = AStarConfig(weight=weight, batch=batch, cap=20_000, network_rows=64)
    check(spec, state[0], astar(puzzle, state, noisy, config, canonical=canonical))
    check(spec, state[0], beam(puzzle, state, noisy, BeamConfig(width=50, depth=12), canonical=canonical)[0])
    check(spec, state[0], greedy(puzzle, state, noisy, depth=12)[0])


def test_searches_repeat_themselves_and_beams_do_not_mix() -> None:
    states, _ = scramble(THREE, seeds=range(6), lengths=6)
    puzzle, config = CubePuzzle(THREE), BeamConfig(width=40, depth=14)
    together = beam(puzzle, states, noisy, config)
    descents = greedy(puzzle, states, noisy)
    for k, state in enumerate(states):
        one = beam(puzzle, state, noisy, config)[0]
        for left, right in ((one, together[k]), (greedy(puzzle, state, noisy)[0], descents[k])):
            assert (left.moves, left.generated, left.evaluated, left.reason) == (
                right.moves,
                right.generated,
                right.evaluated,
                right.reason,
            )
            assert left.solved or left.partial.moves == right.partial.moves
    a, b = (astar(puzzle, states[0], noisy, AStarConfig(batch=50, cap=50_000)) for _ in range(2))
    assert (a.moves, a.generated, a.evaluated) == (b.moves, b.generated, b.evaluated)


def test_times_are_split() -> None:
    import time

    def slow(states: np.ndarray) -> np.ndarray:
        time.sleep(0.02)
        return noisy(states)

    state, _ = scramble(THREE, [3], [20])
    found = astar(CubePuzzle(THREE), state, slow, AStarConfig(batch=50, cap=6000))
    assert 0.2 <= found.seconds_network <= found.seconds_total
    assert found.outside_network == pytest.approx(1 - found.seconds_network / found.seconds_total)
    assert found.to_dict()["nodes"] == found.generated and found.to_dict()["partial"]["length"] > 0


# ---------------------------------------------------------------------- another puzzle


class Reversals:
    """Pancakes: six of them, a move turns over the first 2, 3, … 6."""

    n_moves = 5

    def children(self, states: np.ndarray) -> np.ndarray:
        out = np.repeat(states[:, None], 5, axis=1)
        for k in range(2, 7):
            out[:, k - 2, :k] = states[:, :k][:, ::-1]
        return out

    def is_goal(self, states: np.ndarray) -> np.ndarray:
        return (states == np.arange(6)).all(axis=1)

    def keys(self, states: np.ndarray) -> np.ndarray:
        return pack_keys(states, 6)

    def format(self, moves: Iterable[int]) -> str:
        return " ".join(str(m + 2) for m in moves)


def gaps(states: np.ndarray) -> np.ndarray:
    """Neighbours that do not belong together, the plate included: never more than the distance."""
    full = np.concatenate([states, np.full((len(states), 1), 6, np.uint8)], axis=1).astype(int)
    return (np.abs(np.diff(full, axis=1)) > 1).sum(axis=1).astype(np.float32)


def test_pancakes() -> None:
    puzzle, rng = Reversals(), np.random.default_rng(0)
    for _ in range(25):
        state = rng.permutation(6).astype(np.uint8)
        plain = astar(puzzle, state, zero, AStarConfig(weight=1.0, batch=1))
        guided = astar(puzzle, state, gaps, AStarConfig(weight=1.0, batch=1))
        assert plain.length == guided.length <= 7 and guided.generated <= plain.generated
        wide = beam(puzzle, state, gaps, BeamConfig(width=720))[0]
        assert wide.length == plain.length
        for found in (plain, guided, wide):
            end = state[None]
            for move in found.moves:
                end = puzzle.children(end)[:, move]
            assert puzzle.is_goal(end)[0]
            assert found.text == " ".join(str(m + 2) for m in found.moves)
