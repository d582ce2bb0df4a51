"""Sizes that cannot be managed are refused in one sentence, before anything is allocated."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from burnside import _resources
from burnside._resources import available_memory, needs_memory, needs_time
from burnside.errors import ModelTooLarge
from burnside.learning import learn
from burnside.mdp import discover, minimise, zoo
from burnside.theory import nets

TOO_LARGE: dict[str, tuple[Callable[[], Any], str]] = {
    "slip-ring": (lambda: zoo.slip_ring(10**5), "10^10 states"),
    "slip-ring beyond floats": (lambda: zoo.slip_ring(10**140), "10^280 states"),
    "grid": (lambda: zoo.grid(10**6 + 1), "grid"),
    "torus": (lambda: zoo.torus(2_000), "torus"),
    "bandit": (lambda: zoo.bandit(10**6), "bandit"),
    "river": (lambda: zoo.river(10**9), "river"),
    "deep sea": (lambda: zoo.deep_sea(10**5), "deep-sea"),
    "many chains": (lambda: zoo.river_product(10**9, 10), "100 000 states"),
    "a ring of many dimensions": (lambda: zoo.ring_game(5, 50), "d=50"),
    "a ring of very many dimensions": (lambda: zoo.ring_game(5, 10**9), "10^291 GB"),
    "a long ring": (lambda: zoo.ring_game(10**10), "n=10000000000"),
    "a ring as a table": (lambda: zoo.ring(10**5), "too many for a table"),
    "samples": (lambda: nets.numeric("se3^3/se3", 1.0, samples=10**11), "give fewer samples"),
    "balls": (lambda: nets.numeric("box:3", 0.001, samples=10**10), "more than a day"),
    "a long horizon": (lambda: learn(zoo.slip_ring(5, horizon=10**9)), "horizon"),
}


@pytest.mark.parametrize("case", TOO_LARGE)
def test_refused_before_it_begins(case: str) -> None:
    call, words = TOO_LARGE[case]
    tracemalloc.start()
    try:
        with pytest.raises(Exception) as caught:
            call()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    text = str(caught.value)
    assert type(caught.value).__module__ == "burnside.errors" and words in text and "\n" not in text
    assert peak < 50_000_000


def test_little_memory_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    ring = zoo.slip_ring(20)
    monkeypatch.setattr(_resources, "available_memory", lambda: 300_000)
    for call in (lambda: minimise(ring), lambda: discover(ring), lambda: zoo.slip_ring(21)):
        with pytest.raises(ModelTooLarge, match="0 MB are free"):
            call()
    monkeypatch.setattr(_resources, "available_memory", lambda: 10**7)
    with pytest.raises(ModelTooLarge, match="more than 50000 states"):
        zoo.deep_sea(400)


def test_what_is_free_follows_the_limits_of_the_process() -> None:
    assert available_memory() > 10**7
    script = (
        "import resource\nfrom burnside._resources import available_memory\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))\nprint(available_memory())"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert 0 < int(found.stdout) < 2**30


def test_small_things_pass() -> None:
    needs_memory("this", 1e3, "")
    needs_time("this", 1e3, "")
