"""Engines: ways to run many cells, behind one small protocol; all of them run ``work.run_one`` somewhere.

What lives here: ``base`` (the protocol, and retries for processes that die), ``local`` (processes of this machine, or
this process), ``ray`` (a Ray cluster), ``slurm`` (Slurm through submitit). An engine keeps no important state of its
own: results, checkpoints and locks are in the folder of the sweep, which all machines must see.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from burnside.errors import InvalidParameter, UnknownName
from burnside.runs.engines.base import Engine

__all__ = ["Engine", "make_engine"]


def make_engine(name: str, workers: int, options: Mapping[str, Any]) -> Engine:
    """The engine of this name.

    >>> make_engine("lokal", 2, {})
    Traceback (most recent call last):
    burnside.errors.UnknownName: unknown engine 'lokal': did you mean 'local'? (known: local, ray, slurm)
    """
    if workers < 0 or (workers == 0 and name != "local"):
        least = "0 (in this process)" if name == "local" else "1"
        raise InvalidParameter(f"the engine {name!r} needs at least {least} workers, not {workers}")
    if name == "local":
        from burnside.runs.engines.local import InlineEngine, LocalEngine

        if options:
            raise InvalidParameter(f"the local engine has no options, but got {', '.join(options)}")
        return LocalEngine(workers) if workers else InlineEngine()
    if name == "ray":
        from burnside.runs.engines.ray import RayEngine

        return RayEngine(workers, options)
    if name == "slurm":
        from burnside.runs.engines.slurm import SlurmEngine

        return SlurmEngine(workers, options)
    raise UnknownName("engine", name, ["local", "ray", "slurm"])
