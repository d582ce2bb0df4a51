"""Value iteration on the cube: configurations, labels, updates, resuming, files, and what must be learnt."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from burnside._random import Stream, randint  # noqa: E402
from burnside.agents.common.adam import new_adam  # noqa: E402
from burnside.agents.common.checkpoint import load, save  # noqa: E402
from burnside.agents.common.members import Member  # noqa: E402
from burnside.agents.common.training import train  # noqa: E402
from burnside.agents.cube_values import (  # noqa: E402
    ARMS,
    BellmanLabels,
    CubeValue,
    DaviConfig,
    DaviRun,
    ExactLabels,
    ValueLearner,
    arm_symmetry,
    bellman_targets,
    exact_labels,
    fit_values,
    load_network,
    make_network,
    update,
    walks,
)
from burnside.agents.cube_values.labels import distinct_rows  # noqa: E402
from burnside.envs.cube import CubeSpec, CubeSymmetry, apply_moves, scramble, solved  # noqa: E402
from burnside.envs.cube.symmetry import inverse_states  # noqa: E402
from burnside.envs.cube.tables import ball  # noqa: E402
from burnside.errors import InvalidModel, InvalidParameter, UnknownName, UnreadableFile  # noqa: E402

THREE = CubeSpec(3)
TINY = DaviConfig.preset("smoke", hidden=(24, 12), batch=40, states=480, states_per_round=160, label_batches=3)


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """These networks are too small for two threads, which only wait for each other on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def same(one: dict, other: dict) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[k], other[k]) for k in one)


# ---------------------------------------------------------------------- configurations


def trained(members, **options):  # type: ignore[no-untyped-def]
    """Runs of the tiny configuration, to its budget."""
    return train([DaviRun(TINY, THREE, member) for member in members], steps=TINY.states, threads=1, **options)


def test_the_paper_preset_is_deepcubea():
    paper = DaviConfig.preset("paper")
    assert (paper.hidden, paper.blocks, paper.batch, paper.back_max) == ((5000, 1000), 4, 10_000, 30)
    assert (paper.states_per_round, paper.iterations, paper.rounds) == (50_000_000, 1_200_000, 240)
    assert paper.loss_threshold == 0.06 and paper.fresh_adam and paper.forced_copies == (10_000_000_000,)
    assert paper.rate(0) == 1e-3 and paper.rate(1_000_000) == pytest.approx(1e-3 * 0.9999993**1e6)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"hidden": (0, 4)}, "two positive widths"),
        ({"batch": 300}, "must divide"),
        ({"back_max": 0}, "back_max is 0"),
        ({"batch": 1}, "no variance"),
        ({"decay": 1.5}, "decay"),
        ({"loss_threshold": -1.0}, "positive number"),
        ({"group": "conjugaton"}, "did you mean"),
        ({"equivariant_group": "conjugation+inverse"}, "equivariant"),
        ({"forced_copies": (7,)}, "ends of rounds"),
    ],
)
def test_bad_settings_are_refused(changes, says):
    with pytest.raises((InvalidParameter, UnknownName), match=says):
        DaviConfig(**changes)


def test_bad_members_and_presets():
    with pytest.raises(UnknownName, match="conjugation"):
        Member(0, "conjugate")
    with pytest.raises(InvalidParameter, match="seed"):
        Member(-1)
    with pytest.raises(UnknownName, match="laptop"):
        DaviConfig.preset("labtop")
    with pytest.raises(UnknownName, match="setting"):
        DaviConfig.from_json({"widths": 3})
    with pytest.raises(InvalidParameter, match="listed twice"):
        trained([Member(0), Member(0)])


def test_position_is_refused_where_it_changes_the_task():
    with pytest.raises(InvalidParameter, match="any-orientation"):
        arm_symmetry(DaviConfig(), CubeSpec(2, goal="fixed"), "position")
    assert arm_symmetry(DaviConfig(), CubeSpec(2), "position").order == 24
    assert arm_symmetry(DaviConfig(augment_inverse=True), THREE, "augment").order == 96


# ---------------------------------------------------------------------- labels


def test_walks_are_scrambles_of_their_own_length():
    seen = walks(THREE, 9, 100, 50, 12)
    for row, number in zip(seen, range(100, 150), strict=True):
        length = int(randint(9, Stream.REPLAY, number, 13))
        assert np.array_equal(row, scramble(THREE, 9, length, number)[0][0])
    assert np.array_equal(walks(THREE, 9, 120, 10, 12), seen[20:30])
    lengths = randint(9, Stream.REPLAY, np.arange(20_000), 13)
    assert np.abs(np.bincount(lengths) / 20_000 - 1 / 13).max() < 0.008  # 0 and 12 as likely as the rest


def test_distinct_rows_agree_with_numpy():
    rows = np.random.default_rng(0).integers(0, 3, (500, 4)).astype(np.uint8)
    found, inverse = distinct_rows(rows)
    assert np.array_equal(found[inverse], rows)
    assert len(found) == len(np.unique(rows, axis=0))
    assert distinct_rows(rows[:0])[0].shape == (0, 4)


class Table:
    """A target network that is a function of one sticker; counts the states it is given."""

    def __init__(self):
        self.asked = 0

    def __call__(self, states):
        self.asked += len(states)
        return states[:, 0].float() - 2.0


def test_bellman_targets_by_hand():
    states = np.stack([solved(THREE), apply_moves(THREE, solved(THREE), "R U"), apply_moves(THREE, solved(THREE), "F")])
    target = Table()
    values, evaluated = bellman_targets(THREE, states, target)
    table = THREE.table
    by_hand = [0.0]
    for state in states[1:]:
        by_hand.append(min(1 + max(float(state[table[a]][0]) - 2.0, 0.0) for a in range(12)))
    assert values.tolist() == by_hand and values.dtype == np.float32
    assert evaluated == target.asked <= 24


def test_first_targets_are_zero_or_one_and_iteration_approaches_the_truth():
    """With exact values as target network, the Bellman targets are the exact values again."""
    states, distance = ball(THREE, 3)
    known = {s.tobytes(): d for s, d in zip(*ball(THREE, 4), strict=True)}

    def exact(rows):
        return torch.tensor([float(known[r.tobytes()]) for r in rows.numpy()])

    assert np.array_equal(bellman_targets(THREE, states, None)[0], np.minimum(distance, 1))
    assert np.array_equal(bellman_targets(THREE, states, exact)[0], distance)
    form = CubeSymmetry(THREE, "conjugation+mirror").canonicalizer
    assert np.array_equal(bellman_targets(THREE, states, exact, form)[0], distance)


def test_arms_show_the_same_states_each_in_its_way():
    config = DaviConfig.preset("smoke", batch=50, augment_inverse=True)
    raw = walks(THREE, 4, 50, 50, config.back_max)
    seen = {arm: BellmanLabels(config, THREE, Member(4, arm)).batch(1, None) for arm in ARMS}
    for arm in ARMS:
        assert np.array_equal(seen[arm][1], seen["baseline"][1])  # the same labels
    assert np.array_equal(seen["baseline"][0], raw) and np.array_equal(seen["equivariant"][0], raw)
    for arm, name in (("position", "position"), ("conjugation", "conjugation+mirror")):
        form = CubeSymmetry(THREE, name).canonicalizer
        assert np.array_equal(seen[arm][0], form(raw)[0])
    form = CubeSymmetry(THREE, "conjugation+mirror+inverse").canonicalizer
    augmented = seen["augment"][0]
    assert np.array_equal(form(augmented)[0], form(raw)[0])
    assert (augmented != raw).any(axis=1).mean() > 0.5
    assert any(np.array_equal(a, inverse_states(THREE, a)) for a in raw)  # solved ones, at least


def test_chunks_of_labels_are_the_same_as_one_by_one():
    many = BellmanLabels(TINY, THREE, Member(1))
    single = BellmanLabels(DaviConfig.from_json(TINY.to_json() | {"label_batches": 1}), THREE, Member(1))
    for i in range(TINY.iterations):
        for one, other in zip(many.batch(i, None), single.batch(i, None), strict=True):
            assert np.array_equal(one, other)


def test_exact_labels_see_every_state_once_per_epoch():
    states, labels = exact_labels(THREE, 30, seed=1, depth=3)
    config = DaviConfig.preset("smoke", batch=20)
    source = ExactLabels(config, THREE, Member(2), states, np.arange(30))
    seen = np.concatenate([source.batch(i)[1] for i in range(3)]).astype(int)
    assert sorted(seen[:30]) == sorted(seen[30:]) == list(range(30)) and seen[:30].tolist() != seen[30:].tolist()
    inputs, numbers = source.batch(1)
    assert np.array_equal(inputs, states[numbers.astype(int)])
    with pytest.raises(InvalidParameter, match="one finite label"):
        ExactLabels(config, THREE, Member(0), states, labels[:-1])
    with pytest.raises(InvalidModel, match="54"):
        ExactLabels(config, THREE, Member(0), states[:, :5], labels)


# ---------------------------------------------------------------------- updates


def test_the_update_is_torch_adam_and_leaves_its_arguments_alone():
    net = make_network(TINY, THREE, "baseline", [0]).train()
    reference = make_network(TINY, THREE, "baseline", [0]).train()
    optimizer = torch.optim.Adam(reference.parameters(), lr=1e-3)
    learner = ValueLearner(net, torch.device("cpu"))
    params, buffers, opt = learner.params, learner.buffers, new_adam(learner.params)
    before = {k: v.clone() for k, v in {**params, **buffers}.items()}
    states, labels = exact_labels(THREE, 60, depth=3)
    x, y = torch.from_numpy(states)[None], torch.from_numpy(labels)[None]
    for _ in range(3):
        loss = ((reference(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        params, buffers, opt, mine = update(net, params, buffers, opt, x, y, 1e-3)
        assert mine.item() == pytest.approx(loss.item(), rel=1e-4)
    for name, p in reference.named_parameters():
        # Where a gradient vanishes (what a normalisation takes out again), Adam makes steps of rounding errors.
        assert (p - params[name]).abs().median() < 1e-6 or name.endswith("bias"), name
    for name, b in buffers.items():
        assert torch.allclose(dict(reference.named_buffers())[name], b, atol=2e-3), name
    assert all(torch.equal(before[k], {**learner.params, **learner.buffers}[k]) for k in before)


def test_rounds_copy_the_target_below_the_threshold_only():
    never = DaviRun(DaviConfig.from_json(TINY.to_json() | {"loss_threshold": 1e-12}), THREE, Member(0))
    never.run()
    assert never.copies == 0 and never.log.copies.tolist() == [0, 0, 0] and never._target() is None
    forced = DaviConfig.from_json(TINY.to_json() | {"loss_threshold": 1e-12, "forced_copies": [320]})
    run = DaviRun(forced, THREE, Member(0))
    run.run()
    assert run.log.copies.tolist() == [0, 1, 1] and run.log.states.tolist() == [160, 320, 480]
    always = DaviRun(TINY, THREE, Member(0))
    always.run()
    assert always.copies == 3 and always.done and always.states == 480
    always.run()
    assert always.states == 480  # never beyond the budget


def test_a_round_uses_the_network_of_its_beginning():
    run = DaviRun(TINY, THREE, Member(3, "conjugation"))
    run.run(4)
    frozen = {k: v.clone() for k, v in run.learner.tensors().items()}
    values = run.network().value_fn(walks(THREE, 0, 0, 30, 6))
    run.run(2)
    assert all(torch.equal(frozen[k], run.target[k]) for k in frozen)
    folded = run._target()
    form = run.source.view.form
    assert np.array_equal(
        folded(torch.from_numpy(form(walks(THREE, 0, 0, 30, 6))[0])).clamp(min=0).numpy(), values
    )  # and a network taken out is an independent copy


def test_fresh_adam_begins_again_every_round():
    run = DaviRun(DaviConfig.from_json(TINY.to_json() | {"fresh_adam": True}), THREE, Member(0))
    run.run(4)
    assert int(run.learner.opt.t[0]) == 0
    run.run(1)
    assert int(run.learner.opt.t[0]) == 1


# ---------------------------------------------------------------------- determinism, resuming, company


@pytest.mark.parametrize("arm", ARMS)
def test_a_resumed_run_equals_an_undisturbed_one(arm):
    whole = DaviRun(TINY, THREE, Member(5, arm))
    whole.run()
    for stop in (2, 4, 5):  # inside a chunk, at the end of a round, at the beginning of one
        part = DaviRun(TINY, THREE, Member(5, arm))
        part.run(stop)
        again = DaviRun(TINY, THREE, Member(5, arm)).restore({k: v.copy() for k, v in part.arrays().items()})
        again.run()
        assert same(again.arrays(), whole.arrays())


def test_a_member_alone_equals_itself_among_others(tmp_path):
    members = [Member(1, "position"), Member(2), Member(1)]
    together = trained(members, checkpoint=tmp_path, every=1)
    (alone,) = trained([Member(2)])
    assert same(together[1].arrays(), alone.arrays())
    assert not same(together[1].learner.arrays(), together[2].learner.arrays())
    said = []
    resumed = trained(members, checkpoint=tmp_path, progress=said.append)
    assert same(resumed[0].arrays(), together[0].arrays()) and not said  # nothing was left to do


def test_checkpoints_of_other_runs_are_refused(tmp_path):
    run = DaviRun(TINY, THREE, Member(1))
    save(run, tmp_path / "run.npz")
    with pytest.raises(UnreadableFile, match="another run"):
        load(DaviRun(TINY, THREE, Member(2)), tmp_path / "run.npz")
    with pytest.raises(InvalidParameter, match="do not belong"):
        DaviRun(TINY, CubeSpec(2), Member(1)).restore(run.arrays())
    with pytest.raises(InvalidParameter, match="missing"):
        run.restore({})


# ---------------------------------------------------------------------- files and values


@pytest.mark.parametrize("arm", ARMS)
def test_a_network_survives_a_file(arm, tmp_path):
    spec = CubeSpec(2)
    run = DaviRun(TINY, spec, Member(5, arm))
    run.run(5)
    value = run.network()
    path = value.save(tmp_path / "net.safetensors")
    states = walks(spec, 0, 0, 20, 6)
    found = load_network(path, spec, arm)
    assert np.array_equal(found.value_fn(states), value.value_fn(states))
    assert (found.arm, found.seed, found.config, found.spec) == (arm, 5, TINY, spec)
    assert (found.canonicalizer is None) == (arm in ("baseline", "augment"))


def test_networks_for_another_cube_or_arm_are_refused(tmp_path):
    net = make_network(TINY, THREE, "conjugation", [0])
    path = CubeValue(THREE, "conjugation", TINY, net).save(tmp_path / "net.safetensors")
    assert load_network(path).seed is None
    with pytest.raises(InvalidParameter, match=r"trained for n=3, outer turns, goal fixed, not for n=4"):
        load_network(path, CubeSpec(4))
    with pytest.raises(InvalidParameter, match="arm 'conjugation', not 'baseline'"):
        load_network(path, THREE, "baseline")
    with pytest.raises(UnreadableFile, match="there is no file"):
        load_network(tmp_path / "nothing.safetensors")
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(UnreadableFile, match="is damaged"):
        load_network(broken)
    broken.write_bytes(b"")
    with pytest.raises(UnreadableFile, match="is damaged"):
        load_network(broken)


def test_values_are_those_of_the_network_and_constant_on_classes():
    states = walks(THREE, 1, 0, 30, 12)
    for arm in ARMS:
        run = DaviRun(TINY, THREE, Member(0, arm))
        run.run(8)
        value = run.network()
        values = value.value_fn(states)
        shown = value.canonicalizer(states)[0] if arm in ("position", "conjugation") else states
        with torch.no_grad():
            direct = value.net(torch.from_numpy(shown)[None])[0].clamp(min=0).numpy()
        assert np.allclose(values, direct, atol=1e-5) and values.dtype == np.float32
        assert np.allclose(value.value_fn(states.reshape(5, 6, 54)), values.reshape(5, 6), atol=1e-6)
        turned = CubeSymmetry(THREE, "conjugation").act(5, states)
        constant = np.abs(value.value_fn(turned) - values).max() < 1e-5
        assert constant == (arm in ("conjugation", "equivariant"))


def test_bad_states_are_refused():
    value = CubeValue(THREE, "baseline", TINY, make_network(TINY, THREE, "baseline", [0]))
    with pytest.raises(InvalidModel, match="54 stickers"):
        value.value_fn(np.zeros((2, 24), np.uint8))
    with pytest.raises(InvalidModel, match="uint8"):
        value.value_fn(np.zeros((2, 54)))
    with pytest.raises(InvalidModel, match="0 to 5"):
        value.value_fn(np.full((2, 54), 6, np.uint8))
    assert value.value_fn(np.zeros((0, 54), np.uint8)).shape == (0,)
    assert math.isfinite(value.value_fn(torch.zeros(54, dtype=torch.uint8)))


def test_fit_values_needs_updates():
    states, labels = exact_labels(THREE, 20, depth=2)
    with pytest.raises(InvalidParameter, match="updates"):
        fit_values(states, labels, THREE, updates=0)
