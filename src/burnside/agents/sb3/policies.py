"""Policies of Stable-Baselines3 that use a symmetry: averaged, equivariant, relaxed, or with a mirror loss.

Each class is the library's own with other modules inside, put there when the networks are built; saving, loading and
training are unchanged.

- *averaging*: the features of all images go through the library's own networks, and the heads average their outputs;
- *equivariant*, *relaxed*: the networks are made of the layers of :mod:`burnside.nn.commutant`;
- *mirror-loss*: the networks are unchanged, and a loss pulls ``g⁻¹·π(g·x)`` to ``π(x)`` in every update.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.distributions import DiagGaussianDistribution
from stable_baselines3.common.policies import ActorCriticPolicy, ContinuousCritic
from stable_baselines3.common.preprocessing import preprocess_obs
from stable_baselines3.common.torch_layers import CombinedExtractor, FlattenExtractor, get_actor_critic_arch
from stable_baselines3.dqn.policies import DQNPolicy, QNetwork
from stable_baselines3.sac.policies import Actor, SACPolicy

from burnside._types import FloatArray
from burnside.agents.sb3.plan import Plan
from burnside.errors import InvalidParameter
from burnside.nn.commutant import EquivariantLinear, RelaxedLinear, equivariant_mlp
from burnside.nn.tensor_action import InvariantAction, TensorAction

__all__ = ["SymmetricActorCriticPolicy", "SymmetricDQNPolicy", "SymmetricSACPolicy"]


# ---------------------------------------------------------------------- pieces


class _AllImages(torch.nn.Module):
    """A features extractor that is shown all images of a batch."""

    def __init__(self, extractor: Any, action: TensorAction) -> None:
        super().__init__()
        self.extractor, self.action = extractor, action

    @property
    def features_dim(self) -> int:
        return int(self.extractor.features_dim)

    def forward(self, observations: Any) -> torch.Tensor:
        return self.extractor(self.action.images(observations))


class _Averaged(torch.nn.Module):
    """A head that is given what belongs to all images, and answers for the originals with the mean."""

    def __init__(self, head: torch.nn.Module, action: TensorAction) -> None:
        super().__init__()
        self.head, self.action = head, action

    def forward(self, latent: torch.Tensor) -> torch.Tensor:
        return self.action.back(self.head(latent)).mean(0)


class _TwoNetworks(torch.nn.Module):
    """The interface of ``MlpExtractor``: one network for the policy, one for the value."""

    def __init__(self, pi: torch.nn.Module, vf: torch.nn.Module, latent_dim_pi: int, latent_dim_vf: int) -> None:
        super().__init__()
        self.policy_net, self.value_net = pi, vf
        self.latent_dim_pi, self.latent_dim_vf = latent_dim_pi, latent_dim_vf

    def forward(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.policy_net(features), self.value_net(features)

    def forward_actor(self, features: torch.Tensor) -> torch.Tensor:
        return self.policy_net(features)

    def forward_critic(self, features: torch.Tensor) -> torch.Tensor:
        return self.value_net(features)


class _WithLoss(torch.autograd.Function):
    """Returns a tensor unchanged, and adds the gradient of a loss to whatever is differentiated through it.

    The training loops of Stable-Baselines3 compute their loss themselves; this adds another one, with weight 1 whatever
    weights are in that loop.
    """

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, loss: torch.Tensor) -> torch.Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return gradient, gradient.new_ones(())


def _spread(said: torch.Tensor) -> torch.Tensor:
    """The mirror loss: mean square of ``g⁻¹·π(g·x) − π(x)`` over elements other than the identity, rows and numbers."""
    return (said[1:] - said[:1]).square().mean()


def _probabilities(space: Any, logits: torch.Tensor) -> torch.Tensor:
    """Means as they are; logits as probabilities."""
    if isinstance(space, spaces.Discrete):
        return logits.softmax(-1)
    if isinstance(space, spaces.MultiDiscrete):
        return torch.cat([part.softmax(-1) for part in logits.split(space.nvec.tolist(), -1)], -1)
    return logits.sigmoid() if isinstance(space, spaces.MultiBinary) else logits


def _flat_features(extractor: Any) -> None:
    """Equivariant layers need the observation itself as features."""
    flat = isinstance(extractor, FlattenExtractor) or (
        isinstance(extractor, CombinedExtractor)
        and all(isinstance(part, torch.nn.Flatten) for part in extractor.extractors.values())
    )
    if not flat:
        raise InvalidParameter(
            f"equivariant layers take flat observations, not the features of {type(extractor).__name__}: use the arm "
            "'averaging', which takes any network"
        )


def _mlp(
    plan: Plan, rho_in: FloatArray, rho_out: FloatArray | None, widths: list[int], activation: Any, **gains: Any
) -> tuple[torch.nn.Sequential, FloatArray]:
    relaxation = plan.relaxation if plan.arm == "relaxed" else None
    return equivariant_mlp(rho_in, rho_out, widths, activation, table=plan.table, relaxation=relaxation, **gains)


def _layer(plan: Plan, rho_in: FloatArray, rho_out: FloatArray, gain: float | None) -> torch.nn.Module:
    if plan.arm == "relaxed":
        return RelaxedLinear(rho_in, rho_out, relaxation=plan.relaxation, gain=gain)
    return EquivariantLinear(rho_in, rho_out, gain=gain)


# ---------------------------------------------------------------------- PPO


class SymmetricActorCriticPolicy(ActorCriticPolicy):
    """Policy and value of PPO; ``plan`` says what is done with the symmetry."""

    # Modules that take the places of the library's own.
    features_extractor: Any
    pi_features_extractor: Any
    vf_features_extractor: Any
    mlp_extractor: Any
    action_net: Any
    value_net: Any
    on_observations: Any
    on_outputs: Any
    shared_sizes: torch.Tensor

    def __init__(self, *args: Any, plan: Plan, **options: Any) -> None:
        """As ``ActorCriticPolicy``."""
        self.plan = plan
        super().__init__(*args, **options)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return super()._get_constructor_parameters() | {"plan": self.plan}

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        plan = self.plan
        if plan.arm == "averaging":
            shared = self.vf_features_extractor is self.pi_features_extractor
            self.pi_features_extractor = _AllImages(self.pi_features_extractor, plan.on_observations())
            self.features_extractor = self.pi_features_extractor
            self.vf_features_extractor = (
                self.pi_features_extractor if shared else _AllImages(self.vf_features_extractor, plan.on_observations())
            )
            self.action_net = _Averaged(self.action_net, plan.on_outputs())
            self.value_net = _Averaged(self.value_net, InvariantAction(plan.order))
        elif plan.arm in ("equivariant", "relaxed"):
            _flat_features(self.pi_features_extractor)
            pi, vf = _widths(self.net_arch)
            gain = 2**0.5 if self.ortho_init else None
            make = partial(_mlp, plan, plan.feature_matrices, None, activation=self.activation_fn, gain=gain)
            (policy, rho_pi), (value, rho_vf) = make(widths=pi), make(widths=vf)
            self.mlp_extractor = _TwoNetworks(policy, value, rho_pi.shape[-1], rho_vf.shape[-1])
            self.action_net = _layer(plan, rho_pi, plan.output_matrices, 0.01 if self.ortho_init else None)
            self.value_net = _layer(plan, rho_vf, plan.trivial, 1.0 if self.ortho_init else None)
            self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)  # type: ignore[call-arg]
        else:
            self.on_observations, self.on_outputs = plan.on_observations(), plan.on_outputs()
        if plan.arm in ("averaging", "equivariant") and isinstance(self.action_dist, DiagGaussianDistribution):
            self.register_buffer("shared_sizes", torch.from_numpy(plan.shared_sizes).float(), persistent=False)

    def _get_action_dist_from_latent(self, latent_pi: torch.Tensor) -> Any:
        if self.plan.arm in ("averaging", "equivariant") and isinstance(self.action_dist, DiagGaussianDistribution):
            return self.action_dist.proba_distribution(self.action_net(latent_pi), self.shared_sizes @ self.log_std)
        return super()._get_action_dist_from_latent(latent_pi)

    def evaluate_actions(self, obs: Any, actions: torch.Tensor) -> Any:
        """As in the library; with the mirror loss, if that is the arm."""
        values, log_prob, entropy = super().evaluate_actions(obs, actions)
        if self.plan.arm == "mirror-loss" and torch.is_grad_enabled():
            loss = self.plan.mirror_coefficient * self.mirror_loss(obs)
            log_prob = _WithLoss.apply(log_prob, loss)
        return values, log_prob, entropy

    def mirror_loss(self, obs: Any) -> torch.Tensor:
        """How far the policy is from equivariant on a batch, without the coefficient."""
        seen = preprocess_obs(obs, self.observation_space, normalize_images=self.normalize_images)
        latent = self.mlp_extractor.forward_actor(self.pi_features_extractor(self.on_observations.images(seen)))
        return _spread(_probabilities(self.action_space, self.on_outputs.back(self.action_net(latent))))


def _widths(net_arch: Any) -> tuple[list[int], list[int]]:
    """Hidden widths of policy and value, from any form that ``net_arch`` may have."""
    if isinstance(net_arch, dict):
        return list(net_arch.get("pi", [])), list(net_arch.get("vf", []))
    return list(net_arch), list(net_arch)


# ---------------------------------------------------------------------- SAC


class _MirrorActor(Actor):
    """An actor with a mirror loss."""

    plan: Plan
    on_observations: Any
    on_outputs: Any
    features_extractor: Any

    def action_log_prob(self, obs: Any) -> tuple[torch.Tensor, torch.Tensor]:
        actions, log_prob = super().action_log_prob(obs)
        if torch.is_grad_enabled():
            loss = self.plan.mirror_coefficient * self.mirror_loss(obs)
            log_prob = _WithLoss.apply(log_prob, loss)
        return actions, log_prob

    def mirror_loss(self, obs: Any) -> torch.Tensor:
        """How far the actor's mean action is from equivariant on a batch, in actions scaled to [−1, 1]."""
        seen = preprocess_obs(obs, self.observation_space, normalize_images=self.normalize_images)
        latent = self.latent_pi(self.features_extractor(self.on_observations.images(seen)))
        return _spread(self.on_outputs.back(self.mu(latent)).tanh())


class _AveragedCritic(ContinuousCritic):
    """Q(s, a) averaged over the images of state and action."""

    on_actions: TensorAction

    def _q(self, obs: Any, actions: torch.Tensor, networks: Any) -> tuple[torch.Tensor, ...]:
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.share_features_extractor):
            features = self.extract_features(obs, self.features_extractor)
        both = torch.cat([features, self.on_actions.images(actions)], dim=1)
        return tuple(net(both).reshape(self.on_actions.order, -1, 1).mean(0) for net in networks)

    def forward(self, obs: Any, actions: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return self._q(obs, actions, self.q_networks)

    def q1_forward(self, obs: Any, actions: torch.Tensor) -> torch.Tensor:
        return self._q(obs, actions, self.q_networks[:1])[0]


class SymmetricSACPolicy(SACPolicy):
    """Actor and critics of SAC; ``plan`` says what is done with the symmetry."""

    def __init__(self, *args: Any, plan: Plan, **options: Any) -> None:
        """As ``SACPolicy``."""
        self.plan = plan
        super().__init__(*args, **options)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return super()._get_constructor_parameters() | {"plan": self.plan}

    def make_actor(self, features_extractor: Any = None) -> Actor:
        """As in the library, with other modules inside."""
        plan = self.plan
        options = self._update_features_extractor(self.actor_kwargs, features_extractor)
        actor: Any = (_MirrorActor if plan.arm == "mirror-loss" else Actor)(**options)
        if plan.arm == "averaging":
            actor.features_extractor = _AllImages(actor.features_extractor, plan.on_observations())
            actor.mu = _Averaged(actor.mu, plan.on_outputs())
            actor.log_std = _Averaged(actor.log_std, plan.on_sizes())
        elif plan.arm == "mirror-loss":
            actor.plan = plan
            actor.on_observations, actor.on_outputs = plan.on_observations(), plan.on_outputs()
        else:
            _flat_features(actor.features_extractor)
            actor.latent_pi, hidden = _mlp(plan, plan.feature_matrices, None, actor.net_arch, actor.activation_fn)
            actor.mu = _layer(plan, hidden, plan.output_matrices, None)
            actor.log_std = _layer(plan, hidden, plan.size_matrices, None)
        return actor.to(self.device)

    def make_critic(self, features_extractor: Any = None) -> ContinuousCritic:
        """As in the library, with other modules inside."""
        plan = self.plan
        options = self._update_features_extractor(self.critic_kwargs, features_extractor)
        if plan.arm == "averaging":
            critic: Any = _AveragedCritic(**options)
            if not isinstance(critic.features_extractor, _AllImages):
                critic.features_extractor = _AllImages(critic.features_extractor, plan.on_observations())
            critic.on_actions = plan.on_outputs()
            return critic.to(self.device)
        critic = ContinuousCritic(**options)
        if plan.arm in ("equivariant", "relaxed"):
            _flat_features(critic.features_extractor)
            _, widths = get_actor_critic_arch(self.net_arch)
            features, action = plan.feature_matrices, plan.output_matrices
            both = _beside(features, action)
            for k in range(critic.n_critics):
                critic.q_networks[k], _ = _mlp(plan, both, plan.trivial, widths, self.activation_fn)
                setattr(critic, f"qf{k}", critic.q_networks[k])
        return critic.to(self.device)


def _beside(a: FloatArray, b: FloatArray) -> FloatArray:
    """The sum of two representations: vectors one after the other."""
    out = np.zeros((len(a), a.shape[1] + b.shape[1], a.shape[2] + b.shape[2]))
    out[:, : a.shape[1], : a.shape[2]], out[:, a.shape[1] :, a.shape[2] :] = a, b
    return out


# ---------------------------------------------------------------------- DQN


class _MirrorQNetwork(QNetwork):
    """A Q-network with a mirror loss."""

    plan: Plan
    on_observations: Any
    on_outputs: Any
    features_extractor: Any

    def forward(self, obs: Any) -> torch.Tensor:
        q = super().forward(obs)
        if torch.is_grad_enabled():
            q = _WithLoss.apply(q, self.plan.mirror_coefficient * self.mirror_loss(obs))
        return q

    def mirror_loss(self, obs: Any) -> torch.Tensor:
        """How far the Q-values are from equivariant on a batch."""
        seen = preprocess_obs(obs, self.observation_space, normalize_images=self.normalize_images)
        images = self.on_observations.images(seen)
        return _spread(self.on_outputs.back(self.q_net(self.features_extractor(images))))


class SymmetricDQNPolicy(DQNPolicy):
    """The Q-networks of DQN; ``plan`` says what is done with the symmetry."""

    def __init__(self, *args: Any, plan: Plan, **options: Any) -> None:
        """As ``DQNPolicy``."""
        self.plan = plan
        super().__init__(*args, **options)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return super()._get_constructor_parameters() | {"plan": self.plan}

    def make_q_net(self) -> QNetwork:
        """As in the library, with other modules inside."""
        plan = self.plan
        kind: Callable[..., Any] = _MirrorQNetwork if plan.arm == "mirror-loss" else QNetwork
        net: Any = kind(**self._update_features_extractor(self.net_args, features_extractor=None))
        if plan.arm == "averaging":
            net.features_extractor = _AllImages(net.features_extractor, plan.on_observations())
            net.q_net = _Averaged(net.q_net, plan.on_outputs())
        elif plan.arm == "mirror-loss":
            net.plan = plan
            net.on_observations, net.on_outputs = plan.on_observations(), plan.on_outputs()
        else:
            _flat_features(net.features_extractor)
            net.q_net, _ = _mlp(plan, plan.feature_matrices, plan.output_matrices, net.net_arch, net.activation_fn)
        return net.to(self.device)
