"""DQN and PPO behind one face: advance a little, count episodes, evaluate, give and take the whole state as arrays.

On a CPU every seed has a block of its own (its encoder looks at each distinct board once); on a GPU the seeds of a cell
are one block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from burnside._random import Stream, randint, uniform
from burnside._types import AnyArray, IntArray
from burnside.agents.dqn.checkpoint import from_bytes, to_bytes
from burnside.agents.dqn.config import DQNConfig, Member
from burnside.agents.ppo.config import PPOConfig
from burnside.agents.ppo.frames import Action, Episodes, held_out, play
from burnside.envs.ring.core import RingSpec
from burnside.errors import UnknownName

__all__ = ["DQNLearner", "History", "Learner", "PPOLearner", "make_learners"]

#: Environment steps of DQN between looks at the clock, the budget and the evaluations.
TICKS = 128


class History(Protocol):
    """What the logs of both algorithms have."""

    @property
    def returns(self) -> AnyArray:
        """Per training episode."""
        ...

    @property
    def lengths(self) -> AnyArray:
        """Per training episode."""
        ...

    @property
    def steps(self) -> AnyArray:
        """Environment steps up to and including each episode."""
        ...

    @property
    def updates(self) -> AnyArray:
        """Updates up to each episode."""
        ...


class Learner(Protocol):
    """A block of members in training."""

    members: list[Member]

    def advance(self) -> bool:
        """Go on a little; False if all members have their episodes."""
        ...

    def episodes(self) -> IntArray:
        """Finished episodes of every member, at most the budget."""
        ...

    def history(self, m: int) -> History:
        """What a member did so far."""
        ...

    def evaluate(self, m: int, boards: int, greedy: bool) -> Episodes:
        """Play held-out boards, greedily or as in training."""
        ...

    def arrays(self) -> dict[str, AnyArray]:
        """The whole state."""
        ...

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Take a state."""
        ...


class PPOLearner:
    """A block of PPO; one step forward is one rollout with its updates."""

    def __init__(self, config: PPOConfig, spec: RingSpec, members: Sequence[Member], budget: int, device: str) -> None:
        """Members before their first rollout."""
        from burnside.agents.dqn.torch_engine import choose_device
        from burnside.agents.ppo.block import PPOBlock

        self.block = PPOBlock(config, spec, members, device=choose_device(device))
        self.members, self.budget = list(members), budget

    def advance(self) -> bool:
        """A rollout of those who are short of episodes."""
        return bool(self.block.iterate(self.budget))

    def episodes(self) -> IntArray:
        """At most the budget: a rollout is never cut short, what it plays beyond is not counted."""
        return np.minimum(self.block.episodes, self.budget)

    def history(self, m: int) -> History:
        """The log up to the budget."""
        return self.block.log(m, self.budget)

    def evaluate(self, m: int, boards: int, greedy: bool) -> Episodes:
        """The likeliest action, or one drawn from the policy."""
        return self.block.evaluate(m, boards, greedy=greedy)

    def arrays(self) -> dict[str, AnyArray]:
        """Those of the block."""
        return self.block.arrays()

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Into the block."""
        self.block.restore(arrays)


class DQNLearner:
    """A block of DQN; one step forward is ``TICKS`` environment steps."""

    def __init__(self, config: DQNConfig, spec: RingSpec, members: Sequence[Member], budget: int, device: str) -> None:
        """Members before their first step."""
        from burnside.agents.dqn.torch_engine import TorchBlock, choose_device

        self.block = TorchBlock(config, spec, members, budget, device=choose_device(device))
        self.members, self.spec, self.config = list(members), spec, config

    def advance(self) -> bool:
        """Some environment steps with their updates."""
        for _ in range(TICKS):
            if not self.block.active.any():
                break
            self.block.tick()
        return bool(self.block.active.any())

    def episodes(self) -> IntArray:
        """As counted by the block."""
        return np.array([len(log.returns) for log in self.block.logs()])

    def history(self, m: int) -> History:
        """The log."""
        return self.block.logs()[m]

    def evaluate(self, m: int, boards: int, greedy: bool) -> Episodes:
        """The greedy action, or with the least ε of training a random one."""
        import torch

        from burnside.agents.dqn.torch_update import encode, head

        block, spec, seed = self.block, self.spec, held_out()
        params = {name: p[m : m + 1] for name, p in block.params.items()}
        rows = np.arange(boards) * spec.time_limit
        epsilon = 0.0 if greedy else self.config.epsilon_end

        def tensor(array: AnyArray) -> torch.Tensor:
            return torch.from_numpy(np.ascontiguousarray(array)).to(block.device)

        def policy(seen: AnyArray) -> Action:
            with torch.no_grad():
                features = encode(block.net, params, tensor(seen[None]))

            def act(pos: IntArray, t: int) -> IntArray:
                with torch.no_grad():
                    q = head(block.net, params, features, tensor(pos[None]))
                best = np.asarray(q[0].argmax(dim=-1).cpu().numpy())
                explores = uniform(seed, Stream.POLICY, 2 * (rows + t)) < epsilon
                return np.where(explores, randint(seed, Stream.POLICY, 2 * (rows + t) + 1, spec.n_actions), best)

            return act

        return play(spec, self.members[m].condition, policy, boards)

    def arrays(self) -> dict[str, AnyArray]:
        """The checkpoint file of the block, as bytes: its own format, which checks what it reads."""
        return {"file": to_bytes(self.block.save)}

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Read those bytes back."""
        from_bytes(self.block.load, arrays["file"])


def make_learners(
    algorithm: str, agent: Mapping[str, Any], spec: RingSpec, members: Sequence[Member], budget: int, device: str
) -> list[Learner]:
    """The learners of a cell: one per seed on a CPU, one for all on a GPU."""
    size = 1 if device == "cpu" else len(members)
    groups = [members[i : i + size] for i in range(0, len(members), size)]
    if algorithm == "dqn":
        return [DQNLearner(DQNConfig(**agent), spec, group, budget, device) for group in groups]
    if algorithm == "ppo":
        return [PPOLearner(PPOConfig(**agent), spec, group, budget, device) for group in groups]
    raise UnknownName("algorithm", algorithm, ("dqn", "ppo"))
