"""The one progress display: lines in a pipe, a bar on a terminal, nothing of what is quick."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
import time

import pytest

from burnside._progress import progress, progress_line


def test_lines_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    said = io.StringIO()
    monkeypatch.setattr(sys, "stderr", said)
    with progress("counting \x1b[31m\n[/x]", every=0.05) as update:
        update(2, 8, "loss 0.1")
        while "counting" not in said.getvalue():
            time.sleep(0.01)
    first = said.getvalue().splitlines()[0]
    assert first.startswith("counting \\x1b[31m\\n[/x]: 2 of 8, loss 0.1, ") and "left" in first
    length = len(said.getvalue())
    time.sleep(0.2)
    assert len(said.getvalue()) == length  # it ends with the block


def test_nothing_of_what_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    said = io.StringIO()
    monkeypatch.setattr(sys, "stderr", said)
    with progress("counting") as update:
        update(1, 2)
    assert said.getvalue() == ""


def test_the_environment_says_how_often(monkeypatch: pytest.MonkeyPatch) -> None:
    said = io.StringIO()
    monkeypatch.setattr(sys, "stderr", said)
    monkeypatch.setenv("BURNSIDE_PROGRESS", "0.1")
    with progress("waiting"):
        while not said.getvalue():
            time.sleep(0.01)
    monkeypatch.setenv("BURNSIDE_PROGRESS", "often")
    with progress("waiting"):
        pass


def test_errors_come_through_and_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    said = io.StringIO()
    monkeypatch.setattr(sys, "stderr", said)
    with pytest.raises(KeyboardInterrupt), progress("counting", every=0.05):
        raise KeyboardInterrupt
    time.sleep(0.2)
    assert said.getvalue() == ""


@pytest.mark.parametrize(
    ("done", "total", "note", "expected"),
    [
        (0, None, "", "x: 30 s so far"),
        (7, None, "round 7", "x: 7, round 7, 30 s so far"),
        (0, 5, "", "x: 0 of 5, 30 s so far"),
        (5, 5, "", "x: 5 of 5, 30 s so far"),
        (0.3, 5, "", "x: 0 of 5, 30 s so far"),
        (2.5, 5, "", "x: 2 of 5, 30 s so far, about 30 s left"),
    ],
)
def test_what_a_line_says(done: float, total: float | None, note: str, expected: str) -> None:
    assert progress_line("x", 30, done, total, note) == expected


def test_a_bar_on_a_terminal() -> None:
    """In a real terminal: the bar is drawn without updates too, and its cursor is shown again at the end."""
    script = (
        "import time\nfrom burnside._progress import progress\n"
        "with progress('counting [/x]', after=0.1) as update:\n"
        "    time.sleep(1)\n    update(3, 10, 'loss 1')\n    time.sleep(1)\n"
    )
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", script], stderr=theirs, stdout=theirs, env={**os.environ, "TERM": "xterm"}
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 65_536)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        seen += part
    assert child.wait() == 0
    os.close(ours)
    assert b"counting [/x]" in seen and b"3/10 loss 1" in seen and b"\x1b[?25h" in seen
