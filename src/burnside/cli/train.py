"""``burnside train``: train one network, for a cube or a robot, and keep it in a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from burnside.cli.console import output, progress, styled
from burnside.cli.train_robot import TrainRobot
from burnside.errors import InvalidParameter

__all__ = ["Train"]


@dataclass(frozen=True)
class TrainCube:
    """Train a value network for a cube, by value iteration or on exact distances; a stopped run resumes."""

    out: Annotated[Path, tyro.conf.Positional]
    """File of the network, such as cube3.safetensors."""
    n: int = 3
    """Size of the cube; 12 outer turns."""
    arm: Literal["baseline", "position", "conjugation", "augment", "equivariant"] = "conjugation"
    """What is done with the symmetry."""
    method: Literal["davi", "exact"] = "davi"
    """davi: value iteration. exact: regression on exact distances, which are known for n = 2."""
    states: int = 4_000_000
    """States of value iteration, or exact labels."""
    round: int = 50_000
    """States of value iteration between copies of the target network."""
    walk: int = 14
    """Longest walk from the solved cube in training."""
    hidden: tuple[int, int] = (512, 256)
    """Widths of the first two layers."""
    blocks: int = 2
    """Residual blocks."""
    batch: int = 1_000
    """States in an update."""
    updates: int = 6_000
    """Updates of the regression on exact distances."""
    seed: int = 0
    """Seed of everything."""
    threads: int = 2
    """Threads."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """auto takes CUDA if there is one."""

    def run(self) -> int:
        """Run the command."""
        import torch

        from burnside.agents.cube_values import DaviConfig, value_error
        from burnside.envs.cube import CubeSpec

        if self.out.suffix != ".safetensors":
            raise InvalidParameter(f"{self.out} must end with .safetensors: that is how networks are kept")
        for name in ("states", "threads", "batch", "updates"):
            if getattr(self, name) < 1:
                raise InvalidParameter(f"--{name} is {getattr(self, name)}: give at least 1")
        torch.set_num_threads(self.threads)
        spec = CubeSpec(self.n)
        config = DaviConfig(
            hidden=self.hidden,
            blocks=self.blocks,
            batch=self.batch,
            states=self.states,
            states_per_round=self.round,
            back_max=self.walk,
            decay=0.1 ** (self.batch / self.states),  # to a tenth over the run
        )
        network = self._davi(config, spec) if self.method == "davi" else self._exact(config, spec)
        network.save(self.out)
        errors = value_error(network, spec, per_depth=300)
        depths = ", ".join(f"{d}: {e:.2f}" for d, e in zip(errors.depth[1:], errors.rmse[1:], strict=True))
        said = f"{self.out}: RMSE {errors.total:.3f} against exact distances (by depth {depths})"
        output().print(styled(said), soft_wrap=True)
        return 0

    def _davi(self, config: Any, spec: Any) -> Any:
        from burnside.agents.common.devices import choose_device
        from burnside.agents.common.members import Member
        from burnside.agents.common.training import train
        from burnside.agents.cube_values import DaviRun

        with progress(f"value iteration on {config.states} states") as update:

            def report(found: DaviRun) -> None:
                update(found.states, config.states, f"loss {found.last_loss:.3f}, target {found.copies}")

            place, device = self.out.with_suffix(".checkpoints"), choose_device(self.device)
            run = DaviRun(config, spec, Member(self.seed, self.arm), device=device)
            train([run], steps=config.states, checkpoint=place, every=5, progress=report, threads=1)
        return run.network()

    def _exact(self, config: Any, spec: Any) -> Any:
        from burnside.agents.cube_values import exact_labels, fit_values

        states, labels = exact_labels(spec, self.states, self.seed)
        with progress(f"fitting in {self.updates} updates") as update:
            return fit_values(
                states,
                labels,
                spec,
                self.arm,
                updates=self.updates,
                config=config,
                seed=self.seed,
                device=self.device,
                progress=lambda done, loss: update(done, self.updates, f"loss {loss:.3f}"),
            )


@dataclass(frozen=True)
class Train:
    """Train one network and keep it in a file; a stopped run resumes."""

    what: Annotated[
        Annotated[TrainCube, tyro.conf.subcommand(name="cube", prefix_name=False)]
        | Annotated[TrainRobot, tyro.conf.subcommand(name="robot", prefix_name=False)],
        tyro.conf.arg(name="", prefix_name=False),
    ]

    def run(self) -> int:
        """Run the command."""
        return self.what.run()
