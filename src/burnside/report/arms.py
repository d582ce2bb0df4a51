"""Curves that can be switched off: what belongs to a label of a plot carries it, and buttons beside the plot hide it.

A plot made by :func:`burnside.report.plots.plot` marks itself; nothing has to be said where it is drawn. Bands, points
and error bars belong to the labelled curve of their colour. In print every curve is shown, and without the script too.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["controls", "mark", "name_arms"]

_GROUP = "burnside-arm-"
_MARKED = re.compile(rf'<g id="{_GROUP}(\d+)"')
_NAMED = re.compile(r'data-arm="([^"]*)" data-colour="([^"]*)"')


def mark(figure: Any) -> dict[str, str]:
    """Give what belongs to a label a group of its own in the SVG; returns the labels and their colours, in order."""
    arms: dict[str, str] = {}
    for axes in figure.axes:
        labelled = {artist: artist.get_label() for artist in axes.get_children() if _is_curve(artist)}
        for container in axes.containers:  # error bars: a line, caps and bars under one label
            if not str(container.get_label()).startswith("_"):
                labelled |= {part: container.get_label() for part in _flat(container)}
        by_colour: dict[str, list[str]] = {}
        for artist, label in labelled.items():
            arms.setdefault(label, _colour(artist))
            if label not in by_colour.setdefault(_colour(artist), []):
                by_colour[_colour(artist)].append(label)
        before: Any = None
        for artist in axes.get_children():
            name = labelled.get(artist)
            if name is None and _is_drawn(artist):
                same = by_colour.get(_colour(artist), [])
                if len(same) == 1:
                    name = same[0]
                elif _is_band(artist) and before in labelled and _colour(before) == _colour(artist):
                    name = labelled[before]  # several curves of one colour: a band is drawn right after its own
            if name is not None:
                artist.set_gid(f"{_GROUP}{list(arms).index(name)}")
            before = artist
    return arms


def name_arms(svg: str, arms: Mapping[str, str]) -> str:
    """The numbers of :func:`mark` as attributes with the labels; ids would clash where a page has several plots."""
    words = [f'data-arm="{html.escape(label)}" data-colour="{colour}"' for label, colour in arms.items()]
    return _MARKED.sub(lambda found: f"<g {words[int(found[1])]}", svg)


def controls(svg: str) -> str:
    """A button for every curve of a plot; nothing where there is only one.

    >>> controls('<g data-arm="a&amp;b" data-colour="#000000">')
    ''
    >>> controls('<g data-arm="a" data-colour="#000000"/><g data-arm="b" data-colour="#ffffff"/>').count("<button")
    2
    """
    arms = dict(_NAMED.findall(svg))
    if len(arms) < 2:
        return ""
    buttons = (
        f'<li><button type="button" aria-pressed="true" data-shows="{label}"><i style="background:{colour}"></i>'
        f"{label}</button></li>"
        for label, colour in arms.items()
    )
    return f'<ul class="arms" aria-label="Curves shown">{"".join(buttons)}</ul>'


def _is_drawn(artist: Any) -> bool:
    from matplotlib.collections import Collection
    from matplotlib.lines import Line2D

    return isinstance(artist, Collection | Line2D)


def _is_band(artist: Any) -> bool:
    from matplotlib.collections import Collection

    return isinstance(artist, Collection)


def _is_curve(artist: Any) -> bool:
    return _is_drawn(artist) and bool(artist.get_label()) and not str(artist.get_label()).startswith("_")


def _flat(container: Any) -> list[Any]:
    parts: list[Any] = []
    for item in container:
        parts += [] if item is None else list(item) if isinstance(item, tuple | list) else [item]
    return parts


def _colour(artist: Any) -> str:
    """The colour, without its transparency; of points that are only outlined, the outline's."""
    from matplotlib.collections import Collection
    from matplotlib.colors import to_hex

    if not isinstance(artist, Collection):
        return to_hex(artist.get_color())
    for colours in (artist.get_facecolor(), artist.get_edgecolor()):
        rows: Any = colours  # one row of four numbers per element; the stubs also allow a single number
        if len(rows):
            return to_hex(rows[0])
    return ""
