"""Coloured point clouds: depth pictures of several cameras, merged, cropped and thinned to a fixed number of points."""

from __future__ import annotations

from typing import Any

import numpy as np

from burnside._types import AnyArray, FloatArray
from burnside.envs.manipulation.rendering import Renderer
from burnside.envs.manipulation.tasks import Task
from burnside.errors import InvalidParameter, MissingExtra

__all__ = ["crop", "farthest_points", "merged_cloud", "point_cloud", "unproject"]


def unproject(depth: FloatArray, fovy: float, position: FloatArray, rotation: FloatArray) -> FloatArray:
    """World positions (height, width, 3) of the pixels of a depth picture whose lowest row comes first.

    Args:
        depth: distances along the camera's axis, in metres.
        fovy: vertical field of view in degrees.
        position: where the camera is.
        rotation: its rotation matrix; it looks along its negative third axis.

    >>> ahead = unproject(np.full((1, 1), 2.0), 45.0, np.zeros(3), np.eye(3))
    >>> ahead[0, 0].tolist()
    [0.0, 0.0, -2.0]
    """
    height, width = depth.shape
    focal = 0.5 * height / np.tan(np.radians(fovy) / 2.0)
    x = (np.arange(width) + 0.5 - width / 2.0) / focal
    y = (np.arange(height) + 0.5 - height / 2.0) / focal
    rays = np.stack(
        [np.broadcast_to(x, depth.shape), np.broadcast_to(y[:, None], depth.shape), -np.ones_like(depth)], -1
    )
    return np.asarray((rays * depth[..., None]) @ rotation.T + position)


def merged_cloud(renderer: Renderer, data: Any, views: tuple[str, ...]) -> FloatArray:
    """All pixels of all views as points (n, 6): position in metres, colour in [0, 1]."""
    parts = []
    for name in views:
        rgb, depth = renderer.draw(data, name)
        camera = renderer.model.cam(name).id
        where = unproject(
            depth, float(renderer.model.cam_fovy[camera]), data.cam_xpos[camera], data.cam_xmat[camera].reshape(3, 3)
        )
        parts.append(np.concatenate([where.reshape(-1, 3), rgb.reshape(-1, 3) / 255.0], axis=1))
    return np.concatenate(parts)


def crop(cloud: FloatArray, task: Task) -> FloatArray:
    """The points inside the task's workspace, which ends just above the table."""
    low, high = np.array(task.workspace[0]), np.array(task.workspace[1])
    inside = ((cloud[:, :3] > low) & (cloud[:, :3] < high)).all(1)
    return cloud[inside]


def farthest_points(cloud: FloatArray, count: int) -> FloatArray:
    """``count`` points, each as far as possible from those before it; too few are repeated in turn.

    >>> line = np.array([[0.0, 0, 0], [1, 0, 0], [10, 0, 0]])
    >>> farthest_points(line, 2)[:, 0].tolist()
    [0.0, 10.0]
    >>> farthest_points(line, 4)[:, 0].tolist()
    [0.0, 1.0, 10.0, 0.0]
    """
    if count < 1:
        raise InvalidParameter(f"a cloud needs at least one point, got {count}")
    if not len(cloud):
        return np.zeros((count, cloud.shape[1]))
    if len(cloud) <= count:
        return cloud[np.arange(count) % len(cloud)]
    positions = np.ascontiguousarray(cloud[:, :3], np.float32)
    if len(cloud) < 64 or count < 8:
        return cloud[_plain(positions, count)]
    try:
        import fpsample
    except ImportError:
        raise MissingExtra("fpsample", "robot") from None
    return cloud[np.asarray(fpsample.bucket_fps_kdline_sampling(positions, count, h=5, start_idx=0))]


def _plain(positions: AnyArray, count: int) -> list[int]:
    chosen = [0]
    gap = ((positions - positions[0]) ** 2).sum(1)
    while len(chosen) < count:
        chosen.append(int(gap.argmax()))
        gap = np.minimum(gap, ((positions - positions[chosen[-1]]) ** 2).sum(1))
    return chosen


def point_cloud(renderer: Renderer, data: Any, task: Task, count: int = 1024) -> FloatArray:
    """The cloud (count, 6) a policy sees: merged views, the workspace only, thinned by farthest points."""
    return farthest_points(crop(merged_cloud(renderer, data, task.views), task), count).astype(np.float32)
