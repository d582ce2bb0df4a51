"""Ground truth: states per depth with and without a symmetry, exact balls, and the exact table of the 2-cube.

Distances are in quarter turns. The 2-cube with any orientation as goal has 88 179 840 states, which are 3 674 160 up to
rotation: the corner at D, B, L is held in place, and a state is a permutation of the seven others (5040) times the
orientations of six of them (729). Turns of U, F and R reach them all, and every other turn is one of these up to
rotation.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from burnside._types import AnyArray, ArrayLike, IntArray
from burnside.envs.cube.core import CubeSpec, as_array, children, is_torch, solved
from burnside.envs.cube.geometry import FACES, symmetry_table, turn_table
from burnside.envs.cube.pieces import corner_pieces, corner_places
from burnside.envs.cube.symmetry import CubeCanonicalizer, CubeSymmetry
from burnside.errors import InvalidModel, InvalidParameter

__all__ = ["TWO_STATES", "Layers", "ball", "layers", "two_index", "two_states", "two_table", "two_values", "walk"]

#: States of the 2-cube up to rotation.
TWO_STATES = 3_674_160
_WIDE = 24  # 6²⁴ < 2⁶⁴: base-6 digits in one word


@dataclass(frozen=True)
class Layers:
    """How many states lie at each depth: as they are, and up to a symmetry (None where no symmetry was asked for).

    >>> layers(CubeSpec(3), 3, "conjugation")
    Layers(raw=(1, 12, 114, 1068), canonical=(1, 2, 8, 50))
    """

    raw: tuple[int, ...]
    canonical: tuple[int, ...] | None = None

    @property
    def ratios(self) -> tuple[float, ...]:
        """Raw states for each canonical one, among all up to each depth.

        >>> [round(x, 1) for x in layers(CubeSpec(2, goal="fixed"), 3, "position").ratios]
        [1.0, 1.9, 3.7, 6.8]
        """
        if self.canonical is None:
            return (1.0,) * len(self.raw)
        return tuple((np.cumsum(self.raw) / np.cumsum(self.canonical)).tolist())

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"raw": list(self.raw), "canonical": None if self.canonical is None else list(self.canonical)}


def _keys(spec: CubeSpec, states: AnyArray) -> AnyArray:
    """One sortable item per state, different for different states: base-6 words of the essential stickers."""
    essential = spec.essential
    words = []
    for start in range(0, len(essential), _WIDE):
        part = essential[start : start + _WIDE]
        word = np.zeros(len(states), dtype=np.uint64)
        for i in part:
            word *= np.uint64(6)
            word += states[:, i].astype(np.uint64)
        words.append(word)
    if len(words) == 1:
        return words[0]
    packed = np.ascontiguousarray(np.stack(words, axis=1).astype(">u8"))
    return packed.view(f"V{8 * len(words)}").ravel()


def walk(spec: CubeSpec, symmetry: str | None = None) -> Iterator[AnyArray]:
    """The states of each layer, without end; with a symmetry, the representatives of the classes.

    >>> [len(layer) for layer in itertools.islice(walk(CubeSpec(3), "conjugation+mirror"), 4)]
    [1, 1, 5, 25]
    """
    form = None if symmetry is None else CubeCanonicalizer(CubeSymmetry(spec, symmetry))
    start = solved(spec, 1)
    found = start if form is None else form(start)[0]
    # Turns can be undone, so a neighbour of layer d lies in layer d − 1, d or d + 1.
    known = [_keys(spec, found)]
    while True:
        yield found
        after = children(spec, found).reshape(-1, spec.n_stickers)
        if form is not None:
            after = form(after)[0]
        keys, where = np.unique(_keys(spec, after), return_index=True)
        new = ~np.isin(keys, np.concatenate(known[-2:]))
        found = after[where[new]]
        known = [known[-1], keys[new]]


def _search(spec: CubeSpec, depth: int, symmetry: str | None) -> list[AnyArray]:
    if depth != int(depth) or depth < 0:
        raise InvalidParameter(f"depth must be a whole number from 0 on, got {depth}")
    return list(itertools.islice(walk(spec, symmetry), int(depth) + 1))


def ball(spec: CubeSpec, depth: int) -> tuple[AnyArray, AnyArray]:
    """All states up to a depth from the solved cube: ``(states, distances)``, uint8 and int8, by increasing distance.

    >>> states, distances = ball(CubeSpec(3), 2)
    >>> states.shape, np.bincount(distances).tolist()
    ((127, 54), [1, 12, 114])
    """
    found = _search(spec, depth, None)
    sizes = [len(layer) for layer in found]
    return np.concatenate(found), np.repeat(np.arange(len(sizes), dtype=np.int8), sizes)


def layers(spec: CubeSpec, depth: int, symmetry: str | None = None) -> Layers:
    """Number of states at each depth from one solved cube, and of classes under a symmetry.

    Classes are counted in the quotient: a class has the least depth of its members. For symmetries that keep the solved
    cube this is the depth of all of them.

    >>> layers(CubeSpec(4), 3, "position")                            # merges nothing: centres never move
    Layers(raw=(1, 12, 114, 1068), canonical=(1, 12, 114, 1068))
    """
    raw = _search(spec, depth, None)
    counts = tuple(len(layer) for layer in raw)
    if symmetry is None:
        return Layers(counts)
    group = CubeSymmetry(spec, symmetry)
    if group.value_only:  # distances are kept but turns are not, so there is no quotient to search
        form = CubeCanonicalizer(group)
        classes = [np.unique(_keys(spec, form(layer)[0])) for layer in raw]
    else:
        classes = _search(spec, depth, symmetry)
    return Layers(counts, tuple(len(layer) for layer in classes))


# ---------------------------------------------------------------------- the 2-cube


@dataclass(frozen=True)
class _Two:
    places: IntArray  # (8, 3) stickers of each corner
    pieces: AnyArray  # (216,) 3·corner + twist from three colours, −1 if there is no such piece
    turned: IntArray  # (24,) rotation that brings piece 7 home from corner c with twist t
    permuted: AnyArray  # (5040, 6) and
    twisted: AnyArray  # (729, 6): the turns U, U', F, F', R, R' on the numbers of permutations and orientations
    orders: IntArray  # (5040, 7) permutations
    twists: IntArray  # (729, 7) orientations, the last one determined by the others


@lru_cache(maxsize=1)
def _two() -> _Two:
    places, pieces = corner_places(2), corner_pieces()
    turned = np.empty(24, dtype=np.int64)
    for g, perm in enumerate(symmetry_table(2)[:24]):
        state = solved(CubeSpec(2)).astype(np.int64)
        view = np.empty_like(state)
        view[perm] = state  # g brings this one home
        read = pieces[view[places] @ np.array([36, 6, 1])]
        c = int(np.argmax(read // 3 == 7))
        turned[3 * c + read[c] % 3] = g
    orders = np.array(list(itertools.permutations(range(7))))  # in lexicographic order, so by rank
    free = np.array(list(itertools.product(range(3), repeat=6)))
    twists = np.concatenate([free, -free.sum(axis=1, keepdims=True) % 3], axis=1)
    permuted, twisted = np.empty((5040, 6), dtype=np.int32), np.empty((729, 6), dtype=np.int32)
    for j, (face, back) in enumerate(itertools.product("UFR", (0, 1))):
        perm = turn_table(2)[2 * FACES.index(face) + back]
        state = perm[places[:7]]  # the sticker that comes to each place
        source = np.array([int(np.flatnonzero((places == row[0]).any(axis=1))[0]) for row in state])
        # a sticker at place t of the old corner comes to place 0: twist x becomes the place of what was at x
        at = np.array(
            [
                [int(np.flatnonzero(row == places[s, x])[0]) for x in range(3)]
                for row, s in zip(state, source, strict=True)
            ]
        )
        permuted[:, j] = _ranks(orders[:, source])
        after = np.stack([at[c][twists[:, source[c]]] for c in range(7)], axis=1)
        twisted[:, j] = after[:, :6] @ 3 ** np.arange(5, -1, -1)
    return _Two(places, pieces, turned, permuted, twisted, orders, twists)


def _ranks(orders: IntArray) -> IntArray:
    """Number of each row among the permutations in lexicographic order."""
    rank = np.zeros(len(orders), dtype=np.int64)
    size = orders.shape[1]
    for c in range(size):
        rank = rank * (size - c) + (orders[:, c + 1 :] < orders[:, c : c + 1]).sum(axis=1)
    return rank


_WRONG = {
    -1: "has a corner that does not exist: its three colours never meet, or meet in the mirrored order",
    -2: "has some corner piece twice",
    -3: "cannot be solved: a single corner is twisted",
}


def two_index(states: Any) -> IntArray:
    """The number, 0 … 3 674 159, of states of the 2-cube up to rotation; 0 is solved. Says what is wrong with the rest.

    >>> from burnside.envs.cube.core import apply_moves
    >>> spec = CubeSpec(2)
    >>> [int(two_index(apply_moves(spec, solved(spec), text))) for text in ("", "R L'", "R")]
    [0, 0, 1067868]
    """
    from burnside.envs.cube import kernels

    found = as_array(CubeSpec(2), states)
    array = found.detach().cpu().numpy() if is_torch(found) else found
    if array.size and (array.dtype.kind not in "iu" or array.min() < 0 or array.max() > 5):
        raise InvalidModel("stickers must be whole numbers from 0 to 5")
    flat = np.ascontiguousarray(array.reshape(-1, 24), dtype=np.uint8)
    out = np.empty(len(flat), dtype=np.int64)
    two = _two()
    kernels.index_two(flat, two.places, two.pieces, two.turned, symmetry_table(2)[:24].astype(np.uint16), out)
    if out.size and out.min() < 0:
        row = int(np.argmax(out < 0))
        raise InvalidModel(f"state {row} {_WRONG[int(out[row])]}")
    return out.reshape(array.shape[:-1])


def two_states(index: ArrayLike) -> AnyArray:
    """The states with given numbers, uint8, with the corner at D, B, L in place.

    >>> int(two_index(two_states(123456)))
    123456
    """
    number = np.asarray(index)
    if number.size and not (number.min() >= 0 and number.max() < TWO_STATES):
        raise InvalidParameter(f"states of the 2-cube are numbered 0…{TWO_STATES - 1}, got {index!r:.80}")
    flat, two = number.ravel(), _two()
    order, twist = two.orders[flat // 729], two.twists[flat % 729]
    colours = (two.places // 4).astype(np.uint8)
    out = np.empty((len(flat), 24), dtype=np.uint8)
    out[:, two.places[7]] = colours[7]
    for c, t in itertools.product(range(7), range(3)):
        out[:, two.places[c, t]] = colours[order[:, c], (t - twist[:, c]) % 3]
    return out.reshape(*number.shape, 24)


@lru_cache(maxsize=1)
def two_table() -> AnyArray:
    """The distance of every state of the 2-cube to the nearest solved orientation: int8, by :func:`two_index`.

    It takes about a second, so it is kept in memory and not on disk.

    >>> int(two_table().max()), int((two_table() == 14).sum())
    (14, 276)
    """
    from burnside.envs.cube import kernels

    two = _two()
    table = kernels.search_two(two.permuted, two.twisted, 0)
    table.flags.writeable = False
    return table


def two_values(states: Any) -> AnyArray:
    """The exact distances of states of the 2-cube, goal in any orientation.

    >>> from burnside.envs.cube.core import apply_moves
    >>> int(two_values(apply_moves(CubeSpec(2), solved(CubeSpec(2)), "R U F")))
    3
    """
    return two_table()[two_index(states)]
