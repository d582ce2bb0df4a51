"""The linter finds the maps that hold, names every flaw that is put in, and agrees with the simulator."""

import numpy as np
import pytest
from tests.symmetry.lint.models import FLAWS, two_arms

from burnside.symmetry import SignedPermutation
from burnside.symmetry.lint import confirm, lint_model, load_source, repair
from burnside.symmetry.lint.repairs import repaired_model
from burnside.symmetry.lint.simulate import mirror_steps, sample_starts

mujoco = pytest.importorskip("mujoco")


def compiled(xml):
    return mujoco.MjModel.from_xml_string(xml)


def the_map(report, motion):
    return next(found for found in report.maps if found.motion == motion)


class TestTwoArms:
    def test_the_symmetric_one_is_clean(self):
        report = lint_model(compiled(two_arms()))
        found = the_map(report, "y → −y")
        assert found.clean, [str(v) for v in found.violations]
        assert found.joints["left_shoulder"] == "right_shoulder"
        assert found.joints["left_wrist"] == "-right_wrist"
        assert str(found.states.ctrl) == "1,0,-3,-2"
        assert found.order == 2
        assert found.step.error < 1e-9
        assert found.step.touching > 0

    @pytest.mark.parametrize("change", FLAWS)
    def test_a_flaw_is_named_and_nothing_else(self, change):
        """… the simulator notices it, and without it the model is symmetric."""
        model = compiled(two_arms(change))
        found = the_map(lint_model(model, only="y → −y", states=0), "y → −y")
        assert sorted({v.what for v in found.violations}) == sorted(FLAWS[change])
        answers = {answer.violation.what: answer.verdict for answer in confirm(model, found)}
        if change != "solver=PGS":  # so few constraints that it does not matter in which order they are taken
            assert "confirmed" in answers.values()
        better = repaired_model(model, only="y → −y")
        again = the_map(lint_model(better, only="y → −y"), "y → −y")
        assert again.clean, [str(v) for v in again.violations]
        assert again.step.error < 1e-9

    @pytest.mark.parametrize("change", FLAWS)
    def test_the_repaired_file_is_clean(self, change, tmp_path):
        path = tmp_path / "flawed.xml"
        path.write_text(two_arms(change))
        before = path.read_bytes()
        report = repair(load_source(str(path)), tmp_path / "better.xml", only="y → −y")
        found = the_map(report, "y → −y")
        assert found.clean, [str(v) for v in found.violations]
        assert found.step.error < 1e-6  # XML has six digits
        assert path.read_bytes() == before

    @pytest.mark.parametrize("change", ["gravity=0 .05 -9.81", "height=.004", "kp=6"])
    def test_all_motions_at_once(self, change):
        """Both mirrors and the half turn ask for the same repairs, and do not undo each other's."""
        better = repaired_model(compiled(two_arms(change)))
        assert lint_model(better, states=0).clean

    def test_take_one_keeps_the_first_value(self):
        model = compiled(two_arms("friction=.5"))
        frictions = {take: repaired_model(model, take=take).geom_friction[:, 0] for take in ("mean", "one", "other")}
        values = {take: set(np.round(f[[2, 4]], 6)) for take, f in frictions.items()}
        assert values == {"mean": {0.75}, "one": {0.5}, "other": {1.0}}

    def test_amount_and_names(self):
        found = the_map(lint_model(compiled(two_arms("friction=.5")), states=0), "y → −y")
        (violation,) = found.violations
        assert {violation.one, violation.other} == {"left_upper", "right_upper"}
        assert violation.amount == pytest.approx(0.5)

    def test_what_differs_grossly_is_no_symmetry(self):
        report = lint_model(compiled(two_arms().replace('pos="0 .2 -.1"', 'pos=".5 .2 -.1"')))
        assert "y → −y" not in [found.motion for found in report.maps]


PLANAR = """
<mujoco><worldbody><body name="cart"><joint name="slide" type="slide" axis="1 0 0"/><geom type="box" size=".1 .1 .05"/>
<body name="pole"><joint name="hinge" axis="0 1 0"/><geom type="capsule" size=".04" fromto="0 0 0 {tilt} 0 .6"/></body>
</body></worldbody><actuator><motor joint="slide"/></actuator></mujoco>
"""


def test_a_cart_and_its_tilted_pole():
    straight = lint_model(compiled(PLANAR.format(tilt=0)))
    assert [(f.motion, f.clean, str(f.states.qpos)) for f in straight.maps] == [("x → −x", True, "-0,-1")]
    tilted = the_map(lint_model(compiled(PLANAR.format(tilt=0.01))), "x → −x")
    assert "body centre of mass" in {v.what for v in tilted.violations}
    assert tilted.step.error > 1e-4


def test_a_slide_with_another_zero_is_no_violation():
    """Reacher's target: at rest it stands off the mirror's plane, but its slide measures from there."""
    xml = """<mujoco><worldbody><body pos=".1 -.2 0"><joint name="x" type="slide" axis="1 0 0" ref=".1"/>
    <joint name="y" type="slide" axis="0 1 0" ref="-.2"/><geom size=".1" mass="1"/></body></worldbody></mujoco>"""
    found = the_map(lint_model(compiled(xml)), "y → −y")
    assert found.clean
    assert str(found.states.qpos) == "0,-1"


def test_a_ball_joint_and_turned_frames():
    """Frames of bodies are a matter of taste: the arms' are turned differently, and the map says so."""
    arm = """<body name="{0}" pos="0 {1}.3 0" euler="{2}"><joint name="{0}" type="ball"/>
    <geom type="capsule" size=".05" fromto="{3}"/></body>"""
    left = arm.format("left", "", "0 0 0", "0 0 0 0 .4 -.1")
    right = arm.format("right", "-", "0 0 180", "0 0 0 0 .4 -.1")
    xml = f"<mujoco><worldbody>{left}{right}</worldbody></mujoco>"
    found = the_map(lint_model(compiled(xml)), "y → −y")
    assert found.clean, [str(v) for v in found.violations]
    assert found.step.error < 1e-12


def test_turns_of_a_tripod():
    """Three legs: a turn by 120° is no signed permutation, but a map all the same."""
    leg = """<body name="leg{0}" pos="{1} {2} 0" euler="0 0 {3}"><joint name="hip{0}" axis="0 1 0"/>
    <geom type="capsule" size=".03" fromto="0 0 0 .3 0 -.2"/><geom size=".05" pos=".3 0 -.2"/></body>"""
    legs = "".join(
        leg.format(k, 0.2 * np.cos(2 * np.pi * k / 3), 0.2 * np.sin(2 * np.pi * k / 3), 120 * k) for k in range(3)
    )
    xml = f"""<mujoco><option cone="elliptic"/><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 .4">
    <freejoint/><geom type="sphere" size=".2"/>{legs}</body></worldbody></mujoco>"""
    found = the_map(lint_model(compiled(xml)), "turn about z by 120°")
    assert found.clean, [str(v) for v in found.violations]
    assert found.order == 3
    assert found.step.error < 1e-7
    assert not isinstance(found.states.qpos, SignedPermutation)
    pyramids = the_map(lint_model(compiled(xml.replace("elliptic", "pyramidal"))), "turn about z by 120°")
    assert [v.what for v in pyramids.violations] == ["friction cone"]
    assert pyramids.step.error > 1e-6


def test_joints_of_a_body_keep_their_order():
    """Two hinges one after the other do not commute: exchanging them is no symmetry."""
    xml = """<mujoco><worldbody><body><joint axis="{} 0"/><joint axis="{} 0"/>
    <geom type="sphere" size=".1" pos="0 0 .3"/></body></worldbody></mujoco>"""
    motions = {found.motion for found in lint_model(compiled(xml.format("1 0", "0 1"))).maps}
    assert {"y → −y", "x → −x"} <= motions
    assert "x ↔ y" not in motions


def test_wrong_signs_would_be_noticed():
    """The simulator's word is worth something: the same map without its signs differs."""
    model = compiled(two_arms())
    found = the_map(lint_model(model, states=0), "y → −y")
    plain = SignedPermutation(found.states.qpos.index, np.ones(model.nq))
    wrong = type(found.states)(plain, found.states.qvel, found.states.ctrl, found.states.act)
    assert mirror_steps(model, wrong, sample_starts(model, 8)).error > 1e-3


def test_the_model_is_not_changed():
    model = compiled(two_arms("friction=.5"))
    before = {
        name: np.array(getattr(model, name)) for name in ("geom_friction", "body_mass", "jnt_range", "geom_sameframe")
    }
    found = the_map(lint_model(model), "y → −y")
    confirm(model, found)
    repaired_model(model)
    for name, value in before.items():
        assert np.array_equal(getattr(model, name), value)


TENDONS = """<mujoco><worldbody>
  <body name="left" pos="0 .2 1"><joint name="lj" axis="1 0 0"/><geom size=".1"/></body>
  <body name="right" pos="0 -.2 1"><joint name="rj" axis="1 0 0"/><geom size=".1"/></body></worldbody>
  <tendon><fixed name="tl"><joint joint="lj" coef="1"/></fixed>
  <fixed name="tr"><joint joint="rj" coef="{}"/></fixed></tendon>
  <actuator><motor tendon="tl" name="ml"/><motor tendon="tr" name="mr"/></actuator></mujoco>"""


@pytest.mark.parametrize(("coefficient", "wanted"), [(1, []), (-1, []), (1.3, [0.3]), (2, [1.0]), (-0.8, [0.2])])
def test_coefficients_of_tendons_are_compared(coefficient, wanted):
    report = lint_model(mujoco.MjModel.from_xml_string(TENDONS.format(coefficient)))
    (found,) = report.maps
    assert found.motion == "y → −y" and str(found.states.ctrl) in ("1,0", "-1,-0")
    assert [v.amount for v in found.violations] == pytest.approx(wanted)
    assert all(v.what == "tendon coefficient of rj" for v in found.violations)


def test_gravity_that_is_tilted_is_said():
    model = mujoco.MjModel.from_xml_string(
        TENDONS.format(1).replace("<worldbody>", '<option gravity="0 2 -9"/><worldbody>')
    )
    report = lint_model(model)
    assert ("y → −y", "gravity is tilted: (0, 2, -9) becomes (0, -2, -9)") in report.rejected
    assert not lint_model(mujoco.MjModel.from_xml_string(TENDONS.format(1))).rejected
