"""Groups that a user gives as elements of their own, in any form that their functions understand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from burnside._random import Stream, randint
from burnside._types import ArrayLike
from burnside.errors import InvalidParameter
from burnside.symmetry.finite import EnvGroup

__all__ = ["GivenGroup"]


class GivenGroup(EnvGroup):
    """Generators, and perhaps elements and their inverses, that only functions of the user's understand.

    Args:
        generators: elements that generate the group.
        elements: all elements, if they are listed.
        inverse: ``g → g⁻¹``, if it is known.
        name: shown in reports.
        base: the group of which these are elements, if representations are to act by it.

    >>> GivenGroup([-1], elements=[1, -1], inverse=lambda g: g, name="mirror").order
    2
    """

    def __init__(
        self,
        generators: Sequence[Any],
        elements: Sequence[Any] | None = None,
        inverse: Callable[[Any], Any] | None = None,
        name: str = "G",
        base: EnvGroup | None = None,
    ) -> None:
        if not len(generators):
            raise InvalidParameter(f"the symmetry {name} has no generators: give at least one")
        self._generators, self._elements, self.name, self.base = generators, elements, name, base
        self.inverse = inverse  # type: ignore[method-assign, assignment]

    @property
    def generators(self) -> Sequence[Any]:  # type: ignore[override]
        """Elements that generate the group."""
        return self._generators

    @property
    def elements(self) -> Sequence[Any] | None:
        """All elements, if they are listed."""
        return self._elements

    @property
    def order(self) -> int | None:  # type: ignore[override]
        """How many elements are listed; None if they are not."""
        return None if self._elements is None else len(self._elements)

    @property
    def dimension(self) -> int | None:  # type: ignore[override]
        """That of the base, if there is one."""
        return None if self.base is None else self.base.dimension

    def random_element(self, seed: int, counter: ArrayLike) -> Any:
        """A uniformly random element of those that are listed."""
        if self._elements is None:
            raise InvalidParameter(f"the symmetry {self.name} does not list its elements: give elements=…")
        return self._elements[int(randint(seed, Stream.AUGMENT, counter, len(self._elements)))]

    def lead(self, g: Any) -> tuple[int, ...]:
        """Elements come one by one."""
        return ()

    def to_data(self) -> Any:
        """Refused: elements may be anything."""
        raise InvalidParameter(f"the elements of {self.name} are your own, and cannot be written to a file")

    def __repr__(self) -> str:
        """The name."""
        return self.name
