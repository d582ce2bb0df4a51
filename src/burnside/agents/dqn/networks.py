"""What DQN asks of its Q-networks, and the compiled ones.

``torch_networks`` has those in torch. Either way there is one network per member, and beside it the target network.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from burnside._types import AnyArray, FloatArray, IntArray
from burnside.agents.common.arms import Use
from burnside.agents.dqn import kernels
from burnside.agents.dqn.config import DQNConfig
from burnside.errors import InvalidParameter
from burnside.nn import images, mlp, mlp_kernels

__all__ = ["CompiledQ", "QNetworks"]


class QNetworks(Protocol):
    """The Q-networks of members; ``who`` are positions of members, the leading axis of what is given for them."""

    def values(self, who: IntArray, obs: AnyArray) -> AnyArray:
        """Q of every action for observations ``(who, rows, obs_dim)``."""
        ...

    def member(self, m: int) -> Callable[[AnyArray], tuple[AnyArray, ...]]:
        """Q of one member as a function of observations ``(rows, obs_dim)``, as its network is now."""
        ...

    def update(self, who: IntArray, replay: kernels.Replay, slots: IntArray, made: IntArray) -> FloatArray:
        """One update on the transitions in ``slots`` ``(who, batch)``, after ``made`` earlier ones; their losses."""
        ...

    def sync(self, who: IntArray) -> None:
        """Copy networks into the target networks."""
        ...

    def arrays(self) -> dict[str, AnyArray]:
        """Everything needed to resume."""
        ...

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Resume from them."""
        ...


class CompiledQ:
    """Networks with two hidden layers on flat observations, compiled; :mod:`burnside.agents.dqn.plain` in numpy."""

    def __init__(
        self, config: DQNConfig, obs_dim: int, actions: int, seeds: Sequence[int], use: Use | None = None
    ) -> None:
        """Drawn as PyTorch's ``Linear`` draws its weights, from stream INIT of the seeds.

        ``use`` is what the networks and their updates do with a symmetry.
        """
        if any(width % mlp.COLUMNS for width in config.hidden) or config.encoder != "onehot":
            raise InvalidParameter(
                f"hidden {config.hidden} must be multiples of {mlp.COLUMNS}, and the encoder 'onehot' (the flat "
                f"observation), not {config.encoder!r}"
            )
        self.net = mlp.network(obs_dim, config.hidden, actions, relu=True)
        self.work, self.grad = mlp_kernels.scratch(self.net), np.zeros(self.net.end, dtype=np.float32)
        self.use, self.seeds = use, list(seeds)
        self._asked = images.ALONE if use is None else use.seen
        ties = images.FREE if use is None else use.ties(self.net.end, [(self.net, "observation", "action")])
        huber = config.loss == "huber"
        self.rules = kernels.Rules(config.gamma, config.learning_rate, huber, config.double, self._asked, ties)
        shape = (len(seeds), self.net.end)
        self.weights = kernels.Weights(*(np.zeros(shape, dtype=np.float32) for _ in range(4)))
        for m, seed in enumerate(seeds):
            drawn = mlp.linear_parameters(seed, (obs_dim, *config.hidden, actions))
            mlp.set_matrices(self.weights.w[m], self.net, drawn)
            images.begin(self.weights.w[m], ties)
        self._own = [kernels.Weights(*(array[m] for array in self.weights)) for m in range(len(seeds))]
        self._replay: kernels.Replay | None = None
        self._parts: list[kernels.Replay] = []
        self.sync(np.arange(len(seeds)))

    def values(self, who: IntArray, obs: AnyArray) -> AnyArray:
        """See :class:`QNetworks`."""
        count = self._asked.count
        out = np.zeros((len(obs), obs.shape[1] * count, self.net.outputs), dtype=np.float32)
        for k, m in enumerate(who):
            rows = obs[k] if self.use is None else self.use.images(obs[k])
            mlp_kernels.outputs(self.weights.w[m], self.net, self.work, rows, out[k])
        if self._asked.mode == images.AVERAGE:
            return np.stack([images.turned(each, self._asked) for each in out])
        return out[:, ::count]

    def member(self, m: int) -> Callable[[AnyArray], tuple[AnyArray, ...]]:
        """See :class:`QNetworks`."""
        return lambda obs: (self.values(np.array([m]), obs[None])[0],)

    def update(self, who: IntArray, replay: kernels.Replay, slots: IntArray, made: IntArray) -> FloatArray:
        """See :class:`QNetworks`."""
        if replay is not self._replay:  # a view of every member's part, made once: it costs as much as half an update
            self._replay = replay
            self._parts = [kernels.Replay(*(array[m] for array in replay)) for m in range(len(self.seeds))]
        losses = np.zeros(len(who))
        for k, m in enumerate(who.tolist()):
            batch = kernels.Batch(self._parts[m], slots[k])
            if self.use is not None and (self.use.augments or self.use.count > 1):
                batch = self._images(self.use, batch, self.seeds[m], int(made[k]) + 1)
            losses[k] = kernels.update(self._own[m], self.grad, batch, self.net, self.work, made[k] + 1, self.rules)
        return losses

    def _images(self, use: Use, batch: kernels.Batch, seed: int, update: int) -> kernels.Batch:
        """The transitions of a batch with their images: as more transitions, or as blocks of rows."""
        obs, after, action, *rest = (array[batch.slots] for array in batch.of)
        if use.count > 1:
            found = kernels.Replay(use.images(obs), use.images(after), action, *rest)
        else:
            (obs, after), moved = use.moved(seed, update * len(action), [obs, after], action)
            more = (np.tile(column, len(moved) // len(action)) for column in rest)
            found = kernels.Replay(np.ascontiguousarray(obs), np.ascontiguousarray(after), moved, *more)
        return kernels.Batch(found, np.arange(len(found.action)))

    def sync(self, who: IntArray) -> None:
        """See :class:`QNetworks`."""
        self.weights.target[who] = self.weights.w[who]

    def arrays(self) -> dict[str, AnyArray]:
        """See :class:`QNetworks`."""
        return {f"weights/{name}": array for name, array in self.weights._asdict().items()}

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """See :class:`QNetworks`."""
        for name, array in self.weights._asdict().items():
            array[...] = arrays[f"weights/{name}"]
