"""``burnside show``: the state graph coloured by orbit beside the quotient graph."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from pathlib import Path
from typing import Any

from burnside.cli.console import output, print_json, progress, styled
from burnside.cli.models import SymmetryOptions
from burnside.errors import InvalidParameter
from burnside.mdp import Symmetry, TabularMDP, quotient
from burnside.report.graphs import draw

__all__ = ["Show", "draw_orbits"]


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
        model = self.load()
        symmetry = self.load_symmetry(model)
        with progress(f"drawing {model.name}"):
            title, content = draw_orbits(model, symmetry, self)
        if self.json:
            print_json({"path": str(self.out)} | content)
        else:
            output().print(styled(f"{title}: {self.out}"), soft_wrap=True)
        return 0


@singledispatch
def draw_orbits(model: Any, symmetry: Any, command: Show) -> tuple[str, dict[str, Any]]:
    """Write the picture that the command asks for; its title, and what its JSON says.

    A kind of model that is not a table registers how it is drawn.
    """
    raise InvalidParameter(f"{model.name} is too large to draw: make it smaller, e.g. with --n 5")


@draw_orbits.register
def _(model: TabularMDP, symmetry: Any, command: Show) -> tuple[str, dict[str, Any]]:
    if command.moves is not None:
        raise InvalidParameter("--moves is for the cube: other models have no turns")
    if not isinstance(symmetry, Symmetry):
        raise InvalidParameter(f"{symmetry.name} is a symmetry of a graph: a table needs a Symmetry")
    reduced = quotient(model, symmetry)
    draw(model, reduced, command.out, symmetry_name=symmetry.name, max_states=command.max_states)
    sizes = {"states": model.n_states, "quotient_states": reduced.mdp.n_states}
    return f"{model.name} under {symmetry.name}", sizes
