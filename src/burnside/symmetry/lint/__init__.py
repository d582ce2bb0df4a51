"""The model linter: which motions of space map a MuJoCo model onto itself, and what stands in the way, by name.

What lives here, in the order in which it is used:

- ``motions`` — reflections and turns that are tried, and the model at rest (:class:`Rest`);
- ``matching`` — which body and joint becomes which, from places and axes;
- ``compare`` — everything else, compared with its image (:class:`Violation`);
- ``states`` — what the motion does to positions, velocities and controls;
- ``simulate`` — the simulator's own word: a step from the image of a state;
- ``report`` — :func:`lint_model`, and the declaration to paste;
- ``layout`` — what the observation of a Gymnasium environment shows, and so how a map acts on it;
- ``repairs`` — a model without the violations, and which of them the simulator notices;
- ``models`` — models from files, Gymnasium and dm_control.

It may import mujoco, gymnasium and dm_control (inside functions) beside what ``burnside.symmetry`` may.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from burnside._lazy import lazy

if TYPE_CHECKING:
    from burnside.symmetry.lint.layout import lint as lint
    from burnside.symmetry.lint.models import load_source as load_source
    from burnside.symmetry.lint.repairs import confirm as confirm
    from burnside.symmetry.lint.repairs import repair as repair
    from burnside.symmetry.lint.report import lint_model as lint_model
else:
    __all__, __getattr__, __dir__ = lazy(__name__)
