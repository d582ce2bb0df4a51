"""Scripted experts: they see the true poses, decide every step anew, and recover from failed grasps.

``motion`` has what they share, ``stack`` and ``nuts`` one expert each; :func:`make_expert` picks the right one. They
may import ``burnside.envs.manipulation`` and what lies below. Their demonstrations are of one mind, unlike human ones.
"""

from __future__ import annotations

from burnside.envs.manipulation.experts.nuts import NutExpert
from burnside.envs.manipulation.experts.stack import StackExpert
from burnside.envs.manipulation.tasks import Task

__all__ = ["NutExpert", "StackExpert", "make_expert"]


def make_expert(task: Task) -> NutExpert | StackExpert:
    """A fresh expert for one episode of a task."""
    return StackExpert() if task.cubes else NutExpert()
