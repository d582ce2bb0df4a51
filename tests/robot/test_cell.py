"""The moved cell: only the world's frame notices it; features, rewards and demonstrations of the fair comparison."""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burnside.envs.manipulation import ManipulationChunks, read_demonstrations
from burnside.envs.manipulation.cell import cell_motions
from burnside.envs.manipulation.chunks import augmentation, manipulation_chunks
from burnside.envs.manipulation.demos import Demonstration
from burnside.envs.manipulation.generate import attempt, generate
from burnside.envs.manipulation.observations import ACTION_LAYOUT, frame_form, relate, state_layout
from burnside.envs.manipulation.scenes import build_scene
from burnside.envs.manipulation.simulation import Simulation
from burnside.envs.manipulation.tasks import STAGES, find_task
from burnside.errors import InvalidParameter, UnknownName
from burnside.experiments.robot.config import CANONICAL, recipe
from burnside.experiments.robot.demonstrations import drawn, find_demonstrations
from burnside.groups.rigid import invert

FAR = (0.3, 180.0)
SEEDS, EPISODES = np.array([3, 4]), np.array([0, 2])
FAST: dict[str, Any] = {"features": "relations", "substeps": 10}


@pytest.fixture(scope="module")
def demo() -> Demonstration:
    task = find_task("stack-two")
    found = attempt(Simulation(task, build_scene(task, 10)), 0, noise=0.003)
    assert found is not None
    return found


def test_the_example_says_what_a_moved_cell_changes(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(Path(__file__).resolve().parents[2] / "examples" / "robot.py"), run_name="__main__")
    world, hand = (float(line.split()[-1]) for line in capsys.readouterr().out.splitlines())
    assert world > 0.05 > 1e-3 > hand


def test_motions_are_counted() -> None:
    found = cell_motions(FAR, SEEDS, EPISODES)
    assert np.array_equal(found[1:], cell_motions(FAR, SEEDS[1:], EPISODES[1:]))
    many = cell_motions(FAR, 7, np.arange(2000))
    turns, shifts = np.degrees(np.arctan2(many[:, 1, 0], many[:, 0, 0])), many[:, :2, 3]
    assert -180 <= turns.min() < -175 and 175 < turns.max() <= 180 and abs(turns.mean()) < 8
    assert np.abs(shifts).max() <= 0.3 and shifts.min() < -0.29 and shifts.max() > 0.29
    assert (many[:, 2] == [0, 0, 1, 0]).all()
    for wrong in ((-0.1, 0.0), (0.1, 181.0), (np.nan, 0.0)):
        with pytest.raises(InvalidParameter, match="metres"):
            cell_motions(wrong, 0, np.arange(1))


@pytest.mark.parametrize("frame", [*CANONICAL, "world"])
def test_only_the_worlds_frame_notices_where_the_cell_stands(frame: str, demo: Demonstration) -> None:
    still, moved = (ManipulationChunks("stack-two", frame, 1, spread=spread, **FAST) for spread in ((0, 0), FAR))
    a, b = still.reset_batch(SEEDS, EPISODES), moved.reset_batch(SEEDS, EPISODES)
    chunk = np.repeat(demo.actions[None, :4], 2, axis=0)
    g = still.form.history(still.moved(still._histories(a), None)["state"])[1]
    own = np.asarray(still.form.into(chunk, g))  # a chunk as a policy in this frame would give it
    pairs = [(still.observe_batch(a)["state"], moved.observe_batch(b)["state"])]
    one, two = still.step_chunk(a, own), moved.step_chunk(b, own)
    learned = [manipulation_chunks(env, [demo], 8, seed=5) for env in (still, moved)]
    pairs += [(learned[0][0]["state"], learned[1][0]["state"]), (learned[0][1], learned[1][1])]
    pairs += [(one.state["qpos"][:, :7], two.state["qpos"][:, :7])]
    if frame == "world":
        assert all(np.abs(x - y).max() > 0.01 for x, y in pairs)
    else:
        assert all(np.abs(x - y).max() < 3e-6 for x, y in pairs), [np.abs(x - y).max() for x, y in pairs]
    assert "spread" in moved.name and "spread" not in still.name


def test_the_base_is_where_the_episode_says(demo: Demonstration) -> None:
    base, world = (ManipulationChunks("stack-two", frame, 1, spread=FAR, **FAST) for frame in ("base", "world"))
    state = world.reset_batch(SEEDS, EPISODES)
    seen, layout = world.observe_batch(state)["state"][:, 0], world.layout
    where = state["cell"] @ np.array([-0.56, 0.0, 0.912, 1.0])
    np.testing.assert_allclose(seen[:, layout.slice("base")], where[:, :3], atol=1e-6)
    own = base.observe_batch(state)["state"][:, 0]
    np.testing.assert_allclose(own[:, layout.slice("base")], 0.0, atol=1e-6)
    unmoved = state["seen/state"][:, 0, :3] - [-0.56, 0.0, 0.912]
    np.testing.assert_allclose(own[:, layout.slice("eef")], unmoved, atol=1e-6)
    with pytest.raises(InvalidParameter, match="relations"):
        ManipulationChunks("stack-two", "base", spread=FAR)
    with pytest.raises(InvalidParameter, match="must name"):
        frame_form(find_task("stack-two"), "base").__class__(layout, ACTION_LAYOUT, "base", "eef", "eef_rotation",
                                                            base=("eef", "finger1"))  # fmt: skip


@pytest.mark.parametrize("task", ["stack-two", "stack-three", "nut-assembly"])
def test_relations_say_what_is_where(task: str) -> None:
    spec, rng = find_task(task), np.random.default_rng(0)
    poses, layout = state_layout(spec), state_layout(spec, features="relations")
    x = rng.normal(size=(5, poses.width))
    found = relate(spec, x)
    assert found.shape == (5, layout.width) and np.array_equal(found[:, : poses.width], x)
    first = spec.objects[0].body.removesuffix("_main")
    np.testing.assert_allclose(found[:, layout.slice(f"eef_to_{first}")], x[:, poses.slice(first)] - x[:, :3])
    np.testing.assert_allclose(found[:, layout.slice("height_eef")][:, 0], x[:, 2] - spec.table)
    g = cell_motions(FAR, 1, np.arange(5))
    moved = layout.act(g, found)
    again = moved[:, layout.slice(first)] - moved[:, layout.slice("eef")]
    np.testing.assert_allclose(moved[:, layout.slice(f"eef_to_{first}")], again)  # the vectors turn along
    assert len(relate(spec, x[:, :11], objects=False)[0]) == state_layout(spec, False, "relations").width
    with pytest.raises(UnknownName, match="relations"):
        state_layout(spec, features="everything")


@pytest.mark.parametrize("frame", ["world", "relative"])
def test_augmentation_moves_what_is_seen_and_what_is_done_alike(demo: Demonstration, frame: str) -> None:
    own_frame, hand = (ManipulationChunks("stack-two", name, 1, spread=FAR, **FAST) for name in (frame, "gripper"))
    seen, actions = manipulation_chunks(own_frame, [demo], 8, still=True)
    move = augmentation(own_frame, 3)
    one, two = move(0, seen, actions), move(len(actions), seen, actions)
    assert np.abs(one[0]["state"] - two[0]["state"]).max() > 0.1 and one[1].dtype == np.float32
    assert np.array_equal(one[1], move(0, seen, actions)[1])
    at_hand = own_frame.layout.slice("eef")
    assert (frame == "relative") == (np.abs(one[0]["state"][:, -1, at_hand]).max() < 1e-5)
    wanted = manipulation_chunks(hand, [demo], 8)
    for observations, chunks in (one, two):  # from the hand all of them look the same
        own, g = hand.form.history(observations["state"].astype(float))
        np.testing.assert_allclose(own, wanted[0]["state"], atol=1e-5)
        np.testing.assert_allclose(hand.form.into(chunks.astype(float), g), wanted[1], atol=1e-5)
    with pytest.raises(InvalidParameter, match="can tell moved cells apart"):
        augmentation(hand, 0)


def test_stages_pay_what_success_pays(demo: Demonstration) -> None:
    task = find_task("stack-two")
    staged, sparse = (ManipulationChunks("stack-two", "world", 1, pays=pays, clock=True, **FAST)
                      for pays in ("staged", "sparse"))  # fmt: skip
    executed = demo.executed
    assert executed is not None
    paid: dict[str, list[float]] = {}
    for env in (staged, sparse):
        state: Any = env.reset_batch(np.array([0]), np.array([0]))
        times = []
        for at in range(0, len(executed), 8):
            times.append(float(env.observe_batch(state)["time"][0, 0]))
            step = env.step_chunk(state, executed[None, at : at + 8])
            state = step.state
            paid.setdefault(env.pays, []).append(float(step.reward[0]))
        assert step.success.all() and times[1] == pytest.approx(8 / task.limit)
    assert sum(paid["staged"]) == pytest.approx(10.0) and sum(paid["sparse"]) == 10.0
    assert sum(value > 0 for value in paid["staged"]) > 1 == sum(value > 0 for value in paid["sparse"])
    assert min(paid["staged"]) >= 0
    with pytest.raises(UnknownName, match="staged"):
        ManipulationChunks("stack-two", pays="often")
    stages: list[int] = []
    for name in ("stack-three", "nut-assembly"):
        spec = find_task(name)
        sim = Simulation(spec, build_scene(spec, 10))
        assert attempt(sim, 1, watch=lambda s: stages.append(s.stage())) is not None
        assert stages[0] == 0 and sim.stage() == STAGES[name] and len(set(stages)) >= STAGES[name]
        stages.clear()


def test_physics_is_a_setting() -> None:
    task = find_task("stack-two")
    slow, fast = build_scene(task), build_scene(task, 10)
    assert slow.model.opt.timestep == 0.002 and fast.model.opt.timestep == 0.005 and slow.model is not fast.model
    assert (slow.substeps, fast.substeps) == (25, 10)
    with pytest.raises(InvalidParameter, match="25 or 10"):
        build_scene(task, 7)


def test_mishaps_are_recovered_from(tmp_path: Path) -> None:
    task = find_task("stack-two")
    made = generate(task, 2, tmp_path / "d.hdf5", workers=0, noise=0.003, substeps=10, mishaps=0.03)
    file = read_demonstrations(made.path)
    assert (file.substeps, file.mishaps, file.noise, len(file)) == (10, 0.03, 0.003, 2)
    for demo in file.demos:
        assert demo.executed is not None
        off = np.linalg.norm(demo.executed[:, :3] - demo.actions[:, :3], axis=1)
        assert off.max() > 0.03 or (demo.executed[:, 9] != demo.actions[:, 9]).any()
        assert np.median(off) < 0.02
    with pytest.raises(InvalidParameter, match="mishaps"):
        generate(task, 1, tmp_path / "e.hdf5", mishaps=0.5)
    found = recipe("smoke", "stack-two", "world", features="relations", demos=1)
    with pytest.raises(InvalidParameter, match="holds 2 demonstrations and 3"):
        find_demonstrations(recipe("smoke", "stack-two", "world", features="relations", demos=3), made.path)
    assert len(find_demonstrations(found, made.path)) == 2  # the pool it draws from
    picks = {tuple(drawn(found, file, seed)) for seed in range(20)}
    assert picks == {(0,), (1,)}
    more = recipe("smoke", "stack-two", "world", features="relations", demos=2)
    assert all(drawn(more, file, seed)[:1] == drawn(found, file, seed) for seed in range(5))


def test_the_motion_of_the_cell_is_undone_on_actions() -> None:
    env = ManipulationChunks("stack-two", "world", 1, spread=FAR, **FAST)
    state = env.reset_batch(SEEDS, EPISODES)
    here = state["seen/state"][:, 0]
    hold = np.concatenate([here[:, :9], np.full((2, 1), -1.0)], axis=1)[:, None].repeat(4, axis=1).astype(float)
    seen = np.asarray(ACTION_LAYOUT.act(state["cell"][:, None], hold))
    after = env.step_chunk(state, seen).state["seen/state"][:, 0]
    assert np.abs(after[:, :3] - here[:, :3]).max() < 0.01  # the hand stays where it is
    np.testing.assert_allclose(
        np.asarray(invert(state["cell"])) @ state["cell"], np.eye(4)[None].repeat(2, 0), atol=1e-12
    )
