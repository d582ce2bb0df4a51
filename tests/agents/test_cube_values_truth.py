"""Networks against exact distances: sampling at a depth, errors, greedy play, and what learners must learn."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from burnside.agents.common.members import Member  # noqa: E402
from burnside.agents.cube_values import (  # noqa: E402
    DaviConfig,
    DaviRun,
    exact_labels,
    fit_values,
    greedy_paths,
    greedy_solve_rate,
    sample_depth,
    value_error,
)
from burnside.envs.cube import CubeSpec, apply_moves, solved  # noqa: E402
from burnside.envs.cube.tables import ball, two_values  # noqa: E402
from burnside.errors import InvalidParameter  # noqa: E402

TWO, THREE = CubeSpec(2), CubeSpec(3)


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """These networks are too small for two threads, which only wait for each other on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def distances(spec: CubeSpec, depth: int):
    states, distance = ball(spec, depth)
    known = {s.tobytes(): float(d) for s, d in zip(states, distance, strict=True)}
    return lambda rows: np.array([known.get(row.tobytes(), depth + 1.0) for row in rows])


@pytest.mark.parametrize("spec", [THREE, CubeSpec(4), CubeSpec(5), CubeSpec(3, "slices", "fixed")], ids=str)
def test_samples_lie_at_their_depth(spec):
    exact = distances(spec, 3)
    for depth in range(4):
        states = sample_depth(spec, depth, 40, seed=depth)
        assert states.shape == (40, spec.n_stickers) and (exact(states) == depth).all()
    assert len({s.tobytes() for s in sample_depth(spec, 1, 400)}) == spec.n_moves  # all of them


def test_samples_of_the_two_cube():
    for depth in (0, 1, 7, 14):
        assert (two_values(sample_depth(TWO, depth, 50)) == depth).all()
    assert len({s.tobytes() for s in sample_depth(TWO, 0, 400)}) == 24  # in any orientation
    with pytest.raises(InvalidParameter, match="at most 14"):
        sample_depth(TWO, 15, 1)
    with pytest.raises(InvalidParameter, match="0 or more"):
        sample_depth(THREE, -1, 1)


def test_draws_do_not_depend_on_how_many_there_are():
    assert np.array_equal(sample_depth(THREE, 3, 50, 9)[20:30], sample_depth(THREE, 3, 10, 9, first=20))
    few, many = exact_labels(THREE, 40, 3, depth=4), exact_labels(THREE, 90, 3, depth=4)
    assert all(np.array_equal(a, b[:40]) for a, b in zip(few, many, strict=True))
    exact = distances(THREE, 4)
    assert np.array_equal(exact(many[0]), many[1])


def test_errors_by_hand():
    def wrong(states):  # one too many at depth 1, exact elsewhere
        value = distances(THREE, 2)(states)
        return value + (value == 1)

    found = value_error(wrong, THREE, 2, per_depth=30)
    assert found.depth.tolist() == [0, 1, 2] and found.count.tolist() == [1, 30, 30]
    assert found.rmse.tolist() == [0.0, 1.0, 0.0] and found.bias.tolist() == [0.0, 1.0, 0.0]
    assert found.total == pytest.approx(np.sqrt(0.5))
    assert found.rows()[1] == {"depth": 1, "count": 30, "rmse": 1.0, "bias": 1.0}


def test_greedy_play_by_hand():
    exact = distances(THREE, 4)
    start = np.stack([solved(THREE), apply_moves(THREE, solved(THREE), "R U F'")])
    assert greedy_paths(exact, THREE, start, 5).tolist() == [0, 3]
    assert greedy_paths(exact, THREE, start, 2).tolist() == [0, -1]
    rates = greedy_solve_rate(exact, THREE, [1, 3], per_depth=15)
    assert rates.rate.tolist() == [1.0, 1.0] and rates.shortest.tolist() == [15, 15]
    # equal values everywhere: the first turn again and again, U U U U, unless a child is solved
    blind = greedy_solve_rate(lambda s: np.zeros(len(s)), THREE, [1, 4], per_depth=40)
    assert blind.rate[0] == 1.0 and blind.rate[1] < 0.2


@pytest.mark.probe
def test_conjugation_needs_fewer_labels():
    """On exact labels the conjugation arms are far below the baseline, and all beat a constant."""
    states, labels = exact_labels(THREE, 600, seed=1, depth=4)
    config = DaviConfig(hidden=(128, 64), blocks=1, batch=100, states=1000, states_per_round=1000)
    error = {}
    for arm in ("baseline", "conjugation", "augment"):
        value = fit_values(states, labels, THREE, arm, updates=250, config=config, seed=1)
        error[arm] = value_error(value, THREE, 4, per_depth=200).total
    constant = np.sqrt(1.25)  # the spread of depths 1 … 4
    assert error["baseline"] < 0.6 * constant
    assert error["conjugation"] < 0.75 * error["baseline"] and error["augment"] < 0.85 * error["baseline"]


@pytest.mark.probe
@pytest.mark.parametrize(("arm", "hidden"), [("conjugation", (96, 48)), ("equivariant", (192, 96))])
def test_value_iteration_learns_the_first_depths(arm, hidden):
    config = DaviConfig(hidden=hidden, blocks=1, batch=200, states=40_000, states_per_round=4_000, back_max=4)
    run = DaviRun(config, THREE, Member(0, arm))
    run.run()
    assert run.copies == 10
    rates = greedy_solve_rate(run.network(), THREE, [1, 2, 3], per_depth=60)
    assert rates.rate.min() > 0.8
    assert value_error(run.network(), THREE, 3, per_depth=100).total < 0.6
