"""Images of tensors against the declaration, averaging, and layers that commute with a group against brute force."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces

from burnside.errors import InvalidParameter, UnknownName
from burnside.groups import Action, Group
from burnside.nn import GroupAverage, OrbitLinear
from burnside.nn.commutant import EquivariantLinear, RelaxedLinear, commutant, equivariant_mlp, regular
from burnside.nn.tensor_action import action_on
from burnside.symmetry import (
    EnvSymmetry,
    Image,
    Labels,
    MultiLabels,
    Rotation,
    Shift,
    SignedPermutation,
    Stack,
    Trivial,
)
from burnside.symmetry.affine import affine
from burnside.symmetry.concrete import finite, flat_maps, represented

RNG = np.random.default_rng(0)


def box(n: int) -> spaces.Box:
    return spaces.Box(-5, 5, (n,), np.float64)


CASES = {
    "signed": (EnvSymmetry("C4", "1,-0,2", "trivial"), box(3)),
    "generators": (EnvSymmetry("V4", ["-0,1,3,2", "0,-1,2,3"], "trivial"), box(4)),
    "turns": (EnvSymmetry("D6", Rotation((0, 1), (2, 3), odd=(4,)) + Trivial(1), "trivial"), box(6)),
    "angle": (EnvSymmetry("C5", Rotation((1, 2), angles=(0,)), "trivial"), box(3)),
    "phase": (EnvSymmetry("mirror", Shift(0.5, 1.0, 0.0) + SignedPermutation("-0"), "trivial"), box(2)),
    "quaternion": (EnvSymmetry("D4", Rotation(quaternions=(0, 1, 2, 3)), "trivial"), box(4)),
    "space": (EnvSymmetry("Oh", Rotation((0, 1, 2), axial=((3, 4, 5),)), "trivial"), box(6)),
    "stack": (EnvSymmetry("mirror", Stack(SignedPermutation("-0,1"), 3), "trivial"), spaces.Box(-1, 1, (3, 2))),
    "picture": (EnvSymmetry("D4", Image(channels="first"), "trivial"), spaces.Box(0, 255, (3, 5, 5), np.uint8)),
    "channels": (
        EnvSymmetry("mirror", Image("flip_ud", permute="1,0"), "trivial"),
        spaces.Box(0, 255, (4, 3, 2), np.uint8),
    ),
    "trivial": (EnvSymmetry("mirror", Trivial(), "trivial"), box(3)),
}


def points(space: spaces.Box, rows: int) -> np.ndarray:
    return np.round(RNG.uniform(-3, 3, size=(rows, *space.shape)), 3)


@pytest.mark.parametrize("name", CASES)
def test_images_of_tensors_are_those_of_the_declaration_and_lead_back(name: str) -> None:
    symmetry, space = CASES[name]
    x = points(space, 7)
    if name == "phase":
        x[:, 0] = np.abs(x[:, 0]) % 1
    if name == "quaternion":
        x[:, 0] = np.abs(x[:, 0])  # one of the two that mean the same
    if name == "angle":
        x[:, 0] = np.clip(x[:, 0], -3.1, 3.1)
    action = action_on(symmetry.on("observation"), space)
    images = action.images(torch.from_numpy(x))
    expected = np.concatenate([np.asarray(symmetry.act_on_observation(g, x)) for g in symmetry.elements])
    assert images.shape[0] == 7 * symmetry.order
    np.testing.assert_allclose(images.numpy(), expected, atol=1e-12)
    np.testing.assert_allclose(action.back(images).numpy(), np.broadcast_to(x, (symmetry.order, *x.shape)), atol=1e-12)


def test_labels_are_one_hot_vectors_and_dictionaries_go_by_key() -> None:
    declared = {"where": Labels("1,2,0"), "how": MultiLabels(["1,0", None], places="0,1"), "push": Trivial(2)}
    order6 = EnvSymmetry(Group.cyclic(3) * Group.cyclic(2), [
        {"where": Labels("1,2,0"), "how": MultiLabels([None, None]), "push": SignedPermutation("0,1")},
        {"where": Labels("0,1,2"), "how": declared["how"], "push": SignedPermutation("-0,-1")},
    ], "trivial")  # fmt: skip
    space = spaces.Dict(where=spaces.Discrete(3), how=spaces.MultiDiscrete([2, 4]), push=box(2))
    action = action_on(order6.on("observation"), space)
    raw = {"where": np.array([0, 2, 1]), "how": np.array([[0, 3], [1, 0], [1, 2]]), "push": points(box(2), 3)}

    def seen(point: dict) -> dict:
        how = [np.eye(2)[point["how"][:, 0]], np.eye(4)[point["how"][:, 1]]]
        return {"where": np.eye(3)[point["where"]], "how": np.concatenate(how, -1), "push": point["push"]}

    images = action.images({key: torch.from_numpy(value) for key, value in seen(raw).items()})
    for k, g in enumerate(order6.elements):
        expected = seen(order6.act_on_observation(g, raw))
        for key, value in expected.items():
            np.testing.assert_array_equal(images[key].reshape(6, 3, -1)[k].numpy(), value)
    back = action.back(images)
    np.testing.assert_array_equal(back["how"].numpy(), np.broadcast_to(seen(raw)["how"], (6, 3, 6)))


def test_a_bit_that_is_renamed_changes_the_sign_of_its_logit() -> None:
    swap = EnvSymmetry("mirror", "-0", MultiLabels(["1,0", "1,0"], places="1,0"))
    space = spaces.MultiBinary(2)
    assert flat_maps(swap.on("action"), space, logits=True)[1] == SignedPermutation("-1,-0")
    assert affine(flat_maps(swap.on("action"), space)[1])(np.array([1.0, 1.0])).tolist() == [0.0, 0.0]


def test_averaging_makes_any_network_equivariant_and_lets_gradients_through() -> None:
    turns = EnvSymmetry("D5", Rotation((0, 1), (2, 3)), Rotation((0, 1)))
    env = spaces_only(box(4), spaces.Box(-np.inf, np.inf, (2,)))
    network = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2)).double()
    policy = GroupAverage.of(network, turns, env)
    value = GroupAverage.of(torch.nn.Linear(4, 1).double(), turns, env, "value")
    critic = GroupAverage.of(JointNetwork().double(), turns, env, "q")
    x, a = torch.from_numpy(points(box(4), 6)), torch.from_numpy(points(box(2), 6))
    for g in turns.elements:
        gx = torch.from_numpy(turns.act_on_observation(g, x.numpy()))
        ga = torch.from_numpy(turns.act_on_action(g, a.numpy()))
        expected = turns.act_on_action(g, policy(x).detach().numpy())
        np.testing.assert_allclose(policy(gx).detach().numpy(), expected, atol=1e-12)
        torch.testing.assert_close(value(gx), value(x))
        torch.testing.assert_close(critic(gx, ga), critic(x, a))
    assert not torch.allclose(network(x), policy(x))
    a.requires_grad_(True)
    critic(x, a).sum().backward()
    assert a.grad is not None and a.grad.abs().sum() > 0


class JointNetwork(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))

    def forward(self, x: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
        return self.net(torch.cat([x, a], -1))


def spaces_only(observation: spaces.Space, action: spaces.Space) -> gym.Env:
    env = gym.Env()
    env.observation_space, env.action_space = observation, action
    return env


def test_averaging_says_what_is_wrong() -> None:
    mirror = EnvSymmetry("mirror", "- - - -", "labels 1,0")
    with pytest.raises(UnknownName, match="kind of network"):
        GroupAverage.of(torch.nn.Linear(4, 2), mirror, gym.make("CartPole-v1"), "actor")
    with pytest.raises(InvalidParameter, match="moves 4 numbers"):
        GroupAverage.of(torch.nn.Linear(4, 2), mirror, gym.make("CartPole-v1"))(torch.zeros(1, 3))
    with pytest.raises(InvalidParameter, match="translations"):
        finite(EnvSymmetry("SE(2)", Rotation(points=(0, 1)), "trivial"))


# ---------------------------------------------------------------------- the commutant

TABLES = {"C4": Group.cyclic(4), "D3": Group.dihedral(3)}


def matrices(symmetry: EnvSymmetry, space: spaces.Space) -> np.ndarray:
    return np.stack([affine(m).linear for m in flat_maps(symmetry.on("observation"), space)])


def brute_force(rho_in: np.ndarray, rho_out: np.ndarray) -> int:
    """How many W there are with ρ_out W = W ρ_in, from the equations themselves."""
    o, i = rho_out.shape[-1], rho_in.shape[-1]
    squares = np.zeros((o * i, o * i))
    for a, b in zip(rho_in, rho_out, strict=True):
        equation = np.kron(b, np.eye(i)) - np.kron(np.eye(o), a.T)
        squares += equation.T @ equation
    return int((np.linalg.eigvalsh(squares) < 1e-8).sum())


SMALL = ["signed", "generators", "turns", "space"]


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("out", ["same", "regular", "trivial", "turned"])
def test_the_basis_is_all_that_commutes(name: str, out: str) -> None:
    symmetry, space = CASES[name]
    rho = matrices(symmetry, space)
    group = symmetry.group
    table = group.compose(np.arange(group.order)[:, None], np.arange(group.order)[None])
    mixed = np.linalg.qr(RNG.normal(size=rho.shape[1:]))[0]  # the same representation in other coordinates
    rho_out = {
        "same": rho,
        "regular": regular(table, 1 if group.order > 10 else 2),
        "trivial": np.ones((group.order, 1, 1)),
        "turned": mixed @ rho @ mixed.T,
    }[out]
    entry, coefficient, value, count = commutant(rho, rho_out)
    assert count == brute_force(rho, rho_out)
    basis = np.zeros((count, rho_out.shape[-1] * rho.shape[-1]))
    basis[coefficient, entry] = value
    np.testing.assert_allclose(basis @ basis.T, np.eye(count), atol=1e-9)
    for w in basis.reshape(count, rho_out.shape[-1], rho.shape[-1]):
        np.testing.assert_allclose(rho_out @ w, w @ rho, atol=1e-9)


@pytest.mark.parametrize("group", TABLES.values(), ids=TABLES)
def test_for_permutations_it_is_the_orbit_layer(group: Group) -> None:
    action = Action.natural(group)
    rho = np.zeros((group.order, action.size, action.size))
    for g in range(group.order):
        rho[g, action.table[g], np.arange(action.size)] = 1.0
    layer, orbits = EquivariantLinear(rho, rho), OrbitLinear(action, action)
    assert (layer.theta.numel(), layer.beta.numel()) == (orbits.theta.shape[1], orbits.beta.shape[1])


def test_a_network_of_equivariant_layers_is_equivariant_for_all_weights() -> None:
    symmetry, space = CASES["turns"]
    rho = matrices(symmetry, space)
    group = symmetry.group
    table = group.compose(np.arange(12)[:, None], np.arange(12)[None])
    net, _ = equivariant_mlp(rho, rho[:, :2, :2], [24, 20], torch.nn.ReLU, table=table)
    assert net[0].outputs == 24 and net[2].outputs == 24  # 20 is rounded to full sets of 12
    net = net.double()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.normal_()
    x = torch.from_numpy(points(space, 5))
    for g in range(12):
        moved = net(x @ torch.from_numpy(rho[g]).T)
        torch.testing.assert_close(moved, net(x) @ torch.from_numpy(rho[g, :2, :2]).T)
    assert net(x).abs().max() > 0.1


def test_weights_begin_as_large_as_those_of_a_usual_layer() -> None:
    hidden = regular(np.array([[0, 1], [1, 0]]), 64)
    torch.manual_seed(0)
    usual = torch.nn.Linear(128, 128).weight.norm()
    assert abs((EquivariantLinear(hidden, hidden).weight.norm() / usual).item() - 1) < 0.05
    orthogonal = torch.nn.init.orthogonal_(torch.empty(128, 128), gain=0.5).norm()
    assert abs((EquivariantLinear(hidden, hidden, gain=0.5).weight.norm() / orthogonal).item() - 1) < 0.05


def test_relaxed_layers_begin_equivariant_and_can_leave() -> None:
    signs = np.array([np.eye(2), -np.eye(2)])
    layer = RelaxedLinear(signs, signs, relaxation=0.1)
    x = torch.randn(4, 2)
    torch.testing.assert_close(layer(-x), -layer(x))
    target = torch.ones(4, 2)  # even, which no equivariant layer can say
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.1)
    for _ in range(60):
        optimizer.zero_grad()
        ((layer(x) - target) ** 2).mean().backward()
        optimizer.step()
    assert (layer(-x) + layer(x)).abs().max() > 0.5
    assert layer.deviation() >= 0
    with pytest.raises(InvalidParameter, match="0 or more"):
        RelaxedLinear(signs, signs, relaxation=-1)


def test_functions_that_are_linear_are_read_off_and_others_refused() -> None:
    from burnside.canonical.known import cartpole_reflection, ring_translations

    env = gym.make("CartPole-v1")
    found = represented(cartpole_reflection(), env.observation_space, env.action_space)
    assert found.order == 2 and str(found.on("action").maps[1]) == "1,0"
    ring = represented(ring_translations(5), spaces.Box(-10, 10, (10,)), spaces.Discrete(4))
    assert ring.order == 5
    x = RNG.normal(size=10)
    np.testing.assert_allclose(ring.act_on_observation(1, x), ring_translations(5).act_on_observation((1,), x))
    bent = EnvSymmetry([-1], lambda g, x: np.sign(x) * x**2, lambda g, a: a, name="bent")
    with pytest.raises(InvalidParameter, match="not linear"):
        represented(bent, box(2), spaces.Discrete(2))
