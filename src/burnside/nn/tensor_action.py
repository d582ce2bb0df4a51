"""A finite group acting on tensors: all images of a batch, and what a network says of them, led back.

From a declaration (:class:`~burnside.symmetry.EnvSymmetry`) and a Gymnasium space, :func:`action_on` makes a module
with two operations, batched and differentiable. Signed permutations (labels as one-hot vectors among them) are exact;
rotations are products with matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from burnside.errors import InvalidParameter
from burnside.nn._torch import torch
from burnside.symmetry.acting import Acting, LeafActing, StackActing, TreeActing
from burnside.symmetry.affine import Folding, affine
from burnside.symmetry.base import Map
from burnside.symmetry.concrete import flat_maps
from burnside.symmetry.images import Image
from burnside.symmetry.vectors import SignedPermutation

__all__ = ["InvariantAction", "TensorAction", "VectorAction", "action_on"]


class TensorAction(torch.nn.Module):
    """A finite group acting on tensors with one leading batch axis; the first element is the identity."""

    order: int

    def images(self, x: Any) -> Any:
        """All images of a batch: ``(batch, …)`` to ``(order · batch, …)``, element by element, the originals first."""
        raise NotImplementedError

    def back(self, y: Any) -> Any:
        """What belongs to the images, led back: ``(order · batch, …)`` to ``(order, batch, …)``, part g by g⁻¹."""
        raise NotImplementedError


class InvariantAction(TensorAction):
    """Nothing changes: values, rewards, probabilities of what was done."""

    def __init__(self, order: int) -> None:
        """For a group of this order."""
        super().__init__()
        self.order = order

    def images(self, x: torch.Tensor) -> torch.Tensor:
        """The batch, as often as there are elements."""
        return x.repeat(self.order, *(1,) * (x.ndim - 1))

    def back(self, y: torch.Tensor) -> torch.Tensor:
        """The same with an axis for the elements."""
        return y.reshape(self.order, -1, *y.shape[1:])


class VectorAction(TensorAction):
    """Maps of the last axis, one for each element: signed permutations, or ``x → A x + b`` with angles brought back.

    >>> mirror = VectorAction([SignedPermutation("0,1"), SignedPermutation("-1,-0")])
    >>> mirror.images(torch.tensor([[1.0, 2.0]]))
    tensor([[ 1.,  2.],
            [-2., -1.]])
    >>> mirror.back(torch.tensor([[1.0, 2.0], [-2.0, -1.0]]))
    tensor([[[1., 2.]],
            [[1., 2.]]])
    """

    def __init__(self, maps: Sequence[Map]) -> None:
        """From the maps of all elements."""
        super().__init__()
        self.order = len(maps)
        self.signed = all(isinstance(m, SignedPermutation) for m in maps)
        self.width = int(maps[0].width or 0)
        self.folding = Folding()
        for way, found in (("to", list(maps)), ("from", [m.inverse() for m in maps])):
            if self.signed:
                signed: list[Any] = found
                self._keep(f"index_{way}", np.stack([m.index for m in signed]))
                self._keep(f"sign_{way}", np.stack([m.signs for m in signed]).astype(np.float64))
            else:
                general = [affine(m) for m in found]
                self.folding = general[-1].folding
                self._keep(f"matrix_{way}", np.stack([m.linear for m in general]))
                self._keep(f"offset_{way}", np.stack([m.offset for m in general]))

    def _keep(self, name: str, values: Any) -> None:
        self.register_buffer(name, torch.from_numpy(np.array(values)), persistent=False)

    def images(self, x: torch.Tensor) -> torch.Tensor:
        """All images of a batch of vectors ``(batch, …, width)``."""
        if x.shape[-1:] != (self.width,):
            raise InvalidParameter(f"the symmetry moves {self.width} numbers, got a tensor of shape {tuple(x.shape)}")
        return self._move(x.expand(self.order, *x.shape), "to").reshape(-1, *x.shape[1:])

    def back(self, y: torch.Tensor) -> torch.Tensor:
        """Vectors that belong to the images, led back."""
        return self._move(y.reshape(self.order, -1, *y.shape[1:]), "from")

    def _move(self, x: torch.Tensor, way: str) -> torch.Tensor:
        """Part g of ``(order, …, width)`` moved by element g, or by its inverse."""
        axes = (self.order, *(1,) * (x.ndim - 2), self.width)
        if self.signed:
            index = getattr(self, f"index_{way}").reshape(axes).expand(x.shape)
            return torch.gather(x, -1, index) * getattr(self, f"sign_{way}").to(x.dtype).reshape(axes)
        matrix, offset = getattr(self, f"matrix_{way}").to(x.dtype), getattr(self, f"offset_{way}").to(x.dtype)
        out = torch.einsum("gij,g...j->g...i", matrix, x) + offset.reshape(axes)
        return _folded(out, self.folding) if self.folding else out


def _folded(x: torch.Tensor, folding: Folding) -> torch.Tensor:
    """Angles in their range, quaternions with their first number that is not 0 positive; as ``Folding`` for arrays."""
    columns = list(x.unbind(-1))
    for i, low, period in folding.periodic:
        value = columns[i]
        inside = (value >= low) & (value < low + period)
        columns[i] = torch.where(inside, value, low + torch.remainder(value - low, period))
    for quad in folding.quaternions:
        q = torch.stack([columns[i] for i in quad], -1)
        first = torch.gather(q, -1, (q.abs() > 1e-12).int().argmax(-1, keepdim=True))
        q = torch.where(first < 0, -q, q)
        for k, i in enumerate(quad):
            columns[i] = q[..., k]
    return torch.stack(columns, -1)


class _PictureAction(TensorAction):
    """Quarter turns and flips of the last axes."""

    def __init__(self, maps: Sequence[Image]) -> None:
        super().__init__()
        self.order, self.maps = len(maps), list(maps)

    def images(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([_picture(m, x) for m in self.maps])

    def back(self, y: torch.Tensor) -> torch.Tensor:
        parts = y.reshape(self.order, -1, *y.shape[1:])
        return torch.stack([_picture(m.inverse(), part) for m, part in zip(self.maps, parts, strict=True)])


def _picture(m: Image, x: torch.Tensor) -> torch.Tensor:
    """One picture map on a tensor, as ``Image`` does it on arrays."""
    (turns, flip), (rows, columns) = m.moves, m.axes
    if flip:
        x = x.flip(columns)
    if turns:
        x = torch.rot90(x, turns, (rows, columns))
    if m.permute is not None:
        axis = -1 if m.channels == "last" else -3
        signs = torch.from_numpy(m.permute.signs.astype(np.float64)).to(x)
        moved = x.movedim(axis, -1)[..., torch.from_numpy(np.array(m.permute.index)).to(x.device)]
        x = (moved * signs).movedim(-1, axis)
    return x


class _DictAction(TensorAction):
    """Dictionaries of tensors."""

    def __init__(self, parts: dict[str, TensorAction]) -> None:
        super().__init__()
        self.parts = torch.nn.ModuleDict(parts)
        self.order = next(iter(parts.values())).order

    def images(self, x: Any) -> Any:
        return {key: self.parts[key].images(value) for key, value in x.items()}  # type: ignore[operator]

    def back(self, y: Any) -> Any:
        return {key: self.parts[key].back(value) for key, value in y.items()}  # type: ignore[operator]


def action_on(acting: Acting, space: Any, *, logits: bool = False) -> TensorAction:
    """How a finite group acts on tensors of a space: vectors, one-hot labels, pictures, dictionaries of them.

    Args:
        acting: ``symmetry.on("observation")`` or ``symmetry.on("action")``.
        space: its Gymnasium space. Labels are one-hot vectors, as networks see them.
        logits: for what a network says about actions: means, logits, Q-values.

    >>> from gymnasium.spaces import Discrete
    >>> from burnside.symmetry import EnvSymmetry
    >>> cartpole = EnvSymmetry("mirror", "- - - -", "labels 1,0")
    >>> action_on(cartpole.on("action"), Discrete(2), logits=True).back(torch.tensor([[1.0, 2.0], [3.0, 5.0]]))
    tensor([[[1., 2.]],
            [[5., 3.]]])
    """
    from gymnasium import spaces

    if isinstance(acting, TreeActing) and isinstance(space, spaces.Dict):
        return _DictAction({key: action_on(acting.inside[key], space[key]) for key in space.spaces})
    part = acting.part if isinstance(acting, StackActing) else acting
    if isinstance(part, LeafActing) and any(isinstance(m, Image) for m in part.maps):
        return _PictureAction([m for m in part.maps if isinstance(m, Image)])
    if isinstance(acting, StackActing):  # frames along an axis of their own: one frame at a time
        frame = spaces.Box(space.low[0], space.high[0], dtype=space.dtype)
        return VectorAction(flat_maps(acting.part, frame))
    maps = flat_maps(acting, space, logits=logits)
    vector = not isinstance(space, spaces.Box) or len(space.shape) == 1
    return VectorAction(maps) if vector else InvariantAction(len(maps))
