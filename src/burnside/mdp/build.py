"""Other ways to make a :class:`TabularMDP`: dense arrays, functions on states, Gymnasium's toy-text environments."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from burnside._resources import needs_memory
from burnside._types import ArrayLike, BoolArray, FloatArray, IntArray
from burnside.errors import InvalidModel, InvalidParameter, MissingExtra, ModelTooLarge
from burnside.mdp._checks import whole
from burnside.mdp.tabular import TabularMDP

__all__ = ["MOST_STATES", "from_dense", "from_gym", "from_step"]

#: States that ``from_step`` enumerates at most unless told otherwise.
MOST_STATES = 2_000_000
#: How often it looks whether there is memory left, in states, and how many bytes a state takes in its lists.
_LOOK_EVERY, _STATE_BYTES = 50_000, 1_000

#: For every state, action → outcomes (probability, next state, reward, terminated).
_Table = list[dict[int, list[tuple[float, int, float, bool]]]]


def from_dense(
    P: ArrayLike, R: ArrayLike, p0: ArrayLike, H: int, *, mask: ArrayLike | None = None, **rest: Any
) -> TabularMDP:
    """From ``P[s, a, s']`` and ``R[s, a]`` or ``R[t, s, a]``.

    ``mask[s, a]`` marks admissible pairs; all are if it is left out. A state without any is terminal.

    >>> P = np.zeros((2, 2, 2)); P[:, 0, 0] = P[:, 1, 1] = 1
    >>> from_dense(P, R=[[0, 1], [0, 1]], p0=[1, 0], H=4).n_pairs
    4
    """
    kernel = _numbers(P, "P")
    if kernel.ndim != 3 or kernel.shape[0] != kernel.shape[2]:
        raise InvalidModel(f"P must have shape (states, actions, states), got {kernel.shape}")
    n_states, n_actions, _ = kernel.shape
    rewards = _numbers(R, "R")
    if rewards.shape not in ((n_states, n_actions), (H, n_states, n_actions)):
        raise InvalidModel(
            f"R must have shape ({n_states}, {n_actions}) or ({H}, {n_states}, {n_actions}), got {rewards.shape}"
        )
    admissible = np.ones((n_states, n_actions), dtype=np.bool_) if mask is None else np.asarray(mask, dtype=np.bool_)
    if admissible.shape != (n_states, n_actions):
        raise InvalidModel(f"mask must have shape ({n_states}, {n_actions}), got {admissible.shape}")
    states, actions = np.nonzero(admissible)
    flat = rewards.reshape(*rewards.shape[:-2], -1)[..., admissible.ravel()]
    return TabularMDP(kernel[admissible], flat, p0, H, pair_state=states, pair_action=actions, **rest)


def _numbers(values: ArrayLike, what: str) -> FloatArray:
    try:
        if np.iscomplexobj(values):
            raise TypeError  # numpy would only warn, and drop the imaginary part
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidModel(f"{what} must be an array of numbers") from None


def from_step(
    starts: Iterable[Hashable],
    actions: Callable[[Any], Iterable[Hashable]],
    step: Callable[[Any, Any], Sequence[tuple[float, Any, float]]],
    H: int,
    *,
    p0: Mapping[Any, float] | None = None,
    limit: int = MOST_STATES,
    collect: list[Any] | None = None,
    **rest: Any,
) -> TabularMDP:
    """Enumerate what is reachable from ``starts``.

    Args:
        starts: hashable states to start the enumeration from.
        actions: ``actions(s)`` → admissible actions, hashable; they are numbered in order of appearance, or as
            ``action_names`` lists them. A state without any is terminal.
        step: ``step(s, a)`` → outcomes ``[(probability, next state, reward), …]``.
        H: horizon.
        p0: probability of each initial state; uniform over ``starts`` if left out.
        limit: largest number of states to enumerate.
        collect: a list that receives the states in the order of their numbers.
        rest: further arguments of :class:`TabularMDP`. States that are pairs of whole numbers, near their successors,
            are taken to be the row and column of a grid if no ``positions`` are given.

    >>> walk = from_step([0], lambda s: (-1, 1), lambda s, a: [(1.0, (s + a) % 6, float(s == 0))], H=3)
    >>> walk.n_states, walk.n_pairs
    (6, 12)
    """
    states: dict[Hashable, int] = {}
    labels: dict[Hashable, int] = {}
    given = rest.get("action_names")
    listed = {} if given is None or callable(given) else {name: k for k, name in enumerate(given)}
    queue: list[Any] = [] if collect is None else collect

    def number(s: Hashable) -> int:
        if s not in states:
            if len(states) >= limit:
                raise ModelTooLarge(f"more than {limit} states are reachable: raise limit=, or keep the model implicit")
            if states and len(states) % _LOOK_EVERY == 0:
                more = f"a table of more than {len(states)} states"
                needs_memory(more, _LOOK_EVERY * _STATE_BYTES, "make the model smaller, or keep it implicit")
            states[s] = len(states)
            queue.append(s)
        return states[s]

    first = [number(s) for s in starts]
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    rewards: list[float] = []
    pair_state: list[int] = []
    pair_action: list[int] = []
    position = 0
    while position < len(queue):
        s = queue[position]
        for a in actions(s):
            expected = 0.0
            for probability, successor, reward in step(s, a):
                rows.append(len(rewards))
                columns.append(number(successor))
                values.append(probability)
                expected += probability * reward
            rewards.append(expected)
            pair_state.append(position)
            pair_action.append(labels.setdefault(a, listed.get(str(a), len(labels))))
        position += 1
    if len(set(labels.values())) < len(labels):
        raise InvalidModel("action_names lists some of the actions and not others: list the name of every action")
    if not first:
        raise InvalidModel("there is no state to start from: starts is empty")
    initial = np.zeros(len(states))
    if p0 is None:
        initial[first] = 1.0 / len(set(first))
    else:
        for s, probability in p0.items():
            if s not in states:
                raise InvalidModel(f"p0 gives probability to {s!r}, which is not reachable from starts")
            initial[states[s]] += probability
    rest.setdefault("state_names", [str(s) for s in states])
    rest.setdefault("action_names", [str(a) for a in labels])
    rest.setdefault("positions", _on_a_grid(queue, np.take(pair_state, rows), columns))
    P = sp.csr_matrix((values, (rows, columns)), shape=(len(rewards), len(states)))
    return TabularMDP(P, rewards, initial, H, pair_state=pair_state, pair_action=pair_action, **rest)


def _on_a_grid(states: Sequence[Any], source: IntArray, target: Sequence[int]) -> FloatArray | None:
    """Positions of states that look like (row, column): pairs of whole numbers that are near their successors."""
    if not all(isinstance(s, tuple) and len(s) == 2 and all(type(x) is int for x in s) for s in states):
        return None
    points = np.array([(column, row) for row, column in states], dtype=float)
    steps = np.abs(points[source] - points[target]).max(axis=1)
    return points if np.ptp(points, axis=0).min() > 0 and np.median(steps) <= 2 else None


def from_gym(
    env: Any, H: int | None = None, *, name: str | None = None, terminal_actions: bool = False, **rest: Any
) -> TabularMDP:
    """From a Gymnasium toy-text environment (anything with a ``P[s][a] = [(prob, next, reward, terminated), …]``).

    A state that is entered only when the episode ends is *terminal* here: no learner ever acts in it, so the actions
    that the table lists for it (FrozenLake's holes and goal have four each) are not pairs. Where a transition ends the
    episode in a state that can also be entered without ending it, as in Taxi, it leads to one further terminal state,
    ``end``, instead. States keep their numbers. The horizon defaults to the environment's time limit, and to 100 where
    it has none. A wrapper that may change rewards, observations or actions is refused: the table does not know of it.

    Args:
        env: an environment, or the id of one.
        H: horizon.
        name: shown in reports; default the environment's id.
        terminal_actions: count the table literally: the actions it lists for terminal states are pairs like any other,
            and ``end`` has one that stays there.
        rest: further arguments of :class:`TabularMDP`.

    >>> TabularMDP.from_gym("FrozenLake-v1")
    TabularMDP('FrozenLake-v1', states=16 (5 terminal), pairs=44, successors=3, H=100)
    >>> TabularMDP.from_gym("FrozenLake-v1", terminal_actions=True)
    TabularMDP('FrozenLake-v1', states=16, pairs=64, successors=3, H=100)
    """
    if isinstance(env, str):
        try:
            import gymnasium
        except ImportError:
            raise MissingExtra("gymnasium", "envs") from None
        name = name or env
        try:
            env = gymnasium.make(env)
        except (gymnasium.error.Error, ImportError) as error:
            raise InvalidParameter(f"Gymnasium cannot make {env!r}: {error}") from None
    bare = getattr(env, "unwrapped", env)
    if getattr(bare, "P", None) is None:
        raise InvalidModel(
            "this environment has no transition table P: only tabular (toy-text) environments can be read"
        )
    _refuse_wrappers(env, bare)
    if getattr(bare, "fickle_passenger", False):
        raise InvalidModel(
            "the table of this environment does not tell that its passenger may change the destination: make it with "
            "fickle_passenger=False"
        )
    table = _read_table(bare.P)
    spec = getattr(env, "spec", None)
    horizon = H if H is not None else getattr(spec, "max_episode_steps", None) or 100
    n = len(table)
    start = _stated_start(bare, n)
    terminal = _terminal_states(table, start)
    if terminal_actions:
        goes_to_end, terminal = _needs_sink(table), np.zeros(n, dtype=np.bool_)
    else:
        acting = (row for s, row in enumerate(table) if not terminal[s])
        goes_to_end = any(t[3] and not terminal[t[1]] for row in acting for t in _all(row))
    end = n if goes_to_end else None
    size = n + (end is not None)
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    rewards: list[float] = []
    states: list[int] = []
    actions: list[int] = []
    for s in range(n):
        if terminal[s]:
            continue
        for a in sorted(table[s]):
            expected = 0.0
            for probability, successor, reward, terminated in table[s][a]:
                rows.append(len(rewards))
                columns.append(end if terminated and end is not None and not terminal[successor] else successor)
                values.append(probability)
                expected += probability * reward
            rewards.append(expected)
            states.append(s)
            actions.append(a)
    if end is not None and terminal_actions:
        rows, columns, values = [*rows, len(rewards)], [*columns, end], [*values, 1.0]
        rewards, states, actions = [*rewards, 0.0], [*states, end], [*actions, 0]
    P = sp.csr_matrix((values, (rows, columns)), shape=(len(rewards), size))
    rest.setdefault("state_names", [*(f"s{s}" for s in range(n)), *(["end"] if end is not None else [])])
    return TabularMDP(
        P,
        rewards,
        _initial(start, terminal, size),
        horizon,
        pair_state=states,
        pair_action=actions,
        name=name or getattr(spec, "id", None) or type(bare).__name__,
        **rest,
    )


def _all(row: Mapping[int, list[tuple[float, int, float, bool]]]) -> Iterable[tuple[float, int, float, bool]]:
    """The outcomes of all actions of a state that can happen."""
    return (outcome for outcomes in row.values() for outcome in outcomes if outcome[0] > 0)


def _stated_start(bare: Any, n: int) -> FloatArray | None:
    """The initial distribution that the environment states, if it does."""
    start = getattr(bare, "initial_state_distrib", None)
    if start is None:
        return None
    given = _numbers(start, "initial_state_distrib of this environment")
    if given.shape != (n,):
        raise InvalidModel(
            f"initial_state_distrib of this environment must have one entry for each of its {n} states, got shape "
            f"{given.shape}"
        )
    return given


def _terminal_states(table: _Table, start: FloatArray | None) -> BoolArray:
    """Mask of the states in which no learner ever acts, because an episode that enters them is over.

    Some transition that ends the episode leads there, no episode starts there, and every transition that leads there
    without ending it comes from a state of the same kind: tables often list rows for those, and they do not matter.
    Where it is not stated how episodes start, only what stays put for nothing can be known to be terminal.
    """
    n = len(table)
    ends, goes_on = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    into: list[list[int]] = [[] for _ in range(n)]  # of each state, where it leads without ending the episode
    for s, row in enumerate(table):
        for _, successor, _, terminated in _all(row):
            ends[successor] |= terminated
            if not terminated:
                into[s].append(successor)
    if start is None:
        goes_on[:] = [any(t[1] != s or t[2] != 0 for t in _all(row)) for s, row in enumerate(table)]
    else:
        goes_on[:] = start > 0
    # every state that cannot be terminal makes those it leads to such ones
    waiting = [int(s) for s in np.flatnonzero(goes_on | ~ends)]
    goes_on[waiting] = True
    while waiting:
        for successor in into[waiting.pop()]:
            if not goes_on[successor]:
                goes_on[successor] = True
                waiting.append(successor)
    return ~goes_on


def _initial(start: FloatArray | None, terminal: BoolArray, size: int) -> FloatArray:
    """The initial distribution that the environment states; otherwise every state that is not terminal alike."""
    initial = np.zeros(size)
    initial[: terminal.size] = ~terminal if start is None else start
    total = initial.sum()
    return initial / total if total > 0 else initial


def _refuse_wrappers(env: Any, bare: Any) -> None:
    """Raise, with its name, if a wrapper lies above the table that may change what is seen, done or paid."""
    if env is bare:
        return
    from burnside._wrappers import transparent

    if transparent(env):
        return
    while hasattr(env, "env") and not transparent(env.env):
        env = env.env
    raise InvalidModel(
        f"the wrapper {type(env).__name__} changes what the table says: pass env.unwrapped if that is meant"
    )


def _read_table(table: Any) -> _Table:
    """``P[s][a]`` as plain numbers; P and its rows are dictionaries or lists."""
    found: _Table = []
    for s in range(len(table) if isinstance(table, Mapping | list | tuple) else 0):
        row = table.get(s) if isinstance(table, Mapping) else table[s]
        if isinstance(row, list | tuple):
            row = dict(enumerate(row))
        if not isinstance(row, Mapping):
            raise InvalidModel(
                f"P[{s}] of this environment must map actions to outcomes, got {row!r:.60}: number the states "
                f"0…{len(table) - 1}"
            )
        found.append({})
        for a, outcomes in row.items():
            label = whole(a)
            if label is None:
                raise InvalidModel(f"P[{s}] of this environment has the action {a!r:.60}: number the actions 0, 1, …")
            found[s][label] = [_outcome(s, label, outcome, len(table)) for outcome in _several(s, label, outcomes)]
    if not found:
        raise InvalidModel(
            f"P of this environment must map states to actions to outcomes, as Gymnasium's toy texts have it, got "
            f"{type(table).__name__}; for arrays P[s, a, s'] use TabularMDP.from_dense"
        )
    return found


def _several(s: int, a: int, outcomes: Any) -> Iterable[Any]:
    if not isinstance(outcomes, list | tuple):
        raise InvalidModel(f"P[{s}][{a}] of this environment must be a list of outcomes, got {outcomes!r:.60}")
    return outcomes


def _outcome(s: int, a: int, outcome: Any, n: int) -> tuple[float, int, float, bool]:
    try:
        probability, successor, reward, terminated = outcome
        numbers = float(probability), float(reward), bool(terminated)
    except (TypeError, ValueError):
        raise InvalidModel(
            f"P[{s}][{a}] of this environment must list (probability, next state, reward, terminated), got "
            f"{outcome!r:.60}"
        ) from None
    target = whole(successor)
    if target is None or not 0 <= target < n:
        raise InvalidModel(
            f"P[{s}][{a}] of this environment leads to {successor!r:.60}: the states are numbered 0…{n - 1}"
        )
    return numbers[0], target, numbers[1], numbers[2]


def _needs_sink(table: _Table) -> bool:
    """Whether some ending transition leads to a state that is not absorbing with reward 0."""
    final = {t[1] for row in table for outcomes in row.values() for t in outcomes if t[3]}
    return any(t[1] != s or t[2] != 0 for s in final for outcomes in table[s].values() for t in outcomes)
