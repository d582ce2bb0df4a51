"""How long ``burnside reproduce`` takes on this machine, whole and part by part, from a warm install.

The one benchmark of absolute seconds, since the wish is one: ``smoke`` within 2 minutes, ``laptop`` within 20 on 2
cores. ``BURNSIDE_BENCH_LAPTOP=0`` leaves the long one out, ``BURNSIDE_BENCH_KEEP=FOLDER`` keeps its runs and
report there. Work that is finished in that folder is not done again, so it must not hold any.
"""

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time

LINE = re.compile(r"^(\w+): (done|failed) in ([\d.]+) s$", re.MULTILINE)


def reproduce(preset: str, kept: str | None = None) -> dict[str, object]:
    with contextlib.nullcontext(kept) if kept else tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "burnside", "reproduce", "--preset", preset],
            cwd=folder,
            capture_output=True,
            text=True,
        )
        seconds = time.monotonic() - began
    parts = {name: float(taken) for name, _, taken in LINE.findall(done.stdout)}
    failed = [name for name, state, _ in LINE.findall(done.stdout) if state == "failed"]
    return {"preset": preset, "seconds": seconds, "exit_code": done.returncode, "parts": parts, "failed": failed}


def run() -> list[dict[str, object]]:
    reproduce("smoke")  # compiles what is not compiled yet
    rows = []
    for preset in ("smoke",) if os.environ.get("BURNSIDE_BENCH_LAPTOP") == "0" else ("smoke", "laptop"):
        row = reproduce(preset, os.environ.get("BURNSIDE_BENCH_KEEP") if preset == "laptop" else None)
        print(f"{preset}: {row['seconds']:.0f} s, exit code {row['exit_code']}, {row['parts']}", flush=True)
        rows.append(row)
    return rows
