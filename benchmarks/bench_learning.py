"""UBEV against rlberry's UCBVI in episodes per second, and literal UCFH in bulk against step by step.

rlberry-scool is installed from PyPI into an environment of its own (``.bench/rlberry``), made at the first run. Where
that fails, a plain numpy loop in the style of its published algorithm stands in, and the row says so.
"""

import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.environments import peer
from burnside.learning import UBEV, UCFH, learn
from burnside.learning.ucfh import ucfh_literal
from burnside.mdp import TabularMDP, zoo

PACKAGE = "rlberry-scool==0.7.3"
ROUNDS = 3

# The released version plans with plain Python loops (earlier ones compiled them with numba); so it is also measured
# with its backward induction compiled, which is the harder peer.
CHILD = """
import json, logging, sys, time
import numpy as np
from rlberry.envs.finite_mdp import FiniteMDP
from rlberry_scool.agents.ucbvi import UCBVIAgent, ucbvi

logging.disable(logging.WARNING)
data = np.load(sys.argv[1], allow_pickle=False)
episodes = int(sys.argv[2])
if sys.argv[3] == "compiled":
    import numba
    ucbvi.backward_induction_reward_sd = numba.njit(ucbvi.backward_induction_reward_sd)
env = FiniteMDP(data["R"], data["P"], initial_state_distribution=data["p0"])
agent = UCBVIAgent(env, gamma=1.0, horizon=int(data["H"]))
agent._run_episode()
begin = time.perf_counter()
for _ in range(episodes):
    agent._run_episode()
print(json.dumps(episodes / (time.perf_counter() - begin)))
"""


def rlberry() -> Path | None:
    """The interpreter of an environment that has rlberry-scool; None if it cannot be installed."""
    python, reason = peer("rlberry", [PACKAGE], "rlberry_scool.agents.ucbvi")
    if python is None:
        print(f"not installable: {reason}", flush=True)
    return python


def dense(mdp: TabularMDP) -> dict[str, object]:
    """An MDP with the same number of actions in every state, as arrays over (state, action)."""
    actions = mdp.n_pairs // mdp.n_states
    shape = (mdp.n_states, actions)
    return {"R": mdp.R.reshape(shape), "P": mdp.P.toarray().reshape(*shape, -1), "p0": mdp.p0, "H": mdp.H}


def rlberry_rate(python: Path, mdp: TabularMDP, episodes: int, how: str) -> float:
    """Episodes per second of rlberry's UCBVI."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mdp.npz"
        np.savez(path, **dense(mdp))  # type: ignore[arg-type]
        output = subprocess.run(
            [str(python), "-c", CHILD, str(path), str(episodes), how], capture_output=True, text=True, check=True
        )
    return float(json.loads(output.stdout.strip().splitlines()[-1]))


def numpy_rate(mdp: TabularMDP, episodes: int) -> float:
    """Episodes per second of a plain numpy UCBVI: dense backward induction with bonus c/√n + V_max/n."""
    model = dense(mdp)
    P, R, H = np.asarray(model["P"]), np.asarray(model["R"]), mdp.H
    states, actions = R.shape
    rng = np.random.default_rng(0)
    n, p_hat = np.zeros((states, actions)), np.full(P.shape, 1 / states)
    policy = np.zeros((H, states), dtype=np.int64)
    begin = time.perf_counter()
    for _ in range(episodes):
        s = int(rng.choice(states, p=mdp.p0))
        for t in range(H):
            a = int(policy[t, s])
            after = int(rng.choice(states, p=P[s, a]))
            n[s, a] += 1
            p_hat[s, a] *= 1 - 1 / n[s, a]
            p_hat[s, a, after] += 1 / n[s, a]
            s = after
        V = np.zeros(states)
        for t in reversed(range(H)):
            top = float(H - t)
            bonus = np.minimum(top, 1 / np.sqrt(np.maximum(n, 1)) + top / np.maximum(n, 1))
            Q = R + bonus + p_hat @ V
            policy[t] = Q.argmax(axis=1)
            V = np.minimum(top, Q.max(axis=1))
    return episodes / (time.perf_counter() - begin)


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def peers(mdp: TabularMDP) -> dict[str, Callable[[], float]]:
    """What UBEV is measured against: name → episodes per second."""
    python = rlberry()
    if python is None:
        return {
            "plain numpy UCBVI in the style of rlberry-scool, which could not be installed": lambda: numpy_rate(mdp, 20)
        }
    return {
        f"{PACKAGE} UCBVI as released": lambda: rlberry_rate(python, mdp, 1, "released"),
        f"{PACKAGE} UCBVI, its planning compiled": lambda: rlberry_rate(python, mdp, 60, "compiled"),
    }


def against_rlberry() -> list[dict[str, object]]:
    """Rounds of all in turn, one core each, the same MDP; medians."""
    mdp, episodes = zoo.slip_ring(20), 3000
    settings = {s.label: s for s in (UBEV("heuristic", scale=0.3), UBEV())}
    learn(mdp, "ubev", max_episodes=10)  # compiles

    def rate(setting: UBEV) -> float:
        return episodes / seconds(lambda: learn(mdp, setting, min_episodes=episodes, max_episodes=episodes))

    others = peers(mdp)
    ours: dict[str, list[float]] = {label: [] for label in settings}
    theirs: dict[str, list[float]] = {name: [] for name in others}
    for k in range(ROUNDS):
        for label, setting in settings.items():
            ours[label].append(rate(setting))
        for name, measure in others.items():
            if k == 0 or "released" not in name:  # one episode of that takes seconds
                theirs[name].append(measure())
    return [
        {
            "name": f"{label} | {name}",
            "model": mdp.name,
            "episodes_per_second": float(np.median(rates)),
            "peer_episodes_per_second": float(np.median(theirs[name])),
            "ratio": float(np.median(rates) / np.median(theirs[name])),
            "wanted": 10.0,
        }
        for label, rates in ours.items()
        for name in others
    ]


def bulk_against_steps() -> dict[str, object]:
    """10⁹ episodes of literal UCFH in bulk, and 2·10⁵ step by step: seconds of the second over the first."""
    mdp = zoo.slip_ring(5)
    bulk, steps = 10**9, 2 * 10**5

    def in_bulk() -> object:
        return ucfh_literal(mdp, min_episodes=bulk, max_episodes=bulk)

    def step_by_step() -> object:
        return learn(mdp, UCFH(), min_episodes=steps, max_episodes=steps)

    in_bulk(), step_by_step()  # compiles
    times = [(seconds(in_bulk), seconds(step_by_step)) for _ in range(ROUNDS)]
    fast, slow = (float(np.median(column)) for column in zip(*times, strict=True))
    return {
        "name": "literal UCFH: 1e9 episodes in bulk | 2e5 step by step",
        "model": mdp.name,
        "seconds": fast,
        "peer_seconds": slow,
        "ratio": slow / fast,
        "wanted": 1.0,
    }


def run() -> list[dict[str, object]]:
    rows = [*against_rlberry(), bulk_against_steps()]
    for row in rows:
        print(f"{row['ratio']:9.2f}×  (wanted ≥ {row['wanted']})  {row['name']}", flush=True)
    return rows


if __name__ == "__main__":
    run()
