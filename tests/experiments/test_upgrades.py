"""A cell of every kind of learner whose checkpoint was written by another version: set aside, noted, begun again."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnside._checkpoints import generations, read_arrays, write_arrays
from burnside.experiments.registry import EXPERIMENTS
from burnside.runs import Cell
from burnside.runs.folder import CellFolder
from burnside.runs.work import Task, run_one


def first_cells() -> dict[str, Cell]:
    """The first cell of the smallest plan for every kind of work; robots need their own environment."""
    found: dict[str, Cell] = {}
    for name, experiment in EXPERIMENTS.items():
        if name != "robot":
            for cell in experiment.plan("smoke"):
                kind = "/".join(str(cell.config[key]) for key in ("kind", "algorithm") if key in cell.config)
                found.setdefault(f"{name} {kind}".strip(), cell)
    return found


CELLS = first_cells()


@pytest.mark.parametrize("what", CELLS)
def test_a_checkpoint_of_another_version(what: str, tmp_path: Path) -> None:
    cell = CELLS[what]
    task = Task(EXPERIMENTS[cell.experiment], tmp_path, device="cpu", seconds=0.0)
    folder = CellFolder(tmp_path, cell)
    outcome = run_one(task, cell, stop=lambda: True)  # stops at its first checkpoint, if it makes any
    if outcome.status == "done" or not generations(folder.path):
        pytest.skip("this kind of cell is too short for checkpoints")
    assert outcome.status == "stopped"
    (path,) = generations(folder.path)
    arrays, meta = read_arrays(path)
    write_arrays(path, {f"old/{name}": array for name, array in arrays.items()}, meta)
    outcome = run_one(task, cell)
    assert outcome.status == "done", outcome
    (note,) = outcome.notes
    assert "was written by another version" in note and note.endswith("the run starts from the beginning")
