"""``burnside train robot``: imitation of demonstrations and fine-tuning of a manipulation policy."""

from __future__ import annotations

import json as jsonlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from burnside._files import read_json
from burnside.cli.console import error_console, output, print_json, progress, styled
from burnside.errors import DamagedFile, InvalidParameter, UnreadableFile
from burnside.runs.job import DeviceName, PresetName

__all__ = ["TrainRobot"]


@dataclass(frozen=True)
class TrainRobot:
    """Train a flow policy for a manipulation task: imitation, then PPO over its denoising chain; a stopped run resumes.

    The folder holds imitated.safetensors, finetuned.safetensors, a result of each stage in JSON, and checkpoints.
    """

    task: Literal["stack-three", "nut-assembly"] = "stack-three"
    """Which task."""
    stage: Literal["imitate", "finetune"] = "imitate"
    """imitate: learn from demonstrations. finetune: continue with PPO from the policy that imitation left there."""
    frame: Literal["world", "base", "azimuth", "relative", "upright", "gripper"] = "gripper"
    """Of observations and actions: the world's, the base's (a control), or the hand's, wholly or in part."""
    preset: PresetName = "laptop"
    """How much: smoke (seconds), laptop (minutes), study (what the study runs), paper (the paper's full scale)."""
    demos: Path | None = None
    """File of demonstrations; default runs/demos/TASK.hdf5, and where there is none the expert makes them."""
    out: Path | None = None
    """Folder; default runs/train/TASK-FRAME."""
    observation: Literal["state", "cloud", "tokens"] = "state"
    """Poses of the objects, a point cloud instead of them, or poses in the network of the clouds (tokens)."""
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
        import torch

        from burnside.runs.context import resolve_device

        if self.workers < 0 or self.threads < 1:
            raise InvalidParameter("workers must be 0 or more and threads 1 or more")
        torch.set_num_threads(self.threads)
        recipe, device = self._recipe(), resolve_device(self.device)
        folder = self.out or Path("runs") / "train" / f"{self.task}-{self.frame}"
        from burnside.experiments.robot.pipeline import environment

        scene, source = None, "burnside"
        if self.source == "nvidia":
            if self.stage == "imitate" and self.demos is None:
                raise InvalidParameter("--source nvidia takes NVIDIA's demonstrations: give their file with --demos")
            from burnside.envs.manipulation.nvidia import nvidia_scene

            scene, source = nvidia_scene(self.task), "nvidia"
        with environment(recipe, self.workers, scene, source) as env:
            if self.stage == "imitate":
                return self._imitate(recipe, env, folder, device)
            return self._finetune(recipe, env, folder, device)

    def _recipe(self) -> Any:
        from dataclasses import replace

        from burnside.experiments.robot.config import recipe

        found = recipe(
            self.preset,
            self.task,
            self.frame,
            observation=self.observation,
            points=self.points,
            demos=self.demonstrations,
            budget=self.steps,
        )
        if self.updates is None:
            return found
        warmup = min(int(found.imitation["warmup"]), self.updates // 2)
        return replace(found, imitation={**found.imitation, "steps": self.updates, "warmup": warmup})

    def _imitate(self, recipe: Any, env: Any, folder: Path, device: str) -> int:
        from burnside.experiments.robot.training import imitate
        from burnside.nn.flow import save_policy

        with progress(f"imitation, {self.task}, {self.frame}") as update:
            found = imitate(
                recipe,
                env,
                self.seed,
                demos=self.demos,
                device=device,
                checkpoint=folder / "imitation.npz",
                progress=update,
                say=self._say,
            )
        save_policy(found.policy, folder / "imitated.safetensors")
        about = {"updates": found.updates, "demonstrations": recipe.demos, "loss": found.loss}
        self._report(folder, "imitated", recipe, found.successes, about)
        return 0

    def _finetune(self, recipe: Any, env: Any, folder: Path, device: str) -> int:
        from burnside.experiments.robot.pipeline import gate_says
        from burnside.experiments.robot.training import finetune
        from burnside.nn.flow import load_policy, save_policy

        path = folder / "imitated.safetensors"
        if not path.exists():
            raise UnreadableFile(
                f"there is no policy {path}: run 'burnside train robot --task {self.task} --frame {self.frame} --stage "
                f"imitate --preset {self.preset} --out {folder}' first"
            )
        before = self._before(folder)
        why = gate_says(before["successes"] / before["scenes"])
        if why is not None:
            error_console().print(f"{why}{' (continuing: --anyway)' if self.anyway else ''}", soft_wrap=True)
            if not self.anyway:
                error_console().print("--anyway fine-tunes regardless")
                return 1
        policy = load_policy(path, expect=recipe.policy, device=device)
        with progress(f"fine-tuning, {self.task}, {self.frame}") as update:
            found = finetune(
                recipe,
                policy,
                env,
                self.seed,
                checkpoint=folder / "finetune.npz",
                progress=update,
                say=self._say,
            )
        save_policy(found.policy, folder / "finetuned.safetensors")
        about = {"env_steps": found.env_steps, "before": before["successes"], "curve": found.curve}
        self._report(folder, "finetuned", recipe, found.successes, about)
        return 0

    def _say(self, text: str) -> None:
        error_console().print(text, soft_wrap=True)

    def _before(self, folder: Path) -> dict[str, Any]:
        path = folder / "imitated.json"
        try:
            found: dict[str, Any] = read_json(path)
            task, frame = found["task"], found["frame"]
            before = {"successes": int(found["successes"]), "scenes": int(found["scenes"])}
            if not 0 <= before["successes"] <= before["scenes"] or not before["scenes"]:
                raise DamagedFile("its counts are not numbers")
        except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
            raise UnreadableFile(
                f"{path} cannot be read ({type(error).__name__}): run the stage imitate again"
            ) from None
        if (task, frame) != (self.task, self.frame):
            raise InvalidParameter(
                f"{folder} holds a policy for {task} in the frame {frame}: give these, or another --out"
            )
        return before

    def _report(self, folder: Path, name: str, recipe: Any, successes: int, about: dict[str, Any]) -> None:
        from burnside._files import write_text
        from burnside.stats import wilson

        rate = wilson(successes, recipe.scenes)
        facts = {
            "task": self.task,
            "frame": self.frame,
            "preset": self.preset,
            "seed": self.seed,
            "successes": successes,
            "scenes": recipe.scenes,
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
            f"{facts['policy']}: {successes} of {recipe.scenes} held-out scenes, {rate.value:.0%} "
            f"(95 %: {rate.low:.0%} to {rate.high:.0%})"
        )
        output().print(styled(said), soft_wrap=True)
