"""The cube: canonical forms against the paper's op and the bare gather, the exact table of the 2-cube, moves.

One thread each, process time, best of several interleaved repeats; outputs are compared before anything is timed.
"""

import time
from collections.abc import Callable

import numpy as np

from burnside.envs.cube import CubeCanonicalizer, CubeSpec, CubeSymmetry, scramble
from burnside.envs.cube.core import children, move
from burnside.envs.cube.tables import _two, two_table

SIZES = (2, 3, 5)
MANY, FEW = 100_000, 8_192
REPEATS = 5


def best(calls: dict[str, Callable[[], object]], repeats: int = REPEATS) -> dict[str, float]:
    """Least process time of each call, taking turns so that a noisy neighbour hits all."""
    found = dict.fromkeys(calls, np.inf)
    for _ in range(repeats):
        for name, call in calls.items():
            began = time.process_time()
            call()
            found[name] = min(found[name], time.process_time() - began)
    return {name: float(seconds) for name, seconds in found.items()}


def forms(n: int, name: str) -> dict[str, object]:
    """Thousands of canonical forms per second: compiled, as the paper writes it, and what the images alone cost."""
    spec = CubeSpec(n)
    symmetry = CubeSymmetry(spec, name)
    states = scramble(spec, np.arange(MANY), 30)[0]
    few = states[:FEW]
    fast, paper = CubeCanonicalizer(symmetry), CubeCanonicalizer(symmetry, method="chunked")
    for ours, theirs in zip(fast(few), paper(few), strict=True):
        assert np.array_equal(ours, theirs)
    elements = np.arange(symmetry.order)[:, None]

    def gather() -> object:
        views = few[:, symmetry.perms]
        return views if name == "position" else symmetry.colours[elements, views]

    seconds = best(
        {"fast": lambda: fast(states), "chunked": lambda: paper(few), "gather": gather, "copy": lambda: states.copy()}
    )
    rate = {key: (MANY if key in ("fast", "copy") else FEW) / s / 1e3 for key, s in seconds.items()}
    return {
        "what": "canonical form",
        "n": n,
        "symmetry": name,
        **{f"{key}_k_per_s": value for key, value in rate.items()},
        "over_chunked": rate["fast"] / rate["chunked"],
        "over_gather": rate["fast"] / rate["gather"],
        "of_copy": rate["fast"] / rate["copy"],
    }


def turns(n: int) -> dict[str, object]:
    """Millions of states per second through one random turn each, and of children."""
    spec = CubeSpec(n)
    states = scramble(spec, np.arange(MANY), 30)[0]
    actions = np.random.default_rng(0).integers(spec.n_moves, size=MANY)
    few = states[:FEW]
    seconds = best({"move": lambda: move(spec, states, actions), "children": lambda: children(spec, few)})
    return {
        "what": "turns",
        "n": n,
        "moves_m_per_s": MANY / seconds["move"] / 1e6,
        "children_m_per_s": FEW * spec.n_moves / seconds["children"] / 1e6,
    }


def table() -> dict[str, object]:
    """Seconds for the exact table of the 2-cube: cold with its small tables, and warm."""
    two_table()  # compile
    cold, warm = [], []
    for _ in range(3):
        two_table.cache_clear()
        began = time.process_time()
        two_table()
        warm.append(time.process_time() - began)
        two_table.cache_clear()
        _two.cache_clear()
        began = time.process_time()
        two_table()
        cold.append(time.process_time() - began)
    return {"what": "exact n=2 table", "states": len(two_table()), "seconds": min(warm), "with_small_tables": min(cold)}


def run() -> list[dict[str, object]]:
    """Print and return the rows."""
    rows: list[dict[str, object]] = []
    print("canonical forms, thousands of states/s, one thread (must: position ≥ 10× the paper's op at n = 3 and 5,")
    print("conjugation+mirror ≥ 8× the naive gather, which forms all images and compares them by chunked keys)")
    headers = (("n", 2), ("symmetry", 19), ("ours", 8), ("chunked", 8), ("ratio", 7), ("images only", 12), ("ratio", 7))
    print(" ".join(f"{name:>{width}}" for name, width in (*headers, ("copy", 8))))
    for n in SIZES:
        for name in ("position", "conjugation", "conjugation+mirror"):
            row = forms(n, name)
            print(
                f"{n:>2} {name:>19} {row['fast_k_per_s']:>8.0f} {row['chunked_k_per_s']:>8.0f} "
                f"{row['over_chunked']:>6.1f}× {row['gather_k_per_s']:>12.0f} {row['over_gather']:>6.1f}× "
                f"{row['copy_k_per_s']:>8.0f}",
                flush=True,
            )
            rows.append(row)
    found = table()
    print(f"exact table of the 2-cube, {found['states']} states: {found['seconds']:.2f} s warm (must: at most 3 s)")
    rows.append(found)
    for n in SIZES:
        row = turns(n)
        print(
            f"n = {n}: {row['moves_m_per_s']:.2f} M turns/s, {row['children_m_per_s']:.2f} M children/s (numpy)",
            flush=True,
        )
        rows.append(row)
    return rows
