"""Small worlds with known groups, for tests of discovery: what a stranger would write."""

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class World(gym.Env):
    """Numbers x that move by ``f(x, a)`` and pay ``r(x)``."""

    width, forces = 3, 3

    def __init__(self):
        self.observation_space = spaces.Box(-np.inf, np.inf, (self.width,))
        self.action_space = spaces.Box(-1, 1, (self.forces,))

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.clock = self.np_random.normal(size=self.width), 0
        return self.x.astype(np.float32), {}

    def step(self, action):
        self.x, self.clock = self.f(self.x, np.asarray(action, dtype=float)), self.clock + 1
        return self.x.astype(np.float32), float(self.r(self.x)), bool(np.abs(self.x).max() > 8), self.clock >= 60, {}


class Round3(World):
    """Three numbers, each pushed by the one before: C3, not its mirrors."""

    def f(self, x, a):
        return x + 0.1 * (0.3 * np.roll(x, 1) ** 2 - x + 0.5 * a)

    def r(self, x):
        return -np.sum((x - 0.2) ** 2)


class Square(World):
    """A point in a square: D4."""

    width, forces = 4, 2

    def f(self, x, a):
        p, v = x[:2], x[2:]
        v = v + 0.1 * (a - p**3 - 0.1 * v)
        return np.concatenate([p + 0.1 * v, v])

    def r(self, x):
        return -np.sum(x[:2] ** 4)


class SquareLeft(Square):
    """Only its reward prefers one side: the mirror of the other axis is left."""

    def r(self, x):
        return super().r(x) + 0.3 * x[0]


class SquareFelt(Square):
    """The square with walls that are felt when the point is beyond them, which is rare: four numbers each, mostly 0."""

    def __init__(self):
        super().__init__()
        self.observation_space = spaces.Box(-np.inf, np.inf, (20,), np.float64)

    def _get_obs(self):
        p, v = self.x[:2], self.x[2:]
        felt = []
        for axis in (0, 1):
            for side in (1, -1):
                deep = max(0.0, side * p[axis] - 1.8)
                felt += [deep, deep**2, deep * v[0], deep * v[1]]
        return np.concatenate([self.x, felt])

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        return self._get_obs(), {}

    def step(self, action):
        _, *rest = super().step(action)
        return self._get_obs(), *rest


class SquareFeltLeft(SquareFelt):
    """The same, but one wall is felt half as much: only the mirror that keeps this wall is left."""

    def _get_obs(self):
        found = super()._get_obs()
        found[4:8] *= 0.5
        return found


class SquareAlmost(Square):
    """A force of two thousandths that no symmetry has."""

    def f(self, x, a):
        y = super().f(x, a)
        y[2] += 2e-3 * x[0] ** 2
        y[3] += 3e-3 * x[1] ** 2
        return y


class Disc(World):
    """A point in a round well, pushed along its own direction: O(2)."""

    width, forces = 4, 1

    def f(self, x, a):
        p, v = x[:2], x[2:]
        v = v + 0.1 * (a[0] * p - 0.3 * v - p * np.sum(p * p))
        return np.concatenate([p + 0.1 * v, v])

    def r(self, x):
        return -np.linalg.norm(x[:2])


class Swarm(World):
    """Three points in a plane that attract each other: they change places (S3), and the plane has a square's D4.

    Near rest all is linear: there x and y could be exchanged point by point, and most of what is proposed is wrong.
    """

    width, forces = 12, 6

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.x = 0.3 * self.x
        return self.x.astype(np.float32), {}

    def f(self, x, a):
        p, v = x[:6].reshape(3, 2), x[6:].reshape(3, 2)
        apart = p[None] - p[:, None]
        pull = (apart / (1 + np.sum(apart**2, axis=-1, keepdims=True))).sum(axis=1)
        v = 0.95 * v + 0.05 * (a.reshape(3, 2) + pull - p)
        return np.concatenate([(p + 0.05 * v).ravel(), v.ravel()])

    def r(self, x):
        return -np.sum(x[:6] ** 2)


class SevenAlike(World):
    """Seven numbers that are pushed alike: every exchange of two holds, and S7 has more elements than are listed."""

    width, forces = 7, 7

    def f(self, x, a):
        return 0.9 * x + 0.1 * x**2 / (1 + x**2) + 0.1 * a

    def r(self, x):
        return np.sum(x + 0.1 * x**2)
