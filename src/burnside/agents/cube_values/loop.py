"""Deep approximate value iteration, and regression on exact values: the same learner with other labels.

Members are trained one after the other. On one core an update of four networks in one product took 212 ms against 209
one by one (512/256, batch 1000; 45 against 51 at 256/128, batch 500), and gave other bits: alone, a member's bits
cannot depend on its company.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from burnside._types import AnyArray, ArrayLike, FloatArray, IntArray
from burnside.agents.common.adam import Parameters
from burnside.agents.common.checkpoint import check_arrays
from burnside.agents.common.devices import choose_device
from burnside.agents.common.members import Member
from burnside.agents.common.training import Budget
from burnside.agents.cube_values.config import DaviConfig
from burnside.agents.cube_values.labels import BellmanLabels, ExactLabels
from burnside.agents.cube_values.learner import ValueLearner
from burnside.agents.cube_values.network import CubeValue, make_network
from burnside.envs.cube.core import CubeSpec
from burnside.errors import InvalidParameter
from burnside.nn._torch import torch
from burnside.nn.residual import FoldedValue

__all__ = ["DaviLog", "DaviRun", "fit_values"]

_COLUMNS = ("states", "loss", "last_loss", "copies")


@dataclass(frozen=True)
class DaviLog:
    """What a run did, one entry per finished round.

    Attributes:
        states: States up to and including it.
        loss: Mean loss of its updates.
        last_loss: Loss of its last minibatch, which decides on the copy.
        copies: How often the target network has been replaced, up to and including it.
    """

    states: IntArray
    loss: FloatArray
    last_loss: FloatArray
    copies: IntArray


class DaviRun:
    """One member's training: advance it, save it, resume it, take its network.

    >>> run = DaviRun(DaviConfig.preset("smoke", states=2_400), CubeSpec(2), Member(0, "conjugation"))
    >>> run.run(11); run.states, run.copies
    (2200, 1)
    >>> again = DaviRun(run.config, run.spec, run.member).restore(run.arrays())
    >>> run.run(); again.run(); run.done
    True
    >>> bool((run.network().value_fn(np.zeros((1, 24), np.uint8))
    ...       == again.network().value_fn(np.zeros((1, 24), np.uint8))).all())
    True
    """

    def __init__(
        self, config: DaviConfig, spec: CubeSpec, member: Member, *, device: torch.device | str = "cpu"
    ) -> None:
        """Before the first update; the target network is zero."""
        self.config, self.spec, self.member, self.members = config, spec, member, [member]
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
    def last_loss(self) -> float:
        """Of the last update."""
        return self._losses[-1] if self._losses else self._rows[-1][2]

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

    def advance(self, budget: Budget) -> bool:
        """Up to twenty updates towards a number of states (its steps), but never beyond the budget of the config."""
        left = -(-((budget.steps or 0) - self.states) // self.config.batch)
        if left <= 0 or self.done:
            return False
        self.run(min(20, left))
        return True

    def run(self, iterations: int | None = None) -> None:
        """That many updates (default: all that are left), but never beyond the budget of the config."""
        left = self.config.iterations - self.iteration
        for _ in range(left if iterations is None else min(iterations, left)):
            self.step()

    def network(self) -> CubeValue:
        """The network as it is now, on its own."""
        net = copy.deepcopy(self.learner.write(self.learner.tensors()))
        return CubeValue(self.spec, self.member.arm, self.config, net, self.member.seed)

    def arrays(self) -> dict[str, AnyArray]:
        """Everything needed to resume, as plain arrays."""
        out = self.learner.arrays()
        out |= {f"target/{name}": t.cpu().numpy() for name, t in self.target.items()}
        return out | {
            "counters": np.array([self.iteration, self.copies], dtype=np.int64),
            "losses": np.array(self._losses, dtype=np.float64),
            "rows": np.array(self._rows, dtype=np.float64).reshape(-1, len(_COLUMNS)),
        }

    def restore(self, arrays: Mapping[str, AnyArray]) -> DaviRun:
        """Resume from the arrays of a run of the same configuration, bit for bit."""
        check_arrays(self.arrays(), arrays)
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
