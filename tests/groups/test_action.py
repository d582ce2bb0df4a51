"""Actions: axioms, orbits and stabilizers, Burnside, groups too large to enumerate."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnside.errors import BurnsideError, GroupTooLarge, InvalidAction, InvalidParameter, ModelTooLarge
from burnside.groups import Action, Group
from burnside.groups.permutations import compose


@st.composite
def actions(draw):
    """Actions of random permutation groups on points, pairs, unions and labellings."""
    n = draw(st.integers(1, 5))
    rows = draw(st.lists(st.permutations(range(n)), min_size=0, max_size=2))
    natural = Action.natural(Group.from_permutations(np.array(rows, dtype=np.int64).reshape(-1, n), degree=n))
    kind = draw(st.sampled_from(["natural", "pairs", "labellings", "union", "regular"]))
    return {
        "natural": lambda: natural,
        "pairs": lambda: natural.product(natural),
        "labellings": lambda: natural.on_functions(2),
        "union": lambda: natural.disjoint(Action.trivial(natural.group, 2)),
        "regular": lambda: Action.regular(natural.group),
    }[kind]()


@settings(deadline=None, max_examples=80)
@given(actions(), st.data())
def test_orbit_stabilizer(action, data):
    i = data.draw(st.integers(0, action.size - 1))
    stabilizer = action.stabilizer(i)
    assert stabilizer.order * action.orbit(i).size == action.group.order
    assert Group.from_permutations(stabilizer.generators, degree=stabilizer.degree).order == stabilizer.order
    for gen in stabilizer.generators:
        assert action.group.contains(gen)
        assert action.act(gen, i) == i
    assert action.to_subgroup(stabilizer).orbit(i).tolist() == [i]


@settings(deadline=None, max_examples=80)
@given(actions())
def test_burnside_axioms_and_transporters(action):
    group, table = action.group, action.table
    assert action.count() == action.n_orbits == len(action.orbit_sizes)
    mul = group.mul
    for g, h in itertools.islice(itertools.product(range(group.order), repeat=2), 400):
        assert (table[mul[g, h]] == table[g][table[h]]).all()
    transporters = action.transporters()
    for i in range(action.size):
        rep = action.representatives[action.orbits()[i]]
        g = action.transporter(i)
        assert (g == transporters[i]).all()
        assert action.act(g, i) == table[group.index(g), i] == action.act_word(action.word(i), i) == rep
    assert action.is_free == all(action.stabilizer(int(r)).order == 1 for r in action.representatives)
    assert action.is_faithful == (len({row.tobytes() for row in table}) == group.order)
    assert (Action(group, table).generator_images == action.generator_images).all()
    Action.from_generators(group, action.generator_images, size=action.size)
    assert action._diagonal.broken_relator() is None
    fixed = action.fixed_counts()
    assert all(fixed[g] == action.fixed(g).size for g in range(min(group.order, 10)))


@settings(deadline=None, max_examples=80)
@given(st.sampled_from([Group.dihedral(4), Group.symmetric(3), Group.cyclic(6), Group.named("Z2xZ3")]), st.data())
def test_relations_are_decided_correctly(group, data):
    """The Cayley graph, the relators of the chain and the order of the diagonal group agree on any images."""
    n = data.draw(st.integers(1, 4))
    images = np.array([data.draw(st.permutations(range(n))) for _ in group.generators])
    diagonal = Group.from_permutations(np.hstack([group.generators, images + group.degree]))
    valid = diagonal.order == group.order
    unchecked = Action.from_generators(group, images, check=False)
    assert (unchecked._diagonal.broken_relator() is None) == valid
    if valid:
        Action.from_generators(group, images)
    else:
        with pytest.raises(InvalidAction, match=r"not an action of .* relations of the group"):
            Action.from_generators(group, images)


def test_left_action_on_labellings():
    group = Group.symmetric(3)
    action = Action.natural(group).on_functions(3)
    shape = (3,) * 3
    for g in group.elements:
        ginv = np.argsort(g)
        for x in range(27):
            label = np.array(np.unravel_index(x, shape))
            assert action.act(g, x) == np.ravel_multi_index(tuple(label[ginv]), shape)
    g, h = group.generators
    assert (action.image(compose(g, h)) == compose(action.image(g), action.image(h))).all()


def test_known_counts():
    ring = Action.natural(Group.cyclic(5))
    states = ring.on_functions(2).product(ring)
    assert (states.size, states.n_orbits, states.is_free) == (160, 32, True)
    dihedral = Action.natural(Group.dihedral(5))
    assert dihedral.on_functions(2).count() == 8
    assert Action.natural(Group.octahedral()).on_functions(6).n_orbits == 2226
    assert Action.natural(Group.octahedral()).on_functions(3).count() == 57


def test_large_groups_by_generators_only():
    s12 = Action.natural(Group.symmetric(12))
    assert s12.is_transitive and not s12.is_free and s12.is_faithful
    assert s12.stabilizer(5).order == 39_916_800
    assert s12.transporter(7)[7] == 0
    pairs = s12.product(s12)
    assert pairs.n_orbits == 2
    stabilizer = pairs.stabilizer(1)
    assert stabilizer.order == 3_628_800
    assert all(row[0] == 0 and row[1] == 1 for row in stabilizer.generators)
    checked = Action.from_generators(pairs.group, pairs.generator_images)
    g = np.random.default_rng(0).permutation(12)
    assert checked.act(g, 12 * 3 + 7) == 12 * g[3] + g[7]
    with pytest.raises(GroupTooLarge, match="use n_orbits"):
        pairs.count()
    with pytest.raises(GroupTooLarge, match="table_limit"):
        _ = pairs.table


def test_large_group_with_broken_images_is_refused():
    s12 = Action.natural(Group.symmetric(12))
    images = s12.product(s12).generator_images.copy()
    images[1, [3, 40]] = images[1, [40, 3]]
    with pytest.raises(InvalidAction, match="not an action of S12"):
        Action.from_generators(s12.group, images)


def test_wreath_product_action():
    cube = Action.natural(Group.symmetric(5)).wreath(3)
    assert (cube.size, cube.group.order, cube.is_transitive, cube.is_free) == (125, 10_368_000, True, False)
    assert cube.stabilizer(77).order == 10_368_000 // 125
    assert cube.product(cube).n_orbits == 4  # Hamming distance
    assert Action.from_generators(cube.group, cube.generator_images).size == 125
    small = Action.natural(Group.symmetric(2)).wreath(3)
    assert small.group.order == 48 and small.is_faithful and small.count() == 1
    assert Action.natural(Group.cyclic(3)).wreath(Group.trivial(2)).n_orbits == 1


def test_constructors():
    group = Group.dihedral(4)
    natural = Action.natural(group)
    assert (Action.from_function(group, 4, lambda g, i: g[i]).generator_images == natural.generator_images).all()
    regular = Action.regular(group)
    assert regular.is_free and regular.is_transitive
    assert (regular.table == group.mul).all()
    union = natural.disjoint(regular)
    assert (union.restrict(np.arange(4, 12)).table == regular.table).all()
    assert union.restrict([]).size == 0
    none = Action.trivial(Group.trivial(), 3)
    assert (none.size, none.n_orbits, none.count(), none.is_free) == (3, 3, 3, True)
    assert none.stabilizer(1).order == 1


def test_bad_tables():
    group = Group.cyclic(3)
    good = Action.natural(group).table
    with pytest.raises(InvalidAction, match=r"needs one row per element, \(3, n\)"):
        Action(group, good[:2])
    with pytest.raises(InvalidAction, match="the identity"):
        Action(group, good[[1, 0, 2]])
    with pytest.raises(InvalidAction, match="g=1, h=1, i=0"):
        Action(group, good[[0, 1, 1]])
    s3 = Group.symmetric(3)
    with pytest.raises(InvalidAction, match="right action needs the inverse"):
        Action(s3, s3.elements[s3.inv])
    with pytest.raises(InvalidAction, match="not a permutation"):
        Action(group, [[0, 1], [0, 0], [0, 0]])
    with pytest.raises(InvalidAction, match="left action at"):
        Action(group, [[0, 1, 2], [1, 2, 0], [99, -5, 7]])


def test_bad_images():
    group = Group.dihedral(4)
    with pytest.raises(InvalidAction, match="2 generators but 1 images"):
        Action.from_generators(group, [[0, 1]])
    with pytest.raises(InvalidAction, match="permutes 2 points, but 3"):
        Action.from_generators(group, [[0, 1], [1, 0]], size=3)
    with pytest.raises(InvalidAction, match="different lengths"):
        Action.from_generators(group, [[0, 1], [0, 1, 2]])
    with pytest.raises(InvalidAction, match="the image of generator 1 is not a permutation"):
        Action.from_generators(group, [[0, 1], [1, 1]])
    with pytest.raises(InvalidAction, match="relations of the group"):
        Action.from_generators(group, [[1, 2, 0], [0, 1, 2]])


def test_bad_questions():
    action = Action.natural(Group.dihedral(4))
    for ask in (action.orbit, action.stabilizer, action.transporter, lambda i: action.act(0, i)):
        with pytest.raises(InvalidParameter, match="point 4 is not one of"):
            ask(4)
        with pytest.raises(InvalidParameter, match="point -1"):
            ask(-1)
    with pytest.raises(InvalidParameter, match="element 8"):
        action.image(8)
    with pytest.raises(InvalidAction, match="not an element of D4"):
        action.image([1, 0, 2, 3])
    with pytest.raises(InvalidParameter, match="letter 4"):
        action.act_word([4], 0)
    with pytest.raises(InvalidAction, match="not invariant: generator 0 sends point 1 to 2"):
        action.restrict([0, 1])
    with pytest.raises(InvalidAction, match="twice"):
        action.restrict([0, 0])
    with pytest.raises(InvalidAction, match="different groups"):
        action.product(Action.natural(Group.cyclic(4)))
    with pytest.raises(InvalidParameter, match="colours"):
        action.on_functions(0)
    with pytest.raises(ModelTooLarge, match="labellings"):
        action.on_functions(1000)
    with pytest.raises(GroupTooLarge, match="transporter"):
        type("Small", (Action,), {"table_limit": 3}).natural(Group.cyclic(4)).transporters()


def test_an_unchecked_wrong_action_is_noticed_later():
    wrong = Action.from_generators(Group.cyclic(2), [[1, 2, 0]], check=False)
    with pytest.raises(BurnsideError):
        wrong.stabilizer(0)
