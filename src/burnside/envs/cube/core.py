"""The rules of the cube (App. C, "Rubik's Cube") as pure functions on arrays of stickers with any leading axes.

A state is a uint8 vector of 6n² colours. All functions take numpy arrays or torch tensors, and give back the same kind
on the same device. Choices the paper leaves open:

- A goal is either the solved cube as it stands (``fixed``) or the solved cube in any of its 24 orientations
  (``any-orientation``). With outer turns and n ≥ 3 they are the same for every state that can be reached, since the
  centres never move. At n = 2 they are not: R·L' turns the whole cube, and is two turns away from ``fixed``.
- Scrambles draw every turn uniformly from all turns, so a turn may undo the one before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from burnside._random import Stream, randint
from burnside._types import AnyArray, ArrayLike, IntArray
from burnside.envs.cube.geometry import FACES, check_size, representatives, turn_table
from burnside.envs.cube.notation import format_moves, move_names, parse_moves
from burnside.errors import InvalidAction, InvalidModel, InvalidParameter, UnknownName

__all__ = [
    "GOALS",
    "TURNS",
    "CubeSpec",
    "apply_moves",
    "as_actions",
    "as_array",
    "children",
    "draw_ansi",
    "is_solved",
    "is_torch",
    "move",
    "one_hot",
    "scramble",
    "solved",
]

GOALS = ("fixed", "any-orientation")
TURNS = ("outer", "slices")
_LONGEST = 2**16
_RGB = {"U": "97", "F": "92", "L": "38;5;208", "D": "93", "B": "94", "R": "91"}  # white green orange yellow blue red


@dataclass(frozen=True)
class CubeSpec:
    """Size, turns and goal of a cube.

    Attributes:
        n: layers along an edge, at least 2.
        turns: ``outer``, the 12 quarter turns of the paper, or ``slices``, the quarter turns of every layer.
        goal: ``fixed`` or ``any-orientation``; by default the latter where a turned solved cube can be reached.

    >>> CubeSpec(3)
    CubeSpec(n=3, turns='outer', goal='fixed')
    >>> CubeSpec(2).goal, CubeSpec(4, turns="slices").n_moves, CubeSpec(5).n_inputs
    ('any-orientation', 24, 900)
    """

    n: int = 3
    turns: str = "outer"
    goal: str = None  # type: ignore[assignment]  # filled in below

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", check_size(self.n))
        if self.turns not in TURNS:
            raise UnknownName("set of turns", str(self.turns), TURNS)
        if self.goal is None:
            object.__setattr__(self, "goal", GOALS[int(self.n == 2 or self.turns == "slices")])
        if self.goal not in GOALS:
            raise UnknownName("goal", str(self.goal), GOALS)

    @property
    def slices(self) -> bool:
        """Whether inner layers turn too."""
        return self.turns == "slices"

    @property
    def n_stickers(self) -> int:
        """Number of stickers, 6n²."""
        return 6 * self.n**2

    @property
    def n_inputs(self) -> int:
        """Length of the one-hot encoding, 36n²."""
        return 36 * self.n**2

    @property
    def n_moves(self) -> int:
        """Number of turns."""
        return len(self.table)

    @property
    def table(self) -> IntArray:
        """The turns as permutations, ``(turns, 6n²)``: ``new[i] = old[table[a, i]]``."""
        return turn_table(self.n, self.slices)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the turns."""
        return move_names(self.n, self.slices)

    @property
    def essential(self) -> IntArray:
        """Stickers that determine all others: with outer turns 54 whatever n ≥ 3 is (see ``geometry.collapse``)."""
        return np.arange(self.n_stickers) if self.slices else representatives(self.n)

    def parse(self, text: str) -> list[int]:
        """The numbers of turns written as ``"R U R' U2"``."""
        return parse_moves(text, self.n, self.slices)

    def format(self, actions: Any) -> str:
        """Turns as text."""
        return format_moves(actions, self.n, self.slices)


def is_torch(x: Any) -> bool:
    """Whether this is a torch tensor; torch is not imported for it."""
    return type(x).__module__.split(".")[0] == "torch"


def as_array(spec: CubeSpec, states: Any) -> Any:
    """States as an array or tensor with stickers on the last axis."""
    found = states if is_torch(states) else np.asarray(states)
    if found.ndim < 1 or found.shape[-1] != spec.n_stickers:
        raise InvalidModel(
            f"a cube with n={spec.n} has {spec.n_stickers} stickers on the last axis, got shape {tuple(found.shape)}"
        )
    return found


def _like(states: Any, table: AnyArray) -> Any:
    """A table of indices as the kind of array that ``states`` is, on its device."""
    if not is_torch(states):
        return table
    import torch

    return torch.as_tensor(np.array(table), device=states.device)


def solved(spec: CubeSpec, shape: tuple[int, ...] | int = ()) -> AnyArray:
    """The solved cube, uint8; with a shape, as many copies.

    >>> solved(CubeSpec(2)).tolist()[:9]
    [0, 0, 0, 0, 1, 1, 1, 1, 2]
    """
    lead = (shape,) if isinstance(shape, int) else tuple(shape)
    one = np.repeat(np.arange(6, dtype=np.uint8), spec.n**2)
    return np.broadcast_to(one, (*lead, spec.n_stickers)).copy()


def is_solved(spec: CubeSpec, states: Any) -> Any:
    """Whether states are goals; one boolean per state.

    >>> turned = apply_moves(CubeSpec(2), solved(CubeSpec(2)), "R L'")
    >>> bool(is_solved(CubeSpec(2), turned)), bool(is_solved(CubeSpec(2, goal="fixed"), turned))
    (True, False)
    """
    found = as_array(spec, states)
    faces = found.reshape(*found.shape[:-1], 6, spec.n**2)
    if spec.goal == "fixed":
        home = _like(found, np.arange(6, dtype=np.uint8)[:, None])
        same = faces == home
    else:
        same = faces == faces[..., :1]
    return same.reshape(*found.shape[:-1], -1).all(-1)


def as_actions(spec: CubeSpec, actions: Any) -> AnyArray:
    """Turns as numbers of an integer array; refuses what is not a turn of this cube."""
    if is_torch(actions):
        actions = actions.detach().cpu().numpy()
    chosen = np.asarray(actions)
    if chosen.size and chosen.dtype.kind not in "iu":
        raise InvalidAction(f"turns are given by whole numbers, got {actions!r:.80}")
    if chosen.size and not (chosen.min() >= 0 and chosen.max() < spec.n_moves):
        raise InvalidAction(f"turns are numbered 0…{spec.n_moves - 1} here, got {chosen.min()}…{chosen.max()}")
    return chosen.astype(np.int64)


def move(spec: CubeSpec, states: Any, actions: Any) -> Any:
    """Make one turn in every state; ``actions`` broadcasts with the leading axes of the states.

    >>> spec = CubeSpec(3)
    >>> after = move(spec, solved(spec, 2), [10, 11])                 # R and R'
    >>> bool((move(spec, after, [11, 10]) == solved(spec)).all())
    True
    """
    found = as_array(spec, states)
    if is_torch(found):
        import torch

        table = _on_device(spec, str(found.device))
        on_device = is_torch(actions) and actions.device.type != "cpu"  # checking there would wait for the device
        where = table[actions.long() if on_device else torch.as_tensor(as_actions(spec, actions), device=found.device)]
        shape = torch.broadcast_shapes(found.shape, where.shape)
        return torch.gather(found.expand(shape), -1, where.expand(shape))
    source = spec.table[as_actions(spec, actions)]
    shape = np.broadcast_shapes(found.shape, source.shape)
    return np.take_along_axis(np.broadcast_to(found, shape), np.broadcast_to(source, shape), axis=-1)


@lru_cache(maxsize=32)
def _on_device(spec: CubeSpec, device: str) -> Any:
    """The table of turns as a tensor."""
    import torch

    return torch.as_tensor(np.array(spec.table), device=device)


def children(spec: CubeSpec, states: Any) -> Any:
    """All states one turn away, with an axis for the turn before the stickers.

    >>> children(CubeSpec(3), solved(CubeSpec(3), 5)).shape
    (5, 12, 54)
    """
    found = as_array(spec, states)
    return found[..., _on_device(spec, str(found.device)) if is_torch(found) else spec.table]


def apply_moves(spec: CubeSpec, states: Any, moves: str | ArrayLike) -> Any:
    """The states after a sequence of turns, the same for all; text or numbers.

    >>> spec = CubeSpec(4)
    >>> bool(is_solved(spec, apply_moves(spec, solved(spec), "R U R' U' " * 6)))
    True
    """
    sequence = spec.parse(moves) if isinstance(moves, str) else as_actions(spec, moves).ravel().tolist()
    found = as_array(spec, states)
    perm = np.arange(spec.n_stickers)
    for action in sequence:
        perm = perm[spec.table[action]]
    return found[..., _like(found, perm)]


def scramble(
    spec: CubeSpec, seeds: ArrayLike, lengths: ArrayLike, episodes: ArrayLike = 0, stream: int = Stream.ENV
) -> tuple[AnyArray, IntArray]:
    """Solved cubes after random turns: ``(states, moves)``; seeds, lengths and episodes broadcast to one batch axis.

    Turn t of episode e is the number with counter ``e·2¹⁶ + t`` of the stream, so a row does not depend on the others,
    and a shorter scramble is the beginning of a longer one. ``moves`` is padded with −1.

    >>> states, moves = scramble(CubeSpec(3), seeds=[7, 7], lengths=[2, 4])
    >>> CubeSpec(3).format(moves[1]), moves[0].tolist() == [*moves[1, :2], -1, -1]
    ("F' F B R'", True)
    """
    seed, length, episode = np.broadcast_arrays(*(np.atleast_1d(np.asarray(x)) for x in (seeds, lengths, episodes)))
    if seed.ndim != 1 or length.dtype.kind not in "iu":
        raise InvalidParameter("seeds, lengths and episodes must be whole numbers that make one batch axis")
    if length.size and not (length.min() >= 0 and length.max() < _LONGEST):
        raise InvalidParameter(f"scrambles have 0 to {_LONGEST - 1} turns, got {length.min()}…{length.max()}")
    longest = int(length.max(initial=0))
    counter = episode.astype(np.uint64)[:, None] * np.uint64(_LONGEST) + np.arange(longest, dtype=np.uint64)
    moves = randint(seed[:, None], stream, counter, spec.n_moves)
    moves[np.arange(longest) >= length[:, None]] = -1
    table = np.concatenate([spec.table, np.arange(spec.n_stickers)[None]])  # −1 is the turn that does nothing
    states = solved(spec, len(seed))
    for t in range(longest):
        states = np.take_along_axis(states, table[moves[:, t]], axis=-1)
    return states, moves


def one_hot(spec: CubeSpec, states: Any) -> Any:
    """The input of a network: float32 with 36n² entries, entry ``6·i + c`` for colour c on sticker i.

    >>> one_hot(CubeSpec(2), solved(CubeSpec(2))).reshape(24, 6).argmax(1)[:6].tolist()
    [0, 0, 0, 0, 1, 1]
    """
    found = as_array(spec, states)
    if is_torch(found):
        import torch

        colours = torch.arange(6, dtype=found.dtype, device=found.device)
        return (found[..., None] == colours).to(torch.float32).reshape(*found.shape[:-1], spec.n_inputs)
    return np.eye(6, dtype=np.float32)[found].reshape(*found.shape[:-1], spec.n_inputs)


# ---------------------------------------------------------------------- text


def draw_ansi(spec: CubeSpec, state: ArrayLike, colour: bool = False) -> str:
    """The unfolded cube as text, with terminal colours if wanted.

    >>> print(draw_ansi(CubeSpec(2), apply_moves(CubeSpec(2), solved(CubeSpec(2)), "R")))
        U F
        U F
    L L F D R R U B
    L L F D R R U B
        D B
        D B
    """
    faces = dict(zip(FACES, as_array(spec, state).reshape(6, spec.n, spec.n), strict=True))

    def line(face: str, row: int) -> str:
        letters = (FACES[int(c)] for c in faces[face][row])
        return " ".join(f"\x1b[{_RGB[x]}m{x}\x1b[0m" if colour else x for x in letters)

    rows = range(spec.n)
    margin = " " * (2 * spec.n)
    middle = [" ".join(line(face, row) for face in "LFRB") for row in rows]
    return "\n".join([*(margin + line("U", r) for r in rows), *middle, *(margin + line("D", r) for r in rows)])
