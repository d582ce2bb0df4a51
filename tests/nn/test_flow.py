"""The flow policy: sampler and log-probability by hand, shapes, shared context, files, bad input."""

import json
import math
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.nn.flows import MLP, TINY, noise, observation, policy_of  # noqa: E402

from burnside.errors import BurnsideError, InvalidParameter, UnreadableFile  # noqa: E402
from burnside.nn.flow import FlowConfig, FlowPolicy, Imitation, ImitationConfig, load_policy, save_policy  # noqa: E402
from burnside.nn.flow.chain import Shape, chain_log_prob, sample_chain, schedule, step_mean  # noqa: E402
from burnside.nn.flow.encoders import resample_cloud  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


# ---------------------------------------------------------------------- the sampler


def test_steps_of_the_flow_sde_by_hand() -> None:
    plan = schedule(4, "flow_sde", 0.3)
    # second step: s = 3/4, σ² = 0.09 · 3, h = 1/4
    assert plan.std[1] == pytest.approx(math.sqrt(0.27) / 2)
    assert plan.keep[1] == pytest.approx(1 - 0.27 * 0.25 / 1.5)
    assert plan.move[1] == pytest.approx(0.25 * (1 + 0.27 * 0.25 / 1.5))
    # first step: s = 1, the denominator is the next step's
    assert plan.std[0] == pytest.approx(0.3) and plan.move[0] == 0.25 and plan.keep[0] == pytest.approx(1 - 0.36 / 8)


@pytest.mark.parametrize("kind", ["flow_sde", "constant"])
def test_without_noise_it_is_eulers_method(kind: str) -> None:
    policy = policy_of(replace(TINY, noise=kind, sigma=0.0))
    tokens, z = policy.encode(observation(TINY, 3)), noise(policy, 3)
    path, _ = sample_chain(policy.plan(), z, policy.velocity(tokens))
    x = z[:, 0]
    for k in range(4):
        x = x + 0.25 * policy.trunk(x, torch.full((3,), 0.25 * k), policy.trunk.memory(tokens))
    assert torch.allclose(path[:, -1], x, atol=1e-6)
    assert torch.allclose(policy.act(observation(TINY, 3), z), policy.executed(x), atol=1e-6)


def test_the_sde_keeps_the_marginals_of_the_flow() -> None:
    """With the exact velocity towards N(2, 0.5²) the SDE ends there, as the ODE does; Euler with noise added does not.

    For x_t = (1 − t) z + t (2 + 0.5 w) the velocity is E[x_1 − x_0 | x_t], linear in x_t.
    """

    def velocity(x: "torch.Tensor", t: "torch.Tensor") -> "torch.Tensor":
        t = t.reshape(-1, 1, 1)
        variance = (1 - t) ** 2 + 0.25 * t**2
        return 2 + (0.25 * t - (1 - t)) / variance * (x - 2 * t)

    z = torch.randn(20_000, 101, 1, 1, generator=torch.Generator().manual_seed(0))
    ends = {}
    for kind, size in (("flow_sde", 0.0), ("flow_sde", 1.0), ("constant", 0.1)):
        path, _ = sample_chain(schedule(100, kind, size), z, velocity)
        ends[kind, size] = path[:, -1].flatten()
    for key in (("flow_sde", 0.0), ("flow_sde", 1.0)):
        assert ends[key].mean().item() == pytest.approx(2, abs=0.03), key
        assert ends[key].std().item() == pytest.approx(0.5, abs=0.03), key
    assert ends["constant", 0.1].std().item() > 0.6


def test_log_probability_by_hand() -> None:
    """Velocity 1 everywhere, two constant steps of deviation 0.5: means are x + ½."""
    plan = schedule(2, "constant", 0.5)
    path = torch.tensor([[[[0.0, 0.0]], [[0.5, 1.0]], [[1.0, 1.5]]]])  # the only deviation is 0.5 = one deviation
    one = math.log(0.5) + 0.5 * math.log(2 * math.pi)
    velocity = lambda x, t: torch.ones_like(x)  # noqa: E731
    assert chain_log_prob(plan, path, velocity).item() == pytest.approx(-4 * one - 0.5)
    assert chain_log_prob(plan, path, velocity, "mean").item() == pytest.approx(-one - 0.125)
    for which, expected in ((0, -2 * one - 0.5), (1, -2 * one)):
        found = chain_log_prob(plan, path, velocity, "single_step", which=torch.tensor([which]))
        assert found.item() == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["sum", "mean", "single_step", "last_step"])
@pytest.mark.parametrize("sampler", ["flow_sde", "constant"])
@pytest.mark.parametrize("base", [TINY, MLP], ids=["ditx", "mlp"])
def test_a_replayed_chain_has_its_stored_log_probability(base: FlowConfig, sampler: str, kind: str) -> None:
    config = replace(base, noise=sampler, logprob=kind)
    policy = policy_of(config)
    which = torch.tensor([0, 3, 1, 2, 3, 0]) if kind == "single_step" else None
    with torch.no_grad():
        tokens = policy.encode(observation(config, 6))
        chain = policy.decide(tokens, noise(policy, 6), which)
        assert torch.equal(policy.log_prob(tokens, chain.path, which), chain.log_prob)  # the same shapes: the same bits
        part = policy.log_prob(tokens[2:4], chain.path[2:4], None if which is None else which[2:4])
    assert torch.allclose(part, chain.log_prob[2:4], atol=1e-5, rtol=1e-5)
    replayed = policy.log_prob(policy.encode(observation(config, 6)), chain.path, which)  # with gradient
    assert torch.allclose(replayed, chain.log_prob, atol=1e-5, rtol=1e-6)
    assert replayed.requires_grad and chain.log_prob.std() > 0


def test_single_step_is_noisy_at_that_step_only() -> None:
    policy = policy_of(replace(MLP, logprob="single_step"))
    tokens, z = policy.encode(observation(MLP, 4)), noise(policy, 4)
    chain = policy.decide(tokens, z, torch.arange(4))
    quiet = schedule(4, "constant", 0.0)
    for k in range(4):
        mean, _ = step_mean(quiet, k, chain.path[:, k], policy.velocity(tokens), None)
        off = (chain.path[:, k + 1] - mean).abs().amax(dim=(1, 2))
        assert [bool(o > 1e-3) for o in off] == [row == k for row in range(4)]


def test_last_step_is_single_step_at_the_last_one() -> None:
    one, always = (policy_of(replace(MLP, logprob=kind)) for kind in ("single_step", "last_step"))
    tokens, z = one.encode(observation(MLP, 4)), noise(one, 4)
    single, last = one.decide(tokens, z, torch.full((4,), 3)), always.decide(tokens, z)
    assert torch.equal(single.path, last.path) and torch.equal(single.log_prob, last.log_prob)
    calls: list[int] = []

    def velocity(x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        calls.append(len(x))
        return x * t.reshape(-1, 1, 1)

    chain_log_prob(always.plan(), last.path, velocity, "last_step", which=torch.full((4,), 3))
    assert calls == [4]  # one evaluation for a chain of four steps


def test_noise_of_a_chunk_and_of_the_gripper() -> None:
    """One draw moves all actions alike, the last number by a deviation of its own; the density is that of the mean."""
    plan = schedule(2, "constant", 0.1)
    factor = torch.tensor([1.0, 1.0, 5.0])
    shape = Shape(factor, shared=True)
    noise = torch.randn(4000, 3, 8, 3, generator=torch.Generator().manual_seed(0))
    which = torch.ones(4000, dtype=torch.int64)

    def velocity(x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        return -x

    path, means = sample_chain(plan, noise, velocity, which, shape)
    offset = path[:, 2] - means[1]
    assert torch.allclose(offset, offset[:, :1].expand_as(offset), atol=1e-6)
    assert offset[:, 0].std(dim=0).tolist() == pytest.approx([0.1, 0.1, 0.5], rel=0.05)
    found = chain_log_prob(plan, path, velocity, "last_step", slice(0, 4), which, means, shape)
    wanted = torch.distributions.Normal(torch.zeros(3), 0.1 * factor).log_prob(offset[:, 0]).sum(dim=1)
    assert torch.allclose(found, wanted, atol=1e-3)
    assert torch.allclose(chain_log_prob(plan, path, velocity, "last_step", slice(0, 4), which, shape=shape), wanted,
                          atol=1e-3)  # fmt: skip
    # a policy that moves half of the window one way and half the other leaves the mean, and so the density, alone
    turned = means[1].clone()
    turned[:, :2] += 0.05
    turned[:, 2:4] -= 0.05
    same = chain_log_prob(plan, path, velocity, "last_step", slice(0, 4), which, [means[0], turned], shape)
    assert torch.allclose(same, wanted, atol=1e-3)
    config = replace(MLP, sigma=0.1, grip_sigma=0.5, chunk_noise=True, logprob="last_step", noise="constant")
    form = FlowPolicy(config, 0).noise_form()
    assert form.shared and form.factor is not None and form.factor[-1] == pytest.approx(5.0)


def test_the_value_may_see_the_time() -> None:
    policy = FlowPolicy(replace(MLP, value_time=True), 0)
    seen = {"state": np.zeros((2, MLP.n_obs, MLP.obs_dim))}
    tokens = policy.encode(seen)
    early, late = (policy.value(tokens, np.full((2, 1), t)) for t in (0.0, 1.0))
    assert early.shape == (2,) and not torch.allclose(early, late)
    with pytest.raises(InvalidParameter, match="clock"):
        policy.value(tokens)


def test_augmentation_changes_every_batch() -> None:
    seen, done = {"state": np.ones((9, MLP.n_obs, MLP.obs_dim))}, np.ones((9, *MLP.chunk))
    calls: list[tuple[int, int]] = []

    def augment(before, observations, actions):  # type: ignore[no-untyped-def]
        calls.append((before, len(actions)))
        return {"state": 2 * observations["state"]}, 3 * actions

    job = Imitation(FlowPolicy(MLP, 0), ImitationConfig(steps=3, batch=4), seen, done, augment=augment)
    assert job.policy.state_mean[0] == 2.0 and job.policy.action_mean[0] == 3.0  # fitted to what is learned from
    job.run()
    assert calls == [(0, 9), (9, 4), (13, 4), (17, 4)]


def test_scales_can_be_given() -> None:
    policy = FlowPolicy(MLP, 0)
    state, actions = np.random.default_rng(0).normal(size=(50, MLP.obs_dim)), np.ones((50, MLP.act_dim))
    scales = {"state": np.full(MLP.obs_dim, 0.1), "action": np.full(MLP.act_dim, 0.5)}
    policy.fit_normalisation(state, actions, scales=scales)
    assert policy.state_scale.tolist() == pytest.approx([0.1] * MLP.obs_dim)
    assert policy.state_mean.numpy() == pytest.approx(state.mean(axis=0), abs=1e-6)
    assert policy.action_scale.tolist() == [0.5] * MLP.act_dim and policy.action_mean.tolist() == [1.0] * MLP.act_dim
    with pytest.raises(InvalidParameter, match="positive"):
        policy.fit_normalisation(state, actions, scales={"state": np.zeros(MLP.obs_dim)})


def test_executed_only_counts_the_window() -> None:
    config = replace(TINY, executed_only=True)
    policy = policy_of(config)
    assert config.window == (1, 5)
    tokens = policy.encode(observation(config, 2))
    chain = policy.decide(tokens, noise(policy, 2))
    last = chain.path.clone()
    last[:, -1, 5:] += 1.0  # what is not executed
    assert torch.equal(policy.log_prob(tokens, last), policy.log_prob(tokens, chain.path))
    last[:, -1, 4] += 1.0
    assert not torch.equal(policy.log_prob(tokens, last), policy.log_prob(tokens, chain.path))


@pytest.mark.parametrize("base", [TINY, MLP, replace(TINY, encoder="state")], ids=["ditx", "mlp", "state"])
def test_sharing_the_context_changes_nothing(base: FlowConfig) -> None:
    policy = policy_of(base)
    tokens = policy.encode(observation(base, 5))
    path = policy.decide(tokens, noise(policy, 5)).path
    grads = []
    for share in (True, False):
        policy.zero_grad()
        found = policy.log_prob(policy.encode(observation(base, 5)), path, share=share)
        found.sum().backward()
        grads.append([found.detach(), *(p.grad for p in policy.trunk.parameters() if p.grad is not None)])
    assert len(grads[0]) == len(grads[1]) > 5
    for one, two in zip(*grads, strict=True):
        assert torch.allclose(one, two, rtol=1e-4, atol=1e-4 * float(one.abs().max()) + 1e-6)


# ---------------------------------------------------------------------- the networks


def test_a_new_policy_is_an_identity_of_noise() -> None:
    """Zero-initialised output: the velocity is 0, the flow returns its noise."""
    policy = FlowPolicy(TINY)
    z = noise(policy, 2)
    assert torch.equal(policy.act(observation(TINY, 2), z), policy.executed(z[:, 0]))


def test_parameters_depend_on_the_seed_and_nothing_else() -> None:
    torch.manual_seed(1)
    one = FlowPolicy(TINY, 7).state_dict()
    after = torch.rand(1)
    torch.manual_seed(1)
    assert torch.equal(after, torch.rand(1))  # the global generator is left alone
    two, other = FlowPolicy(TINY, 7).state_dict(), FlowPolicy(TINY, 8).state_dict()
    assert all(torch.equal(one[k], two[k]) for k in one)
    assert not torch.equal(one["trunk.action.weight"], other["trunk.action.weight"])


def test_the_order_of_points_does_not_matter_without_places() -> None:
    policy = policy_of(TINY)
    with torch.no_grad():
        policy.trunk.context_places.zero_()
        policy.value_head.places.zero_()
    seen = observation(TINY, 2)
    mixed = {**seen, "cloud": seen["cloud"][:, :, ::-1].copy()}
    z = noise(policy, 2)
    assert torch.allclose(policy.act(seen, z), policy.act(mixed, z), atol=1e-5)
    assert torch.allclose(policy.value(policy.encode(seen)), policy.value(policy.encode(mixed)), atol=1e-5)
    moved = {**seen, "cloud": seen["cloud"] + 1}
    assert not torch.allclose(policy.act(seen, z), policy.act(moved, z), atol=1e-3)


def test_every_parameter_of_the_trunk_gets_a_gradient() -> None:
    policy = policy_of(TINY)
    policy.matching_loss(
        observation(TINY, 4), torch.randn(4, *TINY.chunk), torch.randn(4, *TINY.chunk), torch.rand(4)
    ).backward()
    without = [name for name, p in policy.named_parameters() if p.grad is None or not p.grad.abs().max() > 0]
    assert [name for name in without if not name.startswith("value_head")] == []


@pytest.mark.slow
def test_the_papers_size() -> None:
    """12 × 768 with 8 heads: 25 · 768² products per block make the 177 M; stepped once, forwards and backwards."""
    config = FlowConfig.preset("paper")
    policy = FlowPolicy(config)
    blocks = sum(p.numel() for block in policy.trunk.blocks for p in block.parameters())
    assert blocks == 12 * (25 * 768**2 + 22 * 768 + 4 * 96)
    trunk = sum(p.numel() for p in policy.trunk.parameters())
    assert 177_000_000 < blocks < trunk < 181_000_000
    tokens = policy.encode(observation(config, 1))
    assert tokens.shape == (1, 1024, 192)
    chain = policy.decide(tokens.detach(), noise(policy, 1))
    log_prob = policy.log_prob(tokens, chain.path)
    assert log_prob.item() == pytest.approx(chain.log_prob.item(), rel=1e-5)
    (log_prob.sum() + policy.value(tokens).sum()).backward()
    assert policy.trunk.out[2].weight.grad.abs().max() > 0


# ---------------------------------------------------------------------- normalisation and files


def test_normalisation_belongs_to_the_policy(tmp_path: Path) -> None:
    policy = policy_of(MLP)
    state = np.array([[0.0, 5.0, 2.0, 0, 0, 0, 0, 0], [4.0, 5.0, 6.0, 0, 0, 0, 0, 0]])
    policy.fit_normalisation(state, np.array([[0.0, -1.0, 3.0], [2.0, 1.0, 3.0]]))
    found = policy.observation({"state": state[:, None]})["state"][:, 0, :3]
    assert torch.allclose(found, torch.tensor([[-1.0, 0.0, -1.0], [1.0, 0.0, 1.0]]))
    chunk = torch.zeros(1, *MLP.chunk)
    chunk[..., 0], chunk[..., 2] = 1.0, 0.5
    assert policy.executed(chunk)[0, 0].tolist() == [2.0, 0.0, 3.5]
    assert torch.allclose(policy.normalise_actions(policy.executed(chunk)), chunk[:, :4])
    again = load_policy(save_policy(policy, tmp_path / "p.safetensors"), MLP)
    z = noise(policy, 3)
    assert torch.equal(again.act(observation(MLP, 3), z), policy.act(observation(MLP, 3), z))
    assert torch.equal(again.action_scale, policy.action_scale)


def test_a_policy_of_another_shape_is_refused(tmp_path: Path) -> None:
    file = save_policy(FlowPolicy(MLP), tmp_path / "p.safetensors")
    with pytest.raises(UnreadableFile, match="width is 32, not 64"):
        load_policy(file, replace(MLP, width=64))
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(UnreadableFile, match="cannot be read"):
        load_policy(file)
    with pytest.raises(UnreadableFile, match="there is no file"):
        load_policy(tmp_path / "none.safetensors")
    from safetensors.torch import save

    header = {"format": "burnside-flow-1", "config": json.dumps(MLP.to_json())}
    (tmp_path / "q.safetensors").write_bytes(save({"x": torch.zeros(1)}, header))
    with pytest.raises(UnreadableFile, match="damaged"):
        load_policy(tmp_path / "q.safetensors")
    (tmp_path / "r.safetensors").write_bytes(save({"x": torch.zeros(1)}))
    with pytest.raises(UnreadableFile, match="not a flow policy"):
        load_policy(tmp_path / "r.safetensors")


# ---------------------------------------------------------------------- bad input


def test_bad_observations() -> None:
    policy = policy_of(TINY)
    seen = observation(TINY, 4)
    seen["state"][2, 0, 1] = np.nan
    with pytest.raises(BurnsideError, match="state of row 2 is NaN or infinite"):
        policy.encode(seen)
    with pytest.raises(BurnsideError, match="no 'cloud'"):
        policy.encode({"state": observation(TINY, 4)["state"]})
    with pytest.raises(BurnsideError, match="state has shape"):
        policy.encode({**observation(TINY, 4), "state": np.zeros((4, 2, 5))})


def test_a_cloud_with_too_few_points_is_padded_and_said_once() -> None:
    policy = policy_of(TINY)
    seen = observation(TINY, 2)
    few = {**seen, "cloud": seen["cloud"][:, :, :11]}
    with pytest.warns(UserWarning, match="11 points and the policy takes 16"):
        one = policy.encode(few)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        two = policy.encode(few)
    assert torch.equal(one, two) and one.shape == policy.encode(seen).shape
    padded = resample_cloud(few["cloud"], 16)
    assert np.array_equal(padded[:, :, :11], few["cloud"])
    assert all(any(np.array_equal(padded[0, 0, k], p) for p in few["cloud"][0, 0]) for k in range(11, 16))
    assert resample_cloud(seen["cloud"], 5).shape == (2, 2, 5, 6)
    with pytest.raises(BurnsideError, match="at least one point"):
        resample_cloud(np.zeros((0, 6)), 4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_act": 17}, "longer than the horizon 16: lower n_act to 15"),
        ({"n_act": 16}, "longer than the horizon"),
        ({"encoder": "clouds"}, "did you mean 'cloud'"),
        ({"encoder": "cloud"}, "points ≥ 1"),
        ({"trunk": "ditx", "width": 30}, "must divide the width"),
        ({"sigma": -1.0}, "0 or more"),
        ({"steps": 0}, "at least 1"),
        ({"logprob": "total"}, "unknown logprob"),
    ],
)
def test_bad_settings(changes: dict[str, object], message: str) -> None:
    with pytest.raises(BurnsideError, match=message):
        FlowConfig(**changes)  # type: ignore[arg-type]


def test_bad_requests() -> None:
    with pytest.raises(BurnsideError, match="FlowConfig preset"):
        FlowConfig.preset("papr")
    policy = policy_of(replace(MLP, sigma=0.0))
    with pytest.raises(BurnsideError, match="sigma > 0"):
        policy.decide(policy.encode(observation(MLP, 2)), noise(policy, 2))
    single = policy_of(replace(MLP, logprob="single_step"))
    with pytest.raises(BurnsideError, match="which step"):
        single.decide(single.encode(observation(MLP, 2)), noise(single, 2))
    with pytest.raises(BurnsideError, match="give \\(chunks, 8, 3\\)"):
        Imitation(FlowPolicy(MLP), ImitationConfig(), observation(MLP, 3), np.zeros((3, 9, 3)))
    with pytest.raises(BurnsideError, match="not finite"):
        Imitation(FlowPolicy(MLP), ImitationConfig(), observation(MLP, 3), np.full((3, 8, 3), np.nan))
    with pytest.raises(BurnsideError, match="same number"):
        Imitation(FlowPolicy(MLP), ImitationConfig(), observation(MLP, 4), np.zeros((3, 8, 3)))
    with pytest.raises(BurnsideError, match="ema"):
        ImitationConfig(ema=1.0)
