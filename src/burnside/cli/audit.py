"""``burnside audit``, ``burnside minimise`` and ``burnside zoo``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from burnside import theory
from burnside.cli.console import output, print_json, progress, styled, table
from burnside.cli.models import ModelOptions, SymmetryOptions
from burnside.errors import InvalidParameter
from burnside.mdp import TabularMDP, minimise, zoo
from burnside.mdp.zoo.catalogue import describe
from burnside.report.tables import Row, audit_rows, bound_rows

__all__ = ["Audit", "Minimise", "Zoo"]


@dataclass(frozen=True)
class Audit(SymmetryOptions):
    """Verify a symmetry and say what it saves: the paper's factor beside the exact one, and the bounds.

    The model 'cube' is too large for tables: its states and classes are counted by depth (see --depth).
    """

    eps: float = 0.1
    """Accuracy ε of the bounds, in units of reward."""
    delta: float = 0.1
    """Confidence δ of the bounds."""
    trust: bool = False
    """Go on with a symmetry that does not hold: the group-averaged MDP is audited, and everything says so."""
    depth: int | None = None
    """Cube only: count states and classes up to this depth; default 5, and 6 for --n 2."""
    slices: bool = False
    """Cube only: inner layers turn too; default the 12 outer turns of the paper."""
    goal: Literal["fixed", "any-orientation"] | None = None
    """Cube only: what counts as solved; default what the symmetry needs, where that changes no reachable value."""
    json: bool = False
    """Print one JSON object."""

    def run(self) -> int:
        """Run the command."""
        if self.model == "cube":
            from burnside.cli.cube import run_cube  # it loads what the other models do not need

            return run_cube(self)
        if self.depth is not None or self.slices or self.goal is not None:
            raise InvalidParameter(
                "--depth, --slices and --goal are for the cube: give other models --param name=value"
            )
        model = self.load_model()
        symmetry = self.load_symmetry(model)
        with progress(f"auditing {model.name}"):
            found = theory.audit(model, symmetry, eps=self.eps, delta=self.delta, trust=self.trust)
        if self.json:
            print_json(found.to_dict())
            return 0
        console = output()
        console.print(styled((found.model, "bold"), " under ", (found.group_name, "bold")))
        _print(console, audit_rows(found), "", "M", "quotient", "factor")
        console.print(f"attainable: {'yes' if found.attainable else 'no'} — {found.why}", soft_wrap=True)
        _print(console, bound_rows(found), "mistakes at most", "M", "quotient", "ratio")
        if found.trusted:
            said = ": these figures rest on trust, and are not this model's"
            console.print(styled(("the symmetry does not hold", "bold red"), said))
        return 0


@dataclass(frozen=True)
class Minimise(ModelOptions):
    """The coarsest homomorphic image of a model; no group is needed."""

    json: bool = False
    """Print one JSON object."""

    def run(self) -> int:
        """Run the command."""
        model = self.load_model()
        if not isinstance(model, TabularMDP):
            raise InvalidParameter(
                f"{model.name} is too large to enumerate: minimise needs a table, so make it smaller"
            )
        with progress(f"minimising {model.name}"):
            q = minimise(model)
        content: dict[str, Any] = {"model": model.name, **q.to_dict()}
        content["from"] = {
            "states": model.n_states,
            "terminal_states": model.n_terminal,
            "pairs": model.n_pairs,
        }
        if self.json:
            print_json(content)
            return 0
        console = output()
        console.print(styled((model.name, "bold"), " and its coarsest homomorphic image"))
        rows = [
            ("states", model.n_states, q.mdp.n_states, q.reduction.state_factor),
            ("pairs", model.n_pairs, q.mdp.n_pairs, q.reduction.pair_factor),
            ("successors C", model.successors, q.mdp.successors, q.reduction.successor_factor),
        ]
        if model.n_terminal:
            rows.insert(1, ("  terminal", model.n_terminal, q.mdp.n_terminal, model.n_terminal / q.mdp.n_terminal))
        _print(console, [Row(a, str(b), str(c), f"{d:.4g}") for a, b, c, d in rows], "", "M", "image", "factor")
        if model.n_terminal:
            console.print("nothing is chosen in a terminal state, so it has no pairs")
        return 0


@dataclass(frozen=True)
class Zoo:
    """List the named models and their declared symmetries."""

    json: bool = False
    """Print one JSON object."""

    def run(self) -> int:
        """Run the command."""
        found = {}
        for name in zoo.names():
            model = zoo.make(name)
            found[name] = {"description": describe(name), "symmetries": list(model.symmetries)}
        if self.json:
            print_json(found)
            return 0
        console = output()
        rows = table("model", "symmetries", "")
        rows.columns[1].justify = rows.columns[2].justify = "left"
        for name, about in found.items():
            rows.add_row(name, ", ".join(about["symmetries"]) or "none", str(about["description"]))
        console.print(rows)
        return 0


def _print(console: Any, rows: list[Row], *headers: str) -> None:
    grid = table(*headers)
    for row in rows:
        grid.add_row(*row)
    console.print(grid)
