"""Exported code, run against the library it is for; and check_policy, which needs no library."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from burnside.canonical import check_policy, export
from burnside.cli import main
from burnside.errors import InvalidParameter, UnknownName
from burnside.symmetry import EnvSymmetry, Image, Labels, Rotation, Shift, SignedPermutation, Trivial
from burnside.symmetry.atlas import entry_of

torch = pytest.importorskip("torch")
RNG = np.random.default_rng(0)


def bare(observation: spaces.Space, action: spaces.Space) -> gym.Env:
    env = gym.Env()
    env.observation_space, env.action_space = observation, action
    return env


def module(code: str, folder: Path, name: str = "exported") -> ModuleType:
    """Import the code as a user would: from a file."""
    path = folder / f"{name}.py"
    path.write_text(code, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


VECTORS = {
    "signed": EnvSymmetry("C4", "1,-0,2", "1,-0"),
    "turns": EnvSymmetry("D3", Rotation((0, 1), odd=(2,)), Rotation((0, 1))),
    "phase": EnvSymmetry("mirror", Shift(0.5, 1.0, 0.0) + SignedPermutation("-0,1"), "-0,1"),
    "all turns": EnvSymmetry("SO(2)", Rotation((0, 1)) + Trivial(1), Rotation((0, 1))),
}
WIDE = spaces.Box(-np.inf, np.inf, (3,)), spaces.Box(-np.inf, np.inf, (2,))


@pytest.mark.parametrize("name", VECTORS)
def test_exported_maps_are_those_of_the_declaration(name: str, tmp_path: Path) -> None:
    symmetry = VECTORS[name]
    code = module(export(symmetry, bare(*WIDE), "cleanrl", turns=5), tmp_path)
    x, a = RNG.uniform(size=(6, 3)), RNG.uniform(size=(6, 2))
    group = symmetry.changed(group="C5", domain=None) if name == "all turns" else symmetry
    assert group.order == code.ORDER
    for g in group.elements:
        np.testing.assert_allclose(code.move_observation(g, torch.tensor(x)), group.act_on_observation(g, x), atol=1e-6)
        np.testing.assert_allclose(code.move_action(g, torch.tensor(a)), group.act_on_action(g, a), atol=1e-6)


def test_the_cleanrl_code_needs_torch_only(tmp_path: Path) -> None:
    env = gym.make("Pendulum-v1")
    (tmp_path / "mirror.py").write_text(export(entry_of("Pendulum-v1").declared(), env, "cleanrl"), encoding="utf-8")
    program = (
        "import sys, torch, mirror\n"
        "x, a, p = torch.randn(8, 3), torch.randn(8, 1), torch.randn(8)\n"
        "obs, actions, logprobs = mirror.augment_rollout(x, a, p)\n"
        "assert (obs[8:, 1:] == -x[:, 1:]).all() and (actions[8:] == -a).all() and (logprobs[8:] == p).all()\n"
        "assert len(mirror.augment_transitions(x, a, x, p)) == 4\n"
        "moved, b = mirror.random_images(x, a)\n"
        "assert ((moved[:, 1:2] * x[:, 1:2] > 0) == (b * a > 0)).all() and moved.shape == x.shape\n"
        "odd, even = torch.nn.Linear(3, 1, bias=False), torch.nn.Linear(3, 1)\n"
        "odd.weight.data[0, 0] = 0\n"
        "assert mirror.mirror_loss(odd, x) < 1e-10 < mirror.mirror_loss(even, x)\n"
        "assert not any(name.startswith('burnside') for name in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, env={"PATH": "", "OMP_NUM_THREADS": "1"})


# ---------------------------------------------------------------------- against the libraries


def test_rsl_rl_trains_with_the_exported_function(tmp_path: Path) -> None:
    pytest.importorskip("rsl_rl")
    from rsl_rl.algorithms import PPO
    from rsl_rl.extensions import Symmetry
    from tensordict import TensorDict

    symmetry = entry_of("Pendulum-v1").declared()
    mirror = module(export(symmetry, gym.make("Pendulum-v1"), "rsl_rl"), tmp_path).data_augmentation_func
    env = RslPendulum(16)
    model = {"class_name": "MLPModel", "hidden_dims": [32, 32], "activation": "elu"}
    noise = {"distribution_cfg": {"class_name": "GaussianDistribution", "init_std": 1.0}}
    cfg = {
        "num_steps_per_env": 8,
        "multi_gpu": None,
        "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
        "actor": model | noise,
        "critic": dict(model),
        "algorithm": {
            "class_name": "PPO",
            "num_learning_epochs": 2,
            "symmetry_cfg": {
                "data_augmentation_func": mirror,
                "use_data_augmentation": True,
                "use_mirror_loss": True,
                "mirror_loss_coeff": 1.0,
            },
        },
    }
    obs = env.get_observations()
    algorithm = PPO.construct_algorithm(obs, env, cfg, "cpu")
    assert isinstance(algorithm.symmetry, Symmetry)
    before = [p.detach().clone() for p in algorithm.actor.parameters()]
    for _ in range(3):
        with torch.inference_mode():
            for _ in range(8):
                obs, rewards, dones, extras = env.step(algorithm.act(obs))
                algorithm.process_env_step(obs, rewards, dones, extras)
            algorithm.compute_returns(obs)
        losses = algorithm.update()
        assert np.isfinite(losses["symmetry"])
    assert any(not torch.equal(a, b) for a, b in zip(before, algorithm.actor.parameters(), strict=True))

    batch = TensorDict({"policy": torch.randn(4, 3), "critic": torch.randn(4, 3)}, batch_size=[4])
    moved, actions = mirror(env=env, obs=batch, actions=torch.ones(4, 1))
    assert moved.batch_size[0] == 8 and torch.equal(actions[4:], -torch.ones(4, 1))
    for group in ("policy", "critic"):
        np.testing.assert_array_equal(moved[group][4:], symmetry.act_on_observation(1, batch[group].numpy()))
    batch["scan"] = torch.zeros(4, 7)
    with pytest.raises(ValueError, match="'scan'"):
        mirror(env=env, obs=batch, actions=None)


class RslPendulum:
    """Pendulum as rsl_rl wants it."""

    num_actions, device, cfg, max_episode_length = 1, "cpu", {}, 200

    def __init__(self, count: int) -> None:
        self.num_envs, self.envs = count, gym.make_vec("Pendulum-v1", count)
        self.episode_length_buf = torch.zeros(count, dtype=torch.long)
        self.x, _ = self.envs.reset(seed=0)

    def get_observations(self) -> Any:
        from tensordict import TensorDict

        return TensorDict({"policy": torch.as_tensor(self.x)}, batch_size=[self.num_envs])

    def step(self, actions: Any) -> Any:
        self.x, reward, over, late, _ = self.envs.step(actions.cpu().numpy())
        done = torch.as_tensor(over | late).long()
        return self.get_observations(), torch.as_tensor(reward, dtype=torch.float32), done, {}


def test_torchrl_samples_images_from_its_replay_buffer(tmp_path: Path) -> None:
    pytest.importorskip("torchrl")
    from torchrl.data import LazyTensorStorage, ReplayBuffer
    from torchrl.envs import GymEnv

    symmetry = entry_of("CartPole-v1").declared()
    code = module(export(symmetry, gym.make("CartPole-v1"), "torchrl"), tmp_path)
    for categorical in (False, True):  # one-hot vectors are TorchRL's default
        played = GymEnv("CartPole-v1", categorical_action_encoding=categorical).rollout(40, break_when_any_done=False)
        buffer = ReplayBuffer(storage=LazyTensorStorage(100), transform=code.SymmetryTransform(), batch_size=16)
        buffer.extend(played)
        batch = buffer.sample()
        assert len(batch) == 32
        first, second = batch[:16], batch[16:]
        for key in ("observation", ("next", "observation")):
            torch.testing.assert_close(second[key], -first[key])
        flipped = 1 - first["action"].int() if categorical else first["action"].int().flip(-1)
        assert torch.equal(second["action"].int(), flipped) and second["action"].dtype == first["action"].dtype
        assert torch.equal(second["next", "reward"], first["next", "reward"])
        drawn = code.augment(played, random=True)
        moved = drawn["observation"][:, 0] != played["observation"][:, 0]
        assert len(drawn) == len(played) and 0 < moved.sum() < len(played)
        assert torch.equal((drawn["action"] != played["action"]).reshape(len(played), -1).any(-1), moved)
    played["loc"] = torch.zeros(len(played), 1)
    with pytest.raises(ValueError, match="'loc'"):
        code.augment(played)


@pytest.mark.parametrize("random", [False, True])
def test_stable_baselines3_trains_with_the_exported_buffers(random: bool, tmp_path: Path) -> None:
    sb3 = pytest.importorskip("stable_baselines3")

    code = module(export(entry_of("Pendulum-v1").declared(), gym.make("Pendulum-v1"), "sb3"), tmp_path)
    kwargs = {"random": random}
    ppo = sb3.PPO(
        "MlpPolicy", "Pendulum-v1", n_steps=64, batch_size=32, n_epochs=1,
        rollout_buffer_class=code.SymmetricRolloutBuffer, rollout_buffer_kwargs=kwargs,
    ).learn(64)  # fmt: skip
    assert len(next(ppo.rollout_buffer.get(32)).actions) == (32 if random else 64)
    sac = sb3.SAC(
        "MlpPolicy", "Pendulum-v1", learning_starts=20, batch_size=8, policy_kwargs={"net_arch": [16]},
        replay_buffer_class=code.SymmetricReplayBuffer, replay_buffer_kwargs=kwargs,
    ).learn(30)  # fmt: skip
    batch = sac.replay_buffer.sample(8)
    assert len(batch.rewards) == (8 if random else 16)
    if not random:
        torch.testing.assert_close(batch.actions[8:], -batch.actions[:8])


def test_buffers_hold_scaled_actions(tmp_path: Path) -> None:
    from burnside.symmetry import Affine

    pytest.importorskip("stable_baselines3")
    mirror = EnvSymmetry("mirror", "-0", Affine([[-1.0]], [4.0]))
    code = module(export(mirror, bare(spaces.Box(-1, 1, (1,)), spaces.Box(1, 3, (1,))), "sb3"), tmp_path)
    assert code.move_action(1, torch.tensor([1.5])).item() == 2.5
    assert code.move_scaled_action(1, torch.tensor([0.25])).item() == -0.25


def test_dictionaries_go_by_key(tmp_path: Path) -> None:
    pytest.importorskip("tensordict")
    from tensordict import TensorDict

    symmetry = EnvSymmetry("mirror", {"policy": "-0,1", "critic": "-0,1,-2"}, "-0")
    space = spaces.Dict(policy=spaces.Box(-1, 1, (2,)), critic=spaces.Box(-1, 1, (3,)))
    code = module(export(symmetry, bare(space, spaces.Box(-1, 1, (1,))), "rsl_rl"), tmp_path)
    batch = TensorDict({"policy": torch.ones(2, 2), "critic": torch.ones(2, 3)}, batch_size=[2])
    moved, actions = code.data_augmentation_func(None, batch, None)
    assert actions is None and moved["policy"][2].tolist() == [-1, 1] and moved["critic"][3].tolist() == [-1, 1, -1]


def test_what_cannot_be_exported_is_refused_in_a_sentence() -> None:
    cartpole = entry_of("CartPole-v1").declared()
    with pytest.raises(UnknownName, match="did you mean 'rsl_rl'"):
        export(cartpole, gym.make("CartPole-v1"), "rslrl")
    with pytest.raises(InvalidParameter, match="continuous actions only"):
        export(cartpole, gym.make("CartPole-v1"), "rsl_rl")
    picture = bare(spaces.Box(0, 255, (8, 8, 3), np.uint8), spaces.Box(-1, 1, (1,)))
    with pytest.raises(InvalidParameter, match="by key"):
        export(EnvSymmetry("mirror", Image("flip_lr"), "-0"), picture, "rsl_rl")
    with pytest.raises(InvalidParameter, match="channels"):
        export(EnvSymmetry("mirror", Image("flip_lr", permute="1,0,2"), "-0"), picture, "cleanrl")
    body = EnvSymmetry("C4", Rotation(quaternions=(0, 1, 2, 3)), "trivial")
    with pytest.raises(InvalidParameter, match="quaternions"):
        export(body, bare(spaces.Box(-1, 1, (4,)), spaces.Discrete(2)), "cleanrl")


def test_the_command_writes_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mirror.py"
    assert main(["export", "CartPole-v1", "--to", "cleanrl", "--out", str(path)]) == 0
    assert module(path.read_text(encoding="utf-8"), tmp_path).ORDER == 2
    assert main(["export", "MountainCar-v0", "--to", "cleanrl"]) == 2
    assert "the atlas says that it has none" in " ".join(capsys.readouterr().err.split())
    assert main(["export", "CartPole-v1", "--to", "cleanrl", "--out", str(tmp_path / "mirror.txt")]) == 2
    assert main(["export", "CartPole-v1", "--to", "jax"]) == 2


# ---------------------------------------------------------------------- check_policy

PENDULUM = entry_of("Pendulum-v1").declared()


def test_a_deviation_is_measured_in_units_and_named() -> None:
    x = RNG.normal(size=(200, 3))
    pair = EnvSymmetry("mirror", "0,-1,-2", "-0,1", name="left and right")
    found = check_policy(lambda x: np.stack([x[:, 1] + 0.25, x[:, 0]], 1), pair, x)
    assert not found.equivariant and not found.ok
    assert found.rows[0]["largest"] == pytest.approx(0.5) and found.rows[1]["largest"] == 0
    assert "action[0] under element 1" in found.worst and found.fixed["largest"] == pytest.approx(0.5)
    assert check_policy(lambda x: np.stack([x[:, 1] * x[:, 0], x[:, 0]], 1), pair, x).ok


def test_a_wrong_declaration_is_noticed_although_the_policy_agrees_with_it() -> None:
    """A mirror that forgets a sign: a policy can satisfy it exactly. Only the environment tells."""
    wrong = EnvSymmetry("mirror", "0,-1,2", "-0", state="-0,1", name="wrong")
    policy = lambda x: np.sin(x[:, 1:2])  # noqa: E731 - equivariant under both
    found = check_policy(policy, wrong, gym.make("Pendulum-v1"), samples=100)
    assert found.equivariant and not found.ok and found.declaration.verdict == "refuted"
    right = check_policy(policy, PENDULUM, gym.make("Pendulum-v1"), samples=100)
    assert right.ok and right.declaration.verdict == "holds" and "not checked" not in str(right)
    alone = check_policy(policy, wrong, RNG.normal(size=(50, 3)))
    assert alone.equivariant and any("not checked" in note for note in alone.notes)


def test_an_identity_and_a_constant_prove_nothing_and_that_is_said() -> None:
    nothing = EnvSymmetry("mirror", "0,1,2", "0")
    found = check_policy(lambda x: x[:, :1], nothing, RNG.normal(size=(20, 3)))
    assert any("nothing was tested" in note for note in found.notes)
    found = check_policy(lambda x: np.zeros((len(x), 1)), PENDULUM, RNG.normal(size=(20, 3)))
    assert found.equivariant and any("the same everywhere" in note for note in found.notes)


def test_policies_of_all_kinds() -> None:
    x = RNG.normal(size=(30, 4)).astype(np.float32)
    mirror = EnvSymmetry("mirror", "- - - -", "labels 1,0")
    odd = torch.nn.Linear(4, 2)
    with torch.no_grad():
        odd.weight[1], odd.bias[:] = -odd.weight[0], 0.5
    assert check_policy(odd, mirror, x).equivariant
    odd.bias.data[0] = 1.0
    assert not check_policy(odd, mirror, x).equivariant
    assert check_policy(lambda x: (x[:, 0] > 0).astype(int), mirror, x).equivariant  # labels
    turns = EnvSymmetry("SO(2)", Rotation((0, 1)), Rotation((0, 1)))
    assert check_policy(lambda x: 2 * x, turns).equivariant and not check_policy(np.abs, turns).equivariant
    from burnside.agents import DQN

    agent = DQN("CartPole-v1").learn(200)
    assert check_policy(agent, mirror, x).rows[0]["name"] == "action 0"
    named = {"where": np.eye(2), "how": np.array([0, 1])}
    both = EnvSymmetry("mirror", {"where": "1,0", "how": Labels("1,0")}, "-0")
    assert check_policy(lambda x: x["where"][:, :1] - x["where"][:, 1:], both, named).equivariant
    with pytest.raises(InvalidParameter, match="is not a policy"):
        check_policy(3, mirror, x)
    with pytest.raises(InvalidParameter, match="one row each"):
        check_policy(lambda x: np.zeros(3), mirror, x)
    with pytest.raises(InvalidParameter, match="give the symmetry"):
        check_policy(odd)


# ---------------------------------------------------------------------- pictures


class Field(gym.Env):
    """A walker and a goal, seen as a picture with its channels last."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(0, 255, (6, 6, 3), np.uint8)
        self.action_space = spaces.Discrete(4)  # right, up, left, down

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.at, self.goal = self.np_random.integers(0, 6, (2, 2))
        return self.seen(), {}

    def seen(self) -> Any:
        x = np.zeros((6, 6, 3), np.uint8)
        x[(*self.at, 0)], x[(*self.goal, 1)] = 255, 200
        return x

    def step(self, action: Any) -> Any:
        self.at = np.clip(self.at + [(0, 1), (-1, 0), (0, -1), (1, 0)][int(action)], 0, 5)
        over = bool((self.at == self.goal).all())
        return self.seen(), float(over), over, False, {}


FIELD = EnvSymmetry("D4", Image(), ["labels 1,2,3,0", "labels 0,3,2,1"])


@pytest.mark.parametrize("to", ["cleanrl", "torchrl"])
def test_exported_pictures_move_as_declared(to: str, tmp_path: Path) -> None:
    pytest.importorskip("torchrl")
    code = module(export(FIELD, Field(), to), tmp_path)
    x = RNG.integers(0, 256, (5, 6, 6, 3), dtype=np.uint8)
    for g in FIELD.elements:
        np.testing.assert_array_equal(code.move_observation(g, torch.tensor(x)), FIELD.act_on_observation(g, x))


def test_exported_pictures_by_key(tmp_path: Path) -> None:
    seen = spaces.Dict(camera=spaces.Box(0, 255, (3, 6, 6), np.uint8), speed=spaces.Box(-1, 1, (2,)))
    mirror = EnvSymmetry("mirror", {"camera": Image("flip_lr", channels="first"), "speed": "-0,1"}, "-0")
    code = module(export(mirror, bare(seen, spaces.Box(-1, 1, (1,))), "rsl_rl"), tmp_path)
    x = RNG.integers(0, 256, (5, 3, 6, 6), dtype=np.uint8)
    np.testing.assert_array_equal(code.GROUPS["camera"](1, torch.tensor(x)), x[..., ::-1])


def test_pictures_in_a_buffer_of_stable_baselines3(tmp_path: Path) -> None:
    """Which brings channels to the front before it stores them."""
    sb3 = pytest.importorskip("stable_baselines3")
    code = module(export(FIELD, Field(), "sb3"), tmp_path)
    env = gym.wrappers.TimeLimit(Field(), 20)
    model = sb3.DQN(
        "MlpPolicy", env, replay_buffer_class=code.SymmetricReplayBuffer, buffer_size=200, learning_starts=20, seed=0,
        batch_size=4,
    )  # fmt: skip
    model.learn(40)
    batch = model.replay_buffer.sample(4)
    x = batch.observations.cpu().numpy()
    assert x.shape == (32, 3, 6, 6)
    pictures = np.moveaxis(x, 1, -1)
    for g in FIELD.elements:
        np.testing.assert_array_equal(pictures[4 * g : 4 * g + 4], FIELD.act_on_observation(g, pictures[:4]))


def test_how_equivariant_a_policy_of_pictures_is() -> None:
    from burnside.nn import GroupAverage

    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(108, 4))
    x = RNG.integers(0, 256, (30, 6, 6, 3), dtype=np.uint8)
    assert not check_policy(network, FIELD, x).equivariant
    found = check_policy(GroupAverage.of(network, FIELD, Field()), FIELD, x)
    assert found.equivariant and found.places == 30
