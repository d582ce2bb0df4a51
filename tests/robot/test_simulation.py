"""Our step against robosuite's own, scenes from seeds, and the rules of success."""

from dataclasses import replace

import numpy as np
import pytest

from burnside.envs.manipulation.experts import make_expert
from burnside.envs.manipulation.simulation import Simulation
from burnside.envs.manipulation.tasks import find_task
from burnside.errors import InvalidAction
from burnside.groups.rigid import rot6d_to_matrix, so3_log

TASKS = ["stack-three", "nut-assembly"]


def robosuite_step(reference, sim, action):  # type: ignore[no-untyped-def]
    """One step of robosuite from our present state; its positions and velocities afterwards."""
    import mujoco

    state = sim.save()
    model, data = reference.sim.model._model, reference.sim.data._data
    mujoco.mj_resetData(model, data)
    data.qpos[:], data.qvel[:], data.qacc_warmstart[:] = state.qpos, state.qvel, state.warmstart
    robot = reference.robots[0]
    controller = robot.composite_controller.part_controllers["right"]
    controller.initial_joint, controller.new_update = state.posture.copy(), True
    robot.gripper["right"].current_action = state.fingers.copy()
    axis = so3_log(rot6d_to_matrix(action[3:9]))
    reference.step(np.concatenate([action[:3], axis, action[9:]]))
    return data.qpos.copy(), data.qvel.copy()


def own_spread(sim, state, action, tries=6):  # type: ignore[no-untyped-def]
    """How far one step of the simulator itself moves when velocities change by 1e-15, that is by rounding."""
    rng = np.random.default_rng(0)
    ends = []
    for k in range(tries + 1):
        nudge = np.zeros(len(state.qvel))
        nudge[:7] = 1e-15 * rng.standard_normal(7) if k else 0.0
        sim.restore(replace(state, qvel=state.qvel + nudge))
        sim.step(action)
        ends.append(np.concatenate([sim.data.qpos, sim.data.qvel]))
    sim.restore(state)
    return max(np.abs(end - ends[0]).max() for end in ends[1:])


@pytest.mark.parametrize("name", TASKS)
def test_one_step_equals_robosuites(name: str) -> None:
    """From states along an expert's episode (contacts, grasps) one step stays within 1e-6 of robosuite's.

    At a few states MuJoCo's contacts jump: there a change of 1e-15 moves the simulator itself by 1e-4, and no two
    programs that round differently can agree better than that. Everywhere else the difference is about 1e-14.
    """
    from burnside.envs.manipulation.scenes import reference_environment

    sim, reference = Simulation(find_task(name)), reference_environment(find_task(name))
    reference.reset()
    sim.reset(3)
    expert, differences, jumps, grasps = make_expert(sim.task), [], 0, 0
    for k in range(120):
        action = expert.act(sim)
        if k % 2:
            sim.step(action)
            continue
        state = sim.save()
        qpos, qvel = robosuite_step(reference, sim, action)
        sim.step(action)
        difference = max(np.abs(qpos - sim.data.qpos).max(), np.abs(qvel - sim.data.qvel).max())
        grasps += sim.grasped(0)
        if difference > 1e-6:
            after = sim.save()
            assert difference < 10 * own_spread(sim, state, action)
            sim.restore(after)
            jumps += 1
        else:
            differences.append(difference)
    assert grasps > 3  # the comparison saw contacts
    assert len(differences) > 50 and jumps <= 6
    assert np.median(differences) < 1e-12


@pytest.mark.parametrize("name", TASKS)
def test_the_torques_are_robosuites_in_every_state(name: str) -> None:
    from burnside.envs.manipulation.control import torques
    from burnside.envs.manipulation.scenes import reference_environment

    sim, reference = Simulation(find_task(name)), reference_environment(find_task(name))
    reference.reset()
    sim.reset(5)
    expert = make_expert(sim.task)
    controller = reference.robots[0].composite_controller.part_controllers["right"]
    for _ in range(80):
        action = expert.act(sim)
        data = reference.sim.data._data
        data.qpos[:], data.qvel[:] = sim.data.qpos, sim.data.qvel
        reference.sim.forward()
        controller.initial_joint = sim.posture.copy()
        controller.update(force=True)
        controller.goal_pos, controller.goal_ori = action[:3], rot6d_to_matrix(action[3:9])
        theirs = np.clip(controller.run_controller(), sim._range[:7, 0], sim._range[:7, 1])
        sim._mujoco.mj_jacSite(sim.model, sim.data, sim._jacp, sim._jacr, sim.site)
        torques(action[:3], np.ascontiguousarray(rot6d_to_matrix(action[3:9])), sim.posture, sim._arm)
        np.testing.assert_allclose(sim.data.ctrl[:7], theirs, atol=1e-9)
        sim.step(action)


def test_the_constants_are_robosuites() -> None:
    """Radii, heights, the predicate and the hand's offset as robosuite has them."""
    from burnside.envs.manipulation.demos import _SITE_IN_HAND
    from burnside.envs.manipulation.scenes import reference_environment
    from burnside.groups.rigid import quaternion_to_matrix

    for name in TASKS:
        task = find_task(name)
        env = reference_environment(task)
        seen = env.reset()
        found = {one.root_body: one for one in env.model.mujoco_objects}
        for place in task.objects:
            theirs = found[place.body]
            assert theirs.horizontal_radius == pytest.approx(place.radius)
            assert theirs.bottom_offset[-1] == pytest.approx(-place.below)
            assert theirs.top_offset[-1] == pytest.approx(place.above)
        hand, site = (quaternion_to_matrix(seen[key]) for key in ("robot0_eef_quat", "robot0_eef_quat_site"))
        np.testing.assert_allclose(hand @ _SITE_IN_HAND, site, atol=1e-6)


@pytest.mark.parametrize("name", TASKS)
def test_a_scene_depends_on_seed_and_episode_only(name: str) -> None:
    sim = Simulation(find_task(name))
    sim.reset(7)
    first = sim.data.qpos.copy()
    sim.step(sim.hold(1.0))
    sim.reset(8)
    assert not np.array_equal(first, sim.data.qpos)
    sim.reset(7, 1)
    assert not np.array_equal(first, sim.data.qpos)
    sim.reset(7)
    assert np.array_equal(first, sim.data.qpos)


@pytest.mark.parametrize("name", TASKS)
def test_a_restored_state_goes_on_bit_for_bit(name: str) -> None:
    sim = Simulation(find_task(name))
    sim.reset(2)
    action = sim.hold(1.0) + np.array([0.05, 0.02, -0.1, 0, 0, 0, 0, 0, 0, 0])
    for _ in range(8):
        sim.step(action)
    saved = sim.save()
    for _ in range(6):
        sim.step(action)
    expected = sim.data.qpos.copy()
    sim.reset(5)
    sim.restore(saved)
    assert sim.steps == 8
    for _ in range(6):
        sim.step(action)
    assert np.array_equal(expected, sim.data.qpos)


def place(sim: Simulation, index: int, position: list[float]) -> None:
    address = sim._addresses[index]
    sim.data.qpos[address : address + 7] = [*position, 1, 0, 0, 0]


def settle(sim: Simulation, steps: int = 8) -> None:
    state = sim.save()
    sim.restore(state)
    for _ in range(steps):
        sim.step(sim.hold(-1.0))


def test_stacking_counts_when_both_cubes_rest_and_are_let_go() -> None:
    sim = Simulation(find_task("stack-three"))
    sim.reset(0)
    place(sim, 1, [0.1, 0.1, 0.825])
    place(sim, 0, [0.1, 0.1, 0.8701])
    place(sim, 2, [-0.1, 0.1, 0.8201])
    settle(sim)
    assert not sim.success()  # C lies on the table
    place(sim, 2, [0.1, 0.1, 0.9101])
    settle(sim)
    assert sim.touching(0, 1) and sim.touching(2, 0) and not sim.touching(1, 2)
    assert sim.success()
    place(sim, 2, [0.1, 0.1, 0.8701])
    place(sim, 0, [0.1, 0.1, 0.9101])
    settle(sim)
    assert not sim.success()  # the wrong order


def test_nuts_count_on_their_own_pegs_with_the_hand_away() -> None:
    sim = Simulation(find_task("nut-assembly"))
    sim.reset(0)
    place(sim, 0, [0.23, 0.1, 0.83])
    place(sim, 1, [0.23, -0.1, 0.93])
    sim.restore(sim.save())
    assert sim.on_pegs() == [True, False]  # too high up the peg
    place(sim, 1, [0.23, -0.1, 0.83])
    sim.restore(sim.save())
    assert sim.success()
    place(sim, 0, [0.23, -0.1, 0.83])
    sim.restore(sim.save())
    assert sim.on_pegs() == [False, True]


def test_bad_actions_are_one_sentence() -> None:
    sim = Simulation(find_task("stack-three"))
    with pytest.raises(InvalidAction, match=r"call reset\(\) first"):
        sim.step(np.zeros(10))
    sim.reset(0)
    with pytest.raises(InvalidAction, match="10 finite numbers"):
        sim.step(np.zeros(7))
    with pytest.raises(InvalidAction, match="10 finite numbers"):
        sim.step(np.full(10, np.nan))
    with pytest.raises(InvalidAction, match="zero or parallel"):
        sim.step(np.zeros(10))


@pytest.mark.parametrize("name", TASKS)
def test_experts_solve_their_tasks(name: str) -> None:
    sim = Simulation(find_task(name))
    for seed in range(2):
        sim.reset(100_000 + seed)
        expert = make_expert(sim.task)
        while not sim.success() and sim.steps < sim.task.limit:
            sim.step(expert.act(sim))
        assert sim.success()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "least"), [("stack-three", 90), ("nut-assembly", 80)])
def test_experts_over_a_hundred_scenes(name: str, least: int) -> None:
    sim, solved = Simulation(find_task(name)), 0
    for seed in range(100):
        sim.reset(seed)
        expert = make_expert(sim.task)
        while not sim.success() and sim.steps < sim.task.limit:
            sim.step(expert.act(sim))
        solved += sim.success()
    assert solved >= least


def test_an_expert_recovers_from_a_lost_cube() -> None:
    sim = Simulation(find_task("stack-three"))
    sim.reset(1)
    expert, thrown = make_expert(sim.task), False
    while not sim.success() and sim.steps < sim.task.limit:
        if not thrown and expert.phase == "carry":  # take the cube out of the hand
            place(sim, 0, [0.0, -0.15, 0.83])
            sim.restore(sim.save())
            thrown = True
        sim.step(expert.act(sim))
    assert thrown and sim.success()
