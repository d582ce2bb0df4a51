"""Symmetries of black boxes: the right ones are proposed and hold, wrong ones are refuted, none is an answer."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

from burnside.cli import main

gymnasium = pytest.importorskip("gymnasium")

from tests.symmetry.worlds import (  # noqa: E402
    Disc,
    Round3,
    SevenAlike,
    Square,
    SquareAlmost,
    SquareFelt,
    SquareFeltLeft,
    SquareLeft,
    Swarm,
)

from burnside.canonical.checking.check import check_symmetry  # noqa: E402
from burnside.canonical.discovery.flat import FlatEnv  # noqa: E402
from burnside.canonical.discovery.lifting import Screen  # noqa: E402
from burnside.canonical.discovery.recorded import discover_data  # noqa: E402
from burnside.canonical.discovery.results import Found  # noqa: E402
from burnside.canonical.discovery.search import _Candidate, _Sorted, discover_env  # noqa: E402
from burnside.canonical.discovery.simulator import open_simulator  # noqa: E402
from burnside.errors import InvalidParameter  # noqa: E402
from burnside.symmetry import EnvSymmetry, SignedPermutation  # noqa: E402
from burnside.symmetry.proposals import Proposal, Transitions, collect, episodes_as_arrays, propose  # noqa: E402


def proposed(name, steps=4000, **options):
    found = propose(collect(gymnasium.make(name, **options), steps))
    return {(str(p.observation), str(p.action)) for p in found}


def discovered(env, **options):
    return discover_env(env, steps=2000, samples=60, **options)


def groups(found):
    return [(entry.group, entry.verdict) for entry in found.found]


def test_what_is_proposed():
    assert ("0,-1,-2", "-0") in proposed("Pendulum-v1")
    assert ("0,-1,2,-3,-4,-5", "2,1,0") in proposed("Acrobot-v1")


def test_the_legs_of_a_walker_are_proposed():
    pytest.importorskip("mujoco")
    assert ("0,1,5,6,7,2,3,4,8,9,10,14,15,16,11,12,13", "3,4,5,0,1,2") in proposed("Walker2d-v5", 5000)


def test_cartpole_is_found(capsys):
    assert main(["discover", "CartPole-v1", "--steps", "3000", "--samples", "100", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    (found,) = content["found"]
    assert found["generators"] == [{"observation": "-0,-1,-2,-3", "action": "1,0"}]
    assert (found["verdict"], found["order"], content["order"]) == ("holds", 2, 2)
    assert found["components"]["dynamics"]["verdict"] == "holds"
    assert content["tried"]["transitions"] == 3000


@pytest.mark.slow
def test_mountain_car_has_none(capsys):
    assert main(["discover", "MountainCar-v0", "--steps", "3000", "--samples", "100"]) == 0
    said = capsys.readouterr().out
    assert "no symmetry found" in said
    assert "3000 transitions" in said


@pytest.mark.slow
def test_the_reacher_has_turns_and_a_mirror():
    pytest.importorskip("mujoco")
    (entry,) = discovered(gymnasium.make("Reacher-v5")).found
    assert (entry.group, entry.order, entry.verdict) == ("O(2)", None, "holds")
    assert entry.generators == (
        ("0,1,-2,-3,4,-5,-6,-7,8,-9", "-0,-1"),
        ("turn (0,2) (4,5) (8,9)", "stays"),
    )
    assert entry.components["reset"]["verdict"] == "refuted"


@pytest.mark.parametrize(
    ("world", "wanted"),
    [(Round3, [("C3", "holds")]), (Square, [("D4", "holds")]), (Disc, [("O(2)", "holds")])],
)
def test_worlds_of_ones_own(world, wanted):
    assert groups(discovered(world())) == wanted


def test_points_that_change_places_are_found_among_many_wrong_maps():
    found = discover_env(Swarm(), steps=1000, samples=20)
    assert [(entry.order, entry.verdict) for entry in found.found] == [(48, "holds")]
    assert any(entry.verdict == "refuted" for entry in found.refuted)  # some look right in one step, and are not


class Pictured(gymnasium.Env):
    """A point on a board that is shown as a picture: nothing says what is seen without a step."""

    observation_space = gymnasium.spaces.Box(0, 255, (3, 3, 1), np.uint8)
    action_space = gymnasium.spaces.Discrete(4)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.np_random.integers(0, 3, 2)
        return self.picture(), {}

    def picture(self):
        shown = np.zeros((3, 3, 1), np.uint8)
        shown[tuple(self.place)] = 255
        return shown

    def step(self, action):
        self.place = np.clip(self.place + [(1, 0), (0, 1), (-1, 0), (0, -1)][int(action)], 0, 2)
        return self.picture(), float((self.place == 1).all()), False, False, {}


def test_pictures_of_a_board_are_checked_though_states_cannot_be_moved():
    found = discover_env(Pictured(), steps=1000, samples=100)
    assert groups(found) == [("D4", "holds")]


@pytest.mark.parametrize(("copies", "said"), [(16, "rotations are looked for among up to 48"), (60, "nothing else")])
def test_what_is_too_wide_is_not_said_to_have_been_tried(copies, said):
    class Wide(Round3):
        """The same three numbers, shown many times."""

        def __init__(self):
            super().__init__()
            self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (3 * copies,))

        def reset(self, **options):
            x, info = super().reset(**options)
            return np.tile(x, copies), info

        def step(self, action):
            x, *rest = super().step(action)
            return np.tile(x, copies), *rest

    found = discover_env(Wide(), steps=400, samples=20, checks=1, seconds=1e-3)
    assert said in found.tried and "signed permutations and rotations" not in found.tried


def test_dynamics_can_have_more_symmetry_than_the_reward():
    found = discovered(SquareLeft())
    (entry,) = found.found
    assert entry.generators == (("0,-1,2,-3", "0,-1"),)
    assert [(e.group, e.only_dynamics) for e in found.refuted] == [("D4", True)]


def shows_its_images(world, entry):
    """Whether what is seen at the image of a state is the image of what is seen there, for all generators."""
    env = world()
    env.reset(seed=0)
    for x in np.random.default_rng(0).normal(scale=2, size=(50, 4)):
        env.x = x
        seen = env._get_obs()
        for g in entry.symmetry.generators:
            image = entry.symmetry.act_on_observation(g, seen)
            env.x = image[:4]
            if not np.allclose(image, env._get_obs()):
                return False
    return True


def test_numbers_that_mostly_rest_are_completed():
    """Sixteen of them have 2¹⁶ changes of sign that no data contradict: the search must not drown in these."""
    found = discovered(SquareFelt())
    (entry,) = found.found
    assert (entry.group, entry.verdict) == ("D4", "holds")
    assert shows_its_images(SquareFelt, entry)
    assert found.budget.proposals["signed permutations"] <= 16


def test_what_one_wall_feels_differently_is_seen():
    found = discover_env(SquareFeltLeft(), steps=2000, samples=300)
    (entry,) = found.found
    assert (entry.group, entry.verdict) == ("mirror", "holds")
    assert entry.generators[0][0].startswith("0,-1,2,-3,")
    assert shows_its_images(SquareFeltLeft, entry)


def counted(env):
    """The environment, and a list with one entry for every step."""
    made, step = [], env.step
    env.step = lambda action: made.append(1) or step(action)
    return env, made


def test_the_quick_look_walks_once_and_leaves_wrong_maps_early():
    """With 400 proposals for Ant, walking anew for each took longer than all checks."""
    env, made = counted(Square())
    simulator = open_simulator(FlatEnv(env))
    made.clear()
    screen = Screen(simulator)
    assert len(made) == 80  # forty states, each twice
    for wrong in ("0,1,-2,-3", "2,3,0,1"):
        made.clear()
        found = screen.look(SignedPermutation(wrong), SignedPermutation("0,1"), SignedPermutation(f"{wrong},4"))
        assert 0.01 < found.dynamics < 10
        assert len(made) == 8
    made.clear()
    found = screen.look(SignedPermutation("-0,1,-2,3"), SignedPermutation("-0,1"), SignedPermutation("-0,1,-2,3,4"))
    assert found.worst < 1e-6
    assert len(made) == 40


@pytest.mark.slow
def test_ant_with_its_forces_of_contact():
    """The mirror of left and right with the reward, and that of a square without: also for 78 forces of contact."""
    pytest.importorskip("mujoco")
    found = discover_env(gymnasium.make("Ant-v5"), samples=120)
    (entry,) = found.found
    assert (entry.group, entry.verdict) == ("mirror", "holds")
    ((observation, action),) = entry.generators
    assert action == "-2,3,-0,1,-6,7,-4,5"
    assert observation.startswith("0,1,-2,3,-4,-11,12,-9,10,")
    # The torso's moments and forces: a moment turns round in a mirror where a force does not.
    assert observation.split(",")[27:33] == ["-27", "28", "-29", "30", "-31", "32"]
    assert [(e.group, e.order) for e in found.refuted if e.only_dynamics] == [("D4", 8)]


@pytest.mark.slow
def test_almost_symmetric_is_not_symmetric():
    found = discovered(SquareAlmost())
    assert found.found == ()
    assert any(entry.generators == (("1,0,3,2", "1,0"),) for entry in found.refuted)


@pytest.mark.slow
def test_what_holds_nearly_says_so():
    pytest.importorskip("mujoco")
    (entry,) = discovered(gymnasium.make("InvertedDoublePendulum-v5")).found
    assert entry.generators == (("-0,-1,-2,3,4,-5,-6,-7,-8", "-0"),)
    assert entry.nearly
    assert 1e-8 < entry.eps < 1e-4


def test_labels_of_a_table():
    maze = gymnasium.make("FrozenLake-v1", desc=["SFF", "FFF", "FFG"])
    (entry,) = discover_env(maze).found
    assert (entry.generators, entry.evidence) == ((("0,3,6,1,4,7,2,5,8", "3,2,1,0"),), "table")
    assert discover_env(gymnasium.make("Taxi-v4")).found == ()


# ---------------------------------------------------------------------- states that cannot be set


def test_trajectories_refute_a_lander_whose_legs_stay():
    pytest.importorskip("Box2D")
    legs = EnvSymmetry("mirror", "-0,1,-2,3,-4,-5,6,7", "labels 0,3,2,1")
    verdict = check_symmetry("LunarLander-v3", legs, samples=80)
    assert (verdict.method, verdict.verdict) == ("trajectories", "refuted")
    right = EnvSymmetry("mirror", "-0,1,-2,3,-4,-5,7,6", "labels 0,3,2,1")
    verdict = check_symmetry("LunarLander-v3", right, samples=40)
    assert verdict.verdict == "inconclusive"  # in distribution nothing is proved
    assert 0 < verdict.resolution < 0.6


# ---------------------------------------------------------------------- data alone


def test_where_starts_differ_nothing_is_found_and_no_time_is_lost(monkeypatch):
    pytest.importorskip("Box2D")
    calls = []

    def counting(env, symmetry, **options):
        calls.append(options["samples"])
        return check_symmetry(env, symmetry, **options)

    monkeypatch.setattr("burnside.canonical.discovery.search.check_symmetry", counting)
    found = discover_env(gymnasium.make("BipedalWalker-v3"), steps=4000, samples=500, checks=2)
    assert not found.found and found.undecided  # nothing was compared, so nothing is a finding
    assert all("law of reset is not symmetric" in entry.why for entry in found.undecided)
    assert calls == [60] * len(found.undecided)  # more places, or another tolerance, would say the same


def test_a_product_with_what_is_refuted_needs_no_check():
    def candidate(observation, action):
        return _Candidate(Proposal(SignedPermutation(observation), SignedPermutation(action), 1.0, 2), None, None)

    mirror, turn = candidate("0,-1,2,-3", "0,-1"), candidate("-0,-1,-2,-3", "-0,-1")
    swap, swapped = candidate("1,0,3,2", "1,0"), candidate("-1,0,-3,2", "-1,0")
    among = _Sorted()
    assert among.known(mirror) == ""
    among.right += [(c, Found("mirror", 2, (), "holds")) for c in (mirror, turn)]
    assert among.known(candidate("-0,1,-2,3", "-0,1")) == "holds"
    assert among.known(swapped) == ""
    among.wrong.append((swap, Found("mirror", 2, (), "inconclusive")))
    assert among.known(swapped) == ""  # what could not be decided says nothing about others
    among.wrong.append((swap, Found("mirror", 2, (), "refuted")))
    assert among.known(swapped) == "refuted"
    assert among.known(candidate("1,0,3,2", "0,1")) == ""


def toy(n, seed, pull=0.0):
    rng = np.random.default_rng(seed)
    x, a = rng.normal(size=(n, 2)), rng.normal(size=(n, 1))
    change = np.stack([x[:, 1], a[:, 0] - np.sin(x[:, 0]) + pull * x[:, 0] ** 2], axis=1)
    return Transitions(x, a, -(x**2).sum(axis=1), x + 0.1 * change)


def arrays(data):
    return {k: getattr(data, k) for k in ("observations", "actions", "rewards", "next_observations")}


def check_file(path, capsys):
    assert main(["discover", "--data", str(path), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["found"]
    assert found["generators"] == [{"observation": "-0,-1", "action": "-0"}]
    assert found["verdict"] == "inconclusive"  # data cannot prove it
    assert found["statistics"]["level"] == 0.01
    assert found["statistics"]["resolution"] < 1


def test_data_alone(tmp_path, capsys):
    np.savez(tmp_path / "toy.npz", **arrays(toy(6000, 0)))
    check_file(tmp_path / "toy.npz", capsys)


def test_data_in_parquet(tmp_path, capsys):
    polars = pytest.importorskip("polars")
    columns = {k: v.tolist() for k, v in arrays(toy(6000, 0)).items()}
    polars.DataFrame(columns).write_parquet(tmp_path / "toy.parquet")
    check_file(tmp_path / "toy.parquet", capsys)


def test_data_refute_what_is_wrong():
    mirror = (("-0,-1", "-0"),)
    right = discover_data(toy(6000, 1), z=50.0)
    assert mirror in [entry.generators for entry in right.found]
    wrong = discover_data(toy(6000, 1, pull=0.3), z=1000.0)
    assert mirror in [entry.generators for entry in wrong.refuted]


def test_data_of_minari(monkeypatch, tmp_path):
    """End to end where Minari is installed; its episodes have one observation more than actions."""
    pytest.importorskip("minari")
    pytest.importorskip("jax")  # with which Minari puts its buffers together
    import minari

    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    env = minari.DataCollector(gymnasium.make("Pendulum-v1", max_episode_steps=40))
    env.action_space.seed(0)
    for k in range(20):
        env.reset(seed=k)
        while not any(env.step(env.action_space.sample())[2:4]):
            pass
    env.create_dataset("pendulum/random-v0")
    data = Transitions.from_file("minari:pendulum/random-v0")
    assert data.observations.shape == (800, 3) and data.actions.shape == (800, 1)
    assert np.allclose(data.observations[1:40], data.next_observations[:39])


@dataclass
class Episode:
    """As Minari's EpisodeData."""

    observations: object
    actions: object
    rewards: object


def test_episodes_become_transitions():
    rng = np.random.default_rng(0)
    episodes = [Episode(rng.normal(size=(n + 1, 2)), rng.integers(0, 3, n), rng.normal(size=n)) for n in (150, 250)]
    data = Transitions.from_arrays(episodes_as_arrays(episodes, "toy"))
    assert data.labels == 3 and len(data.rewards) == 400
    assert np.array_equal(data.next_observations[149], episodes[0].observations[-1])
    assert np.array_equal(data.observations[150], episodes[1].observations[0])
    for wrong, word in (
        (Episode({"a": 1}, np.zeros(3), np.zeros(3)), "several parts"),
        (Episode(np.arange(300), np.zeros(299, int), np.zeros(299)), "labels"),
        (Episode(np.zeros((300, 2)), np.full(299, -1), np.zeros(299)), "negative"),
        (Episode(np.full((300, 2), "a"), np.zeros(299), np.zeros(299)), "type"),
    ):
        with pytest.raises(InvalidParameter, match=word):
            Transitions.from_arrays(episodes_as_arrays([wrong], "toy"))
    with pytest.raises(InvalidParameter, match="no episodes"):
        episodes_as_arrays([], "toy")


@pytest.mark.parametrize("arguments", [[], ["nothing"], ["CartPole-v1", "--steps", "3"], ["--data", "missing.parquet"]])
def test_bad_input(arguments, capsys):
    assert main(["discover", *arguments]) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.slow
def test_a_group_too_large_to_be_listed_is_said_to_be_larger() -> None:
    found = discover_env(SevenAlike(), steps=3_000, samples=60, seconds=40)
    assert "more than 2000 elements" in found.tried and (found.order or 0) <= 2_000
