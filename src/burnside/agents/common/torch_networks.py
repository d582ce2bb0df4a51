"""The networks of members in torch: parameters with a leading member axis, Adam, and observations passed through them.

What DQN and PPO have in common where their networks are :class:`~burnside.nn.ring_networks.RingNetwork`. All members
are one product, also those that wait (a mask keeps their parameters): matrix kernels may choose their
order of summation by the size of the batch, and a member's bits must not depend on who has finished. A single member,
as on a CPU, has every distinct board encoded once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from burnside._types import AnyArray, IntArray
from burnside.agents.common.adam import AdamState, Parameters, adam, new_adam
from burnside.agents.common.objectives import clip_gradients
from burnside.nn._torch import torch
from burnside.nn.ring_networks import RingNetwork

__all__ = ["Memory", "TorchNetworks"]

#: The features of boards under one set of parameters, by the bytes of the board.
Memory = dict[bytes, torch.Tensor]


class TorchNetworks:
    """The networks of all members of a learner."""

    def __init__(self, net: RingNetwork, device: torch.device | None = None) -> None:
        """With the parameters the network was made with."""
        self.device = device or torch.device("cpu")
        self.net = net.to(self.device)
        self.params: Parameters = {name: p.detach().clone() for name, p in self.net.named_parameters()}
        self.opt = new_adam(self.params)
        self.members = int(self.opt.t.shape[0])
        self.shares = self.members == 1 and net.encoder is not None

    def tensor(self, array: AnyArray) -> torch.Tensor:
        """An array where the networks are."""
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    def everyone(self, who: IntArray, given: AnyArray) -> AnyArray:
        """Rows of the members ``who`` as rows of all members, zeros for those that wait."""
        if len(who) == self.members:
            return given
        out = np.zeros((self.members, *given.shape[1:]), dtype=given.dtype)
        out[who] = given
        return out

    def outputs(self, params: Parameters, obs: AnyArray, memory: Memory | None = None) -> tuple[torch.Tensor, ...]:
        """The outputs for observations ``(members, rows, obs_dim)``.

        Boards that ``memory`` holds are not encoded again; without one, every distinct board is encoded once. Several
        members share nothing.
        """
        boards, place = obs[..., : self.net.context], self.net.places(self.tensor(obs))
        if not self.shares or len(obs) > 1:
            features = self.net.encode(params, self.tensor(boards))
        else:
            features = self._shared(params, boards, memory)[None]
        return self.net.head(params, features, place)

    def _shared(self, params: Parameters, boards: AnyArray, memory: Memory | None) -> torch.Tensor:
        """The features of the boards of a single member, each distinct one encoded at most once."""
        keys = [board.tobytes() for board in boards[0]]
        new = {key: row for row, key in enumerate(keys) if memory is None or key not in memory}
        made = self.net.encode(params, self.tensor(boards[:, list(new.values())]))[0] if new else torch.zeros(0)
        if memory is None:
            position = {key: row for row, key in enumerate(new)}
            return made[[position[key] for key in keys]]
        memory.update(zip(new, made.unbind(), strict=True))
        return torch.stack([memory[key] for key in keys])

    def member(self, m: int) -> Callable[[AnyArray], tuple[AnyArray, ...]]:
        """The outputs of one member as a function of observations ``(rows, obs_dim)``, as its network is now."""
        params = {name: p[m : m + 1] for name, p in self.params.items()}
        memory: Memory = {}

        @torch.no_grad()
        def outputs(obs: AnyArray) -> tuple[AnyArray, ...]:
            return tuple(found[0].cpu().numpy() for found in self.outputs(params, obs[None], memory))

        return outputs

    def descend(
        self, objective: Callable[[Parameters], torch.Tensor], rate: float, who: IntArray, clip: float | None = None
    ) -> None:
        """One step of Adam for the members ``who`` down the gradient of a loss per member.

        Members do not mix, so the gradient of the sum of their losses is each member's own gradient.
        """
        leaves = {name: p.detach().requires_grad_() for name, p in self.params.items()}
        grads = torch.autograd.grad(objective(leaves).sum(), list(leaves.values()))
        with torch.no_grad():
            named = dict(zip(leaves, grads, strict=True))
            slopes = named if clip is None else clip_gradients(named, clip)
            mask = None if len(who) == self.members else self.mask(who)
            self.params, self.opt = adam({k: p.detach() for k, p in leaves.items()}, slopes, self.opt, rate, mask)

    def mask(self, who: IntArray) -> torch.Tensor:
        """True for the members ``who``."""
        chosen = np.zeros(self.members, dtype=np.bool_)
        chosen[who] = True
        return self.tensor(chosen)

    def tensors(self) -> dict[str, Parameters]:
        """Everything that a checkpoint holds, by name."""
        return {"params": self.params, "m": self.opt.m, "v": self.opt.v, "t": {"t": self.opt.t}}

    def arrays(self) -> dict[str, AnyArray]:
        """Everything needed to resume."""
        parts = self.tensors().items()
        return {f"{part}/{name}": t.cpu().numpy() for part, tensors in parts for name, t in tensors.items()}

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Resume from them."""
        for part, home in self.tensors().items():
            for name in home:
                home[name] = self.tensor(np.array(arrays[f"{part}/{name}"]))
                if part == "t":
                    self.opt = AdamState(self.opt.m, self.opt.v, home[name])
