"""The symmetry of an environment where none is given: what it declares itself, else what the atlas knows of it."""

from __future__ import annotations

import logging
from typing import Any

from burnside.envs.ring.core import RingSpec
from burnside.errors import InvalidParameter
from burnside.symmetry.atlas import entries, symmetry_of
from burnside.symmetry.declaration import EnvSymmetry, as_symmetry

__all__ = ["declared_symmetry", "known_symmetry"]

_LOG = logging.getLogger("burnside")


def declared_symmetry(env: Any) -> EnvSymmetry | None:
    """What an environment says of itself: an attribute ``symmetry``; the translations of the cyclic games are known."""
    bare = getattr(env, "unwrapped", env)
    inside = getattr(bare, "envs", None)
    if inside:
        bare = inside[0].unwrapped
    found = getattr(bare, "symmetry", None)
    if found is not None and hasattr(found, "generators") and hasattr(found, "act_on_observation"):
        return as_symmetry(found)
    ring = getattr(bare, "ring", None)
    if isinstance(ring, RingSpec):
        from burnside.canonical.known import ring_translations

        return ring_translations(ring.n, ring.d)
    form = getattr(bare, "canonicalizer", None)
    found = getattr(form, "symmetry", None)
    return as_symmetry(found) if hasattr(found, "generators") and hasattr(found, "act_on_observation") else None


def known_symmetry(env: Any, user: str, example: str = "") -> EnvSymmetry:
    """What the environment declares, else the symmetry of the atlas, which is named in the log; refuses if neither is.

    Args:
        env: an environment, or a vector environment.
        user: who asks, for the message.
        example: how one is passed; default as the second argument.
    """
    found = declared_symmetry(env)
    if found is not None:
        return found
    found = symmetry_of(env)
    spec = getattr(env, "spec", None)
    name = str(env) if spec is None else spec.id
    if found is None:
        tried = [entry for entry in entries() if entry.env == name]
        why = f"the atlas says that it has none ({tried[0].source})" if tried else "the atlas does not know it"
        raise InvalidParameter(
            f"{name} declares no symmetry and no canonical form, and {why}: pass one, as in "
            f"{example or f'{user}(env, EnvSymmetry(…))'}"
        )
    _LOG.warning("%s: the symmetry '%s' of %s, from the atlas (burnside atlas %s)", user, found.name, name, name)
    return found
