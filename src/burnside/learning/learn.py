"""``learn``: run a learner in a world and meter its mistakes exactly (Def. 2)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from burnside._resources import needs_time
from burnside._types import FloatArray, Progress
from burnside.errors import InvalidParameter
from burnside.learning.learners import UBEV, UCBVI, UCFH, Learner, make_learner
from burnside.learning.plain import Memory, Meter, Widths
from burnside.learning.run import Recorder, Run, check_delta, check_eps, eps_absolute
from burnside.learning.ucfh import UCFHConstants, new_model, ucfh_constants
from burnside.learning.world import World, first_policy
from burnside.mdp import TabularMDP

__all__ = ["Budget", "generator", "learn", "log_term"]

#: Random numbers made at once, at most: a chunk of episodes takes about this many. Results do not depend on it.
CHUNK = 150_000
#: Seconds that a chunk should take: Ctrl-C is noticed and progress is reported in between.
CHUNK_SECONDS = 0.2

MAX_EPISODES = 200_000
MAX_EPISODES_BULK = 10**13


@dataclass(frozen=True)
class Budget:
    """When a run ends: once as long a stretch has been mistake-free as preceded it, or at the cap."""

    min_episodes: int = 1_000
    max_episodes: int = MAX_EPISODES

    def __post_init__(self) -> None:
        for name in ("min_episodes", "max_episodes"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 10**15:
                raise InvalidParameter(f"{name} must be a whole number from 1 to 10¹⁵, not {value!r}")


def generator(seed: int, stream: int = 0) -> np.random.Generator:
    """The random numbers of one run: independent for every (seed, stream).

    >>> bool(generator(3, 0).random() == generator(3, 1).random())
    False
    """
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InvalidParameter(f"seed must be a whole number of at least 0, not {seed!r}")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(int(seed), spawn_key=(int(stream),))))


def learn(
    mdp: TabularMDP | World,
    learner: str | Learner = "ubev",
    eps: float = 0.1,
    delta: float = 0.1,
    *,
    absolute: bool = False,
    scale: float | None = None,
    seed: int = 0,
    stream: int = 0,
    min_episodes: int = 1_000,
    max_episodes: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Run:
    """Run a learner until it stops making mistakes, and count them exactly.

    The executed policy is evaluated exactly whenever it changes; an episode is a mistake if its policy is more than
    ε worse than optimal. The run ends once as long a stretch has been mistake-free as preceded it.

    Args:
        mdp: an MDP, or a :class:`World` (acting through a homomorphism).
        learner: ``"ubev"``, ``"ucbvi"``, ``"ucfh"`` (step by step), ``"ucfh-literal"`` (phases in bulk), or a setting.
        eps: ε as a fraction of R*; in the units of the return with ``absolute``.
        delta: δ in (0, 1).
        scale: width factor c (UBEV, UCBVI) or factor on m (UCFH); anything below the published one is labelled.
        seed, stream: the random numbers.
        min_episodes: the plateau rule waits for at least these; with UCFH also for |S×A|·m·w_min, since it learns
            nothing at all from the first m·w_min visits of a pair.
        max_episodes: the budget; the run says ``capped`` if it ran out. Default 200 000 (in bulk: 10¹³).
        progress: called several times a second with the episodes played and those now expected; whatever it raises
            ends the run.
        options: of the learner, such as ``width="heuristic"`` or ``support="known"``.

    >>> from burnside.mdp import zoo
    >>> run = learn(zoo.slip_ring(5), "ubev", width="heuristic", seed=1)
    >>> run.capped, run.mistakes() == run.mistakes(0.1), run.mistakes(0.05) >= run.mistakes(0.2) > 0
    (False, True, True)
    """
    world = mdp if isinstance(mdp, World) else World.direct(mdp)
    chosen = make_learner(learner, scale, **options)
    check_eps(eps)
    check_delta(delta)
    gap = float(eps) if absolute else eps_absolute(world.mdp, eps, world.best)
    bulk = isinstance(chosen, UCFH) and chosen.bulk
    cap = max_episodes if max_episodes is not None else MAX_EPISODES_BULK if bulk else MAX_EPISODES
    budget = Budget(min_episodes, cap)
    rng = generator(seed, stream)
    fewest = float(budget.min_episodes)
    if not bulk:  # every episode is planned or played over the horizon
        least = float(min(budget.min_episodes, cap)) * world.mdp.H
        needs_time(f"learning {world.mdp.name} over {world.mdp.H} steps", least, "shorten the horizon")
    if isinstance(chosen, UCFH):
        constants = ucfh_constants(world.agent, chosen, gap, delta)
        # It acts blindly until the first pair has m·w_min visits, and may be right by luck: no plateau before then.
        fewest = max(fewest, world.agent.n_pairs * constants.first)
        run_it = _bulk_ucfh if chosen.bulk else _steps_ucfh
        meter = _meter(world, gap, fewest)
        record = run_it(world, chosen, constants, rng, meter, budget, progress)
        notes = constants.notes
    else:
        meter = _meter(world, gap, fewest)
        record = _optimistic(world, chosen, delta, rng, meter, budget, progress)
        notes = ()
    gaps, lengths = record.finish()
    return Run(
        gaps,
        lengths,
        world.best,
        gap,
        float(delta),
        chosen.label,
        chosen.guarantee,
        capped=bool(meter.progress[2] == 0),
        settled=bool(meter.progress[2] == 2),
        seed=int(seed),
        stream=int(stream),
        config={"learner": chosen.name, **asdict(chosen), **asdict(budget)},
        notes=notes,
    )


def log_term(world: World, learner: UBEV | UCBVI, delta: float, max_episodes: int) -> float:
    """The logarithm in the width: ln(21·|S×A|·H/δ) of UBEV, ln(5·|S×A|·T/δ) of UCBVI."""
    pairs, horizon = world.agent.n_pairs, world.agent.H
    if isinstance(learner, UBEV):
        return math.log(21.0 * pairs * horizon / delta)
    return math.log(5.0 * pairs * horizon * max_episodes / delta)


def _meter(world: World, eps: float, fewest: float) -> Meter:
    """The meter before the first episode."""
    return Meter(float(world.best), float(eps), float(fewest), np.zeros(1), np.array([0, 0, 0, -2, 0], dtype=np.int64))


def _chunks(
    rng: np.random.Generator,
    horizon: int,
    budget: Budget,
    meter: Meter,
    play: Callable[[FloatArray, FloatArray], int],
    progress: Progress | None,
) -> Recorder:
    """Feed ``play(random numbers, gaps to fill)`` until the plateau flag is up or the budget is spent.

    Numbers are drawn episode by episode, so it does not matter how many come at once.
    """
    record = Recorder()
    largest = max(1, CHUNK // (3 * (horizon + 1)))
    size, left = min(8, largest), budget.max_episodes
    while left > 0 and not meter.progress[2]:
        began = time.monotonic()
        count = min(size, left)
        gaps = np.empty(count)
        played = int(play(rng.random((count, horizon + 1, 3)), gaps))
        record.add(gaps[:played])
        left -= count
        size = _next_size(size, largest, time.monotonic() - began)
        _tell(progress, meter, budget)
    return record


def _next_size(size: int, largest: int, seconds: float) -> int:
    """Episodes of the next chunk, if this many took so long."""
    return max(1, min(largest, 2 * size, int(size * CHUNK_SECONDS / max(seconds, 1e-6))))


def _tell(progress: Progress | None, meter: Meter, budget: Budget) -> None:
    """How many episodes were played, and how many are expected: all, until a quarter went by without a mistake."""
    if progress is not None:
        played, last = int(meter.progress[0]), int(meter.progress[1])
        plateau = max(int(meter.fewest), 2 * last) if 4 * last <= 3 * played else budget.max_episodes
        progress(played, max(played, min(budget.max_episodes, plateau)))


def _optimistic(
    world: World,
    learner: UBEV | UCBVI,
    delta: float,
    rng: np.random.Generator,
    meter: Meter,
    budget: Budget,
    progress: Progress | None,
) -> Recorder:
    from burnside.learning.kernels import optimistic_run

    agent, arrays = world.agent_arrays, world.arrays
    pairs, states, horizon = world.agent.n_pairs, world.agent.n_states, world.agent.H
    heuristic = isinstance(learner, UBEV) and learner.width == "heuristic"
    kind = 0 if isinstance(learner, UBEV) else 1 if learner.bonus == "hoeffding" else 2
    logarithm = log_term(world, learner, delta, budget.max_episodes)
    widths = Widths(kind, float(learner.scale), logarithm, heuristic, learner.replan_every)
    entries = agent.indices.size
    memory = Memory(
        n=np.zeros(pairs, dtype=np.int64),
        counts=np.zeros(entries, dtype=np.int64),
        visits=np.zeros((horizon, states) if kind == 2 else (1, 1), dtype=np.int64),
        p_hat=np.zeros(entries),
        phi=np.zeros(pairs),
        q_cap=np.full((horizon, pairs) if kind else (1, 1), np.inf),
        policy=first_policy(world.agent),
    )

    def play(u: FloatArray, gaps: FloatArray) -> int:
        return optimistic_run(arrays, agent, widths, memory, meter, u, gaps)

    return _chunks(rng, horizon, budget, meter, play, progress)


def _steps_ucfh(
    world: World,
    learner: UCFH,
    constants: UCFHConstants,
    rng: np.random.Generator,
    meter: Meter,
    budget: Budget,
    progress: Progress | None,
) -> Recorder:
    from burnside.learning.ucfh_kernels import steps_run

    agent, arrays = world.agent_arrays, world.arrays
    model = new_model(world.agent, learner.support)
    limits = constants.limits()

    def play(u: FloatArray, gaps: FloatArray) -> int:
        return steps_run(arrays, agent, model, limits, meter, u, gaps)

    return _chunks(rng, world.agent.H, budget, meter, play, progress)


def _bulk_ucfh(
    world: World,
    learner: UCFH,
    constants: UCFHConstants,
    rng: np.random.Generator,
    meter: Meter,
    budget: Budget,
    progress: Progress | None,
) -> Recorder:
    from burnside.learning.ucfh_kernels import bulk_run

    if not world.identical:
        raise InvalidParameter("phases in bulk need the agent's own MDP: run them on the quotient itself")
    agent, arrays = world.agent_arrays, world.arrays
    model = new_model(world.agent, learner.support)
    limits = constants.limits(learner.grain, budget.max_episodes)
    record = Recorder()
    phases = 4
    while meter.progress[0] < budget.max_episodes and not meter.progress[2]:
        began = time.monotonic()
        gaps, lengths = np.empty(phases), np.zeros(phases, dtype=np.int64)
        filled = bulk_run(rng, arrays, agent, model, limits, meter, gaps, lengths)
        record.add(gaps[:filled], lengths[:filled])
        phases = _next_size(phases, 256, time.monotonic() - began)
        _tell(progress, meter, budget)
    return record
