"""Maps of images: quarter turns and flips, for channels first, last or absent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from burnside._types import FloatArray
from burnside.errors import InvalidAction, InvalidParameter, UnknownName
from burnside.symmetry.base import Map
from burnside.symmetry.vectors import SignedPermutation, Trivial

__all__ = ["Image"]

# (quarter turns counter-clockwise, whether left and right are flipped before)
_OPS = {
    "identity": (0, 0),
    "turn": (1, 0),
    "half_turn": (2, 0),
    "turn_back": (3, 0),
    "flip_lr": (0, 1),
    "flip_ud": (2, 1),
    "transpose": (1, 1),
    "anti_transpose": (3, 1),
}
_NAMES = {value: key for key, value in _OPS.items()}
_CHANNELS = {"last": (-3, -2), "first": (-2, -1), "none": (-2, -1)}


class Image(Map):
    """An image is turned or flipped.

    Args:
        op: ``turn`` (a quarter, counter-clockwise), ``half_turn``, ``turn_back``, ``flip_lr`` (left and right change
            places), ``flip_ud``, ``transpose``, ``anti_transpose``, ``identity``. None: as the group itself turns and
            mirrors the plane (``mirror``, ``C4``, ``D4``, ``V4``), with x to the right and y up.
        channels: ``"last"`` for (height, width, channels), ``"first"`` for (channels, height, width), ``"none"``.
        permute: how the channels change places, a :class:`SignedPermutation` or its text, where they mean directions.

    Quarter turns need square images.

    >>> Image("turn", channels="none")(np.array([[1, 2], [3, 4]]))
    array([[2, 4],
           [1, 3]])
    """

    kind = "image"

    def __init__(self, op: str | None = None, channels: str = "last", permute: Any = None) -> None:
        if op is not None and op not in _OPS:
            raise UnknownName("operation on images", op, _OPS)
        if channels not in _CHANNELS:
            raise UnknownName("place of the channels", str(channels), _CHANNELS)
        self.op, self.channels = op, channels
        self.permute = (
            permute if permute is None or isinstance(permute, SignedPermutation) else SignedPermutation(permute)
        )
        if self.permute is not None and channels == "none":
            raise InvalidParameter("an image without channels has no channels to permute")
        if self.permute is not None and op is None:
            raise InvalidParameter("channels can be permuted where each generator has its own Image with an op")

    @property
    def event_ndim(self) -> int:  # type: ignore[override]
        """3, or 2 without channels."""
        return 2 if self.channels == "none" else 3

    @classmethod
    def of_matrix(cls, matrix: FloatArray, channels: str) -> Image:
        """What a turn or mirror of the plane does to an image."""
        for op, (turns, flip) in _OPS.items():
            if np.allclose(_turn_matrix(turns, flip), matrix, atol=1e-9):
                return cls(op, channels)
        raise InvalidAction(
            "only quarter turns and mirrors along rows, columns and diagonals map the pixels of an image to each "
            "other: use C2, C4, D4, V4 or mirror"
        )

    @property
    def axes(self) -> tuple[int, int]:
        """The axes of rows and columns, counted from the end."""
        return _CHANNELS[self.channels]

    @property
    def moves(self) -> tuple[int, int]:
        """Quarter turns counter-clockwise, and whether left and right are flipped before."""
        if self.op is None:
            raise InvalidParameter("Image() moves as its group does: use it in a declaration, or give it an op")
        return _OPS[self.op]

    def __call__(self, x: Any) -> Any:
        """The image moved; its type is kept."""
        turns, flip = self.moves
        found = np.asarray(x)
        if found.ndim < self.event_ndim:
            raise InvalidParameter(f"{self!r} needs images with {self.event_ndim} axes, got shape {found.shape}")
        rows, columns = _CHANNELS[self.channels]
        if turns % 2 and found.shape[rows] != found.shape[columns]:
            raise InvalidParameter(
                f"quarter turns need square images, got {found.shape[rows]} × {found.shape[columns]} pixels"
            )
        if flip:
            found = np.flip(found, axis=columns)
        if turns:
            found = np.rot90(found, turns, axes=(rows, columns))
        if self.permute is not None:
            axis = -1 if self.channels == "last" else -3
            found = np.moveaxis(self.permute(np.moveaxis(found, axis, -1)), -1, axis)
        return np.ascontiguousarray(found)

    def __matmul__(self, other: Any) -> Map:
        """First ``other``, then this one."""
        if isinstance(other, Trivial):
            return self
        if not isinstance(other, Image) or other.channels != self.channels:
            raise InvalidAction(f"{self!r} and {other!r} act on different spaces: all generators must act on the same")
        (k, f), (m, g) = self.moves, other.moves
        turns = (k - m if f else k + m) % 4
        return Image(_NAMES[turns, f ^ g], self.channels, _after(self.permute, other.permute))

    def inverse(self) -> Image:
        """The operation that leads back."""
        turns, flip = self.moves
        back = None if self.permute is None else self.permute.inverse()
        return Image(_NAMES[turns if flip else -turns % 4, flip], self.channels, back)

    def identity(self) -> Image:
        """Nothing is moved."""
        return Image("identity", self.channels)

    def difference(self, other: Map) -> str | None:
        """Another operation, or other channels."""
        if isinstance(other, Trivial):
            other = self.identity()
        if not isinstance(other, Image) or other.channels != self.channels:
            return f"{self!r} acts on another space than {other!r}"
        if self.moves != other.moves:
            return f"the image is moved by {self.op} instead of {other.op}"
        mine, theirs = self.permute, other.permute
        if mine is None and theirs is None:
            return None
        mine = mine if mine is not None else theirs.identity()  # type: ignore[union-attr]
        return mine.difference(theirs if theirs is not None else mine.identity())

    def __repr__(self) -> str:
        """The operation, and what is not the default."""
        words = [] if self.op is None else [repr(self.op)]
        words += [] if self.channels == "last" else [f"channels={self.channels!r}"]
        words += [] if self.permute is None else [f"permute={str(self.permute)!r}"]
        return f"Image({', '.join(words)})"

    def __eq__(self, other: object) -> bool:
        """The same operation on the same layout."""
        return isinstance(other, Image) and self._key() == other._key()

    def __hash__(self) -> int:
        """Hash of the operation and layout."""
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self.op, self.channels, self.permute

    def to_data(self) -> Any:
        """The fields that are not the default."""
        found: dict[str, Any] = {"kind": "image", "channels": self.channels}
        found |= {} if self.op is None else {"op": self.op}
        return found | ({} if self.permute is None else {"permute": str(self.permute)})

    @classmethod
    def from_fields(cls, data: Mapping[str, Any]) -> Image:
        """An empty operation is that of the group."""
        return cls(**(dict(data) | {"op": data.get("op") or None}))


def _turn_matrix(turns: int, flip: int) -> FloatArray:
    quarter = np.array([[0.0, -1.0], [1.0, 0.0]])
    return np.linalg.matrix_power(quarter, turns) @ np.diag([-1.0 if flip else 1.0, 1.0])


def _after(second: SignedPermutation | None, first: SignedPermutation | None) -> Any:
    if second is None or first is None:
        return first if second is None else second
    return second @ first
