"""Symmetries of a graph's vertices, and what they do to a graph MDP: the orbit structure without a table."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from burnside._types import AnyArray, ArrayLike
from burnside.groups import Group
from burnside.mdp.implicit import ImplicitSymmetry

__all__ = ["GraphState", "OrbitStructure", "VertexSymmetry"]

#: A state ``(x, q)``: the label of every vertex, and the vertex of the agent (Def. 3).
GraphState = tuple[tuple[Any, ...], int]


@dataclass(frozen=True)
class OrbitStructure:
    """Exact sizes of a model and of its quotient, found without enumerating either."""

    states: int
    pairs: int
    successors: int
    quotient_states: int
    quotient_pairs: int
    quotient_successors: int
    free: bool
    why: str


class VertexSymmetry:
    """A group of automorphisms of the graph, acting on states by ``(g·x)(v) = x(g⁻¹v)`` and ``g·q`` (Def. 7).

    Args:
        on_vertices: shape ``(k, n)``: the image of every vertex under each generator.
        name: shown in reports.
        order: the order of the group; computed by Schreier–Sims if left out.

    >>> turn = VertexSymmetry([[1, 2, 0]], name="rotations")      # of a triangle
    >>> turn.order, turn.act(turn.on_vertices[0], (("a", "b", "c"), 0))
    (3, (('c', 'a', 'b'), 1))
    """

    def __init__(self, on_vertices: ArrayLike, *, name: str = "G", order: int | None = None) -> None:
        self.group = Group.from_permutations(np.atleast_2d(np.asarray(on_vertices)), name=name)
        self.on_vertices: AnyArray = self.group.generators
        self.name = name
        self._order = order

    @property
    def order(self) -> int:
        """Order of the group."""
        if self._order is None:
            self._order = self.group.order
        return self._order

    @staticmethod
    def act(g: AnyArray, state: GraphState) -> GraphState:
        """``g·(x, q)``."""
        labels, position = state
        image: list[Any] = [None] * len(labels)
        for v, label in enumerate(labels):
            image[int(g[v])] = label
        return tuple(image), int(g[position])

    def implicit(self) -> ImplicitSymmetry:
        """The same group as three callables, for sampling checks; generators are given by their number."""
        # picking the preimages of all vertices at once is a hundred times faster than a loop on large boards
        pick = [operator.itemgetter(*np.argsort(g).tolist()) for g in self.on_vertices]
        return ImplicitSymmetry(
            act=lambda j, s: (pick[j](s[0]), int(self.on_vertices[j][s[1]])),
            act_on_action=lambda j, s, v: int(self.on_vertices[j][v]),
            generators=range(len(self.on_vertices)),
            name=self.name,
            order=self.order,
        )
