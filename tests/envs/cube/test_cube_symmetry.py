"""Which symmetries hold, by `verify`; canonical forms: constant on orbits, idempotent, the same by both methods."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnside.canonical import Canonicalizer
from burnside.envs.cube import CubeCanonicalizer, CubeSpec, CubeSymmetry, scramble, solved
from burnside.envs.cube.core import move, one_hot
from burnside.envs.cube.geometry import inverse_elements
from burnside.envs.cube.symmetry import _chunked_torch, cube_mdp, inverse_states
from burnside.errors import InvalidModel, InvalidParameter, NotVerified, UnknownName
from burnside.groups import Group
from burnside.mdp import ImplicitSymmetry, verify

TRUE = ("position", "conjugation", "conjugation+mirror")
VALUES = ("conjugation+inverse", "conjugation+mirror+inverse")
SPECS = [CubeSpec(n) for n in (2, 3, 4, 5, 6)] + [CubeSpec(3, "slices"), CubeSpec(4, "slices")]


def states_of(spec: CubeSpec, count: int = 100, seed: int = 0) -> np.ndarray:
    return scramble(spec, seed, np.arange(count) % 20, np.arange(count))[0]


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_conjugation_is_an_automorphism_for_all_48_elements(spec: CubeSpec) -> None:
    symmetry, states = CubeSymmetry(spec, "conjugation+mirror"), states_of(spec, 40)
    for g in range(48):
        assert np.array_equal(symmetry.act(g, solved(spec)), solved(spec))
        image = symmetry.act(g, states)
        for a in range(spec.n_moves):
            there = move(spec, image, symmetry.act_on_action(g, a))
            assert np.array_equal(symmetry.act(g, move(spec, states, a)), there)


@pytest.mark.parametrize("goal", ["fixed", "any-orientation"])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_conjugation_passes_verify_with_either_goal(n: int, goal: str) -> None:
    spec = CubeSpec(n, goal=goal)
    for name in ("conjugation", "conjugation+mirror"):
        symmetry = CubeSymmetry(spec, name)
        assert verify(cube_mdp(spec), symmetry.implicit(), samples=200).ok
        assert verify(cube_mdp(spec), symmetry.implicit(range(symmetry.order)), samples=200).ok


def test_position_with_one_goal_is_caught_with_a_counterexample() -> None:
    for n in (2, 3):
        spec = CubeSpec(n, goal="fixed")
        verdict = verify(cube_mdp(spec), CubeSymmetry(spec, "position").implicit(), samples=500)
        assert not verdict.ok and verdict.eps_r == 1.0
        assert verdict.counterexample is not None and "UUUU" in str(verdict.counterexample.state)
        spec = CubeSpec(n, goal="any-orientation")
        assert verify(cube_mdp(spec), CubeSymmetry(spec, "position").implicit(), samples=500).ok


def test_position_passes_with_slices_and_all_orientations() -> None:
    spec = CubeSpec(4, "slices")
    assert verify(cube_mdp(spec), CubeSymmetry(spec, "position").implicit(), samples=300).ok


def test_inverse_is_refused_for_actions_and_would_fail() -> None:
    spec = CubeSpec(3)
    for name in VALUES:
        symmetry = CubeSymmetry(spec, name)
        form = CubeCanonicalizer(symmetry)
        _, g = form(states_of(spec))
        for use in (
            lambda s=symmetry: s.implicit(),
            lambda s=symmetry: s.act_on_action(0, 0),
            lambda s=symmetry: s.on_inputs,
            lambda f=form, g=g: f.undo(np.zeros_like(g), g),
        ):
            with pytest.raises(NotVerified, match="\\+inverse"):
                use()

    def invert(g: int, state: bytes) -> bytes:
        return inverse_states(spec, np.frombuffer(state, np.uint8)).tobytes()

    forced = ImplicitSymmetry(invert, lambda g, s, a: a ^ 1, [0], "inverse", 2)
    verdict = verify(cube_mdp(spec), forced, samples=100)
    assert not verdict.ok and verdict.eps_p == 1.0
    with pytest.raises(InvalidParameter, match="equal centres"):
        CubeSymmetry(CubeSpec(4, "slices"), VALUES[0])


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_inverse_states(n: int) -> None:
    spec = CubeSpec(n)
    states, moves = scramble(spec, np.arange(50), 12)
    back = inverse_states(spec, states)
    assert np.array_equal(inverse_states(spec, back), states)
    expected = solved(spec, 50)
    for t in range(11, -1, -1):
        expected = move(spec, expected, moves[:, t] ^ 1)
    assert np.array_equal(back, expected)
    mirror = CubeSymmetry(spec, "conjugation+mirror")  # conjugation commutes with it
    assert np.array_equal(inverse_states(spec, mirror.act(37, states)), mirror.act(37, back))
    with pytest.raises(InvalidModel, match="do not make a cube"):
        inverse_states(spec, np.zeros(spec.n_stickers, np.uint8))


@pytest.mark.parametrize("name", TRUE)
def test_generators_generate_and_inputs_are_permuted(name: str) -> None:
    spec = CubeSpec(3)
    symmetry = CubeSymmetry(spec, name)
    assert Group.from_permutations(symmetry.perms[list(symmetry.generators)]).order == symmetry.order
    states = states_of(spec, 10)
    for g in range(symmetry.order):
        x, image = one_hot(spec, states), np.empty((10, 324), np.float32)
        image[:, symmetry.on_inputs[g]] = x
        assert np.array_equal(image, one_hot(spec, symmetry.act(g, states)))


# Canonical forms.


@pytest.mark.parametrize("name", TRUE + VALUES)
@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_both_methods_agree_and_the_element_leads_there(spec: CubeSpec, name: str) -> None:
    if name in VALUES and spec.slices and spec.n > 3:
        return
    symmetry = CubeSymmetry(spec, name)
    states = states_of(spec, 200)
    fast, g = CubeCanonicalizer(symmetry)(states)
    slow, h = CubeCanonicalizer(symmetry, "chunked")(states)
    assert np.array_equal(fast, slow) and np.array_equal(g, h) and fast.dtype == np.uint8
    assert np.array_equal(symmetry.act(g, states), fast)
    least = min(symmetry.act(e, states[7]).tolist() for e in range(symmetry.order))
    assert fast[7].tolist() == least


@settings(max_examples=60)
@given(
    st.sampled_from([CubeSpec(2), CubeSpec(3), CubeSpec(5), CubeSpec(3, "slices"), CubeSpec(4, "slices")]),
    st.sampled_from(TRUE + VALUES),
    st.integers(0, 2**32),
    st.integers(0, 30),
    st.integers(0, 95),
)
def test_forms_are_constant_on_orbits_and_idempotent(
    spec: CubeSpec, name: str, seed: int, length: int, element: int
) -> None:
    if name in VALUES and spec.slices and spec.n > 3:
        return
    symmetry = CubeSymmetry(spec, name)
    form = CubeCanonicalizer(symmetry)
    state = scramble(spec, seed, length)[0][0]
    image, g = form(state)
    assert np.ndim(g) == 0 and np.array_equal(symmetry.act(g, state), image)
    assert np.array_equal(form(symmetry.act(element % symmetry.order, state))[0], image)
    again, e = form(image)
    assert np.array_equal(again, image) and (e == 0 or np.array_equal(symmetry.act(e, image), image))


@pytest.mark.parametrize("name", TRUE)
def test_undo_gives_the_turn_that_does_the_same(name: str) -> None:
    spec = CubeSpec(3)
    symmetry = CubeSymmetry(spec, name)
    form = CubeCanonicalizer(symmetry)
    assert isinstance(form, Canonicalizer)
    states = states_of(spec, 60).reshape(6, 10, 54)
    image, g = form(states)
    assert g.shape == (6, 10)
    for a in range(12):
        turn = form.undo(np.full((6, 10), a), g)
        assert np.array_equal(symmetry.act(g, move(spec, states, turn)), move(spec, image, a))
    assert form.undo(3, np.int64(5)) == symmetry.on_moves[inverse_elements()[5], 3]


def test_symmetric_states_need_every_chunk() -> None:
    # the solved cube and the superflip are fixed by all conjugations: ties to the last sticker
    spec = CubeSpec(3)
    for name in ("conjugation", "conjugation+mirror"):
        for method in ("fast", "chunked"):
            image, g = CubeCanonicalizer(CubeSymmetry(spec, name), method)(solved(spec))
            assert np.array_equal(image, solved(spec)) and g == 0
    any_colouring = np.random.default_rng(0).integers(6, size=(50, 150)).astype(np.uint8)  # no cube at all
    symmetry = CubeSymmetry(CubeSpec(5), "conjugation+mirror")
    assert np.array_equal(
        CubeCanonicalizer(symmetry)(any_colouring)[0], CubeCanonicalizer(symmetry, "chunked")(any_colouring)[0]
    )


@pytest.mark.parametrize("name", TRUE)
def test_forms_of_tensors(name: str) -> None:
    torch = pytest.importorskip("torch")
    spec = CubeSpec(3)
    form = CubeCanonicalizer(CubeSymmetry(spec, name))
    states = states_of(spec, 50)
    image, g = form(states)
    there, h = form(torch.as_tensor(states))
    assert isinstance(there, torch.Tensor) and there.dtype == torch.uint8
    assert np.array_equal(there.numpy(), image) and np.array_equal(h.numpy(), g)
    there, h = _chunked_torch(form.symmetry, torch.as_tensor(states))  # what another device would run
    assert np.array_equal(there.numpy(), image) and np.array_equal(h.numpy(), g) and there.dtype == torch.uint8
    actions = form.undo(torch.zeros(50, dtype=torch.int64), h)
    assert np.array_equal(actions.numpy(), form.undo(np.zeros(50, np.int64), g))


def test_bad_parameters() -> None:
    spec = CubeSpec(3)
    with pytest.raises(UnknownName, match="did you mean 'conjugation'"):
        CubeSymmetry(spec, "conjugate")
    with pytest.raises(UnknownName, match="method"):
        CubeCanonicalizer(CubeSymmetry(spec), "slow")
    with pytest.raises(InvalidParameter, match="numbered 0…23"):
        CubeSymmetry(spec).act(24, solved(spec))
    for bad in (np.full(54, 6, np.uint8), np.full(54, -1), np.full(54, 0.5)):
        with pytest.raises(InvalidModel, match="0 to 5"):
            CubeCanonicalizer(CubeSymmetry(spec))(bad)
    empty, g = CubeCanonicalizer(CubeSymmetry(spec), "chunked")(np.empty((0, 54), np.uint8))
    assert empty.shape == (0, 54) and g.shape == (0,)
