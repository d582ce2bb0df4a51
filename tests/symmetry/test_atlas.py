"""The atlas: its file, its entries, and the wrappers that look there."""

import json
import logging
from collections import Counter

import gymnasium as gym
import numpy as np
import pytest

from burnside.canonical import AugmentedEnv, CanonicalEnv, CanonicalVectorEnv, check_symmetry
from burnside.canonical.atlas import EXTRAS, differences, is_installed, measure_entry, open_entry
from burnside.cli.atlas import Atlas
from burnside.errors import InvalidAction, InvalidParameter, UnknownName
from burnside.symmetry.atlas import (
    CLAIMS,
    FILE,
    AtlasEntry,
    entries,
    entry_of,
    find_entries,
    symmetry_of,
    write_entries,
)

COMPONENTS = {"dynamics", "reward", "termination", "truncation", "reset"}


def by(entry: AtlasEntry) -> str:
    return f"{entry.env} {entry.symmetry}"


def test_the_file_has_what_it_promises() -> None:
    found = entries()
    assert len(found) >= 45 and len({entry.env for entry in found}) >= 45
    families = Counter(entry.family for entry in found)
    assert set(families) <= set(EXTRAS) and len(families) >= 7
    assert len({(entry.env, entry.symmetry) for entry in found}) == len(found)
    assert {entry.claim for entry in found} == set(CLAIMS)


@pytest.mark.parametrize("entry", entries(), ids=by)
def test_every_entry_was_measured_and_supports_its_claim(entry: AtlasEntry) -> None:
    measured = entry.measured
    assert set(measured["components"]) == COMPONENTS and measured["versions"] and measured["method"]
    assert differences(entry, measured) == []
    if entry.claim == "none":
        assert (measured["verdict"] == "refuted" and measured["breakers"]) or measured["verdict"] == "inconclusive"


@pytest.mark.parametrize("entry", entries(), ids=by)
def test_every_declaration_fits_its_environment(entry: AtlasEntry) -> None:
    if not is_installed(entry):
        pytest.skip(f"{entry.family} is not installed")
    env = open_entry(entry)
    symmetry = entry.declared(env)
    if not entry.factory and "valley" not in entry.symmetry:  # whose mirror leaves the box: that is how it fails
        symmetry.check_spaces(env.observation_space, env.action_space)
    x, _ = env.reset(seed=0)
    for g in symmetry.generators:
        symmetry.act_on_action(g, env.action_space.sample())
        symmetry.act_on_observation(g, x)


def test_what_the_issue_asks_to_be_told_apart() -> None:
    verdicts = {by(entry): entry.measured["components"] for entry in entries()}
    assert verdicts["Walker2d-v4 leg swap"]["dynamics"]["verdict"] == "refuted"
    assert verdicts["Walker2d-v5 leg swap"]["dynamics"]["verdict"] == "holds"
    turns = verdicts["Ant-v5 quarter turns and mirrors"]
    assert turns["dynamics"]["verdict"] == "holds" and turns["reward"]["verdict"] == "refuted"
    assert verdicts["Ant-v5 left and right"]["reward"]["verdict"] == "holds"
    reacher = verdicts["Reacher-v5 turns and mirror"]
    assert reacher["dynamics"]["verdict"] == reacher["reward"]["verdict"] == "holds"
    assert reacher["reset"]["verdict"] == "refuted" and entry_of("Reacher-v5").group == "O(2)"


@pytest.mark.parametrize("name", ["CartPole-v1", "MountainCar-v0"])
def test_checking_again_agrees(name: str) -> None:
    entry = entry_of(name)
    found = measure_entry(entry)
    assert differences(entry, found) == [] and found["order"] == 2
    wrong = {**found, "verdict": "holds" if found["verdict"] == "refuted" else "refuted"}
    assert differences(entry, wrong)


def test_wrappers_take_the_symmetry_of_the_atlas_and_say_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "burnside"):
        env = CanonicalEnv(gym.make("CartPole-v1"))
    assert "'left and right' of CartPole-v1, from the atlas" in caplog.text
    assert env.symmetry is not None and env.symmetry.name == "left and right"
    x, info = env.reset(seed=1)
    assert x[2] >= 0 and info["group_element"] in (0, 1)
    env.step(1)
    assert AugmentedEnv(gym.make("Pendulum-v1")).symmetry.name == "left and right"
    envs = CanonicalVectorEnv(gym.make_vec("CartPole-v1", num_envs=3, vectorization_mode="sync"))
    assert (envs.reset(seed=0)[0][:, 2] >= 0).all()
    assert check_symmetry("CartPole-v1", samples=50, max_failure_rate=0.2).ok


def test_walking_robots_take_no_line() -> None:
    pytest.importorskip("mujoco")
    env = CanonicalEnv(gym.make("Walker2d-v5"))
    x, _ = env.reset(seed=0)
    again, *_ = env.step(np.full(6, 0.1, dtype=np.float32))
    assert x.shape == again.shape == (17,) and env.symmetry is not None and env.symmetry.name == "leg swap"
    with pytest.raises(InvalidParameter, match="the atlas says that it has none"):
        CanonicalEnv(gym.make("HalfCheetah-v5"))
    with pytest.raises(InvalidAction, match="does not fit"):  # made otherwise than the atlas knows it
        CanonicalEnv(gym.make("Ant-v5", include_cfrc_ext_in_observation=False))


def test_what_the_atlas_does_not_know_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="the atlas does not know it"):
        CanonicalEnv(gym.wrappers.TimeLimit(gym.make("CartPole-v1").unwrapped.__class__(), 10))
    assert symmetry_of(gym.make("MountainCar-v0")) is None
    with pytest.raises(UnknownName):
        entry_of("CartPole-v7")


# ---------------------------------------------------------------------- the command


def test_list_and_filters(capsys: pytest.CaptureFixture[str]) -> None:
    assert Atlas(json=True).run() == 0
    rows = json.loads(capsys.readouterr().out)["entries"]
    assert len(rows) == len(entries())
    wanted = {"env", "symmetry", "order", "observation", "action", "verdict", "components", "breakers"}
    assert all(wanted <= set(row) and set(row["components"]) == COMPONENTS for row in rows)
    walker = next(row for row in rows if row["env"] == "Walker2d-v5")
    assert walker["observation"].startswith("0,1,5,6,7,2,3,4") and walker["order"] == 2
    assert Atlas(family="box2d").run() == 0
    assert "LunarLander-v3" in capsys.readouterr().out
    assert find_entries(claim="none") and not find_entries(claim="none", verdict="holds")


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    assert Atlas("Walker2d-v4").run() == 0
    said = capsys.readouterr().out
    assert "leg swap" in said and "refuted" in said and "what breaks it" in said and "mujoco" in said
    assert Atlas("Walker2d").run() == 0
    assert "Walker2d-v5" in capsys.readouterr().out


def test_bad_input() -> None:
    for wrong in (Atlas("Nothing-v0"), Atlas(claim="maybe"), Atlas(write=True), Atlas(samples=0), Atlas(verdict="x")):
        with pytest.raises((UnknownName, InvalidParameter)):
            wrong.run()
    with pytest.raises(InvalidParameter, match="no entry"):
        Atlas(family="toy", verdict="holds", claim="dynamics").run()


def test_check_by_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert Atlas("CartPole-v1", check=True, json=True).run() == 0
    found = json.loads(capsys.readouterr().out)
    assert found["checked"] == 1 and found["disagreeing"] == 0 and found["entries"][0]["status"] == "agrees"


def test_the_file_is_written_as_it_was_read(tmp_path) -> None:  # type: ignore[no-untyped-def]
    write_entries(entries(), tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text(encoding="utf-8") == FILE.read_text(encoding="utf-8")
