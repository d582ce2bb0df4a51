"""What the numbers of a Gymnasium MuJoCo observation are, and what a map of the model does to them.

The layout is not taken from documentation but read off: the numbers of some observations are compared with everything
the simulator holds at that moment. So it fits every version and every option of the environment, or it is not given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from burnside._types import AnyArray, FloatArray
from burnside.symmetry.base import Map
from burnside.symmetry.lint.matching import HINGE, SLIDE
from burnside.symmetry.lint.models import Source, load_source
from burnside.symmetry.lint.report import LintReport, ModelMap, lint_model
from burnside.symmetry.lint.simulate import sample_starts
from burnside.symmetry.lint.states import as_map

__all__ = ["Layout", "lint", "observation_map", "read_layout"]

_LOOKS = 24  # observations that are compared, from random poses: forces that are always 0 tell nothing
_CONSTANT = -1
_PAIRS_OF_BODIES = 12  # differences of places are looked for in models of at most this many bodies


@dataclass(frozen=True)
class Layout:
    """For every number of the observation, which number of the simulator it is.

    Attributes:
        places: indices into what :func:`_quantities` lists, and −1 for numbers that never change; empty if some number
            was not recognised.
        why: the reason in that case.
    """

    places: tuple[int, ...]
    why: str = ""


def read_layout(env: Any, seed: int = 0) -> Layout:
    """Compare observations with everything the simulator holds."""
    if len(getattr(env.observation_space, "shape", None) or ()) != 1:
        return Layout((), "the observation is not a vector")
    inner = env.unwrapped
    if not hasattr(inner, "set_state"):
        return Layout((), "the environment has no set_state")
    env.action_space.seed(seed)
    env.reset(seed=seed)
    seen, held = [], []
    for start in sample_starts(inner.model, _LOOKS, seed):
        inner.set_state(start.qpos, start.qvel)
        observation, *_ = inner.step(env.action_space.sample())
        seen.append(np.asarray(observation, dtype=np.float64))
        held.append(np.concatenate([values for _, values in _quantities(inner.model, inner.data)]))
    return _recognise(np.array(seen).T, np.array(held).T)


def observation_map(model: Any, found: ModelMap, layout: Layout) -> tuple[Map | None, str]:
    """What a map does to an observation of this layout; None and a reason if that is not a map of the observation."""
    if not layout.places:
        return None, layout.why
    matrix, offset = _action(model, found)
    known = [(k, place) for k, place in enumerate(layout.places) if place != _CONSTANT]
    where = {place: k for k, place in known}
    out, shift = np.eye(len(layout.places)), np.zeros(len(layout.places))
    for k, place in known:
        row = matrix[place]
        needed = np.flatnonzero(np.abs(row) > 1e-9).tolist()
        if any(p not in where for p in needed):
            return None, f"the image of number {k} of the observation is not observed"
        out[k] = 0.0
        out[k, [where[p] for p in needed]] = row[needed]
        shift[k] = offset[place]
    if abs(np.linalg.det(out)) < 1e-9:
        return None, "numbers of the observation are mapped to the same one"
    return as_map(out, shift), ""


# ---------------------------------------------------------------------- what the simulator holds


def _quantities(model: Any, data: Any) -> list[tuple[str, FloatArray]]:
    """Everything that environments show, by name."""
    single = _single(model)
    found = [
        ("qpos", np.array(data.qpos)),
        ("qvel", np.array(data.qvel)),
        ("sine of qpos", np.sin(data.qpos[single])),
        ("cosine of qpos", np.cos(data.qpos[single])),
        ("clipped qvel", np.clip(data.qvel, -10, 10)),
        ("cinert", np.array(data.cinert).ravel()),
        ("cvel", np.array(data.cvel).ravel()),
        ("cfrc_ext", np.array(data.cfrc_ext).ravel()),
        ("clipped cfrc_ext", np.clip(data.cfrc_ext, -1, 1).ravel()),
        ("qfrc_actuator", np.array(data.qfrc_actuator)),
        ("qfrc_constraint", np.array(data.qfrc_constraint)),
        ("clipped qfrc_constraint", np.clip(data.qfrc_constraint, -10, 10)),
    ]
    if model.nbody <= _PAIRS_OF_BODIES:
        found.append(("differences of places", (data.xpos[:, None] - data.xpos[None, :]).ravel()))
    return found


def _single(model: Any) -> AnyArray:
    """Places in qpos of joints with one number."""
    return model.jnt_qposadr[np.isin(model.jnt_type, (SLIDE, HINGE))]


def _recognise(seen: FloatArray, held: FloatArray) -> Layout:
    """For every number of the observation the held number that agrees in all looks.

    Where several agree (forces are often 0) the longest run decides: environments show whole vectors.
    """
    scale = 1e-6 * (1 + np.abs(seen).max(axis=1, initial=0.0))
    agrees = [
        set(np.flatnonzero(np.abs(held - row).max(axis=1) <= tol).tolist())
        for row, tol in zip(seen, scale, strict=True)
    ]
    places: list[int] = []
    taken: set[int] = set()
    while len(places) < len(agrees):
        k = len(places)
        runs = {start: _run(agrees, k, start, taken) for start in agrees[k] if start not in taken}
        if runs:
            start = max(runs, key=lambda s: (runs[s], -s))
            places += range(start, start + runs[start])
            taken.update(range(start, start + runs[start]))
        elif np.ptp(seen[k]) == 0:
            places.append(_CONSTANT)
        else:
            return Layout((), f"number {k} of the observation is nothing that the linter knows")
    return Layout(tuple(places))


def _run(agrees: list[set[int]], k: int, start: int, taken: set[int]) -> int:
    length = 0
    while k + length < len(agrees) and start + length in agrees[k + length] and start + length not in taken:
        length += 1
    return length


# ---------------------------------------------------------------------- and what a map does to it


def _action(model: Any, found: ModelMap) -> tuple[FloatArray, FloatArray]:
    """The matrix and the offset of a map on all quantities, one after the other."""
    matching, states = found.matching, found.states
    q, spin = matching.motion.matrix, matching.motion.handedness
    bodies = np.where(matching.bodies < 0, np.arange(model.nbody), matching.bodies)
    qpos, qvel = states.qpos.matrix(), states.qvel.matrix()
    single = _single(model)
    signs = qpos[np.ix_(single, single)]
    wrench: FloatArray = np.asarray(np.kron(np.eye(2), q), dtype=np.float64)
    wrench[:3, :3] *= spin  # torques and angular velocities come first
    spatial = _by_body(bodies, wrench)
    blocks = [
        qpos,
        qvel,
        signs,
        np.abs(signs),
        qvel,
        _by_body(bodies, _inertias(q)),
        spatial,
        spatial,
        spatial,
        *[qvel] * 3,
    ]
    if model.nbody <= _PAIRS_OF_BODIES:
        pairs = (bodies[:, None] * model.nbody + bodies[None, :]).ravel()
        blocks.append(_by_body(pairs, q))
    sizes = [len(block) for block in blocks]
    matrix, offset = np.zeros((sum(sizes), sum(sizes))), np.zeros(sum(sizes))
    at = 0
    for block in blocks:
        matrix[at : at + len(block), at : at + len(block)] = block
        at += len(block)
    shift = states.qpos(np.zeros(model.nq))
    offset[: model.nq] = shift
    return matrix, offset


def _by_body(images: AnyArray, block: FloatArray) -> FloatArray:
    """The same map for each body, put at its image."""
    places = np.zeros((len(images), len(images)))
    places[images, np.arange(len(images))] = 1.0
    return np.asarray(np.kron(places, block), dtype=np.float64)


def _inertias(q: FloatArray) -> FloatArray:
    """On MuJoCo's ten numbers of an inertia: xx, yy, zz, xy, xz, yz, mass times centre, mass."""
    pairs = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]
    out = np.zeros((10, 10))
    for column, (i, k) in enumerate(pairs):
        tensor = np.zeros((3, 3))
        tensor[i, k] = tensor[k, i] = 1.0
        turned = q @ tensor @ q.T
        out[:6, column] = [turned[a, b] for a, b in pairs]
    out[6:9, 6:9] = q
    out[9, 9] = 1.0
    return out


# ---------------------------------------------------------------------- linting what a user named


def lint(
    source: Source | str, *, only: str = "", tolerance: float = 1e-6, states: int = 32, seed: int = 0
) -> LintReport:
    """Lint an XML file, a Gymnasium environment or a task of dm_control; observations are mapped where they are known.

    Args:
        source: a name (see :func:`~burnside.symmetry.lint.models.load_source`) or what was loaded from one.
        only: the name of one motion to look at; default all.
        tolerance: differences up to this count as equal, relative to the values.
        states: states in which the simulator compares a step with its image; 0 to leave that out.
        seed: of these states.

    >>> report = lint("Walker2d-v5")
    >>> str(report.maps[0].observation)
    '0,1,5,6,7,2,3,4,8,9,10,14,15,16,11,12,13'
    """
    found = load_source(source) if isinstance(source, str) else source
    report = lint_model(found.model, found.name, only=only, tolerance=tolerance, states=states, seed=seed)
    if found.env is None or not report.maps:
        return report
    layout = read_layout(found.env, seed)
    maps, why = [], ""
    for entry in report.maps:
        observation, reason = observation_map(found.model, entry, layout)
        maps.append(replace(entry, observation=observation))
        why = why or reason
    return replace(report, maps=tuple(maps), why_no_observation=why)
