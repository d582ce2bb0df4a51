"""Canonical forms by frame, ready-made: planar tasks (SE(2)) and arms with poses and point clouds (SE(3)).

The work is done by :class:`~burnside.groups.rigid.FrameForm`, for any layout of observations and actions.
"""

from __future__ import annotations

from typing import Any

from burnside.envs.planar.core import PlanarSpec
from burnside.errors import InvalidParameter
from burnside.groups.rigid.frames import FRAMES, FrameForm
from burnside.groups.rigid.layout import Layout

__all__ = ["FRAMES", "POSE_ACTION", "FrameForm", "cloud_layout", "planar_frames", "pose_frames"]

#: The 10 numbers of an absolute pose action: xyz, rot6d (columns), gripper.
POSE_ACTION = Layout((("target", "point"), ("turn", "rot6d"), ("grip", "scalar")), d=3)


def planar_frames(spec: PlanarSpec, frame: str = "robot") -> FrameForm:
    """The form of a planar task, for observations of the ``world`` arm.

    >>> import numpy as np
    >>> from burnside.envs.planar import PlanarSpec, observe, reset
    >>> spec = PlanarSpec("push", (1.0, 3.0))
    >>> state = reset(spec, 0, n=4)
    >>> x_bar, g = planar_frames(spec, "robot")(state.x)
    >>> bool(np.allclose(x_bar, observe(spec, state, "robot"), atol=1e-6))
    True
    """
    return FrameForm(spec.layout, spec.action_layout, frame)


def cloud_layout(channels: int = 3) -> Layout:
    """A point of a cloud: xyz, then ``channels − 3`` numbers that motions leave alone (colours).

    >>> cloud_layout(6).width
    6
    """
    if channels < 3:
        raise InvalidParameter(f"the points of a cloud have 3 coordinates and perhaps colours, got {channels} numbers")
    colours = tuple((f"colour{i}", "scalar") for i in range(channels - 3))
    return Layout((("xyz", "point"), *colours), d=3)


def pose_frames(
    frame: str = "gripper",
    *,
    state: Layout | tuple[tuple[str, str], ...] = (),
    cloud: int | None = None,
    action: Layout = POSE_ACTION,
    base: Any = None,
) -> FrameForm:
    """The form of an arm: observations are ``{"state": …}``, with ``"cloud"`` of shape ``(…, points, cloud)`` if any.

    Args:
        frame: one of :data:`FRAMES`.
        state: the parts of the state after the gripper's pose (``position``, a point, and ``orientation``, a rot6d), or
            the whole layout, in which these two must occur. Default: two numbers, the fingers.
        cloud: numbers per point, 3 or with colours 6; None: no cloud.
        action: default xyz, rot6d, gripper.
        base: pose of the robot's base, for the frames ``base`` and ``azimuth``.

    >>> import numpy as np
    >>> form = pose_frames("gripper", cloud=6)
    >>> state = np.array([0.5, 0, 1, 1, 0, 0, 0, -1, 0, 0.04, 0.04])        # half a metre out, hand down
    >>> seen, g = form({"state": state, "cloud": np.array([[0.5, 0, 0.8, 255, 0, 0]])})
    >>> seen["cloud"].round(6).tolist()
    [[0.0, 0.0, 0.2, 255.0, 0.0, 0.0]]
    """
    if not isinstance(state, Layout):
        more = tuple(state) or (("finger0", "scalar"), ("finger1", "scalar"))
        state = Layout((("position", "point"), ("orientation", "rot6d"), *more), d=3)
    layouts = {"state": state} | ({} if cloud is None else {"cloud": cloud_layout(cloud)})
    return FrameForm(layouts, action, frame, position="position", orientation="orientation", base=base)
