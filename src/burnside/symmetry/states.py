"""The whole state of an environment of a known kind: read it, set it, copy it, and how a group acts on all of it.

:func:`state_adapter` looks at an environment and returns the adapter of its kind, or None if nothing is known of it:

- ``label``: Gymnasium's toy text, whose state is a number;
- ``vector``: its classic control, whose state is a few numbers;
- ``mujoco``: its MuJoCo environments (v4 and v5), and ``dm_control``;
- ``minigrid``: the grid, the agent, what it carries, the clock;
- ``moves``: games whose state is what was played since the start (:mod:`burnside.envs.games`);
- ``snapshot``: our own environments and whatever else has ``get_state`` and ``set_state``.

A declaration says how a group acts on the *part* of the state that people think of, for MuJoCo ``{"qpos": …, "qvel":
…}``; :meth:`StateAdapter.complete` extends that to the whole, where the solver's warm start moves as accelerations do
and the clock stays.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["StateAdapter", "state_adapter"]


@dataclass(frozen=True)
class StateAdapter:
    """How to read and set the whole state of environments of one kind.

    Attributes:
        kind: what sort of state it is.
        get: ``env → s``, a copy of all that decides what happens next.
        put: ``(env, s)``, put it back.
        complete: from an action on the part that declarations speak of to one on the whole state.
        names: ``env →`` names of the numbers of its observation, or None if they are not known.
    """

    kind: str
    get: Callable[[Any], Any]
    put: Callable[[Any, Any], None]
    complete: Callable[[Callable[[Any, Any], Any]], Callable[[Any, Any], Any]] = lambda act: act
    names: Callable[[Any], tuple[str, ...] | None] = lambda env: None

    def copy(self, source: Any, target: Any) -> None:
        """Bring one environment into the state of another one of its kind."""
        self.put(target, self.get(source))


def state_adapter(env: Any) -> StateAdapter | None:
    """The adapter of an environment's kind; None if nothing is known of it.

    >>> import gymnasium as gym
    >>> env = gym.make("CartPole-v1")
    >>> _ = env.reset(seed=0)
    >>> found = state_adapter(env)
    >>> found.kind, found.get(env).shape
    ('vector', (4,))
    """
    bare = env.unwrapped
    if _physics(bare) is not None:
        return _DM_CONTROL
    if hasattr(bare, "model") and hasattr(bare, "data") and hasattr(bare.data, "qacc_warmstart"):
        return _MUJOCO
    if hasattr(bare, "grid") and hasattr(bare, "agent_pos") and hasattr(bare, "agent_dir"):
        return _MINIGRID
    if hasattr(bare, "play_again") and hasattr(bare, "moves"):
        return _MOVES
    if callable(getattr(bare, "get_state", None)) and callable(getattr(bare, "set_state", None)):
        return _SNAPSHOT
    if isinstance(getattr(bare, "s", None), int | np.integer):
        return _LABEL
    if isinstance(getattr(bare, "state", None), np.ndarray | tuple | list):
        return _VECTOR
    return None


# ---------------------------------------------------------------------- toy text and classic control


def _set_label(env: Any, state: Any) -> None:
    env.unwrapped.s = int(state)


def _set_vector(env: Any, state: Any) -> None:
    bare = env.unwrapped
    bare.state = tuple(np.asarray(state).tolist()) if isinstance(bare.state, tuple) else np.array(state)
    if hasattr(bare, "steps_beyond_terminated"):
        bare.steps_beyond_terminated = None


_LABEL = StateAdapter("label", lambda env: int(env.unwrapped.s), _set_label)
_VECTOR = StateAdapter("vector", lambda env: np.array(env.unwrapped.state), _set_vector)
_SNAPSHOT = StateAdapter(
    "snapshot",
    lambda env: copy.deepcopy(env.unwrapped.get_state()),
    lambda env, state: env.unwrapped.set_state(copy.deepcopy(state)),
)


# ---------------------------------------------------------------------- MuJoCo

_PARTS = ("qpos", "qvel", "act", "targets")  # what a declaration speaks of, where a model has it


def _physics(bare: Any) -> Any:
    """The physics of a dm_control environment, also behind an adapter that keeps it as ``_env``."""
    found = getattr(bare, "physics", None) or getattr(getattr(bare, "_env", None), "physics", None)
    return found if hasattr(found, "model") and hasattr(found, "data") else None


def _simulation(bare: Any) -> tuple[Any, Any]:
    """MuJoCo's own model and data."""
    physics = _physics(bare)
    if physics is None:
        return bare.model, bare.data
    return getattr(physics.model, "ptr", physics.model), getattr(physics.data, "ptr", physics.data)


def _targets(model: Any) -> list[int]:
    """Shapes that tasks of dm_control put to a new place in every episode, as part of the *model*."""
    return [i for i in range(model.ngeom) if "target" in (model.geom(i).name or "")]


def _get_mujoco(env: Any) -> dict[str, Any]:
    model, data = _simulation(env.unwrapped)
    if _physics(env.unwrapped) is None:
        # Gymnasium makes some rewards (Ant's, Reacher-v4's) of positions from before MuJoCo's last small step.
        # Brought up to date here, as in `_set_mujoco`, what follows depends on the state alone.
        _forward(model, data)
    found: dict[str, Any] = {"qpos": data.qpos.copy(), "qvel": data.qvel.copy()}
    if model.na:
        found["act"] = data.act.copy()
    found |= {"warmstart": data.qacc_warmstart.copy(), "time": float(data.time)}
    if _physics(env.unwrapped) is not None and (targets := _targets(model)):
        found["targets"] = model.geom_pos[targets].copy()
    return found


def _set_mujoco(env: Any, state: Any) -> None:
    """All that the next step depends on; positions of bodies follow from it, and rewards are made of these."""
    model, data = _simulation(env.unwrapped)
    data.qpos[:], data.qvel[:], data.time = state["qpos"], state["qvel"], float(state["time"])
    if model.na:
        data.act[:] = state["act"]
    if "targets" in state:
        model.geom_pos[_targets(model)] = state["targets"]
    data.qacc_warmstart[:] = state["warmstart"]
    _forward(model, data)


def _forward(model: Any, data: Any) -> None:
    """All that follows from positions and velocities; the solver's warm start stays as it is."""
    import mujoco

    warm = data.qacc_warmstart.copy()
    mujoco.mj_forward(model, data)
    data.qacc_warmstart[:] = warm


def _complete_mujoco(act: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The warm start is an acceleration, which moves as velocities do; the clock stays."""

    def whole(g: Any, state: Any) -> Any:
        said = {key: state[key] for key in _PARTS if key in state}
        warm = act(g, said | {"qvel": state["warmstart"]})["qvel"]
        return {**state, **act(g, said), "warmstart": warm}

    return whole


def _mujoco_names(env: Any) -> tuple[str, ...] | None:
    """From Gymnasium's ``observation_structure`` (v5), with the names of joints and bodies.

    Version 4 says nothing; there the usual layout is taken if the numbers are these: positions, without the first ones,
    and velocities.
    """
    bare = env.unwrapped
    model = bare.model
    qpos, qvel = _joint_names(model)
    layout = getattr(bare, "observation_structure", None)
    if not isinstance(layout, dict):
        shape = getattr(bare.observation_space, "shape", None)
        left = model.nq + model.nv - shape[0] if shape and len(shape) == 1 else -1
        if not 0 <= left <= 2 or not hasattr(bare, "_get_obs"):
            return None
        seen = np.concatenate([bare.data.qpos[left:], bare.data.qvel])
        small = np.abs(seen) < 10  # some clip velocities
        if not np.allclose(np.asarray(bare._get_obs())[small], seen[small]):
            return None
        layout = {"qpos": model.nq - left, "qvel": model.nv}
    bodies = [model.body(i).name or f"body {i}" for i in range(1, model.nbody)]
    found: list[str] = []
    for part, count in layout.items():
        if part == "skipped_qpos" or not count:
            continue
        if part == "qpos":
            found += qpos[len(qpos) - count :]
        elif part == "qvel":
            found += [f"{name} velocity" for name in qvel[len(qvel) - count :]]
        elif part in ("cfrc_ext", "cvel", "cinert") and count % len(bodies) == 0:
            per = count // len(bodies)
            found += [f"{part} of {body} [{k}]" for body in bodies for k in range(per)]
        elif part == "qfrc_actuator":
            found += [f"force on {name}" for name in qvel[len(qvel) - count :]]
        else:
            found += [f"{part}[{k}]" for k in range(count)]
    shape = getattr(bare.observation_space, "shape", None)
    return tuple(found) if shape == (len(found),) else None


def _joint_names(model: Any) -> tuple[list[str], list[str]]:
    """A name for every number of qpos and of qvel."""
    axes = ("x", "y", "z")
    qpos: list[str] = []
    qvel: list[str] = []
    for i in range(model.njnt):
        name, kind = model.joint(i).name or f"joint {i}", int(model.jnt_type[i])
        turns = [f"{name} q{k}" for k in ("w", *axes)]
        if kind == 0:  # free
            qpos += [f"{name} {k}" for k in axes] + turns
            qvel += [f"{name} {k}" for k in axes] + [f"{name} turn {k}" for k in axes]
        elif kind == 1:  # ball
            qpos += turns
            qvel += [f"{name} turn {k}" for k in axes]
        else:
            qpos.append(name)
            qvel.append(name)
    return qpos, qvel


_MUJOCO = StateAdapter("mujoco", _get_mujoco, _set_mujoco, _complete_mujoco, _mujoco_names)
_DM_CONTROL = StateAdapter("dm_control", _get_mujoco, _set_mujoco, _complete_mujoco)


# ---------------------------------------------------------------------- MiniGrid


def _get_minigrid(env: Any) -> dict[str, Any]:
    bare = env.unwrapped
    carried = bare.carrying
    return {
        "grid": bare.grid.encode(),
        "position": np.array(bare.agent_pos, dtype=np.int64),
        "direction": int(bare.agent_dir),
        "carrying": np.array((0, 0, 0) if carried is None else carried.encode(), dtype=np.int64),
        "steps": int(bare.step_count),
    }


def _set_minigrid(env: Any, state: Any) -> None:
    from minigrid.core.grid import Grid
    from minigrid.core.world_object import WorldObj

    bare = env.unwrapped
    bare.grid, _ = Grid.decode(np.asarray(state["grid"], dtype=np.uint8))
    for i in range(bare.grid.width):
        for j in range(bare.grid.height):
            found = bare.grid.get(i, j)
            if found is not None:
                found.init_pos = found.cur_pos = (i, j)
    bare.agent_pos = tuple(int(v) for v in np.rint(state["position"]))
    bare.agent_dir = int(state["direction"])
    kind = [int(v) for v in state["carrying"]]
    bare.carrying = WorldObj.decode(*kind) if kind[0] else None
    bare.step_count = int(state["steps"])


def _complete_minigrid(act: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """What is carried and the clock stay."""

    def whole(g: Any, state: Any) -> Any:
        moved = act(g, {key: state[key] for key in ("grid", "position", "direction")})
        return {**state, **moved}

    return whole


_MINIGRID = StateAdapter("minigrid", _get_minigrid, _set_minigrid, _complete_minigrid)

# ---------------------------------------------------------------------- games

_MOVES = StateAdapter(
    "moves",
    lambda env: np.array(env.unwrapped.moves, dtype=np.int64),
    lambda env, state: env.unwrapped.play_again([int(a) for a in state]),
)
