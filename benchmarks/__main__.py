"""Run the benchmarks, print their rows and write them to ``benchmarks/results/NAME.json``."""

import importlib
import json
import os
import platform
import sys
from pathlib import Path

FOLDER = Path(__file__).parent


def machine() -> dict[str, object]:
    """What the rows were measured on."""
    cpu = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        cpu = next(
            (line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if "model name" in line), cpu
        )
    return {"cpu": cpu, "cores": os.cpu_count(), "python": platform.python_version(), "load": os.getloadavg()[0]}


def main(names: list[str]) -> int:
    known = sorted(path.stem.removeprefix("bench_") for path in FOLDER.glob("bench_*.py"))
    for name in names or known:
        if name not in known:
            print(f"unknown benchmark {name!r} (known: {', '.join(known)})", file=sys.stderr)
            return 2
        print(f"== {name}", flush=True)
        rows = importlib.import_module(f"benchmarks.bench_{name}").run()
        target = FOLDER / "results" / f"{name}.json"
        target.parent.mkdir(exist_ok=True)
        target.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")
    return 0


raise SystemExit(main(sys.argv[1:]))
