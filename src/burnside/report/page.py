"""``Page``: one self-contained HTML file, readable on a phone, at a desk and in print, light and dark.

Whatever is passed as *text* is escaped; whatever is passed as *html* or *svg* goes in as it is, so names that come
from a user's file must go through :func:`escape` first.
"""

from __future__ import annotations

import html as _html
import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING

from burnside._files import write_text
from burnside._terminal import printable
from burnside.report import style
from burnside.report.arms import controls

if TYPE_CHECKING:
    from burnside.mdp.cells import Cell
    from burnside.report.graphs import Node, Orbit, Panel, Scene

__all__ = ["Html", "Page", "asset", "escape", "figure", "orbit_figure", "table"]


@cache
def asset(name: str) -> str:
    """The text of a style sheet or script that ships with the package; empty if there is none of that name."""
    file = resources.files("burnside.report").joinpath("assets", name)
    return file.read_text(encoding="utf-8") if file.is_file() else ""


class Html(str):
    """Text that is markup already: :func:`table` and the like put it in unescaped."""

    __slots__ = ()


def escape(text: object) -> Html:
    """Text made safe for HTML, also inside attributes; :class:`Html` stays as it is.

    >>> escape("a < b"), escape(Html("<b>x</b>"))
    ('a &lt; b', '<b>x</b>')
    """
    return text if isinstance(text, Html) else Html(_html.escape(printable(str(text)), quote=True))


def table(headers: Sequence[object], rows: Iterable[Sequence[object]], caption: object = "") -> Html:
    """A table; columns of numbers are set flush right, None is shown as a dash.

    >>> table(["model", "states"], [["ring", 400]]).count('class="n"')
    2
    """
    body = [list(row) for row in rows]
    numeric = [bool(body) and all(_is_number(row[k]) for row in body if k < len(row)) for k in range(len(headers))]
    kind = [' class="n"' if n else "" for n in numeric]
    head = "".join(f'<th scope="col"{c}>{escape(h)}</th>' for h, c in zip(headers, kind, strict=True))
    lines = (
        "<tr>" + "".join(f"<td{c}>{_cell(x)}</td>" for x, c in zip(row, kind, strict=True)) + "</tr>" for row in body
    )
    # the caption stands outside the part that scrolls, so that a phone shows all of it
    title = f'<p class="caption">{escape(caption)}</p>' if caption else ""
    inside = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    label = escape(str(caption)) if caption else "table"
    return Html(f'{title}<div class="scroll" tabindex="0" role="region" aria-label="{label}">{inside}</div>')


def figure(svg: str, caption: object = "") -> Html:
    """A figure from inline SVG (or any markup) with a caption; an XML prologue is dropped.

    A plot with several labelled curves gets a button for each.
    """
    inline = svg[svg.index("<svg") :] if svg.lstrip().startswith(("<?xml", "<!DOCTYPE")) else svg
    words = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return Html(f"<figure>{controls(inline)}{inline}{words}</figure>")


class Page:
    """An HTML page under construction; every method but ``render`` and ``write`` returns the page.

    Args:
        title: of the page.
        lead: a paragraph before everything.
        contents: whether a page of several sections lists them.
        tabs: whether that list shows one section at a time, see :mod:`burnside.report.tabs`.
        fold: whether tables come after what else there is below a heading, and are opened by a click.

    >>> page = Page("Zoo audit")
    >>> page = page.section("Ring", id="ring").table(["model", "states"], [["ring(n=5) <&>", 400]])
    >>> text = page.render()
    >>> "ring(n=5) &lt;&amp;&gt;" in text, '<section id="ring">' in text
    (True, True)
    """

    def __init__(
        self, title: str, *, lead: object = "", contents: bool = True, tabs: bool = False, fold: bool = False
    ) -> None:
        self.title = title
        self.fold = fold
        self.contents = contents
        self._parts: list[str] = [f"<p>{escape(lead)}</p>"] if lead else []
        self._sections: list[tuple[str, str, list[str]]] = []
        self._styles: list[str] = []
        self._scripts: list[str] = []
        self.use("page")
        if tabs:
            self.use("tabs")
        if fold:
            self.use("fold")

    def section(self, title: str, html: str = "", id: str | None = None) -> Page:
        """Start a section; what is added next goes into it."""
        taken = {key for key, _, _ in self._sections}
        base = key = id if id is not None else re.sub(r"[^\w]+", "-", title.lower()).strip("-") or "section"
        number = 2
        while key in taken:
            key, number = f"{base}-{number}", number + 1
        self._sections.append((key, title, [html] if html else []))
        return self

    def html(self, markup: str) -> Page:
        """Add markup as it is."""
        (self._sections[-1][2] if self._sections else self._parts).append(markup)
        return self

    def text(self, *paragraphs: object) -> Page:
        """Add paragraphs of plain text."""
        return self.html("".join(f"<p>{escape(p)}</p>" for p in paragraphs))

    def table(self, headers: Sequence[object], rows: Iterable[Sequence[object]], caption: object = "") -> Page:
        """Add a table; see :func:`table`."""
        if not self.fold:
            return self.html(table(headers, rows, caption))
        title = escape(caption) if caption else Html("The numbers")
        return self.html(f"{_FOLDED}<summary>{title}</summary>{table(headers, rows)}</details>")

    def figure(self, svg: str, caption: object = "") -> Page:
        """Add a figure; see :func:`figure`."""
        if controls(svg):
            self.use("arms")
        return self.html(figure(svg, caption))

    def use(self, name: str) -> Page:
        """Add the style sheet and the script of that name from ``assets``, as far as they exist."""
        return self.style(asset(f"{name}.css")).script(asset(f"{name}.js"))

    def style(self, css: str) -> Page:
        """Add a style sheet, once however often it is asked for."""
        if css and css not in self._styles:
            self._styles.append(css)
        return self

    def script(self, javascript: str) -> Page:
        """Add a script at the end of the page, once however often it is asked for."""
        if javascript and javascript not in self._scripts:
            self._scripts.append(javascript)
        return self

    def render(self) -> str:
        """The whole file."""
        links = "".join(f'<li><a href="#{escape(key)}">{escape(t)}</a></li>' for key, t, _ in self._sections)
        shown = self.contents and len(self._sections) > 1
        toc = f'<nav class="toc" aria-label="Contents"><ol>{links}</ol></nav>' if shown else ""
        sections = "\n".join(
            f'<section id="{escape(key)}"><h2>{escape(t)}</h2>\n{"".join(_plots_first(parts))}</section>'
            for key, t, parts in self._sections
        )
        scripts = "".join(f"<script>{code}</script>\n" for code in self._scripts)
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{escape(self.title)}</title>\n<style>{''.join(self._styles)}</style>\n</head>\n<body>\n"
            f"<header><h1>{escape(self.title)}</h1></header>\n<main>\n{''.join(self._parts)}{toc}\n{sections}\n</main>\n"
            f"{scripts}</body>\n</html>\n"
        )

    def write(self, path: str | Path) -> Path:
        """Write the file: all of it or nothing."""
        return write_text(path, self.render())


#: How a table begins that is opened by a click.
_FOLDED = '<details class="folded">'


def _plots_first(parts: Sequence[str]) -> list[str]:
    """The parts of a section, the folded tables below each heading after everything else there."""
    out: list[str] = []
    tables: list[str] = []
    for part in parts:
        if part.startswith("<h3"):
            out, tables = [*out, *tables], []
        (tables if part.startswith(_FOLDED) else out).append(part)
    return [*out, *tables]


_NUMERAL = re.compile(r"[-+−–∞]?[\d.,]*(?:e[-+]?\d+)?(?:\^[\d.]+)?%?")


def _is_number(x: object) -> bool:
    """Numbers, None, and text that is a number set for people: 6.667, 4.4e-16, 10^246.8, 12%, a dash."""
    if isinstance(x, str):
        return _NUMERAL.fullmatch(x) is not None
    return x is None or (isinstance(x, Real) and not isinstance(x, bool))


def _cell(x: object) -> Html:
    if x is None:
        return Html("–")
    if isinstance(x, bool):
        return Html("yes" if x else "no")
    return escape(f"{float(x):.4g}" if isinstance(x, Real) and not isinstance(x, Integral) else x)


# ---------------------------------------------------------------------- the orbit view

_SIDE = 1000  # units of a panel's drawing


def orbit_figure(picture: Scene) -> Html:
    """The two graphs of a scene and its legend as markup; the page must ``use("orbits")``.

    Every state and class carries ``data-orbit``, by which the script lights up what belongs together.
    """
    word = picture.word
    hint = f"Point at a state or {word}, tap it, or use Tab and the arrow keys: its {word} lights up on both sides."
    arrow = (
        '<svg viewBox="0 0 64 20" aria-hidden="true"><path d="M2 10H54" stroke="currentColor" stroke-width="2"/>'
        '<path d="M52 4L62 10L52 16Z" fill="currentColor"/></svg>'
    )
    entries = "".join(f"<li>{_entry(orbit, word, first=k == 0)}</li>" for k, orbit in enumerate(picture.legend))
    notes = "".join(f'<p class="muted">{escape(note)}</p>' for note in picture.notes)
    many = "orbits" if word == "orbit" else "classes"
    return Html(
        f'<div class="orbits"><div class="panels">{_panel(picture.left, word)}'
        f'<div class="arrow"><i>h</i>{arrow}<span class="muted">{escape(picture.group)}</span></div>'
        f'{_panel(picture.right, word)}</div><p class="status" aria-live="polite">{escape(hint)}</p>{notes}'
        f'<details class="legend" open><summary>{len(picture.legend)} {many}</summary>'
        f"<ol data-roving>{entries}</ol></details></div>"
    )


def _colours(orbit: int) -> str:
    light, dark = style.colour(orbit), style.colour(orbit, dark=True)
    return f"--c:{light};--d:{dark};--tc:{style.text_on(light)};--td:{style.text_on(dark)}"


def _entry(orbit: Orbit, word: str, *, first: bool) -> str:
    count = f"{orbit.size} state{'s' if orbit.size != 1 else ''}"
    says = f"{word} {orbit.number}: {count}: {orbit.members}"
    if orbit.glyph:
        inside = f'<circle class="plate" r="1.04" stroke-width=".12"/>{_glyph(orbit.glyph)}'
    else:
        inside = '<circle class="disc" r=".8" stroke-width="0"/>'
    return (
        f'<button type="button" data-orbit="{orbit.number}" style="{_colours(orbit.number)}" aria-pressed="false" '
        f'tabindex="{0 if first else -1}" data-says="{escape(says)}">'
        f'<span><svg viewBox="-1.15 -1.15 2.3 2.3" aria-hidden="true">{inside}</svg></span>'
        f"<b>{word} {orbit.number} · {count}</b><small>{escape(orbit.members)}</small></button>"
    )


def _glyph(cells: tuple[Cell, ...]) -> str:
    parts = ['<circle class="g-ring" r=".7" stroke-width=".07"/>']
    parts += [
        f'<circle class="g-{kind}" cx="{x:.3f}" cy="{y:.3f}" r="{r:.3f}" stroke-width=".04"/>'
        for x, y, r, kind, _ in cells
    ]
    parts += [
        f'<circle class="g-agent" cx="{x:.3f}" cy="{y:.3f}" r="{r:.3f}" stroke-width=".12"/>'
        for x, y, r, _, agent in cells
        if agent
    ]
    return "".join(parts)


def _panel(panel: Panel, word: str) -> str:
    parts = []
    for g in panel.rings:
        at = f'cx="{g.x * _SIDE:.1f}" cy="{g.y * _SIDE:.1f}" r="{g.r * _SIDE:.1f}"'
        empty = " empty" if g.note else ""
        note = f"<title>{escape(g.note)}</title>" if g.note else ""
        ring = f'<circle class="orbit-ring{empty}" {at} stroke-width="2">{note}</circle>'
        if g.note and (size := style.font_size(g.note, g.r)):
            where = f'x="{g.x * _SIDE:.1f}" y="{g.y * _SIDE:.1f}" font-size="{size * _SIDE:.1f}"'
            ring += f'<text class="out" {where}>{escape(g.note)}</text>'
        parts.append(f'<g data-orbit="{g.orbit}" style="{_colours(g.orbit)}">{ring}</g>')
    parts += _edges(panel)
    parts += [_node(node, word, first=k == 0) for k, node in enumerate(panel.nodes)]
    return (
        f'<figure class="panel"><h3>{escape(panel.heading)}</h3><svg viewBox="0 0 {_SIDE} {_SIDE}" data-roving '
        f'role="group" aria-label="{escape(panel.heading)}: {escape(panel.size)}">{"".join(parts)}</svg>'
        f'<p class="size">{escape(panel.size)}</p></figure>'
    )


def _edges(panel: Panel) -> list[str]:
    """One path for all lines between the same two orbits, so that a large graph stays light."""
    lines: dict[tuple[int, int, float], list[str]] = {}
    heads: dict[tuple[int, int], list[str]] = {}
    for line in panel.lines:
        (x, y), (p, q) = line.start, line.end
        path = f"M{x * _SIDE:.1f} {y * _SIDE:.1f}L{p * _SIDE:.1f} {q * _SIDE:.1f}"
        lines.setdefault((line.a, line.b, round(line.weight * 4) / 4), []).append(path)
        if line.head:
            corners = "L".join(f"{x * _SIDE:.1f} {y * _SIDE:.1f}" for x, y in line.head)
            heads.setdefault((line.a, line.b), []).append(f"M{corners}Z")
    faint = style.faintness(len(panel.lines))
    return [
        f'<g style="--faint:{faint:.2f}">',
        *(
            f'<path class="e" data-a="{a}" data-b="{b}" stroke-width="{0.8 + 1.6 * w:.3g}" d="{"".join(d)}"/>'
            for (a, b, w), d in lines.items()
        ),
        *(f'<path class="h" data-a="{a}" data-b="{b}" d="{"".join(d)}"/>' for (a, b), d in heads.items()),
        "</g>",
    ]


def _node(node: Node, word: str, *, first: bool) -> str:
    x, y, r = node.x * _SIDE, node.y * _SIDE, node.r * _SIDE
    if node.glyph:
        plate = f'<circle class="plate" r="{r:.1f}" stroke-width="{min(7.0, 0.16 * r):.1f}"/>'
        inside = f'{plate}<g transform="scale({0.9 * r:.2f})">{_glyph(node.glyph)}</g>'
    else:
        inside = f'<circle class="disc" r="{r:.1f}" stroke-width="{min(2.0, 0.1 * r):.1f}"/>'
        if node.label:
            inside += f'<text font-size="{node.font * _SIDE:.1f}">{escape(node.label)}</text>'
    name = escape(node.name)
    state = "" if node.name.startswith("[") else f' data-name="{name}"'
    return (
        f'<g data-orbit="{node.orbit}"{state} style="{_colours(node.orbit)}" '
        f'role="button" aria-pressed="false" tabindex="{0 if first else -1}" '
        f'aria-label="{name}, {word} {node.orbit}" transform="translate({x:.1f} {y:.1f})">'
        f'<title>{name}</title><circle class="ring" r="{r + 5:.1f}" stroke-width="5"/>{inside}</g>'
    )
