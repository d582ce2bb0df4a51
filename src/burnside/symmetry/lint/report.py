"""Linting a model: all maps, their violations, and the declaration to paste."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from burnside.symmetry.base import Map
from burnside.symmetry.lint.compare import Comparison, Violation, compare
from burnside.symmetry.lint.matching import Matching, exchanges, match_bodies
from burnside.symmetry.lint.motions import Motion, Rest, candidate_motions, tilted_motions
from burnside.symmetry.lint.simulate import MirrorStep, Start, contact_differences, mirror_steps, sample_starts
from burnside.symmetry.lint.states import StateMap, state_map
from burnside.symmetry.vectors import SignedPermutation

__all__ = ["LintReport", "ModelMap", "declaration_text", "lint_model", "unexplained"]

_GROSS = 0.25  # a motion is rejected if bodies that differ grossly make up more than this share of the mass
_LARGEST_GROUP = 200
_NOTICED = 1e-6  # a step that differs by more than this needs an explanation


@dataclass(frozen=True)
class ModelMap:
    """A motion of space that maps a model's bodies and joints onto each other.

    Attributes:
        motion: ``"y → −y"``, ``"half turn about z"``, ``"exchange"`` (of parts that stand in the same place), …
        order: how often it must be repeated until every number is back.
        joints: for every joint what comes there: ``{"left_knee": "-right_knee"}`` is new[left_knee] = −old[right_knee].
        states: what it does to positions, velocities, controls and activations.
        violations: everything that is not mapped onto itself.
        observation: what it does to the observation of the environment, if there is one whose layout is known.
        step: what the simulator says; None if it was not asked.
        matching: who becomes who.
        comparison: the images of geoms, sites and actuators.
    """

    motion: str
    order: int
    joints: dict[str, str]
    states: StateMap
    violations: tuple[Violation, ...]
    matching: Matching = field(repr=False, compare=False)
    comparison: Comparison = field(repr=False, compare=False)
    observation: Map | None = None
    step: MirrorStep | None = None

    @property
    def clean(self) -> bool:
        """Whether nothing violates it."""
        return not self.violations

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; signed permutations as ``new[i] = ±old[index]``."""
        found: dict[str, Any] = {"motion": self.motion, "order": self.order, "joints": self.joints}
        parts = {"qpos": self.states.qpos, "qvel": self.states.qvel, "ctrl": self.states.ctrl}
        found |= {name: _data(part) for name, part in parts.items()}
        found["observation"] = None if self.observation is None else _data(self.observation)
        found["violations"] = [violation.to_dict() for violation in self.violations]
        found["simulator"] = None if self.step is None else self.step.to_dict()
        return found


@dataclass(frozen=True)
class LintReport:
    """What the linter found in a model.

    Attributes:
        model: its name.
        maps: motions that map bodies and joints onto each other, each with its violations.
        rejected: motions that map bodies and joints, but to parts that differ too much; with the reason.
        order: of the group that the maps without violations generate; 1 if there is none.
        tried: names of all motions that were tried.
        why_no_observation: why the observation's map is not known; empty if it is, or if there is no environment.
    """

    model: str
    maps: tuple[ModelMap, ...]
    rejected: tuple[tuple[str, str], ...] = ()
    order: int = 1
    tried: tuple[str, ...] = ()
    why_no_observation: str = ""

    @property
    def clean(self) -> bool:
        """Whether no map has a violation."""
        return all(found.clean for found in self.maps)

    def declaration(self) -> str:
        """Python text of the largest group of maps that can be declared by name, or of the first map; "" if none."""
        return declaration_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "model": self.model,
            "clean": self.clean,
            "order": self.order,
            "maps": [found.to_dict() for found in self.maps],
            "rejected": [{"motion": motion, "why": why} for motion, why in self.rejected],
            "declaration": self.declaration(),
            "tried": list(self.tried),
        }


def _data(part: Map) -> Any:
    return str(part) if isinstance(part, SignedPermutation) else part.to_data()


def lint_model(
    model: Any, name: str = "", *, only: str = "", tolerance: float = 1e-6, states: int = 32, seed: int = 0
) -> LintReport:
    """Which motions of space map a MuJoCo model onto itself, and everything that stands in the way.

    Bodies are matched by their places at rest (``qpos0``) and by the tree they form, joints by their axes. Then all
    that decides the dynamics is compared. Nothing is trained and nothing is guessed from data.

    Args:
        model: a compiled ``mujoco.MjModel``; it is not changed.
        name: for the report.
        only: the name of one motion to look at, such as ``"y → −y"``; default all.
        tolerance: differences up to this count as equal, relative to the values.
        states: states in which the simulator compares a step with its image; 0 to leave that out.
        seed: of these states.

    >>> import mujoco
    >>> pendulum = '''<mujoco><worldbody><body><joint name="hinge" axis="0 1 0"/>
    ...     <geom type="capsule" size=".05" fromto="0 0 0 0 0 .6"/></body></worldbody></mujoco>'''
    >>> report = lint_model(mujoco.MjModel.from_xml_string(pendulum))
    >>> [(found.motion, found.joints, found.clean) for found in report.maps]
    [('x → −x', {'hinge': '-hinge'}, True)]
    """
    rest = Rest(model)
    starts = sample_starts(model, states, seed) if states else []
    maps: list[ModelMap] = []
    rejected: list[tuple[str, str]] = []
    for matching in _matchings(rest, only):
        found = _model_map(rest, matching, tolerance)
        if not found.states.moves:
            continue
        why = _grossly_different(rest, found)
        if why:
            if found.motion not in [motion for motion, _ in rejected]:
                rejected.append((found.motion, why))
            continue
        known = [k for k, other in enumerate(maps) if other.states.same(found.states)]
        if known:  # the same numbers by another motion: keep the one with fewer violations
            if len(found.violations) < len(maps[known[0]].violations):
                maps[known[0]] = found
            continue
        maps.append(found)
    if starts:
        maps = [_simulated(rest, found, starts) for found in maps]
    tried = ("exchange", *(motion.name for motion in candidate_motions(np.array(model.opt.gravity))))
    accepted = {found.motion for found in maps}
    rejected += [] if only else _tilted(rest)
    left = tuple(entry for entry in rejected if entry[0] not in accepted)
    return LintReport(name, tuple(maps), left, _group_order([f.states for f in maps if f.clean]), tried)


def _tilted(rest: Rest) -> list[tuple[str, str]]:
    """Motions that map the bodies, but not gravity: it is tilted, which no part of the model could make up for."""
    gravity = np.array(rest.model.opt.gravity)
    found = []
    for matching in _matched(rest, tilted_motions(gravity)):
        here, there = (
            ", ".join(f"{x:g}" for x in v.round(12) + 0.0) for v in (gravity, matching.motion.matrix @ gravity)
        )
        found.append((matching.motion.name, f"gravity is tilted: ({here}) becomes ({there})"))
    return found


def _simulated(rest: Rest, found: ModelMap, starts: list[Start]) -> ModelMap:
    """The map with the simulator's word; what it notices though nothing else was found is a violation too."""
    step = mirror_steps(rest.model, found.states, starts)
    if found.violations or step.error < _NOTICED:
        return replace(found, step=step)
    return replace(found, step=step, violations=unexplained(rest, found, rest.model, starts, step.error))


def unexplained(rest: Rest, found: ModelMap, model: Any, starts: list[Start], error: float) -> tuple[Violation, ...]:
    """What is left when nothing in the model differs: contacts that are found in other points, or something unknown."""
    pairs = contact_differences(model, found.states, found.comparison.geoms, starts)
    listed = []
    for (a, b), (here, there) in pairs.items():
        images = found.comparison.geoms[[a, b]].tolist()
        one, other = (" and ".join(rest.name("geom", g) for g in pair) for pair in ((a, b), images))
        wanted, got = (f"{n} point{'s' * (n != 1)}" for n in (here, there))
        listed.append(Violation("contact points", one, other, None, wanted, got, "order"))
    return tuple(listed) or (Violation("step (cause unknown)", "world", "world", error),)


def _matchings(rest: Rest, only: str) -> list[Matching]:
    """All matchings worth a look: exchanges, and for every motion the plane or axis through the origin or the base."""
    found = [] if only and not only.startswith("exchange") else exchanges(rest)
    found = [matching for matching in found if not only or matching.motion.name == only]
    motions = candidate_motions(np.array(rest.model.opt.gravity))
    return found + _matched(rest, [motion for motion in motions if not only or motion.name == only])


def _matched(rest: Rest, motions: list[Motion]) -> list[Matching]:
    """Bodies matched under each motion, through the origin or through a base; nothing where they do not match."""
    bases = [b for b in rest.children[0] if np.linalg.norm(rest.body_pos[b]) > 0]
    bases.sort(key=lambda b: -float(rest.model.body_subtreemass[b]))
    found = []
    for motion in motions:
        places = [np.zeros(3)] + [rest.body_pos[b] - motion.matrix @ rest.body_pos[b] for b in bases[:2]]
        for offset in places:
            matching = match_bodies(rest, motion, offset)
            if matching is not None:
                found.append(matching)
                break
    return found


def _model_map(rest: Rest, matching: Matching, tolerance: float) -> ModelMap:
    comparison = compare(rest, matching, tolerance)
    states = state_map(rest, matching, comparison)
    joints = {}
    for joint in range(rest.model.njnt):
        image, sign = int(matching.joints[joint]), matching.signs[joint]
        joints[rest.name("joint", image)] = ("-" if sign < 0 else "") + rest.name("joint", joint)
    order = _order(states, matching.motion.order)
    return ModelMap(matching.motion.name, order, joints, states, comparison.violations, matching, comparison)


def _order(states: StateMap, expected: int) -> int:
    """How often the map must be repeated until all numbers are back."""
    parts = [part for part in (states.qpos, states.qvel, states.ctrl) if part.width]
    power = list(parts)
    for k in range(1, 4 * expected):
        if all(p.difference(p.identity()) is None for p in power):
            return k
        power = [part @ p for part, p in zip(parts, power, strict=True)]
    return 0


def _grossly_different(rest: Rest, found: ModelMap) -> str:
    """Why a motion is not a symmetry at all, rather than one with some flaws; "" if it may be one.

    Bodies count whose mass, centre or shape is elsewhere altogether, if they make up much of the mass.
    """
    m, images = rest.model, found.matching.bodies
    gross: dict[int, str] = {}
    for body in range(1, m.nbody):
        image = int(images[body])
        if m.body_weldid[body] == 0 or image < 0 or m.body_mass[body] <= 0:
            continue
        size = _radius(rest, body)
        off = np.linalg.norm(found.matching.point(body, rest.com[body]) - rest.com[image])
        ratio = m.body_mass[image] / m.body_mass[body]
        if off > 0.1 * size or not 0.5 < ratio < 2:
            gross[body] = "mass"
    for geom, image in enumerate(found.comparison.geoms.tolist()):
        body = int(m.geom_bodyid[geom])
        if image < 0 or m.body_weldid[body] == 0 or m.geom_type[geom] == 0:
            continue
        off = np.linalg.norm(found.matching.point(body, rest.geom_pos[geom]) - rest.geom_pos[image])
        if off > 0.5 * m.geom_rbound[geom] or m.geom_type[geom] != m.geom_type[image]:
            gross.setdefault(body, "shape")
    lost = [v for v in found.violations if v.what == "actuator without a partner"]
    moving = m.body_weldid > 0
    share = float(m.body_mass[list(gross)].sum() / max(m.body_mass[moving].sum(), 1e-12)) if gross else 0.0
    if share > _GROSS:
        names = ", ".join(rest.name("body", b) for b in sorted(gross)[:3])
        return f"the mass or shape of {names}{' and others' if len(gross) > 3 else ''} is not mapped to anything alike"
    if m.nu and len(lost) > _GROSS * m.nu:
        return (
            f"{lost[0].one} and {len(lost) - 1} others drive joints whose images nothing drives"
            if len(lost) > 1
            else (f"{lost[0].one} drives a joint whose image nothing drives")
        )
    return ""


def _radius(rest: Rest, body: int) -> float:
    """How large a body is, from its geoms, or else from its inertia."""
    m = rest.model
    geoms = (m.geom_bodyid == body) & (m.geom_type != 0)
    if geoms.any():
        return float(m.geom_rbound[geoms].max())
    return float(np.sqrt(np.trace(rest.inertia[body]) / max(m.body_mass[body], 1e-12)))


# ---------------------------------------------------------------------- groups and declarations


def _group_order(maps: Sequence[StateMap]) -> int:
    """How many elements the maps generate, found by multiplying them; 0 if more than some hundreds."""
    from burnside.symmetry.affine import concat_maps

    joined = [concat_maps([part for part in (m.qpos, m.qvel, m.ctrl) if part.width]) for m in maps]
    if not joined:
        return 1
    elements: list[Map] = [joined[0].identity()]
    for element in elements:  # grows while it is walked through
        for generator in joined:
            new = generator @ element
            if not any(new.difference(old) is None for old in elements):
                elements.append(new)
                if len(elements) > _LARGEST_GROUP:
                    return 0
    return len(elements)


def declaration_text(report: LintReport) -> str:
    """The declaration to paste: clean maps first, as the largest named group among them."""
    maps = [m for m in report.maps if m.clean] or list(report.maps)
    maps = [m for m in maps if _permutes(m)]
    if not maps:
        return ""
    by_name = {m.motion: m for m in maps}
    group, chosen = _named_group(by_name, maps)
    parts: dict[str, list[Map | None]] = {
        "observation": [m.observation for m in chosen],
        "action": [m.states.ctrl for m in chosen],
    }
    state = ", ".join(f'{{"qpos": "{m.states.qpos}", "qvel": "{m.states.qvel}"}}' for m in chosen)
    lines = ["EnvSymmetry(", f'    "{group}",  # {", ".join(m.motion for m in chosen)}']
    for what, found in parts.items():
        if any(part is None for part in found):
            lines.append(f"    {what}=…,  # how your environment shows qpos and qvel")
        elif found[0] is not None and not found[0].width:
            lines.append(f'    {what}="trivial",')
        else:
            lines.append(f"    {what}={_spelled([str(part) for part in found])},")
    lines.append(f"    state={state if len(chosen) == 1 else f'[{state}]'},")
    lines.append(f'    name="{report.model}",')
    return "\n".join([*lines, ")"])


def _permutes(found: ModelMap) -> bool:
    parts = [part for part in (found.states.qpos, found.states.qvel, found.states.ctrl) if part.width]
    return all(isinstance(part, SignedPermutation) for part in parts) and found.order in (2, 3, 4, 5, 6, 8)


def _named_group(by_name: dict[str, ModelMap], maps: list[ModelMap]) -> tuple[str, list[ModelMap]]:
    y, x, quarter = (by_name.get(name) for name in ("y → −y", "x → −x", "quarter turn about z"))
    if quarter is not None and quarter.order == 4:
        return ("D4", [quarter, y]) if y is not None else ("C4", [quarter])
    if y is not None and x is not None:
        return "V4", [y, x]
    first = maps[0]
    return ("mirror" if first.order == 2 else f"C{first.order}"), [first]


def _spelled(maps: list[str]) -> str:
    return f'"{maps[0]}"' if len(maps) == 1 else "[" + ", ".join(f'"{text}"' for text in maps) + "]"
