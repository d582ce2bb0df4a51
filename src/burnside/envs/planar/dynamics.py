"""The rules of the planar tasks on whole columns, for torch tensors on any device; numpy arrays work too.

:mod:`burnside.envs.planar.kernels` says the same scene by scene; the tests hold the two together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from burnside.errors import MissingExtra
from burnside.groups.rigid.arrays import is_torch, namespace

if TYPE_CHECKING:
    from burnside.envs.planar.core import PlanarSpec

__all__ = ["advance", "left", "length", "tensor", "unit", "view"]

_TINY = 1e-9


def tensor(x: Any, device: Any = None) -> Any:
    """A torch tensor on a device; None leaves a tensor where it is."""
    if is_torch(x):
        return x.to(device)
    try:
        import torch
    except ImportError:  # pragma: no cover - torch is there wherever the tests of this path run
        raise MissingExtra("torch", "learn") from None
    return torch.from_numpy(np.array(x)).to(device)


def length(v: Any) -> Any:
    """Lengths of ``(…, 2)`` vectors, with the last axis kept."""
    return namespace(v).sqrt((v * v).sum(axis=-1, keepdims=True))


def unit(v: Any) -> Any:
    """Directions of ``(…, 2)`` vectors; that of a very short one is short itself."""
    return v / namespace(v).clip(length(v), _TINY, None)


def left(v: Any) -> Any:
    """Vectors turned a quarter to the left."""
    return namespace(v).stack([-v[..., 1], v[..., 0]], axis=-1)


def _short_of_push(spec: PlanarSpec, robot: Any, puck: Any, goal: Any) -> Any:
    behind = puck - 2 * spec.radius * unit(goal - puck)
    return (length(goal - puck) + 0.5 * length(behind - robot))[..., 0]


def _short_of_stack(spec: PlanarSpec, x: Any) -> Any:
    tip = x[..., 0:2] + spec.reach * x[..., 2:4]
    a, b, home = x[..., 4:6], x[..., 6:8], x[..., 8:10]
    return (0.5 * length(a - tip) + length(b - a) + length(home - b))[..., 0] + 0.25 * (1.0 - x[..., 11])


def advance(spec: PlanarSpec, x: Any, action: Any) -> tuple[Any, Any, Any]:
    """``(next rows, reward, success)`` of scenes ``(…, obs_dim)`` and actions ``(…, action_dim)`` of one dtype."""
    xp = namespace(x)
    robot, heading, velocity = x[..., 0:2], x[..., 2:4], action[..., 0:2]
    if spec.clip == "box":
        velocity = xp.clip(velocity, -1.0, 1.0)
    else:
        velocity = velocity / xp.clip(length(velocity), 1.0, None)
    along = spec.fast * (velocity * heading).sum(axis=-1, keepdims=True)
    across = spec.slow * (velocity * left(heading)).sum(axis=-1, keepdims=True)
    robot = robot + along * heading + across * left(heading)
    angle = spec.turn * xp.clip(action[..., 2:3], -1.0, 1.0)
    heading = unit(xp.cos(angle) * heading + xp.sin(angle) * left(heading))
    if spec.task == "push":
        before = _short_of_push(spec, x[..., 0:2], x[..., 4:6], x[..., 6:8])
        goal = x[..., 6:8]
        puck = _pushed(spec, robot, heading, x[..., 4:6])
        after = _short_of_push(spec, robot, puck, goal)
        success = length(goal - puck)[..., 0] <= spec.tolerance
        out = xp.concatenate([robot, heading, puck, goal], axis=-1)
    else:
        before = _short_of_stack(spec, x)
        out = _gripped(spec, robot, heading, x, action[..., 3:4])
        after = _short_of_stack(spec, out)
        a, b, home = out[..., 4:6], out[..., 6:8], out[..., 8:10]
        near = (length(b - a) <= spec.tolerance) & (length(home - b) <= spec.tolerance)
        success = near[..., 0] & (out[..., 11] == 0) & (out[..., 12] == 0)
    progress = spec.progress if spec.reward == "shaped" else 0.0
    return out, progress * (before - after) + spec.bonus * success, success


def _pushed(spec: PlanarSpec, robot: Any, heading: Any, puck: Any) -> Any:
    xp, away = namespace(robot), puck - robot
    gap = length(away)
    normal = xp.where(gap <= _TINY, heading, unit(away))
    return xp.where(gap < 2 * spec.radius, robot + 2 * spec.radius * normal, puck)


def _gripped(spec: PlanarSpec, robot: Any, heading: Any, x: Any, command: Any) -> Any:
    xp = namespace(x)
    a, b, home = x[..., 4:6], x[..., 6:8], x[..., 8:10]
    was, held_a, held_b = x[..., 10:11], x[..., 11:12], x[..., 12:13]
    one, zero = xp.ones_like(was), xp.zeros_like(was)
    opened = command < -0.5
    closed = xp.where(command > 0.5, one, xp.where(opened, zero, was))
    tip = robot + spec.reach * heading
    to_a, to_b = length(a - tip), length(b - tip)
    closing = closed > was
    takes_a = closing & (to_a <= spec.grasp) & (to_a <= to_b)
    takes_b = closing & ~takes_a & (to_b <= spec.grasp)
    held_a = xp.where(takes_a, one, xp.where(opened, zero, held_a))
    held_b = xp.where(takes_b, one, xp.where(opened, zero, held_b))
    a, b = xp.where(held_a > 0, tip, a), xp.where(held_b > 0, tip, b)
    return xp.concatenate([robot, heading, a, b, home, closed, held_a, held_b], axis=-1)


def view(spec: PlanarSpec, x: Any, code: int) -> Any:
    """What a learner sees of the scenes: 0 the world, 1 relative to the robot's place, 2 from the robot."""
    xp = namespace(x)
    if code == 0:
        return x.clone() if xp is not np else x.copy()
    robot, heading = x[..., 0:2], x[..., 2:4]
    parts = [xp.zeros_like(robot), heading]
    if code == 2:
        looks = xp.ones_like(robot)
        looks[..., 1] = 0.0
        parts = [xp.zeros_like(robot), looks]
    for name, kind in spec.layout.parts[2:]:
        part = x[..., spec.layout.slice(name)]
        if kind == "scalar":
            parts.append(part)
            continue
        vector = part - robot if kind == "point" else part
        if code == 2:
            x_axis = (vector * heading).sum(axis=-1, keepdims=True)
            y_axis = (vector * left(heading)).sum(axis=-1, keepdims=True)
            vector = xp.concatenate([x_axis, y_axis], axis=-1)
        parts.append(vector)
    return xp.concatenate(parts, axis=-1)
