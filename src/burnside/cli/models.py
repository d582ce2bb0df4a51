"""Options that name a model and a symmetry, shared by the commands, and how they are resolved."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import tyro

from burnside.cli.console import progress
from burnside.cli.words import Words, flat
from burnside.errors import BurnsideError, InvalidParameter, MissingExtra, UnknownName
from burnside.mdp import GraphMDP, Symmetry, TabularMDP, VertexSymmetry, discover, zoo
from burnside.mdp.zoo.catalogue import MODELS, check_parameters
from burnside.theory.audit import Auditable

__all__ = [
    "OTHERS",
    "Model",
    "ModelOptions",
    "SymmetryOptions",
    "call_theirs",
    "is_env_id",
    "load_object",
    "make_env",
    "parse_parameters",
]


#: A model of any kind; they have a name and declared symmetries, and ``burnside.audit`` takes them.
Model = TabularMDP | GraphMDP | Auditable


def _cube(**parameters: Any) -> Auditable:
    from burnside.cli.cube import CubeModel  # it loads what the other models do not need

    accepted = get_type_hints(CubeModel.__init__)
    check_parameters("cube", {name: hint for name, hint in accepted.items() if name != "return"}, parameters)
    return CubeModel(**parameters)


#: Named models that are neither a table nor a graph, by name.
OTHERS: dict[str, Callable[..., Auditable]] = {"cube": _cube}


@dataclass(frozen=True)
class ModelOptions:
    """Which model."""

    model: Annotated[str, tyro.conf.Positional]
    """A name of the zoo (see 'burnside zoo'), module:factory, a .json or .npz file, or a Gymnasium toy-text id."""
    n: int | None = None
    """Size of the model, if it has one."""
    d: int | None = None
    """Number of dimensions of the model, if it can be chosen."""
    horizon: int | None = None
    """Horizon H; default: the model's own."""
    param: Words = ()
    """Further parameters of the model, as name=value; for a Gymnasium id, arguments of its constructor."""
    terminal_actions: bool = False
    """Gymnasium ids only: count the actions that the table lists for terminal states, although none is ever taken."""

    def load_model(self) -> TabularMDP | GraphMDP:
        """The model that the options name, for commands that need a table or a graph."""
        model = self.load()
        if not isinstance(model, TabularMDP | GraphMDP):
            raise InvalidParameter(f"{model.name} is too large for a table: 'burnside audit {self.model}' can count it")
        return model

    def load(self) -> Model:
        """The model that the options name, of any kind."""
        sizes = {key: value for key, value in (("n", self.n), ("d", self.d)) if value is not None}
        parameters = sizes | self.parameters()
        if self.terminal_actions and not self._is_gymnasium_id:
            raise InvalidParameter(
                "--terminal-actions is for Gymnasium ids: other models have in terminal states the actions they list"
            )
        if self.model in MODELS or self.model in OTHERS:
            if self.horizon is not None:
                parameters["horizon"] = self.horizon
            with progress(f"building {self.model}"):
                make = OTHERS.get(self.model)
                return zoo.make(self.model, **parameters) if make is None else make(**parameters)
        if Path(self.model).suffix.lower() in (".json", ".npz"):
            return self._with_horizon(TabularMDP.from_file(self.model), parameters)
        if ":" in self.model:
            found = load_object(self.model)
            with progress(f"calling {self.model}"):
                model = call_theirs(found, self.model, **parameters) if callable(found) else found
            if not isinstance(model, TabularMDP | GraphMDP):
                raise InvalidParameter(
                    f"{self.model} gives a {type(model).__name__}: it must be, or return, a TabularMDP or a GraphMDP"
                )
            return self._with_horizon(model, {})
        if self._is_gymnasium_id:
            if sizes:
                raise InvalidParameter(
                    f"a Gymnasium id takes no --{next(iter(sizes))}: give the arguments of its constructor with "
                    f"--param name=value"
                )
            given = ", ".join(f"{key}={value!r}" for key, value in parameters.items())
            name = f"{self.model}({given})" if given else self.model
            env = make_env(self.model, parameters)
            return TabularMDP.from_gym(env, self.horizon, name=name, terminal_actions=self.terminal_actions)
        raise UnknownName("model", self.model, [*zoo.names(), *OTHERS])

    @property
    def _is_gymnasium_id(self) -> bool:
        elsewhere = self.model in MODELS or Path(self.model).suffix.lower() in (".json", ".npz") or ":" in self.model
        return "-v" in self.model and not elsewhere

    def parameters(self) -> dict[str, Any]:
        """What ``--param`` gives; a name that has an option of its own may be given by one of the two only."""
        found = parse_parameters(self.param)
        for name in ("n", "d", "horizon", "depth", "goal"):
            option = getattr(self, name, None)  # depth and goal are options of the audit only
            if name in found and option is not None:
                raise InvalidParameter(
                    f"{name} is given twice, as --{name} {option} and as --param {name}={found[name]}: give it once"
                )
        return found

    def _with_horizon(self, model: TabularMDP | GraphMDP, parameters: dict[str, Any]) -> TabularMDP | GraphMDP:
        if parameters:
            raise InvalidParameter(f"a file has no parameter {next(iter(parameters))!r}: only --horizon can be changed")
        if self.horizon is None:
            return model
        if not isinstance(model, TabularMDP):
            raise InvalidParameter("--horizon applies to tables only: let your factory take a horizon")
        return model.replace(H=self.horizon)


@dataclass(frozen=True)
class SymmetryOptions(ModelOptions):
    """Which model and which symmetry."""

    symmetry: str | None = field(default=None)
    """A declared symmetry of the model, 'discover', or module:obj; default: the first declared one, or 'discover'."""

    def load_symmetry(self, model: Model) -> Any:
        """The symmetry that the options name."""
        name = self.symmetry
        if not isinstance(model, TabularMDP | GraphMDP):
            return model.symmetry(name)
        if name is None and not model.symmetries and isinstance(model, TabularMDP):
            name = "discover"
        if name == "discover":
            return _discover(model)
        if name is not None and ":" in name:
            return _symmetry_object(name, model)
        return model.symmetry(name)


def _discover(model: TabularMDP | GraphMDP) -> Symmetry:
    if not isinstance(model, TabularMDP):
        raise InvalidParameter(
            f"{model.name} is too large to search for symmetries: make it smaller, or name one of "
            f"{', '.join(model.symmetries)}"
        )
    with progress("looking for automorphisms") as update:
        return discover(model, progress=update)


def _symmetry_object(name: str, model: TabularMDP | GraphMDP) -> Symmetry | VertexSymmetry:
    found = load_object(name)
    if callable(found) and not isinstance(found, Symmetry | VertexSymmetry):
        found = call_theirs(found, name, model)
    if not isinstance(found, Symmetry | VertexSymmetry):
        raise InvalidParameter(
            f"{name} gives a {type(found).__name__}: it must be a Symmetry (or VertexSymmetry), or a function of the "
            f"model that returns one"
        )
    return found


def load_object(reference: str) -> Any:
    """The object that ``module:name`` refers to; the current folder is searched as well."""
    module_name, _, attribute = reference.partition(":")
    if not module_name or not attribute or module_name.startswith("."):
        raise InvalidParameter(f"{reference!r} must have the form module:name, such as my_package.models:make")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise InvalidParameter(f"cannot import {module_name!r} ({error}): run from its folder, or install it") from None
    except Exception as error:
        raise InvalidParameter(f"importing {module_name!r} fails: {_blame(error)}") from None
    if not hasattr(module, attribute):
        raise UnknownName(f"name in {module_name}", attribute, [n for n in dir(module) if not n.startswith("_")])
    return getattr(module, attribute)


def call_theirs(function: Any, reference: str, *arguments: Any, **options: Any) -> Any:
    """Call what a user gave as ``module:name``; whatever it raises becomes one sentence with file and line."""
    try:
        return function(*arguments, **options)
    except BurnsideError:
        raise
    except Exception as error:
        inside = error.__traceback__ is not None and error.__traceback__.tb_next is not None
        if isinstance(error, TypeError) and not inside:
            raise InvalidParameter(f"{reference} cannot be called with these options: {error}") from None
        raise InvalidParameter(f"{reference} fails: {_blame(error)}") from None


def _blame(error: Exception) -> str:
    """What was raised, and where: the last line of the traceback that a user would look at."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    if isinstance(error, SyntaxError):  # says itself where
        where = ""
    return f"{type(error).__name__}: {error}{where}"


#: Longer values of ``--param`` are refused: what is that long belongs in a file or in a function.
_LONGEST_VALUE = 20_000


def parse_parameters(words: Iterable[str | Iterable[str]]) -> dict[str, Any]:
    """``name=value`` words as a dictionary.

    A value is a number, ``true``, ``false``, ``None``, a Python list, tuple, set, dictionary or quoted string, and a
    plain word otherwise. Nothing is executed.

    >>> parse_parameters(["goal=fixed", "n=3", "slippery=false"])
    {'goal': 'fixed', 'n': 3, 'slippery': False}
    >>> parse_parameters(["desc=['SF','HG']", "name='3'"])
    {'desc': ['SF', 'HG'], 'name': '3'}
    """
    found: dict[str, Any] = {}
    for text in flat(words):
        name, value = _parameter(text)
        if name in found:
            raise InvalidParameter(f"--param gives {name} twice, as {found[name]} and as {value}: give it once")
        found[name] = value
    return found


def _parameter(text: str) -> tuple[str, Any]:
    name, separator, value = text.partition("=")
    if not separator:
        raise InvalidParameter(f"--param takes name=value, got {text!r:.60}")
    if len(value) > _LONGEST_VALUE:
        raise InvalidParameter(
            f"the value of --param {name:.40} has {len(value)} characters, more than {_LONGEST_VALUE}: make the model "
            f"in a function and give it as module:function"
        )
    value = value.strip()
    if value[:1] in ("[", "(", "{", "'", '"'):
        return name, _literal(name, value)
    if re.fullmatch(r"[+-]?[0-9_]{200,}", value):
        raise InvalidParameter(f"the value of --param {name:.40} has {len(value)} digits: give fewer than 200")
    for convert in (int, float):
        try:
            return name, convert(value)
        except ValueError:
            continue
    return name, {"true": True, "false": False}.get(value.lower(), None if value == "None" else value)


def _literal(name: str, value: str) -> Any:
    """A Python list, tuple, set, dictionary or string, read without executing anything."""
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise InvalidParameter(
            f"the value of --param {name:.40} is not a Python literal: {value!r:.60}; write lists as ['a', 'b'] and "
            f"put the whole word in double quotes"
        ) from None


_TASK = re.compile(r"dm_control:([\w-]+)")  # as lint names models


def is_env_id(reference: str) -> bool:
    """Whether an argument is the id of an environment, not ``module:env``.

    >>> [is_env_id(name) for name in ("CartPole-v1", "dm_control:walker-walk", "my_package:env")]
    [True, True, False]
    """
    return re.search(r"-v\d+$", reference) is not None or _TASK.fullmatch(reference) is not None


def make_env(env_id: str, parameters: Mapping[str, Any]) -> Any:
    """The Gymnasium environment of that id, ours included; whatever its constructor raises becomes one sentence."""
    try:
        import gymnasium

        import burnside.envs  # noqa: F401  # so that our own ids are known

        if env_id.startswith("MiniGrid-") and importlib.util.find_spec("minigrid") is not None:
            importlib.import_module("minigrid")  # which registers its ids
    except ImportError:
        raise MissingExtra("gymnasium", "envs") from None
    if task := _TASK.fullmatch(env_id):
        env_id = f"dm_control/{task[1]}-v0"
    try:
        return gymnasium.make(env_id, **parameters)
    except Exception as error:
        given = "".join(f" {key}={value!r:.40}" for key, value in parameters.items())
        with_these = f" with --param{given}" if given else ""
        said = " ".join(str(error).split())
        raise InvalidParameter(
            f"Gymnasium cannot make {env_id!r}{with_these}: {said or type(error).__name__}"
        ) from None
