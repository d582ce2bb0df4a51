"""PettingZoo's board games as Gymnasium environments: each move is made by the player whose turn it is.

One policy plays all sides. It sees the board as the player to move does, and its reward is that player's for the move.
The state of such a game is what was played since the start, so it can be set by playing that again.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import gymnasium as gym
import numpy as np

from burnside.errors import InvalidAction, MissingExtra, UnknownName

__all__ = ["GAMES", "BoardGameEnv"]

#: Games that are registered, as ``pettingzoo/<name>``, with what they are made with there.
GAMES: dict[str, dict[str, Any]] = {
    "chess_v6": {},
    "connect_four_v3": {},
    "go_v5": {},
    "rps_v2": {},
    "tictactoe_v3": {},
}


class BoardGameEnv(gym.Env[Any, Any]):
    """A classic game of PettingZoo, seen by the player to move.

    Args:
        game: its module, such as ``"tictactoe_v3"``.
        **options: for PettingZoo's ``env``, such as ``board_size`` of Go.

    A move that the rules forbid ends the game and costs its player 1, as in PettingZoo.
    """

    def __init__(self, game: str, **options: Any) -> None:
        if game not in GAMES:
            raise UnknownName("game", game, GAMES)
        try:
            module = importlib.import_module(f"pettingzoo.classic.{game}")
        except ImportError:
            raise MissingExtra("pettingzoo", "pettingzoo") from None
        self._env: Any = module.env(**options)
        self.moves: list[int] = []
        first = self._env.possible_agents[0]
        self.observation_space, self.action_space = self._env.observation_space(first), self._env.action_space(first)

    def _seen(self) -> Any:
        found = self._env.observe(self._env.agent_selection)
        return int(found) if isinstance(self.observation_space, gym.spaces.Discrete) else found

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """A new game."""
        super().reset(seed=seed)
        self._env.reset(seed=seed)
        self.moves = []
        return self._seen(), {"player": self._env.agent_selection}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """One move of the player whose turn it is."""
        player, move = self._env.agent_selection, int(action)
        if self._env.terminations.get(player) or self._env.truncations.get(player):
            raise InvalidAction("this game is over: call reset()")
        with redirect_stdout(StringIO()):  # PettingZoo prints a sentence about every move that is forbidden
            self._env.step(move)
        self.moves.append(move)
        reward = float(self._env.rewards.get(player, 0.0))
        over = bool(np.all(list(self._env.terminations.values())))
        stopped = bool(np.all(list(self._env.truncations.values())))
        return self._seen(), reward, over, stopped, {"player": self._env.agent_selection}

    def play_again(self, moves: Sequence[int]) -> None:
        """The game after these moves."""
        self.reset()
        for move in moves:
            self.step(move)
