"""Planar manipulation as pure functions on arrays with a leading batch axis: rules, scenes, what a learner sees.

A scene is one row of numbers whose meaning :attr:`PlanarSpec.layout` states, all in world coordinates: it is at once
the full state and the observation of the ``world`` arm. The rules commute exactly with the rigid motions of the plane:

- ``push``: a disc-shaped robot pushes a puck to a goal. The action is a velocity in the world and a turn rate.
- ``stack``: a gripper in front of the robot takes block ``a`` and puts it down on block ``b``, which must stay where it
  is. A fourth number opens and closes the gripper.

Scenes are a base layout with some variation of its own, moved by a rotation drawn from [−Θ, Θ] about the origin and a
translation from [−L, L]². Numpy arrays go through compiled loops (:mod:`~burnside.envs.planar.kernels`), torch tensors
through :mod:`~burnside.envs.planar.dynamics`, on whatever device they are; the two agree to rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from burnside._types import AnyArray, ArrayLike, FloatArray
from burnside.errors import InvalidAction, InvalidParameter, UnknownName
from burnside.groups.rigid.arrays import is_torch, namespace
from burnside.groups.rigid.layout import Layout

__all__ = ["FRAMES", "PlanarSpec", "PlanarState", "observe", "reset", "restart", "step", "to_frame", "to_world"]

#: The arms of the experiments; ``base`` and ``gripper`` are other names for the first and the last.
FRAMES = ("world", "relative", "robot")

_FRAME_CODE = {"world": 0, "base": 0, "relative": 1, "robot": 2, "gripper": 2}
_LAYOUTS = {
    "push": (("robot", "point"), ("heading", "heading"), ("puck", "point"), ("goal", "point")),
    "stack": (
        ("robot", "point"),
        ("heading", "heading"),
        ("a", "point"),
        ("b", "point"),
        ("home", "point"),  # where b stood at the start, and must stand at the end
        ("closed", "scalar"),
        ("held_a", "scalar"),
        ("held_b", "scalar"),
    ),
}
_ACTIONS = {
    "push": (("velocity", "vector"), ("turn", "scalar")),
    "stack": (("velocity", "vector"), ("turn", "scalar"), ("grip", "scalar")),
}


@dataclass(frozen=True)
class PlanarSpec:
    """The rules of a planar task. Lengths are in units of the table, angles in radians, speeds per step.

    Attributes:
        task: ``"push"`` or ``"stack"``.
        spread: (L, Θ): scenes are moved by a translation from [−L, L]² and a rotation from [−Θ, Θ].
        clip: ``"norm"`` shortens a velocity longer than 1, whatever its direction. ``"box"`` clips x and y apart, as
            most simulators do: rotations are then no longer a symmetry, and a check must say so.
        horizon: steps after which an episode is truncated.
        reward: ``"shaped"`` (progress, and the bonus on success) or ``"sparse"`` (the bonus on success).
        bonus: default 10 if sparse, else 5.
        progress: reward of a shaped task per unit of distance gained.
        dtype: ``"float32"`` or ``"float64"``.
        fast, slow: speed at a velocity of 1, along the heading and across it.
        turn: angle turned at a turn rate of 1.
        radius: of the robot and of the puck.
        tolerance: distance of the puck from the goal, or of block a from block b, that counts as success.
        reach: distance of the gripper in front of the robot.
        grasp: distance up to which the gripper takes a block.

    >>> spec = PlanarSpec("push", spread=(1.0, 3.14))
    >>> spec.obs_dim, spec.action_dim, spec.horizon
    (8, 3, 100)
    """

    task: str = "push"
    spread: tuple[float, float] = (0.0, 0.0)
    clip: str = "norm"
    horizon: int = 100
    reward: str = "shaped"
    bonus: float = None  # type: ignore[assignment]  # filled in below
    progress: float = 5.0
    dtype: str = "float32"
    fast: float = 0.04
    slow: float = 0.02
    turn: float = 0.25
    radius: float = 0.08
    tolerance: float = 0.06
    reach: float = 0.1
    grasp: float = 0.05

    def __post_init__(self) -> None:
        for what, value, known in (
            ("planar task", self.task, _LAYOUTS),
            ("way to clip", self.clip, ("norm", "box")),
            ("reward", self.reward, ("shaped", "sparse")),
        ):
            if value not in known:
                raise UnknownName(what, str(value), known)
        dtype = np.dtype(self.dtype).name
        if dtype not in ("float32", "float64"):
            raise InvalidParameter(f"dtype must be float32 or float64, got {self.dtype!r}")
        object.__setattr__(self, "dtype", dtype)
        try:
            length, angle = (float(v) for v in self.spread)
        except (TypeError, ValueError):
            raise InvalidParameter(f"spread must be a pair (L, Θ), got {self.spread!r:.80}") from None
        if not (0 <= length < math.inf and 0 <= angle <= math.pi + 1e-9):
            raise InvalidParameter(f"spread (L, Θ) needs L ≥ 0 and 0 ≤ Θ ≤ π, got {self.spread}")
        object.__setattr__(self, "spread", (length, angle))
        if self.horizon != int(self.horizon) or self.horizon < 1:
            raise InvalidParameter(f"horizon must be a whole number of steps, at least 1, got {self.horizon}")
        object.__setattr__(self, "horizon", int(self.horizon))
        if self.bonus is None:
            object.__setattr__(self, "bonus", 10.0 if self.reward == "sparse" else 5.0)
        for name in ("fast", "slow", "turn", "radius", "tolerance", "reach", "grasp", "bonus"):
            if not 0 < float(getattr(self, name)) < math.inf:
                raise InvalidParameter(f"{name} must be positive, got {getattr(self, name)}")
        if not 0 <= self.progress < math.inf:
            raise InvalidParameter(f"progress must be zero or above, got {self.progress}")
        if self.task == "push" and self.fast >= 2 * self.radius:
            raise InvalidParameter(
                f"the robot would jump over the puck: fast must be below the two radii, {2 * self.radius:g}, "
                f"got {self.fast}"
            )

    @cached_property
    def layout(self) -> Layout:
        """What the numbers of a scene are, and of an observation in every arm."""
        return Layout(_LAYOUTS[self.task])

    @cached_property
    def action_layout(self) -> Layout:
        """What the numbers of an action are."""
        return Layout(_ACTIONS[self.task])

    @property
    def obs_dim(self) -> int:
        """Width of an observation, the same in every arm."""
        return self.layout.width

    @property
    def action_dim(self) -> int:
        """Width of an action."""
        return self.action_layout.width

    @cached_property
    def constants(self) -> FloatArray:
        """The numbers the rules need, in the order of :mod:`~burnside.envs.planar.kernels`."""
        return np.array(
            [
                self.fast,
                self.slow,
                self.turn,
                2 * self.radius,
                self.tolerance,
                self.reach,
                self.grasp,
                self.progress if self.reward == "shaped" else 0.0,
                self.bonus,
                1.0 if self.clip == "box" else 0.0,
                *self.spread,
            ]
        )


@dataclass(frozen=True, eq=False)
class PlanarState:
    """Scenes in progress, one per row.

    Attributes:
        x: ``(B, obs_dim)`` numbers in world coordinates, see :attr:`PlanarSpec.layout`.
        t: ``(B,)`` steps taken, int64.
    """

    x: Any
    t: Any

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, index: Any) -> PlanarState:
        """The scenes at an index array, mask or slice."""
        return PlanarState(self.x[index], self.t[index])

    def where(self, mask: Any, other: PlanarState) -> PlanarState:
        """These scenes where the mask is true, the other ones elsewhere."""
        pick = namespace(self.x).where
        return PlanarState(pick(mask[:, None], self.x, other.x), pick(mask, self.t, other.t))

    def to(self, device: Any) -> PlanarState:
        """The same scenes as torch tensors on a device."""
        from burnside.envs.planar.dynamics import tensor

        return PlanarState(tensor(self.x, device), tensor(self.t, device))


def reset(
    spec: PlanarSpec, seeds: ArrayLike, episodes: ArrayLike = 0, *, n: int | None = None, device: Any = None
) -> PlanarState:
    """The scenes at the start of given episodes of given seeds; the two broadcast to one batch axis.

    A scene depends on (seed, episode) only (stream ENV), so it is the same alone and in any batch. What varies inside
    the base layout does not depend on the spread: seen from the robot, the scene of a seed is the same at any spread.

    Args:
        spec: the rules.
        seeds: whole numbers.
        episodes: whole numbers.
        n: short for ``episodes=np.arange(n)``.
        device: None for numpy arrays, else torch tensors there.

    >>> state = reset(PlanarSpec(), 7, n=3)
    >>> alone = reset(PlanarSpec(), 7, 2)
    >>> state.x.shape, bool((state.x[2] == alone.x[0]).all())
    ((3, 8), True)
    """
    from burnside.envs.planar.kernels import reset_rows

    if n is not None:
        if n < 1:
            raise InvalidParameter(f"n must be at least 1, got {n}")
        episodes = np.arange(n)
    seed, episode = _counters(seeds, episodes)
    x = np.empty((len(seed), spec.obs_dim), dtype=spec.dtype)
    reset_rows(spec.task == "stack", spec.constants, seed, episode, x)
    state = PlanarState(x, np.zeros(len(seed), dtype=np.int64))
    return state if device is None else state.to(device)


def _counters(seeds: ArrayLike, episodes: ArrayLike) -> tuple[AnyArray, AnyArray]:
    """Seeds and episodes as equally long rows of 64-bit words."""
    words = []
    for name, given in (("seeds", seeds), ("episodes", episodes)):
        found = np.atleast_1d(np.asarray(given))
        if found.dtype.kind not in "iu" or (found.dtype.kind == "i" and found.size and found.min() < 0):
            raise InvalidParameter(f"{name} must be whole numbers from 0 to 2⁶⁴ − 1, got {given!r:.80}")
        words.append(found.astype(np.uint64))
    seed, episode = np.broadcast_arrays(*words)
    if seed.ndim != 1:
        raise InvalidParameter(f"seeds and episodes must make one batch axis, got shape {seed.shape}")
    return np.ascontiguousarray(seed), np.ascontiguousarray(episode)


def restart(spec: PlanarSpec, state: PlanarState, over: Any, seeds: ArrayLike, episodes: ArrayLike) -> PlanarState:
    """The scenes, with those of the mask ``over`` replaced by the start of the given episodes (one per scene).

    >>> spec = PlanarSpec()
    >>> state = reset(spec, 0, n=2)
    >>> again = restart(spec, state, np.array([False, True]), 0, [0, 2])
    >>> bool((again.x[0] == state.x[0]).all()), bool((again.x[1] == reset(spec, 0, 2).x[0]).all())
    (True, True)
    """
    mask = over.cpu().numpy() if is_torch(over) else np.asarray(over)
    rows = np.flatnonzero(mask)
    if not len(rows):
        return state
    size = len(state)
    seed, episode = _counters(np.broadcast_to(seeds, size), np.broadcast_to(episodes, size))
    fresh = reset(spec, seed[rows], episode[rows], device=state.x.device if is_torch(state.x) else None)
    x, t = (state.x.clone(), state.t.clone()) if is_torch(state.x) else (state.x.copy(), state.t.copy())
    x[rows], t[rows] = fresh.x, fresh.t
    return PlanarState(x, t)


def _checked(spec: PlanarSpec, state: PlanarState, action: Any) -> Any:
    """The actions in the dtype and place of the scenes."""
    if is_torch(state.x):
        from burnside.envs.planar.dynamics import tensor

        found = tensor(action, state.x.device).to(state.x.dtype)
    else:
        found = np.ascontiguousarray(action, dtype=state.x.dtype)
    if tuple(found.shape) != (len(state), spec.action_dim):
        raise InvalidAction(
            f"{spec.task} needs actions of shape {(len(state), spec.action_dim)} "
            f"({', '.join(spec.action_layout.names)}), got {tuple(found.shape)}"
        )
    if not bool(namespace(found).isfinite(found).all()):
        raise InvalidAction("an action is NaN or infinite: look at what chose it")
    return found


def step(spec: PlanarSpec, state: PlanarState, action: Any) -> tuple[PlanarState, Any, Any, Any, Any]:
    """Take one action in every scene: ``(next state, reward, terminated, truncated, success)``.

    Actions are in world coordinates (see :func:`to_world`). An episode is terminated by success, and truncated when
    the horizon is reached without it. A scene that is over continues as if it were not; the caller restarts it.

    Args:
        spec: the rules.
        state: the scenes.
        action: ``(B, action_dim)``; velocity and turn rate are clipped, the gripper closes above ½, opens below −½ and
            stays as it is between.

    >>> spec = PlanarSpec(dtype="float64")
    >>> state = PlanarState(np.array([[0, 0, 1, 0, 0.18, 0, 1, 0.0]]), np.array([0]))
    >>> state, reward, terminated, truncated, success = step(spec, state, [[3.0, 0.0, 0.0]])
    >>> state.x.round(6).tolist()                       # a step of 0.04, and the puck is pushed from 0.18 to 0.20
    [[0.04, 0.0, 1.0, 0.0, 0.2, 0.0, 1.0, 0.0]]
    """
    chosen = _checked(spec, state, action)
    if is_torch(state.x):
        from burnside.envs.planar.dynamics import advance

        x, reward, success = advance(spec, state.x, chosen)
        t = state.t + 1
        return PlanarState(x, t), reward, success, (t >= spec.horizon) & ~success, success.clone()
    from burnside.envs.planar.kernels import step_rows

    now = np.ascontiguousarray(state.x)
    x, reward = np.empty_like(now), np.empty(len(now), dtype=now.dtype)
    success = np.empty(len(now), dtype=np.bool_)
    step_rows(spec.task == "stack", spec.constants, now, chosen, x, reward, success)
    t = state.t + 1
    return PlanarState(x, t), reward, success, (t >= spec.horizon) & ~success, success.copy()


def _frame_code(frame: str) -> int:
    if frame not in _FRAME_CODE:
        raise UnknownName("frame", str(frame), _FRAME_CODE)
    return _FRAME_CODE[frame]


def observe(spec: PlanarSpec, state: PlanarState, frame: str = "world") -> Any:
    """What a learner sees, ``(B, obs_dim)`` in the dtype of the spec, the same width in every arm.

    ``world`` shows the scene as it is. ``relative`` moves it so that the robot is at the origin. ``robot`` also turns
    it so that the robot looks along x: the robot's own numbers are then constant, and all scenes of an orbit are one.

    >>> state = PlanarState(np.array([[1.0, 1.0, 0.0, 1.0, 1.0, 3.0, 0.0, 1.0]]), np.array([0]))
    >>> observe(PlanarSpec(dtype="float64"), state, "relative").tolist()
    [[0.0, 0.0, 0.0, 1.0, 0.0, 2.0, -1.0, 0.0]]
    >>> observe(PlanarSpec(dtype="float64"), state, "robot").tolist()
    [[0.0, 0.0, 1.0, 0.0, 2.0, 0.0, 0.0, 1.0]]
    """
    code = _frame_code(frame)
    if is_torch(state.x):
        from burnside.envs.planar.dynamics import view

        return view(spec, state.x, code)
    if code == 0:
        return np.array(state.x, dtype=spec.dtype)
    from burnside.envs.planar.kernels import view_rows

    out = np.empty_like(state.x, dtype=spec.dtype)
    view_rows(code == 2, spec.layout.columns[2:, 0], spec.layout.is_point[2:], state.x, out)
    return out


def to_world(spec: PlanarSpec, state: PlanarState, frame: str, action: Any) -> Any:
    """Actions chosen in a learner's frame, in world coordinates: their velocities are turned with the robot.

    >>> state = PlanarState(np.array([[1.0, 1.0, 0.0, 1.0, 1.0, 3.0, 0.0, 1.0]]), np.array([0]))
    >>> to_world(PlanarSpec(dtype="float64"), state, "robot", [[1.0, 0.0, 0.3]]).tolist()
    [[0.0, 1.0, 0.3]]
    """
    return _turned(spec, state, frame, action, 1.0)


def to_frame(spec: PlanarSpec, state: PlanarState, frame: str, action: Any) -> Any:
    """Actions in world coordinates, in a learner's frame: the inverse of :func:`to_world`."""
    return _turned(spec, state, frame, action, -1.0)


def _turned(spec: PlanarSpec, state: PlanarState, frame: str, action: Any, sign: float) -> Any:
    code, found = _frame_code(frame), _checked(spec, state, action)
    if code < 2:
        return found
    xp = namespace(found)
    out = found.clone() if xp is not np else found.copy()
    c, s = state.x[:, 2], sign * state.x[:, 3]
    out[:, 0] = c * found[:, 0] - s * found[:, 1]
    out[:, 1] = s * found[:, 0] + c * found[:, 1]
    return out
