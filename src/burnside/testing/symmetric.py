"""``assert_symmetric``: the check as an assertion, which names the coordinate that is worst."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from burnside.canonical.checking.check import check_symmetry
from burnside.canonical.checking.evidence import COMPONENTS
from burnside.canonical.checking.verdict import EnvVerdict
from burnside.errors import InvalidParameter, UnknownName

__all__ = ["assert_symmetric"]

_ENDS = ("termination", "truncation")


def assert_symmetric(
    env: Any,
    symmetry: Any = None,
    *,
    eps: float = 0.0,
    samples: int = 500,
    seed: int = 0,
    components: Sequence[str] = COMPONENTS,
    **options: Any,
) -> EnvVerdict:
    """Fail with an ``AssertionError`` unless an environment has a symmetry; return the verdict of the check.

    Args:
        env: an environment, a function that makes one, or the id of a registered one.
        symmetry: as in :func:`~burnside.canonical.check_symmetry`; default what the environment declares or the atlas
            knows.
        eps: the largest difference that is allowed in any number of the observation and in the reward, in its own
            unit; 0 allows what rounding explains. Ends of episodes must agree in any case.
        samples: places of each kind that are tried.
        seed: of the check, so that the test gives the same answer every time.
        components: what must be symmetric: some of ``dynamics``, ``reward``, ``termination``, ``truncation`` and
            ``reset``, the law of the first observation.
        **options: further ones of :func:`~burnside.canonical.check_symmetry`.

    What the check cannot decide fails too, and the message says what would decide it.

    >>> from burnside.symmetry import EnvSymmetry
    >>> mirror = EnvSymmetry("mirror", "- - - -", "labels 1,0", names=["x", "speed", "angle", "turning"])
    >>> assert_symmetric("CartPole-v1", mirror, samples=100).verdict
    'holds'
    >>> wrong = EnvSymmetry("mirror", "- - - -", "labels 0,1", names=["x", "speed", "angle", "turning"])
    >>> assert_symmetric("CartPole-v1", wrong, samples=100)
    Traceback (most recent call last):
    ...
    AssertionError: mirror is not a symmetry: dynamics refuted; the worst coordinate is speed, which differs by ...
    """
    if not (eps >= 0 and math.isfinite(eps)):
        raise InvalidParameter(f"eps must be a number of 0 or more, got {eps}")
    for name in components:
        if name not in (*COMPONENTS, "reset"):
            raise UnknownName("component", name, (*COMPONENTS, "reset"))
    options.setdefault("max_failure_rate", max(0.01, 5.0 / samples))
    names = getattr(symmetry, "names", None)
    if names:
        options.setdefault("names", names)
    verdict = check_symmetry(env, symmetry, samples=samples, seed=seed, **options)
    wrong = {name: verdict.components[name] for name in components if verdict.components[name].verdict != "holds"}
    form = verdict.canonical.get("verdict") == "refuted"
    if not wrong and not form:
        return verdict
    small = eps > 0 and not form and all(_within(verdict, name, eps) for name in wrong)
    if small:
        return verdict
    raise AssertionError(_message(verdict, wrong, eps, form))


def _within(verdict: EnvVerdict, name: str, eps: float) -> bool:
    """Whether a component that fails does so by at most eps: ends of episodes, and what was not compared, never do."""
    part = verdict.components[name]
    if name in _ENDS or part.eps is None or not part.samples or verdict.method not in ("deterministic", "table"):
        return False
    return part.eps <= eps


def _message(verdict: EnvVerdict, wrong: dict[str, Any], eps: float, form: bool) -> str:
    symmetry = verdict.subject[1] if verdict.subject is not None else None
    name = getattr(symmetry, "name", "") or "this"
    parts = [f"{key} {part.verdict}" for key, part in wrong.items()]
    if form:
        parts.append("the canonical form is none")
    sentences = [f"{name} is not a symmetry: {', '.join(parts)}"]
    refuted = form or any(part.verdict == "refuted" for part in wrong.values())
    if not refuted:
        sentences[0] = f"{name} could not be shown to be a symmetry: {', '.join(parts)}"
    worst = next((row for row in verdict.deviations if row["name"] == verdict.worst), None)
    if worst is not None and worst["largest"]:
        allowed = f" (allowed: {eps:g})" if eps else ""
        sentences.append(
            f"the worst coordinate is {worst['name']}, which differs by {worst['largest']:.4g}{allowed}, at "
            f"{100 * worst['share']:.3g} % of the places"
        )
    sentences += [f"{key}: {part.text}" for key, part in wrong.items() if part.text]
    if refuted and verdict.counterexample is not None:
        sentences.append(str(verdict.counterexample))
    elif verdict.advice:
        sentences.append(f"what would decide it: {verdict.advice}")
    return "; ".join(sentences)
