"""Arms of Stable-Baselines3, against the real library."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces

pytest.importorskip("stable_baselines3")

from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from burnside.agents import make_sb3
from burnside.agents.sb3.make import ARMS
from burnside.canonical import check_policy
from burnside.errors import InvalidAction, InvalidParameter, UnknownName
from burnside.symmetry import EnvSymmetry, Image, Labels, MultiLabels, Rotation, SignedPermutation, Trivial
from burnside.symmetry.atlas import entry_of

CARTPOLE, PENDULUM = entry_of("CartPole-v1").declared(), entry_of("Pendulum-v1").declared()
SMALL = {
    "PPO": {"n_steps": 64, "batch_size": 32, "n_epochs": 2},
    "SAC": {"learning_starts": 20, "batch_size": 16, "policy_kwargs": {"net_arch": [32, 32]}},
    "TD3": {"learning_starts": 20, "batch_size": 16, "policy_kwargs": {"net_arch": [32, 32]}},
    "DQN": {"learning_starts": 20, "batch_size": 16, "train_freq": 1},
}


class Toy(gym.Env):
    """Random observations and rewards, in any spaces: what matters is that tensors pass through."""

    def __init__(self, observation_space: spaces.Space, action_space: spaces.Space) -> None:
        self.observation_space, self.action_space, self.count = observation_space, action_space, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        self.count = 0
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        assert self.action_space.contains(action)
        self.count += 1
        return self.observation_space.sample(), float(self.count % 3), self.count == 20, False, {}


CASES = [("PPO", "CartPole-v1"), ("PPO", "Pendulum-v1"), ("SAC", "Pendulum-v1"), ("DQN", "CartPole-v1")]


def asked(model: Any, x: np.ndarray) -> list[np.ndarray]:
    """Everything a policy outputs: means or logits, standard deviations, values, Q(s, ·), Q(s, a)."""
    policy, seen = model.policy, torch.as_tensor(x, dtype=torch.float32)
    with torch.no_grad():
        if isinstance(model, PPO):
            found = policy.get_distribution(seen).distribution
            numbers = [found.probs] if hasattr(found, "probs") else [found.mean, found.stddev]
            return [t.numpy() for t in (*numbers, policy.predict_values(seen))]
        if hasattr(policy, "q_net"):
            return [policy.q_net(seen).numpy(), policy.q_net_target(seen).numpy()]
        mean, log_std, _ = policy.actor.get_action_dist_params(seen)
        actions = torch.as_tensor(x[:, 1:2] / 8, dtype=torch.float32)  # moves as the action does
        return [t.numpy() for t in (mean, log_std, *policy.critic(seen, actions), *policy.critic_target(seen, actions))]


@pytest.mark.parametrize(("algorithm", "env"), CASES)
@pytest.mark.parametrize("arm", ARMS)
def test_every_arm_trains_and_exact_ones_stay_exact(algorithm: str, env: str, arm: str) -> None:
    model = make_sb3(algorithm, env, arm, seed=3, **SMALL[algorithm])
    before = [p.detach().clone() for p in model.policy.parameters()]
    x = np.random.default_rng(0).normal(size=(16, model.observation_space.shape[0])).astype(np.float32)
    for steps in (0, 128 if algorithm == "PPO" else 40):
        if steps:
            model.learn(steps)
        if arm in ("averaging", "equivariant") or (arm == "relaxed" and not steps):
            assert deviation(model, x) < 1e-5
    assert deviation(model, x) > 1e-4 or arm in ("averaging", "equivariant")
    assert any(not torch.equal(a, b) for a, b in zip(before, model.policy.parameters(), strict=True))


def deviation(model: Any, x: np.ndarray) -> float:
    discrete = isinstance(model.action_space, spaces.Discrete)
    symmetry = CARTPOLE if discrete else PENDULUM
    there = asked(model, symmetry.act_on_observation(1, x))
    gaps = []
    for k, (a, b) in enumerate(zip(asked(model, x), there, strict=True)):
        if discrete and a.shape[-1] == 2:
            a = a[:, ::-1]
        elif not discrete and k == 0:
            a = -a
        gaps.append(np.abs(a - b).max())
    return float(max(gaps))


def test_check_policy_says_the_same_of_a_trained_model() -> None:
    for arm, exact in [("averaging", True), ("baseline", False)]:
        model = make_sb3("PPO", "CartPole-v1", arm, **SMALL["PPO"]).learn(64)
        found = check_policy(model, CARTPOLE, gym.make("CartPole-v1"), samples=64)
        assert found.equivariant is exact and found.declaration.verdict == "holds"
        assert found.rows[0]["name"] == "probability of action 0"
    model = make_sb3("DQN", "CartPole-v1", "canonical", **SMALL["DQN"]).learn(64)
    assert check_policy(model, CARTPOLE, np.random.default_rng(1).normal(size=(50, 4)).astype(np.float32)).equivariant


# ---------------------------------------------------------------------- augmentation


def key(x: np.ndarray) -> tuple[float, ...]:
    return tuple(np.round(np.asarray(x, dtype=np.float64), 5).tolist())


@pytest.mark.parametrize(("mode", "factor"), [("equal-updates", 2), ("equal-minibatch", 1)])
def test_mirrored_rollouts_keep_the_log_probability_of_the_behaviour(mode: str, factor: int) -> None:
    model = make_sb3("PPO", "Pendulum-v1", "augment", mode=mode, **SMALL["PPO"])
    usual = make_sb3("PPO", "Pendulum-v1", "baseline", **SMALL["PPO"])
    for m in (model, usual):
        m.learn(64)
    assert model._n_updates == usual._n_updates == 2
    np.random.seed(0)  # noqa: NPY002  # which the library draws batches with
    mirrored = list(model.rollout_buffer.get(32))
    assert [len(batch.actions) for batch in mirrored] == [32 * factor] * 2
    buffer = model.rollout_buffer
    recorded = {key(row): i for i, row in enumerate(buffer.observations)}
    seen = 0
    for batch in mirrored:
        for k in range(len(batch.actions)):
            x, a = batch.observations[k].numpy(), batch.actions[k].numpy()
            here, there = (recorded.get(key(sign * x)) for sign in ([1, 1, 1], [1, -1, -1]))
            i, sign = (here, 1) if here is not None else (there, -1)
            seen += sign < 0
            np.testing.assert_allclose(a, sign * buffer.actions[i], rtol=1e-6)
            assert batch.old_log_prob[k] == pytest.approx(buffer.log_probs[i].item())
            assert batch.advantages[k] == pytest.approx(buffer.advantages[i].item())
            assert batch.returns[k] == pytest.approx(buffer.returns[i].item())
    assert seen == 64 if mode == "equal-updates" else 15 < seen < 50


@pytest.mark.parametrize(("mode", "factor"), [("equal-updates", 2), ("equal-minibatch", 1)])
def test_mirrored_transitions_are_those_of_the_environment(mode: str, factor: int) -> None:
    """Pendulum is deterministic: set the recorded state, take the action, and the mirrored transition must follow."""
    model = make_sb3("SAC", "Pendulum-v1", "augment", mode=mode, **SMALL["SAC"]).learn(40)
    assert model._n_updates == 20
    batch = model.replay_buffer.sample(16)
    assert len(batch.observations) == len(batch.rewards) == 16 * factor
    env = gym.make("Pendulum-v1").unwrapped
    env.reset(seed=0)
    for k in range(len(batch.observations)):
        cosine, sine, rate = batch.observations[k].double().numpy()
        env.state = np.array([np.arctan2(sine, cosine), rate])
        x, reward, *_ = env.step(2.0 * batch.actions[k].numpy())  # scaled to [−1, 1] in the buffer
        np.testing.assert_allclose(x, batch.next_observations[k], atol=1e-4)
        assert reward == pytest.approx(batch.rewards[k].item(), abs=1e-4)


def test_equal_minibatches_do_not_depend_on_the_generator_of_the_library() -> None:
    def actions(seed: int) -> torch.Tensor:
        model = make_sb3("SAC", "Pendulum-v1", "augment", seed=seed, mode="equal-minibatch", learning_starts=100)
        model.learn(30)
        np.random.seed(0)  # noqa: NPY002
        return model.replay_buffer.sample(32).observations

    assert torch.equal(actions(1), actions(1)) and not torch.equal(actions(1), actions(2))


# ---------------------------------------------------------------------- spaces

SQUARE = spaces.Box(0, 255, (40, 40, 3), np.uint8)
MIXED = spaces.Dict(where=spaces.Discrete(4), push=spaces.Box(-1, 1, (2,)))
TURN = EnvSymmetry("C4", {"where": Labels("1,2,3,0"), "push": Rotation((0, 1))}, Labels("1,2,3,0"))
FLIP = EnvSymmetry("mirror", Image("flip_lr"), "labels 0,2,1")
SPACES = {
    "dict": (MIXED, spaces.Discrete(4), TURN),
    "labels": (spaces.Discrete(6), spaces.Discrete(2), EnvSymmetry("mirror", Labels("5,4,3,2,1,0"), "labels 1,0")),
    "several": (
        spaces.MultiDiscrete([3, 3]),
        spaces.MultiDiscrete([2, 2]),
        EnvSymmetry("mirror", MultiLabels([None, None], "1,0"), MultiLabels(["1,0", "1,0"], "1,0")),
    ),
    "bits": (
        spaces.MultiBinary(4),
        spaces.MultiBinary(2),
        EnvSymmetry("mirror", "1,0,3,2", MultiLabels(["1,0", None])),
    ),
    "picture": (SQUARE, spaces.Discrete(3), FLIP),
}


@pytest.mark.parametrize("arm", ["augment", "averaging", "equivariant", "mirror-loss"])
@pytest.mark.parametrize("name", SPACES)
def test_spaces_of_all_kinds(name: str, arm: str) -> None:
    observation, action, symmetry = SPACES[name]
    env = Toy(observation, action)
    if (name, arm) == ("picture", "equivariant"):
        with pytest.raises(InvalidParameter, match="flat observations"):
            make_sb3("PPO", env, arm, symmetry)
        return
    settings = {"n_steps": 16, "batch_size": 8, "n_epochs": 1}
    model = make_sb3("PPO", env, arm, symmetry, **settings).learn(32)
    if arm in ("averaging", "equivariant"):
        x = [observation.sample() for _ in range(8)]
        for g in symmetry.elements:
            a, b = (logits(model, points) for points in (x, [symmetry.act_on_observation(g, p) for p in x]))
            if isinstance(action, spaces.Discrete):
                moved = np.empty_like(a)
                moved[:, [symmetry.act_on_action(g, k) for k in range(action.n)]] = a
                np.testing.assert_allclose(b, moved, atol=1e-5)


def logits(model: Any, points: list[Any]) -> np.ndarray:
    batch = (
        {k: np.stack([p[k] for p in points]) for k in points[0]} if isinstance(points[0], dict) else np.stack(points)
    )
    with torch.no_grad():
        found = model.policy.get_distribution(model.policy.obs_to_tensor(batch)[0]).distribution
    return found.probs.numpy() if hasattr(found, "probs") else np.zeros(0)


def test_dqn_and_sac_on_dictionaries() -> None:
    for arm in ("augment", "averaging", "equivariant"):
        make_sb3("DQN", Toy(MIXED, spaces.Discrete(4)), arm, TURN, **SMALL["DQN"]).learn(40)
    pair = EnvSymmetry("C4", {"where": Labels("1,2,3,0"), "push": Rotation((0, 1))}, Rotation((0, 1)))
    for arm in ("augment", "averaging", "relaxed"):
        make_sb3("SAC", Toy(MIXED, spaces.Box(-2, 2, (2,))), arm, pair, **SMALL["SAC"]).learn(40)


def test_actions_of_other_bounds_are_mirrored_in_their_own_units() -> None:
    """Actions between 1 and 3: their mirror is 4 − a, which is −a where the library scales them."""
    from burnside.symmetry import Affine

    mirror = EnvSymmetry("mirror", "-0", Affine([[-1.0]], [4.0]))
    env = Toy(spaces.Box(-1, 1, (1,)), spaces.Box(1, 3, (1,)))
    model = make_sb3("SAC", env, "augment", mirror, **SMALL["SAC"]).learn(30)
    batch = model.replay_buffer.sample(8)
    torch.testing.assert_close(batch.actions[:8], -batch.actions[8:])
    model = make_sb3("PPO", env, "averaging", mirror, **SMALL["PPO"])
    x = np.linspace(-1, 1, 5, dtype=np.float32)[:, None]
    with torch.no_grad():
        mean = [model.policy.get_distribution(torch.from_numpy(s * x)).distribution.mean for s in (1, -1)]
    torch.testing.assert_close(mean[1], 4 - mean[0])


def test_a_group_of_turns_is_approximated_by_as_many_as_asked_for() -> None:
    turns = EnvSymmetry("O(2)", Rotation((0, 1), odd=(2,)), Rotation(odd=(0,)), name="all turns")
    env = Toy(spaces.Box(-1, 1, (3,)), spaces.Box(-1, 1, (1,)))
    model = make_sb3("PPO", env, "averaging", turns, turns=6, **SMALL["PPO"]).learn(64)
    assert model.policy.plan.order == 12 and "D6 of O(2)" in model.policy.plan.symmetry.name
    make_sb3("SAC", env, "augment", turns, mode="equal-minibatch", **SMALL["SAC"]).learn(30)


def test_mirror_loss_falls_and_its_gradient_is_that_of_the_loss() -> None:
    x = torch.randn(64, 3)
    model = make_sb3("PPO", "Pendulum-v1", "mirror-loss", mirror_coefficient=2.0, learning_rate=0.01, **SMALL["PPO"])
    policy = model.policy
    with torch.no_grad():
        policy.action_net.bias.fill_(0.7)
        actions, *_ = policy(x)
    plain = [torch.zeros_like(p) for p in policy.parameters()]
    for k in (0, 1):  # once through evaluate_actions with a loss of weight zero, once directly
        policy.zero_grad()
        (policy.evaluate_actions(x, actions)[1].sum() * 0 if k == 0 else 2.0 * policy.mirror_loss(x)).backward()
        for store, p in zip(plain, policy.parameters(), strict=True):
            grad = torch.zeros_like(p) if p.grad is None else p.grad
            if k == 0:
                store.copy_(grad)
            else:
                torch.testing.assert_close(store, grad)
    before = policy.mirror_loss(x).item()
    model.learn(640)
    assert policy.mirror_loss(x).item() < 0.5 * before


# ---------------------------------------------------------------------- saved, refused, vectors


def test_a_saved_model_is_the_same_after_loading(tmp_path: Path) -> None:
    for algorithm, arm in [("PPO", "equivariant"), ("PPO", "averaging")]:
        model = make_sb3(algorithm, "CartPole-v1", arm, **SMALL[algorithm]).learn(64)
        model.save(tmp_path / arm)
        again = PPO.load(tmp_path / arm)
        x = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
        np.testing.assert_allclose(asked(again, x)[0], asked(model, x)[0], atol=1e-6)


def test_vector_environments_and_the_baseline() -> None:
    vector = DummyVecEnv([lambda: gym.make("CartPole-v1")] * 2)
    model = make_sb3("PPO", vector, "augment", **SMALL["PPO"]).learn(128)
    assert model.num_timesteps == 128
    usual = PPO("MlpPolicy", "CartPole-v1", seed=5, **SMALL["PPO"]).learn(128)
    ours = make_sb3("PPO", "CartPole-v1", seed=5, **SMALL["PPO"]).learn(128)
    for a, b in zip(usual.policy.parameters(), ours.policy.parameters(), strict=True):
        assert torch.equal(a, b)


REFUSED = [
    (UnknownName, "did you mean 'PPO'", {"algorithm": "PP0", "env": "CartPole-v1"}),
    (UnknownName, "unknown arm", {"algorithm": "PPO", "env": "CartPole-v1", "arm": "mirror"}),
    (InvalidParameter, "DQN needs numbered actions", {"algorithm": "DQN", "env": "Pendulum-v1"}),
    (InvalidParameter, "SAC needs actions in a Box", {"algorithm": "SAC", "env": "CartPole-v1"}),
    (InvalidParameter, "use_sde", {"algorithm": "PPO", "env": "Pendulum-v1", "arm": "averaging", "use_sde": True}),
    (
        InvalidParameter,
        "the atlas says that it has none",
        {"algorithm": "DQN", "env": "MountainCar-v0", "arm": "augment"},
    ),
    (
        InvalidParameter,
        "setting of the arms augment",
        {"algorithm": "PPO", "env": "CartPole-v1", "mode": "equal-updates"},
    ),
    (UnknownName, "mode of augmentation", {"algorithm": "PPO", "env": "CartPole-v1", "arm": "augment", "mode": "all"}),
    (InvalidParameter, "recurrent policy", {"algorithm": "PPO", "env": "CartPole-v1", "policy": "MlpLstmPolicy"}),
    (InvalidParameter, "for PPO, SAC and DQN", {"algorithm": "TD3", "env": "Pendulum-v1", "arm": "averaging"}),
    (
        InvalidAction,
        "does not fit",
        {"algorithm": "PPO", "env": "CartPole-v1", "arm": "augment", "symmetry": EnvSymmetry("mirror", "- -", "-0")},
    ),
]


@pytest.mark.parametrize(("kind", "words", "given"), REFUSED)
def test_what_does_not_fit_is_refused_in_one_sentence(kind: type[Exception], words: str, given: dict[str, Any]) -> None:
    with pytest.raises(kind, match=words) as caught:
        make_sb3(**given)
    assert "\n" not in str(caught.value)


def test_normalized_observations_and_wrapped_vectors_are_refused() -> None:
    vector = DummyVecEnv([lambda: gym.make("CartPole-v1")])
    with pytest.raises(InvalidParameter, match="VecNormalize"):
        make_sb3("PPO", VecNormalize(vector), "averaging", CARTPOLE)
    with pytest.raises(InvalidParameter, match="around each environment"):
        make_sb3("PPO", vector, "canonical")
    with pytest.raises(InvalidParameter, match="make_vec_env"):
        make_sb3("PPO", gym.make_vec("CartPole-v1", 2), "augment")
    with pytest.raises(InvalidParameter, match="observations of the kind Text"):
        make_sb3("PPO", Toy(spaces.Dict(say=spaces.Text(3)), spaces.Discrete(2)))
    with pytest.raises(InvalidParameter, match="does not take any vector"):
        make_sb3("DQN", gym.make("burnside.envs:burnside/Cube-v0"), "averaging")
    with pytest.raises(InvalidParameter, match="NameNotFound"):
        make_sb3("PPO", "NoSuchEnv-v0")
    angles = EnvSymmetry("C4", Rotation((1, 2), angles=(0,)), Trivial())
    with pytest.raises(InvalidParameter, match="cosine and sine"):
        make_sb3("PPO", Toy(spaces.Box(-4, 4, (3,)), spaces.Discrete(2)), "equivariant", angles)
    bounded = EnvSymmetry("C3", SignedPermutation("1,2,0"), Rotation((0, 1)))
    with pytest.raises(InvalidAction, match="beyond its bounds"):
        make_sb3("SAC", Toy(spaces.Box(-1, 1, (3,)), spaces.Box(-1, 1, (2,))), "augment", bounded)


@pytest.mark.probe
@pytest.mark.slow
def test_averaging_learns_cartpole() -> None:
    settings = {"n_steps": 256, "batch_size": 64, "n_epochs": 8, "learning_rate": 1e-3}
    model = make_sb3("PPO", "CartPole-v1", "averaging", seed=0, **settings).learn(4_096)
    mean, _ = evaluate_policy(model, model.get_env(), n_eval_episodes=5)
    assert mean > 300  # the baseline has about 175 then
