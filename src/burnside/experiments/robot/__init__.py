"""Robot manipulation (Fig. 5): stack-three and nut assembly on MuJoCo, imitation and fine-tuning, by frame.

A cell is one run of the pipeline: imitation of scripted demonstrations by flow matching, a test on 50 held-out scenes,
and, if requested, PPO over the denoising chain with tests along the way. Arms are the frames ``world``, ``base``
(a constant change of coordinates, so a control that must behave like ``world``) and ``gripper``. ``symmetry`` measures
how far the simulator is from having the symmetry at all.

It may import everything below ``burnside.experiments``. The simulator is the extra ``robot``.
"""

from __future__ import annotations

from burnside.experiments.robot.config import ARMS, PRESETS, Part, Recipe, recipe
from burnside.experiments.robot.run import EXPERIMENT, OneRun, Robot

__all__ = ["ARMS", "EXPERIMENT", "PRESETS", "OneRun", "Part", "Recipe", "Robot", "recipe"]
