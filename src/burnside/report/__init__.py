"""Tables, figures and the HTML report: what a reader sees of everything below.

What lives here:

- ``graphs`` — :func:`draw`, the state graph coloured by orbit beside its quotient (Figs. 1 and 2) as SVG, PNG or HTML,
  and :func:`orbit_view`, the same as a fragment of a page;
- ``layout`` — where the nodes go: pure functions from graphs to positions;
- ``page`` — :class:`Page`, one self-contained HTML file for phone, desk and print, light and dark;
- ``assets/`` — the style sheets and scripts of the pages, as files; :meth:`Page.use` puts them in;
- ``arms`` — which parts of a plot belong to a label, so that its buttons can hide them;
- ``tables``, ``plots`` — results as rows of text, shared with the command line, and as vector figures with their data;
- ``theory``, ``mistakes``, ``ring1d``, ``ring3d``, ``cube``, ``planar``, ``robot`` — the parts of
  ``burnside reproduce``, a module each; ``parts`` is what they share. ``burnside.cli`` runs the sweeps behind them;
- ``claims`` — the ledger: every claim of the paper with its verdict, and the checks that compute it again;
- ``style`` — the colours and fonts that figures and pages share.

It may import every other folder of the package; nothing but the command line imports it. matplotlib and networkx are
imported inside functions, so that ``import burnside`` stays quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from burnside._lazy import lazy

if TYPE_CHECKING:
    from burnside.report.cube_view import add_player as add_player
    from burnside.report.graphs import draw as draw
    from burnside.report.page import Page as Page
else:
    __all__, __getattr__, __dir__ = lazy(__name__)
