"""``burnside train``: train one network, for a cube or a robot, and keep it in a file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from burnside.cli.console import output, progress, styled
from burnside.cli.train_robot import TrainRobot
from burnside.errors import InvalidParameter

if TYPE_CHECKING:
    from burnside.agents.cube_values import CubeValue, DaviConfig
    from burnside.envs.cube import CubeSpec

__all__ = ["Train"]


@dataclass(frozen=True)
class TrainCube:
    """Train a network for a cube; a stopped run resumes.

    Without options it makes the policy that is shipped for the 3-cube again, in four minutes; with --n 4 --slices that
    of the 4-cube whose inner layers turn, in two hours. A policy learns from random walks which turn was the last one.
    A value network learns distances, by value iteration or from exact ones.
    """

    out: Annotated[Path | None, tyro.conf.Positional] = None
    """File of the network; default the name of the shipped one, such as cube3-policy.safetensors, in this folder."""
    n: int = 3
    """Size of the cube."""
    slices: bool = False
    """Inner layers turn too (walks only)."""
    method: Literal["walks", "davi", "exact"] = "walks"
    """walks: a policy. davi: value iteration. exact: regression on exact distances, which are known for n = 2."""
    arm: Literal["baseline", "position", "conjugation", "augment", "equivariant"] | None = None
    """What is done with the symmetry; default equivariant for a policy, otherwise conjugation."""
    states: int | None = None
    """Walks, states of value iteration, or exact labels; default what was shipped, otherwise 4 million."""
    round: int = 50_000
    """States of value iteration between copies of the target network."""
    walk: int | None = None
    """Longest walk from the solved cube; default 26 for a policy (32 with --slices), otherwise 14."""
    hidden: tuple[int, int] | None = None
    """Widths of the first two layers; default what was shipped, otherwise 512 256."""
    blocks: int | None = None
    """Residual blocks; default 1 for a policy, otherwise 2."""
    batch: int | None = None
    """States in an update; default 1024 for a policy, otherwise 1000."""
    sides: int | None = None
    """Policy: 2 also learns the last turn of the inverse, for a search from both sides; default 2 where that can be."""
    rate: float | None = None
    """Learning rate of Adam; default 6e-3 for a policy (2e-3 with --slices), otherwise 1e-3."""
    updates: int = 6_000
    """Updates of the regression on exact distances."""
    seed: int = 0
    """Seed of everything."""
    threads: int | None = None
    """Threads; default 1 for a policy, otherwise 2."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """auto takes CUDA if there is one; policies are trained on the CPU."""

    def run(self) -> int:
        """Run the command."""
        import torch

        from burnside.envs.cube import CubeSpec

        out = self._file()
        if out.suffix != ".safetensors":
            raise InvalidParameter(f"{out} must end with .safetensors: that is how networks are kept")
        for name in ("states", "threads", "batch", "updates", "walk"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InvalidParameter(f"--{name} is {value}: give at least 1")
        torch.set_num_threads(self.threads or (1 if self.method == "walks" else 2))
        if self.method == "walks":
            # Walks from one orientation are easier to tell than those from 24; the search tries all of them.
            return self._walks(CubeSpec(self.n, "slices", "fixed") if self.slices else CubeSpec(self.n))
        if self.slices or self.sides is not None:
            raise InvalidParameter(f"--slices and --sides are for --method walks, not {self.method}")
        return self._values(CubeSpec(self.n))

    def _file(self) -> Path:
        """Where the network is kept."""
        from burnside.agents.cube_walks.config import shipped_policy
        from burnside.envs.cube import CubeSpec

        if self.out is not None:
            return self.out
        if self.method == "walks":
            return Path(shipped_policy(CubeSpec(self.n, "slices" if self.slices else "outer")).name)
        return Path(f"cube{self.n}.safetensors")

    def _walks(self, spec: CubeSpec) -> int:
        """A policy."""
        from burnside.agents.common.members import Member
        from burnside.agents.common.training import train
        from burnside.agents.cube_walks import WalkConfig, WalkRun
        from burnside.envs.cube.placements import placements

        if self.device == "cuda":
            raise InvalidParameter("a policy is trained on the CPU, where its first layer is compiled: leave --device")
        world = placements(spec)
        arm = self.arm or "equivariant"
        both = world.has_inverse and len(world.goals) == 1 and arm in ("baseline", "equivariant")
        given = {
            "hidden": self.hidden,
            "blocks": self.blocks,
            "batch": self.batch,
            "walk": self.walk,
            "learning_rate": self.rate,
            "sides": self.sides if self.sides is not None or both else 1,
        }
        changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        config = WalkConfig.preset("shipped-slices" if self.slices else "shipped", **changes)
        if self.states is not None:
            config = replace(config, states=max(1, round(self.states / config.batch)) * config.batch)
        elif config.states % config.batch:
            config = replace(config, states=config.states // config.batch * config.batch)
        run, out = WalkRun(config, world.spec, Member(self.seed, arm)), self._file()
        with progress(f"learning from {config.states} walks") as update:
            train(
                [run],
                steps=config.states,
                checkpoint=out.with_suffix(".checkpoints"),
                every=50,
                progress=lambda found: update(found.states, config.states, f"loss {found.loss:.3f}"),
                threads=1,
            )
        run.network().save(out)
        said = f"{out}: {run.net.weights} weights, cross-entropy {run.loss:.3f} after {run.states} walks"
        output().print(styled(said), soft_wrap=True)
        return 0

    def _values(self, spec: CubeSpec) -> int:
        """A value network."""
        from burnside.agents.cube_values import DaviConfig, value_error

        states, batch = self.states or 4_000_000, self.batch or 1_000
        config = DaviConfig(
            hidden=self.hidden or (512, 256),
            blocks=2 if self.blocks is None else self.blocks,
            batch=batch,
            states=states,
            states_per_round=self.round,
            back_max=self.walk or 14,
            learning_rate=1e-3 if self.rate is None else self.rate,
            decay=0.1 ** (batch / states),  # to a tenth over the run
        )
        network = self._davi(config, spec) if self.method == "davi" else self._exact(config, spec)
        out = self._file()
        network.save(out)
        errors = value_error(network, spec, per_depth=300)
        depths = ", ".join(f"{d}: {e:.2f}" for d, e in zip(errors.depth[1:], errors.rmse[1:], strict=True))
        said = f"{out}: RMSE {errors.total:.3f} against exact distances (by depth {depths})"
        output().print(styled(said), soft_wrap=True)
        return 0

    def _davi(self, config: DaviConfig, spec: CubeSpec) -> CubeValue:
        from burnside.agents.common.devices import choose_device
        from burnside.agents.common.members import Member
        from burnside.agents.common.training import train
        from burnside.agents.cube_values import DaviRun

        with progress(f"value iteration on {config.states} states") as update:

            def report(found: DaviRun) -> None:
                update(found.states, config.states, f"loss {found.last_loss:.3f}, target {found.copies}")

            place, device = self._file().with_suffix(".checkpoints"), choose_device(self.device)
            run = DaviRun(config, spec, Member(self.seed, self.arm or "conjugation"), device=device)
            train([run], steps=config.states, checkpoint=place, every=5, progress=report, threads=1)
        return run.network()

    def _exact(self, config: DaviConfig, spec: CubeSpec) -> CubeValue:
        from burnside.agents.cube_values import exact_labels, fit_values

        states, labels = exact_labels(spec, config.states, self.seed)
        with progress(f"fitting in {self.updates} updates") as update:
            return fit_values(
                states,
                labels,
                spec,
                self.arm or "conjugation",
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
