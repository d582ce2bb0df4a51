"""A symmetry on flat rows: what learners need of one, whatever form observations and actions have.

A learner sees observations as rows of numbers. Here a declared symmetry acts on such rows: by signed permutations where
it is made of them, by matrices where it is linear, and by the declaration's own functions otherwise. Canonical forms,
random images, all images of a finite group, and a *placebo* (a symmetry of the same shape that does not hold) follow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from burnside._random import Stream, hash_u64, randint
from burnside._types import AnyArray, BoolArray, FloatArray, IntArray
from burnside.errors import InvalidAction, InvalidParameter
from burnside.symmetry.continuous import ContinuousGroup
from burnside.symmetry.declaration import EnvSymmetry
from burnside.symmetry.finite import FiniteGroup
from burnside.symmetry.forms import largest
from burnside.symmetry.frames import Frame, canonical_form
from burnside.symmetry.vectors import SignedPermutation

__all__ = ["FlatSymmetry", "flat_symmetry"]

#: More images than this of every observation are not worth their time.
MOST_IMAGES = 64


def _same(x: Any) -> Any:
    return x


@dataclass(frozen=True)
class FlatSymmetry:
    """A symmetry that acts on rows of observations and of actions; :func:`flat_symmetry` makes them.

    Elements of a finite group are numbered, and elements with the same maps are one: ``count`` of them are left, the
    identity first. Elements of a continuous group are matrices, one for each row.

    Attributes:
        declaration: what was declared.
        obs_dim: numbers in an observation.
        width: outputs of a policy: the number of actions, or the numbers in one.
        discrete: whether actions are numbered.
        elements: representatives of the different maps; empty if the group is continuous.
        index, sign: of finite groups of signed permutations: ``(g·x)[i] = sign[g, i] · x[index[g, i]]``.
        matrices: of other finite linear groups, ``(count, obs_dim, obs_dim)``.
        table: of numbered actions, ``g·a = table[g, a]``.
        on_actions: of vectors, ``g·a = on_actions[g] @ a``.
        form: the canonical form; None: the largest image by ``columns``.
        columns: the order in which numbers decide which image is the largest.
        structured, flat: from rows to observations as the declaration knows them, and back.
    """

    declaration: EnvSymmetry
    obs_dim: int
    width: int
    discrete: bool
    elements: tuple[Any, ...]
    index: IntArray | None = None
    sign: FloatArray | None = None
    matrices: FloatArray | None = None
    table: IntArray | None = None
    on_actions: FloatArray | None = None
    form: Any = None
    columns: tuple[int, ...] = ()
    structured: Callable[[AnyArray], Any] = _same
    flat: Callable[[Any], AnyArray] = _same
    name: str = ""

    # ------------------------------------------------------------------ the group

    @property
    def count(self) -> int:
        """Different maps of a finite group; 0 if it is continuous."""
        return len(self.elements)

    @property
    def order(self) -> int | None:
        """The order of the group as far as a learner can see it; None if it is infinite, or only a sample is listed."""
        if not self.count:
            return None
        whole = isinstance(self.declaration.group, FiniteGroup) or (self.closed if self.linear else self._multiplies())
        return self.count if whole else None

    @property
    def linear(self) -> bool:
        """Whether there is a finite group, and it acts linearly on observations and actions."""
        on_obs = self.index is not None or self.matrices is not None
        return on_obs and (self.table is not None or self.on_actions is not None)

    @property
    def closed(self) -> bool:
        """Whether the maps are those of a group, and not a sample of one."""
        if not self.linear:
            return False
        found = [self.matrix(g) for g in range(self.count)]
        flat = np.stack([m.ravel() for m in found])
        return all(np.abs(flat - (m @ n).ravel()).max(axis=1).min() < 1e-5 for m in found for n in found)

    def _multiplies(self) -> bool:
        """Whether the products of the listed elements are listed, tried on one row: for functions of the user's own."""
        row = np.random.default_rng(1).normal(size=(1, self.obs_dim)).astype(np.float32)
        try:
            once = [self._moved(g, row) for g in self.elements]
            twice = [self._moved(g, x) for g in self.elements for x in once]
        except Exception:  # functions that do not know such a row
            return False
        return all(any(np.allclose(x, y, atol=1e-4) for y in once) for x in twice)

    def matrix(self, g: int) -> FloatArray:
        """The matrix of an element on observations."""
        if self.index is not None and self.sign is not None:
            out = np.zeros((self.obs_dim, self.obs_dim))
            out[np.arange(self.obs_dim), self.index[g]] = self.sign[g]
            return out
        if self.matrices is None:
            raise InvalidParameter(f"{self.name} does not act linearly on the observation")
        return self.matrices[g]

    @property
    def turns(self) -> AnyArray:
        """How outputs of a network at ``g·x`` are brought back to x: ``(count, width, width)``, float32.

        For numbered actions the value of ``g·a`` at ``g·x`` is that of a at x; vectors are turned back by g⁻¹.
        """
        if self.discrete and self.table is not None:
            return np.stack([np.eye(self.width, dtype=np.float32)[row] for row in self.table])
        if self.on_actions is None:
            raise InvalidParameter(f"{self.name} does not act linearly on the actions")
        return np.linalg.inv(self.on_actions).astype(np.float32)

    # ------------------------------------------------------------------ images

    def images(self, rows: AnyArray) -> AnyArray:
        """All images of every row of a finite group: ``(rows, count, obs_dim)``, float32.

        >>> mirror = flat_symmetry(EnvSymmetry("mirror", "-0,1", "labels 1,0"), 2, 2)
        >>> mirror.images(np.array([[1.0, 2.0]], dtype=np.float32)).tolist()
        [[[1.0, 2.0], [-1.0, 2.0]]]
        """
        found = np.asarray(rows, dtype=np.float32)
        if self.index is not None and self.sign is not None:
            return found[:, self.index] * self.sign.astype(np.float32)
        if self.matrices is not None:
            return np.einsum("gij,nj->ngi", self.matrices.astype(np.float32), found)
        return np.stack([self._moved(g, found) for g in self.elements], axis=1)

    def draw(self, seed: int, counters: AnyArray) -> AnyArray:
        """A random element for every counter: numbers of a finite group, else matrices."""
        if self.count:
            return randint(seed, Stream.AUGMENT, counters, self.count)
        return np.asarray(self.declaration.random_element(seed, counters))

    def move(self, g: AnyArray, rows: AnyArray) -> AnyArray:
        """Every row of observations moved by an element of its own."""
        found = np.asarray(rows, dtype=np.float32)
        if self.index is not None and self.sign is not None:
            return np.take_along_axis(found, self.index[g], axis=1) * self.sign[g].astype(np.float32)
        if self.matrices is not None:
            return np.einsum("nij,nj->ni", self.matrices[g].astype(np.float32), found)
        if not self.count:
            return self._moved(g, found)
        out = np.empty_like(found)
        for k in np.unique(g):
            out[g == k] = self._moved(self.elements[int(k)], found[g == k])
        return out

    def move_actions(self, g: AnyArray, actions: AnyArray, *, back: bool = False) -> AnyArray:
        """Every action moved by an element of its own; ``back``: by its inverse. Numbers stay numbers."""
        if self.discrete and self.table is not None:
            numbers = np.asarray(actions).astype(np.int64)
            table = np.argsort(self.table, axis=1) if back else self.table
            return np.asarray(table[g, numbers.reshape(len(numbers))]).reshape(numbers.shape)
        rows = np.asarray(actions, dtype=np.float32)
        if self.on_actions is not None:
            found = np.linalg.inv(self.on_actions) if back else self.on_actions
            return np.einsum("nij,nj->ni", found[g].astype(np.float32), rows)
        if self.count:
            out = np.empty_like(rows)
            for k in np.unique(g):
                element = self.elements[int(k)]
                element = self.declaration.inverse(element) if back and self.declaration.inverse else element
                out[g == k] = self.declaration.act_on_action(element, rows[g == k])
            return out
        element = self.declaration.inverse(g) if back and self.declaration.inverse else g
        moved = self.declaration.act_on_action(element, np.asarray(actions) if self.discrete else rows)
        return np.asarray(moved, dtype=None if self.discrete else np.float32)

    def _moved(self, g: Any, rows: AnyArray) -> AnyArray:
        """Rows moved by one element (or by one each), through the declaration."""
        return np.asarray(self.flat(self.declaration.act_on_observation(g, self.structured(rows))), dtype=np.float32)

    # ------------------------------------------------------------------ canonical forms

    def canonical(self, rows: AnyArray) -> tuple[AnyArray, Any]:
        """The representatives of rows, and the elements that lead to them."""
        found = np.asarray(rows, dtype=np.float32)
        if self.form is not None:
            seen, g = self.form(self.structured(found))
            return np.asarray(self.flat(seen), dtype=np.float32), g
        images = self.images(found)
        g = np.asarray(largest(images[..., list(self.columns)], 0.0 if self.index is not None else 1e-5))
        return np.take_along_axis(images, g[:, None, None], axis=1)[:, 0], g

    def undo(self, actions: AnyArray, g: Any) -> AnyArray:
        """What actions chosen for representatives mean for the rows themselves."""
        if self.form is not None:
            return np.asarray(self.form.undo(actions, g))
        return self.move_actions(np.asarray(g), actions, back=True)

    def features(self, rows: AnyArray) -> AnyArray:
        """What a canonical form knows beside the observation, for the control that has it without the symmetry.

        Of a finite group the element, as one number for each but the identity; of a continuous one the view from the
        frame.
        """
        seen, g = self.canonical(rows)
        if not self.count or np.ndim(g) != 1:
            return seen
        number = np.asarray(g)
        if number.dtype.kind not in "iu" or number.max(initial=0) >= self.declared_count:
            return seen
        return (number[:, None] == np.arange(1, self.declared_count)).astype(np.float32)

    @property
    def declared_count(self) -> int:
        """Elements of the declaration, among which a canonical form chooses."""
        found = self.declaration.elements
        return self.count if self.form is None or found is None else len(found)

    @property
    def feature_width(self) -> int:
        """Numbers that :meth:`features` adds."""
        return int(self.features(np.zeros((1, self.obs_dim), dtype=np.float32)).shape[1])

    # ------------------------------------------------------------------ controls

    def other_domain(self) -> FlatSymmetry | None:
        """The same symmetry with another fundamental domain; None if none is found.

        Of signed permutations the last number that moves decides, and where it does not (a pixel that never changes, a
        leg in the air) the ones before it, backwards: falling back to the first numbers would give the first domain.
        """
        if self.index is not None and self.sign is not None:
            moving = np.flatnonzero(((self.index != np.arange(self.obs_dim)) | (self.sign < 0)).any(axis=0))
            used = self._deciding()
            later = [int(i) for i in moving[::-1] if int(i) != used]
            if not later:
                return None
            order = (later[0], *(i for i in reversed(range(self.obs_dim)) if i != later[0]))
            return replace(self, form=None, columns=order)
        own = self.declaration.domain
        if isinstance(own, Frame) and own.direction:
            for pair in _pairs(self.obs_dim):
                if pair == tuple(own.direction):
                    continue
                try:
                    form = canonical_form(self.declaration, replace(own, direction=pair))
                except (InvalidAction, InvalidParameter):
                    continue
                return replace(self, form=form)
        return None

    def _deciding(self) -> int:
        """The number that decides which image is canonical, found by trying; −1 if no single one does."""
        rows = np.random.default_rng(0).normal(size=(64, self.obs_dim)).astype(np.float32)
        if self.index is None or self.sign is None:
            return -1
        seen, images = self.canonical(rows)[0], self.images(rows)
        for i in range(self.obs_dim):
            if (np.ptp(images[..., i], axis=1) > 0).all() and np.allclose(seen[:, i], images[..., i].max(axis=1)):
                return i
        return -1

    def placebo(self, seed: int) -> FlatSymmetry:
        """A symmetry of the same shape on other numbers: those of the observation are exchanged among each other.

        The group and its action on the actions are the same, and as many numbers move as before. Where exchanging
        numbers changes nothing (all change their sign), half of them stay instead. Whether it fails to hold is for a
        check to say: :func:`burnside.canonical.checking.placebo.refuted_placebo`.
        """
        name = f"placebo {seed} of {self.name}"
        if self.index is None or self.sign is None:
            order, back = self._exchange(seed, 0)
            mine, own = self.structured, self.flat
            moved = replace(
                self,
                name=name,
                structured=lambda rows: mine(np.asarray(rows)[:, back]),
                flat=lambda seen: np.asarray(own(seen))[:, order],
            )
            if self.matrices is None:
                return moved
            return replace(moved, matrices=self.matrices[:, order][:, :, order], form=None, columns=self._own_order())
        index, sign = self.index, self.sign
        for attempt in range(20):
            order, back = self._exchange(seed, attempt)
            index, sign = back[self.index[:, order]], self.sign[:, order]
            if (index != self.index).any() or (sign != self.sign).any():
                break
        else:
            stay = _half(index, seed)
            index = np.where(stay, np.arange(self.obs_dim), index)
            sign = np.where(stay, 1.0, sign)
        return replace(self, name=name, index=index, sign=sign, form=None, columns=self._own_order())

    def _exchange(self, seed: int, attempt: int) -> tuple[IntArray, IntArray]:
        """An order of the numbers of the observation, and the way back."""
        counters = attempt * self.obs_dim + np.arange(self.obs_dim)
        order = np.argsort(hash_u64(seed, Stream.MISC, counters))
        return order, np.argsort(order)

    @property
    def multiplication(self) -> IntArray:
        """``table[g, h] = gh`` of the numbered elements of a finite linear group."""
        both = [_block(self.matrix(g), np.linalg.inv(self.turns[g].astype(np.float64))) for g in range(self.count)]
        flat = np.stack([m.ravel() for m in both])
        return np.array([[np.abs(flat - (m @ n).ravel()).max(axis=1).argmin() for n in both] for m in both])

    def _own_order(self) -> tuple[int, ...]:
        return tuple(range(self.obs_dim))

    def as_declared(self) -> EnvSymmetry:
        """As a declaration for flat observations: by representations where it can be, else by functions."""
        own = self.declaration
        seen = self.structured(np.zeros((1, self.obs_dim), dtype=np.float32))
        vector = isinstance(seen, np.ndarray) and seen.ndim == 2
        listed = own.elements is not None and len(own.elements) == self.count
        if vector and listed and self.index is not None and self.sign is not None:
            numbers = [g for g in own.generators if isinstance(g, int)]
            if len(numbers) == len(own.generators):
                maps = [SignedPermutation(self.index[g], self.sign[g].astype(np.int64)) for g in numbers]
                return EnvSymmetry(own.group, maps, own.action, name=self.name)
        if not self.count:
            return EnvSymmetry(
                generators=list(own.generators),
                act_on_observation=lambda g, x: self._moved(g, np.atleast_2d(x)).reshape(np.shape(x)),
                act_on_action=own.act_on_action,
                inverse=own.inverse,
                name=self.name,
            )

        def on_observation(g: Any, x: Any) -> Any:
            rows = np.asarray(x).reshape(1, -1)
            return (self.matrix(int(g)) @ rows[0] if self.linear else self.images(rows)[0, int(g)]).reshape(np.shape(x))

        def on_action(g: Any, a: Any) -> Any:
            moved = self.move_actions(np.array([int(g)]), np.asarray(a).reshape(1, *np.shape(a)))[0]
            return int(moved) if self.discrete else moved

        return EnvSymmetry(
            generators=list(range(1, self.count)),
            act_on_observation=on_observation,
            act_on_action=on_action,
            name=self.name,
        )


# ---------------------------------------------------------------------- making them


def flat_symmetry(
    declaration: EnvSymmetry,
    obs_dim: int,
    actions: int,
    *,
    discrete: bool = True,
    structured: Callable[[AnyArray], Any] = _same,
    flat: Callable[[Any], AnyArray] = _same,
    subgroup: bool = False,
) -> FlatSymmetry:
    """A declared symmetry on flat rows.

    Args:
        declaration: the symmetry.
        obs_dim: numbers in a flat observation.
        actions: how many actions there are, or how many numbers an action has.
        discrete: whether actions are numbered.
        structured: from flat rows to observations as the declaration knows them.
        flat: the inverse of that.
        subgroup: of a continuous group of the plane take four elements (quarter turns; with mirrors, half turns and
            mirrors), so that all images can be listed.

    >>> mirror = flat_symmetry(EnvSymmetry("mirror", "- - - -", "labels 1,0", domain=2), 4, 2)
    >>> mirror.count, mirror.canonical(np.array([[1.0, 0.0, -1.0, 0.0]]))[0].tolist()
    (2, [[-1.0, -0.0, 1.0, -0.0]])
    """
    given = declaration.elements
    if given is None and subgroup:
        given = _four(declaration)
    base = FlatSymmetry(
        declaration, obs_dim, actions, discrete, (), form=declaration.canonicalizer, structured=structured, flat=flat,
        columns=tuple(range(obs_dim)), name=declaration.name,
    )  # fmt: skip
    if given is None:
        return base
    if len(given) > MOST_IMAGES:
        raise InvalidParameter(f"{declaration.name} has {len(given)} elements: more than {MOST_IMAGES} are not listed")
    table, on_actions = _on_actions(declaration, given, actions, discrete)
    maps = _on_rows(base, given)
    keep = _different(maps, table, on_actions, len(given))
    index, sign, matrices = maps

    def some(a: AnyArray | None) -> Any:
        return None if a is None else a[keep]

    return replace(
        base,
        elements=tuple(given[k] for k in keep),
        index=some(index),
        sign=some(sign),
        matrices=some(matrices),
        table=some(table),
        on_actions=some(on_actions),
        form=base.form if not subgroup or declaration.elements is not None else None,
    )


def _four(declaration: EnvSymmetry) -> list[Any] | None:
    group = declaration.group
    if not isinstance(group, ContinuousGroup) or group.dimension != 2:
        return None
    if group.has_reflections:
        return [group.rotation(angle, reflect=mirrored) for mirrored in (False, True) for angle in (0.0, np.pi)]
    return [group.rotation(k * np.pi / 2) for k in range(4)]


def _one(acting: Callable[[Any, Any], Any], g: Any, row: AnyArray, base: FlatSymmetry) -> AnyArray:
    return np.asarray(base.flat(acting(g, base.structured(row[None])))).reshape(-1)


def _on_rows(base: FlatSymmetry, given: Any) -> tuple[IntArray | None, FloatArray | None, FloatArray | None]:
    """Signed permutations, or matrices, or neither: tried on numbers of which no two have the same size."""
    n = base.obs_dim
    probe = (np.arange(n) + 1.0).astype(np.float32)
    rng = np.random.default_rng(1)
    test = rng.normal(size=n).astype(np.float32)
    index, sign = np.zeros((len(given), n), dtype=np.int64), np.ones((len(given), n))
    act = base.declaration.act_on_observation
    try:
        for k, g in enumerate(given):
            moved = _one(act, g, probe, base)
            index[k], sign[k] = np.rint(np.abs(moved)).astype(np.int64) - 1, np.where(moved < 0, -1.0, 1.0)
            if sorted(index[k].tolist()) != list(range(n)):
                raise InvalidAction("no permutation")
            if not np.allclose(_one(act, g, test, base), test[index[k]] * sign[k], atol=1e-5):
                raise InvalidAction("no permutation")
        return index, sign, None
    except (InvalidAction, InvalidParameter, ValueError, IndexError):
        pass
    try:
        columns = [np.stack([_one(act, g, e, base) for e in np.eye(n, dtype=np.float32)], axis=1) for g in given]
        matrices = np.stack(columns).astype(np.float64)
        for m, g in zip(matrices, given, strict=True):
            if not np.allclose(_one(act, g, test, base), m @ test, atol=1e-4):
                raise InvalidAction("not linear")
        matrices[np.abs(matrices) < 1e-7] = 0.0
        return None, None, matrices
    except (InvalidAction, InvalidParameter, ValueError, IndexError):
        return None, None, None


def _on_actions(
    declaration: EnvSymmetry, given: Any, actions: int, discrete: bool
) -> tuple[IntArray | None, FloatArray | None]:
    act = declaration.act_on_action
    if discrete:
        return np.array([[int(act(g, a)) for a in range(actions)] for g in given]), None
    zero = np.zeros(actions)
    if any(np.abs(np.asarray(act(g, zero))).max() > 1e-9 for g in given):
        return None, None
    found = [np.stack([np.asarray(act(g, e), dtype=np.float64) for e in np.eye(actions)], axis=1) for g in given]
    return None, np.stack(found)


def _different(
    maps: tuple[AnyArray | None, ...], table: AnyArray | None, on_actions: AnyArray | None, count: int
) -> IntArray:
    """The first element of every set with the same maps; all of them where that cannot be told."""
    parts = [a.reshape(count, -1) for a in (*maps, table, on_actions) if a is not None]
    if all(a is None for a in maps) or (table is None and on_actions is None):
        return np.arange(count)
    rows = np.round(np.concatenate(parts, axis=1), 6)
    _, first = np.unique(rows, axis=0, return_index=True)
    return np.sort(first)


def _block(one: FloatArray, two: FloatArray) -> FloatArray:
    out = np.zeros((len(one) + len(two),) * 2)
    out[: len(one), : len(one)], out[len(one) :, len(one) :] = one, two
    return out


def _pairs(width: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(width) for j in range(width) if i != j]


def _half(index: IntArray, seed: int) -> BoolArray:
    """Half of the places, whole orbits of them."""
    n = index.shape[1]
    orbits = np.full(n, -1)
    for i in range(n):
        if orbits[i] < 0:
            orbits[np.unique(np.concatenate([index[:, i], [i]]))] = i
    names = np.unique(orbits)
    order = names[np.argsort(hash_u64(seed, Stream.MISC, 1_000_000 + names))]
    return np.isin(orbits, order[: max(1, len(order) // 2)])
