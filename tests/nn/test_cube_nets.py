"""The value networks of the cube: sizes, normalisation, members, folding, invariance, weight sharing."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from burnside.envs.cube import CubeSpec, CubeSymmetry, scramble  # noqa: E402
from burnside.envs.cube.core import one_hot  # noqa: E402
from burnside.envs.cube.geometry import products  # noqa: E402
from burnside.errors import InvalidModel, InvalidParameter, NotVerified  # noqa: E402
from burnside.groups import Action, Group  # noqa: E402
from burnside.nn import OrbitLinear, copies  # noqa: E402
from burnside.nn.cube_equivariant import (  # noqa: E402
    EquivariantValue,
    GroupLinear,
    LiftLinear,
)
from burnside.nn.layers import Initializer  # noqa: E402
from burnside.nn.residual import FoldedValue, MemberNorm, ResidualValue  # noqa: E402


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """These networks are too small for two threads, which only wait for each other on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def states_of(spec: CubeSpec, count: int, seed: int = 0):
    states, _ = scramble(spec, seed, np.arange(count) % 20, np.arange(count))
    return torch.from_numpy(states)


def shaken(net):
    """A network in evaluation mode, with scales, shifts and running statistics away from where they begin."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for norm in net.norms:
            norm.weight.copy_(torch.rand(norm.weight.shape, generator=generator) + 0.5)
            norm.bias.copy_(torch.rand(norm.bias.shape, generator=generator) * 0.4)
        members = net.out.bias.shape[0]
        states = torch.randint(0, 6, (members, 60, net.inputs.stickers), dtype=torch.uint8, generator=generator)
        for _ in range(8):
            net.train()(states)
    return net.eval()


def test_the_paper_network_has_its_14_66_million_parameters():
    assert ResidualValue.count(324, (5000, 1000), 4) == 14_663_001
    net = ResidualValue(CubeSpec(2), (7, 5), 3, Initializer([0]))
    assert sum(p.numel() for p in net.parameters()) == ResidualValue.count(144, (7, 5), 3)


def test_member_norm_is_batchnorm():
    x = torch.randn(2, 40, 3, generator=torch.Generator().manual_seed(1)) * 3 + 1
    norm, plain = MemberNorm(3, 2), [torch.nn.BatchNorm1d(3) for _ in range(2)]
    for _ in range(2):
        out = norm(x)
        for m in range(2):
            assert torch.allclose(out[m], plain[m](x[m]), atol=1e-6)
            assert torch.allclose(norm.mean[m], plain[m].running_mean)
            assert torch.allclose(norm.var[m], plain[m].running_var)
    norm.eval()
    assert torch.allclose(norm(x)[1], plain[1].eval()(x[1]), atol=1e-6)


def test_member_norm_by_hand():
    norm = MemberNorm(1, 1)
    out = norm(torch.tensor([[[1.0], [3.0]]]))  # mean 2, biased variance 1, unbiased 2
    assert torch.allclose(out, torch.tensor([[[-1.0], [1.0]]]), atol=1e-4)
    assert norm.mean.item() == pytest.approx(0.2) and norm.var.item() == pytest.approx(0.9 + 0.2)


def test_group_norm_shares_statistics():
    norm = MemberNorm(2, 1, group=3)
    x = torch.randn(1, 30, 6, generator=torch.Generator().manual_seed(2))
    out = norm(x)
    assert torch.allclose(out.reshape(90, 2).mean(0), torch.zeros(2), atol=1e-5)
    perm = [4, 5, 0, 1, 2, 3]  # blocks moved around
    assert torch.allclose(MemberNorm(2, 1, group=3)(x[..., perm]), out[..., perm], atol=1e-6)


def test_a_tiny_network_by_hand():
    spec = CubeSpec(2)
    net = ResidualValue(spec, (1, 1), 1, Initializer([0])).eval()
    with torch.no_grad():
        for layer in net.layers:
            layer.weight.fill_(0.5)
            layer.bias.fill_(-1.0)
        net.out.weight.fill_(2.0)
        net.out.bias.fill_(0.25)
    k = (1 + 1e-5) ** -0.5  # running variance 1
    first = (24 * 0.5 - 1) * k
    second = (first / 2 - 1) * k
    block = second + (max((second / 2 - 1) * k, 0) / 2 - 1) * k
    value = net(torch.zeros(1, 1, 24, dtype=torch.uint8))
    assert value.item() == pytest.approx(2 * block + 0.25, rel=1e-5)


@pytest.mark.parametrize("training", [False, True])
def test_members_do_not_mix(training):
    spec = CubeSpec(2)
    states = torch.stack([states_of(spec, 30, seed) for seed in (5, 6, 7)])
    both = ResidualValue(spec, (16, 8), 2, Initializer([5, 6, 7])).train(training)
    values = both(states)
    for m, seed in enumerate((5, 6, 7)):
        alone = ResidualValue(spec, (16, 8), 2, Initializer([seed])).train(training)
        assert torch.allclose(alone(states[m : m + 1])[0], values[m], atol=1e-5)
    changed = states.clone()
    changed[0] = 0
    assert torch.equal(both.eval()(changed)[1:], both(states)[1:])


@pytest.mark.parametrize("spec", [CubeSpec(2), CubeSpec(3), CubeSpec(5), CubeSpec(4, "slices")], ids=str)
def test_folding_changes_nothing(spec):
    for net in (
        ResidualValue(spec, (24, 12), 2, Initializer([1, 2])),
        EquivariantValue(CubeSymmetry(spec), (48, 24), 1, Initializer([1, 2])),
    ):
        shaken(net)
        states = states_of(spec, 40)
        want = net(states[None].expand(2, -1, -1))
        for m in range(2):
            assert torch.allclose(FoldedValue(net, m)(states), want[m], atol=1e-4, rtol=1e-4)


def test_a_folded_network_is_a_copy():
    net = ResidualValue(CubeSpec(2), (8, 8), 0, Initializer([0])).eval()
    states = states_of(CubeSpec(2), 9)
    folded = FoldedValue(net)
    before = folded(states)
    with torch.no_grad():
        for p in net.parameters():
            p.add_(1.0)
    assert torch.equal(folded(states), before)
    assert not torch.allclose(FoldedValue(net)(states), before)


@pytest.mark.parametrize("n", [4, 5])
def test_merging_equal_stickers_is_the_product_with_all_inputs(n):
    spec = CubeSpec(n)
    net = ResidualValue(spec, (6, 4), 0, Initializer([0]))
    states = states_of(spec, 12)
    full = torch.from_numpy(one_hot(spec, states.numpy())) @ net.layers[0].weight[0]
    merged = net.inputs(states[None])[0] @ net.inputs.weight(net.layers[0].weight)[0]
    assert net.inputs.width == 324 and full.shape == merged.shape
    assert torch.allclose(full, merged, atol=1e-5)


def images(symmetry: CubeSymmetry, state) -> torch.Tensor:
    return torch.from_numpy(symmetry.act(np.arange(symmetry.base), state.numpy()))


@pytest.mark.parametrize("name", ["conjugation", "conjugation+mirror", "position"])
@pytest.mark.parametrize("n", [2, 3])
def test_values_are_invariant_under_every_element(n, name):
    symmetry = CubeSymmetry(CubeSpec(n), name)
    net = shaken(EquivariantValue(symmetry, (96, 48), 2, Initializer([0])))
    states = states_of(symmetry.spec, 6, seed=3)
    orbits = torch.stack([images(symmetry, state) for state in states])  # (states, elements, stickers)
    values = net(orbits.reshape(1, -1, symmetry.spec.n_stickers)).reshape(len(states), -1)
    assert values.shape[1] == symmetry.base
    deviation = (values - values[:, :1]).abs().max()
    assert deviation < 1e-6 * (1 + values.abs().max())
    assert values[:, 0].std() > 100 * deviation  # it does tell states apart
    folded = FoldedValue(net)(orbits.reshape(-1, symmetry.spec.n_stickers)).reshape(values.shape)
    assert (folded - folded[:, :1]).abs().max() < 1e-5 * (1 + values.abs().max())


@pytest.mark.parametrize("n", [4, 5])
def test_invariance_on_large_cubes(n):
    symmetry = CubeSymmetry(CubeSpec(n), "conjugation+mirror")
    net = shaken(EquivariantValue(symmetry, (48, 48), 1, Initializer([0])))
    values = net(images(symmetry, states_of(symmetry.spec, 9)[8])[None])
    assert (values - values[0, 0]).abs().max() < 1e-5 * (1 + values.abs().max())


def test_shared_weights_begin_no_further_from_zero_than_others():
    """A sum of 24 equal weights spreads √24 times as far as one of independent ones: some seeds began at −9."""
    spec = CubeSpec(3)
    x, seeds = states_of(spec, 256), list(range(20))
    shared = EquivariantValue(CubeSymmetry(spec, "conjugation"), (96, 48), 2, Initializer(seeds))
    plain = ResidualValue(spec, (96, 48), 2, Initializer(seeds))
    with torch.no_grad():
        spread = [float(net(x.expand(20, -1, -1)).mean(dim=1).std()) for net in (shared, plain)]
    assert spread[0] < 2.5 * spread[1]


def test_a_plain_network_is_not_invariant():
    symmetry = CubeSymmetry(CubeSpec(2))
    net = ResidualValue(symmetry.spec, (96, 48), 1, Initializer([0])).eval()
    values = net(images(symmetry, states_of(symmetry.spec, 9)[8])[None])
    assert (values - values[0, 0]).abs().max() > 1e-3


def group_actions(symmetry: CubeSymmetry, channels: int) -> tuple[Action, Action]:
    """The group on the inputs and on channels of itself, by generators; element numbers are those of the cube."""
    table = products()[: symmetry.base, : symmetry.base]
    generators = list(symmetry.generators)
    group = Group.from_permutations(table[generators])
    assert group.order == symmetry.base
    regular = Action.from_generators(group, table[generators])
    return Action.from_generators(group, symmetry.on_inputs[generators]), copies(regular, channels)


@pytest.mark.parametrize("name", ["conjugation", "conjugation+mirror"])
def test_layers_are_orbit_linear(name):
    """The written-out matrices are constant on the orbits of index pairs, and have one number for each."""
    symmetry = CubeSymmetry(CubeSpec(2), name)
    order, c_in, c_out = symmetry.base, 2, 3
    inputs, regular_in = group_actions(symmetry, c_in)
    _, regular_out = group_actions(symmetry, c_out)
    # OrbitLinear numbers features (channel, element), the cube's layers (element, channel)
    into = np.arange(order * c_in).reshape(order, c_in).T.ravel()
    onto = np.arange(order * c_out).reshape(order, c_out).T.ravel()
    lift, conv = LiftLinear(symmetry, c_out, Initializer([0])), GroupLinear(order, c_in, c_out, Initializer([0]))
    for layer, before, after, rows in (
        (lift, inputs, regular_out, np.arange(inputs.size)),
        (conv, regular_in, regular_out, into),
    ):
        matrix, bias = layer.dense()
        matrix = matrix[0].detach()[rows][:, onto].T
        orbit = OrbitLinear(before, after, Initializer([0]))
        assert orbit.theta.shape[1] == layer.weight.numel() and orbit.beta.shape[1] == layer.bias.numel()
        theta = torch.zeros(orbit.theta.shape[1])
        theta[orbit.labels.reshape(-1)] = matrix.reshape(-1)  # one representative of each orbit
        beta = torch.zeros(orbit.beta.shape[1])
        beta[orbit.bias_labels] = bias[0].detach()[onto]
        with torch.no_grad():
            orbit.theta.copy_(theta[None])
            orbit.beta.copy_(beta[None])
        assert torch.equal(orbit.matrix()[0], matrix)
        assert torch.equal(orbit.beta[0, orbit.bias_labels], bias[0][onto])


def test_bad_input_says_what_is_wrong():
    net = ResidualValue(CubeSpec(2), (4, 4), 0, Initializer([0]))
    with pytest.raises(InvalidModel, match="reads 24 stickers"):
        net(torch.zeros(1, 2, 54, dtype=torch.uint8))
    with pytest.raises(InvalidParameter, match="two positive widths"):
        ResidualValue(CubeSpec(2), (4, 0), 0, Initializer([0]))
    with pytest.raises(NotVerified, match="inverse"):
        EquivariantValue(CubeSymmetry(CubeSpec(3), "conjugation+inverse"), (24, 24), 0, Initializer([0]))
