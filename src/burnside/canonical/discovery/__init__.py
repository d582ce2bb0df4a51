"""Symmetries of a black box: proposed from what it does, then checked as strictly as a claim of a person would be.

What lives here:

- ``search`` — ``discover_env``: proposals, the quick look, the check, the group that holds;
- ``flat`` — any observation as one vector, and any finite set of actions as labels;
- ``simulator`` — the state of an environment as one vector: read it, set it, see what is observed there;
- ``lifting`` — from a map of observations to a map of states, and one step from a state and from its image;
- ``resting`` — numbers that rest most of the time, such as forces of contact: completed after the search;
- ``turns`` — rotations of observations and actions, found as a Lie algebra;
- ``tables`` — environments with a transition table: all relabellings at once;
- ``boards`` — turns and mirrors of boards and images;
- ``recorded`` — ``discover_data``: transitions alone, tested with a stated level;
- ``results`` — what was found, refuted, left open, and with which budget.

It may import what ``burnside.canonical`` may.
"""
