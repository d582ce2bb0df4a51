"""verify + quotient against passes of ``P @ v``, their growth and memory, the growth of ``discover``, the import."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from burnside.mdp import Symmetry, TabularMDP, discover, minimise, quotient, verify, zoo

SIZES = (10**4, 10**5, 10**6, 10**7)
TORUS = 8


def planted(n_pairs: int, *, scattered: bool, seed: int = 0) -> tuple[TabularMDP, Symmetry]:
    """A random MDP lifted to a torus of 8×8 copies of every state: 4 actions, 4 successors, 2 generators.

    ``scattered`` numbers the states at random, so that orbits are spread over memory.
    """
    rng = np.random.default_rng(seed)
    copies, actions = TORUS * TORUS, 4
    base = max(8, n_pairs // (actions * copies))
    states = base * copies
    successor = (rng.integers(base, size=base * actions)[:, None] + np.arange(4) * (base // 4)) % base
    shift = rng.integers(TORUS, size=(2, base * actions, 4))
    probability = rng.dirichlet(np.ones(4), size=base * actions)
    block, x, y = np.unravel_index(np.arange(states), (base, TORUS, TORUS))
    origin = (block[:, None] * actions + np.arange(actions)).ravel()
    columns = np.ravel_multi_index(
        (
            successor[origin],
            (np.repeat(x, actions)[:, None] + shift[0][origin]) % TORUS,
            (np.repeat(y, actions)[:, None] + shift[1][origin]) % TORUS,
        ),
        (base, TORUS, TORUS),
    ).astype(np.int32)
    place = (rng.permutation(states) if scattered else np.arange(states)).astype(np.int32)
    old = np.argsort(place)
    from_pair = (old[:, None] * actions + np.arange(actions)).ravel()
    columns, origin = place[columns[from_pair]], origin[from_pair]
    pairs = states * actions
    P = sp.csr_matrix(
        (probability[origin].ravel(), columns.ravel(), np.arange(0, 4 * pairs + 1, 4, dtype=np.int32)),
        shape=(pairs, states),
    )
    mdp = TabularMDP(P, rng.random(base * actions)[origin], np.full(states, 1 / states), 10, name="planted")
    turns = [
        np.ravel_multi_index((block, (x + 1) % TORUS, y), (base, TORUS, TORUS)),
        np.ravel_multi_index((block, x, (y + 1) % TORUS), (base, TORUS, TORUS)),
    ]
    on_states = np.array([place[g[old]] for g in turns], dtype=np.int32)
    on_pairs = (on_states[:, :, None] * actions + np.arange(actions, dtype=np.int32)).reshape(2, -1)
    return mdp, Symmetry(on_states, on_pairs, name="Z8×Z8", order=copies)


CHILD = """
import sys
import numpy as np
from burnside.mdp import Symmetry, TabularMDP, quotient, verify
def peak():  # of this process image; ru_maxrss would count what the parent held before exec
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))
tiny = TabularMDP([[1, 0], [0, 1]], [0, 0], [1, 0], 2)
quotient(tiny, Symmetry([[1, 0]], [[1, 0]]))  # load and compile everything first
before = peak()
mdp = TabularMDP.from_file(sys.argv[1])
with np.load(sys.argv[2]) as file:
    symmetry = Symmetry(file["on_states"], file["on_pairs"], order=64)
if {work}:
    quotient(mdp, symmetry, verdict=verify(mdp, symmetry))
print((peak() - before) / mdp.nbytes)
"""


def memory(n_pairs: int) -> tuple[float, float]:
    """Peak memory of loading an MDP, and of loading, verifying and quotienting it, over the MDP's own size."""
    mdp, symmetry = planted(n_pairs, scattered=True)
    with tempfile.TemporaryDirectory() as folder:
        model, group = Path(folder) / "mdp.npz", Path(folder) / "symmetry.npz"
        mdp.save(model)
        np.savez(group, on_states=symmetry.on_states, on_pairs=symmetry.on_pairs)
        peaks = []
        for work in (False, True):
            command = [sys.executable, "-c", CHILD.format(work=work), str(model), str(group)]
            peaks.append(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    return peaks[0], peaks[1]


def measure(n_pairs: int, repeats: int, scattered: bool) -> dict[str, float]:
    mdp, symmetry = planted(n_pairs, scattered=scattered)
    v = np.random.default_rng(1).random(mdp.n_states)
    passes, work = [], []
    for _ in range(repeats):  # interleaved, so that a noisy neighbour hits both
        began = time.perf_counter()
        for _ in range(5):
            mdp.P @ v
        passes.append((time.perf_counter() - began) / 5)
        fresh = Symmetry(symmetry.on_states, symmetry.on_pairs, order=symmetry.order)  # no cached orbits
        began = time.perf_counter()
        reduced = quotient(mdp, fresh, verdict=verify(mdp, fresh))
        work.append(time.perf_counter() - began)
        assert reduced.mdp.n_pairs * symmetry.order == mdp.n_pairs
    return {
        "pairs": mdp.n_pairs,
        "verify_quotient_ms": 1e3 * float(np.median(work)),
        "pass_ms": 1e3 * float(np.median(passes)),
        "passes": float(np.median(work) / np.median(passes)),
    }


def importing() -> float:
    """Least seconds of ``import burnside`` in a process of its own, with its files in the disk cache."""
    code = "import time; t = time.perf_counter(); import burnside; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)]
    return min(float(done.stdout) for done in runs)


def exponent(small: dict[str, float], large: dict[str, float], key: str) -> float:
    """The power of the number of pairs by which ``key`` grew."""
    return float(np.log(large[key] / small[key]) / np.log(large["pairs"] / small["pairs"]))


def run() -> list[dict[str, object]]:
    """Print and return the rows."""
    measure(10**4, 1, scattered=False)  # compile
    rows: list[dict[str, object]] = []
    print("verify + quotient, 4 successors per pair, 2 generators (must: at most 40 passes of P @ v at 10^6)")
    for scattered in (False, True):
        print("states numbered at random" if scattered else "states numbered orbit by orbit")
        print(f"{'pairs':>10} {'verify+quotient':>16} {'one P @ v':>12} {'passes':>8} {'exponent':>9} {'of P @ v':>9}")
        last: dict[str, float] | None = None
        for size in SIZES:
            row = measure(size, 7 if size < 10**7 else 3, scattered)
            growth = [None if last is None else exponent(last, row, key) for key in ("verify_quotient_ms", "pass_ms")]
            print(
                f"{row['pairs']:>10.0f} {row['verify_quotient_ms']:>13.2f} ms {row['pass_ms']:>9.3f} ms "
                f"{row['passes']:>8.1f} " + " ".join(f"{'' if g is None else f'{g:.2f}':>9}" for g in growth),
                flush=True,
            )
            rows.append(
                {
                    "what": "verify+quotient",
                    "scattered": scattered,
                    **row,
                    "exponent": growth[0],
                    "exponent_pass": growth[1],
                }
            )
            last = row
    loading, whole = memory(10**6)
    print(
        f"peak memory at 10^6 pairs, over the MDP's own: {loading:.2f}× to load, {whole:.2f}× with verify + quotient "
        f"(must: at most 4×)"
    )
    rows.append({"what": "memory", "pairs": 10**6, "load_over_mdp": loading, "all_over_mdp": whole})
    print("discover and minimise on the ring game, against one verification of what was found")
    print(f"{'N':>3} {'states':>8} {'pairs':>9} {'discover':>12} {'minimise':>12} {'verify':>10}")
    for n in (5, 6, 7, 8, 9, 10):
        ring = zoo.ring(n)
        began = time.perf_counter()
        found = discover(ring)
        middle = time.perf_counter()
        minimise(ring)
        late = time.perf_counter()
        verify(ring, found)
        end = time.perf_counter()
        times = [1e3 * t for t in (middle - began, late - middle, end - late)]
        print(f"{n:>3} {ring.n_states:>8} {ring.n_pairs:>9} " + " ".join(f"{t:>9.1f} ms" for t in times), flush=True)
        rows.append(
            {"what": "discover", "n": n, "pairs": ring.n_pairs, "discover_ms": times[0], "minimise_ms": times[1]}
        )
    seconds = importing()
    print(f"import burnside: {seconds:.3f} s (must: at most 0.5 s)")
    rows.append({"what": "import", "seconds": seconds})
    return rows
