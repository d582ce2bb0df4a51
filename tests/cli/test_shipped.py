"""The networks that come with the package solve what the documentation says they solve."""

import json
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from burnside.agents.cube_values import load_network
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


def test_a_larger_cube_is_solved_by_the_network_of_the_three(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "R U F' L D2 B", "--n", "5", "--json", "--batch", "100"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["solved"] and "cube3" in found["heuristic"] and found["length"] <= 7


def test_a_network_of_another_cube_is_refused() -> None:
    with pytest.raises(BurnsideError, match=r"n=3|n = 3"):
        load_network(shipped(3), CubeSpec(2))
