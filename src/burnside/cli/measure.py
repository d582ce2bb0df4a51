"""``burnside measure``: mistakes of a learner on M and on M̄, or steps of a deep learner with and without a symmetry."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import tyro

from burnside.cli.console import output, print_json, progress, styled, table
from burnside.cli.measure_env import DEEP, check_words, is_deep, measure_env
from burnside.cli.models import SymmetryOptions
from burnside.cli.words import Words
from burnside.errors import BurnsideError, InvalidParameter, UnknownName
from burnside.experiments.atlas.config import CONTROLS, USUAL
from burnside.experiments.mistakes.run import RunArchive, model_settings
from burnside.learning import Comparison, compare
from burnside.learning.learners import practical
from burnside.learning.run import check_delta, check_eps
from burnside.mdp import GraphMDP, Symmetry, TabularMDP
from burnside.report.tables import number
from burnside.runs.job import EngineName

__all__ = ["Measure"]

TabularName = Literal["ubev", "ucbvi", "ucfh", "ucfh-literal"]
TABULAR = ("ubev", "ucbvi", "ucfh", "ucfh-literal")


@dataclass(frozen=True)
class Measure(SymmetryOptions):
    """Measure what a symmetry saves.

    Of a finite model: ε-suboptimal episodes of a tabular learner on M and on its quotient. Of an environment, with a
    deep learner: how many times fewer steps it needs to a sustained threshold, with controls: another fundamental
    domain, the domain's indicator as a feature, and a placebo symmetry that does not hold.
    """

    model: Annotated[str, tyro.conf.Positional]
    """An environment, with --learner ppo or another deep one: a Gymnasium id such as CartPole-v1,
    dm_control:domain-task, tictactoe, or module:function. A table: a name of the zoo (see 'burnside zoo'),
    module:factory, a .json or .npz file, or a Gymnasium toy-text id."""
    learner: str = "ubev"
    """Tables: ubev, ucbvi, ucfh, ucfh-literal (published constants, the episodes of a phase in bulk). Environments:
    ppo, dqn, sac, sb3:PPO, sb3:SAC, sb3:DQN, or module:function(env, arm, symmetry, seed)."""
    arms: str = ",".join(USUAL)
    """Environments: what is done with the symmetry; also augment-random, equivariant, mirror-loss, relaxed."""
    controls: str = ",".join(CONTROLS)
    """Environments: controls, or none."""
    domain: str | None = None
    """Environments: what decides which image the arm canonical shows, a number of the observation or its name;
    default the symmetry's own choice."""
    steps: int | None = None
    """Environments: environment steps of a run; default the study's, else 200000."""
    threshold: float | None = None
    """Environments: the score to be reached; default: 80 % of the way from random to best known."""
    every: int | None = None
    """Environments: steps between evaluations; default the study's, else a sixtieth of the budget."""
    episodes: int = 10
    """Environments: episodes of an evaluation."""
    setting: Words = ()
    """Environments: settings of the learner, as name=value."""
    tune: int = 0
    """Environments: tune baseline, arms and controls equally, by trying this many settings of each, 2 or more."""
    engine: EngineName = "local"
    """Environments: processes of this machine, a Ray cluster, or Slurm."""
    option: Words = ()
    """Environments: options of the engine as KEY=VALUE."""
    track: bool = False
    """Environments: also write the logs for TensorBoard."""
    eps: float = 0.1
    """Accuracy ε as a fraction of R*; below 1, unless there are negative rewards."""
    absolute: bool = False
    """Take --eps in the units of the return, not as a fraction of R*; needed where R* is not positive."""
    delta: float = 0.1
    """Confidence δ."""
    seeds: int = 10
    """Number of seeds."""
    scale: float | None = None
    """Width factor c of UBEV and UCBVI, or factor on UCFH's m; default: UBEV's practical one for this size."""
    width: Literal["heuristic", "provable"] = "heuristic"
    """UBEV's width: the span of its optimistic values (no guarantee), or H − t (Uniform-PAC with scale 1)."""
    max_episodes: int | None = None
    """Budget of a run; a run that spends it is marked as capped."""
    workers: int = 2
    """Tables: threads. Environments: processes."""
    runs: Path = Path("runs/measure")
    """Folder that keeps finished runs; the same command resumes where it stopped."""
    fresh: bool = False
    """Ignore and do not write kept runs."""
    json: bool = False
    """Print one JSON object."""

    def run(self) -> int:
        """Run the command."""
        if is_deep(self.learner):
            self._refuse(_OF_TABLES, "measures an environment", "it is for tables")
            check_words(self)
            return measure_env(self)
        if self.learner not in TABULAR:
            raise UnknownName("learner", self.learner, (*TABULAR, *DEEP))
        self._refuse(_OF_ENVIRONMENTS, "measures a table", "it is for environments")
        check_eps(self.eps), check_delta(self.delta)  # before a run is named by them
        model = self._table()
        symmetry = self.load_symmetry(model)
        if not isinstance(model, TabularMDP) or not isinstance(symmetry, Symmetry):
            raise InvalidParameter(f"{model.name} is too large to enumerate: mistakes are measured on tables")
        if self.eps >= 1 and not self.absolute and float(model.R.min()) >= 0:
            raise InvalidParameter(
                f"eps is a fraction of R*, and rewards of {model.name} are never negative: with {self.eps:g} of R* no "
                f"policy is a mistake, so give a fraction below 1"
            )
        options: dict[str, Any] = {"width": self.width} if self.learner == "ubev" else {}
        scale = self.scale
        if scale is None and self.learner == "ubev" and self.width == "heuristic":
            scale = practical(model.n_pairs).scale
        settings = {"learner": self.learner, "scale": scale, "eps": self.eps, "delta": self.delta, **options}
        if self.absolute:
            settings["absolute"] = True
        about = model_settings(model, symmetry, settings, self.max_episodes)
        archive = None if self.fresh else RunArchive(self.runs, about)
        with progress(f"measuring {model.name}") as update:
            found = compare(
                model,
                symmetry,
                cast("TabularName", self.learner),
                self.eps,
                self.delta,
                seeds=self.seeds,
                workers=self.workers,
                progress=update,
                absolute=self.absolute,
                scale=scale,
                max_episodes=self.max_episodes,
                archive=archive,
                **options,
            )
        if self.json:
            print_json(found.to_dict())
        else:
            _show(found)
        return 0

    def _table(self) -> TabularMDP | GraphMDP:
        """The model; whoever names an environment that has no table learns what to add."""
        try:
            return self.load_model()
        except BurnsideError as error:
            if "transition table" not in str(error):
                raise
            raise InvalidParameter(
                f"{self.model} has no transition table: add --learner ppo (or dqn, sac, sb3:PPO, …) to measure it "
                f"with a deep learner"
            ) from None

    def _refuse(self, names: tuple[str, ...], what: str, why: str) -> None:
        """Refuse options that would do nothing."""
        usual = {field.name: field.default for field in fields(self)}
        for name in names:
            if getattr(self, name) != usual[name]:
                option = f"--{name.replace('_', '-')}"
                more = "; for new runs give another folder with --runs" if name == "fresh" else ""
                raise InvalidParameter(f"--learner {self.learner} {what}: leave out {option}, {why}{more}")


#: Options that say nothing about the other kind: given there, they would be overlooked.
_OF_TABLES = (
    "n", "d", "horizon", "terminal_actions", "eps", "absolute", "delta", "scale", "width", "max_episodes", "fresh",
)  # fmt: skip
_OF_ENVIRONMENTS = (
    "arms", "controls", "domain", "steps", "threshold", "every", "episodes", "setting", "tune", "engine", "option",
    "track",
)  # fmt: skip


def _show(found: Comparison) -> None:
    plain = found.to_dict()
    console = output()
    console.print(styled((found.name, "bold"), f": {found.label}"), soft_wrap=True)
    if found.terminal_states:
        console.print(f"{found.terminal_states} states are terminal: nothing is chosen there, so they have no pairs")
    best = plain["best"]
    share = f"{plain['eps'] / best:.3g} of " if best > 0 else ""
    console.print(f"ε = {plain['eps']:.4g} ({share}R* = {best:.4g}), δ = {plain['delta']:g}")
    rows = table("seed", "mistakes on M", "on the quotient")
    mistakes = plain["mistakes"]
    for seed, on_m, on_quotient in zip(plain["seeds"], mistakes["M"], mistakes["quotient"], strict=True):
        rows.add_row(str(seed), str(on_m), str(on_quotient))
    console.print(rows)
    ratio = found.ratio
    if ratio.low is not None and ratio.high is not None:
        interval = f"95 % interval {number(ratio.low)} to {number(ratio.high)}"
    elif ratio.bound == "at least" and ratio.low is not None:
        interval = f"runs on M spent their budget: 95 % lower limit {number(ratio.low)}, no upper one"
    elif ratio.bound == "at most" and ratio.high is not None:
        interval = f"runs on the quotient spent their budget: 95 % upper limit {number(ratio.high)}, no lower one"
    else:
        interval = "not decided: runs of both spent their budget" if ratio.bound else "no interval"
    console.print(f"ratio of means: {number(ratio.value)}   ({interval})")
    predictions = table("prediction", "factor", "off by")
    names = {
        "reachable": "joint orbits, reachable",
        "joint": "joint orbits",
        "order": "order |G| on the reachable pairs",
        "paper": "paper's factor",
    }
    for key, label in names.items():
        value, off = getattr(found, key), found.errors[key]
        predictions.add_row(label, number(value), "–" if off is None or not math.isfinite(off) else f"{off:.2f}×")
    console.print(predictions)
    if not ratio.value > 0 or math.isinf(ratio.value):
        console.print("a side made no mistake, so there is no ratio: give a smaller ε")
    capped = plain["capped"]["M"] + plain["capped"]["quotient"]
    if capped:
        console.print(f"{capped} runs spent their budget before the plateau: rare late mistakes may be missing there")
    if len(plain["seeds"]) < 2:
        console.print("a single seed: there is no interval")
