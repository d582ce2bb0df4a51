"""A symmetry used with Stable-Baselines3: one function, :func:`~burnside.agents.make_sb3`, makes a model with an arm.

- ``make``: the function; which arm fits which algorithm and space, and the error messages where one does not;
- ``buffers``: replay and rollout buffers that show mirrored samples beside the recorded ones;
- ``policies``: averaged, equivariant, relaxed and mirror-loss policies for PPO, SAC and DQN;
- ``plan``: what these share: the declaration in the form that networks need, and the maps of flat features.

It may import ``burnside.nn``, ``burnside.canonical`` and what lies below. Stable-Baselines3 is the extra ``sb3``.
"""
