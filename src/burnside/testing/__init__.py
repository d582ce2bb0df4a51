"""For people who build environments: assert in a test that one has the symmetry that it should have.

What lives here: ``symmetric`` (:func:`assert_symmetric`) and ``plugin``, which pytest loads by itself where Burnside is
installed, and which offers the same function as the fixture ``assert_symmetric``.

It may import ``burnside.canonical`` and what lies below it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from burnside._lazy import lazy

if TYPE_CHECKING:
    from burnside.testing.symmetric import assert_symmetric as assert_symmetric
else:
    __all__, __getattr__, __dir__ = lazy(__name__)
