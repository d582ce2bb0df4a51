"""One compiled update against torch's autograd and Adam, and against arithmetic done by hand."""

import numpy as np
import pytest

from burnside.agents.common.members import Member
from burnside.agents.dqn import DQNConfig, RingDQN
from burnside.agents.dqn import ring_kernels as kernels
from burnside.envs.ring.core import RingSpec


def observations(state: RingDQN, board: np.ndarray, pos: np.ndarray) -> np.ndarray:
    """What the network sees, written down independently of the kernels."""
    items = state.state.boards[board].astype(np.float32)
    items[items > 0] = state.spec.end_reward
    return np.concatenate([items, np.eye(state.spec.n_cells, dtype=np.float32)[pos]], axis=1)


def forward(p: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    h = np.maximum(x @ p["w1"] + p["b1"], 0)
    return np.maximum(h @ p["w2"] + p["b2"], 0) @ p["w3"] + p["b3"]


def one_update(state: RingDQN, slots: np.ndarray) -> float:
    state.work.slots[:] = slots
    kernels.refresh(state.state, state.work, state.net)
    return float(kernels.update(state.state, state.work, state.net, state.rules))


@pytest.mark.parametrize(
    ("loss", "spec", "batch", "double"),
    [
        ("mse", RingSpec(5), 48, False),
        ("huber", RingSpec(20), 48, True),
        ("mse", RingSpec(20), 131, False),  # more than two words of bits, and not a multiple of eight
        ("mse", RingSpec(20), 131, True),
        ("huber", RingSpec(5, d=2), 7, False),
    ],
    ids=str,
)
def test_compiled_update_is_autograds(loss: str, spec: RingSpec, batch: int, double: bool) -> None:
    torch = pytest.importorskip("torch")
    config = DQNConfig(loss=loss, hidden=(64, 96), batch=batch, capacity=500, double=double)
    state = RingDQN(config, spec, Member(11, "canonical")).play(30)
    net = torch.nn.Sequential(
        torch.nn.Linear(2 * spec.n_cells, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 96),
        torch.nn.ReLU(),
        torch.nn.Linear(96, spec.n_actions),
    )
    target = torch.nn.Sequential(*[type(m)(m.in_features, m.out_features) if hasattr(m, "weight") else m for m in net])

    def copy(values: dict[str, np.ndarray], to: "torch.nn.Sequential") -> None:
        for number, module in enumerate(m for m in to if hasattr(m, "weight")):
            module.weight.data = torch.from_numpy(values[f"w{number + 1}"].T.copy())
            module.bias.data = torch.from_numpy(values[f"b{number + 1}"].copy())

    copy(state.parameters(), net)
    copy(state.parameters("target"), target)
    optimizer = torch.optim.Adam(net.parameters(), lr=config.learning_rate)
    t = int(state.state.counters[kernels.UPDATE])
    m, v = state.parameters("m"), state.parameters("v")
    modules = [module for module in net if hasattr(module, "weight")]
    for number, module in enumerate(modules, start=1):
        for name, p in ((f"w{number}", module.weight), (f"b{number}", module.bias)):
            optimizer.state[p] = {
                "step": torch.tensor(float(t)),
                "exp_avg": torch.from_numpy(m[name].T.copy()),
                "exp_avg_sq": torch.from_numpy(v[name].T.copy()),
            }
    rng = np.random.default_rng(0)
    size = min(int(state.state.counters[kernels.WRITTEN]), config.capacity)
    for _ in range(5):
        slots = rng.integers(0, size, config.batch)
        seen = state.state.replay[slots].copy()
        x = torch.from_numpy(observations(state, seen["board"], seen["pos"]))
        after = torch.from_numpy(observations(state, seen["board"], seen["after"]))
        with torch.no_grad():
            later = target(after)
            best = later.gather(1, net(after).argmax(1)[:, None])[:, 0] if double else later.max(1).values
            goal = torch.from_numpy(seen["reward"]) + config.gamma * best * torch.from_numpy(
                1.0 - seen["terminated"].astype(np.float32)
            )
        q = net(x).gather(1, torch.from_numpy(seen["action"].astype(np.int64))[:, None])[:, 0]
        error = {"mse": torch.nn.functional.mse_loss, "huber": torch.nn.functional.smooth_l1_loss}[loss](q, goal)
        optimizer.zero_grad()
        error.backward()
        optimizer.step()
        assert one_update(state, slots) == pytest.approx(error.item(), rel=1e-4)
        found = state.parameters()
        for number, module in enumerate(modules, start=1):
            assert np.allclose(found[f"w{number}"], module.weight.detach().numpy().T, atol=1e-5)
            assert np.allclose(found[f"b{number}"], module.bias.detach().numpy(), atol=1e-5)


def test_padding_never_moves() -> None:
    state = RingDQN(DQNConfig(), RingSpec(7), Member(0)).play(30)
    inside = state.parameters()
    state.set_parameters({name: np.zeros_like(a) for name, a in inside.items()})
    assert not state.state.weights.any()


def handmade(config: DQNConfig, transitions: list[tuple[int, int, int, float, int, bool]]) -> RingDQN:
    """A member whose replay holds given (board, pos, action, reward, after, terminated) and nothing else."""
    state = RingDQN(config, RingSpec(5), Member(1))
    state.state.boards[0] = [-1, 0, 1, 0, -1]
    state.state.boards[1] = [1, -1, -1, 0, 0]
    for slot, (board, pos, action, reward, after, terminated) in enumerate(transitions):
        row = state.state.replay[slot]
        row["board"], row["pos"], row["action"], row["reward"] = board, pos, action, reward
        row["after"], row["terminated"], row["stamp"] = after, terminated, -1
    state.state.counters[kernels.WRITTEN] = len(transitions)
    return state


def fit(state: RingDQN, updates: int, sync: int) -> None:
    size = int(state.state.counters[kernels.WRITTEN])
    rng = np.random.default_rng(0)
    for k in range(updates):
        one_update(state, rng.integers(0, size, state.config.batch))
        if (k + 1) % sync == 0:
            state.state.target[:] = state.state.weights
            state.state.counters[kernels.SYNC] += 1


def q(state: RingDQN, board: int, pos: int) -> np.ndarray:
    return forward(state.parameters(), observations(state, np.array([board]), np.array([pos])))[0]


def test_target_by_hand() -> None:
    """r + γ max Q_target(s'), and r alone on termination; the loss is the mean of squares."""
    config = DQNConfig(batch=2, capacity=10, gamma=0.9)
    state = handmade(config, [(0, 0, 3, -1.0, 1, False), (0, 1, 2, 10.0, 2, True)])
    p = state.parameters()
    before = forward(p, observations(state, np.array([0, 0]), np.array([0, 1])))
    best = forward(p, observations(state, np.array([0]), np.array([1]))).max()
    errors = [before[0, 3] - (-1.0 + 0.9 * best), before[1, 2] - 10.0]
    assert one_update(state, np.array([0, 1])) == pytest.approx(np.mean(np.square(errors)), rel=1e-5)
    assert state.state.replay["value"][0] == pytest.approx(best, rel=1e-5)


def test_value_probe() -> None:
    state = handmade(DQNConfig(batch=8, capacity=10), [(0, 0, 1, 1.0, 1, True)])
    fit(state, 300, 50)
    assert q(state, 0, 0)[1] == pytest.approx(1.0, abs=0.02)


def test_discount_probe() -> None:
    """Two steps to the reward: the first is worth γ, the one before γ²."""
    config = DQNConfig(batch=12, capacity=40, gamma=0.7)
    chain = [(0, 0, a, 0.0, 1, False) for a in range(4)] + [(0, 1, a, 1.0, 2, True) for a in range(4)]
    state = handmade(config, chain)
    fit(state, 900, 60)
    assert q(state, 0, 0) == pytest.approx([0.7] * 4, abs=0.05)
    assert q(state, 0, 1) == pytest.approx([1.0] * 4, abs=0.05)


def test_action_and_observation_probe() -> None:
    """Values that depend on action, position and board are distinguished."""
    rows = [(b, p, a, float(a * (1 - 2 * b) + p), 0, True) for b in (0, 1) for p in (0, 1) for a in range(4)]
    state = handmade(DQNConfig(batch=32, capacity=40), rows)
    fit(state, 1500, 100)
    for b, p, a, reward, _, _ in rows:
        assert q(state, b, p)[a] == pytest.approx(reward, abs=0.15)


def test_truncation_bootstraps_and_termination_does_not() -> None:
    """A time limit of one step: every episode is cut, none of those that miss the goal counts as an end."""
    spec = RingSpec(6, time_limit=1)
    state = RingDQN(DQNConfig(capacity=400), spec, Member(2)).play(300)
    seen = state.state.replay[:300]
    reached = state.state.boards[seen["board"], seen["after"]] > 0
    assert 20 < reached.sum() < 150
    assert (seen["terminated"] == reached).all()
    assert (state.log().success == reached).all() and (state.log().lengths == 1).all()


def test_a_time_limit_that_ends_the_game() -> None:
    state = RingDQN(DQNConfig(capacity=400, limit_ends=True), RingSpec(6, time_limit=2), Member(2)).play(150)
    count = int(state.state.counters[kernels.WRITTEN])
    seen, lengths = state.state.replay[:count], state.log().lengths
    last = np.cumsum(lengths) - 1
    assert (np.flatnonzero(seen["terminated"]) == last).all(), "every episode ends with a terminal transition"
    reached = state.state.boards[seen["board"], seen["after"]] > 0
    assert (state.log().success == reached[last]).all() and not reached[last].all()


def test_cached_targets_are_fresh_ones() -> None:
    """Whatever is stamped with the present sync equals what the target network says now."""
    state = RingDQN(DQNConfig(capacity=700), RingSpec(8), Member(5)).play(157)
    seen = state.state.replay
    current = seen[seen["stamp"] == state.state.counters[kernels.SYNC]]
    assert len(current) > 50
    fresh = forward(state.parameters("target"), observations(state, current["board"], current["after"])).max(1)
    assert np.allclose(current["value"], fresh, atol=1e-4)
    assert not (current["terminated"] > 0).any()


def test_replay_holds_the_last_transitions_with_their_boards() -> None:
    """Boards and positions against the environment's own core, replayed from seed and actions."""
    from burnside.envs.ring.core import initial, transition

    spec, capacity = RingSpec(5), 90
    state = RingDQN(DQNConfig(capacity=capacity, batch=16), spec, Member(9)).play(60)
    log, written = state.log(), int(state.state.counters[kernels.WRITTEN])
    assert written > 2 * capacity
    for slot in range(capacity):
        step = written - 1 - (written - 1 - slot) % capacity
        episode = int(np.searchsorted(log.steps, step, side="right"))
        seen = state.state.replay[slot]
        game = initial(spec, 9, episode)
        assert (state.state.boards[seen["board"]] == game.items[0]).all()
        if step == (log.steps[episode - 1] if episode else 0):
            assert seen["pos"] == 0
        at = type(game)(spec, game.items, np.array([seen["pos"]]), game.goal, game.t)
        after, reward, terminated, _ = transition(at, [int(seen["action"])])
        assert (after.pos[0], reward[0], terminated[0]) == (seen["after"], seen["reward"], seen["terminated"])
