"""Learning from walks: kernels against their plain twins, exact equivariance, resuming to the same bits, files."""

from pathlib import Path

import numpy as np
import pytest

from burnside.agents.common.members import Member
from burnside.agents.cube_walks import WalkConfig, WalkRun, load_policy, random_walks
from burnside.agents.cube_walks.network import make_net
from burnside.agents.cube_walks.walks import ArmForm, plain_walks
from burnside.envs.cube import CubeSpec
from burnside.envs.cube.placements import placements
from burnside.errors import DamagedFile, InvalidParameter
from burnside.nn._torch import torch

THREE = CubeSpec(3)
SMALL = WalkConfig.preset("smoke", states=1_024)
WALKS = random_walks(placements(THREE), 26, 5, 0, 256)
DEEP = WALKS.states[WALKS.lengths > 6]  # near the goal states are symmetric, and ReLU at 0 may go either way


@pytest.mark.parametrize("spec", [THREE, CubeSpec(2), CubeSpec(4, "slices")])
def test_walks_and_their_plain_twin(spec: CubeSpec) -> None:
    world = placements(spec)
    for one, other in zip(random_walks(world, 26, 3, 100, 50), plain_walks(world, 26, 3, 100, 50), strict=True):
        assert (one == other).all()
    part = random_walks(world, 26, 3, 120, 10)
    assert (part.states == random_walks(world, 26, 3, 100, 50).states[20:30]).all()


@pytest.mark.parametrize(("arm", "sides"), [("baseline", 1), ("equivariant", 1), ("equivariant", 2)])
def test_the_network_and_its_plain_twin(arm: str, sides: int) -> None:
    config = WalkConfig.preset("smoke", sides=sides, hidden=(192, 96))
    form = ArmForm(config, THREE, arm)
    nets = [make_net(config, form, 0, plain=plain).train() for plain in (False, True)]
    target = torch.from_numpy(np.random.default_rng(0).normal(size=(len(DEEP), 12 * sides)).astype(np.float32))
    for net in nets:
        scores, number = net(DEEP)
        ((scores * target).mean() + number.square().mean()).backward()
    ours, plain = nets
    for (name, p), q in zip(ours.named_parameters(), plain.parameters(), strict=True):
        assert torch.allclose(p.grad, q.grad, rtol=1e-3, atol=1e-5), name
    for (name, b), c in zip(ours.named_buffers(), plain.buffers(), strict=True):
        assert torch.allclose(b, c, rtol=1e-4, atol=1e-5), name


@pytest.mark.parametrize("sides", [1, 2])
def test_scores_move_with_the_state_and_lengths_stay(sides: int) -> None:
    config = WalkConfig.preset("smoke", states=2_048, sides=sides, hidden=(192, 96))
    run = WalkRun(config, THREE, Member(0, "equivariant"))
    run.run()
    policy, group = run.network(), run.net.group
    logs, lengths = policy(WALKS.states)
    for g in range(group.order):
        moved, far = policy(group.on_inputs[g][WALKS.states])
        assert np.allclose(moved[:, group.on_outputs[g]], logs, atol=2e-4) and np.allclose(far, lengths, atol=1e-2)


def test_canonical_forms_do_not_depend_on_the_image() -> None:
    form = ArmForm(SMALL, THREE, "conjugation")
    world = form.world
    first, g = form.canonical(WALKS.states)
    assert (np.sort(np.take_along_axis(form.images[g], WALKS.states.astype(int), 1), 1) == first).all()
    for h in (5, 30):
        again, _ = form.canonical(world.sorted(form.images[h][WALKS.states]))
        assert (again == first).all()
    policy = WalkRun(SMALL, THREE, Member(0, "conjugation")).network()
    logs, _ = policy(WALKS.states)
    images = world.sorted(form.images[:, WALKS.states])  # (48, walks, pieces)
    clear = (images[1:] != images[:1]).any(axis=2).all(axis=0)  # symmetric states have several elements to choose from
    moved, _ = policy(form.images[7][WALKS.states[clear]])
    assert np.allclose(moved[:, form.turns[7]], logs[clear], atol=1e-4)


@pytest.mark.parametrize("arm", ["baseline", "position", "conjugation", "augment", "equivariant"])
def test_runs_resume_to_the_same_bits(arm: str) -> None:
    straight = WalkRun(SMALL, THREE, Member(3, arm))
    straight.run()
    stopped = WalkRun(SMALL, THREE, Member(3, arm))
    stopped.run(2)
    resumed = WalkRun(SMALL, THREE, Member(3, arm)).restore(stopped.arrays())
    resumed.run()
    for name, array in straight.arrays().items():
        assert array.tobytes() == resumed.arrays()[name].tobytes(), name
    assert straight.loss == resumed.loss and straight.done


def test_files(tmp_path: Path) -> None:
    policy = WalkRun(SMALL, THREE, Member(3, "equivariant")).network()
    path = policy.save(tmp_path / "p.safetensors")
    found = load_policy(path, THREE)
    assert (found.seed, found.arm, found.config) == (3, "equivariant", SMALL)
    assert (found(WALKS.states)[0] == policy(WALKS.states)[0]).all()
    with pytest.raises(InvalidParameter, match="trained for n=3"):
        load_policy(path, CubeSpec(2))
    content = path.read_bytes()
    path.write_bytes(content.replace(b"[96, 48]", b"[96, 95]").replace(b"[96,48]", b"[96,95]"))
    with pytest.raises(DamagedFile, match="do not fit"):
        load_policy(path)


def test_the_policy_learns() -> None:
    run = WalkRun(WalkConfig.preset("smoke", states=40_960), THREE, Member(0, "equivariant"))
    run.run(50)
    begin = run.loss
    run.run()
    assert run.loss < begin - 0.05 and run.loss < 2.1  # log 12 is 2.48
