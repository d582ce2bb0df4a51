"""Environments of other people that are not Gymnasium's, as Gymnasium environments.

What lives here: ``suite`` (dm_control's tasks, ``dm_control/walker-walk-v0``) and ``games`` (PettingZoo's board games
as the player to move sees them, ``pettingzoo/tictactoe-v3``). Importing :mod:`burnside.envs` registers them; the
packages they come from are the extras ``dm-control`` and ``pettingzoo``.

It may import what ``burnside.envs`` may.
"""
