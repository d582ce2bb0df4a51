"""A model of Stable-Baselines3 with an arm: what is done with the symmetry of its environment."""

from __future__ import annotations

from typing import Any

from burnside.errors import InvalidParameter, MissingExtra, UnknownName
from burnside.symmetry.declaration import EnvSymmetry

__all__ = ["ALGORITHMS", "ARMS", "make_sb3"]

ALGORITHMS = ("DQN", "PPO", "SAC", "TD3")
ARMS = ("baseline", "canonical", "augment", "averaging", "equivariant", "mirror-loss", "relaxed")
_IN_POLICY = ("averaging", "equivariant", "mirror-loss", "relaxed")


def make_sb3(
    algorithm: str,
    env: Any,
    arm: str = "baseline",
    symmetry: EnvSymmetry | None = None,
    *,
    seed: int = 0,
    **settings: Any,
) -> Any:
    """A model of Stable-Baselines3 that uses a symmetry, ready for ``.learn()``.

    Args:
        algorithm: ``"PPO"``, ``"SAC"``, ``"DQN"``, or ``"TD3"`` (for the first three arms).
        env: an id, a Gymnasium environment, or a vector environment of Stable-Baselines3.
        arm: what is done with the symmetry. ``"baseline"``: nothing. ``"canonical"``: ``CanonicalEnv`` in front.
            ``"augment"``: mirrored samples in the batch. ``"averaging"``: the networks averaged over the group.
            ``"equivariant"``: layers whose weights are shared over it. ``"relaxed"``: these with a small free part.
            ``"mirror-loss"``: a loss that pulls the policy to the symmetry.
        symmetry: default the one that the environment declares or the atlas knows, which is named in the log.
        seed: of everything random.
        settings: of the arm, and all others of the algorithm (``learning_rate``, ``policy_kwargs``, …):
            ``mode`` of ``augment``: ``"equal-updates"`` (all images, a batch |G| times as large, as many updates) or
            ``"equal-minibatch"`` (a random image of each sample, nothing larger); ``mirror_coefficient`` (1);
            ``relaxation`` (0.1), see :class:`~burnside.nn.commutant.RelaxedLinear`; ``turns`` (8): how many turns of a
            continuous group are used, which is then approximated; ``check=True`` checks the symmetry first.

    >>> model = make_sb3("PPO", "CartPole-v1", "averaging", n_steps=64, batch_size=32)
    >>> model.learn(64).num_timesteps
    64
    """
    try:
        import stable_baselines3
    except ImportError:  # pragma: no cover - the tests run with it
        raise MissingExtra("stable-baselines3", "sb3") from None
    if algorithm not in ALGORITHMS:
        raise UnknownName("algorithm of Stable-Baselines3", str(algorithm), ALGORITHMS)
    if arm not in ARMS:
        raise UnknownName("arm", str(arm), ARMS)
    if any(word in str(settings.get("policy", "")).lower() for word in ("recurrent", "lstm")):
        raise InvalidParameter(
            "a recurrent policy has a memory, and no declaration says how the symmetry acts on that: stack frames, and "
            "use a policy without memory"
        )
    learner: Any = getattr(stable_baselines3, algorithm)
    own = {name: settings.pop(name) for name in _OWN if name in settings}
    for name, arms in _OWN.items():
        if name in own and arm not in arms:
            raise InvalidParameter(f"{name} is a setting of the arms {', '.join(arms)}, not of {arm!r}")
    env, chosen, settings = _arranged(algorithm, learner, env, arm, symmetry, seed, own, settings)
    policy = settings.pop("policy", None) or chosen
    return learner(policy, env, seed=seed, **settings)


#: Settings of arms, and the arms they belong to.
_OWN = {
    "mode": ("augment",),
    "mirror_coefficient": ("mirror-loss",),
    "relaxation": ("relaxed",),
    "turns": ("augment", *_IN_POLICY),
    "check": ARMS[1:],
}


def _arranged(
    algorithm: str,
    learner: Any,
    env: Any,
    arm: str,
    symmetry: EnvSymmetry | None,
    seed: int,
    own: dict[str, Any],
    settings: dict[str, Any],
) -> tuple[Any, Any, dict[str, Any]]:
    """The environment, the policy and the settings with which the library makes the arm."""
    import gymnasium
    from stable_baselines3.common.vec_env import VecEnv

    from burnside.canonical.guard import theirs

    if isinstance(env, str):
        env = theirs(f"gymnasium.make({env!r})", gymnasium.make, env)
    if isinstance(env, gymnasium.vector.VectorEnv):
        raise InvalidParameter(
            "Stable-Baselines3 does not take vector environments of Gymnasium: use its make_vec_env, or one environment"
        )
    _fits_library(env.observation_space)
    _fits_algorithm(algorithm, env.action_space)
    if arm == "canonical":
        env = _canonical(env, symmetry, own.get("check", False))
    outside = env.observation_space
    declared = None
    if arm not in ("baseline", "canonical"):
        declared = _declared(env, symmetry, own)
    vector: Any = learner._wrap_env(env, settings.get("verbose", 0), True)
    usual = _usual_policy(vector.observation_space)
    if declared is None:
        return vector, usual, settings
    if isinstance(env, VecEnv):
        _refuse_normalized(env)
    found = _for_spaces(declared, outside, vector, own)
    if arm == "augment":
        return vector, usual, _augmented(algorithm, found, vector, seed, own, settings)
    return vector, *_symmetric_policy(algorithm, arm, found, vector, own, settings)


def _fits_library(space: Any) -> None:
    from gymnasium import spaces

    known = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)
    for inside in space.spaces.values() if isinstance(space, spaces.Dict) else [space]:
        if not isinstance(inside, known):
            raise InvalidParameter(
                f"Stable-Baselines3 does not take observations of the kind {type(inside).__name__}: flatten them, or "
                "leave that part out with a wrapper"
            )


def _fits_algorithm(algorithm: str, space: Any) -> None:
    from gymnasium import spaces

    if algorithm == "DQN" and not isinstance(space, spaces.Discrete):
        raise InvalidParameter(
            f"DQN needs numbered actions (Discrete), but the environment has {space}: use PPO or SAC"
        )
    if algorithm in ("SAC", "TD3") and not isinstance(space, spaces.Box):
        raise InvalidParameter(f"{algorithm} needs actions in a Box, but the environment has {space}: use PPO or DQN")


def _canonical(env: Any, symmetry: EnvSymmetry | None, check: bool) -> Any:
    from stable_baselines3.common.vec_env import VecEnv

    from burnside.canonical.wrappers import CanonicalEnv

    if isinstance(env, VecEnv):
        raise InvalidParameter(
            "the arm 'canonical' goes around each environment: give one environment, or make the vector environment "
            "with CanonicalEnv around its members and the arm 'baseline'"
        )
    return CanonicalEnv(env, symmetry, check=check)


def _declared(env: Any, symmetry: EnvSymmetry | None, own: dict[str, Any]) -> EnvSymmetry:
    from burnside.canonical.construction import check_at_construction
    from burnside.canonical.declared import known_symmetry
    from burnside.symmetry.declaration import as_symmetry

    inside = getattr(getattr(env, "unwrapped", env), "envs", None)
    one = inside[0] if inside else env
    example = "make_sb3(…, symmetry=EnvSymmetry(…))"
    found = known_symmetry(one, "make_sb3", example) if symmetry is None else as_symmetry(symmetry)
    found.check_spaces(env.observation_space, env.action_space)
    if own.get("check"):
        check_at_construction(one, found, None)
    return found


def _refuse_normalized(env: Any) -> None:
    from stable_baselines3.common.vec_env import unwrap_vec_normalize

    normal = unwrap_vec_normalize(env)
    if normal is not None and normal.norm_obs:
        raise InvalidParameter(
            "VecNormalize shifts and scales each number of the observation by its own history, which breaks the "
            "symmetry: use norm_obs=False, or the arm 'canonical'"
        )


def _usual_policy(space: Any) -> str:
    from gymnasium import spaces
    from stable_baselines3.common.preprocessing import is_image_space

    if isinstance(space, spaces.Dict):
        return "MultiInputPolicy"
    return "CnnPolicy" if is_image_space(space) else "MlpPolicy"


def _for_spaces(symmetry: EnvSymmetry, outside: Any, vector: Any, own: dict[str, Any]) -> EnvSymmetry:
    """The declaration on the spaces of the library: by representations, finite, channels first where it moved them."""
    from burnside.symmetry.concrete import channels_first, represented
    from burnside.symmetry.groups import ContinuousGroup

    found = represented(symmetry, outside, vector.action_space)
    if vector.observation_space != outside:
        found = channels_first(found)
    if isinstance(found.group, ContinuousGroup) and own.get("mode") == "equal-minibatch":
        return found  # random elements of the whole group
    from burnside.symmetry.concrete import finite

    return finite(found, own.get("turns", 8))


def _augmented(
    algorithm: str, symmetry: EnvSymmetry, vector: Any, seed: int, own: dict[str, Any], settings: dict[str, Any]
) -> dict[str, Any]:
    from burnside.agents.sb3.buffers import MODES, replay_buffer, rollout_buffer
    from burnside.symmetry.concrete import squashed

    mode = own.get("mode", MODES[0])
    if mode not in MODES:
        raise UnknownName("mode of augmentation", str(mode), MODES)
    kind = "rollout" if algorithm == "PPO" else "replay"
    if settings.get(f"{kind}_buffer_class") is not None:
        raise InvalidParameter(f"the arm 'augment' has its own {kind} buffer: leave {kind}_buffer_class out")
    options = {
        "symmetry": symmetry,
        "mode": mode,
        "symmetry_seed": seed,
        **(settings.get(f"{kind}_buffer_kwargs") or {}),
    }
    if algorithm == "PPO":
        chosen: Any = rollout_buffer(vector.observation_space)
    else:
        options["symmetry"] = squashed(symmetry, vector.action_space)
        steps = settings.pop("n_steps", 1)
        chosen = replay_buffer(vector.observation_space, steps)
        if steps > 1:
            options |= {"n_steps": steps, "gamma": settings.get("gamma", 0.99)}
    return {**settings, f"{kind}_buffer_class": chosen, f"{kind}_buffer_kwargs": options}


def _symmetric_policy(
    algorithm: str, arm: str, symmetry: EnvSymmetry, vector: Any, own: dict[str, Any], settings: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """The policy class and the settings of an arm inside the policy."""
    from gymnasium import spaces
    from stable_baselines3.common.preprocessing import is_image_space
    from stable_baselines3.common.torch_layers import CombinedExtractor, NatureCNN

    from burnside.agents.sb3 import policies
    from burnside.agents.sb3.plan import Plan
    from burnside.symmetry.concrete import squashed

    if algorithm == "TD3":
        raise InvalidParameter(f"the arm {arm!r} is for PPO, SAC and DQN: with TD3 use 'augment' or 'canonical'")
    if settings.get("use_sde"):
        raise InvalidParameter(
            f"use_sde draws noise from hidden units, which the arm {arm!r} does not keep equivariant: leave it off"
        )
    if settings.get("policy") not in (None, "MlpPolicy", "CnnPolicy", "MultiInputPolicy"):
        raise InvalidParameter(f"the arm {arm!r} makes the policy itself: omit policy, and give policy_kwargs")
    settings.pop("policy", None)
    space = vector.observation_space
    plan = Plan(
        arm,
        squashed(symmetry, vector.action_space) if algorithm == "SAC" else symmetry,
        space,
        vector.action_space,
        **{name: own[name] for name in ("relaxation", "mirror_coefficient") if name in own},
    )
    options = dict(settings.get("policy_kwargs") or {})
    if isinstance(space, spaces.Dict):
        options.setdefault("features_extractor_class", CombinedExtractor)
    elif is_image_space(space):
        options.setdefault("features_extractor_class", NatureCNN)
    chosen = {
        "PPO": policies.SymmetricActorCriticPolicy,
        "SAC": policies.SymmetricSACPolicy,
        "DQN": policies.SymmetricDQNPolicy,
    }[algorithm]
    return chosen, {**settings, "policy_kwargs": options | {"plan": plan}}
