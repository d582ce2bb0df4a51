"""UBEV and UCBVI against widths computed by hand, and what the mistake meter reads."""

import math

import numpy as np
import pytest

from burnside.errors import InvalidParameter, UnknownName
from burnside.learning import UBEV, UCBVI, Run, learn
from burnside.learning.kernels import loglog, plan_ubev, plan_ucbvi
from burnside.learning.learn import log_term
from burnside.learning.learners import make_learner
from burnside.learning.plain import Memory, Widths
from burnside.learning.run import eps_absolute
from burnside.learning.world import World
from burnside.mdp import TabularMDP, policy_return, solve, zoo


def two_states(reward: float = 1.0, H: int = 3) -> TabularMDP:
    """State 0 pays nothing, state 1 pays; each action of 0 leads to 1 with another probability."""
    P = [[0.5, 0.5], [0.9, 0.1], [0.0, 1.0], [1.0, 0.0]]
    return TabularMDP(P, [0, 0, reward, reward], [1, 0], H)


def memory(n: np.ndarray, policy: np.ndarray, **known: np.ndarray) -> Memory:
    """What a learner knows, as far as a plan needs it."""
    whole, row, table = np.zeros(1, dtype=np.int64), np.zeros(1), np.zeros((1, 1))
    nothing = Memory(n, whole, table.astype(np.int64), row, row, table, policy)
    return nothing._replace(**known)


def test_loglog() -> None:
    assert [loglog(1), loglog(2)] == [0, 0]
    assert loglog(1000) == pytest.approx(math.log(math.log(1000)))


@pytest.mark.parametrize("reward", [1.0, 7.0])
@pytest.mark.parametrize("heuristic", [False, True])
def test_ubev_plans_what_a_hand_would(reward: float, heuristic: bool) -> None:
    world = World.direct(two_states(reward))
    agent = world.agent_arrays
    assert agent.span.tolist() == [3 * reward, 2 * reward, reward, 0]
    n = np.array([40, 0, 400, 9])
    p_hat = np.array([0.75, 0.25, 0.0, 0.0, 1.0, 1.0])
    log = log_term(world, UBEV(), 0.1, 1)
    assert log == pytest.approx(math.log(21 * 4 * 3 / 0.1))
    phi = np.array([math.sqrt((2 * loglog(k) + log) / k) if k else 0.0 for k in n])
    v, q, policy = np.zeros((4, 2)), np.zeros(4), np.zeros((3, 2), dtype=np.int64)
    assert plan_ubev(agent, Widths(0, 0.5, log, heuristic, 1), memory(n, policy, p_hat=p_hat, phi=phi), v, q)
    v2 = np.array([0.0, reward])
    np.testing.assert_allclose(v[2], v2)  # the last reward is known
    span = reward  # both spans agree here: max − min of (0, r)
    ahead = [
        min(reward, 0.25 * reward + 0.5 * span * phi[0]),
        reward,  # never tried: the best there is
        min(reward, reward + 0.5 * span * phi[2]),
        min(reward, 0.5 * span * phi[3]),
    ]
    v1 = [max(ahead[:2]), reward + max(ahead[2:])]
    np.testing.assert_allclose(v[1], v1)
    span = v1[1] - v1[0] if heuristic else 2 * reward
    last = min(v1[1], 0.75 * v1[0] + 0.25 * v1[1] + 0.5 * span * phi[0])
    assert q[0] == pytest.approx(last)
    assert q[1] == pytest.approx(v1[1])
    assert policy[0, 0] == (0 if last >= v1[1] else 1)


def test_ucbvi_bonuses_by_hand() -> None:
    world = World.direct(two_states())
    agent = world.agent_arrays
    n, counts = np.array([40, 0, 400, 9]), np.array([30, 10, 0, 0, 400, 9])
    log = log_term(world, UCBVI(), 0.1, 50)
    assert log == pytest.approx(math.log(5 * 4 * 3 * 50 / 0.1))
    visits = np.array([[0, 0], [3, 0], [10, 4]])
    for bernstein in (False, True):
        v, q, policy = np.zeros((4, 2)), np.zeros(4), np.zeros((3, 2), dtype=np.int64)
        cap = np.full((3, 4), np.inf)
        known = memory(n, policy, counts=counts, visits=visits, q_cap=cap)
        plan_ucbvi(agent, Widths(1 + bernstein, 1e-2, log, False, 1), known, v, q)
        after = np.array([0.0, 1.0])
        mean = 0.25
        bonus = 7 * 3 * log / math.sqrt(40)
        if bernstein:
            variance = 0.25 - mean**2
            tail = sum(
                share * min(1e4 * 3 * 9 * 2 * 4 * log**2 / max(1, seen), 9)
                for share, seen in zip((0.75, 0.25), visits[2], strict=True)
            )
            bonus = math.sqrt(8 * log * variance / 40) + 14 * 3 * log / (3 * 40) + math.sqrt(8 * tail / 40)
        assert cap[1, 0] == pytest.approx(min(after.max(), mean + 1e-2 * bonus))
        assert cap[1, 1] == np.inf  # never tried
        assert (cap[:, [0, 2, 3]] >= 0).all()
        before = cap.copy()
        plan_ucbvi(agent, Widths(1 + bernstein, 1.0, log, False, 1), known, v, q)
        assert (cap <= before).all()  # values only fall


def test_one_run_counts_for_every_eps() -> None:
    run = learn(zoo.slip_ring(5), width="heuristic", eps=0.02)
    eps = np.linspace(0.01, 1.2, 40)
    counts = run.mistakes(eps)
    assert (np.diff(counts) <= 0).all() and counts[0] > 0 == counts[-1]
    gaps = run.per_episode()
    assert counts.tolist() == [int((gaps > e * run.best).sum()) for e in eps]
    assert run.mistakes() == run.mistakes(0.02) == run.mistakes(run.eps, absolute=True)
    assert gaps.min() >= -1e-12 and run.regret == pytest.approx(gaps.sum())


def test_first_and_last_gap_are_those_of_the_policies() -> None:
    mdp = zoo.slip_ring(5)
    run = learn(mdp, width="heuristic", scale=0.3, max_episodes=3000, min_episodes=3000)
    best = solve(mdp).value
    first = np.repeat(mdp.pair_ptr[None, :-1], mdp.H, axis=0)  # all equally unknown: the first action everywhere
    assert run.gaps[0] == pytest.approx(best - policy_return(mdp, first))
    assert run.best == best and run.gaps[-1] < 0.1 * best


def test_the_plateau_rule() -> None:
    run = learn(zoo.slip_ring(5), width="heuristic", min_episodes=1)
    wrong = np.flatnonzero(run.per_episode() > run.eps)
    assert run.episodes == 2 * (wrong[-1] + 1) and not run.capped
    short = learn(zoo.slip_ring(5), width="heuristic", max_episodes=50)
    assert short.capped and short.episodes == 50
    assert (short.per_episode() == run.per_episode()[:50]).all()


@pytest.mark.parametrize(
    ("learner", "episodes", "scale"), [("ubev", 1_500, 0.5), ("ucfh", 1_500, 1e-6), ("ucfh-literal", 10**9, None)]
)
def test_how_long_a_chunk_takes_changes_nothing(
    learner: str, episodes: int, scale: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chunks of one episode or phase, and as large as they come: busy machines and fast ones find the same."""
    import sys

    runs, calls = [], []
    for seconds in (0.0, 1e9):
        monkeypatch.setattr(sys.modules["burnside.learning.learn"], "CHUNK_SECONDS", seconds)
        told: list[tuple[int, int]] = []

        def tell(played: int, expected: int, told: list[tuple[int, int]] = told) -> None:
            told.append((played, expected))

        runs.append(learn(zoo.slip_ring(5), learner, seed=2, max_episodes=episodes, scale=scale, progress=tell))
        assert told and all(played <= expected for played, expected in told)
        calls.append(len(told))
    one, other = runs
    assert calls[0] > calls[1] and one.settled == other.settled and one.capped == other.capped
    assert one.gaps.tolist() == other.gaps.tolist() and one.lengths.tolist() == other.lengths.tolist()


def test_whatever_progress_raises_ends_the_run() -> None:
    def enough(played: int, expected: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learn(zoo.slip_ring(5), progress=enough)


def test_the_same_seed_is_the_same_run_however_it_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    first = learn(zoo.slip_ring(5), width="heuristic", seed=4)
    monkeypatch.setattr(sys.modules["burnside.learning.learn"], "CHUNK", 1)
    again = learn(zoo.slip_ring(5), width="heuristic", seed=4)
    assert (first.per_episode() == again.per_episode()).all()
    other = learn(zoo.slip_ring(5), width="heuristic", seed=4, stream=1)
    assert other.mistakes() != first.mistakes() or other.episodes != first.episodes


def test_scaling_and_shifting_the_rewards_changes_nothing() -> None:
    ring = zoo.slip_ring(5)
    plain = learn(ring, scale=0.2, max_episodes=2000, min_episodes=2000)
    moved = learn(
        ring.replace(R=8 * ring.R - 3),
        scale=0.2,
        eps=8 * plain.eps,
        absolute=True,
        max_episodes=2000,
        min_episodes=2000,
    )
    np.testing.assert_allclose(moved.per_episode(), 8 * plain.per_episode(), atol=1e-9)


def test_every_learner_finds_the_optimum_of_a_small_model() -> None:
    mdp = zoo.hypercube(3)
    for learner in (UBEV("heuristic"), UBEV(scale=0.2), UCBVI(scale=0.01), UCBVI("bernstein", scale=0.01)):
        run = learn(mdp, learner)
        assert not run.capped and 0 < run.mistakes() < run.episodes, run.label


def test_labels_say_what_is_proved() -> None:
    assert UBEV().guarantee == "Uniform-PAC"
    for heuristic in (UBEV("heuristic"), UBEV(scale=0.5), UBEV(replan_every=5)):
        assert heuristic.guarantee is None and "no guarantee" in heuristic.label
    assert "regret" in UCBVI().label
    run = learn(zoo.hypercube(3), scale=0.5, max_episodes=5)
    assert run.label == UBEV(scale=0.5).label and run.config["scale"] == 0.5 and run.guarantee is None


def test_short_horizons() -> None:
    for learner in ("ubev", "ucbvi", "ucfh", "ucfh-literal"):
        one = learn(zoo.hypercube(3, horizon=1), learner, max_episodes=2000)
        assert one.mistakes() == 0  # rewards are known, transitions do not matter
        two = learn(zoo.hypercube(3, horizon=2), learner, max_episodes=2000)
        assert two.episodes <= 2000
        if learner.startswith("ucfh"):
            assert any("log2 log2 H" in note for note in one.notes)
            assert any("log2 log2 H" in note for note in two.notes)


def test_bad_input_gets_one_clear_sentence() -> None:
    ring = zoo.slip_ring(5)
    for eps in (0, -0.1, math.nan, math.inf):
        with pytest.raises(InvalidParameter, match="eps must be a positive number"):
            learn(ring, eps=eps)
    for delta in (0, 1, 1.5, math.nan):
        with pytest.raises(InvalidParameter, match="delta must lie strictly between 0 and 1"):
            learn(ring, delta=delta)
    with pytest.raises(UnknownName, match="did you mean 'ubev'"):
        learn(ring, "ubve")
    with pytest.raises(InvalidParameter, match="no option 'widht'"):
        learn(ring, widht="provable")
    with pytest.raises(InvalidParameter, match="width must be"):
        make_learner("ubev", width="wide")
    with pytest.raises(InvalidParameter, match="scale must be a positive number"):
        learn(ring, scale=0)
    with pytest.raises(InvalidParameter, match="seed must be"):
        learn(ring, seed=-1)
    with pytest.raises(InvalidParameter, match="max_episodes must be"):
        learn(ring, max_episodes=0)
    with pytest.raises(InvalidParameter, match="finished setting"):
        learn(ring, UBEV(), scale=2)
    with pytest.raises(InvalidParameter, match="with absolute=True"):
        eps_absolute(ring.replace(R=-ring.R))
    with pytest.raises(InvalidParameter, match="every eps must be positive"):
        Run((1.0,), (1,), 1.0, 0.1, 0.1).mistakes([0.1, 0])
