"""The ring in canonical form is written down once for users and once for compiled code: all of them are equal."""

import numpy as np
import pytest

gym = pytest.importorskip("gymnasium")

from burnside._random import Stream, randint  # noqa: E402
from burnside._types import AnyArray  # noqa: E402
from burnside.agents.common.members import Member  # noqa: E402
from burnside.agents.dqn import DQNConfig, RingDQN  # noqa: E402
from burnside.agents.dqn.ring import ARMS  # noqa: E402
from burnside.canonical import AugmentedEnv, CanonicalEnv, CanonicalVectorEnv  # noqa: E402
from burnside.canonical.batched import with_arm  # noqa: E402
from burnside.canonical.known import ring_translations  # noqa: E402
from burnside.envs.ring.core import RingSpec  # noqa: E402
from burnside.envs.ring.kernels import seen_board  # noqa: E402
from burnside.envs.ring.scenes import RingScenes  # noqa: E402

SPECS = [RingSpec(5), RingSpec(11), RingSpec(5, d=3), RingSpec(6, d=3, p_mine=0.3)]
EPISODES = 12


def shown(spec: RingSpec, boards: AnyArray, pos: AnyArray) -> AnyArray:
    """Flat observations from codes and cells, written down on their own."""
    items = np.where(boards > 0, spec.end_reward, boards).astype(np.float32)
    if spec.d == 1:
        return np.concatenate([items, np.eye(spec.n, dtype=np.float32)[pos]], axis=1)
    return np.concatenate([items, (spec.coordinates(pos) / np.float32(spec.n)).astype(np.float32)], axis=1)


def wrapped(spec: RingSpec, arm: str, seed: int) -> tuple[AnyArray, AnyArray, AnyArray]:
    """First and second observations of episodes and the rewards between, through the wrappers users have."""
    env = gym.make(f"burnside/Ring{1 if spec.d == 1 else 3}D-v0", n=spec.n, p_mine=spec.p_mine)
    if arm == "canonical":
        env = CanonicalEnv(env)
    elif arm == "augment":
        env = AugmentedEnv(env, ring_translations(spec.n, spec.d))
    flat = RingScenes(spec)
    first, second, rewards = [], [], []
    for episode in range(EPISODES):
        x, _ = env.reset(seed=seed if episode == 0 else None)
        first.append(flat.as_rows(x)[0][0])
        x, reward, *_ = env.step(episode % spec.n_actions)
        second.append(flat.as_rows(x)[0][0])
        rewards.append(float(reward))
    return np.array(first), np.array(second), np.array(rewards)


def compiled_boards(spec: RingSpec, arm: str, seed: int, episodes: int = EPISODES) -> tuple[AnyArray, AnyArray]:
    """Boards and starting cells of the first episodes, from compiled code."""
    items = np.zeros(spec.n_cells, dtype=np.int8)
    boards = np.zeros((episodes, spec.n_cells), dtype=np.int8)
    game = (spec.n, spec.d, spec.p_mine, ARMS.index(arm), seed)
    pos = [seen_board(items, boards[episode], *game, episode) for episode in range(episodes)]
    return boards, np.array(pos)


@pytest.mark.parametrize("spec", SPECS, ids=str)
@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("seed", [0, 7, 2**40])
def test_wrapper_batch_and_compiled_boards_show_the_same(spec: RingSpec, arm: str, seed: int) -> None:
    seeds, episodes = np.full(EPISODES, seed), np.arange(EPISODES)
    first, second, rewards = wrapped(spec, arm, seed)

    batch = with_arm(RingScenes(spec), arm)
    state = batch.reset_batch(seeds, episodes)
    step = batch.step_batch(state, episodes % spec.n_actions)
    assert np.array_equal(batch.observe_batch(state), first)
    assert np.array_equal(batch.observe_batch(step.state), second) and np.array_equal(step.reward, rewards)

    boards, pos = compiled_boards(spec, arm, seed)
    assert np.array_equal(shown(spec, boards, pos), first)
    if arm == "canonical":  # the goal is at the origin, and translations of one board are one board
        assert (boards[:, 0] == 1).all()


@pytest.mark.parametrize("n", [5, 9])
def test_the_vector_wrapper_shows_the_same(n: int) -> None:
    envs = CanonicalVectorEnv(gym.make_vec("burnside/Ring1D-v0", num_envs=6, n=n))
    x, _ = envs.reset(seed=3)
    batch = with_arm(RingScenes(RingSpec(n)), "canonical")
    state = batch.reset_batch(np.arange(3, 9), np.zeros(6, dtype=np.int64))
    assert np.array_equal(x, batch.observe_batch(state))
    actions = np.arange(6) % 4
    assert np.array_equal(envs.step(actions)[0], batch.observe_batch(batch.step_batch(state, actions).state))


@pytest.mark.parametrize("arm", ARMS)
def test_the_compiled_learner_remembers_these_boards(arm: str) -> None:
    spec = RingSpec(7)
    learner = RingDQN(DQNConfig(capacity=300), spec, Member(4, arm)).play(20)
    boards, _ = compiled_boards(spec, arm, 4, 20)
    assert np.array_equal(learner.state.boards[:20], boards)


def test_augmentation_draws_from_its_own_stream() -> None:
    spec = RingSpec(9)
    _, pos = compiled_boards(spec, "augment", 5, 30)
    assert np.array_equal(pos, randint(5, Stream.AUGMENT, np.arange(30), 9)) and len(set(pos.tolist())) > 5
