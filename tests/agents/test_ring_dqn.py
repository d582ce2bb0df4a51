"""The compiled learner for rings: independent seeds, the same bits alone, among others and after resuming."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from tests.agents.learners import compiled, compiled_logs, same_arrays, same_log

from burnside._checkpoints import generations, read_arrays, write_arrays
from burnside.agents.common.checkpoint import load, save
from burnside.agents.common.members import Member
from burnside.agents.common.training import checkpoint_folder
from burnside.agents.dqn import DQNConfig, RingDQN
from burnside.envs.ring.core import RingSpec, initial
from burnside.envs.ring.optimal import expected_optimal_return
from burnside.errors import DamagedFile, UnreadableFile
from burnside.stats import first_reach

CONFIG = DQNConfig(capacity=300)
SPEC = RingSpec(6)


def test_one_seed_alone_is_that_seed_among_nineteen_others() -> None:
    members = [Member(seed, arm) for seed in range(10) for arm in ("baseline", "canonical")]
    together = compiled(CONFIG, SPEC, members, 40, threads=3)
    for position in (0, 7, 19):
        alone = compiled(CONFIG, SPEC, [members[position]], 40, threads=1)[0]
        assert same_arrays(alone, together[position])


def test_every_stream_differs_between_seeds() -> None:
    """PureJaxRL gave all seeds one key: initial network, boards, exploration and batches coincided."""
    states = [RingDQN(CONFIG, SPEC, Member(seed)) for seed in range(4)]
    for a, b in ((0, 1), (1, 2), (2, 3), (0, 3)):
        assert abs(np.corrcoef(states[a].state.weights, states[b].state.weights)[0, 1]) < 0.05
    states = [state.play(60) for state in states]
    for a, b in ((0, 1), (1, 2), (2, 3), (0, 3)):
        one, two = states[a].state, states[b].state
        assert (one.boards[:60] == two.boards[:60]).mean() < 0.8
        assert (one.replay["action"] == two.replay["action"]).mean() < 0.6
        # What a batch has touched carries the stamp of its sync: different batches, different stamps.
        assert (one.replay["stamp"] == two.replay["stamp"]).mean() < 0.9
        assert not np.array_equal(states[a].log().returns, states[b].log().returns)


def test_logs_carry_their_seeds() -> None:
    """navix indexes logs by the seed's value: (7, 3) must keep their labels and their content."""
    logs = compiled_logs(CONFIG, SPEC, [Member(7), Member(3)], 15)
    assert [log.member.seed for log in logs] == [7, 3]
    assert same_log(logs[1], compiled_logs(CONFIG, SPEC, [Member(3)], 15)[0])


def test_arms_of_a_seed_play_the_same_games() -> None:
    """Without learning and with the same exploration, a translation of the game changes only what is seen."""
    config = DQNConfig(epsilon_end=1.0, update_every=10**9)
    logs = compiled_logs(config, SPEC, [Member(4, c) for c in ("baseline", "canonical", "augment")], 50)
    assert np.array_equal(logs[0].returns, logs[1].returns) and np.array_equal(logs[0].returns, logs[2].returns)


@pytest.mark.parametrize("spec", [RingSpec(7), RingSpec(5, d=2)], ids=str)
def test_what_each_arm_sees(spec: RingSpec) -> None:
    games = initial(spec, 4, np.arange(30))
    seen = {}
    for arm in ("baseline", "canonical", "augment"):
        state = RingDQN(CONFIG, spec, Member(4, arm)).play(30)
        seen[arm] = state.state.boards[:30]
        starts = np.concatenate([[0], state.log().steps[:-1]])
        kept = starts[(starts >= state.state.counters[4] - CONFIG.capacity)]
        first = state.state.replay["pos"][kept % CONFIG.capacity]
        goal = games.goal[-len(kept) :]
        if arm == "baseline":
            assert (first == 0).all()
        elif arm == "canonical":
            assert (first == spec.cell(-spec.coordinates(goal))).all()  # App. C: the start moves to −goal
        else:
            assert len(set(first.tolist())) > 3
    assert (seen["baseline"] == games.items).all()
    assert (seen["canonical"][:, 0] == 1).all()
    assert not (seen["augment"] == games.items).all()
    for arm in ("canonical", "augment"):  # translated, not shuffled: the same board up to a roll
        for board, original in zip(seen[arm], games.items, strict=True):
            axes = tuple(range(spec.d))
            grid = original.reshape(spec.shape)
            rolls = (np.roll(grid, spec.coordinates(c), axes) for c in range(spec.n_cells))
            assert any((board.reshape(spec.shape) == roll).all() for roll in rolls)


@pytest.mark.parametrize("cut", [1, 33, 50, 99])
def test_save_and_resume_to_the_same_bits(tmp_path: Path, cut: int) -> None:
    member = Member(5, "canonical")
    whole = RingDQN(CONFIG, SPEC, member).play(100)
    half = RingDQN(CONFIG, SPEC, member).play(cut)
    save(half, tmp_path / "a.npz")
    resumed = load(RingDQN(CONFIG, SPEC, member), tmp_path / "a.npz").play(100 - cut)
    assert same_arrays(whole, resumed)


def test_train_resumes_from_its_folder(tmp_path: Path) -> None:
    members = [Member(0), Member(1, "augment")]
    whole = compiled_logs(CONFIG, SPEC, members, 60)
    compiled_logs(CONFIG, SPEC, members, 25, checkpoint=tmp_path, every=10)
    resumed = compiled_logs(CONFIG, SPEC, members, 60, checkpoint=tmp_path, every=10)
    assert all(same_log(a, b) for a, b in zip(whole, resumed, strict=True))
    again = compiled_logs(CONFIG, SPEC, members, 60, checkpoint=tmp_path)  # finished: nothing to do
    assert all(same_log(a, b) for a, b in zip(whole, again, strict=True))


def test_an_interrupted_run_resumes_from_its_last_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("burnside.agents.dqn.ring._CHUNK_STEPS", 100)  # several chunks, each with a checkpoint

    class Stop(Exception):
        pass

    def stop(found: object) -> None:
        if found.episodes[0] >= 40:  # type: ignore[attr-defined]
            raise Stop

    with pytest.raises(Stop):
        compiled_logs(CONFIG, SPEC, [Member(3)], 90, checkpoint=tmp_path, every=1, progress=stop)
    resumed = compiled_logs(CONFIG, SPEC, [Member(3)], 90, checkpoint=tmp_path, every=1)[0]
    assert same_log(resumed, compiled_logs(CONFIG, SPEC, [Member(3)], 90)[0])


def test_a_damaged_checkpoint_is_named_and_the_one_before_is_used(tmp_path: Path) -> None:
    member = Member(2)
    folder = checkpoint_folder(tmp_path, RingDQN(CONFIG, SPEC, member))
    compiled_logs(CONFIG, SPEC, [member], 20, checkpoint=tmp_path)
    whole = compiled_logs(CONFIG, SPEC, [member], 40, checkpoint=tmp_path)[0]
    newest, before = generations(folder)
    newest.write_bytes(newest.read_bytes()[:-2000])
    with pytest.warns(RuntimeWarning, match=r"cannot read checkpoint-.*the checkpoint before it is used"):
        assert same_log(compiled_logs(CONFIG, SPEC, [member], 40, checkpoint=tmp_path, every=10)[0], whole)
    assert before.exists()
    for path in generations(folder):
        path.write_bytes(b"PK nonsense")
    with pytest.warns(RuntimeWarning, match="the run starts from the beginning"):
        assert same_log(compiled_logs(CONFIG, SPEC, [member], 40, checkpoint=tmp_path)[0], whole)


def test_checkpoints_of_another_version_are_put_aside_with_a_note(tmp_path: Path) -> None:
    member = Member(2)
    learner = RingDQN(CONFIG, SPEC, member)
    folder = checkpoint_folder(tmp_path, learner)
    np.savez(tmp_path / f"{folder.name}.npz", identity=learner.identity, format=1, **learner.arrays())  # as it was
    with pytest.warns(UserWarning, match="was written by another version; the run starts from the beginning"):
        whole = compiled_logs(CONFIG, SPEC, [member], 20, checkpoint=tmp_path)[0]
    assert sorted(path.name for path in tmp_path.iterdir()) == [folder.name, f"{folder.name}.npz.unusable"]
    with pytest.raises(DamagedFile, match="of another version"):
        load(learner, tmp_path / f"{folder.name}.npz.unusable")
    (path,) = generations(folder)
    arrays, meta = read_arrays(path)
    write_arrays(path, {f"old/{name}": array for name, array in arrays.items()}, meta)
    with pytest.warns(RuntimeWarning, match="is missing.*the run starts from the beginning"):
        assert same_log(compiled_logs(CONFIG, SPEC, [member], 20, checkpoint=tmp_path)[0], whole)
    save(learner, tmp_path / "x.npz")
    arrays, meta = read_arrays(tmp_path / "x.npz")
    name = next(name for name, array in arrays.items() if array.dtype == np.float32)
    write_arrays(tmp_path / "x.npz", arrays | {name: arrays[name].astype(np.float64)}, meta)
    with pytest.raises(DamagedFile, match=f"{name} is float64"):
        load(learner, tmp_path / "x.npz")


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    compiled_logs(CONFIG, SPEC, [Member(2)], 5, checkpoint=tmp_path)
    with pytest.raises(UnreadableFile, match="another run"):
        compiled_logs(dataclasses.replace(CONFIG, gamma=0.5), SPEC, [Member(2)], 5, checkpoint=tmp_path)


def test_progress_is_reported_in_the_calling_thread() -> None:
    import threading

    seen = []
    compiled_logs(
        CONFIG, SPEC, [Member(0), Member(1)], 30, progress=lambda p: seen.append((p, threading.current_thread()))
    )
    assert {p.member for p, _ in seen} == {Member(0), Member(1)}
    assert max(p.episodes[0] for p, _ in seen) == 30 and all(t is threading.current_thread() for _, t in seen)


def test_log_adds_up() -> None:
    log = compiled_logs(CONFIG, SPEC, [Member(8)], 50)[0]
    assert np.array_equal(np.cumsum(log.lengths), log.steps)
    assert (log.lengths <= SPEC.time_limit).all() and (log.lengths[~log.success] == SPEC.time_limit).all()
    assert (log.returns[log.success] <= SPEC.end_reward).all()
    # One update per step once the replay holds a batch.
    assert np.array_equal(log.updates, np.maximum(log.steps - CONFIG.batch + 1, 0))
    assert (log.more["loss"] > 0).sum() > 20


def test_evaluation_is_on_held_out_boards_and_repeatable() -> None:
    state = RingDQN(CONFIG, SPEC, Member(0)).play(30)
    one, two = state.evaluate(200), state.evaluate(200)
    assert np.array_equal(one.returns, two.returns)
    assert not np.array_equal(one.returns, state.evaluate(200, seed=1).returns)
    state = RingDQN(dataclasses.replace(CONFIG, epsilon_end=1.0), SPEC, Member(0))
    random = state.evaluate(400, greedy=False)
    assert len(set(random.lengths.tolist())) > 5 and not np.array_equal(random.returns, state.evaluate(400).returns)


@pytest.mark.probe
@pytest.mark.parametrize("arm", ["baseline", "canonical", "augment"])
def test_small_rings_are_solved(arm: str) -> None:
    """N = 5 within 600 episodes, by the rule of the experiments: 95 % of the exact expected optimum over 100."""
    spec = RingSpec(5)
    optimum = expected_optimal_return(spec).value
    states = compiled(DQNConfig(), spec, [Member(seed, arm) for seed in range(5)], 600)
    reached = [first_reach(state.log().returns, 0.95 * optimum) for state in states]
    assert all(found.solved and 150 < found.time <= 600 for found in reached), reached
    greedy = [state.evaluate(300) for state in states]
    assert np.mean([g.returns.mean() for g in greedy]) > 0.97 * optimum
    assert np.mean([g.success.mean() for g in greedy]) > 0.98
