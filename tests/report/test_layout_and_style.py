"""Positions are those of the graph's shape, the same every time; colours can be told apart."""

import itertools

import numpy as np
import pytest

from burnside.mdp import quotient, zoo
from burnside.report import style
from burnside.report.graphs import _transitions
from burnside.report.layout import Graph, Layout, place


def layout(mdp, symmetry: str | None = None) -> Layout:
    q = quotient(mdp, mdp.symmetry(symmetry))
    everything, classes = np.arange(mdp.n_states), np.arange(q.mdp.n_states)
    of, to = _transitions(mdp, everything), _transitions(q.mdp, classes)
    return place(of, to, q.sigma, np.bincount(q.sigma), mdp.positions)


def undirected(n: int, edges: list[tuple[int, int]]) -> Graph:
    both = np.array(edges + [(v, u) for u, v in edges]).reshape(-1, 2)
    return Graph(n, both[:, 0], both[:, 1], np.ones(len(both)))


@pytest.mark.parametrize("make", [zoo.fig2, zoo.grid, zoo.hypercube, zoo.bandit, zoo.torus, zoo.slip_ring, zoo.ring])
def test_deterministic(make) -> None:
    one, two = layout(make()), layout(make())
    assert np.array_equal(one.states, two.states) and np.array_equal(one.classes, two.classes)
    assert one.state_radius == two.state_radius and np.array_equal(one.class_radius, two.class_radius)


def test_a_grid_is_a_grid_and_its_quotient_a_corner_of_it() -> None:
    found = layout(zoo.grid(5))
    at = found.states.reshape(5, 5, 2)
    assert np.allclose(np.diff(at[..., 0], axis=1), np.diff(at[..., 1], axis=0)[0, 0])
    assert np.allclose(at[..., 1], at[:, :1, 1])
    q = quotient(zoo.grid(5), zoo.grid(5).symmetry())
    assert found.rings is None and len(found.classes) == q.mdp.n_states == 6
    steps = found.classes[:, None] - found.classes[None]
    assert len(np.unique(steps.round(6)[..., 0])) == 5  # three columns: differences −2…2


def test_cycles_and_paths_keep_their_order() -> None:
    rng = np.random.default_rng(3)
    for n in (4, 5, 9):
        order = rng.permutation(n).tolist()
        cycle = undirected(n, list(itertools.pairwise([*order, order[0]])))
        single = undirected(1, [])
        points = place(cycle, single, np.zeros(n, dtype=np.int64), np.array([n])).states
        steps = np.linalg.norm(points[order] - points[[*order[1:], order[0]]], axis=1)
        assert np.allclose(steps, steps[0])
        path = undirected(n, list(itertools.pairwise(order)))
        points = place(path, single, np.zeros(n, dtype=np.int64), np.array([n])).states
        steps = np.linalg.norm(points[order[1:]] - points[order[:-1]], axis=1)
        assert np.allclose(steps, steps[0])


def test_levels_of_the_cube_are_columns() -> None:
    found = layout(zoo.hypercube(4))
    ones = np.array([bin(s).count("1") for s in range(16)])
    for level in range(5):
        assert np.ptp(found.states[ones == level, 0]) < 1e-9
        assert np.isclose(found.classes[level, 1], 0.5)
    assert (np.diff(found.classes[:, 0]) > 0).all()


def test_equal_parts_stand_in_rows() -> None:
    """The ring game falls into 16 equal parts of five classes: four rows of four."""
    found = layout(zoo.ring(5), "Z")
    centres = np.array([found.classes[[b, *(16 * k + b for k in range(1, 5))]].mean(axis=0) for b in range(16)])
    assert len(np.unique(centres[:, 0].round(4))) == len(np.unique(centres[:, 1].round(4))) == 4


def test_colours_do_not_depend_on_how_many_there_are() -> None:
    assert len({style.colour(i) for i in range(600)}) > 550
    assert len({style.colour(i, dark=True) for i in range(600)}) > 550
    for i in range(200):
        assert len(style.colour(i)) == 7
        for dark in (False, True):
            hue = style.colour(i, dark=dark)
            light, deep = sorted((style.luminance(hue), style.luminance(style.text_on(hue))), reverse=True)
            assert (light + 0.05) / (deep + 0.05) >= 4, (i, hue)


def test_first_colours_differ_for_the_colour_blind() -> None:
    """Deuteranopia and protanopia after Machado et al. (2009), distance in OKLab."""
    deuter = [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]
    protan = [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]
    for matrix in (np.eye(3), np.array(deuter), np.array(protan)):
        seen = []
        for i in range(6):
            rgb = np.clip(matrix @ np.array(style._linear(style.colour(i))), 0, 1)
            lms = np.cbrt([[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]] @ rgb)
            seen.append([[0.2105, 0.7936, -0.0041], [1.978, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]] @ lms)
        distances = [np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)]
        assert min(distances) > 0.05
