"""The compiled networks against their plain twins, function by function."""

import numpy as np
import pytest

from burnside.nn import mlp, mlp_kernels, sparse_kernels

WIDTHS = [(7, (32, 48), 3), (4, (16, 16), 1), (20, (64, 64), 5)]


def made(obs_dim: int, hidden: tuple[int, int], outputs: int, relu: bool):  # type: ignore[no-untyped-def]
    net = mlp.network(obs_dim, hidden, outputs, relu=relu)
    w = mlp.linear_parameters(3, (obs_dim, *hidden, outputs))
    flat = np.zeros(net.end, dtype=np.float32)
    mlp.set_matrices(flat, net, w)
    return net, w, flat


@pytest.mark.parametrize("relu", [False, True], ids=["tanh", "relu"])
@pytest.mark.parametrize(("obs_dim", "hidden", "outputs"), WIDTHS)
@pytest.mark.parametrize("rows", [1, 5, 64, 130])
def test_forward(obs_dim: int, hidden: tuple[int, int], outputs: int, rows: int, relu: bool) -> None:
    net, w, flat = made(obs_dim, hidden, outputs, relu)
    x = np.random.default_rng(0).normal(size=(rows, obs_dim)).astype(np.float32)
    out = np.zeros((rows, outputs), dtype=np.float32)
    mlp_kernels.outputs(flat, net, mlp_kernels.scratch(net), x, out)
    expected = mlp.forward(w, x, relu)[2]
    assert np.allclose(out, expected, atol=3e-6) and np.abs(expected).max() > 1e-2


@pytest.mark.parametrize("relu", [False, True], ids=["tanh", "relu"])
@pytest.mark.parametrize(("obs_dim", "hidden", "outputs"), WIDTHS)
@pytest.mark.parametrize("rows", [4, 6, 61])
def test_backward(obs_dim: int, hidden: tuple[int, int], outputs: int, rows: int, relu: bool) -> None:
    net, w, flat = made(obs_dim, hidden, outputs, relu)
    rng = np.random.default_rng(1)
    x, dout = rng.normal(size=(rows, obs_dim)).astype(np.float32), rng.normal(size=(rows, outputs)).astype(np.float32)
    work, grad = mlp_kernels.scratch(net), np.zeros(net.end, dtype=np.float32)
    whole = -(-rows // mlp.ROWS) * mlp.ROWS
    mlp_kernels.pick(work.x, net.inputs, x, np.arange(rows), 0, rows)
    mlp_kernels.forward(flat, net, work, rows)
    mlp_kernels.transpose(flat, net, work.transposed)
    work.dout[: rows * outputs] = dout.ravel()
    work.dout[rows * outputs : whole * outputs] = 0
    mlp_kernels.backward(flat, grad, net, work, whole)
    h1, h2, _ = mlp.forward(w, x, relu)
    expected = mlp.backward(w, x, h1, h2, dout, relu)
    for name, found in mlp.matrices(grad, net).items():
        assert np.allclose(found, expected[name], atol=2e-5), name
        assert np.abs(expected[name]).max() > 1e-3


def test_adam() -> None:
    rng = np.random.default_rng(2)
    w, g = rng.normal(size=(2, 33)).astype(np.float32)
    one = [w.copy(), np.zeros(33, np.float32), np.zeros(33, np.float32)]
    two = [array.astype(np.float64) for array in one]
    for t in (1, 2, 3):
        mlp_kernels.adam(*one, g, t, 0.01, np.float32(0.5))
        mlp.adam(*two, 0.5 * g.astype(np.float64), t, 0.01)
    for a, b in zip(one, two, strict=True):
        assert np.allclose(a, b, atol=1e-6)
    assert np.abs(one[0] - w).min() > 0.01


def test_a_row_does_not_depend_on_its_batch() -> None:
    net, _, flat = made(8, (64, 64), 1, False)
    x = np.random.default_rng(1).normal(size=(97, 8)).astype(np.float32)
    whole, alone = np.zeros((97, 1), dtype=np.float32), np.zeros((1, 1), dtype=np.float32)
    mlp_kernels.outputs(flat, net, mlp_kernels.scratch(net), x, whole)
    for row in (0, 1, 50, 63, 64, 96):
        mlp_kernels.outputs(flat, net, mlp_kernels.scratch(net), x[row : row + 1], alone)
        assert alone[0, 0] == whole[row, 0]


def test_matrices_return() -> None:
    net, w, flat = made(9, (32, 16), 3, False)
    for name, found in mlp.matrices(flat, net).items():
        assert np.array_equal(found, w[name])


# ---------------------------------------------------------------------- sparse layers


def panels(matrix: np.ndarray) -> np.ndarray:
    rows, columns = matrix.shape
    return np.ascontiguousarray(matrix.reshape(rows, columns // 32, 32).transpose(1, 0, 2)).ravel()


def sparse_rows(x: np.ndarray, gap: int) -> sparse_kernels.Rows:
    rows, width = x.shape
    values = np.zeros((rows, width + gap), dtype=np.float32)
    values[:, :width] = x
    lists, counts = np.zeros(rows * width + 8, dtype=np.int32), np.zeros(rows, dtype=np.int32)
    for i, row in enumerate(x):
        places = np.flatnonzero(row)
        lists[i * width : i * width + len(places)], counts[i] = places, len(places)
    return sparse_kernels.Rows(values.ravel(), width + gap, width, lists, counts)


def test_sparse_layer_and_its_step_of_adam() -> None:
    rng = np.random.default_rng(0)
    rows, narrow, wide = 11, 20, 64
    x = (rng.normal(size=(rows, narrow)) * (rng.random((rows, narrow)) < 0.4)).astype(np.float32)
    w, bias = rng.normal(size=(narrow, wide)).astype(np.float32), rng.normal(size=wide).astype(np.float32)
    seen = sparse_rows(x, 0)
    out = sparse_rows(np.zeros((rows, wide), dtype=np.float32), sparse_kernels.GAP)
    flat = panels(w)
    sparse_kernels.layer(out, np.float32(0), sparse_kernels.Part(bias, 0), seen, sparse_kernels.Part(flat, 0), rows)
    expected = np.maximum(x @ w + bias, 0)
    found = out.values.reshape(rows, -1)[:, :wide]
    assert np.allclose(found, expected, atol=1e-5)
    sparse_kernels.positive(out, rows)
    for i in range(rows):
        assert out.lists[i * wide : i * wide + out.counts[i]].tolist() == np.flatnonzero(found[i] > 0).tolist()

    columns = sparse_kernels.Columns(
        np.zeros(narrow, dtype=np.uint64), np.zeros(16 * narrow + 8, dtype=np.int32), np.zeros(narrow, dtype=np.int32)
    )
    sparse_kernels.row_bits(sparse_rows(np.abs(x), 0), columns, rows)
    sparse_kernels.column_lists(columns, narrow, rows)
    for k in range(narrow):
        assert columns.lists[16 * k : 16 * k + columns.counts[k]].tolist() == np.flatnonzero(x[:, k]).tolist()
    y = rng.normal(size=(rows, wide)).astype(np.float32)
    moments = sparse_kernels.Moments(flat, np.zeros_like(flat), np.zeros_like(flat))
    other = sparse_rows(y, sparse_kernels.GAP)
    sparse_kernels.descend(moments, 0, sparse_kernels.corrections(1, 0.1), seen, other, columns, rows)
    plain = [w.astype(np.float64).copy(), np.zeros((narrow, wide)), np.zeros((narrow, wide))]
    mlp.adam(*plain, (x.T @ y).astype(np.float64), 1, 0.1)
    assert np.allclose(flat, panels(plain[0].astype(np.float32)), atol=1e-5)

    across = np.zeros(32 * wide, dtype=np.float32)
    square = rng.normal(size=(32, wide)).astype(np.float32)
    sparse_kernels.transpose(sparse_kernels.Part(panels(square), 0), 32, wide, across)
    assert np.array_equal(across, panels(np.ascontiguousarray(square.T)))
