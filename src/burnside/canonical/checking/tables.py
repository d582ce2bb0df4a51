"""Environments with a transition table (toy text): every state that can be reached, every action, every generator.

The table is believed only if what the environment does agrees with it, and nothing around it changes anything.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from burnside._wrappers import transparent
from burnside.canonical.checking.access import Pair, StateAccess
from burnside.canonical.checking.evidence import Deviations, Kind, Place, Stratum, counterexample
from burnside.canonical.checking.tolerance import typical
from burnside.canonical.checking.walks import Visit
from burnside.symmetry.declaration import EnvSymmetry

__all__ = ["agrees_with_walk", "check_table", "has_table"]

_SURE = 1e-6  # a walk less likely than this is not one of the table


def has_table(env: Any, access: StateAccess) -> bool:
    """Whether there is a table that describes the environment as it was passed, with all its wrappers."""
    table = getattr(env.unwrapped, "P", None)
    if not isinstance(table, dict | list) or not isinstance(access.get(env), int) or not transparent(env):
        return False
    try:
        return all(_rows(table[s][a]) for s in range(len(table)) for a in range(len(table[s])))
    except (KeyError, IndexError, TypeError, ValueError):
        return False


def _rows(outcomes: Any) -> bool:
    total = sum(float(p) for p, *_ in outcomes)
    return abs(total - 1) < 1e-6 and all(len(row) == 4 for row in outcomes)


def agrees_with_walk(env: Any, visits: Sequence[Visit]) -> bool:
    """Whether what was seen is what the table says: nothing impossible, and in the right proportions."""
    from scipy import special

    table = env.unwrapped.P
    counts: dict[tuple[int, int], Counter[tuple[int, float, bool]]] = defaultdict(Counter)
    for visit in visits:
        s, a = int(visit.pair.observation), int(visit.pair.action)
        if int(visit.pair.state) != s or s not in range(len(table)) or a not in range(len(table[s])):
            return False
        o = visit.outcome
        counts[s, a][int(o.observation), round(o.reward, 9), o.terminated] += 1
    chi = degrees = 0.0
    for (s, a), seen in counts.items():
        law: dict[tuple[int, float, bool], float] = defaultdict(float)
        for p, successor, reward, over in table[s][a]:
            law[int(successor), round(float(reward), 9), bool(over)] += float(p)
        if any(law.get(key, 0.0) <= 0 for key in seen):
            return False
        n = sum(seen.values())
        often = [key for key in law if n * law[key] >= 5]
        chi += sum((seen[key] - n * law[key]) ** 2 / (n * law[key]) for key in often)
        degrees += max(0, len(often) - 1) if len(often) == len(law) else len(often)
    return degrees == 0 or float(special.chdtrc(degrees, chi)) > _SURE


# ---------------------------------------------------------------------- the check


def check_table(
    env: Any,
    symmetry: EnvSymmetry,
    access: StateAccess,
    tol: float,
    starts: Iterable[int],
    moves: Sequence[int],
    deviations: Deviations,
) -> Stratum:
    """Every pair of a state that can be reached, or is an image of one: ``P[s][a] = [(probability, next, …), …]``."""
    table = env.unwrapped.P
    states = range(len(table))
    scale = float(
        typical(np.array([[float(r)] for s in states for a in range(len(table[s])) for _, _, r, _ in table[s][a]]))[0]
    )
    covered = _closure(table, symmetry, access, starts)
    left_out = len(table) - len(covered)
    stratum = Stratum(Kind("table", "every state of the transition table that can be reached"), complete=True)
    if left_out:
        stratum.skipped["no way leads there, nor to an image of them"] = left_out
    for j in moves:
        g = symmetry.generators[j]
        for s in sorted(covered):
            for a in range(len(table[s])):
                place = Place(Pair(s, s, a), j)
                stratum.places.append(place)
                image = int(access.act(g, s)), int(symmetry.act_on_action(g, a))
                _compare(table, symmetry, access, place, image, tol, scale, stratum, deviations)
    return stratum


def _closure(table: Any, symmetry: EnvSymmetry, access: StateAccess, starts: Iterable[int]) -> set[int]:
    """States that can be reached from the starts, their images, what can be reached from these, and so on."""
    found: set[int] = set()
    todo = [s for s in starts if s in range(len(table))]
    while todo:
        s = todo.pop()
        if s in found:
            continue
        found.add(s)
        follow = {int(t) for a in range(len(table[s])) for p, t, *_ in table[s][a] if p > 0}
        images = {int(access.act(g, s)) for g in symmetry.generators}
        todo += [t for t in follow | images if t in range(len(table)) and t not in found]
    return found


def _compare(
    table: Any,
    symmetry: EnvSymmetry,
    access: StateAccess,
    place: Place,
    image: tuple[int, int],
    tol: float,
    scale: float,
    stratum: Stratum,
    deviations: Deviations,
) -> None:
    g, (s, a) = symmetry.generators[place.j], (place.pair.state, place.pair.action)
    stratum.tested += 1
    if image[0] not in range(len(table)) or image[1] not in range(len(table[image[0]])):
        text = "which is not in the table"
        stratum.add(counterexample("dynamics", "action", place, g, image, 1.0, text, stratum.kind))
        return
    stratum.examined.update(("dynamics", "reward", "termination", "truncation"))
    here = _laws(table[s][a], lambda t: int(access.act(g, t)))
    there = _laws(table[image[0]][image[1]], int)
    moved, ended = _distance(here[0], there[0]), _distance(here[1], there[1])
    paid, paid_law = abs(here[3] - there[3]), _reward_distance(here[2], there[2], tol * scale)
    room = tol * scale + 8 * 2.0**-52 * max(abs(here[3]), abs(there[3]))
    differs = {"dynamics": moved > tol, "reward": paid > room or paid_law > tol, "termination": ended > tol}
    if not any(differs.values()):
        together = _joint_distance(table[s][a], table[image[0]][image[1]], lambda t: int(access.act(g, t)), tol * scale)
        differs["dynamics"], moved = together > tol, max(moved, together)
    deviations.add(np.array([moved]), paid, np.array([differs["dynamics"]]), differs["reward"])
    deviations.ends_apart("terminated", ended)
    said = [_said(table[s][a], lambda t: int(access.act(g, t)))], [_said(table[image[0]][image[1]], int)]
    amounts = {"dynamics": moved, "reward": max(paid, 0.0), "termination": ended}
    texts = {
        "dynamics": f"but the laws of the next state are {moved:.4g} apart in total variation",
        "reward": f"with expected reward {here[3]:.10g} here and {there[3]:.10g} there",
        "termination": f"but the probabilities of termination are {ended:.4g} apart",
    }
    for part, wrong in differs.items():
        if wrong:
            text = (
                f"{texts[part]}: the image of what follows here is {said[0][0]}, and what follows there is {said[1][0]}"
            )
            kind = "transition" if part == "dynamics" else part
            stratum.add(counterexample(part, kind, place, g, image, amounts[part], text, stratum.kind, *said))


Law = dict[Any, float]


def _laws(outcomes: Any, act: Any) -> tuple[Law, Law, list[tuple[float, float]], float]:
    """The laws of the next state, of termination and of the reward, and the mean reward."""
    moved: Law = defaultdict(float)
    ended: Law = defaultdict(float)
    rewards: list[tuple[float, float]] = []
    mean = 0.0
    for p, successor, reward, over in outcomes:
        moved[act(successor)] += float(p)
        ended[bool(over)] += float(p)
        rewards.append((float(reward), float(p)))
        mean += float(p) * float(reward)
    return moved, ended, sorted(rewards), mean


def _distance(one: Law, other: Law) -> float:
    return 0.5 * sum(abs(one.get(k, 0.0) - other.get(k, 0.0)) for k in one.keys() | other.keys())


def _reward_distance(one: list[tuple[float, float]], other: list[tuple[float, float]], width: float) -> float:
    """The largest difference of the two distribution functions, where rewards up to a width apart are the same."""
    points = sorted({r for r, _ in (*one, *other)})
    worst = 0.0
    for k, r in enumerate(points):
        if k + 1 < len(points) and points[k + 1] - r <= width + 8 * 2.0**-52 * abs(r):
            continue
        worst = max(worst, abs(sum(p for x, p in one if x <= r) - sum(p for x, p in other if x <= r)))
    return worst


def _joint_distance(here: Any, there: Any, act: Any, width: float) -> float:
    """The distance of the laws of (next state, reward, termination), with like rewards made equal."""
    points = sorted({float(row[2]) for row in (*here, *there)})
    name: dict[float, int] = {}
    for k, r in enumerate(points):
        near = k > 0 and r - points[k - 1] <= width + 8 * 2.0**-52 * abs(r)
        name[r] = name[points[k - 1]] if near else k
    one: Law = defaultdict(float)
    other: Law = defaultdict(float)
    for law, rows, move in ((one, here, act), (other, there, int)):
        for p, successor, reward, over in rows:
            law[move(successor), name[float(reward)], bool(over)] += float(p)
    return _distance(one, other)


def _said(outcomes: Any, act: Any) -> str:
    merged: dict[tuple[int, float, bool], float] = defaultdict(float)
    for p, successor, reward, over in outcomes:
        merged[act(successor), float(reward), bool(over)] += float(p)
    parts = [
        f"{t} with reward {r:.6g}{' and termination' if over else ''} with probability {p:.4g}"
        for (t, r, over), p in sorted(merged.items())
    ]
    return "; ".join(parts)
