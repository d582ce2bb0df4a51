"""The flow policy: normalisation, encoder, trunk and value in one module, with files that hold all of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from burnside._random import Stream, hash_u64
from burnside._types import AnyArray
from burnside.errors import BurnsideError, DamagedFile, InvalidParameter, UnreadableFile
from burnside.nn._torch import torch
from burnside.nn.flow.chain import Shape, chain_log_prob, sample_chain, schedule
from burnside.nn.flow.config import FlowConfig
from burnside.nn.flow.encoders import Observation, make_encoder, resample_cloud
from burnside.nn.flow.trunks import AttentionPool, make_trunk
from burnside.nn.tensors import TensorFile, open_tensors, write_tensors

__all__ = ["Chain", "FlowPolicy", "load_policy", "save_policy"]

_FORMAT = "burnside-flow-1"


class Chain(NamedTuple):
    """What a decision was, rows ``(batch, …)``."""

    path: torch.Tensor  # (batch, steps + 1, horizon, act_dim), normalised
    log_prob: torch.Tensor
    which: torch.Tensor | None  # the noisy step, with ``single_step``


class FlowPolicy(torch.nn.Module):
    """A policy over action chunks; noise always comes from outside, so every function here is pure.

    Observations are mappings with ``state`` ``(batch, n_obs, obs_dim)`` and, for cloud encoders, ``cloud``
    ``(batch, n_obs, count, point_dim)``; numpy or torch.

    >>> policy = FlowPolicy(FlowConfig.preset("tiny", encoder="state"), seed=1)
    >>> noise = torch.randn(2, *policy.noise_shape)
    >>> actions = policy.act({"state": np.zeros((2, 2, 8))}, noise)
    >>> actions.shape
    torch.Size([2, 4, 3])
    """

    state_mean: torch.Tensor
    state_scale: torch.Tensor
    action_mean: torch.Tensor
    action_scale: torch.Tensor
    cloud_mean: torch.Tensor
    cloud_scale: torch.Tensor

    def __init__(self, config: FlowConfig, seed: int = 0) -> None:
        """A fresh policy; its parameters depend on the configuration and the seed."""
        super().__init__()
        self.config = config
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(hash_u64(seed, Stream.INIT, 0) >> np.uint64(1)))
            self.encoder = make_encoder(config)
            self.trunk = make_trunk(config, self.encoder.token_dim)
            self.value_head = AttentionPool(config, self.encoder.token_dim)
        for name, width in (("state", config.obs_dim), ("action", config.act_dim), ("cloud", config.point_dim)):
            self.register_buffer(f"{name}_mean", torch.zeros(width))
            self.register_buffer(f"{name}_scale", torch.ones(width))

    @property
    def noise_shape(self) -> tuple[int, int, int]:
        """Shape of the standard normal numbers one decision takes."""
        return (self.config.steps + 1, *self.config.chunk)

    @property
    def device(self) -> torch.device:
        """Where the policy is."""
        return self.state_mean.device

    # ------------------------------------------------------------------ normalisation

    @torch.no_grad()
    def fit_normalisation(
        self,
        state: AnyArray,
        actions: AnyArray,
        cloud: AnyArray | None = None,
        scales: Mapping[str, AnyArray] | None = None,
    ) -> FlowPolicy:
        """Take mean and deviation of observations, and middle and half range of actions, from data ``(…, width)``.

        A number that never changes keeps the scale 1. ``scales`` (of ``state``, ``action`` and ``cloud``, each
        ``(width,)``) are taken instead of deviations and ranges: the same for data that are spread differently.
        """
        pairs = [("state", state, False), ("action", actions, True)]
        for name, data, by_range in [*pairs, *([("cloud", cloud, False)] if cloud is not None else [])]:
            rows = np.asarray(data, dtype=np.float64).reshape(-1, np.shape(data)[-1])
            if not np.isfinite(rows).all():
                raise InvalidParameter(f"the {name} data hold numbers that are not finite: clean them first")
            if by_range:
                mean, scale = (rows.max(axis=0) + rows.min(axis=0)) / 2, (rows.max(axis=0) - rows.min(axis=0)) / 2
            else:
                mean, scale = rows.mean(axis=0), rows.std(axis=0)
            scale = np.where(scale < 1e-5, 1.0, scale)
            if scales is not None and name in scales:
                scale = np.asarray(scales[name], dtype=np.float64)
                if scale.shape != mean.shape or not (scale > 0).all():
                    raise InvalidParameter(f"the scales of {name} must be {len(mean)} positive numbers")
            getattr(self, f"{name}_mean").copy_(torch.from_numpy(mean))
            getattr(self, f"{name}_scale").copy_(torch.from_numpy(scale))
        return self

    def observation(self, given: Mapping[str, Any]) -> Observation:
        """Checked and normalised observations on the policy's device."""
        config = self.config
        wanted: dict[str, tuple[int, ...]] = {"state": (config.n_obs, config.obs_dim)}
        if config.encoder == "cloud":
            wanted["cloud"] = (config.n_obs, config.points, config.point_dim)
        out: Observation = {}
        for name, shape in wanted.items():
            if name not in given:
                raise InvalidParameter(f"the observation has no {name!r}, which the encoder {config.encoder!r} needs")
            found = given[name]
            if not isinstance(found, torch.Tensor):
                array = np.asarray(found, dtype=np.float32)
                if name == "cloud" and array.ndim == 4:
                    array = resample_cloud(array, config.points)
                found = torch.from_numpy(np.ascontiguousarray(array))
            found = found.to(self.device, torch.float32)
            if tuple(found.shape[1:]) != shape:
                raise InvalidParameter(f"{name} has shape {tuple(found.shape)}: the policy takes (batch, *{shape})")
            if not bool(torch.isfinite(found).all()):
                rows = torch.nonzero(~torch.isfinite(found).flatten(1).all(dim=1))[:, 0]
                raise InvalidParameter(
                    f"{name} of row {int(rows[0])} is NaN or infinite ({len(rows)} of {len(found)} rows): check what "
                    f"observes the scene"
                )
            out[name] = (found - getattr(self, f"{name}_mean")) / getattr(self, f"{name}_scale")
        return out

    def normalise_actions(self, actions: torch.Tensor) -> torch.Tensor:
        """Actions of the world to those of the flow."""
        return (actions - self.action_mean) / self.action_scale

    def executed(self, chunk: torch.Tensor) -> torch.Tensor:
        """The actions to execute of a chunk of the flow, ``(batch, n_act, act_dim)``, in the world's units."""
        first, last = self.config.window
        return chunk[:, first:last] * self.action_scale + self.action_mean

    # ------------------------------------------------------------------ the flow

    def encode(self, given: Mapping[str, Any]) -> torch.Tensor:
        """Context tokens ``(batch, tokens, token_dim)``."""
        return self.encoder(self.observation(given))

    def velocity(self, tokens: torch.Tensor, share: bool | None = None) -> Any:
        """A function of chunk and time; with ``share`` what depends on the context alone is computed now, once."""
        if self.config.share_context if share is None else share:
            memory = self.trunk.memory(tokens)
            return lambda x, t: self.trunk(x, t, memory)
        return lambda x, t: self.trunk(x, t, self.trunk.memory(tokens))

    def matching_loss(
        self, given: Mapping[str, Any], actions: torch.Tensor, start: torch.Tensor, t: torch.Tensor
    ) -> torch.Tensor:
        """Flow matching: mean squared error of the velocity at ``(1 − t) start + t actions`` against their difference.

        ``actions`` are in the world's units, ``(batch, horizon, act_dim)``; ``start`` is standard normal.
        """
        end = self.normalise_actions(actions)
        along = t.reshape(-1, 1, 1)
        found = self.velocity(self.encode(given))((1 - along) * start + along * end, t)
        return (found - (end - start)).square().mean()

    def noise_form(self) -> Shape:
        """How the noise of a step is spread over a chunk."""
        config, factor = self.config, None
        if config.grip_sigma > 0 and config.sigma > 0:
            factor = torch.ones(config.act_dim, device=self.device)
            factor[-1] = config.grip_sigma / config.sigma
        return Shape(factor, config.chunk_noise)

    def plan(self) -> Any:
        """The steps of the sampler."""
        return schedule(self.config.steps, self.config.noise, self.config.sigma)

    @torch.no_grad()
    def act(self, given: Mapping[str, Any], noise: torch.Tensor) -> torch.Tensor:
        """Actions to execute, by Euler's method from the noise's first entry: for evaluation and imitation."""
        quiet = schedule(self.config.steps, "constant", 0.0)
        path, _ = sample_chain(quiet, noise.to(self.device), self.velocity(self.encode(given)))
        return self.executed(path[:, -1])

    @torch.no_grad()
    def decide(self, tokens: torch.Tensor, noise: torch.Tensor, which: torch.Tensor | None = None) -> Chain:
        """A noisy chain and its log-probability; ``which`` (one step per row) is needed with ``single_step``."""
        plan = self.plan()
        velocity = self.velocity(tokens)
        path, means = sample_chain(plan, noise.to(self.device), velocity, self._noisy(tokens, which), self.noise_form())
        return Chain(path, self._log_prob(plan, path, velocity, self._noisy(tokens, which), means), which)

    def log_prob(
        self, tokens: torch.Tensor, path: torch.Tensor, which: torch.Tensor | None = None, share: bool | None = None
    ) -> torch.Tensor:
        """Log-probability of stored chains under the present parameters, with gradient."""
        return self._log_prob(self.plan(), path, self.velocity(tokens, share), self._noisy(tokens, which), None)

    def _noisy(self, tokens: torch.Tensor, which: torch.Tensor | None) -> torch.Tensor | None:
        """The one noisy step of every row, if only one is."""
        if self.config.logprob != "last_step":
            return which
        return torch.full((len(tokens),), self.config.steps - 1, device=tokens.device)

    def _log_prob(
        self, plan: Any, path: torch.Tensor, velocity: Any, which: torch.Tensor | None, means: list[torch.Tensor] | None
    ) -> torch.Tensor:
        window = slice(*self.config.window) if self.config.executed_only else slice(None)
        return chain_log_prob(plan, path, velocity, self.config.logprob, window, which, means, self.noise_form())

    def value(self, tokens: torch.Tensor, time: Any = None) -> torch.Tensor:
        """V, ``(batch,)``; ``time`` ``(batch, 1)`` is needed with ``value_time`` and left alone without."""
        if not self.config.value_time:
            return self.value_head(tokens)
        if time is None:
            raise InvalidParameter("the value sees the time, and the observation has none: give the scenes a clock")
        return self.value_head(tokens, torch.as_tensor(time, dtype=torch.float32, device=tokens.device))


# ---------------------------------------------------------------------- files


def save_policy(policy: FlowPolicy, path: str | Path) -> Path:
    """Write parameters, normalisation and configuration to one safetensors file, atomically.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_policy(FlowPolicy(FlowConfig.preset("tiny", encoder="state")), f"{folder}/p.safetensors")
    ...     load_policy(path).config.encoder
    'state'
    """
    return write_tensors(path, policy.state_dict(), {"format": _FORMAT, "config": json.dumps(policy.config.to_json())})


def load_policy(path: str | Path, expect: FlowConfig | None = None, device: str = "cpu") -> FlowPolicy:
    """Read a policy; with ``expect`` refuse one of another shape, naming what differs."""
    file = open_tensors(path)
    name, version = file.path.name, file.about.get("format")
    if version != _FORMAT:
        raise DamagedFile(f"{name} is not a flow policy of this version (format {version!r:.40})")
    try:
        config = FlowConfig.from_json(file.settings("config"))
    except (TypeError, BurnsideError) as error:
        raise DamagedFile(f"the policy {name} has a configuration that cannot be used: {error}") from None
    if expect is not None and config != expect:
        one, two = vars(config), vars(expect)
        differ = ", ".join(f"{k} is {one[k]}, not {two[k]}" for k in one if one[k] != two[k])
        raise UnreadableFile(f"the policy {name} has another shape: {differ}; load it without expecting this one")
    _check_shapes(file, config)
    policy = FlowPolicy(config)
    policy.load_state_dict(file.tensors())
    return policy.to(device)


def _check_shapes(file: TensorFile, config: FlowConfig) -> None:
    """Compare the settings with the tensors before a policy is made of them, of any size that the settings say."""
    try:
        if config.layers > len(file.shapes):
            raise ValueError
        with torch.device("meta"):  # shapes without memory
            own = {name: tuple(tensor.shape) for name, tensor in FlowPolicy(config).state_dict().items()}
        odd = [name for name in sorted({*own, *file.shapes}) if own.get(name) != file.shapes.get(name)]
    except (TypeError, ValueError, RuntimeError, OverflowError):  # of torch, for sizes beyond all measure
        odd = ["a layer"]
    if odd:
        raise DamagedFile(
            f"the policy {file.path.name} is damaged: {odd[0]} is missing, unknown or of another shape than its "
            f"configuration says"
        )
