"""Three answers, each earned: what must be refuted, what must hold, and what must be left open."""

import json

import gymnasium as gym
import numpy as np
import pytest
from tests.canonical import cases
from tests.canonical.cases import MIRROR

from burnside.canonical import EnvSymmetry, check_symmetry, known
from burnside.canonical.checking.rates import failure_bound, samples_needed
from burnside.errors import InvalidParameter

FEW = {"samples": 120, "max_failure_rate": 0.05}  # quick, and enough for a promise of 5 %


def verdicts(verdict) -> dict[str, str]:
    return {name: part.verdict for name, part in verdict.components.items()}


# ---------------------------------------------------------------------- refuted


def test_mountain_car_is_refuted_by_default() -> None:
    """The goal exists on the right only, where random actions do not lead."""
    verdict = check_symmetry("MountainCar-v0", cases.mountain_mirror())
    assert verdict.verdict == "refuted" and not verdict
    found = verdicts(verdict)
    assert found["dynamics"] == found["termination"] == "refuted" and found["reward"] == found["truncation"] == "holds"
    assert verdict.coverage["places"]["explored"]["violations"]["termination"] > 0, "it was reached, not only set"
    assert verdict.coverage["space_mismatch"] > 0.1
    only_walk = check_symmetry("MountainCar-v0", cases.mountain_mirror(), places="walk", samples=100)
    assert list(only_walk.coverage["places"]) == ["walk"]


@pytest.mark.parametrize(
    ("env", "part"),
    [
        (cases.BesideLarge(), "dynamics"),
        (cases.BesideLarge(noise=0.05), "dynamics"),
        (cases.BesideLarge(0.1, -0.1001), "dynamics"),
        (cases.LargeReward(), "reward"),
        (cases.LargeReward(dtype=np.float32), "reward"),
        (cases.LargeReward(0.5, 0.5001), "reward"),
    ],
)
def test_a_small_number_is_not_lost_beside_a_large_one(env, part: str) -> None:
    verdict = check_symmetry(env, MIRROR, **FEW)
    assert verdict.verdict == "refuted" and verdict.components[part].verdict == "refuted"
    assert verdict.worst == ("reward" if part == "reward" else "observation[1]")


def test_noise_beside_a_large_number_is_seen() -> None:
    for large in (1e6, 1e7):
        verdict = check_symmetry(cases.BesideLarge(0.1, -0.1, noise=0.1, large=large), MIRROR, **FEW)
        assert verdict.method == "two-sample" and verdict.verdict == "holds"
    for true in (cases.BesideLarge(0.1, -0.1), cases.LargeReward(0.5, 0.5)):
        assert check_symmetry(true, MIRROR, **FEW).verdict == "holds"


@pytest.mark.parametrize("at", [0.05, 2.0])
def test_truncation_on_one_side(at: float) -> None:
    """On the walk, and where only a search gets."""
    verdict = check_symmetry(cases.cart_cut(at), cases.cart(), **FEW)
    found = verdicts(verdict)
    assert verdict.verdict == "refuted" and found.pop("truncation") == "refuted" and verdict.worst is None
    assert set(found.values()) == {"holds"} and verdict.counterexample.kind == "truncation"
    assert "truncates" in verdict.counterexample.text


def test_truncation_by_a_clock() -> None:
    plain = gym.make("CartPole-v1", max_episode_steps=12)
    verdict = check_symmetry(plain, cases.cart(), **FEW)
    assert verdict.verdict == "holds" and any("after 12 steps" in note for note in verdict.notes)
    late = check_symmetry(cases.cart_late(), cases.cart(), **FEW)
    assert late.verdict == "refuted" and late.components["truncation"].verdict == "refuted"


def test_legs_that_are_not_swapped() -> None:
    assert check_symmetry(cases.Lander(), cases.lander_legs_forgotten(), **FEW).verdict == "refuted"
    assert check_symmetry(cases.Lander(), cases.lander_mirror(), **FEW).verdict == "holds"


@pytest.mark.parametrize(("right", "left"), [(0.05, 0.0), (0.05, 0.01)])
def test_a_rare_difference_adds_up(right: float, left: float) -> None:
    """At no place can it be seen; over all places it can."""
    verdict = check_symmetry(cases.RareBonus(right, left, noise=0.1), MIRROR, samples=200, places="reached")
    assert verdict.verdict == "refuted" and verdict.components["reward"].verdict == "refuted"
    assert verdicts(verdict)["dynamics"] != "refuted"


@pytest.mark.parametrize("bounds", [np.inf, 10.0])
def test_a_goal_where_chance_does_not_go(bounds: float) -> None:
    many = FEW | {"samples": 500}  # the search gets there with the usual number of samples, not with few
    verdict = check_symmetry(cases.FarGoal(bounds=bounds), MIRROR, **many)
    assert verdict.verdict == "refuted" and verdicts(verdict)["termination"] == "refuted"
    assert verdict.coverage["places"]["explored"]["violations"]["termination"]
    assert verdict.counterexample.place != "walk" and "walk did not go there" in verdict.counterexample.text
    assert check_symmetry(cases.FarGoal(both=True, bounds=bounds), MIRROR, **FEW).verdict == "holds"


def test_a_policy_and_states_of_ones_own_are_looked_at() -> None:
    goal, options = cases.FarGoal(), {"samples": 50, "places": "walk"}
    assert check_symmetry(goal, MIRROR, **options).verdict == "inconclusive"
    by_policy = check_symmetry(cases.FarGoal(goal=2.0), MIRROR, policy=lambda x: 1, **options)
    assert by_policy.verdict == "refuted" and by_policy.coverage["places"]["policy"]["violations"]["termination"]
    by_state = check_symmetry(goal, MIRROR, states=[np.array([5.95])], **options)
    assert by_state.verdict == "refuted" and by_state.counterexample.place == "states"
    by_function = check_symmetry(goal, MIRROR, states=lambda env: [np.array([env.unwrapped.goal])], **options)
    assert by_function.verdict == "refuted"
    with pytest.raises(InvalidParameter, match="not an action"):
        check_symmetry(goal, MIRROR, policy=lambda x: 7, **options)
    with pytest.raises(InvalidParameter, match="states cannot be tried"):
        check_symmetry("Blackjack-v1", EnvSymmetry([1], lambda g, x: x, lambda g, a: a), states=[1], samples=20)


# ---------------------------------------------------------------------- holds


def test_the_law_of_reset_does_not_refute() -> None:
    verdict = check_symmetry(cases.OneSidedStart(), MIRROR, **FEW)
    found = verdicts(verdict)
    assert verdict.verdict == "holds" and found.pop("reset") == "refuted" and set(found.values()) == {"holds"}


@pytest.mark.parametrize(
    ("env", "symmetry"),
    [
        ("CartPole-v1", cases.cart()),
        ("Pendulum-v1", cases.pendulum_mirror()),
        ("Acrobot-v1", cases.acrobot_mirror()),
    ],
)
def test_classic_control(env: str, symmetry: EnvSymmetry) -> None:
    verdict = check_symmetry(env, symmetry, samples=460)
    assert verdict.verdict == "holds" and set(verdicts(verdict).values()) == {"holds"}


@pytest.mark.slow
def test_tic_tac_toe_by_default() -> None:
    verdict = check_symmetry(cases.TicTacToe(), cases.d4())
    assert verdict.verdict == "holds" and verdict.method == "two-sample"
    assert check_symmetry(cases.TicTacToe(corner=0.5), cases.d4()).components["reward"].verdict == "refuted"


# ---------------------------------------------------------------------- inconclusive


def test_few_samples_decide_nothing() -> None:
    verdict = check_symmetry(cases.TicTacToe(), cases.d4(), samples=40)
    assert verdict.verdict == "inconclusive" and not verdict and not verdict.ok
    assert "483 samples" in verdict.advice and verdict.counterexample is None
    few = check_symmetry("CartPole-v1", cases.cart(), samples=100)
    assert few.verdict == "inconclusive" and "459 samples" in few.advice
    assert check_symmetry("CartPole-v1", cases.cart(), samples=100, max_failure_rate=0.05).verdict == "holds"


def test_failure_rates() -> None:
    assert samples_needed(0.99, 0.01) == 459
    assert failure_bound(0, 459, 0.99) <= 0.01 < failure_bound(0, 458, 0.99)
    assert failure_bound(0, 0, 0.99) == failure_bound(5, 5, 0.99) == 1
    rng = np.random.default_rng(0)
    covered = [failure_bound(int(rng.binomial(50, 0.1)), 50, 0.9) >= 0.1 for _ in range(400)]
    assert np.mean(covered) >= 0.88


def test_an_environment_that_cannot_be_looked_into() -> None:
    """Continuous observations never repeat: whole trajectories are compared, which is not a proof, and not an error."""

    class Closed(gym.Wrapper):
        @property
        def unwrapped(self):
            return self

    verdict = check_symmetry(Closed(gym.make("CartPole-v1")), cases.cart(), samples=50)
    assert verdict.verdict == "inconclusive" and verdict.method == "trajectories" and 0 < verdict.resolution < 1
    assert "set the state" in verdict.advice
    wrong = cases.cart().changed(act_on_action=lambda g, a: a)
    assert check_symmetry(Closed(gym.make("CartPole-v1")), wrong, samples=50).verdict == "refuted"


# ---------------------------------------------------------------------- what is reported


def test_deviations_have_units_and_names() -> None:
    verdict = check_symmetry(cases.BesideLarge(), MIRROR, names=["mass", "place"], **FEW)
    rows = {row["name"]: row for row in verdict.deviations}
    assert list(rows) == ["mass", "place", "reward"] and verdict.worst == "place"
    assert rows["place"]["largest"] == pytest.approx(0.1) and rows["place"]["median"] == pytest.approx(0.1)
    assert rows["place"]["share"] == 1 and rows["mass"]["share"] == 0 and rows["mass"]["largest"] == 0
    assert verdict.components["dynamics"].eps == pytest.approx(0.1) and "place differs by 0.1" in str(
        verdict.counterexample
    )
    plain = json.loads(json.dumps(verdict.to_dict(), allow_nan=False))
    assert plain["verdict"] == "refuted" and plain["components"]["dynamics"]["verdict"] == "refuted"
    assert plain["deviations"][1]["name"] == "place" and plain["counterexample"]["here"]
    assert {"coverage", "advice", "worst", "max_failure_rate", "failure_rate", "resolution"} <= plain.keys()


def test_how_nearly_symmetric_is_answered_without_trying_tolerances() -> None:
    for bias in (1e-4, 1e-2):
        verdict = check_symmetry(cases.BesideLarge(0.1, -0.1 - bias), MIRROR, samples=40)
        assert verdict.components["dynamics"].eps == pytest.approx(bias, rel=1e-6)
    assert check_symmetry(cases.BesideLarge(0.1, -0.1001), MIRROR, tol=1e-2, **FEW).verdict == "holds"


def test_coverage_is_reported() -> None:
    verdict = check_symmetry("CartPole-v1", known.cartpole_reflection(), samples=60)
    found = verdict.coverage
    assert set(found["places"]) == {"walk", "explored", "set", "beyond"} and found["episodes"] > 3
    assert found["terminated"] + found["truncated"] > 0 and 0 < found["share"] <= 1
    assert [row["name"] for row in found["ranges"]] == [f"observation[{k}]" for k in range(4)]
    assert found["ranges"][0]["low"] < 0 < found["ranges"][0]["high"]
    skipped = sum(sum(place["skipped"].values()) for place in found["places"].values())
    assert skipped + verdict.checked >= 3 * 60


def test_progress_is_told() -> None:
    seen: list[tuple[int, int]] = []
    check_symmetry(
        "CartPole-v1", known.cartpole_reflection(), samples=20, progress=lambda done, total: seen.append((done, total))
    )
    assert len(seen) > 40 and all(0 <= done <= total for done, total in seen)
