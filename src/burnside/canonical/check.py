"""``check_symmetry``: does a claimed symmetry hold in *any* Gymnasium environment? If not, here is where it fails.

Def. 7 asks for ``r(g·s, g·a) = r(s, a)`` and ``p(g·s' | g·s, g·a) = p(s' | s, a)``. With a transition table this is
checked everywhere; with a state that can be set, on states met by a random walk, by comparing what the action does
there with what its image does in the image of the state; without, on pairs whose image was met as well.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from burnside.canonical.access import open_env, state_access, walk
from burnside.canonical.base import Canonicalizer
from burnside.canonical.canonicity import check_form, check_group
from burnside.canonical.guard import GuardedForm, guarded
from burnside.canonical.invariance import ENOUGH, InvarianceCheck
from burnside.canonical.symmetry import as_symmetry
from burnside.errors import InvalidParameter
from burnside.mdp import Verdict

__all__ = ["EnvVerdict", "check_symmetry"]


@dataclass(frozen=True)
class EnvVerdict(Verdict):
    """What :func:`check_symmetry` found; a :class:`~burnside.mdp.Verdict` with the way it was found.

    Attributes:
        method: ``"table"`` (every pair, from the environment's own ``P``), ``"deterministic"``, ``"two-sample"`` or
            ``"visited pairs"``.
        resolution: for the last two, about the least difference that would be seen in the probability of one outcome,
            or of a number lying below a bound.
        canonical_checked: observations on which the canonical form was checked, with its ``undo``.
    """

    method: str = ""
    resolution: float = 0.0
    canonical_checked: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        found = super().to_dict()
        return found | {
            "method": self.method,
            "resolution": self.resolution,
            "canonical_checked": self.canonical_checked,
        }


def check_symmetry(
    env_or_factory: Any,
    symmetry: Any,
    *,
    samples: int = 1000,
    confidence: float = 0.99,
    seed: int = 0,
    tol: float = 1e-6,
    draws: int = 200,
    canonicalizer: Canonicalizer | None = None,
) -> EnvVerdict:
    """Check reward and transition invariance under the generators; also the canonical form, elements and inverse.

    Args:
        env_or_factory: an environment, a function that makes one, or a registered id. It is stepped and reset.
        symmetry: an :class:`EnvSymmetry`, or any object with its attributes.
        samples: (state, action, generator) that are tried, where there is no table.
        confidence: of the stated failure rate; and 1 − confidence bounds the chance that a true symmetry is refused.
        seed: of the random walk.
        tol: differences up to this (relative to the size of the numbers, if above 1) count as equal.
        draws: outcomes drawn on either side, where the environment is stochastic.
        canonicalizer: default the symmetry's own.

    The environment is judged as it is passed, with its wrappers. Those that remember (frame stacks) have a state that
    cannot be set, so check what is inside them. Time limits are no obstacle. If setting the state does not bring back
    what was seen, nothing is judged: that is an :class:`~burnside.errors.InvalidParameter`.

    >>> from burnside.canonical import known
    >>> verdict = check_symmetry("CartPole-v1", known.cartpole_reflection(), samples=200)
    >>> verdict.ok, verdict.method, verdict.exhaustive, round(verdict.failure_rate, 3)
    (True, 'deterministic', False, 0.023)
    """
    if samples < 1 or draws < ENOUGH or not 0 < confidence < 1 or not tol >= 0:
        raise InvalidParameter(
            f"a check needs samples ≥ 1, draws ≥ {ENOUGH}, a confidence between 0 and 1 and tol ≥ 0, got {samples}, "
            f"{draws}, {confidence} and {tol}"
        )
    if isinstance(seed, int) and seed < 0:
        raise InvalidParameter(f"seed must be 0 or more, not {seed}")
    env, claimed = open_env(env_or_factory), as_symmetry(symmetry)
    rng = np.random.default_rng(seed)
    safe = guarded(claimed)
    access = state_access(env, safe)
    found = InvarianceCheck(env, safe, access, rng, samples, confidence, tol, draws).run()
    form = claimed.canonicalizer if canonicalizer is None else canonicalizer
    canonical_checked = 0
    if found.example is None and (form is not None or claimed.elements is not None or claimed.inverse is not None):
        seen = [pair.observation for pair, _ in itertools.islice(walk(env, None, rng), min(samples, 500))]
        example = check_group(safe, seen, env.action_space, rng, tol)
        if form is not None and example is None:
            canonical_checked, example = check_form(GuardedForm(form), safe, seen, env.action_space, rng, tol)
        if example is not None:
            found.add(example, 0.0, 0.0)
    exhaustive = found.method == "table"
    failed = found.example is not None
    return EnvVerdict(
        ok=not failed,
        exhaustive=exhaustive,
        checked=found.checked,
        eps_r=found.eps_r,
        eps_p=found.eps_p,
        counterexample=found.example,
        tolerance=tol,
        confidence=1.0 if exhaustive else confidence,
        failure_rate=1.0 if failed else 0.0 if exhaustive else 1.0 - (1.0 - confidence) ** (1.0 / found.checked),
        subject=(env, claimed),
        method=found.method,
        resolution=found.resolution,
        canonical_checked=canonical_checked,
    )
