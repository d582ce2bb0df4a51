"""PPO's update and blocks: by hand, independent of company, resumed to the same bits, and able to learn."""

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.agents.learners import same_arrays as same  # noqa: E402
from tests.agents.learners import same_log  # noqa: E402

from burnside.agents.common.adam import new_adam  # noqa: E402
from burnside.agents.common.checkpoint import load, save  # noqa: E402
from burnside.agents.common.members import Member  # noqa: E402
from burnside.agents.common.training import Budget, train  # noqa: E402
from burnside.agents.ppo import RingPPO, RingPPOConfig  # noqa: E402
from burnside.agents.ppo.plain import sample  # noqa: E402
from burnside.agents.ppo.ring import ActorCritic, Batch, encode, head, update  # noqa: E402
from burnside.envs.ring.core import RingSpec  # noqa: E402
from burnside.envs.ring.optimal import expected_optimal_return  # noqa: E402
from burnside.errors import BurnsideError, UnreadableFile  # noqa: E402

SMALL = RingPPOConfig.preset("ring1d", hidden=(16, 24), rollout=32, batch=8, epochs=2)
RING = RingSpec(6)
SMALL_3D = RingPPOConfig.preset("ring3d", rollout=24, batch=8, epochs=2)
CUBE = RingSpec(5, d=3, time_limit=9)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


ON = Budget(steps=10**9)


def alone_each(config: RingPPOConfig, spec: RingSpec, members: list[Member]) -> list[RingPPO]:
    return [RingPPO(config, spec, [member]) for member in members]


def batch_for(net: ActorCritic, params: dict[str, "torch.Tensor"], members: int, size: int) -> Batch:
    """Random steps, with the log-probabilities of these parameters."""
    rng = np.random.default_rng(0)
    spec = net.spec
    boards = torch.from_numpy(rng.integers(-1, 2, (members, size, spec.n_cells)).astype(np.int8))
    pos = torch.from_numpy(rng.integers(0, spec.n_cells, (members, size)))
    action = torch.from_numpy(rng.integers(0, spec.n_actions, (members, size)))
    logits, _ = head(net, params, encode(net, params, boards), pos)
    log_prob = torch.gather(torch.log_softmax(logits, -1), 2, action[:, :, None])[..., 0].detach()
    draw = torch.from_numpy(rng.normal(size=(2, members, size)).astype(np.float32))
    return Batch(boards, None, pos, action, log_prob, draw[0], draw[1])


def network(seeds: list[int]) -> tuple[ActorCritic, dict[str, "torch.Tensor"]]:
    net = ActorCritic(RING, "onehot", (16, 24), seeds)
    return net, {name: p.detach() for name, p in net.named_parameters()}


# ---------------------------------------------------------------------- the update


def test_the_first_update_has_ratio_one() -> None:
    net, params = network([0, 1])
    _, _, stats = update(net, params, new_adam(params), batch_for(net, params, 2, 8), SMALL)
    assert torch.allclose(stats.approx_kl, torch.zeros(2), atol=1e-6) and stats.clip_fraction.tolist() == [0, 0]
    assert torch.allclose(stats.policy_loss, torch.zeros(2), atol=1e-5)  # normalised advantages sum to zero
    assert (stats.entropy > 1.3).all() and (stats.entropy <= np.log(4) + 1e-5).all()


def test_the_update_is_torchs_own() -> None:
    """Against autograd, ``clip_grad_norm_`` and ``torch.optim.Adam`` on one member."""
    from dataclasses import replace

    config = replace(SMALL, learning_rate=0.01, grad_clip=0.1)
    net, params = network([3])
    other, _ = network([3])
    optimizer = torch.optim.Adam(other.parameters(), lr=0.01)
    batch = batch_for(net, params, 1, 8)
    opt = new_adam(params)
    for _ in range(3):
        params, opt, _ = update(net, params, opt, batch, config)
        own = dict(other.named_parameters())
        logits, value = head(other, own, other(batch.boards), batch.pos)
        policy = torch.distributions.Categorical(logits=logits)
        ratio = (policy.log_prob(batch.action) - batch.log_prob).exp()
        a = (batch.advantage - batch.advantage.mean()) / (batch.advantage.std() + 1e-8)
        surrogate = torch.minimum(ratio * a, ratio.clamp(0.8, 1.2) * a).mean()
        loss = -surrogate + 0.5 * (value - batch.target).square().mean() - 0.1 * policy.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(other.parameters(), 0.1)
        assert norm > 0.1  # the clip matters here
        optimizer.step()
    for name, p in other.named_parameters():
        assert torch.allclose(p, params[name], atol=2e-5), name


def test_masked_members_keep_their_bits() -> None:
    net, params = network([0, 1])
    opt = new_adam(params)
    new, after, _ = update(net, params, opt, batch_for(net, params, 2, 8), SMALL, torch.tensor([True, False]))
    assert after.t.tolist() == [1, 0]
    for name in params:
        assert torch.equal(new[name][1], params[name][1]) and not torch.equal(new[name][0], params[name][0])


@pytest.mark.parametrize("encoder", ["pool", "flatten"])
def test_sharing_boards_changes_nothing_but_rounding(encoder: str) -> None:
    from dataclasses import replace

    config = replace(SMALL_3D, encoder=encoder)
    alone = RingPPO(config, CUBE, [Member(2)])
    padded = RingPPO(config, CUBE, [Member(2)], block=2)
    for block in (alone, padded):
        block.advance(ON)
    for name in alone.params:
        assert torch.allclose(alone.params[name][0], padded.params[name][0], atol=1e-5), name


def test_sampling_follows_the_probabilities() -> None:
    p = np.array([0.1, 0.2, 0.3, 0.4])
    drawn = sample(np.tile(np.log(p), (20_000, 1)).astype(np.float32), np.random.default_rng(0).random(20_000))
    assert np.allclose(np.bincount(drawn, minlength=4) / 20_000, p, atol=0.015)


# ---------------------------------------------------------------------- rollouts


def test_a_rollout_is_what_the_rules_say() -> None:
    """Rewards, ends and frames of a rollout, replayed from its actions alone."""
    config = RingPPOConfig.preset("ring1d", hidden=(8, 8), rollout=128, batch=32)
    block = RingPPO(config, RING, [Member(5, "canonical")])
    seen = block._rollout(np.array([True]))
    log = block.log(0)
    ends = np.flatnonzero(seen["ended"][0])
    assert len(ends) == log.episodes > 2
    assert log.steps.tolist() == (ends + 1).tolist()
    for k, (first, last) in enumerate(zip([0, *(ends[:-1] + 1)], ends, strict=True)):
        assert log.returns[k] == seen["reward"][0, first : last + 1].sum()
        assert log.lengths[k] == last + 1 - first <= RING.time_limit
        assert log.success[k] == seen["terminated"][0, last]
        assert (seen["which"][0, first : last + 1] == k).all()
    boards, pos = seen["boards"][0][seen["which"][0]], seen["after"][0]
    code = boards[np.arange(128), pos]
    assert np.array_equal(seen["reward"][0], np.where(code > 0, 10.0, code))
    assert np.array_equal(seen["terminated"][0], code > 0) and (boards[:, 0] == 1).all()
    same_game = ~seen["ended"][0, :-1]
    assert np.array_equal(seen["pos"][0, 1:][same_game], pos[:-1][same_game])


def test_each_epoch_visits_every_step_once_in_its_own_order() -> None:
    block = RingPPO(SMALL, RING, [Member(0), Member(1)])
    visited: list[np.ndarray] = []
    block._batch = lambda seen, rows, real=block._batch: (visited.append(rows), real(seen, rows))[1]  # type: ignore
    block.advance(ON)
    epochs = np.concatenate(visited, axis=1).reshape(2, 2, 32)  # (member, epoch, step)
    assert (np.sort(epochs, axis=-1) == np.arange(32)).all()
    assert len({tuple(order) for member in epochs for order in member}) == 4


# ---------------------------------------------------------------------- company, checkpoints


@pytest.mark.parametrize(("config", "spec"), [(SMALL, RING), (SMALL_3D, CUBE)], ids=["1d", "3d"])
def test_a_member_does_not_depend_on_its_company(config: RingPPOConfig, spec: RingSpec) -> None:
    members = [Member(0), Member(1, "canonical"), Member(2, "augment")]
    together = RingPPO(config, spec, members, block=3)
    alone = RingPPO(config, spec, [members[0]], block=3)
    swapped = RingPPO(config, spec, [members[2], members[0]], block=3)
    for block in (together, alone, swapped):
        for _ in range(3):
            block.advance(ON)
    for name in together.params:
        assert torch.equal(together.params[name][0], alone.params[name][0]), name
    assert same_log(together.log(0), alone.log(0))
    if spec.d == 1:  # a member's place in the block is no matter either; for grouped convolutions this is not promised
        assert all(torch.equal(together.params[name][2], swapped.params[name][0]) for name in together.params)
    assert not torch.equal(together.params["one.weight"][0], together.params["one.weight"][2])


def test_one_seed_among_nineteen_others() -> None:
    members = [Member(seed, "canonical") for seed in range(20)]
    logs = [each.log(0, 6) for each in train(alone_each(SMALL, RING, members), episodes=6, threads=1)]
    (alone,) = train(alone_each(SMALL, RING, [members[13]]), episodes=6)
    assert logs[13].member.seed == 13 and same_log(logs[13], alone.log(0, 6))
    assert len({tuple(log.stats["entropy"]) for log in logs}) == 20


def test_finished_members_wait() -> None:
    """In a block, a member that has its episodes stands still while the others play on, to the same bits."""
    block = RingPPO(SMALL, RING, [Member(0), Member(1)])
    counts = []
    while block.advance(Budget(episodes=12)):
        counts.append(block.episodes)
    assert (counts[-1] >= 12).all()
    assert block.games.step[0] % 32 == 0
    alone = RingPPO(SMALL, RING, [Member(0)], block=2)
    while alone.advance(Budget(episodes=12)):
        pass
    assert same_log(alone.log(0), block.log(0)) and alone.games.step[0] == block.games.step[0]


@pytest.mark.parametrize(
    ("config", "spec", "members", "block"),
    [(SMALL, RING, [Member(0), Member(1, "canonical")], 3), (SMALL_3D, CUBE, [Member(0, "canonical")], 1)],
    ids=["block", "3d"],
)
def test_resume_to_the_same_bits(tmp_path: Path, config, spec, members, block) -> None:  # type: ignore[no-untyped-def]
    one, two = (RingPPO(config, spec, members, block=block) for _ in range(2))
    for _ in range(5):
        one.advance(ON)
    for _ in range(2):
        two.advance(ON)
    save(two, tmp_path / "p.npz")
    three = load(RingPPO(config, spec, members, block=block), tmp_path / "p.npz")
    assert same(two, three)
    for _ in range(3):
        three.advance(ON)
    assert same(one, three) and not same(one, two)


def test_train_goes_on_with_more_episodes(tmp_path: Path) -> None:
    members = [Member(0), Member(1, "augment")]
    whole = train(alone_each(SMALL, RING, members), episodes=20)
    train(alone_each(SMALL, RING, members), episodes=7, checkpoint=tmp_path, every=1)
    resumed = train(alone_each(SMALL, RING, members), episodes=20, checkpoint=tmp_path)
    assert all(same(a, b) for a, b in zip(whole, resumed, strict=True))


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    save(RingPPO(SMALL, RING, [Member(0)]), tmp_path / "p.npz")
    with pytest.raises(UnreadableFile, match="another run"):
        load(RingPPO(SMALL, RING, [Member(1)]), tmp_path / "p.npz")
    with pytest.raises(BurnsideError, match="do not belong"):
        RingPPO(SMALL, RING, [Member(0)]).restore({})


def test_bad_requests() -> None:
    with pytest.raises(BurnsideError, match="listed twice"):
        RingPPO(SMALL, RING, [Member(0), Member(0)])
    with pytest.raises(BurnsideError, match="unknown arm"):
        RingPPO(SMALL, RING, [Member(0, "equivariant")])
    with pytest.raises(BurnsideError, match="three dimensions"):
        RingPPO(SMALL_3D, RING, [Member(0)])
    with pytest.raises(BurnsideError, match="no members"):
        RingPPO(SMALL, RING, [])
    with pytest.raises(BurnsideError, match="give one of them"):
        train([RingPPO(SMALL, RING, [Member(0)])])


def test_evaluation_is_on_held_out_boards_and_repeatable() -> None:
    block = RingPPO(SMALL, RING, [Member(0), Member(1, "canonical")])
    for greedy in (True, False):
        one, two = block.evaluate(30, m=1, greedy=greedy), block.evaluate(30, m=1, greedy=greedy)
        assert np.array_equal(one.returns, two.returns)
    assert not np.array_equal(block.evaluate(30).returns, block.evaluate(30, seed=1).returns)


# ---------------------------------------------------------------------- learning


@pytest.mark.probe
def test_it_learns_the_small_ring() -> None:
    """N = 5 in one dimension: the training return comes within 10 % of the optimum, greedy play even closer."""
    config = RingPPOConfig.preset("ring1d", learning_rate=2e-3, entropy=0.01)
    spec = RingSpec(5)
    best = expected_optimal_return(spec).value
    block = RingPPO(config, spec, [Member(0, "canonical"), Member(1, "canonical")])
    train([block], episodes=2500)
    for m in range(2):
        assert block.log(m).returns[-300:].mean() > 0.9 * best
        assert block.evaluate(300, m=m).returns.mean() > 0.93 * best


@pytest.mark.probe
def test_discounting_reaches_back_one_step() -> None:
    """Without mines the only reward is the goal: values of a solved ring approach γ^(steps − 1) · E."""
    config = RingPPOConfig.preset("ring1d", learning_rate=3e-3, entropy=0.001, gamma=0.5, grad_clip=20.0)
    spec = RingSpec(5, p_mine=0.0, time_limit=10)
    (block,) = train([RingPPO(config, spec, [Member(0, "canonical")])], episodes=4000)
    boards = torch.zeros(1, 1, 5, dtype=torch.int8)
    boards[0, 0, 0] = 1
    features = encode(block.net, block.params, boards).expand(1, 5, 5)
    _, values = head(block.net, block.params, features, torch.arange(5)[None])
    # every other cell is one move away from the goal; on the goal it takes two
    assert 9.0 < float(values[0, 1:].max()) < 10.8
    assert 4.0 < float(values[0, 0]) < 5.6
