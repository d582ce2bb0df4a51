"""``CubeModel``: the cube as a model that :func:`burnside.audit` takes, as it takes tables and graphs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from burnside.envs.cube.audit import AUDITED, Counts, CubeAudit, audit_cube, count_layers
from burnside.envs.cube.core import CubeSpec
from burnside.envs.cube.symmetry import CubeSymmetry
from burnside.errors import InvalidParameter

__all__ = ["CubeModel"]

_DEFAULT = "conjugation+mirror"


class CubeModel:
    """Rubik's cube of any size: too large for a table, so its audit counts states and classes by depth.

    Args:
        n: stickers along an edge.
        turns: ``outer``, the 12 turns of the paper, or ``slices``: inner layers turn too.
        goal: what counts as solved, ``fixed`` or ``any-orientation``; default what the symmetry needs.
        depth: how far the audit counts; default 5, and 6 for n = 2.

    >>> from burnside.theory import audit
    >>> cube = CubeModel(3, depth=3)
    >>> round(audit(cube, cube.symmetry("conjugation")).ratios[-1], 3)
    19.59
    """

    #: Symmetries that are worth seeing side by side, as ``burnside audit cube`` shows them.
    compared = AUDITED

    def __init__(self, n: int = 3, *, turns: str = "outer", goal: str | None = None, depth: int | None = None) -> None:
        self.n, self.turns, self.goal = n, turns, goal
        self.depth = (6 if n == 2 else 5) if depth is None else depth
        self.name = f"cube(n={n})" if turns == "outer" else f"cube(n={n}, turns={turns})"
        self.symmetries: dict[str, Callable[[CubeModel], CubeSymmetry]] = {
            name: partial(CubeModel.symmetry, name=name) for name in (_DEFAULT, *AUDITED)
        }
        self._states: Counts | None = None
        self.spec(_DEFAULT)  # which refuses what is not a cube

    def spec(self, symmetry: str) -> CubeSpec:
        """The cube on which a symmetry is judged.

        ``position`` turns the solved cube, so it needs every orientation as a goal. For n ≥ 3 with outer turns that
        changes no value: the other orientations cannot be reached.

        >>> CubeModel(3).spec("position").goal, CubeModel(3).spec("conjugation").goal
        ('any-orientation', 'fixed')
        """
        goal = "any-orientation" if self.goal is None and symmetry == "position" else self.goal
        return CubeSpec(self.n, self.turns, goal)  # type: ignore[arg-type]

    def symmetry(self, name: str | None = None) -> CubeSymmetry:
        """The symmetry of that name; ``conjugation+mirror`` if no name is given."""
        chosen = _DEFAULT if name is None else name
        return CubeSymmetry(self.spec(chosen), chosen)

    def audit(
        self,
        symmetry: CubeSymmetry,
        *,
        eps: float = 0.1,
        delta: float = 0.1,
        trust: bool = False,
        progress: Callable[[int, int], object] | None = None,
    ) -> CubeAudit:
        """Verify the symmetry and count by depth; see :func:`audit_cube`. The states are counted once for all."""
        if symmetry.value_only:
            raise InvalidParameter(
                f"{symmetry.name} preserves distances but not turns, so there is no quotient: audit one of "
                f"{', '.join(AUDITED)}"
            )
        if self._states is None:
            self._states = count_layers(symmetry.spec, self.depth, progress=progress)
        counted = {"depth": self.depth, "raw": self._states, "progress": progress}
        return audit_cube(symmetry.spec, symmetry.name, **counted, eps=eps, delta=delta, trust=trust)  # type: ignore[arg-type]
