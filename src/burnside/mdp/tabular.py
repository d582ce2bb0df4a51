"""``TabularMDP``: a finite-horizon MDP (Def. 1), sparse over its admissible state-action pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from burnside._types import AnyArray, ArrayLike, BoolArray, FloatArray, IntArray
from burnside.errors import InvalidModel, UnknownName
from burnside.mdp.cells import Cell

if TYPE_CHECKING:
    from burnside.mdp.symmetry import Symmetry

__all__ = ["Names", "TabularMDP"]

#: How a model names its states or actions: a list of names, a function of the index, or nothing.
Names = Sequence[str] | Callable[[int], str] | None

#: Rows of the kernel and p₀ must sum to one this closely. Nothing is renormalised silently.
SUM_TOLERANCE = 1e-8
#: Labels of actions are below this: a model has few of them, and a large one in a file is a mistake that costs memory.
MOST_ACTIONS = 2**20


class TabularMDP:
    """A finite-horizon MDP ``(S, A, p, p0, r, H)`` of Def. 1.

    States are ``0..n_states-1``. The admissible pairs ``(s, a)`` are numbered ``0..n_pairs-1``, sorted by state and
    then by action, and everything lives on pairs: row ``i`` of ``P`` is the distribution of the successor of pair
    ``i``, ``R[i]`` (or ``R[t, i]`` if rewards depend on time) its mean reward. States may admit different actions.

    A state that admits no action is *terminal*: an episode that gets there is over, and nothing more is paid. It is a
    state like any other, but nothing is chosen in it, so it has no pairs and nothing has to be learned about it.

    Args:
        P: sparse or dense, shape ``(n_pairs, n_states)``; rows sum to one.
        R: shape ``(n_pairs,)`` or ``(H, n_pairs)``.
        p0: initial distribution, shape ``(n_states,)``.
        H: horizon, at least 1.
        pair_state: state of each pair; may be left out if every state admits the same number of actions.
        pair_action: label of each pair's action in the ambient action set; default ``0, 1, …`` within each state.
        name: shown in reports.
        state_names: names of the states, a sequence or a function of the index.
        action_names: names of the actions, likewise.
        symmetries: declared symmetries, name → function of the MDP; the first one is the default.
        positions: where pictures place the states, shape ``(n_states, 2)``: x to the right, y down, in any unit.
        cells: what pictures show inside a state, a function of its index; see :mod:`burnside.mdp.cells`.

    Example:
        A coin that can be kept or flipped, and pays 1 for heads:

        >>> import numpy as np
        >>> P = np.array([[1, 0], [0, 1], [0, 1], [1, 0.0]])        # heads·keep, heads·flip, tails·keep, tails·flip
        >>> coin = TabularMDP(P, R=[1, 0, 0, 1], p0=[0.5, 0.5], H=3)
        >>> coin.n_states, coin.n_pairs, coin.successors
        (2, 4, 1)
    """

    def __init__(
        self,
        P: Any,
        R: ArrayLike,
        p0: ArrayLike,
        H: int,
        *,
        pair_state: ArrayLike | None = None,
        pair_action: ArrayLike | None = None,
        name: str = "mdp",
        state_names: Names = None,
        action_names: Names = None,
        symmetries: Mapping[str, Callable[[TabularMDP], Symmetry]] | None = None,
        positions: ArrayLike | None = None,
        cells: Callable[[int], Sequence[Cell]] | None = None,
    ) -> None:
        self.name = name
        self.H = _horizon(H)
        self.p0 = _distribution(p0)
        self.n_states = self.p0.size
        kernel = _kernel(P, self.n_states)
        self.n_pairs: int = kernel.shape[0]
        states, actions = _pairs(pair_state, pair_action, self.n_pairs, self.n_states)
        rewards = _rewards(R, self.H, self.n_pairs)
        order = _pair_order(states, actions)
        if order is not None:
            kernel, states, actions = kernel[order], states[order], actions[order]
            rewards = np.ascontiguousarray(rewards[..., order])
        self.P: sp.csr_matrix = kernel
        self.R: FloatArray = rewards
        self.pair_state: AnyArray = states
        self.pair_action: AnyArray = actions
        self.pair_ptr: IntArray = np.searchsorted(states, np.arange(self.n_states + 1)).astype(np.int64)
        self._state_names = state_names
        self._action_names = action_names
        self.symmetries: dict[str, Callable[[TabularMDP], Symmetry]] = dict(symmetries or {})
        self.positions = _positions(positions, self.n_states)
        self._cells = cells
        self._check_rows()
        self._check_pairs()
        for array in (self.p0, self.R, self.pair_state, self.pair_action, self.pair_ptr):
            array.flags.writeable = False

    # ------------------------------------------------------------------ checks

    def _check_rows(self) -> None:
        sums = np.asarray(self.P.sum(axis=1)).ravel()
        off = np.abs(sums - 1.0) > SUM_TOLERANCE
        if off.any():
            i = int(np.argmax(off))
            raise InvalidModel(
                f"the transition probabilities of {self.pair_name(i)} sum to {sums[i]:.12g}, not to 1: "
                f"normalise that row, or leave the pair out if the action is not admissible"
            )

    def _check_pairs(self) -> None:
        same = (np.diff(self.pair_state) == 0) & (np.diff(self.pair_action) == 0)
        if same.any():
            raise InvalidModel(f"{self.pair_name(int(np.argmax(same)))} is given twice: list every pair once")

    # ------------------------------------------------------------------ sizes

    @property
    def n_actions(self) -> int:
        """Size of the ambient action set (Def. 1), of which each state admits a part."""
        used = int(self.pair_action.max()) + 1
        if self._action_names is not None and not callable(self._action_names):
            return max(used, len(self._action_names))
        return used

    @property
    def successors(self) -> int:
        """``C = max |Succ(s, a)|`` (Prop. 1)."""
        return int(np.diff(self.P.indptr).max())

    @property
    def time_dependent(self) -> bool:
        """Whether rewards depend on the time step."""
        return self.R.ndim == 2

    @property
    def reward_range(self) -> float:
        """Largest minus smallest mean reward; bounds for rewards in [0, 1] take ε divided by it.

        A terminal state pays 0 for the rest of the episode, so where there is one, 0 is among the rewards.
        """
        low, high = self.reward_limits(self.R)
        return float(high.max() - low.min())

    def reward_limits(self, rewards: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest of ``rewards`` on pairs (the last axis); 0 counts as well if a state is terminal."""
        low, high = rewards.min(axis=-1), rewards.max(axis=-1)
        if not self.n_terminal:
            return low, high
        return np.minimum(low, 0.0), np.maximum(high, 0.0)

    @cached_property
    def terminal(self) -> BoolArray:
        """Mask of the terminal states, those that admit no action.

        >>> door = TabularMDP([[0.5, 0.5]], [1], [1, 0], 3, pair_state=[0])      # leave with probability 1/2
        >>> door.terminal.tolist(), door.n_terminal
        ([False, True], 1)
        """
        mask: BoolArray = np.diff(self.pair_ptr) == 0
        mask.flags.writeable = False
        return mask

    @property
    def n_terminal(self) -> int:
        """Number of terminal states."""
        return int(self.terminal.sum())

    @property
    def nbytes(self) -> int:
        """Bytes held by the arrays of this MDP."""
        arrays = (self.P.data, self.P.indices, self.P.indptr, self.R, self.p0)
        return sum(a.nbytes for a in (*arrays, self.pair_state, self.pair_action, self.pair_ptr))

    # ------------------------------------------------------------------ pairs

    def reward(self, t: int) -> FloatArray:
        """Mean rewards of all pairs at time ``t`` in ``0..H-1``."""
        return self.R[t] if self.time_dependent else self.R

    def pairs_of(self, s: int) -> range:
        """Numbers of the pairs of state ``s``."""
        return range(int(self.pair_ptr[s]), int(self.pair_ptr[s + 1]))

    def pair_index(self, states: ArrayLike, actions: ArrayLike) -> IntArray:
        """Numbers of the pairs ``(states, actions)``, ``-1`` where the action is not admissible.

        >>> coin = TabularMDP([[1, 0], [0, 1], [0, 1], [1, 0]], [1, 0, 0, 1], [1, 0], 3)
        >>> coin.pair_index([0, 1, 1], [1, 0, 5]).tolist()
        [1, 2, -1]
        """
        s, a = np.asarray(states, dtype=np.int64), np.asarray(actions, dtype=np.int64)
        width = int(max(self.n_actions, a.max(initial=0) + 1))
        keys = self.pair_state.astype(np.int64) * width + self.pair_action
        wanted = s * width + a
        at = np.minimum(np.searchsorted(keys, wanted), self.n_pairs - 1)
        found: IntArray = np.where((keys[at] == wanted) & (a >= 0), at, -1)
        return found

    def over_actions(self, combine: np.ufunc, values: AnyArray, nothing: Any) -> AnyArray:
        """For values on pairs (the last axis), those of each state combined; terminal states get ``nothing``.

        >>> door = TabularMDP([[1, 0], [0, 1]], [0, 1], [1, 0], 3, pair_state=[0, 0])
        >>> door.over_actions(np.add, np.array([1.0, 2.0]), 0.0).tolist()
        [3.0, 0.0]
        """
        if not self.n_terminal:
            found: AnyArray = combine.reduceat(values, self.pair_ptr[:-1], axis=-1)
            return found
        # the stretch from one acting state's first pair to the next one's holds its own pairs only
        acting = np.flatnonzero(~self.terminal)
        some: AnyArray = combine.reduceat(values, self.pair_ptr[acting], axis=-1)
        found = np.full((*some.shape[:-1], self.n_states), nothing, dtype=some.dtype)
        found[..., acting] = some
        return found

    def max_over_actions(self, values: FloatArray) -> FloatArray:
        """For values on pairs, the best one of each state; 0 in terminal states."""
        return self.over_actions(np.maximum, values, 0.0)

    # ------------------------------------------------------------------ names

    def state_name(self, s: int) -> str:
        """Readable name of state ``s``."""
        return _name(self._state_names, int(s), "s")

    def action_name(self, a: int) -> str:
        """Readable name of action label ``a``."""
        return _name(self._action_names, int(a), "a")

    def pair_name(self, i: int) -> str:
        """Readable name of pair ``i``."""
        return f"({self.state_name(self.pair_state[i])}, {self.action_name(self.pair_action[i])})"

    def cells(self, s: int) -> tuple[Cell, ...]:
        """What a picture shows inside state ``s``; nothing for most models.

        >>> from burnside.mdp import zoo
        >>> [cell.holds for cell in zoo.slip_ring(5).cells(0)]
        ['goal', 'free', 'free', 'free', 'free']
        """
        return () if self._cells is None else tuple(self._cells(int(s)))

    def symmetry(self, name: str | None = None) -> Symmetry:
        """The declared symmetry of that name; the model's default one if no name is given."""
        if not self.symmetries:
            raise UnknownName("symmetry", name or "default", ["discover"])
        if name is None:
            name = next(iter(self.symmetries))
        for known, make in self.symmetries.items():
            if known.lower() == name.lower():
                return make(self)
        raise UnknownName(f"symmetry of {self.name}", name, [*self.symmetries, "discover"])

    def __repr__(self) -> str:
        terminal = f" ({self.n_terminal} terminal)" if self.n_terminal else ""
        return (
            f"TabularMDP({self.name!r}, states={self.n_states}{terminal}, pairs={self.n_pairs}, "
            f"successors={self.successors}, H={self.H})"
        )

    # ------------------------------------------------------------------ other ways to make one

    def replace(self, **changes: Any) -> TabularMDP:
        """A copy with some arguments of the constructor changed.

        >>> coin = TabularMDP([[1, 0], [0, 1], [0, 1], [1, 0]], [1, 0, 0, 1], [1, 0], 3)
        >>> coin.replace(H=5).H
        5
        """
        arguments: dict[str, Any] = {
            "P": self.P,
            "R": self.R,
            "p0": self.p0,
            "H": self.H,
            "pair_state": self.pair_state,
            "pair_action": self.pair_action,
            "name": self.name,
            "state_names": self._state_names,
            "action_names": self._action_names,
            "symmetries": self.symmetries,
            "positions": self.positions,
            "cells": self._cells,
        }
        unknown = set(changes) - set(arguments)
        if unknown:
            raise UnknownName("argument of TabularMDP", sorted(unknown)[0], arguments)
        return TabularMDP(**(arguments | changes))

    @classmethod
    def from_dense(
        cls, P: ArrayLike, R: ArrayLike, p0: ArrayLike, H: int, *, mask: ArrayLike | None = None, **rest: Any
    ) -> TabularMDP:
        """From arrays ``P[s, a, s']``, ``R[s, a]`` or ``R[t, s, a]``; ``mask[s, a]`` says what is admissible.

        A state of which nothing is admissible is terminal.
        """
        from burnside.mdp.build import from_dense

        return from_dense(P, R, p0, H, mask=mask, **rest)

    @classmethod
    def from_gym(cls, env: Any, H: int | None = None, **rest: Any) -> TabularMDP:
        """From a Gymnasium toy-text environment or its id (FrozenLake, Taxi, CliffWalking).

        States in which an episode is over offer no choices there: they are terminal, and what the table lists as their
        actions is not counted, unless ``terminal_actions=True``.
        """
        from burnside.mdp.build import from_gym

        return from_gym(env, H, **rest)

    @classmethod
    def from_step(cls, starts: Iterable[Any], actions: Any, step: Any, H: int, **rest: Any) -> TabularMDP:
        """From functions on hashable states, by enumerating what is reachable from ``starts``."""
        from burnside.mdp.build import from_step

        return from_step(starts, actions, step, H, **rest)

    @classmethod
    def from_file(cls, path: str | Path) -> TabularMDP:
        """From a ``.json`` or ``.npz`` file in Burnside's format (never a pickle)."""
        from burnside.mdp.files import load

        return load(path)

    def save(self, path: str | Path) -> Path:
        """Write to a ``.json`` or ``.npz`` file, atomically."""
        from burnside.mdp.files import save

        return save(self, path)


# ---------------------------------------------------------------------- reading the arguments


def _name(names: Names, i: int, prefix: str) -> str:
    if names is None:
        return f"{prefix}{i}"
    if callable(names):
        return names(i)
    return names[i] if i < len(names) else f"{prefix}{i}"


def _horizon(H: int) -> int:
    if isinstance(H, bool) or not isinstance(H, (int, np.integer)) or H < 1:
        raise InvalidModel(f"the horizon H must be a whole number of at least 1, got {H!r}")
    if H >= 2**63:
        raise InvalidModel(f"the horizon H must be below 2**63, got a number of {len(str(H))} digits")
    return int(H)


def _floats(values: ArrayLike, what: str) -> FloatArray:
    try:
        if np.iscomplexobj(values):
            raise TypeError  # numpy would only warn, and drop the imaginary part
        array = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise InvalidModel(f"{what} must be an array of numbers") from None
    if not np.isfinite(array).all():
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        raise InvalidModel(f"{what} holds {array[where]} at index {where}: every entry must be a finite number")
    return array


def _distribution(p0: ArrayLike) -> FloatArray:
    array = _floats(p0, "the initial distribution p0")
    if array.ndim != 1 or array.size == 0:
        raise InvalidModel(f"p0 must be a vector with one entry per state, got shape {array.shape}")
    if array.min() < 0 or abs(array.sum() - 1.0) > SUM_TOLERANCE:
        raise InvalidModel(
            f"p0 must be non-negative and sum to 1: its sum is {array.sum():.12g}, its minimum {array.min():g}"
        )
    return array


def _positions(positions: ArrayLike | None, n_states: int) -> FloatArray | None:
    if positions is None:
        return None
    array = _floats(positions, "the positions of the states")
    if array.shape != (n_states, 2):
        raise InvalidModel(f"positions must hold x and y of each of the {n_states} states, got shape {array.shape}")
    array.flags.writeable = False
    return array


def _kernel(P: Any, n_states: int) -> sp.csr_matrix:
    if sp.issparse(P):
        # a copy: what was verified must not change when the caller's matrix does
        kernel: Any = sp.csr_matrix(P, copy=True)  # type: ignore[call-overload]
        if kernel.dtype.kind not in "biuf":  # of complex numbers the imaginary part would be dropped
            raise InvalidModel(f"the transition kernel P must hold real numbers, got {kernel.dtype}")
        kernel = kernel.astype(np.float64, copy=False)
    else:
        dense = _floats(P, "the transition kernel P")
        if dense.ndim != 2:
            raise InvalidModel(
                f"P must have one row per pair and one column per state, got shape {dense.shape}; "
                f"for arrays P[s, a, s'] use TabularMDP.from_dense"
            )
        kernel = sp.csr_matrix(dense)
    if kernel.shape[1] != n_states:
        raise InvalidModel(f"P has {kernel.shape[1]} columns but p0 has {n_states} states: they must agree")
    if not kernel.has_canonical_format or (kernel.data == 0).any():
        kernel = kernel.copy()
        kernel.sum_duplicates()
        kernel.eliminate_zeros()
    if not np.isfinite(kernel.data).all():
        row = int(np.searchsorted(kernel.indptr, np.argmax(~np.isfinite(kernel.data)), side="right")) - 1
        raise InvalidModel(f"the transition kernel P holds a NaN or infinity in the row of pair {row}")
    if kernel.data.size and kernel.data.min() < 0:
        row = int(np.searchsorted(kernel.indptr, np.argmin(kernel.data), side="right")) - 1
        raise InvalidModel(f"P holds a negative probability ({kernel.data.min():g}) in the row of pair {row}")
    return kernel


def _rewards(R: ArrayLike, H: int, n_pairs: int) -> FloatArray:
    array = _floats(R, "the rewards R")
    if array.shape not in ((n_pairs,), (H, n_pairs)):
        raise InvalidModel(
            f"R must have shape ({n_pairs},) or, if rewards depend on time, ({H}, {n_pairs}); got {array.shape}"
        )
    largest = float(np.abs(array).max(initial=0.0))
    if not np.isfinite(2.0 * H * largest):  # the difference of two returns would not be a number
        raise InvalidModel(f"rewards of up to {largest:g} over a horizon of {H} overflow: scale them down")
    return array


def _indices(values: ArrayLike, what: str, n_pairs: int, below: int) -> AnyArray:
    array = np.asarray(values)
    if array.shape != (n_pairs,) or array.dtype.kind not in "iu":
        raise InvalidModel(
            f"{what} must hold one whole number per pair ({n_pairs}), got {array.dtype} of shape {array.shape}"
        )
    if array.min() < 0 or array.max() >= below:
        raise InvalidModel(f"{what} must lie in 0…{below - 1}, got values from {array.min()} to {array.max()}")
    return array.astype(np.int32 if array.max() < 2**31 else np.int64)


def _pairs(
    pair_state: ArrayLike | None, pair_action: ArrayLike | None, n_pairs: int, n_states: int
) -> tuple[AnyArray, AnyArray]:
    if n_pairs == 0:
        raise InvalidModel("there are no pairs: at least one state needs an admissible action")
    if pair_state is None:
        if n_pairs % n_states:
            raise InvalidModel(
                f"{n_pairs} pairs do not divide evenly among {n_states} states: pass pair_state, the state of each pair"
            )
        pair_state = np.repeat(np.arange(n_states), n_pairs // n_states)
    states = _indices(pair_state, "pair_state", n_pairs, n_states)
    if pair_action is None:
        if n_pairs > 1 and (np.diff(states) < 0).any():
            raise InvalidModel("pair_state is not sorted: sort the pairs by state, or pass pair_action as well")
        first = np.searchsorted(states, states)
        pair_action = np.arange(n_pairs) - first
    return states, _indices(pair_action, "pair_action", n_pairs, MOST_ACTIONS)


def _pair_order(states: AnyArray, actions: AnyArray) -> AnyArray | None:
    """The permutation that sorts pairs by (state, action); None if they are sorted already."""
    step_s, step_a = np.diff(states), np.diff(actions)
    if not ((step_s < 0) | ((step_s == 0) & (step_a < 0))).any():
        return None
    order: AnyArray = np.lexsort((actions, states))
    return order
