"""Pictures and films of planar scenes: numpy images, GIF by way of Pillow, MP4 where ffmpeg is installed."""

from __future__ import annotations

import math
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from burnside._files import write_atomically
from burnside._types import AnyArray, ArrayLike, FloatArray
from burnside.envs.planar.core import PlanarSpec, PlanarState, reset, step
from burnside.errors import InvalidParameter, UnreadableFile

__all__ = ["draw_rgb", "film", "write_video"]

_TABLE, _EDGE = (250, 250, 247), (90, 90, 90)
_ROBOT, _PUCK, _GOAL = (31, 90, 220), (224, 122, 48), (60, 160, 90)
_OPEN, _CLOSED = (120, 160, 240), (20, 40, 110)
_BLOCK = 0.05


def _blend(canvas: FloatArray, inside: FloatArray, colour: tuple[int, int, int]) -> None:
    """Paint where ``inside`` (in pixels from the border) is positive, with smooth edges."""
    weight = np.clip(inside + 0.5, 0.0, 1.0)[..., None]
    canvas += weight * (np.asarray(colour) - canvas)


def draw_rgb(
    spec: PlanarSpec, x: ArrayLike, size: int = 240, window: tuple[float, float, float] | None = None
) -> AnyArray:
    """One scene as an image, uint8 ``(size, size, 3)``, y up.

    Args:
        spec: the rules.
        x: the scene, a row of numbers.
        size: pixels.
        window: centre and half the side of what is shown; default every scene of the spread.

    >>> from burnside.envs.planar.core import reset
    >>> spec = PlanarSpec("stack")
    >>> draw_rgb(spec, reset(spec, 0).x[0]).shape
    (240, 240, 3)
    """
    row = np.asarray(x, dtype=np.float64)
    if row.shape != (spec.obs_dim,):
        raise InvalidParameter(f"a scene of {spec.task} has {spec.obs_dim} numbers, got shape {row.shape}")
    middle_x, middle_y, half = _window(spec) if window is None else window
    pixel = size / (2 * half)
    centres = (np.arange(size) + 0.5) / pixel
    xs, ys = middle_x - half + centres[None, :], middle_y + half - centres[:, None]
    canvas = np.full((size, size, 3), _TABLE, dtype=np.float64)

    def disc(name: str, radius: float, colour: tuple[int, int, int]) -> None:
        px, py = row[spec.layout.slice(name)]
        _blend(canvas, (radius - np.hypot(xs - px, ys - py)) * pixel, colour)

    def ring(name: str, radius: float, colour: tuple[int, int, int]) -> None:
        px, py = row[spec.layout.slice(name)]
        _blend(canvas, (0.012 - np.abs(np.hypot(xs - px, ys - py) - radius)) * pixel, colour)

    if spec.task == "push":
        ring("goal", spec.tolerance + spec.radius, _GOAL)
        disc("puck", spec.radius, _EDGE)
        disc("puck", spec.radius - 0.01, _PUCK)
    else:
        ring("home", spec.tolerance + 0.02, _GOAL)
        disc("b", 1.2 * _BLOCK, _GOAL)
        disc("a", _BLOCK, _PUCK)
    disc("robot", spec.radius, _EDGE)
    disc("robot", spec.radius - 0.01, _ROBOT)
    (px, py), (hx, hy) = row[:2], row[2:4]
    long = spec.reach if spec.task == "stack" else spec.radius
    along = np.clip((xs - px) * hx + (ys - py) * hy, 0.0, long)
    _blend(canvas, (0.012 - np.hypot(xs - px - along * hx, ys - py - along * hy)) * pixel, _OPEN)
    if spec.task == "stack":
        tip = np.hypot(xs - px - long * hx, ys - py - long * hy)
        _blend(canvas, (0.022 - tip) * pixel, _CLOSED if row[spec.layout.slice("closed")][0] else _OPEN)
    return canvas.round().astype(np.uint8)


def _window(spec: PlanarSpec) -> tuple[float, float, float]:
    """A square around all starting scenes, which reach 1.3 from the base point, to one side if they hardly turn."""
    length, angle = spec.spread
    low, high = -length - (0.5 if angle <= math.pi / 2 else 1.5), length + 1.5
    return 0.5 * (low + high), 0.0, 0.5 * (high - low)


def _closeup(spec: PlanarSpec, x: AnyArray) -> tuple[float, float, float]:
    """A square around the objects of one scene."""
    points = np.array([x[spec.layout.slice(name)] for name in spec.layout.of_kind("point")], dtype=np.float64)
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    return float(middle[0]), float(middle[1]), float(np.abs(points - middle).max()) + 0.3


def film(
    spec: PlanarSpec,
    policy: Callable[[PlanarSpec, PlanarState], Any],
    seeds: ArrayLike = 0,
    episodes: ArrayLike = 0,
    *,
    size: int = 240,
    columns: int = 4,
    close: bool = True,
) -> list[AnyArray]:
    """The frames of episodes played side by side until the last is over; a scene that is over stands still.

    Args:
        spec: the rules.
        policy: ``(spec, state) → (B, action_dim)`` actions in world coordinates, such as ``expert``.
        seeds: as in :func:`~burnside.envs.planar.core.reset`.
        episodes: as there.
        size: pixels of one scene.
        columns: scenes in a row of the picture.
        close: show each scene from near, else all in the window of the whole spread.

    >>> from burnside.envs.planar.expert import expert
    >>> frames = film(PlanarSpec(), expert, seeds=0, episodes=[0, 1], size=60)
    >>> frames[0].shape, 10 < len(frames) < 101
    ((60, 120, 3), True)
    """
    if size < 8 or columns < 1:
        raise InvalidParameter(f"a film needs size ≥ 8 and columns ≥ 1, got {size} and {columns}")
    state = reset(spec, seeds, episodes)
    running = np.ones(len(state), dtype=np.bool_)
    windows = [_closeup(spec, x) if close else None for x in state.x]
    pictures = [draw_rgb(spec, x, size, window) for x, window in zip(state.x, windows, strict=True)]
    frames = [_grid(pictures, columns)]
    while running.any():
        after, _, terminated, truncated, _ = step(spec, state, policy(spec, state))
        state = after.where(running, state)
        for i in np.flatnonzero(running):
            pictures[i] = draw_rgb(spec, state.x[i], size, windows[i])
        running &= ~(terminated | truncated)
        frames.append(_grid(pictures, columns))
    return frames


def _grid(pictures: Sequence[AnyArray], columns: int) -> AnyArray:
    wide = min(columns, len(pictures))
    blank = np.full_like(pictures[0], 255)
    padded = [picture.copy() for picture in (*pictures, *[blank] * (-len(pictures) % wide))]
    for picture in padded:
        picture[0], picture[:, 0] = _EDGE, _EDGE
    return np.vstack([np.hstack(padded[i : i + wide]) for i in range(0, len(padded), wide)])


def write_video(path: str | Path, frames: Sequence[AnyArray], fps: int = 20) -> Path:
    """Write frames as ``.gif``, or as ``.mp4`` where the program ffmpeg is found.

    Args:
        path: where to; the ending says how.
        frames: uint8 images of one shape, as :func:`film` or ``env.render()`` gives them.
        fps: frames per second.
    """
    target = Path(path)
    found = [np.asarray(frame) for frame in frames]
    if not found or any(f.shape != found[0].shape or f.dtype != np.uint8 or f.shape[-1] != 3 for f in found):
        raise InvalidParameter("a video needs at least one frame, all uint8 of one shape (height, width, 3)")
    if not 1 <= fps <= 100:
        raise InvalidParameter(f"fps must lie between 1 and 100, got {fps}")
    if target.suffix == ".gif":
        from PIL import Image

        images = [Image.fromarray(f).quantize(64) for f in found]

        def write(file: BinaryIO) -> None:
            images[0].save(
                file, format="GIF", save_all=True, append_images=images[1:], duration=round(1000 / fps), loop=0
            )

        return write_atomically(target, write)
    if target.suffix == ".mp4":
        return _write_mp4(target, found, fps)
    raise InvalidParameter(f"videos are .gif or .mp4, got {target.name!r}")


def _write_mp4(target: Path, frames: list[AnyArray], fps: int) -> Path:
    program = shutil.which("ffmpeg")
    if program is None:
        raise InvalidParameter("an .mp4 needs the program ffmpeg, which is not installed: write a .gif instead")
    height, width = frames[0].shape[:2]
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "video.mp4"
        command = [program, "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}"]
        command += ["-r", str(fps), "-i", "-", "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-pix_fmt", "yuv420p", str(made)]
        done = subprocess.run(command, input=b"".join(f.tobytes() for f in frames), capture_output=True, check=False)
        if done.returncode != 0:
            raise UnreadableFile(f"ffmpeg could not write {target}: {done.stderr.decode(errors='replace')[-200:]}")
        data = made.read_bytes()
    return write_atomically(target, lambda file: file.write(data))
