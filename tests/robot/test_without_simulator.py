"""What needs neither MuJoCo nor robosuite: the tasks' numbers, layouts, the dependency lists."""

import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from burnside.cli import main
from burnside.envs.manipulation.clouds import crop, farthest_points, unproject
from burnside.envs.manipulation.observations import ACTION_LAYOUT, CLOUD_LAYOUT, frame_form, state_layout, state_vector
from burnside.envs.manipulation.simulation import sample_placements
from burnside.envs.manipulation.tasks import find_task
from burnside.errors import InvalidParameter, MissingExtra, UnknownName
from burnside.groups.rigid import compose, rigid, so3_exp

REPO = Path(__file__).resolve().parents[2]


def test_mimicgen_is_in_no_dependency_list() -> None:
    """The package of that name on PyPI is not the robotics project."""
    project = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]
    listed = project["dependencies"] + [name for extra in project["optional-dependencies"].values() for name in extra]
    for file in ("constraints.txt", "constraints-robot.txt"):
        listed += (REPO / file).read_text().splitlines()
    assert len(listed) > 50
    assert not [line for line in listed if "mimicgen" in line.lower() and not line.startswith("#")]


def test_the_numbers_of_the_tasks() -> None:
    d0, d1, nut = find_task("stack-three", "D0"), find_task("stack-three"), find_task("nut-assembly")
    assert (d0.objects[0].x, d1.objects[2].y) == ((-0.10, 0.10), (-0.20, 0.20))
    assert (d1.limit, nut.limit, d1.table, nut.table) == (400, 500, 0.8, 0.82)
    assert nut.objects[0].y == (0.11, 0.225) and nut.objects[1].y == (-0.225, -0.11)
    with pytest.raises(UnknownName, match="did you mean 'stack-three'"):
        find_task("stack-tree")
    with pytest.raises(InvalidParameter, match="has the levels D0, not 'D1'"):
        find_task("nut-assembly", "D1")


@pytest.mark.parametrize("name", ["stack-three", "nut-assembly"])
def test_placements_stay_in_their_rectangles_and_apart(name: str) -> None:
    task = find_task(name)
    seen = []
    for seed in range(300):
        placed = sample_placements(task, np.random.Generator(np.random.Philox(key=[seed, 0])))
        seen.append([position for position, _ in placed])
        for k, (here, _) in enumerate(placed):
            for j in range(k):
                gap = np.hypot(*(here - placed[j][0])[:2])
                assert gap > task.objects[k].radius + task.objects[j].radius
    where = np.array(seen)
    for k, place in enumerate(task.objects):
        for axis, (low, high) in enumerate((place.x, place.y)):
            assert low <= where[:, k, axis].min() and where[:, k, axis].max() <= high
            assert np.ptp(where[:, k, axis]) > 0.9 * (high - low)  # and they use all of it


def test_layouts_and_frames_fit_together() -> None:
    task = find_task("stack-three")
    layout = state_layout(task)
    assert (layout.width, ACTION_LAYOUT.width, CLOUD_LAYOUT.width) == (11 + 3 * 9, 10, 6)
    rng = np.random.default_rng(0)
    rotations = so3_exp(rng.standard_normal((5, 4, 3)))
    poses = rng.standard_normal((5, 4, 3))
    x = state_vector(poses[:, 0], rotations[:, 0], np.full((5, 2), 0.02), poses[:, 1:], rotations[:, 1:])
    assert x.shape == (5, 38) and x.dtype == np.float32
    form = frame_form(task, "gripper")
    canonical, g = form(x.astype(float))
    np.testing.assert_allclose(canonical[:, :9], np.tile([0, 0, 0, 1, 0, 0, 0, 1, 0], (5, 1)), atol=1e-6)
    action = rng.standard_normal((5, 1, 10))
    np.testing.assert_allclose(form.undo(form.into(action, g), g), action, atol=1e-12)


def test_a_cube_looks_the_same_from_all_its_24_sides() -> None:
    rng = np.random.default_rng(1)
    hand, cube = so3_exp(rng.standard_normal(3)), so3_exp(rng.standard_normal((1, 3)))
    side = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    plain, turned = (
        state_vector(np.zeros(3), hand, np.zeros(2), np.zeros((1, 3)), r, cubes=True) for r in (cube, cube @ side)
    )
    np.testing.assert_allclose(plain, turned, atol=1e-6)
    # and the choice commutes with moving the whole scene
    g = rigid(so3_exp(np.array([0.3, -0.2, 1.0])), np.array([1.0, 2.0, 3.0]))
    assert compose(g, g).shape == (4, 4)
    r, t = g[:3, :3], g[:3, 3]
    moved = state_vector(t, r @ hand, np.zeros(2), t[None], r @ cube, cubes=True)
    expected = state_layout_one().act(g, plain.astype(float))
    np.testing.assert_allclose(moved, expected, atol=1e-5)


def state_layout_one():  # type: ignore[no-untyped-def]
    from burnside.groups.rigid import Layout

    parts = (("eef", "point"), ("r", "rot6d"), ("f1", "scalar"), ("f2", "scalar"), ("c", "point"), ("cr", "rot6d"))
    return Layout(parts, d=3)


def test_unprojection_by_hand() -> None:
    # 90 degrees: at distance 1 the picture is 2 wide; two by two pixels lie at ±0.5
    points = unproject(np.ones((2, 2)), 90.0, np.array([0.0, 0, 5]), np.eye(3))
    np.testing.assert_allclose(points[0, 0], [-0.5, -0.5, 4.0])
    np.testing.assert_allclose(points[1, 0], [-0.5, 0.5, 4.0])


def test_clouds_are_cropped_and_padded() -> None:
    task = find_task("stack-three")
    cloud = np.zeros((3, 6))
    cloud[:, 2] = [0.7, 0.85, 2.0]
    inside = crop(cloud, task)
    assert inside[:, 2].tolist() == [0.85]
    assert farthest_points(inside, 5).shape == (5, 6)
    assert farthest_points(np.zeros((0, 6)), 3).shape == (3, 6)


@pytest.mark.skipif("mujoco" in sys.modules, reason="the simulator is installed")
def test_without_the_simulator_one_sentence_says_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("burnside")
    import importlib.util

    if importlib.util.find_spec("mujoco") is not None:
        pytest.skip("the simulator is installed")
    assert main(["demos", "stack-three", "--count", "1", "--out", str(tmp_path / "x.hdf5")]) == 2
    assert "burnside[robot]" in capsys.readouterr().err.replace("\n", "")


def test_robosuite_is_missed_before_mujoco_is_called_too_new(monkeypatch: pytest.MonkeyPatch) -> None:
    mujoco = pytest.importorskip("mujoco")
    from burnside.envs.manipulation.scenes import load_robosuite

    monkeypatch.setattr(mujoco, "__version__", "4.0.0")
    monkeypatch.setattr("importlib.util.find_spec", lambda name, package=None: None)
    with pytest.raises(MissingExtra, match=r"'robosuite'.*burnside\[robot\]' in an environment of its own"):
        load_robosuite()
