"""Every line on speed that the project has promised, as data: what was wanted, where it is measured, and the answer.

A wish names a benchmark and finds its numbers in the rows that benchmark wrote; rows that are not there make it "not
measured". Where a benchmark gives a ratio by the clock and by processor time, the clock counts if the machine was
quiet, else processor time; the answer says which.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]
#: Cores that other processes may use during a benchmark on a machine that is called quiet.
QUIET = 0.15


@dataclass(frozen=True)
class Measured:
    """One benchmark as it was kept: the machine it ran on, and its rows."""

    machine: Mapping[str, Any]
    rows: tuple[Row, ...]

    @property
    def quiet(self) -> bool:
        """Whether the clock can be trusted; unknown counts as no."""
        return self.machine.get("others", math.inf) <= QUIET

    def find(self, **wanted: Any) -> Row | None:
        """The first row with these values."""
        return next((row for row in self.rows if all(row.get(key) == v for key, v in wanted.items())), None)

    def named(self, part: str) -> Row | None:
        """The first row whose name contains a text."""
        return next((row for row in self.rows if part in str(row.get("name", ""))), None)

    def ratio(self, row: Row | None, clock: str, cpu: str) -> tuple[float, str] | None:
        """The median ratio by the clock or by processor time, and which of them it is."""
        key, by = (clock, "") if self.quiet else (cpu, ", processor time")
        return None if row is None or row.get(key) is None else (float(row[key][0]), by)


@dataclass(frozen=True)
class Answer:
    """What was measured, in words, and whether it is what was wanted (None: nothing was wanted of the number)."""

    text: str
    met: bool | None


@dataclass(frozen=True)
class Wish:
    """A line on speed: of which part of the project, what is measured, the target, and where to look."""

    part: int
    what: str
    target: str
    benchmark: str
    look: Callable[[Measured], Answer | None]


def number(value: float) -> str:
    """Three significant digits, thousands set apart.

    >>> number(17972.3), number(0.0326), number(46021), number(2.831)
    ('17 972', '0.0326', '46 021', '2.83')
    """
    if abs(value) >= 1000:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.3g}"


def least(target: float, value: float, unit: str = "×") -> Answer:
    return Answer(f"{number(value)}{unit}", value >= target)


def most(target: float, value: float, unit: str) -> Answer:
    return Answer(f"{number(value)}{unit}", value <= target)


# ---------------------------------------------------------------------- where the numbers are


def _passes(scattered: bool) -> Callable[[Measured], Answer | None]:
    def look(found: Measured) -> Answer | None:
        rows = [r for r in found.rows if r.get("what") == "verify+quotient" and r["scattered"] is scattered]
        row = min(rows, key=lambda r: abs(math.log(r["pairs"] / 1e6)), default=None)
        return None if row is None else most(40, row["passes"], " passes")

    return look


def _growth(scattered: bool) -> Callable[[Measured], Answer | None]:
    def look(found: Measured) -> Answer | None:
        rows = [r for r in found.rows if r.get("what") == "verify+quotient" and r["scattered"] is scattered]
        if len(rows) < 2:
            return None
        span = math.log(rows[-1]["pairs"] / rows[0]["pairs"])
        ours, bare = (math.log(rows[-1][k] / rows[0][k]) / span for k in ("verify_quotient_ms", "pass_ms"))
        return Answer(f"exponent {ours:.2f}, that of P @ v {bare:.2f}", ours <= max(1.1, bare))

    return look


def _value(key: str, answer: Callable[[float], Answer], **wanted: Any) -> Callable[[Measured], Answer | None]:
    def look(found: Measured) -> Answer | None:
        row = found.find(**wanted)
        return None if row is None or row.get(key) is None else answer(float(row[key]))

    return look


def _worst(
    key: str, answer: Callable[[float], Answer], pick: Callable[[Iterable[float]], float], keep: Callable[[Row], bool]
) -> Callable[[Measured], Answer | None]:
    def look(found: Measured) -> Answer | None:
        values = [float(row[key]) for row in found.rows if row.get(key) is not None and keep(row)]
        return answer(pick(values)) if values else None

    return look


def _learner(name: str) -> Callable[[Measured], Answer | None]:
    """Three times as fast is wanted, unless the environment takes most of the time; void unless both learned."""

    def look(found: Measured) -> Answer | None:
        row = next((row for row in found.rows if row["name"] == name), None)
        if row is None:
            return None
        ratio, share = float(row["ratio_cpu"][0]), float(row["env_share"])
        words = f"{number(ratio)}×, processor time; {share:.0%} of ours is the environment"
        if not row["both_learned"]:
            return Answer(f"{words}; void, not both learned", False)
        return Answer(words, None if share > 0.4 else ratio >= 3)

    return look


def _wrapper(found: Measured) -> Answer | None:
    row = found.named("CanonicalEnv")
    return None if row is None else most(1.3, float(row["over_by_hand"][0]), "×, processor time")


def _threads(found: Measured) -> Answer | None:
    each = [(str(row["name"]).split(" of ")[1].split(",")[0], float(row["ratio"][0])) for row in found.rows]
    return Answer(", ".join(f"{env} {ratio:.2f}×" for env, ratio in each), None) if each else None


def _discover(found: Measured) -> Answer | None:
    rows = {row["n"]: row for row in found.rows if row.get("what") == "discover"}
    if 8 not in rows:
        return None
    first, last = rows[min(8, *rows)] if 7 not in rows else rows[7], rows[max(rows)]
    grown = math.log(last["discover_ms"] / first["discover_ms"]) / math.log(last["pairs"] / first["pairs"])
    return Answer(
        f"{rows[8]['discover_ms'] / 1e3:.2g} s, exponent {grown:.2f} in the pairs up to N = {max(rows)}", True
    )


def _rlberry(found: Measured) -> Answer | None:
    rows = [r for r in found.rows if r.get("wanted") == 10.0]
    hardest = min(rows, key=lambda r: r["ratio"], default=None)
    return None if hardest is None else least(10, hardest["ratio"])


def _dqn(key: str, target: float) -> Callable[[Measured], Answer | None]:
    def look(found: Measured) -> Answer | None:
        by = "by the clock" if found.quiet else "by processor time"
        row = found.named(f"summary, {by}")
        if row is None or row.get(key) is None:
            return None
        median, low, high = row[key]
        words = f"{median:.2f} ({low:.2f}…{high:.2f})" + ("" if found.quiet else ", processor time")
        return Answer(words, median >= target)

    return look


def _gate(found: Measured) -> Answer | None:
    rows = [row for row in found.rows if "final return" in row and "burnside" not in str(row["name"])]
    if not rows:
        return None
    void = [str(row["name"]) for row in rows if "void" in row]
    return Answer(f"{len(rows) - len(void)} of {len(rows)}" + (f"; not {', '.join(void)}" if void else ""), not void)


def _memory(found: Measured) -> Answer | None:
    row = found.named("burnside")
    return None if row is None or "peak RSS, MB" not in row else Answer(f"{row['peak RSS, MB']} MB for ten seeds", None)


def _search(found: Measured) -> Answer | None:
    rows = [row for row in found.rows if "ours is faster by" in row]
    ratios = [r for row in rows if (r := found.ratio(row, "ours is faster by", "ours is faster by, CPU time"))]
    if not ratios:
        return None
    value, by = min(ratios)
    return Answer(f"{value:.2f}×{by}, against the fastest", value > 1)


def _ppo(found: Measured) -> Answer | None:
    rows = [row for row in found.rows if "episodes to 90 %" in row and "ours is faster by" in row]
    ours = found.named("burnside Gaussian PPO")
    ratios = [r for row in rows if (r := found.ratio(row, "ours is faster by", "ours is faster by, CPU time"))]
    if not ratios or ours is None:
        return None
    value, by = min(ratios)
    # Without equal learning the ratio says nothing: nobody may end more than a tenth below the other.
    ends = [sum(row["success of the last 500 episodes"]) / len(row["success of the last 500 episodes"]) for row in rows]
    mine = sum(ours["success of the last 500 episodes"]) / len(ours["success of the last 500 episodes"])
    equal = mine >= max(ends) - 0.1
    learnt = f"success at the end {mine:.2f} against {min(ends):.2f}…{max(ends):.2f}"
    return Answer(f"{value:.2f}×{by}; {learnt}", value >= 5 and equal)


def _sync(found: Measured) -> Answer | None:
    rows = [row for row in found.rows if "core_over_sync" in row and row["scenes"] == 256]
    return Answer(", ".join(f"{r['task']} {number(r['core_over_sync'])}×" for r in rows), None) if rows else None


def _chain(key: str) -> Callable[[Measured], Answer | None]:
    def look(found: Measured) -> Answer | None:
        row = found.named("chain update")
        return None if row is None else Answer(f"{row[key]:.2f}", None)

    return look


def _davi(found: Measured) -> Answer | None:
    rows = [row for row in found.rows if "fraction_of_roofline" in row]
    return Answer(", ".join(f"{r['arm']} {r['fraction_of_roofline']:.2f}" for r in rows), None) if rows else None


def _reproduce(preset: str, seconds: float, part: str = "") -> Callable[[Measured], Answer | None]:
    def look(found: Measured) -> Answer | None:
        row = found.find(preset=preset)
        if row is None or (part and part not in row["parts"]):
            return None
        took = row["parts"][part] if part else row["seconds"]
        bad = f"; failed: {', '.join(row['failed'])}" if row["failed"] else ""
        return Answer(f"{took / 60:.1f} min{bad}", took <= seconds and not bad)

    return look


def _robot(text: str, target: float) -> Callable[[Measured], Answer | None]:
    def look(found: Measured) -> Answer | None:
        ratios = [row["ratio"] for row in found.rows if text in row.get("what", "")]
        return least(target, min(ratios)) if ratios else None

    return look


def _scaling(found: Measured) -> Answer | None:
    two = [(r["x"], r["clock_us"]) for r in found.rows if r.get("against") == "seeds"]
    if not two:
        return None
    return Answer(f"{two[0][1] / two[-1][1]:.2f}× cheaper per update at {two[-1][0]} seeds than at {two[0][0]}", None)


def _workers(found: Measured) -> Answer | None:
    taken = {r["x"]: r["seconds"] for r in found.rows if r.get("against") == "workers"}
    return (
        None if not {1, 2} <= set(taken) else Answer(f"{taken[1] / taken[2]:.2f}× with two, {number(taken[1])} s", None)
    )


WISHES = (
    Wish(
        1,
        "verify + quotient at 10⁶ pairs, states numbered orbit by orbit",
        "≤ 40 passes of P @ v",
        "core",
        _passes(False),
    ),
    Wish(1, "the same, states numbered at random", "≤ 40 passes of P @ v", "core", _passes(True)),
    Wish(1, "growth from 10⁴ to 10⁷ pairs, orbit by orbit", "linear: ≤ 1.1, or as P @ v", "core", _growth(False)),
    Wish(1, "growth from 10⁴ to 10⁷ pairs, at random", "linear: ≤ 1.1, or as P @ v", "core", _growth(True)),
    Wish(
        1,
        "peak memory at 10⁶ pairs",
        "≤ 4× the MDP",
        "core",
        _value("all_over_mdp", lambda v: most(4, v, "×"), what="memory"),
    ),
    Wish(1, "`discover` on the ring game, N = 8", "it does, and says how it grows", "core", _discover),
    Wish(
        1, "`import burnside`, warm", "≤ 0.5 s", "core", _value("seconds", lambda v: most(0.5, v, " s"), what="import")
    ),
    Wish(2, "UBEV over rlberry's UCBVI, episodes/s, the harder of its two forms", "≥ 10×", "learning", _rlberry),
    Wish(
        2,
        "10⁹ literal UCFH episodes against 2·10⁵ step by step",
        "≥ 1×",
        "learning",
        _value("ratio", lambda v: least(1, v), wanted=1.0),
    ),
    Wish(3, "DQN updates/s over Stable-Baselines3", "≥ 8×", "dqn", _dqn("over Stable-Baselines3 (target 8)", 8)),
    Wish(3, "DQN updates/s over the best of SB3, SBX, rejax", "≥ 3×", "dqn", _dqn("over the best peer (target 3)", 3)),
    Wish(3, "DQN updates/s over its bare matrix products", "≥ 0.5", "dqn", _dqn("of the roofline (target 0.5)", 0.5)),
    Wish(3, "peers that learn as well as ours (gate)", "all", "dqn", _gate),
    Wish(3, "peak memory of the DQN", "stated", "dqn", _memory),
    Wish(
        4,
        "`position` form over the paper's op, n = 3 and 5",
        "≥ 10×",
        "cube",
        _worst("over_chunked", lambda v: least(10, v), min, lambda r: r["symmetry"] == "position" and r["n"] in (3, 5)),
    ),
    Wish(
        4,
        "`conjugation` form over the naive gather, n = 3 and 5",
        "≥ 8×",
        "cube",
        _worst("over_gather", lambda v: least(8, v), min, lambda r: r["symmetry"] != "position" and r["n"] in (3, 5)),
    ),
    Wish(
        4,
        "exact table of the 2-cube, warm",
        "≤ 3 s",
        "cube",
        _value("seconds", lambda v: most(3, v, " s"), what="exact n=2 table"),
    ),
    Wish(4, "search: nodes/s over deepxube and cayleypy, same network", "> 1×", "search", _search),
    Wish(
        4,
        "search: share of the time outside the network",
        "≤ 0.5",
        "search",
        _worst("outside the network", lambda v: most(0.5, v, ""), max, lambda r: r["name"].endswith(": burnside")),
    ),
    Wish(4, "value iteration, states/s over its bare matrix products", "printed", "davi", _davi),
    Wish(
        4,
        "200 random 2-cubes within two moves of the optimum",
        "≥ 95 %",
        "solve",
        _value("within_two_of_the_optimum", lambda v: least(95, 100 * v, " %"), what="2-cube, random"),
    ),
    Wish(
        5,
        "200 random 3-cubes solved by the shipped policy",
        "≥ 99.5 %",
        "cube_solver",
        _value("solved", lambda v: least(99.5, 100 * v, " %"), what="shipped"),
    ),
    Wish(
        5,
        "processor time for one of them",
        "≤ 0.5 s",
        "cube_solver",
        _value("cpu", lambda v: most(0.5, v, " s"), what="shipped"),
    ),
    Wish(
        4,
        "200 3-cubes of up to 12 turns solved",
        "≥ 95 %",
        "solve",
        _value("solved", lambda v: least(95, 100 * v, " %"), what="3-cube, 1 to 12 turns"),
    ),
    Wish(
        4,
        "the longest of those 400 cubes",
        "≤ 10 s",
        "solve",
        _worst("longest_seconds", lambda v: most(10, v, " s"), max, lambda r: r["cubes"] == 200),
    ),
    Wish(5, "planar environment over SyncVectorEnv, 256 scenes", "printed", "planar", _sync),
    Wish(5, "PPO end to end over Stable-Baselines3, equal learning", "≥ 5×", "flow", _ppo),
    Wish(5, "chain update over its bare matrix products", "printed", "flow", _chain("of the roofline, shared")),
    Wish(5, "the context shared over the chain, against not", "printed", "flow", _chain("sharing saves a factor")),
    Wish(5, "planar part at `laptop` on 2 cores", "≤ 6 min", "reproduce", _reproduce("laptop", 360, "planar")),
    Wish(
        6, "control steps over a plain robosuite loop, the slower task", "≥ 1.5×", "robot", _robot("control steps", 1.5)
    ),
    Wish(6, "cloud rendering over default flags", "≥ 10×", "robot", _robot("point cloud", 10)),
    Wish(6, "two simulator workers over one", "≥ 1.6×", "robot", _robot("two workers", 1.6)),
    *(
        Wish(
            4,
            f"{what} over Stable-Baselines3, per step",
            "≥ 3×, or the environment's share",
            "learners",
            _learner(what),
        )
        for what in (
            "DQN on CartPole-v1",
            "DQN on CartPole-v1, 64×64",
            "PPO on CartPole-v1",
            "PPO on Reacher-v5",
            "PPO on Walker2d-v5",
        )
    ),
    Wish(4, "16 copies of a MuJoCo environment in two threads over one, by the clock", "printed", "threads", _threads),
    Wish(3, "a step behind CanonicalEnv over a wrapper written by hand", "≤ 1.3×", "wrappers", _wrapper),
    Wish(7, "`burnside reproduce --preset smoke`, warm", "≤ 2 min", "reproduce", _reproduce("smoke", 120)),
    Wish(7, "`make reproduce` (laptop) on 2 cores, warm", "≤ 20 min", "reproduce", _reproduce("laptop", 1200)),
    Wish(7, "cost per update against seeds", "plotted", "scaling", _scaling),
    Wish(7, "a sweep with two workers over one", "plotted", "scaling", _workers),
)
