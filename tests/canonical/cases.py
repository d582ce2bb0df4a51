"""Environments and symmetries on which ``check_symmetry`` and ``burnside check`` are tried, true and false ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from burnside.canonical import EnvSymmetry, known
from burnside.groups import Action, Group

# ---------------------------------------------------------------------- Gymnasium's own


def mountain_mirror() -> EnvSymmetry:
    """The valley of MountainCar reflected in its lowest point. The goal is on the right only."""
    return EnvSymmetry(
        [-1], lambda g, x: np.array([-np.pi / 3 - x[0], -x[1]], dtype=x.dtype), lambda g, a: 2 - a, name="mirror"
    )


def pendulum_mirror() -> EnvSymmetry:
    return EnvSymmetry(
        [-1],
        lambda g, x: (np.array([1, -1, -1]) * x).astype(np.float32),
        lambda g, a: -a,
        act_on_state=lambda g, s: -s,
        name="mirror",
    )


def acrobot_mirror() -> EnvSymmetry:
    return EnvSymmetry(
        [-1],
        lambda g, x: (np.array([1, -1, 1, -1, -1, -1]) * x).astype(np.float32),
        lambda g, a: 2 - a,
        act_on_state=lambda g, s: -s,
        name="mirror",
    )


def cart() -> EnvSymmetry:
    return known.cartpole_reflection()


class CutOnTheRight(gym.Wrapper):
    """Truncates the episode on one side only."""

    def __init__(self, env: gym.Env, at: float = 0.5) -> None:
        super().__init__(env)
        self.at = at

    def step(self, action: Any) -> Any:
        x, reward, terminated, truncated, info = self.env.step(action)
        return x, reward, terminated, truncated or bool(x[0] > self.at), info


def cart_cut(at: float = 0.5) -> gym.Env:
    return CutOnTheRight(gym.make("CartPole-v1"), at)


class LateOnTheLeft(gym.Wrapper):
    """Truncates after 40 steps on the right and after 60 on the left: a clock that setting the state does not set."""

    def reset(self, **options: Any) -> Any:
        self.t = 0
        return self.env.reset(**options)

    def step(self, action: Any) -> Any:
        x, reward, terminated, truncated, info = self.env.step(action)
        self.t += 1
        return x, reward, terminated, truncated or self.t >= (15 if x[0] > 0 else 25), info


def cart_late() -> gym.Env:
    return LateOnTheLeft(gym.make("CartPole-v1"))


# ---------------------------------------------------------------------- lines and planes


class Line(gym.Env):
    """A point on a line that is pushed left or right; subclasses change a rule."""

    action_space = spaces.Discrete(2)
    observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float64)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.state, self.t = self.start(), 0
        return self.state.copy(), {}

    def start(self) -> Any:
        return self.np_random.normal(size=1)

    def move(self, action: int) -> None:
        self.state = self.state + (0.1 if action else -0.1)

    def reward(self, action: int) -> float:
        return -abs(float(self.state[-1]))

    def ends(self) -> bool:
        return False

    def step(self, action: int) -> Any:
        self.move(int(action))
        self.t += 1
        return self.state.copy(), self.reward(int(action)), self.ends(), self.t >= 30, {}


MIRROR = EnvSymmetry([-1], lambda g, x: -x, lambda g, a: 1 - a, name="mirror")


class BesideLarge(Line):
    """A small number beside one of ±1e7, with a push to the right that is twice as strong as the one to the left."""

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float64)

    def __init__(self, right: float = 0.1, left: float = -0.2, noise: float = 0.0, large: float = 1e7) -> None:
        self.right, self.left, self.noise, self.large = right, left, noise, large

    def start(self) -> Any:
        return np.array([self.large * (1 - 2 * self.np_random.integers(2)), self.np_random.normal()])

    def move(self, action: int) -> None:
        by = (self.right if action else self.left) + self.noise * self.np_random.normal()
        self.state = self.state + np.array([0.0, by])


class LargeReward(Line):
    """A reward of about a million that is not the same for both pushes."""

    def __init__(self, right: float = 0.5, left: float = -0.3, dtype: Any = float) -> None:
        self.right, self.left, self.dtype = right, left, dtype

    def reward(self, action: int) -> Any:
        return self.dtype(1e6 + (self.right if action else self.left))


class OneSidedStart(Line):
    """Symmetric in all but where episodes start."""

    def start(self) -> Any:
        return np.abs(self.np_random.normal(size=1)) + 0.5


class RareBonus(Line):
    """Now and then there is a bonus, on the right more often than on the left."""

    def __init__(self, right: float = 0.01, left: float = 0.0, noise: float = 0.0) -> None:
        self.right, self.left, self.noise = right, left, noise

    def move(self, action: int) -> None:
        super().move(action)
        self.state = self.state + self.noise * self.np_random.normal(size=1)

    def reward(self, action: int) -> float:
        rate = self.right if self.state[0] > 0 else self.left
        return float(self.np_random.random() < rate)


class FarGoal(Line):
    """A goal far to the right that random pushes do not reach; the mirrored one is missing unless ``both``."""

    def __init__(self, goal: float = 6.0, both: bool = False, bounds: float = np.inf) -> None:
        self.goal, self.both = goal, both
        self.observation_space = spaces.Box(-bounds, bounds, (1,), np.float64)

    def start(self) -> Any:
        return 0.1 * self.np_random.normal(size=1)

    def reward(self, action: int) -> float:
        return float(self.ends())

    def ends(self) -> bool:
        x = float(self.state[0])
        return x > self.goal or (self.both and x < -self.goal)


class Lander(gym.Env):
    """Something that falls in the wind and touches the ground with one of two legs, the last two numbers."""

    action_space = spaces.Discrete(3)
    observation_space = spaces.Box(-np.inf, np.inf, (6,), np.float32)

    def _seen(self) -> Any:
        return self.state.astype(np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.state = np.array([self.np_random.normal(), 1.4, 0.3 * self.np_random.normal(), 0.0, 0.0, 0.0])
        return self._seen(), {}

    def step(self, action: int) -> Any:
        x, y, vx, vy, _, _ = self.state
        vx += 0.1 * (int(action) - 1) + 0.02 * self.np_random.normal()
        vy -= 0.01
        x, y = x + 0.05 * vx, y + 0.3 * vy
        low = y < 0.05
        self.state = np.array([x, y, vx, vy, float(low and x <= 0), float(low and x >= 0)])
        return self._seen(), -0.01 * abs(vx), bool(y < 0), False, {}


def lander_mirror(swap: bool = True) -> EnvSymmetry:
    order = [0, 1, 2, 3, 5, 4] if swap else [0, 1, 2, 3, 4, 5]
    signs = np.array([-1, 1, -1, 1, 1, 1])
    return EnvSymmetry([-1], lambda g, x: (signs * x[order]).astype(x.dtype), lambda g, a: 2 - a, name="mirror")


def lander_legs_forgotten() -> EnvSymmetry:
    return lander_mirror(swap=False)


# ---------------------------------------------------------------------- a game

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


class TicTacToe(gym.Env):
    """Tic-tac-toe against an opponent who plays at random: 1 are our stones, −1 theirs."""

    action_space = spaces.Discrete(9)
    observation_space = spaces.Box(-1, 1, (9,), np.int8)

    def __init__(self, corner: float = 0.0) -> None:
        self.corner = corner

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.board = np.zeros(9, np.int8)
        if self.np_random.random() < 0.5:
            self._answer()
        return self.board.copy(), {}

    def _answer(self) -> None:
        self.board[self.np_random.choice(np.flatnonzero(self.board == 0))] = -1

    def _won(self, stone: int) -> bool:
        return any(all(self.board[list(line)] == stone) for line in LINES)

    def step(self, action: int) -> Any:
        bonus = self.corner if action == 0 else 0.0
        if self.board[action]:
            return self.board.copy(), -1.0, True, False, {}
        self.board[action] = 1
        if self._won(1):
            return self.board.copy(), 1.0 + bonus, True, False, {}
        if not (self.board == 0).any():
            return self.board.copy(), 0.0, True, False, {}
        self._answer()
        lost, full = self._won(-1), not (self.board == 0).any()
        return self.board.copy(), bonus - float(lost), bool(lost or full), False, {}


def _put_board(env: Any, board: Any) -> None:
    env.unwrapped.board = np.array(board, dtype=np.int8)


def d4() -> EnvSymmetry:
    """The symmetries of the square, on the cells of the board and on the moves."""
    cells = np.arange(9).reshape(3, 3)
    group = Group.from_permutations([np.rot90(cells).ravel(), cells.T.ravel()])
    action = Action.natural(group)
    made = EnvSymmetry.from_actions(action, action)
    return replace(
        made,
        get_state=lambda env: env.unwrapped.board.copy(),
        set_state=_put_board,
        act_on_state=made.act_on_observation,
        name="D4",
    )
