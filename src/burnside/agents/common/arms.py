"""What a learner does with a symmetry: an environment to learn in, and what changes in its updates.

- ``baseline``: nothing.
- ``canonical``: the learner sees canonical forms.
- ``augment``: a batch has all images of its transitions (of a continuous group one random image beside the original):
  as many updates, batches that are larger. ``augment-random``: every transition of a batch is moved by a random
  element, so that updates *and* batches are as in the baseline. What the behaviour policy's log-probability was stays.
- ``averaging``: networks are averaged over the images of their input; exact.
- ``mirror-loss``: networks are free, and a loss pulls their outputs at the images together.
- ``equivariant``: weights are shared, so that networks are exactly equivariant; for signed permutations.
- ``relaxed``: weights are drawn to each other after every update, and may differ where the data insist.
- ``feature`` (a control): the observation with the indicator of the fundamental domain, without the symmetry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from burnside._types import AnyArray
from burnside.canonical.arms import CanonicalRows, FeatureRows, on_rows
from burnside.canonical.batched import form_of, with_arm
from burnside.envs.batched import BatchedEnv
from burnside.errors import InvalidParameter, UnknownName
from burnside.nn.images import ALONE, AVERAGE, FREE, MIRROR, Images, Ties, images_of, shared, tied
from burnside.nn.mlp import Net
from burnside.symmetry.declaration import EnvSymmetry
from burnside.symmetry.flat import FlatSymmetry

__all__ = ["NETWORK_ARMS", "SYMMETRY_ARMS", "Prepared", "Use", "prepare", "resolve"]

#: Arms that change the networks; they need a finite group that acts linearly.
NETWORK_ARMS = ("averaging", "mirror-loss", "equivariant", "relaxed")
#: All arms of the general learners that use a symmetry.
SYMMETRY_ARMS = ("canonical", "augment", "augment-random", *NETWORK_ARMS, "feature")

#: Weight of the mirror loss, and the share by which relaxed weights are drawn together after every update.
MIRROR_WEIGHT, RELAXED_PULL = 1.0, 0.01


@dataclass(frozen=True)
class Use:
    """What a learner's updates do with a symmetry.

    Attributes:
        arm: the name.
        symmetry: on the rows that the learner sees.
    """

    arm: str
    symmetry: FlatSymmetry

    @property
    def count(self) -> int:
        """How many rows a network evaluates for every observation."""
        return self.symmetry.count if self.arm in ("averaging", "mirror-loss") else 1

    def images(self, rows: AnyArray) -> AnyArray:
        """Rows as the networks see them: blocks of images, where they evaluate images."""
        found = np.ascontiguousarray(rows, dtype=np.float32)
        return found if self.count == 1 else self.symmetry.images(found).reshape(-1, found.shape[1])

    @property
    def seen(self) -> Images:
        """Of a network whose outputs belong to actions."""
        return self._images(self.symmetry.turns) if self.count > 1 else ALONE

    @property
    def valued(self) -> Images:
        """The images for a network with one invariant output."""
        return self._images(np.ones((self.count, 1, 1))) if self.count > 1 else ALONE

    def _images(self, turns: AnyArray) -> Images:
        return images_of(turns, AVERAGE if self.arm == "averaging" else MIRROR, MIRROR_WEIGHT)

    def ties(self, size: int, nets: list[tuple[Net, str, str]], spread: int | None = None) -> Ties:
        """Which parameters are shared.

        Args:
            size: of all parameters.
            nets: each with its inputs (``observation`` or ``both``: with the action behind) and its outputs (``action``
                or ``value``).
            spread: where logarithms of deviations of the actions begin, if there are any.
        """
        if self.arm not in ("equivariant", "relaxed"):
            return FREE
        mine = self.symmetry
        if mine.index is None or mine.sign is None:
            raise InvalidParameter(f"{mine.name} is not made of signed permutations: weights cannot be shared")
        product = mine.multiplication
        moves = np.linalg.inv(mine.turns)
        triples: list[AnyArray] = []
        for net, inputs, outputs in nets:
            given = (mine.index, mine.sign)
            if inputs == "both":
                index = np.abs(moves).argmax(axis=2)
                sign = np.take_along_axis(moves, index[..., None], axis=2)[..., 0]
                given = (
                    np.concatenate([mine.index, mine.obs_dim + index], axis=1),
                    np.concatenate([mine.sign, sign], axis=1),
                )
            out = moves if outputs == "action" else np.ones((mine.count, 1, 1))
            if outputs == "actions and deviations":
                out = np.zeros((mine.count, 2 * mine.width, 2 * mine.width))
                out[:, : mine.width, : mine.width] = moves
                out[:, mine.width :, mine.width :] = np.abs(moves)
            triples += shared(net, product, given, np.rint(out))
        if spread is not None:
            for g in range(mine.count):
                at = spread + np.arange(mine.width)
                triples.append(np.stack([at, spread + np.abs(moves[g]).argmax(axis=1), np.ones(mine.width)]))
        return tied(size, triples, 1.0 if self.arm == "equivariant" else RELAXED_PULL)

    # ------------------------------------------------------------------ batches with images

    @property
    def multiplies(self) -> int:
        """How many times as many rows an augmented batch has."""
        return (self.symmetry.count or 2) if self.arm == "augment" else 1

    @property
    def augments(self) -> bool:
        """Whether batches are moved."""
        return self.arm in ("augment", "augment-random")

    def moved(
        self, seed: int, counter: int, observations: list[AnyArray], actions: AnyArray
    ) -> tuple[list[AnyArray], AnyArray]:
        """A batch with its images behind it, or with every row moved; ``counter`` is the first of as many as rows."""
        rows, mine = len(actions), self.symmetry
        if self.arm == "augment" and mine.count:
            parts = [mine.images(x).transpose(1, 0, 2).reshape(-1, x.shape[1]) for x in observations]
            each = [mine.move_actions(np.full(rows, g), actions) for g in range(mine.count)]
            return parts, np.concatenate(each)
        g = mine.draw(seed, counter + np.arange(rows))
        parts, acted = [mine.move(g, x) for x in observations], mine.move_actions(g, actions)
        if self.arm == "augment-random":
            return parts, acted
        both = [np.concatenate([x, y]) for x, y in zip(observations, parts, strict=True)]
        return both, np.concatenate([actions, acted])


class Prepared(NamedTuple):
    """The environment that a learner sees, what its updates do, and a canonical form with its undoing, if any."""

    env: BatchedEnv
    use: Use | None
    form: Any


class _Form:
    """A canonical form of flat rows for ``Agent.predict``, which flattens observations before."""

    flat = True

    def __init__(self, symmetry: FlatSymmetry) -> None:
        self._symmetry = symmetry

    def __call__(self, x: Any) -> tuple[Any, Any]:
        """Rows of observations."""
        return self._symmetry.canonical(np.asarray(x, dtype=np.float32))

    def act(self, g: Any, x: Any) -> Any:
        """``g·x``."""
        return self._symmetry.move(g, np.atleast_2d(x))

    def undo(self, action: Any, g: Any) -> Any:
        """``g⁻¹·a`` of every row."""
        return self._symmetry.undo(np.asarray(action), g)


class _Features(_Form):
    """Rows with their features, for ``Agent.predict``; actions are unchanged."""

    def __call__(self, x: Any) -> tuple[Any, Any]:
        """Rows of observations."""
        rows = np.asarray(x, dtype=np.float32)
        return np.concatenate([rows, self._symmetry.features(rows)], axis=1), None

    def undo(self, action: Any, g: Any) -> Any:
        """The action itself."""
        return action


def prepare(env: BatchedEnv, arm: str, symmetry: EnvSymmetry | FlatSymmetry | None = None) -> Prepared:
    """An environment with an arm.

    Args:
        env: as it is.
        arm: a name of ``SYMMETRY_ARMS``, or ``baseline``.
        symmetry: of the environment; default what it declares, else the atlas's.

    >>> from burnside.envs.gymnasium_batch import as_batched
    >>> prepare(as_batched("CartPole-v1"), "averaging").use.count
    2
    """
    if arm == "baseline":
        return Prepared(env, None, None)
    if arm not in SYMMETRY_ARMS:
        raise UnknownName("arm", arm, ("baseline", *SYMMETRY_ARMS))
    found = symmetry if isinstance(symmetry, FlatSymmetry) else on_rows(env, symmetry)
    if arm in NETWORK_ARMS:
        if not found.count and not isinstance(symmetry, FlatSymmetry):
            found = on_rows(env, symmetry, subgroup=True)
        if not found.linear or not found.closed:
            raise InvalidParameter(
                f"the arm {arm} needs a finite group that acts linearly, which {found.name} does not: use canonical or "
                "augment"
            )
        return Prepared(env, Use(arm, found), None)
    if arm in ("canonical", "feature") and found.form is None and not found.count:
        raise InvalidParameter(f"{found.name} has no canonical form: give it a domain, as in EnvSymmetry(…, domain=…)")
    if arm == "canonical":
        return Prepared(CanonicalRows(env, found), None, _Form(found))
    if arm == "feature":
        return Prepared(FeatureRows(env, found), None, _Features(found))
    return Prepared(env, Use(arm, found), None)


def resolve(env: BatchedEnv, arm: Any, symmetry: EnvSymmetry | FlatSymmetry | None = None) -> Prepared:
    """What a learner is given for an arm: a name, None, a canonical form, or a symmetry to play episodes through."""
    if arm is None:
        return Prepared(env, None, None)
    declares = symmetry is None and getattr(env, "canonicalizer", None) is not None
    if not isinstance(arm, str) or (arm == "canonical" and declares):
        return Prepared(with_arm(env, arm), None, form_of(env, arm))
    return prepare(env, arm, symmetry)
