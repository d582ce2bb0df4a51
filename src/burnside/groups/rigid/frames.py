"""Observations and whole action chunks in one frame, and back: the canonical forms of App. C's robot tasks.

A frame is a pose F in the world; seen from it, ``x`` is ``F⁻¹·x``. Frames:

- ``world``: as given, the control arm;
- ``base``: a fixed pose, so a constant change of coordinates, which a learner should not care about; or the pose that
  an observation holds, where the base is another one in every episode;
- ``robot`` (for arms also called ``gripper``): the pose of the robot in the *latest* observation. All observations of
  a history and all actions of a chunk share it, so that the motions between them stay what they are. This is a
  canonical form: everything on an orbit of SE(d) looks the same;
- ``relative``: the place of the robot, but the orientation of the world: the form for translations alone;
- ``upright`` (space only): the robot's place on the ground and its heading there, so heights and the vertical stay: the
  form for the motions that gravity and a table leave, SE(2);
- ``azimuth`` (space only): the vertical axis of the base, turned so that the robot is straight ahead: the form for
  rotations about that axis, which an arm on a fixed base has exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from burnside.errors import InvalidParameter, UnknownName
from burnside.groups.rigid.arrays import as_like, is_torch, namespace
from burnside.groups.rigid.layout import Layout
from burnside.groups.rigid.motions import identity, invert, is_motion, rigid
from burnside.groups.rigid.rotations import rot6d_to_matrix

__all__ = ["FRAMES", "SPATIAL_FRAMES", "FrameForm"]

#: The names of frames; ``gripper`` is another name for ``robot``.
FRAMES = ("world", "base", "relative", "robot", "gripper")
_UPRIGHT = ("azimuth", "upright")
#: Those of space, where there is a vertical.
SPATIAL_FRAMES = (*FRAMES, *_UPRIGHT)


@dataclass(frozen=True, eq=False)
class FrameForm:
    """Brings observations into a frame and actions back; a :class:`burnside.canonical.Canonicalizer`.

    Attributes:
        observation: what the numbers of an observation are; a dictionary of layouts for a dictionary of arrays. An
            array may have axes of its own between the shared leading ones and the last (the points of a cloud).
        action: what the numbers of an action are.
        frame: one of :data:`FRAMES`, in space of :data:`SPATIAL_FRAMES`.
        position: the part that is the place of the robot, a point.
        orientation: the part that is its orientation, a heading (plane) or a rot6d (space).
        state: the key of the array with these two parts, where the observation is a dictionary.
        base: pose of the base in the world, ``(d+1, d+1)``, or the names of the two parts of an observation that are
            its place and its orientation; default the world itself.

    >>> push = Layout((("robot", "point"), ("heading", "heading"), ("puck", "point")))
    >>> form = FrameForm(push, Layout((("velocity", "vector"), ("turn", "scalar"))), "robot")
    >>> x_bar, g = form(np.array([1.0, 1.0, 0.0, 1.0, 1.0, 3.0]))
    >>> x_bar.tolist()                                        # the puck is two units ahead
    [0.0, 0.0, 1.0, 0.0, 2.0, 0.0]
    >>> form.undo(np.array([[1.0, 0.0, 0.2], [0.0, 1.0, 0.0]]), g).tolist()       # a chunk of two actions
    [[0.0, 1.0, 0.2], [-1.0, 0.0, 0.0]]
    """

    observation: Layout | Mapping[str, Layout]
    action: Layout
    frame: str = "robot"
    position: str = "robot"
    orientation: str = "heading"
    state: str = "state"
    base: Any = None

    def __post_init__(self) -> None:
        known = FRAMES if self.d == 2 else SPATIAL_FRAMES
        if self.frame not in known:
            raise UnknownName("frame", str(self.frame), known)
        layouts = [self._pose_layout, self.action]
        if isinstance(self.observation, Mapping):
            layouts += list(self.observation.values())
        if len({layout.d for layout in layouts}) != 1:
            raise InvalidParameter("observations and actions must be of one dimension, the plane or space")
        kinds = dict(self._pose_layout.parts)
        self._pose_layout.slice(self.position), self._pose_layout.slice(self.orientation)  # known names?
        if kinds[self.position] != "point" or kinds[self.orientation] not in ("heading", "rot6d"):
            raise InvalidParameter(
                f"the frame needs a point and a heading or rot6d, got {self.position!r} "
                f"({kinds[self.position]}) and {self.orientation!r} ({kinds[self.orientation]})"
            )
        if self._seen_base is not None:
            if [kinds.get(name) for name in self._seen_base] not in (["point", "heading"], ["point", "rot6d"]):
                raise InvalidParameter(f"the base {self.base} must name a point and a heading or rot6d")
        elif self.base is not None and not (np.shape(self.base) == (self.d + 1, self.d + 1) and is_motion(self.base)):
            raise InvalidParameter(f"base must be one rigid motion, a {self.d + 1}×{self.d + 1} matrix")

    @property
    def _pose_layout(self) -> Layout:
        if not isinstance(self.observation, Mapping):
            return self.observation
        if self.state not in self.observation:
            raise UnknownName("array of the observation", self.state, self.observation)
        return self.observation[self.state]

    @property
    def _seen_base(self) -> tuple[str, str] | None:
        """The parts of an observation that are the pose of the base, if it is seen."""
        named = isinstance(self.base, tuple) and len(self.base) == 2 and all(isinstance(n, str) for n in self.base)
        return self.base if named else None

    @property
    def d(self) -> int:
        """Dimension of the space."""
        return self.action.d

    def _pose_array(self, x: Any) -> Any:
        found = x[self.state] if isinstance(self.observation, Mapping) else x
        return found if is_torch(found) else np.asarray(found)

    def pose(self, x: Any) -> Any:
        """The frame F of single observations, as motions ``(…, d+1, d+1)`` (frame to world)."""
        seen = self._pose_array(x)
        xp, lead = namespace(seen), tuple(seen.shape[:-1])
        if self.frame == "world" or (self.frame == "base" and self._seen_base is None):
            fixed = identity(self.d) if self.base is None or self.frame == "world" else np.asarray(self.base)
            return as_like(np.broadcast_to(fixed, (*lead, self.d + 1, self.d + 1)), seen)
        layout = self._pose_layout
        if tuple(seen.shape[-1:]) != (layout.width,):
            raise InvalidParameter(
                f"an observation of {', '.join(layout.names)} has {layout.width} numbers, got {tuple(seen.shape)}"
            )
        if xp is np:
            seen = seen.astype(np.float64)  # the frame is exact to rounding, whatever the observation is stored in
        names = (self._seen_base if self.frame == "base" else None) or (self.position, self.orientation)
        place, look = (seen[..., layout.slice(name)] for name in names)
        if self.frame in _UPRIGHT:
            return self._upright_pose(place, look, self._base_place(seen))
        if self.frame == "relative":
            turn = as_like(np.broadcast_to(np.eye(self.d), (*lead, self.d, self.d)), seen)
        elif self.d == 2:
            look = look / xp.sqrt((look * look).sum(axis=-1, keepdims=True))
            c, s = look[..., 0], look[..., 1]
            turn = xp.stack([xp.stack([c, -s], axis=-1), xp.stack([s, c], axis=-1)], axis=-2)
        else:
            turn = rot6d_to_matrix(look)
        return rigid(turn, place)

    def _base_place(self, seen: Any) -> Any:
        """Where the base is."""
        if self._seen_base is not None:
            return seen[..., self._pose_layout.slice(self._seen_base[0])]
        return as_like(np.zeros(self.d) if self.base is None else np.asarray(self.base)[: self.d, self.d], seen)

    def _upright_pose(self, place: Any, look: Any, base: Any) -> Any:
        """The frames that keep the vertical: their z axis is the world's, their origin is on the ground."""
        xp = namespace(place)
        if self.frame == "azimuth":
            origin, ahead = base + xp.zeros_like(place), (place - base)[..., :2]
        else:
            origin, ahead = place, rot6d_to_matrix(look)[..., :2, 0]  # where the x axis of the robot points
        length = xp.sqrt((ahead * ahead).sum(axis=-1))
        vertical = length < 1e-9  # no heading: take the world's
        safe = xp.where(vertical, xp.ones_like(length), length)
        c = xp.where(vertical, xp.ones_like(length), ahead[..., 0] / safe)
        s = xp.where(vertical, xp.zeros_like(length), ahead[..., 1] / safe)
        o, one = xp.zeros_like(c), xp.ones_like(c)
        turn = xp.stack([xp.stack(row, axis=-1) for row in ([c, -s, o], [s, c, o], [o, o, one])], axis=-2)
        ground = xp.stack([origin[..., 0], origin[..., 1], o], axis=-1)
        return rigid(turn, ground)

    def __call__(self, x: Any) -> tuple[Any, Any]:
        """``(x̄, g)`` of single observations, with ``x̄ = g·x`` and ``g = F⁻¹``."""
        g = invert(self.pose(x))
        return self.act(g, x), g

    def history(self, x: Any) -> tuple[Any, Any]:
        """``(x̄, g)`` of histories, ``(…, steps, width)``, the latest last: all steps in the frame of the latest.

        ``g`` has the leading axes without the steps, and serves :meth:`into` and :meth:`undo` for whole chunks.

        >>> line = Layout((("robot", "point"), ("heading", "heading")))
        >>> form = FrameForm(line, Layout((("velocity", "vector"),)), "relative")
        >>> form.history(np.array([[1.0, 0, 1, 0], [3.0, 0, 1, 0]]))[0].tolist()
        [[-2.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
        """
        seen = self._pose_array(x)
        if seen.ndim < 2:
            raise InvalidParameter(f"a history has shape (…, steps, width), got {tuple(seen.shape)}")
        latest = {self.state: seen[..., -1, :]} if isinstance(self.observation, Mapping) else seen[..., -1, :]
        g = invert(self.pose(latest))
        return self.act(g[..., None, :, :], x), g

    def act(self, g: Any, x: Any) -> Any:
        """The observations ``g·x``; the axes of g are the first of x, whose further axes share it."""
        if not isinstance(self.observation, Mapping):
            return _act(self.observation, g, x)
        unknown = set(x) - set(self.observation)
        if unknown:
            raise UnknownName("array of the observation", sorted(unknown)[0], self.observation)
        return {key: _act(self.observation[key], g, value) for key, value in x.items()}

    def into(self, action: Any, g: Any) -> Any:
        """Actions or whole chunks of the world, in the frame: ``g·a``."""
        return _act(self.action, g, action)

    def undo(self, action: Any, g: Any) -> Any:
        """Actions or whole chunks chosen in the frame, in the world: ``g⁻¹·ā``."""
        return _act(self.action, invert(g), action)


def _act(layout: Layout, g: Any, x: Any) -> Any:
    found = x if is_torch(x) else np.asarray(x)
    more = found.ndim - 1 - (g.ndim - 2)
    return layout.act(g[(..., *(None,) * more, slice(None), slice(None))] if more > 0 else g, found)
