"""The simulator is an extra with an environment of its own: without it these tests are skipped with the reason."""

import importlib.util

import pytest

WHY = "robosuite is not installed here: `make test-robot` runs these tests in .venv-robot"


def has_simulator() -> bool:
    return all(importlib.util.find_spec(name) is not None for name in ("mujoco", "robosuite", "h5py", "fpsample"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if has_simulator():
        return
    for item in items:
        if item.path.parent.name == "robot" and item.path.name != "test_without_simulator.py":
            item.add_marker(pytest.mark.skip(reason=WHY))
