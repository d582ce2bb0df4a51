"""What a run of chain PPO is, and the unit of every count in it: App. C leaves units open and contradicts itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from burnside._configs import Config

__all__ = ["BUDGETS", "KL_STOPS", "ROLLOUTS", "STATS", "TICKS", "TIMEOUTS", "FlowPPOConfig"]

ROLLOUTS = ("decisions", "episodes")
BUDGETS = ("env_steps", "decisions")
TICKS = ("update", "minibatch")
TIMEOUTS = ("bootstrap", "end")
KL_STOPS = ("update", "rollout")
#: What is remembered of every rollout: means over its updates, the updates made, and how much of the variance of the
#: returns the value had explained before them.
STATS = ("policy_loss", "value_loss", "approx_kl", "clip_fraction", "updates", "explained_variance")


@dataclass(frozen=True)
class FlowPPOConfig(Config):
    """Hyperparameters of PPO over chains; a *decision* is one call of the policy, a chunk of actions.

    Attributes:
        scenes: Environments in parallel.
        rollout: How much a rollout collects, in units of ``rollout_unit``.
        rollout_unit: ``decisions`` (of every scene) or ``episodes`` (finished, of all scenes together; the others are
            cut and bootstrapped).
        budget: How much in all, rounded up to whole rollouts.
        budget_unit: ``env_steps`` (actions executed) or ``decisions``, over all scenes.
        epochs: Passes over a rollout.
        minibatch: Decisions per backward pass.
        accumulate: Minibatches per update.
        gamma: Discount per decision.
        lam: λ of generalised advantage estimation, over decisions.
        clip: The ratio is clipped to 1 ± this.
        value_clip: The value may move by this before its loss is clipped; 0 switches the clip off.
        value_weight: Weight of half the mean squared error of the value.
        target_kl: The updates of a rollout end before the first whose KL estimate exceeds this; 0 switches it off.
        normalize: Whether the advantages of a rollout are normalised.
        critic_rollouts: Rollouts at the start in which only the value head learns.
        critic_epochs: Passes over each of those.
        train_encoder: Whether the encoder learns too; in App. C only trunk and value head do.
        actor_rate: Learning rate of the trunk.
        critic_rate: Learning rate of the value head.
        rate_warmup: The rates rise linearly over this many ticks.
        rate_tick: What a tick is: ``update`` or ``minibatch``.
        actor_warmup: The rate of trunk and encoder rises linearly over this many updates of theirs, on top of that.
            Adam knows no scale at its first update and moves every parameter by the whole rate, which can undo the
            imitation at once; ``rate_warmup`` does not help, since the critic's rollouts use it up.
        weight_decay: Of AdamW.
        grad_clip: Greatest norm of the gradient.
        separate_clips: Whether actor and critic are clipped each on its own. Together, a critic with large errors takes
            the actor's share.
        kl_stop: What ``target_kl`` is compared with: the estimate on the batch of an ``update``, before it is made; or
            that on the whole ``rollout``, after every pass. A batch's estimate is noisy and its greatest value is what
            stops, which can be after a few updates that did nothing yet.
        actor_waits: The actor also stands still until the value explains this share of the variance of the returns of a
            rollout it has not seen; 0: it does not wait.
        critic_limit: Rollouts after which it does not wait any longer; 0: as long as it takes.
        timeout: What the time limit is: ``bootstrap``: the episode was cut off, so the value stands for the rest;
            ``end``: there is nothing to come. Then the value should see the time (``FlowConfig.value_time``). With a
            reward for success alone a dead end costs its whole value only with ``end``.

    >>> FlowPPOConfig(scenes=16).rollout
    25
    """

    scenes: int = 64
    rollout: int = 25
    rollout_unit: str = "decisions"
    budget: int = 200_000
    budget_unit: str = "env_steps"
    epochs: int = 3
    minibatch: int = 400
    accumulate: int = 1
    gamma: float = 0.99
    lam: float = 0.95
    clip: float = 0.2
    value_clip: float = 0.0
    value_weight: float = 0.5
    target_kl: float = 0.15
    normalize: bool = True
    critic_rollouts: int = 2
    critic_epochs: int = 5
    train_encoder: bool = False
    actor_rate: float = 1e-4
    critic_rate: float = 1e-3
    rate_warmup: int = 0
    rate_tick: str = "update"
    actor_warmup: int = 0
    weight_decay: float = 0.0
    grad_clip: float = 0.5
    separate_clips: bool = False
    kl_stop: str = "update"
    actor_waits: float = 0.0
    critic_limit: int = 0
    timeout: str = "bootstrap"

    LATER = ("separate_clips", "kl_stop", "actor_waits", "critic_limit", "timeout")
    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        # A rollout is as long as an episode: failures last to the time limit, so shorter ones alternate between all
        # beginnings and all dead ends. It is large, since the reward says one bit per episode.
        "planar": {
            "scenes": 512,
            "rollout": 50,
            "budget": 1_000_000,
            "epochs": 5,
            "minibatch": 3200,
            "critic_rollouts": 2,
            "critic_epochs": 4,
            "actor_rate": 2e-4,
            "actor_warmup": 100,
        },
        # App. C. Its counts fit together only if the warm-up ticks once per minibatch (describe says what follows).
        "paper": {
            "scenes": 16,
            "rollout": 500,
            "rollout_unit": "episodes",
            "budget": 2_000_000,
            "epochs": 1,
            "minibatch": 16,
            "accumulate": 128,
            "value_clip": 0.2,
            "target_kl": 0.03,
            "critic_rollouts": 4,
            "critic_epochs": 3,
            "actor_rate": 1e-5,
            "critic_rate": 2e-4,
            "rate_warmup": 10_000,
            "rate_tick": "minibatch",
            "weight_decay": 1e-3,
        },
    }

    def __post_init__(self) -> None:
        """Refuse what makes no sense, in one sentence."""
        self.check_known(
            rollout_unit=ROLLOUTS, budget_unit=BUDGETS, rate_tick=TICKS, kl_stop=KL_STOPS, timeout=TIMEOUTS
        )
        self.check_at_least(1, "scenes", "rollout", "budget", "epochs", "minibatch", "accumulate", "critic_epochs")
        self.check_fraction("gamma", "lam", "actor_waits")
        self.check_at_least(0, "critic_limit")
        self.check_positive("clip", "actor_rate", "critic_rate", "grad_clip")
        self.check_at_least(0, "value_clip", "value_weight", "target_kl", "critic_rollouts", "weight_decay")
        self.check_at_least(0, "rate_warmup", "actor_warmup")

    @property
    def effective_batch(self) -> int:
        """Decisions per update."""
        return self.minibatch * self.accumulate

    def rate(self, updates: int, minibatches: int) -> float:
        """Factor of the learning rates in the warm-up, from what was done before this update."""
        done = updates if self.rate_tick == "update" else minibatches
        return min(1.0, (done + 1) / self.rate_warmup) if self.rate_warmup else 1.0

    def describe(self, n_act: int, episode_steps: int) -> list[str]:
        """Every count with its unit, and what follows from them, for episodes of ``episode_steps`` steps.

        >>> print(*FlowPPOConfig.preset("paper").describe(8, 400), sep="\\n")
        rollout: 500 episodes of at most 400 environment steps (50 decisions of 8) in 16 scenes, ≤ 25000 decisions
        budget: 2000000 environment steps = at least 10.0 rollouts, 4 of them for the critic alone
        update: 16 decisions × 128 minibatches = 2048 decisions; at most 12.2 updates (1562.5 minibatches) per epoch
        rates: rise over 10000 ticks, one per minibatch = 6.4 rollouts with 1 epoch at full length
        """
        per_episode = -(-episode_steps // n_act)
        if self.rollout_unit == "episodes":
            decisions = self.rollout * per_episode
            what = f"{self.rollout} episodes of at most {episode_steps} environment steps ({per_episode} decisions of "
            what += f"{n_act}) in {self.scenes} scenes, ≤ {decisions} decisions"
        else:
            decisions = self.rollout * self.scenes
            what = f"{self.rollout} decisions of {n_act} environment steps in each of {self.scenes} scenes = "
            what += f"{decisions} decisions"
        per_rollout = decisions * (n_act if self.budget_unit == "env_steps" else 1)
        minibatches, updates = decisions / self.minibatch, decisions / self.effective_batch
        per = updates if self.rate_tick == "update" else minibatches
        unit = self.budget_unit.replace("env_", "environment ")
        warm = f"rise over {self.rate_warmup} ticks, one per {self.rate_tick} = "
        warm += f"{self.rate_warmup / (per * self.epochs):.1f} rollouts with {self.epochs} epoch"
        warm += ("s" if self.epochs > 1 else "") + " at full length"
        return [
            f"rollout: {what}",
            f"budget: {self.budget} {unit} = at least {self.budget / per_rollout:.1f} rollouts, "
            f"{self.critic_rollouts} of them for the critic alone",
            f"update: {self.minibatch} decisions × {self.accumulate} minibatches = {self.effective_batch} decisions; "
            f"at most {updates:.1f} updates ({minibatches:.1f} minibatches) per epoch",
            f"rates: {warm if self.rate_warmup else 'constant'}",
        ]
