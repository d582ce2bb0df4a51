"""Wrappers: the same returns as without, undo with the right element, autoreset, frame stacks, augmentation."""

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import FrameStackObservation

import burnside.envs  # noqa: F401
from burnside.canonical import (
    AugmentedEnv,
    AugmentedVectorEnv,
    CanonicalEnv,
    CanonicalVectorEnv,
    EnvSymmetry,
    LexMin,
    SignFlip,
    known,
)
from burnside.canonical.base import equal
from burnside.envs.ring.symmetry import RollToGoal
from burnside.errors import BurnsideError, InvalidAction, InvalidParameter, NotVerified
from burnside.groups import Action, Group


class Clock(gym.Env):
    """A ring of lamps, some lit; pressing the button at a place (absolute!) pays what is lit there and moves the lamps.

    Its actions are places, so rotations permute them: undoing with a wrong element shows at once.
    """

    def __init__(self, n: int = 5) -> None:
        self.n = n
        self.observation_space = gym.spaces.Box(0, 100, (n,), np.float32)
        self.action_space = gym.spaces.Discrete(n)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = self.np_random.permutation(self.n).astype(np.float64) * 2
        self.t = 0
        return self.state.astype(np.float32), {}

    def step(self, action):
        reward = self.state[action]
        # a rule that turns with the ring: the pressed lamp is put out, its right neighbour gets brighter
        self.state = self.state.copy()
        self.state[action] = 0
        self.state[(action + 1) % self.n] += 3
        self.t += 1
        return self.state.astype(np.float32), float(reward), self.t >= 6, False, {}


def turns(n: int = 5) -> EnvSymmetry:
    group = Group.cyclic(n)
    return EnvSymmetry.from_actions(Action.natural(group), Action.natural(group))


def form(n: int = 5) -> LexMin:
    return turns(n).canonicalizer


# ---------------------------------------------------------------------- CanonicalEnv


@pytest.mark.filterwarnings("error", "ignore:.*different from the unwrapped version")
@pytest.mark.parametrize(("name", "n"), [("burnside/Ring1D-v0", 6), ("burnside/Ring3D-v0", 5)])
def test_canonical_ring(name: str, n: int) -> None:
    plain, wrapped = gym.make(name, n=n), CanonicalEnv(gym.make(name, n=n))
    assert wrapped.observation_space == plain.observation_space
    check_env(CanonicalEnv(gym.make(name, n=n).unwrapped), skip_render_check=True)
    rng = np.random.default_rng(0)
    for seed in range(15):
        plain.reset(seed=seed)
        x, info = wrapped.reset(seed=seed)
        total = [0.0, 0.0]
        over = False
        while not over:
            items = x[:n] if "1D" in name else x["items"].ravel()
            assert items[0] == items.max() > 0 and x in wrapped.observation_space
            action = int(rng.integers(plain.action_space.n))
            y, r1, *end, _ = plain.step(action)
            x, r2, *same_end, info = wrapped.step(action)
            assert end == same_end and equal(x, RollToGoal(n, 1 if "1D" in name else 3)(y)[0])
            total[0], total[1], over = total[0] + r1, total[1] + r2, any(end)
        assert total[0] == total[1]
        assert info["group_element"].shape == ((1,) if "1D" in name else (3,))


def test_actions_are_undone_with_the_element_of_the_observation_acted_on() -> None:
    """Not with that of the observation that follows. Here the right and the wrong element nearly always differ."""
    inside = Clock()
    env = CanonicalEnv(inside, form())
    rng = np.random.default_rng(1)
    moved = 0
    for seed in range(30):
        x, info = env.reset(seed=seed)
        over = False
        while not over:
            assert np.array_equal(x, form()(inside.state.astype(np.float32))[0])
            action = int(rng.integers(5))
            before = info["group_element"]
            x_before = x
            x, reward, over, _, info = env.step(action)
            # the reward is what the agent saw at the place it pressed
            assert reward == x_before[action]
            moved += int(before != info["group_element"])
    assert moved > 50


def test_optimal_play_through_the_form_is_optimal_outside() -> None:
    """A policy of canonical observations earns the same on every member of an orbit."""
    totals = set()
    for shift in range(5):
        inside = Clock()
        env = CanonicalEnv(inside, form())
        env.reset(seed=3)
        inside.state = np.roll(inside.state, shift)
        env._show(inside.state.astype(np.float32), {})
        x, total, over = env._show(inside.state.astype(np.float32), {})[0], 0.0, False
        while not over:
            x, reward, over, _, _ = env.step(int(np.argmax(x)))
            total += reward
        totals.add(total)
    assert len(totals) == 1


def test_errors() -> None:
    with pytest.raises(InvalidParameter, match="no canonical form, and the atlas says that it has none"):
        CanonicalEnv(gym.make("MountainCar-v0"))
    with pytest.raises(InvalidParameter, match="not a canonicalizer"):
        CanonicalEnv(gym.make("CartPole-v1"), lambda x: (x, 0))
    with pytest.raises(InvalidAction, match="before reset"):
        CanonicalEnv(Clock(), form()).step(0)
    with pytest.raises(InvalidParameter, match="no canonical form, and the atlas says that it has none"):
        CanonicalVectorEnv(gym.make_vec("MountainCar-v0", num_envs=2))


def test_discrete_observations() -> None:
    lake = gym.make("FrozenLake-v1", desc=["SFFF", "FHFF", "FFHF", "FFFG"], is_slippery=False)
    env = CanonicalEnv(lake, known.frozenlake_transposition(4).canonicalizer)
    env.reset(seed=0)
    x, *_ = env.step(1)  # down to cell 4, which is shown as cell 1
    assert x == 1 and isinstance(x, int) and lake.unwrapped.s == 4
    x, *_ = env.step(2)  # right, as seen: down
    assert x == 2 and lake.unwrapped.s == 8


def test_cartpole_is_seen_from_one_side() -> None:
    env = CanonicalEnv(gym.make("CartPole-v1"), known.cartpole_reflection().canonicalizer)
    rng = np.random.default_rng(0)
    x, _ = env.reset(seed=1)
    seen = set()
    for _ in range(200):
        assert x[2] >= 0 and x.dtype == np.float32
        x, _, terminated, truncated, info = env.step(int(rng.integers(2)))
        seen.add(int(info["group_element"]))
        if terminated or truncated:
            x, _ = env.reset()
    assert seen == {1, -1}


# ---------------------------------------------------------------------- vectors, autoreset, stacks


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_vector_equals_single_through_autoresets(mode: AutoresetMode) -> None:
    """Canonical vector environment against a vector of canonical environments, absolute actions, many episodes."""
    make = gym.vector.SyncVectorEnv
    ours = CanonicalVectorEnv(make([Clock] * 4, autoreset_mode=mode), form())
    theirs = make([lambda: CanonicalEnv(Clock(), form())] * 4, autoreset_mode=mode)
    x, _ = ours.reset(seed=2)
    y, _ = theirs.reset(seed=2)
    rng = np.random.default_rng(0)
    for t in range(40):
        assert np.array_equal(x, y) and x.dtype == y.dtype == np.float32
        actions = rng.integers(0, 5, 4)
        x, *scores, info = ours.step(actions)
        y, *their_scores, their_info = theirs.step(actions)
        assert all(np.array_equal(a, b) for a, b in zip(scores, their_scores, strict=True))
        if mode == AutoresetMode.SAME_STEP and t % 6 == 5:
            for i in range(4):
                assert np.array_equal(info["final_obs"][i], their_info["final_obs"][i])
                assert np.array_equal(form()(info["final_obs"][i])[0], info["final_obs"][i])


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("declared", ["functions", "representations"])
def test_augmented_vector_equals_augmented_members(mode: AutoresetMode, declared: str) -> None:
    """Through resets of all kinds, with the same elements; actions are absolute, so a wrong element shows at once."""
    turn = EnvSymmetry("C5", "4,0,1,2,3", "labels 1,2,3,4,0") if declared == "representations" else turns()
    make = gym.vector.SyncVectorEnv
    ours = AugmentedVectorEnv(make([Clock] * 4, autoreset_mode=mode), turn)
    theirs = make([lambda: AugmentedEnv(Clock(), turn)] * 4, autoreset_mode=mode)
    x, info = ours.reset(seed=2)
    y, their_info = theirs.reset(seed=2)
    rng, seen = np.random.default_rng(0), set()
    for t in range(40):
        assert np.array_equal(x, y) and x.dtype == y.dtype == np.float32
        assert np.array_equal(info["group_element"], their_info["group_element"])
        seen |= set(info["group_element"].tolist())
        actions = rng.integers(0, 5, 4)
        x, *scores, info = ours.step(actions)
        y, *their_scores, their_info = theirs.step(actions)
        assert all(np.array_equal(a, b) for a, b in zip(scores, their_scores, strict=True))
        if mode == AutoresetMode.SAME_STEP and t % 6 == 5:
            for i in range(4):
                assert np.array_equal(info["final_obs"][i], their_info["final_obs"][i])
    assert len(seen) == 5


def test_augmented_vector_without_autoreset_draws_where_the_mask_says() -> None:
    turn = EnvSymmetry("C5", "4,0,1,2,3", "labels 1,2,3,4,0")
    envs = AugmentedVectorEnv(gym.vector.SyncVectorEnv([Clock] * 8, autoreset_mode=AutoresetMode.DISABLED), turn)
    with pytest.raises(InvalidAction, match="before reset"):
        envs.step(np.zeros(8, dtype=int))
    _, first = envs.reset(seed=0)
    envs.step(np.zeros(8, dtype=int))
    mask = np.arange(8) < 4
    _, second = envs.reset(options={"reset_mask": mask})
    assert np.array_equal(first["group_element"][~mask], second["group_element"][~mask])
    assert not np.array_equal(first["group_element"][mask], second["group_element"][mask])
    with pytest.raises(InvalidParameter, match="elements and the inverse"):
        AugmentedVectorEnv(envs.env, EnvSymmetry([1], lambda g, x: x, lambda g, a: a))


def test_vector_of_rings_in_three_dimensions() -> None:
    envs = CanonicalVectorEnv(
        gym.make_vec("burnside/Ring3D-v0", num_envs=5, n=5, time_limit=4, autoreset_mode=AutoresetMode.SAME_STEP)
    )
    x, _ = envs.reset(seed=0)
    rng = np.random.default_rng(0)
    finals = 0
    for _ in range(12):
        assert (x["items"][:, 0, 0, 0] == 20).all() and x in envs.observation_space
        x, _, _, _, info = envs.step(rng.integers(0, 64, 5))
        for final in info.get("final_obs", []):
            if final is not None:
                finals += 1
                assert final["items"][0, 0, 0] == 20
    assert finals > 10
    with pytest.raises(InvalidAction, match="before reset"):
        CanonicalVectorEnv(gym.make_vec("burnside/Ring1D-v0", num_envs=2)).step(np.zeros(2, int))


@pytest.mark.parametrize("padding", ["reset", "zero"])
def test_frame_stacks_share_one_element(padding: str) -> None:
    plain = FrameStackObservation(Clock(), 3, padding_type=padding)
    env = CanonicalEnv(FrameStackObservation(Clock(), 3, padding_type=padding), form(), stacked=True)
    rng = np.random.default_rng(0)
    differs = 0
    for step in range(60):
        if step % 6 == 0:
            y, _ = plain.reset(seed=step)
            x, info = env.reset(seed=step)
        g = info["group_element"]
        assert x.shape == (3, 5)
        assert np.array_equal(x, form().act(g, y))  # all frames by one g
        assert np.array_equal(x[-1], form()(y[-1])[0])  # that of the latest
        differs += not np.array_equal(x, form()(y)[0])  # which is not frame by frame
        action = int(rng.integers(5))
        y, r1, *_ = plain.step(int(form().undo(action, g)))
        x, r2, *_, info = env.step(action)
        assert r1 == r2
    assert differs > 15


def test_stacks_of_vector_environments_and_dictionaries() -> None:
    def stack(**options):
        return FrameStackObservation(gym.make("burnside/Ring3D-v0", n=5, time_limit=3), 2, **options)

    mode = AutoresetMode.SAME_STEP
    ours = CanonicalVectorEnv(gym.vector.SyncVectorEnv([stack] * 3, autoreset_mode=mode), stacked=True)
    theirs = gym.vector.SyncVectorEnv([lambda: CanonicalEnv(stack(), stacked=True)] * 3, autoreset_mode=mode)
    with pytest.raises(InvalidParameter, match="declares no"):  # a SyncVectorEnv declares nothing of its own
        CanonicalVectorEnv(gym.vector.SyncVectorEnv([Clock]))
    x, _ = ours.reset(seed=0)
    y, _ = theirs.reset(seed=0)
    for t in range(8):
        assert equal(x, y) and x["items"].shape == (3, 2, 5, 5, 5)
        x, r, *_, info = ours.step(np.array([t, t + 20, t + 40]))
        y, r2, *_, their_info = theirs.step(np.array([t, t + 20, t + 40]))
        assert np.array_equal(r, r2)
        if "final_obs" in info:
            for a, b in zip(info["final_obs"], their_info["final_obs"], strict=True):
                assert (a is None and b is None) or equal(a, b)


# ---------------------------------------------------------------------- augmentation


def test_augmentation_keeps_returns_and_shows_whole_orbits() -> None:
    plain, env = Clock(), AugmentedEnv(Clock(), turns())
    rng = np.random.default_rng(0)
    elements = []
    y, _ = plain.reset(seed=0)
    x, info = env.reset(seed=0)
    for _ in range(60):
        g = info["group_element"]
        elements.append(g)
        over = False
        while not over:
            assert np.array_equal(x, turns().act_on_observation(g, y)) and x.dtype == np.float32
            action = int(rng.integers(5))
            meant = next(a for a in range(5) if turns().act_on_action(g, a) == action)
            y, r1, *_ = plain.step(meant)
            x, r2, over, _, info = env.step(action)
            assert r1 == r2 == r2 and info["group_element"] == g
        y, _ = plain.reset()
        x, info = env.reset()
    assert set(elements) == set(range(5))
    _, info = env.reset(seed=0)
    assert info["group_element"] == elements[0]  # a function of the seed
    with pytest.raises(InvalidParameter, match="elements"):
        AugmentedEnv(Clock(), EnvSymmetry([1], turns().act_on_observation, turns().act_on_action))
    with pytest.raises(InvalidAction, match="before reset"):
        AugmentedEnv(Clock(), turns()).step(0)


@pytest.mark.filterwarnings("error", "ignore:.*different from the unwrapped version")
def test_augmented_ring_passes_gymnasiums_checker() -> None:
    env = AugmentedEnv(gym.make("burnside/Ring1D-v0", n=6).unwrapped, known.ring_translations(6))
    check_env(env, skip_render_check=True)
    goals = set()
    for seed in range(60):
        x, _ = env.reset(seed=seed)
        goals.add((int(np.argmax(x[:6])) - int(np.argmax(x[6:]))) % 6)
    assert goals == set(range(6))


# ---------------------------------------------------------------------- another library's learner


def test_stable_baselines_trains_unchanged() -> None:
    """Its DQN, with a start that plays badly, plays as well as can be after 1 500 steps in the canonical form."""
    sb3 = pytest.importorskip("stable_baselines3", reason="needs the sb3 extra: pip install 'burnside[sb3]'")
    env = CanonicalEnv(gym.make("burnside/Ring1D-v0", n=10))
    model = sb3.DQN(
        "MlpPolicy",
        env,
        learning_starts=100,
        train_freq=1,
        batch_size=32,
        learning_rate=2e-3,
        target_update_interval=100,
        exploration_fraction=0.4,
        policy_kwargs={"net_arch": [32, 32]},
        seed=2,
        device="cpu",
    )

    def play(episodes: int = 20) -> float:
        total = 0.0
        for seed in range(10_000, 10_000 + episodes):
            x, _ = env.reset(seed=seed)
            over = False
            while not over:
                action, _ = model.predict(x, deterministic=True)
                x, reward, terminated, truncated, _ = env.step(action)
                total, over = total + float(reward), terminated or truncated
        return total / episodes

    assert play() < 0.0
    model.learn(1_500)
    assert play() > 9.0


def test_a_form_for_another_number_of_actions_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="moves 3 actions, the environment has 2"):
        CanonicalEnv(gym.make("CartPole-v1"), SignFlip([-1] * 4, actions=[1, 0, 2]))
    with pytest.raises(InvalidParameter, match="moves 3 actions"):
        CanonicalVectorEnv(gym.make_vec("CartPole-v1", num_envs=2), SignFlip([-1] * 4, actions=[1, 0, 2]))


# ---------------------------------------------------------------------- errors in a sentence

MIRROR = known.cartpole_reflection()


def test_a_form_for_other_actions_is_refused_at_once() -> None:
    pendulum, cart = gym.make("Pendulum-v1"), gym.make("CartPole-v1")
    for wrong in (SignFlip([-1] * 3, actions=[1, 0]), form(5)):
        with pytest.raises(InvalidParameter, match="numbered actions, but the actions of the environment are Box"):
            CanonicalEnv(pendulum, wrong)
    with pytest.raises(InvalidParameter, match="vectors of 1 numbers, but the actions of the environment are Discrete"):
        CanonicalEnv(cart, SignFlip([-1] * 4, action_signs=[-1]))
    with pytest.raises(InvalidParameter, match="vectors of 2 numbers"):
        CanonicalEnv(pendulum, SignFlip([1, -1, -1], action_signs=[-1, -1]))
    CanonicalEnv(pendulum, SignFlip([1, -1, -1], action_signs=[-1])).reset(seed=0)


def test_a_symmetry_is_taken_for_its_form() -> None:
    env = CanonicalEnv(gym.make("CartPole-v1"), MIRROR)
    assert env.form is MIRROR.canonicalizer and env.reset(seed=1)[0][2] >= 0
    assert CanonicalVectorEnv(gym.make_vec("CartPole-v1", num_envs=2), MIRROR).form is MIRROR.canonicalizer
    bare = EnvSymmetry([-1], lambda g, x: -x, lambda g, a: 1 - a, name="bare")
    with pytest.raises(InvalidParameter, match="the symmetry bare has no canonical form"):
        CanonicalEnv(gym.make("CartPole-v1"), bare)


def test_actions_of_the_wrong_kind() -> None:
    clock = CanonicalEnv(Clock(), form())
    clock.reset(seed=0)
    for action in (0.5, np.array([0.5]), -1, 7, "left", None):
        with pytest.raises((InvalidAction, InvalidParameter), match=r"action|undo"):
            clock.step(action)
    cart = CanonicalEnv(gym.make("CartPole-v1"), MIRROR)
    cart.reset(seed=0)
    for action in (0.5, 2, np.zeros(2)):
        with pytest.raises((InvalidAction, InvalidParameter), match="action"):
            cart.step(action)


class OneAtATime(SignFlip):
    """A form that was written for one observation."""

    def __call__(self, x):
        g = -1 if x[2] < 0 else 1
        return self.act(g, x), g


class FirstOnly(SignFlip):
    """A form that treats a batch like its first row, without complaint."""

    def __call__(self, x):
        _, g = super().__call__(x)
        g = np.broadcast_to(np.asarray(g).ravel()[0], np.shape(g))
        return self.act(g, x), g


@pytest.mark.parametrize("kind", [OneAtATime, FirstOnly])
def test_a_form_for_one_observation_in_a_vector_environment(kind) -> None:
    wrong = kind([-1] * 4, actions=[1, 0], order=[2, 3, 0, 1])
    CanonicalEnv(gym.make("CartPole-v1"), wrong).reset(seed=0)
    envs = CanonicalVectorEnv(gym.make_vec("CartPole-v1", num_envs=4), wrong)
    with pytest.raises(InvalidParameter, match="leading axis"):
        envs.reset(seed=3)


# ---------------------------------------------------------------------- check=True


def test_false_symmetries_are_refused_at_construction() -> None:
    wrong = replace(MIRROR, act_on_action=lambda g, a: a, canonicalizer=SignFlip([-1] * 4, actions=[0, 1]))
    for make in (
        lambda: CanonicalEnv(gym.make("CartPole-v1"), wrong, check=True),
        lambda: CanonicalVectorEnv(gym.make_vec("CartPole-v1", num_envs=2), wrong, check=True),
        lambda: CanonicalVectorEnv(gym.vector.SyncVectorEnv([lambda: gym.make("CartPole-v1")] * 2), wrong, check=True),
        lambda: AugmentedEnv(gym.make("CartPole-v1"), wrong, check=True),
    ):
        with pytest.raises(NotVerified, match="is not a symmetry of"):
            make()
    CanonicalEnv(gym.make("CartPole-v1"), wrong)  # silently, without


def test_the_check_leaves_the_environment_alone_and_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    from burnside.canonical import construction

    calls = []
    real = construction._check
    monkeypatch.setattr(construction, "_check", lambda *a: calls.append(1) or real(*a))
    reflection = known.cartpole_reflection()

    def play(**options):
        env = gym.make("CartPole-v1")
        env.action_space.seed(3)
        first, _ = env.reset(seed=5)
        np.random.seed(1)  # noqa: NPY002
        wrapped = CanonicalEnv(env, reflection, **options)
        drawn = float(np.random.random())  # noqa: NPY002
        rest = [env.step(env.action_space.sample())[0].tolist() for _ in range(5)]
        return first.tolist(), rest, drawn, wrapped.unwrapped.np_random.random()

    assert play() == play(check=True) == play(check=True)
    assert len(calls) == 1, "once for this environment and this symmetry"
    AugmentedEnv(gym.make("CartPole-v1", max_episode_steps=50), reflection, check=True)
    assert len(calls) == 2


@pytest.mark.slow
def test_what_cannot_be_decided_gives_a_warning() -> None:
    pendulum = EnvSymmetry(
        [-1],
        lambda g, x: (np.array([1, -1, -1]) * x).astype(np.float32),
        lambda g, a: -a,
        elements=[1, -1],
        inverse=lambda g: g,
        name="mirror",
    )
    acting = replace(
        pendulum,
        act_on_observation=lambda g, x: (np.array([1, g, g]) * x).astype(np.float32),
        act_on_action=lambda g, a: g * a,
    )
    with pytest.warns(UserWarning, match="could not be decided whether mirror"):
        AugmentedEnv(gym.make("Pendulum-v1"), acting, check=True)


def test_a_check_needs_the_whole_symmetry() -> None:
    with pytest.raises(InvalidParameter, match="needs the whole symmetry"):
        CanonicalEnv(gym.make("CartPole-v1"), MIRROR.canonicalizer, check=True)
    CanonicalEnv(gym.make("CartPole-v1"), MIRROR.canonicalizer, symmetry=MIRROR, check=True)

    class Stuck(Clock):
        def __deepcopy__(self, memo):
            raise TypeError("no copies")

    with pytest.raises(InvalidParameter, match="neither be copied nor made again"):
        CanonicalEnv(Stuck(), turns(), check=True)


def test_declared_symmetries_are_checked_too() -> None:
    CanonicalEnv(gym.make("burnside/Ring1D-v0", n=5), check=True)
    stack = FrameStackObservation(gym.make("CartPole-v1"), 3)
    CanonicalEnv(stack, MIRROR, stacked=True, check=True)


@pytest.mark.parametrize("action", ["labels 0,2,1", "labels 1,2,0"])
def test_labels_that_are_no_actions_are_refused_at_once(action):
    """Not by an assertion of the environment in some step."""
    wrong = EnvSymmetry("mirror" if action == "labels 0,2,1" else "C3", observation="trivial", action=action)
    for wrapper in (CanonicalEnv, AugmentedEnv):
        with pytest.raises(BurnsideError, match=r"to 2, which is none of Discrete\(2\)"):
            wrapper(gym.make("CartPole-v1"), wrong)
    envs = gym.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync")
    for several in (CanonicalVectorEnv, AugmentedVectorEnv):
        with pytest.raises(BurnsideError, match="which is none of"):
            several(envs, wrong)
