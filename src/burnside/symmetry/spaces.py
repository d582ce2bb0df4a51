"""Does a representation fit a Gymnasium space? What does not, is said in a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np

from burnside._types import AnyArray
from burnside.symmetry.acting import (
    Acting,
    ConcatActing,
    LeafActing,
    RotationActing,
    StackActing,
    TreeActing,
    TrivialActing,
)
from burnside.symmetry.affine import Affine, affine
from burnside.symmetry.images import Image
from burnside.symmetry.labels import Labels, MultiLabels
from burnside.symmetry.rotations import Rotation
from burnside.symmetry.vectors import SignedPermutation

__all__ = ["space_problems"]


def space_problems(acting: Acting, space: Any, what: str) -> list[str]:
    """What is wrong between an action and a Gymnasium space, in sentences; empty if nothing is.

    Args:
        acting: the bound representation.
        space: a ``gymnasium.Space``.
        what: ``"observation"`` or ``"action"``, for the sentences. Turned *actions* must also stay inside their box.
    """
    from gymnasium import spaces

    if isinstance(acting, TreeActing):
        return _tree_problems(acting, space, what)
    if isinstance(acting, StackActing):
        return _stack_problems(acting, space, what)
    if isinstance(acting, TrivialActing):
        if acting.width is None or (isinstance(space, spaces.Box) and space.shape == (acting.width,)):
            return []
        return [f"the {what} is {space}, but the representation has {acting.width} numbers"]
    if isinstance(acting, RotationActing):
        return _rotation_problems(acting.rotation, space, what, 0, acting.rotation.width)
    if isinstance(acting, ConcatActing):
        found, start = [], 0
        if not (isinstance(space, spaces.Box) and space.shape == (acting.width,)):
            return [_width_text(acting.width, space, what)]
        for piece, width in acting.pieces:
            if isinstance(piece, RotationActing):
                found += _rotation_problems(piece.rotation, space, what, start, acting.width)
            start += width
        return found
    if isinstance(acting, LeafActing):
        return _leaf_problems(acting, space, what)
    return []  # a function of the user's: only running it can tell


def _tree_problems(acting: TreeActing, space: Any, what: str) -> list[str]:
    from gymnasium import spaces

    if acting.sequence:
        if not isinstance(space, spaces.Tuple) or len(space.spaces) != len(acting.inside):
            return [f"the {what} is {space}, but the representation is a tuple of {len(acting.inside)} parts"]
        pairs = [(f"{what}[{i}]", part, space.spaces[i]) for i, part in acting.inside.items()]
    else:
        if not isinstance(space, spaces.Dict) or set(space.spaces) != set(acting.inside):
            keys = ", ".join(map(str, acting.inside))
            return [f"the {what} is {space}, but the representation is a dictionary with the keys {keys}"]
        pairs = [(f"{what}[{key!r}]", part, space.spaces[key]) for key, part in acting.inside.items()]
    return [problem for name, part, inside in pairs for problem in space_problems(part, inside, name)]


def _stack_problems(acting: StackActing, space: Any, what: str) -> list[str]:
    from gymnasium import spaces

    if not isinstance(space, spaces.Box) or space.shape[:1] != (acting.times,):
        return [f"the {what} is {space}, but the representation is a stack of {acting.times}"]
    frames = [spaces.Box(space.low[i], space.high[i], dtype=space.dtype) for i in range(acting.times)]
    found: list[str] = []
    for i, frame in enumerate(frames):
        found += [p for p in space_problems(acting.part, frame, f"{what}[{i}]") if p not in found]
    return found


def _width_text(width: int, space: Any, what: str) -> str:
    shape = getattr(space, "shape", None)
    hint = f" of shape {shape}" if shape is not None else ""
    return f"the {what} is {space}{hint}, but the representation acts on vectors of {width} numbers"


def _leaf_problems(acting: LeafActing, space: Any, what: str) -> list[str]:
    from gymnasium import spaces

    maps = [acting.maps[g] for g in acting.group.generators]
    model = maps[0]
    if isinstance(model, Labels):
        if not isinstance(space, spaces.Discrete) or int(space.n) != model.count or int(space.start) != model.start:
            return [f"the {what} is {space}, but the representation permutes the labels {model.start}…"
                    f"{model.start + model.count - 1}"]  # fmt: skip
        return []
    if isinstance(model, MultiLabels):
        return _multi_problems([m for m in maps if isinstance(m, MultiLabels)], space, what)
    if isinstance(model, Image):
        return _image_problems([m for m in maps if isinstance(m, Image)], space, what)
    width = int(model.width or 0)
    if isinstance(space, spaces.MultiBinary):
        if space.shape != (width,):
            return [_width_text(width, space, what)]
        if not all(isinstance(m, SignedPermutation) and m.keeps for m in maps):
            return [
                f"the {what} is {space}, whose numbers are 0 and 1 and have no signs: use MultiLabels to exchange them"
            ]
        return []
    if not isinstance(space, spaces.Box) or space.shape != (width,):
        return [_width_text(width, space, what)]
    if space.dtype.kind in "ub" and not all(isinstance(m, SignedPermutation) and m.keeps for m in maps):
        return [f"the {what} has numbers of type {space.dtype}, which have no signs and cannot turn"]
    found = []
    for j, m in enumerate(maps):
        found += _bound_problems(j, affine(m), space, what)
    return found


def _bound_problems(j: int, m: Affine, space: Any, what: str) -> list[str]:
    """A box must be mapped onto itself. Turned observations need not fill it, but it must be as wide both ways."""
    low, high = space.low.astype(np.float64), space.high.astype(np.float64)
    skip = {i for i, *_ in m.folding.periodic} | {i for quad in m.folding.quaternions for i in quad}
    mixes = {i for i in range(m.width) if np.count_nonzero(m.linear[i]) > 1}
    found = []
    for i in range(m.width):
        if i in skip:
            continue
        sources = np.flatnonzero(m.linear[i])
        if i in mixes:
            odd = next((k for k in sources if not _near(low[k], -high[k]) or not _near(high[k], high[i])), None)
            if odd is not None:
                found.append(
                    f"generator {j} turns number {odd} of the {what} into number {i}, but their bounds are not alike "
                    f"in all directions: [{low[odd]:g}, {high[odd]:g}] and [{low[i]:g}, {high[i]:g}]"
                )
            elif what.startswith("action") and np.isfinite(high[i]):
                found.append(_leaves_box(i, low, high))
            continue
        k, sign = int(sources[0]), m.linear[i, sources[0]]
        image = sorted((sign * low[k] + m.offset[i], sign * high[k] + m.offset[i]))
        if not (_near(image[0], low[i]) and _near(image[1], high[i])):
            found.append(
                f"generator {j} maps number {k} of the {what}, with bounds [{low[k]:g}, {high[k]:g}], to number {i} "
                f"{'with the other sign' if sign < 0 else 'unchanged'}, whose bounds are [{low[i]:g}, {high[i]:g}]"
            )
    return found


def _leaves_box(i: int, low: AnyArray, high: AnyArray) -> str:
    return (
        f"turning an action can bring number {i} beyond its bounds [{low[i]:g}, {high[i]:g}]: bound the length of the "
        "vector instead of its numbers, or use quarter turns only"
    )


def _near(a: float, b: float) -> bool:
    return a == b or bool(abs(a - b) <= 1e-5 * max(1.0, abs(a), abs(b)))


def _rotation_problems(rotation: Rotation, space: Any, what: str, start: int, width: int) -> list[str]:
    from gymnasium import spaces

    if not isinstance(space, spaces.Box) or space.shape != (width,):
        return [_width_text(width, space, what)]
    if space.dtype.kind != "f":
        return [f"the {what} has numbers of type {space.dtype}, which cannot turn: they must be floating"]
    low, high = space.low.astype(np.float64), space.high.astype(np.float64)
    found = []
    for places in (*rotation.vectors, *rotation.axial):
        bounds = {(float(low[start + i]), float(high[start + i])) for i in places}
        first = start + places[0]
        if len(bounds) > 1 or not _near(low[first], -high[first]):
            found.append(
                f"the numbers {tuple(start + i for i in places)} of the {what} turn into each other, but their bounds "
                f"are {sorted(bounds)}: they must be alike in all directions"
            )
        elif what.startswith("action") and np.isfinite(high[first]):
            found.append(_leaves_box(first, low, high))
    return found


def _multi_problems(maps: list[MultiLabels], space: Any, what: str) -> list[str]:
    from gymnasium import spaces

    if isinstance(space, spaces.MultiBinary):
        counts = np.full(space.shape, 2)
    elif isinstance(space, spaces.MultiDiscrete):
        counts = np.asarray(space.nvec)
    else:
        return [f"the {what} is {space}, but the representation acts on several labels"]
    if counts.shape != (maps[0].count,):
        return [f"the {what} is {space}, but the representation has {maps[0].count} labels"]
    found = []
    for j, m in enumerate(maps):
        for i in range(m.count):
            k, rename = int(m.places[i]), m.labels[i]
            if counts[i] != counts[k] or (rename is not None and rename.count != counts[i]):
                size = counts[k] if rename is None else rename.count
                found.append(f"generator {j} brings {size} labels from place {k} of the {what} to place {i}, which has "
                             f"{counts[i]}")  # fmt: skip
    return found


def _image_problems(maps: list[Image], space: Any, what: str) -> list[str]:
    from gymnasium import spaces

    axes = maps[0].event_ndim
    if not isinstance(space, spaces.Box) or len(space.shape) != axes:
        return [f"the {what} is {space}, but the representation acts on images with {axes} axes"]
    found = []
    for j, m in enumerate(maps):
        try:
            low, high = m(np.asarray(space.low)), m(np.asarray(space.high))
        except ValueError as error:
            found.append(f"generator {j} does not fit the {what}: {error}")
            continue
        if m.permute is not None and not m.permute.keeps:
            continue  # channels that change sign: their bounds follow no simple rule
        if not (np.array_equal(low, space.low) and np.array_equal(high, space.high)):
            found.append(f"generator {j} maps pixels of the {what} to pixels with other bounds")
    return found
