"""The player: its data replayed equal ``apply_moves``, its axes and signs turn stickers to where the tables say."""

import html
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burnside.cli import main
from burnside.cli.tools import chromium
from burnside.envs.cube import CubeSpec, apply_moves, scramble, solved
from burnside.envs.cube.geometry import FACES
from burnside.errors import InvalidAction, InvalidModel, UnknownName
from burnside.report.cube_picture import solving_svg
from burnside.report.cube_view import add_player, cube_player, player_data
from burnside.report.page import Page

CASES = [
    (2, "outer", "R L' U F2 D B'"),
    (3, "outer", "R U R' U' F B L D"),
    (3, "slices", "M E' S R"),
    (5, "slices", "2R 2F' M U"),
]


def embedded(text: str) -> dict[str, Any]:
    """What the script will read."""
    found = re.search(r'<script type="application/json">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


@pytest.mark.parametrize(("n", "turns", "moves"), CASES)
def test_frames_equal_apply_moves(n: int, turns: str, moves: str) -> None:
    spec = CubeSpec(n, turns)
    start = scramble(spec, 3, 12)[0][0]
    data = embedded(cube_player(spec, start, moves))
    state = [int(c) for c in data["start"]]
    assert state == start.tolist() and data["moves"] == spec.parse(moves)
    for k, move in enumerate(data["moves"], start=1):
        state = [state[p] for p in data["turns"][str(move)]["perm"]]
        assert state == apply_moves(spec, start, data["moves"][:k]).tolist()


@pytest.mark.parametrize(("n", "turns", "moves"), CASES)
def test_the_animation_ends_at_the_next_frame(n: int, turns: str, moves: str) -> None:
    """Rotating the layer right-handed by sign·90° brings every sticker to where the permutation puts it."""
    spec = CubeSpec(n, turns)
    data = player_data(spec, solved(spec), list(range(spec.n_moves)))
    positions, normals = np.array(data["positions"]), np.array(data["normals"])
    number = {(*p, *v): i for i, (p, v) in enumerate(zip(positions.tolist(), normals.tolist(), strict=True))}
    assert len(data["turns"]) == spec.n_moves
    for turn in data["turns"].values():
        x, y, z = turn["axis"]
        cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        matrix = np.outer(turn["axis"], turn["axis"]) + turn["sign"] * cross  # Rodrigues at ±90°
        moving = positions @ np.array(turn["axis"]) == turn["at"]
        assert moving.sum() == (n**2 if abs(turn["at"]) == n - 1 else 0) + 4 * n
        where = np.concatenate([positions @ matrix.T, normals @ matrix.T], axis=1).tolist()
        for j in range(spec.n_stickers):
            target = number[tuple(where[j])] if moving[j] else j
            assert turn["perm"][target] == j


def test_several_on_a_page_share_style_and_script() -> None:
    page = Page("cubes")
    for n in (2, 3):
        add_player(page, CubeSpec(n), solved(CubeSpec(n)), "R U", f"a <cube> of {n}")
    text = page.render()
    assert text.count('class="cube-player"') == 2 and text.count("'use strict'") == 1
    assert "a &lt;cube&gt; of 2" in text and "2 turns: R U" in text
    assert not re.search(r"""(src|href)=["']?https?:""", text) and "@import" not in text
    assert "@media print" in text and "prefers-reduced-motion" in text


def test_controls_have_names() -> None:
    text = cube_player(CubeSpec(3), solved(CubeSpec(3)), "")
    for name in ("to the start", "one turn back", "play", "one turn on", "to the end", "turn", "playback"):
        assert f'aria-label="{name}"' in text
    assert 'role="img" tabindex="0"' in text and "no turns" in text and "</script></figure>" in text


def test_bad_input() -> None:
    spec = CubeSpec(3)
    with pytest.raises(UnknownName):
        cube_player(spec, solved(spec), "R Q")
    with pytest.raises(InvalidAction):
        cube_player(spec, solved(spec), [12])
    with pytest.raises(InvalidModel):
        cube_player(spec, np.zeros(24, np.uint8), "R")


def test_show_cube(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "orbit.html"
    assert main(["show", "cube", "--n", "2", "--moves", "R U'", "--symmetry", "position", "--out", str(out)]) == 0
    assert "the 24 images of a state of the 2-cube under position" in capsys.readouterr().out
    text = out.read_text()
    assert embedded(text)["names"] == ["R", "U'"] and text.count("<rect") == 30 + 26 * 30 + 2
    picture = tmp_path / "orbit.svg"
    assert main(["show", "cube", "--param", "turns=slices", "--moves", "M", "--out", str(picture), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == {"path": str(picture), "moves": "M", "symmetry": "conjugation+mirror", "images": 48}
    assert main(["show", "cube", "--moves", "M", "--out", str(picture)]) == 2
    assert "turns='slices'" in capsys.readouterr().err
    assert main(["show", "ring", "--n", "5", "--moves", "R"]) == 2


COLLECT = """
window.addEventListener('error', (e) => { document.body.dataset.failed = e.message; });
const all = [];
for (const view of document.querySelectorAll('.cube-player')) {
  const slider = view.querySelector('input'), mine = [];
  for (let k = 0; k <= Number(slider.max); k++) {
    slider.value = k;
    slider.dispatchEvent(new Event('input'));
    mine.push(view.dataset.state);
  }
  all.push(mine);
}
document.body.dataset.frames = all.map((mine) => mine.join(' ')).join(';');
"""


@pytest.mark.slow
def test_a_browser_shows_the_frames(tmp_path: Path) -> None:
    """The script itself, where there is a browser."""
    browser = chromium()
    if browser is None:
        pytest.skip("needs a chromium that works (make browser, or on Debian: apt install chromium)")
    page, expected = Page("cubes"), []
    for n, turns, moves in CASES:
        spec = CubeSpec(n, turns)
        start, numbers = scramble(spec, 3, 12)[0][0], spec.parse(moves)
        add_player(page, spec, start, moves)
        states = [apply_moves(spec, start, numbers[:k]) for k in range(len(numbers) + 1)]
        expected.append(" ".join("".join(FACES[c] for c in state) for state in states))
    path = page.script(COLLECT).write(tmp_path / "page.html")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    found = subprocess.run([browser, *options, path.as_uri()], capture_output=True, text=True, timeout=120)
    frames = re.search(r'data-frames="([^"]*)"', found.stdout)
    assert frames is not None and "data-failed" not in found.stdout
    assert frames[1] == ";".join(expected)


def test_the_picture_in_readme_is_a_cube_that_its_turns_solve() -> None:
    """`python -m burnside.report.cube_picture docs/images/cube-solved.svg` wrote it; the turns are in the file."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "images" / "cube-solved.svg").read_text(encoding="utf-8")
    found = re.search(r"<desc>scramble: (.*); solution: (.*)</desc>", html.unescape(text))
    assert found is not None
    spec = CubeSpec(3)
    turns, moves = (spec.parse(words) for words in found.groups())
    assert len(turns) == 100 and f"solved in {len(moves)} quarter turns by 6 224 weights" in text
    assert solving_svg(spec, turns, moves, f"solved in {len(moves)} quarter turns by 6 224 weights") == text


def test_the_words_below_a_cube_are_not_cut() -> None:
    """A letter of the widest usual font takes 0.6 of the size of the font, on average."""
    spec, words = CubeSpec(2), "solved in two quarter turns, with many words below"
    text = solving_svg(spec, spec.parse("R U"), spec.parse("U' R'"), words)
    width, size = (float(re.search(rf'{name}="([\d.]+)', text)[1]) for name in (" width", "font-size"))
    assert width >= 0.6 * size * len(words)
    assert 'width="160"' in solving_svg(spec, spec.parse("R"), spec.parse("R'")), "a short line leaves the net alone"
