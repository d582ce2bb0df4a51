"""What a flow policy is: chunk, encoder, trunk, sampler; and presets from a test's size to the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

from burnside._configs import Config
from burnside.errors import InvalidParameter

__all__ = ["ENCODERS", "LOGPROBS", "NOISES", "TRUNKS", "FlowConfig"]

ENCODERS = ("flat", "state", "cloud")
TRUNKS = ("mlp", "direct", "ditx")
NOISES = ("flow_sde", "constant")
LOGPROBS = ("sum", "mean", "single_step", "last_step")
# The planar tasks: one look, short chunks (of 8 actions, 4 executed, fewer succeed), a small network. The sampler is
# PPO's alone (imitation and evaluation integrate the flow): noise where it reaches the action, and enough of it.
_PLANAR: Mapping[str, Any] = {
    "horizon": 4,
    "n_obs": 1,
    "n_act": 2,
    "noise": "constant",
    "logprob": "last_step",
    "executed_only": True,
}


@dataclass(frozen=True)
class FlowConfig(Config):
    """Shapes and choices of a flow policy.

    App. C says "σ = 0.3" and no more, and sums the log-probability over all steps and numbers of the chunk. Both are
    choices here: ``noise="flow_sde"`` takes σ as the level a of π_RL's Flow-SDE (which the paper cites), whose step
    deviations are 0.30, 0.26, 0.15, 0.087 at a = 0.3 and 4 steps; ``"constant"`` takes it as the deviation of every
    step. Of a chunk predicted for ``horizon`` steps from the first observation on, ``n_act`` are executed from the
    latest observation on.

    >>> FlowConfig(obs_dim=8, act_dim=3).window
    (1, 9)
    >>> FlowConfig.preset("paper").layers
    12

    Attributes:
        obs_dim: Width of the state (proprioception) at one observation step.
        act_dim: Width of an action.
        horizon: Actions predicted.
        n_obs: Observation steps seen.
        n_act: Actions executed of a chunk.
        encoder: ``flat`` (the normalised state itself), ``state`` (an MLP on it), ``cloud`` (a DP3-style network on
            points, with the encoded state beside every point).
        points: Points of a cloud.
        point_dim: Numbers of a point (position and colour: 6).
        cloud_steps: Latest observation steps whose cloud is in the context; 0 for all. App. C has two observation steps
            of 1024 points and a context of 1024: it can only be the latest.
        trunk: ``mlp``; ``direct`` (an MLP that predicts where the flow ends, from which the velocity follows: much
            more exact after a short training); or ``ditx`` (ManiFlow's transformer).
        layers: Blocks of the trunk.
        heads: Attention heads of ``ditx`` and of the value's pooling.
        width: Width of the trunk.
        value_width: Width of the value head.
        steps: Steps of the sampler.
        noise: ``flow_sde`` or ``constant``.
        sigma: Its size; 0 makes the sampler an Euler integration.
        logprob: ``sum`` or ``mean`` over all steps and numbers, or ``single_step``: one random step is noisy and
            counts, the others are Euler steps (as π_RL does). ``last_step`` is the same with always the last one:
            a flow that has learned one action per scene forgets the noise of all earlier steps.
        executed_only: Whether only the actions that are executed count.
        share_context: Whether keys and values of the context are computed once for all steps of a chain.
        grip_sigma: The size of the noise in the last number of an action, the gripper, of which only the sign acts:
            with the other numbers' σ it never changes. 0: as the others.
        chunk_noise: Whether one draw moves all actions of a chunk alike. Draws of their own cancel out: the hand
            trembles and goes where it would have gone. The log-probability is then that of the mean over the chunk
            (over the executed actions with ``executed_only``), whose density this is.
        value_time: Whether the value also sees the share of the time limit that has passed (``time``), which the policy
            does not. A return that ends at the limit depends on it.
    """

    obs_dim: int = 8
    act_dim: int = 3
    horizon: int = 16
    n_obs: int = 2
    n_act: int = 8
    encoder: str = "flat"
    points: int = 0
    point_dim: int = 6
    cloud_steps: int = 0
    trunk: str = "mlp"
    layers: int = 3
    heads: int = 4
    width: int = 256
    value_width: int = 128
    steps: int = 4
    noise: str = "flow_sde"
    sigma: float = 0.3
    logprob: str = "sum"
    executed_only: bool = False
    share_context: bool = True
    grip_sigma: float = 0.0
    chunk_noise: bool = False
    value_time: bool = False

    LATER = ("grip_sigma", "chunk_noise", "value_time")
    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        # For tests: every part of the large ones, in milliseconds.
        "tiny": {
            "horizon": 8,
            "n_act": 4,
            "encoder": "cloud",
            "points": 16,
            "trunk": "ditx",
            "layers": 2,
            "heads": 2,
            "width": 32,
            "value_width": 32,
        },
        "planar": _PLANAR,
        # The same with a network that predicts the end of the flow: it imitates far better at this size (docs: planar).
        "planar-direct": {**_PLANAR, "trunk": "direct"},
        # Robosuite on a laptop (3×128 with 64 points).
        "laptop": {
            "obs_dim": 9,
            "act_dim": 10,
            "encoder": "cloud",
            "points": 64,
            "trunk": "ditx",
            "width": 128,
        },
        # App. C. ManiFlow itself would have the clouds of both observation steps in the context: cloud_steps=2.
        "paper": {
            "obs_dim": 9,
            "act_dim": 10,
            "encoder": "cloud",
            "points": 1024,
            "cloud_steps": 1,
            "trunk": "ditx",
            "layers": 12,
            "heads": 8,
            "width": 768,
            "value_width": 512,
        },
    }

    def __post_init__(self) -> None:
        """Refuse what makes no sense, in one sentence."""
        self.check_known(encoder=ENCODERS, trunk=TRUNKS, noise=NOISES, logprob=LOGPROBS)
        self.check_at_least(1, "obs_dim", "act_dim", "horizon", "n_obs", "n_act", "layers", "heads", "width")
        self.check_at_least(1, "value_width", "steps")
        if self.window[1] > self.horizon:
            raise InvalidParameter(
                f"a chunk of n_act = {self.n_act} actions after {self.n_obs - 1} past steps is longer than the horizon "
                f"{self.horizon}: lower n_act to {max(1, self.horizon - self.n_obs + 1)} or raise the horizon"
            )
        if self.encoder == "cloud" and self.points < 1:
            raise InvalidParameter("a cloud encoder needs points ≥ 1")
        if not 0 <= self.cloud_steps <= self.n_obs:
            raise InvalidParameter(f"cloud_steps is {self.cloud_steps}: give 0 (all) to n_obs = {self.n_obs}")
        if self.trunk == "ditx" and self.width % self.heads:
            raise InvalidParameter(f"heads = {self.heads} must divide the width {self.width}")
        if self.value_width % self.heads:
            raise InvalidParameter(f"heads = {self.heads} must divide the value_width {self.value_width}")
        self.check_at_least(0, "sigma", "grip_sigma")
        if self.chunk_noise and self.logprob == "mean":
            raise InvalidParameter("one draw for a chunk has one density, not a mean of them: give another logprob")

    @property
    def window(self) -> tuple[int, int]:
        """First action executed, and the first one after them, in a chunk."""
        return self.n_obs - 1, self.n_obs - 1 + self.n_act

    @property
    def context(self) -> int:
        """Tokens of the context."""
        return (self.cloud_steps or self.n_obs) * self.points if self.encoder == "cloud" else self.n_obs

    @property
    def chunk(self) -> tuple[int, int]:
        """Shape of a chunk."""
        return self.horizon, self.act_dim

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`; a saved policy has all fields."""
        missing = {field.name for field in fields(cls)} - set(values) - set(cls.LATER)
        if missing:
            raise InvalidParameter(f"not a flow policy of this version: it lacks {', '.join(sorted(missing))}")
        return super().from_json(values)
