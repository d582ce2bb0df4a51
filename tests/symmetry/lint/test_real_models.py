"""Models of others: what is known of them is found, by name, and the simulator agrees."""

import json
import warnings

import pytest

from burnside.canonical import check_symmetry
from burnside.cli import main
from burnside.envs.others.suite import TASKS
from burnside.symmetry import EnvSymmetry
from burnside.symmetry.lint import confirm, lint, load_source, repair, survey

gymnasium = pytest.importorskip("gymnasium")
pytest.importorskip("mujoco")


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Gymnasium's, that v4 is out of date
        yield


#: Environment → for every motion its map of observations, and the violations (what, one part of it).
KNOWN = {
    "Walker2d-v4": {
        "exchange of thigh and thigh_left": (
            "0,1,5,6,7,2,3,4,8,9,10,14,15,16,11,12,13",
            {("geom friction", "foot_left_geom")},
        )
    },
    "Walker2d-v5": {"exchange of thigh and thigh_left": ("0,1,5,6,7,2,3,4,8,9,10,14,15,16,11,12,13", set())},
    "InvertedPendulum-v5": {
        "x → −x": ("-0,-1,-2,-3", {("body centre of mass", "pole"), ("body inertia", "pole")}),
    },
    "InvertedDoublePendulum-v5": {"x → −x": ("-0,-1,-2,3,4,-5,-6,-7,-8", {("gravity", "world")})},
    "Reacher-v5": {"y → −y": ("0,1,-2,-3,4,-5,-6,-7,8,-9", set())},
    "Swimmer-v5": {"y → −y": ("-0,-1,-2,3,-4,-5,-6,-7", set())},
    "HalfCheetah-v5": {},
    "Hopper-v5": {},
}


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_known(name):
    report = lint(name)
    found = {m.motion: (str(m.observation), {(v.what, v.other) for v in m.violations}) for m in report.maps}
    assert found == KNOWN[name]
    for entry in report.maps:
        if entry.violations:
            assert entry.step.error > 1e-9
        else:
            assert entry.step.error < 1e-9


def test_humanoid():
    source = load_source("Humanoid-v5")
    (found,) = lint(source).maps
    names = {(v.what, v.one, v.other) for v in found.violations}
    assert names == {
        ("joint stiffness", "right_knee", "left_knee"),
        ("joint armature", "right_hip_y", "left_hip_y"),
        ("solver order", "world", "world"),
    }
    assert found.observation is not None
    assert found.observation.width == 348
    assert {answer.verdict for answer in confirm(source.model, found)} == {"confirmed"}


def test_ant_has_the_symmetries_of_a_square():
    """… and what is printed is a symmetry that can be declared: the relations of the group hold on 105 numbers."""
    report = lint("Ant-v5")
    assert report.clean
    assert report.order == 8
    symmetry = eval(report.declaration(), {"EnvSymmetry": EnvSymmetry})
    assert symmetry.order == 8
    assert symmetry.observation.width == 105
    mirror = next(m for m in report.maps if m.motion == "y → −y")
    short = str(mirror.observation).split(",")[:13]
    assert short == ["0", "1", "-2", "3", "-4", "-11", "12", "-9", "10", "-7", "8", "-5", "6"]


def test_what_is_printed_is_what_the_check_takes():
    """States of MuJoCo have parts, so a declaration that is pasted must name them."""
    symmetry = eval(lint("InvertedDoublePendulum-v5").declaration(), {"EnvSymmetry": EnvSymmetry})
    found = check_symmetry("InvertedDoublePendulum-v5", symmetry, samples=10, max_failure_rate=0.5, tol=1e-4)
    assert (found.verdict, found.method) == ("holds", "deterministic"), found.counterexample


def test_a_planar_pendulum_does_not_feel_its_inertia_across():
    source = load_source("InvertedPendulum-v5")
    answers = {a.violation.what: a.verdict for a in confirm(source.model, lint(source).maps[0])}
    assert answers == {"body centre of mass": "confirmed", "body inertia": "cleared"}


@pytest.mark.parametrize("name", ["Walker2d-v4", "Humanoid-v5", "InvertedPendulum-v5", "InvertedDoublePendulum-v5"])
def test_repaired_files_are_symmetric(name, tmp_path):
    report = repair(load_source(name), tmp_path / "better.xml")
    assert report.maps
    assert report.clean
    assert all(m.step.error < 1e-9 for m in report.maps)


class TestDmControl:
    @pytest.fixture(autouse=True)
    def _installed(self):
        pytest.importorskip("dm_control")

    @pytest.mark.parametrize(
        ("name", "motions"),
        [
            ("walker-walk", ["y → −y"]),
            ("cartpole-balance", ["x → −x"]),
            ("acrobot-swingup", ["x → −x"]),
            ("cheetah-run", []),
            ("hopper-hop", []),
            ("stacker-stack_2", ["exchange of box0 and box1", "x → −x"]),
            ("quadruped-walk", ["y → −y"]),
        ],
    )
    def test_clean(self, name, motions):
        report = lint(f"dm_control:{name}")
        assert [m.motion for m in report.maps] == motions
        assert report.clean
        assert all(m.step.error < 1e-9 for m in report.maps)

    def test_the_hip_of_the_humanoid(self):
        source = load_source("dm_control:humanoid-walk")
        (found,) = lint(source).maps
        assert [(v.what, v.one, v.other) for v in found.violations] == [("joint range", "right_hip_y", "left_hip_y")]
        assert [answer.verdict for answer in confirm(source.model, found)] == ["confirmed"]

    def test_what_nobody_can_repair_is_confirmed_if_it_is_all_that_is_left(self):
        source = load_source("dm_control:quadruped-escape")
        (found,) = [m for m in lint(source).maps if m.violations]
        answers = {a.violation.what: a.verdict for a in confirm(source.model, found)}
        assert answers == {"height field triangles": "confirmed", "site place": "cleared"}

    def test_all_tasks_have_a_name_in_gymnasium(self):
        from dm_control import suite

        assert set(TASKS) == {f"{domain}-{task}" for domain, task in suite.ALL_TASKS}
        assert "dm_control/fish-swim-v0" in gymnasium.registry

    def test_both_ways_of_naming(self):
        assert load_source("dm_control/walker-walk-v0").xml == load_source("dm_control:walker-walk").xml


@pytest.mark.slow
def test_the_page_says_what_is_found():
    """All models, with the installed versions; the page may have been made with others, which its first line says."""
    from pathlib import Path

    page = (Path(__file__).parents[3] / "docs" / "howto" / "lint-models.md").read_text()
    table = survey.page_table(survey.survey())
    if table.splitlines()[0] in page:
        assert table in page


class TestCommand:
    def test_violations_give_code_1(self, capsys):
        assert main(["lint", "Walker2d-v4", "--confirm", "--json"]) == 1
        content = json.loads(capsys.readouterr().out)
        (found,) = content["maps"]
        (violation,) = found["violations"]
        assert (violation["what"], violation["simulator"]) == ("geom friction", "confirmed")
        assert violation["amount"] == pytest.approx(1.0)
        assert found["joints"]["thigh_joint"] == "thigh_left_joint"

    def test_clean_gives_code_0(self, capsys):
        assert main(["lint", "Walker2d-v5"]) == 0
        assert "nothing is violated" in capsys.readouterr().out

    def test_none_is_an_answer(self, capsys):
        assert main(["lint", "HalfCheetah-v5", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["maps"] == []

    def test_repair(self, tmp_path, capsys):
        assert main(["lint", "Walker2d-v4", "--repair", str(tmp_path / "out.xml"), "--take", "one"]) == 1
        assert "without violations" in capsys.readouterr().out
        assert main(["lint", str(tmp_path / "out.xml")]) == 0

    def test_only(self, capsys):
        assert main(["lint", "Ant-v5", "--only", "y -> -y", "--json", "--states", "0"]) == 0
        assert [m["motion"] for m in json.loads(capsys.readouterr().out)["maps"]] == ["y → −y"]
