"""Pictures: the net has every sticker at its place, orbit figures mark the representative, files by suffix."""

import io
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from burnside.envs.cube import CubeCanonicalizer, CubeSpec, CubeSymmetry, apply_moves, scramble, solved
from burnside.envs.cube.core import draw_ansi
from burnside.envs.cube.geometry import FACES
from burnside.envs.cube.render import COLOURS, draw_png, draw_rgb, draw_svg, net, net_places, orbit_figure
from burnside.errors import InvalidModel, InvalidParameter

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("n", [2, 3, 5])
def test_the_net_is_that_of_the_terminal(n: int) -> None:
    spec = CubeSpec(n)
    state = scramble(spec, 1, 30)[0][0]
    lines = draw_ansi(spec, state).splitlines()
    for (column, row), colour in zip(net_places(n).tolist(), state, strict=True):
        assert lines[row][2 * column] == FACES[colour]


def test_svg_has_a_rectangle_of_the_right_colour_per_sticker() -> None:
    spec = CubeSpec(3)
    state = apply_moves(spec, solved(spec), "R")
    root = ElementTree.fromstring(draw_svg(spec, state))
    rects = [r.attrib for r in root.iter(f"{SVG}rect")]
    assert len(rects) == 6 + 54
    assert [r["fill"] for r in rects[6:]] == [COLOURS[c] for c in state]
    assert "F FFDFFDFFD" in root.attrib["aria-label"]  # the right column of F comes from D
    assert [t.text for t in root.iter(f"{SVG}text")] == [FACES[c] for c in state]
    assert not list(ElementTree.fromstring(draw_svg(spec, state, letters=False)).iter(f"{SVG}text"))


def test_the_array_has_the_colours_at_the_centres() -> None:
    spec = CubeSpec(4)
    state = scramble(spec, 5, 20)[0][0]
    image = draw_rgb(spec, state, size=120)
    cell = image.shape[0] // 12
    assert image.dtype == np.uint8 and image.shape == (12 * cell, 16 * cell, 3)
    for (column, row), colour in zip(net_places(4).tolist(), state, strict=True):
        found = image[row * cell + cell // 2, column * cell + cell // 2]
        assert "#" + "".join(f"{x:02x}" for x in found) == COLOURS[colour]
    assert (image[0, 0] == 255).all()


def test_png_shows_what_svg_shows() -> None:
    from matplotlib.image import imread

    spec = CubeSpec(2)
    state = apply_moves(spec, solved(spec), "R U")
    picture = net(spec, state, letters=False)
    image = imread(io.BytesIO(draw_png(spec, state, letters=False)))
    scale = image.shape[1] / picture.width
    for (column, row), colour in zip(net_places(2).tolist(), state, strict=True):
        found = image[int((row + 0.7) * scale), int((column + 0.7) * scale), :3]
        assert "#" + "".join(f"{round(255 * float(x)):02x}" for x in found) == COLOURS[colour]


@pytest.mark.parametrize(("symmetry", "order"), [("position", 24), ("conjugation", 24), ("conjugation+mirror", 48)])
def test_the_orbit_marks_its_smallest_image(symmetry: str, order: int) -> None:
    spec = CubeSpec(3)
    state = apply_moves(spec, solved(spec), "R U F' D")
    picture = orbit_figure(spec, state, symmetry)
    g = int(CubeCanonicalizer(CubeSymmetry(spec, symmetry))(state)[1])
    assert f"the {order} images" in picture.label and picture.label.endswith(f"image {g}")
    frames = [r for r in picture.rects if r.stroke != "none"]
    assert len(frames) == 2  # the image in the grid, and the large one on the right
    assert sum(w.text.startswith("g = ") for w in picture.words) == order
    assert len(picture.rects) == (order + 2) * 60 + 2
    last = [r.fill for r in picture.rects[-54:]]
    assert last == [COLOURS[c] for c in CubeSymmetry(spec, symmetry).act(g, state)]
    ElementTree.fromstring(picture.svg)


def test_a_symmetric_state_has_several_equal_images() -> None:
    spec = CubeSpec(3)
    picture = orbit_figure(spec, solved(spec), "conjugation")
    assert "1 of them different" in picture.label and sum(r.stroke != "none" for r in picture.rects) == 25


def test_files(tmp_path: Path) -> None:
    spec = CubeSpec(2)
    picture = net(spec, solved(spec))
    assert picture.save(tmp_path / "a.svg").read_text().startswith("<svg")
    assert picture.save(tmp_path / "b" / "a.png").read_bytes().startswith(b"\x89PNG")
    assert picture.png() == picture.png()
    with pytest.raises(InvalidParameter, match=r"\.svg or \.png"):
        picture.save(tmp_path / "a.gif")


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (np.zeros(23, int), "24 stickers"),
        (np.zeros((2, 24), int), "one state"),
        (np.full(24, 6), "0 to 5"),
        (np.zeros(24), "0 to 5"),
    ],
)
def test_bad_states(state: np.ndarray, says: str) -> None:
    with pytest.raises(InvalidModel, match=says):
        draw_svg(CubeSpec(2), state)


def test_the_environment_gives_images() -> None:
    gym = pytest.importorskip("gymnasium")
    import burnside.envs.cube  # noqa: F401  registers it

    env = gym.make("burnside/Cube-v0", n=3, render_mode="rgb_array")
    x, _ = env.reset(seed=0)
    assert np.array_equal(env.render(), draw_rgb(CubeSpec(3), x))
