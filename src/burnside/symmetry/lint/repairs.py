"""Models without their violations, and which violations the simulator notices."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from burnside._files import write_text
from burnside.errors import InvalidParameter
from burnside.symmetry.lint.compare import Violation
from burnside.symmetry.lint.models import Source
from burnside.symmetry.lint.motions import Rest, mujoco_module, quiet
from burnside.symmetry.lint.report import LintReport, ModelMap, lint_model, unexplained
from burnside.symmetry.lint.simulate import Start, mirror_steps, sample_starts

__all__ = ["Confirmation", "confirm", "repair", "repaired_model"]

_SWEEPS = 40
_NOISE = 1e-9  # steps of a symmetric model agree at least so well
_SHARES = {"mean": 0.5, "one": 1.0, "other": 0.0}


def repaired_model(model: Any, *, take: str = "mean", only: str = "", tolerance: float = 1e-6) -> Any:
    """A copy of a compiled model in which everything that can be repaired is equal to its image.

    Args:
        model: the compiled model; it is not changed.
        take: ``"mean"`` of both values, or those of the part named first (``"one"``) or second (``"other"``).
        only: the name of the motion to repair for; default all that the report lists.
        tolerance: as in :func:`lint_model`.
    """
    if take not in _SHARES:
        raise InvalidParameter(f"take is one of {', '.join(_SHARES)}, got {take!r}")
    found = copy.copy(model)
    flawed = [m.motion for m in lint_model(model, only=only, tolerance=tolerance, states=0).maps if m.violations]
    for _ in range(_SWEEPS):  # repairing for one map can disturb another, and one of a higher order needs several means
        changed = False
        for motion in flawed:
            maps = lint_model(found, only=motion, tolerance=tolerance, states=0).maps
            fixes = [v.fix for m in maps for v in m.violations if v.fix is not None]
            if fixes:
                _apply(found, fixes, _SHARES[take])
                changed = True
        if not changed:
            break
    return found


def _apply(model: Any, fixes: Iterable[Callable[[Any, float], None]], share: float) -> None:
    mujoco = mujoco_module()
    # A compiled model remembers which frames coincide, and then does not look at their places.
    for array in (model.geom_sameframe, model.body_sameframe, model.site_sameframe):
        array[:] = 0
    for fix in fixes:
        fix(model, share)
    mujoco.mj_setConst(model, mujoco.MjData(model))


# ---------------------------------------------------------------------- which violations matter


@dataclass(frozen=True)
class Confirmation:
    """What the simulator says of one violation, all others being repaired.

    Attributes:
        violation: which.
        verdict: ``"confirmed"`` if steps differ because of it, ``"cleared"`` if they do not, ``"not separated"`` if it
            cannot be looked at alone, because it (or another one) cannot be repaired by a program.
        error: how much a step differs from its image; see :class:`MirrorStep`.
    """

    violation: Violation
    verdict: str
    error: float | None


def confirm(model: Any, found: ModelMap, *, states: int = 64, seed: int = 0) -> list[Confirmation]:
    """Let the simulator decide on each violation of a map, one at a time.

    All others are repaired in a copy of the model; then steps are compared with their images. What remains when all are
    repaired is the noise against which each is judged. If contacts make that noise, everything that does not concern
    contacts is judged without them, and a shape where nothing else touches but what is fixed. What no program can
    repair is judged by what remains when all else is repaired. Contacts that differ though the shapes do not are added.
    """
    if found.order != 2:
        raise InvalidParameter(f"violations are confirmed for maps of order 2, this one has order {found.order}")
    starts = sample_starts(model, states, seed)
    clean = _without(model, found.violations)
    noise = mirror_steps(clean, found.states, starts).error
    left = [v for v in found.violations if v.fix is None and v.effect != "sensing"]
    if left and noise <= _NOISE:  # all that can be repaired is, and nothing differs: the rest has no effect
        others = [v for v in found.violations if v not in left]
        decided = {id(v): _confirmed(model, found, v, starts, noise) for v in others}
        return [decided.get(id(v)) or Confirmation(v, "cleared", noise) for v in found.violations]
    if len(left) == 1 and noise > 1e3 * _NOISE:  # nothing but this one is left to make the difference
        decided = {id(v): _confirmed(model, found, v, starts, noise) for v in found.violations if v is not left[0]}
        return [decided.get(id(v)) or Confirmation(v, "confirmed", noise) for v in found.violations]
    answers = [_confirmed(model, found, violation, starts, noise) for violation in found.violations]
    if noise > _NOISE and all(v.fix is not None for v in found.violations if v.effect != "sensing"):
        rest = unexplained(Rest(model), found, clean, starts, noise)
        answers += [Confirmation(violation, "confirmed", noise) for violation in rest]
    return answers


def _confirmed(model: Any, found: ModelMap, one: Violation, starts: list[Start], noise: float) -> Confirmation:
    if one.effect == "sensing":
        return Confirmation(one, "cleared", 0.0)
    if one.fix is None:
        return Confirmation(one, "not separated", None)
    alone = _without(model, [v for v in found.violations if v is not one])
    error = mirror_steps(alone, found.states, starts).error
    if error > 10 * noise + 1e-12:
        return Confirmation(one, "confirmed", error)
    if noise < _NOISE:
        return Confirmation(one, "cleared", error)
    clean = _without(model, found.violations)
    if one.what.startswith("geom") and _alone_in_contact(alone, one) and _alone_in_contact(clean, one):
        still, seen = (mirror_steps(m, found.states, starts) for m in (clean, alone))
        if seen.error > 10 * still.error + 1e-12:
            return Confirmation(one, "confirmed", seen.error)
        if still.error < _NOISE and seen.touching:
            return Confirmation(one, "cleared", seen.error)
        return Confirmation(one, "not separated", None)
    if one.what.startswith(("geom", "plane", "possible contact", "contact", "friction", "solver", "noslip", "mesh")):
        return Confirmation(one, "not separated", None)
    for without_contacts in (alone, clean):
        without_contacts.opt.disableflags |= int(mujoco_module().mjtDisableBit.mjDSBL_CONTACT)
    noise, error = (mirror_steps(m, found.states, starts).error for m in (clean, alone))
    return Confirmation(one, "confirmed" if error > 10 * noise + 1e-12 else "cleared", error)


def _alone_in_contact(model: Any, one: Violation) -> bool:
    """Leave contacts to the geoms of a violation and to what is fixed in the world; False if they are not known."""
    mujoco = mujoco_module()
    ids = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, name) for name in (one.one, one.other) if name]
    if not ids or min(ids) < 0:
        return False
    off = np.asarray(model.geom_bodyid) != 0
    off[ids] = False
    model.geom_contype[off] = 0
    model.geom_conaffinity[off] = 0
    return True


def _without(model: Any, violations: Iterable[Violation]) -> Any:
    found = copy.copy(model)
    _apply(found, [v.fix for v in violations if v.fix is not None], 0.5)
    return found


# ---------------------------------------------------------------------- written as XML


def repair(source: Source, out: str | Path, *, take: str = "mean", only: str = "") -> LintReport:
    """Write a model without the violations that can be repaired, and lint what was written.

    MuJoCo writes six digits, so differences of a millionth can remain where numbers are irrational.

    Args:
        source: the model and its XML.
        out: the XML file to write.
        take: which value counts; see :func:`repaired_model`.
        only: the name of the motion to repair for.
    """
    mujoco = mujoco_module()
    target = Path(out)
    if target.suffix.lower() != ".xml":
        raise InvalidParameter(f"the repaired model is written as XML: let the name of {target} end with .xml")
    if source.path is not None and target.exists() and target.samefile(source.path):
        raise InvalidParameter(f"{target} is the model itself: write the repaired one to another file")
    better = repaired_model(source.model, take=take, only=only)
    with quiet():
        spec = source.spec()
        _write_changes(spec, spec.compile(), better)
        if source.path is not None:  # meshes and textures are found where they were
            for attribute in ("meshdir", "texturedir"):
                folder = Path(getattr(spec, attribute) or ".")
                if not folder.is_absolute() and (spec.meshes or spec.textures):
                    setattr(spec, attribute, str((source.path.parent / folder).resolve()))
        spec.compile()
        text = spec.to_xml()
        write_text(target, text)
        if source.assets:
            written = mujoco.MjModel.from_xml_string(text, source.assets)
        else:
            written = mujoco.MjModel.from_xml_path(str(target))
    return lint_model(written, str(target), only=only, tolerance=2e-6)


#: Arrays of a compiled model and the attribute of the editable one that holds the same row.
_ATTRIBUTES = {
    "bodies": (("body_pos", "pos"), ("body_gravcomp", "gravcomp")),
    "joints": (
        ("jnt_pos", "pos"),
        ("jnt_axis", "axis"),
        ("jnt_range", "range"),
        ("jnt_stiffness", "stiffness"),
        ("jnt_margin", "margin"),
        ("jnt_solref", "solref_limit"),
        ("jnt_solimp", "solimp_limit"),
        ("jnt_limited", "limited"),
        ("jnt_actfrcrange", "actfrcrange"),
        ("jnt_actfrclimited", "actfrclimited"),
    ),
    "geoms": (
        ("geom_pos", "pos"),
        ("geom_quat", "quat"),
        ("geom_size", "size"),
        ("geom_friction", "friction"),
        ("geom_condim", "condim"),
        ("geom_priority", "priority"),
        ("geom_solmix", "solmix"),
        ("geom_solref", "solref"),
        ("geom_solimp", "solimp"),
        ("geom_margin", "margin"),
        ("geom_gap", "gap"),
    ),
    "sites": (("site_pos", "pos"),),
    "actuators": (
        ("actuator_gear", "gear"),
        ("actuator_ctrlrange", "ctrlrange"),
        ("actuator_forcerange", "forcerange"),
        ("actuator_actrange", "actrange"),
        ("actuator_gainprm", "gainprm"),
        ("actuator_biasprm", "biasprm"),
        ("actuator_dynprm", "dynprm"),
    ),
    "tendons": (
        ("tendon_range", "range"),
        ("tendon_stiffness", "stiffness"),
        ("tendon_damping", "damping"),
        ("tendon_frictionloss", "frictionloss"),
        ("tendon_lengthspring", "springlength"),
    ),
    "equalities": (("eq_data", "data"), ("eq_solref", "solref"), ("eq_solimp", "solimp")),
}
_DOF_ATTRIBUTES = (
    ("dof_damping", "damping"),
    ("dof_armature", "armature"),
    ("dof_frictionloss", "frictionloss"),
    ("dof_solref", "solref_friction"),
    ("dof_solimp", "solimp_friction"),
)


def _write_changes(spec: Any, before: Any, after: Any) -> None:
    """Put every row that changed into the editable model."""
    degrees = float(spec.compiler.degree)
    for kind, pairs in _ATTRIBUTES.items():
        for element in getattr(spec, kind):
            for array, attribute in pairs:
                old, new = getattr(before, array)[element.id], getattr(after, array)[element.id]
                if np.abs(np.asarray(new, float) - old).max(initial=0.0) > 0:
                    turns = array == "jnt_range" and int(before.jnt_type[element.id]) in (1, 3)
                    _put(element, attribute, np.rad2deg(new) if turns and degrees else new)
    for joint in spec.joints:
        at = int(before.jnt_dofadr[joint.id])
        for array, attribute in _DOF_ATTRIBUTES:
            if np.abs(getattr(after, array)[at] - getattr(before, array)[at]).max() > 0:
                _put(joint, attribute, getattr(after, array)[at])
        place = int(before.jnt_qposadr[joint.id])
        if int(before.jnt_type[joint.id]) >= 2 and after.qpos_spring[place] != before.qpos_spring[place]:
            hinge = int(before.jnt_type[joint.id]) == 3
            joint.springref = np.rad2deg(after.qpos_spring[place]) if hinge and degrees else after.qpos_spring[place]
    for option in ("gravity", "wind"):
        if np.abs(getattr(after.opt, option) - getattr(before.opt, option)).max() > 0:
            setattr(spec.option, option, np.array(getattr(after.opt, option)))
    for option in ("solver", "cone", "noslip_iterations"):
        if getattr(after.opt, option) != getattr(before.opt, option):
            setattr(spec.option, option, getattr(after.opt, option))
    _write_inertias(spec, after)


def _write_inertias(spec: Any, after: Any) -> None:
    """Masses and inertias: where the geoms, repaired, do not give them already, they are written out."""
    now = spec.compile()
    different = [
        body
        for body in spec.bodies
        if body.id > 0
        and (
            abs(now.body_mass[body.id] - after.body_mass[body.id]) > 1e-9 * after.body_mass[body.id]
            or np.abs(now.body_ipos[body.id] - after.body_ipos[body.id]).max() > 1e-9
            or np.abs(_tensor(now, body.id) - _tensor(after, body.id)).max()
            > 1e-9 * np.abs(_tensor(after, body.id)).max()
        )
    ]
    if not different:
        return
    spec.compiler.inertiafromgeom = mujoco_module().mjtInertiaFromGeom.mjINERTIAFROMGEOM_AUTO
    for body in different:
        body.explicitinertial = True
        body.mass = float(after.body_mass[body.id])
        body.ipos, body.iquat = after.body_ipos[body.id], after.body_iquat[body.id]
        body.inertia = after.body_inertia[body.id]
        body.fullinertia = np.full(6, np.nan)


def _tensor(model: Any, body: int) -> Any:
    frame = np.zeros(9)
    mujoco_module().mju_quat2Mat(frame, model.body_iquat[body])
    turned = frame.reshape(3, 3)
    return turned @ np.diag(model.body_inertia[body]) @ turned.T


def _put(element: Any, attribute: str, value: Any) -> None:
    """Set an attribute, which may have more numbers than the compiled row (coefficients of higher order stay)."""
    now = getattr(element, attribute)
    if np.ndim(now) and np.size(value) < np.size(now):
        longer = np.array(now, dtype=np.float64)
        longer.ravel()[: np.size(value)] = np.ravel(value)
        value = longer
    if not np.ndim(now):
        value = type(now)(np.ravel(value)[0])
    setattr(element, attribute, value)
