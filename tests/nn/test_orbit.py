"""Orbit-shared layers: equivariant for every element, as free as Burnside's lemma says, and nothing less."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from burnside.envs.ring.core import RingSpec  # noqa: E402
from burnside.groups import Action, Group  # noqa: E402
from burnside.nn import OrbitLinear, copies  # noqa: E402
from burnside.nn.layers import Initializer  # noqa: E402
from burnside.nn.ring_networks import RingNetwork, translations  # noqa: E402


def pairs() -> list[tuple[str, Action, Action]]:
    found = []
    for group in (Group.cyclic(6), Group.dihedral(5), Group.symmetric(4), Group.octahedral()):
        natural, regular = Action.natural(group), Action.regular(group)
        found += [
            (f"{group.name} natural-natural", natural, natural),
            (f"{group.name} regular-natural", regular, natural),
            (f"{group.name} copies-trivial", copies(natural, 2), Action.trivial(group, 3)),
            (f"{group.name} mixed", natural.disjoint(Action.trivial(group, 1)), natural.product(natural)),
        ]
    return found


def permuted(x: "torch.Tensor", images: np.ndarray) -> "torch.Tensor":
    """(g·x)[g·i] = x[i]."""
    out = torch.empty_like(x)
    out[..., torch.from_numpy(np.array(images))] = x
    return out


@pytest.mark.parametrize(("name", "inside", "outside"), pairs(), ids=[p[0] for p in pairs()])
def test_equivariant_for_every_element_and_as_free_as_burnside_says(name: str, inside: Action, outside: Action) -> None:
    layer = OrbitLinear(inside, outside, Initializer([3, 8])).double()
    x = torch.randn(2, 4, inside.size, dtype=torch.float64)
    y = layer(x)
    matrix = layer.matrix()
    for g in range(inside.group.order):
        source, target = inside.table[g].copy(), outside.table[g].copy()
        # The shared numbers are equal bit for bit, so equivariance of the matrix is exact ...
        assert torch.equal(matrix[:, target][:, :, source], matrix)
        # ... and that of the product holds up to the order of summation.
        assert torch.allclose(layer(permuted(x, source)), permuted(y, target), atol=1e-12)
    fixed = sum(inside.fixed(g).size * outside.fixed(g).size for g in range(inside.group.order))
    assert layer.theta.shape[1] == fixed // inside.group.order == outside.product(inside).count()
    assert layer.beta.shape[1] == outside.count()


def test_nothing_less_than_all_equivariant_maps() -> None:
    """The space of equivariant matrices, solved for by linear algebra, has the dimension of θ."""
    group = Group.dihedral(4)
    inside, outside = Action.natural(group), Action.regular(group)
    rows = []
    eye = np.eye(outside.size * inside.size).reshape(-1, outside.size, inside.size)
    for g in group.elements:
        moved = eye[:, outside.image(g)][:, :, inside.image(g)]
        rows.append((moved - eye).reshape(len(eye), -1).T)
    dimension = len(eye) - np.linalg.matrix_rank(np.concatenate(rows))
    assert OrbitLinear(inside, outside).theta.shape[1] == dimension


def test_cyclic_layer_is_a_circular_convolution() -> None:
    ring = Action.natural(Group.cyclic(7))
    layer = OrbitLinear(ring, ring)
    kernel = layer.matrix()[0, :, 0].detach().numpy()
    x = np.random.default_rng(0).standard_normal(7).astype(np.float32)
    expected = np.fft.ifft(np.fft.fft(kernel) * np.fft.fft(x)).real + float(layer.beta.detach()[0, 0])
    assert np.allclose(layer(torch.from_numpy(x)[None, None]).detach().numpy()[0, 0], expected, atol=1e-5)


def test_different_groups_are_refused() -> None:
    from burnside.errors import InvalidAction

    with pytest.raises(InvalidAction, match="different groups"):
        OrbitLinear(Action.natural(Group.cyclic(4)), Action.natural(Group.dihedral(4)))


@pytest.mark.parametrize("spec", [RingSpec(5), RingSpec(8), RingSpec(5, d=2)], ids=str)
def test_equivariant_q_cannot_tell_translated_games_apart(spec: RingSpec) -> None:
    net = RingNetwork(spec, "onehot", (32, 32), {"q": spec.n_actions}, [0, 1], equivariant=True).double()
    rng = np.random.default_rng(1)
    boards = rng.integers(-1, 2, (2, 6, spec.n_cells))
    pos = rng.integers(0, spec.n_cells, (2, 6))
    table = translations(spec).table
    q = _q(net, boards, pos)
    assert not torch.allclose(q[:, :1], q)
    for g in range(len(table)):
        moved = np.empty_like(boards)
        moved[..., table[g]] = boards
        assert torch.allclose(_q(net, moved, table[g][pos]), q, atol=1e-10)
    assert not torch.allclose(_q(net, boards, table[1][pos]), q, atol=1e-6)


def _q(net: RingNetwork, boards: np.ndarray, pos: np.ndarray) -> "torch.Tensor":
    """From observations as the game shows them: the place one-hot in one dimension, else its coordinates over n."""
    place = np.eye(net.spec.n)[pos] if net.spec.d == 1 else net.spec.coordinates(pos) / net.spec.n
    (q,) = net(torch.from_numpy(np.concatenate([boards, place], axis=-1)))
    return q
