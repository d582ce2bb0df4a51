"""``burnside bounds`` and ``burnside cover``: the formulas by themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import tyro

from burnside.cli.console import output, print_json, progress, styled, table
from burnside.errors import InvalidParameter
from burnside.report.tables import number
from burnside.theory import covering, nets
from burnside.theory.bounds import Size, leading, leading_log10, lower, ucfh

__all__ = ["Bounds", "Cover"]


@dataclass(frozen=True)
class Bounds:
    """Bounds on the number of mistakes from sizes alone: leading term, explicit constants, lower bound."""

    states: int
    """Number of states |S|."""
    pairs: int
    """Number of admissible state-action pairs."""
    succ: int
    """Largest number of successors C."""
    horizon: int
    """Horizon H."""
    terminal: int = 0
    """How many of the states are terminal, without actions of their own."""
    eps: float = 0.1
    """Accuracy ε, in units of reward."""
    delta: float = 0.1
    """Confidence δ."""
    reward_range: float = 1.0
    """Largest minus smallest reward; the explicit and the lower bound divide ε by it."""
    json: bool = False
    """Print one JSON object."""

    def run(self) -> int:
        """Run the command."""
        if self.succ > self.states >= 1:
            raise InvalidParameter(f"a pair cannot have {self.succ} successors among {self.states} states")
        acting = self.states - self.terminal
        if 1 <= self.pairs < acting:
            raise InvalidParameter(
                f"{self.pairs} pairs are too few for {acting} states: every state that is not terminal needs an "
                f"action, so give {acting} or more, or say with --terminal how many states are"
            )
        size = Size(self.states, self.pairs, self.succ, self.terminal)
        at = (self.horizon, self.eps, self.delta)
        explicit = ucfh(size, *at, self.reward_range)
        floor = lower(size, *at, self.reward_range)
        if self.json:
            print_json(
                {
                    "leading": _finite(leading(size, *at)),
                    "leading_log10": leading_log10(size, *at),
                    "explicit": {
                        key: _finite(getattr(explicit, key))
                        for key in ("w_min", "u_max", "delta1", "m", "e_max", "episodes", "log10_episodes")
                    },
                    "guards": list(explicit.guards),
                    "lower": {"value": _finite(floor.value), "valid": floor.valid, "why": floor.why},
                }
            )
            return 0
        console = output()
        rows = table("mistakes", "")
        rows.columns[1].justify = "left"
        rows.add_row("leading term H²·C·pairs·ln(1/δ)/ε²", number(leading(size, *at)))
        rows.add_row("at most, UCFH with explicit constants", number(explicit.episodes))
        for key in ("w_min", "u_max", "delta1", "m", "e_max"):
            rows.add_row(f"  {key}", f"{getattr(explicit, key):.6g}")
        rows.add_row(
            "lower bound, its shape with c₁ = 1", f"{number(floor.value)}{'' if floor.valid else ' (not valid)'}"
        )
        console.print(rows)
        for note in (*explicit.guards, *([] if floor.valid else [floor.why])):
            console.print(f"note: {note}", soft_wrap=True)
        return 0


@dataclass(frozen=True)
class Cover:
    """Covering numbers of a space and of its quotients: proved bounds and a numeric net."""

    space: Annotated[str, tyro.conf.Positional]
    """Name of the space, such as box:3, torus:2, circle/Z16, sphere/SO2, so3/O24, se2^2/se2."""
    alpha: float
    """Radius α of the balls."""
    side: float | None = None
    """Side of the box of positions, for box and SE(d)."""
    weight: float | None = None
    """Length that one radian counts for, for SE(d)."""
    samples: int = 20_000
    """Samples of the numeric net."""
    seed: int = 0
    """Seed of the samples."""
    json: bool = False
    """Print one JSON object."""

    def run(self) -> int:
        """Run the command."""
        options = {key: getattr(self, key) for key in ("side", "weight") if getattr(self, key) is not None}
        if self.samples < 1 or self.seed < 0:
            raise InvalidParameter(f"samples must be 1 or more and seed 0 or more, not {self.samples} and {self.seed}")
        bounds = covering.cover(self.space, self.alpha, **options)
        content: dict[str, Any] = {
            "space": self.space,
            "alpha": self.alpha,
            "lower": bounds.lower,
            "upper": bounds.upper,
        }
        why = None
        try:
            with progress(f"a net of {self.space} at α = {self.alpha:g}") as update:
                content["numeric"] = nets.numeric(
                    self.space, self.alpha, self.samples, self.seed, progress=update, **options
                )
        except InvalidParameter as error:
            content["numeric"], why = None, str(error)
        content["why"] = why
        if self.json:
            print_json(content)
            return 0
        console = output()
        rows = table("", "balls of radius α")
        rows.add_row("at least", str(bounds.lower))
        rows.add_row("at most", str(bounds.upper))
        rows.add_row(f"net of {self.samples} samples", "–" if content["numeric"] is None else str(content["numeric"]))
        console.print(styled((self.space, "bold"), f" at α = {self.alpha:g}"))
        console.print(rows)
        if why:
            console.print(f"note: {why}", soft_wrap=True)
        return 0


def _finite(x: float) -> float | None:
    return x if math.isfinite(x) else None
