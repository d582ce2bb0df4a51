"""The scripted expert of nut assembly: each nut is taken by its handle and lowered over its peg.

Near the pegs the arm is almost straight, so a nut goes over its peg with the handle towards the robot. That fixes the
hand's yaw at the peg and, since the hand keeps hold of the handle, at the grasp too. The wrist turns from about −1.8 to
3.6 rad, so the expert counts the hand's yaw beyond ±π. For the few directions left it takes the handle the other way
round, turns the nut on the table, and takes it again.
"""

from __future__ import annotations

import numpy as np

from burnside._types import FloatArray
from burnside.envs.manipulation.experts.motion import CLOSE, OPEN, closest_turn, command, hand_yaw, wrap
from burnside.envs.manipulation.simulation import Simulation

__all__ = ["NutExpert"]

_HANDLE = (0.066, 0.071)  # from the middle of a nut to where its handle is taken: the outer half, clear of the ring
_PEGS = np.array([[0.23, 0.1], [0.23, -0.1]])
_LEAST = (-1.65, -2.3)  # yaws of the hand over the two nuts at which no joint meets its limit
_MOST = (3.5, 3.5)
_TABLE = 0.82
_OVER = 0.985  # height of a nut that clears the pegs, whose tops are at 0.95
_TURN = 0.4  # largest change of yaw asked for at once


class NutExpert:
    """Decides the next action of one episode; make a new one for every episode."""

    def __init__(self) -> None:
        self.phase = "approach"
        self.nut = 0
        self.count = 0
        self.lost = 0
        self.yaw = 0.0  # what is wanted
        self.now = 0.0  # what is, counted beyond ±π
        self.turning = False  # this grasp is only for turning the nut

    def act(self, sim: Simulation) -> FloatArray:
        """The action for the present state."""
        nuts, rotations = sim.object_positions(), sim.object_rotations()
        self.now = closest_turn(hand_yaw(sim.eef_rotation()), 2.0 * np.pi, near=self.now)
        if self.phase == "approach":
            self.nut = 1 if _threaded(nuts[0], 0) else 0
        k = self.nut
        handle = nuts[k] + _HANDLE[k] * rotations[k][:, 0]
        direction = float(np.arctan2(rotations[k][1, 0], rotations[k][0, 0]))
        self.count += 1
        phases = {
            "approach": self._approach,
            "descend": self._descend,
            "close": self._close,
            "turn": self._turn,
            "lay": self._lay,
            "lift": self._lift,
            "carry": self._carry,
            "lower": self._lower,
            "release": self._release,
            "retreat": self._retreat,
        }
        return phases[self.phase](sim, nuts[k], direction, handle)

    def _go(self, phase: str) -> None:
        self.phase, self.count = phase, 0

    def _move(self, sim: Simulation, target: FloatArray, gripper: float, reach: float = 0.08) -> FloatArray:
        return command(sim, target, self.yaw, gripper, reach=reach, turn=_TURN, now=self.now)

    def _choose_yaw(self, direction: float) -> None:
        """The yaw for a grasp: that with which the nut arrives at its peg, or if no wrist can, the opposite one."""
        least, most = _LEAST[self.nut], _MOST[self.nut]
        options = [wrap(direction - np.pi) + turn for turn in (0.0, 2.0 * np.pi)]
        able = [yaw for yaw in options if least <= yaw <= most]
        self.turning = not able
        if self.turning:
            able = [closest_turn(direction, 2.0 * np.pi)]
        self.yaw = min(able, key=lambda yaw: abs(yaw - self.now))

    def _approach(self, sim: Simulation, nut: FloatArray, direction: float, handle: FloatArray) -> FloatArray:
        here = sim.eef_position()
        if _threaded(nut, self.nut):  # both are done: only the hand must get away
            return self._move(sim, here + np.array([-0.03, 0.0, 0.05]), OPEN)
        if self.count < 40 or abs(wrap(self.yaw - direction)) % np.pi > 0.3:  # a joint at its limit may never get there
            self._choose_yaw(direction)
        high = handle[2] + 0.08
        target = np.array([*handle[:2], high])
        off = float(np.hypot(*(target - here)[:2]))
        if off > 0.04 and here[2] < high - 0.03:
            target = np.array([*here[:2], high + 0.02])
        if off < 0.008 and abs(self.yaw - self.now) < 0.08 and sim.finger_positions()[0] > 0.03:
            self._go("descend")
        return self._move(sim, target, OPEN)

    def _descend(self, sim: Simulation, nut: FloatArray, direction: float, handle: FloatArray) -> FloatArray:
        here = sim.eef_position()
        target = np.array([*handle[:2], max(handle[2] - 0.002, _TABLE + 0.008)])
        if np.hypot(*(target - here)[:2]) > 0.03:
            self._go("approach")
        elif here[2] - target[2] < 0.005 or self.count > 25:
            self._go("close")
        if np.hypot(*(target - here)[:2]) > 0.006:  # straight above first
            target[2] = max(target[2], here[2] - 0.012)
        return self._move(sim, target, OPEN, reach=0.06)

    def _close(self, sim: Simulation, nut: FloatArray, direction: float, handle: FloatArray) -> FloatArray:
        if self.count >= 8 and sim.grasped(self.nut):
            self._go("turn" if self.turning else "lift")
        elif self.count > 14:
            self._go("approach")
        target = np.array([*sim.eef_position()[:2], max(handle[2] - 0.002, _TABLE + 0.008)])
        return self._move(sim, target, CLOSE, reach=0.03)

    def _turn(self, sim: Simulation, nut: FloatArray, direction: float, handle: FloatArray) -> FloatArray:
        """Turn the nut just above the table until it can be taken the right way round."""
        if not self._held(sim):
            return self._move(sim, sim.eef_position(), OPEN)
        ideal = wrap(direction - np.pi)
        self.yaw = self.now + max(0.0, _LEAST[self.nut] + 0.5 - ideal)
        if ideal > _LEAST[self.nut] + 0.4 or self.count > 30:
            self._go("lay")
        here = sim.eef_position()
        middle = np.array([-0.11, 0.16 if self.nut == 0 else -0.16, 0.0])
        target = here + np.clip(middle - nut, -0.03, 0.03)
        return self._move(sim, np.array([target[0], target[1], _TABLE + 0.04]), CLOSE, reach=0.05)

    def _lay(self, sim: Simulation, nut: FloatArray, direction: float, handle: FloatArray) -> FloatArray:
        here = sim.eef_position()
        self.yaw = self.now
        if here[2] < _TABLE + 0.014 or self.count > 10:
            self._go("release")
        return self._move(sim, np.array([*here[:2], _TABLE + 0.009]), CLOSE, reach=0.04)

    def _lift(self, sim: Simulation, nut: FloatArray, direction: float, handle: FloatArray) -> FloatArray:
        here = sim.eef_position()
        if not self._held(sim):
            return self._move(sim, here, OPEN)
        if nut[2] > _TABLE + 0.07:
            self._go("carry")
        return self._move(sim, np.array([*here[:2], here[2] + _OVER - nut[2]]), CLOSE)

    def _carry(self, sim: Simulation, nut: FloatArray, direction: float, handle: FloatArray) -> FloatArray:
        here = sim.eef_position()
        if not self._held(sim):
            return self._move(sim, here, OPEN)
        self.yaw = closest_turn(np.pi - direction + self.now, 2.0 * np.pi)
        missing = abs(self.yaw - self.now)
        gap = _PEGS[self.nut] - nut[:2]
        height = here[2] + _OVER - nut[2]
        if missing > 0.5 or (nut[2] < _OVER - 0.02 and nut[0] > 0.12):  # turn and rise first, away from the pegs
            return self._move(sim, np.array([0.0, 0.7 * _PEGS[self.nut][1], height]), CLOSE)
        if np.hypot(*gap) < 0.004 and missing < 0.06 and np.abs(sim.data.qvel[:7]).max() < 0.3:
            self._go("lower")
        return self._move(sim, np.array([*(here[:2] + gap), height]), CLOSE)

    def _lower(self, sim: Simulation, nut: FloatArray, direction: float, handle: FloatArray) -> FloatArray:
        here = sim.eef_position()
        gap = _PEGS[self.nut] - nut[:2]
        if not self._held(sim):
            return self._move(sim, here, OPEN)
        if np.hypot(*gap) > 0.02 and nut[2] > 0.955:
            self._go("carry")
        if nut[2] < 0.90:
            self._go("release")
        elif self.count > 40:  # it sits on the peg: once more from above
            self._go("lift")
        down = max(here[2] + 0.88 - nut[2], here[2] - 0.03)
        return self._move(sim, np.array([*(here[:2] + gap), down]), CLOSE, reach=0.04)

    def _held(self, sim: Simulation) -> bool:
        """Whether the nut is still in the hand; gives up after a few steps without it."""
        self.lost = 0 if sim.grasped(self.nut) else self.lost + 1
        if self.lost > 3:
            self._go("approach")
            self.lost = 0
            return False
        return True

    def _release(self, sim: Simulation, nut: FloatArray, direction: float, handle: FloatArray) -> FloatArray:
        if sim.finger_positions()[0] > 0.024 or self.count > 10:
            self._go("retreat")
        return self._move(sim, sim.eef_position(), OPEN, reach=0.02)

    def _retreat(self, sim: Simulation, nut: FloatArray, direction: float, handle: FloatArray) -> FloatArray:
        if self.count >= 6:
            self._go("approach")
        return self._move(sim, sim.eef_position() + np.array([0.0, 0.0, 0.08]), OPEN, reach=0.06)


def _threaded(nut: FloatArray, index: int) -> bool:
    """Whether a nut is around its peg and was let down it."""
    return bool(np.abs(nut[:2] - _PEGS[index]).max() < 0.03 and nut[2] < 0.90)
