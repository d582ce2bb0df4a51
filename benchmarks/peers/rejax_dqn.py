"""rejax: the whole run jitted, seeds vmapped; compilation timed apart. Truncation counts as an end in gymnax < 1."""

import time

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn
from flax import struct
from gymnax.environments import environment, spaces
from rejax import DQN
from rejax.networks import DiscreteQNetwork, EpsilonGreedyPolicy
from ring_game import (
    BATCH,
    BEGIN,
    CAPACITY,
    END,
    EPSILON_END,
    EPSILON_STEPS,
    GAMMA,
    MOVES,
    P_MINE,
    RATE,
    TARGET_EVERY,
    N,
    arguments,
    report,
)

seeds, steps, _, out = arguments()


@struct.dataclass
class State(environment.EnvState):  # type: ignore[misc]
    items: jax.Array
    goal: jax.Array
    pos: jax.Array
    time: int


@struct.dataclass
class Params(environment.EnvParams):  # type: ignore[misc]
    max_steps_in_episode: int = 4 * N


class Ring(environment.Environment):  # type: ignore[misc,type-arg]
    @property
    def default_params(self) -> Params:
        return Params()

    def get_obs(self, state, params=None, key=None):  # type: ignore[no-untyped-def]
        return jnp.concatenate([state.items, jax.nn.one_hot(state.pos, N)])

    def reset_env(self, key, params):  # type: ignore[no-untyped-def]
        one, two = jax.random.split(key)
        goal = jax.random.randint(two, (), 0, N)
        items = -(jax.random.uniform(one, (N,)) < P_MINE).astype(jnp.float32)
        state = State(time=0, items=items.at[goal].set(END), goal=goal, pos=jnp.int32(0))
        return self.get_obs(state), state

    def step_env(self, key, state, action, params):  # type: ignore[no-untyped-def]
        pos = (state.pos + jnp.array(MOVES)[action]) % N
        state = state.replace(pos=pos, time=state.time + 1)
        done = (pos == state.goal) | (state.time >= params.max_steps_in_episode)
        return self.get_obs(state), state, state.items[pos], done, {}

    def observation_space(self, params):  # type: ignore[no-untyped-def]
        return spaces.Box(-1.0, END, (2 * N,))

    def action_space(self, params=None):  # type: ignore[no-untyped-def]
        return spaces.Discrete(4)


algo = DQN.create(
    env=Ring(),
    total_timesteps=steps,
    eval_freq=steps,
    skip_initial_evaluation=True,
    num_envs=1,
    buffer_size=CAPACITY,
    fill_buffer=BATCH,
    batch_size=BATCH,
    learning_rate=RATE,
    gamma=GAMMA,
    ddqn=False,
    polyak=0.0,
    target_update_freq=TARGET_EVERY,
    eps_end=EPSILON_END,
    exploration_fraction=EPSILON_STEPS / steps,
)
agent = EpsilonGreedyPolicy(DiscreteQNetwork)(hidden_layer_sizes=(128, 128), action_dim=4, activation=nn.relu)
algo = algo.replace(agent=agent, eval_callback=lambda algo, ts, rng: ())
keys = jnp.stack([jax.random.PRNGKey(seed) for seed in seeds])
run = jax.jit(jax.vmap(DQN.train, in_axes=(None, 0))).lower(algo, keys).compile()
cold = time.perf_counter() - BEGIN
started, cpu = time.perf_counter(), time.process_time()
state, _ = jax.block_until_ready(run(algo, keys))
seconds, cpu = time.perf_counter() - started, time.process_time() - cpu


def dense(tree: dict) -> list[dict]:  # type: ignore[type-arg]
    """The dense layers of a tree of parameters, in order of their names: hidden ones, then the output."""
    if "kernel" in tree:
        return [tree]
    return [
        leaf
        for name in sorted(tree, key=lambda n: (n == "action_value" or "q" in n.lower(), n))
        for leaf in dense(tree[name])
    ]


layers = dense(state.q_ts.params["params"])
layers.sort(key=lambda layer: layer["kernel"].shape[-1] == 4)
saved = {}
for i, seed in enumerate(seeds):
    for k, layer in enumerate(layers, start=1):
        saved[f"{seed}.w{k}"], saved[f"{seed}.b{k}"] = np.asarray(layer["kernel"][i]), np.asarray(layer["bias"][i])
np.savez(out, **saved)
report(updates=(steps - BATCH) * len(seeds), seconds=seconds, cpu=cpu, cold=cold)
