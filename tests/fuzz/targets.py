"""What is fuzzed: a kind of file, how one is made and mutated, and the command or function that reads it.

Run as a program, ``python -m tests.fuzz.targets TARGET FIRST COUNT FOLDER``, in a process of its own: no file may cause
a traceback, take more than a gigabyte, or more than ten seconds of the processor. It prints one line of JSON; what
failed is kept in the folder.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import shutil
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.mutations import mutate_bytes, mutate_json, mutate_lines, mutate_npz, mutate_safetensors

GIGABYTE = 10**9
SECONDS = 10


@dataclass
class Target:
    """A kind of file.

    Attributes:
        make: writes good files into a folder.
        files: their names, each with the mutation for it; one of them is mutated at a time.
        read: reads what is in a folder; gives an exit code, 0 if it was read, and raises nothing.
        fresh: whether reading changes the folder, so that it must be made anew for every case.
    """

    make: Callable[[Path], None]
    files: Callable[[Path], list[tuple[Path, Callable[[Random, bytes], bytes]]]]
    read: Callable[[Path], int]
    fresh: bool = False


class Slow(BaseException):
    """A file took too long; no ``Exception``, so that nothing swallows it."""


# ---------------------------------------------------------------------- models


def command(command: Any) -> int:
    """Run a command as the command line does; its output must be what it should."""
    from burnside.cli import run

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(command)
    lines = err.getvalue().splitlines()
    assert code in (0, 1, 2, 3), code
    assert all(line.startswith(("error: ", "refused: ", "note: ")) for line in lines), lines
    assert sum(not line.startswith("note: ") for line in lines) <= 1 and (code != 2 or lines), lines
    assert not set(err.getvalue() + out.getvalue()) & {"\x1b", "\x07", "\x9b"}
    if code == 0:
        json.loads(out.getvalue())
    return code


def refused(kind: type[Exception], call: Callable[[], object]) -> int:
    """2 if a call raises an error of ours, which must be one sentence; 0 if it raises nothing."""
    said = ""
    try:
        call()
    except kind as error:
        said = str(error) or "?"
    assert "\n" not in said, said
    return 2 if said else 0


def make_models(folder: Path, suffix: str) -> None:
    from burnside.mdp import zoo

    zoo.fig2().save(folder / f"fig2.{suffix}")
    coin = zoo.make("bandit")
    coin.save(folder / f"bandit.{suffix}")
    small = zoo.make("river")
    small.save(folder / f"river.{suffix}")


def read_models(folder: Path) -> int:
    """Every command that takes a model, on those in the folder."""
    from burnside.cli.audit import Audit, Minimise

    path = next(iter(folder.glob("m.*")))
    code = command(Minimise(str(path), json=True))
    if code == 0:
        code = command(Audit(str(path), json=True))
    return code


def models(suffix: str, mutation: Callable[[Random, bytes], bytes]) -> Target:
    """Models: one of those made is mutated and written as ``m``."""

    def files(folder: Path) -> list[tuple[Path, Callable[[Random, bytes], bytes]]]:
        return [(path, mutation) for path in sorted(folder.glob(f"*.{suffix}")) if path.stem != "m"]

    return Target(lambda folder: make_models(folder, suffix), files, read_models)


# ---------------------------------------------------------------------- results


def make_sweep(folder: Path) -> None:
    """A finished sweep of a real experiment, of which the cells are made up: training is not what is tested."""
    import numpy as np

    from burnside.experiments.ring1d.config import RULES
    from burnside.experiments.ring1d.run import Ring1D
    from burnside.runs.folder import CellFolder
    from burnside.runs.manifest import record, write_plan

    cells = list(Ring1D().plan("smoke"))
    for cell in cells:
        place = CellFolder(folder / "runs", cell)
        place.prepare()
        rows = []
        for seed in cell.seeds:
            row: dict[str, Any] = {"seed": seed, "final_return": 9.5}
            for rule in RULES:
                row |= {rule: 100 + seed, f"{rule}_steps": 2000 + seed, f"{rule}_solved": True}
            rows.append(row)
        seeds = np.repeat(np.array(cell.seeds, dtype=np.int32), 100)
        same = np.full(seeds.size, 10, dtype=np.int16)
        place.save_table("episodes", {"seed": seeds, "returns": same, "lengths": same})
        place.finish({"rows": rows}, {"seconds": 1.0, "device": "cpu", "notes": []})
    write_plan(folder / "runs", "smoke", cells)
    record(folder / "runs", {"preset": "smoke"})


def make_compact(folder: Path) -> None:
    from burnside.runs.results import compact

    make_sweep(folder)
    for format in ("parquet", "csv"):
        compact(folder / "runs", folder / format, format=format)  # type: ignore[arg-type]
        shutil.copytree(folder / format, folder / f"{format}-old")
        manifest = json.loads((folder / f"{format}-old" / "manifest.json").read_text())
        del manifest["sha256"]  # as before there were checksums: then the readers of the formats meet the damage
        (folder / f"{format}-old" / "manifest.json").write_text(json.dumps(manifest))


def sweep_files(folder: Path) -> list[tuple[Path, Callable[[Random, bytes], bytes]]]:
    names = [*folder.glob("runs/*.json"), *folder.glob("runs/cells/*/*.json")]
    # the checksum would refuse nearly everything: take it out of half of the results
    for k, path in enumerate(sorted(folder.glob("runs/cells/*/result.json"))):
        content = json.loads(path.read_text())
        if k % 2 and content.pop("sha256", None):
            path.write_text(json.dumps(content))
    tables = folder.glob("runs/cells/*/*.npz")
    return [(path, mutate_json) for path in sorted(names)] + [(path, mutate_npz) for path in sorted(tables)]


def compact_files(folder: Path) -> list[tuple[Path, Callable[[Random, bytes], bytes]]]:
    kinds = {".json": mutate_json, ".parquet": mutate_bytes, ".csv": mutate_lines, ".npz": mutate_npz}
    found = [path for place in ("parquet-old", "csv-old", "csv") for path in sorted((folder / place).iterdir())]
    return [(path, kinds[path.suffix]) for path in found]


def read_sweep(folder: Path) -> int:
    """The table of the sweep, and its compact form, which must be there whole or not at all."""
    from burnside.cli.sweep import Table

    out = folder / "out"
    code = command(Table("ring1d", runs=folder / "runs", json=True, compact=out, allow_missing=True))
    assert (out / "manifest.json").exists() == (code == 0)
    assert code == 0 or not out.exists()
    shutil.rmtree(out, ignore_errors=True)
    return code


def read_compact(folder: Path) -> int:
    from burnside.cli.sweep import Table
    from burnside.errors import BurnsideError
    from burnside.runs import read_results

    changed = Path((folder / "changed").read_text()).parent
    code = command(Table("ring1d", runs=changed, json=True, allow_missing=True))
    with contextlib.suppress(BurnsideError):
        read_results(changed, allow_missing=True).table("episodes")
    return code


# ---------------------------------------------------------------------- checkpoints


def make_cell(folder: Path) -> None:
    """A cell that was stopped half-way."""
    from tests.runs.toy import ToyJob

    from burnside.runs.work import Task, run_one

    cell = ToyJob(60).plan("smoke")[0]
    calls = 0

    def stop() -> bool:
        nonlocal calls
        calls += 1
        return calls > 3

    assert run_one(Task(ToyJob(60), folder / "runs"), cell, stop).status == "stopped"


def cell_files(folder: Path) -> list[tuple[Path, Callable[[Random, bytes], bytes]]]:
    (cell,) = (folder / "runs" / "cells").iterdir()
    json_files = [(cell / name, mutate_json) for name in ("config.json", "progress.json")]
    checkpoints = [(path, mutate_npz) for path in sorted(cell.glob("checkpoint-*.npz"))]
    return [*json_files, (cell / "log.jsonl", mutate_lines), *checkpoints * 6]


def read_cell(folder: Path) -> int:
    """The cell is run to its end, whatever became of its files."""
    from tests.runs.toy import ToyJob

    from burnside.runs.folder import CellFolder
    from burnside.runs.work import Task, run_one

    cell = ToyJob(60).plan("smoke")[0]
    outcome = run_one(Task(ToyJob(60), folder / "runs"), cell)
    assert not any("\n" in note for note in outcome.notes), outcome.notes
    if outcome.status == "failed":  # numbers that fit but are others: the job's own arithmetic may fail on them
        assert "\n" not in outcome.message and outcome.message, outcome
        return 1
    assert outcome.status == "done", outcome
    place = CellFolder(folder / "runs", cell)
    assert place.finished() and place.result() and not list(place.path.glob(".*.part"))
    return 0


def make_learner(folder: Path) -> None:
    from tests.fuzz.learner import learner

    from burnside.agents.common.checkpoint import save

    save(learner(), folder / "learner.npz")


def read_learner(folder: Path) -> int:
    from tests.fuzz.learner import learner

    from burnside.agents.common.checkpoint import load
    from burnside.errors import UnreadableFile

    return refused(UnreadableFile, lambda: load(learner(), folder / "m.npz"))


def make_kept(folder: Path) -> None:
    """A run that ``burnside measure`` keeps."""
    from burnside.experiments.mistakes.run import RunArchive
    from burnside.learning.run import Run

    run = Run((2.0, 0.5, 0.0), (10, 5, 100), best=4.0, eps=0.4, delta=0.1, seed=3, stream=1)  # type: ignore[arg-type]
    RunArchive(folder / "kept", {"a": 1}).save(run)
    path = next((folder / "kept" / "cells").iterdir()) / "result.json"
    content = json.loads(path.read_text())
    del content["sha256"]
    path.write_text(json.dumps(content))


def kept_files(folder: Path) -> list[tuple[Path, Callable[[Random, bytes], bytes]]]:
    (cell,) = (folder / "kept" / "cells").iterdir()
    return [(cell / "result.json", mutate_json), (cell / "table-gaps.npz", mutate_npz)]


def read_kept(folder: Path) -> int:
    from burnside.experiments.mistakes.run import RunArchive

    found = RunArchive(folder / "kept", {"a": 1}).load(3, 1)
    if found is None:
        return 2
    assert found.to_dict(gaps=True) and found.mistakes() is not None
    return 0


# ---------------------------------------------------------------------- networks


def make_networks(folder: Path) -> None:
    from burnside.agents.common.members import Member
    from burnside.agents.cube_values import CubeValue, DaviConfig, make_network
    from burnside.agents.cube_walks import WalkConfig, WalkRun
    from burnside.envs.cube import CubeSpec
    from burnside.nn.flow import FlowConfig, FlowPolicy, save_policy

    config = DaviConfig.preset("smoke", hidden=(48, 24), blocks=1)
    for arm in ("baseline", "equivariant"):
        net = make_network(config, CubeSpec(2), arm, [0])
        CubeValue(CubeSpec(2), arm, config, net, 3).save(folder / f"{arm}.safetensors")
    WalkRun(WalkConfig.preset("smoke"), CubeSpec(3), Member(0, "equivariant")).network().save(
        folder / "walks.safetensors"
    )
    for trunk in ("mlp", "ditx"):
        policy = FlowPolicy(FlowConfig(layers=2, width=32, value_width=32, trunk=trunk))
        save_policy(policy, folder / f"{trunk}.safetensors")


def read_networks(folder: Path) -> int:
    from burnside.agents import cube_walks
    from burnside.agents.cube_values import load_network
    from burnside.errors import BurnsideError
    from burnside.nn.flow import load_policy

    path = folder / "m.safetensors"
    readers = (load_network, load_policy, cube_walks.load_policy)
    return min(refused(BurnsideError, lambda read=read: read(path)) for read in readers)


def make_claims(folder: Path) -> None:
    from importlib import resources

    for name in ("claims.toml", "claims.json"):
        text = (resources.files("burnside.report.claims") / name).read_text(encoding="utf-8")
        (folder / name).write_text(text, encoding="utf-8")


def read_claims(folder: Path) -> int:
    from burnside.cli.claims import Claims

    changed = Path((folder / "changed").read_text())
    return command(Claims(json=True, file=changed.with_suffix(".toml")))


def written_as(name: str) -> Callable[[Path], list[tuple[Path, Callable[[Random, bytes], bytes]]]]:
    """All files of a kind, the mutated one being written under another name."""
    mutation = {".npz": mutate_npz, ".safetensors": mutate_safetensors}[Path(name).suffix]

    def files(folder: Path) -> list[tuple[Path, Callable[[Random, bytes], bytes]]]:
        return [(path, mutation) for path in sorted(folder.glob(f"*{Path(name).suffix}")) if path.name != name]

    return files


TARGETS: dict[str, Target] = {
    "models in JSON": models("json", mutate_json),
    "models in npz": models("npz", mutate_npz),
    "sweeps": Target(make_sweep, sweep_files, read_sweep),
    "compact results": Target(make_compact, compact_files, read_compact),
    "cells": Target(make_cell, cell_files, read_cell, fresh=True),
    "kept runs": Target(make_kept, kept_files, read_kept, fresh=True),
    "learners": Target(make_learner, written_as("m.npz"), read_learner),
    "networks": Target(make_networks, written_as("m.safetensors"), read_networks),
    "claims": Target(
        make_claims, lambda f: [(f / "claims.toml", mutate_lines), (f / "claims.json", mutate_json)], read_claims
    ),
}


# ---------------------------------------------------------------------- running them


@dataclass
class Report:
    """What came of the cases."""

    cases: int = 0
    read: int = 0
    worst_seconds: float = 0.0
    peak_bytes: int = 0
    failures: list[str] = field(default_factory=list)


def fuzz(name: str, first: int, count: int, folder: Path) -> Report:
    """Mutate and read ``count`` files, from seed ``first`` on."""
    target, report = TARGETS[name], Report()
    pristine, work = folder / "pristine", folder / "work"
    pristine.mkdir(parents=True)
    target.make(pristine)
    good = [(path.relative_to(pristine), mutation) for path, mutation in target.files(pristine)]
    contents = {path: (pristine / path).read_bytes() for path, _ in good}
    shutil.copytree(pristine, work)
    outside = any((work / f"m{path.suffix}").name not in contents and len(path.parts) == 1 for path, _ in good)
    assert target.read(work) == 0 if not outside and name not in ("compact results", "claims") else True
    _limit_memory()
    signal.signal(signal.SIGVTALRM, _slow)
    for seed in range(first, first + count):
        rng = Random(f"{name} {seed}")
        path, mutation = rng.choice(good)
        changed = mutation(rng, contents[path])
        if target.fresh:
            shutil.rmtree(work)
            shutil.copytree(pristine, work)
        aside = len(path.parts) == 1 and name != "claims"
        where = work / (f"m{path.suffix}" if aside else path)
        where.write_bytes(changed)
        (work / "changed").write_text(str(where))
        began = time.process_time()
        try:
            signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
            report.read += target.read(work) == 0
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            kept = folder / f"failed-{seed}-{where.name}"
            kept.write_bytes(changed)
            report.failures.append(f"seed {seed} ({where.name}, kept as {kept}):\n{traceback.format_exc(limit=-8)}")
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        report.worst_seconds = max(report.worst_seconds, time.process_time() - began)
        report.cases += 1
        if not aside and not target.fresh:
            where.write_bytes(contents[path])
    report.peak_bytes = _peak_memory()
    return report


def _peak_memory() -> int:
    """The most this process had; ``ru_maxrss`` would count what the process that started it had."""
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith("VmHWM:"))


def _limit_memory() -> None:
    """A gigabyte more than now: libraries reserve address space that they never use."""
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + GIGABYTE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _slow(*_: object) -> None:
    raise Slow(f"more than {SECONDS} seconds of the processor")


def main() -> int:
    """Fuzz one target, as the arguments say, and print what came of it."""
    name, first, count, folder = sys.argv[1:]
    warnings.simplefilter("ignore")
    report = fuzz(name, int(first), int(count), Path(folder))
    print(json.dumps(vars(report)))
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
