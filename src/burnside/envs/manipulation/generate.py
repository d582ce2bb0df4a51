"""Making demonstrations: experts play scenes, successes are kept; nothing that was finished is ever lost.

Every attempt is written to a small file of its own beside the target (``FILE.parts/``) before the next begins, whole or
not at all. The same command therefore resumes where it stopped; at the end the first ``count`` successes in the
order of their seeds become one file, whatever the number of workers.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from burnside._archives import open_archive, write_archive
from burnside._files import read_json, write_text
from burnside._types import FloatArray
from burnside.envs.manipulation.demos import Demonstration, write_demonstrations
from burnside.envs.manipulation.experts import make_expert
from burnside.envs.manipulation.scenes import Scene, build_scene
from burnside.envs.manipulation.simulation import Simulation
from burnside.envs.manipulation.tasks import EVALUATION_SEED, SUBSTEPS, Task
from burnside.envs.manipulation.workers import Worker, WorkerDied, ready
from burnside.errors import DamagedFile, InvalidParameter

__all__ = ["Generated", "Mishaps", "attempt", "generate"]


@dataclass(frozen=True)
class Generated:
    """What came out.

    Attributes:
        path: the file.
        kept: demonstrations in it.
        attempts: episodes tried for them.
        steps: control steps of the kept ones.
        crashes: workers that died on the way.
    """

    path: Path
    kept: int
    attempts: int
    steps: int
    crashes: int


class Mishaps:
    """What goes wrong in an episode, at times drawn before it: the hand is pushed aside, or closes too early.

    A push displaces what is executed by 3 to 6 cm, sideways or up, for a few steps; a premature closing closes the
    fingers for a few steps while the expert holds them open. What is recorded is the expert's own command in the states
    that follow, so that demonstrations show how to recover from the failures of a pupil.

    Args:
        rng: of this episode.
        share: probability per step that one begins.
    """

    def __init__(self, rng: np.random.Generator, share: float) -> None:
        self.rng, self.share = rng, share
        self.left, self.push, self.closes = 0, np.zeros(3), False

    def change(self, action: FloatArray) -> FloatArray:
        """What is executed instead of the expert's command."""
        if self.left == 0:
            begins, kind, angle, size, lasts = self.rng.random(5)  # always as many: times do not depend on the expert
            if begins >= self.share:
                return action
            self.left, self.closes = 3 + int(4 * lasts), bool(kind < 0.3)
            turn, length = 2.0 * np.pi * angle, 0.03 + 0.03 * size
            self.push = length * np.array([np.cos(turn), np.sin(turn), 0.5])
        self.left -= 1
        executed = action.copy()
        if self.closes:
            executed[9] = 1.0
        else:
            executed[:3] += self.push
        return executed


def attempt(
    sim: Simulation,
    seed: int,
    noise: float = 0.0,
    watch: Callable[[Simulation], object] | None = None,
    mishaps: float = 0.0,
) -> Demonstration | None:
    """One episode of the expert in the scene of a seed, or None if it did not succeed in time.

    Args:
        sim: where to play.
        seed: the scene.
        noise: standard deviation in metres of noise on the executed position. What is recorded as the action is the
            expert's own command, so the file shows how to get back from where the noise has led.
        watch: called before every action, to draw what the demonstration does not keep.
        mishaps: probability per step that something goes wrong, see :class:`Mishaps`.
    """
    sim.reset(seed)
    expert, rng = make_expert(sim.task), np.random.Generator(np.random.Philox(key=[seed, 2**32]))
    wrong = Mishaps(np.random.Generator(np.random.Philox(key=[seed, 2**33])), mishaps)
    rows: list[tuple[Any, ...]] = []
    for _ in range(sim.task.limit):
        if watch is not None:
            watch(sim)
        action = expert.act(sim)
        executed = wrong.change(action).copy() if mishaps > 0 else action.copy()
        if noise > 0:
            executed[:3] += noise * rng.standard_normal(3)
        rows.append(
            (
                action,
                executed,
                sim.eef_position(),
                sim.eef_rotation(),
                sim.finger_positions(),
                sim.object_positions(),
                sim.object_rotations(),
            )
        )
        sim.step(executed)
        if sim.success():
            columns = [np.array(column) for column in zip(*rows, strict=True)]
            names = ("actions", "executed", "eef", "eef_rotation", "fingers", "objects", "object_rotations")
            found: dict[str, Any] = dict(zip(names, columns, strict=True))
            found["executed"] = found["executed"] if noise > 0 or mishaps > 0 else None
            return Demonstration(**found, seed=seed)
    return None


def _serve(connection: Any, scene: Scene, noise: float, mishaps: float) -> None:
    """A worker: seeds in, demonstrations or None out."""
    sim = Simulation(scene.task, scene)
    while (seed := connection.recv()) is not None:
        connection.send((seed, attempt(sim, seed, noise, mishaps=mishaps)))


_FIELDS = ("actions", "eef", "eef_rotation", "fingers", "objects", "object_rotations", "executed")


def _keep(folder: Path, seed: int, demo: Demonstration | None) -> None:
    if demo is None:
        write_text(folder / f"{seed}.rejected", "")
        return
    arrays = {name: value for name in _FIELDS if (value := getattr(demo, name)) is not None}
    write_archive(folder / f"{seed}.npz", arrays, compress=True)


def _load(path: Path) -> Demonstration:
    try:
        with open_archive(path) as archive:
            headers = archive.headers(name for name in _FIELDS if name in archive)
            lengths = {header.shape[:1] for header in headers.values()}
            if len(lengths) != 1 or lengths == {()} or any(h.dtype.kind != "f" for h in headers.values()):
                raise TypeError
            arrays: dict[str, Any] = {name: archive.array(name, header) for name, header in headers.items()}
            return Demonstration(**arrays, seed=int(path.stem))
    except (DamagedFile, TypeError):
        raise DamagedFile(f"{path} is damaged: delete it and run the same command again") from None


def generate(
    task: Task,
    count: int,
    path: str | Path,
    *,
    workers: int = 1,
    noise: float = 0.0,
    seed: int = 0,
    progress: Callable[[int, int, int], None] | None = None,
    keep_parts: bool = False,
    substeps: int = SUBSTEPS[0],
    mishaps: float = 0.0,
) -> Generated:
    """Write a file with ``count`` demonstrations; after an interruption, the same call resumes.

    Args:
        task: what to demonstrate.
        count: how many successes.
        path: the file.
        workers: processes; 0: in this one.
        noise: standard deviation in metres of noise on executed positions.
        seed: seed of the first scene; the others follow it.
        progress: called with (kept, count, rejected) after every attempt.
        keep_parts: leave the folder of attempts in place.
        substeps: physics steps in a control step, 25 or 10.
        mishaps: probability per step that something goes wrong, see :class:`Mishaps`.
    """
    if count < 1 or workers < 0 or not 0.0 <= noise <= 0.05:
        raise InvalidParameter(
            f"count must be at least 1, workers at least 0 and noise between 0 and 0.05 m, got {count}, {workers} and "
            f"{noise}"
        )
    if not 0.0 <= mishaps <= 0.2:
        raise InvalidParameter(f"mishaps is {mishaps}: give a probability per step from 0 to 0.2")
    if not 0 <= seed < EVALUATION_SEED:
        raise InvalidParameter(f"seed must be from 0 to {EVALUATION_SEED - 1}: those from there on are for evaluation")
    target = Path(path)
    folder = target.with_name(target.name + ".parts")
    folder.mkdir(parents=True, exist_ok=True)
    later = {"substeps": (substeps, SUBSTEPS[0]), "mishaps": (mishaps, 0.0)}
    more = {key: value for key, (value, usual) in later.items() if value != usual}
    _check_settings(folder, {"task": task.environment, "noise": noise, "seed": seed, **more})
    store = _Store(folder, seed, count)
    crashes = 0
    report = progress or (lambda kept, count, rejected: None)
    report(store.kept, count, store.rejected)
    if not store.complete():
        scene = build_scene(task, substeps)
        if workers == 0:
            sim = Simulation(task, scene)
            while not store.complete():
                store.add(store.take(), lambda chosen: attempt(sim, chosen, noise, mishaps=mishaps))
                report(store.kept, count, store.rejected)
        else:
            crashes = _parallel(store, scene, (noise, mishaps), workers, report)
    kept = store.chosen()
    demos = [_load(folder / f"{k}.npz") for k in kept]
    attempts = kept[-1] - seed + 1
    write_demonstrations(target, task, demos, attempts, noise, substeps, mishaps)
    if not keep_parts:
        shutil.rmtree(folder)
    return Generated(target, len(demos), attempts, sum(len(demo) for demo in demos), crashes)


def _check_settings(folder: Path, settings: dict[str, Any]) -> None:
    file = folder / "settings.json"
    if file.exists():
        found = read_json(file, limit=10_000)
        if found != settings:
            raise InvalidParameter(
                f"{folder} holds attempts made with other settings ({json.dumps(found)}): use them again, "
                f"choose another file, or delete the folder"
            )
    else:
        write_text(file, json.dumps(settings))


class _Store:
    """Which seeds were tried and what came of them."""

    def __init__(self, folder: Path, seed: int, count: int) -> None:
        self.folder, self.first, self.count = folder, seed, count
        self.good, self.bad = (
            {int(file.stem) for file in folder.glob(f"*.{kind}") if file.stem.isdecimal() and len(file.stem) < 10}
            for kind in ("npz", "rejected")
        )
        self.pending: set[int] = set()

    @property
    def kept(self) -> int:
        return min(len(self.good), self.count)

    @property
    def rejected(self) -> int:
        return len(self.bad)

    def chosen(self) -> list[int]:
        return sorted(self.good)[: self.count]

    def complete(self) -> bool:
        """Whether the first ``count`` successes are known: every seed before the last of them was tried."""
        if len(self.good) < self.count:
            return False
        last = self.chosen()[-1]
        return all(k in self.good or k in self.bad for k in range(self.first, last))

    def take(self) -> int:
        """The next seed to try."""
        seed = self.first
        while seed in self.good or seed in self.bad or seed in self.pending:
            seed += 1
        if seed >= EVALUATION_SEED:
            raise InvalidParameter("the seeds below those for evaluation are used up: start with a lower seed")
        self.pending.add(seed)
        return seed

    def add(self, seed: int, make: Callable[[int], Demonstration | None]) -> None:
        demo = make(seed)
        _keep(self.folder, seed, demo)
        self.pending.discard(seed)
        (self.bad if demo is None else self.good).add(seed)


def _parallel(
    store: _Store, scene: Scene, disturbance: tuple[float, float], workers: int, report: Callable[[int, int, int], None]
) -> int:
    """Hand out seeds until the store is complete; how many workers died."""
    pool = [Worker(_serve, (scene, *disturbance)) for _ in range(workers)]
    busy: dict[int, int] = {}
    try:
        for k, worker in enumerate(pool):
            busy[k] = store.take()
            worker.send(busy[k])
        while not store.complete():
            for worker in ready(pool):
                k = pool.index(worker)
                try:
                    seed, demo = worker.receive()
                    store.add(seed, lambda _, found=demo: found)  # type: ignore[misc]
                    report(store.kept, store.count, store.rejected)
                    busy[k] = store.take()
                except WorkerDied:
                    if worker.restarts >= 20:
                        raise InvalidParameter(
                            f"the simulator died 20 times, last in the scene of seed {busy[k]}: see whether memory "
                            f"suffices, or use fewer workers; what is finished is kept"
                        ) from None
                    worker.restart()
                worker.send(busy[k])
    finally:
        for worker in pool:
            worker.process.kill()
            worker.close()
    return sum(worker.restarts for worker in pool)
