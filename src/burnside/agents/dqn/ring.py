"""DQN on the cyclic games (App. C) on a CPU: every member is one compiled loop.

Compiled code releases Python's lock, so members in threads run side by side. No BLAS is called: the products are ours
(:mod:`burnside.nn.sparse_kernels`), so there is no thread pool to limit, and the bits are the same whatever else runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike

from burnside._random import held_out
from burnside._types import AnyArray, IntArray
from burnside.agents.common.checkpoint import check_arrays
from burnside.agents.common.log import EpisodeLog, Recorder
from burnside.agents.common.members import Member
from burnside.agents.common.training import Budget
from burnside.agents.dqn.config import DQNConfig
from burnside.envs.batched import Evaluation
from burnside.envs.ring.core import RingSpec
from burnside.envs.ring.scenes import RingScenes
from burnside.errors import InvalidParameter
from burnside.nn.mlp import forward, linear_parameters

if TYPE_CHECKING:
    from burnside.agents.dqn.ring_kernels import Arrays, Layout, Rules, Work

__all__ = ["ARMS", "MORE", "PANEL", "TRANSITION", "RingDQN", "layout", "rules", "scratch"]

#: Hidden widths are multiples of it; as sparse_kernels.PANEL, which would load numba.
PANEL = 32
#: Arms that are translations of the whole game, in the order of their numbers in compiled code.
ARMS = ("baseline", "canonical", "augment")
#: Columns of the log beside those all learners have.
MORE = ("epsilon", "loss")
#: Environment steps per chunk, roughly: half a second.
_CHUNK_STEPS = 4_000

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


class RingDQN:
    """One member in training; a :class:`~burnside.agents.common.training.Learner`.

    >>> learner = RingDQN(DQNConfig(), RingSpec(5), Member(1)).play(3)
    >>> learner.log().episodes, learner.parameters()["w2"].shape
    (3, (128, 128))
    """

    def __init__(self, config: DQNConfig, spec: RingSpec, member: Member) -> None:
        """Before the first episode, the network drawn as PyTorch's ``Linear`` draws it.

        That is uniform on ±1/√inputs for weights and biases (Kaiming uniform with a = √5), from stream INIT.
        """
        self.config, self.spec, self.members = config, spec, [member]
        self.rules, self.net = rules(config, spec, member), layout(config, spec)
        self.state, self.work = empty_arrays(config, spec), scratch(config, spec)
        self.recorder = Recorder([member], MORE)
        self.set_parameters(linear_parameters(member.seed, (self.net.inputs, *config.hidden, self.net.actions)))
        self.state.target[:] = self.state.weights

    @property
    def member(self) -> Member:
        """Who plays."""
        return self.members[0]

    @property
    def episodes(self) -> IntArray:
        """Episodes played."""
        return self.state.counters[:1].copy()

    @property
    def steps(self) -> IntArray:
        """Environment steps."""
        return self.state.counters[1:2].copy()

    def play(self, episodes: int) -> RingDQN:
        """Train for a number of episodes, in this thread; however they are split into calls, the bits are the same."""
        from burnside.agents.dqn import ring_kernels

        if episodes < 0:
            raise InvalidParameter(f"episodes is {episodes}: give 0 or more")
        rows = np.zeros((episodes, 5 + len(MORE)))
        ring_kernels.play(self.state, self.work, self.net, self.rules, rows, episodes)
        self.recorder.rows[0] += map(tuple, rows.tolist())
        return self

    def advance(self, budget: Budget) -> bool:
        """Whole episodes, about half a second of them."""
        if not budget.left(self.episodes, self.steps)[0]:
            return False
        recent = [row[1] for row in self.recorder.rows[0][-50:]]
        length = max(1.0, float(np.mean(recent)) if recent else float(self.spec.time_limit))
        if budget.episodes is not None:
            most: float = budget.episodes - int(self.episodes[0])
        else:
            most = ((budget.steps or 0) - int(self.steps[0])) / length
        self.play(max(1, int(min(_CHUNK_STEPS / length, most))))
        return True

    def log(self, m: int = 0, episodes: int | None = None) -> EpisodeLog:
        """The episodes so far; ``more`` has ``epsilon`` and ``loss``."""
        return self.recorder.log(m, episodes)

    def evaluate(self, episodes: int = 100, *, m: int = 0, seed: int = 0, greedy: bool = True) -> Evaluation:
        """Play boards no training run sees, the same for all members; greedily, or with the least ε of training.

        >>> RingDQN(DQNConfig(), RingSpec(5), Member(0)).evaluate(20).returns.shape
        (20,)
        """
        from burnside.agents.dqn import ring_kernels

        if episodes < 1:
            raise InvalidParameter(f"episodes is {episodes}: give at least 1")
        out, epsilon = np.zeros((episodes, 3)), 0.0 if greedy else self.config.epsilon_end
        ring_kernels.evaluate(
            self.state.weights, self.work, self.net, self.rules, held_out(seed), episodes, epsilon, out
        )
        return Evaluation(out[:, 0].copy(), out[:, 1].astype(np.int64), out[:, 2] > 0)

    def act(self, obs: AnyArray, m: int = 0) -> AnyArray:
        """The actions of largest value for flat observations of :class:`~burnside.envs.ring.RingScenes`."""
        codes, pos = RingScenes(self.spec).boards(obs)
        items = np.where(codes > 0, np.float32(self.spec.end_reward), codes.astype(np.float32))
        x = np.concatenate([items, np.eye(self.spec.n_cells, dtype=np.float32)[pos]], axis=1)
        return np.asarray(forward(self.parameters(), x, relu=True)[2].argmax(axis=1))

    # ------------------------------------------------------------------ parameters and checkpoints

    def parameters(self, which: str = "weights") -> dict[str, AnyArray]:
        """Copies of the parameters in their natural shapes, ``x @ w + b``.

        ``which`` is ``weights``, ``target``, or Adam's ``m`` or ``v``.
        """
        parts = _parts(self.net, getattr(self.state, which))
        out = {name: a.copy() for name, a in parts.items()}
        for name in ("w1", "w2"):
            out[name] = parts[name].transpose(1, 0, 2).reshape(parts[name].shape[1], -1).copy()
        out["w2"], out["w3"] = out["w2"].T.copy(), out["w3"].T.copy()
        return out

    def set_parameters(self, values: Mapping[str, AnyArray]) -> None:
        """Write parameters given in their natural shapes."""
        parts = _parts(self.net, self.state.weights)
        for name, matrix in (("w1", values["w1"]), ("w2", np.asarray(values["w2"]).T)):
            panels, narrow, _ = parts[name].shape
            parts[name][:] = np.asarray(matrix).reshape(narrow, panels, PANEL).transpose(1, 0, 2)
        parts["w3"][:] = np.asarray(values["w3"]).T
        for name in ("b1", "b2", "b3"):
            parts[name][:] = values[name]

    @property
    def identity(self) -> str:
        """What a checkpoint must agree on before it may be resumed."""
        game = {k: getattr(self.spec, k) for k in ("n", "d", "p_mine", "end_reward", "time_limit")}
        return json.dumps({"ring-dqn": self.config.to_json(), "spec": game, "members": [self.member.name]})

    def arrays(self) -> dict[str, AnyArray]:
        """Everything needed to resume; transitions as bytes."""
        found = self.state._asdict()
        plain = {name: a.view(np.uint8) if a.dtype.names else a for name, a in found.items()}
        return {**plain, **self.recorder.arrays()}

    def restore(self, arrays: Mapping[str, AnyArray]) -> RingDQN:
        """Resume from the arrays of a learner of the same configuration."""
        check_arrays(self.arrays(), arrays)
        for name, array in self.state._asdict().items():  # into the aligned arrays
            found = np.ascontiguousarray(arrays[name])
            array[...] = found.view(array.dtype) if array.dtype.names else found
        self.recorder.restore(arrays)
        return self


def layout(config: DQNConfig, spec: RingSpec) -> Layout:
    """Where the parts of the network lie; every part begins on a cache line."""
    from burnside.agents.dqn.ring_kernels import Layout

    if config.encoder != "onehot":
        raise InvalidParameter(f"the compiled learner has no encoder {config.encoder!r}: use DQN")
    if any(width % PANEL for width in config.hidden):
        raise InvalidParameter(
            f"hidden is {config.hidden}: the compiled learner needs multiples of {PANEL}: use those, or DQN"
        )
    inputs, (h1, h2), actions = 2 * spec.n_cells, config.hidden, spec.n_actions
    sizes = (inputs * h1, h1 * h2, h1, h2, actions * h2, actions)
    w1, w2, b1, b2, w3, b3, size = accumulate((-(-size // 16) * 16 for size in sizes), initial=0)
    return Layout(inputs, h1, h2, actions, w1, w2, b1, b2, w3, b3, size)


def rules(config: DQNConfig, spec: RingSpec, member: Member) -> Rules:
    """The constants of a run, for compiled code."""
    from burnside.agents.dqn.ring_kernels import Rules

    if member.arm not in ARMS:
        raise InvalidParameter(f"the compiled learner does not play {member.arm!r}: use DQN")
    return Rules(
        n=spec.n,
        d=spec.d,
        cells=spec.n_cells,
        p_mine=float(spec.p_mine),
        end_reward=float(spec.end_reward),
        time_limit=spec.time_limit,
        seed=member.seed,
        arm=ARMS.index(member.arm),
        gamma=config.gamma,
        capacity=config.capacity,
        batch=config.batch,
        rate=config.learning_rate,
        huber=config.loss == "huber",
        double=config.double,
        limit_ends=config.limit_ends,
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
    from burnside.agents.dqn.ring_kernels import Arrays

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


def _parts(net: Layout, flat: AnyArray) -> dict[str, AnyArray]:
    """Views of the parts of a flat parameter array: W1 and the transpose of W2 in panels, W3 by action."""

    def part(at: int, *shape: int) -> AnyArray:
        return flat[at : at + int(np.prod(shape))].reshape(shape)

    return {
        "w1": part(net.w1, net.h1 // PANEL, net.inputs, PANEL),
        "b1": part(net.b1, net.h1),
        "w2": part(net.w2, net.h1 // PANEL, net.h2, PANEL),  # transposed: see ring_kernels.Work.w2
        "b2": part(net.b2, net.h2),
        "w3": part(net.w3, net.actions, net.h2),
        "b3": part(net.b3, net.actions),
    }


def scratch(config: DQNConfig, spec: RingSpec) -> Work:
    """Scratch arrays for one thread."""
    from burnside.agents.dqn.ring_kernels import Work
    from burnside.nn.sparse_kernels import GAP, Columns, Rows

    net, rows = layout(config, spec), config.batch
    words, places = -(-rows // 64), -(-rows // 8) * 8

    def lists(size: int) -> AnyArray:
        # Eight places more than fit: lists are written eight at a time.
        return aligned(size + 8, np.int32)

    def layer(width: int, gap: int) -> Rows:
        stride = width + gap
        return Rows(aligned(rows * stride), stride, width, lists(rows * width), aligned(rows, np.int32))

    def columns(width: int) -> Columns:
        return Columns(aligned(words * width, np.uint64), lists(places * width), aligned(width, np.int32))

    h2 = layer(net.h2, GAP)
    return Work(
        x=layer(net.inputs, 0),
        h1=layer(net.h1, GAP),
        h2=h2,
        d1=layer(net.h1, GAP),
        d2=h2._replace(values=aligned(rows * h2.stride)),
        x_columns=columns(net.inputs),
        h2_columns=columns(net.h2),
        w2=aligned(net.h1 * net.h2),
        target_w2=aligned(net.h1 * net.h2),
        zeros=aligned(PANEL),
        grad=aligned(net.size - net.b1),
        slots=np.zeros(rows, dtype=np.int64),
        missing=np.zeros(rows, dtype=np.int64),
        chosen=np.zeros(rows, dtype=np.int64),
        items=np.zeros(spec.n_cells, dtype=np.int8),
    )
