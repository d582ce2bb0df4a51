"""``burnside check``: is this environment symmetric?"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from burnside.cli.console import output, print_json, progress, styled, table
from burnside.cli.models import call_theirs, is_env_id, load_object, make_env, parse_parameters
from burnside.cli.words import Words
from burnside.errors import InvalidParameter

if TYPE_CHECKING:
    from burnside.canonical import EnvVerdict

__all__ = ["Check", "open_environment", "open_symmetry"]

_CODES = {"holds": 0, "refuted": 1, "inconclusive": 3}
_COLOURS = {"holds": "green", "refuted": "bold red", "inconclusive": "yellow"}
_ROWS = 12  # numbers of the observation whose deviations are printed


@dataclass(frozen=True)
class Check:
    """Check a claimed symmetry of a Gymnasium environment: it holds, it is refuted (here is where), or it is open.

    Exit code 0 if it holds, 1 if it is refuted, 3 if it is inconclusive, 2 on bad input. A module:name given here is
    imported, so its code runs.
    """

    env: Annotated[str, tyro.conf.Positional]
    """module:env (an environment, or a function that makes one), or a Gymnasium id such as CartPole-v1."""
    symmetry: str | None = None
    """module:obj: an EnvSymmetry, or a function that returns one (of the environment, if it takes an 'env').
    Default: what the environment declares, else what the atlas knows of it (burnside atlas)."""
    samples: int = 1000
    """States and actions that are tried at places of each kind, where the environment has no transition table."""
    confidence: float = 0.99
    """Confidence of the stated failure rate; the rest is the chance to refute a true symmetry."""
    max_failure_rate: float = 0.01
    """What 'holds' promises: at most this share of the places violates the symmetry."""
    tol: float = 1e-6
    """Differences up to this count as equal, relative to how much that number varies or changes in a step."""
    draws: int = 32
    """Outcomes drawn on either side at first, where the environment is stochastic."""
    seed: int = 0
    """Seed of all that is random in the check."""
    policy: str | None = None
    """module:fn, a function of the observation that returns an action, to go where random play does not."""
    states: str | None = None
    """module:obj, states to check as well: a list, or a function of the environment that returns one."""
    places: Literal["all", "reached", "walk"] = "all"
    """Where to look: everywhere, without states that are only set, or only where random play and the policy go."""
    param: Words = ()
    """Parameters of the environment, as name=value."""
    json: bool = False
    """Print one JSON object."""

    def run(self) -> int:
        """Run the command: 0 if the symmetry holds, 1 if it is refuted, 3 if that could not be decided."""
        from burnside.canonical import check_symmetry  # Gymnasium takes a moment to load

        env = open_environment(self.env, self.param)
        symmetry = open_symmetry(self.symmetry, env, "check")
        policy = None if self.policy is None else load_object(self.policy)
        states = None if self.states is None else load_object(self.states)
        with progress("checking") as update:
            verdict = check_symmetry(
                env,
                symmetry,
                samples=self.samples,
                confidence=self.confidence,
                max_failure_rate=self.max_failure_rate,
                seed=self.seed,
                tol=self.tol,
                draws=self.draws,
                places=self.places,
                policy=policy,
                states=states,
                progress=update,
            )
        if self.json:
            print_json({"env": self.env, "symmetry": self.symmetry or symmetry.name} | verdict.to_dict())
        else:
            _show(verdict, self.env, getattr(symmetry, "name", type(symmetry).__name__))
        return _CODES[verdict.verdict]


def open_environment(reference: str, param: Words) -> Any:
    """The environment that an argument names: a Gymnasium id, or ``module:env``."""
    parameters = parse_parameters(param)
    if is_env_id(reference):
        return make_env(reference, parameters)
    from burnside.canonical.checking.access import open_env

    if ":" not in reference:
        raise InvalidParameter(f"{reference!r} is neither module:env nor a Gymnasium id such as CartPole-v1")
    found = load_object(reference)
    if hasattr(found, "step") and not isinstance(found, type):
        if parameters:
            raise InvalidParameter(f"{reference} is made already: --param needs a function that makes it")
        return open_env(found)
    return open_env(_called(found, reference, parameters))


def open_symmetry(reference: str | None, env: Any, user: str) -> Any:
    """The symmetry that ``--symmetry`` names, or else what the environment declares or the atlas knows."""
    if reference is None:
        from burnside.canonical.declared import known_symmetry

        return known_symmetry(env, user, "--symmetry module:obj")
    if ":" not in reference:
        raise InvalidParameter(f"--symmetry takes module:obj, got {reference!r}")
    found = load_object(reference)
    if callable(found) and not hasattr(found, "act_on_observation"):
        takes_env = "env" in inspect.signature(found).parameters
        found = _called(found, reference, {"env": env} if takes_env else {})
    return found


def _called(function: Any, reference: str, arguments: dict[str, Any]) -> Any:
    if not callable(function):
        raise InvalidParameter(f"{reference} is a {type(function).__name__}: it must be an environment or make one")
    try:
        inspect.signature(function).bind(**arguments)
    except TypeError as error:
        raise InvalidParameter(f"{reference} cannot be called like this: {error}") from None
    except ValueError:  # no signature to be had
        pass
    return call_theirs(function, reference, **arguments)


# ---------------------------------------------------------------------- what is printed


def _show(verdict: EnvVerdict, env: str, name: str) -> None:
    console = output()
    words = {"holds": "holds", "refuted": "is refuted", "inconclusive": "is inconclusive"}
    head = styled(f"{name} of {env}: ", (words[verdict.verdict], _COLOURS[verdict.verdict]))
    console.print(head, soft_wrap=True)
    for line in _lines(verdict):
        console.print(line, soft_wrap=True)
    parts = table("", "verdict", "largest", "median", "share", "places", "")
    parts.columns[-1].justify = "left"
    for key, part in verdict.components.items():
        colour = _COLOURS[part.verdict]
        numbers = (_number(part.eps), _number(part.median), f"{100 * part.share:.3g} %", str(part.samples))
        parts.add_row(key, styled((part.verdict, colour)), *numbers, part.text)
    console.print(parts)
    if rows := _deviations(verdict):
        shown = table("difference of", "largest", "median", "scale", "share")
        for row in rows:
            sizes = (_number(row["largest"]), _number(row["median"]), _number(row["spread"]))
            shown.add_row(row["name"], *sizes, f"{100 * row['share']:.3g} %")
        console.print(shown)
        left = len(verdict.deviations) - len(rows)
        if left > 0:
            console.print(f"{left} other numbers in --json", soft_wrap=True)
    for line in _coverage(verdict):
        console.print(line, soft_wrap=True)


def _number(x: float | None) -> str:
    return "–" if x is None else f"{x:.4g}"


def _lines(verdict: EnvVerdict) -> list[str]:
    how = {
        "table": f"all {verdict.checked} (state, action, generator) of its transition table that matter",
        "deterministic": f"{verdict.checked} (state, action, generator), each outcome compared",
        "two-sample": f"{verdict.checked} (state, action, generator), each with the distribution of outcomes",
        "visited pairs": f"{verdict.checked} visited (observation, action, generator), with what followed them",
        "trajectories": f"{verdict.checked} whole trajectories of random play, with as many images of others",
    }
    lines = [f"method: {verdict.method}, {how[verdict.method]}"]
    if verdict.counterexample is not None:
        lines.append(f"counter-example: {verdict.counterexample}")
    if verdict.verdict == "holds" and verdict.failure_rate > 0:
        rate = f"at most {100 * verdict.failure_rate:.2g} % of the places of each kind violate it"
        lines.append(f"with {100 * verdict.confidence:.4g} % confidence {rate}")
    if verdict.resolution and verdict.verdict != "refuted":
        line = f"a difference of {verdict.resolution:.2g} in the probability of an outcome would be seen at one place"
        if verdict.pooled_resolution:
            line += f", one of {verdict.pooled_resolution:.2g} if all places shared it"
        lines.append(line)
    if verdict.worst is not None and verdict.verdict == "refuted":
        lines.append(f"worst number: {verdict.worst}")
    if verdict.canonical:
        lines.append(f"canonical form and group: {verdict.canonical['verdict']}, {verdict.canonical['text']}")
    lines += [f"note: {note}" for note in verdict.notes]
    if verdict.advice:
        lines.append(f"what would decide it: {verdict.advice}")
    return lines


def _deviations(verdict: EnvVerdict) -> list[dict[str, Any]]:
    """The rows to print: those that differ most by their own scale, in the order of the observation."""

    def size(row: dict[str, Any]) -> float:
        if row["largest"] is None:
            return float("inf")
        return float(row["largest"] / row["spread"]) if row["spread"] else float(row["largest"])

    rows = verdict.deviations
    if len(rows) > _ROWS:
        chosen = sorted(rows, key=size, reverse=True)[:_ROWS]
        rows = [row for row in rows if row in chosen]
    return rows


def _coverage(verdict: EnvVerdict) -> list[str]:
    found = verdict.coverage
    lines = []
    for name, place in found["places"].items():
        skipped = "".join(f"; {count} left out: {why}" for why, count in place["skipped"].items())
        rounding = f"; {place['within_rounding']} within rounding" if place["within_rounding"] else ""
        lines.append(f"{name}: {place['tested']} places ({place['what']}){rounding}{skipped}")
    ends = f"{found['terminated']} terminated, {found['truncated']} truncated"
    longest = found["longest"]
    lines.append(f"random play: {found['episodes']} episodes of up to {longest} steps, {found['steps']} in all, {ends}")
    least = [row for row in found["ranges"] if "share" in row]
    if least:
        worst = min(least, key=lambda row: row["share"])
        lines.append(
            f"least covered: {worst['name']}, reached from {_number(worst['low'])} to {_number(worst['high'])}, "
            f"{100 * worst['share']:.3g} % of its bounds"
        )
    return lines
