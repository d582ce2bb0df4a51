"""``burnside audit cube``: tables by depth, what is refused, the keys of every audit."""

import json

import numpy as np
import pytest

from burnside.cli import main
from burnside.envs.cube import CubeSpec, CubeSymmetry
from burnside.envs.cube.audit import AUDITED, audit_cube, commutes, count_layers, same_as_three
from burnside.envs.cube.model import CubeModel
from burnside.envs.cube.tables import layers
from burnside.errors import InvalidParameter
from burnside.mdp import zoo
from burnside.theory import audit

TWO_RAW = [1, 12, 114, 924, 6_539, 39_528, 199_926]
TWO = [1, 6, 27, 120, 534, 2_256, 8_969, 33_058, 114_149, 360_508, 930_588, 1_350_852, 782_536, 90_280, 276]
THREE = [1, 12, 114, 1_068, 10_011, 93_840]
MOD = {"position": THREE, "conjugation": [1, 2, 8, 50, 433, 3_956], "conjugation+mirror": [1, 1, 5, 25, 219, 1_978]}


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = main(["audit", "cube", *argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize("symmetry", AUDITED)
def test_the_three_cube(capsys: pytest.CaptureFixture[str], symmetry: str) -> None:
    code, out, _ = run(capsys, "--n", "3", "--symmetry", symmetry, "--depth", "5", "--json")
    found = json.loads(out)
    assert code == 0 and found["layers"] == {"raw": THREE, "canonical": MOD[symmetry]}
    assert found["verified"]["ok"] and found["group"]["order"] == (48 if symmetry.endswith("mirror") else 24)
    assert found["states"] == 43_252_003_274_489_856_000
    assert found["factors"]["joint"] == (1.0 if symmetry == "position" else None)
    assert ("merges no reachable states" in found["why"]) == (symmetry == "position")
    assert "N = 3, 4, 5, … are one and the same MDP" in found["why"]


@pytest.mark.parametrize("n", [4, 5])
def test_outer_turns_make_larger_cubes_the_same(capsys: pytest.CaptureFixture[str], n: int) -> None:
    _, out, _ = run(capsys, "--n", str(n), "--depth", "4", "--json")
    assert json.loads(out)["layers"] == {"raw": THREE[:5], "canonical": MOD["conjugation+mirror"][:5]}


def test_the_two_cube_to_the_end(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("burnside.envs.cube.audit._MOST_BYTES", 20_000_000)  # depth 6 of the raw states
    code, out, _ = run(capsys, "--n", "2", "--symmetry", "position", "--depth", "14", "--json")
    found = json.loads(out)
    assert code == 0 and found["layers"]["canonical"] == TWO and sum(TWO) == found["quotient"]["states"] == 3_674_160
    assert found["layers"]["raw"] == TWO_RAW + [None] * 8
    assert found["factors"]["joint"] == 24 and found["reachable"]["quotient_pairs"] == 12 * 3_674_160


def test_the_table_and_the_search_agree() -> None:
    spec = CubeSpec(2)
    assert count_layers(spec, 5, "position") == layers(spec, 5, "position").canonical
    assert count_layers(spec, 16, "position")[14:] == (276, 0, 0)


def test_slice_turns(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "--n", "4", "--slices", "--symmetry", "position", "--depth", "3", "--json")
    found = json.loads(out)
    assert found["layers"] == {"raw": [1, 24, 468, 9_000], "canonical": [1, 24, 450, 8_328]}
    assert found["states"] is None and found["quotient"]["states"] is None and found["reachable"] is None
    assert "one and the same" not in found["why"]


def test_too_many_are_null(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("burnside.envs.cube.audit._MOST_BYTES", 100_000)  # 114 · 12 · 54 bytes fit, 1068 · … do not
    found = audit_cube(CubeSpec(3), "conjugation", depth=5)
    assert found.raw == (1, 12, 114, 1_068, None, None) and found.canonical == (1, 2, 8, 50, 433, None)
    assert found.ratios[4:] == (None, None) and found.ratios[1] == 13 / 3


def test_the_keys_of_every_audit() -> None:
    """Nested alike, with ``layers`` on top; a refused one too."""

    def keys(x: object) -> object:
        return {k: keys(v) for k, v in x.items()} if isinstance(x, dict) else None

    ring = keys(audit(zoo.ring(n=5)).to_dict())
    assert isinstance(ring, dict)
    for spec, name in ((CubeSpec(3), "conjugation"), (CubeSpec(2), "position")):
        found = keys(audit_cube(spec, name, depth=1).to_dict())
        assert isinstance(found, dict) and set(found) - {"layers"} == set(ring)
        for key in set(ring) - {"reachable", "verified"}:
            assert found[key] == ring[key], key
    refused = audit_cube(CubeSpec(2, goal="fixed"), "position", depth=1).to_dict()
    assert set(refused) - {"layers"} == set(ring) and refused["layers"]["canonical"] is None


def test_one_goal_orientation_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """R L' is a rotation of the solved cube two turns from it."""
    argv = ("--n", "2", "--symmetry", "position", "--goal", "fixed", "--depth", "3")
    code, out, err = run(capsys, *argv)
    assert code == 1 and not out
    assert "'position' is not a symmetry" in err and "UUUU" in err and "rewards differ by 1" in err
    code, out, err = run(capsys, *argv, "--json")
    found = json.loads(out)
    assert code == 1 and not found["verified"]["ok"] and found["verified"]["counterexample"]["amount"] == 1.0
    assert found["quotient"] == {"states": None, "terminal_states": 0, "pairs": None, "successors": None}
    code, out, err = run(capsys, *argv, "--trust")
    assert code == 0 and "not verified" in out and "120" in out and not err
    code, out, _ = run(capsys, *argv, "--trust", "--json")
    assert code == 0 and json.loads(out)["trusted"] and json.loads(out)["layers"]["canonical"] == TWO[:4]


def test_all_three_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--n", "3", "--depth", "4")
    assert code == 0 and "\x1b[" not in out
    rows = [line.split() for line in out.splitlines()]
    assert ["3", "1", "068", "1", "068", "1.0", "50", "19.6", "25", "37.3"] in rows
    assert "merges no reachable states" in out and "one and the same MDP" in out
    code, out, err = run(capsys, "--n", "2", "--goal", "fixed", "--depth", "2")
    assert code == 1 and "conjugation" in out and "refused" in err


def test_the_cube_is_a_model_like_any_other(capsys: pytest.CaptureFixture[str]) -> None:
    cube = CubeModel(2, depth=3)
    found = audit(cube, cube.symmetry("position"))
    assert found == audit_cube(CubeSpec(2, goal="any-orientation"), "position", depth=3)
    assert audit(cube).symmetry == next(iter(cube.symmetries)) == "conjugation+mirror"
    assert main(["zoo", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cube"]["symmetries"] == list(cube.symmetries)
    assert main(["audit", "cub"]) == 2 and "did you mean 'cube'" in capsys.readouterr().err
    options = ["--n", "4", "--symmetry", "position", "--json"]
    assert main(["audit", "cube", *options, "--slices", "--depth", "2"]) == 0
    by_option = capsys.readouterr().out
    assert main(["audit", "cube", *options, "--param", "turns=slices", "depth=2"]) == 0
    assert capsys.readouterr().out == by_option


def test_identities_can_fail() -> None:
    symmetry = CubeSymmetry(CubeSpec(3), "conjugation")
    assert commutes(symmetry)
    wrong = symmetry.on_moves.copy()
    wrong[5] = np.roll(wrong[5], 2)
    symmetry.__dict__["on_moves"] = wrong
    assert not commutes(symmetry)
    assert all(same_as_three(CubeSpec(n)) for n in (3, 4, 5, 6)) and not same_as_three(CubeSpec(2))
    assert not same_as_three(CubeSpec(5, turns="slices"))


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--symmetry", "conjugatoin"], "did you mean 'conjugation'"),
        (["--symmetry", "conjugation+inverse"], "preserves distances but not turns"),
        (["--n", "1"], "from 2 to 40"),
        (["--depth", "-1"], "depth must be a whole number"),
        (["--d", "3"], "'cube' has no parameter 'd'"),
        (["--horizon", "3"], "'cube' has no parameter 'horizon'"),
        (["--param", "color=red"], "'cube' has no parameter 'color'"),
        (["--param", "depth=deep"], "'depth' of 'cube' must be a whole number"),
        (["--param", "turns=inner"], "unknown set of turns"),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], argv: list[str], says: str) -> None:
    code, out, err = run(capsys, *argv)
    assert code == 2 and not out and says in err and "Traceback" not in err


def test_options_of_the_cube_are_the_cubes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "ring", "--n", "5", "--depth", "3"]) == 2
    assert "'ring' has no parameter 'depth'" in capsys.readouterr().err
    assert main(["minimise", "cube"]) == 2
    assert "burnside audit cube" in capsys.readouterr().err
    with pytest.raises(InvalidParameter):
        audit_cube(CubeSpec(3), eps=0.0)
