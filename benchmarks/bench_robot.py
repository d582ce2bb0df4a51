"""The manipulation tasks: control steps against a plain robosuite loop, clouds against default flags, two workers.

Needs the environment that ``make test-robot`` makes; without it there are no rows. Times are processor times of
interleaved rounds, but for the two workers, which only the clock can judge (a busy machine makes that row void).
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.environments import ONE_THREAD

REPO = Path(__file__).parents[1]
SCRIPT = Path(__file__).parent / "peers" / "robot_speed.py"


def run() -> list[dict[str, object]]:
    python = REPO / ".venv-robot" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not python.exists():
        print("skipped: the simulator is not installed (make test-robot installs it)")
        return []
    process = subprocess.Popen(
        [str(python), str(SCRIPT)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **ONE_THREAD},
    )
    rows: list[dict[str, object]] = []
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("ROW "):
            row = json.loads(line[4:])
            row["met"] = row["ratio"] >= row["target"]
            rows.append(row)
            extra = "".join(f", {key} {row[key]:.4g}" for key in ("ours_per_second", "ours_ms") if key in row)
            print(f"{row['what']}: {row['ratio']:.2f} (target {row['target']}){extra}", flush=True)
    if process.wait():
        print(f"the measurement stopped with code {process.returncode}: run {SCRIPT.name} by hand to see why")
    return rows
