"""The planar tasks in chunks: one frame, fixed at the latest observation, for a history and a whole chunk."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np

from burnside._types import AnyArray, IntArray
from burnside.envs.batched import ChunkStep, State
from burnside.envs.planar.core import FRAMES, PlanarSpec, PlanarState, reset, step
from burnside.envs.planar.expert import Demonstrations
from burnside.errors import InvalidParameter, UnknownName
from burnside.groups.rigid import FrameForm

__all__ = ["PlanarChunks", "demonstration_chunks"]


@dataclass(frozen=True)
class PlanarChunks:
    """A planar task for chunk policies; a :class:`~burnside.envs.batched.ChunkEnv`.

    >>> env = PlanarChunks(PlanarSpec("push", spread=(1.0, 3.0)), "robot", n_obs=2)
    >>> state = env.reset_batch(np.array([0]), np.array([4]))
    >>> env.observe_batch(state)["state"].shape
    (1, 2, 8)

    Attributes:
        spec: The rules.
        frame: ``world``, ``relative`` or ``robot``.
        n_obs: Observation steps in a history; at the start the first one is repeated.
        discount: Of rewards inside a chunk, per environment step.
    """

    spec: PlanarSpec
    frame: str = "world"
    n_obs: int = 1
    discount: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what does not exist."""
        if self.frame not in FRAMES:
            raise UnknownName("frame", self.frame, FRAMES)
        if self.n_obs < 1 or not 0 < self.discount <= 1:
            raise InvalidParameter(f"n_obs {self.n_obs} must be at least 1 and discount {self.discount} in (0, 1]")

    @property
    def name(self) -> str:
        """All parameters."""
        own = {"frame": self.frame, "n_obs": self.n_obs, "discount": self.discount}
        return json.dumps({"planar": asdict(self.spec), **own})

    @property
    def episode_steps(self) -> int:
        """The horizon of the task."""
        return self.spec.horizon

    @cached_property
    def form(self) -> FrameForm:
        """The canonical form of the frame."""
        return FrameForm(self.spec.layout, self.spec.action_layout, self.frame)

    def reset_batch(self, seeds: IntArray, episodes: IntArray) -> State:
        """The first scenes, with a history of themselves."""
        state = reset(self.spec, seeds, episodes)
        return {"history": np.repeat(state.x[:, None], self.n_obs, axis=1), "t": state.t}

    def observe_batch(self, state: State) -> dict[str, AnyArray]:
        """The history in the frame of its latest entry."""
        return {"state": np.asarray(self.form.history(state["history"])[0], dtype=np.float32)}

    def step_chunk(self, state: State, actions: AnyArray) -> ChunkStep:
        """Execute a chunk; its frame stays where the robot was when it was chosen."""
        history, t = np.array(state["history"]), np.array(state["t"])
        n, count = len(t), actions.shape[1]
        _, g = self.form.history(history)
        world = np.asarray(self.form.undo(np.asarray(actions, dtype=np.float64), g), dtype=self.spec.dtype)
        running = np.ones(n, dtype=np.bool_)
        reward, steps = np.zeros(n), np.zeros(n, dtype=np.int64)
        terminated, truncated, success = (np.zeros(n, dtype=np.bool_) for _ in range(3))
        for j in range(count):
            now = PlanarState(np.ascontiguousarray(history[:, -1]), t)
            after, gain, over, cut, won = step(self.spec, now, world[:, j])
            reward += np.where(running, self.discount**j * gain, 0.0)
            terminated |= running & over
            truncated |= running & cut
            success |= running & won
            steps += running
            moved = np.concatenate([history[:, 1:], after.x[:, None]], axis=1)
            history, t = np.where(running[:, None, None], moved, history), np.where(running, after.t, t)
            running &= ~(over | cut)
            if not running.any():
                break
        return ChunkStep({"history": history, "t": t}, reward, terminated, truncated, success, steps)


def demonstration_chunks(
    env: PlanarChunks, demos: Demonstrations, horizon: int
) -> tuple[dict[str, AnyArray], AnyArray]:
    """Observations and chunks of ``horizon`` actions of all steps, each in the frame of its latest observation.

    A chunk begins with the action taken at the first observation of the history. Before the start and after the end the
    first and the last action are repeated, as in diffusion policies.
    """
    histories, chunks = [], []
    past, ahead = np.arange(env.n_obs) - (env.n_obs - 1), np.arange(horizon) - (env.n_obs - 1)
    for k in range(len(demos)):
        size = int(demos.length[k])
        at = np.arange(size)[:, None]
        histories.append(demos.x[k][np.clip(at + past, 0, size)])
        chunks.append(demos.action[k][np.clip(at + ahead, 0, size - 1)])
    seen, g = env.form.history(np.concatenate(histories))
    moved = env.form.into(np.concatenate(chunks).astype(np.float64), g)
    return {"state": np.asarray(seen, dtype=np.float32)}, np.asarray(moved, dtype=np.float32)
