"""The scripted expert of the stacks: put A on B, then C on A if there is one; begin again with whatever went wrong.

Every control step it looks at the true poses and decides what is next, so a cube that slipped, fell or was pushed is
simply picked up again. Grasps are along a pair of faces with room for the fingers.
"""

from __future__ import annotations

import numpy as np

from burnside._types import FloatArray
from burnside.envs.manipulation.experts.motion import CLOSE, OPEN, azimuth, closest_turn, command, hand_yaw, needed_tilt
from burnside.envs.manipulation.simulation import Simulation

__all__ = ["StackExpert"]

_HALF = (0.02, 0.025, 0.02)
_CLEAR = 0.10  # how far above the cubes the hand travels


class StackExpert:
    """Decides the next action of one episode; make a new one for every episode."""

    def __init__(self) -> None:
        self.phase = "approach"
        self.moving: int | None = None
        self.count = 0
        self.yaw = 0.0
        self.tilt = 0.0
        self.turn = 0.0
        self.carried = 0
        self.tries = 0

    def act(self, sim: Simulation) -> FloatArray:
        """The action for the present state."""
        cubes = sim.object_positions()
        top, base = self._next(sim, cubes)
        if self.moving != top and self.phase != "retreat":
            self._start(top)
        if self.phase == "approach":
            return self._approach(sim, cubes, top, base)
        if self.phase == "descend":
            return self._descend(sim, cubes, top)
        if self.phase == "close":
            return self._close(sim, cubes, top)
        if self.phase in ("lift", "carry", "lower"):
            return self._carry(sim, cubes, top, base)
        return self._release(sim)

    def _start(self, top: int) -> None:
        self.phase, self.moving, self.count, self.tries = "approach", top, 0, 0

    def _next(self, sim: Simulation, cubes: FloatArray) -> tuple[int, int]:
        """Which cube goes on which: A on B unless it lies there and is let go, else C on A."""
        if len(cubes) > 2 and _lies_on(cubes, 0, 1) and (self.moving != 0 or self.phase == "retreat"):
            return 2, 0
        return 0, 1

    def _approach(self, sim: Simulation, cubes: FloatArray, top: int, base: int) -> FloatArray:
        self.yaw = _grasp_yaw(sim, cubes, top, self.tries)
        self.turn = azimuth(cubes[base]) - azimuth(cubes[top])
        self.tilt = max(needed_tilt(cubes[top], self.yaw), needed_tilt(cubes[base], self.yaw + self.turn))
        here = sim.eef_position()
        high = max(cubes[top, 2] + _CLEAR, sim.task.table + _CLEAR)
        target = np.array([*cubes[top, :2], high])
        off = float(np.hypot(*(target - here)[:2]))
        if off > 0.03 and here[2] < high - 0.03:  # first up, then sideways
            target = np.array([*here[:2], high + 0.02])
        turned = abs(self.yaw - hand_yaw(sim.eef_rotation()))
        if off < 0.012 and turned < 0.08 and sim.finger_positions()[0] > 0.035:
            self.phase = "descend"
        return command(sim, target, self.yaw, OPEN, self.tilt)

    def _descend(self, sim: Simulation, cubes: FloatArray, top: int) -> FloatArray:
        here = sim.eef_position()
        target = cubes[top] - np.array([0.0, 0.0, 0.004])
        target[2] = max(target[2], sim.task.table + 0.014)
        if np.hypot(*(target - here)[:2]) > 0.025:  # it was pushed away
            self.phase, self.tries = "approach", self.tries + 1
        self.count += 1
        if here[2] - target[2] < 0.004 or self.count > 30:
            self.phase, self.count = "close", 0
        return command(sim, target, self.yaw, OPEN, self.tilt, reach=0.05)

    def _close(self, sim: Simulation, cubes: FloatArray, top: int) -> FloatArray:
        self.count += 1
        if self.count >= 7 and sim.grasped(top):
            self.phase, self.count = "lift", 0
        elif self.count > 12:
            self.phase, self.count, self.tries = "approach", 0, self.tries + 1
        target = np.array([*cubes[top, :2], max(cubes[top, 2] - 0.004, sim.task.table + 0.014)])
        return command(sim, target, self.yaw, CLOSE, self.tilt, reach=0.03)

    def _carry(self, sim: Simulation, cubes: FloatArray, top: int, base: int) -> FloatArray:
        here = sim.eef_position()
        if not sim.grasped(top):
            self.count += 1
            if self.count > 3:
                self.phase, self.count, self.tries = "approach", 0, self.tries + 1
        else:
            self.count = 0
        slip = here - cubes[top]  # where the hand must be, relative to the cube
        rest = cubes[base, 2] + _HALF[base] + _HALF[top]
        high = rest + 0.06
        over = np.array([*(cubes[base, :2] + slip[:2]), high + slip[2]])
        off = float(np.hypot(*(cubes[top] - cubes[base])[:2]))
        if self.phase == "lift":
            if cubes[top, 2] > min(high, rest + 0.05) - 0.02:
                self.phase, self.carried = "carry", 0
                self.yaw += self.turn  # the hand keeps its place relative to the arm
            near = np.array([*here[:2], over[2]])
            return command(sim, near, self.yaw, CLOSE, self.tilt)
        if self.phase == "carry":
            self.carried += 1
            if self.carried > 45:  # a joint is at its limit: the cube may as well be set down aslant
                self.tilt = 0.0
            if off < 0.006 and np.abs(sim.data.qvel[:7]).max() < 0.3:
                self.phase = "lower"
            return command(sim, over, self.yaw, CLOSE, self.tilt)
        if off > 0.015:
            self.phase = "carry"
        if cubes[top, 2] - rest < 0.004 or sim.touching(top, base):
            self.phase, self.count = "release", 0
        down = np.array([*over[:2], rest + slip[2] - 0.002])
        return command(sim, down, self.yaw, CLOSE, self.tilt, reach=0.025)

    def _release(self, sim: Simulation) -> FloatArray:
        here = sim.eef_position()
        self.count += 1
        if self.phase == "release":
            if sim.finger_positions()[0] > 0.027 or self.count > 10:
                self.phase, self.count = "retreat", 0
            return command(sim, here, self.yaw, OPEN, self.tilt, reach=0.02)
        if self.count >= 5:
            self.phase, self.moving = "approach", None
        return command(sim, here + np.array([0.0, 0.0, 0.08]), self.yaw, OPEN, self.tilt, reach=0.06)


def _lies_on(cubes: FloatArray, top: int, base: int) -> bool:
    gap = cubes[top] - cubes[base]
    return bool(np.hypot(*gap[:2]) < 0.03 and abs(gap[2] - _HALF[top] - _HALF[base]) < 0.01)


def _grasp_yaw(sim: Simulation, cubes: FloatArray, top: int, tries: int) -> float:
    """Yaw along two faces of a cube: near the hand's start, and where the open fingers have room.

    After a failed attempt the other pair of faces is preferred.
    """
    rotation = sim.object_rotations()[top]
    upright = int(np.argmax(np.abs(rotation[2])))  # the cube may lie on any face
    side = rotation[:, (upright + 1) % 3]
    angle = float(np.arctan2(side[1], side[0]))
    best, found, ahead = np.inf, 0.0, azimuth(cubes[top])
    for k in range(2):
        yaw = closest_turn(angle + k * np.pi / 2.0, np.pi, near=ahead)
        if abs(yaw - ahead) > np.pi / 2.0 - 0.15:  # either end is as good: stay on the side the hand is on
            yaw = closest_turn(yaw, np.pi, near=ahead + 0.2 * np.sign(hand_yaw(sim.eef_rotation()) - ahead))
        axis = np.array([-np.sin(yaw), np.cos(yaw)])  # the fingers close along it
        room = 0.1
        for other in range(len(cubes)):
            if other == top or cubes[other, 2] - _HALF[other] > cubes[top, 2] + 0.02:
                continue
            for sign in (-1.0, 1.0):
                finger = cubes[top, :2] + sign * 0.052 * axis
                room = min(room, _distance(finger, cubes[other], sim.object_rotations()[other], _HALF[other]))
        cost = abs(yaw - ahead) + 8.0 * max(0.0, 0.016 - room) / 0.016
        if cost < best:
            best, found = cost, yaw
    return found


def _distance(point: FloatArray, centre: FloatArray, rotation: FloatArray, half: float) -> float:
    """Distance in the plane from a point to the square under a cube."""
    upright = int(np.argmax(np.abs(rotation[2])))
    side = rotation[:2, (upright + 1) % 3]
    side = side / max(float(np.hypot(*side)), 1e-9)
    offset = point - centre[:2]
    local = np.abs([offset @ side, offset @ np.array([-side[1], side[0]])]) - half
    outside = float(np.hypot(*np.maximum(local, 0.0)))
    return outside if outside > 0 else float(max(local))
