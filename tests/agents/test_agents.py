"""DQN and PPO as users call them: the same two lines everywhere, arms, files, and what the general learners promise."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.agents.learners import same_arrays, same_log

gym = pytest.importorskip("gymnasium")

from burnside.agents import DQN, PPO, DQNConfig, PPOConfig  # noqa: E402
from burnside.agents.common.agent import Agent  # noqa: E402
from burnside.agents.common.checkpoint import load, save  # noqa: E402
from burnside.agents.common.members import Member  # noqa: E402
from burnside.agents.common.training import Budget, train  # noqa: E402
from burnside.agents.dqn import GeneralDQN, RingDQN, kernels, plain  # noqa: E402
from burnside.agents.dqn.networks import CompiledQ  # noqa: E402
from burnside.agents.ppo import GeneralPPO  # noqa: E402
from burnside.canonical import CanonicalEnv  # noqa: E402
from burnside.canonical.batched import CanonicalBatch, with_arm  # noqa: E402
from burnside.envs.gymnasium_batch import as_batched  # noqa: E402
from burnside.envs.ring.core import RingSpec  # noqa: E402
from burnside.envs.ring.scenes import RingScenes  # noqa: E402
from burnside.envs.ring.symmetry import RollToGoal  # noqa: E402
from burnside.errors import BurnsideError  # noqa: E402
from burnside.nn import mlp  # noqa: E402

SMALL_DQN = DQNConfig.preset("general", hidden=(32, 32), capacity=500, batch=16, update_every=1)
SMALL_PPO = PPOConfig(hidden=(32, 32), scenes=4, rollout=16, batch=32)
SPEC = RingSpec(6)


@pytest.mark.parametrize("env", ["CartPole-v1", "burnside/Ring1D-v0"])
@pytest.mark.parametrize("kind", [DQN, PPO])
def test_the_same_two_lines(env: str, kind: type[Agent], tmp_path: Path) -> None:
    agent = kind(env).learn(2_000)  # type: ignore[call-arg]
    found = agent.evaluate(5)
    log = agent.log()
    assert found.returns.shape == (5,) and log.steps[-1] <= agent.learner.steps[0] >= 2_000
    x = gym.make(env).reset(seed=0)[0]
    action = agent.predict(x)
    assert isinstance(action, int) and agent.predict(np.stack([x, x])).tolist() == [action, action]
    again = kind(env).load(agent.save(tmp_path / "agent.npz"))  # type: ignore[call-arg]
    assert same_arrays(agent.learner, again.learner) and np.array_equal(again.evaluate(5).returns, found.returns)


@pytest.mark.parametrize("arm", ["baseline", "canonical", "augment"])
@pytest.mark.parametrize(
    "changes",
    [{}, {"loss": "huber", "update_every": 3, "double": True}, {"target_every_steps": 25, "limit_ends": True}],
    ids=str,
)
def test_the_general_dqn_is_the_compiled_one(arm: str, changes: dict[str, object]) -> None:
    """On rings, until rounding tips a close choice: same games, same batches, the same losses to 1e-3."""
    config = DQNConfig(capacity=300, **changes)  # type: ignore[arg-type]
    fast = RingDQN(config, SPEC, Member(3, arm)).play(25).log()
    (plain,) = train([GeneralDQN(config, with_arm(RingScenes(SPEC), arm), Member(3, arm))], episodes=25)
    slow = plain.log()
    for name in ("returns", "lengths", "success", "steps", "updates"):
        assert np.array_equal(getattr(fast, name)[:20], getattr(slow, name)[:20]), name
    assert np.allclose(fast.more["epsilon"][:20], slow.more["epsilon"][:20], atol=1e-12)
    assert np.allclose(fast.more["loss"][:20], slow.more["loss"][:20], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(("loss", "double"), [("mse", False), ("huber", True)])
def test_one_update_is_the_plain_one(loss: str, double: bool) -> None:
    config = replace(SMALL_DQN, loss=loss, double=double, batch=70)
    learner = GeneralDQN(config, as_batched("CartPole-v1"), Member(1))
    learner.advance(Budget(steps=200))
    network = learner.network
    assert isinstance(network, CompiledQ)
    net, weights = network.net, kernels.Weights(*(array[0] for array in network.weights))
    w, target = (mlp.matrices(flat, net) for flat in (weights.w, weights.target))
    slots = np.random.default_rng(0).integers(0, 200, 70)
    replay = kernels.Replay(*(array[0] for array in learner.replay))
    batch = {name: array[slots] for name, array in replay._asdict().items()}
    expected, slopes = plain.update(w, target, batch, config)
    m, v = np.zeros((2, net.end), dtype=np.float32)
    fresh = weights._replace(w=weights.w.copy(), m=m, v=v)
    found = kernels.update(fresh, network.grad, kernels.Batch(replay, slots), net, network.work, 1, network.rules)
    assert found == pytest.approx(expected, rel=1e-4)
    for name, grad in mlp.matrices(network.grad, net).items():
        assert np.allclose(grad, slopes[name], atol=2e-5), name
    assert not np.array_equal(fresh.w, weights.w)


def test_exploring_and_drawing_are_the_plain_ones() -> None:
    seeds, steps, levels = np.array([3, 3, 9]), np.array([0, 7, 2**40]), np.array([0.0, 0.5, 1.0])
    actions = np.zeros(3, dtype=np.int64)
    assert kernels.explore(seeds, steps, levels, 4, actions)
    assert np.array_equal(actions, plain.explore(seeds, steps, levels, 4)) and actions[0] == -1 and actions[2] >= 0
    assert not kernels.explore(seeds, steps, np.ones(3), 4, actions)
    slots = np.zeros(64, dtype=np.int64)
    kernels.draw(slots, 50, 7, 3)
    assert np.array_equal(slots, plain.draw(7, 3, 64, 50)) and len(set(slots.tolist())) > 20


def test_members_of_one_dqn_are_those_members_alone() -> None:
    """With several scenes each; a member that has finished waits, and keeps its bits."""
    env = with_arm(RingScenes(SPEC), "canonical")
    members = [Member(seed, "canonical") for seed in (4, 9)]
    (together,) = train([GeneralDQN(SMALL_DQN, env, members, 3)], episodes=20)
    for m, member in enumerate(members):
        (alone,) = train([GeneralDQN(SMALL_DQN, env, member, 3)], episodes=20)
        assert same_log(together.log(m), alone.log()) and together.steps[m] == alone.steps[0]
        assert np.array_equal(together.network.weights.w[m], alone.network.weights.w[0])  # type: ignore[attr-defined]


def learner(kind: str, scenes: int = 1) -> GeneralDQN | GeneralPPO:
    env = as_batched("CartPole-v1")
    return GeneralDQN(SMALL_DQN, env, Member(2), scenes) if kind == "dqn" else GeneralPPO(SMALL_PPO, env, [2])


@pytest.mark.parametrize(("kind", "scenes"), [("dqn", 1), ("dqn", 3), ("ppo", 4)])
def test_gymnasium_environments_resume_to_the_same_bits(kind: str, scenes: int, tmp_path: Path) -> None:
    """In the middle of episodes: the actions so far are played again."""
    one, two = learner(kind, scenes), learner(kind, scenes)
    for steps in (150, 400):
        train([one], steps=steps)
    train([two], steps=150)
    save(two, tmp_path / "x.npz")
    three = load(learner(kind, scenes), tmp_path / "x.npz")
    train([three], steps=400)
    assert same_arrays(one, three) and not same_arrays(one, two) and same_log(one.log(), three.log())


def test_a_form_as_arm_goes_through_the_wrapper_and_back() -> None:
    """A canonical form on a Gymnasium environment is ``CanonicalEnv``; actions are undone in predict as well."""
    mirror = Mirror()
    agent = DQN("CartPole-v1", SMALL_DQN, arm=mirror).learn(300)
    x = np.array([0.5, -0.2, -0.03, 0.4], dtype=np.float32)
    assert agent.predict(x) == 1 - agent.predict(-x)
    env = CanonicalEnv(gym.make("CartPole-v1"), mirror)
    shown, _ = env.reset(seed=1)
    assert shown[0] >= 0 and "canonical Mirror" in agent.learner.env.name  # type: ignore[attr-defined]


class Mirror:
    """CartPole reflected: all four numbers change sign, and the two actions change places."""

    def __call__(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        g = np.where(np.asarray(x)[..., 0] < 0, -1, 1)
        return self.act(g, x), g

    def act(self, g: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.asarray(x) * np.asarray(g)[..., None]

    def undo(self, action: np.ndarray, g: np.ndarray) -> np.ndarray:
        return np.where(np.asarray(g) < 0, 1 - np.asarray(action), action)


def test_the_fast_learner_is_chosen_for_rings_only() -> None:
    assert isinstance(DQN("burnside/Ring1D-v0").learner, RingDQN)
    assert isinstance(DQN("burnside/Ring1D-v0", DQNConfig(hidden=(48, 48))).learner, GeneralDQN)
    other = DQN("burnside/Ring1D-v0", arm=RollToGoal(10))  # a form of the user's: the general way
    assert isinstance(other.learner, GeneralDQN) and isinstance(other.learner.env, CanonicalBatch)
    pytest.importorskip("torch")
    from burnside.agents.dqn.torch_networks import TorchQ

    shared = DQN("burnside/Ring1D-v0", arm="equivariant").learner
    assert isinstance(shared, GeneralDQN) and isinstance(shared.network, TorchQ)
    many = gym.make_vec("CartPole-v1", num_envs=3)
    assert DQN(many).learner.scenes == 3 and PPO(many).learner.config.scenes == 3  # type: ignore[attr-defined]


def test_seeds_of_one_ppo_are_those_seeds_alone() -> None:
    together = PPO("burnside/Ring1D-v0", SMALL_PPO, seed=[4, 9]).learn(300)
    alone = PPO("burnside/Ring1D-v0", SMALL_PPO, seed=9).learn(300)
    assert same_log(together.log(1), alone.log(0))


def test_bad_requests() -> None:
    with pytest.raises(BurnsideError, match="not discrete"):
        DQN("Pendulum-v1")
    with pytest.raises(BurnsideError, match="multiples of 16"):
        DQN("CartPole-v1", DQNConfig(hidden=(20, 20)))
    with pytest.raises(BurnsideError, match="no canonical form"):
        DQN("MountainCar-v0", arm="canonical")
    with pytest.raises(BurnsideError, match="declares no symmetry"):
        PPO("MountainCar-v0", arm="augment")
    with pytest.raises(BurnsideError, match="unknown arm"):
        PPO("CartPole-v1", arm="canonicl")
    with pytest.raises(BurnsideError, match="give one of them"):
        DQN("burnside/Ring1D-v0").learn()


@pytest.mark.probe
@pytest.mark.parametrize(("kind", "looks"), [(DQN, (30_000, 35_000, 40_000, 45_000)), (PPO, (20_000, 25_000))])
def test_both_learn_to_balance_the_pole(kind: type[Agent], looks: tuple[int, ...]) -> None:
    """A random policy lasts 22 steps. The best look counts: DQN goes up and down, differently on every processor."""
    agent = kind("CartPole-v1", seed=0)  # type: ignore[call-arg]
    assert max(agent.learn(steps).evaluate(20).returns.mean() for steps in looks) > 300
