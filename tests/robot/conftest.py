"""The simulator is an extra with an environment of its own: without it these tests are skipped with the reason.

Those that draw are skipped on a machine that has neither of the two OpenGL libraries. Where one can be loaded they run,
and fail if nothing is drawn.
"""

import ctypes
import importlib.util

import pytest

WHY = "robosuite is not installed here: `make test-robot` runs these tests in .venv-robot"
NOTHING_DRAWS = (
    "neither OSMesa nor EGL is installed (on Debian: apt install libosmesa6, or libegl1 libgl1 libgl1-mesa-dri)"
)


def has_simulator() -> bool:
    return all(importlib.util.find_spec(name) is not None for name in ("mujoco", "robosuite", "h5py", "fpsample"))


def can_load(*names: str) -> bool:
    for name in names:
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return True
    return False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ours = [item for item in items if item.path.parent.name == "robot"]
    if not has_simulator():
        for item in ours:
            if item.path.name != "test_without_simulator.py":
                item.add_marker(pytest.mark.skip(reason=WHY))
    elif not can_load("libOSMesa.so.8", "libOSMesa.so.6", "libOSMesa.so", "libEGL.so.1", "libEGL.so"):
        for item in ours:
            if item.get_closest_marker("draws"):
                item.add_marker(pytest.mark.skip(reason=NOTHING_DRAWS))
