"""The torch engine: the native one's algorithm, fixed blocks, checkpoints at any tick, the 3D networks."""

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.agents.learners import compiled_logs, same_arrays, torch_logs  # noqa: E402

from burnside.agents.common.adam import new_adam  # noqa: E402
from burnside.agents.common.checkpoint import load, save  # noqa: E402
from burnside.agents.common.devices import choose_device  # noqa: E402
from burnside.agents.common.members import Member  # noqa: E402
from burnside.agents.common.objectives import td_target  # noqa: E402
from burnside.agents.common.training import Budget  # noqa: E402
from burnside.agents.dqn import DQNConfig, RingDQN, RingDQNTorch  # noqa: E402
from burnside.agents.dqn.ring_torch import Batch, update  # noqa: E402
from burnside.envs.ring.core import RingSpec  # noqa: E402
from burnside.envs.ring.optimal import expected_optimal_return  # noqa: E402
from burnside.errors import BurnsideError  # noqa: E402
from burnside.nn.qnets import make_q  # noqa: E402
from burnside.stats import first_reach  # noqa: E402

CONFIG = DQNConfig(capacity=300)
SPEC = RingSpec(6)
SMALL_3D = DQNConfig.preset("ring3d", batch=8, capacity=60, update_every=2)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def tick(block: RingDQNTorch, count: int) -> None:
    active = np.arange(block.size) < len(block.members)
    for _ in range(count):
        block.tick(active)


def test_both_engines_begin_with_the_same_network() -> None:
    block = RingDQNTorch(CONFIG, SPEC, [Member(4), Member(9)])
    for m, seed in enumerate((4, 9)):
        native = RingDQN(CONFIG, SPEC, Member(seed)).parameters()
        for name, layer in (("1", "one"), ("2", "two"), ("3", "out")):
            assert np.array_equal(block.params[f"{layer}.weight"][m].numpy(), native[f"w{name}"])
            assert np.array_equal(block.params[f"{layer}.bias"][m].numpy(), native[f"b{name}"])


@pytest.mark.parametrize("arm", ["baseline", "canonical", "augment"])
@pytest.mark.parametrize("changes", [{}, {"loss": "huber"}, {"target_every_steps": 25}, {"update_every": 3}], ids=str)
def test_both_engines_play_the_same_run(arm: str, changes: dict[str, object]) -> None:
    """Until rounding tips a close choice the runs agree: same games, same batches, the same losses to 1e-3."""
    config = DQNConfig(capacity=300, **changes)  # type: ignore[arg-type]
    ours = compiled_logs(config, SPEC, [Member(3, arm)], 25)[0]
    theirs = torch_logs(config, SPEC, [Member(3, arm)], 25)[0]
    assert np.array_equal(ours.returns[:20], theirs.returns[:20])
    assert np.array_equal(ours.updates[:20], theirs.updates[:20])
    assert np.allclose(ours.more["loss"][:20], theirs.more["loss"][:20], rtol=1e-3, atol=1e-5)


def test_evaluations_of_both_engines_agree() -> None:
    config = DQNConfig(capacity=300, epsilon_end=0.3)
    block = RingDQNTorch(config, SPEC, [Member(3, "canonical")])
    while block.advance(Budget(episodes=12)):
        pass
    compiled = RingDQN(config, SPEC, Member(3, "canonical")).play(12)
    for greedy in (True, False):
        one, two = block.evaluate(150, greedy=greedy), compiled.evaluate(150, greedy=greedy)
        assert (one.returns == two.returns).mean() > 0.97 and (one.lengths == two.lengths).mean() > 0.97


def test_a_member_of_a_padded_block_does_not_depend_on_its_company() -> None:
    members = [Member(0), Member(1, "canonical"), Member(2, "augment"), Member(3)]
    together = torch_logs(CONFIG, SPEC, members, 12, block=4)
    for position in (0, 2):
        alone = torch_logs(CONFIG, SPEC, [members[position]], 12, block=4)[0]
        assert np.array_equal(alone.more["loss"], together[position].more["loss"])
        assert np.array_equal(alone.returns, together[position].returns)


@pytest.mark.parametrize(
    ("config", "spec", "members", "block", "cut", "whole"),
    [
        (CONFIG, SPEC, [Member(0), Member(1, "canonical"), Member(2)], 4, 100, 230),
        (CONFIG, SPEC, [Member(0, "equivariant")], 1, 90, 150),
        (SMALL_3D, RingSpec(5, d=3), [Member(0, "canonical")], 1, 115, 140),
    ],
    ids=["block", "equivariant", "3d"],
)
def test_save_and_resume_to_the_same_bits(  # type: ignore[no-untyped-def]
    tmp_path: Path, config, spec, members, block, cut, whole
) -> None:
    """In the middle of episodes, too."""
    one = RingDQNTorch(config, spec, members, block=block)
    two = RingDQNTorch(config, spec, members, block=block)
    tick(one, whole)
    tick(two, cut)
    save(two, tmp_path / "b.npz")
    three = load(RingDQNTorch(config, spec, members, block=block), tmp_path / "b.npz")
    tick(three, whole - cut)
    assert same_arrays(one, three) and not same_arrays(one, two)


def test_train_goes_on_with_more_episodes(tmp_path: Path) -> None:
    members = [Member(0), Member(1, "equivariant")]
    whole = torch_logs(CONFIG, SPEC, members, 14)
    torch_logs(CONFIG, SPEC, members, 6, checkpoint=tmp_path, every=1)
    resumed = torch_logs(CONFIG, SPEC, members, 14, checkpoint=tmp_path, every=1)
    for a, b in zip(whole, resumed, strict=True):
        assert (
            a.member == b.member
            and np.array_equal(a.more["loss"], b.more["loss"])
            and np.array_equal(a.returns, b.returns)
        )


def test_masked_members_keep_their_bits() -> None:
    net = make_q(SPEC, "onehot", (32, 32), [0, 1])
    params = {name: p.detach() for name, p in net.named_parameters()}
    opt = new_adam(params)
    rng = np.random.default_rng(0)

    def integers(high: int) -> "torch.Tensor":
        return torch.from_numpy(rng.integers(0, high, (2, 5)))

    boards = torch.from_numpy(rng.integers(-1, 2, (2, 5, 6)).astype(np.int8))
    reward, ends = torch.randn(2, 5), torch.zeros(2, 5, dtype=torch.bool)
    batch = Batch(boards, None, integers(6), integers(4), reward, ends, torch.randn(2, 5))
    new, after, losses = update(net, params, opt, batch, gamma=0.9, rate=0.1, mask=torch.tensor([True, False]))
    assert losses.shape == (2,) and after.t.tolist() == [1, 0]
    for name in params:
        assert torch.equal(new[name][1], params[name][1]) and torch.equal(after.m[name][1], opt.m[name][1])
        assert not torch.equal(new[name][0], params[name][0])


def test_target_by_hand() -> None:
    value = td_target(torch.tensor([[1.0, -1.0]]), torch.tensor([[False, True]]), torch.tensor([[4.0, 4.0]]), 0.5)
    assert value.tolist() == [[3.0, -1.0]]


@pytest.mark.parametrize("encoder", ["pool", "flatten"])
def test_sharing_boards_within_a_batch_changes_nothing(encoder: str) -> None:
    """A block of one looks at each distinct board once and remembers target features; a padded one does not."""
    from dataclasses import replace

    config = replace(SMALL_3D, encoder=encoder, target_every=1)
    alone = torch_logs(config, RingSpec(5, d=3, time_limit=12), [Member(3)], 6)[0]
    padded = torch_logs(config, RingSpec(5, d=3, time_limit=12), [Member(3)], 6, block=2)[0]
    assert alone.updates[-1] > 20
    assert np.allclose(alone.more["loss"], padded.more["loss"], rtol=1e-3, atol=1e-5)


def test_bad_requests() -> None:
    with pytest.raises(BurnsideError, match="device"):
        choose_device("tpu")
    if not torch.cuda.is_available():
        with pytest.raises(BurnsideError, match="no GPU"):
            choose_device("cuda")
    with pytest.raises(BurnsideError, match="three dimensions"):
        torch_logs(DQNConfig(encoder="pool"), SPEC, [Member(0)], 1)
    with pytest.raises(BurnsideError, match="one kind of network"):
        RingDQNTorch(CONFIG, SPEC, [Member(0), Member(0, "equivariant")])


@pytest.mark.probe
def test_the_equivariant_network_solves_a_small_ring() -> None:
    spec = RingSpec(5)
    log = torch_logs(DQNConfig(), spec, [Member(0, "equivariant")], 500)[0]
    assert first_reach(log.returns, 0.95 * expected_optimal_return(spec).value).solved
