"""What is measured: models, learner and width, by preset."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from burnside.errors import InvalidParameter
from burnside.mdp import TabularMDP, zoo

__all__ = ["PRESETS", "Setting"]


@dataclass(frozen=True)
class Setting:
    """One row of the table: a model, its symmetry and the learner.

    Attributes:
        model: name in the zoo.
        parameters: of the model.
        symmetry: name of a declared symmetry; None for the default.
        learner: ``ubev``, ``ucbvi``, ``ucfh`` or ``ucfh-literal``.
        scale: width factor c (UBEV, UCBVI), or factor on m (UCFH); None for the published one.
        width: ``heuristic`` (span of the optimistic values) or ``provable`` (UBEV only).
        eps: ε as a fraction of R*.
        delta: δ.
        max_episodes: budget of a run on M; a run that spends it is marked as capped.
    """

    model: str
    parameters: dict[str, Any] = field(default_factory=dict)
    symmetry: str | None = None
    learner: str = "ubev"
    scale: float | None = None
    width: Literal["heuristic", "provable"] = "heuristic"
    eps: float = 0.1
    delta: float = 0.1
    max_episodes: int | None = None

    def build(self) -> TabularMDP:
        """The model as a table."""
        model = zoo.make(self.model, **self.parameters)
        if not isinstance(model, TabularMDP):
            raise InvalidParameter(
                f"{model.name} is too large to enumerate: mistakes are measured on tables, make it smaller"
            )
        return model

    @property
    def options(self) -> dict[str, Any]:
        """Options of the learner."""
        return {"width": self.width} if self.learner == "ubev" else {}

    @property
    def name(self) -> str:
        """Short name of the row."""
        inside = ", ".join(f"{k}={v}" for k, v in self.parameters.items())
        return f"{self.model}({inside})" + (f" / {self.symmetry}" if self.symmetry else "")


def _rings(*sizes: int) -> list[Setting]:
    return [Setting("slip-ring", {"n": n}, "Z", scale=1.0 if n <= 10 else 0.3) for n in sizes]


_OTHERS = [
    Setting("slip-ring", {"n": 10}, "D", scale=1.0),
    Setting("slip-ring", {"n": 10, "goal": "fixed"}, "Z", scale=0.3),
    Setting("grid", {"n": 5}, scale=1.0),
    Setting("torus", {"n": 3}, scale=1.0),
    Setting("hypercube", {"d": 4}, scale=1.0),
    Setting("hypercube", {"d": 6}, scale=0.3),
    Setting("river", {"length": 5}, scale=1.0),
    Setting("river-product", {}, scale=0.3),
]

#: For every preset its settings and the number of seeds.
PRESETS: dict[str, tuple[list[Setting], int]] = {
    "smoke": (_rings(5), 2),
    "laptop": (_rings(5, 10, 15, 20) + _OTHERS, 10),
    "study": (_rings(5, 10, 15, 20, 30, 40) + _OTHERS, 20),
    "paper": (_rings(5, 10, 15, 20, 30, 40, 50) + _OTHERS, 20),
}
