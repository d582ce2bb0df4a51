"""``burnside solve``: solutions that solve, JSON as promised, one sentence for what is not a cube."""

import json
from pathlib import Path

import numpy as np
import pytest

from burnside.cli import main
from burnside.envs.cube import CubeSpec, apply_moves, scramble, solved
from burnside.envs.cube.core import is_solved
from burnside.envs.cube.tables import two_values

LETTERS = "UFLDBR"


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = main(["solve", *argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize("method", ["astar", "beam", "greedy"])
def test_two_cube_by_its_table(capsys: pytest.CaptureFixture[str], method: str) -> None:
    code, out, _ = run(capsys, "R U F' R U2 L", "--n", "2", "--table", "--method", method, "--json")
    found = json.loads(out)
    spec = CubeSpec(2)
    state = apply_moves(spec, solved(spec), "R U F' R U2 L")
    assert code == 0 and found["solved"] and found["reason"] == "goal" and found["partial"] is None
    assert found["length"] == int(two_values(state)) == len(found["moves"].split())
    assert bool(is_solved(spec, apply_moves(spec, state, found["moves"])))
    assert {"solved", "moves", "length", "nodes", "seconds", "seconds_network"} <= set(found)
    assert found["heuristic"] == "exact table" and found["scramble"] == "R U F' R U U L"


def test_text_and_replay(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "R U", "--n", "2", "--table", "--show")
    lines = out.splitlines()
    assert code == 0 and lines[0] == "solution: U' L'" and lines[1] == "length: 2 quarter turns"
    assert lines[2].startswith("found by: A* (weight 0.6, batch 1000") and "exact table" in lines[2]
    assert "\nU'\n" in out and out.rstrip().splitlines()[-1].split() == ["B", "B"]  # solved, and turned as a whole
    assert "\x1b[" not in out


def test_random_scrambles_and_stickers(capsys: pytest.CaptureFixture[str]) -> None:
    spec = CubeSpec(2)
    states, moves = scramble(spec, [3], [15])
    code, out, _ = run(capsys, "--scramble", "15", "--seed", "3", "--n", "2", "--table", "--json")
    first = json.loads(out)
    assert code == 0 and first["scramble"] == spec.format(moves[0]) and first["length"] == int(two_values(states)[0])
    text = "".join(LETTERS[c] for c in states[0])
    code, out, _ = run(capsys, "--stickers", text, "--table", "--json")
    second = json.loads(out)
    assert code == 0 and second["n"] == 2 and second["moves"] == first["moves"] and second["scramble"] is None


def test_two_cube_needs_no_options(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "R U F'", "--n", "2", "--json")
    found = json.loads(out)
    spec = CubeSpec(2)
    assert code == 0
    assert bool(is_solved(spec, apply_moves(spec, solved(spec), f"R U F' {found['moves']}")))


def test_solved_already(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "R R'", "--n", "2", "--table")
    assert code == 0 and out.startswith("solution: it is solved\nlength: 0")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["R Q"], "unknown move 'Q'"),
        (["M", "--n", "3"], "inner layer"),
        (["R", "--n", "1"], "n"),
        ([], "give one cube"),
        (["R", "--scramble", "3"], "give one cube"),
        (["--scramble", "-1"], "scrambles have 0 to"),
        (["--stickers", "UUUU"], "a cube has 24, 54, 96"),
        (["--stickers", "X" * 24], "letters U F L D B R"),
        (["--stickers", "U" * 24], "24 stickers of colour U"),
        (["--stickers", "UUUF UFFF LLLL DDDD BBBB RRRR"], "piece that does not exist: FRF"),
        (["--stickers", "UUUU FFFF LLLL DDDD BBBB RRRR", "--n", "3"], "54 stickers"),
    ],
)
def test_what_is_no_cube_costs_one_sentence(
    capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    code, out, err = run(capsys, *arguments)
    assert code == 2 and out == ""
    assert sentence in err and len(err.strip().splitlines()) == 1 and "Traceback" not in err


def test_twisted_corner_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    from burnside.envs.cube.pieces import corner_places

    state = solved(CubeSpec(3))
    places = corner_places(3)[0]
    state[places] = np.roll(state[places], 1)
    code, _, err = run(capsys, "--stickers", "".join(LETTERS[c] for c in state))
    assert code == 2 and "corners are twisted" in err


def test_missing_and_foreign_networks(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, err = run(capsys, "R", "--n", "6", "--slices")
    assert code == 2 and "no network is shipped for n=6 with slice turns" in err
    code, _, err = run(capsys, "R", "--n", "3", "--table")
    assert code == 2 and "exact table for n=2 only" in err
    pytest.importorskip("torch")
    code, _, err = run(capsys, "R", "--network", str(tmp_path / "none.safetensors"))
    assert code == 2 and "none.safetensors" in err


def test_a_network_and_a_cap(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from burnside.agents.cube_values import CubeValue, DaviConfig, make_network

    config, spec = DaviConfig.preset("smoke"), CubeSpec(3)
    file = tmp_path / "small.safetensors"
    CubeValue(spec, "conjugation", config, make_network(config, spec, "conjugation", [0])).save(file)
    code, out, _ = run(capsys, "R U", "--network", str(file), "--weight", "1", "--json")
    found = json.loads(out)
    assert code == 0 and found["length"] == 2 and found["heuristic"] == "small.safetensors, arm conjugation"
    code, out, _ = run(capsys, "--scramble", "30", "--network", str(file), "--cap", "1000", "--batch", "10")
    assert code == 1 and "not solved: node cap reached" in out and "best partial result: " in out
    code, _, err = run(capsys, "R U", "--n", "4", "--network", str(file))
    assert code == 2 and "trained for n=3" in err
