"""A group acting on a space: ``act(g, x)`` for every element, batched and fast; :func:`bind` makes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from burnside._types import AnyArray, FloatArray
from burnside.errors import InvalidAction, InvalidParameter, UnknownName
from burnside.symmetry.affine import is_exact
from burnside.symmetry.base import (
    Map,
)
from burnside.symmetry.groups import ContinuousGroup, EnvGroup, FiniteGroup
from burnside.symmetry.labels import Labels
from burnside.symmetry.rotations import Rotation
from burnside.symmetry.vectors import SignedPermutation, Trivial

__all__ = [
    "Acting",
    "ConcatActing",
    "FunctionActing",
    "LeafActing",
    "RotationActing",
    "StackActing",
    "TreeActing",
    "TrivialActing",
]


class Acting:
    """A group acting on one space. Leading axes of elements and points broadcast."""

    def __init__(self, group: EnvGroup) -> None:
        self.group = group

    #: Whether acting is free of rounding.
    exact = True
    #: Whether different numbers mean the same here (angles, quaternions), so that even the identity changes some.
    folds = False

    def act(self, g: Any, x: Any) -> Any:
        """``g·x``."""
        raise NotImplementedError

    def matrix(self, g: Any) -> FloatArray:
        """The matrix of g, where the action is linear."""
        raise InvalidParameter("only actions on one vector have matrices")

    def lead(self, x: Any) -> tuple[int, ...] | None:
        """The leading axes of points: ``()`` for a single one; None if that cannot be told."""
        raise NotImplementedError

    def images(self, x: Any) -> Any:
        """All images under a finite group, along a new axis after the leading ones; in the order of the elements."""
        lead = self.lead(x)
        elements = self.group.elements
        if elements is None:
            raise InvalidParameter(f"{self.group} has infinitely many elements: draw some with random_element")
        return tree_stack([self.act(g, x) for g in elements], 0 if lead is None else len(lead))

    def parts(self, x: Any) -> list[tuple[str, AnyArray, int | None]]:
        """The arrays of a point, each with its name (a key, a place) and how many axes are its own."""
        raise NotImplementedError


class LeafActing(Acting):
    """A finite group acting on one array, by one map for each element."""

    def __init__(self, group: FiniteGroup, maps: Sequence[Map]) -> None:
        super().__init__(group)
        self.maps = list(maps)
        self.order = len(self.maps)
        self.exact = all(is_exact(m) for m in self.maps)
        self.folds = any(getattr(m, "folding", None) for m in self.maps)
        nontrivial = [m for m in self.maps if not isinstance(m, Trivial)]
        self.event_ndim = int(nontrivial[0].event_ndim or 0) if nontrivial else 1
        self._signed: tuple[AnyArray, AnyArray] | None = None
        if all(isinstance(m, SignedPermutation) for m in self.maps):
            signed: list[Any] = self.maps
            self._signed = np.stack([m.index for m in signed]), np.stack([m.signs for m in signed])
            self._moves = not all(m.stays for m in signed)
            self._flips = [m for m in signed if not m.keeps]
        tables = [m.table for m in self.maps if isinstance(m, Labels)]
        self._table = np.stack(tables) if len(tables) == self.order else None

    def act(self, g: Any, x: Any) -> Any:
        """``g·x``."""
        if g.__class__ is int and 0 <= g < self.order:
            return self.maps[g](x)
        elements = self.group.check_elements(g)  # type: ignore[attr-defined]
        if elements.ndim == 0:
            return self.maps[int(elements)](x)
        found = np.asarray(x)
        own = found.shape[found.ndim - self.event_ndim :]
        lead = np.broadcast_shapes(elements.shape, found.shape[: found.ndim - self.event_ndim])
        if self._signed is not None:
            return self._act_signed(elements, found, lead)
        flat = np.broadcast_to(found, lead + own).reshape(-1, *own)
        which = np.broadcast_to(elements, lead).ravel()
        out: AnyArray | None = None
        for e in np.unique(which):
            here = which == e
            moved = np.asarray(self.maps[int(e)](flat[here]))
            out = np.empty((which.size, *moved.shape[1:]), moved.dtype) if out is None else out
            out[here] = moved
        return (flat if out is None else out).reshape(lead + own)

    def _act_signed(self, elements: AnyArray, x: AnyArray, lead: tuple[int, ...]) -> AnyArray:
        index, _ = self._signed  # type: ignore[misc]
        if x.shape[-1:] != index.shape[-1:]:
            return self.maps[0](x)  # which says what is wrong
        out = x
        if self._moves:
            shape = (*lead, x.shape[-1])
            out = np.take_along_axis(np.broadcast_to(x, shape), np.broadcast_to(index[elements], shape), axis=-1)
        if self._flips:
            out = out * self._signs(x.dtype)[elements]
        return np.array(np.broadcast_to(out, (*lead, x.shape[-1]))) if out is x else out

    def _signs(self, dtype: Any) -> AnyArray:
        self._flips[0].signs_like(dtype)  # refuses types without negative numbers
        return self._signed[1].astype(dtype)  # type: ignore[index]

    def images(self, x: Any) -> Any:
        """All images, for signed permutations in one go."""
        if self._signed is None:
            return super().images(x)
        found = np.asarray(x)
        if found.shape[-1:] != self._signed[0].shape[-1:]:
            self.maps[0](found)
        out = found[..., self._signed[0]] if self._moves else found[..., None, :]
        if self._flips:
            return out * self._signs(found.dtype)
        return out if self._moves else np.repeat(out, self.order, axis=-2)

    def matrix(self, g: Any) -> FloatArray:
        """The matrix of g."""
        return self.maps[int(g)].matrix()

    def lead(self, x: Any) -> tuple[int, ...]:
        """The axes before those of the map."""
        shape = np.shape(x)
        return shape[: len(shape) - self.event_ndim]

    def parts(self, x: Any) -> list[tuple[str, AnyArray, int | None]]:
        """One array."""
        return [("", np.asarray(x), self.event_ndim)]


class TrivialActing(Acting):
    """Nothing changes."""

    def __init__(self, group: EnvGroup, width: int | None) -> None:
        super().__init__(group)
        self.width = width

    def act(self, g: Any, x: Any) -> Any:
        """The same, for each element."""
        if self.width is None:
            return x
        found = np.asarray(x)
        if found.shape[-1:] != (self.width,):
            raise InvalidParameter(f"need {self.width} numbers on the last axis, got shape {found.shape}")
        lead = np.broadcast_shapes(self.group.lead(g), found.shape[:-1])
        return found if lead == found.shape[:-1] else np.array(np.broadcast_to(found, (*lead, self.width)))

    def matrix(self, g: Any) -> FloatArray:
        """The unit matrix."""
        return np.eye(self.width) if self.width is not None else super().matrix(g)

    def lead(self, x: Any) -> tuple[int, ...] | None:
        """Known only with a width."""
        return None if self.width is None else np.shape(x)[:-1]

    def parts(self, x: Any) -> list[tuple[str, AnyArray, int | None]]:
        """One array, of unknown axes if its width is not known."""
        return [("", np.asarray(x), None if self.width is None else 1)]


class RotationActing(Acting):
    """A continuous group turning numbers of a vector."""

    exact = False

    def __init__(self, group: ContinuousGroup, rotation: Rotation) -> None:
        super().__init__(group)
        self.rotation, self.folds = rotation, bool(rotation.folding)
        for seed in range(3):  # not a proof, but a wrong mirror or a pair in space is seen at once
            g, h = (group.random_element(seed, counter) for counter in (0, 1))
            x = rotation.folding(np.random.default_rng(seed).normal(size=rotation.width))
            once, twice = self.act(group.compose(g, h), x), self.act(g, self.act(h, x))
            if not np.allclose(_up_to_turns(once - twice, rotation), 0.0, atol=1e-6):
                i = int(np.argmax(np.abs(_up_to_turns(once - twice, rotation))))
                raise InvalidAction(
                    f"{rotation!r} is not a representation of {group}: (gh)·x and g·(h·x) differ at place {i}; does "
                    "the mirror belong to these vectors?"
                )

    def act(self, g: Any, x: Any) -> Any:
        """``g·x``."""
        return self.rotation.move(*self.group.motion(g), x)

    def matrix(self, g: Any) -> FloatArray:
        """The matrix of g, if it moves no points and turns no angles or quaternions."""
        if self.rotation.folding or self.rotation.points:
            return super().matrix(g)
        return np.swapaxes(self.act(np.asarray(g)[..., None, :, :], np.eye(self.rotation.width)), -1, -2)

    def lead(self, x: Any) -> tuple[int, ...]:
        """All axes but the last."""
        return np.shape(x)[:-1]

    def parts(self, x: Any) -> list[tuple[str, AnyArray, int | None]]:
        """One array."""
        return [("", np.asarray(x), 1)]


class ConcatActing(Acting):
    """Vectors one after the other, which a continuous group moves each in its way."""

    def __init__(self, pieces: Sequence[tuple[Acting, int]]) -> None:
        super().__init__(pieces[0][0].group)
        self.pieces = list(pieces)
        self.width = sum(width for _, width in pieces)
        self.exact = all(piece.exact for piece, _ in pieces)
        self.folds = any(piece.folds for piece, _ in pieces)

    def act(self, g: Any, x: Any) -> Any:
        """``g·x``."""
        found = np.asarray(x)
        if found.shape[-1:] != (self.width,):
            raise InvalidParameter(f"need {self.width} numbers on the last axis, got shape {found.shape}")
        out, start = [], 0
        for piece, width in self.pieces:
            out.append(piece.act(g, found[..., start : start + width]))
            start += width
        return np.concatenate(out, axis=-1).astype(found.dtype if found.dtype.kind == "f" else np.float64)

    def lead(self, x: Any) -> tuple[int, ...]:
        """All axes but the last."""
        return np.shape(x)[:-1]

    def parts(self, x: Any) -> list[tuple[str, AnyArray, int | None]]:
        """One array."""
        return [("", np.asarray(x), 1)]


class TreeActing(Acting):
    """``Dict`` and ``Tuple`` spaces: every part has its own action."""

    def __init__(self, group: EnvGroup, inside: dict[Any, Acting], sequence: bool) -> None:
        super().__init__(group)
        self.inside, self.sequence = inside, sequence
        self.exact = all(part.exact for part in inside.values())
        self.folds = any(part.folds for part in inside.values())

    def _items(self, x: Any) -> list[tuple[Any, Acting, Any]]:
        if self.sequence:
            if not isinstance(x, tuple | list) or len(x) != len(self.inside):
                raise InvalidParameter(f"need a tuple of {len(self.inside)} parts, got {x!r:.80}")
            return [(i, part, x[i]) for i, part in self.inside.items()]
        if not isinstance(x, Mapping):
            raise InvalidParameter(f"need a dictionary with the keys {', '.join(self.inside)}, got {x!r:.80}")
        unknown = [key for key in x if key not in self.inside]
        if unknown:
            raise UnknownName("key of the observation or action", str(unknown[0]), self.inside)
        missing = [key for key in self.inside if key not in x]
        if missing:
            raise InvalidParameter(f"the key {missing[0]!r} is missing: the representation has one for it")
        return [(key, self.inside[key], x[key]) for key in x]

    def act(self, g: Any, x: Any) -> Any:
        """``g·x``, part by part."""
        moved = {key: part.act(g, value) for key, part, value in self._items(x)}
        return tuple(moved.values()) if self.sequence else moved

    def lead(self, x: Any) -> tuple[int, ...] | None:
        """That of the first part that can tell."""
        return next((lead for _, part, value in self._items(x) if (lead := part.lead(value)) is not None), None)

    def parts(self, x: Any) -> list[tuple[str, AnyArray, int | None]]:
        """All arrays, in the order of the declaration."""
        values = {key: (part, value) for key, part, value in self._items(x)}
        found = []
        for key in self.inside:
            part, value = values[key]
            found += [(f"{key}/{name}" if name else str(key), a, own) for name, a, own in part.parts(value)]
        return found


class StackActing(Acting):
    """Observations of several times along the first of their own axes, all moved by one element."""

    def __init__(self, part: Acting, times: int) -> None:
        super().__init__(part.group)
        self.part, self.times, self.exact, self.folds = part, times, part.exact, part.folds

    def act(self, g: Any, x: Any) -> Any:
        """``g·x``."""
        lead = self.part.lead(x)
        if lead is not None and lead[-1:] != (self.times,):
            raise InvalidParameter(f"need stacks of {self.times} frames, got leading axes {lead}")
        if not self.group.lead(g):
            return self.part.act(g, x)
        wide = np.asarray(g)
        return self.part.act(wide[..., None, :, :] if isinstance(self.group, ContinuousGroup) else wide[..., None], x)

    def lead(self, x: Any) -> tuple[int, ...] | None:
        """Without the axis of times."""
        lead = self.part.lead(x)
        return None if lead is None else lead[:-1]

    def parts(self, x: Any) -> list[tuple[str, AnyArray, int | None]]:
        """Those of one time, with one more axis."""
        return [(name, a, None if own is None else own + 1) for name, a, own in self.part.parts(x)]


class FunctionActing(Acting):
    """A function of the user's."""

    exact = False

    def __init__(self, group: EnvGroup, function: Callable[[Any, Any], Any]) -> None:
        super().__init__(group)
        self.function = function

    def act(self, g: Any, x: Any) -> Any:
        """``g·x``."""
        return self.function(g, x)

    def lead(self, x: Any) -> tuple[int, ...] | None:
        """Not known."""
        return None

    def parts(self, x: Any) -> list[tuple[str, AnyArray, int | None]]:
        """Not known to have any."""
        return []


def tree_stack(items: Sequence[Any], axis: int) -> Any:
    """Points of one space along a new axis."""
    first = items[0]
    if isinstance(first, Mapping):
        return {key: tree_stack([item[key] for item in items], axis) for key in first}
    if isinstance(first, tuple):
        return tuple(tree_stack([item[i] for item in items], axis) for i in range(len(first)))
    return np.stack([np.asarray(item) for item in items], axis=axis)


def _up_to_turns(difference: FloatArray, rotation: Rotation) -> FloatArray:
    found = np.array(difference)
    for i, _, period in rotation.folding.periodic:
        found[..., i] -= period * np.round(found[..., i] / period)
    return found
