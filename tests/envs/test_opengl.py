"""Which OpenGL library draws: the search, what is remembered of it, and what makes it void. No simulator is needed."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from burnside.envs.manipulation import opengl
from burnside.errors import InvalidParameter


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of our own, on a Linux machine without a screen where nothing is chosen."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in ("MUJOCO_GL", "PYOPENGL_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def only(*works: str) -> tuple[list[str], Callable[[str], str]]:
    """A machine on which these libraries draw, and the list of those that were tried."""
    tried: list[str] = []

    def failure(name: str) -> str:
        tried.append(name)
        return "" if name in works else f"no {name} here"

    return tried, failure


@pytest.mark.parametrize(
    ("works", "found", "after"),
    [
        (("osmesa",), "osmesa", ["osmesa"]),
        (("egl",), "egl", ["osmesa", "egl"]),
        (("osmesa", "egl"), "osmesa", ["osmesa"]),
    ],
)
def test_the_first_that_draws_is_taken_and_remembered(works: tuple[str, ...], found: str, after: list[str]) -> None:
    tried, failure = only(*works)
    assert opengl._recall() == ""
    assert opengl.find_library(failure) == found and tried == after
    assert opengl._recall() == found


def test_that_nothing_draws_is_said_and_not_remembered(folder: Path) -> None:
    tried, failure = only()
    with pytest.raises(InvalidParameter, match=r"OSMesa: no osmesa here; EGL: no egl here.*apt install libosmesa6 or"):
        opengl.find_library(failure)
    assert tried == ["osmesa", "egl"] and not list(folder.rglob("*.json"))


def test_a_screen_is_the_last_resort(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "glfw" not in opengl.candidates()
    monkeypatch.setenv("DISPLAY", ":0")
    assert opengl.candidates() == ("osmesa", "egl", "glfw")


def test_another_variable_or_another_library_on_the_machine_makes_the_choice_void(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = folder / "ld.so.cache"
    watched.write_text("one library")
    monkeypatch.setattr(opengl, "_PLACES", (str(watched),))
    opengl._remember("egl")
    assert opengl._recall() == "egl"
    monkeypatch.setenv("LD_LIBRARY_PATH", "/somewhere/else")
    assert opengl._recall() == ""
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    assert opengl._recall() == "egl"
    watched.write_text("one library, and another")
    assert opengl._recall() == ""


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{", b"\xff\xfe", b"[" * 50_000, b'{"library": []}', b'{"library": "egl"}', b"7"]
)
def test_a_damaged_record_is_as_good_as_none(content: bytes) -> None:
    opengl._remember("egl")
    opengl._record().write_bytes(content)
    assert opengl._recall() == ""
    assert opengl.find_library(only("egl")[1]) == "egl" and opengl._recall() == "egl"


def test_a_record_of_a_library_that_is_no_candidate_is_not_followed() -> None:
    opengl._remember("egl")
    content = json.loads(opengl._record().read_text())
    opengl._record().write_text(json.dumps({**content, "library": "os"}))
    assert opengl._recall() == ""


def test_a_cache_folder_that_cannot_be_made_stops_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "file"))
    assert opengl.find_library(only("egl")[1]) == "egl"
    assert opengl._recall() == ""
    opengl._forget()


def test_a_forgotten_choice_is_gone() -> None:
    opengl._remember("egl")
    opengl._forget()
    opengl._forget()
    assert opengl._recall() == ""


@pytest.mark.parametrize(
    ("variables", "asked"),
    [
        ({}, ("", "")),
        ({"MUJOCO_GL": " EGL "}, ("egl", "MUJOCO_GL")),
        ({"MUJOCO_GL": "glx"}, ("glfw", "MUJOCO_GL")),
        ({"MUJOCO_GL": "1"}, ("", "")),
        ({"PYOPENGL_PLATFORM": "osmesa"}, ("osmesa", "PYOPENGL_PLATFORM")),
        ({"PYOPENGL_PLATFORM": "wayland"}, ("", "")),
        ({"MUJOCO_GL": "egl", "PYOPENGL_PLATFORM": "osmesa"}, ("egl", "MUJOCO_GL")),
    ],
)
def test_what_the_user_asked_for(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], asked: tuple[str, str]
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert opengl._asked() == asked


def test_drawing_that_was_turned_off_is_not_turned_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", "disabled")
    with pytest.raises(InvalidParameter, match="MUJOCO_GL=disabled turns drawing off: unset it"):
        opengl._asked()


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("kill -SEGV $$", "died of signal 11"),
        ("sleep 60", "no picture after 1 seconds"),
        ("echo a long story; echo the end of it; echo a driver speaks >&2; exit 1", "the end of it"),
        ("echo Traceback >&2; echo a crash before our sentence >&2; exit 1", "a crash before our sentence"),
        ("exit 3", "ended with code 3"),
        ("exit 0", ""),
    ],
)
def test_a_library_that_crashes_or_hangs_costs_only_its_own_process(
    folder: Path, monkeypatch: pytest.MonkeyPatch, script: str, reason: str
) -> None:
    python = folder / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setattr(opengl, "_PATIENCE", 1)
    said = opengl.failure_of("egl")
    assert reason in said and bool(said) == bool(reason)


def test_the_process_that_tries_a_library_is_not_told_what_to_use(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = folder / "python"
    python.write_text('#!/bin/sh\necho "$MUJOCO_GL|$PYOPENGL_PLATFORM|$*"\nexit 1\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setenv("MUJOCO_GL", "osmesa")
    monkeypatch.setenv("PYOPENGL_PLATFORM", "osmesa")
    assert opengl.failure_of("egl") == "||-m burnside.envs.manipulation.opengl --draw egl"
    assert os.environ["MUJOCO_GL"] == "osmesa"
