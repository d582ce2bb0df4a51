"""The models of the zoo by the names that commands and files use, and what may be passed to each."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from burnside.errors import InvalidParameter, UnknownName
from burnside.mdp.graph import GraphMDP
from burnside.mdp.tabular import TabularMDP
from burnside.mdp.zoo.chains import deep_sea, river, river_product
from burnside.mdp.zoo.grids import grid, hypercube, torus
from burnside.mdp.zoo.rings import ring, ring_game, slip_ring
from burnside.mdp.zoo.small import bandit, fig2

__all__ = ["MODELS", "check_parameters", "describe", "make", "names"]


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
    """Names of the models.

    >>> names()[:3]
    ['ring', 'slip-ring', 'fig2']
    """
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
    check_parameters(name, _parameters(name), parameters)
    return MODELS[name](**parameters)


def check_parameters(name: str, accepted: Mapping[str, Any], parameters: Mapping[str, Any]) -> None:
    """Raise unless every parameter is one of the accepted ones, which are given with their types."""
    for key, value in parameters.items():
        if key not in accepted:
            raise InvalidParameter(
                f"the model {name!r} has no parameter {key!r}: it takes {', '.join(sorted(accepted))}"
            )
        if not _fits(value, accepted[key]):
            raise InvalidParameter(f"the parameter {key!r} of {name!r} must be {_words(accepted[key])}, got {value!r}")


def _parameters(name: str) -> dict[str, Any]:
    """What a model takes: each parameter with the type it is annotated with."""
    sources: list[Callable[..., Any]] = [ring, ring_game] if name == "ring" else [MODELS[name]]
    hints: dict[str, Any] = {}
    for source in sources:
        hints |= typing.get_type_hints(source)
    hints.pop("return", None)
    return hints


_WORDS = {int: "a whole number", float: "a number", str: "a word", bool: "true or false", type(None): "nothing"}


def _alternatives(hint: Any) -> tuple[Any, ...]:
    return typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)


def _fits(value: Any, hint: Any) -> bool:
    """Is the value of the annotated type? A whole number is also a number, but true and false are neither."""
    for kind in _alternatives(hint):
        if isinstance(value, bool):
            if kind is bool:
                return True
        elif isinstance(value, (int, float) if kind is float else kind):
            return True
    return False


def _words(hint: Any) -> str:
    return " or ".join(_WORDS[kind] for kind in _alternatives(hint) if kind is not type(None))
