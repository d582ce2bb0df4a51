"""Turns as text (Singmaster): U F L D B R clockwise, ``'`` anticlockwise, ``2`` half turns, ``2R`` the layer behind R.

M, E and S are the middle layers of odd cubes, turning as L, D and F.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from burnside.envs.cube.geometry import FACES, check_size, standard_turn, turns
from burnside.errors import InvalidAction, UnknownName

__all__ = ["format_moves", "move_names", "parse_moves"]

_MIDDLE = {"M": "L", "E": "D", "S": "F"}
_WORD = re.compile(r"(\d*)([A-Za-z])(2?)(['’′]?)")


@lru_cache(maxsize=64)
def move_names(n: int, slices: bool = False) -> tuple[str, ...]:
    """The names of all turns, in the order of the action numbers.

    >>> " ".join(move_names(3, slices=True))
    "U U' F F' L L' D D' B B' R R' M M' E E' S S'"
    >>> move_names(4, slices=True)[12:16]
    ('2U', "2U'", '2F', "2F'")
    """
    names = []
    for face, layer, back in turns(n, slices):
        if layer and 2 * layer == n - 1:
            name = {face: middle for middle, face in _MIDDLE.items()}[FACES[face]]
        else:
            name = f"{layer + 1}{FACES[face]}" if layer else FACES[face]
        names.append(name + ("'" if back else ""))
    return tuple(names)


def parse_moves(text: str, n: int = 3, slices: bool = False) -> list[int]:
    """The action numbers of a sequence of turns; a half turn is two quarter turns.

    >>> parse_moves("R U R' U2")
    [10, 0, 11, 0, 0]
    >>> parse_moves("M 2R'", n=3, slices=True)       # the same layer, seen from two sides
    [12, 12]
    >>> parse_moves("R Q")
    Traceback (most recent call last):
    ...
    burnside.errors.UnknownName: unknown move 'Q' (known: B, B', D, D', F, F', L, L', R, R', U, U')
    """
    number = {turn: a for a, turn in enumerate(turns(check_size(n), slices))}
    found: list[int] = []
    for word in text.replace(",", " ").split():
        match = _WORD.fullmatch(word)
        if match is None:
            raise UnknownName("move", word, move_names(n, slices))
        depth, letter, half, prime = match.groups()
        layer = int(depth or 1) - 1
        if letter in _MIDDLE and n % 2 and not depth:
            letter, layer = _MIDDLE[letter], n // 2
        if letter not in FACES or not 0 <= layer < n:
            raise UnknownName("move", word, move_names(n, slices))
        action = number.get(standard_turn(n, (FACES.index(letter), layer, bool(prime))))
        if action is None:
            raise InvalidAction(
                f"'{word}' turns an inner layer, and this cube has outer turns only: use turns='slices'"
            )
        found += [action] * (2 if half else 1)
    return found


def format_moves(actions: Iterable[int], n: int = 3, slices: bool = False) -> str:
    """The sequence of turns as text; ``parse_moves`` gives the same numbers back.

    >>> format_moves([10, 0, 11, 1])
    "R U R' U'"
    """
    names = move_names(n, slices)
    words = []
    for action in actions:
        if not 0 <= int(action) < len(names):
            raise InvalidAction(f"turns are numbered 0…{len(names) - 1} here, got {action}")
        words.append(names[int(action)])
    return " ".join(words)
