"""The learners of a cell behind one small interface: train up to a number of steps, and evaluate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Protocol

import numpy as np

from burnside._configs import Config
from burnside._random import Stream, hash_u64, held_out
from burnside._types import AnyArray
from burnside.agents.common.arms import prepare
from burnside.agents.common.members import Member
from burnside.agents.common.training import Budget
from burnside.canonical.arms import on_rows
from burnside.canonical.checking.placebo import refuted_placebo
from burnside.canonical.guard import theirs
from burnside.envs.batched import BatchedEnv, Box, Discrete
from burnside.envs.gymnasium_batch import as_batched
from burnside.errors import InvalidParameter, UnknownName
from burnside.experiments.atlas.tasks import env_maker, load, symmetry_for
from burnside.symmetry.declaration import EnvSymmetry
from burnside.symmetry.flat import FlatSymmetry

__all__ = [
    "OURS", "Condition", "Measured", "condition", "make_learner", "minibatch", "reference_score", "steps_at_a_time",
]  # fmt: skip

OURS = ("ppo", "dqn", "sac")  # they resume; a cell of others begins again


class Measured(Protocol):
    """What a cell needs of a learner."""

    def advance_to(self, steps: int) -> None:
        """Train until this many environment steps have been made in all."""
        ...

    @property
    def made(self) -> int:
        """Environment steps so far."""
        ...

    @property
    def updates_made(self) -> int:
        """Updates so far."""
        ...

    def score(self, episodes: int) -> float:
        """Mean return of held-out episodes with the best actions."""
        ...

    def arrays(self) -> dict[str, AnyArray]:
        """Everything needed to resume."""
        ...

    def restore(self, arrays: Mapping[str, AnyArray]) -> Any:
        """Resume."""
        ...


class Condition:
    """An environment with its symmetry under a control: what every learner of a cell is made from.

    Attributes:
        make: makes the environment.
        env: batched.
        symmetry: as declared.
        flat: on rows, with the control applied: another domain, or a placebo.
        arm: what learners do; the control ``feature`` makes it so.
        order: of the group as a learner sees it.
        placebos: by seed, the placebo that was drawn for it and what the check says of it.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        arm, control = str(config["arm"]), str(config["control"])
        self.make = env_maker(str(config["env"]), config.get("make"))
        example = self.make()
        # environments of this package have a batched form of their own
        self.env: BatchedEnv = as_batched(example if str(config["env"]).startswith("burnside/") else self.make)
        self.arm, self.control, self.order = arm, control, None
        self.placebos: dict[int, tuple[str, str]] = {}
        self.symmetry: EnvSymmetry | None = None
        self.flat: FlatSymmetry | None = None
        if arm == "baseline":
            return
        self.symmetry = symmetry_for(example, str(config["env"]), config["symmetry"])
        networks = arm in ("averaging", "equivariant", "mirror-loss", "relaxed")
        self.flat = on_rows(self.env, self.symmetry, subgroup=networks)
        self.order = self.flat.order
        if control == "domain":
            self.flat = self.flat.other_domain()
            if self.flat is None:
                raise InvalidParameter(f"no other domain of {self.symmetry.name} was found: leave out that control")
        elif control == "feature":
            self.arm = "feature"

    def symmetry_of(self, seed: int) -> FlatSymmetry | None:
        """The symmetry of a seed: every seed gets its own placebo, so that no single one decides."""
        if self.control != "placebo" or self.flat is None:
            return self.flat
        found, verdict = refuted_placebo(self.make, self.flat, seed)
        self.placebos[seed] = (found.name, verdict)
        return found


def condition(config: Mapping[str, Any]) -> Condition:
    """The condition of a cell."""
    return Condition(config)


def make_learner(config: Mapping[str, Any], where: Condition, seed: int) -> Measured:
    """The learner of one seed."""
    name, settings = str(config["learner"]), dict(config["settings"])
    if name in OURS:
        return _Ours(name, settings, where, seed)
    if name.startswith("sb3:"):
        from burnside.experiments.atlas.sb3 import SB3Learner

        return SB3Learner(name.removeprefix("sb3:"), settings, where, seed)
    if ":" in name:
        return _Theirs(name, where, seed, settings)
    raise UnknownName("learner", name, (*OURS, "sb3:PPO", "sb3:SAC", "sb3:DQN", "module:function"))


def _config(name: str, settings: Mapping[str, Any]) -> Config:
    """The settings of one of our learners; a name or a kind of value that does not fit is one sentence."""
    from burnside.agents.dqn.config import DQNConfig
    from burnside.agents.ppo.config import PPOConfig
    from burnside.agents.sac.config import SACConfig

    kind: type[Config] = {"ppo": PPOConfig, "dqn": DQNConfig, "sac": SACConfig}[name]
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    for key in settings:
        if key not in known:
            raise UnknownName(f"setting of {name}", key, known)
    changed = {key: tuple(value) if isinstance(value, list) else value for key, value in settings.items()}
    try:
        return kind.from_json(changed) if name == "sac" else kind.preset("general", **changed)
    except TypeError as error:
        given = ", ".join(f"{key}={value!r:.40}" for key, value in settings.items())
        raise InvalidParameter(f"a setting of {name} ({given}) has the wrong kind of value: {error}") from None


def steps_at_a_time(learner: str, settings: Mapping[str, Any]) -> int:
    """Environment steps that a learner makes before it can be evaluated: of PPO a whole rollout.

    >>> steps_at_a_time("ppo", {}), steps_at_a_time("ppo", {"rollout": 16}), steps_at_a_time("sac", {})
    (512, 128, 1)
    """
    if learner == "sb3:PPO":
        return int(settings.get("n_steps", 2048))
    if learner in OURS:
        config = _config(learner, settings)
        return int(getattr(config, "steps_per_rollout", getattr(config, "scenes", 1)))
    return 1


def minibatch(config: Mapping[str, Any], order: int | None) -> int | None:
    """Samples in an update, the images of an augmented batch among them; None for a learner that does not say.

    >>> found = {"learner": "sac", "settings": {}, "arm": "augment", "control": ""}
    >>> minibatch(found, 2), minibatch(found | {"arm": "averaging"}, 2)
    (256, 128)
    """
    learner, settings = str(config["learner"]), config["settings"]
    if learner in OURS:
        samples = int(_config(learner, settings).batch)  # type: ignore[attr-defined]
    elif learner.startswith("sb3:"):
        usual = {"sb3:PPO": 64, "sb3:SAC": 256, "sb3:DQN": 32}
        samples = int(settings.get("batch_size", usual[learner]))
    else:
        return None
    augmented = config["arm"] == "augment" and config["control"] != "feature"
    return samples * ((order or 2) if augmented else 1)


class _Ours:
    """One of this package's learners, one member."""

    def __init__(self, name: str, settings: Mapping[str, Any], where: Condition, seed: int) -> None:
        config: Any = _config(name, settings)
        prepared = prepare(where.env, where.arm, where.symmetry_of(seed))
        member = Member(seed, where.arm)
        self.learner: Any
        if name == "ppo":
            from burnside.agents.ppo.learner import GeneralPPO

            self.learner = GeneralPPO(config, prepared.env, [member], prepared.use)
        elif name == "dqn":
            from burnside.agents.dqn.learner import GeneralDQN

            self.learner = GeneralDQN(config, prepared.env, member, 1, prepared.use)
        else:
            from burnside.agents.sac.learner import GeneralSAC

            self.learner = GeneralSAC(config, prepared.env, [member], prepared.use)

    def advance_to(self, steps: int) -> None:
        """Train until this many environment steps have been made in all."""
        self.learner.advance(Budget(steps=steps))

    @property
    def made(self) -> int:
        """Environment steps so far."""
        return int(self.learner.steps[0])

    @property
    def updates_made(self) -> int:
        """Updates so far."""
        return int(np.ravel(self.learner.updates)[0])

    def score(self, episodes: int) -> float:
        """Mean return of held-out episodes."""
        return float(self.learner.evaluate(episodes).returns.mean())

    def arrays(self) -> dict[str, AnyArray]:
        """Everything needed to resume."""
        found: dict[str, AnyArray] = self.learner.arrays()
        return found

    def restore(self, arrays: Mapping[str, AnyArray]) -> Any:
        """Resume."""
        self.learner.restore(arrays)
        return self


class _Theirs:
    """A user's learner: ``function(env, arm, symmetry, seed, **settings)`` with ``learn`` and ``evaluate``.

    ``learn(steps)`` trains up to that many steps in all, ``evaluate(episodes)`` gives the mean return. It is not
    written to checkpoints: a killed cell starts over.
    """

    def __init__(self, name: str, where: Condition, seed: int, settings: Mapping[str, Any]) -> None:
        function = load(name)
        if not callable(function):
            raise InvalidParameter(
                f"{name} is a {type(function).__name__}: it must be a function (env, arm, symmetry, seed) that makes a "
                f"learner"
            )
        flat = where.symmetry_of(seed)
        found = flat.as_declared() if flat is not None else None
        self.learner, self._made = theirs(name, function, where.make(), where.arm, found, seed, **settings), 0
        if not hasattr(self.learner, "learn") or not hasattr(self.learner, "evaluate"):
            raise InvalidParameter(f"{name} makes a {type(self.learner).__name__}: a learner needs learn(steps) and "
                                   f"evaluate(episodes)")  # fmt: skip

    def advance_to(self, steps: int) -> None:
        """Go on."""
        self.learner.learn(steps)
        self._made = steps

    @property
    def made(self) -> int:
        """Environment steps so far."""
        return self._made

    @property
    def updates_made(self) -> int:
        """What the learner says, else 0."""
        return int(getattr(self.learner, "updates", 0))

    def score(self, episodes: int) -> float:
        """Mean return."""
        return float(np.mean(self.learner.evaluate(episodes)))

    def arrays(self) -> dict[str, AnyArray]:
        """Nothing: it begins again."""
        return {}

    def restore(self, arrays: Mapping[str, AnyArray]) -> Any:
        """Nothing."""
        return self


def reference_score(make: Callable[[], Any], policy: str, episodes: int = 100) -> AnyArray:
    """Returns of episodes with random actions, or with the action zero (the first one, if actions are numbered)."""
    env = as_batched(make)
    from burnside.agents.common.evaluation import play

    key = held_out(1)

    def act(obs: AnyArray, rows: AnyArray, t: int) -> AnyArray:
        if isinstance(env.action, Discrete):
            drawn = (hash_u64(key, Stream.POLICY, rows * 2**20 + t) % np.uint64(env.action.n)).astype(np.int64)
            return drawn if policy == "random" else np.zeros(len(rows), dtype=np.int64)
        box: Box = env.action
        low, high = (np.broadcast_to(np.asarray(b, dtype=np.float64), box.width) for b in (box.low, box.high))
        if policy != "random":
            return np.zeros((len(rows), box.width), dtype=np.float32)
        numbers = hash_u64(key, Stream.POLICY, (rows[:, None] * 2**20 + t) * 64 + np.arange(box.width))
        return np.asarray(low + (high - low) * (numbers >> np.uint64(11)) * 2.0**-53, dtype=np.float32)

    return play(env, act, episodes, seed=1).returns
