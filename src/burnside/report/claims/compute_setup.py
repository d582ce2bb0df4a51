"""Figures of App. C: the settings as they stand in our presets, and what follows from the paper's counts."""

from __future__ import annotations

from burnside.report.claims.compute import Figures, computation

__all__: list[str] = []


@computation
def setup_rings() -> Figures:
    """Defaults of the ring environments, and of DQN and PPO what the presets ``paper`` of both experiments use."""
    from burnside.envs.ring.core import RingSpec
    from burnside.experiments import ring1d, ring3d
    from burnside.experiments.ring3d.config import Setting, agent

    line, solid = RingSpec(10), RingSpec(5, d=3)
    plan, plan3d = ring1d.config.PRESETS["paper"], ring3d.config.PRESETS["paper"]
    cells = ring1d.Ring1D().plan("paper")
    return {
        "mines": [line.p_mine, solid.p_mine],
        "goal": [line.end_reward, solid.end_reward],
        "moves": [line.n_actions, solid.n_actions],
        "steps": [line.time_limit, solid.time_limit],
        "n": [line.n, solid.n],
        "dqn_1d": cells[0].config["dqn"],
        "dqn_3d": agent(Setting("dqn", "baseline", "pool"), plan3d).to_json(),
        "ppo_3d": agent(Setting("ppo", "baseline", "pool"), plan3d).to_json(),
        "sizes": list(plan.sizes),
        "seeds": plan.seeds,
        "last_seed": max(seed for cell in cells for seed in cell.seeds),
        "episodes": plan.episodes,
        "episodes_3d": plan3d.budgets["dqn"].episodes,
        "changes_3d": sum(len(budget.changes) for budget in plan3d.budgets.values()),
    }


@computation
def setup_cube() -> Figures:
    """The preset ``paper`` of the cube beside what was run: scrambles, tests, network, epochs."""
    from burnside.experiments.cube.config import EPOCH_STATES, PRESETS

    plans, study = PRESETS["paper"].davi, PRESETS["study"].davi
    first, test = plans[0], plans[0].solve
    assert test is not None
    return {
        "sizes": sorted({plan.n for plan in plans}),
        "longest_scramble": first.agent.back_max,
        "test_scrambles": test.scrambles,
        "test_depths": [min(test.depths), max(test.depths)],
        "tests": first.evaluations,
        "hidden": list(first.agent.hidden),
        "blocks": first.agent.blocks,
        "batch": first.agent.batch,
        "rate": first.agent.learning_rate,
        "epochs": first.agent.states // EPOCH_STATES,
        "extended": [[plan.n, plan.agent.states // EPOCH_STATES] for plan in plans if plan.agent != first.agent],
        "study_longest_scramble": max(plan.agent.back_max for plan in study if plan.kind == "davi"),
        "study_test_scrambles": max(plan.scrambles for plan in study),
        "study_hidden": list(study[0].agent.hidden),
        "study_states": study[0].agent.states,
    }


@computation
def setup_robot() -> Figures:
    """The preset ``paper`` of the robot tasks: tasks, observation, policy, PPO."""
    from burnside.envs.manipulation.tasks import EVALUATION_SCENES, find_task
    from burnside.experiments.robot.config import SETTINGS, recipe

    found = recipe("paper", "stack-three", "gripper", observation="cloud")
    study = recipe("study", "stack-three", "gripper", observation="cloud")
    policy, agent = found.policy, found.agent
    return {
        "tasks": [f"{task.name} {task.level}" for task in map(find_task, ("nut-assembly", "stack-three"))],
        "limits": {name: find_task(name).limit for name in ("stack-three", "nut-assembly")},
        "test_scenes": EVALUATION_SCENES,
        "evaluate_every": SETTINGS["paper"].evaluate_every,
        "policy": policy.to_json(),
        "context": policy.context,
        "agent": agent.to_json(),
        "effective_batch": agent.effective_batch,
        "study_points": study.policy.points,
        "study_sigma": study.policy.sigma,
        "study_budget": study.agent.budget,
    }


@computation
def robot_counts() -> Figures:
    """What follows from App. C's counts if every episode lasts to its limit (400 steps of stack-three)."""
    from burnside.agents.flow_ppo.config import FlowPPOConfig
    from burnside.envs.manipulation.tasks import find_task
    from burnside.nn.flow.config import FlowConfig

    config, n_act = FlowPPOConfig.preset("paper"), FlowConfig.preset("paper").n_act
    limit = find_task("stack-three").limit
    steps = config.rollout * limit
    rollouts = config.budget / steps
    minibatches = steps / n_act / config.minibatch
    critic = config.critic_rollouts * config.critic_epochs
    actor = (rollouts - config.critic_rollouts) * config.epochs
    ticks = (critic + actor) * minibatches
    return {
        "steps_per_rollout": steps,
        "rollouts": rollouts,
        "critic_rollouts": config.critic_rollouts,
        "evaluations": int(rollouts // 3),
        "steps_for_100_rollouts": config.budget / (100 * config.rollout),
        "minibatches": ticks,
        "updates": ticks / config.accumulate,
        "actor_updates": actor * minibatches / config.accumulate,
        "warmup": config.rate_warmup,
        "rate_at_end_if_per_update": config.rate(int(ticks / config.accumulate) - 1, 0)
        if config.rate_tick == "update"
        else min(1.0, ticks / config.accumulate / config.rate_warmup),
        "rate_at_end_if_per_minibatch": config.rate(0, int(ticks) - 1),
    }


@computation
def frames() -> Figures:
    """A scene of stack-three moved as a whole, by 30° and 20 cm: how far a place in it moves, in metres, per frame.

    ``base`` is 'a canonical frame defined by the robot pose' to the letter. The robot's base stands still, so that it
    is a constant change of coordinates and makes nothing equal that was not equal before.
    """
    import numpy as np

    from burnside.envs.manipulation.observations import frame_form, state_layout
    from burnside.envs.manipulation.tasks import FRAMES, find_task
    from burnside.groups.rigid import rigid

    task = find_task("stack-three")
    rng = np.random.default_rng(0)
    turn = np.deg2rad(30)
    c, s = np.cos(turn), np.sin(turn)
    motion = rigid(np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]]), np.array([0.2, 0, 0]))
    upright = np.array([1.0, 0, 0, 0, 1, 0])
    parts = {"point": lambda: rng.uniform(-0.2, 0.2, 3), "rot6d": lambda: upright, "scalar": lambda: np.zeros(1)}
    layout = state_layout(task)
    scene = np.concatenate([parts[kind]() for _, kind in layout.parts])
    places = [layout.slice(name) for name, kind in layout.parts if kind == "point"]
    found: Figures = {}
    for frame in FRAMES:
        form = frame_form(task, frame)
        seen, seen_moved = form(scene)[0], form(form.act(motion, scene))[0]
        found[frame] = max(float(np.linalg.norm(seen[at] - seen_moved[at]).round(9)) for at in places)
    return found
