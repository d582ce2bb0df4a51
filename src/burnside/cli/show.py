"""``burnside show``: the state graph coloured by orbit beside the quotient graph."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from burnside.cli.console import output, print_json, progress, styled
from burnside.cli.models import SymmetryOptions
from burnside.errors import InvalidParameter
from burnside.mdp import Symmetry, TabularMDP, quotient
from burnside.report.graphs import draw

__all__ = ["Show"]


@dataclass(frozen=True)
class Show(SymmetryOptions):
    """Draw the state graph coloured by orbit beside the quotient graph, as SVG, PNG or interactive HTML.

    For the model 'cube': the orbit of one state and its representative; HTML also plays the turns that lead to it.
    """

    out: Path = Path("orbits.html")
    """File to write; its suffix (.svg, .png or .html) chooses the format."""
    max_states: int = 600
    """Draw whole orbits up to this many states; the caption says what was left out."""
    moves: str | None = None
    """Cube only: the turns, from the solved cube, to the state whose orbit is drawn; default "R U F'"."""
    json: bool = False
    """Print one JSON object with the path and the sizes."""

    def run(self) -> int:
        """Run the command."""
        if self.model == "cube":
            from burnside.cli.cube import show_cube  # it loads what the other models do not need

            return show_cube(self)
        if self.moves is not None:
            raise InvalidParameter("--moves is for the cube: other models have no turns")
        model = self.load_model()
        symmetry = self.load_symmetry(model)
        if not isinstance(model, TabularMDP) or not isinstance(symmetry, Symmetry):
            raise InvalidParameter(f"{model.name} is too large to draw: make it smaller, e.g. with --n 5")
        with progress(f"drawing {model.name}"):
            reduced = quotient(model, symmetry)
            path = draw(model, reduced, self.out, symmetry_name=symmetry.name, max_states=self.max_states)
        if self.json:
            print_json({"path": str(path), "states": model.n_states, "quotient_states": reduced.mdp.n_states})
        else:
            output().print(styled(f"{model.name} under {symmetry.name}: {path}"), soft_wrap=True)
        return 0
