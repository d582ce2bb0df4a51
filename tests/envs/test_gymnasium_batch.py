"""Any Gymnasium environment as a batched one: the same episodes, resumed by playing them again, honest refusals."""

import numpy as np
import pytest

gym = pytest.importorskip("gymnasium")

from burnside._random import Stream, hash_u64  # noqa: E402
from burnside.envs.batched import BatchedEnv, Box, Discrete, select  # noqa: E402
from burnside.envs.gymnasium_batch import GymnasiumBatch, as_batched, scenes_of  # noqa: E402
from burnside.envs.planar import PlanarScenes  # noqa: E402
from burnside.envs.ring.scenes import RingScenes  # noqa: E402
from burnside.errors import BurnsideError  # noqa: E402


def cartpole() -> GymnasiumBatch:
    return GymnasiumBatch(lambda: gym.make("CartPole-v1"))


def test_rows_are_the_environments_own_episodes() -> None:
    batch = cartpole()
    assert isinstance(batch, BatchedEnv) and batch.action == Discrete(2) and batch.limit == 500
    state = batch.reset_batch(np.array([3, 3, 4]), np.array([0, 5, 0]))
    rng = np.random.default_rng(0)
    plays = rng.integers(0, 2, (30, 3))
    seen, rewards = [], np.zeros(3)
    for actions in plays:
        step = batch.step_batch(state, actions)
        seen.append(batch.observe_batch(step.state))
        rewards += step.reward
        state = step.state
        if (step.terminated | step.truncated).any():
            break
    env = gym.make("CartPole-v1")
    for row, (seed, episode) in enumerate(((3, 0), (3, 5), (4, 0))):
        env.reset(seed=int(hash_u64(seed, Stream.ENV, episode)) >> 33)
        for t, x in enumerate(seen):
            found, *_ = env.step(int(plays[t, row]))
            assert np.array_equal(np.asarray(found, dtype=np.float32), x[row])
    assert len(seen) > 5 and (rewards == len(seen)).all()


def test_a_state_is_enough_to_resume() -> None:
    one, two = cartpole(), cartpole()
    state = one.reset_batch(np.array([1, 1]), np.array([0, 1]))
    for t in range(8):
        state = one.step_batch(state, np.array([t % 2, (t + 1) % 2])).state
    kept = {name: np.array(array) for name, array in state.items()}  # all that a checkpoint holds
    for t in range(8):
        state, kept = (env.step_batch(now, np.array([1, t % 2])).state for env, now in ((one, state), (two, kept)))
        assert all(np.array_equal(state[name], kept[name]) for name in state)
    # rows may also be taken apart and put in another order
    swapped = select(kept, np.array([1, 0]))
    assert np.array_equal(two.observe_batch(swapped), one.observe_batch(state)[::-1])


@pytest.mark.parametrize("rows", [1, 5])
def test_threads_give_the_same_results(rows: int) -> None:
    one, three = (GymnasiumBatch(lambda: gym.make("Pendulum-v1", max_episode_steps=9), threads=n) for n in (1, 3))
    both = [env.reset_batch(np.arange(rows), np.zeros(rows, dtype=np.int64)) for env in (one, three)]
    for t in range(9):
        push = np.sin(np.arange(rows) + t)[:, None].astype(np.float32)
        steps = [env.step_batch(state, push) for env, state in zip((one, three), both, strict=True)]
        assert np.array_equal(steps[0].reward, steps[1].reward) and len(set(steps[0].reward)) == rows
        assert np.array_equal(steps[0].truncated, steps[1].truncated)
        both = [step.state for step in steps]
        assert all(np.array_equal(both[0][name], both[1][name]) for name in both[0])
    assert steps[1].truncated.all()
    with pytest.raises(BurnsideError, match="threads is 0"):
        GymnasiumBatch(lambda: gym.make("Pendulum-v1"), threads=0)


def test_an_episode_may_stand_in_two_rows() -> None:
    env, alone = cartpole(), cartpole()
    state, single = env.reset_batch(np.array([1, 1]), np.array([0, 0])), alone.reset_batch(np.array([1]), np.array([0]))
    for t in range(3):
        state = env.step_batch(state, np.array([t % 2, t % 2])).state
        single = alone.step_batch(single, np.array([t % 2])).state
        assert np.array_equal(state["seen"], np.repeat(single["seen"], 2, axis=0))


def test_an_environment_that_is_not_a_function_of_its_seed_is_refused() -> None:
    class Moody(gym.Env):  # type: ignore[type-arg]
        observation_space = gym.spaces.Box(-9, 9, (1,), np.float32)
        action_space = gym.spaces.Discrete(2)

        def reset(self, *, seed: int | None = None, options: object = None) -> tuple[np.ndarray, dict[str, object]]:
            return np.random.default_rng().normal(size=1).astype(np.float32), {}

        def step(self, action: object) -> tuple[np.ndarray, float, bool, bool, dict[str, object]]:
            return np.random.default_rng().normal(size=1).astype(np.float32), 0.0, False, False, {}

    one, two = GymnasiumBatch(Moody, "moody"), GymnasiumBatch(Moody, "moody")
    state = one.step_batch(one.reset_batch(np.array([0]), np.array([0])), np.array([0])).state
    with pytest.raises(BurnsideError, match="cannot be resumed: played again from its seed"):
        two.step_batch(state, np.array([1]))


@pytest.mark.parametrize(
    ("env", "kind", "obs_dim", "action"),
    [
        ("CartPole-v1", GymnasiumBatch, 4, Discrete(2)),
        ("FrozenLake-v1", GymnasiumBatch, 16, Discrete(4)),
        ("Blackjack-v1", GymnasiumBatch, 32 + 11 + 2, Discrete(2)),
        ("burnside/Ring1D-v0", RingScenes, 20, Discrete(4)),
        ("burnside/Ring3D-v0", RingScenes, 1003, Discrete(64)),
        ("burnside/PlanarPush-v0", PlanarScenes, 8, Box(3)),
    ],
)
def test_every_kind_of_environment(env: str, kind: type, obs_dim: int, action: object) -> None:
    found = as_batched(env)
    assert type(found) is kind and found.obs_dim == obs_dim and found.action == action
    state = found.reset_batch(np.array([0, 0]), np.array([0, 1]))
    assert found.observe_batch(state).shape == (2, obs_dim)


def test_continuous_actions_are_clipped() -> None:
    batch = as_batched("Pendulum-v1")
    assert batch.action == Box(1, (-2.0,), (2.0,))
    state = batch.reset_batch(np.array([0]), np.array([0]))
    far, edge = (batch.step_batch(state, np.array([[a]])).state["seen"] for a in (50.0, 2.0))
    assert np.array_equal(far, edge)


def test_objects_wrappers_and_vectors() -> None:
    ring = gym.make("burnside/Ring1D-v0", n=7)
    assert as_batched(ring) == RingScenes(ring.unwrapped.ring)
    limited = gym.wrappers.TimeLimit(gym.make("burnside/Ring1D-v0", n=7), 3)
    batch = as_batched(limited)  # what is wrapped around it counts
    assert isinstance(batch, GymnasiumBatch)
    state = batch.reset_batch(np.array([0]), np.array([3]))
    for _ in range(3):
        step = batch.step_batch(state, np.array([0]))
        state = step.state
    assert step.truncated[0] or step.terminated[0]
    vector = gym.make_vec("CartPole-v1", num_envs=5)
    assert as_batched(vector).obs_dim == 4 and scenes_of(vector) == 5 and scenes_of("CartPole-v1") is None
    assert as_batched(lambda: gym.make("CartPole-v1")).obs_dim == 4
    assert isinstance(as_batched(gym.make_vec("burnside/Ring1D-v0", num_envs=2)), RingScenes)


def test_bad_requests() -> None:
    with pytest.raises(BurnsideError, match="there is no environment"):
        as_batched("CartPol-v9")
    with pytest.raises(BurnsideError, match="is not an environment"):
        as_batched(3)
    with pytest.raises(BurnsideError, match="Discrete and Box"):
        GymnasiumBatch(lambda: gym.wrappers.TransformAction(gym.make("CartPole-v1"), int, gym.spaces.MultiBinary(2)))


def test_an_observation_that_does_not_fit_its_space_is_refused() -> None:
    class Shrinking(gym.ObservationWrapper):
        def observation(self, observation: np.ndarray) -> np.ndarray:
            return observation[:1]

    env = GymnasiumBatch(lambda: Shrinking(gym.make("CartPole-v1")))
    with pytest.raises(BurnsideError, match=r"an observation of 1 numbers, but its space, .*, has 4"):
        env.reset_batch(np.array([0]), np.array([0]))
