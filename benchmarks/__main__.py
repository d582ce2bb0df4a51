"""Run the benchmarks, keep their rows in ``benchmarks/results/NAME.json``, and write ``benchmarks/RESULTS.md``.

A benchmark that fails is named, and the others still run. One that measures nothing (its simulator is not installed)
leaves the rows of the last time alone.
"""

import importlib
import json
import os
import sys
import time
import traceback
from pathlib import Path

from benchmarks import plots, summary
from burnside._files import write_text
from burnside.runs.manifest import describe

FOLDER = Path(__file__).parent
USAGE = "usage: python -m benchmarks [--table] [NAME …]"


def known() -> list[str]:
    return sorted(path.stem.removeprefix("bench_") for path in FOLDER.glob("bench_*.py"))


def busy() -> float | None:
    """Processor seconds that all processes of this machine have used, where the system counts them."""
    try:
        words = Path("/proc/stat").read_text().splitlines()[0].split()
    except OSError:
        return None
    user, nice, system, _, _, irq, softirq = (int(word) for word in words[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def own() -> float:
    """Processor seconds of this process and of the children it has waited for."""
    return sum(os.times()[:4])


def measure(name: str) -> dict[str, object]:
    """One benchmark, with the machine and how many cores other processes used meanwhile (what disturbs the clock)."""
    machine = describe()
    before, mine, began = busy(), own(), time.monotonic()
    rows = importlib.import_module(f"benchmarks.bench_{name}").run()
    after, wall = busy(), time.monotonic() - began
    if before is not None and after is not None:
        machine["others"] = round(max(0.0, (after - before) - (own() - mine)) / wall, 2)
    machine["wall_seconds"] = round(wall)
    return {"machine": machine, "rows": rows}


def tabulate() -> None:
    """Draw the plots, write RESULTS.md and print it, all from what is kept."""
    results = summary.load(FOLDER / "results")
    figures = plots.draw(results)
    for figure in figures:
        write_text(FOLDER.parent / "docs" / "images" / f"{figure.name}.svg", figure.svg)
    text = summary.markdown(results, [(figure.name, figure.caption) for figure in figures])
    write_text(FOLDER / "RESULTS.md", text)
    print(text)


def main(arguments: list[str]) -> int:
    names = [word for word in arguments if word != "--table"]
    for name in names:
        if name not in known():
            print(f"unknown benchmark {name!r} (known: {', '.join(known())}); {USAGE}", file=sys.stderr)
            return 2
    failed = []
    for name in names or ([] if "--table" in arguments else known()):
        print(f"== {name}", flush=True)
        try:
            found = measure(name)
        except Exception:
            traceback.print_exc()
            failed.append(name)
            continue
        if found["rows"]:
            write_text(FOLDER / "results" / f"{name}.json", json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    tabulate()
    if failed:
        print(f"failed: {', '.join(failed)}; their rows in the table are those of the last time", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
