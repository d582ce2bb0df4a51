"""The study of what symmetry saves: cells, thresholds, verdicts."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from burnside.cli import main
from burnside.cli.measure_env import _unfinished
from burnside.errors import InvalidParameter, UnknownName
from burnside.experiments.atlas.analysis import Group, Scores, groups, rows_of, verdicts
from burnside.experiments.atlas.config import FRACTIONS, PRESETS, Task, conditions
from burnside.experiments.atlas.run import Atlas, Measurement, cells_of, check_evaluations
from burnside.experiments.atlas.tasks import TicTacToe, env_maker, symmetry_for
from burnside.report.savings import ratio_text
from burnside.runs import sweep
from burnside.runs.sweep import SweepOutcome

TINY = Task(
    "CartPole-v1", "classic control", "ppo", 1536, 22.0, 500.0, every=512, episodes=2, seeds=3, block=3,
    arms=("baseline", "averaging"), settings={"hidden": [16, 16]},
)  # fmt: skip


def test_plans_have_every_control_beside_its_arm():
    for preset in ("smoke", "laptop", "study"):
        cells = Atlas().plan(preset)
        assert len({cell.name for cell in cells}) == len(cells)
    for task in PRESETS["study"]:
        found = conditions(task)
        assert found[0] == ("baseline", "") and (task.arms[1], "placebo") in found
    envs = {task.env for task in PRESETS["study"]}
    assert len(envs) >= 14 and len({task.family for task in PRESETS["study"]}) >= 5


def test_a_measurement_from_cells_to_rows(tmp_path):
    job = Measurement((TINY,), "measure")
    assert sweep(job, "measure", tmp_path, workers=0, progress="none").ok
    (group,) = groups(tmp_path)
    rows = rows_of(group)
    assert [(row["arm"], row["control"]) for row in rows] == conditions(TINY)
    assert rows[1]["order"] == 2 and rows[2]["placebo"] == "refuted"
    assert all(row["minibatch"] == 128 and row["processor_seconds"] > 0 and row["seconds"] > 0 for row in rows)
    assert {len(group.over_thresholds(key)) for key in group.conditions} == {len(FRACTIONS)}
    again = sweep(job, "measure", tmp_path, workers=0, progress="none")
    assert len(again.skipped) == len(cells_of(TINY))


def scores(times, budget=1000):
    """Runs that reach the best score at a time, or never."""
    curves = {}
    for seed, time_ in enumerate(times):
        step = np.arange(10, budget + 10, 10)
        curves[seed] = step, np.where(step >= (time_ or 10**9), 100.0, 0.0)
    rows = [{"order": 2, "updates": 1, "placebo_verdict": "", "seed": s} for s in curves]
    return Scores(curves, rows, budget)


def group(env="x", **conditions_):
    named = {tuple(key.split("_")) if "_" in key else (key, ""): scores(v) for key, v in conditions_.items()}
    return Group((env, "", "ppo"), {"family": "", "symmetry": "atlas"}, named, 0.0, 100.0, True)


SLOW, FAST = (400, 420, 440, 410), (100, 110, 120, 105)


def test_a_saving_that_a_control_shares_is_not_by_symmetry():
    said = verdicts(group(baseline=SLOW, averaging=FAST, averaging_placebo=SLOW))
    assert said["averaging", ""] == "a saving by symmetry"
    said = verdicts(group(baseline=SLOW, averaging=FAST, averaging_placebo=FAST))
    assert "placebo" in said["averaging", ""] and "not by symmetry" in said["averaging", ""]
    said = verdicts(group(baseline=SLOW, canonical=FAST, canonical_domain=SLOW, canonical_placebo=SLOW))
    assert "this domain" in said["canonical", ""]
    assert verdicts(group(baseline=FAST, averaging=SLOW))["averaging", ""] == "a loss"
    assert verdicts(group(baseline=FAST, averaging=FAST))["averaging", ""] == "not decided here"


def test_the_feature_alone_is_a_rival_of_every_arm_and_its_absence_is_said():
    both = {"baseline": SLOW, "averaging": FAST, "averaging_placebo": SLOW}
    said = verdicts(group(**both, canonical=SLOW, canonical_feature=FAST))
    assert said["averaging", ""] == "a saving that a control shares (feature): not by symmetry"
    assert verdicts(group(**both, canonical=SLOW, canonical_feature=SLOW))["averaging", ""] == "a saving by symmetry"
    alone = verdicts(group(baseline=SLOW, canonical=FAST, canonical_domain=FAST, canonical_placebo=SLOW))
    assert alone["canonical", ""] == "a saving, without the control 'feature' for this arm"


def test_runs_that_are_there_at_the_first_evaluation_are_counted():
    rows = rows_of(group(baseline=SLOW, averaging=(10, 10, 20, 30)))
    assert [row["at_first"] for row in rows] == [0, 2]


def test_with_a_symmetry_that_the_atlas_refutes_no_saving_is_by_symmetry():
    for env, word in (("InvertedPendulum-v5", "that the check refutes"), ("CartPole-v1", "by symmetry")):
        found = group(env, baseline=SLOW, averaging=FAST, averaging_placebo=SLOW)
        assert word in verdicts(found)["averaging", ""]
        assert verdicts(found, refuted=False)["averaging", ""] == "a saving by symmetry"


def test_the_mirror_of_minigrid_moves_the_world_with_it():
    """Without a way to set the world the check compares views, of which some hide what is different."""
    from burnside import check_symmetry

    env = "MiniGrid-DoorKey-5x5-v0"
    found = check_symmetry(env_maker(env)(), symmetry_for(None, env, "atlas"), samples=120, max_failure_rate=0.05)
    assert found.components["dynamics"].verdict == "holds" and found.method == "deterministic"


def test_censored_runs_are_bounds_and_two_solved_runs_have_no_interval():
    found = group(baseline=(None,) * 4, averaging=FAST).ratio(("averaging", ""))
    assert found.bound == "at least" and found.high is None and found.low > 1
    assert group(baseline=(400, 500), averaging=(100, 110)).ratio(("averaging", "")).low is None
    both = group(baseline=(400, None, 500, 600), averaging=(None, 100, 120, 130)).ratio(("averaging", ""))
    assert both.bound == "not decided"
    two = group(baseline=(None, None), averaging=(100, 110))
    assert two.ratio(("averaging", "")).bound == "at least" and two.ratio(("averaging", "")).low is None
    assert group(baseline=(400, 500), averaging=(100, 110)).overall(("averaging", "")).low is None
    assert verdicts(two)["averaging", ""] == "not decided here"


def test_steps_within_the_budget_are_compared_where_runs_of_both_sides_are_cut_off():
    found = group(baseline=(400, None, 500, 600), averaging=(None, 100, 120, 130))
    within, budget = found.within(("averaging", "")), found.conditions["baseline", ""].budget
    times = [np.log([400, budget, 500, 600]).mean(), np.log([budget, 100, 120, 130]).mean()]
    assert within.value == pytest.approx(np.exp(times[0] - times[1])) and within.low < 1 < within.high
    assert within.bound == "" and within.censored == (1, 1)
    row = next(row for row in rows_of(found) if row["arm"] == "averaging")
    assert row["ratio"] is None and row["within"] == within.value
    assert ratio_text(row).startswith("within the budget")
    assert group(baseline=(400, 500, None, None), averaging=(None, 100, 120, 130)).within(("averaging", "")) is None


def test_bad_tasks_are_refused():
    with pytest.raises(InvalidParameter, match="random"):
        Task("CartPole-v1", "", "ppo", 1000, 500.0, 22.0)
    with pytest.raises(InvalidParameter, match="never evaluated"):
        Task("CartPole-v1", "", "ppo", 100, every=512)


def test_the_board_game_follows_gymnasium():
    from gymnasium.utils.env_checker import check_env

    check_env(TicTacToe(), skip_render_check=True)


def test_the_board_game_says_its_state_so_that_the_check_decides():
    from burnside import check_symmetry

    env = TicTacToe()
    assert check_symmetry(env, symmetry_for(env, "tictactoe", "atlas"), samples=500).verdict == "holds"


def test_the_command_prints_json(tmp_path, capsys):
    words = ["measure", "CartPole-v1", "--learner", "ppo", "--seeds", "2", "--steps", "1024", "--every", "512"]
    more = ["--arms", "baseline,averaging", "--controls", "none", "--episodes", "2", "--workers", "0"]
    assert main([*words, *more, "--setting", "hidden=[16,16]", "--runs", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"rows", "thresholds", "reference", "overall", "tuning"} <= set(found)
    assert [row["arm"] for row in found["rows"]] == ["baseline", "averaging"]
    assert Path(found["report"]).exists()


def test_the_command_refuses_bad_words(capsys):
    assert main(["measure", "CartPole-v1", "--learner", "ppo", "--arms", "baseline,mirrors"]) == 2
    assert main(["measure", "CartPole-v1", "--learner", "a2c"]) == 2
    assert main(["measure", "MountainCar-v0", "--learner", "sb3:A2C"]) == 2
    assert "arm" in capsys.readouterr().err
    for domain in ("nothing", "7"):
        assert main(["measure", "CartPole-v1", "--learner", "ppo", "--domain", domain]) == 2
    assert "unknown coordinate 'nothing'" in capsys.readouterr().err


THEIRS = """
import gymnasium as gym
import numpy as np
from burnside.symmetry import EnvSymmetry

class Walk(gym.Env):
    observation_space = gym.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, n=10, breaks=False):
        self.n, self.breaks = n, breaks

    def _seen(self):
        return np.array([self.x, self.aim], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.aim = self.np_random.uniform(-2, 2, 2)
        self.t = 0
        return self._seen(), {}

    def step(self, action):
        if self.breaks:
            raise RuntimeError("motor burnt out")
        self.x, self.t = self.x + (0.2 if action else -0.2), self.t + 1
        return self._seen(), -abs(self.x - self.aim), False, self.t >= self.n, {}

class Learner:
    def __init__(self, symmetry):
        self.faster = 4 if symmetry is not None else 1
    def learn(self, steps):
        self.made = steps
    def evaluate(self, episodes):
        return [self.made * self.faster / 100 - 30]

def make(**options): return Walk(**options)
def raising(): raise ValueError("no idea")
def seven(): return 7
def learner(env, arm, symmetry, seed): return Learner(symmetry if env is not None and arm == "averaging" else None)
def nothing(env, arm, symmetry, seed): return 1
made = Walk()
right = EnvSymmetry("mirror", "- -", "labels 1,0", name="flip")
wrong = EnvSymmetry("mirror", "-0,1", "labels 1,0", name="wrong flip")
"""


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    """A folder with a user's module, in which the command is run: the folder need not be on Python's path."""
    name = f"theirs_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(THEIRS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p not in ("", str(tmp_path))])
    yield name
    sys.modules.pop(name, None)


def measured(*words):
    few = {"--steps": "512", "--every": "512", "--controls": "none"}
    usual = [word for name, value in few.items() if name not in words for word in (name, value)]
    return main(["measure", *words, *usual, "--episodes", "1", "--seeds", "1", "--workers", "0"])


def test_runs_of_an_older_version_of_their_file_are_not_taken(theirs, tmp_path):
    own = [f"{theirs}:made", "--symmetry", f"{theirs}:right", "--learner", "ppo", "--runs", "r"]
    own += ["--arms", "baseline"]
    for _ in range(2):
        assert measured(*own) == 0
    cells = list((tmp_path / "r").glob("*/cells/*"))
    file = tmp_path / f"{theirs}.py"
    file.write_text(file.read_text() + "\n# another version\n")
    assert measured(*own) == 0
    assert len(cells) == 1 and len(list((tmp_path / "r").glob("*/cells/*"))) == 2


def test_their_environment_gets_its_parameters_and_every_scene_its_own_copy(theirs):
    assert env_maker(f"{theirs}:make", {"n": 3})().n == 3
    one, two = (env_maker(f"{theirs}:made")() for _ in range(2))
    assert one is not two and type(one).__name__ == "Walk"
    for given, said in (("made", "made already"), ("make", "fails")):
        with pytest.raises(InvalidParameter, match=said):
            env_maker(f"{theirs}:{given}", {"wheels": 4})()
    with pytest.raises(InvalidParameter, match="tictactoe has no parameter"):
        env_maker("tictactoe", {"size": 4})
    with pytest.raises(InvalidParameter, match="nothing=3"):
        env_maker("CartPole-v1", {"nothing": 3})()


@pytest.mark.parametrize(
    ("env", "more", "said"),
    [
        ("raising", (), "raising fails: ValueError: no idea"),
        ("seven", (), "it must make a gymnasium.Env"),
        ("make", ("--param", "breaks=true"), "motor burnt out"),
        ("make", ("--symmetry", "{}:raising"), "raising fails: ValueError: no idea"),
        ("make", ("--symmetry", "flip"), "module:obj"),
        ("make", ("--learner", "{}:nothing"), "learn(steps)"),
        ("make", ("--learner", "{}:missing"), "has no attribute 'missing'"),
        ("make", ("--learner", "sac"), "SAC needs vectors"),
        ("make", ("--threshold", "inf"), "give a score"),
        ("make", ("--setting", "learning_rat=3"), "did you mean 'learning_rate'"),
        ("make", ("--setting", "learning_rate=fast"), "wrong kind of value"),
        ("make", ("--setting", "gamma=0.9", "--setting", "gamma=0.8"), "--setting gives gamma twice"),
        ("make", ("--setting", "rollout=256"), "cannot be evaluated every 512"),
        ("make", ("--arms", "averaging,averaging"), "twice"),
        ("make", ("--every", "700", "--steps", "1400"), "give a multiple of 512"),
        ("make", ("--every", "0"), "--every is 0"),
        ("make", ("--tune", "1"), "give 2 or more"),
        ("make", ("--controls", "none,feature"), "says none and some"),
        ("make", ("--controls", "domain", "--arms", "averaging"), "no arm for the control domain"),
        ("make", ("--domain", "0", "--arms", "averaging"), "leave it out"),
        (
            "make",
            ("--learner", "sb3:PPO", "--setting", "wheels=4", "--setting", "n_steps=256"),
            "keyword argument 'wheels'",
        ),
        ("make", ("--fresh",), "leave out --fresh"),
    ],
)
def test_what_goes_wrong_in_their_code_or_words_is_one_sentence_before_anything_runs(theirs, capsys, env, more, said):
    words = [word.format(theirs) for word in more]
    words += [] if "--symmetry" in words else ["--symmetry", f"{theirs}:right"]
    words += [] if "--learner" in words else ["--learner", "ppo"]
    assert measured(f"{theirs}:{env}", *words) == 2
    err = capsys.readouterr().err
    assert said in err and "Traceback" not in err and "running" not in err


def test_a_wrong_symmetry_is_called_wrong(theirs, capsys):
    words = [f"{theirs}:make", "--learner", f"{theirs}:learner", "--steps", "3000", "--every", "50", "--seeds", "4"]
    words += ["--arms", "averaging", "--controls", "placebo", "--threshold", "-10", "--episodes", "1", "--workers", "0"]
    said = {}
    for symmetry in ("right", "wrong"):
        own = ["--symmetry", f"{theirs}:{symmetry}", "--runs", symmetry, "--json"]
        assert main(["measure", *words, *own]) == 0
        captured = capsys.readouterr()
        found = json.loads(captured.out)
        said[symmetry] = found["symmetry"]["check"], found["orbit_counting"], "warning" in captured.err
    assert said == {"right": ("holds", 2, False), "wrong": ("refuted", None, True)}
    assert "refuted by the check" in Path(found["report"]).read_text()


def test_a_saving_of_a_refuted_symmetry_is_not_by_symmetry():
    found = group(baseline=SLOW, averaging=FAST, averaging_placebo=SLOW)
    said = [row["verdict"] for row in rows_of(found, refuted=True) if row["arm"] == "averaging" and not row["control"]]
    assert said == ["a saving, with a symmetry that the check refutes"]


def test_scores_known_of_an_environment_are_not_used_for_another_variant_of_it(tmp_path, capsys):
    words = ["CartPole-v1", "--learner", "ppo", "--arms", "baseline", "--runs", str(tmp_path), "--json"]
    assert measured(*words, "--setting", "hidden=[16,16]", "--setting", "gamma=0.9") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["thresholds_fixed_before"] and found["settings"] == {"hidden": [16, 16], "gamma": 0.9}
    assert measured(*words, "--setting", "hidden=[16,16]", "--param", "sutton_barto_reward=true") == 0
    captured = capsys.readouterr()
    assert not json.loads(captured.out)["thresholds_fixed_before"]
    assert "never did better" in captured.err  # nor is a scale made up in silence


def test_usual_arms_that_do_not_suit_are_left_out_and_said(tmp_path, capsys):
    assert measured("MountainCar-v0", "--learner", "ppo", "--runs", str(tmp_path), "--json") == 0
    captured = capsys.readouterr()
    assert [row["arm"] for row in json.loads(captured.out)["rows"]] == ["baseline", "canonical", "augment"]
    assert "without averaging" in captured.err
    assert measured("MountainCar-v0", "--learner", "ppo", "--arms", "averaging", "--runs", str(tmp_path)) == 2


def test_options_of_the_other_kind_are_refused_and_equal_failures_told_once(tmp_path, capsys):
    assert main(["measure", "FrozenLake-v1", "--steps", "5"]) == 2
    assert "leave out --steps" in capsys.readouterr().err
    failed = SweepOutcome((), (), {"a": "it broke", "b": "it broke", "c": "another"})
    assert _unfinished(failed, tmp_path) == 1
    err = capsys.readouterr().err
    assert err.count("it broke") == 1 and "2 cells: it broke" in err and "another" in err


def test_a_task_of_dm_control_has_the_name_that_the_atlas_uses(monkeypatch):
    seen = []
    monkeypatch.setattr("burnside.experiments.atlas.tasks.gym.make", lambda name, **_: seen.append(name))
    env_maker("dm_control:cartpole-swingup")()
    assert seen == ["dm_control/cartpole-swingup-v0"]


def test_evaluations_closer_than_a_learner_can_stop_are_refused():
    for task in PRESETS["study"]:
        for cell in cells_of(task):
            check_evaluations(cell.config)
    near = Task("CartPole-v1", "", "sb3:PPO", 6000, every=500)
    with pytest.raises(InvalidParameter, match="2048 steps at a time"):
        check_evaluations(cells_of(near)[0].config)
    with pytest.raises(UnknownName, match="setting of dqn"):
        check_evaluations(cells_of(Task("x", "", "dqn", 6000, settings={"batches": 3}))[0].config)


def test_controls_that_no_arm_has_are_named(theirs, capsys):
    own = [f"{theirs}:make", "--symmetry", f"{theirs}:right", "--learner", f"{theirs}:learner", "--runs", "r"]
    more = ["--arms", "baseline,averaging", "--controls", "domain,feature,placebo", "--threshold", "-12", "--json"]
    assert measured(*own, *more) == 0
    captured = capsys.readouterr()
    assert "without the controls domain and feature" in captured.err
    assert {row["control"] for row in json.loads(captured.out)["rows"]} == {"", "placebo"}


def test_runs_that_begin_solved_and_scales_that_mean_nothing_are_noted(theirs, capsys):
    own = [f"{theirs}:make", "--symmetry", f"{theirs}:right", "--learner", f"{theirs}:learner", "--runs", "r", "--json"]
    own += ["--arms", "baseline,averaging"]
    said = []
    for more in (["--threshold", "-12", "--steps", "3000", "--every", "1000"], []):
        assert measured(*own, *more) == 0
        captured = capsys.readouterr()
        (note,) = json.loads(captured.out)["notes"]
        assert note in captured.err
        said.append(note)
    assert "averaging 1 of 1" in said[0] and "baseline 1 of 1" not in said[0]
    assert "mean nothing" in said[1]


def test_a_score_that_is_no_number_and_a_search_that_fails_are_told(theirs, tmp_path, capsys):
    file = tmp_path / f"{theirs}.py"
    more = "class Nothing(Learner):\n    def evaluate(self, episodes): return [float('nan')]\n"
    file.write_text(file.read_text() + more + "def lost(env, arm, symmetry, seed): return Nothing(symmetry)\n")
    own = [f"{theirs}:make", "--symmetry", f"{theirs}:right", "--runs", "r", "--arms", "baseline", "--threshold", "-5"]
    assert measured(*own, "--learner", f"{theirs}:lost") == 1
    assert "after 512 steps is nan" in capsys.readouterr().err
    assert measured(*own, "--learner", f"{theirs}:learner", "--tune", "2") == 1
    assert "argument 'learning_rate'" in capsys.readouterr().err.split("failed: ")[-1]


def test_a_search_says_its_budget_and_what_it_chose(theirs, tmp_path, capsys):
    file = tmp_path / f"{theirs}.py"
    file.write_text(file.read_text() + "def tuned(env, arm, symmetry, seed, **settings): return Learner(symmetry)\n")
    own = [f"{theirs}:make", "--symmetry", f"{theirs}:right", "--runs", "r", "--arms", "baseline", "--threshold", "-5"]
    assert measured(*own, "--learner", f"{theirs}:tuned", "--tune", "2") == 0
    assert "the same 2 settings on 3 other seeds; chosen: baseline the usual settings" in capsys.readouterr().out


KILLED = """
import sys
from pathlib import Path
from burnside.experiments.atlas.config import Task
from burnside.experiments.atlas.run import Measurement
from burnside.runs import sweep

few = {"settings": {"hidden": [16, 16]}, "arms": ("baseline", "averaging"), "controls": ("placebo",), "seeds": 2}
own = {"settings": {"hidden": [16, 16], "begin": 300}, "arms": ("baseline",), "controls": (), "seeds": 2, "block": 2}
tasks = (
    Task("CartPole-v1", "", "ppo", 8192, 22.0, 2000.0, every=512, episodes=5, block=2, **few),
    Task("Pendulum-v1", "", "sac", 1500, -1220.0, 500.0, every=100, episodes=3, **own),
    Task("tictactoe", "", "dqn", 3000, -1.0, 5.0, every=200, episodes=20, **(own | {"settings": few["settings"]})),
)
ran = sweep(Measurement(tasks, "measure"), "measure", Path(sys.argv[1]), workers=0, checkpoint_seconds=0.05)
sys.exit(0 if ran.ok else 1)
"""


@pytest.mark.slow
def test_killed_while_its_learners_are_in_checkpoints_it_ends_with_the_same_bits(tmp_path):
    """The command writes a checkpoint every minute, so the test below only kills runs that have none yet."""
    command = [sys.executable, "-c", KILLED]
    subprocess.run([*command, str(tmp_path / "a")], check=True)
    cells, resumed = tmp_path / "b" / "cells", 0

    def kept():
        return {str(file) for file in cells.glob("*/checkpoint-*")}

    for _ in range(20):
        before = kept()
        run = subprocess.Popen([*command, str(tmp_path / "b")], start_new_session=True)
        while run.poll() is None and len(kept() - before) < 2:
            time.sleep(0.02)
        if run.poll() is not None:
            break
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        resumed += bool(kept())
    subprocess.run([*command, str(tmp_path / "b")], check=True)
    assert resumed >= 10
    for cell in (tmp_path / "a" / "cells").iterdir():
        for name in ("result.json", "table-scores.npz", "log.jsonl"):
            assert (cell / name).read_bytes() == (cells / cell.name / name).read_bytes(), (cell.name, name)


@pytest.mark.slow
def test_killed_ten_times_it_ends_with_the_same_bits(tmp_path):
    command = [sys.executable, "-m", "burnside", "measure", "Pendulum-v1", "--learner", "sac", "--seeds", "1"]
    command += ["--arms", "baseline", "--controls", "none", "--steps", "3000", "--workers", "1", "--json"]
    plain = subprocess.run([*command, "--runs", str(tmp_path / "a")], capture_output=True, check=True)
    for _ in range(10):
        run = subprocess.Popen([*command, "--runs", str(tmp_path / "b")], start_new_session=True)
        time.sleep(6)
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
    ended = subprocess.run([*command, "--runs", str(tmp_path / "b")], capture_output=True, check=True)
    one, two = (json.loads(out.stdout)["rows"] for out in (plain, ended))
    assert [{k: v for k, v in row.items() if k != "seconds"} for row in one] == [
        {k: v for k, v in row.items() if k != "seconds"} for row in two
    ]


@pytest.mark.slow
def test_ray_runs_two_environments(tmp_path):
    pytest.importorskip("ray")
    assert sweep(Atlas(), "smoke", tmp_path, engine="ray", workers=2, progress="none").ok
    assert len(groups(tmp_path)) == 2
