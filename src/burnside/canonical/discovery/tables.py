"""Environments whose states and actions are labels, with a transition table: all relabellings that change nothing.

Every permutation of the *actions* that keeps what each of them can pay is tried. Whether a permutation of the states
goes with it is found by colour refinement: states get the colour of what their actions lead to, round after round, in
the table and in the relabelled table at once; where colours leave a choice, one state is tried after the other.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np

from burnside._types import IntArray
from burnside.canonical.checking.check import check_symmetry
from burnside.canonical.discovery.groups import generated
from burnside.canonical.discovery.results import Budget, Discovery, Found, components_of
from burnside.errors import BurnsideError, InvalidParameter
from burnside.symmetry import EnvSymmetry, Labels

__all__ = ["discover_table", "has_labels"]

_ACTIONS = 5040  # permutations of the actions
_STATES = 2000
_EACH = 24  # permutations of states that are looked for with one permutation of the actions
_NODES = 2000  # of the search, for one permutation of the actions

_Outcomes = tuple[tuple[float, float, bool, int], ...]


def has_labels(env: Any) -> bool:
    """Whether observations are labels of states that a table describes."""
    from gymnasium import spaces

    table = getattr(env.unwrapped, "P", None)
    labels = isinstance(env.observation_space, spaces.Discrete) and isinstance(env.action_space, spaces.Discrete)
    return labels and isinstance(table, dict | list)


def discover_table(env: Any, name: str = "", *, samples: int = 500, seed: int = 0) -> Discovery:
    """All permutations of states and actions that keep the table, checked pair by pair.

    >>> import gymnasium as gym
    >>> found = discover_table(gym.make("FrozenLake-v1", desc=["SFF", "FFF", "FFG"]))
    >>> [(entry.order, entry.generators, entry.verdict) for entry in found.found]
    [(2, (('0,3,6,1,4,7,2,5,8', '3,2,1,0'),), 'holds')]
    """
    began = time.process_time()
    table = _read(env.unwrapped.P)
    n, m = len(table), len(table[0])
    if n > _STATES:
        raise InvalidParameter(f"{name or 'the environment'} has {n} states, and discovery takes tables of {_STATES}")
    reached = _reachable(env, table)
    tried, pairs = 0, []
    for action in _action_permutations(table, reached, m):
        tried += 1
        for state in _state_permutations(table, reached, action):
            if (state != np.arange(n)).any() or (action != np.arange(m)).any():
                pairs.append((state, action))
    together = [np.concatenate([state, action + n]) for state, action in pairs]
    what = f"permutations of {len(reached)} states that can be reached and of {m} actions, {tried} of the actions"
    found: list[Found] = []
    refuted: list[Found] = []
    checks = 0
    if together:
        made = generated(together)
        chosen = [pairs[k] for k in made.kept]
        texts = tuple((str(Labels(s)), str(Labels(a))) for s, a in chosen)
        start, first = int(env.observation_space.start), int(env.action_space.start)
        symmetry = EnvSymmetry(
            made.group([together[k] for k in made.kept]),
            [Labels(s, start) for s, _ in chosen],
            [Labels(a, first) for _, a in chosen],
        )
        checks = 1
        blank = Found(made.name, made.order, texts, "inconclusive", evidence="table", symmetry=symmetry)
        entry = _checked(env, blank, samples, seed)
        (refuted if entry.verdict == "refuted" else found).append(entry)
    undecided = tuple(entry for entry in found if entry.verdict == "inconclusive")
    spent = Budget(n * m, {"relabellings": len(pairs)}, checks, 0, samples, time.process_time() - began, 0.0)
    held = tuple(entry for entry in found if entry.verdict == "holds")
    return Discovery(name, held, tuple(refuted), undecided, what, spent)


def _checked(env: Any, blank: Found, samples: int, seed: int) -> Found:
    from dataclasses import replace

    try:
        verdict = check_symmetry(env, blank.symmetry, samples=samples, seed=seed)
    except BurnsideError as error:
        return replace(blank, why=str(error))
    parts, eps = components_of(verdict)
    why = str(verdict.counterexample) if verdict.counterexample is not None else verdict.advice
    evidence = "table" if verdict.method == "table" else "simulator"
    return replace(blank, verdict=verdict.verdict, components=parts, eps=eps, evidence=evidence, why=why)


# ---------------------------------------------------------------------- the table


def _read(table: Any) -> list[list[_Outcomes]]:
    """For every state and action its outcomes: probability, reward, end, next state; equal ones are put together."""
    found = []
    for s in range(len(table)):
        row = []
        for a in range(len(table[s])):
            together: dict[tuple[float, bool, int], float] = defaultdict(float)
            for probability, after, reward, over in table[s][a]:
                together[round(float(reward), 9), bool(over), int(after)] += float(probability)
            row.append(tuple(sorted((round(p, 9), r, end, t) for (r, end, t), p in together.items() if p > 0)))
        found.append(row)
    if len({len(row) for row in found}) != 1:
        raise InvalidParameter("the table offers different numbers of actions in different states")
    return found


def _reachable(env: Any, table: list[list[_Outcomes]]) -> list[int]:
    """States that can be reached; with all states as starts where the environment does not tell."""
    given = getattr(env.unwrapped, "initial_state_distrib", None)
    starts = range(len(table)) if given is None else np.flatnonzero(np.asarray(given) > 0).tolist()
    seen, queue = set(starts), list(starts)
    for s in queue:  # which grows meanwhile
        for outcomes in table[s]:
            for _, _, over, after in outcomes:
                if after not in seen:
                    seen.add(after)
                    if not over:
                        queue.append(after)
    return sorted(seen)


def _action_permutations(table: list[list[_Outcomes]], reached: list[int], m: int) -> Iterator[IntArray]:
    """Permutations of actions that can do the same, each as what action a becomes."""
    shapes = [Counter(tuple((p, r, end) for p, r, end, _ in table[s][a]) for s in reached) for a in range(m)]
    classes: dict[Any, list[int]] = defaultdict(list)
    for a, shape in enumerate(shapes):
        classes[frozenset(shape.items())].append(a)
    count = 0

    def choose(left: list[list[int]], made: dict[int, int]) -> Iterator[IntArray]:
        nonlocal count
        if not left:
            yield np.array([made[a] for a in range(m)], dtype=np.int64)
            return
        for image in permutations(left[0]):
            if count > _ACTIONS:
                return
            count += 1
            yield from choose(left[1:], made | dict(zip(left[0], image, strict=True)))

    yield from choose(list(classes.values()), {})


def _state_permutations(table: list[list[_Outcomes]], reached: list[int], action: IntArray) -> Iterator[IntArray]:
    """Permutations of the states that go with one of the actions; states that are never reached stay."""
    n = len(table)
    stack: list[tuple[dict[int, int], dict[int, int]]] = [(dict.fromkeys(reached, 0), dict.fromkeys(reached, 0))]
    found = nodes = 0
    while stack and found < _EACH and nodes < _NODES:
        nodes += 1
        here, there = stack.pop()
        refined = _refined(table, here, there, action)
        if refined is None:
            continue
        here, there = refined
        classes, images = _by_colour(here), _by_colour(there)
        open_ = [colour for colour, states in classes.items() if len(states) > 1]
        if not open_:
            image = np.arange(n)
            for colour, (s,) in classes.items():
                image[s] = images[colour][0]
            found += 1
            yield image
            continue
        colour = min(open_, key=lambda c: len(classes[c]))
        s, fresh = classes[colour][0], 1 + max(here.values())
        for t in reversed(images[colour]):
            stack.append((here | {s: fresh}, there | {t: fresh}))


def _by_colour(colours: dict[int, int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for s, colour in colours.items():
        found[colour].append(s)
    return found


def _refined(
    table: list[list[_Outcomes]], here: dict[int, int], there: dict[int, int], action: IntArray
) -> tuple[dict[int, int], dict[int, int]] | None:
    """Colours that what follows does not split any more; None as soon as both sides differ."""
    count = len(set(here.values()))
    order = action.tolist()
    while True:
        sides = []
        for colours, taken in ((here, range(len(order))), (there, order)):
            sides.append({s: (c, _signature(table[s], colours, taken)) for s, c in colours.items()})
        if Counter(sides[0].values()) != Counter(sides[1].values()):
            return None
        numbers = {key: k for k, key in enumerate(dict.fromkeys(sides[0].values()))}
        here, there = ({s: numbers[key] for s, key in side.items()} for side in sides)
        if len(numbers) == count:
            return here, there
        count = len(numbers)


def _signature(row: list[_Outcomes], colours: dict[int, int], taken: Any) -> Any:
    return tuple(tuple(sorted((p, r, end, colours.get(t, -1)) for p, r, end, t in row[a])) for a in taken)
