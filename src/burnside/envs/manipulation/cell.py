"""The moved cell: robot, table and objects of an episode, moved together by one random motion of the plane.

The motion is applied to what a policy sees and undone on what it does; the physics is that of the cell where it stands.
So the motions are an *exact* symmetry of the task, whatever gravity, table edge and joint limits do to others, and how
far
cells are spread is a setting: a policy in the frame of the base or of the hand cannot notice it, one in the world's
must learn what it means. The paper's scenes are not spread like this: there the robot stands still.
"""

from __future__ import annotations

import numpy as np

from burnside._random import Stream, uniform
from burnside._types import FloatArray, IntArray
from burnside.errors import InvalidParameter
from burnside.groups.rigid import rigid, so3_exp

__all__ = ["STILL", "cell_motions", "check_spread"]

STILL = (0.0, 0.0)
"""The spread of a cell that is not moved."""


def check_spread(spread: tuple[float, float]) -> tuple[float, float]:
    """A spread (metres, degrees), or one sentence about what is wrong with it."""
    metres, degrees = (float(part) for part in spread)
    if not (0.0 <= metres <= 100.0 and 0.0 <= degrees <= 180.0):
        raise InvalidParameter(
            f"a spread is metres from 0 to 100 and degrees from 0 to 180, got {metres} and {degrees}"
        )
    return metres, degrees


def cell_motions(spread: tuple[float, float], seeds: IntArray | int, episodes: IntArray) -> FloatArray:
    """The motions (…, 4, 4) of episodes: a turn about the middle of the table, then a shift along it.

    Both are uniform; they depend on the numbers given and on nothing else.

    Args:
        spread: largest shift in metres along either axis, largest turn in degrees to either side.
        seeds: seed of every episode.
        episodes: its number.

    >>> cell_motions((0.3, 180.0), 7, np.arange(5)).shape
    (5, 4, 4)
    >>> bool(np.array_equal(cell_motions(STILL, 7, np.arange(1))[0], np.eye(4)))
    True
    """
    metres, degrees = check_spread(spread)
    counters = 3 * np.asarray(episodes)[..., None] + np.arange(3)
    draws = 2.0 * uniform(np.asarray(seeds)[..., None], Stream.ENV, counters) - 1.0
    turns, shifts = np.zeros((*draws.shape[:-1], 3)), np.zeros((*draws.shape[:-1], 3))
    turns[..., 2] = np.radians(degrees) * draws[..., 2]
    shifts[..., :2] = metres * draws[..., :2]
    return np.asarray(rigid(so3_exp(turns), shifts))
