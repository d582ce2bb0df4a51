"""Signed permutations that transitions do not contradict: guesses of a symmetry, to be checked elsewhere.

From transitions ``(o, a, r, o')`` statistics are computed that a symmetry must keep: means and covariances of the
observations, and how their change depends on observation and action. Blocks of consecutive transitions give
their standard errors. A search then assigns numbers to numbers, with signs, as long as all statistics agree
within some standard errors. The guesses are generous: everything that the data do not contradict is proposed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from burnside._archives import open_archive
from burnside._files import from_parquet, read_bytes
from burnside._types import AnyArray, FloatArray
from burnside.errors import DamagedFile, InvalidAction, InvalidParameter
from burnside.symmetry.labels import Labels
from burnside.symmetry.vectors import SignedPermutation

__all__ = ["Proposal", "Transitions", "collect", "episodes_as_arrays", "misfit", "propose", "propose_linear"]

_BLOCKS = 20
_HALF = 10 * _BLOCKS  # transitions from which anything can be said
_FEWEST = 2 * _HALF  # one half proposes, the other one decides
_MOST_LABELS = 1024  # of actions; each becomes a column
_LARGEST = 2**30  # bytes of a parquet file
_MOST = 64  # proposals
_NODES = 4000  # of the search
_DIVES = 64  # searches that choose at random, where there are more than can be listed
_STILL = 3  # numbers that never changed, for which both signs are proposed


@dataclass(frozen=True)
class Transitions:
    """What an agent saw and did.

    Attributes:
        observations: (n, d).
        actions: (n, m) numbers, or (n,) labels.
        rewards: (n,).
        next_observations: (n, d).
        labels: how many labels there are, where actions are labels; else 0.
    """

    observations: FloatArray
    actions: AnyArray
    rewards: FloatArray
    next_observations: FloatArray
    labels: int = 0

    def __post_init__(self) -> None:
        n = len(self.observations)
        if self.observations.ndim != 2 or self.next_observations.shape != self.observations.shape:
            raise InvalidParameter("observations and next_observations must be arrays of the same shape (n, d)")
        if len(self.actions) != n or self.rewards.shape != (n,):
            raise InvalidParameter(f"there are {n} observations, so there must be {n} actions and rewards")
        if n < _HALF:
            raise _too_few(n)
        arrays = (self.observations, self.next_observations, self.rewards, np.asarray(self.actions, dtype=np.float64))
        if not all(np.isfinite(a).all() for a in arrays):
            raise InvalidParameter("transitions must be finite numbers")

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, AnyArray]) -> Transitions:
        """From named arrays; Minari's and D4RL's names are understood."""
        names = {
            "observations": ("observations", "obs"),
            "actions": ("actions", "action"),
            "rewards": ("rewards", "reward"),
            "next_observations": ("next_observations", "next_obs"),
        }
        found = {}
        for field, spellings in names.items():
            present = [name for name in spellings if name in arrays]
            if not present:
                raise InvalidParameter(f"the transitions have no array {field!r}: they have {', '.join(arrays)}")
            found[field] = np.asarray(arrays[present[0]])
        for field, array in found.items():
            if array.dtype.kind not in "fiub":
                raise InvalidParameter(f"{field!r} must be numbers, but they have the type {array.dtype}: flatten them")
        if found["observations"].ndim == 1 and found["observations"].dtype.kind in "iu":
            raise InvalidParameter(
                "the observations are labels, one whole number each, and discovery in data needs vectors of numbers: "
                "give the environment itself, whose table is then searched"
            )
        labels = found["actions"].ndim == 1 and found["actions"].dtype.kind in "iu"
        if labels and found["actions"].min(initial=0) < 0:
            raise InvalidParameter("actions that are labels must be 0, 1, 2, …, but some are negative")
        n = min(len(array) if array.ndim else 0 for array in found.values())
        if n < _FEWEST:
            raise _too_few(n)
        n_labels = int(found["actions"].max()) + 1 if labels else 0
        if n_labels > _MOST_LABELS:
            raise InvalidParameter(
                f"actions that are labels must be below {_MOST_LABELS}, and one is {n_labels - 1}: number those that "
                "occur 0, 1, 2, …, or give a column of numbers as an array of shape (n, 1)"
            )
        actions = found["actions"] if labels else _columns(found["actions"])
        return cls(
            _columns(found["observations"]), actions, np.asarray(found["rewards"], dtype=np.float64).ravel(),
            _columns(found["next_observations"]), n_labels,
        )  # fmt: skip

    @classmethod
    def from_file(cls, path: str | Path) -> Transitions:
        """From an npz or parquet file, of which nothing is executed; or from ``minari:name``, a dataset of Minari.

        A column of a parquet file holds numbers or lists of them; ``observations_0``, ``observations_1``, … are taken
        together.
        """
        name = str(path)
        if name.startswith("minari:"):
            return cls.from_arrays(_from_minari(name.removeprefix("minari:")))
        if name.endswith(".parquet"):
            return cls.from_arrays(_from_parquet(path))
        with open_archive(path) as archive:
            return cls.from_arrays(archive.arrays(archive.names))

    def halves(self) -> tuple[Transitions, Transitions]:
        """The earlier and the later half."""
        if len(self.observations) < _FEWEST:
            raise _too_few(len(self.observations))
        half = len(self.observations) // 2
        return self._part(slice(0, half)), self._part(slice(half, None))

    def _part(self, where: slice) -> Transitions:
        o, a, r, o2 = (x[where] for x in (self.observations, self.actions, self.rewards, self.next_observations))
        return Transitions(o, a, r, o2, self.labels)


def _too_few(n: int) -> InvalidParameter:
    return InvalidParameter(f"{n} transitions are too few to say anything: give at least {_FEWEST}")


def _from_parquet(path: str | Path) -> dict[str, AnyArray]:
    try:
        found: dict[str, AnyArray] = from_parquet(read_bytes(path, _LARGEST), _columns_of_frame)
    except DamagedFile as error:
        raise DamagedFile(f"cannot read {path} as parquet: it is damaged, or something else ({error})") from None
    return found


def _columns_of_frame(frame: Any) -> dict[str, AnyArray]:
    import polars

    found: dict[str, AnyArray] = {}
    numbered: dict[str, list[tuple[int, str]]] = {}
    for name in frame.columns:
        if match := re.fullmatch(r"(.*?)[_.\[]?(\d+)\]?", name):
            numbered.setdefault(match[1], []).append((int(match[2]), name))
        else:
            values = frame[name]
            nested = isinstance(values.dtype, polars.List | polars.Array)
            found[name] = _stacked(values.to_list(), name) if nested else values.to_numpy()
    for stem, columns in numbered.items():
        found.setdefault(stem, frame.select([name for _, name in sorted(columns)]).to_numpy())
    return found


def _stacked(rows: list[Any], name: str) -> AnyArray:
    try:
        return np.array(rows)
    except ValueError:
        raise InvalidParameter(f"the lists of {name!r} differ in length: every row needs as many numbers") from None


def _from_minari(name: str) -> dict[str, AnyArray]:
    try:
        import minari  # type: ignore[import-not-found]
    except ImportError:
        raise InvalidParameter("Minari is not installed: pip install minari") from None
    try:
        episodes = list(minari.load_dataset(name).iterate_episodes())
    except Exception as error:  # whatever Minari raises about a name or a file
        raise InvalidParameter(f"Minari cannot load {name!r}: {error}") from None
    return episodes_as_arrays(episodes, name)


def episodes_as_arrays(episodes: Iterable[Any], name: str) -> dict[str, AnyArray]:
    """Transitions of episodes as Minari has them: one observation more than actions, the last one after the end."""
    rows: dict[str, list[AnyArray]] = {"observations": [], "actions": [], "rewards": [], "next_observations": []}
    for episode in episodes:
        for what in ("observations", "actions"):
            if isinstance(getattr(episode, what), dict | tuple):
                raise InvalidParameter(f"the {what} of {name!r} have several parts, but must be vectors of numbers")
        seen = np.asarray(episode.observations)
        rows["observations"].append(seen[:-1])
        rows["next_observations"].append(seen[1:])
        rows["actions"].append(np.asarray(episode.actions))
        rows["rewards"].append(np.asarray(episode.rewards))
    if not rows["rewards"]:
        raise InvalidParameter(f"{name!r} has no episodes")
    return {key: np.concatenate(parts) for key, parts in rows.items()}


def _columns(x: AnyArray) -> FloatArray:
    x = np.asarray(x, dtype=np.float64)
    return x.reshape(len(x), -1)


def collect(env: Any, steps: int, seed: int = 0, policy: Any = None, episode: int = 50) -> Transitions:
    """Play with random actions, or with a policy, and keep every transition.

    Args:
        env: a Gymnasium environment with vectors as observations.
        steps: how many transitions.
        seed: of resets and actions.
        policy: a function of the observation that returns an action.
        episode: most episodes are ended after this many steps: many short ones tell more than a few long ones, whose
            states depend on each other. Every fourth may take eight times as long, to see what comes late.
    """
    space, actions = env.observation_space, env.action_space
    if len(getattr(space, "shape", None) or ()) != 1 or not hasattr(space, "low"):
        raise InvalidParameter(f"discovery needs observations that are vectors of numbers, not {space}")
    discrete = hasattr(actions, "n")
    if not discrete and (len(getattr(actions, "shape", None) or ()) != 1 or not hasattr(actions, "low")):
        raise InvalidParameter(f"discovery needs actions that are labels or vectors of numbers, not {actions}")
    first = int(getattr(actions, "start", 0))
    actions.seed(seed)
    rows: tuple[list[Any], ...] = ([], [], [], [])
    observation, _ = env.reset(seed=seed)
    age = played = 0
    for _ in range(steps):
        action = actions.sample() if policy is None else policy(observation)
        after, reward, terminated, truncated, _ = env.step(action)
        kept = np.array(observation, dtype=np.float64), action, float(reward), np.array(after, dtype=np.float64)
        for row, value in zip(rows, kept, strict=True):
            row.append(value)
        observation, age = after, age + 1
        if terminated or truncated or age >= episode * (8 if played % 4 == 3 else 1):
            (observation, _), age = env.reset(), 0
            played += 1
    o, a, r, o2 = rows
    taken = np.array(a, dtype=np.int64) - first if discrete else _columns(np.array(a))
    return Transitions(np.array(o), taken, np.array(r), np.array(o2), int(actions.n) if discrete else 0)


@dataclass(frozen=True)
class Proposal:
    """A signed permutation that the data do not contradict.

    Attributes:
        observation: on observations.
        action: on actions.
        score: the mean of squared differences, in standard errors: about 1 for a symmetry.
        order: how often it must be repeated until all is back.
    """

    observation: SignedPermutation
    action: SignedPermutation | Labels
    score: float
    order: int


# ---------------------------------------------------------------------- statistics


@dataclass(frozen=True)
class _Statistic:
    """Numbers for every variable, or every two of them, with variances of their errors.

    ``first`` and ``second`` say whether a change of sign of the first and of the second variable changes the number.
    """

    value: FloatArray
    variance: FloatArray
    first: bool = True
    second: bool = True


_known: dict[int, tuple[Transitions, list[_Statistic]]] = {}


def _statistics_of(data: Transitions) -> list[_Statistic]:
    """All statistics, computed once for the same data."""
    if id(data) not in _known or _known[id(data)][0] is not data:
        _known.clear()
        _known[id(data)] = (data, _statistics(data, dynamics_only=False))
    return _known[id(data)][1]


def _statistics(data: Transitions, dynamics_only: bool) -> list[_Statistic]:
    """What a symmetry keeps, over variables: first the numbers of the observation, then those of the action."""
    o, change = data.observations, data.next_observations - data.observations
    if data.labels:
        a: FloatArray = np.eye(data.labels)[data.actions] - 1.0 / data.labels
    else:
        a = np.asarray(data.actions, dtype=np.float64)
    d, m = o.shape[1], a.shape[1]
    centre = o.mean(axis=0)
    blocks = np.array_split(np.arange(len(o)), _BLOCKS)
    found: dict[str, list[FloatArray]] = {"effect": [], "bend": [], "drift": [], "mean": [], "covariance": []}
    spread = np.maximum(o.std(axis=0), 1e-12)
    squares = np.concatenate([((o - centre) / spread) ** 2 - 1, np.zeros((len(o), m))], axis=1)
    for block in blocks:
        inputs = np.concatenate([o[block] - centre, a[block]], axis=1)
        ridge = 1e-9 * np.diag(np.maximum((inputs**2).sum(axis=0), 1e-12))
        gram = inputs.T @ inputs + ridge
        mean_change = change[block].mean(axis=0)
        effect = np.zeros((d + m, d + m))
        effect[:d] = np.linalg.solve(gram, inputs.T @ (change[block] - mean_change)).T
        found["effect"].append(effect)
        bend = np.zeros((d + m, d + m))  # what is left of the change, beside the squares of the numbers
        left = change[block] - mean_change - inputs @ effect[:d].T
        bend[:d, :d] = left.T @ squares[block][:, :d] / len(block)
        found["bend"].append(bend)
        found["drift"].append(np.concatenate([mean_change, np.zeros(m)]))
        found["mean"].append(np.concatenate([o[block].mean(axis=0), np.zeros(m)]))
        covariance = np.zeros((d + m, d + m))
        covariance[:d, :d] = np.cov((o[block]).T).reshape(d, d)
        found["covariance"].append(covariance)
    names = ("effect",) if dynamics_only else tuple(found)
    # The square of a number about its mean does not change with its sign.
    return [replace(_summary(np.array(found[name])), second=name != "bend") for name in names]


def _summary(blocks: FloatArray) -> _Statistic:
    """The median over blocks, which one wild block does not move, and the variance of its error."""
    value = np.median(blocks, axis=0)
    spread = 1.4826 * np.median(np.abs(blocks - value), axis=0)
    variance = (1.2533 * spread) ** 2 / len(blocks)
    floor = (1e-7 * np.abs(value).max(initial=0.0)) ** 2 + 1e-24
    return _Statistic(value, variance + floor)


# ---------------------------------------------------------------------- the search


def propose(data: Transitions, z: float = 5.0) -> list[Proposal]:
    """All signed permutations that agree with the data within ``z`` standard errors, the best first.

    Those that agree with all statistics come first, then those that agree with the dynamics alone: starting states can
    be asymmetric though the dynamics are not.

    >>> rng = np.random.default_rng(0)
    >>> x, a = rng.normal(size=(4000, 2)), rng.normal(size=(4000, 1))
    >>> data = Transitions(x, a, np.zeros(4000), x + 0.1 * np.stack([x[:, 1], a[:, 0] - np.sin(x[:, 0])], axis=1))
    >>> [(str(p.observation), str(p.action)) for p in propose(data)]
    [('-0,-1', '-0')]
    """
    found: list[Proposal] = []
    known: set[tuple[str, str]] = set()
    # Few data leave room for so many permutations that plain changes of sign, the most usual maps, are sought first.
    for dynamics_only, in_place in ((False, True), (False, False), (True, True), (True, False)):
        for proposal in _search(_Size.of(data), _statistics(data, dynamics_only), z, in_place):
            key = str(proposal.observation), str(proposal.action)
            if key not in known:
                known.add(key)
                found.append(proposal)
    return found


def propose_linear(effect: FloatArray, fixed: list[FloatArray], d: int, labels: bool) -> list[Proposal]:
    """The same from derivatives at one state that the symmetry keeps, which are known up to rounding.

    Args:
        effect: how the numbers of the observation change with all numbers, those of the action last.
        fixed: vectors of all numbers that must stay: what is seen there, and what follows if nothing is done.
        d: numbers of the observation.
        labels: whether actions are labels; then their columns are differences from the mean.

    >>> effect = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    >>> [(str(p.observation), str(p.action)) for p in propose_linear(effect, [np.zeros(3)], 2, False)]
    [('-0,-1', '-0')]
    """
    statistics = []
    for value in (effect, *fixed):
        error = 2e-4 * np.abs(value).max(initial=0.0) + 1e-5
        statistics.append(_Statistic(value, np.full_like(value, error**2)))
    size = _Size(d, len(effect) - d, labels, np.ones(len(effect), dtype=bool))
    found: list[Proposal] = []
    for in_place in (True, False):
        found += [p for p in _search(size, statistics, 5.0, in_place) if p not in found]
    return found


@dataclass(frozen=True)
class _Size:
    """How many numbers observation and action have, whether actions are labels, and which numbers ever change."""

    d: int
    m: int
    labels: bool
    varies: AnyArray

    @classmethod
    def of(cls, data: Transitions) -> _Size:
        m = data.labels or data.actions.shape[1]
        varies = np.concatenate([np.ptp(data.observations, axis=0) > 0, np.ones(m, dtype=bool)])
        return cls(data.observations.shape[1], m, bool(data.labels), varies)


def _search(size: _Size, statistics: list[_Statistic], z: float, in_place: bool) -> list[Proposal]:
    d, m, varies = size.d, size.m, size.varies
    possible = _candidates(statistics, d, m, size.labels, varies, z)
    if in_place:  # the numbers of the observation keep their places
        possible[:d, :d] &= np.eye(d, dtype=bool)[..., None]
    found: list[Proposal] = []

    def add(image: AnyArray, sign: AnyArray) -> None:
        if (image == np.arange(d + m)).all() and (sign[varies] > 0).all():
            return  # nothing changes that was ever seen to change
        proposal = _proposal(image, sign, d, size.labels, _score(image, sign, statistics))
        if proposal is not None and proposal not in found:
            found.append(proposal)

    for image, sign in _assignments(possible, statistics, z):
        add(image, sign)
        if len(found) >= _MOST:
            # These have their first choices in common: a corner of what is possible, which may hold no symmetry.
            rng = np.random.default_rng(0)
            for _ in range(_DIVES):
                for other in islice(_assignments(possible, statistics, z, rng), 1):
                    add(*other)
            break
    return sorted(found, key=lambda p: (p.order, p.score))


def _candidates(statistics: list[_Statistic], d: int, m: int, labels: bool, varies: AnyArray, z: float) -> AnyArray:
    """``possible[i, k, s]``: number i may become number k, with its sign kept (s = 0) or changed (s = 1)."""
    n = d + m
    possible = np.ones((n, n, 2), dtype=bool)
    possible[:d, d:] = possible[d:, :d] = False
    if labels:
        possible[d:, d:, 1] = False
    still = np.flatnonzero(~varies)
    possible[still], possible[:, still] = False, False
    possible[still, still, 0] = True  # what never changes stays where it is
    if len(still) <= _STILL:  # … and may have any sign: a force of constraint that was never felt
        possible[still[still < d], still[still < d], 1] = True
    for statistic in statistics:
        value, variance = statistic.value, statistic.variance
        if value.ndim == 2:
            value, variance = np.diag(value), np.diag(variance)
        both = z * np.sqrt(variance[:, None] + variance[None, :])
        possible[..., 0] &= np.abs(value[:, None] - value[None, :]) <= both
        odd = statistic.value.ndim == 1 or not statistic.second
        possible[..., 1] &= np.abs(value[:, None] + (value if odd else -value)[None, :]) <= both
    return possible


def _assignments(
    possible: AnyArray, statistics: list[_Statistic], z: float, rng: np.random.Generator | None = None
) -> Iterator[tuple[AnyArray, AnyArray]]:
    """Backtracking with forward checking: what the statistics of two numbers exclude is struck out at once.

    Struck out only where the search goes on: of many choices it looks at few, and of n² assignments few are left.
    The best choice comes first, or with a generator any.
    """
    n = len(possible)
    pairs = [s for s in statistics if s.value.ndim == 2]
    nodes = 0
    stack: list[tuple[AnyArray, dict[int, tuple[int, int]], int]] = [(possible, {}, -1)]
    while stack and nodes < _NODES:
        options, done, last = stack.pop()
        nodes += 1
        if last >= 0:
            k, s = done[last]
            options = options.copy()
            options[last], options[:, k] = False, False
            options[last, k, s] = True
            _strike_out(options, last, k, s, pairs, z)
        counts = options.sum(axis=(1, 2))
        if (counts == 0).any():
            continue
        open_ = [i for i in range(n) if i not in done]
        if not open_:
            image = np.array([done[i][0] for i in range(n)])
            yield image, np.array([1 - 2 * done[i][1] for i in range(n)])
            continue
        i = min(open_, key=lambda j: int(counts[j]))
        choices = [(int(k), int(s)) for k, s in zip(*np.nonzero(options[i]), strict=True)]
        if rng is not None:
            rng.shuffle(choices)
        elif len(choices) > 1:
            found = dict(zip(choices, _misfits(i, choices, done, pairs), strict=True))
            choices.sort(key=lambda choice: found[choice], reverse=True)  # the best is popped first
        stack += [(options, done | {i: choice}, i) for choice in choices]


def _strike_out(options: AnyArray, i: int, k: int, s: int, pairs: list[_Statistic], z: float) -> None:
    """Given i → ±k, forbid every j → ±h whose statistics with them do not agree."""
    j, h, t = np.nonzero(options)
    kept = np.ones(len(j), dtype=bool)
    for statistic in pairs:
        for value, variance, mine, other in (
            (statistic.value, statistic.variance, statistic.first, statistic.second),
            (statistic.value.T, statistic.variance.T, statistic.second, statistic.first),
        ):
            sign = (1 - 2 * s * mine) * (1 - 2 * t * other)
            bound = z * np.sqrt(variance[i, j] + variance[k, h])
            kept &= np.abs(value[i, j] - sign * value[k, h]) <= bound
    options[j, h, t] = kept


def _misfits(
    i: int, choices: list[tuple[int, int]], done: dict[int, tuple[int, int]], pairs: list[_Statistic]
) -> list[float]:
    """How far the statistics of i with what is done are from those of its possible images."""
    k, s = np.array(choices).T[:, :, None]
    total = np.where(k[:, 0] == i, 0.0, 1e-3)
    if not done:
        return [float(x) for x in total]
    j = np.array(list(done))
    image, t = np.array(list(done.values())).T
    for statistic in pairs:
        for value, variance, mine, other in (
            (statistic.value, statistic.variance, statistic.first, statistic.second),
            (statistic.value.T, statistic.variance.T, statistic.second, statistic.first),
        ):
            sign = (1 - 2 * s * mine) * (1 - 2 * t * other)
            off = value[i, j] - sign * value[k, image]
            total += np.sum(off**2 / (variance[i, j] + variance[k, image]), axis=1)
    return [float(x) for x in total]


def _score(image: AnyArray, sign: AnyArray, statistics: list[_Statistic]) -> float:
    off = np.concatenate([_deviations(image, sign, s) for s in statistics])
    return float(np.mean(off**2)) if off.size else 0.0


def _deviations(image: AnyArray, sign: AnyArray, statistic: _Statistic) -> FloatArray:
    """Differences between a statistic and its image, in standard errors."""
    value, variance = statistic.value, statistic.variance
    if value.ndim == 1:
        moved, error = sign * value[image], variance[image]
    else:
        one = sign if statistic.first else np.ones_like(sign)
        other = sign if statistic.second else np.ones_like(sign)
        moved, error = one[:, None] * other[None, :] * value[np.ix_(image, image)], variance[np.ix_(image, image)]
    off = ((value - moved) / np.sqrt(variance + error)).ravel()
    return off[np.abs(value - moved).ravel() > 0]  # numbers that are mapped to themselves tell nothing


def _proposal(image: AnyArray, sign: AnyArray, d: int, labels: bool, score: float) -> Proposal | None:
    """Number i becomes ± number image[i]; as maps ``new[image[i]] = ± old[i]``."""
    back = np.argsort(image)
    observation = SignedPermutation(back[:d], sign[back[:d]])
    if labels:
        action: SignedPermutation | Labels = Labels(",".join(str(k) for k in (image[d:] - d)))
    else:
        action = SignedPermutation(back[d:] - d, sign[back[d:]])
    try:
        order = int(np.lcm(observation.order(), action.order()))
    except InvalidAction:  # it has to be repeated very often
        return None
    return Proposal(observation, action, score, order) if order <= 12 else None


def misfit(data: Transitions, observation: SignedPermutation, action: SignedPermutation | Labels) -> float:
    """How far one signed permutation is from the data: the mean of squared differences, in standard errors."""
    d = data.observations.shape[1]
    if isinstance(action, Labels):
        image_a, sign_a = np.asarray(action.table), np.ones(action.count)
    else:
        image_a, sign_a = np.argsort(action.index), np.asarray(action.inverse().signs, dtype=np.float64)
    back = observation.inverse()
    image = np.concatenate([back.index, image_a + d])
    sign = np.concatenate([back.signs.astype(np.float64), sign_a])
    return _score(image, sign, _statistics_of(data))
