"""The networks that come with the package solve what the documentation says they solve."""

import json
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from burnside.agents.cube_values import load_network
from burnside.agents.cube_walks import WalkConfig, load_policy
from burnside.cli import main
from burnside.envs.cube import CubeSpec, apply_moves, scramble
from burnside.envs.cube.core import is_solved
from burnside.envs.cube.tables import two_values
from burnside.errors import BurnsideError
from burnside.search import AStarConfig, CubePuzzle, astar
from burnside.search.result import SearchResult

#: Far from the seeds of training, and the same for everybody who wants to compare.
SCRAMBLES = (1 << 61) + 7
#: What ``burnside solve`` uses by default, but for a smaller batch: less to compute for easy cubes.
SETTINGS = AStarConfig(weight=0.6, batch=200, cap=600_000)


def shipped(n: int) -> Path:
    return Path(str(files("burnside") / "data" / f"cube{n}.safetensors"))


def solve(n: int, lengths: np.ndarray) -> tuple[np.ndarray, list[SearchResult]]:
    spec = CubeSpec(n)
    network = load_network(shipped(n), spec)
    starts, _ = scramble(spec, SCRAMBLES, lengths, np.arange(len(lengths)))
    puzzle = CubePuzzle(spec)
    found = [astar(puzzle, s, network.value_fn, SETTINGS, canonical=network.canonicalizer) for s in starts]
    for start, result in zip(starts, found, strict=True):
        if result.solved:
            assert bool(is_solved(spec, apply_moves(spec, start, list(result.moves))))
    return starts, found


@pytest.mark.parametrize("count", [5, pytest.param(200, marks=pytest.mark.slow)])
def test_two(count: int) -> None:
    starts, found = solve(2, np.full(count, 30))
    best = two_values(starts)
    good = [r.length is not None and r.length <= b + 2 for r, b in zip(found, best, strict=True)]
    assert np.mean(good) >= 0.95


@pytest.mark.parametrize("count", [5, pytest.param(200, marks=pytest.mark.slow)])
def test_three_up_to_twelve_turns(count: int) -> None:
    _, found = solve(3, 1 + np.arange(count) * 12 // count)
    assert np.mean([r.solved for r in found]) >= 0.95


@pytest.mark.parametrize("count", [20, pytest.param(500, marks=pytest.mark.slow)])
def test_random_cubes_by_the_policy(count: int, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["solve", "--n", "3", "--scramble", "100", "--count", str(count), "--seed", "5", "--width", "256", "--json"]
    assert main(line) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["cubes"], found["solved"], found["failed"]) == (count, count, [])
    assert 20 < found["mean_length"] < 32 and found["cpu_seconds"] > 0


def test_the_policy_is_small_and_says_how_it_was_made() -> None:
    path = Path(str(files("burnside") / "data" / "cube3-policy.safetensors"))
    policy = load_policy(path, CubeSpec(3))
    assert path.stat().st_size < 1_000_000 and policy.weights < 10_000
    assert policy.config == WalkConfig.preset("shipped") and (policy.arm, policy.seed) == ("equivariant", 0)


@pytest.mark.parametrize(("turns", "count"), [(15, 3), pytest.param(100, 10, marks=pytest.mark.slow)])
def test_4_cubes_whose_inner_layers_turn(turns: int, count: int, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["solve", "--n", "4", "--slices", "--scramble", str(turns), "--count", str(count), "--seed", "6", "--json"]
    main(line)
    found = json.loads(capsys.readouterr().out)
    assert found["cubes"] == count and found["solved"] >= 0.9 * count
    assert "cube4-slices-policy" in found["heuristic"]


def test_the_policy_of_the_4_cube_says_how_it_was_made() -> None:
    policy = load_policy(Path(str(files("burnside") / "data" / "cube4-slices-policy.safetensors")))
    assert (policy.spec, policy.arm, policy.seed) == (CubeSpec(4, "slices", "fixed"), "equivariant", 0)
    assert policy.config == WalkConfig.preset("shipped-slices") and policy.weights < 100_000


def test_one_cube_and_more_effort(capsys: pytest.CaptureFixture[str]) -> None:
    lengths = []
    for effort in ("0", "2"):
        assert main(["solve", "--scramble", "60", "--seed", "3", "--width", "128", "--effort", effort, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        state, _ = scramble(CubeSpec(3), [3], [60])
        assert bool(is_solved(CubeSpec(3), apply_moves(CubeSpec(3), state[0], found["moves"])))
        assert found["method"] == "policy" and "cube3-policy" in found["heuristic"]
        lengths.append(found["length"])
    assert lengths[1] <= lengths[0]


def test_a_larger_cube_is_solved_by_the_network_of_the_three(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "R U F' L D2 B", "--n", "5", "--json", "--batch", "100"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["solved"] and "cube3" in found["heuristic"] and found["length"] <= 7


def test_a_network_of_another_cube_is_refused() -> None:
    with pytest.raises(BurnsideError, match=r"n=3|n = 3"):
        load_network(shipped(3), CubeSpec(2))
