"""Gaussian PPO: its update against torch's own, company, resuming, bad input, and probes that it must learn."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from tests.agents.control_toys import PointMass, Probe

from burnside.agents.gaussian_ppo import (
    BatchStep,
    GaussianBlock,
    GaussianPPOConfig,
    load,
    save,
    select,
    train,
    train_block,
    update_rows,
)
from burnside.agents.gaussian_ppo import _network as network
from burnside.agents.gaussian_ppo._update import epoch
from burnside.agents.gaussian_ppo.parameters import initial, layout, matrices, scratch, set_matrices
from burnside.agents.gaussian_ppo.planar import PlanarScenes
from burnside.agents.ppo.gae import advantages
from burnside.envs.planar import PlanarSpec
from burnside.errors import BurnsideError, UnreadableFile

SMALL = GaussianPPOConfig(hidden=(16, 32), scenes=8, rollout=16, batch=32, epochs=2)


def same(a: GaussianBlock, b: GaussianBlock) -> bool:
    one, two = a.arrays(), b.arrays()
    return one.keys() == two.keys() and all(one[k].tobytes() == two[k].tobytes() for k in one)


# ---------------------------------------------------------------------- the network


@pytest.mark.parametrize("rows", [1, 5, 64, 130])
def test_the_forward_pass_is_the_formula(rows: int) -> None:
    config = GaussianPPOConfig(hidden=(32, 48))
    at = layout(7, 3, config.hidden)
    flat = initial(3, at, config)
    w = matrices(flat, at)
    obs = np.random.default_rng(0).normal(size=(rows, 7)).astype(np.float32)
    for name in ("actor", "critic"):
        h = np.tanh(obs @ w[f"{name}.w1"] + w[f"{name}.b1"])
        h = np.tanh(h @ w[f"{name}.w2"] + w[f"{name}.b2"])
        expected = h @ w[f"{name}.w3"] + w[f"{name}.b3"]
        if name == "actor":
            out = np.zeros((rows, 3), dtype=np.float32)
            network.mean_only(flat, at.actor, scratch(at), obs, out)
        else:
            out = np.zeros(rows, dtype=np.float32)
            network.values(flat, at.critic, scratch(at), obs, out)
            out = out[:, None]
        assert np.allclose(out, expected, atol=2e-6)
        assert np.abs(expected).max() > 1e-3  # not a comparison of zeros


def test_a_row_does_not_depend_on_its_batch() -> None:
    config = GaussianPPOConfig()
    at = layout(8, 3, config.hidden)
    flat, obs = initial(1, at, config), np.random.default_rng(1).normal(size=(97, 8)).astype(np.float32)
    whole, alone = np.zeros(97, dtype=np.float32), np.zeros(1, dtype=np.float32)
    network.values(flat, at.critic, scratch(at), obs, whole)
    for row in (0, 1, 50, 63, 64, 96):
        network.values(flat, at.critic, scratch(at), obs[row : row + 1], alone)
        assert alone[0] == whole[row]


def test_layers_begin_orthogonal_and_matrices_return() -> None:
    config = GaussianPPOConfig()
    at = layout(9, 3, config.hidden)
    flat = initial(5, at, config)
    w = matrices(flat, at)
    assert np.allclose(w["actor.w1"] @ w["actor.w1"].T, 2 * np.eye(9), atol=1e-5)
    assert np.allclose(w["critic.w2"].T @ w["critic.w2"], 2 * np.eye(64), atol=1e-5)
    assert np.allclose(np.linalg.norm(w["actor.w3"], axis=0), 0.01, atol=1e-6)
    again = np.zeros_like(flat)
    set_matrices(again, at, w)
    assert np.array_equal(flat, again) and not np.array_equal(flat, initial(6, at, config))


def test_actions_are_normal_and_their_density_is_the_formula() -> None:
    config = GaussianPPOConfig(log_std=math.log(0.5))
    at = layout(2, 2, config.hidden)
    flat, n = initial(0, at, config), 20_000
    obs = np.tile(np.array([[0.3, -0.2]], dtype=np.float32), (n, 1))
    action, log_prob = np.zeros((n, 2), dtype=np.float32), np.zeros(n, dtype=np.float32)
    value, mean = np.zeros(n, dtype=np.float32), np.zeros((1, 2), dtype=np.float32)
    network.act(flat, at.actor, at.critic, at.spread, scratch(at), obs, 9, 0, action, log_prob, value)
    network.mean_only(flat, at.actor, scratch(at), obs[:1], mean)
    z = (action - mean) / 0.5
    assert np.abs(z.mean(axis=0)).max() < 0.03 and np.abs(z.std(axis=0) - 1).max() < 0.02
    assert abs(np.corrcoef(z.T)[0, 1]) < 0.03 and abs((np.abs(z) < 1).mean() - 0.6827) < 0.01
    expected = (-0.5 * z**2 - math.log(0.5) - 0.5 * math.log(2 * math.pi)).sum(axis=1)
    assert np.allclose(log_prob, expected, atol=1e-4)


def test_the_update_is_torchs_own() -> None:
    """Three updates against autograd, ``clip_grad_norm_`` and ``torch.optim.Adam``; the clips matter in them."""
    torch = pytest.importorskip("torch")
    config = GaussianPPOConfig(hidden=(16, 32), learning_rate=0.02, grad_clip=0.3, entropy=0.01)
    at = layout(5, 3, config.hidden)
    flat = initial(2, at, config)
    rng = np.random.default_rng(0)
    n = 70  # more than one tile of rows, and not a multiple of four
    obs, action = rng.normal(size=(n, 5)).astype(np.float32), rng.normal(size=(n, 3)).astype(np.float32)
    log_prob = rng.normal(-4.0, 0.3, size=n).astype(np.float32)
    advantage, target = rng.normal(size=(2, n)).astype(np.float32)
    leaves = {k: torch.tensor(v, requires_grad=True) for k, v in matrices(flat, at).items()}
    optimizer = torch.optim.Adam(leaves.values(), lr=0.02)
    m, v, totals = np.zeros_like(flat), np.zeros_like(flat), np.zeros(6)
    clipped = 0.0
    for k in range(3):
        totals[:] = 0
        done = epoch(
            flat, m, v, k, at.actor, at.critic, at.spread, scratch(at), obs, action, log_prob, advantage, target,
            np.arange(n), n, True, 0.2, 0.01, 0.5, 0.02, 0.3, 0.0, totals,
        )  # fmt: skip
        assert done == 1

        def net(name: str, outputs: object = None) -> "torch.Tensor":
            h = torch.tanh(torch.tensor(obs) @ leaves[f"{name}.w1"] + leaves[f"{name}.b1"])
            h = torch.tanh(h @ leaves[f"{name}.w2"] + leaves[f"{name}.b2"])
            return h @ leaves[f"{name}.w3"] + leaves[f"{name}.b3"]

        policy = torch.distributions.Normal(net("actor"), leaves["log_std"].exp())
        ratio = (policy.log_prob(torch.tensor(action)).sum(-1) - torch.tensor(log_prob)).exp()
        a = torch.tensor(advantage)
        a = (a - a.mean()) / (a.std() + 1e-8)
        surrogate = torch.minimum(ratio * a, ratio.clamp(0.8, 1.2) * a).mean()
        value = 0.5 * (net("critic")[:, 0] - torch.tensor(target)).square().mean()
        loss = -surrogate + 0.5 * value - 0.01 * policy.entropy().sum(-1).mean()
        optimizer.zero_grad()
        loss.backward()
        assert torch.nn.utils.clip_grad_norm_(leaves.values(), 0.3) > 0.3
        optimizer.step()
        assert totals[0] == pytest.approx(-surrogate.item(), abs=1e-5)
        assert totals[1] == pytest.approx(value.item(), rel=1e-5)
        assert totals[2] == pytest.approx(policy.entropy().sum(-1).mean().item(), rel=1e-5)
        clipped += totals[4]
    assert clipped > 0.1
    found = matrices(flat, at)
    for name, leaf in leaves.items():
        assert np.allclose(found[name], leaf.detach().numpy(), atol=5e-5), name


# ---------------------------------------------------------------------- rollouts


def test_truncation_bootstraps_and_termination_does_not() -> None:
    block = GaussianBlock(replace(SMALL, rollout=8, batch=8), Probe("endless"), [0])
    seen = block._rollout(np.array([0]))
    assert not seen["terminated"].any() and seen["ended"][0, 3].all() and seen["ended"][0, 7].all()
    # every observation of this environment is 0, hence every value is V(0): also the one beyond the limit
    assert np.ptp(seen["value"]) == 0 and (seen["next_value"] == seen["value"]).all()
    block = GaussianBlock(SMALL, Probe("constant"), [0])
    seen = block._rollout(np.array([0]))
    assert seen["terminated"].all() and (seen["next_value"] == 0).all()
    found = advantages(*(seen[k][0].T for k in ("reward", "value", "next_value", "terminated", "ended")), 0.9, 0.9)
    assert np.allclose(found, 1 - seen["value"][0].T)


def test_the_log_is_what_happened() -> None:
    block = GaussianBlock(SMALL, PointMass(horizon=6), [4])
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

    block = GaussianBlock(SMALL, Spy(horizon=5), [0])
    for _ in range(3):
        block.iterate()
    assert np.concatenate(asked).tolist() == list(range(block.episode[0]))
    assert block.episode[0] == 8 + len(block.rows[0])


# ---------------------------------------------------------------------- company, checkpoints


@pytest.mark.parametrize("env", [PointMass(), PlanarScenes(PlanarSpec("push", spread=(1.0, 3.0)), "robot")])
def test_a_member_does_not_depend_on_its_company(env) -> None:  # type: ignore[no-untyped-def]
    together, alone = GaussianBlock(SMALL, env, [3, 11, 7]), GaussianBlock(SMALL, env, [7])
    for _ in range(3):
        together.iterate()
        alone.iterate()
    assert np.array_equal(together.weights[2], alone.weights[0])
    assert together.rows[2] == alone.rows[0] and together.stats[2] == alone.stats[0]
    assert not np.array_equal(together.weights[0], together.weights[1])


def test_finished_members_wait_while_others_go_on() -> None:
    block, alone = GaussianBlock(SMALL, PointMass(), [0, 1]), GaussianBlock(SMALL, PointMass(), [1])
    block.iterate()
    block.iterate(np.array([True, False]))
    block.iterate()
    alone.iterate()
    alone.iterate()
    assert block.rollouts.tolist() == [3, 2] and np.array_equal(block.weights[1], alone.weights[0])


def test_resume_to_the_same_bits(tmp_path: Path) -> None:
    one, two = (GaussianBlock(SMALL, PointMass(), [0, 5]) for _ in range(2))
    for _ in range(5):
        one.iterate()
    for _ in range(2):
        two.iterate()
    save(two, tmp_path / "p.npz")
    three = load(GaussianBlock(SMALL, PointMass(), [0, 5]), tmp_path / "p.npz")
    assert same(two, three)
    for _ in range(3):
        three.iterate()
    assert same(one, three) and not same(one, two)


def test_training_goes_on_from_its_file(tmp_path: Path) -> None:
    whole = train_block(SMALL, PointMass(), [2], episodes=120)
    train(SMALL, PointMass(), [2], episodes=40, checkpoint=tmp_path / "c.npz")
    calls: list[object] = []
    resumed = train_block(
        SMALL, PointMass(), [2], episodes=120, checkpoint=tmp_path / "c.npz", every=1, progress=calls.append
    )
    assert same(whole, resumed) and calls and len(train(SMALL, PointMass(), [2], episodes=50)[0].returns) == 50
    with pytest.raises(UnreadableFile, match="another run"):
        train(replace(SMALL, clip=0.1), PointMass(), [2], episodes=10, checkpoint=tmp_path / "c.npz")


def test_a_kl_stop_ends_the_updates_of_a_rollout() -> None:
    free, held = (
        GaussianBlock(replace(SMALL, learning_rate=0.05, target_kl=kl), PointMass(), [0]) for kl in (0.0, 0.01)
    )
    for block in (free, held):
        block.iterate()
    assert free.updates[0] == SMALL.updates_per_rollout == 8
    assert 1 <= held.updates[0] < 8


def test_evaluation_is_held_out_and_repeatable() -> None:
    block = GaussianBlock(SMALL, PointMass(), [0])
    one, two, other = block.evaluate(0, 50), block.evaluate(0, 50), block.evaluate(0, 50, seed=1)
    assert np.array_equal(one.returns, two.returns) and not np.array_equal(one.returns, other.returns)
    with pytest.raises(BurnsideError, match="time limit"):
        block.evaluate(0, 4, limit=3)


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
        GaussianPPOConfig(**changes)  # type: ignore[arg-type]


def test_bad_requests() -> None:
    with pytest.raises(BurnsideError, match="preset"):
        GaussianPPOConfig.preset("planer")
    with pytest.raises(BurnsideError, match="distinct"):
        GaussianBlock(SMALL, PointMass(), [1, 1])
    with pytest.raises(BurnsideError, match="give one of them"):
        train(SMALL, PointMass(), [1])
    with pytest.raises(BurnsideError, match="do not belong"):
        GaussianBlock(SMALL, PointMass(), [1]).restore({})
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
        GaussianBlock(SMALL, Broken(), [0]).iterate()


def test_rows_of_states() -> None:
    state = {"x": np.arange(6).reshape(3, 2), "t": np.arange(3)}
    assert select(state, np.array([True, False, True]))["t"].tolist() == [0, 2]
    new = update_rows(state, np.array([0]), {"x": np.array([[9, 9]]), "t": np.array([7])})
    assert new["t"].tolist() == [7, 1, 2] and state["t"].tolist() == [0, 1, 2]


# ---------------------------------------------------------------------- probes

PROBE = GaussianPPOConfig(hidden=(32, 32), scenes=32, rollout=16, batch=128, epochs=4, learning_rate=3e-3, gamma=0.5)


def value_at(block: GaussianBlock, *obs: float) -> list[float]:
    out = np.zeros(len(obs), dtype=np.float32)
    network.values(block.weights[0], block.layout.critic, block.work, np.array(obs, dtype=np.float32)[:, None], out)
    return [float(v) for v in out]


@pytest.mark.probe
def test_probe_constant_reward() -> None:
    block = train_block(PROBE, Probe("constant"), [0], steps=30_000)
    assert value_at(block, 0.0)[0] == pytest.approx(1.0, abs=0.05)


@pytest.mark.probe
def test_probe_value_of_an_observation() -> None:
    block = train_block(PROBE, Probe("observed"), [0], steps=40_000)
    assert value_at(block, -1.0, 1.0) == pytest.approx([-1.0, 1.0], abs=0.1)


@pytest.mark.probe
def test_probe_discounting() -> None:
    block = train_block(PROBE, Probe("delayed"), [0], steps=60_000)
    assert value_at(block, 0.0, 1.0) == pytest.approx([0.5, 1.0], abs=0.06)


@pytest.mark.probe
def test_probe_truncation_is_not_termination() -> None:
    """Reward 1 for ever is worth 1 / (1 − γ) = 2, though every episode is cut after four steps."""
    block = train_block(replace(PROBE, lam=0.5), Probe("endless"), [0], steps=60_000)
    assert value_at(block, 0.0)[0] == pytest.approx(2.0, abs=0.1)


@pytest.mark.probe
def test_probe_action() -> None:
    block = train_block(PROBE, Probe("action"), [0], steps=60_000)
    assert float(block.mean_actions(0, np.zeros((1, 1)))[0, 0]) == pytest.approx(0.7, abs=0.1)


@pytest.mark.probe
def test_probe_action_that_depends_on_the_observation() -> None:
    block = train_block(PROBE, Probe("matching"), [0], steps=80_000)
    found = block.mean_actions(0, np.array([[-1.0], [1.0]]))[:, 0].tolist()
    assert found == pytest.approx([-0.5, 0.5], abs=0.12)


@pytest.mark.probe
def test_it_learns_to_push_in_the_frame_of_the_robot() -> None:
    """Planar push at full spread: above 90 % after 4 000 episodes (300 000 steps), and in world frame not yet."""
    spec = PlanarSpec("push", spread=(1.0, math.pi))
    robot, world = (
        train(GaussianPPOConfig.preset("planar"), PlanarScenes(spec, frame), [0], steps=300_000)[0]
        for frame in ("robot", "world")
    )
    assert robot.success[-500:].mean() > 0.9
    assert world.success[-500:].mean() < 0.5
