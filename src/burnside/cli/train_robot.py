"""``burnside train robot``: imitation of demonstrations and fine-tuning of a manipulation policy."""

from __future__ import annotations

import json as jsonlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from burnside._files import read_json, sha256, write_atomically, write_text
from burnside.cli.console import error_console, output, print_json, print_problem, progress, styled
from burnside.errors import DamagedFile, InvalidParameter, UnreadableFile
from burnside.runs.job import DeviceName, PresetName

if TYPE_CHECKING:
    from burnside.experiments.robot.config import Recipe
    from burnside.experiments.robot.run import OneRun

__all__ = ["TrainRobot"]


@dataclass(frozen=True)
class TrainRobot:
    """Train a flow policy for a manipulation task: imitation, then PPO over its denoising chain.

    Each stage is a sweep of one cell: run the same command again to resume one that was stopped. The folder holds
    imitated.safetensors, finetuned.safetensors and a JSON file on each; burnside table robot --runs FOLDER reads it.
    """

    task: Literal["stack-two", "stack-three", "nut-assembly"] = "stack-three"
    """Which task."""
    stage: Literal["imitate", "finetune"] = "imitate"
    """imitate: learn from demonstrations. finetune: improve the policy that imitation left in the folder, with PPO."""
    arm: Annotated[
        Literal["world", "base", "azimuth", "relative", "upright", "gripper", "augmented", "augmented-relative"],
        tyro.conf.arg(aliases=["--frame"]),
    ] = "gripper"
    """Frame of observations and actions: the world's, the base's, or the hand's, wholly or in part; augmented is the
    world's with every demonstration under many motions of the cell, augmented-relative the hand's place with many
    headings."""
    preset: PresetName = "laptop"
    """How much: smoke (seconds), laptop (minutes), study (what the study runs), paper (the paper's full scale)."""
    demos: Path | None = None
    """File of demonstrations; default runs/demos/TASK.hdf5, and where there is none the expert makes them."""
    out: Path | None = None
    """Folder; default runs/train/TASK-ARM."""
    observation: Literal["state", "cloud", "tokens"] = "state"
    """Poses of the objects, a point cloud instead of them, or poses in the network of the clouds (tokens)."""
    features: Literal["poses", "relations"] = "poses"
    """What a state holds: poses; or relations, which add heights, vectors between things and the base, for a comparison
    of frames in which all see the same once, in the same units, with physics of 5 ms."""
    spread: tuple[float, float] = (0.0, 0.0)
    """How far the whole cell is moved in every episode: metres, degrees."""
    mishaps: float = 0.0
    """Share of steps of the demonstrations at which something goes wrong and the expert recovers; 0.03 is sensible."""
    pays: Literal["sparse", "staged"] = "sparse"
    """Reward of fine-tuning: for success alone, as in the paper, or for every stage of the task."""
    points: int | None = None
    """Size of the cloud; default the preset's (64 to 128 is sensible without a GPU)."""
    demonstrations: int | None = None
    """How many demonstrations of the file; default the preset's."""
    updates: int | None = None
    """Updates of imitation; default the preset's."""
    steps: int | None = None
    """Environment steps of fine-tuning; default the preset's."""
    seed: int = 0
    """Seed of everything."""
    workers: int = 1
    """Processes that simulate; 0: this one. No result depends on it."""
    threads: int = 1
    """Threads of the network."""
    device: DeviceName = "auto"
    """auto takes CUDA if there is one."""
    anyway: bool = False
    """Fine-tune even if imitation succeeds less than 20 % or more than 60 % of the time."""
    source: Literal["burnside", "nvidia"] = "burnside"
    """Whose scenes: ours, or those of NVIDIA's mimicgen, which you have to have installed yourself."""
    json: bool = False
    """Print one JSON object."""

    def run(self) -> int:
        """Run the command: 1 if the gate before fine-tuning is closed."""
        if self.workers < 0 or self.threads < 1:
            raise InvalidParameter("workers must be 0 or more and threads 1 or more")
        recipe = self._recipe()
        folder = self.out or Path("runs") / "train" / f"{self.task}-{self.arm}"
        if self.stage == "imitate":
            job, about = self._imitation(recipe)
        else:
            start, before = self._start(folder, recipe)
            if start is None:
                return 1
            job, about = start, {"before": before}
        return self._train(job, folder, about)

    def _recipe(self) -> Recipe:
        from burnside.experiments.robot.config import recipe

        found = recipe(
            self.preset,
            self.task,
            self.arm,
            observation=self.observation,
            points=self.points,
            demos=self.demonstrations,
            budget=self.steps,
            features=self.features,
            spread=self.spread,
            mishaps=self.mishaps,
            pays=self.pays,
        )
        if self.updates is None:
            return found
        warmup = min(int(found.imitation["warmup"]), self.updates // 2)
        return replace(found, imitation={**found.imitation, "steps": self.updates, "warmup": warmup})

    def _imitation(self, recipe: Recipe) -> tuple[OneRun, dict[str, Any]]:
        """Imitation, once its demonstrations have been found to be what they should be; their clouds are drawn here."""
        from burnside.experiments.robot.demonstrations import clouds_of, drawn, find_demonstrations
        from burnside.experiments.robot.run import OneRun

        scene = None
        if self.source == "nvidia":
            if self.demos is None:
                raise InvalidParameter("--source nvidia takes NVIDIA's demonstrations: give their file with --demos")
            from burnside.envs.manipulation.nvidia import nvidia_scene

            scene = nvidia_scene(self.task)
        file = find_demonstrations(recipe, self.demos, scene)
        file = replace(file, demos=tuple(file.demos[k] for k in drawn(recipe, file, self.seed)))
        with progress(f"drawing the clouds of {len(file)} demonstrations") as update:
            clouds_of(recipe, file, update)
        given = {} if self.demos is None else {"demos_sha256": sha256(self.demos)}
        more = {**given, **self._more()}
        about = {"updates": recipe.imitation["steps"], "demonstrations": recipe.demos}
        return OneRun(recipe, self.seed, more, demos=self.demos, workers=self.workers), about

    def _more(self) -> dict[str, Any]:
        """What the cells of the study do not have in their configuration."""
        return {} if self.source == "burnside" else {"source": self.source}

    def _start(self, folder: Path, recipe: Recipe) -> tuple[OneRun | None, int]:
        """Fine-tuning of the policy in the folder (None if the gate is closed), and the successes of that policy."""
        from burnside.envs.manipulation.tasks import find_task
        from burnside.experiments.imitate_finetune import Start, gate_says
        from burnside.experiments.robot.run import OneRun
        from burnside.nn.flow import load_policy
        from burnside.runs.context import resolve_device

        path = folder / "imitated.safetensors"
        if not path.exists():
            raise UnreadableFile(
                f"there is no policy {path}: run 'burnside train robot --task {self.task} --arm {self.arm} --stage "
                f"imitate --preset {self.preset} --out {folder}' first"
            )
        before = self._before(folder)
        why = gate_says(before["successes"] / before["scenes"])
        if why is not None:
            error_console().print(f"{why}{' (continuing: --anyway)' if self.anyway else ''}", soft_wrap=True)
            if not self.anyway:
                error_console().print("--anyway fine-tunes regardless")
                return None, before["successes"]
        policy = load_policy(path, expect=recipe.policy, device=resolve_device(self.device))
        for line in recipe.agent.describe(recipe.policy.n_act, find_task(self.task).limit):
            error_console().print(line, soft_wrap=True)
        start = Start(policy, before["successes"], before["scenes"], before["loss"])
        more = {"imitated_sha256": sha256(path), "imitated_successes": before["successes"], **self._more()}
        return OneRun(recipe, self.seed, more, start, workers=self.workers), before["successes"]

    def _before(self, folder: Path) -> dict[str, Any]:
        path = folder / "imitated.json"
        try:
            found: dict[str, Any] = read_json(path)
            # files written before the option --frame became --arm
            task, arm = found["task"], found["arm"] if "arm" in found else found["frame"]
            before: dict[str, Any] = {"successes": int(found["successes"]), "scenes": int(found["scenes"])}
            before["loss"] = None if found.get("loss") is None else float(found["loss"])
            if not 0 <= before["successes"] <= before["scenes"] or not before["scenes"]:
                raise DamagedFile("its counts are not numbers")
        except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
            raise UnreadableFile(
                f"{path} cannot be read ({type(error).__name__}): run the stage imitate again"
            ) from None
        if (task, arm) != (self.task, self.arm):
            raise InvalidParameter(
                f"{folder} holds a policy for {task} with the arm {arm}: give these, or another --out"
            )
        return before

    def _train(self, job: OneRun, folder: Path, about: dict[str, Any]) -> int:
        """Sweep the one cell, then show its result and copy its policy to where it is looked for."""
        from burnside.experiments.robot.run import POLICY
        from burnside.runs import sweep
        from burnside.runs.folder import CellFolder

        outcome = sweep(
            job,
            self.preset,
            folder,
            workers=0,
            device=self.device,
            threads=self.threads,
            only={"kind": "pipeline"},  # the cells of other stages stay in the plan of the folder
        )
        for why in outcome.failed.values():
            print_problem("failed", why)
        if not outcome.ok:
            if outcome.left:
                error_console().print("stopped; the same command resumes")
            return outcome.exit_code
        cell = CellFolder(folder, job.plan(self.preset)[0])
        result = cell.result()
        kept = cell.path / POLICY
        if result is None or not kept.exists():
            raise UnreadableFile(f"{kept} is gone: delete the folder {cell.path} and run the command again")
        (row,) = result["rows"]
        if job.start is None:
            name, successes, more = "imitated", row["successes"], {**about, "loss": row["loss"]}
        else:
            tests = cell.table("finetune")
            curve = [[int(a), int(b)] for a, b in zip(tests["env_steps"], tests["successes"], strict=True)][1:]
            name, successes, more = "finetuned", row["after"], {"env_steps": row["env_steps"], **about, "curve": curve}
        write_atomically(folder / f"{name}.safetensors", lambda file: file.write(kept.read_bytes()))
        self._report(folder, name, successes, row["scenes"], more)
        return 0

    def _report(self, folder: Path, name: str, successes: int, scenes: int, about: dict[str, Any]) -> None:
        from burnside.stats import wilson

        rate = wilson(successes, scenes)
        facts = {
            "task": self.task,
            "arm": self.arm,
            "preset": self.preset,
            "seed": self.seed,
            "successes": successes,
            "scenes": scenes,
            "success": rate.value,
            "low": rate.low,
            "high": rate.high,
            **about,
            "policy": str(folder / f"{name}.safetensors"),
        }
        write_text(folder / f"{name}.json", jsonlib.dumps(facts, indent=1) + "\n")
        if self.json:
            print_json(facts)
            return
        said = (
            f"{facts['policy']}: {successes} of {scenes} held-out scenes, {rate.value:.0%} "
            f"(95 %: {rate.low:.0%} to {rate.high:.0%})"
        )
        output().print(styled(said), soft_wrap=True)
