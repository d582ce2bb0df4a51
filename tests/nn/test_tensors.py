"""Networks in files from others: settings are compared with shapes before memory is taken for them."""

from __future__ import annotations

import json
import math
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from burnside.agents.cube_values import CubeValue, DaviConfig, load_network, make_network
from burnside.cli import main
from burnside.envs.cube import CubeSpec
from burnside.errors import DamagedFile, UnreadableFile
from burnside.nn._torch import torch
from burnside.nn.flow import FlowConfig, FlowPolicy, load_policy, save_policy
from burnside.nn.tensors import open_tensors, write_tensors


def network(path: Path, arm: str = "baseline") -> Path:
    config = DaviConfig.preset("smoke", hidden=(48, 24), blocks=1)
    return CubeValue(CubeSpec(2), arm, config, make_network(config, CubeSpec(2), arm, [0]), 3).save(path)


def parts(path: Path) -> tuple[dict[str, Any], bytes]:
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def joined(path: Path, header: Any, data: bytes) -> None:
    text = (header if isinstance(header, str) else json.dumps(header)).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


@pytest.mark.parametrize("arm", ["baseline", "conjugation", "augment", "equivariant"])
def test_networks_come_back(arm: str, tmp_path: Path) -> None:
    path = network(tmp_path / "x.safetensors", arm)
    found = load_network(path, CubeSpec(2), arm)
    assert (found.seed, found.arm, found.config.hidden) == (3, arm, (48, 24))
    assert network(tmp_path / "y.safetensors", arm).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("arm", ["baseline", "equivariant"])
@pytest.mark.parametrize(
    "change",
    [
        {"hidden": [10**6, 10**6]},
        {"hidden": [48, 2**40]},
        {"hidden": [48]},
        {"hidden": "wide"},
        {"hidden": [float("inf"), 1]},
        {"blocks": 10**9},
        {"blocks": 0},
        {"blocks": None},
        {"group": "none"},
        {"batch": "x"},
        {"surprise": 1},
    ],
)
def test_settings_that_ask_for_another_network(change: dict[str, Any], arm: str, tmp_path: Path) -> None:
    path = network(tmp_path / "x.safetensors", arm)
    header, data = parts(path)
    about = header["__metadata__"]
    about["config"] = json.dumps(json.loads(about["config"]) | change)
    joined(path, header, data)
    tracemalloc.start()
    with pytest.raises(DamagedFile, match=r"x\.safetensors is damaged or no network") as caught:
        load_network(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "\n" not in str(caught.value) and peak < 2**20


@pytest.mark.parametrize("key", ["n", "turns", "goal", "arm", "config", "seed", "format"])
@pytest.mark.parametrize("value", ["", "x", "1" * 5000, "[" * 100_000, "\ud800", "-1"])
def test_what_is_written_beside_the_tensors(key: str, value: str, tmp_path: Path) -> None:
    path = network(tmp_path / "x.safetensors")
    header, data = parts(path)
    header["__metadata__"][key] = value
    joined(path, header, data)
    if (key, value) == ("seed", "-1"):
        assert load_network(path).seed == -1
        return
    with pytest.raises(DamagedFile) as caught:
        load_network(path)
    assert "\n" not in str(caught.value)
    assert main(["solve", "R", "--n", "2", "--network", str(path)]) == 2


HEADERS: dict[str, Any] = {
    "a header of a terabyte": b"\xff\xff\xff\xff\xff\0\0\0{}",
    "no header": b"",
    "half of a length": b"\1\0\0",
    "no JSON": "{",
    "nesting": "[" * 100_000,
    "a list": [1],
    "null": None,
    "numbers beside the tensors": {"__metadata__": {"format": 1}},
    "a list beside the tensors": {"__metadata__": [1]},
    "a shape of 2**62": {"w": {"dtype": "F32", "shape": [2**62], "data_offsets": [0, 4]}},
    "a shape of a thousand digits": '{"w": {"dtype": "F32", "shape": [' + "9" * 1000 + '], "data_offsets": [0, 4]}}',
    "a negative shape": {"w": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}},
    "a shape of truth": {"w": {"dtype": "F32", "shape": [True], "data_offsets": [0, 4]}},
    "an empty tensor": {"w": {"dtype": "F32", "shape": [0, 10**12], "data_offsets": [0, 0]}},
    "an unknown type": {"w": {"dtype": "X1", "shape": [1], "data_offsets": [0, 4]}},
    "a place beyond the end": {"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}},
    "a place before the start": {"w": {"dtype": "F32", "shape": [1], "data_offsets": [-4, 0]}},
    "three places": {"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4, 8]}},
    "no entry": {"w": 3},
}


@pytest.mark.parametrize("what", HEADERS)
def test_headers(what: str, tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    header = HEADERS[what]
    path.write_bytes(header) if isinstance(header, bytes) else joined(path, header, bytes(4))
    with pytest.raises(DamagedFile, match=r"x\.safetensors is damaged or no network"):
        open_tensors(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="there is no file"):
        load_network(tmp_path / "nowhere.safetensors")
    with pytest.raises(UnreadableFile, match="it is a folder"):
        load_policy(tmp_path)
    path = tmp_path / "sparse.safetensors"
    with open(path, "wb") as file:
        file.truncate(10**12)
    with pytest.raises(UnreadableFile, match=r"931\.3 GB; at most 4\.0 GB"):
        open_tensors(path)


def test_numbers_that_are_none(tmp_path: Path) -> None:
    path = write_tensors(tmp_path / "x.safetensors", {"w": torch.tensor([1.0, math.nan])}, {})
    with pytest.raises(DamagedFile, match="w holds numbers that are not finite"):
        open_tensors(path).tensors()


@pytest.mark.parametrize("trunk", ["mlp", "direct", "ditx"])
@pytest.mark.parametrize(
    "change",
    [
        {"width": 2**20},
        {"layers": 10**9},
        {"layers": 3},
        {"value_width": 2**30},
        {"horizon": 10**9},
        {"obs_dim": 10**9},
        {"act_dim": 10**9},
        {"heads": 0},
        {"width": "x"},
        {"width": 32.0},
        {"width": None},
        {"encoder": ["flat"]},
    ],
)
def test_policies_that_ask_for_another_one(change: dict[str, Any], trunk: str, tmp_path: Path) -> None:
    config = FlowConfig(layers=2, width=32, value_width=32, trunk=trunk)
    path = save_policy(FlowPolicy(config), tmp_path / "p.safetensors")
    assert load_policy(path).config == config
    header, data = parts(path)
    header["__metadata__"]["config"] = json.dumps(config.to_json() | change)
    joined(path, header, data)
    tracemalloc.start()
    with pytest.raises(DamagedFile, match=r"p\.safetensors") as caught:
        load_policy(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "\n" not in str(caught.value) and peak < 4 * 2**20
