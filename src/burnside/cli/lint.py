"""``burnside lint``: is this robot symmetric, and if not, because of what?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from burnside.cli.console import output, print_json, progress, styled, table
from burnside.cli.models import parse_parameters
from burnside.cli.words import Words
from burnside.errors import InvalidParameter, UnknownName

if TYPE_CHECKING:
    from burnside.symmetry.lint.repairs import Confirmation
    from burnside.symmetry.lint.report import LintReport, ModelMap

__all__ = ["Lint"]

_ROWS = 40  # violations that are printed of one map; --json has all


@dataclass(frozen=True)
class Lint:
    """Find the mirrors and turns that map a MuJoCo model onto itself, and everything that violates them.

    Bodies are matched by their places, joints by their axes; then masses, inertias, geoms, friction, springs, ranges,
    actuators, gravity and the solver are compared. Exit code 0 if nothing is violated (also if there is no symmetry), 1
    if something is, 2 on bad input.
    """

    model: Annotated[str, tyro.conf.Positional]
    """An XML file, a Gymnasium id such as Ant-v5, or dm_control:domain-task such as dm_control:walker-walk."""
    repair: Path | None = None
    """Write a model without the violations that can be repaired to this XML file."""
    take: Literal["mean", "one", "other"] = "mean"
    """What --repair takes where two values differ: their mean, or that of the part named first or second."""
    only: str = ""
    """Look only at this motion, such as 'y → −y' (or 'y -> -y')."""
    confirm: bool = False
    """Let the simulator decide on each violation, the others being repaired: confirmed, or cleared (no effect)."""
    tolerance: float = 1e-6
    """Differences up to this count as equal, relative to the values."""
    states: int = 32
    """States in which the simulator compares a step with its image; 0 to leave that out."""
    seed: int = 0
    """Seed of these states."""
    param: Words = ()
    """Arguments of a Gymnasium environment, as name=value."""
    json: bool = False
    """Print one JSON object."""

    def run(self) -> int:
        """Run the command: 0 if nothing is violated, 1 if something is."""
        from burnside.symmetry.lint import confirm, lint, load_source, repair

        if not 0 <= self.tolerance < 1:
            raise InvalidParameter(f"tolerance must be at least 0 and less than 1, got {self.tolerance}")
        if not 0 <= self.states <= 100_000 or self.seed < 0:
            raise InvalidParameter(f"states must be 0 to 100000 and seed 0 or more, got {self.states} and {self.seed}")
        with progress(f"linting {self.model}"):
            source = load_source(self.model, parse_parameters(self.param))
            report = lint(source, tolerance=self.tolerance, states=self.states, seed=self.seed)
            report = self._chosen(report)
            answers: dict[str, list[Confirmation]] = {}
            if self.confirm:
                answers = {
                    m.motion: confirm(source.model, m, seed=self.seed)
                    for m in report.maps
                    if m.violations and m.order == 2
                }
            repaired = None if self.repair is None else repair(source, self.repair, take=self.take, only=self._motion())
        if self.json:
            print_json(_content(report, answers, repaired))
        else:
            _show(report, answers)
            if repaired is not None:
                _show_repaired(repaired, report)
        return 0 if report.clean else 1

    def _motion(self) -> str:
        return self.only.replace("<->", "↔").replace("->", "→").replace("-", "−") if "→" not in self.only else self.only

    def _chosen(self, report: LintReport) -> LintReport:
        from dataclasses import replace

        if not self.only:
            return report
        fitting = tuple(m for m in report.maps if m.motion in (self.only, self._motion()))
        if not fitting:
            raise UnknownName("motion of this model", self.only, [m.motion for m in report.maps])
        return replace(report, maps=fitting)


def _content(report: LintReport, answers: dict[str, list[Confirmation]], repaired: LintReport | None) -> dict[str, Any]:
    content = report.to_dict()
    for entry in content["maps"]:
        if entry["motion"] in answers:  # in the same order, and what the simulator found besides
            entry["violations"] = [
                answer.violation.to_dict() | {"simulator": answer.verdict, "error": answer.error}
                for answer in answers[entry["motion"]]
            ]
    if repaired is not None:
        content["repaired"] = {"model": repaired.model, "clean": repaired.clean, "maps": repaired.to_dict()["maps"]}
    return content


# ---------------------------------------------------------------------- what is printed


def _show(report: LintReport, answers: dict[str, list[Confirmation]]) -> None:
    console = output()
    count = sum(len(m.violations) for m in report.maps)
    if not report.maps:
        console.print(styled((f"{report.model}: no symmetry", "bold")), soft_wrap=True)
        console.print(f"tried: {', '.join(report.tried)}", soft_wrap=True)
    else:
        motions = f"{len(report.maps)} motion{'s' if len(report.maps) > 1 else ''}"
        verb = "map" if len(report.maps) > 1 else "maps"
        state = ("nothing is violated", "green") if not count else (f"{count} violation{'s' * (count > 1)}", "bold red")
        console.print(styled(f"{report.model}: {motions} {verb} it onto itself, ", state), soft_wrap=True)
    for found in report.maps:
        _show_map(found, answers.get(found.motion, []))
    if report.rejected:
        console.print()
    for motion, why in report.rejected:
        console.print(f"not {motion}: {why}", soft_wrap=True)
    if report.order > 1:
        console.print()
        console.print(f"motions without violations generate a group of order {report.order}", soft_wrap=True)
    if text := report.declaration():
        console.print()
        if report.why_no_observation:
            console.print(f"the observation is left open: {report.why_no_observation}", soft_wrap=True)
        console.print(text, soft_wrap=True)
    if report.maps:
        console.print()
        console.print(
            "This is about the model. Rewards and the end of episodes can distinguish more: burnside check decides.",
            soft_wrap=True,
        )


def _show_map(found: ModelMap, answers: list[Confirmation]) -> None:
    console = output()
    console.print()
    console.print(styled((found.motion, "bold"), f"  (order {found.order})"), soft_wrap=True)
    moves = [f"{new} ← {old}" for new, old in found.joints.items() if new != old]
    console.print(f"joints: {', '.join(moves) if moves else 'all stay'}", soft_wrap=True)
    parts = {"qpos": found.states.qpos, "qvel": found.states.qvel, "ctrl": found.states.ctrl}
    if found.observation is not None:
        parts["observation"] = found.observation
    for name, part in parts.items():
        if part.width:
            console.print(f"{name}: {part}", soft_wrap=True)
    if found.step is not None:
        step = found.step
        where = f", most in {step.where}" if step.where else ""
        console.print(
            f"simulator: a step differs from its image by at most {step.error:.2g}{where} "
            f"({step.states} states, {step.touching} with contacts)",
            soft_wrap=True,
        )
    if not found.violations:
        return
    listed = [(answer.violation, answer.verdict) for answer in answers] or [(v, "") for v in found.violations]
    columns = ["violation", "of", "and", "wanted", "found", "differs by", *(["simulator"] if answers else [])]
    rows = table(*columns)
    for column in rows.columns[1:5]:
        column.justify = "left"
    for violation, verdict in listed[:_ROWS]:
        amount = "–" if violation.amount is None else f"{violation.amount:.4g}"
        cells = [violation.what, violation.one, violation.other, violation.wanted, violation.found, amount]
        rows.add_row(*cells, *([verdict] if answers else []))
    console.print(rows)
    if len(listed) > _ROWS:
        console.print(f"{len(listed) - _ROWS} more in --json", soft_wrap=True)


def _show_repaired(repaired: LintReport, report: LintReport) -> None:
    console = output()
    left = [v for m in repaired.maps for v in m.violations if m.motion in {k.motion for k in report.maps}]
    state = "without violations" if not left else f"with {len(left)} violations left"
    console.print()
    console.print(f"{repaired.model} written, {state}", soft_wrap=True)
    for violation in left[:_ROWS]:
        console.print(f"  {violation}", soft_wrap=True)
