"""The state of one native member: plain arrays, saved without pickles and resumed to the same bits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike

from burnside._random import Stream, uniform
from burnside._types import AnyArray
from burnside.agents.dqn.checkpoint import read_checkpoint, write_checkpoint
from burnside.agents.dqn.config import DQNConfig, Log, Member
from burnside.envs.ring.core import RingSpec
from burnside.errors import InvalidParameter

if TYPE_CHECKING:
    from burnside.agents.dqn._kernels import Arrays, Layout, Rules, Work

__all__ = [
    "MemberState",
    "identity",
    "layout",
    "load",
    "new_state",
    "parameters",
    "rules",
    "save",
    "scratch",
    "set_parameters",
]

_PANEL = 32  # as _gather.PANEL, which would load numba
LOG_COLUMNS = ("returns", "lengths", "solved", "epsilon", "steps", "updates", "loss")
#: The conditions the native engine plays, in the order of their numbers in compiled code.
NATIVE_CONDITIONS = ("baseline", "canonical", "augment")


#: A transition in 32 bytes, so that drawing one touches one cache line: board (a row of ``boards``), positions before
#: and after, the cached target value of the position after, and the number of syncs at which it was computed.
TRANSITION = np.dtype(
    [
        ("board", np.int32),
        ("pos", np.int32),
        ("after", np.int32),
        ("stamp", np.int32),
        ("reward", np.float32),
        ("value", np.float32),
        ("action", np.int16),
        ("terminated", np.uint8),
        ("spare", np.uint8, (5,)),
    ]
)


def aligned(size: int, dtype: DTypeLike = np.float32) -> AnyArray:
    """Zeros that begin on a cache line: loads across two lines halve the speed of the products."""
    bytes_ = np.zeros(size * np.dtype(dtype).itemsize + 64, dtype=np.uint8)
    start = -bytes_.ctypes.data % 64
    return bytes_[start : start + size * np.dtype(dtype).itemsize].view(dtype)


@dataclass
class MemberState:
    """Everything a member remembers between episodes.

    Attributes:
        config, spec, member: What is being run.
        arrays: Network, target, Adam, replay, counters; see ``_kernels.Arrays``.
        log: One row per episode so far, columns ``LOG_COLUMNS``.
    """

    config: DQNConfig
    spec: RingSpec
    member: Member
    arrays: Arrays
    log: AnyArray = field(default_factory=lambda: np.empty((0, len(LOG_COLUMNS))))

    @property
    def episode(self) -> int:
        """Episodes played."""
        return int(self.arrays.counters[0])

    def to_log(self) -> Log:
        """The log with names and types."""
        return log_from_rows(self.member, self.log)


def log_from_rows(member: Member, rows: AnyArray) -> Log:
    """Rows with the columns ``LOG_COLUMNS`` as a log."""
    returns, lengths, solved, epsilon, steps, updates, loss = rows.T.copy()
    whole = np.int64
    return Log(
        member, returns, lengths.astype(whole), solved > 0, epsilon, steps.astype(whole), updates.astype(whole), loss
    )


def layout(config: DQNConfig, spec: RingSpec) -> Layout:
    """Where the parts of the network lie; every part begins on a cache line."""
    from burnside.agents.dqn._kernels import Layout

    if config.encoder != "onehot":
        raise InvalidParameter(f"the native engine has no encoder {config.encoder!r}: use the torch engine")
    if any(width % _PANEL for width in config.hidden):
        raise InvalidParameter(
            f"hidden is {config.hidden}: the native engine needs multiples of {_PANEL}; use those or the torch engine"
        )
    inputs, (h1, h2), actions = 2 * spec.n_cells, config.hidden, spec.n_actions
    sizes = (inputs * h1, h1 * h2, h1, h2, actions * h2, actions)
    w1, w2, b1, b2, w3, b3, size = accumulate((-(-size // 16) * 16 for size in sizes), initial=0)
    return Layout(inputs, h1, h2, actions, w1, w2, b1, b2, w3, b3, size)


def rules(config: DQNConfig, spec: RingSpec, member: Member) -> Rules:
    """The constants of a run, for compiled code."""
    from burnside.agents.dqn._kernels import Rules

    if member.condition not in NATIVE_CONDITIONS:
        raise InvalidParameter(f"the native engine does not play {member.condition!r}: use the torch engine")
    return Rules(
        n=spec.n,
        d=spec.d,
        cells=spec.n_cells,
        p_mine=float(spec.p_mine),
        end_reward=float(spec.end_reward),
        time_limit=spec.time_limit,
        seed=member.seed,
        condition=NATIVE_CONDITIONS.index(member.condition),
        gamma=config.gamma,
        capacity=config.capacity,
        batch=config.batch,
        rate=config.learning_rate,
        huber=config.loss == "huber",
        update_every=config.update_every,
        target_every=config.target_every,
        target_every_steps=config.target_every_steps,
        epsilon_start=config.epsilon_start,
        epsilon_end=config.epsilon_end,
        epsilon_decay=config.epsilon_decay,
        epsilon_steps=config.epsilon_steps,
    )


def empty_arrays(config: DQNConfig, spec: RingSpec) -> Arrays:
    """Arrays of the right shapes, all zero."""
    from burnside.agents.dqn._kernels import Arrays

    size, capacity = layout(config, spec).size, config.capacity
    return Arrays(
        weights=aligned(size),
        target=aligned(size),
        m=aligned(size),
        v=aligned(size),
        # One transition at least per episode: the boards of the last ``capacity`` episodes and of the present one.
        boards=np.zeros((capacity + 1, spec.n_cells), dtype=np.int8),
        replay=aligned(capacity, TRANSITION),
        counters=np.zeros(5, dtype=np.int64),
    )


def new_state(config: DQNConfig, spec: RingSpec, member: Member) -> MemberState:
    """A member before its first episode, its network drawn as PyTorch's ``Linear`` draws it.

    That is uniform on ±1/√inputs for weights and biases (Kaiming uniform with a = √5), from stream INIT.

    >>> state = new_state(DQNConfig(), RingSpec(5), Member(0))
    >>> {name: a.shape for name, a in parameters(state).items()}["w2"]
    (128, 128)
    """
    rules(config, spec, member)  # refuses conditions this engine does not play
    state = MemberState(config, spec, member, empty_arrays(config, spec))
    net = layout(config, spec)
    drawn, counter = {}, 0
    for number, (narrow, wide) in enumerate(((net.inputs, net.h1), (net.h1, net.h2), (net.h2, net.actions)), start=1):
        bound = 1.0 / np.sqrt(narrow)
        for name, shape in ((f"w{number}", (narrow, wide)), (f"b{number}", (wide,))):
            count = int(np.prod(shape))
            u = uniform(member.seed, Stream.INIT, np.arange(counter, counter + count))
            drawn[name] = ((2 * u - 1) * bound).astype(np.float32).reshape(shape)
            counter += count
    set_parameters(state, drawn)
    state.arrays.target[:] = state.arrays.weights
    return state


def _parts(net: Layout, flat: AnyArray) -> dict[str, AnyArray]:
    """Views of the parts of a flat parameter array: W1 and the transpose of W2 in panels, W3 by action."""

    def part(at: int, *shape: int) -> AnyArray:
        return flat[at : at + int(np.prod(shape))].reshape(shape)

    return {
        "w1": part(net.w1, net.h1 // _PANEL, net.inputs, _PANEL),
        "b1": part(net.b1, net.h1),
        "w2": part(net.w2, net.h1 // _PANEL, net.h2, _PANEL),  # transposed: see _kernels.Work.w2
        "b2": part(net.b2, net.h2),
        "w3": part(net.w3, net.actions, net.h2),
        "b3": part(net.b3, net.actions),
    }


def parameters(state: MemberState, which: str = "weights") -> dict[str, AnyArray]:
    """Copies of the parameters in their natural shapes, ``x @ w + b``.

    ``which`` is ``weights``, ``target``, or Adam's ``m`` or ``v``.
    """
    parts = _parts(layout(state.config, state.spec), getattr(state.arrays, which))
    out = {name: a.copy() for name, a in parts.items()}
    for name in ("w1", "w2"):
        out[name] = parts[name].transpose(1, 0, 2).reshape(parts[name].shape[1], -1).copy()
    out["w2"], out["w3"] = out["w2"].T.copy(), out["w3"].T.copy()
    return out


def set_parameters(state: MemberState, values: dict[str, AnyArray]) -> None:
    """Write parameters given in their natural shapes."""
    parts = _parts(layout(state.config, state.spec), state.arrays.weights)
    for name, matrix in (("w1", values["w1"]), ("w2", np.asarray(values["w2"]).T)):
        panels, narrow, _ = parts[name].shape
        parts[name][:] = np.asarray(matrix).reshape(narrow, panels, _PANEL).transpose(1, 0, 2)
    parts["w3"][:] = np.asarray(values["w3"]).T
    for name in ("b1", "b2", "b3"):
        parts[name][:] = values[name]


def scratch(config: DQNConfig, spec: RingSpec) -> Work:
    """Scratch arrays for one thread."""
    from burnside.agents.dqn._kernels import Work
    from burnside.agents.dqn._products import GAP

    net, rows = layout(config, spec), config.batch
    words, places = -(-rows // 64), -(-rows // 8) * 8
    whole = np.int32

    def lists(size: int) -> AnyArray:
        # Eight places more than fit: lists are written eight at a time.
        return aligned(size + 8, whole)

    return Work(
        grad=aligned(net.size - net.b1),
        w2=aligned(net.h1 * net.h2),
        target_w2=aligned(net.h1 * net.h2),
        zeros=aligned(_PANEL),
        x=aligned(rows * net.inputs),
        x_lists=lists(rows * net.inputs),
        x_counts=aligned(rows, whole),
        x_columns=lists(places * net.inputs),
        x_column_counts=aligned(net.inputs, whole),
        z1=aligned(rows * (net.h1 + GAP)),
        lists1=lists(rows * net.h1),
        counts1=aligned(rows, whole),
        z2=aligned(rows * (net.h2 + GAP)),
        lists2=lists(rows * net.h2),
        counts2=aligned(rows, whole),
        columns2=lists(places * net.h2),
        column_counts2=aligned(net.h2, whole),
        bits=aligned(words * net.h2, np.uint64),
        x_bits=aligned(words * net.inputs, np.uint64),
        d2=aligned(rows * (net.h2 + GAP)),
        d1=aligned(rows * (net.h1 + GAP)),
        slots=np.zeros(rows, dtype=np.int64),
        missing=np.zeros(rows, dtype=np.int64),
        items=np.zeros(spec.n_cells, dtype=np.int8),
    )


def identity(config: DQNConfig, spec: RingSpec, members: Sequence[Member]) -> str:
    """What a checkpoint must agree on before it may be resumed."""
    game = {k: getattr(spec, k) for k in ("n", "d", "p_mine", "end_reward", "time_limit")}
    return json.dumps({"config": config.to_json(), "spec": game, "members": [m.name for m in members]})


def save(state: MemberState, path: str | Path) -> Path:
    """Write a checkpoint atomically; the one before it stays beside it as ``….previous.npz``."""
    content = {**state.arrays._asdict(), "log": state.log}
    return write_checkpoint(path, content, identity(state.config, state.spec, [state.member]))


def load(path: str | Path, config: DQNConfig, spec: RingSpec, member: Member) -> MemberState:
    """Read a checkpoint of exactly this run; if it is damaged, the one before it, with a warning."""
    state = MemberState(config, spec, member, empty_arrays(config, spec))
    found = read_checkpoint(path, {**state.arrays._asdict(), "log": None}, identity(config, spec, [member]))
    for name, array in state.arrays._asdict().items():
        array[...] = found[name]  # into the aligned arrays
    state.log = found["log"]
    return state
