"""``burnside show``: the state graph coloured by orbit beside the quotient graph."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from burnside.cli.console import output, print_json
from burnside.cli.models import SymmetryOptions
from burnside.errors import InvalidParameter
from burnside.mdp import Symmetry, TabularMDP, quotient
from burnside.report.graphs import draw

__all__ = ["Show"]


@dataclass(frozen=True)
class Show(SymmetryOptions):
    """Draw the state graph coloured by orbit beside the quotient graph, as SVG, PNG or interactive HTML."""

    out: Path = Path("orbits.html")
    """File to write; its suffix (.svg, .png or .html) chooses the format."""
    max_states: int = 600
    """Draw whole orbits up to this many states; the caption says what was left out."""
    json: bool = False
    """Print one JSON object with the path and the sizes."""

    def run(self) -> int:
        """Run the command."""
        model = self.load_model()
        symmetry = self.load_symmetry(model)
        if not isinstance(model, TabularMDP) or not isinstance(symmetry, Symmetry):
            raise InvalidParameter(f"{model.name} is too large to draw: make it smaller, e.g. with --n 5")
        reduced = quotient(model, symmetry)
        path = draw(model, reduced, self.out, symmetry_name=symmetry.name, max_states=self.max_states)
        if self.json:
            print_json({"path": str(path), "states": model.n_states, "quotient_states": reduced.mdp.n_states})
        else:
            output().print(f"{model.name} under {symmetry.name}: {path}", soft_wrap=True)
        return 0
