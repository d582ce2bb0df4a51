"""DQN with networks in torch: the compiled learner's algorithm, members in one product, checkpoints at any tick."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.agents.learners import compiled_logs, same_arrays, same_log, torch_logs  # noqa: E402

from burnside.agents.common.checkpoint import load, save  # noqa: E402
from burnside.agents.common.devices import choose_device  # noqa: E402
from burnside.agents.common.members import Member  # noqa: E402
from burnside.agents.common.objectives import td_target  # noqa: E402
from burnside.agents.common.training import Budget, train  # noqa: E402
from burnside.agents.dqn import DQNConfig, GeneralDQN, RingDQN  # noqa: E402
from burnside.agents.dqn.learner import torch_learner  # noqa: E402
from burnside.agents.dqn.torch_networks import TorchQ  # noqa: E402
from burnside.canonical.batched import with_arm  # noqa: E402
from burnside.envs.ring.core import RingSpec  # noqa: E402
from burnside.envs.ring.optimal import expected_optimal_return  # noqa: E402
from burnside.envs.ring.scenes import RingScenes  # noqa: E402
from burnside.errors import BurnsideError  # noqa: E402
from burnside.stats import first_reach  # noqa: E402

CONFIG = DQNConfig(capacity=300)
SPEC = RingSpec(6)
SMALL_3D = DQNConfig.preset("ring3d", batch=8, capacity=60, update_every=2)
CUBE = RingSpec(5, d=3)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def made(config: DQNConfig, spec: RingSpec, members: list[Member]) -> GeneralDQN:
    return torch_learner(config, RingScenes(spec), members)


def tick(learner: GeneralDQN, count: int) -> None:
    for _ in range(count):
        learner._tick(np.arange(len(learner.members)))


def test_both_kinds_begin_with_the_same_network() -> None:
    params = TorchQ(CONFIG, SPEC, [4, 9]).params
    for m, seed in enumerate((4, 9)):
        compiled = RingDQN(CONFIG, SPEC, Member(seed)).parameters()
        for name, layer in (("1", "one"), ("2", "two"), ("3", "q")):
            assert np.array_equal(params[f"{layer}.weight"][m].numpy(), compiled[f"w{name}"])
            assert np.array_equal(params[f"{layer}.bias"][m].numpy(), compiled[f"b{name}"])


@pytest.mark.parametrize("arm", ["baseline", "canonical", "augment"])
@pytest.mark.parametrize(
    "changes",
    [{}, {"loss": "huber", "double": True}, {"target_every_steps": 25, "limit_ends": True}, {"update_every": 3}],
    ids=str,
)
def test_both_kinds_play_the_same_run(arm: str, changes: dict[str, object]) -> None:
    """Until rounding tips a close choice the runs agree: same games, same batches, the same losses to 1e-3."""
    config = DQNConfig(capacity=300, **changes)  # type: ignore[arg-type]
    ours = compiled_logs(config, SPEC, [Member(3, arm)], 25)[0]
    theirs = torch_logs(config, SPEC, [Member(3, arm)], 25)[0]
    assert np.array_equal(ours.returns[:20], theirs.returns[:20])
    assert np.array_equal(ours.updates[:20], theirs.updates[:20])
    assert np.allclose(ours.more["loss"][:20], theirs.more["loss"][:20], rtol=1e-3, atol=1e-5)


def test_evaluations_of_both_kinds_agree() -> None:
    config = DQNConfig(capacity=300, epsilon_end=0.3)
    member = Member(3, "canonical")
    (learner,) = train([made(config, SPEC, [member])], episodes=12)
    compiled = RingDQN(config, SPEC, member).play(12)
    for greedy in (True, False):
        one, two = learner.evaluate(150, greedy=greedy), compiled.evaluate(150, greedy=greedy)
        assert (one.returns == two.returns).mean() > 0.97 and (one.lengths == two.lengths).mean() > 0.97


@pytest.mark.parametrize(
    ("config", "spec"), [(CONFIG, SPEC), (SMALL_3D, replace(CUBE, time_limit=12))], ids=["1d", "3d"]
)
def test_a_member_does_not_depend_on_its_company(config: DQNConfig, spec: RingSpec) -> None:
    """Nor on who has finished: those wait, and all members stay in one product."""
    together, other = (
        train([made(config, spec, [Member(seed, "canonical") for seed in seeds])], episodes=6)[0]
        for seeds in ((0, 1, 2), (0, 5, 6))
    )
    assert same_log(together.log(0), other.log(0)) and not same_log(together.log(1), other.log(1))


@pytest.mark.parametrize(
    ("config", "spec", "members", "cut", "whole"),
    [
        (CONFIG, SPEC, [Member(0), Member(1), Member(2)], 100, 230),
        (CONFIG, SPEC, [Member(0, "equivariant")], 90, 150),
        (SMALL_3D, CUBE, [Member(0, "canonical")], 115, 140),
    ],
    ids=["members", "equivariant", "3d"],
)
def test_save_and_resume_to_the_same_bits(  # type: ignore[no-untyped-def]
    tmp_path: Path, config, spec, members, cut, whole
) -> None:
    """Also in the middle of episodes and between two syncs."""
    one, two = made(config, spec, members), made(config, spec, members)
    tick(one, whole)
    tick(two, cut)
    save(two, tmp_path / "b.npz")
    three = load(made(config, spec, members), tmp_path / "b.npz")
    tick(three, whole - cut)
    assert same_arrays(one, three) and not same_arrays(one, two)


def test_training_continues_with_more_episodes(tmp_path: Path) -> None:
    members = [Member(0), Member(1, "equivariant")]
    whole = torch_logs(CONFIG, SPEC, members, 14)
    torch_logs(CONFIG, SPEC, members, 6, checkpoint=tmp_path, every=1)
    resumed = torch_logs(CONFIG, SPEC, members, 14, checkpoint=tmp_path, every=1)
    assert all(same_log(a, b) for a, b in zip(whole, resumed, strict=True))


def test_members_that_wait_keep_their_bits() -> None:
    learner = made(CONFIG, SPEC, [Member(0), Member(1)])
    tick(learner, 70)
    network = learner.network
    assert isinstance(network, TorchQ)
    before, moments = dict(network.params), dict(network.opt.m)
    slots = np.arange(CONFIG.batch)[None]
    losses = network.update(np.array([0]), learner.replay, slots, learner.updates[:1])
    assert losses.shape == (1,) and network.opt.t.tolist() == [8, 7]
    for name in before:
        assert torch.equal(network.params[name][1], before[name][1])
        assert torch.equal(network.opt.m[name][1], moments[name][1])
        assert not torch.equal(network.params[name][0], before[name][0])


def test_target_by_hand() -> None:
    value = td_target(torch.tensor([[1.0, -1.0]]), torch.tensor([[False, True]]), torch.tensor([[4.0, 4.0]]), 0.5)
    assert value.tolist() == [[3.0, -1.0]]


@pytest.mark.parametrize("encoder", ["pool", "flatten"])
def test_encoding_a_board_once_changes_nothing(encoder: str) -> None:
    """A single member encodes each distinct board once and remembers the target's features; several do not."""
    config, spec = replace(SMALL_3D, encoder=encoder, target_every=1), replace(CUBE, time_limit=12)
    alone = torch_logs(config, spec, [Member(3)], 6)[0]
    (both,) = train([made(config, spec, [Member(3), Member(4)])], episodes=6)
    assert alone.updates[-1] > 20
    assert np.allclose(alone.more["loss"], both.log(0).more["loss"][:6], rtol=1e-3, atol=1e-5)


def test_a_form_whose_boards_change_is_encoded_right() -> None:
    """A user's form may change the board at every step: what is remembered is the board, not the episode."""

    class ToAgent:
        """The agent at the origin."""

        def __call__(self, x: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], np.ndarray]:
            g = -np.rint(np.asarray(x["pos"]) * 5).astype(np.int64) % 5
            return self.act(g, x), g

        def act(self, g: np.ndarray, x: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
            from burnside.envs.ring.symmetry import translate

            return translate(5, 3, g, x)  # type: ignore[return-value]

        def undo(self, action: np.ndarray, g: np.ndarray) -> np.ndarray:
            return action

    env = RingScenes(replace(CUBE, time_limit=12))
    learner = torch_learner(SMALL_3D, env, [Member(0, "canonical")], ToAgent())
    learner.advance(Budget(steps=60))
    network = learner.network
    assert isinstance(network, TorchQ)
    obs = with_arm(env, ToAgent()).observe_batch(env.reset_batch(np.zeros(3, dtype=np.int64), np.arange(3)))
    remembered = network.outputs(network.target, obs[None], network.memory)[0]
    afresh = network.net.head(
        network.target,
        network.net.encode(network.target, torch.from_numpy(obs[None, :, :125])),
        torch.from_numpy(obs[None, :, 125:]),
    )[0]
    assert len(network.memory) > 20 and torch.allclose(remembered, afresh, atol=1e-5)


def test_bad_requests() -> None:
    with pytest.raises(BurnsideError, match="device"):
        choose_device("tpu")
    if not torch.cuda.is_available():
        with pytest.raises(BurnsideError, match="no GPU"):
            choose_device("cuda")
    with pytest.raises(BurnsideError, match="three dimensions"):
        made(DQNConfig(encoder="pool"), SPEC, [Member(0)])
    with pytest.raises(BurnsideError, match="no encoder"):
        made(SMALL_3D, CUBE, [Member(0, "equivariant")])
    with pytest.raises(BurnsideError, match="share one arm"):
        made(CONFIG, SPEC, [Member(0), Member(0, "equivariant")])


@pytest.mark.probe
def test_the_equivariant_network_solves_a_small_ring() -> None:
    spec = RingSpec(5)
    log = torch_logs(DQNConfig(), spec, [Member(0, "equivariant")], 500)[0]
    assert first_reach(log.returns, 0.95 * expected_optimal_return(spec).value).solved
