"""The rules of the cyclic game (App. C) as pure functions on arrays with a leading batch axis.

Choices the paper leaves open, the same everywhere in this package:

- The reward is the item of the cell that is entered, and mines stay where they are.
- The goal is drawn from all cells, the start included. Where it falls on the start, the episode does not begin as
  finished: the goal must be left and entered again.
- An episode is *terminated* on entering the goal and *truncated* when the time limit has passed without that.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from burnside._random import Stream, randint, uniform
from burnside._types import AnyArray, ArrayLike, BoolArray, FloatArray, IntArray
from burnside.errors import InvalidAction, InvalidParameter

__all__ = ["MOVES", "Observation", "RingSpec", "RingState", "initial", "observe", "transition"]

#: The moves of App. C along one axis, in the order of the action numbers.
MOVES = (-2, -1, 1, 2)

#: One array in one dimension; in more, the grid of items and the position apart.
Observation = AnyArray | dict[str, AnyArray]

_CELL_LIMIT = 2**24


@dataclass(frozen=True)
class RingSpec:
    """Size and rewards of a cyclic game.

    Attributes:
        n: cells along each axis, at least 5 (with 4, the moves −2 and +2 coincide).
        d: dimensions.
        p_mine: probability that a cell is a mine.
        end_reward: reward E of entering the goal; default 10 in one dimension, 20 in more (App. C).
        time_limit: steps after which an episode is truncated; default 4n in one dimension, 100 in more.

    >>> RingSpec(10)
    RingSpec(n=10, d=1, p_mine=0.7, end_reward=10.0, time_limit=40)
    >>> RingSpec(5, d=3).n_cells, RingSpec(5, d=3).n_actions
    (125, 64)
    """

    n: int
    d: int = 1
    p_mine: float = 0.7
    end_reward: float = None  # type: ignore[assignment]  # filled in below
    time_limit: int = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.n != int(self.n) or self.n < 5:
            raise InvalidParameter(f"the ring needs n ≥ 5 cells (the moves −2 and +2 coincide at 4), got {self.n}")
        if self.d != int(self.d) or self.d < 1 or self.n**self.d > _CELL_LIMIT:
            raise InvalidParameter(f"d must be at least 1 and n^d at most {_CELL_LIMIT}, got n={self.n}, d={self.d}")
        if not 0 <= self.p_mine <= 1:
            raise InvalidParameter(f"p_mine must lie in [0, 1], got {self.p_mine}")
        given = {
            "end_reward": (10.0 if self.d == 1 else 20.0) if self.end_reward is None else float(self.end_reward),
            "time_limit": (4 * self.n if self.d == 1 else 100) if self.time_limit is None else int(self.time_limit),
        }
        for name, value in given.items():
            if not (math.isfinite(value) and value > 0):
                raise InvalidParameter(f"{name} must be positive, got {value}")
            object.__setattr__(self, name, value)

    @property
    def n_cells(self) -> int:
        """Number of cells, n^d."""
        return self.n**self.d

    @property
    def n_actions(self) -> int:
        """Number of actions, 4^d."""
        return 4**self.d

    @property
    def shape(self) -> tuple[int, ...]:
        """The grid: d axes of n cells."""
        return (self.n,) * self.d

    @cached_property
    def moves(self) -> IntArray:
        """``moves[a]``: the displacement of action a along every axis, in C order over ``MOVES``.

        >>> RingSpec(5, d=2).moves[[0, 1, 15]].tolist()
        [[-2, -2], [-2, -1], [2, 2]]
        """
        return np.array(list(itertools.product(MOVES, repeat=self.d)))

    def coordinates(self, cell: ArrayLike) -> IntArray:
        """The coordinates of cells, on a last axis of length d."""
        return np.stack(np.unravel_index(np.asarray(cell), self.shape), axis=-1)

    def cell(self, coordinates: ArrayLike) -> IntArray:
        """The number of the cell with these coordinates, taken modulo n."""
        wrapped = np.asarray(coordinates) % self.n
        return np.ravel_multi_index(tuple(np.moveaxis(wrapped, -1, 0)), self.shape)


@dataclass(frozen=True, eq=False)
class RingState:
    """Games in progress, one per row.

    Attributes:
        spec: the rules.
        items: ``(B, n^d)`` int8 codes: 0 safe, −1 mine, +1 end.
        pos, goal: ``(B,)`` cells of agent and goal.
        t: ``(B,)`` steps taken.
    """

    spec: RingSpec
    items: AnyArray
    pos: IntArray
    goal: IntArray
    t: IntArray

    def __len__(self) -> int:
        return len(self.pos)

    def __getitem__(self, index: AnyArray | slice) -> RingState:
        """The games at an index array, mask or slice."""
        return RingState(self.spec, self.items[index], self.pos[index], self.goal[index], self.t[index])

    def where(self, mask: BoolArray, other: RingState) -> RingState:
        """These games where the mask is true, the other ones elsewhere."""
        pick = np.where
        return RingState(
            self.spec,
            pick(mask[:, None], self.items, other.items),
            pick(mask, self.pos, other.pos),
            pick(mask, self.goal, other.goal),
            pick(mask, self.t, other.t),
        )


def initial(spec: RingSpec, seeds: ArrayLike, episodes: ArrayLike) -> RingState:
    """The games at the start of given episodes of given seeds; the two broadcast to one batch axis.

    Boards come from stream ENV: cell c of episode e has counter ``e·(cells+1) + c``, and the last one draws the goal.

    >>> state = initial(RingSpec(10), seeds=[3, 3, 4], episodes=[0, 1, 0])
    >>> state.items[0].tolist(), int(state.goal[0]), int(state.pos[0])
    ([-1, 0, 0, 0, -1, 1, -1, -1, 0, 0], 5, 0)
    """
    seed, episode = np.broadcast_arrays(np.atleast_1d(np.asarray(seeds)), np.atleast_1d(np.asarray(episodes)))
    if seed.ndim != 1:
        raise InvalidParameter(f"seeds and episodes must make one batch axis, got shape {seed.shape}")
    cells = spec.n_cells
    counter = episode.astype(np.uint64)[:, None] * np.uint64(cells + 1) + np.arange(cells + 1, dtype=np.uint64)
    items = -(uniform(seed[:, None], Stream.ENV, counter[:, :-1]) < spec.p_mine).astype(np.int8)
    goal = randint(seed, Stream.ENV, counter[:, -1], cells)
    items[np.arange(len(goal)), goal] = 1
    start = np.zeros_like(goal)
    return RingState(spec, items, start, goal, start.copy())


def transition(state: RingState, actions: ArrayLike) -> tuple[RingState, FloatArray, BoolArray, BoolArray]:
    """Take one action in every game: ``(next state, reward, terminated, truncated)``.

    A game that is over continues as if it were not; the caller resets it (see ``RingVectorEnv``).

    >>> state = initial(RingSpec(10), seeds=[3], episodes=[0])
    >>> state, reward, terminated, truncated = transition(state, [0])     # −2: to cell 8, which is safe
    >>> int(state.pos[0]), float(reward[0]), bool(terminated[0]), bool(truncated[0])
    (8, 0.0, False, False)
    """
    spec, chosen = state.spec, np.asarray(actions)
    if chosen.shape != state.pos.shape or chosen.dtype.kind not in "iu":
        raise InvalidAction(f"need one whole number per game, shape {state.pos.shape}: got {actions!r:.80}")
    if chosen.size and not (chosen.min() >= 0 and chosen.max() < spec.n_actions):
        raise InvalidAction(f"actions are numbered 0…{spec.n_actions - 1}, got {chosen.min()}…{chosen.max()}")
    if spec.d == 1:  # the general way takes three times as long for a single game
        pos = (state.pos + spec.moves[chosen, 0]) % spec.n
    else:
        pos = spec.cell(spec.coordinates(state.pos) + spec.moves[chosen])
    code = state.items[np.arange(len(pos)), pos]
    reward = np.where(code > 0, spec.end_reward, code.astype(np.float64))
    t = state.t + 1
    terminated = pos == state.goal
    return RingState(spec, state.items, pos, state.goal, t), reward, terminated, (t >= spec.time_limit) & ~terminated


def observe(state: RingState) -> Observation:
    """What the agent sees, as in App. C.

    In one dimension ``(B, 2n)`` float32: items with their values {0, −1, E}, then the position as a one-hot vector. In
    more, a dictionary of ``items`` ``(B, n, …, n)`` and ``pos`` ``(B, d)``, the coordinates divided by n.

    >>> observe(initial(RingSpec(5), seeds=[1], episodes=[0])).tolist()
    [[-1.0, 0.0, -1.0, 0.0, 10.0, 1.0, 0.0, 0.0, 0.0, 0.0]]
    """
    spec = state.spec
    if spec.d == 1:
        seen = np.zeros((len(state), 2 * spec.n), dtype=np.float32)
        rows = np.arange(len(state))
        seen[:, : spec.n] = state.items
        seen[rows, state.goal] = spec.end_reward
        seen[rows, spec.n + state.pos] = 1.0
        return seen
    items = np.where(state.items > 0, np.float32(spec.end_reward), state.items.astype(np.float32))
    position = spec.coordinates(state.pos).astype(np.float32) / np.float32(spec.n)
    return {"items": items.reshape(-1, *spec.shape), "pos": position}
