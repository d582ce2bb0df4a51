"""Ctrl-C while long commands are at work: a real SIGINT, one word, exit code 130, and soon; what it was at was told."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

#: Seconds within which a command must have ended. It takes less than two; machines that test are busy.
SOON = 15.0

#: Long commands, and what they say when they are interrupted, as a pattern.
LONG = {
    "audit ring --n 12 --symmetry discover": "looking for automorphisms",
    "audit cube --n 3 --depth 9": r"auditing cube.*: [1-9] of 10",
    "minimise slip-ring --n 400": "minimising",
    "cover se3^3/se3 --alpha 0.7 --samples 2000000": r"a net of se3.* \d+ of \d+",
    "measure FrozenLake-v1 --fresh": r"measuring FrozenLake-v1: \d+ of 20",
    "measure slip-ring --n 20 --learner ucfh --fresh": r"measuring slip-ring\(n=20\): \d+ of 20",
    "measure slip-ring --n 40 --learner ucfh-literal --fresh": r"measuring slip-ring\(n=40\): \d+ of 20",
    "solve --n 3 --scramble 100 --count 100000": r"solving 100000 cubes by policy: \d+ of 100000",
    "show slip-ring --n 150 --max-states 22500 --out orbits.svg": "drawing",
}


@pytest.mark.parametrize("line", LONG)
def test_a_long_command_tells_where_it_is_and_stops(line: str, tmp_path: Path) -> None:
    environment = {**os.environ, "BURNSIDE_PROGRESS": "0.2", "OMP_NUM_THREADS": "1"}
    child = subprocess.Popen(
        [sys.executable, "-m", "burnside", *shlex.split(line)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment,
    )
    assert child.stderr is not None
    watchdog = threading.Timer(120.0, child.kill)  # whatever happens, the test ends
    watchdog.start()
    try:
        said = ""
        while re.search(LONG[line], said) is None:
            more = child.stderr.readline()
            assert more, f"it ended before it said what it does: {said}"
            said += more
        peak = _peak_memory(child.pid)
        child.send_signal(signal.SIGINT)
        late = threading.Timer(SOON, child.kill)
        late.start()
        out, rest = child.communicate()
        late.cancel()
    finally:
        watchdog.cancel()
        child.kill()
        child.wait()
    assert child.returncode in (130, -signal.SIGINT), (child.returncode, rest)
    assert out == "" and rest.splitlines()[-1] == "interrupted" and "Traceback" not in rest
    assert peak < 1_500_000_000
    assert not list(tmp_path.glob("*.svg"))  # no half of a result


def _peak_memory(process: int) -> int:
    """Bytes that a process held at most; 0 where that cannot be told."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    except OSError:
        return 0
    return next((1024 * int(row.split()[1]) for row in status.splitlines() if row.startswith("VmHWM")), 0)
