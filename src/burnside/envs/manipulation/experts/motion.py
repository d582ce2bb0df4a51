"""What the scripted experts share: a hand that points down, its yaw, and steps towards a target that are not too long.

The commands depend on the present state and the target only, not on earlier commands, so that a policy can imitate
them from what it sees.
"""

from __future__ import annotations

import numpy as np

from burnside._types import FloatArray
from burnside.envs.manipulation.simulation import Simulation
from burnside.groups.rigid import matrix_to_rot6d

__all__ = [
    "CLOSE",
    "HOME",
    "OPEN",
    "azimuth",
    "closest_turn",
    "command",
    "hand_rotation",
    "hand_yaw",
    "needed_tilt",
    "wrap",
]

OPEN, CLOSE = -1.0, 1.0

HOME = np.array([-0.10, 0.0, 1.02])
"""Where the grip site starts, up to noise."""

_BASE = -0.56  # x of the robot's base; its y is 0
_DOWN = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])


def wrap(angle: float) -> float:
    """The same angle in [−π, π).

    >>> wrap(2 * np.pi), round(wrap(np.pi + 0.5), 6) == round(0.5 - np.pi, 6)
    (0.0, True)
    """
    return float((angle + np.pi) % (2.0 * np.pi) - np.pi)


def closest_turn(angle: float, period: float, near: float = 0.0) -> float:
    """The angle equal to ``angle`` modulo ``period`` that is closest to ``near``.

    >>> round(closest_turn(3.0, np.pi), 3)
    -0.142
    """
    return float(near + (angle - near + period / 2.0) % period - period / 2.0)


def hand_rotation(yaw: float, tilt: float = 0.0) -> FloatArray:
    """Rotation matrix of a hand that points down; at yaw 0, the start, the fingers close along the world's y.

    A tilt turns the hand about the axis along which the fingers close, so that they point away from the robot.
    """
    c, s = np.cos(yaw), np.sin(yaw)
    d, t = np.cos(tilt), np.sin(tilt)
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    return turn @ np.array([[d, 0.0, -t], [0.0, 1.0, 0.0], [t, 0.0, d]]) @ _DOWN


def hand_yaw(rotation: FloatArray) -> float:
    """Yaw of a hand that points about down, whatever its tilt.

    >>> round(hand_yaw(hand_rotation(0.7, 0.3)), 6)
    0.7
    """
    return float(np.arctan2(-rotation[0, 0], rotation[1, 0]))


def azimuth(position: FloatArray) -> float:
    """Direction from the robot's base to a position: the yaw at which a tilted hand points straight away from it."""
    return float(np.arctan2(position[1], position[0] - _BASE))


def needed_tilt(position: FloatArray, yaw: float) -> float:
    """The tilt with which a position can be reached.

    With the hand vertical the elbow is straight 0.754 m from the base at the height of the table, and a Panda whose
    elbow has met its limit does not come back under operational-space control. Tilted, its wrist stays behind.

    >>> needed_tilt(np.array([0.0, 0.0, 0.82]), 0.0)
    0.0
    """
    distance = float(np.hypot(position[0] - _BASE, position[1]))
    wanted = max(0.0, 5.0 * (distance - 0.72))
    return min(0.45, wanted / max(0.6, float(np.cos(yaw - azimuth(position)))))


def command(
    sim: Simulation,
    target: FloatArray,
    yaw: float,
    gripper: float,
    tilt: float = 0.0,
    reach: float = 0.08,
    turn: float = 0.5,
    now: float | None = None,
) -> FloatArray:
    """The action towards a pose: at most ``reach`` metres and ``turn`` radians away from where the hand is.

    Args:
        sim: the scene.
        target: position for the grip site.
        yaw: yaw for the hand; it turns through the angles between.
        gripper: positive closes, negative opens.
        tilt: tilt for the hand.
        reach: longest step; the controller then moves at about 6 × reach metres per second.
        turn: largest change of yaw asked for at once.
        now: the yaw the hand has, where it may be beyond ±π; default: that of its rotation.
    """
    here = sim.eef_position()
    if now is None:
        now = hand_yaw(sim.eef_rotation())
    step = target - here
    length = float(np.linalg.norm(step))
    if length > reach:
        step = step * (reach / length)
    angle = now + float(np.clip(yaw - now, -turn, turn))
    return np.concatenate([here + step, matrix_to_rot6d(hand_rotation(angle, tilt)), [gripper]])
