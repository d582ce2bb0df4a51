"""M against M̄: seeds, intervals, predicted factors, and the ratios that were promised."""

import json
import math
from typing import Any

import numpy as np
import pytest

from burnside.errors import InvalidParameter, NotVerified, UnknownName
from burnside.learning import compare, learn
from burnside.mdp import Symmetry, quotient, zoo
from burnside.theory.audit import paper_factor, reachable_sizes


def test_a_seed_alone_is_the_seed_among_others() -> None:
    ring = zoo.slip_ring(5)
    many = compare(ring, width="heuristic", seeds=[0, 3, 5], workers=2)
    alone = compare(ring, width="heuristic", seeds=[3], workers=1)
    for a, b in ((many.on_m[1], alone.on_m[0]), (many.on_quotient[1], alone.on_quotient[0])):
        assert (a.gaps == b.gaps).all() and (a.lengths == b.lengths).all()
    by_hand = learn(ring, width="heuristic", seed=3, stream=0)
    assert (by_hand.lengths == alone.on_m[0].lengths).all()
    again = compare(ring, width="heuristic", seeds=[0, 3, 5], workers=1)
    assert again.to_dict() == many.to_dict()


def test_what_the_command_line_needs_is_in_the_dictionary() -> None:
    calls: list[tuple[float, int]] = []
    found = compare(
        zoo.grid(3),
        "D4",
        width="heuristic",
        scale=0.5,
        seeds=3,
        progress=lambda done, total: calls.append((done, total)),
    ).to_dict()
    json.dumps(found, allow_nan=False)
    assert calls[-1] == (6, 6) and all(0 <= done <= 6 == total for done, total in calls)
    assert set(found) >= {
        "mistakes",
        "ratio",
        "joint",
        "reachable",
        "order",
        "paper",
        "label",
        "eps",
        "delta",
        "capped",
    }
    assert [len(found["mistakes"][side]) for side in ("M", "quotient")] == [3, 3]
    assert set(found["ratio"]) == {"mean", "low", "high", "bound"}
    assert found["ratio"]["mean"] == pytest.approx(
        np.sum(found["mistakes"]["M"]) / np.sum(found["mistakes"]["quotient"])
    )
    assert found["ratio"]["low"] <= found["ratio"]["mean"] <= found["ratio"]["high"]
    assert "c = 0.5" in found["label"] and "no guarantee" in found["label"]


def test_factors() -> None:
    expected = {  # joint, reachable, order, paper
        "grid": (zoo.grid(5), "D4", 100 / 15, 100 / 15, 8, 50 / 3),
        "torus": (zoo.torus(3), "full", 54, 54, 72, 108),
        "hypercube": (zoo.hypercube(6), "S", 32, 32, 720, 64 / 7 * 6 * 6 / 2),
        "fixed goal": (zoo.slip_ring(10, goal="fixed"), "Z", 10, 1, 10, 10),
    }
    for mdp, name, joint, reach, order, paper in expected.values():
        group = mdp.symmetry(name)
        q = quotient(mdp, group)
        assert q.reduction.pair_factor == pytest.approx(joint)
        met = reachable_sizes(mdp, q)
        assert met["pairs"] / met["quotient_pairs"] == pytest.approx(reach)
        assert group.order == order
        assert q.reduction.successor_factor >= 1
        assert paper_factor(mdp, group, q).average == pytest.approx(paper)


def test_no_mistakes_on_either_side_is_no_ratio() -> None:
    found = compare(zoo.hypercube(3, horizon=1), "S", seeds=2)
    assert math.isnan(found.ratio.value) and found.to_dict()["ratio"]["mean"] is None


def test_runs_that_spent_their_budget_make_the_ratio_a_bound() -> None:
    """On M alone the ratio can only grow; on both it is not decided."""
    ring = zoo.slip_ring(5)
    options: dict[str, Any] = {"width": "heuristic", "scale": 1.0, "seeds": 3, "min_episodes": 10}
    whole = compare(ring, "Z", **options)
    assert whole.ratio.bound == "" and whole.ratio.high is not None
    cap = max(run.episodes for run in whole.on_quotient)
    assert cap < min(run.episodes for run in whole.on_m)
    cut = compare(ring, "Z", **options, max_episodes=cap)
    assert all(run.capped for run in cut.on_m) and not any(run.capped for run in cut.on_quotient)
    assert cut.ratio.bound == "at least" and cut.ratio.low is not None and cut.ratio.high is None
    assert cut.to_dict()["ratio"] == {"mean": cut.ratio.value, "low": cut.ratio.low, "high": None, "bound": "at least"}
    both = compare(ring, "Z", **options, max_episodes=60)
    assert both.ratio.bound == "not decided" and both.ratio.low is None and both.ratio.value > 0


def test_bad_input_gets_one_clear_sentence() -> None:
    ring = zoo.slip_ring(5)
    wrong = Symmetry.from_actions(ring, ring.symmetry("Z").on_states, [[1, 0, 2, 3]], name="wrong")
    with pytest.raises(NotVerified, match="wrong is not a symmetry of slip-ring"):
        compare(ring, wrong, seeds=1)
    with pytest.raises(UnknownName):
        compare(ring, "Q", seeds=1)
    with pytest.raises(InvalidParameter, match="seeds must be"):
        compare(ring, seeds=0)
    with pytest.raises(InvalidParameter, match="seeds must be"):
        compare(ring, seeds=[1, 1])
    with pytest.raises(InvalidParameter, match="workers must be"):
        compare(ring, seeds=1, workers=0)
    with pytest.raises(InvalidParameter, match="eps must be"):
        compare(ring, seeds=1, eps=0)
    with pytest.raises(InvalidParameter, match="delta must lie"):
        compare(ring, seeds=1, delta=1)


@pytest.mark.probe
def test_the_ring_saves_about_n() -> None:
    for n, c, seeds, cap in ((5, 1.0, 10, 200_000), (10, 0.5, 4, 20_000)):
        found = compare(zoo.slip_ring(n), "Z", width="heuristic", scale=c, seeds=seeds, max_episodes=cap)
        assert 0.6 * n <= found.ratio.value <= 1.8 * n, found.to_dict()


@pytest.mark.probe
def test_a_fixed_goal_saves_nothing() -> None:
    found = compare(zoo.slip_ring(10, goal="fixed"), "Z", width="heuristic", scale=0.3, seeds=10)
    assert 0.7 <= found.ratio.value <= 1.7
    errors = found.errors
    assert errors["reachable"] is not None and errors["order"] is not None
    assert errors["reachable"] < errors["order"]


@pytest.mark.probe
def test_the_joint_reachable_factor_predicts_better_than_the_order_or_the_papers() -> None:
    for mdp, name, c in ((zoo.grid(5), "D4", 1.0), (zoo.hypercube(6), "S", 0.3), (zoo.river(3), "Z2", 1.0)):
        errors = compare(mdp, name, width="heuristic", scale=c, seeds=4, max_episodes=8_000).errors
        assert errors["reachable"] is not None and errors["order"] is not None and errors["paper"] is not None
        assert errors["reachable"] <= min(errors["order"], errors["paper"]) + 1e-9
