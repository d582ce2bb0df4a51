"""The endgame table against breadth-first counts, and beams that find what is known."""

from importlib.resources import as_file, files

import numpy as np
import pytest

from burnside.agents.common.members import Member
from burnside.agents.cube_walks import CubePolicy, WalkConfig, WalkRun, load_policy
from burnside.agents.cube_walks.walks import random_walks
from burnside.envs.cube import CubeSpec, apply_moves, scramble, solved
from burnside.envs.cube.core import is_solved
from burnside.envs.cube.placements import placements
from burnside.envs.cube.tables import two_values
from burnside.errors import InvalidParameter, ModelTooLarge
from burnside.search.endgame import Endgame, placement_words
from burnside.search.policy_beam import PolicyBeamConfig, policy_beam
from burnside.search.solver import SolverConfig, solve_cube

THREE = CubeSpec(3)


@pytest.fixture(scope="module", params=[1, 2])
def policy(request: pytest.FixtureRequest) -> CubePolicy:
    run = WalkRun(WalkConfig.preset("smoke", sides=request.param), THREE, Member(0, "equivariant"))
    run.run()
    return run.network()


def test_classes_of_the_endgame() -> None:
    # mod 96: docs/experiments/cube.md, counted over stickers
    table = Endgame(placements(THREE), 6)
    assert table.classes[:5] == (1, 1, 5, 17, 130)
    states, _ = scramble(THREE, np.arange(60), np.arange(60) % 7)
    rows = table.world.encode(states)
    for k, state in enumerate(states):
        turns = table.solve(rows[k])
        assert len(turns) <= k % 7 and bool(is_solved(THREE, apply_moves(THREE, state, turns)))
    far, _ = scramble(THREE, [1], [60])
    assert table.distances(table.world.encode(far)).tolist() == [-1]
    with pytest.raises(InvalidParameter, match="more than 6 turns"):
        table.solve(table.world.encode(far)[0])


def test_the_endgame_of_the_two_cube_is_its_table() -> None:
    two = CubeSpec(2)
    table = Endgame(placements(two), 6)
    states, _ = scramble(two, np.arange(40), np.arange(40) % 12)
    exact = two_values(states)
    assert (table.distances(table.world.encode(states)) == np.where(exact <= 6, exact, -1)).all()


def test_short_scrambles_are_solved_by_the_beam_alone(policy: CubePolicy) -> None:
    for moves in ("", "R", "R U F'", "R U F' L D2"):
        state = apply_moves(THREE, solved(THREE), moves)
        for inverse in (False, True):
            found = policy_beam(policy, state, PolicyBeamConfig(width=512, depth=8, table=0), inverse=inverse)
            assert found.solved and bool(is_solved(THREE, apply_moves(THREE, state, list(found.moves)))), moves
            assert found.length == len(THREE.parse(moves))


def test_longer_scrambles_of_a_larger_cube(policy: CubePolicy) -> None:
    five = CubeSpec(5)
    states, _ = scramble(five, np.arange(4), 9)
    for state in states:
        found = solve_cube(policy, state, SolverConfig(width=512, table=6))
        assert found.solved and found.length <= 11
        assert bool(is_solved(five, apply_moves(five, state, list(found.moves))))


def test_a_beam_that_fails_says_so(policy: CubePolicy) -> None:
    state = scramble(THREE, [0], [60])[0][0]
    found = policy_beam(policy, state, PolicyBeamConfig(width=2, depth=5, table=3))
    assert not found.solved and found.moves == () and "within 5" in found.reason
    wider = solve_cube(policy, state, SolverConfig(width=2, retries=1, depth=5, table=3))
    assert wider.evaluated > 3 * found.evaluated


def test_the_recipe_serves_other_cubes() -> None:
    two, four = CubeSpec(2), CubeSpec(4, "slices")
    run = WalkRun(WalkConfig.preset("smoke", walk=14, states=51_200), two, Member(0, "equivariant"))
    run.run()
    states, _ = scramble(two, np.arange(5), 40)
    for state, exact in zip(states, two_values(states), strict=True):
        found = solve_cube(run.network(), state, SolverConfig(width=256))
        assert found.length is not None and exact <= found.length <= exact + 4
    policy = WalkRun(WalkConfig.preset("smoke"), four, Member(0, "equivariant")).network()
    for state in scramble(four, np.arange(3), 4)[0]:
        found = solve_cube(policy, state)
        assert found.length is not None and found.length <= 4
        assert bool(is_solved(four, apply_moves(four, state, list(found.moves))))


def test_a_cube_with_slices_may_be_solved_in_any_orientation() -> None:
    """The policy has learned walks from one orientation; turning the whole cube first changes nothing."""
    four = CubeSpec(4, "slices")
    run = WalkRun(WalkConfig.preset("smoke", states=10_240), CubeSpec(4, "slices", "fixed"), Member(0, "equivariant"))
    run.run()
    turned = ("", "R 2R 2L' L'", "U 2U 2D' D' F 2F 2B' B'")
    assert len({apply_moves(four, solved(four), whole).tobytes() for whole in turned}) == 3
    assert all(bool(is_solved(four, apply_moves(four, solved(four), whole))) for whole in turned)
    for whole in turned:
        state = apply_moves(four, solved(four), f"{whole} 2R U")
        for table in (0, 2):
            found = policy_beam(run.network(), state, PolicyBeamConfig(width=512, depth=6, table=table))
            assert found.length == 2, (whole, table)
            assert bool(is_solved(four, apply_moves(four, state, list(found.moves))))


def test_children_are_kept_as_the_plain_twin_does() -> None:
    """Two passes over candidates, with states that were seen before, in the layer twice, or beyond the width."""
    from burnside.search import plain, policy_kernels

    world = placements(CubeSpec(2))
    words = placement_words(world)
    found = []
    for code in (plain, policy_kernels):
        rng = np.random.default_rng(3)
        states = random_walks(world, 3, 0, 0, 12).states
        logs = rng.normal(size=(12, 12)).astype(np.float32)
        layer = plain.Layer(states, rng.normal(size=12).astype(np.float32), logs)
        seen, keys = np.zeros(1024, np.uint64), np.empty(12, np.uint64)
        policy_kernels.state_keys(states, words, keys)
        policy_kernels.insert_all(seen, np.empty(1024, np.int8), keys, 0, np.empty(12, np.bool_))
        out = plain.Children(np.full(60, -1, np.int32), np.full(60, -1, np.int8), np.zeros(60, np.float32))
        order = np.argsort(-(layer.scores[:, None] + logs).ravel(), kind="stable")
        kept = code.best_children(layer, order[:30], world.on_turns, words, seen, 0, out)
        total = code.best_children(layer, order[30:], world.on_turns, words, seen, kept, out)
        found.append((out, kept, total))
    (mine, kept, total), (theirs, *counts) = found
    assert [kept, total] == counts and 0 < kept < 30 and total == 60
    for name, one, two in zip(mine._fields, mine, theirs, strict=True):
        assert np.array_equal(one, two), name


@pytest.mark.parametrize(("arm", "sides", "beams"), [("equivariant", 2, 1), ("equivariant", 1, 2), ("baseline", 2, 2)])
def test_the_inverse_is_searched_where_it_may_be_easier(arm: str, sides: int, beams: int) -> None:
    spec = CubeSpec(3)
    policy = WalkRun(WalkConfig.preset("smoke", sides=sides), spec, Member(0, arm)).network()
    (state,), _ = scramble(spec, 3, 9, 1)
    found = solve_cube(policy, state, SolverConfig(width=16, effort=1, depth=3, retries=0, table=0))
    one, other = (policy_beam(policy, state, PolicyBeamConfig(32, 3, 0), inverse=each) for each in (False, True))
    assert found.expanded == (one.expanded + other.expanded if beams == 2 else one.expanded) > 0


def test_weights_tied_over_the_inversion_search_a_cube_and_its_inverse_alike() -> None:
    spec = CubeSpec(3)
    with as_file(files("burnside") / "data" / "cube3-policy.safetensors") as path:
        policy = load_policy(path, spec)
    assert policy.inverse_alike
    states, _ = scramble(spec, 17, 100, 6)
    lengths = [
        [policy_beam(policy, state, PolicyBeamConfig(256), inverse=each).length for state in states]
        for each in (False, True)
    ]
    # of equal scores the first is kept, and rounding decides which are equal
    assert np.mean(np.equal(*lengths)) > 0.8 and all(lengths[0])


def test_settings_are_checked() -> None:
    with pytest.raises(InvalidParameter, match="effort"):
        SolverConfig(effort=-1)
    with pytest.raises(InvalidParameter, match="table"):
        PolicyBeamConfig(table=-1)


def test_a_retry_there_is_no_memory_for_is_not_made(policy: CubePolicy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("burnside._resources.available_memory", lambda: 10**6)
    (state,), _ = scramble(THREE, 3, 30, 1)
    found = solve_cube(policy, state, SolverConfig(width=16, depth=2, retries=10, table=0))
    assert not found.solved and found.expanded > 0
    with pytest.raises(ModelTooLarge, match="width 65536"):
        solve_cube(policy, state, SolverConfig(width=65536))
