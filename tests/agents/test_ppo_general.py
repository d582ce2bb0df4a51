"""PPO on any environment: its update against torch's, independent members, resuming, bad input, and probes."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from tests.agents.control_toys import PointMass, Probe
from tests.agents.learners import same_arrays as same
from tests.agents.learners import same_log

from burnside._random import Stream, uniform
from burnside.agents.common.advantages import advantages
from burnside.agents.common.checkpoint import load, save
from burnside.agents.common.training import train
from burnside.agents.ppo import GeneralPPO, PPOConfig, kernels, plain
from burnside.agents.ppo.networks import initial, layout, parameters, rules, set_parameters
from burnside.envs.batched import BatchedEnv, BatchStep, Box, Discrete, select, update_rows
from burnside.envs.planar import PlanarScenes, PlanarSpec
from burnside.errors import BurnsideError, UnreadableFile
from burnside.nn import mlp, mlp_kernels

SMALL = PPOConfig(hidden=(16, 32), scenes=8, rollout=16, batch=32, epochs=2)


@dataclass(frozen=True)
class Spaces:
    """Only the widths, for tests of the networks."""

    obs_dim: int
    action: Box | Discrete


def made(obs_dim: int, action: Box | Discrete, config: PPOConfig, seed: int):  # type: ignore[no-untyped-def]
    """Where the parameters lie, the parameters, and scratch."""
    policy = layout(Spaces(obs_dim, action), config)  # type: ignore[arg-type]
    return policy, initial(seed, policy, config), mlp_kernels.scratch(policy.actor, policy.critic)


def trained(config: PPOConfig, env: BatchedEnv, seeds: list[int], **options: object) -> GeneralPPO:
    return train([GeneralPPO(config, env, seeds)], **options)[0]  # type: ignore[arg-type]


# ---------------------------------------------------------------------- the network


def test_layers_begin_orthogonal_and_matrices_return() -> None:
    policy, flat, _ = made(9, Box(3), PPOConfig(), 5)
    w = parameters(flat, policy)
    assert np.allclose(w["actor.w1"] @ w["actor.w1"].T, 2 * np.eye(9), atol=1e-5)
    assert np.allclose(w["critic.w2"].T @ w["critic.w2"], 2 * np.eye(64), atol=1e-5)
    assert np.allclose(np.linalg.norm(w["actor.w3"], axis=0), 0.01, atol=1e-6)
    again = np.zeros_like(flat)
    set_parameters(again, policy, w)
    assert np.array_equal(flat, again) and not np.array_equal(flat, initial(6, policy, PPOConfig()))


def test_actions_are_normal_and_their_density_is_the_formula() -> None:
    policy, flat, work = made(2, Box(2), PPOConfig(log_std=math.log(0.5)), 0)
    n = 20_000
    obs = np.tile(np.array([[0.3, -0.2]], dtype=np.float32), (n, 1))
    action, log_prob = np.zeros((n, 2), dtype=np.float32), np.zeros(n, dtype=np.float32)
    mean = np.zeros((1, 2), dtype=np.float32)
    kernels.act(flat, policy, work, obs, 9, 0, kernels.Drawn(action, log_prob))
    mlp_kernels.outputs(flat, policy.actor, work, obs[:1], mean)
    z = (action - mean) / 0.5
    assert np.abs(z.mean(axis=0)).max() < 0.03 and np.abs(z.std(axis=0) - 1).max() < 0.02
    assert abs(np.corrcoef(z.T)[0, 1]) < 0.03 and abs((np.abs(z) < 1).mean() - 0.6827) < 0.01
    expected = (-0.5 * z**2 - math.log(0.5) - 0.5 * math.log(2 * math.pi)).sum(axis=1)
    assert np.allclose(log_prob, expected, atol=1e-4)


def test_numbered_actions_follow_the_softmax() -> None:
    """Drawn as ``plain.sample`` draws them, with the probability they say."""
    policy, flat, work = made(3, Discrete(4), PPOConfig(), 2)
    w = parameters(flat, policy)
    flat[policy.actor.w3 : policy.actor.b3] *= 200.0  # far from uniform
    w = parameters(flat, policy)
    n = 4_000
    obs = np.tile(np.array([[0.3, -0.2, 1.0]], dtype=np.float32), (n, 1))
    action, log_prob = np.zeros((n, 1), dtype=np.float32), np.zeros(n, dtype=np.float32)
    kernels.act(flat, policy, work, obs, 9, 100, kernels.Drawn(action, log_prob))
    logits = mlp.forward({k: w[f"actor.{k}"] for k in ("w1", "b1", "w2", "b2", "w3", "b3")}, obs)[2]
    u = uniform(9, Stream.POLICY, 100 + np.arange(n))
    assert (plain.sample(logits, u) == action[:, 0]).mean() > 0.999  # rounding may tip a close one
    p = np.exp(logits[0]) / np.exp(logits[0]).sum()
    assert np.abs(np.bincount(action[:, 0].astype(int), minlength=4) / n - p).max() < 0.03 and p.max() > 0.3
    assert np.allclose(log_prob, np.log(p)[action[:, 0].astype(int)], atol=1e-5)


@pytest.mark.parametrize("action", [Box(3), Discrete(5)], ids=["gaussian", "categorical"])
@pytest.mark.parametrize("normalize", [True, False])
def test_the_update_is_torchs_own_and_the_plain_one(action: Box | Discrete, normalize: bool) -> None:
    """Three updates against autograd, ``clip_grad_norm_`` and ``torch.optim.Adam``; the clips matter in them."""
    torch = pytest.importorskip("torch")
    config = PPOConfig(hidden=(16, 32), learning_rate=0.02, grad_clip=0.1, entropy=0.05, normalize=normalize, scenes=70,
                       rollout=1, batch=70)  # fmt: skip
    policy, flat, work = made(5, action, config, 2)
    rng = np.random.default_rng(0)
    n = 70  # more than one tile of rows, and not a multiple of four
    obs, discrete = rng.normal(size=(n, 5)).astype(np.float32), isinstance(action, Discrete)
    taken = rng.integers(0, 5, (n, 1)) if discrete else rng.normal(size=(n, 3))
    log_prob = rng.normal(-1.6 if discrete else -4.0, 0.3, size=n).astype(np.float32)
    advantage, target = rng.normal(size=(2, n)).astype(np.float32)
    steps = kernels.Steps(obs, taken.astype(np.float32), log_prob, advantage, target)
    leaves = {k: torch.tensor(v, requires_grad=True) for k, v in parameters(flat, policy).items()}
    optimizer = torch.optim.Adam(leaves.values(), lr=0.02)
    net = kernels.Adam(flat, np.zeros_like(flat), np.zeros_like(flat), np.zeros_like(flat))
    totals, clipped = np.zeros(6), 0.0
    for k in range(3):
        totals[:] = 0
        w = parameters(flat, policy)
        parts = {
            name: {key.split(".")[1]: v for key, v in w.items() if key.startswith(name)} for name in ("actor", "critic")
        }
        log_std = None if discrete else w["log_std"]
        found, stats = plain.gradients(parts["actor"], parts["critic"], log_std, steps._asdict(), config)
        assert kernels.epoch(net, policy, work, steps, np.arange(n), k, rules(config), totals) == 1

        def forward(name: str) -> "torch.Tensor":
            h = torch.tanh(torch.tensor(obs) @ leaves[f"{name}.w1"] + leaves[f"{name}.b1"])
            h = torch.tanh(h @ leaves[f"{name}.w2"] + leaves[f"{name}.b2"])
            return h @ leaves[f"{name}.w3"] + leaves[f"{name}.b3"]

        if discrete:
            dist = torch.distributions.Categorical(logits=forward("actor"))
            log_p, entropy = dist.log_prob(torch.tensor(taken[:, 0])), dist.entropy().mean()
        else:
            normal = torch.distributions.Normal(forward("actor"), leaves["log_std"].exp())
            log_p, entropy = normal.log_prob(torch.tensor(steps.action)).sum(-1), normal.entropy().sum(-1).mean()
        ratio = (log_p - torch.tensor(log_prob)).exp()
        a = torch.tensor(advantage)
        a = (a - a.mean()) / (a.std() + 1e-8) if normalize else a
        surrogate = torch.minimum(ratio * a, ratio.clamp(0.8, 1.2) * a).mean()
        value = 0.5 * (forward("critic")[:, 0] - torch.tensor(target)).square().mean()
        loss = -surrogate + 0.5 * value - 0.05 * entropy
        optimizer.zero_grad()
        loss.backward()
        assert torch.nn.utils.clip_grad_norm_(leaves.values(), 0.1) > 0.1
        for name, grad in ((f"{part}.{key}", g) for part in ("actor", "critic") for key, g in found[part].items()):
            assert np.allclose(grad, leaves[name].grad.numpy(), atol=2e-5), name
        optimizer.step()
        for at, expected in enumerate((-surrogate, value, entropy)):
            assert totals[at] == pytest.approx(expected.item(), rel=1e-4, abs=1e-5)
        assert list(stats.values()) == pytest.approx(totals[:5].tolist(), rel=1e-3, abs=1e-5)
        clipped += totals[4]
    assert clipped > 0.1
    after = parameters(flat, policy)
    for name, leaf in leaves.items():
        assert np.allclose(after[name], leaf.detach().numpy(), atol=5e-5), name


# ---------------------------------------------------------------------- rollouts


def test_truncation_bootstraps_and_termination_does_not() -> None:
    block = GeneralPPO(replace(SMALL, rollout=8, batch=8), Probe("endless"), [0])
    seen = block._rollout(np.array([0]))
    assert not seen["terminated"].any() and seen["ended"][0, 3].all() and seen["ended"][0, 7].all()
    # every observation of this environment is 0, hence every value is V(0): also the one beyond the limit
    assert np.ptp(seen["value"]) == 0 and (seen["next_value"] == seen["value"]).all()
    block = GeneralPPO(SMALL, Probe("constant"), [0])
    seen = block._rollout(np.array([0]))
    assert seen["terminated"].all() and (seen["next_value"] == 0).all()
    found = advantages(*(seen[k][0].T for k in ("reward", "value", "next_value", "terminated", "ended")), 0.9, 0.9)
    assert np.allclose(found, 1 - seen["value"][0].T)


def test_the_log_is_what_happened() -> None:
    block = GeneralPPO(SMALL, PointMass(horizon=6), [4])
    for _ in range(4):
        block.iterate()
    log = block.log(0)
    assert log.episodes > 60 and log.lengths.max() == 6 and (log.lengths >= 1).all()
    assert (log.lengths[~log.success] == 6).all() and (np.diff(log.steps) >= 0).all()
    assert log.steps[-1] <= block.steps[0] == 4 * 8 * 16
    # every step belongs to an episode that ended or is under way
    assert log.lengths.sum() + block.length.sum() == block.steps[0]


def test_episodes_are_numbered_without_gaps() -> None:
    asked: list[np.ndarray] = []

    @dataclass(frozen=True)
    class Spy(PointMass):
        def reset_batch(self, seeds: np.ndarray, episodes: np.ndarray) -> Mapping[str, np.ndarray]:
            asked.append(np.array(episodes))
            return super().reset_batch(seeds, episodes)

    block = GeneralPPO(SMALL, Spy(horizon=5), [0])
    for _ in range(3):
        block.iterate()
    assert np.concatenate(asked).tolist() == list(range(block.episode[0]))
    assert block.episode[0] == 8 + block.episodes[0]


# ---------------------------------------------------------------------- company, checkpoints


@pytest.mark.parametrize("env", [PointMass(), PlanarScenes(PlanarSpec("push", spread=(1.0, 3.0)), "robot")])
def test_a_member_does_not_depend_on_its_company(env) -> None:  # type: ignore[no-untyped-def]
    together, alone = GeneralPPO(SMALL, env, [3, 11, 7]), GeneralPPO(SMALL, env, [7])
    for _ in range(3):
        together.iterate()
        alone.iterate()
    assert np.array_equal(together.network.weights[2], alone.network.weights[0])
    assert same_log(together.log(2), alone.log(0))
    assert not np.array_equal(together.network.weights[0], together.network.weights[1])


def test_finished_members_wait_while_others_go_on() -> None:
    block, alone = GeneralPPO(SMALL, PointMass(), [0, 1]), GeneralPPO(SMALL, PointMass(), [1])
    block.iterate()
    block.iterate(np.array([True, False]))
    block.iterate()
    alone.iterate()
    alone.iterate()
    assert block.rollouts.tolist() == [3, 2] and np.array_equal(block.network.weights[1], alone.network.weights[0])


def test_resume_to_the_same_bits(tmp_path: Path) -> None:
    one, two = (GeneralPPO(SMALL, PointMass(), [0, 5]) for _ in range(2))
    for _ in range(5):
        one.iterate()
    for _ in range(2):
        two.iterate()
    save(two, tmp_path / "p.npz")
    three = load(GeneralPPO(SMALL, PointMass(), [0, 5]), tmp_path / "p.npz")
    assert same(two, three)
    for _ in range(3):
        three.iterate()
    assert same(one, three) and not same(one, two)


def test_training_goes_on_from_its_file(tmp_path: Path) -> None:
    whole = trained(SMALL, PointMass(), [2], episodes=120)
    trained(SMALL, PointMass(), [2], episodes=40, checkpoint=tmp_path)
    calls: list[object] = []
    resumed = trained(SMALL, PointMass(), [2], episodes=120, checkpoint=tmp_path, every=1, progress=calls.append)
    assert same(whole, resumed) and calls and len(resumed.log(0, 50).returns) == 50
    with pytest.raises(UnreadableFile, match="another run"):
        trained(replace(SMALL, clip=0.1), PointMass(), [2], episodes=10, checkpoint=tmp_path)


def test_a_kl_stop_ends_the_updates_of_a_rollout() -> None:
    free, held = (GeneralPPO(replace(SMALL, learning_rate=0.05, target_kl=kl), PointMass(), [0]) for kl in (0.0, 0.01))
    for block in (free, held):
        block.iterate()
    assert free.updates[0] == SMALL.updates_per_rollout == 8
    assert 1 <= held.updates[0] < 8


def test_evaluation_is_held_out_and_repeatable() -> None:
    block = GeneralPPO(SMALL, PointMass(), [0])
    one, two, other = block.evaluate(50), block.evaluate(50), block.evaluate(50, seed=1)
    assert np.array_equal(one.returns, two.returns) and not np.array_equal(one.returns, other.returns)
    with pytest.raises(BurnsideError, match="time limit"):
        block.evaluate(4, limit=3)


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden": (60, 64)}, "multiples of 16"),
        ({"batch": 100}, "must divide"),
        ({"gamma": 1.5}, "from 0 to 1"),
        ({"clip": 0.0}, "positive"),
        ({"target_kl": -1.0}, "0 or more"),
        ({"batch": 1}, "cannot be normalised"),
    ],
)
def test_bad_settings(changes: dict[str, object], message: str) -> None:
    with pytest.raises(BurnsideError, match=message):
        PPOConfig(**changes)  # type: ignore[arg-type]


def test_bad_requests() -> None:
    with pytest.raises(BurnsideError, match="preset"):
        PPOConfig.preset("planer")
    with pytest.raises(BurnsideError, match="listed twice"):
        GeneralPPO(SMALL, PointMass(), [1, 1])
    with pytest.raises(BurnsideError, match="give one of them"):
        trained(SMALL, PointMass(), [1])
    with pytest.raises(BurnsideError, match="do not belong"):
        GeneralPPO(SMALL, PointMass(), [1]).restore({})
    with pytest.raises(BurnsideError, match="unknown frame 'robt'"):
        PlanarScenes(PlanarSpec("push"), "robt")


def test_observations_that_are_no_numbers_are_refused() -> None:
    @dataclass(frozen=True)
    class Broken(PointMass):
        def step_batch(self, state: Mapping[str, np.ndarray], action: np.ndarray) -> BatchStep:
            step = super().step_batch(state, action)
            step.state["x"][3] = np.nan
            return step

    with pytest.raises(BurnsideError, match="scene 3 is not finite"):
        GeneralPPO(SMALL, Broken(), [0]).iterate()


def test_rows_of_states() -> None:
    state = {"x": np.arange(6).reshape(3, 2), "t": np.arange(3)}
    assert select(state, np.array([True, False, True]))["t"].tolist() == [0, 2]
    new = update_rows(state, np.array([0]), {"x": np.array([[9, 9]]), "t": np.array([7])})
    assert new["t"].tolist() == [7, 1, 2] and state["t"].tolist() == [0, 1, 2]


# ---------------------------------------------------------------------- probes

PROBE = PPOConfig(hidden=(32, 32), scenes=32, rollout=16, batch=128, epochs=4, learning_rate=3e-3, gamma=0.5)


def value_at(block: GeneralPPO, *obs: float) -> list[float]:
    return [float(v) for v in block.values(np.array(obs, dtype=np.float32)[:, None])]


@pytest.mark.probe
def test_probe_constant_reward() -> None:
    block = trained(PROBE, Probe("constant"), [0], steps=30_000)
    assert value_at(block, 0.0)[0] == pytest.approx(1.0, abs=0.05)


@pytest.mark.probe
def test_probe_value_of_an_observation() -> None:
    block = trained(PROBE, Probe("observed"), [0], steps=40_000)
    assert value_at(block, -1.0, 1.0) == pytest.approx([-1.0, 1.0], abs=0.1)


@pytest.mark.probe
def test_probe_discounting() -> None:
    block = trained(PROBE, Probe("delayed"), [0], steps=60_000)
    assert value_at(block, 0.0, 1.0) == pytest.approx([0.5, 1.0], abs=0.06)


@pytest.mark.probe
def test_probe_truncation_is_not_termination() -> None:
    """Reward 1 forever is worth 1 / (1 − γ) = 2, though every episode is cut after four steps."""
    block = trained(replace(PROBE, lam=0.5), Probe("endless"), [0], steps=60_000)
    assert value_at(block, 0.0)[0] == pytest.approx(2.0, abs=0.1)


@pytest.mark.probe
def test_probe_action() -> None:
    block = trained(PROBE, Probe("action"), [0], steps=60_000)
    assert float(block.act(np.zeros((1, 1)))[0, 0]) == pytest.approx(0.7, abs=0.1)


@pytest.mark.probe
def test_probe_action_that_depends_on_the_observation() -> None:
    block = trained(PROBE, Probe("matching"), [0], steps=80_000)
    found = block.act(np.array([[-1.0], [1.0]]))[:, 0].tolist()
    assert found == pytest.approx([-0.5, 0.5], abs=0.12)


@pytest.mark.probe
@pytest.mark.slow
def test_it_learns_to_push_in_the_frame_of_the_robot() -> None:
    """Planar push at full spread: above 90 % after 4 000 episodes (300 000 steps), and in world frame not yet."""
    spec = PlanarSpec("push", spread=(1.0, math.pi))
    robot, world = (
        trained(PPOConfig.preset("planar"), PlanarScenes(spec, frame), [0], steps=300_000).log()
        for frame in ("robot", "world")
    )
    assert robot.success[-500:].mean() > 0.9
    assert world.success[-500:].mean() < 0.5
