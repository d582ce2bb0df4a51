"""``burnside audit``, ``burnside minimise`` and ``burnside zoo``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from inspect import getdoc
from typing import Any

from burnside.cli.console import output, print_json, progress, styled, table
from burnside.cli.models import OTHERS, ModelOptions, SymmetryOptions
from burnside.errors import InvalidParameter
from burnside.mdp import TabularMDP, minimise, zoo
from burnside.mdp.zoo.catalogue import describe
from burnside.report.tables import Row, audit_rows, bound_rows
from burnside.theory.audit import Audit as TableAudit
from burnside.theory.audit import Auditable, audit

__all__ = ["Audit", "Minimise", "Zoo", "print_audits"]


@dataclass(frozen=True)
class Audit(SymmetryOptions):
    """Verify a symmetry and say what it saves: the paper's factor beside the exact one, and the bounds.

    A model that is too large for this, such as the cube, has an audit of its own: the cube counts states and classes by
    depth, and shows its symmetries side by side.
    """

    eps: float = 0.1
    """Accuracy ε of the bounds, in units of reward."""
    delta: float = 0.1
    """Confidence δ of the bounds."""
    trust: bool = False
    """Continue with a symmetry that does not hold: the group-averaged MDP is audited, and every output says so."""
    depth: int | None = None
    """Cube: count states and classes up to this depth; default 5, and 6 for --n 2. The same as --param depth=…"""
    slices: bool = False
    """Cube: inner layers turn too; default the 12 outer turns of the paper. The same as --param turns=slices."""
    goal: str | None = None
    """A parameter of some models; of the cube: fixed or any-orientation, default what the symmetry needs."""
    json: bool = False
    """Print one JSON object."""

    def run(self) -> int:
        """Run the command."""
        model = self.load()
        symmetries = [self.load_symmetry(model)]
        if self.symmetry is None and not self.json and isinstance(model, Auditable):
            symmetries = [model.symmetry(name) for name in model.compared]
        found = []
        for symmetry in symmetries:
            with progress(f"auditing {model.name} under {symmetry.name}") as update:
                bounds = {"eps": self.eps, "delta": self.delta}
                found.append(audit(model, symmetry, **bounds, trust=self.trust, progress=update))
        if self.json:
            print_json(found[0].to_dict())
        return print_audits(found[0], found, quiet=self.json)

    def parameters(self) -> dict[str, Any]:
        """What ``--param`` and the options that are parameters give."""
        found = super().parameters()
        if self.slices and found.get("turns", "slices") != "slices":
            raise InvalidParameter(f"--slices contradicts --param turns={found['turns']}: give one of them")
        given = {"depth": self.depth, "goal": self.goal, "turns": "slices" if self.slices else None}
        return found | {name: value for name, value in given.items() if value is not None}


@singledispatch
def print_audits(first: Any, found: Sequence[Any], *, quiet: bool) -> int:
    """Print the audits of a model, unless they were printed as JSON, and return the exit code.

    A kind of model whose audit is not an :class:`Audit` registers its own; ``first`` is the first one found.
    """
    raise TypeError(f"no way to print a {type(first).__name__} is registered")


@print_audits.register
def _(first: TableAudit, found: Sequence[TableAudit], *, quiet: bool) -> int:
    if quiet:
        return 0
    console = output()
    console.print(styled((first.model, "bold"), " under ", (first.group_name, "bold")))
    _print(console, audit_rows(first), "", "M", "quotient", "factor")
    console.print(f"attainable: {'yes' if first.attainable else 'no'} — {first.why}", soft_wrap=True)
    _print(console, bound_rows(first), "mistakes at most", "M", "quotient", "ratio")
    if first.trusted:
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
        for name, make in OTHERS.items():
            other = make()
            found[name] = {"description": (getdoc(other) or "").split("\n")[0], "symmetries": list(other.symmetries)}
        if self.json:
            print_json(found)
            return 0
        console = output()
        rows = table("model", "symmetries", "")
        rows.columns[1].justify = rows.columns[2].justify = "left"
        for name, about in found.items():
            plain = str(about["description"]).replace("``", "")  # as in docstrings
            rows.add_row(name, ", ".join(about["symmetries"]) or "none", plain)
        console.print(rows)
        return 0


def _print(console: Any, rows: list[Row], *headers: str) -> None:
    grid = table(*headers)
    for row in rows:
        grid.add_row(*row)
    console.print(grid)
