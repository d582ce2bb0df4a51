"""Scripted experts: feedback laws that solve the planar tasks from any scene, and demonstrations played with them.

They are functions of the scene alone, and commute with rigid motions as the tasks do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from burnside._random import Stream, uniform
from burnside._types import AnyArray, ArrayLike, BoolArray, IntArray
from burnside.envs.planar.core import PlanarSpec, PlanarState, reset, step, to_world
from burnside.envs.planar.dynamics import left, length, unit
from burnside.errors import InvalidParameter
from burnside.groups.rigid.arrays import namespace

__all__ = ["Demonstrations", "demonstrate", "expert"]


def _dot(a: Any, b: Any) -> Any:
    return (a * b).sum(axis=-1, keepdims=True)


def _steer(spec: PlanarSpec, heading: Any, wanted: Any, look: Any) -> tuple[Any, Any]:
    """Velocity that makes the displacement ``wanted`` (or the longest of its direction), and turn rate towards look."""
    xp = namespace(heading)
    along, across = _dot(wanted, heading), _dot(wanted, left(heading))
    velocity = along / spec.fast * heading + across / spec.slow * left(heading)
    velocity = velocity / xp.clip(length(velocity), 1.0, None)
    angle = xp.arctan2(_dot(look, left(heading)), _dot(look, heading))
    return velocity, xp.clip(angle / spec.turn, -1.0, 1.0)


def expert(spec: PlanarSpec, state: PlanarState) -> Any:
    """Actions of the scripted expert, ``(B, action_dim)`` in world coordinates.

    ``push`` walks round the puck to the place behind it, as seen from the goal, and pushes, correcting sideways.
    ``stack`` drives the gripper to block a, closes it, drives to block b and opens; a block b that was taken by mistake
    is brought home first.

    >>> from burnside.envs.planar.core import reset, step
    >>> spec = PlanarSpec("push", spread=(1.0, 3.0))
    >>> state, done = reset(spec, 0, n=50), np.zeros(50, bool)
    >>> for _ in range(spec.horizon):
    ...     state, _, success, _, _ = step(spec, state, expert(spec, state))
    ...     done |= success
    >>> bool(done.all())
    True
    """
    return (_expert_push if spec.task == "push" else _expert_stack)(spec, state.x)


def _expert_push(spec: PlanarSpec, x: Any) -> Any:
    xp = namespace(x)
    robot, heading, puck, goal = x[..., 0:2], x[..., 2:4], x[..., 4:6], x[..., 6:8]
    touch = 2 * spec.radius
    u, rest = unit(goal - puck), length(goal - puck)
    away = robot - puck
    gap, forward = length(away), _dot(away, u)
    aside = away - forward * u
    # Behind the puck and nearly in line: push, and steer against what is aside. The last step stops at the goal.
    reach_on = xp.clip(rest + xp.clip(-forward - touch, 0.0, None), None, spec.fast)
    push = reach_on * u - 0.5 * aside
    # Elsewhere: to the place behind, and round the puck where it is in the way.
    room = touch + 0.3 * spec.fast
    target = puck - (touch + 0.5 * spec.fast) * u
    straight = target - robot
    side = xp.where(_dot(left(away), -u) >= 0, xp.ones_like(gap), -xp.ones_like(gap))
    tangent = side * unit(left(away))
    around = spec.fast * tangent + 0.5 * (room + 0.2 * spec.fast - gap) * unit(away)
    # Where the line to the target comes nearest to the puck, and whether that is ahead
    ahead = xp.clip(-_dot(away, unit(straight)), 0.0, None)
    ahead = xp.minimum(ahead, length(straight))
    nearest = length(away + ahead * unit(straight))
    blocked = (nearest < touch) & (ahead > 0)
    # far off, aim past the puck instead of circling it at a distance
    near = gap < 2.0 * touch
    past = puck + room * 1.2 * side * unit(left(away)) - robot
    walk = xp.where(blocked, xp.where(near, around, past), straight)
    behind = (forward < 0) & (length(aside) < 0.25 * touch) & (gap < 1.5 * touch)
    wanted = xp.where(behind, push, walk)
    velocity, rate = _steer(spec, heading, wanted, xp.where(behind, u, wanted))
    return xp.concatenate([velocity, rate], axis=-1)


def _expert_stack(spec: PlanarSpec, x: Any) -> Any:
    xp = namespace(x)
    robot, heading, a, b, home = (x[..., i : i + 2] for i in (0, 2, 4, 6, 8))
    closed, held_a, held_b = x[..., 10:11] > 0, x[..., 11:12] > 0, x[..., 12:13] > 0
    astray = length(home - b) > 0.5 * spec.tolerance  # put b back first
    fetch = xp.where(astray, b, a)
    target = xp.where(held_a, b, xp.where(held_b, home, fetch))
    tip = robot + spec.reach * heading
    gap = target - tip
    wanted, look = gap, target - robot
    # Turning moves the gripper: stop turning towards what is too close to be looked at.
    velocity, rate = _steer(spec, heading, wanted, look)
    near = length(look) < 1.5 * spec.reach
    rate = xp.where(near, xp.zeros_like(rate), rate)
    there = length(gap) < 0.4 * xp.minimum(xp.ones_like(rate) * spec.grasp, xp.ones_like(rate) * spec.tolerance)
    one = xp.ones_like(rate)
    holding = held_a | held_b
    wrong = (held_a & astray) | (closed & ~holding)  # drop, or open again to take something
    grip = xp.where(holding, xp.where(there, -one, one), xp.where(there, one, -one))
    return xp.concatenate([velocity, rate, xp.where(wrong, -one, grip)], axis=-1)


@dataclass(frozen=True, eq=False)
class Demonstrations:
    """Episodes of an expert, padded to the longest.

    Attributes:
        x: ``(N, T + 1, obs_dim)`` scenes in world coordinates; after the end the last one is repeated.
        action: ``(N, T, action_dim)`` what the expert chose, in world coordinates; zero after the end.
        length: ``(N,)`` actions of each episode.
        success: ``(N,)`` whether it ended so.
        seed, episode: ``(N,)`` the scene each started from.
    """

    x: AnyArray
    action: AnyArray
    length: IntArray
    success: BoolArray
    seed: AnyArray
    episode: AnyArray

    def __len__(self) -> int:
        return len(self.length)


def demonstrate(
    spec: PlanarSpec, seeds: ArrayLike, episodes: ArrayLike = 0, *, n: int | None = None, noise: float = 0.0
) -> Demonstrations:
    """Play the expert from given scenes.

    Args:
        spec: the rules.
        seeds: as in :func:`~burnside.envs.planar.core.reset`.
        episodes: as there.
        n: as there.
        noise: the action carried out differs from the one recorded by up to this much in every number (stream EXPLORE,
            in the robot's frame), so that demonstrations show how to come back. The gripper is left alone.

    >>> demos = demonstrate(PlanarSpec(), 3, n=4)
    >>> demos.x.shape[0], bool(demos.success.all()), demos.action.shape[2]
    (4, True, 3)
    """
    if not 0 <= noise < np.inf:
        raise InvalidParameter(f"noise must be zero or above, got {noise}")
    state = reset(spec, seeds, episodes, n=n)
    seed, episode = np.broadcast_arrays(np.atleast_1d(seeds), np.atleast_1d(episodes if n is None else np.arange(n)))
    first = episode.astype(np.uint64) * np.uint64(3 * spec.horizon)
    running, size = np.ones(len(state), dtype=np.bool_), np.zeros(len(state), dtype=np.int64)
    won = np.zeros(len(state), dtype=np.bool_)
    scenes, actions = [state.x], []
    for t in range(spec.horizon):
        chosen = np.where(running[:, None], expert(spec, state), 0.0).astype(spec.dtype)
        carried = chosen.copy()
        if noise:
            counter = first[:, None] + np.uint64(3 * t) + np.arange(3, dtype=np.uint64)
            extra = np.zeros_like(chosen)
            extra[:, :3] = noise * (2 * uniform(seed[:, None], Stream.EXPLORE, counter) - 1)
            carried += to_world(spec, state, "robot", extra)
        after, _, success, _, _ = step(spec, state, carried)
        state = after.where(running, state)
        scenes.append(state.x)
        actions.append(chosen)
        size += running
        won |= running & success
        running &= ~success
        if not running.any():
            break
    return Demonstrations(np.stack(scenes, axis=1), np.stack(actions, axis=1), size, won, seed, episode)
