"""Demonstrations: made, interrupted, written, read, and files that are not what they should be."""

import contextlib
import json
from pathlib import Path

import numpy as np
import pytest

from burnside.cli import main
from burnside.envs.manipulation import demos as module
from burnside.envs.manipulation.demos import Demonstration, read_demonstrations, write_demonstrations
from burnside.envs.manipulation.env import ManipulationEnv
from burnside.envs.manipulation.generate import attempt, generate
from burnside.envs.manipulation.tasks import find_task
from burnside.errors import InvalidParameter, UnreadableFile
from burnside.groups.rigid import rot6d_to_matrix, so3_exp, so3_log

TASK = find_task("stack-three", "D0")


def random_demo(steps: int = 7, seed: int = 3) -> Demonstration:
    rng = np.random.default_rng(seed)
    rotations = so3_exp(rng.standard_normal((steps, 4, 3)))
    actions = np.concatenate(
        [rng.standard_normal((steps, 3)), rotations[:, 0, :, 0], rotations[:, 0, :, 1], np.ones((steps, 1))], axis=1
    )
    return Demonstration(
        actions=actions,
        eef=rng.standard_normal((steps, 3)),
        eef_rotation=rotations[:, 0],
        fingers=np.full((steps, 2), 0.02),
        objects=rng.standard_normal((steps, 3, 3)),
        object_rotations=rotations[:, 1:],
        seed=seed,
    )


def test_what_is_written_is_read(tmp_path: Path) -> None:
    demo = random_demo()
    path = write_demonstrations(tmp_path / "a.hdf5", TASK, [demo, random_demo(4, 5)], attempts=3, noise=0.01)
    found = read_demonstrations(path)
    assert (found.environment, len(found), found.attempts, found.noise) == ("StackThree_D0", 2, 3, 0.01)
    np.testing.assert_allclose(found.demos[0].actions, demo.actions, atol=1e-5)
    np.testing.assert_allclose(found.demos[0].states(), demo.states(), atol=1e-5)
    assert [one.seed for one in found.demos] == [3, 5]
    assert len(read_demonstrations(path, limit=1)) == 1


def test_many_demonstrations_fit_into_a_file(tmp_path: Path) -> None:
    """Once its cache is full, h5py reads back what it has written: the temporary file must allow it."""
    demo = random_demo(1)
    assert len(read_demonstrations(write_demonstrations(tmp_path / "a.hdf5", TASK, [demo] * 400), limit=2)) == 2


def mimicgen_file(path: Path, delta: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """A small file in the layout of robomimic and MimicGen (robosuite 1.4); its actions and eef positions."""
    import h5py

    rng = np.random.default_rng(0)
    actions, eef = rng.uniform(-1, 1, (5, 7)), rng.standard_normal((5, 3))
    arguments = {
        "env_name": "StackThree_D1",
        "type": 1,
        "env_kwargs": {"controller_configs": {"type": "OSC_POSE", "control_delta": delta}},
    }
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        data.attrs["env_args"], data.attrs["total"] = json.dumps(arguments), 5
        for k in (10, 2):
            demo = data.create_group(f"demo_{k}")
            demo.attrs["num_samples"] = 5
            demo["actions"], demo["dones"], demo["rewards"] = actions * k / 10, np.zeros(5), np.zeros(5)
            demo["states"] = np.zeros((5, 40))
            demo["obs/robot0_eef_pos"] = eef
            demo["obs/robot0_eef_quat"] = np.tile([1.0, 0, 0, 0], (5, 1))
            demo["obs/robot0_gripper_qpos"] = np.zeros((5, 2))
            demo["obs/object"] = np.zeros((5, 39))
            demo["obs/agentview_image"] = np.zeros((5, 4, 4, 3), np.uint8)
    return actions, eef


def test_relative_actions_of_mimicgen_become_the_goals_the_controller_makes_of_them(tmp_path: Path) -> None:
    actions, eef = mimicgen_file(tmp_path / "m.hdf5")
    found = read_demonstrations(tmp_path / "m.hdf5")
    assert [len(demo) for demo in found.demos] == [5, 5]
    demo = found.demos[1]  # demo_10 comes after demo_2
    np.testing.assert_allclose(demo.actions[:, :3], eef + 0.05 * actions[:, :3])
    turn = rot6d_to_matrix(demo.actions[:, 3:9]) @ np.swapaxes(demo.eef_rotation, -1, -2)
    np.testing.assert_allclose(so3_log(turn), 0.5 * actions[:, 3:6], atol=1e-9)
    np.testing.assert_allclose(demo.actions[:, 9], actions[:, 6])
    # the hand pointed down: so does the site, and its fingers close along the world's y
    np.testing.assert_allclose(demo.eef_rotation[0], [[0, 1, 0], [1, 0, 0], [0, 0, -1]], atol=1e-12)
    assert demo.states(objects=False).shape == (5, 11)
    with pytest.raises(InvalidParameter, match="objects=False"):
        demo.states()


def test_absolute_actions_are_taken_as_they_are(tmp_path: Path) -> None:
    actions, _ = mimicgen_file(tmp_path / "m.hdf5", delta=False)
    demo = read_demonstrations(tmp_path / "m.hdf5").demos[1]
    np.testing.assert_allclose(demo.actions[:, :3], actions[:, :3])
    np.testing.assert_allclose(rot6d_to_matrix(demo.actions[:, 3:9]), so3_exp(actions[:, 3:6]), atol=1e-9)


def spoil(path: Path, how: str) -> None:
    import h5py

    if how == "truncated":
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    elif how == "text":
        path.write_text("not an HDF5 file")
    elif how == "missing":
        path.unlink()
    else:
        with h5py.File(path, "r+") as file:
            if how == "no data":
                del file["data"]
            elif how == "no demos":
                for name in list(file["data"]):
                    del file["data"][name]
            elif how == "no actions":
                del file["data/demo_0/actions"]
            elif how == "wrong shape":
                del file["data/demo_0/obs/robot0_eef_pos"]
                file["data/demo_0/obs/robot0_eef_pos"] = np.zeros((7, 4))
            elif how == "wrong length":
                del file["data/demo_0/obs/robot0_gripper_qpos"]
                file["data/demo_0/obs/robot0_gripper_qpos"] = np.zeros((6, 2))
            elif how == "not finite":
                file["data/demo_0/obs/robot0_eef_pos"][0] = np.nan


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("truncated", "damaged"),
        ("text", "damaged"),
        ("missing", "there is no file"),
        ("no data", "not a file of demonstrations"),
        ("no demos", "holds no demonstrations"),
        ("no actions", "actions is missing"),
        ("wrong shape", "has shape"),
        ("wrong length", "different numbers of steps"),
        ("not finite", "not finite"),
    ],
)
def test_spoilt_files_are_one_sentence(tmp_path: Path, how: str, words: str) -> None:
    path = write_demonstrations(tmp_path / "a.hdf5", TASK, [random_demo()])
    spoil(path, how)
    with pytest.raises(UnreadableFile, match=words) as found:
        read_demonstrations(path)
    assert "\n" not in str(found.value)


def test_an_interrupted_generation_goes_on_and_gives_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = generate(TASK, 2, tmp_path / "whole.hdf5", workers=0, noise=0.002)
    assert (whole.kept, whole.crashes) == (2, 0) and whole.attempts >= 2
    assert not list(tmp_path.glob("*.parts"))

    def stop(kept: int, count: int, rejected: int) -> None:
        if kept == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate(TASK, 2, tmp_path / "cut.hdf5", workers=0, noise=0.002, progress=stop)
    assert len(list((tmp_path / "cut.hdf5.parts").glob("*.npz"))) == 1
    with pytest.raises(InvalidParameter, match="other settings"):
        generate(TASK, 2, tmp_path / "cut.hdf5", workers=0, noise=0.0)
    seeds = []
    monkeypatch.setattr(
        "burnside.envs.manipulation.generate.attempt",
        lambda sim, seed, noise, mishaps: seeds.append(seed) or attempt(sim, seed, noise),
    )
    generate(TASK, 2, tmp_path / "cut.hdf5", workers=0, noise=0.002)
    assert seeds == [1]  # seed 0 was not played again
    a, b = (read_demonstrations(tmp_path / name).demos for name in ("whole.hdf5", "cut.hdf5"))
    for one, other in zip(a, b, strict=True):
        assert np.array_equal(one.actions, other.actions) and one.seed == other.seed


def test_two_workers_give_the_same_file_even_if_they_are_killed(tmp_path: Path) -> None:
    import multiprocessing

    alone = generate(TASK, 3, tmp_path / "one.hdf5", workers=0)
    killed = []

    def kill(kept: int, count: int, rejected: int) -> None:
        if not killed and kept < count:
            for victim in multiprocessing.active_children():  # all of them: one alone may have nothing left to do
                victim.kill()
                killed.append(victim.pid)

    both = generate(TASK, 3, tmp_path / "two.hdf5", workers=2, progress=kill)
    assert killed and both.crashes >= 1
    assert (alone.kept, alone.attempts) == (both.kept, both.attempts)
    a, b = (read_demonstrations(tmp_path / name).demos for name in ("one.hdf5", "two.hdf5"))
    assert all(np.array_equal(x.actions, y.actions) for x, y in zip(a, b, strict=True))


def test_states_of_a_file_are_what_the_environment_shows(tmp_path: Path) -> None:
    """A noiseless demonstration, replayed in its scene, shows the same observations and succeeds."""
    generate(TASK, 1, tmp_path / "a.hdf5", workers=0)
    demo = read_demonstrations(tmp_path / "a.hdf5").demos[0]
    env = ManipulationEnv("stack-three", "D0", symmetric=True)
    seen, _ = env.reset(seed=demo.seed)
    recorded, terminated = demo.states(symmetric=True), False
    for k, action in enumerate(demo.actions):
        if k < 20:  # later, rounding to 32 bits and contacts let them drift apart
            np.testing.assert_allclose(seen["state"], recorded[k], atol=2e-4)
        seen, _, terminated, _, _ = env.step(action)
        if terminated:
            break
    assert terminated


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "d.hdf5"
    command = ["demos", "stack-three", "--level", "D0", "--count", "1", "--workers", "0", "--out", str(path)]
    assert main([*command, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["kept"] == 1 and facts["attempts"] >= 1 and facts["file"] == str(path)
    assert main(command) == 2
    assert "--force" in capsys.readouterr().err.replace("\n", " ")
    assert main(["demos", "stack-three", "--count", "0", "--out", str(tmp_path / "e.hdf5")]) == 2
    assert main(["demos", "stack-three", "--seed", "100000", "--out", str(tmp_path / "e.hdf5")]) == 2
    assert "evaluation" in capsys.readouterr().err


def test_the_sample_in_the_repository() -> None:
    path = Path(__file__).parent / "data" / "stack-three-sample.hdf5"
    if not path.exists():
        pytest.skip("the sample is not in this checkout")
    found = read_demonstrations(path)
    assert len(found) == 10 and found.environment == "StackThree_D1"
    assert path.stat().st_size < 1_000_000
    assert found.demos[0].states(symmetric=True).shape[1] == 38
    assert module.read_demonstrations is read_demonstrations


def hostile(path: Path, how: str) -> None:
    """What somebody may put into a file of demonstrations to reach other files, or much memory."""
    import h5py

    secret = path.with_name("secret")
    secret.write_bytes(bytes(10_000))
    with h5py.File(path.with_name("other.hdf5"), "w") as other:
        other["x"] = np.zeros((7, 7))
        other.create_group("demo")
    with h5py.File(path, "r+") as file:
        demo = file["data/demo_0"]
        name = "data" if how == "no mapping" else "actions"
        del (file if how == "no mapping" else demo)[name]
        if how == "another file":
            demo[name] = h5py.ExternalLink("other.hdf5", "/x")
        elif how == "another file for all":
            file["data/demo_9"] = h5py.ExternalLink("other.hdf5", "/demo")
        elif how == "a circle":
            demo[name] = h5py.SoftLink("/data/demo_0/actions")
        elif how == "raw bytes of another file":
            demo.create_dataset(name, (7, 7), "f4", external=[(str(secret), 0, h5py.h5f.UNLIMITED)])
        elif how == "a view of another file":
            layout = h5py.VirtualLayout((7, 7), "f8")
            layout[:] = h5py.VirtualSource("other.hdf5", "x", (7, 7))
            demo.create_virtual_dataset(name, layout)
        elif how == "a terabyte of nothing":
            demo.create_dataset(name, (10**10, 7), "f8", chunks=(1000, 7), compression="gzip")
        elif how == "texts":
            demo.create_dataset(name, (7, 7), h5py.string_dtype())
        elif how == "records":
            demo.create_dataset(name, (7, 7), np.dtype([("a", "f4"), ("b", "f4")]))
        elif how == "a group":
            demo.create_group(name)
        elif how == "no mapping":
            file["data"] = np.zeros(3)
        elif how == "no steps":
            demo.create_dataset(name, (0, 7), "f4")
        elif how == "no rotations":
            demo[name] = np.zeros((7, 7))
            demo["obs/robot0_eef_quat_site"][...] = 0.0
        elif how == "numbers for words":
            demo[name] = np.zeros((7, 7))
            file["data"].attrs["env_args"] = np.arange(3)
        elif how == "other words":
            demo[name] = np.zeros((7, 7))
            file["data"].attrs["env_args"] = json.dumps({"env_kwargs": ["a"]})
        elif how == "nested words":
            demo[name] = np.zeros((7, 7))
            file["data"].attrs["env_args"] = "[" * 50_000


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("another file", "a link to somewhere else"),
        ("another file for all", "a link to somewhere else"),
        ("a circle", "a link to somewhere else"),
        ("raw bytes of another file", "kept in another file"),
        ("a view of another file", "kept in another file"),
        ("a terabyte of nothing", "more than 2.0 GB"),
        ("texts", "has shape"),
        ("records", "has shape"),
        ("a group", "has shape"),
        ("no mapping", "damaged or no file of demonstrations"),
        ("no steps", "has shape"),
        ("no rotations", "holds no rotations"),
        ("numbers for words", "damaged or no file of demonstrations"),
        ("other words", "damaged or no file of demonstrations"),
        ("nested words", "damaged or no file of demonstrations"),
    ],
)
def test_files_that_mean_harm(tmp_path: Path, how: str, words: str) -> None:
    import tracemalloc

    path = write_demonstrations(tmp_path / "a.hdf5", TASK, [random_demo()])
    hostile(path, how)
    tracemalloc.start()
    with pytest.raises(UnreadableFile, match=words) as found:
        read_demonstrations(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "\n" not in str(found.value) and peak < 2**22


def test_mutated_files_of_demonstrations(tmp_path: Path) -> None:
    """The library that reads HDF5 is written in C: whatever bytes it meets, it must neither crash nor hang."""
    content = write_demonstrations(tmp_path / "a.hdf5", TASK, [random_demo()]).read_bytes()
    path = tmp_path / "m.hdf5"
    read = 0
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        changed = bytearray(content)
        for _ in range(int(rng.choice([1, 1, 2, 8]))):
            at = int(rng.integers(len(changed) if rng.random() < 0.3 else 4096))
            kind = rng.integers(5)
            if kind == 0:
                changed[at] ^= 1 << int(rng.integers(8))
            elif kind == 1:
                changed[at : at + 8] = int(rng.choice([0, 2**31, 2**62])).to_bytes(8, "little")
            elif kind == 2:
                del changed[at : at + int(rng.integers(1, 64))]
            elif kind == 3:
                changed[at:at] = rng.bytes(int(rng.integers(1, 64)))
            else:
                changed[at] = int(rng.integers(256))
        path.write_bytes(changed[: int(rng.integers(len(changed)))] if rng.random() < 0.1 else changed)
        with contextlib.suppress(UnreadableFile):
            read += len(read_demonstrations(path)) > 0
    assert 0 < read < 1000


def test_parts_of_an_interrupted_generation_may_be_damaged(tmp_path: Path) -> None:
    from burnside.envs.manipulation.generate import _keep, _load, _Store

    _keep(tmp_path, 3, random_demo())
    np.testing.assert_array_equal(_load(tmp_path / "3.npz").actions, random_demo().actions)
    (tmp_path / "notes.npz").write_bytes(b"?")  # names that are not a seed do not count
    assert _Store(tmp_path, 0, 1).good == {3}
    (tmp_path / "3.npz").write_bytes((tmp_path / "3.npz").read_bytes()[:-30])
    with pytest.raises(UnreadableFile, match=r"3\.npz is damaged: delete it"):
        _load(tmp_path / "3.npz")
    np.savez(tmp_path / "3.npz", actions=np.array([{}], dtype=object))
    with pytest.raises(UnreadableFile, match=r"3\.npz is damaged: delete it"):
        _load(tmp_path / "3.npz")
