"""Running it: a cell is one run of a learner, of one setting and seed, on M or on its quotient."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from burnside._types import AnyArray
from burnside.errors import UnknownName
from burnside.experiments.mistakes.config import PRESETS, Setting
from burnside.learning import UCFH, Run, learn
from burnside.learning.compare import predictions
from burnside.learning.learners import make_learner
from burnside.learning.world import World
from burnside.mdp import Symmetry, TabularMDP, quotient
from burnside.runs import Cell, Context
from burnside.runs.context import Stopped
from burnside.runs.folder import CellFolder

__all__ = ["EXPERIMENT", "SIDES", "Mistakes", "RunArchive", "model_settings", "run_of"]

EXPERIMENT = "mistakes"
#: Where a learner runs, by the stream of its random numbers (``ON_M``, ``ON_QUOTIENT``).
SIDES = ("M", "quotient")
_PLAIN = ("best", "eps", "delta", "label", "guarantee", "capped", "settled", "seed", "stream")


class Mistakes:
    """The job of the sweep, and the table."""

    def plan(self, preset: str) -> Sequence[Cell]:
        """The cells of a preset."""
        if preset not in PRESETS:
            raise UnknownName("preset", preset, PRESETS)
        settings, seeds = PRESETS[preset]
        return [
            Cell(
                EXPERIMENT,
                {"model": setting.model, "side": side, "setting": asdict(setting), **_revision(setting.learner)},
                (seed,),
                label=f"{setting.name} on {side}, seed {seed}",
                cost=_cost(setting, side),
            )
            for setting in settings
            for side in SIDES
            for seed in range(seeds)
        ]

    def run_cell(self, cell: Cell, context: Context) -> Mapping[str, Any]:
        """One run: short enough to start over if it is stopped."""
        setting, (seed,) = Setting(**cell.config["setting"]), cell.seeds
        worlds, predicted = _prepared(json.dumps(asdict(setting)))
        stream = SIDES.index(cell.config["side"])

        def progress(played: int, expected: int) -> None:
            context.progress(min(played, expected), expected)
            if context.should_stop():
                raise Stopped

        run = learn(
            worlds[stream],
            make_learner(setting.learner, setting.scale, **setting.options),
            setting.eps,
            setting.delta,
            seed=seed,
            stream=stream,
            max_episodes=setting.max_episodes,
            progress=progress,
        )
        context.save("gaps", _gaps(run))
        return {"rows": [{"name": setting.name, "settings": json.dumps(asdict(setting)), **_row(run), **predicted}]}

    def table(self, folder: Path, allow_missing: bool) -> list[dict[str, Any]]:
        """One row per setting; see ``analysis.table``."""
        from burnside.experiments.mistakes.analysis import table

        return table(folder, allow_missing)


@lru_cache(maxsize=1)  # the cells of a setting follow each other
def _prepared(setting: str) -> tuple[tuple[World, World], dict[str, Any]]:
    """M and its quotient, and what theory predicts."""
    found = Setting(**json.loads(setting))
    model = found.build()
    group = model.symmetry(found.symmetry)
    reduced = quotient(model, group)
    return (World.direct(model), World.direct(reduced.mdp)), predictions(model, group, reduced)


def _cost(setting: Setting, side: str) -> float:
    """Roughly how long a run takes: on rings mistakes grow with N⁴, on their quotients with N²."""
    size = float(setting.parameters["n"]) if setting.model == "slip-ring" else 12.0
    return (size / 10) ** (4 if side == "M" else 2)


def _revision(learner: str) -> dict[str, Any]:
    return {"revision": UCFH.revision} if learner.startswith(UCFH.name) else {}


def _row(run: Run) -> dict[str, Any]:
    """A run without its gaps, in scalars."""
    plain = run.to_dict()
    counted = {"mistakes": plain["mistakes"], "episodes": plain["episodes"]}
    words = {key: json.dumps(plain[key], ensure_ascii=False) for key in ("config", "notes")}
    return {**counted, **{key: plain[key] for key in _PLAIN}, **words}


def _gaps(run: Run) -> dict[str, AnyArray]:
    return {"gap": run.gaps, "length": run.lengths}


def run_of(row: Mapping[str, Any], gaps: Mapping[str, AnyArray]) -> Run:
    """The run that a cell kept."""
    words = {key: json.loads(row[key]) for key in ("config", "notes")}
    arrays = {"gaps": gaps["gap"], "lengths": gaps["length"]}
    return Run.from_dict({**{key: row[key] for key in _PLAIN}, **words, **arrays})


class RunArchive:
    """Finished runs of ``burnside measure`` in a folder: each is a cell, identified by settings, seed and stream."""

    def __init__(self, folder: str | Path, settings: Mapping[str, Any]) -> None:
        self.folder = Path(folder)
        self.settings = {**settings, **_revision(str(settings.get("learner", "")))}

    def _cell(self, seed: int, stream: int) -> CellFolder:
        return CellFolder(self.folder, Cell("measure", {**self.settings, "side": SIDES[stream]}, (seed,)))

    def load(self, seed: int, stream: int) -> Run | None:
        """The finished run; None if there is none, or if what is there cannot be used."""
        cell = self._cell(seed, stream)
        if not cell.finished():
            return None
        try:
            (row,) = (cell.result() or {})["rows"]
            return run_of(row, cell.table("gaps"))
        except (KeyError, TypeError, ValueError, OverflowError):  # kept by another version, or changed by hand
            return None

    def save(self, run: Run) -> None:
        """Keep a finished run; one that could not be used is set aside."""
        cell = self._cell(run.seed, run.stream)
        cell.make()
        for note in cell.prepare():
            warnings.warn(note, stacklevel=2)
        cell.save_table("gaps", _gaps(run))
        cell.finish({"rows": [_row(run)]}, {})


def model_settings(
    model: TabularMDP, symmetry: Symmetry, settings: Mapping[str, Any], max_episodes: int | None
) -> dict[str, Any]:
    """What a run on any model depends on; the model and the symmetry are recognised by a hash of their arrays."""
    found = hashlib.sha256()
    for array in (
        model.P.data, model.P.indices, model.P.indptr, model.R, model.p0, model.pair_state, model.pair_action,
    ):  # fmt: skip
        found.update(np.ascontiguousarray(array).tobytes())
    for array in (symmetry.on_states, symmetry.on_pairs):
        found.update(array.astype(np.int64).tobytes())
    about = {"model": model.name, "arrays": found.hexdigest()[:20], "horizon": model.H, "max_episodes": max_episodes}
    return {**about, **settings}
