"""Environments with a transition table (toy text): every state, action and generator, exactly."""

from __future__ import annotations

import itertools
from typing import Any

from burnside._wrappers import transparent
from burnside.canonical.access import Pair, StateAccess
from burnside.canonical.findings import Findings, example
from burnside.canonical.symmetry import EnvSymmetry

__all__ = ["check_table", "has_table"]


def has_table(env: Any, access: StateAccess) -> bool:
    """Whether there is a table that describes the environment as it was passed, with all its wrappers."""
    table = getattr(env.unwrapped, "P", None)
    return isinstance(table, dict | list) and isinstance(access.get(env), int) and transparent(env)


def check_table(env: Any, symmetry: EnvSymmetry, access: StateAccess, tol: float) -> Findings:
    """Every state, action and generator, from ``P[s][a] = [(probability, next, reward, terminated), …]``."""
    table = env.unwrapped.P
    found = Findings("table")
    states = range(len(table))
    for (j, g), s in itertools.product(enumerate(symmetry.generators), states):
        for a in range(len(table[s])):
            found.checked += 1
            image = int(access.act(g, s)), int(symmetry.act_on_action(g, a))
            pair = Pair(s, s, a)
            if image[0] not in states or image[1] not in range(len(table[image[0]])):
                found.add(example("action", j, g, pair, image, 1.0, "which is not in the table"), 0.0, 1.0)
                continue
            law, mean = _law(table[s][a], lambda t, g=g: int(access.act(g, t)))
            other, other_mean = _law(table[image[0]][image[1]], int)
            distance = 0.5 * sum(abs(law.get(k, 0.0) - other.get(k, 0.0)) for k in law.keys() | other.keys())
            if abs(mean - other_mean) > tol:
                text = f"with expected reward {mean:.6g} here and {other_mean:.6g} there"
                amount, kind = abs(mean - other_mean), "reward"
            elif distance > tol:
                k = max(sorted(law.keys() | other.keys()), key=lambda k: abs(law.get(k, 0.0) - other.get(k, 0.0)))
                ending = " and ends" if k[2] else ""
                text = (
                    f"but the image of what happens here reaches {k[0]} with reward {k[1]:.6g}{ending} with "
                    f"probability {law.get(k, 0.0):.6g}, and there it is {other.get(k, 0.0):.6g}"
                )
                amount, kind = distance, "transition"
            else:
                continue
            found.add(example(kind, j, g, pair, image, amount, text), abs(mean - other_mean), distance)
    return found


def _law(outcomes: Any, act: Any) -> tuple[dict[tuple[int, float, bool], float], float]:
    law: dict[tuple[int, float, bool], float] = {}
    mean = 0.0
    for p, successor, reward, over in outcomes:
        key = (act(successor), round(float(reward), 9), bool(over))
        law[key] = law.get(key, 0.0) + float(p)
        mean += float(p) * float(reward)
    return law, mean
