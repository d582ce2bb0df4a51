"""Symmetries of black boxes: the right ones are proposed and hold, wrong ones are refuted, none is an answer."""

import json

import numpy as np
import pytest

from burnside.cli import main
from burnside.symmetry.proposals import Transitions, collect, propose, statistical_verdict

gymnasium = pytest.importorskip("gymnasium")


def proposed(name, steps=4000, **options):
    found = propose(collect(gymnasium.make(name, **options), steps))
    return {(str(p.observation), str(p.action)) for p in found}


def test_what_is_proposed():
    assert ("-0,-1,-2,-3", "1,0") in proposed("CartPole-v1")
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


def test_mountain_car_has_none(capsys):
    assert main(["discover", "MountainCar-v0", "--steps", "3000", "--samples", "100", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["found"] == []
    assert content["order"] == 1


def toy(n, seed):
    rng = np.random.default_rng(seed)
    x, a = rng.normal(size=(n, 2)), rng.normal(size=(n, 1))
    change = np.stack([x[:, 1], a[:, 0] - np.sin(x[:, 0])], axis=1)
    return Transitions(x, a, np.zeros(n), x + 0.1 * change)


def test_data_alone(tmp_path, capsys):
    data = toy(6000, 0)
    arrays = {k: getattr(data, k) for k in ("observations", "actions", "rewards", "next_observations")}
    np.savez(tmp_path / "toy.npz", **arrays)
    assert main(["discover", str(tmp_path / "toy.npz"), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["found"]
    assert found["generators"] == [{"observation": "-0,-1", "action": "-0"}]
    assert found["verdict"] == "inconclusive"  # data cannot prove it


def test_data_refute_what_is_wrong():
    (mirror,) = propose(toy(6000, 0))
    assert statistical_verdict(toy(6000, 1), mirror)[0] == "inconclusive"
    wrong = type(mirror)(mirror.observation, type(mirror.action)("0"), mirror.score, 2)  # the force is not reversed
    assert statistical_verdict(toy(6000, 1), wrong)[0] == "refuted"
