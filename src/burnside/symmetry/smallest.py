"""Canonical forms for finite groups: the lexicographically smallest image, the smallest label, the sign flip.

All are exact: two observations have the same form if and only if one is an image of the other. On continuous
observations such forms jump somewhere (for most groups no continuous one exists, Dym et al. 2024): near a jump, two
observations that differ little may have forms that differ much.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from burnside._types import AnyArray, ArrayLike, IntArray
from burnside.errors import InvalidAction, InvalidParameter
from burnside.groups import Action

__all__ = ["LexMin", "SignFlip", "SmallestLabel", "numbered"]


def _same_group(one: Action, other: Action) -> None:
    if one.group != other.group:
        raise InvalidAction(
            f"these are actions of different groups, {one.group.name} and {other.group.name}: build both from one Group"
        )


def numbered(action: ArrayLike, count: int) -> IntArray:
    """Actions as indices, if they are numbers 0…count − 1.

    >>> numbered(1.5, 3)
    Traceback (most recent call last):
    burnside.errors.InvalidAction: actions are whole numbers 0…2 here, got 1.5
    """
    found = np.asarray(action)
    if found.dtype.kind not in "iu" or (found.size and not (found.min() >= 0 and found.max() < count)):
        raise InvalidAction(f"actions are whole numbers 0…{count - 1} here, got {action!r:.80}")
    return found


class _Finite:
    """A finite group acting on observations and on the numbers of discrete actions."""

    def __init__(self, on_observation: Action, on_actions: Action) -> None:
        _same_group(on_observation, on_actions)
        self.on_observation, self.on_actions = on_observation, on_actions
        self._table: IntArray = on_observation.table
        self._inverse: IntArray = np.argsort(on_observation.table, axis=1)
        self._action_inverse: IntArray = np.argsort(on_actions.table, axis=1)

    def undo(self, action: ArrayLike, g: ArrayLike) -> Any:
        """The action ``g⁻¹·ā``."""
        return self._action_inverse[np.asarray(g), numbered(action, self.on_actions.size)]


class LexMin(_Finite):
    """The lexicographically smallest image of a vector under a group that permutes its entries.

    Args:
        on_observation: the action on the entries (positions) of the vector; ``(g·x)(g·i) = x(i)``.
        on_actions: the action of the same group on the numbers of the environment's actions.

    Among several elements that give the smallest image, the first in ``group.elements`` is taken. All |G| images are
    compared, so this is for groups up to some thousands.

    >>> from burnside.groups import Group
    >>> G = Group.cyclic(4)
    >>> form = LexMin(Action.natural(G), Action.trivial(G, 2))
    >>> form(np.array([2, 0, 1, 0]))
    (array([0, 1, 0, 2]), np.int64(3))
    >>> form(np.array([[2, 0, 1, 0], [0, 2, 0, 1]]))[0]      # two members of one orbit
    array([[0, 1, 0, 2],
           [0, 1, 0, 2]])
    """

    def __call__(self, x: ArrayLike) -> tuple[AnyArray, IntArray]:
        """The smallest image and the index of the element that gives it."""
        vector = self._vector(x)
        images = vector[..., self._inverse]  # (…, |G|, entries)
        alive = np.ones(images.shape[:-1], dtype=np.bool_)
        for k in range(images.shape[-1]):
            column = images[..., k]
            top = column.max(axis=-1, keepdims=True)
            least = np.where(alive, column, top).min(axis=-1, keepdims=True)
            alive &= column == least
        g = np.argmax(alive, axis=-1)
        return np.take_along_axis(images, g[..., None, None], axis=-2)[..., 0, :], g

    def _vector(self, x: ArrayLike) -> AnyArray:
        vector = np.asarray(x)
        if vector.shape[-1:] != (self.on_observation.size,):
            raise InvalidParameter(
                f"need {self.on_observation.size} entries on the last axis, got shape {vector.shape}"
            )
        if vector.dtype.kind == "f" and np.isnan(vector).any():
            raise InvalidParameter("the observation has NaN entries, which have no order: remove them first")
        return vector

    def act(self, g: ArrayLike, x: ArrayLike) -> AnyArray:
        """The vector ``g·x``, for indices g in ``group.elements``."""
        vector, index = self._vector(x), self._inverse[np.asarray(g)]
        shape = np.broadcast_shapes(vector.shape, index.shape)
        return np.take_along_axis(np.broadcast_to(vector, shape), np.broadcast_to(index, shape), axis=-1)


class SmallestLabel(_Finite):
    """For observations that are the number of a state: the smallest number in its orbit.

    >>> from burnside.groups import Group
    >>> G = Group.cyclic(2)
    >>> flip = SmallestLabel(Action.from_generators(G, [[2, 1, 0]]), Action.from_generators(G, [[1, 0]]))
    >>> x_bar, g = flip(np.array([0, 1, 2]))
    >>> x_bar, flip.undo(np.array([0, 0, 0]), g)
    (array([0, 1, 0]), array([0, 0, 1]))
    """

    def __call__(self, x: ArrayLike) -> tuple[IntArray, IntArray]:
        """The smallest label and the index of the first element that gives it."""
        images = self._table.T[self._label(x)]
        return images.min(axis=-1), np.argmin(images, axis=-1)

    def _label(self, x: ArrayLike) -> AnyArray:
        label = np.asarray(x)
        if label.dtype.kind not in "iu" or (
            label.size and not (label.min() >= 0 and label.max() < self._table.shape[1])
        ):
            raise InvalidParameter(f"observations are numbered 0…{self._table.shape[1] - 1}, got {x!r:.80}")
        return label

    def act(self, g: ArrayLike, x: ArrayLike) -> IntArray:
        """The label ``g·x``, for indices g in ``group.elements``."""
        return self._table[np.asarray(g), self._label(x)]


class SignFlip:
    """A reflection that changes the sign of some entries of a vector; the form has the first nonzero one positive.

    Args:
        signs: −1 for the entries that change sign, +1 for the others.
        actions: how the reflection acts on actions: a permutation of their numbers, if they are discrete.
        action_signs: the same for actions that are vectors: signs, as for the observation.
        order: which of the changing entries decides first; default in their order.

    The group element g is +1 (leave) or −1 (reflect). A vector whose deciding entries are all zero is its own image.

    >>> mirror = SignFlip([-1, -1, -1, -1], actions=[1, 0])                       # CartPole
    >>> x_bar, g = mirror(np.array([-0.1, 0.0, 0.2, 0.3]))
    >>> x_bar, int(g), int(mirror.undo(0, g))
    (array([ 0.1, -0. , -0.2, -0.3]), -1, 1)
    """

    def __init__(
        self,
        signs: ArrayLike,
        *,
        actions: ArrayLike | None = None,
        action_signs: ArrayLike | None = None,
        order: ArrayLike | None = None,
    ) -> None:
        self.signs = _signs(signs, "signs")
        if (actions is None) == (action_signs is None):
            raise InvalidParameter("give either actions (a permutation) or action_signs, and not both")
        self.actions = None if actions is None else np.asarray(actions)
        self.action_signs = None if action_signs is None else _signs(action_signs, "action_signs")
        if self.actions is not None and (
            self.actions.dtype.kind not in "iu"
            or self.actions.ndim != 1
            or sorted(self.actions.tolist()) != list(range(self.actions.size))
            or not np.array_equal(self.actions[self.actions], np.arange(self.actions.size))
        ):
            raise InvalidAction(f"actions must be a permutation that is its own inverse, got {actions!r:.80}")
        self.order = np.flatnonzero(self.signs < 0) if order is None else np.asarray(order)
        if (
            self.order.dtype.kind not in "iu"
            or not np.isin(self.order, np.flatnonzero(self.signs < 0)).all()
            or not self.order.size
        ):
            raise InvalidParameter("only entries that change sign can decide: name some of those with sign −1 in order")

    def __call__(self, x: ArrayLike) -> tuple[AnyArray, AnyArray]:
        """The vector with its first nonzero deciding entry positive, and the sign that did it."""
        vector = np.asarray(x)
        if vector.shape[-1:] != self.signs.shape:
            raise InvalidParameter(f"need {self.signs.size} entries on the last axis, got shape {vector.shape}")
        deciding = vector[..., self.order]
        first = np.argmax(deciding != 0, axis=-1)
        value = np.take_along_axis(deciding, first[..., None], axis=-1)[..., 0]
        g = np.where(value < 0, -1, 1)
        return self.act(g, vector), g

    def act(self, g: ArrayLike, x: ArrayLike) -> AnyArray:
        """The vector ``g·x``."""
        vector = np.asarray(x)
        if vector.dtype.kind not in "if":
            raise InvalidParameter(f"observations of type {vector.dtype} have no sign to change: convert them first")
        if vector.shape[-1:] != self.signs.shape:
            raise InvalidParameter(f"need {self.signs.size} entries on the last axis, got shape {vector.shape}")
        return np.where((np.asarray(g) < 0)[..., None], vector * self.signs.astype(vector.dtype), vector)

    def act_on_action(self, g: ArrayLike, action: ArrayLike) -> Any:
        """The action ``g·a``, which is also ``g⁻¹·a``: a reflection is its own inverse."""
        reflect = np.asarray(g) < 0
        if self.actions is not None:
            index = numbered(action, self.actions.size)
            return np.where(reflect, self.actions[index], index)
        assert self.action_signs is not None
        chosen = np.asarray(action)
        if chosen.dtype.kind not in "if" or chosen.shape[-1:] != self.action_signs.shape:
            raise InvalidAction(
                f"actions are vectors of {self.action_signs.size} numbers here (action_signs), got {action!r:.80}"
            )
        return np.where(reflect[..., None], chosen * self.action_signs.astype(chosen.dtype), chosen)

    def undo(self, action: ArrayLike, g: ArrayLike) -> Any:
        """The action ``g⁻¹·ā``."""
        return self.act_on_action(g, action)


def _signs(values: ArrayLike, name: str) -> AnyArray:
    found = np.asarray(values)
    if found.ndim != 1 or not np.isin(found, (-1, 1)).all():
        raise InvalidParameter(f"{name} must be a list of +1 and −1, got {values!r:.80}")
    return found.astype(np.int64)
