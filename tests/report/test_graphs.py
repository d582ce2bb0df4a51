"""Pictures: complete, honest about what they leave out, well-formed, and written in one piece."""

import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from burnside.errors import BurnsideError, InvalidParameter, UnreadableFile
from burnside.mdp import TabularMDP, minimise, quotient, zoo
from burnside.mdp.symmetry import Symmetry
from burnside.report import Page, draw, graphs, style
from burnside.report.graphs import orbit_view, scene

MODELS = {
    "fig2": (zoo.fig2, "Z2"),
    "ring-Z": (lambda: zoo.ring(n=5), "Z"),
    "ring-graph": (lambda: zoo.ring(n=5), "graph"),
    "grid": (lambda: zoo.grid(5), "D4"),
    "hypercube": (lambda: zoo.hypercube(4), "S"),
    "river": (zoo.river, None),
    "bandit": (lambda: zoo.bandit(8), "Z"),
    "slip-ring": (lambda: zoo.slip_ring(10), "D"),
}


def model(name: str):
    make, symmetry = MODELS[name]
    mdp = make()
    return mdp, quotient(mdp, mdp.symmetry(symmetry))


class Elements(HTMLParser):
    """All start tags with their attributes; void and unclosed elements are watched."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, {k: v or "" for k, v in attrs}))
        if tag not in ("meta", "br", "link", "img"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, {k: v or "" for k, v in attrs}))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def nodes(text: str) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """The attributes of the states and of the classes."""
    buttons = [a for tag, a in Elements(text).found if tag == "g" and a.get("role") == "button"]
    return [a for a in buttons if "data-name" in a], [a for a in buttons if "data-name" not in a]


@pytest.mark.parametrize("name", MODELS)
def test_svg_is_xml_and_tells_the_sizes(name: str, tmp_path: Path) -> None:
    mdp, q = model(name)
    path = draw(mdp, q, tmp_path / "x.svg", symmetry_name="G<1>")
    root = ET.parse(path).getroot()
    assert root.tag.endswith("svg")
    text = " ".join(root.itertext())
    assert f"|S| = {mdp.n_states}, {mdp.n_pairs} pairs" in text
    assert f"|S̄| = {q.mdp.n_states}, {q.mdp.n_pairs} pairs" in text
    assert "G<1>" in text
    again = draw(mdp, q, tmp_path / "y.svg", symmetry_name="G<1>")
    assert again.read_bytes() == path.read_bytes()


def test_png(tmp_path: Path) -> None:
    mdp, q = model("ring-graph")
    path = draw(mdp, q, tmp_path / "picture", symmetry_name="graph", format="png")
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert len(data) > 50_000


@pytest.mark.parametrize("name", MODELS)
def test_html_has_every_state_and_class_in_the_same_colour(name: str, tmp_path: Path) -> None:
    mdp, q = model(name)
    text = draw(mdp, q, tmp_path / "x.html", symmetry_name="G").read_text()
    states, classes = nodes(text)
    assert len(states) == mdp.n_states and len(classes) == q.mdp.n_states
    assert [a["data-name"] for a in states] == [mdp.state_name(s) for s in range(mdp.n_states)]
    assert [int(a["data-orbit"]) for a in states] == q.sigma.tolist()
    assert [int(a["data-orbit"]) for a in classes] == list(range(q.mdp.n_states))
    hue = {a["data-orbit"]: a["style"] for a in classes}
    assert all(hue[a["data-orbit"]] == a["style"] for a in states)
    assert all(f"--c:{style.colour(int(k))};" in look for k, look in hue.items())
    legend = [a for tag, a in Elements(text).found if tag == "button"]
    assert [int(a["data-orbit"]) for a in legend] == list(range(q.mdp.n_states))


@pytest.mark.parametrize("name", ["fig2", "ring-Z"])
def test_html_stands_alone(name: str, tmp_path: Path) -> None:
    mdp, q = model(name)
    text = draw(mdp, q, tmp_path / "x.html", symmetry_name="G").read_text()
    assert not re.search(r"https?://|@import|url\(|<link|src=", text)
    page = Elements(text)
    assert page.open == []
    assert "prefers-color-scheme:dark" in text and "@media print" in text and 'name="viewport"' in text
    for group in ("svg", "ol"):  # one stop for the Tab key in each panel and in the legend
        assert [tag for tag, a in page.found if "data-roving" in a].count(group) == (2 if group == "svg" else 1)
    assert sum(a.get("tabindex") == "0" for _, a in page.found) == 3


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_script_parses(tmp_path: Path) -> None:
    mdp, q = model("fig2")
    text = draw(mdp, q, tmp_path / "x.html", symmetry_name="G").read_text()
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.S)
    (tmp_path / "x.js").write_text(script)
    subprocess.run(["node", "--check", str(tmp_path / "x.js")], check=True, capture_output=True)


def test_positions_are_inside_and_apart() -> None:
    for name in MODELS:
        mdp, q = model(name)
        picture = scene(mdp, q, symmetry_name="G")
        for panel in (picture.left, picture.right):
            at = np.array([(n.x, n.y) for n in panel.nodes])
            r = np.array([n.r for n in panel.nodes])
            assert (at - r[:, None] >= 0).all() and (at + r[:, None] <= 1).all(), name
            distance = np.linalg.norm(at[:, None] - at[None], axis=2)
            np.fill_diagonal(distance, 9)
            assert (distance >= 0.99 * (r[:, None] + r[None])).all(), (name, panel.heading)


def test_members_stand_inside_the_circle_of_their_orbit() -> None:
    mdp, q = model("ring-graph")
    left = scene(mdp, q, symmetry_name="G").left
    circle = {g.orbit: g for g in left.rings}
    assert len(circle) == 13
    for n in left.nodes:
        g = circle[n.orbit]
        assert np.hypot(n.x - g.x, n.y - g.y) + n.r <= g.r * 1.001


def test_lines_are_the_transitions() -> None:
    """On the river every state reaches its neighbours; one way only counts as an arrow."""
    P = np.zeros((3, 1, 3))
    P[0, 0, 1] = P[1, 0, 0] = 0.75
    P[0, 0, 0] = P[1, 0, 2] = 0.25
    P[2, 0, 2] = 1.0
    mdp = TabularMDP.from_dense(P, np.zeros((3, 1)), [1, 0, 0], 2)
    lines = scene(mdp, quotient(mdp, Symmetry.trivial(mdp)), symmetry_name="1").left.lines
    assert [(line.a, line.b, line.weight, bool(line.head)) for line in lines] == [
        (0, 1, 0.75, False),
        (1, 2, 0.25, True),
    ]


def test_large_models_say_what_is_left_out(tmp_path: Path) -> None:
    mdp = zoo.ring(n=6)
    q = quotient(mdp, mdp.symmetry("Z"))
    picture = scene(mdp, q, symmetry_name="Z6", max_states=100)
    assert len(picture.left.nodes) == 96 and len(picture.right.nodes) == 16  # whole orbits of six
    note = picture.notes[0]
    assert note.startswith("Not all is drawn: ring(n=6) has 1152 states, more than the limit of 100")
    assert "the 96 states of 16 of the 192 orbits" in note
    for suffix in ("html", "svg"):
        text = draw(mdp, q, tmp_path / f"x.{suffix}", symmetry_name="Z6", max_states=100, title="mine").read_text()
        assert "Not all is drawn" in text and "mine" in text


def test_a_small_quotient_is_drawn_whole(tmp_path: Path) -> None:
    mdp = zoo.hypercube(10)
    q = quotient(mdp, mdp.symmetry("S"))
    picture = scene(mdp, q, symmetry_name="S10", max_states=100)
    assert len(picture.right.nodes) == 11
    missing = [g for g in picture.left.rings if g.note]
    assert sum(int(g.note.split()[0]) for g in missing) + len(picture.left.nodes) == 1024
    assert "A dashed circle stands for all members" in picture.notes[0]
    text = draw(mdp, q, tmp_path / "x.html", symmetry_name="S10", max_states=100).read_text()
    assert text.count("orbit-ring empty") == len(missing)


def test_no_orbit_fits(tmp_path: Path) -> None:
    mdp = zoo.ring(n=6)
    q = quotient(mdp, mdp.symmetry("Z"))
    picture = scene(mdp, q, symmetry_name="Z6", max_states=5)
    assert not picture.left.nodes and len(picture.right.nodes) == graphs.ALL_CLASSES
    assert "no states, since no orbit fits" in picture.notes[0]
    draw(mdp, q, tmp_path / "x.png", symmetry_name="Z6", max_states=5)


def test_many_lines_are_sampled_and_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "MAX_LINES", 50)
    mdp, q = model("slip-ring")
    picture = scene(mdp, q, symmetry_name="D")
    assert len(picture.left.lines) == 50
    assert any(re.match(r"Of the \d+ lines of M, 50 drawn at random", note) for note in picture.notes)


def test_trust_and_minimise_are_named() -> None:
    mdp = zoo.ring(n=5)
    trusted = quotient(mdp, mdp.symmetry("Z"), trust=True)
    assert any("not verified" in note for note in scene(mdp, trusted, symmetry_name="Z").notes)
    picture = scene(mdp, minimise(mdp), symmetry_name="minimise")
    assert picture.word == "class" and len(picture.right.nodes) == 8


def test_names_are_escaped(tmp_path: Path) -> None:
    evil = '<script>alert("x")</script>&$x_1$'
    mdp = TabularMDP([[0, 1], [1, 0]], [0, 0], [1, 0], 2, name=evil, state_names=[evil, "b"])
    q = quotient(mdp, Symmetry([[1, 0]], [[1, 0]]), trust=True)
    text = draw(mdp, q, tmp_path / "x.html", symmetry_name=evil).read_text()
    assert text.count("<script>") == 1 and text.count("</script>") == 1
    ET.parse(draw(mdp, q, tmp_path / "x.svg", symmetry_name=evil))


@pytest.mark.parametrize("name", ["x.pdf", "x", "x.svg.gz"])
def test_bad_suffix(name: str, tmp_path: Path) -> None:
    mdp, q = model("fig2")
    with pytest.raises(InvalidParameter, match=r"svg, .?png or .?html"):
        draw(mdp, q, tmp_path / name, symmetry_name="Z2")
    with pytest.raises(InvalidParameter, match=r"'jpeg'.*svg, png or html"):
        draw(mdp, q, tmp_path / "x.svg", symmetry_name="Z2", format="jpeg")
    assert list(tmp_path.iterdir()) == []


def test_bad_arguments() -> None:
    mdp, q = model("fig2")
    with pytest.raises(InvalidParameter, match="max_states"):
        scene(mdp, q, symmetry_name="Z2", max_states=0)
    with pytest.raises(InvalidParameter, match="4 states"):
        scene(zoo.river(), q, symmetry_name="Z2")


@pytest.mark.parametrize("suffix", graphs.FORMATS)
def test_unwritable_folder_is_one_sentence(suffix: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    mdp, q = model("fig2")
    with pytest.raises(UnreadableFile, match="cannot write") as caught:
        draw(mdp, q, tmp_path / "file" / f"x.{suffix}", symmetry_name="Z2")
    assert isinstance(caught.value, BurnsideError) and "\n" not in str(caught.value)


def test_a_failure_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mdp, q = model("fig2")
    path = tmp_path / "x.png"
    path.write_text("old")

    def fail(axes: object, panel: object, points: float) -> None:
        raise RuntimeError("half-way")

    monkeypatch.setattr(style, "paint", fail)
    with pytest.raises(RuntimeError, match="half-way"):
        draw(mdp, q, path, symmetry_name="Z2")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["x.png"]


def test_two_views_on_a_page_share_one_script() -> None:
    page = Page("report")
    for name in ("fig2", "grid"):
        mdp, q = model(name)
        orbit_view(page.section(name), mdp, q, symmetry_name="G")
    text = page.render()
    assert text.count("<script>") == 1 and text.count('<div class="orbits">') == 2
    assert "<h3>fig2 and its quotient by G</h3>" in text


def test_ring_glyphs() -> None:
    mdp, q = model("ring-graph")
    picture = scene(mdp, q, symmetry_name="graph")
    for node in picture.right.nodes:
        kinds = [cell.holds for cell in node.glyph]
        assert len(kinds) == 5 and kinds.count("goal") == 1 and sum(cell.agent for cell in node.glyph) == 1
    assert not any(node.glyph for node in scene(*model("grid"), symmetry_name="D4").right.nodes)


def test_pictures_follow_the_data_of_the_model_and_not_its_names(tmp_path: Path) -> None:
    other = zoo.ring(n=5).replace(name="mine", state_names=None)
    assert any(node.glyph for node in scene(other, quotient(other, other.symmetry()), symmetry_name="Z").right.nodes)
    P = np.eye(3)[[1, 2, 0], None]
    named = TabularMDP.from_dense(P, np.zeros((3, 1)), [1, 0, 0], 2, name="ring(n=3)")
    named = named.replace(state_names=["goal 0, agent 0", "goal 0, agent 1", "goal 0, agent 2"])
    assert not any(node.glyph for node in scene(named, minimise(named), symmetry_name="1").right.nodes)
    # positions of a model are kept by its files, coinciding ones are not drawn on top of each other
    placed = named.replace(positions=[[0, 0], [3, 0], [0, 1]])
    for suffix in ("json", "npz"):
        again = TabularMDP.from_file(placed.save(tmp_path / f"x.{suffix}"))
        trivial = quotient(again, Symmetry.trivial(again))
        at = np.array([(n.x, n.y) for n in scene(again, trivial, symmetry_name="1").left.nodes])
        assert np.allclose((at - at[0]) / (at[1, 0] - at[0, 0]), [[0, 0], [1, 0], [0, 1 / 3]])
    for bad in ([[0, 0], [0, 0], [1, 1]], [[0, 0], [-1e308, 0], [1e308, 1]]):
        again = named.replace(positions=bad)
        at = np.array([(n.x, n.y) for n in scene(again, trivial, symmetry_name="1").left.nodes])
        assert np.isfinite(at).all() and len(np.unique(at.round(6), axis=0)) == 3


def test_states_that_are_rows_and_columns_are_drawn_as_a_grid() -> None:
    def step(s, a):
        return [(1.0, (min(max(s[0] + a[0], 0), 2), min(max(s[1] + a[1], 0), 3)), 0.0)]

    moves = ((0, 1), (1, 0), (0, -1), (-1, 0))
    room = TabularMDP.from_step([(0, 0)], lambda s: moves, step, 3, state_names=lambda i: f"room {i}")
    assert room.positions is not None and sorted(map(tuple, room.positions.tolist())) == [
        (x, y) for x in range(4) for y in range(3)
    ]
    far = TabularMDP.from_step([(0, 0)], lambda s: [0, 1], lambda s, a: [(1.0, (9 - s[0], 9 * a), 0.0)], 3)
    assert far.positions is None  # a goal and an agent, say: nothing says that they are places


def test_matplotlib_is_imported_only_to_draw() -> None:
    code = "import sys, burnside, burnside.report; print([m for m in ('matplotlib', 'networkx') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
