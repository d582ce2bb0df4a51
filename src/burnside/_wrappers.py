"""Whether what is known of the environment inside its wrappers is true of the whole."""

from __future__ import annotations

from typing import Any

__all__ = ["transparent"]

#: Gymnasium's own wrappers that change neither observation nor action nor reward. A time limit only truncates.
_HARMLESS = ("OrderEnforcing", "PassiveEnvChecker", "RecordEpisodeStatistics", "TimeLimit")


def transparent(env: Any) -> bool:
    """Whether nothing around ``env.unwrapped`` changes what is observed, done or rewarded.

    Only then does a transition table of the innermost environment describe what a learner meets. Wrappers that are not
    known to be harmless count as changing something; so does a subclass of a harmless one.

    >>> import gymnasium as gym
    >>> lake = gym.make("FrozenLake-v1")
    >>> transparent(lake), transparent(gym.wrappers.TransformReward(lake, lambda r: 2 * r))
    (True, False)
    """
    bare = getattr(env, "unwrapped", env)
    if env is bare:
        return True
    try:
        from gymnasium import Wrapper, wrappers
    except ImportError:  # then it is somebody else's wrapper
        return False
    harmless = tuple(getattr(wrappers, name) for name in _HARMLESS if hasattr(wrappers, name))
    inside = env
    while isinstance(inside, Wrapper):
        if type(inside) not in harmless:
            return False
        inside = inside.env
    return inside is bare
