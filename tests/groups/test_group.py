"""Groups: orders, elements, products, membership."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy.combinatorics import Permutation, PermutationGroup

from burnside.errors import GroupTooLarge, InvalidAction, InvalidParameter, UnknownName
from burnside.groups import Group
from burnside.groups.permutations import compose, inverse


def sympy_order(group):
    return PermutationGroup([Permutation(row.tolist()) for row in group.generators]).order()


NAMED = [
    *[(Group.cyclic(n), n) for n in (1, 2, 7)],
    *[(Group.dihedral(n), 2 * n) for n in range(1, 8)],
    *[(Group.symmetric(n), math.factorial(n)) for n in range(1, 7)],
    *[(Group.hyperoctahedral(n), 2**n * math.factorial(n)) for n in range(1, 5)],
    (Group.octahedral(), 24),
    (Group.octahedral(full=True), 48),
    (Group.symmetric(2).wreath(3), 48),
    (Group.cyclic(3).wreath(Group.cyclic(4)), 3**4 * 4),
    (Group.cyclic(2).wreath(Group.trivial(3)), 8),
    (Group.dihedral(3) * Group.cyclic(4), 24),
    (Group.named("Z2xD5"), 20),
]


@pytest.mark.parametrize(("group", "order"), NAMED, ids=lambda x: str(x))
def test_orders_three_ways(group, order):
    assert group.order == len(group) == order
    assert group.elements.shape == (order, group.degree)
    assert len({row.tobytes() for row in group.elements}) == order
    assert sympy_order(group) == order
    assert Group.from_permutations(group.generators).order == order
    assert group.chain.size == order
    assert (group.elements[0] == np.arange(group.degree)).all()


def test_large_orders_need_no_elements():
    assert Group.symmetric(5).wreath(3).order == 10_368_000
    big = Group.from_permutations(Group.symmetric(12).generators)
    assert big.order == math.factorial(12)
    assert big.contains(np.roll(np.arange(12), 5))
    assert not Group.from_permutations(Group.dihedral(12).generators).contains(np.r_[1, 0, 2:12])


def test_product_is_associative_up_to_names():
    a, b, c = Group.cyclic(2), Group.dihedral(3), Group.symmetric(3)
    assert (a * b) * c == a * (b * c)
    assert ((a * b) * c).order == 2 * 6 * 6
    assert hash((a * b) * c) == hash(a * (b * c))
    assert a != b


@pytest.mark.parametrize("group", [Group.symmetric(4), Group.dihedral(6), Group.octahedral(), Group.trivial()])
def test_table_is_a_group_with_the_left_convention(group):
    mul, inv, elements = group.mul, group.inv, group.elements
    everyone = np.arange(group.order)
    assert (mul[0] == everyone).all() and (mul[:, 0] == everyone).all()
    assert (mul[everyone, inv] == 0).all() and (mul[inv, everyone] == 0).all()
    assert (mul[mul[:, :, None], everyone] == mul[everyone[:, None, None], mul[None]]).all()
    rng = np.random.default_rng(0)
    for g, h in rng.integers(group.order, size=(20, 2)):
        assert group.index(compose(elements[g], elements[h])) == mul[g, h]
        assert group.index(inverse(elements[g])) == inv[g]
    for word, row in zip(group.words(), elements, strict=True):
        assert (group.product(word) == row).all()
    assert group.is_abelian == bool((mul == mul.T).all())


def test_convention_first_h_then_g():
    group = Group.symmetric(3)
    g, h = np.array([1, 2, 0]), np.array([1, 0, 2])
    product = group.elements[group.mul[group.index(g), group.index(h)]]
    assert product.tolist() == [g[h[0]], g[h[1]], g[h[2]]] == [2, 1, 0]
    assert product.tolist() != compose(h, g).tolist()


@st.composite
def random_groups(draw):
    n = draw(st.integers(1, 7))
    rows = draw(st.lists(st.permutations(range(n)), min_size=0, max_size=3))
    return Group.from_permutations(np.array(rows, dtype=np.int64).reshape(-1, n), degree=n)


@settings(deadline=None, max_examples=60)
@given(random_groups(), st.randoms())
def test_random_groups_agree_with_sympy(group, random):
    reference = PermutationGroup(
        [Permutation(list(range(group.degree)))] + [Permutation(row.tolist()) for row in group.generators]
    )
    assert group.order == reference.order()
    p = random.sample(range(group.degree), group.degree)
    assert group.contains(p) == reference.contains(Permutation(p)) == (group.indices(np.array([p]))[0] >= 0)
    assert group.contains(group.random_element(random.randrange(1000)))
    assert len({row.tobytes() for row in group.chain.elements()}) == group.order
    assert sum(len(part) for part in group.iter_elements(7)) == group.order


def test_random_elements_are_uniform():
    group = Group.symmetric(4)
    rng = np.random.default_rng(1)
    counts = np.bincount([group.index(group.random_element(rng)) for _ in range(2400)], minlength=24)
    assert counts.min() > 50 and counts.max() < 160


def test_octahedral_generators_are_rotations():
    faces = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]])
    for row in Group.octahedral().elements:
        matrix = np.stack([faces[row[0]], faces[row[2]], faces[row[4]]], axis=1)
        assert round(np.linalg.det(matrix)) == 1
        assert (faces[row] == faces @ matrix.T).all()


def test_subgroup():
    sub = Group.symmetric(5).subgroup([[1, 2, 3, 4, 0]])
    assert sub.order == 5
    with pytest.raises(InvalidAction, match="generator 0 is not an element of Z5"):
        Group.cyclic(5).subgroup([[1, 0, 2, 3, 4]])


def test_groups_are_immutable():
    rows = np.array([[1, 0]])
    group = Group.from_permutations(rows)
    rows[0] = [0, 1]
    assert group.order == 2
    for array in (group.generators, group.elements, group.mul, group.inv):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_too_large_to_enumerate():
    with pytest.raises(GroupTooLarge, match="479001600 elements"):
        _ = Group.symmetric(12).elements
    with pytest.raises(GroupTooLarge, match="table_limit"):
        _ = Group.symmetric(8).mul
    chunk = next(Group.symmetric(12).iter_elements(5))
    assert chunk.shape == (5, 12)


@pytest.mark.parametrize("name", ["Q8", "Z", "Z0", "", "Z2x", "D-3"])
def test_unknown_names(name):
    with pytest.raises(UnknownName, match="unknown group"):
        Group.named(name)


@pytest.mark.parametrize("n", [0, -1, 2.5, True, "3"])
def test_bad_sizes(n):
    for make in (Group.cyclic, Group.dihedral, Group.symmetric, Group.hyperoctahedral):
        with pytest.raises(InvalidParameter, match="whole number of at least 1"):
            make(n)


def test_bad_generators_and_elements():
    with pytest.raises(InvalidAction, match="generator 1"):
        Group.from_permutations([[0, 1], [0, 0]])
    with pytest.raises(InvalidParameter, match="at least one point"):
        Group.from_permutations([])
    with pytest.raises(InvalidAction, match="not an element"):
        Group.cyclic(3).index([1, 0, 2])
    with pytest.raises(InvalidAction, match="permutes 2 points"):
        Group.cyclic(3).contains([1, 0])
    with pytest.raises(InvalidParameter, match="letter 2"):
        Group.cyclic(3).product([2])
