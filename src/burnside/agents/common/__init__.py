"""What all learners share; no learner imports another one.

``members`` names one run inside a batch of runs, ``log`` is what it did, ``evaluation`` plays episodes that no training
run sees, ``checkpoint`` saves and resumes, ``training`` is the loop over learners, ``advantages`` is generalised
advantage estimation. ``adam``, ``objectives`` and ``devices`` are for the learners that use torch.

It may import ``burnside.envs`` and what lies below.
"""
