"""Permutation arrays, orbits and Schreier trees."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from burnside.errors import InvalidAction
from burnside.groups.orbits import orbit_labels, orbit_sizes, representatives, schreier_tree
from burnside.groups.permutations import (
    check_permutations,
    compose,
    cycle_count,
    cycles,
    fixed_points,
    identity,
    inverse,
    is_permutation,
)


@st.composite
def permutations(draw, max_points=12, max_rows=3):
    n = draw(st.integers(1, max_points))
    rows = draw(st.lists(st.permutations(range(n)), min_size=1, max_size=max_rows))
    return np.array(rows, dtype=np.int64)


@settings(deadline=None, max_examples=100)
@given(permutations(max_points=30), st.sampled_from([np.int32, np.int64, np.uint8]))
def test_labels_are_connected_components(perms, dtype):
    k, n = perms.shape
    graph = coo_array((np.ones(k * n), (np.tile(np.arange(n), k), perms.ravel())), shape=(n, n))
    m, expected = connected_components(graph, directed=False)
    labels = orbit_labels(perms.astype(dtype))
    assert labels.dtype == np.int64
    # Both number components by first appearance or not; compare the partitions and our own numbering.
    assert len(set(zip(labels.tolist(), expected.tolist(), strict=True))) == m == labels.max() + 1
    reps = representatives(labels)
    assert (np.diff(reps) > 0).all()
    assert reps.tolist() == [int(np.flatnonzero(labels == a)[0]) for a in range(m)]
    assert orbit_sizes(labels).tolist() == [int((labels == a).sum()) for a in range(m)]


@settings(deadline=None, max_examples=60)
@given(permutations(max_points=20))
def test_schreier_words_lead_to_the_representative(perms):
    labels = orbit_labels(perms)
    reps = representatives(labels)
    tree = schreier_tree(perms)
    letters = np.vstack([perms, inverse(perms)])
    for x in range(perms.shape[1]):
        y = x
        for letter in tree.word(x):
            y = letters[letter, y]
        assert y == reps[labels[x]]
    rank = np.empty(perms.shape[1], dtype=int)
    rank[tree.order] = np.arange(perms.shape[1])
    assert all(rank[tree.towards[x]] < rank[x] for x in range(perms.shape[1]) if tree.step[x] >= 0)


@settings(deadline=None, max_examples=60)
@given(permutations(max_rows=1), st.randoms())
def test_compose_and_inverse(perms, random):
    g = perms[0]
    h = np.array(random.sample(range(g.size), g.size))
    assert all(compose(g, h)[i] == g[h[i]] for i in range(g.size))
    assert (compose(g, inverse(g)) == identity(g.size)).all()
    assert (inverse(compose(g, h)) == compose(inverse(h), inverse(g))).all()
    assert cycle_count(g) == sum(1 for _ in cycles(g, fixed=True))
    assert cycle_count(g) == representatives(orbit_labels(g[None])).size
    assert sorted(i for cycle in cycles(g, fixed=True) for i in cycle) == list(range(g.size))
    assert fixed_points(g).tolist() == [i for i in range(g.size) if g[i] == i]


def test_large_labels_do_not_recurse_or_copy():
    n = 200_000
    i = np.arange(n, dtype=np.int32)
    shift = np.roll(i, -1)
    assert orbit_labels(shift[None]).max() == 0
    assert orbit_labels(np.stack([i, i])).max() == n - 1


def test_empty_sets_and_empty_generators():
    assert orbit_labels(np.empty((0, 3), dtype=np.int64)).tolist() == [0, 1, 2]
    assert orbit_labels(np.empty((2, 0), dtype=np.int64)).size == 0
    assert representatives(np.empty(0, dtype=np.int64)).size == 0
    assert is_permutation([]) and not is_permutation([[0]]) and not is_permutation([-1, 0])


@pytest.mark.parametrize(
    ("rows", "n", "says"),
    [
        (
            [[0, 1], [1, 1]],
            2,
            "generator 1 is not a permutation of 2 points: the image 1 occurs twice and 0 never",
        ),
        ([[0, 2]], 2, "point 1 is sent to 2"),
        ([[0, -1]], 2, "point 1 is sent to -1"),
        ([[0, 1, 2]], 2, "permutes 3 points, but 2 were expected"),
        ([[0.0, 1.0]], 2, "dtype float64"),
        ([0, 1], 2, "shape"),
        ([[0, 1], [0]], 2, "different lengths"),
    ],
)
def test_bad_permutations_are_named(rows, n, says):
    with pytest.raises(InvalidAction, match=says):
        check_permutations(rows, n)


def test_bad_images_never_reach_compiled_code():
    for bad in ([[0, 5]], [[-1, 0]]):
        with pytest.raises(InvalidAction, match="images must lie in"):
            orbit_labels(bad)
    with pytest.raises(InvalidAction, match="shape"):
        orbit_labels([0, 1])
    with pytest.raises(InvalidAction, match="dtype"):
        orbit_labels([[0.5, 1.0]])


def test_import_is_lazy():
    code = "import sys, burnside.groups; sys.exit('numba' in sys.modules or 'sympy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
