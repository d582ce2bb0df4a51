"""The cyclic game of App. C on ``(Z/n)^d``: items safe, mine and end on the cells, moves ``{−2, −1, 1, 2}^d``.

``core`` has the rules as pure batched functions, ``kernels`` the same for compiled code, ``optimal`` the exact optimal
return of a board and its expectation, ``symmetry`` the translations and the paper's roll-to-goal, ``scenes`` the
batched environment, ``render`` the pictures, ``env`` the Gymnasium adapters. It may
import what lies below ``burnside.envs``; numba and gymnasium are loaded only by ``kernels`` and ``env``.
"""
