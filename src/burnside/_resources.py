"""What a computation will need, said before it begins: memory, and operations where they cannot end in a day.

A size that cannot be managed costs one sentence and no time. What does fit is worked through in pieces, so that Ctrl-C
is noticed between them.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

from burnside.errors import ModelTooLarge

__all__ = ["available_memory", "needs_memory", "needs_time"]

#: Of the memory that is free, this share may be asked for: estimates are rough, and others want some too.
_SHARE = 0.8
#: Operations that take more than a day even at one per nanosecond.
_MOST_OPERATIONS = 1e14
#: Where nothing can be found out about the machine.
_UNKNOWN = 4 * 2**30


def available_memory() -> int:
    """Bytes that this process can still get: what the machine has free, within the limits that were set for it.

    >>> available_memory() > 0
    True
    """
    found = [*_machine(), *_container(), *_process()]
    return max(0, min(found)) if found else _UNKNOWN


def needs_memory(what: str, size: float, remedy: str) -> None:
    """Refuse, in one sentence, what needs more memory than there is.

    >>> needs_memory("a small table", 1000, "make it smaller")
    >>> needs_memory("a table of 10^20 states", 1e22, "make it smaller")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    burnside.errors.ModelTooLarge: a table of 10^20 states needs about 10^13 GB of memory, and ... free: make it smaller
    """
    free = available_memory()
    if size > _SHARE * free:
        raise ModelTooLarge(f"{what} needs about {_amount(size)} of memory, and {_amount(free)} are free: {remedy}")


def needs_time(what: str, operations: float, remedy: str) -> None:
    """Refuse, in one sentence, what takes more than a day on any machine.

    >>> needs_time("this", 1e18, "make it smaller")
    Traceback (most recent call last):
    burnside.errors.ModelTooLarge: this takes at least 10^18 steps, more than a day on any machine: make it smaller
    """
    if operations > _MOST_OPERATIONS:
        raise ModelTooLarge(
            f"{what} takes at least {_power(operations)} steps, more than a day on any machine: {remedy}"
        )


def _machine() -> list[int]:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return [1024 * int(line.split()[1])]
    except (OSError, ValueError, IndexError):
        pass
    try:  # not Linux: all there is
        return [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    except (OSError, ValueError, AttributeError):
        return []


def _container() -> list[int]:
    """What a control group leaves, in its second version or the first; files that are only cached do not count."""
    for folder, limit, used in (
        ("/sys/fs/cgroup", "memory.max", "memory.current"),
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        try:
            most, now = (int(Path(folder, name).read_text(encoding="ascii")) for name in (limit, used))
            stat = dict(line.split() for line in Path(folder, "memory.stat").read_text(encoding="ascii").splitlines())
        except (OSError, ValueError):  # there is none, or its limit is "max"
            continue
        return [most - now + int(stat.get("total_inactive_file", stat.get("inactive_file", 0)))]
    return []


def _process() -> list[int]:
    """What a limit on the address space (``ulimit -v``) leaves."""
    try:
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most == resource.RLIM_INFINITY:
            return []
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        return [most - pages * os.sysconf("SC_PAGE_SIZE")]
    except (ImportError, OSError, ValueError, IndexError):
        return []


def _amount(size: float) -> str:
    if size < 1e9:
        return f"{size / 1e6:.0f} MB"
    return f"{size / 1e9:.1f} GB" if size < 1e15 else f"{_power(size / 1e9)} GB"


def _power(x: float) -> str:
    return f"10^{math.log10(x):.0f}"
