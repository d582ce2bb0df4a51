"""Deep approximate value iteration, and regression on exact values: the same learner with other labels.

Members are trained one after the other. On one core an update of four networks in one product took 212 ms against 209
one by one (512/256, batch 1000; 45 against 51 at 256/128, batch 500), and gave other bits: alone, a member's bits
cannot depend on its company.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from burnside._types import AnyArray, ArrayLike, FloatArray, IntArray
from burnside.agents.davi.config import DaviConfig, Member
from burnside.agents.davi.labels import BellmanLabels, ExactLabels
from burnside.agents.davi.learner import ValueLearner
from burnside.agents.davi.network import CubeValue, make_network
from burnside.agents.dqn.checkpoint import exists, read_checkpoint, write_checkpoint
from burnside.agents.dqn.torch_engine import choose_device
from burnside.agents.dqn.torch_update import Parameters
from burnside.envs.cube.core import CubeSpec
from burnside.errors import InvalidParameter
from burnside.nn._torch import torch
from burnside.nn.residual import FoldedValue

__all__ = ["DaviLog", "DaviRun", "Progress", "fit_values", "train"]

_COLUMNS = ("states", "loss", "last_loss", "copies")


@dataclass(frozen=True)
class Progress:
    """How far one member is."""

    member: Member
    states: int
    total: int
    loss: float
    copies: int


@dataclass(frozen=True)
class DaviLog:
    """What a run did, one entry per finished round.

    Attributes:
        states: States up to and including it.
        loss: Mean loss of its updates.
        last_loss: Loss of its last minibatch, which decides on the copy.
        copies: Times the target network has been renewed, up to and including it.
    """

    states: IntArray
    loss: FloatArray
    last_loss: FloatArray
    copies: IntArray


class DaviRun:
    """One member's training: advance it, save it, go on, take its network.

    >>> run = DaviRun(DaviConfig.preset("smoke", states=2_400), CubeSpec(2), Member(0, "conjugation"))
    >>> run.advance(11); run.states, run.copies
    (2200, 1)
    >>> again = DaviRun(run.config, run.spec, run.member).restore(run.arrays())
    >>> run.advance(); again.advance(); run.done
    True
    >>> bool((run.network().value_fn(np.zeros((1, 24), np.uint8))
    ...       == again.network().value_fn(np.zeros((1, 24), np.uint8))).all())
    True
    """

    def __init__(
        self, config: DaviConfig, spec: CubeSpec, member: Member, *, device: torch.device | str = "cpu"
    ) -> None:
        """Before the first update; the target network is zero."""
        self.config, self.spec, self.member = config, spec, member
        self.source = BellmanLabels(config, spec, member)
        self.learner = ValueLearner(make_network(config, spec, member.arm, [member.seed]), torch.device(device))
        self.iteration, self.copies = 0, 0
        self.target: Parameters = {name: t.clone() for name, t in self.learner.tensors().items()}
        self._folded: FoldedValue | None = None
        self._losses: list[float] = []  # of the round under way
        self._rows: list[tuple[float, ...]] = []

    @property
    def states(self) -> int:
        """States so far."""
        return self.iteration * self.config.batch

    @property
    def done(self) -> bool:
        """Whether the budget is spent."""
        return self.iteration >= self.config.iterations

    @property
    def log(self) -> DaviLog:
        """The finished rounds."""
        rows = np.array(self._rows, dtype=np.float64).reshape(-1, len(_COLUMNS))
        states, loss, last, copies = rows.T.copy()
        return DaviLog(states.astype(np.int64), loss, last, copies.astype(np.int64))

    def step(self) -> float:
        """One update, and at the end of a round what follows from it; returns the loss."""
        config = self.config
        inputs, targets = self.source.batch(self.iteration, self._target())
        loss = self.learner.step(inputs, targets, config.rate(self.iteration))
        self.iteration += 1
        self._losses.append(loss)
        if self.states % config.states_per_round == 0:
            self._end_round(loss)
        return loss

    def _target(self) -> FoldedValue | None:
        if self.copies and self._folded is None:
            self._folded = self.learner.fold(self.target)
        return self._folded

    def _end_round(self, loss: float) -> None:
        config = self.config
        good = config.loss_threshold is None or loss < config.loss_threshold
        if good or self.states in config.forced_copies:
            # Updates make new tensors and leave the old ones alone, so keeping the dictionary keeps the network.
            self.target = self.learner.tensors()
            self.copies += 1
            self._folded = None
        self.source.forget()
        if config.fresh_adam:
            self.learner.new_optimizer()
        self._rows.append((self.states, float(np.mean(self._losses)), loss, self.copies))
        self._losses = []

    def advance(self, iterations: int | None = None) -> None:
        """So many updates (default: all that are left), but never beyond the budget."""
        left = self.config.iterations - self.iteration
        for _ in range(left if iterations is None else min(iterations, left)):
            self.step()

    def network(self) -> CubeValue:
        """The network as it is now, on its own."""
        net = copy.deepcopy(self.learner.write(self.learner.tensors()))
        return CubeValue(self.spec, self.member.arm, self.config, net, self.member.seed)

    def arrays(self) -> dict[str, AnyArray]:
        """Everything needed to go on, as plain arrays."""
        out = self.learner.arrays()
        out |= {f"target/{name}": t.cpu().numpy() for name, t in self.target.items()}
        return out | {
            "counters": np.array([self.iteration, self.copies], dtype=np.int64),
            "losses": np.array(self._losses, dtype=np.float64),
            "rows": np.array(self._rows, dtype=np.float64).reshape(-1, len(_COLUMNS)),
        }

    def restore(self, arrays: Mapping[str, AnyArray]) -> DaviRun:
        """Go on from the arrays of a run of the same configuration, bit for bit."""
        missing = [name for name in (*(f"target/{k}" for k in self.target), "counters", "losses", "rows")
                   if name not in arrays]  # fmt: skip
        if missing:
            raise InvalidParameter(f"these arrays do not belong to this run: {missing[0]} is missing")
        self.learner.restore(arrays)
        self.target = {name: self.learner._tensor(arrays[f"target/{name}"]) for name in self.target}
        self.iteration, self.copies = (int(x) for x in arrays["counters"])
        self._losses = [float(x) for x in arrays["losses"]]
        self._rows = [tuple(row) for row in np.asarray(arrays["rows"]).tolist()]
        self._folded = None
        self.source.forget()
        return self

    @property
    def identity(self) -> str:
        """What a checkpoint must agree on before it may be resumed."""
        cube = {"n": self.spec.n, "turns": self.spec.turns, "goal": self.spec.goal}
        return json.dumps({"davi": self.config.to_json(), "spec": cube, "member": self.member.name})

    def save(self, path: str | Path) -> Path:
        """Write a checkpoint atomically; the one before it stays beside it."""
        return write_checkpoint(path, self.arrays(), self.identity)

    def load(self, path: str | Path) -> DaviRun:
        """Go on from a checkpoint of exactly this run; if it is damaged, from the one before, with a warning."""
        expected = {k: None if k in ("losses", "rows") else v for k, v in self.arrays().items()}
        return self.restore(read_checkpoint(path, expected, self.identity))


def train(
    config: DaviConfig,
    spec: CubeSpec,
    members: Sequence[Member],
    *,
    device: str = "auto",
    checkpoint: str | Path | None = None,
    every: int = 100,
    progress: Callable[[Progress], object] | None = None,
) -> list[DaviRun]:
    """Train members to the budget of the config; their finished runs, in their order.

    Args:
        config: What to run.
        spec: On which cube.
        members: Seeds and arms.
        device: ``cpu``, ``cuda`` or ``auto``.
        checkpoint: Folder for checkpoints; those in it are resumed.
        every: Updates between checkpoints and reports of progress.
        progress: Called every so many updates.

    >>> (run,) = train(DaviConfig.preset("smoke", states=2_000), CubeSpec(3), [Member(0, "position")], device="cpu")
    >>> run.done, run.network().value_fn(np.zeros((2, 3, 54), np.uint8)).shape
    (True, (2, 3))
    """
    if len(set(members)) != len(members):
        raise InvalidParameter("a member is listed twice: give distinct (seed, arm) pairs")
    if every < 1:
        raise InvalidParameter(f"every is {every}: give at least 1")
    where = choose_device(device)
    done = []
    for member in members:
        run = DaviRun(config, spec, member, device=where)
        path = Path(checkpoint) / f"davi-{member.name}.npz" if checkpoint is not None else None
        if path is not None and exists(path):
            run.load(path)
        while not run.done:
            run.advance(every)
            if path is not None:
                run.save(path)
            if progress is not None:
                loss = run._losses[-1] if run._losses else run._rows[-1][2]
                progress(Progress(member, run.states, config.states, loss, run.copies))
        done.append(run)
    return done


def fit_values(
    states: AnyArray,
    labels: ArrayLike,
    spec: CubeSpec,
    arm: str = "baseline",
    *,
    updates: int = 600,
    config: DaviConfig | None = None,
    seed: int = 0,
    anneal: bool = True,
    device: str = "cpu",
    progress: Callable[[int, float], object] | None = None,
) -> CubeValue:
    """Regress a network on given values, with the network, optimizer and arms of value iteration.

    Args:
        states: uint8, ``(count, 6n²)``.
        labels: The value of each.
        spec: The cube.
        arm: One of ``ARMS``.
        updates: Minibatches of ``config.batch``.
        config: Network and optimizer (default: preset ``laptop``).
        seed: Of initial weights, order of states, and augmentation.
        anneal: Whether the learning rate falls linearly to zero over the updates.
        device: ``cpu``, ``cuda`` or ``auto``.
        progress: Called with the updates made and the loss.

    >>> states, labels = np.zeros((40, 54), dtype=np.uint8), np.ones(40)
    >>> value = fit_values(states, labels, CubeSpec(3), updates=5, config=DaviConfig.preset("smoke", batch=20))
    >>> value.arm, value.value_fn(states).shape
    ('baseline', (40,))
    """
    settings = config or DaviConfig.preset("laptop")
    if updates < 1:
        raise InvalidParameter(f"updates is {updates}: give at least 1")
    member = Member(seed, arm)
    source = ExactLabels(settings, spec, member, states, labels)
    learner = ValueLearner(make_network(settings, spec, arm, [seed]), choose_device(device))
    for i in range(updates):
        rate = settings.rate(i) * ((1.0 - i / updates) if anneal else 1.0)
        loss = learner.step(*source.batch(i), rate)
        if progress is not None:
            progress(i + 1, loss)
    return CubeValue(spec, arm, settings, learner.write(learner.tensors()), seed)
