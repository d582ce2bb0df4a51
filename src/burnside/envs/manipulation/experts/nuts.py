"""The scripted expert of nut assembly: each nut is taken by its handle and lowered over its peg.

Near the pegs the arm is almost straight, so a nut goes over its peg with the handle towards the robot. That fixes the
hand's yaw at the peg and, since the hand keeps hold of the handle, at the grasp too. Where the wrist cannot turn that
far the expert takes the handle the other way round, turns the nut on the table, and takes it again.
"""

from __future__ import annotations

import numpy as np

from burnside._types import FloatArray
from burnside.envs.manipulation.experts.motion import CLOSE, OPEN, azimuth, command, hand_yaw, wrap
from burnside.envs.manipulation.simulation import Simulation

__all__ = ["NutExpert"]

_HANDLE = (0.054, 0.060)  # distance from the middle of a nut to that of its handle
_PEGS = np.array([[0.23, 0.1], [0.23, -0.1]])
_LEAST, _MOST = -1.55, 1.95  # yaws, relative to the arm's direction, at which no joint meets its limit
_TABLE = 0.82
_OVER = 0.985  # height of a nut that clears the pegs, whose tops are at 0.95


class NutExpert:
    """Decides the next action of one episode; make a new one for every episode."""

    def __init__(self) -> None:
        self.phase = "approach"
        self.nut = 0
        self.count = 0
        self.yaw = 0.0
        self.turning = False  # this grasp is only for turning the nut

    def act(self, sim: Simulation) -> FloatArray:
        """The action for the present state."""
        nuts, rotations = sim.object_positions(), sim.object_rotations()
        if self.phase == "approach":
            self.nut = 1 if _threaded(nuts[0], 0) else 0
            if self.nut == 1 and _threaded(nuts[1], 1):
                return command(sim, sim.eef_position() + np.array([-0.03, 0.0, 0.05]), self.yaw, OPEN)
        k = self.nut
        handle = nuts[k] + _HANDLE[k] * rotations[k][:, 0]
        return getattr(self, f"_{self.phase}")(sim, nuts[k], rotations[k], handle)

    def _go(self, phase: str) -> None:
        self.phase, self.count = phase, 0

    def _approach(self, sim: Simulation, nut: FloatArray, rotation: FloatArray, handle: FloatArray) -> FloatArray:
        here, ahead = sim.eef_position(), azimuth(handle)
        direction = float(np.arctan2(rotation[1, 0], rotation[0, 0]))
        ideal = wrap(direction - np.pi)
        self.turning = not _LEAST <= wrap(ideal - ahead) <= _MOST
        self.yaw = wrap(ideal + np.pi) if self.turning else ideal
        high = handle[2] + 0.09
        target = np.array([*handle[:2], high])
        off = float(np.hypot(*(target - here)[:2]))
        if off > 0.03 and here[2] < high - 0.03:
            target = np.array([*here[:2], high + 0.02])
        self.count += 1
        turned = abs(self.yaw - hand_yaw(sim.eef_rotation()))
        if off < 0.008 and turned < 0.06 and sim.finger_positions()[0] > 0.035:
            self._go("descend")
        return command(sim, target, self.yaw, OPEN)

    def _descend(self, sim: Simulation, nut: FloatArray, rotation: FloatArray, handle: FloatArray) -> FloatArray:
        here = sim.eef_position()
        target = np.array([*handle[:2], max(handle[2] - 0.002, _TABLE + 0.008)])
        self.count += 1
        if np.hypot(*(target - here)[:2]) > 0.03:
            self._go("approach")
        elif here[2] - target[2] < 0.004 or self.count > 25:
            self._go("close")
        return command(sim, target, self.yaw, OPEN, reach=0.05)

    def _close(self, sim: Simulation, nut: FloatArray, rotation: FloatArray, handle: FloatArray) -> FloatArray:
        self.count += 1
        if self.count >= 9 and sim.grasped(self.nut):
            self._go("turn" if self.turning else "lift")
        elif self.count > 14:
            self._go("approach")
        target = np.array([*sim.eef_position()[:2], max(handle[2] - 0.002, _TABLE + 0.008)])
        return command(sim, target, self.yaw, CLOSE, reach=0.03)

    def _turn(self, sim: Simulation, nut: FloatArray, rotation: FloatArray, handle: FloatArray) -> FloatArray:
        """Turn the nut just above the table, about the middle of where nuts start."""
        here = sim.eef_position()
        self.count += 1
        wanted = azimuth(here) + _MOST - 0.15
        if not sim.grasped(self.nut) and self.count > 3:
            self._go("approach")
        elif wanted - hand_yaw(sim.eef_rotation()) < 0.12 or self.count > 40:
            self._go("lower_again")
        side = 0.15 if self.nut == 0 else -0.15
        return command(sim, np.array([-0.10, side, _TABLE + 0.035]), wanted, CLOSE, reach=0.04)

    def _lower_again(self, sim: Simulation, nut: FloatArray, rotation: FloatArray, handle: FloatArray) -> FloatArray:
        here = sim.eef_position()
        self.count += 1
        self.yaw = hand_yaw(sim.eef_rotation())
        if here[2] < _TABLE + 0.013 or self.count > 10:
            self._go("release")
        return command(sim, np.array([*here[:2], _TABLE + 0.009]), self.yaw, CLOSE, reach=0.03)

    def _lift(self, sim: Simulation, nut: FloatArray, rotation: FloatArray, handle: FloatArray) -> FloatArray:
        here = sim.eef_position()
        if not self._held(sim):
            return command(sim, here, self.yaw, OPEN)
        if nut[2] > _OVER - 0.03:
            self._go("carry")
        return command(sim, np.array([*here[:2], here[2] + _OVER - nut[2]]), self.yaw, CLOSE, reach=0.07)

    def _carry(self, sim: Simulation, nut: FloatArray, rotation: FloatArray, handle: FloatArray) -> FloatArray:
        here = sim.eef_position()
        if not self._held(sim):
            return command(sim, here, self.yaw, OPEN)
        direction = float(np.arctan2(rotation[1, 0], rotation[0, 0]))
        now = hand_yaw(sim.eef_rotation())
        self.yaw = now + wrap(np.pi - direction)
        missing = abs(wrap(np.pi - direction))
        gap = _PEGS[self.nut] - nut[:2]
        off = float(np.hypot(*gap))
        height = here[2] + _OVER - nut[2]
        if missing > 0.4:  # turn first, away from the pegs
            return command(sim, np.array([-0.02, 0.7 * _PEGS[self.nut][1], height]), self.yaw, CLOSE, reach=0.06)
        if off < 0.004 and missing < 0.06 and np.abs(sim.data.qvel[:7]).max() < 0.25:
            self._go("lower")
        return command(sim, np.array([*(here[:2] + gap), height]), self.yaw, CLOSE, reach=0.07)

    def _lower(self, sim: Simulation, nut: FloatArray, rotation: FloatArray, handle: FloatArray) -> FloatArray:
        here = sim.eef_position()
        self.count += 1
        gap = _PEGS[self.nut] - nut[:2]
        if not self._held(sim):
            return command(sim, here, self.yaw, OPEN)
        if np.hypot(*gap) > 0.02 and nut[2] > 0.955:
            self._go("carry")
        if nut[2] < 0.895:
            self._go("release")
        elif self.count > 40:  # it sits on the peg: once more from above
            self._go("lift")
        down = max(here[2] + 0.88 - nut[2], here[2] - 0.03)
        return command(sim, np.array([*(here[:2] + gap), down]), self.yaw, CLOSE, reach=0.04)

    def _held(self, sim: Simulation) -> bool:
        """Whether the nut is still in the hand; gives up after a few steps without it."""
        self.lost = 0 if sim.grasped(self.nut) else getattr(self, "lost", 0) + 1
        if self.lost > 3:
            self._go("approach")
            self.lost = 0
            return False
        return True

    def _release(self, sim: Simulation, nut: FloatArray, rotation: FloatArray, handle: FloatArray) -> FloatArray:
        self.count += 1
        if sim.finger_positions()[0] > 0.026 or self.count > 10:
            self._go("retreat")
        return command(sim, sim.eef_position(), self.yaw, OPEN, reach=0.02)

    def _retreat(self, sim: Simulation, nut: FloatArray, rotation: FloatArray, handle: FloatArray) -> FloatArray:
        self.count += 1
        if self.count >= 6:
            self._go("approach")
        return command(sim, sim.eef_position() + np.array([0.0, 0.0, 0.08]), self.yaw, OPEN, reach=0.06)


def _threaded(nut: FloatArray, index: int) -> bool:
    """Whether a nut is around its peg, at any height."""
    return bool(np.abs(nut[:2] - _PEGS[index]).max() < 0.03 and nut[2] < 0.945)
