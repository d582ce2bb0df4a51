"""Rollouts of chains and PPO's updates on them, for one policy; everything random is counter-based."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from burnside._random import Stream, hash_u64, normal, randint
from burnside._types import AnyArray, BoolArray, FloatArray, IntArray
from burnside.agents.common.advantages import advantages
from burnside.agents.common.checkpoint import check_arrays
from burnside.agents.common.log import EpisodeLog, Recorder
from burnside.agents.common.members import Member
from burnside.agents.common.objectives import clipped_objective
from burnside.agents.common.training import Budget
from burnside.agents.flow_ppo.config import STATS, FlowPPOConfig
from burnside.envs.batched import ChunkEnv, State, update_rows
from burnside.errors import InvalidParameter
from burnside.nn._torch import torch
from burnside.nn.flow import FlowPolicy
from burnside.nn.flow.optim import module_arrays, optimizer_arrays, restore_module, restore_optimizer

__all__ = ["FlowPPO", "clipped_value_loss", "explained_variance"]


def clipped_value_loss(value: torch.Tensor, old: torch.Tensor, target: torch.Tensor, clip: float) -> torch.Tensor:
    """Half the squared error per row; with a clip, the larger one of it and that of ``old ± clip``.

    >>> one = torch.tensor([1.0])
    >>> clipped_value_loss(one, one * 0, one, 0.2), clipped_value_loss(one, one * 0, one, 0.0)
    (tensor([0.3200]), tensor([0.]))
    """
    loss = (value - target).square()
    if clip > 0:
        bounded = old + (value - old).clamp(-clip, clip)
        loss = torch.maximum(loss, (bounded - target).square())
    return 0.5 * loss


def explained_variance(value: FloatArray, returns: FloatArray) -> float:
    """The share of the variance of returns that values explain; 0 where returns do not vary.

    >>> explained_variance(np.array([0.0, 1.0]), np.array([0.0, 2.0]))
    0.75
    """
    total = float(np.var(returns))
    return 1.0 - float(np.var(returns - value)) / total if total > 1e-12 else 0.0


class FlowPPO:
    """A policy in training, between two rollouts.

    >>> from burnside.envs.planar import PlanarSpec
    >>> from burnside.envs.planar.chunks import PlanarChunks
    >>> from burnside.nn.flow import FlowConfig, FlowPolicy
    >>> flow = FlowConfig.preset("planar", width=32, layers=1)
    >>> env = PlanarChunks(PlanarSpec("push", reward="sparse"), "robot", flow.n_obs)
    >>> learner = FlowPPO(FlowPPOConfig(scenes=4, rollout=2), FlowPolicy(flow), env)
    >>> learner.decisions
    0
    """

    def __init__(self, config: FlowPPOConfig, policy: FlowPolicy, env: ChunkEnv, seed: int = 0) -> None:
        """Before the first rollout; ``policy`` is trained in place."""
        if policy.config.sigma <= 0:
            raise InvalidParameter("PPO needs a noisy sampler: give the policy sigma > 0")
        self.config, self.policy, self.env, self.seed = config, policy, env, seed
        chosen = [(policy.trunk, config.actor_rate, True), (policy.value_head, config.critic_rate, False)]
        if config.train_encoder and list(policy.encoder.parameters()):
            chosen.append((policy.encoder, config.actor_rate, True))
        parts: list[dict[str, Any]] = [
            {"params": list(module.parameters()), "lr": rate, "full": rate, "actor": actor}
            for module, rate, actor in chosen
        ]
        self.optimizer = torch.optim.AdamW(parts, weight_decay=config.weight_decay, fused=True)
        scenes = config.scenes
        self.decisions = 0  # of every scene
        self.env_steps = 0  # of all scenes
        self.rollouts = self.updates = self.actor_updates = self.minibatches = self.epochs = 0
        self.episode = scenes  # the next one to begin
        self.total, self.length = np.zeros(scenes), np.zeros(scenes, dtype=np.int64)
        self.free = False  # whether the value has explained enough for the actor to move
        self.state: State = env.reset_batch(np.full(scenes, seed, dtype=np.int64), np.arange(scenes))
        self.members = [Member(seed)]
        self.recorder = Recorder(self.members, ("rollout",), STATS)

    @property
    def identity(self) -> str:
        """What a checkpoint must agree on before it may be resumed; the budget may be raised."""
        own = {k: v for k, v in self.config.to_json().items() if k != "budget"}
        flow = self.policy.config.to_json()
        return json.dumps({"flow_ppo": own, "policy": flow, "env": self.env.name, "seed": self.seed})

    @property
    def spent(self) -> int:
        """How much of the budget is used, in its unit."""
        return self.env_steps if self.config.budget_unit == "env_steps" else self.decisions * self.config.scenes

    @property
    def critic_only(self) -> bool:
        """Whether only the critic is trained yet."""
        if self.rollouts < self.config.critic_rollouts:
            return True
        waited = 0 < self.config.critic_limit <= self.rollouts
        return self.config.actor_waits > 0 and not (self.free or waited)

    def describe(self) -> list[str]:
        """Every count with its unit, see :meth:`FlowPPOConfig.describe`."""
        return self.config.describe(self.policy.config.n_act, self.env.episode_steps)

    @property
    def episodes(self) -> IntArray:
        """Finished episodes."""
        return self.recorder.episodes

    @property
    def steps(self) -> IntArray:
        """What counts against the budget, in its unit."""
        return np.array([self.spent])

    def advance(self, budget: Budget) -> bool:
        """One rollout and its updates, if it is short of the budget."""
        if not budget.left(self.episodes, self.steps)[0]:
            return False
        self.iterate()
        return True

    def iterate(self) -> None:
        """One rollout and its updates."""
        seen = self._rollout()
        self._learn(seen)
        self.rollouts += 1

    # ------------------------------------------------------------------ rollout

    def _draw(self) -> tuple[torch.Tensor, torch.Tensor | None]:
        """The noise of the next decision of every scene, and the noisy step with ``single_step``."""
        policy, scenes = self.policy, self.config.scenes
        size = int(np.prod(policy.noise_shape))
        first = self.decisions * scenes
        draws = normal(self.seed, Stream.POLICY, first * size + np.arange(scenes * size)).astype(np.float32)
        noise = torch.from_numpy(draws.reshape(scenes, *policy.noise_shape)).to(policy.device)
        if policy.config.logprob != "single_step":
            return noise, None
        which = randint(self.seed, Stream.EXPLORE, first + np.arange(scenes), policy.config.steps)
        return noise, torch.from_numpy(which).to(policy.device)

    @torch.no_grad()
    def _rollout(self) -> dict[str, Any]:
        """Arrays ``(decisions, scenes, …)``."""
        config, policy, env = self.config, self.policy, self.env
        parts: dict[str, list[Any]] = {}
        finished, begun = 0, self.decisions
        observed = env.observe_batch(self.state)
        while True:
            if config.rollout_unit == "decisions" and self.decisions - begun >= config.rollout:
                break
            if config.rollout_unit == "episodes" and finished >= config.rollout:
                break
            tokens = policy.encode(observed)
            noise, which = self._draw()
            chain = policy.decide(tokens, noise, which)
            value = policy.value(tokens, observed.get("time"))
            step = env.step_chunk(self.state, policy.executed(chain.path[:, -1]).cpu().numpy())
            ended = step.terminated | step.truncated
            found = {
                **{f"obs/{name}": array for name, array in observed.items()},
                "path": chain.path.cpu().numpy(),
                "log_prob": chain.log_prob.cpu().numpy(),
                "value": value.cpu().numpy(),
                "reward": step.reward,
                "terminated": step.terminated,
                "ended": ended,
            }
            if which is not None:
                found["which"] = which.cpu().numpy()
            self.state = step.state
            self.decisions += 1
            self.env_steps += int(step.steps.sum())
            self.total += step.reward
            self.length += step.steps
            # V of where the chunk led, before any reset: a truncated episode bootstraps from it.
            observed = env.observe_batch(self.state)
            found["next_value"] = policy.value(policy.encode(observed), observed.get("time")).cpu().numpy()
            if ended.any():
                finished += int(ended.sum())
                self._restart(np.flatnonzero(ended), step.success)
                observed = env.observe_batch(self.state)
            for name, array in found.items():
                parts.setdefault(name, []).append(array)
        return {name: np.stack(arrays) for name, arrays in parts.items()}

    def _restart(self, over: IntArray, success: BoolArray) -> None:
        for i in over:
            noted = (self.total[i], self.length[i], success[i], self.env_steps, self.updates, self.rollouts)
            self.recorder.rows[0].append(tuple(float(x) for x in noted))
        self.total[over], self.length[over] = 0.0, 0
        numbers = self.episode + np.arange(over.size)
        self.episode += over.size
        new = self.env.reset_batch(np.full(over.size, self.seed, dtype=np.int64), numbers)
        self.state = update_rows(self.state, over, new)

    # ------------------------------------------------------------------ updates

    def _learn(self, seen: Mapping[str, AnyArray]) -> None:
        config = self.config
        reward, value, after, terminated, ended = (
            seen[k].T for k in ("reward", "value", "next_value", "terminated", "ended")
        )
        if config.timeout == "end":
            terminated = ended
        advantage = advantages(reward, value, after, terminated, ended, config.gamma, config.lam).T
        returns = value + advantages(reward, value, after, terminated, ended, config.gamma, 1.0)
        explained = explained_variance(value, returns)
        self.free = self.free or explained >= config.actor_waits
        flat = {name: array.reshape(-1, *array.shape[2:]) for name, array in seen.items()}
        flat["target"] = (advantage + seen["value"]).astype(np.float32).ravel()
        if config.normalize and advantage.size > 1:
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        flat["advantage"] = advantage.astype(np.float32).ravel()
        count, frozen = len(flat["target"]), self.critic_only
        totals = np.zeros(len(STATS) - 2)
        made = 0
        for _ in range(config.critic_epochs if frozen else config.epochs):
            keys = hash_u64(self.seed, Stream.REPLAY, self.epochs * 2**32 + np.arange(count))
            order = np.argsort(keys, kind="stable")
            self.epochs += 1
            stop = False
            for at in range(0, count, config.effective_batch):
                group = order[at : at + config.effective_batch]
                stats = self._accumulate(flat, group, frozen)
                self.minibatches += -(-len(group) // config.minibatch)
                if not frozen and config.kl_stop == "update" and 0 < config.target_kl < stats[2]:
                    stop = True
                    break
                self._clip()
                self.optimizer.step()
                self.updates += 1
                self.actor_updates += not frozen
                made += 1
                totals += stats
            if stop or (not frozen and config.kl_stop == "rollout" and 0 < config.target_kl < self._kl(flat)):
                break
        self.optimizer.zero_grad(set_to_none=True)
        self.recorder.stats[0].append((*(float(x) for x in totals / max(1, made)), float(made), explained))

    def _clip(self) -> None:
        """Clip the gradient, of actor and critic together or separately."""
        kinds = (True, False) if self.config.separate_clips else (None,)
        for kind in kinds:
            groups = [g for g in self.optimizer.param_groups if kind is None or g["actor"] is kind]
            params = [p for g in groups for p in g["params"] if p.grad is not None]
            if params:
                torch.nn.utils.clip_grad_norm_(params, self.config.grad_clip)

    @torch.no_grad()
    def _kl(self, flat: Mapping[str, AnyArray]) -> float:
        """The estimate of the divergence from the policy that played, over the whole rollout."""
        total, count = 0.0, len(flat["target"])
        for first in range(0, count, self.config.minibatch):
            rows = np.arange(first, min(count, first + self.config.minibatch))
            log_ratio = self._log_ratio(flat, rows, self._tokens(flat, rows))
            total += float((log_ratio.exp() - 1 - log_ratio).sum())
        return total / count

    def _accumulate(self, flat: Mapping[str, AnyArray], group: IntArray, frozen: bool) -> FloatArray:
        """Gradients of one update, minibatch by minibatch; returns the statistics."""
        config = self.config
        scale = config.rate(self.updates, self.minibatches)
        rise = min(1.0, (self.actor_updates + 1) / config.actor_warmup) if config.actor_warmup else 1.0
        for part in self.optimizer.param_groups:
            part["lr"] = scale * part["full"] * (rise if part["actor"] else 1.0)
        self.optimizer.zero_grad(set_to_none=True)
        out = np.zeros(len(STATS) - 2)
        for first in range(0, len(group), config.minibatch):
            rows = group[first : first + config.minibatch]
            loss, stats = self._loss(flat, rows, frozen)
            share = len(rows) / len(group)
            (loss * share).backward()
            out += share * stats
        return out

    def _pick(self, flat: Mapping[str, AnyArray], rows: IntArray, name: str) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(flat[name][rows])).to(self.policy.device)

    def _tokens(self, flat: Mapping[str, AnyArray], rows: IntArray) -> torch.Tensor:
        return self.policy.encode({n.removeprefix("obs/"): flat[n][rows] for n in flat if n.startswith("obs/")})

    def _log_ratio(self, flat: Mapping[str, AnyArray], rows: IntArray, tokens: torch.Tensor) -> torch.Tensor:
        which = self._pick(flat, rows, "which") if "which" in flat else None
        found = self.policy.log_prob(tokens, self._pick(flat, rows, "path"), which)
        return found - self._pick(flat, rows, "log_prob")

    def _loss(self, flat: Mapping[str, AnyArray], rows: IntArray, frozen: bool) -> tuple[torch.Tensor, FloatArray]:
        config, policy = self.config, self.policy

        def pick(name: str) -> torch.Tensor:
            return self._pick(flat, rows, name)

        with torch.set_grad_enabled(config.train_encoder and not frozen):
            tokens = self._tokens(flat, rows)
        value = policy.value(tokens, pick("obs/time") if "obs/time" in flat else None)
        value_loss = clipped_value_loss(value, pick("value"), pick("target"), config.value_clip).mean()
        if frozen:
            return config.value_weight * value_loss, np.array([0.0, float(value_loss.detach()), 0.0, 0.0])
        log_ratio = self._log_ratio(flat, rows, tokens)
        ratio = log_ratio.exp()
        gain = pick("advantage")
        policy_loss = -clipped_objective(ratio, gain, config.clip).mean()
        with torch.no_grad():
            kl = ((ratio - 1) - log_ratio).mean()
            clipped = ((ratio - 1).abs() > config.clip).to(torch.float32).mean()
        stats = np.array([float(x) for x in (policy_loss.detach(), value_loss.detach(), kl, clipped)])
        return policy_loss + config.value_weight * value_loss, stats

    # ------------------------------------------------------------------ results and checkpoints

    def log(self, m: int = 0, episodes: int | None = None) -> EpisodeLog:
        """Everything so far: ``more`` says in which ``rollout`` an episode ended, ``stats`` has one entry per rollout.

        Returns are as the environment sums rewards, with the noise of the sampler; steps are those executed in all
        scenes.
        """
        return self.recorder.log(m, episodes)

    _COUNTERS = (
        "decisions",
        "env_steps",
        "rollouts",
        "updates",
        "actor_updates",
        "minibatches",
        "epochs",
        "episode",
        "free",
    )

    def arrays(self) -> dict[str, AnyArray]:
        """Everything needed to resume, as plain arrays; the moment is between two rollouts."""
        out: dict[str, AnyArray] = {f"state/{name}": np.array(array) for name, array in self.state.items()}
        out["counters"] = np.array([getattr(self, name) for name in self._COUNTERS], dtype=np.int64)
        out["total"], out["length"] = self.total.copy(), self.length.copy()
        out |= self.recorder.arrays() | module_arrays(self.policy, "policy")
        return out | optimizer_arrays(self.optimizer, "adam")

    def restore(self, arrays: Mapping[str, AnyArray]) -> FlowPPO:
        """Resume from the arrays of a learner of the same configuration."""
        check_arrays(self.arrays(), arrays)
        restore_module(self.policy, arrays, "policy")
        restore_optimizer(self.optimizer, arrays, "adam")
        self.state = {name: np.array(arrays[f"state/{name}"]) for name in self.state}
        for name, value in zip(self._COUNTERS, arrays["counters"].tolist(), strict=True):
            setattr(self, name, bool(value) if name == "free" else value)
        self.total, self.length = np.array(arrays["total"]), np.array(arrays["length"])
        self.recorder.restore(arrays)
        return self
