"""Solving cubes with a policy: one beam, and what is done if it fails or if a shorter solution is wanted.

Effort e makes the beam 2ᵉ times as wide, and a beam that fails is tried again with four times the width, three times
over. A cube and its inverse are as far from the goal (d(s) = d(s⁻¹)), but a network may find one of them easier. Where
it can tell them apart, a beam that fails is tried on the inverse first, and from effort 1 on both are solved and the
shorter solution is taken. A policy whose weights are tied over the inversion cannot: its beam from s⁻¹ is the image of
that from s, so nothing is searched twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from burnside.errors import InvalidParameter, ModelTooLarge
from burnside.search.policy_beam import PolicyBeamConfig, policy_beam
from burnside.search.result import SearchResult, check_count

__all__ = ["SolverConfig", "solve_cube"]

_WIDER = 4


@dataclass(frozen=True)
class SolverConfig:
    """Settings of the solver.

    Attributes:
        width: states kept in a layer, at effort 0.
        effort: from 0 on; each more doubles the width, and so about the time.
        retries: how many times a beam that failed is made four times as wide, while there is memory for it.
        depth: layers after which a beam gives up; None is 60 with 12 turns and 250 where slices turn.
        table: depth of the endgame table; None is what the cube allows, 7 with 12 turns.

    >>> SolverConfig(effort=3).beams(inverse=True)
    [(8192, False), (8192, True)]
    """

    width: int = 1024
    effort: int = 0
    retries: int = 3
    depth: int | None = None
    table: int | None = None

    def __post_init__(self) -> None:
        check_count("width", self.width)
        if self.depth is not None:
            check_count("depth", self.depth)
        for name in ("effort", "retries", "table"):
            value = getattr(self, name)
            if value is None and name == "table":
                continue
            if isinstance(value, bool) or value != int(value) or not 0 <= value <= 20:
                raise InvalidParameter(f"{name} must be a whole number from 0 to 20, got {value}")

    def beams(self, inverse: bool) -> list[tuple[int, bool]]:
        """Width and inversion of the beams that are always run."""
        width = self.width << self.effort
        return [(width, False), (width, True)] if inverse and self.effort else [(width, False)]

    def more(self, inverse: bool) -> Iterator[tuple[int, bool]]:
        """The beams that are tried after these have failed."""
        width = self.width << self.effort
        if inverse and not self.effort:
            yield width, True
        for _ in range(self.retries):
            width *= _WIDER
            yield width, False
            if inverse:
                yield width, True


def solve_cube(policy: Any, state: Any, config: SolverConfig | None = None) -> SearchResult:
    """Solve one cube, given by its stickers; see the head of the file.

    The counts and times of the result are those of all its beams together.

    Args:
        policy: a :class:`~burnside.agents.cube_walks.CubePolicy`, or the file of one.
        state: uint8 stickers.
        config: the settings.

    >>> from burnside.agents.common.members import Member
    >>> from burnside.agents.cube_walks import WalkConfig, WalkRun
    >>> from burnside.envs.cube import CubeSpec, apply_moves, solved
    >>> spec = CubeSpec(3)
    >>> policy = WalkRun(WalkConfig.preset("smoke"), spec, Member(0, "equivariant")).network()
    >>> solve_cube(policy, apply_moves(spec, solved(spec), "R U F' L"), SolverConfig(table=4)).text
    "L' F U' R'"
    """
    if isinstance(policy, (str, Path)):
        from burnside.agents.cube_walks import load_policy

        policy = load_policy(policy)
    settings = config or SolverConfig()
    single = bool(policy.world.has_inverse) and len(policy.world.goals) == 1
    inverse = single and not policy.inverse_alike
    tried: list[SearchResult] = []
    usual = 60 if policy.world.spec.n_moves <= 12 else 250
    depth = usual if settings.depth is None else settings.depth

    def search(width: int, backwards: bool) -> None:
        beam = PolicyBeamConfig(width, depth, settings.table)
        tried.append(policy_beam(policy, state, beam, inverse=backwards))

    for width, backwards in settings.beams(inverse):
        search(width, backwards)
    for width, backwards in settings.more(inverse):
        if any(found.solved for found in tried):
            break
        try:
            search(width, backwards)
        except ModelTooLarge:  # there is no room for a wider one: the answer is that it was not solved
            break
    solved = [found for found in tried if found.solved]
    best = min(solved, key=lambda found: len(found.moves)) if solved else tried[-1]
    fields = ("generated", "expanded", "evaluated", "seconds_total", "seconds_network")
    return replace(best, **{name: sum(getattr(found, name) for found in tried) for name in fields})
