"""Arms inside the updates: exact equivariance, images in the batch, and what stays as it was."""

import numpy as np
import pytest

from burnside.agents import DQN, PPO
from burnside.agents.common.arms import SYMMETRY_ARMS, prepare
from burnside.agents.common.training import Budget
from burnside.agents.dqn.config import DQNConfig
from burnside.agents.dqn.learner import GeneralDQN
from burnside.agents.ppo.config import PPOConfig
from burnside.agents.ppo.learner import GeneralPPO
from burnside.agents.sac import GeneralSAC, SACConfig
from burnside.envs.gymnasium_batch import as_batched
from burnside.errors import InvalidParameter, UnknownName
from burnside.experiments.atlas.tasks import TicTacToe
from burnside.symmetry import EnvSymmetry

SMALL = PPOConfig(hidden=(16, 16), scenes=4, rollout=16, batch=32, epochs=2)


def ppo(env, arm, seed=0, symmetry=None):
    prepared = prepare(as_batched(env), arm, symmetry)
    learner = GeneralPPO(SMALL, prepared.env, [seed], prepared.use)
    learner.advance(Budget(steps=128))
    return learner


def dqn(env, arm, symmetry=None):
    prepared = prepare(as_batched(env), arm, symmetry)
    config = DQNConfig.preset("general", hidden=(16, 16), capacity=500, batch=16, update_every=1)
    from burnside.agents.common.members import Member

    learner = GeneralDQN(config, prepared.env, Member(0), 1, prepared.use)
    learner.advance(Budget(steps=150))
    return learner


def sac(env, arm):
    prepared = prepare(as_batched(env), arm)
    config = SACConfig(hidden=(16, 16), begin=40, batch=16, capacity=500)
    learner = GeneralSAC(config, prepared.env, [0], prepared.use)
    learner.advance(Budget(steps=80))
    return learner


D4 = EnvSymmetry.from_dict(
    {
        "group": "D4",
        "observation": [
            {"kind": "image", "channels": "last", "op": "turn"},
            {"kind": "image", "channels": "last", "op": "flip_ud"},
        ],
        "action": ["labels 6,3,0,7,4,1,8,5,2", "labels 6,7,8,3,4,5,0,1,2"],
    }
)


@pytest.mark.parametrize("arm", ["averaging", "equivariant"])
@pytest.mark.parametrize(
    ("make", "env"), [(ppo, "CartPole-v1"), (ppo, "Pendulum-v1"), (dqn, "CartPole-v1"), (sac, "Pendulum-v1")]
)
def test_networks_are_exactly_equivariant_after_updates(make, env, arm):
    learner = make(env, arm)
    mine = learner.use.symmetry
    rows = np.random.default_rng(0).normal(size=(40, mine.obs_dim)).astype(np.float32)
    images = mine.images(rows)
    for g in range(mine.count):
        there, here = learner.act(images[:, g]), learner.act(rows)
        assert np.allclose(there, mine.move_actions(np.full(40, g), here), atol=1e-5)
        if make is ppo:
            assert np.allclose(learner.values(images[:, g]), learner.values(rows), atol=1e-4)


@pytest.mark.parametrize("arm", ["averaging", "equivariant"])
def test_a_group_of_eight(arm):
    learner = dqn(TicTacToe, arm, D4)
    mine = learner.use.symmetry
    assert mine.count == mine.order == 8
    rows = np.random.default_rng(0).normal(size=(20, mine.obs_dim)).astype(np.float32)
    values = learner.values(rows)
    for g in range(8):
        moved = learner.values(mine.images(rows)[:, g])
        assert np.allclose(np.take_along_axis(moved, np.tile(mine.table[g], (20, 1)), axis=1), values, atol=1e-5)


def test_mirrored_steps_keep_the_log_probability_of_the_behaviour():
    learner = ppo("CartPole-v1", "augment")
    from burnside.agents.ppo import kernels

    rng = np.random.default_rng(0)
    obs, action = rng.normal(size=(8, 4)).astype(np.float32), rng.integers(0, 2, size=(8, 1)).astype(np.float32)
    steps = kernels.Steps(obs, action, *(rng.normal(size=8).astype(np.float32) for _ in range(3)))
    found, order = learner.network._augmented(learner.use, 0, steps, np.arange(8)[::-1], 0)
    assert np.array_equal(found.obs[8:], -obs) and np.array_equal(found.action[8:], 1 - action)
    for column in ("log_prob", "advantage", "target"):
        assert np.array_equal(getattr(found, column)[8:], getattr(steps, column))
    assert order.tolist() == [k for i in range(7, -1, -1) for k in (i, i + 8)]  # a step and its image together


def test_updates_are_equal_and_batches_are_not():
    made = {arm: ppo("CartPole-v1", arm) for arm in ("baseline", "augment", "augment-random", "averaging")}
    assert len({int(learner.updates[0]) for learner in made.values()}) == 1
    assert made["augment"].use.multiplies == 2 and made["augment-random"].use.multiplies == 1


def test_a_mirror_loss_pulls_and_the_baseline_does_not():
    # the same initial weights: after the same updates the outputs at the images are nearer
    def apart(learner):
        rows = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
        return float(np.abs(learner.values(rows) - learner.values(-rows)).mean())

    assert apart(ppo("CartPole-v1", "mirror-loss")) < apart(ppo("CartPole-v1", "baseline"))


@pytest.mark.parametrize("arm", SYMMETRY_ARMS)
def test_every_arm_of_every_learner_learns_and_predicts(arm):
    for cls, env in ((PPO, "CartPole-v1"), (DQN, "CartPole-v1")):
        small = DQNConfig.preset("general", hidden=(16, 16), capacity=300, batch=64, update_every=1)
        config = SMALL if cls is PPO else small
        agent = cls(env, config, arm=arm).learn(130)
        assert agent.predict(np.array([0.01, 0.0, -0.02, 0.0], dtype=np.float32)) in (0, 1)


def test_a_canonical_agent_answers_mirrored_questions_alike():
    agent = PPO("CartPole-v1", SMALL, arm="canonical").learn(128)
    rows = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    assert np.array_equal(agent.predict(-rows), 1 - agent.predict(rows))


def test_what_cannot_be_is_refused():
    with pytest.raises(InvalidParameter, match="averaging needs a finite group"):
        PPO("burnside/PlanarPush-v0", arm="averaging")
    with pytest.raises(UnknownName, match="arm"):
        prepare(as_batched("CartPole-v1"), "mirrors")
    with pytest.raises(InvalidParameter, match="MountainCar"):
        PPO("MountainCar-v0", arm="averaging")
