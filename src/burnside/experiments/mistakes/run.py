"""Running it: every (setting, seed, world) is a cell that is kept once it has finished."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from burnside.errors import UnknownName
from burnside.experiments.mistakes.config import PRESETS, Setting
from burnside.learning import UCFH, Comparison, Run, compare
from burnside.mdp import Symmetry, TabularMDP
from burnside.runs.cells import CellStore

__all__ = ["ModelArchive", "SettingArchive", "measure", "run_preset"]

EXPERIMENT = "mistakes"

#: Called with (setting, runs done, runs in all).
Progress = Callable[[str, int, int], None]


class SettingArchive:
    """Finished runs of one setting, found again by seed and stream."""

    def __init__(self, store: CellStore, base: dict[str, Any]) -> None:
        self.store = store
        self.base = {"experiment": EXPERIMENT, **base}
        if str(base.get("learner", "")).startswith(UCFH.name):
            self.base["revision"] = UCFH.revision

    def load(self, seed: int, stream: int) -> Run | None:
        """The finished run, or None."""
        config = self.base | {"seed": seed, "stream": stream}
        found = self.store.load(config)
        if found is None:
            return None
        try:
            return Run.from_dict(found)
        except (KeyError, TypeError, ValueError, OverflowError):  # kept by another version, or changed by hand
            self.store.put_aside(config)
            return None

    def save(self, run: Run) -> None:
        """Keep a finished run."""
        self.store.save(self.base | {"seed": run.seed, "stream": run.stream}, run.to_dict(gaps=True))


class ModelArchive(SettingArchive):
    """Finished runs on any model: it is recognised by a hash of its arrays and of the symmetry's generators."""

    def __init__(
        self,
        store: CellStore,
        model: TabularMDP,
        symmetry: Symmetry,
        settings: dict[str, Any],
        max_episodes: int | None,
    ) -> None:
        digest = hashlib.sha256()
        for array in (
            model.P.data,
            model.P.indices,
            model.P.indptr,
            model.R,
            model.p0,
            model.pair_state,
            model.pair_action,
        ):
            digest.update(np.ascontiguousarray(array).tobytes())
        for array in (symmetry.on_states, symmetry.on_pairs):
            digest.update(array.astype(np.int64).tobytes())
        about = {
            "model": model.name,
            "arrays": digest.hexdigest()[:20],
            "horizon": model.H,
            "max_episodes": max_episodes,
        }
        super().__init__(store, about | settings)


def measure(
    setting: Setting,
    seeds: int | Sequence[int] = 10,
    *,
    store: CellStore | None = None,
    workers: int = 2,
    progress: Callable[[float, int], object] | None = None,
) -> Comparison:
    """Measure one setting on M and on M̄; runs found in the store are not repeated."""
    model = setting.build()
    return compare(
        model,
        setting.symmetry,
        setting.learner,
        setting.eps,
        setting.delta,
        seeds=seeds,
        workers=workers,
        progress=progress,
        scale=setting.scale,
        max_episodes=setting.max_episodes,
        archive=None if store is None else SettingArchive(store, asdict(setting)),
        **setting.options,
    )


def run_preset(
    preset: str, *, store: CellStore | None = None, workers: int = 2, progress: Progress | None = None
) -> list[tuple[Setting, Comparison]]:
    """Measure every setting of a preset."""
    if preset not in PRESETS:
        raise UnknownName("preset", preset, PRESETS)
    settings, seeds = PRESETS[preset]
    results = []
    for setting in settings:

        def report(done: float, total: int, name: str = setting.name) -> None:
            if progress is not None:
                progress(name, int(done), total)

        results.append((setting, measure(setting, seeds, store=store, workers=workers, progress=report)))
    return results
