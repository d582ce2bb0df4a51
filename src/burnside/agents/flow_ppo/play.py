"""Playing a flow policy on scenes no training run sees."""

from __future__ import annotations

import numpy as np

from burnside._random import Stream, held_out, normal
from burnside._types import IntArray
from burnside.envs.batched import ChunkEnv, Evaluation
from burnside.errors import InvalidParameter
from burnside.nn._torch import torch
from burnside.nn.flow import FlowPolicy

__all__ = ["evaluate"]


def evaluate(
    policy: FlowPolicy,
    env: ChunkEnv,
    episodes: int = 200,
    *,
    seed: int = 0,
    noisy: bool = False,
    scenes: tuple[IntArray, IntArray] | None = None,
) -> Evaluation:
    """Play held-out scenes, all at once; the scenes and all noise depend on ``seed`` alone.

    Args:
        policy: Acts by Euler's method, or by its noisy sampler.
        env: The scenes.
        episodes: How many.
        seed: Of scenes and noise.
        noisy: Whether the sampler of training acts.
        scenes: Seeds and episodes to play instead; ``episodes`` then does not count, and ``seed`` is of the noise only.
    """
    if episodes < 1:
        raise InvalidParameter(f"episodes is {episodes}: give at least 1")
    base = held_out(seed)
    if scenes is None:
        scenes = np.full(episodes, base, dtype=np.int64), np.arange(episodes)
    episodes = len(scenes[0])
    state = env.reset_batch(*scenes)
    playing = np.ones(episodes, dtype=np.bool_)
    returns, lengths = np.zeros(episodes), np.zeros(episodes, dtype=np.int64)
    success = np.zeros(episodes, dtype=np.bool_)
    size, decision = int(np.prod(policy.noise_shape)), 0
    while playing.any():
        counters = (decision * episodes + np.arange(episodes))[:, None] * size + np.arange(size)
        draws = normal(base, Stream.POLICY, counters).astype(np.float32).reshape(-1, *policy.noise_shape)
        seen = env.observe_batch(state)
        noise = torch.from_numpy(draws)
        if noisy and policy.config.logprob != "single_step":
            with torch.no_grad():
                actions = policy.executed(policy.decide(policy.encode(seen), noise).path[:, -1])
        else:
            actions = policy.act(seen, noise)
        step = env.step_chunk(state, actions.cpu().numpy())
        state = step.state
        returns += np.where(playing, step.reward, 0.0)
        lengths += np.where(playing, step.steps, 0)
        success |= playing & step.success
        playing &= ~(step.terminated | step.truncated)
        decision += 1
        if decision > env.episode_steps:
            raise InvalidParameter(f"an episode lasts over {env.episode_steps} decisions: it needs a time limit")
    return Evaluation(returns, lengths, success)
