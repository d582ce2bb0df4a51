"""Other people's DQN on the same ring, one script each, run by ``bench_dqn`` in an environment of its own.

``cube_search.py`` is other people's search on the same cube, run by ``bench_search`` in the same way.

Every script takes ``SEEDS STEPS WARM OUT``: it trains the seeds, times the steps after the first WARM of each, writes
the final networks to OUT (npz, ``x @ w + b``) so that all are judged by one evaluation, and prints one line of JSON.
"""
