"""What symmetry saves in environments people use: steps to a threshold, with and without it, and with controls.

``config`` lists the tasks and the presets; ``tasks`` makes their environments and symmetries; ``run`` trains one cell
(an environment, an arm or a control, a few seeds); ``analysis`` turns finished cells into ratios. ``burnside measure``
runs the same cells for a user's environment.

It may import what ``burnside.experiments`` may.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from burnside._lazy import lazy

if TYPE_CHECKING:
    from burnside.experiments.atlas.run import Atlas as Atlas
else:
    __all__, __getattr__, __dir__ = lazy(__name__)
