"""A cube in the report that plays turns: drag it, step through it, or let it play; printed, it is a net and a list.

The player is given the permutations of ``CubeSpec.table`` and the integer geometry, so it shows what the library does.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from burnside._types import ArrayLike
from burnside.envs.cube import CubeSpec
from burnside.envs.cube.core import as_actions
from burnside.envs.cube.geometry import FACES, stickers, turns
from burnside.envs.cube.render import COLOURS, draw_svg, one_state
from burnside.report.page import Html, Page, asset, escape

__all__ = ["add_player", "cube_player", "player_data"]


def player_data(spec: CubeSpec, start: ArrayLike, moves: str | Sequence[int]) -> dict[str, Any]:
    """What the player needs: the first state, the turns with their permutations, and where the stickers are.

    State k + 1 is ``[state_k[p] for p in turns[moves[k]]["perm"]]``. The layer that turns has the stickers with
    ``position·axis = at``, and turns by ``sign``·90°, right-handed about the axis.

    >>> from burnside.envs.cube import solved
    >>> data = player_data(CubeSpec(2), solved(CubeSpec(2)), "R U'")
    >>> data["moves"], data["names"], data["turns"]["10"]["axis"], data["turns"]["10"]["sign"]
    ([10, 1], ['R', "U'"], [1, 0, 0], -1)
    """
    state = one_state(spec, start)
    sequence = spec.parse(moves) if isinstance(moves, str) else as_actions(spec, list(moves)).ravel().tolist()
    positions, normals = stickers(spec.n)
    listed = turns(spec.n, spec.slices)
    used = {}
    for a in sorted(set(sequence)):
        face, layer, back = listed[a]
        used[str(a)] = {
            "perm": spec.table[a].tolist(),
            "axis": normals[face * spec.n**2].tolist(),
            "at": spec.n - 1 - 2 * layer,
            "sign": 1 if back else -1,
        }
    return {
        "n": spec.n,
        "start": "".join(str(int(c)) for c in state),
        "moves": sequence,
        "names": [spec.names[a] for a in sequence],
        "turns": used,
        "positions": positions.tolist(),
        "normals": normals.tolist(),
        "faces": FACES,
        "colours": list(COLOURS),
    }


def _markup(spec: CubeSpec, start: ArrayLike, moves: str | Sequence[int], title: str) -> Html:
    data = player_data(spec, start, moves)
    buttons = "".join(
        f'<button type="button" data-do="{name}" aria-label="{label}">{sign}</button>'
        for name, label, sign in (
            ("first", "to the start", "«"),
            ("back", "one turn back", "‹"),
            ("play", "play", "▶"),
            ("next", "one turn on", "›"),
            ("last", "to the end", "»"),
        )
    )
    items = "".join(f"<li>{escape(name)}</li>" for name in data["names"])
    count = len(data["moves"])
    words = f"{count} turn{'' if count == 1 else 's'}: {' '.join(data['names'])}" if count else "no turns"
    heading = f"<figcaption>{escape(title)}</figcaption>" if title else ""
    label = escape(f"{title or 'cube'}, {words}; arrow keys turn the view, space plays")
    # "<" never occurs in the data, but a script element must not depend on that
    inside = json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    return Html(
        f'<figure class="cube-player"><canvas role="img" tabindex="0" width="400" height="400" aria-label="{label}">'
        f'</canvas><div class="net">{draw_svg(spec, start)}</div>'
        f'<div class="controls" role="group" aria-label="playback">{buttons}'
        f'<input type="range" min="0" max="{count}" value="0" aria-label="turn"></div>'
        f'<ol class="moves" aria-hidden="true">{items}</ol><p class="status" aria-live="polite"></p>'
        f'<p class="printed">{escape(words)}</p>{heading}'
        f'<script type="application/json">{inside}</script></figure>'
    )


def cube_player(spec: CubeSpec, start: ArrayLike, moves: str | Sequence[int], title: str = "") -> str:
    """A fragment of HTML that shows the state and plays the turns, with its own style and script.

    Several may stand on one page; on a :class:`Page` use :func:`add_player`, which puts style and script in once.

    Args:
        spec: the cube.
        start: the state before the first turn.
        moves: the turns, as text or numbers.
        title: a caption.
    """
    return (
        f"<style>{asset('cube-player.css')}</style>{_markup(spec, start, moves, title)}"
        f"<script>{asset('cube-player.js')}</script>"
    )


def add_player(page: Page, spec: CubeSpec, start: ArrayLike, moves: str | Sequence[int], title: str = "") -> Page:
    """Add a player to a page.

    >>> from burnside.envs.cube import solved
    >>> page = Page("two").style("")
    >>> for n in (2, 3):
    ...     page = add_player(page, CubeSpec(n), solved(CubeSpec(n)), "R U")
    >>> text = page.render()
    >>> text.count('<figure class="cube-player"'), text.count("const rotate")
    (2, 1)
    """
    return page.use("cube-player").html(_markup(spec, start, moves, title))
