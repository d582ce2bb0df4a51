"""The learners of a cell behind one small interface: train up to a number of steps, and evaluate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from burnside._random import Stream, hash_u64, held_out
from burnside._types import AnyArray
from burnside.agents.common.arms import prepare
from burnside.agents.common.members import Member
from burnside.agents.common.training import Budget
from burnside.canonical.arms import on_rows
from burnside.canonical.checking.placebo import refuted_placebo
from burnside.envs.batched import BatchedEnv, Box, Discrete
from burnside.envs.gymnasium_batch import as_batched
from burnside.errors import InvalidParameter, UnknownName
from burnside.experiments.atlas.tasks import env_maker, load, symmetry_for
from burnside.symmetry.declaration import EnvSymmetry
from burnside.symmetry.flat import FlatSymmetry

__all__ = ["OURS", "Condition", "Measured", "condition", "make_learner", "reference_score"]

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
        return _Theirs(load(name), where, seed, settings)
    raise UnknownName("learner", name, (*OURS, "sb3:PPO", "sb3:SAC", "sb3:DQN", "module:function"))


class _Ours:
    """One of this package's learners, one member."""

    def __init__(self, name: str, settings: Mapping[str, Any], where: Condition, seed: int) -> None:
        prepared = prepare(where.env, where.arm, where.symmetry_of(seed))
        member = Member(seed, where.arm)
        changed = {key: tuple(value) if isinstance(value, list) else value for key, value in settings.items()}
        self.learner: Any
        if name == "ppo":
            from burnside.agents.ppo.config import PPOConfig
            from burnside.agents.ppo.learner import GeneralPPO

            self.learner = GeneralPPO(PPOConfig.preset("general", **changed), prepared.env, [member], prepared.use)
        elif name == "dqn":
            from burnside.agents.dqn.config import DQNConfig
            from burnside.agents.dqn.learner import GeneralDQN

            self.learner = GeneralDQN(DQNConfig.preset("general", **changed), prepared.env, member, 1, prepared.use)
        else:
            from burnside.agents.sac.config import SACConfig
            from burnside.agents.sac.learner import GeneralSAC

            self.learner = GeneralSAC(SACConfig.from_json(changed), prepared.env, [member], prepared.use)

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

    def __init__(self, function: Callable[..., Any], where: Condition, seed: int, settings: Mapping[str, Any]) -> None:
        flat = where.symmetry_of(seed)
        found = flat.as_declared() if flat is not None else None
        self.learner, self._made = function(where.make(), where.arm, found, seed, **settings), 0
        if not hasattr(self.learner, "learn") or not hasattr(self.learner, "evaluate"):
            raise InvalidParameter("a learner needs learn(steps) and evaluate(episodes)")

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
