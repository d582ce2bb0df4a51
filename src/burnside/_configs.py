"""The base of all settings: presets by name, plain values for files, and checks that say what is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar, Self

from burnside.errors import InvalidParameter, UnknownName

__all__ = ["Config"]


class Config:
    """A frozen dataclass of settings derives from this.

    Attributes:
        PRESETS: for every preset, the fields in which it differs from the defaults.
        LATER: fields that came after results were committed. At their defaults they are left out of :meth:`to_json`, so
            that cells keep their names and checkpoints can be resumed.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Walk(Config):
    ...     steps: int = 10
    ...     PRESETS = {"long": {"steps": 1000}}
    ...     def __post_init__(self):
    ...         self.check_at_least(1, "steps")
    >>> Walk.preset("long"), Walk.from_json(Walk(7).to_json())
    (Walk(steps=1000), Walk(steps=7))
    >>> Walk(0)
    Traceback (most recent call last):
    ...
    burnside.errors.InvalidParameter: steps is 0: give at least 1
    """

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    LATER: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """A preset by name, with fields changed."""
        if name not in cls.PRESETS:
            raise UnknownName(f"{cls.__name__} preset", name, cls.PRESETS)
        return cls(**{**cls.PRESETS[name], **changes})

    def to_json(self) -> dict[str, Any]:
        """Plain values, for manifests and hashes."""
        found = {
            field.name: getattr(self, field.name)
            for field in fields(self)  # type: ignore[arg-type]
            if field.name not in self.LATER or getattr(self, field.name) != field.default
        }
        return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`; a field that is missing has its default, an unknown one is refused."""
        known = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        for name in values:
            if name not in known:
                raise UnknownName(f"{cls.__name__} setting", name, known)
        return cls(**values)

    # Checks for ``__post_init__``.

    def check_at_least(self, least: int, *names: str) -> None:
        """Refuse counts below ``least``."""
        for name in names:
            if not getattr(self, name) >= least:
                raise InvalidParameter(f"{name} is {getattr(self, name)}: give {least} or more" if least < 1 else
                                       f"{name} is {getattr(self, name)}: give at least {least}")  # fmt: skip

    def check_positive(self, *names: str) -> None:
        """Refuse what is not above zero, NaN included."""
        for name in names:
            if not getattr(self, name) > 0:
                raise InvalidParameter(f"{name} is {getattr(self, name)}: give a positive number")

    def check_fraction(self, *names: str) -> None:
        """Refuse what does not lie between 0 and 1."""
        for name in names:
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise InvalidParameter(f"{name} is {getattr(self, name)}: give a number from 0 to 1")

    def check_known(self, **options: Sequence[str]) -> None:
        """Refuse a choice that does not exist."""
        for name, known in options.items():
            if getattr(self, name) not in known:
                raise UnknownName(name.replace("_", " "), str(getattr(self, name)), known)

    def check_hidden(self, multiple: int = 1) -> None:
        """Make ``hidden`` a tuple of two widths, each a positive multiple of a number."""
        widths = tuple(int(width) for width in self.hidden)  # type: ignore[attr-defined]
        object.__setattr__(self, "hidden", widths)
        if len(widths) != 2 or min(widths) < multiple or any(width % multiple for width in widths):
            what = "positive widths" if multiple == 1 else f"positive multiples of {multiple}"
            raise InvalidParameter(f"hidden is {widths}: give two {what}")
