"""Declarations against Gymnasium: spaces that do not fit, today's check, files, and the domain of a form."""

import copy
import json
import tomllib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.symmetry.zoo import CASES

from burnside.errors import BurnsideError, InvalidAction, InvalidParameter
from burnside.symmetry import (
    EnvSymmetry,
    Frame,
    Image,
    Labels,
    MultiLabels,
    Rotation,
    Shift,
    SignedPermutation,
    Stack,
    Trivial,
    all_images,
    canonical_form,
    random_images,
)
from burnside.symmetry.forms import CanonicalForm

gym = pytest.importorskip("gymnasium")
spaces = gym.spaces

CARTPOLE = EnvSymmetry("mirror", "- - - -", "labels 1,0", names=("x", "v", "angle", "turn"), domain="angle")
PENDULUM = EnvSymmetry("mirror", "0,-1,-2", "-0", state="-0,-1")
ACROBOT = EnvSymmetry("mirror", "+ - + - - -", "labels 2,1,0", state="- - - -")
WALKER = EnvSymmetry(
    "mirror",
    "0,1,5,6,7,2,3,4,8,9,10,14,15,16,11,12,13",
    "3,4,5,0,1,2",
    state=("0,1,2,6,7,8,3,4,5", "0,1,2,6,7,8,3,4,5"),
    get_state=lambda env: (env.unwrapped.data.qpos.copy(), env.unwrapped.data.qvel.copy()),
    set_state=lambda env, s: env.unwrapped.set_state(*s),
    domain=2,
)


def needs_mujoco() -> None:
    """Gymnasium's MuJoCo environments need both; an environment for robosuite has the first only."""
    pytest.importorskip("mujoco")
    pytest.importorskip("imageio")


# ---------------------------------------------------------------------- spaces

BOX = spaces.Box(-1.0, 1.0, (2,))


@pytest.mark.parametrize(
    ("spec", "space", "sentence"),
    [
        ("-0,-1", spaces.Box(np.array([-1.0, 0.0]), np.ones(2), dtype=np.float64), r"number 1 .* bounds \[0, 1\]"),
        ("1,0", spaces.Box(np.array([-1.0, -2.0]), np.array([1.0, 2.0]), dtype=np.float64), "maps number 1"),
        ("-0,-1,-2", BOX, "vectors of 3 numbers"),
        ("-0,-1", spaces.Discrete(2), "vectors of 2 numbers"),
        ("-0,1", spaces.Box(0, 255, (2,), np.uint8), "type uint8, which have no signs"),
        ("labels 1,0", spaces.Discrete(3), r"permutes the labels 0…1"),
        ("labels 1,0", spaces.Discrete(2, start=1), r"permutes the labels 0…1"),
        ("labels 1,0", BOX, "permutes the labels"),
        (MultiLabels([None, None], "1,0"), spaces.MultiDiscrete([2, 3]), "which has"),
        (MultiLabels(["1,0", None]), spaces.MultiDiscrete([3, 2]), "2 labels from place 0"),
        ("-0,1", spaces.MultiBinary(2), "use MultiLabels"),
        (Image("flip_lr"), BOX, "images with 3 axes"),
        ({"a": "0"}, BOX, "dictionary with the keys a"),
        (("0",), spaces.Tuple([BOX, BOX]), "tuple of 1 parts"),
        ({"a": "0,1,2"}, spaces.Dict({"a": BOX}), r"observation\['a'\] is .* 3 numbers"),
        (Stack(SignedPermutation("-0,1"), 3), spaces.Box(-1, 1, (2, 2)), "stack of 3"),
    ],
)  # fmt: skip
def test_spaces_that_do_not_fit(spec: Any, space: Any, sentence: str) -> None:
    with pytest.raises(InvalidAction, match=sentence):
        EnvSymmetry("mirror", spec, "trivial").check_spaces(space, spaces.Discrete(2))


def test_quarter_turns_of_wide_images_do_not_fit() -> None:
    turned = EnvSymmetry("C4", Image(), "trivial")
    turned.check_spaces(spaces.Box(0, 255, (8, 8, 3), np.uint8), BOX)
    with pytest.raises(InvalidAction, match="square images, got 8 × 6"):
        turned.check_spaces(spaces.Box(0, 255, (8, 6, 3), np.uint8), BOX)


def test_turned_actions_must_stay_in_their_box() -> None:
    for group in ("SO(2)", "C6"):
        found = EnvSymmetry(group, Rotation((0, 1)), Rotation((0, 1)))
        found.check_spaces(BOX, spaces.Box(-np.inf, np.inf, (2,)))
        with pytest.raises(InvalidAction, match="beyond its bounds"):
            found.check_spaces(BOX, BOX)
    EnvSymmetry("C4", Rotation((0, 1)), Rotation((0, 1))).check_spaces(BOX, BOX)  # quarter turns keep the square
    with pytest.raises(InvalidAction, match="alike in all directions"):
        EnvSymmetry("SO(2)", Rotation((0, 1)), "trivial").check_spaces(
            spaces.Box(np.array([-1, -2]), np.array([1, 2])), BOX
        )
    with pytest.raises(InvalidAction, match="must be floating"):
        EnvSymmetry("SO(2)", Rotation((0, 1)), "trivial").check_spaces(spaces.Box(-5, 5, (2,), np.int64), BOX)


@pytest.mark.parametrize(
    ("found", "name"), [(CARTPOLE, "CartPole-v1"), (PENDULUM, "Pendulum-v1"), (ACROBOT, "Acrobot-v1")]
)
def test_spaces_that_fit(found: EnvSymmetry, name: str) -> None:
    env = gym.make(name)
    found.check_spaces(env.observation_space, env.action_space)
    phase = EnvSymmetry("mirror", SignedPermutation("-0") + Shift(0.5, 1.0, 0.0), MultiLabels(["1,0"]))
    bounds = np.array([-1.0, 0.0]), np.array([1.0, 1.0])
    phase.check_spaces(spaces.Box(*bounds, dtype=np.float64), spaces.MultiBinary(1))


# ---------------------------------------------------------------------- the check of today


@pytest.mark.parametrize(
    ("found", "name"), [(CARTPOLE, "CartPole-v1"), (PENDULUM, "Pendulum-v1"), (ACROBOT, "Acrobot-v1")]
)
def test_classic_control_is_symmetric(found: EnvSymmetry, name: str) -> None:
    from burnside.canonical import check_symmetry

    verdict = check_symmetry(name, found, samples=150, tol=1e-5, max_failure_rate=0.05)
    assert verdict.ok and verdict.method == "deterministic" and verdict.canonical_checked > 100


def test_a_wrong_declaration_is_refuted() -> None:
    from burnside.canonical import check_symmetry

    wrong = EnvSymmetry("mirror", "- - - -", "labels 0,1")
    assert check_symmetry("CartPole-v1", wrong, samples=50).verdict == "refuted"


def test_walker_is_symmetric_since_version_5() -> None:
    needs_mujoco()
    from burnside.canonical import check_symmetry

    env = gym.make("Walker2d-v5")
    WALKER.check_spaces(env.observation_space, env.action_space)
    assert check_symmetry(env, WALKER, samples=60, tol=1e-6, max_failure_rate=0.1).ok
    wrong = EnvSymmetry(
        "mirror", str(WALKER.observation), "0,1,2,3,4,5", state=WALKER.state,
        get_state=WALKER.get_state, set_state=WALKER.set_state,
    )  # fmt: skip
    assert check_symmetry(env, wrong, samples=60, tol=1e-6).verdict == "refuted"


@pytest.mark.slow
def test_reacher_turns_as_a_whole() -> None:
    """O(2): its arm and target turned about the shoulder, or seen in a mirror."""
    needs_mujoco()
    from burnside.canonical import check_symmetry

    reacher = EnvSymmetry(
        "O(2)",
        Rotation((0, 2), (4, 5), (8, 9), odd=(3, 6, 7)),
        Rotation(odd=(0, 1)),
        state=(Rotation((2, 3), angles=(0,), odd=(1,)), Rotation((2, 3), odd=(0, 1))),
        get_state=lambda env: (env.unwrapped.data.qpos.copy(), env.unwrapped.data.qvel.copy()),
        set_state=lambda env, s: env.unwrapped.set_state(*s),
        domain=Frame(direction=(4, 5)),
    )
    env = gym.make("Reacher-v5")
    reacher.check_spaces(env.observation_space, env.action_space)
    assert check_symmetry(env, reacher, samples=60, tol=1e-6, max_failure_rate=0.1).ok


@pytest.mark.slow
def test_the_legs_of_ant_go_round() -> None:
    """A quarter turn about the vertical: leg i takes the place of leg i + 1, and the body's axes turn along."""
    needs_mujoco()
    from burnside.canonical import check_symmetry

    legs = SignedPermutation("6,7,0,-1,2,3,4,-5")  # hip and ankle of each leg; every other ankle has its axis reversed
    body = Rotation(quaternions=(0, 1, 2, 3), body="turned")
    speeds = Rotation((0, 1, 2), axial=(3, 4, 5)) + legs
    env = gym.make("Ant-v5", include_cfrc_ext_in_observation=False, forward_reward_weight=0.0, contact_cost_weight=0.0)
    for action, holds in (("6,-7,0,1,2,-3,4,5", True), ("6,7,0,1,2,3,4,5", False)):  # leg 4 stands first
        ant = EnvSymmetry(
            "C4",
            Trivial(1) + body + legs + speeds,
            action,
            state=(Rotation(points=(0, 1, 2)) + body + legs, speeds),
            get_state=lambda env: (env.unwrapped.data.qpos.copy(), env.unwrapped.data.qvel.copy()),
            set_state=lambda env, s: env.unwrapped.set_state(*s),
        )
        ant.check_spaces(env.observation_space, env.action_space)
        verdict = check_symmetry(env, ant, samples=50, tol=1e-5, max_failure_rate=0.1)
        assert verdict.verdict == ("holds" if holds else "refuted")


def test_the_wrappers_of_today_take_it() -> None:
    from burnside.canonical import AugmentedEnv, CanonicalEnv, CanonicalVectorEnv

    form = canonical_form(CARTPOLE, "angle")
    env, bare = CanonicalEnv(gym.make("CartPole-v1"), form), gym.make("CartPole-v1")
    x, _ = env.reset(seed=3)
    y, _ = bare.reset(seed=3)
    for action in (0, 1, 1, 0, 0, 0, 1):
        assert x[2] >= 0 and np.array_equal(x, form(y)[0])
        y, *_ = bare.step(form.undo(action, form(y)[1]))
        x, *_ = env.step(action)
    envs = CanonicalVectorEnv(gym.make_vec("CartPole-v1", num_envs=3, vectorization_mode="sync"), form)
    many, _ = envs.reset(seed=0)
    assert many.shape == (3, 4) and (many[:, 2] >= 0).all()
    envs.step(np.array([0, 1, 0]))
    augmented = AugmentedEnv(gym.make("CartPole-v1"), CARTPOLE)
    assert augmented.reset(seed=0)[0].shape == (4,)


# ---------------------------------------------------------------------- as a value


@pytest.mark.parametrize("name", CASES)
def test_declarations_are_written_and_read(name: str) -> None:
    found = CASES[name].declaration
    again = EnvSymmetry.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again == found and again.to_dict() == found.to_dict() and str(again) == str(found)
    assert hash(again.observation) == hash(found.observation)


def test_domains_are_written_too() -> None:
    text = """
        name = "left and right"
        group = "mirror"
        observation = "-0,-1,-2,-3"
        action = "labels 1,0"
        names = ["x", "v", "angle", "turn"]
        domain = ["angle", "turn"]
    """
    found = EnvSymmetry.from_dict(tomllib.loads(text))
    assert found.domain == ("angle", "turn") and EnvSymmetry.from_dict(found.to_dict()) == found
    framed = EnvSymmetry("SO(2)", Rotation((0, 1)), "trivial", domain=Frame(direction=(0, 1)))
    assert EnvSymmetry.from_dict(framed.to_dict()) == framed
    with pytest.raises(InvalidParameter, match="cannot be written"):
        EnvSymmetry("mirror", "-0", "-0", domain=lambda x: x[..., 0]).to_dict()
    with pytest.raises(InvalidParameter, match="cannot be written"):
        EnvSymmetry("mirror", lambda g, x: x, "-0").to_dict()
    for data in ({"group": "mirror"}, {"group": "C2", "observation": "0", "action": "0", "actoin": "0"}):
        with pytest.raises(InvalidParameter):
            EnvSymmetry.from_dict(data)


def test_functions_stay_possible() -> None:
    found = EnvSymmetry("mirror", lambda g, x: -x if g else x, lambda g, a: 1 - a if g else a)
    assert found.act_on_observation(1, 3) == -3 and found.act_on_action(1, 0) == 1 and found.canonicalizer is None


def test_what_was_not_declared() -> None:
    with pytest.raises(InvalidParameter, match="acts on the state"):
        CARTPOLE.on("state")
    assert CARTPOLE.act_on_state is None
    with pytest.raises(InvalidParameter, match="3 names for 4 numbers"):
        EnvSymmetry("mirror", "- - - -", "-0", names=("a", "b", "c"))
    with pytest.raises(InvalidAction, match="the action: generator 0"):
        EnvSymmetry("mirror", "-0", "1,2,0")


# ---------------------------------------------------------------------- domains


def test_the_deciding_number_ends_up_positive() -> None:
    x = np.random.default_rng(0).normal(size=(100, 4))
    for domain, column in (("angle", 2), (0, 0), (None, 0)):
        bars, g = canonical_form(CARTPOLE, domain)(x)
        assert (bars[:, column] > 0).all()
        assert np.array_equal(g, (x[:, column] < 0).astype(int))
    on_function, _ = canonical_form(CARTPOLE, lambda y: y[..., 2] + y[..., 3])(x)
    assert (on_function[:, 2] + on_function[:, 3] > 0).all()


def test_ties_go_on_to_the_next_number() -> None:
    form = canonical_form(CARTPOLE, ["angle", "turn"])
    assert form(np.array([1.0, 2.0, 0.0, -0.5]))[1] == 1
    assert form(np.array([-1.0, 2.0, 0.0, 0.0]))[1] == 1  # then x, v
    x_bar, g = form(np.zeros(4))
    assert g == 0 and not x_bar.any()
    with pytest.raises(InvalidParameter, match="NaN"):
        form(np.array([1.0, 2.0, np.nan, -0.5]))
    with pytest.raises(InvalidParameter, match="NaN"):
        form(np.full((2, 4), np.nan))


@pytest.mark.parametrize(
    ("group", "observation", "domain", "sentence"),
    [
        ("mirror", "-0,1", 1, "same in all images, so it cannot decide: choose among 0"),
        ("mirror", "-0,1", 2, "has 2 numbers"),
        ("mirror", "-0,1", "speed", "unknown coordinate 'speed'"),
        ("mirror", {"a": "-0"}, 0, "name the key"),
        ("mirror", {"a": "-0"}, "b", "unknown coordinate 'b'"),
        ("mirror", "-0,1", Frame(direction=(0, 1)), "for continuous groups"),
        ("SO(2)", Rotation((0, 1), (2, 3)), 0, "is a Frame or a function"),
        ("SO(2)", Rotation((0, 1), (2, 3)), Frame(direction=(1, 2)), "does not move along"),
        ("SO(2)", Rotation((0, 1), (2, 3)), Frame(direction=(1, 4)), "names place 4"),
        ("SE(2)", Rotation((0, 1), points=(2, 3)), Frame(direction=(0, 1)), "needs a position"),
        ("SE(2)", Rotation((0, 1), (2, 3)), Frame(direction=(0, 1), position=(2, 3)), "does not move along"),
        ("SO(3)", Rotation((0, 1, 2)), Frame(direction=(0, 1, 2)), "a direction and a second vector"),
        ("SO(2)", {"a": Rotation((0, 1))}, Frame(direction=(0, 1)), "say which one"),
        ("SO(2)", {"a": Rotation((0, 1))}, Frame(direction=(0, 1), key="b"), "unknown key"),
    ],
)
def test_domains_that_cannot_decide(group: str, observation: Any, domain: Any, sentence: str) -> None:
    with pytest.raises(BurnsideError, match=sentence):
        EnvSymmetry(group, observation, "trivial", domain=domain)


def test_a_continuous_group_needs_a_frame() -> None:
    found = EnvSymmetry("SO(2)", Rotation((0, 1)), Rotation((0, 1)))
    assert found.canonicalizer is None
    with pytest.raises(InvalidParameter, match=r"domain=Frame"):
        canonical_form(found)
    with pytest.raises(InvalidParameter, match="exactly one"):
        Frame(position=(0, 1))
    by_function = canonical_form(found, lambda x: Frame(direction=(0, 1)).pose(found.group, x))  # type: ignore[arg-type]
    x_bar, g = by_function(np.array([[0.0, 2.0], [3.0, 0.0]]))
    assert np.allclose(x_bar, [[2, 0], [3, 0]]) and np.allclose(by_function.undo(x_bar, g), [[0, 2], [3, 0]])


def test_where_a_frame_does_not_exist_the_world_is_taken() -> None:
    found = EnvSymmetry("SO(2)", Rotation((0, 1), (2, 3)), "trivial", domain=Frame(direction=(0, 1)))
    x_bar, g = found.canonicalizer(np.array([0.0, 0.0, 1.0, 2.0]))  # type: ignore[misc]
    assert np.array_equal(g, np.eye(2)) and np.allclose(x_bar, [0, 0, 1, 2])


def test_scores_of_the_wrong_shape() -> None:
    with pytest.raises(InvalidParameter, match="one score"):
        canonical_form(CARTPOLE, lambda x: 1.0)(np.ones((3, 4)))


# ---------------------------------------------------------------------- augmentation


def test_fields_that_are_not_known_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="field 'goal'"):
        all_images(CARTPOLE, {"goal": np.zeros((2, 4))})
    found = all_images(CARTPOLE, {"goal": np.ones((2, 4))}, roles={"goal": "observation"})
    assert found["goal"][:, 0].tolist() == [1, 1, -1, -1]
    with pytest.raises(InvalidParameter, match="one of observation"):
        all_images(CARTPOLE, {"goal": np.ones((2, 4))}, roles={"goal": "obs"})
    with pytest.raises(InvalidParameter, match="infinitely many"):
        all_images(EnvSymmetry("SO(2)", Rotation((0, 1)), "trivial"), {"obs": np.ones((2, 2))})


def test_rows_with_several_points_share_their_element() -> None:
    """Buffers keep discrete actions as columns, and chunked policies keep several actions per row."""
    batch = {"obs": np.ones((6, 4)), "actions": np.zeros((6, 1), dtype=int)}
    moved, g = random_images(CARTPOLE, batch, seed=2)
    assert 0 < g.sum() < 6 and moved["actions"].shape == (6, 1) and np.array_equal(moved["actions"][:, 0], g)
    turns = EnvSymmetry("SO(2)", Rotation((0, 1)), Rotation((0, 1)))
    chunks = np.random.default_rng(0).normal(size=(5, 3, 2))
    moved, g = random_images(turns, {"obs": np.ones((5, 2)), "actions": chunks}, seed=2)
    for i in range(5):
        assert np.allclose(moved["actions"][i], chunks[i] @ g[i].T)
    with pytest.raises(InvalidParameter, match="same length"):
        all_images(CARTPOLE, {"obs": np.ones((6, 4)), "rewards": np.ones(5)})


def test_declarations_can_be_copied_and_sent() -> None:
    """Vector environments copy what they are given into processes of their own."""
    for copied in (copy.deepcopy(CARTPOLE), replace(CARTPOLE, name="again", domain=0), replace(PENDULUM, state=None)):
        assert isinstance(copied.canonicalizer, CanonicalForm)
    assert copy.deepcopy(CARTPOLE) == CARTPOLE and hash(copy.deepcopy(CARTPOLE)) == hash(CARTPOLE)
    assert replace(CARTPOLE, domain=0) != CARTPOLE


def test_images_of_transitions_are_transitions() -> None:
    """In CartPole itself: the mirrored state and action lead to the mirrored next state."""
    env, rng = gym.make("CartPole-v1").unwrapped, np.random.default_rng(0)
    env.reset(seed=0)
    obs = rng.uniform(-0.05, 0.05, size=(20, 4))
    actions = rng.integers(0, 2, size=20)

    def step(x: Any, a: int) -> Any:
        env.state, env.steps_beyond_terminated = tuple(x), None
        return env.step(int(a))[0]

    after = np.stack([step(x, a) for x, a in zip(obs, actions, strict=True)])
    batch = all_images(CARTPOLE, {"obs": obs, "actions": actions, "next_obs": after})
    assert len(batch["obs"]) == 40
    for x, a, y in zip(batch["obs"], batch["actions"], batch["next_obs"], strict=True):
        assert np.allclose(step(x, a), y, atol=1e-7)


def test_labels_of_frozen_lake_shape() -> None:
    cells = np.arange(16).reshape(4, 4).T.ravel()
    found = EnvSymmetry("mirror", Labels(cells), "labels 3,2,1,0")
    form = canonical_form(found)
    forms, g = form(np.arange(16))
    assert all(form(int(x)) == (int(f), int(e)) for x, f, e in zip(range(16), forms, g, strict=True))
    assert len(set(forms.tolist())) == 10


# ---------------------------------------------------------------------- representations and functions, one class


def test_functions_replace_representations_and_back() -> None:
    x = np.array([1.0, 2.0])
    named = EnvSymmetry("mirror", "-0,1", "-0", domain=0)
    own = named.changed(act_on_action=lambda g, a: a)
    assert own.act_on_action(1, 5) == 5 and np.array_equal(own.act_on_observation(1, x), [-1, 2])
    again = own.changed(action="-0")
    assert again == named and again.canonicalizer is not None and again.canonicalizer.domain == 0
    assert replace(named, name="other").canonicalizer is not named.canonicalizer
    with pytest.raises(InvalidParameter, match="no canonical form follows"):
        EnvSymmetry("mirror", lambda g, x: -x if g else x, "-0", domain=0)


def test_own_generators_act_by_the_group_they_belong_to() -> None:
    square = EnvSymmetry("C4", "1,-0", "trivial")
    half = square.changed(generators=[2])
    assert list(half.generators) == [2] and half.order == 4
    assert np.array_equal(half.act_on_observation(2, np.array([1.0, 2.0])), [-1, -2])
    with pytest.raises(InvalidAction, match="need functions"):
        EnvSymmetry([1], "-0", "-0")
    with pytest.raises(InvalidParameter, match="needs a group"):
        EnvSymmetry(observation="-0", action="-0")
    with pytest.raises(InvalidParameter, match="acts on the action"):
        EnvSymmetry("mirror", "-0")


def test_one_class_for_the_check_and_the_declaration() -> None:
    from burnside import canonical

    assert canonical.EnvSymmetry is EnvSymmetry
    given = EnvSymmetry(
        generators=[-1], act_on_observation=lambda g, x: g * x, act_on_action=lambda g, a: a, elements=[1, -1]
    )
    assert given.order == 2 and given.inverse is None and not given.can_be_drawn and given.name == "G"
    assert (
        given.changed(inverse=lambda g: g).can_be_drawn
        and EnvSymmetry("SO(2)", Rotation((0, 1)), "trivial").can_be_drawn
    )
