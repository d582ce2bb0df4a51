"""``burnside check``: is this environment symmetric?"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from burnside.cli.console import output, print_json
from burnside.cli.models import _parameter, call_theirs, load_object
from burnside.errors import InvalidParameter, MissingExtra

if TYPE_CHECKING:
    from burnside.canonical import EnvVerdict

__all__ = ["Check"]


@dataclass(frozen=True)
class Check:
    """Check a claimed symmetry of a Gymnasium environment; if it fails, print where."""

    env: Annotated[str, tyro.conf.Positional]
    """module:env (an environment, or a function that makes one), or a Gymnasium id such as CartPole-v1."""
    symmetry: str
    """module:obj: an EnvSymmetry, or a function that returns one (of the environment, if it takes an 'env')."""
    samples: int = 1000
    """States and actions that are tried, where the environment has no transition table."""
    confidence: float = 0.99
    """Confidence of the stated failure rate."""
    seed: int = 0
    """Seed of the random walk."""
    param: tuple[str, ...] = ()
    """Parameters of the environment, as name=value."""
    json: bool = False
    """Print one JSON object."""

    def run(self) -> int:
        """Run the command: 0 if the symmetry holds, 1 if it does not."""
        from burnside.canonical import check_symmetry  # Gymnasium takes a moment to load

        env = self._env()
        symmetry = self._symmetry(env)
        verdict = check_symmetry(env, symmetry, samples=self.samples, confidence=self.confidence, seed=self.seed)
        if self.json:
            print_json({"env": self.env, "symmetry": self.symmetry} | verdict.to_dict())
        else:
            output().print(_text(verdict, symmetry), soft_wrap=True, markup=False)
        return 0 if verdict.ok else 1

    def _env(self) -> Any:
        parameters = dict(_parameter(text) for text in self.param)
        if re.search(r"-v\d+$", self.env):
            try:
                import gymnasium

                import burnside.envs  # noqa: F401  # so that our own ids are known
            except ImportError:
                raise MissingExtra("gymnasium", "envs") from None
            try:
                return gymnasium.make(self.env, **parameters)
            except Exception as error:  # whatever its constructor raises
                raise InvalidParameter(f"Gymnasium cannot make {self.env!r}: {error}") from None
        from burnside.canonical.access import open_env

        if ":" not in self.env:
            raise InvalidParameter(f"{self.env!r} is neither module:env nor a Gymnasium id such as CartPole-v1")
        found = load_object(self.env)
        if hasattr(found, "step") and not isinstance(found, type):
            if parameters:
                raise InvalidParameter(f"{self.env} is made already: --param needs a function that makes it")
            return open_env(found)
        return open_env(_called(found, self.env, parameters))

    def _symmetry(self, env: Any) -> Any:
        if ":" not in self.symmetry:
            raise InvalidParameter(f"--symmetry takes module:obj, got {self.symmetry!r}")
        found = load_object(self.symmetry)
        if callable(found) and not hasattr(found, "act_on_observation"):
            takes_env = "env" in inspect.signature(found).parameters
            found = _called(found, self.symmetry, {"env": env} if takes_env else {})
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


def _text(verdict: EnvVerdict, symmetry: Any) -> str:
    name = getattr(symmetry, "name", type(symmetry).__name__)
    how = {
        "table": f"all {verdict.checked} (state, action, generator) of its transition table",
        "deterministic": f"{verdict.checked} sampled (state, action, generator)",
        "two-sample": f"outcome distributions of {verdict.checked} sampled (state, action, generator)",
        "visited pairs": f"outcome distributions of {verdict.checked} visited (observation, action, generator)",
    }[verdict.method]
    if verdict.counterexample is not None:
        return f"{name} is NOT a symmetry of this environment: {verdict.counterexample}"
    lines = [f"{name} holds: {how}"]
    if not verdict.exhaustive:
        rate = f"at most {100 * verdict.failure_rate:.2g} % of such triples violate it"
        lines.append(f"with {100 * verdict.confidence:.4g} % confidence {rate}")
    if verdict.resolution:
        what = "in the probability of one outcome, or of a number below a bound,"
        lines.append(f"differences {what} of less than about {verdict.resolution:.2g} would go unseen")
    if verdict.canonical_checked:
        lines.append(f"its canonical form is one: {verdict.canonical_checked} observations, and their images")
    elif getattr(symmetry, "canonicalizer", None) is not None:
        lines.append("its canonical form is one, but its undo could not be checked: list the elements of the group")
    return "\n".join(lines)
