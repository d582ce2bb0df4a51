"""Imitation by flow matching: batches in counter-based order, AdamW, and an average of the parameters to act with."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from burnside._configs import Config
from burnside._random import Stream, normal, randint, uniform
from burnside._types import AnyArray
from burnside.errors import InvalidParameter, UnknownName
from burnside.nn._torch import torch
from burnside.nn.flow.optim import module_arrays, optimizer_arrays, restore_module, restore_optimizer
from burnside.nn.flow.policy import FlowPolicy

__all__ = ["Imitation", "ImitationConfig"]

#: The number of chunks before, observations and actions, to the observations and actions that are learned from.
Augment = Callable[[int, dict[str, AnyArray], AnyArray], tuple[dict[str, AnyArray], AnyArray]]

_TIMES = ("uniform", "beta", "grid")


@dataclass(frozen=True)
class ImitationConfig(Config):
    """Hyperparameters of imitation.

    Attributes:
        steps: Updates in all.
        batch: Chunks per update, drawn with replacement.
        learning_rate: Of AdamW, after the warm-up and before the cosine fall to zero at ``steps``.
        warmup: Updates over which the rate rises linearly.
        weight_decay: Of AdamW, with β = (0.9, 0.95) as ManiFlow.
        ema: The average moves by at most 1 − this per update, by (9 / (10 + n)) early on; 0 switches it off.
        grad_clip: Greatest norm of the gradient.
        time: ``uniform``; ``beta``: the noise left is Beta(1.5, 1), more often early in the flow (as π0); or ``grid``:
            only the times at which the sampler asks for the velocity.

    >>> ImitationConfig(steps=500).batch
    256
    """

    steps: int = 2000
    batch: int = 256
    learning_rate: float = 1e-3
    warmup: int = 100
    weight_decay: float = 1e-3
    ema: float = 0.999
    grad_clip: float = 1.0
    time: str = "uniform"

    def __post_init__(self) -> None:
        """Refuse what makes no sense, in one sentence."""
        if self.time not in _TIMES:
            raise UnknownName("distribution of times", self.time, _TIMES)
        if self.steps < 1 or self.batch < 1 or self.warmup < 0 or not self.learning_rate > 0 or not self.grad_clip > 0:
            raise InvalidParameter("steps, batch, learning_rate and grad_clip must be positive, warmup at least 0")
        if not 0 <= self.ema < 1 or not self.weight_decay >= 0:
            raise InvalidParameter(f"ema {self.ema} must lie in [0, 1) and weight_decay {self.weight_decay} be ≥ 0")

    def rate(self, step: int) -> float:
        """The learning rate of update ``step`` (from 0)."""
        if step < self.warmup:
            return self.learning_rate * (step + 1) / self.warmup
        share = (step - self.warmup) / max(1, self.steps - self.warmup)
        return self.learning_rate * 0.5 * (1 + float(np.cos(np.pi * min(1.0, share))))


class Imitation:
    """Training of a policy on chunks, between two updates; can be stopped and resumed to the same bits.

    >>> from burnside.nn.flow import FlowConfig
    >>> policy = FlowPolicy(FlowConfig.preset("tiny", encoder="state"))
    >>> seen, done = {"state": np.zeros((9, 2, 8))}, np.zeros((9, *policy.config.chunk))
    >>> training = Imitation(policy, ImitationConfig(steps=5, batch=4), seen, done)
    """

    def __init__(
        self,
        policy: FlowPolicy,
        config: ImitationConfig,
        observations: Mapping[str, AnyArray],
        actions: AnyArray,
        seed: int = 0,
        *,
        fit_normalisation: bool = True,
        scales: Mapping[str, AnyArray] | None = None,
        augment: Augment | None = None,
    ) -> None:
        """Before the first update.

        Args:
            policy: Trained in place.
            config: Hyperparameters.
            observations: ``state`` ``(chunks, n_obs, obs_dim)`` and perhaps ``cloud``.
            actions: ``(chunks, horizon, act_dim)`` in the world's units.
            seed: Of order, noise and times.
            fit_normalisation: Whether the policy's normalisation is taken from these data.
            scales: See :meth:`FlowPolicy.fit_normalisation`.
            augment: Changes every batch before it is learned from; a function of the number of chunks before it.
        """
        expected = policy.config.chunk
        if np.ndim(actions) != 3 or np.shape(actions)[1:] != expected or not len(actions):
            raise InvalidParameter(
                f"actions have shape {np.shape(actions)}: give (chunks, {expected[0]}, {expected[1]})"
            )
        if any(len(array) != len(actions) for array in observations.values()):
            raise InvalidParameter("observations and actions must have the same number of chunks")
        if not np.isfinite(actions).all():
            raise InvalidParameter("actions hold numbers that are not finite: clean the demonstrations first")
        self.policy, self.config, self.seed = policy, config, seed
        if fit_normalisation:
            seen, done = (dict(observations), actions) if augment is None else augment(0, dict(observations), actions)
            cloud = seen.get("cloud") if policy.config.encoder == "cloud" else None
            policy.fit_normalisation(seen["state"], done, cloud, scales)
        policy.observation(observations)  # refuses bad data now, not in the middle
        self.observations = {name: np.asarray(array, dtype=np.float32) for name, array in observations.items()}
        self.actions = np.asarray(actions, dtype=np.float32)
        self.augment = augment
        self.average = copy.deepcopy(policy)
        trained = [p for name, p in policy.named_parameters() if not name.startswith("value_head.")]
        self.optimizer = torch.optim.AdamW(
            trained, lr=config.learning_rate, betas=(0.9, 0.95), weight_decay=config.weight_decay, fused=True
        )
        self._trained = trained
        self._followed: list[torch.Tensor] = list(policy.parameters())
        self._following: list[torch.Tensor] = list(self.average.parameters())
        self.step = 0
        self.losses: list[float] = []

    def update(self) -> float:
        """One update; returns its loss."""
        config, n = self.config, self.config.batch
        first = self.step * n
        rows = randint(self.seed, Stream.REPLAY, first + np.arange(n), len(self.actions))
        size = int(np.prod(self.policy.config.chunk))
        start = normal(self.seed, Stream.EXPLORE, first * size + np.arange(n * size)).astype(np.float32)
        u = uniform(self.seed, Stream.MISC, first + np.arange(n))
        t = 1.0 - u ** (1 / 1.5) if config.time == "beta" else u
        if config.time == "grid":
            t = np.floor(self.policy.config.steps * u) / self.policy.config.steps
        device = self.policy.device
        for group in self.optimizer.param_groups:
            group["lr"] = config.rate(self.step)
        seen, done = {name: array[rows] for name, array in self.observations.items()}, self.actions[rows]
        if self.augment is not None:
            seen, done = self.augment(len(self.actions) + first, seen, done)
        loss = self.policy.matching_loss(
            seen,
            torch.from_numpy(done).to(device),
            torch.from_numpy(start.reshape(n, *self.policy.config.chunk)).to(device),
            torch.from_numpy(t.astype(np.float32)).to(device),
        )
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._trained, config.grad_clip)
        self.optimizer.step()
        self.step += 1
        self._follow()
        self.losses.append(float(loss.detach()))
        return self.losses[-1]

    @torch.no_grad()
    def _follow(self) -> None:
        """Move the average towards the parameters."""
        move = 1.0 - min(self.config.ema, (1 + self.step) / (10 + self.step)) if self.config.ema else 1.0
        torch._foreach_lerp_(self._following, self._followed, move)

    def run(self, until: int | None = None, progress: Callable[[int, float], object] | None = None) -> FlowPolicy:
        """Train to ``until`` updates (default: all) and return the average, with which one acts."""
        end = self.config.steps if until is None else min(until, self.config.steps)
        while self.step < end:
            loss = self.update()
            if progress is not None:
                progress(self.step, loss)
        return self.average

    def arrays(self) -> dict[str, AnyArray]:
        """Everything needed to resume."""
        return (
            module_arrays(self.policy, "policy")
            | module_arrays(self.average, "average")
            | optimizer_arrays(self.optimizer, "adam")
            | {"step": np.array(self.step), "losses": np.array(self.losses)}
        )

    def restore(self, arrays: Mapping[str, AnyArray]) -> Imitation:
        """Go on from the arrays of the same training."""
        restore_module(self.policy, arrays, "policy")
        restore_module(self.average, arrays, "average")
        restore_optimizer(self.optimizer, arrays, "adam")
        self.step, self.losses = int(arrays["step"]), np.asarray(arrays["losses"]).tolist()
        return self
