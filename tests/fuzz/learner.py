"""A learner that is nothing but arrays, for checkpoints: a ``Resumable`` of ``burnside.agents.common.checkpoint``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from burnside.agents.common.checkpoint import check_arrays


class Learner:
    """Weights, a count, a log."""

    identity = '{"learner": "fuzzed"}'

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.own: dict[str, Any] = {
            "weights": rng.normal(size=(4, 6)).astype(np.float32),
            "count": np.array(7),
            "flags": rng.random(5) < 0.5,
            "log/rows": rng.normal(size=(3, 4)),
        }

    def arrays(self) -> dict[str, Any]:
        return dict(self.own)

    def restore(self, arrays: Mapping[str, Any]) -> Learner:
        check_arrays(self.own, arrays)
        self.own = {name: np.array(arrays[name]) for name in self.own}
        return self


def learner() -> Learner:
    """A new one."""
    return Learner()
