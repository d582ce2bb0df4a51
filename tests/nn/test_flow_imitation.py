"""Imitation with flows: it recovers a known mixture, resumes to the same bits, and trains at the times it says."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.nn.flows import MLP, observation, policy_of  # noqa: E402

from burnside.nn.flow import FlowConfig, FlowPolicy, Imitation, ImitationConfig  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def mixture(n: int, seed: int) -> np.ndarray:
    """A 2-D mixture: a quarter near (−1, 0), three quarters near (1, 0.5), deviation 0.1."""
    rng = np.random.default_rng(seed)
    left = rng.random(n) < 0.25
    return np.where(left[:, None], [-1.0, 0.0], [1.0, 0.5]) + 0.1 * rng.normal(size=(n, 2))


def distances(samples: np.ndarray) -> tuple[float, float, float]:
    """Share on the left, and the error of the mean and of the deviation near the right mode."""
    right = samples[samples[:, 0] > 0]
    return (
        float((samples[:, 0] < 0).mean()),
        float(np.abs(right.mean(axis=0) - [1.0, 0.5]).max()),
        float(np.abs(right.std(axis=0) - 0.1).max()),
    )


@pytest.mark.probe
def test_flow_matching_recovers_a_mixture() -> None:
    config = FlowConfig(obs_dim=1, act_dim=2, horizon=1, n_obs=1, n_act=1, layers=3, width=64, steps=32, value_width=16)
    data = mixture(4000, 0)
    job = Imitation(
        FlowPolicy(config, 1),
        ImitationConfig(steps=1000, batch=256, learning_rate=3e-3, ema=0.99),
        {"state": np.zeros((4000, 1, 1))},
        data[:, None],
        seed=3,
    )
    seen, z = {"state": np.zeros((4000, 1, 1))}, torch.randn(4000, 33, 1, 2, generator=torch.Generator().manual_seed(5))
    before = distances(job.average.act(seen, z)[:, 0].numpy())
    share, mean, spread = distances(job.run().act(seen, z)[:, 0].numpy())
    assert abs(share - 0.25) < 0.04 and mean < 0.05 and spread < 0.05
    assert abs(before[0] - 0.25) > 0.04 or before[2] > 0.05  # an untrained policy does not pass
    noisy = job.average.decide(job.average.encode(seen), z).path[:, -1]  # the SDE has the same marginals
    share, mean, spread = distances(job.average.executed(noisy)[:, 0].numpy())
    assert abs(share - 0.25) < 0.05 and mean < 0.06 and spread < 0.06


def test_imitation_resumes_to_the_same_bits() -> None:
    data, seen = np.random.default_rng(0).normal(size=(50, *MLP.chunk)), observation(MLP, 50)
    config = ImitationConfig(steps=12, batch=8, warmup=3)
    one, two, three = (Imitation(FlowPolicy(MLP, 2), config, seen, data, seed=1) for _ in range(3))
    one.run()
    two.run(5)
    three.restore(two.arrays()).run()
    first, last = one.arrays(), three.arrays()
    assert first.keys() == last.keys() and all(first[k].tobytes() == last[k].tobytes() for k in first)
    assert one.losses == three.losses and len(one.losses) == 12
    assert all(torch.equal(a, b) for a, b in zip(one.average.buffers(), one.policy.buffers(), strict=True))


def test_the_direct_trunk_ends_where_it_predicts() -> None:
    """Euler's last step is x + h (m − x) / h = m: what is predicted there is what is done, whatever the noise."""
    config = replace(MLP, trunk="direct")
    policy = policy_of(config)
    seen, noise = observation(config, 3), torch.randn(3, *policy.noise_shape)
    tokens = policy.encode(seen)
    velocity, x = policy.velocity(tokens), noise[:, 0]
    for k in range(3):
        x = x + 0.25 * velocity(x, torch.full((3,), 0.25 * k))
    last = torch.full((3,), 0.75)
    end = x + 0.25 * velocity(x, last)  # = the MLP's own output at (x, 3/4)
    own = super(type(policy.trunk), policy.trunk).forward(x, last, policy.trunk.memory(tokens))
    assert torch.allclose(end, own, atol=1e-5)
    assert torch.allclose(policy.act(seen, noise), policy.executed(own), atol=1e-5)
    beyond = policy.trunk(x, torch.ones(3), policy.trunk.memory(tokens))
    assert torch.isfinite(beyond).all()  # the divisor stays at half a step


def test_times_of_the_grid_are_the_samplers() -> None:
    data, seen = np.zeros((20, *MLP.chunk)), observation(MLP, 20)
    job = Imitation(FlowPolicy(MLP), ImitationConfig(steps=3, batch=64, time="grid"), seen, data)
    met: list[torch.Tensor] = []
    plain = job.policy.matching_loss
    job.policy.matching_loss = lambda *args: (met.append(args[3]), plain(*args))[1]  # type: ignore[method-assign]
    job.update()
    assert sorted(set(met[0].tolist())) == [0.0, 0.25, 0.5, 0.75]


def test_rates_of_imitation() -> None:
    config = ImitationConfig(steps=100, warmup=10, learning_rate=1.0)
    assert config.rate(0) == pytest.approx(0.1) and config.rate(9) == 1.0 and config.rate(10) == 1.0
    assert config.rate(55) == pytest.approx(0.5) and config.rate(100) == pytest.approx(0.0)


def test_the_average_follows() -> None:
    data, seen = np.zeros((20, *MLP.chunk)), observation(MLP, 20)
    job = Imitation(FlowPolicy(MLP), ImitationConfig(steps=3, batch=4, ema=0.5), seen, data)
    begin = job.average.trunk.out.weight.detach().clone()
    weights = []
    for _ in range(3):
        job.update()
        weights.append(job.policy.trunk.out.weight.detach().clone())
    expected = begin
    for n, w in enumerate(weights, start=1):
        expected = expected + (1 - min(0.5, (1 + n) / (10 + n))) * (w - expected)
    assert torch.allclose(job.average.trunk.out.weight, expected, atol=1e-6)
