"""Small batched environments with known answers, for the tests of the continuous learners."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from burnside._random import Stream, uniform
from burnside.envs.batched import BatchStep, Box


@dataclass(frozen=True)
class PointMass:
    """Move a point to the origin within ``horizon`` steps: x ← x + 0.2·clip(a); success within 0.15 of it."""

    horizon: int = 20
    obs_dim: int = 2
    action: Box = Box(2)  # noqa: RUF009

    @property
    def name(self) -> str:
        return f"point-mass-{self.horizon}"

    def reset_batch(self, seeds: np.ndarray, episodes: np.ndarray) -> dict[str, np.ndarray]:
        u = uniform(seeds[:, None], Stream.ENV, 2 * episodes[:, None] + np.arange(2))
        return {"x": (2 * u - 1).astype(np.float32), "t": np.zeros(len(seeds), dtype=np.int64)}

    def observe_batch(self, state: Mapping[str, np.ndarray]) -> np.ndarray:
        return state["x"]

    def step_batch(self, state: Mapping[str, np.ndarray], action: np.ndarray) -> BatchStep:
        x = state["x"] + np.float32(0.2) * np.clip(action, -1, 1)
        t = state["t"] + 1
        far = np.sqrt((x * x).sum(axis=1))
        success = far < 0.15
        return BatchStep({"x": x, "t": t}, -far + 2.0 * success, success, (t >= self.horizon) & ~success, success)


@dataclass(frozen=True)
class Probe:
    """Probe environments after Andy Jones: each can only be learnt if one more part of the learner works.

    ``constant``: one step, reward 1, whatever is seen. ``observed``: one step, reward is the observation ±1.
    ``delayed``: two steps, observation 0 then 1, reward 1 at the end (discounting). ``action``: one step, reward
    −(a − 0.7)². ``matching``: one step, reward −(a − 0.5·o)². ``endless``: reward 1 forever, truncated after 4 steps.
    """

    kind: str
    obs_dim: int = 1
    action: Box = Box(1)  # noqa: RUF009

    @property
    def name(self) -> str:
        return self.kind

    def reset_batch(self, seeds: np.ndarray, episodes: np.ndarray) -> dict[str, np.ndarray]:
        sign = np.where(uniform(seeds, Stream.ENV, episodes) < 0.5, -1.0, 1.0).astype(np.float32)
        return {"sign": sign, "t": np.zeros(len(seeds), dtype=np.int64)}

    def observe_batch(self, state: Mapping[str, np.ndarray]) -> np.ndarray:
        seen = state["sign"] if self.kind in ("observed", "matching") else state["t"] * (self.kind == "delayed")
        return np.asarray(seen, dtype=np.float32)[:, None]

    def step_batch(self, state: Mapping[str, np.ndarray], action: np.ndarray) -> BatchStep:
        t, sign, a = state["t"] + 1, state["sign"], action[:, 0]
        last = t >= {"delayed": 2, "endless": 4}.get(self.kind, 1)
        reward = {
            "constant": np.ones(len(t)),
            "observed": sign.astype(np.float64),
            "delayed": last.astype(np.float64),
            "action": -((a - 0.7) ** 2),
            "matching": -((a - 0.5 * sign) ** 2),
            "endless": np.ones(len(t)),
        }[self.kind]
        no = np.zeros(len(t), dtype=bool)
        over, cut = (no, last) if self.kind == "endless" else (last, no)
        return BatchStep({"sign": sign, "t": t}, reward, over, cut, over)
