"""How equivariant is a *trained* policy? Measured from outside, on observations of the environment.

A mirror loss that went to zero proves little: with a wrong mirror it goes to zero as well, on a policy that is not
symmetric at all, because the same map is on both sides. So there are three probes: the deviation of ``π(g·x)`` from
``g·π(x)`` in units of the action; observations that an element leaves as they are, whose action it must leave too; and,
where an environment is given, the declaration itself, against the simulator.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from burnside._types import AnyArray, FloatArray
from burnside.canonical.checking import EnvVerdict
from burnside.canonical.construction import copy_of, quick_check
from burnside.canonical.declared import known_symmetry
from burnside.canonical.guard import theirs
from burnside.errors import InvalidParameter
from burnside.symmetry.acting import FunctionActing, LeafActing, TreeActing, tree_stack
from burnside.symmetry.declaration import EnvSymmetry, as_symmetry
from burnside.symmetry.groups import FiniteGroup
from burnside.symmetry.labels import Labels

__all__ = ["PolicyVerdict", "check_policy"]

_ELEMENTS = 24  # elements of a finite group that are all tried; of larger ones, its generators
_DRAWN = 12  # elements of a continuous group


@dataclass(frozen=True)
class PolicyVerdict:
    """What :func:`check_policy` found.

    Attributes:
        equivariant: whether no deviation exceeds the tolerance.
        deviation: root mean square of ``π(g·x) − g·π(x)``, relative to how much the policy varies.
        rows: for every number of the action (or probability, or Q-value): ``name``, ``largest`` and ``median``
            deviation in its units, ``spread`` (how much the policy itself varies) and ``share`` of deviating places.
        worst: the number with the largest deviation by its spread, with the element and the observation.
        fixed: the probe of fixed observations: how many, the largest deviation of their actions, and where.
        declaration: the verdict of the simulator on the symmetry; None without an environment.
        places: how many observations were used.
        notes: what else one should know.
    """

    equivariant: bool
    deviation: float
    rows: list[dict[str, Any]]
    worst: str | None
    fixed: dict[str, Any]
    declaration: EnvVerdict | None
    places: int
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Equivariant, under a symmetry that holds in the environment, if one was given."""
        return self.equivariant and (self.declaration is None or self.declaration.verdict == "holds")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        found = {name: getattr(self, name) for name in ("ok", "equivariant", "deviation", "rows", "worst", "fixed")}
        declaration = None if self.declaration is None else self.declaration.to_dict()
        return found | {"declaration": declaration, "places": self.places, "notes": self.notes}

    def __str__(self) -> str:
        """Some lines for people."""
        word = "equivariant" if self.equivariant else "not equivariant"
        lines = [f"{word}: deviates by {100 * self.deviation:.3g} % of its spread, at {self.places} observations"]
        if self.worst is not None:
            lines.append(f"worst: {self.worst}")
        if self.fixed["tested"]:
            what = f"{self.fixed['tested']} observations that an element leaves as they are"
            lines.append(f"{what}: their actions deviate by up to {self.fixed['largest']:.4g}")
        if self.declaration is not None:
            lines.append(f"the symmetry itself, in the simulator: {self.declaration.verdict}")
            if self.declaration.counterexample is not None:
                lines.append(f"counter-example: {self.declaration.counterexample}")
        return "\n".join(lines + [f"note: {note}" for note in self.notes])


def check_policy(
    policy: Any,
    symmetry: EnvSymmetry | None = None,
    observations: Any = None,
    *,
    samples: int = 256,
    tol: float = 1e-3,
    seed: int = 0,
) -> PolicyVerdict:
    """How equivariant a policy is: ``π(g·x)`` against ``g·π(x)``, for all elements, number by number.

    Args:
        policy: a model of Stable-Baselines3, an agent of ``burnside.agents``, a torch module (means or logits of a
            batch), or a function of a batch of observations that returns actions, logits or probabilities.
        symmetry: default what the environment declares or the atlas knows.
        observations: a batch, or an environment: then the policy is played in it (every other episode at random), and
            the symmetry is checked in it too. None: random ones, if the observation is one vector.
        samples: how many observations.
        tol: deviations up to this share of the policy's spread count as equal.
        seed: of what is random.

    >>> import gymnasium as gym
    >>> found = check_policy(lambda x: (x[:, 2] + x[:, 3] > 0).astype(int), observations=gym.make("CartPole-v1"))
    >>> found.equivariant, found.declaration.verdict
    (True, 'holds')
    >>> print(check_policy(lambda x: 2 * x[:, :1] + 1, EnvSymmetry("mirror", "- -", "-0"), np.eye(2)))
    not equivariant: deviates by 200 % of its spread, at 2 observations
    worst: action[0] under element 1: 2 beside a spread of 1, at observation 0
    2 observations that an element leaves as they are: their actions deviate by up to 2
    note: the symmetry itself was not checked: a wrong one can agree with a policy; give an environment
    """
    if samples < 1 or not tol > 0:
        raise InvalidParameter(f"samples must be at least 1 and tol positive, got {samples} and {tol}")
    env = observations if hasattr(observations, "reset") and hasattr(observations, "step") else None
    if symmetry is None and env is None:
        raise InvalidParameter("give the symmetry, or an environment whose symmetry is declared or in the atlas")
    declared = (
        known_symmetry(env, "check_policy", "check_policy(policy, EnvSymmetry(…), env)")
        if symmetry is None
        else as_symmetry(symmetry)
    )
    asked = _Asked(policy, declared)
    declaration = None
    if env is not None:
        declared.check_spaces(env.observation_space, env.action_space)
        declaration = quick_check(env, declared)
        x = _played(copy_of(env), asked, samples, seed)
    else:
        x = _random(declared, samples, seed) if observations is None else observations
    return _measured(asked, declared, x, tol, seed, declaration)


# ---------------------------------------------------------------------- asking a policy


class _Asked:
    """Any policy as one function: from a batch of observations to numbers that move as actions do."""

    def __init__(self, policy: Any, symmetry: EnvSymmetry) -> None:
        self.symmetry = symmetry
        action = symmetry.on("action")
        maps = action.maps if isinstance(action, LeafActing) else []
        first = next((m for m in maps if isinstance(m, Labels)), None)
        self.labels = None if first is None else (first.count, first.start)
        self.what, self.function = _function(policy)
        self.only_labels = False

    def __call__(self, x: Any) -> FloatArray:
        """Means, probabilities, Q-values, or one-hot vectors where a policy says labels only; one row each."""
        rows = len(_leaf(x))
        asked = f"the policy, asked for {rows} observations at once,"
        said = np.asarray(theirs(asked, self.function, x), dtype=np.float64)
        if said.shape[:1] != (rows,):
            raise InvalidParameter(
                f"the policy answers {rows} observations with shape {said.shape}: it must take a batch, one row each"
            )
        if self.labels is None:
            return said.reshape(rows, -1)
        count, start = self.labels
        if said.size == rows * count and count > 1 and said.ndim > 1:
            return said.reshape(rows, count)
        if said.size != rows:
            raise InvalidParameter(f"the policy says {said.shape[1:]} numbers of {count} numbered actions")
        self.only_labels, self.what = True, "action"
        return np.eye(count)[said.reshape(rows).astype(np.int64) - start]

    def act(self, x: Any) -> Any:
        """The action of one observation, for playing."""
        said = self(_batch_of_one(x))[0]
        if self.labels is None:
            return said
        return int(np.argmax(said)) + self.labels[1]

    def moved(self, g: Any, said: FloatArray) -> FloatArray:
        """``g·π``: numbers of labels change places with them."""
        if self.labels is not None:
            count, start = self.labels
            to = np.array([int(self.symmetry.act_on_action(g, a + start)) - start for a in range(count)])
            out = np.empty_like(said)
            out[:, to] = said
            return out
        return _rowwise(self.symmetry, "action", g, said)


def _function(policy: Any) -> tuple[str, Callable[[Any], Any]]:
    """What a policy says, and how to ask it for a batch."""
    inner = getattr(policy, "policy", None)
    if inner is not None and hasattr(policy, "predict"):
        return _of_sb3(policy, inner)
    if hasattr(policy, "predict"):
        return "action", policy.predict
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(policy, torch.nn.Module):

        def ask(x: Any) -> Any:
            with torch.no_grad():
                return policy(torch.as_tensor(np.asarray(x, dtype=np.float32))).cpu().numpy()

        return "action", ask
    if callable(policy):
        return "action", policy
    raise InvalidParameter(
        f"a {type(policy).__name__} is not a policy: give a model, an agent, a torch module or a function"
    )


def _of_sb3(model: Any, inner: Any) -> tuple[str, Callable[[Any], Any]]:
    """A model of Stable-Baselines3: probabilities or Q-values where it numbers its actions, else the mean action."""
    import torch

    discrete = type(inner.action_space).__name__ == "Discrete"
    form = _canonical_form(model)
    if form is not None:

        def seen_by(x: Any) -> Any:
            shown, g = form(x)
            return form.undo(model.predict(np.asarray(shown), deterministic=True)[0], g)

        return "action", seen_by

    def ask(x: Any) -> Any:
        inner.set_training_mode(False)
        with torch.no_grad():
            seen, _ = inner.obs_to_tensor(x)
            if hasattr(inner, "get_distribution"):
                return inner.get_distribution(seen).distribution.probs.cpu().numpy()
            return inner.q_net(seen).cpu().numpy()

    if discrete and hasattr(inner, "get_distribution"):
        return "probability of action", ask
    if discrete and hasattr(inner, "q_net"):
        return "Q-value of action", ask
    return "action", lambda x: model.predict(x, deterministic=True)[0]


def _canonical_form(model: Any) -> Any:
    """The canonical form in front of a model, if that is how it was trained."""
    found = getattr(model.get_env(), "envs", None) if hasattr(model, "get_env") else None
    layer = found[0] if found else None
    while layer is not None:
        if type(layer).__name__ == "CanonicalEnv":
            return layer.form
        layer = getattr(layer, "env", None)
    return None


# ---------------------------------------------------------------------- observations


def _played(env: Any, asked: _Asked, samples: int, seed: int) -> Any:
    """Observations of episodes, every other one played at random."""
    found: list[Any] = []
    episode = 0
    env.action_space.seed(seed)
    x, _ = env.reset(seed=seed)
    while len(found) < samples:
        found.append(x)
        action = asked.act(x) if episode % 2 == 0 else env.action_space.sample()
        space = env.action_space
        if hasattr(space, "low"):
            action = np.clip(np.asarray(action, space.dtype).reshape(space.shape), space.low, space.high)
        x, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated or len(found) == samples // 2:
            episode += 1
            x, _ = env.reset()
    return tree_stack(found, 0)


def _random(symmetry: EnvSymmetry, samples: int, seed: int) -> FloatArray:
    width = symmetry.observation.width
    if width is None:
        raise InvalidParameter("give observations, or an environment: they are not one vector, so none can be drawn")
    return np.random.default_rng(seed).normal(size=(samples, width)).astype(np.float32)


def _leaf(x: Any) -> AnyArray:
    while isinstance(x, dict | tuple):
        x = next(iter(x.values())) if isinstance(x, dict) else x[0]
    return np.asarray(x)


def _batch_of_one(x: Any) -> Any:
    if isinstance(x, dict):
        return {key: _batch_of_one(value) for key, value in x.items()}
    return tuple(map(_batch_of_one, x)) if isinstance(x, tuple) else np.asarray(x)[None]


def _rowwise(symmetry: EnvSymmetry, what: str, g: Any, x: Any) -> Any:
    """``g·x`` of a batch; functions of the user's are asked row by row, since they may take one only."""
    acting = symmetry.on(what)
    if not isinstance(acting, FunctionActing):
        return acting.act(g, x)
    rows = len(_leaf(x))
    return tree_stack([acting.act(g, _row(x, i)) for i in range(rows)], 0)


def _row(x: Any, i: int) -> Any:
    if isinstance(x, dict):
        return {key: _row(value, i) for key, value in x.items()}
    return tuple(_row(value, i) for value in x) if isinstance(x, tuple) else np.asarray(x)[i]


# ---------------------------------------------------------------------- measuring


def _elements(symmetry: EnvSymmetry, seed: int) -> list[tuple[str, Any]]:
    """The elements to try, with how they are called."""
    known = symmetry.elements
    if known is not None and len(known) <= _ELEMENTS:
        identity = 0 if isinstance(symmetry.group, FiniteGroup) else None
        return [(f"element {g}", g) for g in known if g is not identity]
    if known is None and symmetry.can_be_drawn:
        return [(f"random element {k}", symmetry.random_element(seed, k)) for k in range(_DRAWN)]
    return [(f"generator {k}", g) for k, g in enumerate(symmetry.generators)]


def _measured(
    asked: _Asked, symmetry: EnvSymmetry, x: Any, tol: float, seed: int, declaration: EnvVerdict | None
) -> PolicyVerdict:
    said = asked(x)
    spread = said.std(0)
    scale = np.where(spread > 0, spread, 1.0)
    gaps, fixed, moves = [], _Fixed(), False
    names = _elements(symmetry, seed)
    for name, g in names:
        gx = _rowwise(symmetry, "observation", g, x)
        moves = moves or not _same(gx, x)
        gaps.append(np.abs(asked(gx) - asked.moved(g, said)))
        fixed.probe(asked, symmetry, name, g, x, gx)
    gap = np.stack(gaps)
    limit = np.maximum(tol * scale, 1e-5 * (1 + np.abs(said).max(initial=0.0)))
    rows: list[dict[str, Any]] = [
        {
            "name": f"{asked.what}[{i}]" if asked.what == "action" and not asked.only_labels else f"{asked.what} {i}",
            "largest": float(gap[..., i].max()),
            "median": float(np.median(gap[..., i])),
            "spread": float(spread[i]),
            "share": float((gap[..., i] > limit[i]).mean()),
        }
        for i in range(gap.shape[-1])
    ]
    allowed = 0.01 if asked.only_labels else 0.0  # two best actions may be equally good
    equivariant = max((row["share"] for row in rows), default=0.0) <= allowed
    e, k, i = np.unravel_index(int(np.argmax(gap / scale)), gap.shape)
    worst = None
    if gap.max(initial=0.0) > 0:
        worst = f"{rows[i]['name']} under {names[e][0]}: {gap[e, k, i]:.4g} beside a spread of {spread[i]:.4g}, at "
        worst += f"observation {k}"
    deviation = float(np.sqrt(np.mean(gap**2)) / max(float(np.sqrt(np.mean(spread**2))), 1e-12)) if gap.any() else 0.0
    notes = []
    if not moves:
        notes.append("no element moves any of these observations, so nothing was tested: is the map the identity?")
    if not spread.any():
        notes.append("the policy says the same everywhere, so its equivariance says nothing about its quality")
    if asked.only_labels:
        notes.append("the policy says labels only: where two actions are equally good, a difference means nothing")
    if declaration is not None and declaration.verdict == "inconclusive":
        notes.append(f"whether the symmetry holds could not be decided; what would decide it: {declaration.advice}")
    if declaration is None:
        notes.append("the symmetry itself was not checked: a wrong one can agree with a policy; give an environment")
    return PolicyVerdict(equivariant, deviation, rows, worst, fixed.to_dict(), declaration, len(said), notes)


class _Fixed:
    """Observations that an element leaves as they are, and what it does to their actions."""

    def __init__(self) -> None:
        self.tested, self.largest, self.where = 0, 0.0, ""

    def probe(self, asked: _Asked, symmetry: EnvSymmetry, name: str, g: Any, x: Any, gx: Any) -> None:
        """Average observations over the powers of g, where that gives fixed ones; else take those that are fixed."""
        acting = symmetry.on("observation")
        if isinstance(acting, TreeActing) or _same(gx, x):
            return
        start, current, powers = np.asarray(x), np.asarray(gx), [np.asarray(x)]
        while not _same(current, start) and len(powers) < 100:
            powers.append(current)
            current = np.asarray(_rowwise(symmetry, "observation", g, current))
        if start.dtype.kind == "f" and start.ndim == 2 and len(powers) < 100:
            mean = np.mean(powers, axis=0).astype(start.dtype)
        else:
            mean = start
        again = np.asarray(_rowwise(symmetry, "observation", g, mean))
        axes = tuple(range(1, mean.ndim))
        here = np.isclose(again, mean, atol=1e-6).all(axes) if axes else again == mean
        if not here.any():
            return
        said = asked(mean[here])
        gap = np.abs(asked.moved(g, said) - said)
        self.tested += int(here.sum())
        if gap.max() > self.largest:
            self.largest = float(gap.max())
            self.where = f"{asked.what} {int(np.argmax(gap.max(0)))} under {name}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"tested": self.tested, "largest": self.largest, "where": self.where}


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return all(_same(a[key], b[key]) for key in a)
    if isinstance(a, tuple):
        return all(map(_same, a, b))
    return bool(np.allclose(np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64), atol=1e-7))
