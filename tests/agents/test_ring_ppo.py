"""PPO without learning: configuration, and advantages by hand."""

import numpy as np
import pytest

from burnside.agents.common.advantages import advantages
from burnside.agents.ppo import RingPPOConfig
from burnside.errors import BurnsideError, InvalidParameter, UnknownName

# ---------------------------------------------------------------------- configuration


def test_the_preset_is_the_papers() -> None:
    config = RingPPOConfig.preset("ring3d")
    assert (config.gamma, config.lam, config.clip, config.epochs) == (0.99, 0.95, 0.2, 4)
    assert (config.batch, config.rollout, config.entropy) == (64, 512, 0.1)
    assert (config.learning_rate, config.grad_clip, config.hidden, config.encoder) == (1e-4, 0.5, (256, 256), "pool")
    assert config.updates_per_rollout == 32
    assert config.to_json()["hidden"] == [256, 256]


@pytest.mark.parametrize(
    "changes",
    [
        {"batch": 100},
        {"gamma": 1.5},
        {"lam": -0.1},
        {"clip": 0.0},
        {"epochs": 0},
        {"hidden": (3,)},
        {"encoder": "x"},
        {"entropy": -1.0},
        {"learning_rate": float("nan")},
        {"batch": 1},
        {"item_scale": 0.0},
        {"place": "x"},
    ],
    ids=str,
)
def test_nonsense_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(BurnsideError):
        RingPPOConfig.preset("ring3d", **changes)


def test_the_input_of_the_network_is_what_was_asked_for() -> None:
    pytest.importorskip("torch")
    from burnside.agents.ppo.torch_networks import TorchActorCritic
    from burnside.envs.ring.core import RingSpec

    spec = RingSpec(5, d=3)
    plain, scaled, placed = (
        TorchActorCritic(RingPPOConfig.preset("ring3d", **changes), spec, [0])
        for changes in ({}, {"item_scale": 0.5}, {"place": "onehot"})
    )
    obs = np.zeros((1, 4, 128), dtype=np.float32)
    obs[0, :, :125] = np.random.default_rng(0).choice([-1.0, 0.0, 20.0], size=125)
    obs[0, :, 125:] = np.array([[0, 0, 0], [0.2, 0, 0], [0, 0.2, 0], [0.8, 0.4, 0.6]])
    halved = obs.copy()
    halved[..., :125] *= 0.5
    who = np.array([0])
    assert np.array_equal(scaled.values(who, obs), plain.values(who, halved))
    assert not np.allclose(scaled.values(who, obs), plain.values(who, obs))
    widths = {name: net.params["one.weight"].shape for name, net in (("divided", plain), ("onehot", placed))}
    assert 131 in widths["divided"] and 128 + 125 in widths["onehot"]
    assert len(np.unique(placed.values(who, obs))) == 4


def test_the_place_as_seen_from_the_goal_does_not_move_with_the_board() -> None:
    torch = pytest.importorskip("torch")
    from burnside.agents.ppo.torch_networks import TorchActorCritic
    from burnside.envs.ring.core import RingSpec

    spec, rng = RingSpec(5, d=3), np.random.default_rng(0)
    net = TorchActorCritic(RingPPOConfig.preset("ring3d", place="relative"), spec, [0])
    assert net.params["one.weight"].shape[-2:].count(128 + 2 * 125) == 1
    grid = rng.choice([-1.0, 0.0], size=(5, 5, 5)).astype(np.float32)
    grid[1, 4, 2] = 20.0
    place, seen = np.array([3, 0, 2]), []
    for shift in ((0, 0, 0), (1, 2, 3), (4, 4, 0)):
        board = np.roll(grid, shift, axis=(0, 1, 2)).ravel()
        obs = np.concatenate([board, (place + shift) % 5 / 5]).astype(np.float32)
        seen.append(np.rint(5 * net.net.places(torch.from_numpy(obs[None]))[0].numpy()).astype(int).tolist())
    assert [each[3:] for each in seen] == [[2, 1, 0]] * 3  # (3, 0, 2) − (1, 4, 2)
    assert [each[:3] for each in seen] == [[3, 0, 2], [4, 2, 0], [2, 4, 2]]
    assert np.isfinite(net.values(np.array([0]), obs[None, None])).all()
    with pytest.raises(BurnsideError, match="networks with an encoder"):
        TorchActorCritic(RingPPOConfig.preset("ring1d", place="relative"), RingSpec(5), [0])


def test_unknown_preset() -> None:
    with pytest.raises(UnknownName, match="RingPPOConfig preset"):
        RingPPOConfig.preset("ring2d")


# ---------------------------------------------------------------------- advantages, by hand (γ = ½, λ = ½)


def test_advantages_by_hand() -> None:
    """δ = r + V(s')/2 − V(s); A_t = δ_t + A_{t+1}/4."""
    found = advantages([1, 2, 3], [4, 6, 8], [6, 8, 10], [0, 0, 0], [0, 0, 0], gamma=0.5, lam=0.5)
    # δ = 1 + 3 − 4 = 0; 2 + 4 − 6 = 0; 3 + 5 − 8 = 0
    assert found.tolist() == [0, 0, 0]
    found = advantages([1, 2, 4], [0, 0, 0], [0, 0, 8], [0, 0, 0], [0, 0, 0], gamma=0.5, lam=0.5)
    # A_2 = 4 + 4 = 8; A_1 = 2 + 8/4 = 4; A_0 = 1 + 4/4 = 2
    assert found.tolist() == [2, 4, 8]


def test_termination_and_truncation_differ() -> None:
    """Both cut the sum; only termination drops the value of the next state."""
    rewards, values, following = [1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [0.0, 10.0, 0.0]
    terminated = advantages(rewards, values, following, [0, 1, 0], [0, 1, 0], gamma=0.5, lam=0.5)
    assert terminated.tolist() == [1 + 1 / 4, 1, 1]
    truncated = advantages(rewards, values, following, [0, 0, 0], [0, 1, 0], gamma=0.5, lam=0.5)
    assert truncated.tolist() == [1 + 6 / 4, 6, 1]
    going_on = advantages(rewards, values, following, [0, 0, 0], [0, 0, 0], gamma=0.5, lam=0.5)
    assert going_on.tolist() == [1 + 6.25 / 4, 6.25, 1]


def test_extremes_of_lambda() -> None:
    rng = np.random.default_rng(0)
    r, v = rng.normal(size=(2, 6)), rng.normal(size=(2, 7))
    none = np.zeros((2, 6), dtype=bool)
    assert np.allclose(advantages(r, v[:, :-1], v[:, 1:], none, none, 0.9, 0.0), r + 0.9 * v[:, 1:] - v[:, :-1])
    powers = 0.9 ** np.arange(6)
    seen = [r[:, t:] @ powers[: 6 - t] + 0.9 ** (6 - t) * v[:, 6] - v[:, t] for t in range(6)]
    assert np.allclose(advantages(r, v[:, :-1], v[:, 1:], none, none, 0.9, 1.0), np.stack(seen, axis=1))


def test_advantages_refuse_what_does_not_fit() -> None:
    with pytest.raises(InvalidParameter, match="one shape"):
        advantages([1, 2], [1], [1, 2], [0, 0], [0, 0], 0.9, 0.9)
    with pytest.raises(InvalidParameter, match="has not ended"):
        advantages([1], [1], [1], [1], [0], 0.9, 0.9)
