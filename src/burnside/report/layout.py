"""Where the nodes of a state graph and of its quotient go. Pure functions; the same input gives the same picture.

Two ways. A *natural* layout draws a small connected graph by its own shape (grid, cycle, path, else Kamada–Kawai), and
puts every class where one of its members is: the classes then form a fundamental domain. A *clustered* layout lays out
the quotient and puts the members of an orbit in a circle round its class, as the ellipses of Fig. 1: the collapse is
visible, whatever the size, and members of equal rank stand in equal places, so that edges run in parallel.

Positions lie in the unit square, y pointing down.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from burnside._types import FloatArray, IntArray

__all__ = ["Graph", "Layout", "place"]

NATURAL_LIMIT = 60  #: states up to which a graph without coordinates is drawn by its own shape
CIRCLE_LIMIT = 12  #: members of an orbit up to which they stand on a circle; more fill a disc
UNEXPANDED = 24  #: room that an orbit takes at most if no members are drawn, of any orbit


@dataclass(frozen=True)
class Graph:
    """A directed graph without loops on ``0..n-1``: edges ``source → target`` with weights."""

    n: int
    source: IntArray
    target: IntArray
    weight: FloatArray

    @cached_property
    def undirected(self) -> Any:
        """The undirected graph, as igraph has it: simple, neighbours ascending."""
        import igraph

        edges = np.column_stack([self.source, self.target])
        return igraph.Graph(n=self.n, edges=edges.tolist()).simplify()

    def neighbours(self) -> list[list[int]]:
        """Neighbours of every node in the undirected graph, ascending."""
        found: list[list[int]] = self.undirected.get_adjlist()
        return found

    def components(self) -> list[list[int]]:
        """Connected parts of the undirected graph, by their first node, each ascending."""
        return [list(part) for part in self.undirected.connected_components()]

    def main_part(self) -> Graph:
        """Only edges at least half as heavy as the heaviest one that leaves the same node."""
        if not self.source.size:
            return self
        top = np.zeros(self.n)
        np.maximum.at(top, self.source, self.weight)
        keep = self.weight >= 0.5 * top[self.source]
        return Graph(self.n, self.source[keep], self.target[keep], self.weight[keep])


@dataclass(frozen=True)
class Layout:
    """Positions and radii of states and classes; ``rings`` are the orbits' circles ``(x, y, r)``, if clustered."""

    states: FloatArray
    state_radius: float
    classes: FloatArray
    class_radius: FloatArray
    rings: FloatArray | None = None


def place(
    states: Graph, classes: Graph, sigma: IntArray, sizes: IntArray, positions: FloatArray | None = None
) -> Layout:
    """Lay out a state graph and its quotient.

    Args:
        states: the states drawn.
        classes: the classes drawn.
        sigma: class of every state drawn.
        sizes: number of states in every class, drawn or not; a class without drawn members is an empty circle.
        positions: where the model says that the states drawn stand; not used if two of them coincide.

    >>> import numpy as np
    >>> cycle = Graph(4, np.arange(4), np.array([1, 2, 3, 0]), np.ones(4))
    >>> pair = Graph(2, np.array([0, 1]), np.array([1, 0]), np.ones(2))
    >>> place(cycle, pair, np.array([0, 1, 0, 1]), np.array([2, 2])).states.shape
    (4, 2)
    """
    complete = bool((np.bincount(sigma, minlength=classes.n) == sizes).all())
    raw = natural(states, positions) if complete else None
    layers = _layered(states, classes, sigma) if complete and raw is None else None
    if raw is None and layers is None:
        return _clustered(classes, sigma, sizes)
    points = _fit(raw if raw is not None else layers, margin=0.08)  # type: ignore[arg-type]
    radius = min(0.3 * _least_distance(points), 0.055)
    if layers is not None:
        totals = [np.bincount(sigma, weights=points[:, axis]) for axis in (0, 1)]
        chosen = np.stack(totals, axis=1) / sizes[:, None]
    else:
        chosen = points[_transversal(states.main_part(), sigma, classes.n)]
    if classes.n > 1:
        span = float(np.ptp(chosen, axis=0).max())
        chosen = (chosen - (chosen.max(axis=0) + chosen.min(axis=0)) / 2) * min(1.5, 0.74 / max(span, 1e-9)) + 0.5
    else:
        chosen = np.full((1, 2), 0.5)
    largest = min(0.36 * _least_distance(chosen), 0.11)
    share = np.sqrt(sizes / sizes.max())
    return Layout(points, radius, chosen, largest * np.maximum(share, 0.6))


# ---------------------------------------------------------------------- by the graph's own shape


def natural(graph: Graph, positions: FloatArray | None = None) -> FloatArray | None:
    """Positions that show what the graph is, or None if there is no such layout (large, or in pieces)."""
    if positions is not None and len(positions) and _apart(positions):
        return positions
    if graph.n > NATURAL_LIMIT or not graph.n or not graph.undirected.is_connected():
        return None
    main = graph.main_part()
    if not main.undirected.is_connected():
        main = graph
    import networkx as nx  # igraph has no test of planarity

    g: nx.Graph[int] = nx.Graph(main.undirected.get_edgelist())
    complete = main.source.size == main.n * (main.n - 1)
    return _shape(main) if complete or nx.check_planarity(g)[0] else None  # others come out as a tangle


def _layered(graph: Graph, classes: Graph, sigma: IntArray) -> FloatArray | None:
    """If the classes form a path, as the levels of a cube do: a column for each, ordered to avoid crossings.

    igraph's Sugiyama layout also takes layers, but does not centre them, and the class could not stand on the axis.
    """
    path = classes.neighbours()
    ends = [c for c, nodes in enumerate(path) if len(nodes) == 1]
    is_path = len(ends) == 2 and max(map(len, path)) == 2 and classes.undirected.is_connected()
    if not is_path or graph.n > NATURAL_LIMIT or int(np.bincount(sigma).max()) > CIRCLE_LIMIT:
        return None
    near = graph.neighbours()
    columns = [np.flatnonzero(sigma == c).tolist() for c in _walk(path, ends[0])]
    points = np.zeros((graph.n, 2))
    for sweep in range(3):
        for k, column in enumerate(columns):
            if sweep:  # barycentres of the neighbours
                column.sort(key=lambda v: (float(np.mean([points[u, 1] for u in near[v] or [v]])), v))
            points[column, 0] = k / (len(columns) - 1)
            points[column, 1] = np.arange(len(column)) - (len(column) - 1) / 2
    points[:, 1] *= 1 / max(float(np.ptp(points[:, 1])), 1.0)
    return points


def _apart(points: FloatArray) -> bool:
    """Whether no two of them coincide, and they can be scaled to the picture."""
    with np.errstate(over="ignore"):
        span = np.ptp(points, axis=0)
    return len(np.unique(points, axis=0)) == len(points) and bool(np.isfinite(span).all())


def _shape(graph: Graph) -> FloatArray:
    """A connected graph: cycles and cliques on a circle, paths on an arc, the rest by Kamada–Kawai.

    igraph's, from a circle (many nodes: from a disc). On 15 small graphs (grids, ladders, solids, trees) its stress was
    at most networkx's but for the wheel, and up to 7 times lower; on 600 nodes it takes under a second, networkx 14 s.
    """
    near = graph.neighbours()
    degrees = [len(nodes) for nodes in near]
    if graph.n <= 2:
        return np.array([[0.0, 0.0], [0.0, 1.0]])[: graph.n]
    if max(degrees) <= 2:
        ends = [v for v, d in enumerate(degrees) if d == 1]
        order = _walk(near, ends[0] if ends else 0)
        points = np.empty((graph.n, 2))
        points[order] = _arc(graph.n, 250.0) if ends else _arc(graph.n)
        return points
    if min(degrees) == graph.n - 1:
        return _arc(graph.n)
    start = _arc(graph.n) if graph.n <= 2 * NATURAL_LIMIT else _members(graph.n)
    points = np.array(graph.undirected.layout_kamada_kawai(seed=start.tolist()).coords)
    gap = float(np.median(np.linalg.norm(points[graph.source] - points[graph.target], axis=1)))
    return _separate(points, np.full(graph.n, 0.25 * gap), 0.1 * gap)


def _arc(n: int, degrees: float = 360.0) -> FloatArray:
    """n points on a circle, or on an arc open at the bottom; four of them stand as the square of Fig. 2."""
    if degrees == 360.0:
        angles = np.arange(n) * 2 * np.pi / n + (np.pi / 4 if n == 4 else 0.0)
        return np.stack([-np.sin(angles), -np.cos(angles)], axis=1)
    angles = np.radians(np.linspace(-degrees / 2, degrees / 2, n))
    return np.stack([np.sin(angles), -np.cos(angles)], axis=1)


def _walk(near: list[list[int]], start: int) -> list[int]:
    """The nodes of a path or cycle in their order."""
    order, seen = [start], {start}
    while following := [v for v in near[order[-1]] if v not in seen]:
        order.append(following[0])
        seen.add(following[0])
    return order


def _transversal(graph: Graph, sigma: IntArray, k: int) -> IntArray:
    """One member of every class, met by walking from the first state, so that they lie together if they can."""
    near = graph.neighbours()
    chosen: dict[int, int] = {}
    seen = np.zeros(graph.n, dtype=np.bool_)
    for start in range(graph.n):
        queue = deque([start] if not seen[start] and int(sigma[start]) not in chosen else [])
        while queue:
            u = queue.popleft()
            if seen[u]:
                continue
            seen[u] = True
            if int(sigma[u]) in chosen:
                continue  # walk on through chosen members only: the domain stays connected
            chosen[int(sigma[u])] = u
            queue.extend(v for v in near[u] if not seen[v])
    return np.array([chosen[c] for c in range(k)], dtype=np.int64)


# ---------------------------------------------------------------------- by orbits


def _clustered(classes: Graph, sigma: IntArray, sizes: IntArray) -> Layout:
    """Members round their class; the unit of length is the distance between members."""
    drawn = np.bincount(sigma, minlength=classes.n)
    largest = max(UNEXPANDED, 4 * int(sizes[drawn > 0].max(initial=0)))
    room = np.where(drawn > 0, sizes, np.minimum(sizes, largest))
    radii = np.array([_cluster_radius(int(m)) for m in room])
    centres = _pack(classes, radii)
    low, high = (centres - radii[:, None]).min(axis=0), (centres + radii[:, None]).max(axis=0)
    scale = 0.97 / float((high - low).max())
    centres = (centres - (low + high) / 2) * scale + 0.5
    radii = radii * scale
    points = np.empty((sigma.size, 2))
    for c in range(classes.n):
        members = np.flatnonzero(sigma == c)
        if members.size:
            points[members] = centres[c] + _members(members.size) * scale
    shrink = min(0.82, 0.11 / float(radii.max()))
    class_radius = np.maximum(shrink * radii, np.minimum(radii, 0.015))
    if sizes.max() == 1:  # nothing is identified: circles round single states would say nothing
        return Layout(points, float(class_radius.min()), centres, class_radius)
    return Layout(points, min(0.36 * scale, 0.03), centres, class_radius, np.column_stack([centres, radii]))


def _cluster_radius(m: int) -> float:
    if m <= CIRCLE_LIMIT:
        return 0.75 + (0.5 / math.sin(math.pi / m) if m > 1 else 0.25)
    return 0.75 + 0.56 * math.sqrt(m)


def _members(m: int) -> FloatArray:
    """Offsets of m members at distances of about one: a circle, or a sunflower if there are many."""
    if m == 1:
        return np.zeros((1, 2))
    if m <= CIRCLE_LIMIT:
        return _arc(m) * (0.5 / math.sin(math.pi / m))
    k = np.arange(m)
    radius, angle = 0.56 * np.sqrt(k + 0.5), k * np.pi * (3 - math.sqrt(5))
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


def _pack(classes: Graph, radii: FloatArray) -> FloatArray:
    """Centres of discs: every connected part on its own, the parts in rows.

    Written here because igraph's layouts know points and no discs, and merge parts without keeping equal ones alike.
    """
    parts = classes.components()
    placed = [_part(classes, np.array(part), radii) for part in parts]
    boxes = []
    for part, points in zip(parts, placed, strict=True):
        r = radii[part][:, None] + 0.5
        boxes.append(((points - r).min(axis=0), (points + r).max(axis=0)))
    extent = np.array([high - low for low, high in boxes])
    order = sorted(range(len(parts)), key=lambda i: (-round(float(extent[i, 1]), 6), i))
    result = np.empty((classes.n, 2))
    for i, corner in zip(order, _shelves(extent[order]), strict=True):
        result[parts[i]] = placed[i] - boxes[i][0] + corner
    return result


def _shelves(extent: FloatArray) -> FloatArray:
    """Corners of boxes, tallest first, set in rows, in the width that gives the squarest whole."""
    best, least = np.zeros_like(extent), math.inf
    total = float(extent[:, 0].sum())
    for rows in range(1, int(math.sqrt(len(extent))) + 4):
        width = max(float(extent[:, 0].max()), total / rows * 1.001 + 1e-9)
        corners, row, x, y, height = np.zeros_like(extent), np.zeros(len(extent), dtype=np.int64), 0.0, 0.0, 0.0
        for i, (w, h) in enumerate(extent):
            if x + w > width * (1 + 1e-9) and x > 0:
                x, y, height = 0.0, y + height, 0.0
                row[i:] += 1
            corners[i] = x, y
            x, height = x + w, max(height, h)
        lengths = np.bincount(row, weights=extent[:, 0])
        side = max(float(lengths.max()), y + height)
        if side < least - 1e-9:
            corners[:, 0] += (lengths.max() - lengths[row]) / 2  # rows are centred
            best, least = corners, side
    return best


def _part(classes: Graph, part: IntArray, radii: FloatArray) -> FloatArray:
    """One connected part of the quotient, its discs apart."""
    if part.size == 1:
        return np.zeros((1, 2))
    index = np.full(classes.n, -1, dtype=np.int64)
    index[part] = np.arange(part.size)
    inside = index[classes.source] >= 0
    graph = Graph(part.size, index[classes.source[inside]], index[classes.target[inside]], classes.weight[inside])
    r = radii[part]
    near = graph.neighbours()
    least, most = min(map(len, near)), max(map(len, near))
    if part.size <= 6 or least >= 0.6 * (part.size - 1) or most <= 2:
        ends = [v for v, nodes in enumerate(near) if len(nodes) == 1]
        order = _walk(near, ends[0] if ends else 0) if most <= 2 else list(range(part.size))
        points = np.empty((part.size, 2))
        points[order] = _arc(part.size)
        return _separate(points * _circle_radius(r[order]), r, 0.6)
    points = _shape(graph)
    lengths = np.linalg.norm(points[graph.source] - points[graph.target], axis=1)
    wanted = r[graph.source] + r[graph.target] + 1.0
    return _separate(points * float(np.median(wanted / np.maximum(lengths, 1e-9))), r, 0.6)


def _circle_radius(r: FloatArray) -> float:
    """Radius of the circle on which discs in this order stand without touching, at equal angles."""
    apart = (r + np.roll(r, -1) + 0.6).max()
    return float(apart / (2 * math.sin(math.pi / r.size)))


# ---------------------------------------------------------------------- geometry


def _separate(points: FloatArray, radii: FloatArray, gap: float, rounds: int = 400) -> FloatArray:
    """Push discs apart until none touch."""
    from scipy.spatial import cKDTree

    points = points + 1e-6 * _members(len(points))  # coinciding points need a direction
    reach = 2 * float(radii.max()) + gap
    for _ in range(rounds):
        u, v = cKDTree(points).query_pairs(reach, output_type="ndarray").T
        offset = points[u] - points[v]
        distance = np.linalg.norm(offset, axis=1)
        overlap = radii[u] + radii[v] + gap - distance
        if overlap.max(initial=0.0) <= 1e-3 * gap:
            break
        push = offset * (0.26 * np.maximum(overlap, 0.0) / np.maximum(distance, 1e-9))[:, None]
        np.add.at(points, u, push)
        np.add.at(points, v, -push)
    return points


def _fit(points: FloatArray, margin: float) -> FloatArray:
    """Scaled into the unit square, centred."""
    low, high = points.min(axis=0), points.max(axis=0)
    span = max(float((high - low).max()), 1e-9)
    fitted: FloatArray = (points - (low + high) / 2) * ((1 - 2 * margin) / span) + 0.5
    return fitted


def _least_distance(points: FloatArray) -> float:
    if len(points) < 2:
        return 0.5
    distance = np.linalg.norm(points[:, None] - points[None, :], axis=2)
    np.fill_diagonal(distance, np.inf)
    return max(float(distance.min()), 1e-6)
