"""A cube as a set of placements: "this piece, turned this way, is at this place".

A 3-cube with outer turns has 8 corners and 12 edges, each at one of its places in 24 ways: 480 placements, of which a
state holds 20. Turns, symmetries and the inversion s ↦ s⁻¹ all permute placements, so a state is moved by looking its
20 numbers up in a table, and a network whose first layer has a row of weights for each placement only adds 20 rows up.
Larger cubes with slice turns have placements of wings and centres too (912 for the 4-cube); centres of one colour are
equal, so theirs are "this colour is at this place". The order of the 20 numbers is that of the places; nothing but
:func:`CubePlacements.canonical` and the files depends on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from burnside._types import AnyArray, IntArray
from burnside.envs.cube.core import CubeSpec, as_array, solved
from burnside.envs.cube.geometry import colour_table, representatives, stickers, symmetry_table, turn_image
from burnside.errors import InvalidModel, InvalidParameter
from burnside.groups.permutations import inverse as inverse_permutations

__all__ = ["CubePlacements", "placements"]

#: Layers of the largest cube with slice turns whose tables are made.
_LARGEST = 9


@lru_cache(maxsize=16)
def placements(spec: CubeSpec, centres: bool = False) -> CubePlacements:
    """The placements of a cube, made once; for outer turns and n > 3 those of the 3-cube, which is the same problem.

    >>> placements(CubeSpec(3)).count, placements(CubeSpec(5)).spec.n, placements(CubeSpec(4, "slices")).count
    (480, 3, 912)
    """
    if spec.slices and spec.n > _LARGEST:
        raise InvalidParameter(f"with slice turns there are placements up to n={_LARGEST}, got n={spec.n}")
    return CubePlacements(spec if spec.slices or spec.n <= 3 else CubeSpec(3, goal=spec.goal), centres)


@dataclass(frozen=True)
class CubePlacements:
    """The placements of a cube and what moves them; see :func:`placements`.

    Attributes:
        spec: The cube.
        centres: Whether centres that never move have placements too: only rotations without recolouring move them.

    >>> world = placements(CubeSpec(3))
    >>> start = world.encode(solved(CubeSpec(3)))
    >>> start.shape, bool((np.sort(world.on_turns[0][start]) == np.sort(world.goals[0])).all())
    ((20,), False)
    """

    spec: CubeSpec
    centres: bool = False

    @cached_property
    def places(self) -> tuple[tuple[int, ...], ...]:
        """The stickers of every piece that some turn moves; of a corner clockwise, of wings in one order."""
        n = self.spec.n
        positions, normals = stickers(n)
        moved = (self.spec.table != np.arange(self.spec.n_stickers)).any(axis=0)
        orbit = self._orbits()
        found: dict[tuple[int, ...], list[int]] = {}
        for i, place in enumerate(positions.tolist()):
            if moved[i] or self.centres:
                found.setdefault(tuple(place), []).append(i)
        out = []
        for own in found.values():
            if len(own) == 3:
                first, one, other = own
                if np.linalg.det(normals[[first, one, other]]) > 0:  # clockwise from outside: a left-handed frame
                    one, other = other, one
                own = [first, one, other]
            elif len(own) == 2:
                own = sorted(own, key=lambda i: (orbit[i], i))
            out.append(tuple(own))
        return tuple(sorted(out, key=lambda own: (-len(own), own)))

    def _orbits(self) -> IntArray:
        """Which stickers turns bring to one another, by the smallest of them."""
        orbit = np.arange(self.spec.n_stickers)
        while True:
            after = orbit.copy()
            for turn in self.spec.table:
                np.minimum.at(after, turn, after.copy())
                after = np.minimum(after, after[turn])
            if (after == orbit).all():
                return orbit
            orbit = after

    @cached_property
    def contents(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """For pieces of one, two and three stickers: the colours they can show, in a fixed order."""
        colours = np.arange(self.spec.n_stickers) // self.spec.n**2
        found: list[set[tuple[int, ...]]] = [set(), set(), set()]
        for place in self.places:
            own = tuple(int(c) for c in colours[list(place)])
            for k in range(len(own)):
                found[len(own) - 1].add(own[k:] + own[:k])
        return tuple(tuple(sorted(each)) for each in found)

    @cached_property
    def first(self) -> IntArray:
        """The number of the first placement at each place, and behind them the count of all."""
        return np.cumsum([0, *(len(self.contents[len(place) - 1]) for place in self.places)])

    @property
    def count(self) -> int:
        """Number of placements."""
        return int(self.first[-1])

    @property
    def pieces(self) -> int:
        """Placements in a state."""
        return len(self.places)

    @cached_property
    def place_of(self) -> IntArray:
        """The place of every placement."""
        return np.repeat(np.arange(self.pieces), np.diff(self.first))

    @cached_property
    def _shown(self) -> list[dict[int, int]]:
        """The colours on the stickers of every placement."""
        return [
            dict(zip(place, colours, strict=True)) for place in self.places for colours in self.contents[len(place) - 1]
        ]

    @cached_property
    def _number(self) -> dict[frozenset[tuple[int, int]], int]:
        return {frozenset(shown.items()): k for k, shown in enumerate(self._shown)}

    def _moved(self, where: AnyArray, colours: AnyArray) -> AnyArray:
        """Every placement after sticker i went to ``where[i]`` and colour c became ``colours[c]``."""
        images = [frozenset((int(where[i]), int(colours[c])) for i, c in shown.items()) for shown in self._shown]
        return np.array([self._number[image] for image in images], dtype=np.uint16)

    @cached_property
    def on_turns(self) -> AnyArray:
        """``(turns, count)``: each placement after each turn."""
        return np.stack([self._moved(inverse_permutations(turn), np.arange(6)) for turn in self.spec.table])

    @cached_property
    def on_symmetries(self) -> AnyArray:
        """``(48, count)``: each placement after each element of ``geometry.matrices``, which also recolours."""
        table = zip(inverse_permutations(symmetry_table(self.spec.n)), colour_table(), strict=True)
        return np.stack([self._moved(where, colours) for where, colours in table])

    @cached_property
    def on_positions(self) -> AnyArray:
        """``(24, count)``: each placement after each rotation that keeps the colours (the paper's)."""
        table = inverse_permutations(symmetry_table(self.spec.n)[:24])
        return np.stack([self._moved(where, np.arange(6)) for where in table])

    @cached_property
    def turn_images(self) -> IntArray:
        """``(48, turns)``: the turn g·a."""
        return turn_image(self.spec.n, self.spec.slices)

    @cached_property
    def undo(self) -> IntArray:
        """``(turns,)``: the turn that undoes each turn."""
        return np.arange(self.spec.n_moves) ^ 1

    @property
    def has_inverse(self) -> bool:
        """Whether s⁻¹ has a meaning: no two pieces are equal."""
        return not self.contents[0]

    @cached_property
    def on_inverse(self) -> AnyArray:
        """``(count,)``: where the piece at place p belongs becomes where the piece that belongs to p is."""
        if not self.has_inverse:
            raise InvalidParameter("equal centres are exchanged here, so s⁻¹ has no meaning")
        colours = np.arange(self.spec.n_stickers) // self.spec.n**2
        home = {frozenset((int(i), int(colours[i])) for i in place): place for place in self.places}
        by_colours = {tuple(sorted(int(colours[i]) for i in place)): place for place in home.values()}
        out = np.empty(self.count, dtype=np.uint16)
        for k, shown in enumerate(self._shown):
            belongs = by_colours[tuple(sorted(shown.values()))]
            # the sticker of colour c at place i has its home at the sticker of that colour of the piece
            homes = {i: next(j for j in belongs if colours[j] == c) for i, c in shown.items()}
            out[k] = self._number[frozenset((j, int(colours[i])) for i, j in homes.items())]
        return out

    @cached_property
    def on_left_turns(self) -> AnyArray:
        """``(turns, count)``: each placement after a turn of the inverse: invert, turn, invert. It makes a⁻¹s of s."""
        return np.ascontiguousarray(self.on_inverse[self.on_turns[:, self.on_inverse]])

    def encode(self, states: Any) -> AnyArray:
        """The placements of states given by stickers of the cube: uint16 ``(…, pieces)``, in the order of the places.

        >>> world = placements(CubeSpec(4))                     # a 3-cube, seen from a larger one
        >>> world.encode(solved(CubeSpec(4))).tolist() == world.encode(solved(CubeSpec(3))).tolist()
        True
        """
        found = np.asarray(states)
        if found.shape[-1] != self.spec.n_stickers and not self.spec.slices and self.spec.n == 3:
            n = round((found.shape[-1] / 6) ** 0.5)
            found = found[..., representatives(n)] if 6 * n * n == found.shape[-1] and n > 3 else found
        found = as_array(self.spec, found)
        out = np.empty((*found.shape[:-1], self.pieces), dtype=np.uint16)
        for p, place in enumerate(self.places):
            table = np.full(6 ** len(place), self.count, dtype=np.int64)
            for k, colours in enumerate(self.contents[len(place) - 1]):
                table[np.dot(colours, 6 ** np.arange(len(place)))] = self.first[p] + k
            out[..., p] = table[found[..., list(place)].astype(np.int64) @ 6 ** np.arange(len(place))]
        if (out == self.count).any():
            raise InvalidModel("these stickers do not make a cube: a piece does not exist")
        return out

    @cached_property
    def goals(self) -> AnyArray:
        """``(goals, pieces)``: the solved cube, or all its orientations if those are goals."""
        one = self.encode(solved(self.spec))
        if self.spec.goal == "fixed" or (self.spec.n >= 3 and not self.spec.slices):
            return one[None]
        return self.sorted(self.on_positions[:, one])

    def sorted(self, states: AnyArray) -> AnyArray:
        """States with their placements in the order of the places."""
        return np.sort(states, axis=-1)  # placements are numbered place by place

    def decode(self, states: AnyArray) -> AnyArray:
        """The stickers of one state, uint8 ``(6n²,)``; those that no turn moves as in the solved cube."""
        out = solved(self.spec)
        for k in np.asarray(states).tolist():
            for i, c in self._shown[k].items():
                out[i] = c
        return out
