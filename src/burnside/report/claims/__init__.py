"""The claims ledger: every claim of the paper as one row with its verdict, its evidence and the command that checks it.

What lives here: ``claims.toml`` — the data, the only place where verdicts are written down; ``ledger`` — reading it and
finding what is wrong with it; ``checks``, ``studies`` — figures computed again in less than two seconds each;
``render`` — the same rows as Markdown for the documentation and as a section of the report.
It may import everything up to ``burnside.experiments``; whether a command parses is for the command line to say.
"""

from __future__ import annotations

from burnside.report.claims import studies as _studies  # noqa: F401  # registers its checks
from burnside.report.claims.checks import CHECKS, Finding, recompute
from burnside.report.claims.ledger import KINDS, VERDICTS, Claim, counts, load
from burnside.report.claims.render import ledger_section, markdown

__all__ = [
    "CHECKS",
    "KINDS",
    "VERDICTS",
    "Claim",
    "Finding",
    "counts",
    "ledger_section",
    "load",
    "markdown",
    "recompute",
]
