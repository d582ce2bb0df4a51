"""Groups for environments: against the groups they are made of, and against matrices."""

import numpy as np
import pytest

from burnside.errors import InvalidParameter, UnknownName
from burnside.groups import Group
from burnside.groups.rigid import is_motion
from burnside.symmetry.groups import CONTINUOUS, ContinuousGroup, FiniteGroup, env_group

FINITE = ["mirror", "C2", "C4", "C5", "Z6", "D3", "D4", "C6v", "V4", "S3", "O", "Oh", "C2xC2", "Z2xD5", "B2"]


@pytest.mark.parametrize("name", FINITE)
def test_numbers_of_elements_are_those_of_the_group(name: str) -> None:
    found = env_group(name)
    assert isinstance(found, FiniteGroup)
    group = found.group
    assert np.array_equal(found.tree.elements, group.elements)
    assert np.array_equal(found.tree.cayley, group.enumeration.cayley)
    assert [found.tree.word(e) for e in found.elements] == list(group.words())
    assert found.generators == [group.index(row) for row in group.generators]
    every = np.arange(found.order)
    assert np.array_equal(found.compose(every[:, None], every), group.mul)
    assert np.array_equal(found.inverse(every), group.inv)
    assert env_group(found.to_data()) == found and found.inverse(found.generators[0]) == group.inv[found.generators[0]]


@pytest.mark.parametrize("name", ["mirror", "C2", "C3", "C4", "D4", "D6", "C3v", "V4", "O", "Oh"])
def test_matrices_multiply_as_the_elements_do(name: str) -> None:
    found = env_group(name)
    assert isinstance(found, FiniteGroup)
    matrices, every = found.element_matrices, np.arange(found.order)
    products = matrices[:, None] @ matrices[None]
    assert np.allclose(products, matrices[found.compose(every[:, None], every)])
    distinct = {tuple(m.round(6).ravel() + 0.0) for m in matrices}
    assert len(distinct) == found.order  # faithful


def test_large_groups_take_the_compiled_way() -> None:
    found = env_group("S6")
    assert found.order == 720 and found.inverse(3) == Group.symmetric(6).inv[3]


def test_unknown_and_trivial_groups() -> None:
    with pytest.raises(UnknownName, match="mirror"):
        env_group("miror")
    with pytest.raises(InvalidParameter, match="trivial group"):
        env_group("1")
    with pytest.raises(InvalidParameter, match="by name or as a Group"):
        env_group(4)
    with pytest.raises(InvalidParameter, match="not known to move the plane"):
        env_group("S3").motion(1)
    named = Group([[1, 2, 0]], name="spin")
    assert env_group(FiniteGroup(named).to_data()) == FiniteGroup(named)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_samples_of_continuous_groups(name: str) -> None:
    found = ContinuousGroup(name, reach=2.0)
    many = found.random_element(5, np.arange(4000))
    assert np.array_equal(many[17], found.random_element(5, 17))  # a function of the counter
    assert not np.array_equal(many, found.random_element(6, np.arange(4000)))
    turn, shift = found.motion(many)
    d = found.dimension
    assert np.allclose(turn @ np.swapaxes(turn, -1, -2), np.eye(d))
    determinants = np.linalg.det(turn)
    if found.has_reflections:
        assert abs(determinants.mean()) < 0.1
    else:
        assert np.allclose(determinants, 1)
    # Of a uniform rotation every entry has mean 0 and variance 1/d.
    assert np.abs(turn.mean(axis=0)).max() < 0.06 and np.abs((turn**2).mean(axis=0) - 1 / d).max() < 0.06
    if shift is not None:
        assert np.abs(shift).max() <= 2.0 and np.abs(shift.mean(axis=0)).max() < 0.15 and is_motion(many)
        corner = np.corrcoef(shift[:, 0], turn[:, 0, 0])[0, 1]
        assert abs(corner) < 0.06  # translations do not follow the turns
    assert np.allclose(found.compose(many[0], found.inverse(many[0])), found.identity)
    assert (
        env_group(found.to_data()) == found and env_group(name.replace("(", "").replace(")", "").lower()).name == name
    )


def test_generators_come_near_to_every_turn() -> None:
    turns = env_group("SO(2)")
    (one,) = turns.generators
    power, angles = turns.identity, []
    for _ in range(500):
        power = turns.compose(one, power)
        angles.append(np.arctan2(power[1, 0], power[0, 0]))
    assert np.diff(np.sort(angles)).max() < 0.03
    with pytest.raises(InvalidParameter, match="no reflections"):
        turns.rotation(1.0, reflect=True)  # type: ignore[attr-defined]
    with pytest.raises(InvalidParameter, match="no translations"):
        turns.translation([1.0, 0.0])  # type: ignore[attr-defined]
