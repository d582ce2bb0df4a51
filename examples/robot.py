"""One scene of a MuJoCo robot, in the world's frame and in the hand's: moving the whole cell changes only the first.

Needs the extra `robot` in an environment of its own: see docs/howto/robot.md.
"""

import numpy as np

from burnside.envs.manipulation import ManipulationChunks

STILL, MOVED = (0.0, 0.0), (0.3, 180.0)  # metres and degrees by which the cell is moved in every episode


def seen(frame: str, spread: tuple[float, float]) -> np.ndarray:
    """The first observation of one episode."""
    env = ManipulationChunks("stack-two", frame, 1, spread=spread, features="relations", substeps=10)
    return env.observe_batch(env.reset_batch(np.array([100_000]), np.array([0])))["state"]


for frame in ("world", "gripper"):
    change = np.abs(seen(frame, MOVED) - seen(frame, STILL)).max()
    print(f"{frame}: moving the cell changes an observation by up to {change:.4f}")
