"""``audit_cube``: what a symmetry of the cube saves, where nothing can be enumerated but layers near the solved state.

The verdict is that of ``burnside.mdp.verify`` on the implicit model. Beside it two facts are checked for *all* states,
as identities of permutations: that the group maps turns to turns, and that outer-turn cubes with n ≥ 3 are one MDP.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from burnside.envs.cube.core import CubeSpec
from burnside.envs.cube.geometry import collapse, turn_table
from burnside.envs.cube.symmetry import CubeSymmetry, cube_mdp
from burnside.envs.cube.tables import TWO_STATES, two_table, walk
from burnside.errors import InvalidParameter
from burnside.mdp import Verdict, verify

__all__ = ["AUDITED", "CubeAudit", "audit_cube", "commutes", "count_layers", "same_as_three"]

#: The symmetries of the MDP; those with ``+inverse`` preserve values only.
AUDITED = ("position", "conjugation", "conjugation+mirror")
#: Bytes of the children of a layer up to which they are formed.
_MOST_BYTES = 250_000_000
_TWO_DEPTHS = 15  # no 2-cube is further than 14 turns from some solved orientation
Counts = tuple[int | None, ...]


def count_layers(
    spec: CubeSpec, depth: int, symmetry: str | None = None, progress: Callable[[int, int], object] | None = None
) -> Counts:
    """States at each depth from the solved cube, or classes under a symmetry; None where there are too many to count.

    ``position`` at n = 2 is read off the exact table, so all of its depths are known. ``progress`` is called with the
    depths counted and all of them.

    >>> count_layers(CubeSpec(3), 3), count_layers(CubeSpec(2), 14, "position")[-2:]
    ((1, 12, 114, 1068), (90280, 276))
    """
    if isinstance(depth, bool) or depth != int(depth) or depth < 0:
        raise InvalidParameter(f"depth must be a whole number from 0 on, got {depth}")
    if spec.n == 2 and symmetry == "position":
        found: list[int | None] = np.bincount(two_table(), minlength=_TWO_DEPTHS).tolist()
        return tuple((found + [0] * depth)[: depth + 1])
    counts: list[int | None] = []
    for layer in walk(spec, symmetry):
        counts.append(len(layer))
        if progress is not None:
            progress(len(counts), depth + 1)
        if len(counts) > depth or layer.size * spec.n_moves > _MOST_BYTES:
            break
    return tuple(counts + [None] * (depth + 1 - len(counts)))


def commutes(symmetry: CubeSymmetry) -> bool:
    """Whether ``g·(s after a) = (g·s) after (g·a)`` for all elements, turns and states: permutations are compared.

    Recolouring does not move stickers, so it commutes with every turn by itself.

    >>> all(commutes(CubeSymmetry(CubeSpec(n), name)) for n in (2, 3, 4) for name in AUDITED)
    True
    """
    table, perms = symmetry.spec.table, symmetry.perms
    after_then_g = table[:, perms].transpose(1, 0, 2)  # [g, a, i]: place a reads for what g puts at i
    g_then_after = np.take_along_axis(perms[:, None, :], table[symmetry.on_moves], axis=-1)
    return bool((after_then_g == g_then_after).all())


def same_as_three(spec: CubeSpec) -> bool:
    """Whether the cube is the 3-cube with some stickers repeated: checked for every turn and sticker.

    Sticker i of the n-cube always has the colour of sticker π(i) of the 3-cube if ``π∘turn = turn∘π`` for all turns.

    >>> [same_as_three(CubeSpec(n)) for n in (2, 3, 4, 5)], same_as_three(CubeSpec(4, turns="slices"))
    ([False, True, True, True], False)
    """
    if spec.n == 2 or spec.slices:
        return False
    onto = collapse(spec.n)
    return bool((onto[spec.table] == turn_table(3)[:, onto]).all())


@dataclass(frozen=True)
class CubeAudit:
    """The result of :func:`audit_cube`; :meth:`to_dict` gives the JSON of ``burnside audit cube --json``.

    Attributes:
        spec: the cube.
        symmetry: name of the group.
        verdict: what ``verify`` found.
        everywhere: turns are mapped to turns in all states, not only in the sample.
        trusted: counted although the symmetry does not hold.
        raw: states at each depth, None where too many.
        canonical: classes at each depth; None where the symmetry was refused.
        eps, delta: as given; no bound follows from them, for there is no horizon.
    """

    spec: CubeSpec
    symmetry: str
    verdict: Verdict
    everywhere: bool
    trusted: bool
    raw: Counts
    canonical: Counts | None
    eps: float = 0.1
    delta: float = 0.1

    @property
    def group(self) -> CubeSymmetry:
        """The group itself."""
        return CubeSymmetry(self.spec, self.symmetry)

    @property
    def model(self) -> str:
        """Name of the model."""
        return cube_mdp(self.spec).name

    @property
    def ratios(self) -> tuple[float | None, ...]:
        """States for each class, among all up to each depth; None where one of them is not known."""
        if self.canonical is None:
            return (None,) * len(self.raw)
        out: list[float | None] = []
        states = classes = 0
        for one, other in zip(self.raw, self.canonical, strict=True):
            if one is None or other is None:
                break
            states, classes = states + one, classes + other
            out.append(states / classes)
        return tuple(out + [None] * (len(self.raw) - len(out)))

    @property
    def states(self) -> int | None:
        """States that can be reached from one solved cube; None where the number is not known."""
        return cube_mdp(self.spec).n_states

    @property
    def classes(self) -> int | None:
        """Their classes, where they are known without counting: ``position`` only."""
        if self.symmetry != "position" or self.canonical is None:
            return None
        return TWO_STATES if self.spec.n == 2 else self.states

    @property
    def factor(self) -> float | None:
        """States for each class, exact; ``position`` acts freely, so it is the factor of pairs too."""
        return None if self.states is None or self.classes is None else self.states / self.classes

    @property
    def merges_nothing(self) -> bool:
        """No two states that can be reached are images of each other: ``position``, outer turns, n ≥ 3."""
        return self.symmetry == "position" and same_as_three(self.spec)

    @property
    def on_actions(self) -> float | None:
        """``|G_A|``: the size of the orbits of turns, if they have one size."""
        sizes = {len(set(images)) for images in self.group.on_moves.T.tolist()}
        return float(sizes.pop()) if len(sizes) == 1 else None

    @property
    def paper(self) -> float | None:
        """The factor of Thm. 1; undefined for conjugation, as the solved cube is alone in its orbit."""
        if self.symmetry != "position" or self.on_actions is None:
            return None
        return self.group.order * self.on_actions

    @property
    def why(self) -> str:
        """What the symmetry does and does not do, in sentences."""
        order = self.group.order
        if self.canonical is None:
            return f"'{self.symmetry}' is not a symmetry of the {self.model}: {self.verdict.counterexample}"
        parts = []
        if self.symmetry == "position":
            if self.merges_nothing:
                parts.append(
                    "position merges no reachable states: outer turns never move the centres, so no two states that "
                    "can be reached are rotations of each other; it is a re-encoding and its factor is 1"
                )
            elif self.spec.n == 2:
                parts.append("position acts freely: every class has 24 states, and R L' reaches a rotation in 2 turns")
            else:
                parts.append("with slice turns rotations can be reached, so position merges states, but late")
            if self.paper is not None:
                parts.append(
                    f"|G_S|·|G_A| = {order}·{self.on_actions:.0f} = {self.paper:.0f} exceeds |G| = {order}: no "
                    f"quotient can save that"
                )
        else:
            parts.append(
                f"{self.symmetry} has {order} elements and fixes the solved cube; the ratio approaches {order} with "
                f"depth, because ever fewer states are symmetric themselves"
            )
            parts.append("the paper's formula is undefined: orbits of states differ in size")
        if self.everywhere:
            parts.append(
                f"turns go to turns for all {order} elements in all states (compared as permutations, not sampled)"
            )
        if self.sameness:
            parts.append(self.sameness)
        return "; ".join(parts)

    @property
    def sameness(self) -> str:
        """That outer-turn cubes with n ≥ 3 are one MDP; empty for others."""
        if not same_as_three(self.spec):
            return ""
        return (
            "with outer turns N = 3, 4, 5, … are one and the same MDP: every sticker always has the colour of one of "
            "the 54 of the 3-cube (checked for each turn and sticker)"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: the keys of every audit, None where nothing is enumerated, and ``layers``."""
        states, classes, moves = self.states, self.classes, self.spec.n_moves
        log = {"states": None, "pairs": None}
        reachable = None
        if states is not None:
            log = {"states": math.log10(states), "pairs": math.log10(states * moves)}  # type: ignore[dict-item]
        if states is not None and classes is not None:
            reachable = {
                "states": states,
                "pairs": states * moves,
                "quotient_states": classes,
                "quotient_pairs": classes * moves,
            }
        bounds = dict.fromkeys(("paper", "joint", "joint_log10", "explicit", "lower"))
        position = self.symmetry == "position"
        return {
            "model": self.model,
            "states": states,
            "terminal_states": 0,
            "pairs": None if states is None else states * moves,
            "successors": 1,
            "log10": log,
            "horizon": None,
            "eps": self.eps,
            "delta": self.delta,
            "reward_range": 1.0,
            "group": {
                "name": self.symmetry,
                "order": self.group.order,
                "log10_order": math.log10(self.group.order),
                "acting_order": None,
                "log10_acting_order": None,
            },
            "verified": self.verdict.to_dict(),
            "trusted": self.trusted,
            "quotient": {
                "states": classes,
                "terminal_states": 0,
                "pairs": None if classes is None else classes * moves,
                "successors": None if self.canonical is None else 1,
            },
            "reachable": reachable,
            "factors": {
                "paper": self.paper,
                "joint": self.factor,
                "reachable": self.factor,
                "paper_average": None,
                "paper_parts": {
                    "states": float(self.group.order) if position else None,
                    "actions": self.on_actions,
                    "successors": 1.0,
                },
                "joint_with_successors": self.factor,
            },
            "attainable": False,
            "why": self.why,
            "bounds": {"M": dict(bounds), "quotient": dict(bounds)},
            "layers": {
                "raw": list(self.raw),
                "canonical": None if self.canonical is None else list(self.canonical),
            },
        }


def audit_cube(
    spec: CubeSpec,
    symmetry: str = "conjugation+mirror",
    *,
    depth: int | None = None,
    eps: float = 0.1,
    delta: float = 0.1,
    trust: bool = False,
    raw: Counts | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> CubeAudit:
    """Verify a symmetry of the cube and count states and classes by depth.

    Args:
        spec: the cube.
        symmetry: one of ``AUDITED``.
        depth: how far to count; default 5, and 6 for n = 2.
        eps: kept in the result.
        delta: kept in the result.
        trust: count classes even if the symmetry does not hold.
        raw: the counts of states, if they are known from another audit of the same cube.
        progress: called with the depths counted and all of them, once for states and once for classes.

    >>> found = audit_cube(CubeSpec(3), "conjugation+mirror", depth=3)
    >>> found.verdict.ok, found.raw, found.canonical, [round(x, 1) for x in found.ratios]
    (True, (1, 12, 114, 1068), (1, 1, 5, 25), [1.0, 6.5, 18.1, 37.3])
    """
    if not eps > 0 or not 0 < delta < 1:
        raise InvalidParameter(f"eps must be positive and delta between 0 and 1, got {eps} and {delta}")
    group = CubeSymmetry(spec, symmetry)
    verdict = verify(cube_mdp(spec), group.implicit())
    far = (6 if spec.n == 2 else 5) if depth is None else depth
    counts = count_layers(spec, far, progress=progress) if raw is None else raw
    held = verdict.ok or trust
    classes = count_layers(spec, far, symmetry, progress) if held else None
    return CubeAudit(spec, symmetry, verdict, commutes(group), held and not verdict.ok, counts, classes, eps, delta)
