"""Scripted experts: they see the true poses and recover from failed grasps.

``motion`` has what they share, ``stack`` and ``nuts`` one expert each."""
