"""Colours, fonts and style sheets, shared by the matplotlib figures and the HTML pages.

Orbits are told apart by colours that a colour-blind reader can separate too: the first ones are those of Okabe and Ito,
further ones step round the OKLCH hue circle by the golden angle on three levels of lightness, so that neighbouring
numbers differ in hue *and* in lightness and colour ``i`` does not depend on how many there are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from burnside.report.graphs import Panel

__all__ = [
    "FONTS",
    "GLYPH",
    "INK",
    "LINE",
    "MUTED",
    "ORBIT_CSS",
    "ORBIT_JS",
    "PAGE_CSS",
    "PAPER",
    "Cell",
    "colour",
    "faintness",
    "font_size",
    "labels",
    "luminance",
    "paint",
    "ring_glyph",
    "text_on",
]

#: Fonts of the figures: matplotlib brings the first one along.
FONTS = ["DejaVu Sans", "sans-serif"]

#: Colours of the printed figure.
INK, MUTED, LINE, PAPER = "#1b1f24", "#5c6670", "#c3cad1", "#ffffff"

#: Cells of a ring game (Fig. 1): goal, mine, free cell, and the outline of the agent.
GLYPH = {"goal": "#2e9e5b", "mine": "#d63a3a", "free": "#e9ecef", "agent": "#111417", "ring": "#9aa4ae"}

#: A cell of a ring game: x, y in the unit circle, radius, what it holds, whether the agent is there.
Cell = tuple[float, float, float, str, bool]

# Okabe and Ito (2008), reordered so that the first few differ most; their yellow is darkened to be seen on white.
_FIRST = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d1f")
_GOLDEN_ANGLE = 180.0 * (3.0 - math.sqrt(5.0))
_LEVELS = ((0.62, 0.15), (0.74, 0.12), (0.50, 0.13))  # lightness and chroma
_DARK_LIFT = 0.09  # on a dark page every colour is this much lighter


@lru_cache(maxsize=4096)
def colour(i: int, *, dark: bool = False) -> str:
    """Colour of orbit ``i`` as ``#rrggbb``, for light or dark paper.

    >>> colour(0), colour(0, dark=True) != colour(0), len({colour(i) for i in range(200)})
    ('#0072b2', True, 200)
    """
    if i < len(_FIRST):
        if not dark:
            return _FIRST[i]
        lightness, chroma, hue = _to_oklch(_FIRST[i])
    else:
        k = i - len(_FIRST)
        lightness, chroma = _LEVELS[k % len(_LEVELS)]
        hue = (20.0 + k * _GOLDEN_ANGLE) % 360.0
    return _from_oklch(min(lightness + _DARK_LIFT * dark, 0.9), chroma, hue)


def luminance(hexadecimal: str) -> float:
    """Relative luminance of WCAG 2, from 0 (black) to 1 (white).

    >>> round(luminance("#ffffff"), 6), round(luminance("#000000"), 6)
    (1.0, 0.0)
    """
    r, g, b = _linear(hexadecimal)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def text_on(background: str) -> str:
    """Black or white, whichever reads better on that colour.

    >>> text_on("#0072b2"), text_on("#e69f00")
    ('#ffffff', '#000000')
    """
    return "#ffffff" if luminance(background) < 0.2 else "#000000"


def _linear(hexadecimal: str) -> tuple[float, float, float]:
    channels = (int(hexadecimal[k : k + 2], 16) / 255.0 for k in (1, 3, 5))
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return r, g, b


def _to_oklch(hexadecimal: str) -> tuple[float, float, float]:
    """Ottosson's OKLab in polar form."""
    r, g, b = _linear(hexadecimal)
    long = (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) ** (1 / 3)
    medium = (0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) ** (1 / 3)
    short = (0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b) ** (1 / 3)
    lightness = 0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short
    a = 1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short
    b_ = 0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short
    return lightness, math.hypot(a, b_), math.degrees(math.atan2(b_, a))


def _from_oklch(lightness: float, chroma: float, hue: float) -> str:
    """Nearest displayable colour of that lightness and hue: the chroma gives way."""
    for step in range(21):
        c = chroma * (1 - step / 20)
        a, b = c * math.cos(math.radians(hue)), c * math.sin(math.radians(hue))
        long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
        medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
        short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
        rgb = (
            4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
            -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
            -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
        )
        if all(-1e-4 <= x <= 1.0001 for x in rgb):
            break
    shown = (12.92 * x if x <= 0.0031308 else 1.055 * x ** (1 / 2.4) - 0.055 for x in (min(max(x, 0), 1) for x in rgb))
    return "#" + "".join(f"{round(255 * x):02x}" for x in shown)


def font_size(text: str, r: float) -> float:
    """Size at which a text fits into a disc, in widths of a panel; 0 if it would be too small to read."""
    size = min(1.72 * r / (0.62 * max(len(text), 1)), 0.85 * r, 0.032)
    return size if size >= 0.015 else 0.0


def labels(names: Sequence[str], radii: Sequence[float]) -> list[tuple[str, float]]:
    """Every name with the size at which it fits into its disc; if one does not fit, numbers instead, where they do.

    >>> labels(["s1", "s2"], [0.05, 0.05])[1][0], labels(["a", "a very long name indeed"], [0.05, 0.05])[1][0]
    ('s2', '1')
    """
    sizes = [font_size(name, r) for name, r in zip(names, radii, strict=True)]
    if all(sizes):
        return list(zip(names, sizes, strict=True))
    found = [(str(k), font_size(str(k), r)) for k, r in enumerate(radii)]
    return [(text if size else "", size) for text, size in found]


def faintness(lines: int) -> float:
    """Opacity of that many lines."""
    return min(0.85, max(0.07, 7 / math.sqrt(max(lines, 1))))


def ring_glyph(model: str, state: str) -> tuple[Cell, ...]:
    """The cells of a state of a ring game, from its name, as the small rings of Fig. 1; nothing for other models.

    >>> [cell[3] for cell in ring_glyph("ring(n=5)", "goal 0, agent 0, mines {1}")], ring_glyph("fig2", "s1")
    (['goal', 'mine', 'free', 'free', 'free'], ())
    """
    size = re.match(r"(?:slip-)?ring\(n=(\d+)", model)
    found = re.match(r"goal (\d+), agent (\d+)(?:, mines \{([\d,]*)\})?$", state) if size else None
    if size is None or found is None or not 3 <= int(size[1]) <= 16:
        return ()
    n, goal, agent = int(size[1]), int(found[1]), int(found[2])
    mines = {int(k) for k in (found[3] or "").split(",") if k}
    r = min(0.26, 0.7 * math.sin(math.pi / n) * 0.78)
    cells = []
    for k in range(n):
        kind = "goal" if k == goal else "mine" if k in mines else "free"
        angle = 2 * math.pi * k / n
        cells.append((0.7 * math.sin(angle), -0.7 * math.cos(angle), r, kind, k == agent))
    return tuple(cells)


def paint(axes: Any, panel: Panel, points: float) -> None:
    """One graph on matplotlib axes of that many points: circles of orbits, then lines, nodes and labels."""
    from matplotlib.collections import LineCollection, PatchCollection
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Circle, Polygon

    def add(patches: list[Any], **look: Any) -> None:
        axes.add_collection(PatchCollection(patches, **look))

    if panel.rings:
        circles, hues = [Circle((g.x, g.y), g.r) for g in panel.rings], [colour(g.orbit) for g in panel.rings]
        dashes = ["--" if g.note else "-" for g in panel.rings]
        tints = [to_rgba(hue, 0.1) for hue in hues]
        add(circles, facecolors=tints, edgecolors=hues, linestyles=dashes, linewidths=0.8, zorder=1)
    for g in panel.rings:
        if g.note and (size := font_size(g.note, g.r)):
            axes.text(g.x, g.y, g.note, fontsize=size * points, ha="center", va="center", color=INK)
    if panel.lines:
        alpha = faintness(len(panel.lines))
        thick = [0.35 + 0.75 * line.weight for line in panel.lines]
        ends = [(line.start, line.end) for line in panel.lines]
        axes.add_collection(LineCollection(ends, linewidths=thick, colors=MUTED, alpha=alpha, zorder=2))
        heads = [Polygon(line.head) for line in panel.lines if line.head]
        add(heads, facecolors=MUTED, edgecolors="none", alpha=max(alpha, 0.5), zorder=2)
    hues = [colour(node.orbit) for node in panel.nodes]
    glyphs = any(node.glyph for node in panel.nodes)
    discs = [Circle((node.x, node.y), node.r) for node in panel.nodes]
    if glyphs:
        rims = [min(1.8, 0.14 * node.r * points) for node in panel.nodes]
        add(discs, facecolors=PAPER, edgecolors=hues, linewidths=rims, zorder=3)
    else:
        add(discs, facecolors=hues, edgecolors=PAPER, linewidths=0.5, zorder=3)
    for node, hue in zip(panel.nodes, hues, strict=True):
        if node.label and not glyphs:
            look = {"ha": "center", "va": "center", "color": text_on(hue), "zorder": 5, "parse_math": False}
            axes.text(node.x, node.y, node.label, fontsize=node.font * points, **look)
    cells = [(node, cell) for node in panel.nodes for cell in node.glyph]
    if cells:
        spots = [Circle((n.x + 0.9 * n.r * c[0], n.y + 0.9 * n.r * c[1]), 0.9 * n.r * c[2]) for n, c in cells]
        outline = [GLYPH["agent" if c[4] else "ring"] for _, c in cells]
        thick = [min(1.4, 0.12 * n.r * points) if c[4] else 0.3 for n, c in cells]
        add(spots, facecolors=[GLYPH[c[3]] for _, c in cells], edgecolors=outline, linewidths=thick, zorder=4)


#: The style sheet of every page. Print is always light; a phone gets one column.
PAGE_CSS = """
:root{color-scheme:light dark;--paper:#fff;--ink:#1b1f24;--muted:#5c6670;--line:#c3cad1;--tint:#f3f5f7;--link:#0b5cad}
@media screen and (prefers-color-scheme:dark){
:root{--paper:#14171b;--ink:#e6e9ec;--muted:#9ba6b1;--line:#414a54;--tint:#1e2328;--link:#7db8f5}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0 auto;padding:1.25rem clamp(.75rem,3vw,2rem) 3rem;max-width:80rem;background:var(--paper);color:var(--ink);
font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans","DejaVu Sans",Arial,sans-serif}
h1{font-size:1.6rem;line-height:1.2;margin:.25rem 0 .5rem}h2{font-size:1.25rem;margin:2rem 0 .5rem}h3{font-size:1.05rem}
p,li{max-width:75ch}a{color:var(--link)}code,pre{font-family:ui-monospace,"DejaVu Sans Mono",monospace;font-size:.9em}
pre{background:var(--tint);padding:.6rem .8rem;overflow-x:auto;border-radius:.4rem}
.muted,figcaption,.caption{color:var(--muted);font-size:.9rem}
nav.toc{background:var(--tint);border-radius:.5rem;padding:.5rem .9rem;margin:1rem 0}
nav.toc ol{margin:.25rem 0;padding-left:1.4rem;columns:auto 18rem}
nav.toc li{break-inside:avoid}
.scroll{overflow-x:auto;margin:.75rem 0}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.92rem}
.caption{margin:1rem 0 .25rem;max-width:none}.caption+.scroll{margin-top:0}
th,td{padding:.3rem .7rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
thead th{border-bottom:2px solid var(--muted);white-space:nowrap}td.n,th.n{text-align:right;white-space:nowrap}
figure{margin:1rem 0}figure>svg,figure>img{max-width:100%;height:auto;display:block}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
footer{margin-top:3rem;color:var(--muted);font-size:.85rem}
@media print{body{max-width:none;padding:0;font-size:10pt}nav.toc,.no-print{display:none}
h2{break-after:avoid}figure,tr{break-inside:avoid}a{color:inherit;text-decoration:none}.scroll{overflow:visible}}
"""

#: The orbit view: elements carry their two colours as --c (light) and --d (dark), with the text colours on them.
ORBIT_CSS = """
.orbits{--k:var(--muted)}
.orbits [data-orbit]{--k:var(--c);--t:var(--tc)}
@media screen and (prefers-color-scheme:dark){.orbits [data-orbit]{--k:var(--d);--t:var(--td)}}
.orbits .panels{display:grid;grid-template-columns:minmax(0,1fr) auto minmax(0,1fr);gap:.75rem;align-items:center}
.orbits .panel{margin:0;text-align:center}
.orbits .panel svg{width:100%;max-width:min(100%,80vh);height:auto;margin:0 auto;touch-action:manipulation}
.orbits .panel h3{margin:.2rem 0;font-weight:600}.orbits .size{margin:.2rem auto;font-variant-numeric:tabular-nums}
.orbits .arrow{text-align:center;line-height:1.3;min-width:4.5rem}
.orbits .arrow svg{width:4rem;display:block;margin:0 auto}.orbits .arrow i{font-size:1.2rem}
.orbits .e{fill:none;stroke:var(--muted);stroke-linecap:round;opacity:var(--faint)}
.orbits .h{fill:var(--muted);opacity:max(var(--faint),.4)}
.orbits .disc{fill:var(--k);stroke:var(--paper)}.orbits .plate{fill:var(--paper);stroke:var(--k)}
.orbits .orbit-ring{fill:var(--k);fill-opacity:.1;stroke:var(--k);stroke-opacity:.75}
.orbits .orbit-ring.empty{stroke-dasharray:9 7;fill-opacity:.04}
.orbits svg text{fill:var(--t);text-anchor:middle;dominant-baseline:central;pointer-events:none}
.orbits svg text.out{fill:var(--ink)}
.orbits .g-ring{fill:none;stroke:#9aa4ae}.orbits .g-goal{fill:#2e9e5b}.orbits .g-mine{fill:#d63a3a}
.orbits .g-free{fill:var(--tint);stroke:#9aa4ae}.orbits .g-agent{fill:none;stroke:var(--ink)}
.orbits svg [data-orbit]{cursor:pointer;outline:none}.orbits svg [tabindex]:focus-visible .ring{stroke:var(--link)}
.orbits .ring{fill:none;stroke:none}
.orbits [data-orbit],.orbits .e,.orbits .h{transition:opacity .12s}
.orbits.dim svg [data-orbit]:not(.on){opacity:.2}
.orbits.dim :is(.e,.h):not(.on){opacity:calc(var(--faint)*.2)}.orbits.dim :is(.e,.h).on{opacity:max(var(--faint),.55)}
.orbits .status{min-height:3.2em;margin:.75rem auto;padding:.5rem .8rem;border-left:4px solid var(--muted);
background:var(--tint);max-width:none}
.orbits.dim .status{position:sticky;bottom:0;z-index:1}
.orbits .legend ol{list-style:none;padding:0;margin:.5rem 0;display:grid;gap:.3rem;max-height:26rem;overflow-y:auto;
grid-template-columns:repeat(auto-fill,minmax(min(100%,19rem),1fr))}
.orbits .legend li{max-width:none}
.orbits .legend button{display:grid;grid-template-columns:2.4rem 1fr;gap:.1rem .6rem;align-items:center;width:100%;
height:100%;text-align:left;font:inherit;font-size:.86rem;line-height:1.35;color:var(--ink);background:none;
border:1px solid var(--line);border-radius:.4rem;padding:.3rem .5rem;cursor:pointer}
.orbits .legend button.on{background:var(--tint);border-color:var(--k)}
.orbits .legend button>span{grid-row:1/3}.orbits .legend svg{width:2.4rem;display:block}
.orbits .legend small{grid-column:2;color:var(--muted);overflow-wrap:anywhere}
.orbits summary{cursor:pointer;font-weight:600}
@media (max-width:48rem){.orbits .panels{grid-template-columns:1fr}.orbits .arrow{display:flex;justify-content:center;
align-items:center;gap:.5rem}.orbits .arrow svg{transform:rotate(90deg);width:2.5rem;margin:.6rem 0}}
@media print{.orbits .status{display:none}.orbits .panels{grid-template-columns:minmax(0,1fr) auto minmax(0,1fr);
break-inside:avoid}.orbits .arrow{display:block}.orbits .arrow svg{transform:none}
.orbits .legend ol{max-height:none;overflow:visible}.orbits .legend button{break-inside:avoid}}
@media (prefers-reduced-motion:reduce){.orbits *{transition:none!important}}
"""

#: Hover or focus lights up an orbit and its members, a tap or Enter keeps it, Escape lets go; arrows walk in a panel.
ORBIT_JS = """
(() => {
  'use strict';
  for (const view of document.querySelectorAll('.orbits')) {
    const status = view.querySelector('.status'), idle = status.textContent;
    const parts = new Map();
    const add = (k, e) => { if (!parts.has(k)) parts.set(k, []); parts.get(k).push(e); };
    for (const e of view.querySelectorAll('[data-orbit]')) add(e.dataset.orbit, e);
    for (const e of view.querySelectorAll('[data-a]')) {
      add(e.dataset.a, e);
      if (e.dataset.b !== e.dataset.a) add(e.dataset.b, e);
    }
    let lit = null, kept = null;
    const press = (k, yes) => {
      for (const e of parts.get(k) || []) if (e.hasAttribute('aria-pressed')) e.setAttribute('aria-pressed', yes);
    };
    const light = (k, name) => {
      if (lit !== k) {
        for (const e of parts.get(lit) || []) e.classList.remove('on');
        for (const e of parts.get(k) || []) e.classList.add('on');
        view.classList.toggle('dim', k !== null);
        lit = k;
      }
      const entry = k === null ? null : view.querySelector('.legend [data-orbit="' + k + '"]');
      status.textContent = entry ? (name ? name + ' is in ' : '') + entry.dataset.says : idle;
      status.style.borderColor = entry ? getComputedStyle(entry).getPropertyValue('--k') : '';
    };
    const keep = (k) => {
      if (kept !== null) press(kept, 'false');
      kept = kept === k ? null : k;
      if (kept !== null) press(kept, 'true');
    };
    const at = (event) => event.target.closest ? event.target.closest('[data-orbit]') : null;
    const show = (e) => e ? light(e.dataset.orbit, e.dataset.name) : light(kept);
    view.addEventListener('pointerover', (event) => { if (event.pointerType !== 'touch') show(at(event)); });
    view.addEventListener('pointerleave', () => light(kept));
    view.addEventListener('focusin', (event) => { if (at(event)) show(at(event)); });
    view.addEventListener('focusout', () => light(kept));
    view.addEventListener('click', (event) => {
      const e = at(event);
      if (!e && !event.target.closest('svg')) return;
      keep(e ? e.dataset.orbit : null);
      show(e && kept !== null ? e : null);
    });
    for (const group of view.querySelectorAll('[data-roving]')) {
      const items = [...group.querySelectorAll('[tabindex]')];
      group.addEventListener('keydown', (event) => {
        const here = items.indexOf(event.target.closest('[tabindex]'));
        if (here < 0) return;
        const steps = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1};
        let next = event.key in steps ? here + steps[event.key] : here;
        if (event.key === 'Home') next = 0;
        if (event.key === 'End') next = items.length - 1;
        next = (next + items.length) % items.length;
        if (next !== here) {
          event.preventDefault();
          items[here].setAttribute('tabindex', '-1');
          items[next].setAttribute('tabindex', '0');
          items[next].focus();
        } else if ((event.key === 'Enter' || event.key === ' ') && !event.target.closest('button')) {
          event.preventDefault();
          keep(items[here].dataset.orbit);
          show(items[here]);
        }
      });
    }
    view.addEventListener('keydown', (event) => { if (event.key === 'Escape') { keep(null); light(null); } });
  }
})();
"""
