"""The rules of the planar tasks as compiled loops over scenes; :mod:`burnside.envs.planar.dynamics` is their twin.

Import it where it is used: it loads numba. The arithmetic is in double precision and rounded on being stored, whatever
the dtype of the scenes. ``k`` is :attr:`burnside.envs.planar.core.PlanarSpec.constants`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from burnside._compiled import njit
from burnside._random_kernels import ENV, uniform_nb
from burnside._types import AnyArray, BoolArray, FloatArray, IntArray

__all__ = ["reset_rows", "step_rows", "view_rows"]

_STRIDE = np.uint64(16)  # random numbers set aside for a scene
_TINY = 1e-9


@njit(cache=True, nogil=True)
def _draw(seed: Any, episode: Any, j: int, low: float, high: float) -> float:
    return low + (high - low) * uniform_nb(seed, ENV, np.uint64(episode) * _STRIDE + np.uint64(j))


@njit(cache=True, nogil=True)
def reset_rows(stack: bool, k: FloatArray, seeds: AnyArray, episodes: AnyArray, x: AnyArray) -> None:
    """Fill the rows of x with the scenes of (seed, episode): numbers 0…6 make the base layout, 7…9 move it."""
    for i in range(x.shape[0]):
        s, e = seeds[i], episodes[i]
        angle = _draw(s, e, 7, -k[11], k[11])
        c, n = math.cos(angle), math.sin(angle)
        left, up = _draw(s, e, 8, -k[10], k[10]), _draw(s, e, 9, -k[10], k[10])
        look = angle + _draw(s, e, 2, -0.5, 0.5)
        x[i, 2], x[i, 3] = math.cos(look), math.sin(look)
        for point in range(3):
            if point == 0:  # the robot
                px, py = _draw(s, e, 0, -0.05, 0.05), _draw(s, e, 1, -0.05, 0.05)
                column = 0
            elif point == 1:  # the puck, or block a
                px, py = _draw(s, e, 3, 0.35, 0.6), _draw(s, e, 4, -0.25, 0.25)
                column = 4
            else:  # the goal, or block b
                px, py = _draw(s, e, 5, 0.8, 1.2), _draw(s, e, 6, -0.5, 0.5)
                column = 6
            x[i, column] = c * px - n * py + left
            x[i, column + 1] = n * px + c * py + up
        if stack:
            x[i, 8], x[i, 9] = x[i, 6], x[i, 7]
            x[i, 10:13] = 0.0


@njit(cache=True, nogil=True)
def _unit(x: float, y: float) -> Any:
    """Direction and length; the direction of a very short vector is short itself."""
    length = math.sqrt(x * x + y * y)
    scale = 1.0 / max(length, _TINY)
    return x * scale, y * scale, length


@njit(cache=True, nogil=True)
def _short_of_push(px: float, py: float, qx: float, qy: float, gx: float, gy: float, touch: float) -> float:
    """What is left to do: puck to goal, and half the way of the robot to the place behind the puck."""
    ux, uy, left = _unit(gx - qx, gy - qy)
    _, _, away = _unit(qx - touch * ux - px, qy - touch * uy - py)
    return left + 0.5 * away


@njit(cache=True, nogil=True)
def _short_of_stack(row: AnyArray, reach: float) -> float:
    """What is left to do: gripper to a, a to b, b to its home, and a quarter for not holding a."""
    tx, ty = row[0] + reach * row[2], row[1] + reach * row[3]
    _, _, far = _unit(row[4] - tx, row[5] - ty)
    _, _, left = _unit(row[6] - row[4], row[7] - row[5])
    _, _, moved = _unit(row[8] - row[6], row[9] - row[7])
    return 0.5 * far + left + moved + 0.25 * (1.0 - row[11])


@njit(cache=True, nogil=True)
def step_rows(
    stack: bool, k: FloatArray, x: AnyArray, action: AnyArray, out: AnyArray, reward: AnyArray, success: BoolArray
) -> None:
    """One step of every scene: the next rows, rewards and successes are written to the last three."""
    fast, slow, turn, touch, tolerance = k[0], k[1], k[2], k[3], k[4]
    reach, grasp, progress, bonus, box = k[5], k[6], k[7], k[8], k[9]
    row = np.empty(x.shape[1])
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            row[j] = x[i, j]
        if stack:
            before = _short_of_stack(row, reach)
        else:
            before = _short_of_push(row[0], row[1], row[4], row[5], row[6], row[7], touch)
        vx, vy = float(action[i, 0]), float(action[i, 1])
        if box > 0.0:
            vx, vy = min(1.0, max(-1.0, vx)), min(1.0, max(-1.0, vy))
        else:
            scale = 1.0 / max(1.0, math.sqrt(vx * vx + vy * vy))
            vx, vy = vx * scale, vy * scale
        hx, hy = row[2], row[3]
        along, across = fast * (vx * hx + vy * hy), slow * (vy * hx - vx * hy)
        row[0] += along * hx - across * hy
        row[1] += along * hy + across * hx
        angle = turn * min(1.0, max(-1.0, np.float64(action[i, 2])))
        c, s = math.cos(angle), math.sin(angle)
        row[2], row[3], _ = _unit(c * hx - s * hy, s * hx + c * hy)
        if stack:
            _grip(row, np.float64(action[i, 3]), reach, grasp)
            _, _, gap = _unit(row[6] - row[4], row[7] - row[5])
            _, _, moved = _unit(row[8] - row[6], row[9] - row[7])
            done = gap <= tolerance and moved <= tolerance and row[11] == 0.0 and row[12] == 0.0
            after = _short_of_stack(row, reach)
        else:
            _push(row, touch)
            _, _, gap = _unit(row[6] - row[4], row[7] - row[5])
            done = gap <= tolerance
            after = _short_of_push(row[0], row[1], row[4], row[5], row[6], row[7], touch)
        reward[i] = progress * (before - after) + (bonus if done else 0.0)
        success[i] = done
        for j in range(x.shape[1]):
            out[i, j] = row[j]


@njit(cache=True, nogil=True)
def _push(row: FloatArray, touch: float) -> None:
    """Quasi-static contact: a puck that overlaps the robot slides off along the line of centres until they touch."""
    nx, ny, gap = _unit(row[4] - row[0], row[5] - row[1])
    if gap < touch:
        if gap <= _TINY:  # centre on centre has no line: the heading decides, which turns with the scene
            nx, ny = row[2], row[3]
        row[4], row[5] = row[0] + touch * nx, row[1] + touch * ny


@njit(cache=True, nogil=True)
def _grip(row: FloatArray, command: float, reach: float, grasp: float) -> None:
    """Open or close; a gripper that closes takes the nearest block in reach, and what it holds sits in it."""
    was = row[10]
    if command > 0.5:
        row[10] = 1.0
    elif command < -0.5:
        row[10] = row[11] = row[12] = 0.0
    tx, ty = row[0] + reach * row[2], row[1] + reach * row[3]
    if row[10] > was:
        _, _, to_a = _unit(row[4] - tx, row[5] - ty)
        _, _, to_b = _unit(row[6] - tx, row[7] - ty)
        if to_a <= grasp and to_a <= to_b:
            row[11] = 1.0
        elif to_b <= grasp:
            row[12] = 1.0
    if row[11] > 0.0:
        row[4], row[5] = tx, ty
    if row[12] > 0.0:
        row[6], row[7] = tx, ty


@njit(cache=True, nogil=True)
def view_rows(turned: bool, first: IntArray, is_point: BoolArray, x: AnyArray, out: AnyArray) -> None:
    """The scenes with the robot at the origin, and turned to look along x or not; ``first`` are columns of vectors."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = x[i, j]
        px, py, hx, hy = np.float64(x[i, 0]), np.float64(x[i, 1]), np.float64(x[i, 2]), np.float64(x[i, 3])
        out[i, 0] = out[i, 1] = 0.0
        c, s = 1.0, 0.0
        if turned:
            c, s = hx, hy
            out[i, 2], out[i, 3] = 1.0, 0.0
        for m in range(first.shape[0]):
            j = first[m]
            vx, vy = np.float64(x[i, j]), np.float64(x[i, j + 1])
            if is_point[m]:
                vx, vy = vx - px, vy - py
            out[i, j], out[i, j + 1] = c * vx + s * vy, c * vy - s * vx
