"""PPO's update and blocks: by hand, independent of other members, resumed to the same bits, and able to learn."""

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.agents.learners import same_arrays as same  # noqa: E402
from tests.agents.learners import same_log  # noqa: E402

from burnside._random import Stream, hash_u64  # noqa: E402
from burnside.agents.common.checkpoint import load, save  # noqa: E402
from burnside.agents.common.members import Member  # noqa: E402
from burnside.agents.common.training import Budget, train  # noqa: E402
from burnside.agents.ppo import GeneralPPO, RingPPOConfig  # noqa: E402
from burnside.agents.ppo.learner import torch_learner  # noqa: E402
from burnside.agents.ppo.plain import sample  # noqa: E402
from burnside.agents.ppo.torch_networks import Batch, TorchActorCritic  # noqa: E402
from burnside.envs.ring.core import RingSpec  # noqa: E402
from burnside.envs.ring.optimal import expected_optimal_return  # noqa: E402
from burnside.envs.ring.scenes import RingScenes  # noqa: E402
from burnside.errors import BurnsideError, UnreadableFile  # noqa: E402

SMALL = RingPPOConfig.preset("ring1d", hidden=(16, 24), rollout=32, batch=8, epochs=2)
RING = RingSpec(6)
SMALL_3D = RingPPOConfig.preset("ring3d", rollout=24, batch=8, epochs=2)
CUBE = RingSpec(5, d=3, time_limit=9)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


ON = Budget(steps=10**9)


def made(config: RingPPOConfig, spec: RingSpec, members: list[Member]) -> GeneralPPO:
    return torch_learner(config, RingScenes(spec), members)


def params(learner: GeneralPPO) -> dict[str, "torch.Tensor"]:
    assert isinstance(learner.network, TorchActorCritic)
    return learner.network.params


def alone_each(config: RingPPOConfig, spec: RingSpec, members: list[Member]) -> list[GeneralPPO]:
    return [made(config, spec, [member]) for member in members]


def batch_for(network: TorchActorCritic, size: int) -> Batch:
    """Random steps, with the log-probabilities of the network as it is."""
    rng = np.random.default_rng(0)
    spec, members = network.net.spec, network.members
    items = rng.integers(-1, 2, (members, size, spec.n_cells))
    place = np.eye(spec.n)[rng.integers(0, spec.n, (members, size))]
    obs = np.concatenate([items, place], axis=-1).astype(np.float32)
    action = torch.from_numpy(rng.integers(0, spec.n_actions, (members, size, 1)))
    logits, _ = network.outputs(network.params, obs)
    log_prob = torch.gather(torch.log_softmax(logits, -1), 2, action)[..., 0].detach()
    draw = torch.from_numpy(rng.normal(size=(2, members, size)).astype(np.float32))
    return Batch(obs, action, log_prob, draw[0], draw[1])


def networks(seeds: list[int], config: RingPPOConfig = SMALL) -> TorchActorCritic:
    return TorchActorCritic(config, RING, seeds)


# ---------------------------------------------------------------------- the update


def test_the_first_update_has_ratio_one() -> None:
    network = networks([0, 1])
    policy_loss, _, entropy, kl, clipped = network.update(np.arange(2), batch_for(network, 8)).T
    assert np.allclose(kl, 0, atol=1e-6) and clipped.tolist() == [0, 0]
    assert np.allclose(policy_loss, 0, atol=1e-5)  # normalised advantages sum to zero
    assert (entropy > 1.3).all() and (entropy <= np.log(4) + 1e-5).all()


def test_the_update_is_torchs_own() -> None:
    """Against autograd, ``clip_grad_norm_`` and ``torch.optim.Adam`` on one member."""
    from dataclasses import replace

    config = replace(SMALL, learning_rate=0.01, grad_clip=0.1)
    network, other = networks([3], config), networks([3], config).net
    optimizer = torch.optim.Adam(other.parameters(), lr=0.01)
    batch = batch_for(network, 8)
    for _ in range(3):
        network.update(np.arange(1), batch)
        logits, value = other(torch.from_numpy(batch.obs))
        policy = torch.distributions.Categorical(logits=logits)
        ratio = (policy.log_prob(batch.action[..., 0]) - batch.log_prob).exp()
        a = (batch.advantage - batch.advantage.mean()) / (batch.advantage.std() + 1e-8)
        surrogate = torch.minimum(ratio * a, ratio.clamp(0.8, 1.2) * a).mean()
        loss = -surrogate + 0.5 * (value[..., 0] - batch.target).square().mean() - 0.1 * policy.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(other.parameters(), 0.1)
        assert norm > 0.1  # the clip matters here
        optimizer.step()
    for name, p in other.named_parameters():
        assert torch.allclose(p, network.params[name], atol=2e-5), name


def test_members_that_wait_keep_their_bits() -> None:
    network = networks([0, 1])
    before = dict(network.params)
    network.update(np.array([0]), batch_for(network, 8))
    assert network.opt.t.tolist() == [1, 0]
    for name in before:
        assert torch.equal(network.params[name][1], before[name][1])
        assert not torch.equal(network.params[name][0], before[name][0])


@pytest.mark.parametrize("encoder", ["pool", "flatten"])
def test_encoding_a_board_once_changes_nothing_but_rounding(encoder: str) -> None:
    from dataclasses import replace

    config = replace(SMALL_3D, encoder=encoder)
    alone, both = made(config, CUBE, [Member(2)]), made(config, CUBE, [Member(2), Member(3)])
    for learner in (alone, both):
        learner.advance(ON)
    for name, p in params(alone).items():
        assert torch.allclose(p[0], params(both)[name][0], atol=1e-5), name


def test_sampling_follows_the_probabilities() -> None:
    p = np.array([0.1, 0.2, 0.3, 0.4])
    drawn = sample(np.tile(np.log(p), (20_000, 1)).astype(np.float32), np.random.default_rng(0).random(20_000))
    assert np.allclose(np.bincount(drawn, minlength=4) / 20_000, p, atol=0.015)


# ---------------------------------------------------------------------- rollouts


def test_a_rollout_is_what_the_rules_say() -> None:
    """Rewards, ends and frames of a rollout, replayed from its actions alone."""
    config = RingPPOConfig.preset("ring1d", hidden=(8, 8), rollout=128, batch=32)
    learner = made(config, RING, [Member(5, "canonical")])
    seen = {name: array[0, :, 0] for name, array in learner._rollout(np.array([0])).items()}
    log = learner.log(0)
    ends = np.flatnonzero(seen["ended"])
    assert len(ends) == log.episodes > 2
    assert log.steps.tolist() == (ends + 1).tolist()
    items, pos = seen["obs"][:, :6], seen["obs"][:, 6:].argmax(axis=1)
    assert (items[:, 0] == RING.end_reward).all()  # the goal is at the origin
    moves = RING.moves[seen["action"][:, 0].astype(int), 0]
    after = (pos + moves) % 6
    assert np.array_equal(seen["reward"], items[np.arange(128), after])
    assert np.array_equal(seen["terminated"], after == 0)
    begins = np.concatenate([[True], seen["ended"][:-1]])
    assert np.array_equal(pos[1:][~begins[1:]], after[:-1][~begins[1:]])
    firsts = np.flatnonzero(begins)[: len(ends)]
    for first, last, total in zip(firsts, ends, log.returns, strict=True):
        assert seen["reward"][first : last + 1].sum() == total


def test_each_epoch_visits_every_step_once_in_its_own_order() -> None:
    learner = made(SMALL, RING, [Member(0), Member(1)])
    visited: list[np.ndarray] = []
    epoch = learner.network.epoch

    def watched(who, steps, order, made, totals):  # type: ignore[no-untyped-def]
        visited.append(order)
        return epoch(who, steps, order, made, totals)

    learner.network.epoch = watched  # type: ignore[method-assign]
    learner.advance(ON)
    epochs = np.stack(visited, axis=1)  # (member, epoch, step)
    assert epochs.shape == (2, 2, 32) and (np.sort(epochs, axis=-1) == np.arange(32)).all()
    assert len({tuple(order) for member in epochs for order in member}) == 4
    assert np.array_equal(epochs[1, 1], np.argsort(hash_u64(1, Stream.REPLAY, 32 + np.arange(32))))


# ---------------------------------------------------------------------- company, checkpoints


@pytest.mark.parametrize(("config", "spec"), [(SMALL, RING), (SMALL_3D, CUBE)], ids=["1d", "3d"])
def test_a_member_does_not_depend_on_its_company(config: RingPPOConfig, spec: RingSpec) -> None:
    together, others, swapped = (
        made(config, spec, [Member(seed, "augment") for seed in seeds]) for seeds in ((0, 1, 2), (0, 5, 6), (2, 0, 7))
    )
    for learner in (together, others, swapped):
        for _ in range(3):
            learner.advance(ON)
    for name, p in params(together).items():
        assert torch.equal(p[0], params(others)[name][0]), name
    assert same_log(together.log(0), others.log(0))
    if spec.d == 1:  # nor on its place among them; for grouped convolutions this is not promised
        assert all(torch.equal(p[2], params(swapped)[name][0]) for name, p in params(together).items())
    assert not torch.equal(params(together)["one.weight"][0], params(together)["one.weight"][2])


def test_one_seed_among_nineteen_others() -> None:
    members = [Member(seed, "canonical") for seed in range(20)]
    logs = [each.log(0, 6) for each in train(alone_each(SMALL, RING, members), episodes=6, threads=1)]
    (alone,) = train(alone_each(SMALL, RING, [members[13]]), episodes=6)
    assert logs[13].member.seed == 13 and same_log(logs[13], alone.log(0, 6))
    assert len({tuple(log.stats["entropy"]) for log in logs}) == 20


def test_finished_members_wait() -> None:
    """A member that has finished waits while the others continue, to the same bits."""
    learners = [made(SMALL, RING, [Member(0), Member(seed)]) for seed in (1, 3)]
    for learner in learners:
        train([learner], episodes=12)
        assert (learner.episodes >= 12).all() and learner.steps[0] % 32 == 0
    one, two = learners
    assert same_log(one.log(0), two.log(0)) and one.steps[0] == two.steps[0]
    assert torch.equal(params(one)["one.weight"][0], params(two)["one.weight"][0])


@pytest.mark.parametrize(
    ("config", "spec", "members"),
    [(SMALL, RING, [Member(0), Member(1)]), (SMALL_3D, CUBE, [Member(0, "canonical")])],
    ids=["members", "3d"],
)
def test_resume_to_the_same_bits(tmp_path: Path, config, spec, members) -> None:  # type: ignore[no-untyped-def]
    one, two = (made(config, spec, members) for _ in range(2))
    for _ in range(5):
        one.advance(ON)
    for _ in range(2):
        two.advance(ON)
    save(two, tmp_path / "p.npz")
    three = load(made(config, spec, members), tmp_path / "p.npz")
    assert same(two, three)
    for _ in range(3):
        three.advance(ON)
    assert same(one, three) and not same(one, two)


def test_training_continues_with_more_episodes(tmp_path: Path) -> None:
    members = [Member(0), Member(1, "augment")]
    whole = train(alone_each(SMALL, RING, members), episodes=20)
    train(alone_each(SMALL, RING, members), episodes=7, checkpoint=tmp_path, every=1)
    resumed = train(alone_each(SMALL, RING, members), episodes=20, checkpoint=tmp_path)
    assert all(same(a, b) for a, b in zip(whole, resumed, strict=True))


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    save(made(SMALL, RING, [Member(0)]), tmp_path / "p.npz")
    with pytest.raises(UnreadableFile, match="another run"):
        load(made(SMALL, RING, [Member(1)]), tmp_path / "p.npz")
    with pytest.raises(BurnsideError, match="do not belong"):
        made(SMALL, RING, [Member(0)]).restore({})


def test_bad_requests() -> None:
    with pytest.raises(BurnsideError, match="listed twice"):
        made(SMALL, RING, [Member(0), Member(0)])
    with pytest.raises(BurnsideError, match="unknown arm"):
        made(SMALL, RING, [Member(0, "equivariant")])
    with pytest.raises(BurnsideError, match="three dimensions"):
        made(SMALL_3D, RING, [Member(0)])
    with pytest.raises(BurnsideError, match="no members"):
        made(SMALL, RING, [])
    with pytest.raises(BurnsideError, match="share one arm"):
        made(SMALL, RING, [Member(0), Member(0, "canonical")])
    with pytest.raises(BurnsideError, match="use PPOConfig"):
        GeneralPPO(SMALL, RingScenes(RING), [0])
    with pytest.raises(BurnsideError, match="give one of them"):
        train([made(SMALL, RING, [Member(0)])])


def test_evaluation_is_on_held_out_boards_and_repeatable() -> None:
    learner = made(SMALL, RING, [Member(0, "canonical"), Member(1, "canonical")])
    for greedy in (True, False):
        one, two = learner.evaluate(30, m=1, greedy=greedy), learner.evaluate(30, m=1, greedy=greedy)
        assert np.array_equal(one.returns, two.returns)
    assert not np.array_equal(learner.evaluate(30).returns, learner.evaluate(30, seed=1).returns)


# ---------------------------------------------------------------------- learning


@pytest.mark.probe
@pytest.mark.slow
def test_it_learns_the_small_ring() -> None:
    """N = 5 in one dimension: the training return comes within 10 % of the optimum, greedy play even closer."""
    config = RingPPOConfig.preset("ring1d", learning_rate=2e-3, entropy=0.01)
    spec = RingSpec(5)
    best = expected_optimal_return(spec).value
    block = made(config, spec, [Member(0, "canonical"), Member(1, "canonical")])
    train([block], episodes=2500)
    for m in range(2):
        assert block.log(m).returns[-300:].mean() > 0.9 * best
        assert block.evaluate(300, m=m).returns.mean() > 0.93 * best


@pytest.mark.probe
@pytest.mark.slow
def test_discounting_reaches_back_one_step() -> None:
    """Without mines the only reward is the goal: values of a solved ring approach γ^(steps − 1) · E."""
    config = RingPPOConfig.preset("ring1d", learning_rate=3e-3, entropy=0.001, gamma=0.5, grad_clip=20.0)
    spec = RingSpec(5, p_mine=0.0, time_limit=10)
    (learner,) = train([made(config, spec, [Member(0, "canonical")])], episodes=4000)
    board = np.array([spec.end_reward, 0, 0, 0, 0])
    values = learner.values(np.concatenate([np.tile(board, (5, 1)), np.eye(5)], axis=1))
    # every other cell is one move away from the goal; on the goal it takes two
    assert 9.0 < float(values[1:].max()) < 10.8
    assert 4.0 < float(values[0]) < 5.6
