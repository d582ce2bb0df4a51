"""What several tests of ``mdp`` share: oracles that use no library code, and random MDPs with planted symmetries."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from burnside.errors import BurnsideError
from burnside.mdp import Symmetry, TabularMDP, zoo

Perm = tuple[int, ...]


def one_sentence(error: type[BurnsideError], call: Callable[[], Any], *words: str) -> str:
    """The message of the error that ``call`` must raise: one line that mentions what to fix."""
    with pytest.raises(error) as caught:
        call()
    text = str(caught.value)
    assert isinstance(caught.value, BurnsideError)
    assert text.strip() and "\n" not in text, text
    for word in words:
        assert word.lower() in text.lower(), f"{word!r} is missing from: {text}"
    return text


# ---------------------------------------------------------------------- orbits without the library


def classes(generators: Iterable[Any], n: int) -> list[int]:
    """Orbit label of every point, numbered by first member; plain breadth-first search over the generators."""
    rows = [list(map(int, g)) for g in generators]
    neighbours: list[set[int]] = [set() for _ in range(n)]
    for row in rows:
        for i, j in enumerate(row):
            neighbours[i].add(j)
            neighbours[j].add(i)
    labels, count = [-1] * n, 0
    for start in range(n):
        if labels[start] >= 0:
            continue
        queue = [start]
        labels[start] = count
        while queue:
            for j in neighbours[queue.pop()]:
                if labels[j] < 0:
                    labels[j] = count
                    queue.append(j)
        count += 1
    return labels


def coarser(coarse: Iterable[Any], fine: Iterable[Any]) -> bool:
    """Whether every class of ``fine`` lies in one class of ``coarse``."""
    image: dict[Any, Any] = {}
    return all(image.setdefault(f, c) == c for c, f in zip(coarse, fine, strict=True))


def same_partition(a: Iterable[Any], b: Iterable[Any]) -> bool:
    """Whether two labellings have the same classes."""
    a, b = list(a), list(b)
    return coarser(a, b) and coarser(b, a)


def closure(generators: list[Perm]) -> list[Perm]:
    """All elements of a small permutation group."""
    identity = tuple(range(len(generators[0])))
    seen, queue = {identity}, [identity]
    while queue:
        g = queue.pop()
        for h in generators:
            image = tuple(h[i] for i in g)
            if image not in seen:
                seen.add(image)
                queue.append(image)
    return sorted(seen)


# ---------------------------------------------------------------------- dense views


def dense(mdp: TabularMDP) -> tuple[np.ndarray, np.ndarray]:
    """``P`` as a dense (pairs, states) array and ``R`` as (times, pairs)."""
    return np.asarray(mdp.P.todense()), np.atleast_2d(mdp.R)


def violation(mdp: TabularMDP, g_states: Any, g_pairs: Any) -> tuple[np.ndarray, np.ndarray]:
    """By hand, per pair: largest reward difference over time, and total variation, between a pair and its image."""
    P, R = dense(mdp)
    gs, gp = np.asarray(g_states), np.asarray(g_pairs)
    rewards = np.abs(R[:, gp] - R).max(axis=0)
    moved = np.zeros_like(P)
    moved[:, gs] = P  # p(c | s, a) moved to column g·c
    return rewards, 0.5 * np.abs(P[gp] - moved).sum(axis=1)


def induction(mdp: TabularMDP) -> np.ndarray:
    """V* by plain loops over dense arrays; shape (H+1, states)."""
    P, R = dense(mdp)
    own = [[i for i in range(mdp.n_pairs) if mdp.pair_state[i] == s] for s in range(mdp.n_states)]
    V = np.zeros((mdp.H + 1, mdp.n_states))
    for t in reversed(range(mdp.H)):
        q = R[t if mdp.time_dependent else 0] + P @ V[t + 1]
        for s in range(mdp.n_states):
            V[t, s] = max((q[i] for i in own[s]), default=0.0)
    return V


def random_policy(mdp: TabularMDP, rng: np.random.Generator) -> np.ndarray:
    """A random stochastic policy, shape (H, pairs)."""
    weights = rng.random((mdp.H, mdp.n_pairs)) + 0.01
    total = np.stack([np.bincount(mdp.pair_state, weights=row, minlength=mdp.n_states) for row in weights])
    return weights / total[:, mdp.pair_state]


# ---------------------------------------------------------------------- planted symmetries

GROUPS: dict[str, list[Perm]] = {
    "Z2": [(1, 0)],
    "Z3": [(1, 2, 0)],
    "Z4": [(1, 2, 3, 0)],
    "S3": [(1, 2, 0), (1, 0, 2)],
    "V4": [(1, 0, 3, 2), (2, 3, 0, 1)],
    "D4": [(1, 2, 3, 0), (0, 3, 2, 1)],
    "Z2xZ3": [(1, 0, 2, 3, 4), (0, 1, 3, 4, 2)],
}

#: Sets on which a permutation group acts: its elements, and the image of one of them.
SETS: dict[str, tuple[Callable[[list[Perm]], list[Hashable]], Callable[[Perm, Any], Hashable]]] = {
    "none": (lambda G: [], lambda g, x: x),
    "fixed": (lambda G: [0], lambda g, x: x),
    "two fixed": (lambda G: [0, 1], lambda g, x: x),
    "points": (lambda G: list(range(len(G[0]))), lambda g, x: g[x]),
    "subsets": (
        lambda G: [frozenset(c) for c in itertools.combinations(range(len(G[0])), 2)],
        lambda g, x: frozenset(g[i] for i in x),
    ),
    "regular": (lambda G: list(G), lambda g, x: tuple(g[i] for i in x)),
}


@dataclass
class Planted:
    """A random MDP, the group planted in it, and all elements of that group as (states, pairs)."""

    mdp: TabularMDP
    symmetry: Symmetry
    elements: list[tuple[np.ndarray, np.ndarray]] = field(repr=False)

    @property
    def orbits(self) -> tuple[list[int], list[int]]:
        """Labels of the planted orbits of states and pairs."""
        states = classes((g for g, _ in self.elements), self.mdp.n_states)
        return states, classes((g for _, g in self.elements), self.mdp.n_pairs)


def plant(
    seed: int,
    group: str = "S3",
    state_sets: tuple[str, ...] = ("points", "fixed"),
    action_sets: tuple[str, ...] = ("points", "two fixed"),
    horizon: int = 3,
    timed: bool = False,
    density: float = 0.4,
) -> Planted:
    """A random MDP on the union of ``state_sets``, block k admitting ``action_sets[k]``; G acts diagonally on pairs.

    States are renumbered at random and action labels permuted at random in each state, so that the relabelling of
    actions depends on the state. Kernel and rewards are random and then averaged over the group.
    """
    rng = np.random.default_rng(seed)
    G = closure(GROUPS[group])
    points: list[tuple[int, Any]] = []
    for k, name in enumerate(state_sets):
        points += [(k, x) for x in SETS[name][0](G)]
    numbers = rng.permutation(len(points))
    state_of = {p: int(numbers[i]) for i, p in enumerate(points)}
    labels: dict[tuple[int, Any, Any], int] = {}
    for k, x in points:
        actions = SETS[action_sets[k % len(action_sets)]][0](G)
        for a, label in zip(actions, rng.permutation(len(actions) + 1), strict=False):
            labels[k, x, a] = int(label)
    pairs = sorted(labels, key=lambda p: (state_of[p[0], p[1]], labels[p]))
    pair_of = {p: i for i, p in enumerate(pairs)}

    def images(g: Perm) -> tuple[np.ndarray, np.ndarray]:
        on_states, on_pairs = np.empty(len(points), dtype=np.int64), np.empty(len(pairs), dtype=np.int64)
        for k, x in points:
            on_states[state_of[k, x]] = state_of[k, SETS[state_sets[k]][1](g, x)]
        for k, x, a in pairs:
            moved = SETS[action_sets[k % len(action_sets)]][1](g, a)
            on_pairs[pair_of[k, x, a]] = pair_of[k, SETS[state_sets[k]][1](g, x), moved]
        return on_states, on_pairs

    elements = [images(g) for g in G]
    raw = rng.random((len(pairs), len(points))) * (rng.random((len(pairs), len(points))) < density)
    raw[np.arange(len(pairs)), rng.integers(len(points), size=len(pairs))] += 0.5
    rewards = rng.random((horizon if timed else 1, len(pairs)))
    P, R = np.zeros_like(raw), np.zeros_like(rewards)
    for gs, gp in elements:
        P += raw[gp][:, gs]
        R += rewards[:, gp]
    P /= P.sum(axis=1, keepdims=True)
    R /= len(elements)
    p0 = rng.random(len(points))
    mdp = TabularMDP(
        P,
        R if timed else R[0],
        p0 / p0.sum(),
        horizon,
        pair_state=[state_of[k, x] for k, x, _ in pairs],
        pair_action=[labels[p] for p in pairs],
        name=f"planted {group} {seed}",
    )
    generators = [images(g) for g in GROUPS[group]]
    symmetry = Symmetry([g for g, _ in generators], [g for _, g in generators], name=group)
    return Planted(mdp, symmetry, elements)


def shuffled(mdp: TabularMDP, rng: np.random.Generator) -> tuple[TabularMDP, np.ndarray]:
    """The same MDP with states renumbered and action labels permuted in each state; and every state's new number."""
    P, R = dense(mdp)
    new = rng.permutation(mdp.n_states)
    width = mdp.n_actions
    label = np.stack([rng.permutation(width) for _ in range(mdp.n_states)])
    columns = np.empty_like(P)
    columns[:, new] = P
    p0 = np.empty(mdp.n_states)
    p0[new] = mdp.p0
    return (
        TabularMDP(
            columns,
            R if mdp.time_dependent else R[0],
            p0,
            mdp.H,
            pair_state=new[mdp.pair_state],
            pair_action=label[mdp.pair_state, mdp.pair_action],
            name=f"shuffled {mdp.name}",
        ),
        new,
    )


# ---------------------------------------------------------------------- the zoo

#: Small members of every family, by a name for the test's id.
ZOO: dict[str, Callable[[], TabularMDP]] = {
    "ring 5": lambda: zoo.ring(5),
    "ring 6": lambda: zoo.ring(6, horizon=7, end_reward=3.0),
    "slip-ring 5": lambda: zoo.slip_ring(5),
    "slip-ring 8": lambda: zoo.slip_ring(8, goal="fixed"),
    "fig2": lambda: zoo.fig2(),
    "fig2 doubled": lambda: zoo.fig2(duplicates=True),
    "grid 3": lambda: zoo.grid(3),
    "grid 5": lambda: zoo.grid(5),
    "torus 3": lambda: zoo.torus(3),
    "torus 4": lambda: zoo.torus(4),
    "hypercube 1": lambda: zoo.hypercube(1),
    "hypercube 2": lambda: zoo.hypercube(2),
    "hypercube 4": lambda: zoo.hypercube(4),
    "river 1": lambda: zoo.river(1),
    "river 5": lambda: zoo.river(5),
    "river-product 2": lambda: zoo.river_product(2, 3),
    "river-product 3": lambda: zoo.river_product(),
    "bandit 2": lambda: zoo.bandit(2),
    "bandit 8": lambda: zoo.bandit(8),
    "deep-sea 6": lambda: zoo.deep_sea(6),
}

#: Every (model, declared symmetry) of the above.
DECLARED: list[tuple[str, str]] = [(key, name) for key, make in ZOO.items() for name in make().symmetries]
