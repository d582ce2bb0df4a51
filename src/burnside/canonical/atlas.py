"""The atlas checked: what :func:`check_symmetry` finds for an entry, and whether that is what is stored.

The stored verdicts come from here (``burnside atlas --check --write``), never from a keyboard.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import importlib.util
import warnings
from collections.abc import Mapping
from typing import Any

from burnside.canonical.checking import EnvVerdict, check_symmetry
from burnside.errors import InvalidParameter, MissingExtra
from burnside.symmetry.atlas import AtlasEntry
from burnside.symmetry.states import state_adapter

__all__ = ["EXTRAS", "FAILURE_RATE", "SAMPLES", "differences", "is_installed", "measure_entry", "open_entry"]

#: Places of each kind that are tried, and the share of them that may fail unseen, at 99 % confidence: 90 would do.
SAMPLES, FAILURE_RATE = 120, 0.05
NEARLY = 1e-4  # differences up to this are those of a symmetry that holds nearly
_BREAKERS = 6  # names that are stored

#: For each family: the extra to install, the module that must be there, and the packages whose versions are stored.
EXTRAS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "toy text": ("envs", "gymnasium", ("gymnasium",)),
    "classic control": ("envs", "gymnasium", ("gymnasium",)),
    "Box2D": ("box2d", "Box2D", ("gymnasium", "Box2D")),
    "MuJoCo": ("mujoco", "mujoco", ("gymnasium", "mujoco")),
    "dm_control": ("dm-control", "dm_control", ("dm_control", "mujoco")),
    "MiniGrid": ("minigrid", "minigrid", ("minigrid",)),
    "PettingZoo": ("pettingzoo", "pettingzoo", ("pettingzoo",)),
    "robosuite": ("robot", "robosuite", ("robosuite", "mujoco")),
    "Burnside": ("envs", "gymnasium", ("gymnasium",)),
}


def is_installed(entry: AtlasEntry) -> bool:
    """Whether the package that the environment comes from is here."""
    return all(importlib.util.find_spec(name) is not None for name in ("gymnasium", EXTRAS[entry.family][1]))


def open_entry(entry: AtlasEntry) -> Any:
    """The environment of an entry."""
    if not is_installed(entry):
        extra, module, _ = EXTRAS[entry.family]
        raise MissingExtra(module, extra)
    import gymnasium

    import burnside.envs

    burnside.envs.register()
    if entry.family == "MiniGrid":
        importlib.import_module("minigrid")  # which registers its environments
    with warnings.catch_warnings(), contextlib.suppress(ValueError):
        warnings.simplefilter("ignore")  # that there is a newer version is why there is an entry for the old one
        found = gymnasium.make(entry.env, **entry.make)
        return _any_action(found) if entry.family == "robosuite" else found
    raise InvalidParameter(f"Gymnasium cannot make {entry.env}")


def _any_action(env: Any) -> Any:
    from burnside.envs.manipulation.symmetry import AnyAction

    return AnyAction(env)


def measure_entry(
    entry: AtlasEntry, *, samples: int | None = None, seed: int = 0, env: Any = None, progress: Any = None
) -> dict[str, Any]:
    """What the check finds: verdict, components with ε, what differs most, and the versions of all that took part."""
    env = open_entry(entry) if env is None else env
    symmetry = entry.declared(env)
    env.reset(seed=seed)
    adapter = state_adapter(env)
    names = None if adapter is None else adapter.names(env)
    options = {"samples": samples or SAMPLES, "max_failure_rate": FAILURE_RATE} | dict(entry.check)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_symmetry(env, symmetry, seed=seed, names=names, progress=progress, **options)
    return {
        "verdict": found.verdict,
        "components": {
            name: {"verdict": part.verdict, "eps": None if part.eps is None else float(f"{part.eps:.3g}")}
            for name, part in found.components.items()
        },
        "breakers": _breakers(found),
        "order": symmetry.order,
        "method": found.method,
        "checked": found.checked,
        "samples": options["samples"],
        "max_failure_rate": options["max_failure_rate"],
        "versions": {package: importlib.metadata.version(package) for package in EXTRAS[entry.family][2]},
    }


def _breakers(found: EnvVerdict) -> list[dict[str, Any]]:
    """The numbers that differ, those first that differ most by their own scale; and the law of reset."""
    rows = [row for row in found.deviations if row["share"] > 0 and row["largest"] is not None]
    rows.sort(key=lambda row: row["largest"] / row["spread"] if row["spread"] else float("inf"), reverse=True)
    named = [{"what": row["name"], "amount": float(f"{row['largest']:.3g}")} for row in rows[:_BREAKERS]]
    if found.components["reset"].verdict == "refuted":
        named.append({"what": "law of reset", "amount": found.components["reset"].eps})
    return named


def differences(entry: AtlasEntry, found: Mapping[str, Any]) -> list[str]:
    """What is not as it is stored, in sentences; empty if all verdicts agree, and are those that the entry claims.

    >>> from burnside.symmetry.atlas import entry_of
    >>> differences(entry_of("CartPole-v1"), {"verdict": "refuted", "components": {}})[0]
    'the whole: refuted, but holds is stored'
    """
    stored = entry.measured
    wrong = []
    if not stored:
        wrong.append("nothing is stored: run burnside atlas --check --write")
    elif found["verdict"] != stored["verdict"]:
        wrong.append(f"the whole: {found['verdict']}, but {stored['verdict']} is stored")
    parts = found["components"]
    for name, part in (stored.get("components") or {}).items():
        if name in parts and parts[name]["verdict"] != part["verdict"]:
            wrong.append(f"{name}: {parts[name]['verdict']}, but {part['verdict']} is stored")
    return wrong + claim_problems(entry, found)


def claim_problems(entry: AtlasEntry, found: Mapping[str, Any]) -> list[str]:
    """Whether what was found contradicts what the entry claims; what is inconclusive contradicts nothing."""
    whole = found["verdict"]
    if entry.claim == "symmetry" and whole == "refuted":
        return [f"the entry says that {entry.symmetry} is a symmetry, but it is refuted"]
    if entry.claim == "none" and whole == "holds":
        return [f"the entry says that {entry.symmetry} is not a symmetry, but it holds"]
    if entry.claim == "nearly" and any((part["eps"] or 0) > NEARLY for part in list(found["components"].values())[:4]):
        return [f"the entry says that {entry.symmetry} holds up to {NEARLY}, but something differs by more"]
    if entry.claim == "dynamics":
        parts = found["components"]
        if parts and (parts["dynamics"]["verdict"] == "refuted" or parts["reward"]["verdict"] != "refuted"):
            return ["the entry says that it holds for the dynamics and not for the reward"]
    return []
