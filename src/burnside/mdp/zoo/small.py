"""Small examples that make a point: the four states of Fig. 2 and the rotated bandit."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from burnside.errors import InvalidParameter
from burnside.mdp._checks import needs_room
from burnside.mdp.symmetry import Symmetry
from burnside.mdp.tabular import TabularMDP

__all__ = ["bandit", "fig2"]


def fig2(*, duplicates: bool = False, horizon: int = 4) -> TabularMDP:
    """The four states and four actions of Fig. 2, with every state a possible successor (the paper counts C = 4).

    The drawn symmetry swaps s1↔s3, s2↔s4, L↔R and U↔D. An action aims along the drawn cycle s1–s2–s3–s4 (forwards or
    backwards, from s1 and s2 on; the images of these under the swap from s3 and s4) and gets there with probability
    0.7, else to one of the three other states. With ``duplicates`` L and R do the same in every state, and so do U and
    D: only then does the group have the order 4 that a reduction from 64 to 8 needs.

    >>> mdp = fig2()
    >>> mdp.n_states * mdp.n_actions * mdp.successors
    64
    """
    aims = np.array([[1, 3, 1, 3], [2, 0, 2, 0]])  # from s1 and s2, by L R U D
    rewards = np.array([[0.0, 0.2, 0.4, 0.6], [0.1, 0.3, 0.5, 0.7]])
    if duplicates:
        aims, rewards = aims[:, [0, 0, 3, 3]], rewards[:, [0, 0, 3, 3]]
    swap_states, swap_actions = np.array([2, 3, 0, 1]), np.array([1, 0, 3, 2])
    P = np.full((4, 4, 4), 0.1)
    R = np.zeros((4, 4))
    for s in range(2):
        for a in range(4):
            P[s, a, aims[s, a]] = 0.7
            P[swap_states[s], swap_actions[a], swap_states[aims[s, a]]] = 0.7
            R[s, a] = R[swap_states[s], swap_actions[a]] = rewards[s, a]

    def drawn(m: TabularMDP) -> Symmetry:
        return Symmetry.from_actions(m, swap_states[None], swap_actions[None], name="Z2", order=2)

    def doubled(m: TabularMDP) -> Symmetry:
        states = np.stack([swap_states, np.arange(4)])
        return Symmetry.from_actions(m, states, np.stack([swap_actions, [1, 0, 3, 2]]), name="Z2×Z2", order=4)

    return TabularMDP.from_dense(
        P,
        R,
        np.full(4, 0.25),
        horizon,
        name="fig2(duplicates)" if duplicates else "fig2",
        state_names=["s1", "s2", "s3", "s4"],
        action_names=["L", "R", "U", "D"],
        symmetries={"Z2×Z2": doubled, "Z2": drawn} if duplicates else {"Z2": drawn},
    )


def bandit(n: int = 8) -> TabularMDP:
    """The rotated bandit: a context θ on a ring of n, an arm a on the same ring, and success depends on a − θ alone.

    States are Z_n, ``+`` and ``−``; from θ, arm a leads to ``+`` with probability f(a − θ), and only ``+`` pays.
    Rotating θ and a together is a symmetry that is transitive on states and on actions, so the paper's factor makes the
    bound independent of n. But n differences a − θ remain: it is an n-armed bandit.

    >>> bandit(8).symmetry("Z").burnside_counts()
    (3, 10)
    """
    if n < 2:
        raise InvalidParameter(f"the bandit needs n ≥ 2 arms, got {n}")
    needs_room(f"bandit(n={n})", n + 2, (n + 2) * n, 2 * (n + 2) * n)
    theta, arm = np.arange(n)[:, None], np.arange(n)[None, :]
    success = (0.9 - 0.8 * ((arm - theta) % n) / n).ravel()
    won, lost = np.ones(n), np.zeros(n)  # '+' and '−' end the episode: every arm stays
    to_plus = np.concatenate([success, won, lost])
    to_minus = np.concatenate([1 - success, lost, won])
    values = np.stack([to_plus, to_minus], axis=1).ravel()
    columns = np.tile([n, n + 1], to_plus.size)
    P = sp.csr_matrix((values, columns, 2 * np.arange(to_plus.size + 1)), shape=(to_plus.size, n + 2))
    turn = np.array([*((np.arange(n) + 1) % n), n, n + 1])
    return TabularMDP(
        P,
        np.repeat((np.arange(n + 2) == n).astype(float), n),
        np.array([*np.full(n, 1 / n), 0, 0]),
        2,
        name=f"bandit(n={n})",
        state_names=[*(f"θ={k}" for k in range(n)), "+", "−"],
        action_names=[f"arm {k}" for k in range(n)],
        symmetries={"Z": lambda m: Symmetry.from_actions(m, turn[None], turn[None, :n], name=f"Z{n}", order=n)},
    )
