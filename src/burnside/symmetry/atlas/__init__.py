"""The atlas: environments of other people and our own, with the symmetry that each has, or has not.

``atlas.json`` has one entry for each environment and symmetry: the declaration, where it comes from, and what the check
measured (``burnside atlas --check --write`` writes that part, nobody else). An environment without a symmetry has an
entry too, with the symmetry that one might expect and how it fails.

It may import what ``burnside.symmetry`` may.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from burnside._files import write_text
from burnside.errors import InvalidParameter, UnknownName
from burnside.symmetry.declaration import EnvSymmetry, as_symmetry

__all__ = ["CLAIMS", "AtlasEntry", "entries", "entry_of", "find_entries", "symmetry_of", "write_entries"]

FILE = Path(__file__).with_name("atlas.json")
_FIELDS = (
    "env",
    "family",
    "symmetry",
    "claim",
    "make",
    "factory",
    "declaration",
    "check",
    "source",
    "note",
    "measured",
)

#: What an entry claims, in words.
CLAIMS = {
    "symmetry": "holds for dynamics, reward and ends",
    "nearly": "holds up to differences below a ten-thousandth, which the check sees and a learner does not",
    "dynamics": "holds for the dynamics, not for the reward",
    "none": "does not hold: no symmetry of this environment is known",
}


@dataclass(frozen=True)
class AtlasEntry:
    """An environment and one symmetry of it, or one that it has not.

    Attributes:
        env: the Gymnasium id.
        family: where the environment belongs.
        symmetry: the name of the symmetry.
        claim: ``"symmetry"`` (it holds), ``"nearly"`` (up to 1e-4), ``"dynamics"`` (of the dynamics only) or ``"none"``
            (it does not hold).
        make: arguments with which the environment is made.
        factory: ``module:function`` of this package that makes the symmetry from the environment, if it depends on it.
        declaration: the symmetry as plain values, otherwise.
        check: options of the check.
        source: where the symmetry comes from, or why there is none.
        note: what else one should know.
        measured: what the check found; empty before it ran.
    """

    env: str
    family: str
    symmetry: str
    claim: str
    make: Mapping[str, Any] = field(default_factory=dict)
    factory: str = ""
    declaration: Mapping[str, Any] = field(default_factory=dict)
    check: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    note: str = ""
    measured: Mapping[str, Any] = field(default_factory=dict)

    def declared(self, env: Any = None) -> EnvSymmetry:
        """The declaration; ``env`` is needed where the symmetry depends on its size.

        >>> print(entry_of("CartPole-v1").declared())
        left and right: group mirror with 2 elements
          observation: SignedPermutation('-0,-1,-2,-3')
          action: Labels('1,0')
          domain: 'angle'
        """
        if not self.factory:
            return EnvSymmetry.from_dict({**self.declaration, "name": self.symmetry})
        if env is None:
            raise InvalidParameter(f"{self.symmetry} of {self.env} depends on its size: give the environment")
        module, _, name = self.factory.partition(":")
        return as_symmetry(getattr(importlib.import_module(module), name)(env))

    @property
    def group(self) -> str:
        """The name of the group; empty if the environment decides."""
        found = self.declaration.get("group", "")
        return str(found.get("name", "")) if isinstance(found, Mapping) else str(found)

    @property
    def verdict(self) -> str:
        """What was measured: ``"holds"``, ``"refuted"`` or ``"inconclusive"``; empty before that."""
        return str(self.measured.get("verdict", ""))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as in the file."""
        return {name: value for name in _FIELDS if (value := getattr(self, name)) or name in ("source",)}


@lru_cache(maxsize=1)
def entries() -> tuple[AtlasEntry, ...]:
    """All entries, in the order of the file."""
    return tuple(AtlasEntry(**item) for item in json.loads(FILE.read_text(encoding="utf-8")))


def find_entries(env: str = "", *, family: str = "", claim: str = "", verdict: str = "") -> list[AtlasEntry]:
    """Entries that match: a part of the id, and family, claim and verdict.

    >>> [entry.symmetry for entry in find_entries("Ant-v5")]
    ['left and right', 'quarter turns and mirrors']
    """
    return [
        entry
        for entry in entries()
        if env.lower() in entry.env.lower()
        and family.lower() in entry.family.lower()
        and (not claim or entry.claim == claim)
        and (not verdict or entry.verdict == verdict)
    ]


def entry_of(env: str) -> AtlasEntry:
    """The first entry of an environment, by its id."""
    for entry in entries():
        if entry.env == env:
            return entry
    raise UnknownName("environment of the atlas", env, [entry.env for entry in entries()])


def symmetry_of(env: Any) -> EnvSymmetry | None:
    """The symmetry that the atlas knows for an environment; None if it knows none that holds.

    What changes the task (other arguments than those of the entry) is not known to the atlas: the check decides.

    >>> import gymnasium as gym
    >>> symmetry_of(gym.make("CartPole-v1")).name, symmetry_of(gym.make("MountainCar-v0"))
    ('left and right', None)
    """
    spec = getattr(env, "spec", None)
    for entry in entries():
        if spec is not None and entry.env == spec.id and entry.claim in ("symmetry", "nearly"):
            return entry.declared(env)
    return None


# ---------------------------------------------------------------------- written


def write_entries(found: Iterable[AtlasEntry | Mapping[str, Any]], file: Path = FILE) -> None:
    """Write the atlas: one line for each field, so that changes can be read."""
    rows: Sequence[Any] = [item.to_dict() if isinstance(item, AtlasEntry) else dict(item) for item in found]
    blocks = []
    for row in rows:
        lines = [f"  {json.dumps(key)}: {_line(key, row[key])}" for key in _FIELDS if key in row]
        blocks.append("{\n" + ",\n".join(lines) + "\n}")
    write_text(file, "[\n" + ",\n".join(blocks) + "\n]\n")
    entries.cache_clear()


def _line(key: str, value: Any) -> str:
    if key in ("declaration", "measured"):
        parts = [f"    {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in value.items()]
        return "{\n" + ",\n".join(parts) + "\n  }"
    return json.dumps(value, ensure_ascii=False)
