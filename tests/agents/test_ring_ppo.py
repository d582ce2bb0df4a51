"""PPO without learning: configuration, advantages by hand, the games of an arm, evaluation of known policies."""

import numpy as np
import pytest

from burnside._random import held_out
from burnside.agents.common.advantages import advantages
from burnside.agents.ppo import RingPPOConfig
from burnside.envs.ring.core import RingSpec, initial, transition
from burnside.envs.ring.games import ARMS, play, random_play, start, successors
from burnside.errors import BurnsideError, InvalidParameter, UnknownName

CUBE = RingSpec(5, d=3)

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
    ],
    ids=str,
)
def test_nonsense_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(BurnsideError):
        RingPPOConfig.preset("ring3d", **changes)


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
    """Both cut the sum; only termination forgets the value of what it led to."""
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


# ---------------------------------------------------------------------- games


def test_arms_are_one_game_in_other_frames() -> None:
    names = ["baseline", "canonical", "augment"]
    boards, pos = start(CUBE, [5] * 3, names, [2] * 3)
    assert boards[1].argmax() == 0 and pos[0] == 0
    original = boards[0].reshape(CUBE.shape)
    for board, at in zip(boards, pos, strict=True):
        shift = CUBE.coordinates(at)
        assert np.array_equal(np.roll(original, shift, axis=(0, 1, 2)), board.reshape(CUBE.shape))
    with pytest.raises(UnknownName):
        start(CUBE, [5], ["equivariant"], [0])


def test_successors_are_the_rules() -> None:
    state = initial(CUBE, 0, np.arange(64))
    after, *_ = transition(state, np.arange(64))
    assert np.array_equal(after.pos, successors(CUBE)[0])


# ---------------------------------------------------------------------- playing


def test_random_play_is_near_its_expectation() -> None:
    """Chance 1/125 per step to enter the goal, 0.7 mines per other step; worse than −35 and better than −39."""
    found = random_play(CUBE, 4000)
    assert -39 < found.returns.mean() < -35
    assert abs(found.success.mean() - (1 - (124 / 125) ** 100)) < 0.03
    assert np.array_equal(found.returns, 20.0 * found.success - found.mines)


@pytest.mark.parametrize("action", [0, 21, 63])
def test_one_move_for_ever_is_worse_than_random(action: int) -> None:
    """It goes round N cells: 5 of 125 goals are found, otherwise a hundred steps at 0.7 mines: about −66.5."""
    found = play(CUBE, "baseline", lambda boards: lambda pos, t: np.full(len(pos), action), 5000)
    assert found.cells.max() == 5
    assert abs(found.success.mean() - 5 / 125) < 0.01 and abs(found.returns.mean() + 66.5) < 1.0


def test_playing_as_told_gives_what_the_environment_gives() -> None:
    """Actions fixed in advance, on the environment of the package and in ``play``, in every frame."""
    rng = np.random.default_rng(1)
    actions = rng.integers(0, 64, (100, 40))
    state = initial(CUBE, held_out(0), np.arange(40))
    total, over = np.zeros(40), np.zeros(40, dtype=bool)
    for t in range(100):
        state, reward, terminated, _ = transition(state, actions[t])
        total += np.where(over, 0, reward)
        over |= terminated
    for arm in ARMS:
        found = play(CUBE, arm, lambda boards: lambda pos, t: actions[t], 40)
        assert np.array_equal(found.returns, total) and np.array_equal(found.success, over)
    with pytest.raises(InvalidParameter):
        random_play(CUBE, 0)
