"""SAC: its update against autograd, the same bits alone, among others and after resuming, and that it learns."""

import numpy as np
import pytest

from burnside._random import Stream, normal
from burnside.agents.common.arms import prepare
from burnside.agents.common.training import Budget
from burnside.agents.sac import SAC, GeneralSAC, SACConfig, kernels
from burnside.envs.gymnasium_batch import as_batched
from burnside.nn import mlp

torch = pytest.importorskip("torch")
TINY = SACConfig(hidden=(16, 32), batch=8, begin=40, capacity=500, learning_rate=1e-2)


def made(arm="baseline", seed=3, steps=60):
    env = as_batched("Pendulum-v1")
    prepared = prepare(env, arm)
    learner = GeneralSAC(TINY, prepared.env, [seed], prepared.use)
    learner.advance(Budget(steps=steps))
    return learner


def tensors(flat, net):
    return {k: torch.tensor(v, requires_grad=True) for k, v in mlp.matrices(flat, net).items()}


def forward(w, x):
    h = torch.relu(x @ w["w1"] + w["b1"])
    return torch.relu(h @ w["w2"] + w["b2"]) @ w["w3"] + w["b3"]


@pytest.mark.parametrize("arm", ["baseline", "averaging"])
def test_an_update_is_that_of_autograd(arm):
    learner = made(arm)
    weights, nets = learner.weights[0], learner.nets
    rng, count, width = np.random.default_rng(0), 6, 1
    obs, after = (rng.normal(size=(count, 3)).astype(np.float32) for _ in range(2))
    action = np.tanh(rng.normal(size=(count, width))).astype(np.float32)
    reward, over = rng.normal(size=count).astype(np.float32), np.array([0, 1, 0, 0, 1, 0], dtype=bool)
    signs = np.array([[1, 1, 1], [1, -1, -1]], dtype=np.float32) if arm == "averaging" else np.ones((1, 3), np.float32)
    turns = torch.tensor([1.0, -1.0][: len(signs)])
    seen = [np.ascontiguousarray((x[:, None] * signs).reshape(-1, 3)) for x in (obs, after)]

    actor = tensors(weights.actor, nets.actor)
    critics = [tensors(weights.critic, net) for net in (nets.one, nets.two)]
    copies = [tensors(weights.target, net) for net in (nets.one, nets.two)]

    def policy(x, noise):
        images = x[:, None] * torch.tensor(signs)
        out = forward(actor, images)
        mean, log_std = (out[..., :1] * turns[:, None]).mean(1), out[..., 1:].mean(1).clamp(-5, 2)
        a = torch.tanh(mean + log_std.exp() * noise)
        log_p = -0.5 * noise**2 - log_std - 0.5 * np.log(2 * np.pi) - torch.log(1 - a**2 + 1e-6)
        return a, log_p.sum(1)

    def value(w, x, a):
        both = torch.cat([x[:, None] * torch.tensor(signs), a[:, None] * turns[:, None]], dim=2)
        return forward(w, both).mean(1)[:, 0]

    alpha = float(np.exp(weights.temperature[0]))
    t = int(learner.updates[0]) + 1
    first = (1 << 40) + t * 2 * count * width
    drawn = normal(3, Stream.POLICY, first + np.arange(2 * count * width)).astype(np.float32).reshape(2, count, width)
    x, y = torch.tensor(obs), torch.tensor(after)
    with torch.no_grad():
        b, log_p = policy(y, torch.tensor(drawn[0]))
        best = torch.minimum(*(value(w, y, b) for w in copies)) - alpha * log_p
        goal = torch.tensor(reward) + 0.99 * torch.where(torch.tensor(over), 0.0, best)
    loss = sum(0.5 * ((value(w, x, torch.tensor(action)) - goal) ** 2).mean() for w in critics)
    loss.backward()
    before = [weights.critic.copy(), weights.critic_m.copy(), weights.actor_m.copy(), weights.target.copy()]
    batch = kernels.Batch(seen[0], action, reward, seen[1], over)
    rules = kernels.Rules(0.99, 0.25, 1e-2, -1.0)
    args = (weights, learner._grads, nets, learner._works, batch, rules, 3, t, np.zeros(4))
    kernels.update(*args)
    for net, w in zip((nets.one, nets.two), critics, strict=True):
        slope = mlp.matrices((weights.critic_m - 0.9 * before[1]) / 0.1, net)
        for name, tensor in w.items():
            assert np.allclose(slope[name], tensor.grad.numpy(), atol=2e-5), name
    assert np.allclose(weights.target, before[3] + 0.25 * (weights.critic - before[3]), atol=1e-6)
    # the actor learns from the critics as they are now
    now = [{k: v.detach() for k, v in tensors(weights.critic, net).items()} for net in (nets.one, nets.two)]
    a, log_p = policy(x, torch.tensor(drawn[1]))
    (alpha * log_p - torch.minimum(*(value(w, x, a) for w in now))).mean().backward()
    slope = mlp.matrices((weights.actor_m - 0.9 * before[2]) / 0.1, nets.actor)
    for name, tensor in actor.items():
        assert np.allclose(slope[name], tensor.grad.numpy(), atol=2e-5), name


def test_the_same_bits_alone_among_others_and_after_resuming():
    env = as_batched("Pendulum-v1")
    both = GeneralSAC(TINY, env, [3, 4])
    both.advance(Budget(steps=90))
    alone = made(steps=90)
    assert all(np.array_equal(a, b) for a, b in zip(both.weights[0], alone.weights[0], strict=True))
    stopped = made(steps=60)
    resumed = GeneralSAC(TINY, as_batched("Pendulum-v1"), [3]).restore(stopped.arrays())
    resumed.advance(Budget(steps=90))
    after = resumed.arrays()
    # means of losses have one entry for every call of advance
    assert not [k for k, v in alone.arrays().items() if "stats" not in k and not np.array_equal(after[k], v)]


@pytest.mark.probe
def test_it_learns_pendulum():
    # Stable-Baselines3's SAC has about −150 there after 5 000 to 10 000 steps
    agent = SAC("Pendulum-v1").learn(4_500)
    assert agent.evaluate(20).returns.mean() > -250
