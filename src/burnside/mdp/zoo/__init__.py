"""Named symmetric MDPs, each with its declared symmetries; the first one declared is the default.

``zoo.make("ring", n=5)`` is ``zoo.ring(n=5)``; ``zoo.names()`` lists what there is. A model that is too large for a
table comes back as a :class:`~burnside.mdp.graph.GraphMDP`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from burnside.errors import InvalidParameter, UnknownName
from burnside.mdp.graph import GraphMDP
from burnside.mdp.tabular import TabularMDP
from burnside.mdp.zoo.chains import deep_sea, river, river_product
from burnside.mdp.zoo.grids import grid, hypercube, torus
from burnside.mdp.zoo.rings import ring, ring_game, slip_ring
from burnside.mdp.zoo.small import bandit, fig2

__all__ = [
    "MODELS",
    "bandit",
    "deep_sea",
    "describe",
    "fig2",
    "grid",
    "hypercube",
    "make",
    "names",
    "ring",
    "ring_game",
    "river",
    "river_product",
    "slip_ring",
    "torus",
]


def _ring_any(n: int = 5, d: int = 1, **rest: Any) -> TabularMDP | GraphMDP:
    """The mined game: a table in one dimension and up to 12 cells, implicit beyond."""
    if d == 1 and n <= 12:
        return ring(n, **rest)
    for key in rest:
        if key not in inspect.signature(ring_game).parameters:
            raise InvalidParameter(f"the parameter {key!r} of the ring exists only for its table (d = 1, n ≤ 12)")
    return ring_game(n, d, **rest)


MODELS: dict[str, Callable[..., TabularMDP | GraphMDP]] = {
    "ring": _ring_any,
    "slip-ring": slip_ring,
    "fig2": fig2,
    "grid": grid,
    "torus": torus,
    "hypercube": hypercube,
    "river": river,
    "river-product": river_product,
    "bandit": bandit,
    "deep-sea": deep_sea,
}


def names() -> list[str]:
    """Names of the models."""
    return list(MODELS)


def describe(name: str) -> str:
    """First line of a model's description."""
    source = ring if name == "ring" else MODELS[name]
    return (inspect.getdoc(source) or "").split("\n")[0]


def make(name: str, **parameters: Any) -> TabularMDP | GraphMDP:
    """The model of that name.

    >>> make("hypercube", d=3).n_states
    8
    """
    if name not in MODELS:
        raise UnknownName("model", name, MODELS)
    factory = MODELS[name]
    accepted = _parameters(name)
    for key, value in parameters.items():
        if key not in accepted:
            raise InvalidParameter(
                f"the model {name!r} has no parameter {key!r}: it takes {', '.join(sorted(accepted))}"
            )
        kind = accepted[key].split(" | ")[0]
        if not isinstance(value, _KINDS[kind]) or (kind == "int" and isinstance(value, bool)):
            raise InvalidParameter(f"the parameter {key!r} of {name!r} must be {_WORDS[kind]}, got {value!r}")
    return factory(**parameters)


_KINDS: dict[str, Any] = {"int": int, "float": (int, float), "str": str, "bool": bool}
_WORDS = {"int": "a whole number", "float": "a number", "str": "a word", "bool": "true or false"}


def _parameters(name: str) -> dict[str, str]:
    """What a model takes: parameter → its type as written."""
    sources: list[Callable[..., Any]] = [ring, ring_game] if name == "ring" else [MODELS[name]]
    return {key: str(p.annotation) for source in sources for key, p in inspect.signature(source).parameters.items()}
