"""Member-batched layers against torch's own, member by member."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from burnside.nn.encoders import GridEncoder  # noqa: E402
from burnside.nn.layers import (  # noqa: E402
    BatchConv3d,
    BatchLinear,
    Initializer,
)


def test_linear_is_torchs_linear_per_member() -> None:
    layer = BatchLinear(5, 3, Initializer([4, 9]))
    x = torch.randn(2, 7, 5)
    for m in range(2):
        plain = torch.nn.Linear(5, 3)
        plain.weight.data, plain.bias.data = layer.weight[m].T.detach(), layer.bias[m].detach()
        assert torch.allclose(layer(x)[m], plain(x[m]), atol=1e-6)


@pytest.mark.parametrize("members", [1, 3])
def test_convolution_is_torchs_convolution_per_member(members: int) -> None:
    layer = BatchConv3d(2, 4, Initializer(range(members)))
    x = torch.randn(members, 5, 2, 3, 3, 3)
    for m in range(members):
        plain = torch.nn.Conv3d(2, 4, 3, padding=1)
        plain.weight.data, plain.bias.data = layer.weight[m].detach(), layer.bias[m].detach()
        assert torch.allclose(layer(x)[m], plain(x[m]), atol=1e-5)


def test_initialisation_has_torchs_range_and_differs_between_seeds() -> None:
    layer = BatchLinear(400, 200, Initializer([0, 1, 2]))
    bound = 1 / np.sqrt(400)
    values = layer.weight.detach().numpy()
    assert abs(values).max() <= bound
    assert values.std() == pytest.approx(bound / np.sqrt(3), rel=0.01)
    flat = values.reshape(3, -1)
    assert abs(np.corrcoef(flat)[np.triu_indices(3, 1)]).max() < 0.02


def test_layers_of_one_member_differ_from_each_other() -> None:
    init = Initializer([5])
    one, two = BatchLinear(4, 4, init), BatchLinear(4, 4, init)
    assert not (one.weight == two.weight).any()


@pytest.mark.parametrize("kind", ["pool", "flatten"])
def test_encoder_members_do_not_mix(kind: str) -> None:
    encoder = GridEncoder(3, kind, Initializer([0, 1]))
    x = torch.randn(2, 4, 3, 3, 3)
    changed = x.clone()
    changed[1] += 1
    before, after = encoder(x), encoder(changed)
    assert torch.equal(before[0], after[0]) and not torch.equal(before[1], after[1])


def test_pooling_is_adaptive_average_pooling() -> None:
    encoder = GridEncoder(4, "pool", Initializer([0]))
    x = torch.randn(1, 2, 4, 4, 4)
    y = x[0][:, None]
    for conv in encoder.convolutions:
        y = torch.relu(torch.nn.functional.conv3d(y, conv.weight[0], conv.bias[0], padding=1))
    y = torch.nn.functional.adaptive_avg_pool3d(y, 1).flatten(1)
    y = torch.relu(y @ encoder.feature.weight[0] + encoder.feature.bias[0])
    assert torch.allclose(encoder(x)[0], y, atol=1e-6)


def test_without_torch_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib
    import sys

    from burnside.errors import MissingExtra

    for name in [name for name in sys.modules if name.startswith("burnside.nn")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    nn = importlib.import_module("burnside.nn")
    with pytest.raises(MissingExtra, match=r"burnside\[learn\]"):
        _ = nn.OrbitLinear
