"""Every bad input is answered by one sentence that says what to fix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from tests.mdp.helpers import one_sentence

import burnside as bs
from burnside.errors import (
    BurnsideError,
    GroupTooLarge,
    InvalidAction,
    InvalidModel,
    InvalidParameter,
    ModelTooLarge,
    UnknownName,
)
from burnside.mdp import (
    GraphMDP,
    Symmetry,
    TabularMDP,
    VertexSymmetry,
    average,
    discover,
    evaluate,
    quotient,
    verify,
    zoo,
)
from burnside.mdp.planning import solve_discounted
from burnside.mdp.reach import reachable

nan, inf = float("nan"), float("inf")

# A coin that is kept or flipped: two states, four pairs.
P = np.array([[1, 0], [0, 1], [0, 1], [1, 0.0]])
R = np.array([1.0, 0, 0, 1])
P0 = np.array([0.5, 0.5])


def coin(**changes: Any) -> TabularMDP:
    arguments: dict[str, Any] = {"P": P, "R": R, "p0": P0, "H": 3} | changes
    return TabularMDP(**arguments)


def put(array: np.ndarray, where: Any, value: float) -> np.ndarray:
    """A copy with one entry changed."""
    copy = np.array(array, dtype=float)
    copy[where] = value
    return copy


MODELS: dict[str, tuple[Callable[[], Any], str]] = {
    "row sums to 0.9": (lambda: coin(P=put(P, (2, 1), 0.9)), "sum to 0.9"),
    "row sums to 1.5": (lambda: coin(P=put(P, (1, 0), 0.5)), "sum to 1.5"),
    "row off by 1e-6": (lambda: coin(P=put(P, (1, 1), 1 - 1e-6)), "sum to"),
    "empty row": (lambda: coin(P=put(P, (1, 1), 0)), "sum to 0"),
    "sparse row": (lambda: coin(P=sp.csr_matrix(put(P, (2, 1), 0.9))), "sum to 0.9"),
    "negative probability": (lambda: coin(P=put(put(P, (0, 0), 1.5), (0, 1), -0.5)), "negative"),
    "negative, sparse": (lambda: coin(P=sp.coo_matrix(put(put(P, (0, 0), 1.5), (0, 1), -0.5))), "negative"),
    "complex P": (lambda: coin(P=P + 0.5j), "numbers"),
    "complex sparse P": (lambda: coin(P=sp.csr_matrix(P + 0.5j)), "real numbers, got complex128"),
    "complex dense P": (lambda: TabularMDP.from_dense((P + 0.5j).reshape(2, 2, 2), [[1, 0]] * 2, P0, 3), "number"),
    "NaN in P": (lambda: coin(P=put(P, (1, 0), nan)), "P"),
    "NaN in sparse P": (lambda: coin(P=sp.csr_matrix(put(P, (1, 0), nan))), "NaN"),
    "infinite P": (lambda: coin(P=put(P, (1, 0), inf)), "P"),
    "NaN reward": (lambda: coin(R=put(R, 2, nan)), "rewards R holds nan at index (2,)"),
    "infinite reward": (lambda: coin(R=put(R, 2, -inf)), "finite"),
    "NaN timed reward": (lambda: coin(R=put(np.tile(R, (3, 1)), (1, 2), nan)), "(1, 2)"),
    "NaN p0": (lambda: coin(p0=[nan, 0.5]), "p0"),
    "p0 sums to 0.9": (lambda: coin(p0=[0.5, 0.4]), "sum is 0.9"),
    "negative p0": (lambda: coin(p0=[1.5, -0.5]), "non-negative"),
    "empty p0": (lambda: coin(p0=[]), "p0"),
    "p0 of rank 2": (lambda: coin(p0=[[0.5, 0.5]]), "p0"),
    "H = 0": (lambda: coin(H=0), "horizon"),
    "H negative": (lambda: coin(H=-2), "horizon"),
    "H fractional": (lambda: coin(H=2.5), "horizon"),
    "H is a word": (lambda: coin(H="3"), "horizon"),
    "H is a bool": (lambda: coin(H=True), "horizon"),
    "too few rewards": (lambda: coin(R=R[1:]), "shape (4,)"),
    "rewards for another H": (lambda: coin(R=np.tile(R, (2, 1))), "(3, 4)"),
    "P with too many columns": (lambda: coin(P=np.hstack([P, np.zeros((4, 1))])), "columns"),
    "P of rank 3": (lambda: coin(P=P.reshape(2, 2, 2)), "from_dense"),
    "P of words": (lambda: coin(P=[["a", "b"]]), "numbers"),
    "ragged P": (lambda: coin(P=[[1, 0], [1]]), "numbers"),
    "R of words": (lambda: coin(R=["x"] * 4), "numbers"),
    "odd number of pairs": (lambda: coin(P=P[1:], R=R[1:]), "pair_state"),
    "no pairs": (lambda: coin(P=np.zeros((0, 2)), R=[]), "pair"),
    "no pairs at all, stated": (
        lambda: coin(P=np.zeros((0, 2)), R=[], pair_state=np.zeros(0, dtype=int), pair_action=np.zeros(0, dtype=int)),
        "pair",
    ),
    "everything masked": (
        lambda: TabularMDP.from_dense(P.reshape(2, 2, 2), R.reshape(2, 2), P0, 3, mask=np.zeros((2, 2))), "action",
    ),
    "pair given twice": (lambda: coin(pair_state=[0, 0, 1, 1], pair_action=[0, 1, 1, 1]), "given twice"),
    "pair_state unsorted": (lambda: coin(pair_state=[0, 1, 0, 1]), "sorted"),
    "pair_state out of range": (lambda: coin(pair_state=[0, 0, 1, 2]), "pair_state"),
    "pair_state negative": (lambda: coin(pair_state=[-1, 0, 1, 1], pair_action=[0, 1, 2, 3]), "pair_state"),
    "pair_state of floats": (lambda: coin(pair_state=[0.0, 0.0, 1.0, 1.0]), "whole number"),
    "pair_state too short": (lambda: coin(pair_state=[0, 1]), "pair_state"),
    "pair_action negative": (lambda: coin(pair_action=[0, -1, 0, 1]), "pair_action"),
    "dense P not square": (lambda: TabularMDP.from_dense(np.ones((2, 2, 3)) / 3, R.reshape(2, 2), P0, 3), "shape"),
    "dense P of rank 2": (lambda: TabularMDP.from_dense(P, R, P0, 3), "shape"),
    "dense P of words": (lambda: TabularMDP.from_dense([["a"]], R, P0, 3), "number"),
    "dense R of words": (lambda: TabularMDP.from_dense(P.reshape(2, 2, 2), [["a"]], P0, 3), "number"),
    "dense R": (lambda: TabularMDP.from_dense(P.reshape(2, 2, 2), R, P0, 3), "R must have shape"),
    "dense R for another H": (
        lambda: TabularMDP.from_dense(P.reshape(2, 2, 2), np.tile(R.reshape(2, 2), (2, 1, 1)), P0, 3), "(3, 2, 2)",
    ),
    "dense mask": (
        lambda: TabularMDP.from_dense(P.reshape(2, 2, 2), R.reshape(2, 2), P0, 3, mask=[1, 1]), "mask",
    ),
    "dense NaN": (
        lambda: TabularMDP.from_dense(put(P, (0, 0), nan).reshape(2, 2, 2), R.reshape(2, 2), P0, 3), "P",
    ),
    "step to nowhere": (lambda: TabularMDP.from_step([0], lambda s: (0,), lambda s, a: [], 2), "sum to 0"),
    "step with p = 0.5": (lambda: TabularMDP.from_step([0], lambda s: (0,), lambda s, a: [(0.5, 0, 0)], 2), "0.5"),
    "no start": (lambda: TabularMDP.from_step([], lambda s: (0,), lambda s, a: [(1, 0, 0)], 2), "start"),
    "start nowhere": (
        lambda: TabularMDP.from_step([0], lambda s: (0,), lambda s, a: [(1, 0, 0)], 2, p0={7: 1.0}), "not reachable",
    ),
    "no actions anywhere": (lambda: TabularMDP.from_step([0], lambda s: (), lambda s, a: [], 2), "pair"),
    "unknown argument": (lambda: coin().replace(horizon=3), "horizon"),
}  # fmt: skip


@pytest.mark.parametrize("case", MODELS)
def test_model(case: str) -> None:
    call, words = MODELS[case]
    one_sentence(UnknownName if case == "unknown argument" else InvalidModel, call, words)


def test_too_many_states() -> None:
    endless = lambda: TabularMDP.from_step([0], lambda s: (0,), lambda s, a: [(1.0, s + 1, 0.0)], 2, limit=50)  # noqa: E731
    one_sentence(ModelTooLarge, endless, "50", "limit")
    lights = GraphMDP(nx.cycle_graph(40), (0, 1))
    one_sentence(ModelTooLarge, lights.tabular, "states", "limit")
    one_sentence(ModelTooLarge, lambda: GraphMDP(nx.cycle_graph(400), (0, 1)).tabular(), "10^")


# ---------------------------------------------------------------------- symmetries

S, Q = [[1, 0]], [[2, 3, 0, 1]]  # swapping heads and tails

SYMMETRIES: dict[str, tuple[Callable[[], Any], str]] = {
    "not a permutation": (lambda: Symmetry([[0, 0]], Q), "not a permutation"),
    "out of range": (lambda: Symmetry([[0, 2]], Q), "outside 0..1"),
    "negative": (lambda: Symmetry([[0, -1]], Q), "outside"),
    "pairs not a permutation": (lambda: Symmetry(S, [[2, 2, 0, 1]]), "on_pairs"),
    "pairs out of range": (lambda: Symmetry(S, [[2, 3, 0, 4]]), "outside"),
    "floats": (lambda: Symmetry([[1.0, 0.0]], Q), "whole numbers"),
    "empty": (lambda: Symmetry(np.zeros((0, 2), dtype=int), np.zeros((0, 4), dtype=int)), "generator"),
    "ragged": (lambda: Symmetry([[1, 0], [1]], Q), "whole numbers"),
    "different numbers of generators": (lambda: Symmetry([[1, 0], [0, 1]], Q), "generator"),
    "too many states": (lambda: verify(coin(), Symmetry([[1, 0, 2]], Q)), "states"),
    "too few pairs": (lambda: verify(coin(), Symmetry(S, [[1, 0]])), "pairs"),
    "quotient on the wrong set": (lambda: quotient(coin(), Symmetry(S, [[1, 0]])), "pairs"),
    "trusted quotient on the wrong set": (lambda: quotient(coin(), Symmetry([[1, 0, 2]], Q), trust=True), "states"),
    "average on the wrong set": (lambda: average(coin(), Symmetry([[1, 0, 2]], Q)), "states"),
    "another model's": (lambda: verify(zoo.ring(6), zoo.ring(5).symmetry()), "1152"),
    "from_actions on the wrong states": (lambda: Symmetry.from_actions(coin(), [[1, 2, 0]]), "states"),
    "from_actions on the wrong actions": (lambda: Symmetry.from_actions(coin(), S, [[0]]), "action"),
    "from_actions, rows missing": (lambda: Symmetry.from_actions(coin(), [[1, 0], [0, 1]], [[1, 0]]), "generator"),
    "inadmissible image": (
        lambda: Symmetry.from_actions(
            TabularMDP(np.eye(2)[[0, 1, 1]], np.zeros(3), [1, 0], 2, pair_state=[0, 0, 1]), [[1, 0]]
        ),
        "not admissible",
    ),
    "vertex symmetry not a permutation": (lambda: VertexSymmetry([[0, 0, 1]]), "permutation"),
    "lift of a symmetry of another graph": (
        lambda: lights(4).lift(lights(4).tabular(), list(lights(4).states()), VertexSymmetry([[1, 2, 0]])), "vertices",
    ),
    "lift of no automorphism": (
        lambda: lights(5).lift(lights(5).tabular(), list(lights(5).states()), VertexSymmetry([[1, 0, 2, 3, 4]])),
        "edge",
    ),
    "lift of no automorphism of the ring": (
        lambda: zoo.ring_game(7).lift(
            zoo.ring_game(7).tabular(), list(zoo.ring_game(7).states()), VertexSymmetry([[1, 0, 2, 3, 4, 5, 6]])
        ),
        "edge",
    ),
    "orbits of a symmetry of another graph": (lambda: lights(4).orbits(VertexSymmetry([[1, 2, 0]])), "vertices"),
    "orbits of no automorphism": (lambda: lights(5).orbits(VertexSymmetry([[1, 0, 2, 3, 4]])), "edge"),
}  # fmt: skip


def lights(n: int) -> GraphMDP:
    return GraphMDP(nx.cycle_graph(n), (0, 1))


@pytest.mark.parametrize("case", SYMMETRIES)
def test_symmetry(case: str) -> None:
    call, words = SYMMETRIES[case]
    one_sentence(InvalidAction, call, words)


def test_groups_too_large_to_enumerate() -> None:
    cube = zoo.hypercube(12)
    S12 = cube.symmetry("S")
    one_sentence(GroupTooLarge, S12.burnside_counts, "S12", "too large to enumerate", "generators")
    one_sentence(GroupTooLarge, lambda: average(cube, S12), "too large")
    assert quotient(cube, S12).mdp.n_pairs == 24  # what generators decide still works
    one_sentence(GroupTooLarge, lambda: list(zoo.ring(5).symmetry("graph").elements(limit=100_000)), "too large")
    unknown = Symmetry(S12.on_states, S12.on_pairs)  # the order is not stated: the enumeration has to notice itself
    one_sentence(GroupTooLarge, lambda: list(unknown.elements(limit=10_000_000)), "unknown order")
    game = GraphMDP(nx.complete_graph(14), (0, 1))
    S14 = VertexSymmetry([np.roll(np.arange(14), 1), [1, 0, *range(2, 14)]], name="S14")
    one_sentence(GroupTooLarge, lambda: game.orbits(S14), "S14", "enumerate")
    one_sentence(GroupTooLarge, discover(zoo.ring(5)).burnside_counts, "too large")


# ---------------------------------------------------------------------- the zoo and graphs

OTHERS: dict[str, tuple[type[BurnsideError], Callable[[], Any], str]] = {
    "unknown model": (UnknownName, lambda: zoo.make("rnig"), "'ring'"),
    "unknown model, no neighbour": (UnknownName, lambda: zoo.make("xyzzy"), "known:"),
    "unknown model, dash": (UnknownName, lambda: zoo.make("slipring"), "'slip-ring'"),
    "unknown parameter": (InvalidParameter, lambda: zoo.make("grid", size=5), "'size'"),
    "parameter of the table, not of the game": (
        InvalidParameter, lambda: zoo.make("ring", n=5, d=2, mine_probability=0.5), "mine_probability",
    ),
    "unknown symmetry": (UnknownName, lambda: zoo.ring(5).symmetry("E"), "known:"),
    "unknown symmetry, near": (UnknownName, lambda: zoo.ring(5).symmetry("grph"), "'graph'"),
    "no declared symmetry": (UnknownName, lambda: zoo.deep_sea().symmetry(), "discover"),
    "unknown vertex symmetry": (UnknownName, lambda: zoo.ring_game(5).symmetry("D"), "Z"),
    "ring of 4": (InvalidParameter, lambda: zoo.ring(4), "n ≥ 5"),
    "ring of 0": (InvalidParameter, lambda: zoo.ring(0), "n ≥ 5"),
    "ring of -3": (InvalidParameter, lambda: zoo.make("ring", n=-3), "n ≥ 5"),
    "ring too large": (ModelTooLarge, lambda: zoo.ring(20), "ring_game"),
    "ring with mines beyond 1": (BurnsideError, lambda: zoo.ring(5, mine_probability=1.5), "p"),
    "ring with a NaN prize": (InvalidModel, lambda: zoo.ring(5, end_reward=nan), "rewards"),
    "ring without time": (InvalidModel, lambda: zoo.ring(5, horizon=0), "horizon"),
    "game of 4": (InvalidParameter, lambda: zoo.ring_game(4), "n ≥ 5"),
    "game without dimension": (InvalidParameter, lambda: zoo.ring_game(5, d=0), "d ≥ 1"),
    "game too large": (ModelTooLarge, lambda: zoo.ring_game(5, d=3).tabular(), "states"),
    "slip-ring of 4": (InvalidParameter, lambda: zoo.slip_ring(4), "n ≥ 5"),
    "slip of 1": (InvalidParameter, lambda: zoo.slip_ring(5, slip=1.0), "slip"),
    "slip of NaN": (InvalidParameter, lambda: zoo.grid(5, slip=nan), "slip"),
    "goal nowhere": (InvalidParameter, lambda: zoo.slip_ring(5, goal="far"), "goal"),
    "even grid": (InvalidParameter, lambda: zoo.grid(4), "odd"),
    "grid of 1": (InvalidParameter, lambda: zoo.grid(1), "odd"),
    "torus of 2": (InvalidParameter, lambda: zoo.torus(2), "n ≥ 3"),
    "hypercube of 0": (InvalidParameter, lambda: zoo.hypercube(0), "d"),
    "hypercube of 99": (InvalidParameter, lambda: zoo.hypercube(99), "d"),
    "river of 0": (InvalidParameter, lambda: zoo.river(0), "length"),
    "one river": (InvalidParameter, lambda: zoo.river_product(1), "chains"),
    "too many rivers": (InvalidParameter, lambda: zoo.river_product(20, 4), "100 000"),
    "bandit with one arm": (InvalidParameter, lambda: zoo.bandit(1), "arms"),
    "sea of 1": (InvalidParameter, lambda: zoo.deep_sea(1), "rows"),
    "vertices not numbered": (InvalidModel, lambda: GraphMDP(nx.Graph([("a", "b")]), (0,)), "0..n-1"),
    "vertex without neighbour": (InvalidModel, lambda: GraphMDP([[1], []], (0,)), "no out-neighbour"),
    "neighbour out of range": (InvalidModel, lambda: GraphMDP([[1], [2]], (0,)), "outside"),
    "count of a stranger": (InvalidModel, lambda: GraphMDP(nx.path_graph(3), (0, 1), counts={2: 1}), "alphabet"),
    "counts too large": (InvalidModel, lambda: GraphMDP(nx.path_graph(3), (0, 1), counts={1: 4}), "counts"),
    "counts negative": (InvalidModel, lambda: GraphMDP(nx.path_graph(3), (0, 1), counts={1: -1}), "counts"),
    "label twice": (InvalidModel, lambda: GraphMDP(nx.path_graph(3), (0, 1, 0)), "alphabet"),
    "graph without time": (InvalidModel, lambda: GraphMDP(nx.path_graph(3), (0, 1), H=0).tabular(), "horizon"),
    "gym without a table": (InvalidModel, lambda: TabularMDP.from_gym(object()), "transition table"),
    "gym unknown": (InvalidParameter, lambda: TabularMDP.from_gym("FrozenLak-v1"), "FrozenLak-v1"),
    "gym malformed": (InvalidParameter, lambda: TabularMDP.from_gym("not an id"), "not an id"),
    "gym module": (InvalidParameter, lambda: TabularMDP.from_gym("no_such_module:Env-v0"), "no_such_module"),
    "gym without time": (InvalidModel, lambda: TabularMDP.from_gym("FrozenLake-v1", H=0), "horizon"),
}  # fmt: skip


TAKE_TABLES: dict[str, Callable[[Any], Any]] = {
    "solve": bs.solve,
    "evaluate": lambda model: evaluate(model, np.zeros((3, 2), int)),
    "policy_return": lambda model: bs.policy_return(model, np.zeros((3, 2), int)),
    "solve_discounted": lambda model: solve_discounted(model, 0.5),
    "quotient": lambda model: quotient(model, Symmetry.trivial(coin())),
    "discover": discover,
    "minimise": bs.minimise,
    "reachable": reachable,
    "Symmetry.from_actions": lambda model: Symmetry.from_actions(model, [[1, 0]]),
}


@pytest.mark.parametrize("what", TAKE_TABLES)
def test_what_is_no_table(what: str) -> None:
    one_sentence(InvalidParameter, lambda: TAKE_TABLES[what]("ring"), f"{what} takes a TabularMDP, got a str")
    game = GraphMDP(nx.path_graph(2), (0, 1), H=3)
    one_sentence(InvalidParameter, lambda: TAKE_TABLES[what](game), "got a GraphMDP", "model.tabular()")
    one_sentence(InvalidParameter, lambda: quotient(coin(), "Z"), "takes a Symmetry, got a str")  # type: ignore[arg-type]


@pytest.mark.parametrize("case", OTHERS)
def test_others(case: str) -> None:
    error, call, words = OTHERS[case]
    one_sentence(error, call, words)


def test_errors_are_what_their_names_say() -> None:
    """``except ValueError`` and ``except LookupError`` work as well, for those who do not know our errors."""
    with pytest.raises(ValueError):
        coin(H=0)
    with pytest.raises(LookupError):
        zoo.make("rnig")
    assert issubclass(InvalidModel, bs.BurnsideError)


def test_the_caller_may_change_their_arrays_afterwards() -> None:
    """A verdict on an MDP must not be undone behind its back."""
    rewards, start, kernel = R.copy(), P0.copy(), sp.csr_matrix(P)
    dense_kernel = P.copy()
    mdp, other = coin(P=kernel, R=rewards, p0=start), coin(P=dense_kernel)
    rewards[:], start[:], dense_kernel[:] = 7, 7, 7
    assert mdp.R.max() == 1 and mdp.p0.max() == 0.5 and other.P.max() == 1
    for array in (mdp.R, mdp.p0, mdp.pair_state, mdp.pair_action):
        with pytest.raises(ValueError):
            array[0] = 1
