"""``draw``: the state graph coloured by orbit beside the quotient graph (Figs. 1 and 2), as SVG, PNG or HTML.

A picture is first made as a :class:`Scene` (what is drawn, where, in which colour, and what the caption must admit),
then set by matplotlib (SVG, PNG) or as inline SVG with a small script (HTML, and the report). Nothing is left out
silently: whatever is not drawn is in the notes.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from burnside._files import write_atomically
from burnside._terminal import one_line
from burnside._types import BoolArray, IntArray
from burnside.errors import InvalidParameter
from burnside.report import style
from burnside.report.layout import Graph, place
from burnside.report.page import Page, escape, orbit_figure

if TYPE_CHECKING:
    from burnside.mdp.cells import Cell
    from burnside.mdp.quotient import Quotient
    from burnside.mdp.tabular import TabularMDP

__all__ = ["FORMATS", "Scene", "draw", "orbit_view", "scene"]

FORMATS = ("svg", "png", "html")
MAX_LINES = 6_000  #: lines drawn in a panel; of more, a sample
MAX_HEADS = 600  #: lines up to which arrowheads mark those that go one way only
ALL_CLASSES = 120  #: quotients up to this size are drawn whole, also where M is not
LISTED = 6  #: members named in the legend


@dataclass(frozen=True)
class Node:
    """A state or a class."""

    x: float
    y: float
    r: float
    orbit: int
    name: str
    label: str = ""
    font: float = 0.0
    glyph: tuple[Cell, ...] = ()


@dataclass(frozen=True)
class Line:
    """A transition between two nodes, and the triangle at its tip if there is none back."""

    start: tuple[float, float]
    end: tuple[float, float]
    a: int
    b: int
    weight: float
    head: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class Ring:
    """The circle round the members of an orbit; ``note`` stands in place of members that are not drawn."""

    x: float
    y: float
    r: float
    orbit: int
    note: str = ""


@dataclass(frozen=True)
class Panel:
    """One of the two graphs."""

    heading: str
    size: str
    nodes: list[Node]
    lines: list[Line]
    rings: list[Ring]


@dataclass(frozen=True)
class Orbit:
    """An entry of the legend."""

    number: int
    size: int
    name: str
    members: str
    glyph: tuple[Cell, ...]


@dataclass(frozen=True)
class Scene:
    """Everything there is to draw."""

    title: str
    group: str
    word: str
    left: Panel
    right: Panel
    legend: list[Orbit]
    notes: list[str]


def draw(
    mdp: TabularMDP,
    quotient: Quotient,
    path: str | Path,
    *,
    symmetry_name: str,
    format: str | None = None,
    max_states: int = 600,
    title: str | None = None,
) -> Path:
    """Draw M, coloured by orbit, beside its quotient, and write the file in one piece.

    Args:
        mdp: M.
        quotient: of M, by a symmetry or by :func:`burnside.minimise`.
        path: file to write.
        symmetry_name: shown with the arrow and in the title.
        format: ``svg``, ``png`` or ``html``; left out, the suffix of ``path`` says which.
        max_states: states drawn of M; of a larger one, whole orbits that fit, and the caption says so.
        title: default: the names of the model and of the symmetry.

    >>> import tempfile
    >>> from burnside.mdp import quotient, zoo
    >>> mdp = zoo.fig2()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     draw(mdp, quotient(mdp, mdp.symmetry()), f"{folder}/fig2.html", symmetry_name="Z2").name
    'fig2.html'
    """
    target = Path(path)
    kind = (format if format is not None else target.suffix[1:]).lower()
    if kind not in FORMATS:
        if not kind and format is None:
            raise InvalidParameter(f"the file {str(path)!r} has no suffix: end it with .svg, .png or .html")
        given = f"format {format!r}" if format is not None else f"the suffix {target.suffix!r} of {target.name}"
        raise InvalidParameter(f"{given} cannot be drawn: use svg, png or html")
    picture = scene(mdp, quotient, symmetry_name=symmetry_name, max_states=max_states, title=title)
    if kind == "html":
        return _fill(Page(picture.title), picture).write(target)
    return write_atomically(target, lambda file: _matplotlib(picture, file, kind))


def orbit_view(
    page: Page,
    mdp: TabularMDP,
    quotient: Quotient,
    *,
    symmetry_name: str,
    max_states: int = 600,
    title: str | None = None,
) -> Page:
    """Add the interactive picture to a page under its title, with the style and the script it needs."""
    picture = scene(mdp, quotient, symmetry_name=symmetry_name, max_states=max_states, title=title)
    return _fill(page.html(f"<h3>{escape(picture.title)}</h3>"), picture)


# ---------------------------------------------------------------------- what to draw


def scene(
    mdp: TabularMDP, quotient: Quotient, *, symmetry_name: str, max_states: int = 600, title: str | None = None
) -> Scene:
    """Choose, place and label."""
    if max_states < 1:
        raise InvalidParameter(f"max_states must be at least 1, got {max_states}")
    sigma, reduced = quotient.sigma, quotient.mdp
    if sigma.size != mdp.n_states:
        raise InvalidParameter(
            f"the quotient is one of a model with {sigma.size} states, {mdp.name} has {mdp.n_states}"
        )
    word = "orbit" if quotient.verdict is not None or quotient.trusted else "class"
    many = "orbits" if word == "orbit" else "classes"
    sizes = np.bincount(sigma, minlength=reduced.n_states)
    shown, expanded = _select(reduced, sizes, max_states)
    states = np.flatnonzero(expanded[sigma])
    rank = np.full(reduced.n_states, -1, dtype=np.int64)
    rank[shown] = np.arange(shown.size)
    of, to = _transitions(mdp, states), _transitions(reduced, shown)
    names = [_state_name(mdp, s) for s in states]
    layout = place(of, to, rank[sigma[states]], sizes[shown], None if mdp.positions is None else mdp.positions[states])

    notes = []
    if states.size < mdp.n_states:
        members = f"the {states.size} states of {int(expanded.sum())} of the {reduced.n_states} {many}"
        part = "all of it" if shown.size == reduced.n_states else f"{shown.size} {many}"
        notes.append(
            f"Not all is drawn: {one_line(mdp.name)} has {mdp.n_states} states, more than the limit of {max_states}; "
            f"shown are {members if states.size else f'no states, since no {word} fits'}; of the quotient, {part}. "
            f"What is shown was chosen breadth-first from the initial states."
            + ("" if expanded[shown].all() else f" A dashed circle stands for all members of its {word}.")
        )
    if quotient.trusted:
        notes.append("The symmetry was not verified: this quotient was made on trust.")
    notes.append(
        f"Colour: {word}. Lines: transitions of positive probability under some action, thicker where it is larger; "
        f"an arrowhead where there is no way back; staying put is not drawn."
    )
    rings = [
        Ring(float(x), float(y), float(r), int(c), "" if expanded[c] else f"{sizes[c]} states")
        for (x, y, r), c in zip(() if layout.rings is None else layout.rings, shown, strict=False)
    ]
    radii = np.full(states.size, layout.state_radius)
    labels = style.labels(names, radii.tolist()) if states.size <= 64 else [("", 0.0)] * states.size
    if names and labels[0][0] != names[0]:
        labels = [("", 0.0)] * states.size  # bare numbers of states would say nothing
    left = Panel(
        "MDP M",
        f"|S| = {mdp.n_states}, {mdp.n_pairs} pairs",
        [
            Node(float(x), float(y), layout.state_radius, int(sigma[s]), name, *label)
            for (x, y), s, name, label in zip(layout.states, states, names, labels, strict=True)
        ],
        _lines(of, layout.states, radii, sigma[states], notes, "M"),
        rings,
    )
    first = np.unique(sigma, return_index=True)[1]
    class_names = [_state_name(mdp, first[c]) for c in shown]
    class_labels = style.labels([f"[{name}]" for name in class_names], layout.class_radius.tolist())
    right = Panel(
        "Quotient MDP M̄",
        f"|S̄| = {reduced.n_states}, {reduced.n_pairs} pairs",
        [
            Node(float(x), float(y), float(r), int(c), f"[{name}]", *label, mdp.cells(first[c]))
            for (x, y), r, c, name, label in zip(
                layout.classes, layout.class_radius, shown, class_names, class_labels, strict=True
            )
        ],
        _lines(to, layout.classes, layout.class_radius, shown, notes, "M̄"),
        [],
    )
    legend = [
        Orbit(int(c), int(sizes[c]), name, _members(mdp, sigma, int(c)), mdp.cells(first[c]))
        for c, name in zip(shown, class_names, strict=True)
    ]
    default = f"{mdp.name} and its quotient by {symmetry_name}"
    heading = one_line(default if title is None else title)
    return Scene(heading, one_line(symmetry_name), word, left, right, legend, notes)


def _select(reduced: TabularMDP, sizes: IntArray, max_states: int) -> tuple[IntArray, BoolArray]:
    """The classes shown, ascending, and which of all classes have their members drawn."""
    k = reduced.n_states
    if sizes.sum() <= max_states:
        return np.arange(k), np.ones(k, dtype=np.bool_)
    expanded = np.zeros(k, dtype=np.bool_)
    order: list[int] = []
    room = max_states
    for c in _breadth_first(reduced):
        fits = int(sizes[c]) <= room
        if not fits and k > ALL_CLASSES and expanded.any():
            break
        if len(order) >= max(ALL_CLASSES, max_states):
            break
        order.append(c)
        expanded[c] = fits
        room -= int(sizes[c]) if fits else 0
    if not expanded.any():
        order = order[:ALL_CLASSES]
    return np.sort(np.array(order, dtype=np.int64)), expanded


def _breadth_first(mdp: TabularMDP) -> Iterator[int]:
    """All states, from the initial ones on, along transitions in either direction, one connected part after another."""
    graph = _transitions(mdp, np.arange(mdp.n_states)).undirected
    seen = np.zeros(mdp.n_states, dtype=np.bool_)
    for start in np.argsort(mdp.p0 == 0, kind="stable"):
        if not seen[start]:
            order = graph.bfs(int(start))[0]
            seen[order] = True
            yield from order


def _transitions(mdp: TabularMDP, states: IntArray) -> Graph:
    """Who can go where in one step among these states, with the largest probability over actions; no loops."""
    index = np.full(mdp.n_states, -1, dtype=np.int64)
    index[states] = np.arange(states.size)
    rows = np.flatnonzero(index[mdp.pair_state] >= 0)
    part = mdp.P[rows].tocoo()
    u, v = index[mdp.pair_state[rows[part.row]]], index[part.col]
    keep = (v >= 0) & (u != v) & (part.data > 0)
    key, weight = (u * states.size + v)[keep], part.data[keep]
    order = np.argsort(key, kind="stable")
    edge, start = np.unique(key[order], return_index=True)
    heaviest = np.maximum.reduceat(weight[order], start) if edge.size else np.zeros(0)
    return Graph(states.size, edge // max(states.size, 1), edge % max(states.size, 1), heaviest)


def _lines(graph: Graph, at: Any, radii: Any, orbit: Any, notes: list[str], where: str) -> list[Line]:
    """Edges as lines from rim to rim: one for both directions, a triangle where there is only one."""
    weights: dict[tuple[int, int], float] = {}
    for u, v, w in zip(graph.source.tolist(), graph.target.tolist(), graph.weight.tolist(), strict=True):
        weights[u, v] = w
    edges = [(u, v) for u, v in weights if u < v or (v, u) not in weights]
    if len(edges) > MAX_LINES:
        notes.append(f"Of the {len(edges)} lines of {where}, {MAX_LINES} drawn at random are shown.")
        kept = np.random.default_rng(0).choice(len(edges), MAX_LINES, replace=False)
        edges = [edges[i] for i in sorted(kept.tolist())]
    heads = len(edges) <= MAX_HEADS
    lines = []
    for u, v in edges:
        (x, y), (p, q) = at[u], at[v]
        distance = max(math.hypot(p - x, q - y), 1e-9)
        dx, dy = (p - x) / distance, (q - y) / distance
        start = (float(x + dx * radii[u]), float(y + dy * radii[u]))
        tip = (float(p - dx * radii[v]), float(q - dy * radii[v]))
        head: tuple[tuple[float, float], ...] = ()
        if heads and (v, u) not in weights:
            length = min(0.022, 0.8 * float(radii[v]), 0.45 * distance)
            foot = (tip[0] - dx * length, tip[1] - dy * length)
            side = (-dy * length * 0.36, dx * length * 0.36)
            head = (tip, (foot[0] + side[0], foot[1] + side[1]), (foot[0] - side[0], foot[1] - side[1]))
            tip = foot
        weight = max(weights[u, v], weights.get((v, u), 0.0))
        lines.append(Line(start, tip, int(orbit[u]), int(orbit[v]), weight, head))
    return lines


def _state_name(mdp: TabularMDP, s: Any) -> str:
    """The name of a state as it can be drawn: SVG has no control characters, and a label no second line."""
    return one_line(mdp.state_name(int(s)))


def _members(mdp: TabularMDP, sigma: IntArray, c: int) -> str:
    members = np.flatnonzero(sigma == c)
    names = "; ".join(_state_name(mdp, s) for s in members[:LISTED])
    return names if members.size <= LISTED else f"{names}; and {members.size - LISTED} more"


# ---------------------------------------------------------------------- drawing it


def _fill(page: Page, picture: Scene) -> Page:
    return page.use("orbits").html(orbit_figure(picture))


def _matplotlib(picture: Scene, file: BinaryIO, kind: str) -> None:
    """The figure for print; the same input gives the same bytes."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyArrowPatch

    caption = [line for note in picture.notes for line in textwrap.wrap(note, 190)]
    side, gap, top, foot = 5.2, 1.1, 0.85, 0.5 + 0.17 * len(caption)  # inches
    width, height = 2 * side + gap + 0.4, top + side + foot
    # text stays text, and identifiers do not depend on the moment
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "burnside", "font.family": style.FONTS}):
        figure = Figure(figsize=(width, height), facecolor=style.PAPER)
        FigureCanvasAgg(figure)

        def say(x: float, y: float, text: str, size: float, **how: Any) -> None:
            how = {"ha": "center", "color": style.INK} | how
            figure.text(x / width, y / height, text, fontsize=size, va="baseline", parse_math=False, **how)

        say(width / 2, height - 0.27, picture.title, 13, weight="bold")
        for x, panel in ((0.2, picture.left), (0.2 + side + gap, picture.right)):
            axes = figure.add_axes((x / width, foot / height, side / width, side / height))
            axes.set(xlim=(0, 1), ylim=(1, 0), aspect="equal")
            axes.axis("off")
            style.paint(axes, panel, side * 72)
            say(x + side / 2, height - 0.62, panel.heading, 11)
            say(x + side / 2, foot - 0.17, panel.size, 11)
        middle, level = 0.2 + side + gap / 2, foot + side / 2
        ends = [((middle + d) / width, level / height) for d in (-0.42, 0.42)]
        figure.add_artist(
            FancyArrowPatch(*ends, transform=figure.transFigure, arrowstyle="-|>", mutation_scale=16, color=style.INK)
        )
        say(middle, level + 0.2, "h", 14, style="italic")
        for k, line in enumerate(textwrap.wrap(picture.group, 14)[:4]):
            say(middle, level - 0.22 - 0.17 * k, line, 9, color=style.MUTED)
        for k, line in enumerate(caption):
            say(0.25, foot - 0.45 - 0.17 * k, line, 8, ha="left", color=style.MUTED)
        metadata = {"Date": None, "Title": picture.title} if kind == "svg" else {"Title": picture.title}
        figure.savefig(file, format=kind, dpi=200, metadata=metadata)
