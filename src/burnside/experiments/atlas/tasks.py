"""Environments and symmetries of the study, and those a user names: from names to objects."""

from __future__ import annotations

import copy
import hashlib
import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import burnside.envs  # noqa: F401  # registers the environments of this package
from burnside._types import AnyArray
from burnside.canonical.declared import declared_symmetry
from burnside.canonical.guard import theirs
from burnside.errors import InvalidParameter, MissingExtra
from burnside.symmetry.atlas import entries
from burnside.symmetry.declaration import EnvSymmetry, as_symmetry

__all__ = ["TicTacToe", "View", "digests", "env_maker", "symmetry_for"]


class View(gym.ObservationWrapper[Any, Any, Any]):
    """MiniGrid's egocentric picture as small numbers, without the mission and the compass.

    What the agent sees does not depend on where it looks, so that of the world's turns and mirrors only the mirror is
    left: left and right.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        shape = env.observation_space["image"].shape  # type: ignore[index]
        self.observation_space = gym.spaces.Box(0.0, 1.1, shape, np.float32)

    def observation(self, observation: Any) -> AnyArray:
        """Codes of objects, colours and states, each below 11, divided by ten."""
        return np.asarray(observation["image"], dtype=np.float32) / 10.0


class TicTacToe(gym.Env[Any, Any]):
    """Tic-tac-toe against a random opponent, who begins every second game; the reward is 1, 0 or −1.

    An observation has two planes, one's own marks and the other's. A move to a field that is taken loses.
    """

    _LINES = np.array([[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]])

    def __init__(self) -> None:
        self.observation_space = gym.spaces.Box(0.0, 1.0, (3, 3, 2), np.float32)
        self.action_space = gym.spaces.Discrete(9)
        self._board = np.zeros(9, dtype=np.int8)

    def _seen(self) -> AnyArray:
        return np.stack([self._board == 1, self._board == -1], axis=-1).astype(np.float32).reshape(3, 3, 2)

    def get_state(self) -> AnyArray:
        """The marks as they are seen, so that the check of symmetries moves them as it moves observations."""
        return self._seen()

    def set_state(self, state: AnyArray) -> None:
        """Go on from these marks."""
        self._board[:] = (state[..., 0] - state[..., 1]).astype(np.int8).reshape(-1)

    def _won(self, player: int) -> bool:
        return bool((self._board[self._LINES] == player).all(axis=1).any())

    def _reply(self) -> None:
        self._board[self.np_random.choice(np.flatnonzero(self._board == 0))] = -1

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[AnyArray, dict[str, Any]]:
        """A new game."""
        super().reset(seed=seed)
        self._board[:] = 0
        if self.np_random.random() < 0.5:
            self._reply()
        return self._seen(), {}

    def step(self, action: int) -> tuple[AnyArray, float, bool, bool, dict[str, Any]]:
        """A move and the reply."""
        if self._board[action]:
            return self._seen(), -1.0, True, False, {"is_success": False}
        self._board[action] = 1
        if self._won(1):
            return self._seen(), 1.0, True, False, {"is_success": True}
        if self._board.all():
            return self._seen(), 0.0, True, False, {"is_success": False}
        self._reply()
        lost = self._won(-1)
        over = lost or bool(self._board.all())
        return self._seen(), -1.0 if lost else 0.0, over, False, {"is_success": False}


def env_maker(env: str, make: Mapping[str, Any] | None = None) -> Callable[[], Any]:
    """A function that makes an environment: a Gymnasium id, ``tictactoe``, or ``module:function``."""
    options = dict(make or {})
    if env == "tictactoe":
        if options:
            raise InvalidParameter(f"tictactoe has no parameter {next(iter(options))!r}: leave out --param")
        return TicTacToe
    if ":" in env and not env.startswith("dm_control"):
        return _their_maker(env, options)
    if env.startswith("MiniGrid-"):
        try:
            importlib.import_module("minigrid")
        except ImportError:
            raise MissingExtra("minigrid", "minigrid") from None
        return lambda: View(_registered(env, options))
    # as `burnside atlas` names tasks of dm_control, and as Gymnasium does
    name = f"dm_control/{env.partition(':')[2]}-v0" if env.startswith("dm_control:") else env
    return lambda: _registered(name, options)


def _registered(env: str, options: Mapping[str, Any]) -> Any:
    try:
        return gym.make(env, **options)
    except gym.error.Error as error:
        raise InvalidParameter(f"there is no environment {env!r}: {error}") from None
    except Exception as error:
        given = "".join(f" {key}={value!r:.40}" for key, value in options.items())
        said = " ".join(str(error).split())
        with_these = f" with --param{given}" if given else ""
        raise InvalidParameter(f"Gymnasium cannot make {env!r}{with_these}: {type(error).__name__}: {said}") from None


def _their_maker(reference: str, options: Mapping[str, Any]) -> Callable[[], Any]:
    """A user's function with its arguments; of an environment that is made already every caller gets its own copy."""
    made = load(reference)
    if isinstance(made, gym.Env):
        if options:
            raise InvalidParameter(f"{reference} is made already: --param needs a function that makes it")
        return lambda: theirs(f"copying {reference}", copy.deepcopy, made)
    if not callable(made):
        raise InvalidParameter(f"{reference} is a {type(made).__name__}: it must be an environment or make one")

    def made_again() -> Any:
        found = theirs(reference, made, **options)
        if not isinstance(found, gym.Env):
            raise InvalidParameter(f"{reference} makes a {type(found).__name__}: it must make a gymnasium.Env")
        return found

    return made_again


def load(reference: str) -> Any:
    """What ``module:name`` names; the current folder is searched as well. The module is imported: its code runs."""
    module, _, name = reference.partition(":")
    if not module or not name or module.startswith("."):
        raise InvalidParameter(f"{reference!r} must have the form module:name, such as my_package.envs:make")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except ImportError as error:
        raise InvalidParameter(
            f"cannot load {reference!r} ({error}): run from the folder of its module, or install it"
        ) from None
    except AttributeError as error:
        raise InvalidParameter(f"cannot load {reference!r}: {error}") from None
    except Exception as error:
        said = " ".join(str(error).split())
        raise InvalidParameter(f"importing {module!r} fails: {type(error).__name__}: {said:.200}") from None
    return found


def digests(*references: object) -> dict[str, str]:
    """Digests of the files behind those references that are a user's ``module:name``; their modules are imported.

    >>> digests("CartPole-v1", "sb3:PPO", None)
    {}
    """
    found = {}
    for reference in references:
        if isinstance(reference, str) and ":" in reference and not reference.startswith(("sb3:", "dm_control")):
            load(reference)
            file = getattr(sys.modules[reference.partition(":")[0]], "__file__", None)
            if file is not None and Path(file).is_file():
                found[reference] = hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16]
    return found


#: Where an environment of the study is not exactly the one of the atlas.
_MINIGRID = {
    "group": "mirror",
    "observation": {"kind": "image", "channels": "last", "op": "flip_ud"},
    "action": "labels 1,0,2,3,4,5,6",
    "name": "left and right",
}
_BOARD = [
    {"kind": "image", "channels": "last", "op": "turn"},
    {"kind": "image", "channels": "last", "op": "flip_ud"},
]
_TICTACTOE = {
    "group": "D4",
    "observation": _BOARD,
    "state": _BOARD,
    "action": ["labels 6,3,0,7,4,1,8,5,2", "labels 6,7,8,3,4,5,0,1,2"],
    "name": "turns and mirrors of the board",
}


def symmetry_for(env: Any, name: str, given: str | Mapping[str, Any]) -> EnvSymmetry:
    """The symmetry that a cell uses.

    Args:
        env: the environment.
        name: how it was named.
        given: ``atlas`` (what the environment declares, else what the atlas lists, holding or not: measuring what a
            symmetry costs that does not hold is one use of this), ``module:obj``, or a declaration in plain values.
    """
    if isinstance(given, Mapping):
        return EnvSymmetry.from_dict(given)
    if given != "atlas":
        if ":" not in given:
            raise InvalidParameter(f"--symmetry of an environment takes module:obj, got {given!r}")
        found = load(given)
        if callable(found) and not hasattr(found, "act_on_observation"):
            found = theirs(given, found, *([env] if inspect.signature(found).parameters else []))
        return as_symmetry(found)
    if name == "tictactoe":
        return EnvSymmetry.from_dict(_TICTACTOE)
    if name.startswith("MiniGrid-"):
        # how the world moves with what is seen of it, where the atlas knows: the check can then set it
        states = [entry.declaration["state"] for entry in entries() if entry.env == name and entry.declaration]
        return EnvSymmetry.from_dict(_MINIGRID | ({"state": states[0][1]} if states else {}))
    declared = declared_symmetry(env)
    if declared is not None:
        return declared
    spec = getattr(env, "spec", None)
    for entry in entries():
        if spec is not None and entry.env == spec.id and entry.claim != "dynamics":
            return entry.declared(env)
    raise InvalidParameter(f"{name} declares no symmetry and the atlas knows none: give --symmetry module:obj")
