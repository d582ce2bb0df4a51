"""The table of ``docs/howto/lines.md``: what it says that one writes is written here, played and checked."""

import ast
import importlib
import re
from pathlib import Path

import gymnasium as gym
import pytest

import burnside.envs  # noqa: F401
from burnside.canonical import CanonicalEnv, check_symmetry

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "lines.md"
#: The package of a family, where it is not Gymnasium itself.
NEEDS = {
    "LunarLander": "Box2D", "BipedalWalker": "Box2D", "Walker2d": "mujoco", "Reacher": "mujoco", "Ant": "mujoco",
    "Swimmer": "mujoco", "InvertedDoublePendulum": "mujoco", "dm_control/": "dm_control", "MiniGrid": "minigrid",
    "pettingzoo/": "pettingzoo",
}  # fmt: skip


def rows():
    found = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" |")]
        if line.startswith("| `") and len(cells) == 5:
            name, made, symmetry, count, code = cells
            found.append((name.strip("`"), made.strip("`"), symmetry, int(count), re.findall(r"`([^`]*)`", code)))
    return found


def make(name, made):
    for start, package in NEEDS.items():
        if name.startswith(start):
            pytest.importorskip(package)
    if name.startswith("MiniGrid"):
        importlib.import_module("minigrid")
    call = ast.parse(f"f({made})", mode="eval").body
    return gym.make(name, **{k.arg: ast.literal_eval(k.value) for k in call.keywords})


def wrapped(name, made, lines):
    names = {}
    exec("\n".join(lines), names)
    env = make(name, made)
    return CanonicalEnv(env, names["symmetry"]) if lines else CanonicalEnv(env)


def test_there_are_twenty_and_none_needs_more_than_three_lines():
    assert len({row[0] for row in rows()}) == 20
    for name, _, _, count, lines in rows():
        assert count == len(lines) <= 3, name


@pytest.mark.parametrize("row", rows(), ids=[row[0] for row in rows()])
def test_the_lines_work(row):
    name, made, _, _, lines = row
    env = wrapped(name, made, lines)
    x, info = env.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(5):
        assert "group_element" in info and env.observation_space.contains(x)
        mask = info.get("action_mask")
        action = env.action_space.sample() if mask is None else env.action_space.sample(mask)
        x, _, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            x, info = env.reset()


@pytest.mark.slow
@pytest.mark.parametrize("row", rows(), ids=[row[0] for row in rows()])
def test_the_symmetry_is_one(row):
    name, made, symmetry, _, lines = row
    env = wrapped(name, made, lines)
    nearly = "up to" in symmetry
    found = check_symmetry(
        env.env, env.symmetry, samples=60, max_failure_rate=0.1, tol=1e-4 if nearly else 1e-6, places="reached"
    )
    undecided = name.startswith(("LunarLander", "BipedalWalker"))  # their state cannot be set
    assert found.verdict == ("inconclusive" if undecided else "holds"), found.counterexample
