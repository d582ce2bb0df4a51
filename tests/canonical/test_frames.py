"""Frames: round trips, invariance on orbits, one frame for a whole history and chunk, planar and spatial, torch too."""

import gymnasium as gym
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import burnside.envs  # noqa: F401
from burnside.canonical import CanonicalEnv, Canonicalizer, CanonicalVectorEnv
from burnside.canonical.frames import FRAMES, POSE_ACTION, FrameForm, cloud_layout, planar_frames, pose_frames
from burnside.envs.planar import PlanarSpec, expert, observe, reset, step, to_world
from burnside.envs.planar.core import to_frame
from burnside.errors import InvalidParameter, UnknownName
from burnside.groups.rigid import (
    SPATIAL_FRAMES,
    Layout,
    act_poses,
    invert,
    motion_to_pose9,
    pose9_to_motion,
    rigid,
    so2_exp,
)

torch = pytest.importorskip("torch")
PUSH, STACK = (PlanarSpec(task, (1.0, 3.0), dtype="float64") for task in ("push", "stack"))
BASE = rigid(Rotation.from_euler("z", 30, degrees=True).as_matrix(), [-0.5, 0.1, 0.9])


def spatial(rng: np.random.Generator, *lead: int, points: int = 7) -> dict[str, np.ndarray]:
    """A gripper somewhere, fingers, and a coloured cloud."""
    turn = Rotation.random(int(np.prod(lead)), random_state=int(rng.integers(2**31))).as_matrix().reshape(*lead, 3, 3)
    pose = motion_to_pose9(rigid(turn, rng.normal(size=(*lead, 3))))
    state = np.concatenate([pose, rng.uniform(size=(*lead, 2))], axis=-1)
    return {"state": state, "cloud": rng.normal(size=(*lead, points, 6))}


def moved(g: np.ndarray, x: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """A motion of the whole world, written out by hand."""
    R, t = g[:3, :3], g[:3, 3]
    pose = motion_to_pose9(act_poses(g, pose9_to_motion(x["state"][..., :9])))
    cloud = np.concatenate([x["cloud"][..., :3] @ R.T + t, x["cloud"][..., 3:]], axis=-1)
    return {"state": np.concatenate([pose, x["state"][..., 9:]], axis=-1), "cloud": cloud}


def somewhere(rng: np.random.Generator, d: int) -> np.ndarray:
    if d == 2:
        return rigid(so2_exp(rng.uniform(-3, 3)), rng.normal(size=2))
    return rigid(Rotation.random(random_state=int(rng.integers(2**31))).as_matrix(), rng.normal(size=3))


# ---------------------------------------------------------------------- the plane


@pytest.mark.parametrize("spec", [PUSH, STACK], ids=["push", "stack"])
@pytest.mark.parametrize("frame", ["world", "base", "relative", "robot", "gripper"])
def test_planar_form_equals_what_the_environment_shows(spec: PlanarSpec, frame: str) -> None:
    state = reset(spec, 1, n=50)
    form = planar_frames(spec, frame)
    assert isinstance(form, Canonicalizer)
    x_bar, g = form(state.x)
    assert np.allclose(x_bar, observe(spec, state, frame), atol=1e-14)
    actions = np.random.default_rng(0).normal(size=(50, spec.action_dim))
    assert np.allclose(form.undo(actions, g), to_world(spec, state, frame, actions), atol=1e-14)
    assert np.allclose(form.into(actions, g), to_frame(spec, state, frame, actions), atol=1e-14)


@pytest.mark.parametrize("frame", FRAMES)
def test_round_trips_of_the_plane(frame: str) -> None:
    rng = np.random.default_rng(0)
    form, state = planar_frames(PUSH, frame), reset(PUSH, 2, n=20)
    x_bar, g = form(state.x)
    assert np.allclose(form.act(invert(g), x_bar), state.x, atol=1e-14)
    chunk = rng.normal(size=(20, 16, 3))
    assert np.allclose(form.undo(form.into(chunk, g), g), chunk, atol=1e-14)


@pytest.mark.parametrize("frame", SPATIAL_FRAMES)
def test_round_trips_of_space(frame: str) -> None:
    rng = np.random.default_rng(0)
    space = pose_frames(frame, cloud=6, base=BASE)
    x = spatial(rng, 4, 2)
    x_bar, g = space.history(x)
    back = space.act(invert(g)[:, None], x_bar)
    assert all(np.allclose(back[k], x[k], atol=1e-13) for k in x)
    chunk = rng.normal(size=(4, 16, 10))
    assert np.allclose(space.undo(space.into(chunk, g), g), chunk, atol=1e-13)


def test_worlds_are_left_exactly_alone() -> None:
    form, state = planar_frames(PUSH, "world"), reset(PUSH, 2, n=20)
    x_bar, g = form(state.x)
    assert np.array_equal(x_bar, state.x) and np.array_equal(form.undo(state.x[:, :3], g), state.x[:, :3])


@pytest.mark.parametrize(("frame", "turns"), [("robot", True), ("relative", False), ("world", False)])
def test_what_a_frame_makes_equal(frame: str, turns: bool) -> None:
    """The robot's frame forgets all motions, the relative one only shifts, the world none."""
    rng = np.random.default_rng(5)
    form, state = planar_frames(STACK, frame), reset(STACK, 3, n=10)
    shift, turn = rigid(np.eye(2), [2.0, -1.0]), somewhere(rng, 2)
    plain = form(state.x)[0]
    assert np.allclose(form(form.act(shift, state.x))[0], plain, atol=1e-12) == (frame != "world")
    assert np.allclose(form(form.act(turn, state.x))[0], plain, atol=1e-12) == turns


def test_hand_computed_chunk_of_the_plane() -> None:
    """Robot at (1, 1) looking up; ahead is up, left is −x."""
    form = planar_frames(PUSH, "robot")
    history = np.array([[1, 0.5, 0, 1, 1, 3, 0, 1], [1, 1, 0, 1, 1, 3, 0, 1.0]])
    x_bar, g = form.history(history)
    assert np.allclose(x_bar[0], [-0.5, 0, 1, 0, 2, 0, 0, 1])  # half a unit behind where it is now
    assert np.allclose(x_bar[1], [0, 0, 1, 0, 2, 0, 0, 1])
    assert np.allclose(form.undo(np.array([[1, 0, 0.5], [0, 1, 0]]), g), [[0, 1, 0.5], [-1, 0, 0]])


def test_expert_looks_the_same_from_the_robot() -> None:
    rng = np.random.default_rng(0)
    for spec in (PUSH, STACK):
        form, state, g = planar_frames(spec), reset(spec, 0, n=30), somewhere(rng, 2)
        for _ in range(25):
            state, *_ = step(spec, state, expert(spec, state))
        other = type(state)(form.act(g, state.x), state.t)
        ours, theirs = (form.into(expert(spec, s), form(s.x)[1]) for s in (state, other))
        assert np.allclose(ours, theirs, atol=1e-9)


# ---------------------------------------------------------------------- space


def test_space_forgets_motions_in_the_gripper_frame_only() -> None:
    rng = np.random.default_rng(1)
    x, g = spatial(rng, 3, 2), somewhere(rng, 3)
    chunk = rng.normal(size=(3, 16, 10))
    for frame, forgets in (("gripper", True), ("world", False), ("base", False)):
        form = pose_frames(frame, cloud=6, base=BASE)
        (here, h), (there, k) = form.history(x), form.history(moved(g, x))
        same = all(np.allclose(here[key], there[key], atol=1e-12) for key in x)
        assert same == forgets
        if forgets:  # and the chunk chosen there means the moved chunk
            meant = POSE_ACTION.act(g, form.undo(chunk, h))
            assert np.allclose(form.undo(chunk, k), meant, atol=1e-12)
    here = pose_frames("relative", cloud=6).history(x)[0]
    shifted = moved(rigid(np.eye(3), [1.0, 2.0, 3.0]), x)
    assert np.allclose(pose_frames("relative", cloud=6).history(shifted)[0]["cloud"], here["cloud"], atol=1e-12)


@pytest.mark.parametrize(
    ("frame", "keeps"),
    [("azimuth", ()), ("upright", ("slide",)), ("gripper", ("slide", "lift", "tilt")), ("relative", ("lift",))],
)
def test_frames_that_know_the_vertical(frame: str, keeps: tuple[str, ...]) -> None:
    """What each frame makes equal: turns about the base's axis, motions along the ground, and what gravity breaks."""
    x = spatial(np.random.default_rng(6), 3, 2)
    turn = Rotation.from_euler("z", 40, degrees=True).as_matrix()
    axis = BASE[:3, 3]
    motions = {
        "axis": rigid(turn, axis - turn @ axis),
        "slide": rigid(turn, [0.3, -0.2, 0.0]),
        "lift": rigid(np.eye(3), [0.0, 0.0, 0.1]),
        "tilt": rigid(Rotation.from_euler("x", 10, degrees=True).as_matrix(), np.zeros(3)),
    }
    form = pose_frames(frame, cloud=6, base=BASE)
    chunk = np.random.default_rng(7).normal(size=(3, 16, 10))
    here, h = form.history(x)
    expected = {*keeps, *(() if frame == "relative" else ("axis",))}
    for name, g in motions.items():
        there, k = form.history(moved(g, x))
        same = all(np.allclose(here[key], there[key], atol=1e-12) for key in x)
        assert same == (name in expected), name
        if same:
            assert np.allclose(form.undo(chunk, k), POSE_ACTION.act(g, form.undo(chunk, h)), atol=1e-12)


def test_hand_computed_upright_frames() -> None:
    """A hand at (1, 1, 2) that points down with its x axis along y; the base stands at (1, 0)."""
    state = np.array([1, 1, 2, 0, 1, 0, 1, 0, 0, 0.0, 0.0])
    cloud = np.array([[1, 3, 2, 0, 0, 0.0]])
    seen, _ = pose_frames("upright", cloud=6)({"state": state, "cloud": cloud})
    assert np.allclose(seen["state"][:9], [0, 0, 2, 1, 0, 0, 0, -1, 0]) and np.allclose(seen["cloud"][0, :3], [2, 0, 2])
    seen, _ = pose_frames("azimuth", cloud=6, base=rigid(np.eye(3), [1.0, 0, 5.0]))({"state": state, "cloud": cloud})
    assert np.allclose(seen["state"][:3], [1, 0, 2]) and np.allclose(seen["cloud"][0, :3], [3, 0, 2])
    straight_up = np.array([0, 0, 1, 0, 0, 1, 0, 1, 0, 0.0, 0.0])  # its x axis has no heading
    assert np.allclose(pose_frames("upright", cloud=6).pose({"state": straight_up})[:3, :3], np.eye(3))


def test_history_is_seen_from_its_latest_step() -> None:
    x = spatial(np.random.default_rng(2), 4, 3)
    seen, _ = pose_frames("gripper", cloud=6).history(x)
    assert np.allclose(seen["state"][:, -1, :9], [0, 0, 0, 1, 0, 0, 0, 1, 0], atol=1e-12)
    F = pose9_to_motion(x["state"][:, -1, :9])
    for step_ in range(3):
        expected = motion_to_pose9(invert(F) @ pose9_to_motion(x["state"][:, step_, :9]))
        assert np.allclose(seen["state"][:, step_, :9], expected, atol=1e-12)
        R, t = F[:, :3, :3], F[:, :3, 3]
        points = (x["cloud"][:, step_, :, :3] - t[:, None]) @ R
        assert np.allclose(seen["cloud"][:, step_, :, :3], points, atol=1e-12)
    assert np.array_equal(seen["cloud"][..., 3:], x["cloud"][..., 3:]), "colours are scalars"


def test_base_is_a_constant_change_of_coordinates() -> None:
    x = spatial(np.random.default_rng(3), 5)
    form = pose_frames("base", cloud=6, base=BASE)
    seen, g = form(x)
    assert np.allclose(g, invert(BASE)[None], atol=0)
    assert np.allclose(seen["cloud"][..., :3], (x["cloud"][..., :3] - BASE[:3, 3]) @ BASE[:3, :3], atol=1e-13)


def test_absolute_targets_become_the_motion_to_make() -> None:
    """A target equal to the present pose is the identity in the gripper's frame: the action says what to change."""
    x = spatial(np.random.default_rng(4), 2)
    form = pose_frames("gripper", cloud=6)
    _, g = form(x)
    stay = np.concatenate([x["state"][:, :9], [[1.0], [0.0]]], axis=1)
    assert np.allclose(form.into(stay, g)[:, :9], [0, 0, 0, 1, 0, 0, 0, 1, 0], atol=1e-12)
    assert form.into(stay, g)[:, 9].tolist() == [1.0, 0.0]


def test_torch_and_float32() -> None:
    x = spatial(np.random.default_rng(6), 3, 2)
    form = pose_frames("gripper", cloud=6)
    seen, g = form.history(x)
    tensors = {k: torch.from_numpy(v).float() for k, v in x.items()}
    theirs, h = form.history(tensors)
    assert h.dtype == torch.float32 and theirs["cloud"].dtype == torch.float32
    assert all(np.allclose(theirs[k].numpy(), seen[k], atol=1e-5) for k in x)
    chunk = torch.randn(3, 16, 10, generator=torch.Generator().manual_seed(0))
    assert np.allclose(form.undo(chunk, h).numpy(), form.undo(chunk.numpy().astype(float), g), atol=1e-5)
    small = {k: v.astype(np.float32) for k, v in x.items()}
    assert form.history(small)[0]["cloud"].dtype == np.float32


# ---------------------------------------------------------------------- in front of an environment


@pytest.mark.parametrize("frame", ["robot", "relative"])
def test_wrapper_plays_the_same_game(frame: str) -> None:
    spec = PlanarSpec("push", (1.0, 3.0))
    plain = gym.make("burnside/PlanarPush-v0", spread=(1.0, 3.0))
    wrapped = CanonicalEnv(gym.make("burnside/PlanarPush-v0", spread=(1.0, 3.0)), planar_frames(spec, frame))
    plain.reset(seed=4)
    x, _ = wrapped.reset(seed=4)
    rng = np.random.default_rng(0)
    for _ in range(20):
        state = plain.unwrapped.state
        assert np.allclose(x, observe(spec, state, frame)[0], atol=1e-6)
        action = rng.uniform(-1, 1, 3).astype(np.float32)
        _, r, *_ = plain.step(to_world(spec, state, frame, action[None])[0])
        x, r_too, *_ = wrapped.step(action)
        assert r == pytest.approx(r_too, abs=1e-5)


def test_vector_wrapper_uses_the_declared_form() -> None:
    envs = CanonicalVectorEnv(gym.make_vec("burnside/PlanarStack-v0", num_envs=3, spread=(1.0, 3.0)))
    x, _ = envs.reset(seed=0)
    assert np.allclose(x[:, :4], [0, 0, 1, 0], atol=1e-6)
    x, *_ = envs.step(np.zeros((3, 4), np.float32))
    assert np.allclose(x[:, :4], [0, 0, 1, 0], atol=1e-6)


# ---------------------------------------------------------------------- bad input


def test_bad_input_is_explained() -> None:
    with pytest.raises(UnknownName, match="did you mean 'gripper'"):
        pose_frames("griper")
    with pytest.raises(UnknownName, match="frame"):
        planar_frames(PUSH, "upright")  # the plane has no vertical
    with pytest.raises(UnknownName, match="known: base, gripper, relative, robot, world"):
        planar_frames(PUSH, "camera")
    with pytest.raises(UnknownName, match="frame"):
        observe(PUSH, reset(PUSH, 0), "camera")
    with pytest.raises(InvalidParameter, match="8 numbers"):
        planar_frames(PUSH)(np.zeros(7))
    with pytest.raises(InvalidParameter, match="one rigid motion"):
        pose_frames("base", base=2 * np.eye(4))
    with pytest.raises(InvalidParameter, match="steps"):
        planar_frames(PUSH).history(np.zeros(8))
    with pytest.raises(UnknownName, match="array"):
        pose_frames("gripper", cloud=3)({"state": np.ones(11), "image": np.zeros((2, 3))})
    with pytest.raises(InvalidParameter, match="one dimension"):
        FrameForm(PUSH.layout, POSE_ACTION)
    with pytest.raises(InvalidParameter, match="needs a point"):
        FrameForm(PUSH.layout, PUSH.action_layout, position="heading")
    with pytest.raises(InvalidParameter, match="3 coordinates"):
        cloud_layout(2)
    with pytest.raises(UnknownName, match="part"):
        FrameForm(Layout((("p", "point"),)), PUSH.action_layout)
