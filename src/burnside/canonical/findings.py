"""What the comparisons of ``check_symmetry`` report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from burnside.canonical.access import Pair, show
from burnside.mdp import Counterexample

__all__ = ["Findings", "example"]


@dataclass
class Findings:
    """What a method reports."""

    method: str
    checked: int = 0
    eps_r: float = 0.0
    eps_p: float = 0.0
    example: Counterexample | None = None
    resolution: float = 0.0

    def add(self, example: Counterexample, reward: float, transition: float) -> None:
        """Note a violation; the worst one is kept."""
        self.eps_r, self.eps_p = max(self.eps_r, reward), max(self.eps_p, transition)
        if self.example is None or example.amount > self.example.amount:
            self.example = example


def example(kind: str, j: int, g: Any, pair: Pair, image: tuple[Any, Any], amount: float, text: str) -> Counterexample:
    """A violation at a pair: generator number j, g, maps it to the image, and then comes the text."""
    here = f"({show(pair.observation)}, {show(pair.action)})"
    there = f"({show(image[0])}, {show(image[1])})"
    return Counterexample(
        kind=kind,
        generator=j,
        state=show(pair.observation),
        action=show(pair.action),
        image_state=show(image[0]),
        image_action=show(image[1]),
        amount=float(amount),
        text=f"generator {j} ({g!r}) maps {here} to {there}, {text}",
    )
