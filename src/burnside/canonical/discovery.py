"""Symmetries of a black box: proposed from transitions, then checked as strictly as a claim of a person would be.

:func:`discover_env` collects transitions, proposes signed permutations of observations and actions
(:mod:`burnside.symmetry.proposals`), and lets :func:`~burnside.canonical.check_symmetry` decide on each. To be set into
the image of a state, the simulator must be told what that is: where the environment's state can be set and observed,
the map of states is computed from the map of observations (:func:`lift`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from burnside._types import FloatArray
from burnside.canonical.checking.check import check_symmetry
from burnside.canonical.checking.verdict import EnvVerdict
from burnside.errors import BurnsideError, InvalidParameter
from burnside.symmetry import EnvSymmetry, Labels, SignedPermutation
from burnside.symmetry.proposals import Proposal, Transitions, collect, propose, statistical_verdict

__all__ = ["Discovery", "Found", "discover_data", "discover_env"]

_FREE = 4  # numbers of the state that are not observed and whose sign is tried both ways
_QUICK = 40  # states of the first look


@dataclass(frozen=True)
class Found:
    """One proposal and what became of it.

    Attributes:
        proposal: the signed permutations.
        verdict: ``"holds"``, ``"refuted"`` or ``"inconclusive"``.
        components: verdict and ε of dynamics, reward, termination, truncation, reset; empty without a simulator.
        why: a sentence: the counter-example, or why it is inconclusive.
    """

    proposal: Proposal
    verdict: str
    components: dict[str, Any] = field(default_factory=dict)
    why: str = ""

    @property
    def only_dynamics(self) -> bool:
        """Whether the dynamics have this symmetry though reward or ends of episodes do not."""
        return self.verdict == "refuted" and self.components.get("dynamics", {}).get("verdict") == "holds"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        generator = {"observation": str(self.proposal.observation), "action": str(self.proposal.action)}
        return {
            "order": self.proposal.order,
            "generators": [generator],
            "verdict": self.verdict,
            "components": self.components,
            "score": self.proposal.score,
            "why": self.why,
        }


@dataclass(frozen=True)
class Discovery:
    """What was found, what was refuted, and with which budget.

    Attributes:
        env: its name.
        found: proposals that hold, or that data alone could not refute.
        refuted: proposals that do not hold.
        order: of the group that those which hold generate.
        transitions: how many were looked at.
        tried: what was looked for.
    """

    env: str
    found: tuple[Found, ...]
    refuted: tuple[Found, ...]
    order: int
    transitions: int
    tried: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "env": self.env,
            "order": self.order,
            "found": [entry.to_dict() for entry in self.found],
            "refuted": [entry.to_dict() for entry in self.refuted],
            "tried": {"what": self.tried, "transitions": self.transitions, "proposals": len(self.found + self.refuted)},
        }


def discover_env(
    env: Any,
    name: str = "",
    *,
    steps: int = 10_000,
    samples: int = 500,
    checks: int = 12,
    z: float = 5.0,
    tol: float = 1e-5,
    seed: int = 0,
    policy: Callable[[Any], Any] | None = None,
) -> Discovery:
    """Look for signed permutations that are symmetries of an environment.

    Args:
        env: a Gymnasium environment whose observations are vectors and whose actions are vectors or labels.
        name: for the report.
        steps: transitions to collect.
        samples: places of each kind at which a proposal is checked.
        checks: the most proposals that are checked, the best first.
        z: proposals may differ from the data by so many standard errors.
        tol: as in :func:`~burnside.canonical.check_symmetry`.
        seed: of everything random.
        policy: a function of the observation that returns an action; default random actions.

    >>> import gymnasium as gym
    >>> found = discover_env(gym.make("CartPole-v1"), steps=3000, samples=100)
    >>> [(str(f.proposal.observation), str(f.proposal.action), f.verdict) for f in found.found]
    [('-0,-1,-2,-3', '1,0', 'holds')]
    """
    if steps < 400 or samples < 1 or checks < 1:
        raise InvalidParameter(f"give 400 steps or more, and a sample and a check, not {steps}, {samples} and {checks}")
    proposals = propose(collect(env, steps, seed, policy), z)
    lifted = [(proposal, *_lifted(env, proposal, seed)) for proposal in proposals]
    # One step from some states and their images shows which proposals are worth a thorough check.
    lifted.sort(key=lambda entry: (entry[0].order, entry[2] if entry[2] is not None else entry[0].score))
    found: list[Found] = []
    refuted: list[Found] = []
    known: list[tuple[SignedPermutation, Any]] = []
    for proposal, symmetry, _ in lifted[:checks]:
        if _generated(proposal, known):
            continue
        entry = _checked(env, proposal, symmetry, samples, seed, tol)
        if entry.verdict == "refuted":
            refuted.append(entry)
        else:
            found.append(entry)
            known.append((proposal.observation, proposal.action))
    refuted += [Found(p, "refuted", {}, "one step shows it") for p, _, off in lifted[checks:] if off and off > 1e-3]
    return Discovery(name, tuple(found), tuple(refuted), _group_order(known), steps, _tried(env, proposals))


def discover_data(data: Transitions, name: str = "", *, z: float = 5.0, level: float = 0.01) -> Discovery:
    """Look for signed permutations in transitions alone: made from the first half, tested on the second.

    Such a test can refute; what it does not refute is inconclusive. The chance to refute a true symmetry is at most
    ``level`` for each proposal.
    """
    first, second = data.halves()
    found: list[Found] = []
    refuted: list[Found] = []
    for proposal in propose(first, z):
        verdict, p = statistical_verdict(second, proposal, level)
        why = f"the other half of the data gives p = {p:.3g} for all statistics together"
        (refuted if verdict == "refuted" else found).append(Found(proposal, verdict, {}, why))
    known = [(entry.proposal.observation, entry.proposal.action) for entry in found]
    tried = f"signed permutations of {data.observations.shape[1]} numbers, in data alone"
    return Discovery(name, tuple(found), tuple(refuted), _group_order(known), len(data.rewards), tried)


def _tried(env: Any, proposals: list[Proposal]) -> str:
    width = env.observation_space.shape[0]
    return f"signed permutations of {width} numbers of the observation and of the action; {len(proposals)} proposed"


# ---------------------------------------------------------------------- the check


def _checked(env: Any, proposal: Proposal, symmetry: EnvSymmetry, samples: int, seed: int, tol: float) -> Found:
    try:
        rate = max(0.01, 5.0 / samples)
        verdict: EnvVerdict = check_symmetry(env, symmetry, samples=samples, seed=seed, max_failure_rate=rate, tol=tol)
    except BurnsideError as error:
        return Found(proposal, "inconclusive", {}, str(error))
    parts = {key: {"verdict": part.verdict, "eps": part.to_dict()["eps"]} for key, part in verdict.components.items()}
    why = str(verdict.counterexample) if verdict.counterexample is not None else verdict.advice
    return Found(proposal, verdict.verdict, parts, why)


def _generated(proposal: Proposal, known: list[tuple[SignedPermutation, Any]]) -> bool:
    """Whether a proposal is a product of what holds already."""
    wanted = (str(proposal.observation), str(proposal.action))
    return wanted in {(str(o), str(a)) for o, a in _closure(known)}


def _closure(known: list[tuple[SignedPermutation, Any]]) -> list[tuple[Any, Any]]:
    if not known:
        return []
    elements: list[tuple[Any, Any]] = [(known[0][0].identity(), known[0][1].identity())]
    seen = {(str(elements[0][0]), str(elements[0][1]))}
    for o, a in elements:  # grows while it is walked through
        for o2, a2 in known:
            new = (o2 @ o, a2 @ a)
            if (str(new[0]), str(new[1])) not in seen and len(elements) < 500:
                seen.add((str(new[0]), str(new[1])))
                elements.append(new)
    return elements


def _group_order(known: list[tuple[SignedPermutation, Any]]) -> int:
    return len(_closure(known)) or 1


# ---------------------------------------------------------------------- from observations to states


@dataclass(frozen=True)
class _Vector:
    """How to read, set and observe the state of an environment as one vector."""

    get: Callable[[Any], FloatArray]
    put: Callable[[Any, FloatArray], None]
    observe: Callable[[Any], FloatArray]


def _lifted(env: Any, proposal: Proposal, seed: int) -> tuple[EnvSymmetry, float | None]:
    """The symmetry to check, with a map of states if one can be found, and how much one step differs."""
    group = "mirror" if proposal.order == 2 else f"C{proposal.order}"
    start = int(getattr(env.action_space, "start", 0))
    action: Any = proposal.action
    if isinstance(action, Labels) and start:
        action = Labels(action.table, start)
    plain = EnvSymmetry(group, proposal.observation, action, name=f"proposal {proposal.observation}"[:60])
    access = _vector_access(env)
    if access is None:
        return plain, None
    best: tuple[float, SignedPermutation] | None = None
    for state in lift(env, access, proposal.observation, seed):
        off = _one_step(env, access, proposal.observation, action, state, seed)
        if best is None or off < best[0]:
            best = (off, state)
    if best is None:
        return plain, None
    if state_is_observation(env, access):
        return plain, best[0]
    symmetry = EnvSymmetry(
        group, proposal.observation, action, best[1], name=plain.name, get_state=access.get, set_state=access.put
    )
    return symmetry, best[0]


def lift(env: Any, access: _Vector, observation: SignedPermutation, seed: int) -> list[SignedPermutation]:
    """Signed permutations of the state that can belong to one of the observation.

    Near a state that is symmetric, observations depend linearly on the state, ``o ≈ J s``, so a map S of states that
    shows as the map P of observations has ``J S = P J``. Numbers of the state that are not observed keep their place;
    both signs are returned.
    """
    env.reset(seed=seed)
    here = access.get(env)
    for at in (np.zeros_like(here), _typical(env, access, seed)):
        try:
            jacobian, o = _jacobian(env, access, at)
        except (ValueError, ArithmeticError):
            continue
        if jacobian is None or np.abs(observation(o) - o).max() > 1e-6 * (1 + np.abs(o).max()):
            continue
        hidden = np.flatnonzero(np.abs(jacobian).max(axis=0) < 1e-9)
        solved = np.linalg.lstsq(jacobian, observation.matrix() @ jacobian, rcond=None)[0]
        solved[hidden] = 0.0
        solved[hidden, hidden] = 1.0
        near = np.round(solved)
        if np.abs(solved - near).max() > 0.05 or not (np.abs(near).sum(axis=0) == 1).all():
            continue
        if not (np.abs(near).sum(axis=1) == 1).all():
            continue
        index = np.abs(near).argmax(axis=1)
        signs = near[np.arange(len(near)), index].astype(np.int64)
        found = []
        for flips in product((1, -1), repeat=len(hidden[:_FREE])):
            changed = signs.copy()
            changed[hidden[:_FREE]] = flips
            found.append(SignedPermutation(index, changed))
        return found
    return []


def _typical(env: Any, access: _Vector, seed: int) -> FloatArray:
    """The middle of some starting states, rounded off where they scatter about 0."""
    states = []
    for k in range(16):
        env.reset(seed=seed + k)
        states.append(access.get(env))
    middle, spread = np.mean(states, axis=0), np.std(states, axis=0)
    bare = env.unwrapped
    if hasattr(bare, "init_qpos"):
        return np.concatenate([bare.init_qpos, np.zeros(len(middle) - len(bare.init_qpos))])
    return np.where(np.abs(middle) < 3 * spread, 0.0, middle)


def _jacobian(env: Any, access: _Vector, at: FloatArray) -> tuple[FloatArray | None, FloatArray]:
    def seen(state: FloatArray) -> FloatArray:
        access.put(env, state)
        return access.observe(env)

    o = seen(at)
    if not np.isfinite(o).all():
        return None, o
    step = 1e-5
    columns = [(seen(at + step * e) - seen(at - step * e)) / (2 * step) for e in np.eye(len(at))]
    return np.array(columns).T, o


def _one_step(
    env: Any, access: _Vector, observation: SignedPermutation, action: Any, state: SignedPermutation, seed: int
) -> float:
    """The median over some states of how much a step from the image differs from the image of the step."""
    env.action_space.seed(seed)
    env.reset(seed=seed)
    found = []
    for k in range(_QUICK):
        s, a = access.get(env), env.action_space.sample()
        after, *_, over, cut, _ = env.step(a)
        try:
            walked = access.get(env)
            access.put(env, s)
            after = env.step(a)[0]
            access.put(env, state(s))
            image = env.step(_fitting(action(a), a))[0]
            access.put(env, walked)
        except (ValueError, ArithmeticError):
            return float("inf")
        wanted = observation(np.asarray(after, dtype=np.float64))
        found.append(float(np.max(np.abs(wanted - image) / (1 + np.abs(wanted)))))
        if over or cut or k % 10 == 9:
            env.reset()
    return float(np.median(found))


def _fitting(action: Any, like: Any) -> Any:
    return np.asarray(action, dtype=like.dtype) if isinstance(like, np.ndarray) else int(action)


def state_is_observation(env: Any, access: _Vector) -> bool:
    """Whether the state that can be set is what is observed, so that nothing has to be said about it."""
    observation, _ = env.reset(seed=0)
    state = access.get(env)
    return state.shape == np.shape(observation) and bool(np.allclose(state, observation, atol=1e-6))


def _vector_access(env: Any) -> _Vector | None:
    """Environments whose state is a vector that can be set, and then observed: MuJoCo's and classic control."""
    env.reset(seed=0)
    bare = env.unwrapped
    watch = next((name for name in ("_get_obs", "_get_ob") if callable(getattr(bare, name, None))), None)
    if hasattr(bare, "model") and hasattr(bare, "data") and callable(getattr(bare, "set_state", None)) and watch:
        return _Vector(_get_mujoco, _put_mujoco, lambda e: np.asarray(getattr(e.unwrapped, watch)(), dtype=np.float64))
    state = getattr(bare, "state", None)
    if not isinstance(state, np.ndarray | tuple | list):
        return None
    if watch is None:
        return _Vector(_get_classic, _put_classic, _get_classic)
    return _Vector(_get_classic, _put_classic, lambda e: np.asarray(getattr(e.unwrapped, watch)(), dtype=np.float64))


def _get_mujoco(env: Any) -> FloatArray:
    data = env.unwrapped.data
    return np.concatenate([data.qpos, data.qvel])


def _put_mujoco(env: Any, state: FloatArray) -> None:
    import mujoco

    bare = env.unwrapped
    mujoco.mj_resetData(bare.model, bare.data)  # the solver's warm start is part of what decides the next step
    bare.set_state(state[: bare.model.nq], state[bare.model.nq :])


def _get_classic(env: Any) -> FloatArray:
    return np.array(env.unwrapped.state, dtype=np.float64)


def _put_classic(env: Any, state: FloatArray) -> None:
    bare = env.unwrapped
    now = bare.state
    bare.state = np.array(state) if isinstance(now, np.ndarray) else type(now)(float(x) for x in state)
    if hasattr(bare, "steps_beyond_terminated"):
        bare.steps_beyond_terminated = None
