"""Augmentation as pure functions: images of transitions, and orbits with stabilizers.

If a symmetry holds, the image ``(g·x, g·a, r, g·x', done)`` of every transition is a transition of the environment too.
Rewards and flags stay; so do values, advantages and the log-probability that the behaviour policy gave to the original.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from burnside._types import AnyArray
from burnside.errors import InvalidParameter
from burnside.symmetry.acting import Acting
from burnside.symmetry.declaration import EnvSymmetry

__all__ = ["Orbit", "all_images", "move_rows", "orbit", "random_images", "role_of"]

_ROLES = {
    "observation": {
        "obs", "observation", "observations", "next_obs", "next_observation", "next_observations", "last_obs",
    },
    "action": {"action", "actions", "act", "next_action", "next_actions"},
    "state": {"state", "states", "next_state", "next_states"},
    "same": {
        "reward", "rewards", "done", "dones", "terminated", "truncated", "terminals", "timeouts", "episode_start",
        "episode_starts", "value", "values", "old_values", "return", "returns", "advantage", "advantages", "log_prob",
        "log_probs", "old_log_prob", "discount", "discounts", "weight", "weights",
    },
}  # fmt: skip


def role_of(name: str, roles: Mapping[str, str] | None = None) -> str:
    """What a field of a batch is: ``observation``, ``action``, ``state``, or ``same`` for what does not change.

    A name that is not known is refused, because to leave an observation unmoved by accident would be wrong silently.

    >>> role_of("next_observations"), role_of("old_log_prob"), role_of("goal", {"goal": "observation"})
    ('observation', 'same', 'observation')
    """
    if roles and name in roles:
        if roles[name] not in _ROLES:
            raise InvalidParameter(f"the role of {name!r} must be one of {', '.join(_ROLES)}, got {roles[name]!r}")
        return roles[name]
    for role, names in _ROLES.items():
        if name in names:
            return role
    raise InvalidParameter(
        f'how does the symmetry act on the field {name!r}? Say so by roles={{"{name}": "observation"}}, or "action", '
        '"state", "same"'
    )


def all_images(
    declaration: EnvSymmetry,
    batch: Mapping[str, Any],
    *,
    roles: Mapping[str, str] | None = None,
    elements: Sequence[Any] | None = None,
) -> dict[str, Any]:
    """A batch of transitions with all its images: |G| times as many rows, the originals first.

    Args:
        declaration: the symmetry.
        batch: fields with one leading axis, the rows; their names say what they are, see :func:`role_of`.
        roles: what fields of other names are.
        elements: which elements to use; default all of a finite group.

    >>> mirror = EnvSymmetry("mirror", "-0,1", "labels 1,0")
    >>> batch = {"obs": np.array([[1.0, 2.0]]), "action": np.array([0]), "reward": np.array([5.0])}
    >>> all_images(mirror, batch)
    {'obs': array([[ 1.,  2.],
           [-1.,  2.]]), 'action': array([0, 1]), 'reward': array([5., 5.])}
    """
    _rows(batch)
    chosen = declaration.elements if elements is None else elements
    if chosen is None:
        raise InvalidParameter(
            f"{declaration.group} has infinitely many elements: use random_images, or give the elements to use"
        )
    found = {}
    for name, value in batch.items():
        role = role_of(name, roles)
        images = [value if role == "same" else declaration.on(role).act(g, value) for g in chosen]
        found[name] = _join(images)
    return found


def random_images(
    declaration: EnvSymmetry,
    batch: Mapping[str, Any],
    *,
    seed: int,
    counter: int = 0,
    roles: Mapping[str, str] | None = None,
) -> tuple[dict[str, Any], Any]:
    """Every row moved by a random element of its own; and the elements, one per row.

    Row i takes the element of counter ``counter + i``, so that a function of the counter decides, not a hidden state.

    >>> mirror = EnvSymmetry("mirror", "-0,1", "labels 1,0")
    >>> batch = {"obs": np.ones((4, 2)), "action": np.zeros(4, dtype=int), "reward": np.zeros(4)}
    >>> moved, g = random_images(mirror, batch, seed=0)
    >>> bool((moved["action"] == g).all()), bool((moved["obs"][:, 0] == 1 - 2 * g).all())
    (True, True)
    """
    g = declaration.random_element(seed, counter + np.arange(_rows(batch)))
    found = {}
    for name, value in batch.items():
        role = role_of(name, roles)
        found[name] = value if role == "same" else move_rows(declaration.on(role), g, value)
    return found, g


@dataclass(frozen=True)
class Orbit:
    """All different images of one observation.

    Attributes:
        images: the images, along a new first axis.
        elements: for every image the first element that leads to it.
        stabilizer: the elements that leave the observation as it is.
    """

    images: Any
    elements: AnyArray
    stabilizer: AnyArray

    def __len__(self) -> int:
        """How many images there are; times the size of the stabilizer this is the order of the group."""
        return len(self.elements)


def orbit(declaration: EnvSymmetry, x: Any, *, tol: float = 1e-9) -> Orbit:
    """The orbit and the stabilizer of one observation under a finite group.

    >>> square = EnvSymmetry("C4", "1,-0", "trivial")
    >>> len(orbit(square, np.array([1.0, 2.0]))), orbit(square, np.zeros(2)).stabilizer.tolist()
    (4, [0, 1, 2, 3])
    """
    acting = declaration.on("observation")
    if acting.lead(x) not in ((), None):
        raise InvalidParameter(f"an orbit is that of one observation, got leading axes {acting.lead(x)}")
    images = acting.images(x)
    rows = [np.asarray(a).reshape(a.shape[0], -1) for _, a, own in acting.parts(images) if own is not None]
    if not rows:
        raise InvalidParameter("nothing in the observation is known to move, so it has no images")
    flat = np.concatenate(rows, axis=-1).astype(np.float64)
    same = np.asarray(
        (np.abs(flat[:, None] - flat[None]) <= tol * max(1.0, float(np.abs(flat).max(initial=0)))).all(-1)
    )
    first = np.flatnonzero(np.argmax(same, axis=1) == np.arange(len(flat)))
    return Orbit(_take(images, first), first, np.flatnonzero(same[0]))


def move_rows(acting: Acting, g: Any, value: Any) -> Any:
    """Row i moved by element i, also where a row holds several points: actions of shape (rows, 1), action chunks."""
    lead = acting.lead(value)
    more = 0 if lead is None else len(lead) - 1
    elements = np.asarray(g)
    return acting.act(elements.reshape(elements.shape[:1] + (1,) * more + elements.shape[1:]), value)


def _rows(batch: Mapping[str, Any]) -> int:
    """How many rows the fields have; refuses fields of different lengths."""
    counts = {name: {np.shape(leaf)[:1] for leaf in _leaves(value)} for name, value in batch.items()}
    lengths = set().union(*counts.values())
    if len(lengths) != 1 or () in lengths:
        raise InvalidParameter(f"the fields of a batch need one leading axis of the same length, got {counts}")
    return int(next(iter(lengths))[0])


def _leaves(x: Any) -> list[Any]:
    if isinstance(x, Mapping | tuple):
        inside = x.values() if isinstance(x, Mapping) else x
        return [leaf for value in inside for leaf in _leaves(value)]
    return [x]


def _join(items: Sequence[Any]) -> Any:
    """Batches one after the other."""
    first = items[0]
    if isinstance(first, Mapping):
        return {key: _join([item[key] for item in items]) for key in first}
    if isinstance(first, tuple):
        return tuple(_join([item[i] for item in items]) for i in range(len(first)))
    return np.concatenate([np.asarray(item) for item in items])


def _take(x: Any, index: AnyArray) -> Any:
    if isinstance(x, Mapping):
        return {key: _take(value, index) for key, value in x.items()}
    return tuple(_take(value, index) for value in x) if isinstance(x, tuple) else np.asarray(x)[index]
