"""Q-networks in torch: for GPUs, 3D encoders and equivariant networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from burnside._types import AnyArray, FloatArray, IntArray
from burnside.agents.common.adam import Parameters
from burnside.agents.common.objectives import td_loss, td_target
from burnside.agents.common.torch_networks import Memory, TorchNetworks
from burnside.agents.dqn.config import DQNConfig
from burnside.agents.dqn.kernels import Replay
from burnside.envs.ring.core import RingSpec
from burnside.nn._torch import torch
from burnside.nn.ring_networks import RingNetwork

__all__ = ["TorchQ"]


class TorchQ(TorchNetworks):
    """The Q-networks of members on rings; a :class:`~burnside.agents.dqn.networks.QNetworks`.

    The target network does not change between syncs, so a single member keeps the features of every board it has met.
    """

    def __init__(
        self,
        config: DQNConfig,
        spec: RingSpec,
        seeds: Sequence[int],
        *,
        equivariant: bool = False,
        device: torch.device | None = None,
    ) -> None:
        """Drawn as the compiled ones, from stream INIT of the seeds."""
        net = RingNetwork(spec, config.encoder, config.hidden, {"q": spec.n_actions}, seeds, equivariant)
        super().__init__(net, device)
        self.config = config
        self.target: Parameters = {name: p.clone() for name, p in self.params.items()}
        self.memory: Memory = {}

    @torch.no_grad()
    def values(self, who: IntArray, obs: AnyArray) -> AnyArray:
        """See :class:`~burnside.agents.dqn.networks.QNetworks`."""
        (q,) = self.outputs(self.params, self.everyone(who, obs))
        return np.asarray(q.cpu().numpy()[who])

    def update(self, who: IntArray, replay: Replay, slots: IntArray, made: IntArray) -> FloatArray:
        """See :class:`~burnside.agents.dqn.networks.QNetworks`."""
        rows = np.arange(self.members)[:, None], self.everyone(who, slots)
        batch = Replay(*(array[rows] for array in replay))
        if len(self.memory) > self.config.capacity:  # it would grow without limit where boards change at every step
            self.memory.clear()
        with torch.no_grad():
            (later,) = self.outputs(self.target, batch.after, self.memory)
            (chooser,) = self.outputs(self.params, batch.after) if self.config.double else (later,)
            best = torch.gather(later, 2, chooser.argmax(dim=-1, keepdim=True))[:, :, 0]
            goal = td_target(self.tensor(batch.reward), self.tensor(batch.terminated), best, self.config.gamma)
        action, losses = self.tensor(batch.action)[:, :, None], torch.zeros(0)

        def objective(params: Parameters) -> torch.Tensor:
            nonlocal losses
            (q,) = self.outputs(params, batch.obs)
            losses = td_loss(torch.gather(q, 2, action)[:, :, 0], goal, self.config.loss)
            return losses

        self.descend(objective, self.config.learning_rate, who)
        return np.asarray(losses.detach().cpu().numpy()[who], dtype=np.float64)

    def sync(self, who: IntArray) -> None:
        """See :class:`~burnside.agents.dqn.networks.QNetworks`."""
        chosen = self.mask(who)
        for name, p in self.params.items():
            self.target[name] = torch.where(chosen.reshape(-1, *[1] * (p.ndim - 1)), p, self.target[name])
        self.memory.clear()

    def tensors(self) -> dict[str, Parameters]:
        """Everything that a checkpoint holds, by name, but for the memory."""
        return {**super().tensors(), "target": self.target}

    def arrays(self) -> dict[str, AnyArray]:
        """Everything needed to resume, the memory too: its bits depend on which boards were encoded together."""
        boards = np.frombuffer(b"".join(self.memory), dtype=np.float32).reshape(-1, self.net.context)
        features = np.array([row.cpu().numpy() for row in self.memory.values()], dtype=np.float32)
        kept = {"memory/boards": boards, "memory/features": features.reshape(-1, self.net.features)}
        return super().arrays() | kept

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Resume from them."""
        super().restore(arrays)
        boards, features = (np.ascontiguousarray(arrays[f"memory/{name}"]) for name in ("boards", "features"))
        self.memory = {board.tobytes(): self.tensor(row) for board, row in zip(boards, features, strict=True)}
