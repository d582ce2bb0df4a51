"""Turns and mirrors of boards and grid worlds: proposed from the shape of the observation, not from data."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np

from burnside._types import AnyArray, IntArray
from burnside.errors import BurnsideError
from burnside.symmetry import EnvSymmetry, Labels, SignedPermutation
from burnside.symmetry.proposals import Proposal, Transitions, misfit
from burnside.symmetry.states import state_adapter

__all__ = ["grid_world", "propose_boards"]

_LARGEST = 40  # cells along a side
_FEW = 5  # labels of which all permutations are tried
_BEST = 2  # of these, so many for each motion of the board

#: Motions of a board: what they do to the two axes of an array.
_MOTIONS = {
    "left and right": lambda x: np.flip(x, 1),
    "up and down": lambda x: np.flip(x, 0),
    "half turn": lambda x: np.flip(x, (0, 1)),
    "quarter turn": lambda x: np.rot90(x),
    "diagonal": lambda x: np.swapaxes(x, 0, 1),
    "other diagonal": lambda x: np.flip(np.swapaxes(np.flip(x, 0), 0, 1), 0),
}


def propose_boards(env: Any, data: Transitions) -> list[Proposal]:
    """Motions of all boards in an observation at once, with the actions that can belong to them.

    Actions that are cells or columns move with the board; of few labels all permutations are tried, and those are
    proposed that fit the data best.
    """
    count = int(getattr(env.action_space, "n", 0))
    boards: list[tuple[int, int]] = [axes for _, shape, _ in env.layout.parts for axes in _axes(shape)]
    if not boards or not count:
        return []
    found: list[Proposal] = []
    for axes in sorted(set(boards)):
        for motion in _MOTIONS.values():
            for observation, action in _moved(env, axes, motion, count, data):
                order = int(np.lcm(observation.order(), action.order()))
                found.append(Proposal(observation, action, misfit(data, observation, action), order))
    return found


def _axes(shape: tuple[int, ...]) -> list[tuple[int, int]]:
    """The two axes of a board: channels may come first or last."""
    options = {2: [(0, 1)], 3: [(0, 1), (1, 2)]}.get(len(shape), [])
    return [(i, j) for i, j in options if min(shape[i], shape[j]) >= 2 and max(shape[i], shape[j]) <= _LARGEST]


def _moved(
    env: Any, axes: tuple[int, int], motion: Any, count: int, data: Transitions
) -> Iterator[tuple[SignedPermutation, Labels]]:
    index = np.arange(env.observation_space.shape[0])
    size: tuple[int, int] | None = None
    masks: list[int] = []
    for _, shape, start in env.layout.parts:
        if axes in _axes(shape):
            block = index[start : start + int(np.prod(shape))].reshape(shape)
            moved = np.moveaxis(motion(np.moveaxis(block, axes, (0, 1))), (0, 1), axes)
            if moved.shape != shape:
                return  # a quarter turn of a board that is not square
            index[start : start + moved.size] = moved.ravel()
            size = shape[axes[0]], shape[axes[1]]
        elif shape == (count,):
            masks.append(start)
    if size is None:
        return
    for action in _actions(size, motion, count):
        whole = index.copy()
        for start in masks:  # which actions are allowed moves as the actions do
            whole[start : start + count] = start + np.argsort(action)
        yield SignedPermutation(whole, np.ones(len(whole))), Labels(action)
    if count <= _FEW:
        observation = SignedPermutation(index, np.ones(len(index)))
        tables = [Labels(list(p)) for p in permutations(range(count))]
        tables.sort(key=lambda table: misfit(data, observation, table))
        yield from ((observation, table) for table in tables[:_BEST])


def _actions(size: tuple[int, int], motion: Any, count: int) -> Iterator[IntArray]:
    """What becomes of actions that are cells (by rows or by columns, perhaps with a pass at the end) or columns."""
    height, width = size
    if count - height * width in (0, 1):
        for order in ("C", "F"):
            cells: AnyArray = np.arange(height * width).reshape(size, order=order)
            moved = motion(cells)
            if moved.shape == size:
                table = np.empty(height * width, dtype=np.int64)
                table[moved.ravel()] = cells.ravel()
                yield np.concatenate([table, np.arange(height * width, count)])
    elif count in (height, width):
        yield np.arange(count)[::-1].copy()
        yield np.arange(count)


def grid_world(env: Any) -> EnvSymmetry | None:
    """MiniGrid's worlds, turned and mirrored: what the agent sees, which way it looks, and the whole grid."""
    env.reset(seed=0)
    adapter = state_adapter(env)
    parts = getattr(env.observation_space, "spaces", {})
    if adapter is None or adapter.kind != "minigrid" or not {"image", "direction"} <= set(parts):
        return None
    width, height = env.unwrapped.width, env.unwrapped.height
    others = {key: "trivial" for key in parts if key not in ("image", "direction")}

    def world(grid: str, matrix: Any, offset: Any, direction: str) -> dict[str, Any]:
        place = {"kind": "affine", "matrix": matrix, "offset": offset}
        grid_part = {"kind": "image", "channels": "last", "op": grid}
        return {"kind": "dict", "parts": {"grid": grid_part, "position": place, "direction": direction}}

    def seen(op: str, direction: str) -> dict[str, Any]:
        image = {"kind": "image", "channels": "last", "op": op}
        return {"kind": "dict", "parts": {"image": image, "direction": direction, **others}}

    turn, flip = "labels 1,2,3,0", "labels 0,3,2,1"
    action = "labels " + ",".join(map(str, [1, 0, *range(2, int(env.action_space.n))]))
    mirror = seen("flip_ud", flip), action, world("flip_lr", [[1, 0], [0, -1]], [0, height - 1], flip)
    quarter = seen("identity", turn), "trivial", world("turn", [[0, -1], [1, 0]], [width - 1, 0], turn)
    rows = [quarter, mirror] if width == height else [mirror]
    observation, actions, states = (list(column) for column in zip(*rows, strict=True))
    fields = {"observation": observation, "action": actions, "state": states}
    if len(rows) == 1:
        fields = {key: value[0] for key, value in fields.items()}
    try:
        return EnvSymmetry.from_dict({"group": "D4" if width == height else "mirror", **fields})
    except BurnsideError:
        return None
