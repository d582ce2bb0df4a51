"""Cells: pieces of work, identified by the hash of their configuration."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from burnside.errors import InvalidParameter

__all__ = ["Cell", "cell_name", "digest", "ours", "plain"]

FORMAT = 1


def ours(version: Any) -> bool:
    """Whether files of this version are read; true and 1.0 are not versions, though they equal 1."""
    return type(version) is int and version == FORMAT


def cell_name(config: Mapping[str, Any]) -> str:
    """The name of a cell: a hash of its configuration, the same on every machine.

    >>> cell_name({"n": 5, "seed": 0}) == cell_name({"seed": 0, "n": 5})
    True
    >>> cell_name({"n": 5, "seed": 0}) == cell_name({"n": 5, "seed": 1})
    False
    """
    text = json.dumps(config, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def plain(value: Any, where: str) -> Any:
    """``value`` as it comes back from JSON, or one sentence about what in it JSON cannot keep exactly.

    >>> plain({"sizes": (1, 2), "rate": 0.5}, "config")
    {'sizes': [1, 2], 'rate': 0.5}
    >>> plain({"return": float("nan")}, "result")
    Traceback (most recent call last):
    burnside.errors.InvalidParameter: result['return'] is nan, which JSON cannot keep: use None
    """
    if value is None or isinstance(value, (bool, str)) or type(value) is int:
        return value
    if type(value) is float:
        if math.isfinite(value):
            return value
        raise InvalidParameter(f"{where} is {value}, which JSON cannot keep: use None")
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise InvalidParameter(f"{where} has the key {key!r}: keys must be strings")
        return {key: plain(inner, f"{where}[{key!r}]") for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner, f"{where}[{k}]") for k, inner in enumerate(value)]
    raise InvalidParameter(
        f"{where} is a {type(value).__name__}: only None, bool, int, float, str, lists and dicts can be kept exactly"
    )


def digest(content: Any) -> str:
    """A hash of plain values, by which a change of a file is noticed."""
    return hashlib.sha256(json.dumps(content, ensure_ascii=True, allow_nan=False).encode()).hexdigest()


@dataclass(frozen=True)
class Cell:
    """One piece of work: an experiment, its setting, and the block of seeds that run together.

    Attributes:
        experiment: name of the experiment.
        config: everything the result depends on besides the seeds, in plain JSON values; budgets as counts.
        seeds: labels of the members of this cell, without repetition.
        label: for display; not part of the name.
        cost: relative to the other cells of the plan, to estimate the time left; not part of the name.

    >>> cell = Cell("ring1d", {"n": 5, "arm": "baseline"}, seeds=(7, 3))
    >>> cell.title, cell.name == Cell("ring1d", {"arm": "baseline", "n": 5}, (7, 3), label="x").name
    ('n=5 arm=baseline seeds=7,3', True)
    """

    experiment: str
    config: Mapping[str, Any]
    seeds: tuple[int, ...] = (0,)
    label: str = field(default="", compare=False)
    cost: float = field(default=1.0, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "config", plain(dict(self.config), f"the config of a cell of {self.experiment}"))
        object.__setattr__(self, "seeds", _seeds(self.seeds))
        if not (math.isfinite(self.cost) and self.cost > 0):
            raise InvalidParameter(f"the cost of a cell must be a positive number, not {self.cost!r}")

    @property
    def identity(self) -> dict[str, Any]:
        """What the name is the hash of."""
        return {"experiment": self.experiment, "config": dict(self.config), "seeds": list(self.seeds)}

    @property
    def name(self) -> str:
        """The name of its folder."""
        return cell_name(self.identity)

    @property
    def title(self) -> str:
        """A short name for display: the label, or the scalars of the config."""
        if self.label:
            return self.label
        words = [f"{k}={v}" for k, v in self.config.items() if not isinstance(v, (list, dict))]
        return " ".join([*words, f"seeds={_span(self.seeds)}"])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {**self.identity, "label": self.label, "cost": self.cost}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Cell:
        """The cell that ``to_dict`` wrote.

        >>> Cell.from_dict(Cell("toy", {"n": 1}).to_dict()) == Cell("toy", {"n": 1})
        True
        """
        label, cost = content.get("label", ""), content.get("cost", 1.0)
        for value in (content["experiment"], label):
            if not isinstance(value, str):
                raise InvalidParameter(f"the name and the label of a cell are texts, not {value!r:.40}")
        return cls(content["experiment"], content["config"], tuple(content["seeds"]), label, cost)


def _seeds(seeds: Sequence[int]) -> tuple[int, ...]:
    found = tuple(seeds)
    if not found or any(type(seed) is not int or seed < 0 for seed in found):
        raise InvalidParameter(f"the seeds of a cell must be whole numbers from 0 on, at least one, not {found!r}")
    if len(set(found)) != len(found):
        raise InvalidParameter(f"a seed appears twice in a cell: {found}")
    return found


def _span(seeds: tuple[int, ...]) -> str:
    if len(seeds) > 2 and seeds == tuple(range(seeds[0], seeds[0] + len(seeds))):
        return f"{seeds[0]}-{seeds[-1]}"
    return ",".join(map(str, seeds))
