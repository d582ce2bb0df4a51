"""The steps of the searches in plain numpy, to be read first: what the compiled loops compute, and their arguments.

A function here has the name of its compiled twin, the same arguments and the same effect on them, hash tables excepted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from burnside._types import AnyArray

__all__ = ["Children", "Layer", "Nodes", "admit", "best_children"]


class Nodes(NamedTuple):
    """The nodes of a search, with room for more behind them, and the hash table from keys to the nodes in force."""

    states: AnyArray
    keys: AnyArray
    parent: AnyArray
    move: AnyArray
    depth: AnyArray
    source: AnyArray  # the node whose heuristic value it shares, −1 if it has its own
    superseded: AnyArray  # a cheaper node has its key
    table: AnyArray


class Layer(NamedTuple):
    """One layer of a beam: states as placements, their scores, and the logarithms of their moves' probabilities."""

    states: AnyArray
    scores: AnyArray
    logs: AnyArray


class Children(NamedTuple):
    """The children that a layer keeps, with room for as many as the beam is wide."""

    parent: AnyArray
    move: AnyArray
    scores: AnyArray


def admit(nodes: Nodes, offered: AnyArray, keys: AnyArray, parents: AnyArray, count: int) -> int:
    """Append the children that are new or cheaper than what has their key; returns the number of nodes after that.

    ``offered[b, a]`` is the child of node ``parents[b]`` by move a. A node is never changed once it is there, so that
    the moves along its parents always lead to its own state, even if a cheaper node takes its place in the table:
    that one is appended, with ``source`` the node whose heuristic value it shares (−1: to be computed).
    """
    in_force = {nodes.keys[node].tobytes(): node for node in range(count) if not nodes.superseded[node]}
    for b, a in np.ndindex(*offered.shape[:2]):
        key, depth = keys[b, a].tobytes(), nodes.depth[parents[b]] + 1
        old = in_force.get(key, -1)
        if old >= 0:
            if nodes.depth[old] <= depth:
                continue
            nodes.superseded[old] = True
        nodes.states[count], nodes.keys[count] = offered[b, a], keys[b, a]
        nodes.parent[count], nodes.move[count], nodes.depth[count] = parents[b], a, depth
        nodes.source[count], nodes.superseded[count] = old, False
        in_force[key] = count
        count += 1
    return count


def best_children(
    layer: Layer, order: AnyArray, moves: AnyArray, words: AnyArray, seen: AnyArray, kept: int, out: Children
) -> int:
    """Walk through candidates ``parent · moves + move`` from the best on; append what is new while there is room.

    A state is new if its key, the exclusive or of the ``words`` of its placements, is not in the table ``seen``.
    ``kept`` is how many children there are already; returns how many there are then.
    """

    def key(b: int, a: int) -> int:
        return int(np.bitwise_xor.reduce(words[moves[a, layer.states[b]]]))

    known = {*seen.tolist(), *map(key, out.parent[:kept], out.move[:kept])}
    for candidate in order.tolist():
        b, a = divmod(candidate, len(moves))
        if kept < len(out.parent) and key(b, a) not in known:
            known.add(key(b, a))
            out.parent[kept], out.move[kept] = b, a
            out.scores[kept] = layer.scores[b] + layer.logs[b, a]
            kept += 1
    return kept
