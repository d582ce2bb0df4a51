"""The same few verbs for every learner: learn, predict, evaluate, save, load."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from burnside._types import AnyArray
from burnside.agents.common.checkpoint import load, save
from burnside.agents.common.log import EpisodeLog
from burnside.agents.common.members import ARMS, Member, check_arm, check_members
from burnside.agents.common.training import Learner, train
from burnside.canonical.base import Canonicalizer
from burnside.envs.batched import BatchedEnv, Discrete, Evaluation
from burnside.errors import InvalidParameter

__all__ = ["ActingLearner", "Agent", "Arm", "member_of", "shared_arm"]

#: What is done with the symmetry: a name, a canonical form, or a symmetry to augment with; None is the baseline.
Arm = Any


class ActingLearner(Learner, Protocol):
    """A learner whose members can choose actions."""

    def act(self, obs: AnyArray, m: int = 0) -> AnyArray:
        """The best actions for flat observations ``(rows, obs_dim)``."""
        ...

    def evaluate(self, episodes: int = 100, *, m: int = 0, seed: int = 0, greedy: bool = True) -> Evaluation:
        """Play episodes no training run sees."""
        ...


def member_of(seed: int, arm: Arm) -> Member:
    """The member of a seed under an arm that may be an object.

    >>> member_of(3, None).name
    'baseline-3'
    """
    if isinstance(arm, str):
        check_arm(arm, ARMS)
        return Member(seed, arm)
    if arm is None:
        return Member(seed)
    return Member(seed, "canonical" if isinstance(arm, Canonicalizer) else "augment")


def shared_arm(members: Sequence[Member], arm: Arm) -> Arm:
    """What all members of a learner do with the symmetry: the arm they are named after, or an object.

    >>> shared_arm([Member(0, "canonical"), Member(1, "canonical")], None)
    'canonical'
    """
    check_members(members)
    if len({member.arm for member in members}) != 1:
        raise InvalidParameter("the members of a learner share one arm: make one learner for each arm")
    return members[0].arm if arm is None or isinstance(arm, str) else arm


class Agent:
    """A learner in its environment, as users see it: :class:`~burnside.agents.DQN`, :class:`~burnside.agents.PPO`.

    Attributes:
        env: The environment as it is, without the arm.
        learner: What learns in it, with the arm.
    """

    def __init__(self, env: BatchedEnv, learner: ActingLearner, form: Canonicalizer | None) -> None:
        """Before training; ``form`` is the canonical form of the arm, if it has one."""
        self.env, self.learner, self._form = env, learner, form

    def learn(
        self,
        steps: int | None = None,
        *,
        episodes: int | None = None,
        checkpoint: str | Path | None = None,
        every: int = 20,
        progress: Callable[[Any], object] | None = None,
    ) -> Self:
        """Train until a member has made this many environment steps (or finished this many episodes) in all.

        A learner stops at the first moment it can after that: DQN on rings at the end of an episode, PPO at the end of
        a rollout. Calling it again with a larger number continues from there.

        Args:
            steps: Environment steps, over all scenes of a member.
            episodes: Finished episodes instead.
            checkpoint: A folder; training that was stopped resumes from it, to the same bits.
            every: Chunks or rollouts between checkpoints.
            progress: Called with the learner after every chunk or rollout.
        """
        train([self.learner], steps=steps, episodes=episodes, checkpoint=checkpoint, every=every, progress=progress)
        return self

    def predict(self, observation: Any, m: int = 0) -> Any:
        """The best action for an observation as the environment shows it, or the actions for a batch of them."""
        flat = getattr(self._form, "flat", False)  # a form of rows, or of observations as they are
        seen, g = (observation, None) if self._form is None or flat else self._form(observation)
        rows, single = self._rows(seen)
        if flat and self._form is not None:
            rows, g = self._form(rows)
        action: Any = self.learner.act(np.asarray(rows, dtype=np.float32), m)
        if flat and self._form is not None:
            action = self._form.undo(action, g)
        given = getattr(self.env, "given", None)
        if given is not None:
            action = np.array([given(a) for a in action])
        action = action[0] if single else action
        action = action if self._form is None or flat else self._form.undo(action, g)
        return int(action) if single and isinstance(self.env.action, Discrete) else action

    def _rows(self, seen: Any) -> tuple[AnyArray, bool]:
        """Flat observations, and whether there was only one."""
        if hasattr(self.env, "as_rows"):
            rows, single = self.env.as_rows(seen)
            return np.asarray(rows), bool(single)
        found = np.asarray(seen)
        if found.shape[-1:] != (self.env.obs_dim,) or found.ndim > 2:
            raise InvalidParameter(f"an observation has {self.env.obs_dim} numbers, got shape {found.shape}")
        return np.atleast_2d(found), found.ndim == 1

    def evaluate(self, episodes: int = 100, *, m: int = 0, seed: int = 0) -> Evaluation:
        """Play episodes that no training run sees, with the best action; which ones depends on ``seed`` alone."""
        return self.learner.evaluate(episodes, m=m, seed=seed)

    def log(self, m: int = 0) -> EpisodeLog:
        """The training episodes of a member."""
        return self.learner.log(m)

    def save(self, path: str | Path) -> Path:
        """Write everything that training needs to resume into one file, atomically."""
        return save(self.learner, path)

    def load(self, path: str | Path) -> Self:
        """Resume from a file that the same learner in the same environment wrote."""
        load(self.learner, path)
        return self
