"""Training on walks: one member, advanced update by update, resumable to the same bits."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping

import numpy as np

from burnside._types import AnyArray
from burnside.agents.common.adam import AdamState, adam
from burnside.agents.common.checkpoint import check_arrays
from burnside.agents.common.members import Member
from burnside.agents.common.training import Budget
from burnside.agents.cube_walks.config import WalkConfig
from burnside.agents.cube_walks.network import CubePolicy, make_net
from burnside.agents.cube_walks.walks import ArmForm
from burnside.envs.cube.core import CubeSpec
from burnside.nn._torch import torch

__all__ = ["WalkRun"]

_REPORTED = 50  # updates over which the loss that is shown is averaged


class WalkRun:
    """One member's training: advance it, save it, resume it, take its network.

    >>> run = WalkRun(WalkConfig.preset("smoke", states=1024), CubeSpec(3), Member(0, "equivariant"))
    >>> run.run(2); run.states
    512
    >>> again = WalkRun(run.config, run.spec, run.member).restore(run.arrays())
    >>> run.run(); again.run(); run.done
    True
    >>> start = run.form.world.goals
    >>> bool((run.network()(start)[0] == again.network()(start)[0]).all())
    True
    """

    def __init__(self, config: WalkConfig, spec: CubeSpec, member: Member, *, plain: bool = False) -> None:
        """Before the first update."""
        self.config, self.spec, self.member, self.members = config, spec, member, [member]
        self.form = ArmForm(config, spec, member.arm)
        self.net = make_net(config, self.form, member.seed, plain=plain).train()
        self.named = dict(self.net.named_parameters())
        zeros = [{name: torch.zeros_like(p) for name, p in self.named.items()} for _ in range(2)]
        self.opt = AdamState(zeros[0], zeros[1], torch.zeros(1, dtype=torch.int64))
        self.update = 0
        self._losses: list[float] = []

    @property
    def states(self) -> int:
        """States so far."""
        return self.update * self.config.batch

    @property
    def done(self) -> bool:
        """Whether the budget is spent."""
        return self.update >= self.config.updates

    @property
    def loss(self) -> float:
        """The cross-entropy of last turns, averaged over the last updates; NaN before the first."""
        return float(np.mean(self._losses)) if self._losses else float("nan")

    def step(self) -> float:
        """One update; returns the cross-entropy."""
        config = self.config
        states, labels, lengths = self.form.batch(self.member, self.update)
        scores, found = self.net(states)
        sides = scores.reshape(len(states) * config.sides, -1)
        turns = torch.nn.functional.cross_entropy(sides, torch.from_numpy(labels.reshape(-1)))
        far = torch.from_numpy((lengths / config.walk).astype(np.float32))
        loss = turns + config.length_weight * (found - far).square().mean()
        grads = torch.autograd.grad(loss, list(self.named.values()))
        with torch.no_grad():
            current = {name: p.detach() for name, p in self.named.items()}
            new, self.opt = adam(current, dict(zip(current, grads, strict=True)), self.opt, config.rate(self.update))
            for name, p in self.named.items():
                p.copy_(new[name])
        self.update += 1
        self._losses = [*self._losses[1 - _REPORTED :], float(turns.detach())]
        return self._losses[-1]

    def run(self, updates: int | None = None) -> None:
        """That many updates (default: all that are left), but never beyond the budget of the config."""
        left = self.config.updates - self.update
        for _ in range(left if updates is None else min(updates, left)):
            self.step()

    def advance(self, budget: Budget) -> bool:
        """Up to twenty updates towards a number of states (its steps), but never beyond the budget of the config."""
        left = -(-((budget.steps or 0) - self.states) // self.config.batch)
        if left <= 0 or self.done:
            return False
        self.run(min(20, left))
        return True

    def network(self) -> CubePolicy:
        """The network as it is now, on its own."""
        return CubePolicy(self.spec, self.member.arm, self.config, copy.deepcopy(self.net), self.member.seed)

    def arrays(self) -> dict[str, AnyArray]:
        """Everything needed to resume, as plain arrays."""
        out = {f"net/{name}": t.detach().numpy().copy() for name, t in self.net.state_dict().items()}
        for part, tensors in (("m", self.opt.m), ("v", self.opt.v)):
            out |= {f"adam/{part}/{name}": t.numpy().copy() for name, t in tensors.items()}
        losses = np.full(_REPORTED, np.nan)
        losses[: len(self._losses)] = self._losses
        return out | {"counters": np.array([self.update, int(self.opt.t)]), "losses": losses}

    def restore(self, arrays: Mapping[str, AnyArray]) -> WalkRun:
        """Resume from the arrays of a run of the same configuration, bit for bit."""
        check_arrays(self.arrays(), arrays)
        own = {name: torch.from_numpy(np.array(arrays[f"net/{name}"])) for name in self.net.state_dict()}
        self.net.load_state_dict(own)
        m, v = (
            {name: torch.from_numpy(np.array(arrays[f"adam/{part}/{name}"])) for name in self.named}
            for part in ("m", "v")
        )
        self.update, count = (int(x) for x in arrays["counters"])
        self.opt = AdamState(m, v, torch.tensor([count]))
        losses = np.asarray(arrays["losses"])
        self._losses = [float(x) for x in losses[~np.isnan(losses)]]
        return self

    @property
    def identity(self) -> str:
        """What a checkpoint must agree on before it may be resumed."""
        cube = {"n": self.spec.n, "turns": self.spec.turns, "goal": self.spec.goal}
        return json.dumps({"walks": self.config.to_json(), "spec": cube, "member": self.member.name})
