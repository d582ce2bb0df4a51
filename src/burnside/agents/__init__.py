"""Learners with a leading member axis: seeds × conditions in one batch, each with a pure update function.

``dqn`` is deep Q-learning on the cyclic games and ``ppo`` proximal policy optimisation, as in App. C;
``gaussian_ppo`` is PPO with continuous actions on batched scenes, ``flow_ppo`` PPO over the chains of a flow policy
(App. C). Layers below may be imported: ``burnside.nn``, ``burnside.envs``, ``burnside.groups``; torch and numba are
loaded when a learner first runs.
"""
