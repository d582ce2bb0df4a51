"""Ten thousand mutated files: no traceback, no gigabyte, nothing over ten seconds. See :mod:`tests.fuzz.targets`.

``make test`` tries every sixth of them, ``make test-all`` all. More of them, with other seeds::

    BURNSIDE_FUZZ_FIRST=1000000 BURNSIDE_FUZZ_TIMES=10 python -m pytest tests/fuzz
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from tests.fuzz.mutations import mutate_bytes, mutate_json, mutate_npz
from tests.fuzz.targets import GIGABYTE, SECONDS, TARGETS

REPO = Path(__file__).resolve().parents[2]
#: How many files of each kind: ten thousand models, results and checkpoints, and some others.
CASES = {
    "models in JSON": 3400,
    "models in npz": 2900,
    "sweeps": 500,
    "compact results": 800,
    "cells": 400,
    "kept runs": 800,
    "learners": 900,
    "networks": 300,
    "claims": 100,
}
FIRST, TIMES = (int(os.environ.get(f"BURNSIDE_FUZZ_{name}", default)) for name, default in (("FIRST", 0), ("TIMES", 1)))


def test_there_are_ten_thousand() -> None:
    assert CASES.keys() == TARGETS.keys() and sum(CASES.values()) >= 10_000


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of memory are set as Linux has them")
@pytest.mark.parametrize("share", [6, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("target", CASES)
def test_no_file_does_harm(target: str, share: int, tmp_path: Path) -> None:
    count = CASES[target] * TIMES // share
    command = [sys.executable, "-m", "tests.fuzz.targets", target, str(FIRST), str(count), str(tmp_path / "fuzz")]
    paths = {"PYTHONPATH": f"{REPO}{os.pathsep}{REPO / 'src'}", "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | paths, cwd=tmp_path)
    assert done.stdout and not done.stderr, done.stderr[-5000:]  # also what libraries in C or Rust print by themselves
    report = json.loads(done.stdout.splitlines()[-1])
    assert not report["failures"], "\n".join(report["failures"][:3])
    assert report["cases"] == count
    assert 0 < report["read"] < count, "some mutations must be harmless, and most must not"
    assert report["peak_bytes"] < GIGABYTE and report["worst_seconds"] < SECONDS


def test_mutations_are_the_same_every_time_and_change_something() -> None:
    content = json.dumps({"a": [1, 2.5, "x"], "b": {"c": None}}).encode()
    for mutate in (mutate_bytes, mutate_json):
        first, second = ([mutate(Random(seed), content) for seed in range(200)] for _ in range(2))
        assert first == second and len(set(first)) > 100
    assert mutate_npz  # of archives: they are packed anew, with the same bytes for the same seed
