"""Environments of the peers: one each under ``.bench``, made at the first run, so that nobody's pins meet ours."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).parents[1] / ".bench"
TORCH = "torch==2.13.0"  # this spelling takes the CPU build where there is one
#: Peers run on one thread; where two cores are used, two processes.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}


def peer(name: str, packages: Sequence[str], module: str) -> tuple[Path | None, str]:
    """The Python of a peer's environment, made if it is not there; or None and the reason.

    Args:
        name: of the folder below ``.bench``.
        packages: what pip is asked for.
        module: what must be importable afterwards.
    """
    python = FOLDER / name / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    check = [str(python), "-c", f"import {module}"]
    if python.exists() and subprocess.run(check, capture_output=True).returncode == 0:
        return python, ""
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / ".gitignore").write_text("*\n")
    print(f"installing {', '.join(packages)} into {FOLDER.name}/{name} (once)", flush=True)
    for command in (
        [sys.executable, "-m", "venv", "--clear", str(FOLDER / name)],
        # A newer pip takes a third of the time for the rest.
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade", "pip"],
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages],
        check,
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return None, (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    return python, ""
