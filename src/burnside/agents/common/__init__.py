"""What all learners share; no learner imports another one.

``members`` names one run inside a batch of runs, ``scenes`` is what DQN, PPO and SAC do with several of them, ``log``
is what they did, ``evaluation`` plays episodes that no training run sees, ``checkpoint`` saves and resumes,
``training`` is the loop over learners, ``advantages`` is generalised advantage estimation, ``cube_network`` is a
network for cubes with its file. ``adam``, ``objectives``, ``torch_networks`` and ``devices`` are for the learners that
use torch.

It may import ``burnside.envs`` and what lies below.
"""
