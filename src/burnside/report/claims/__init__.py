"""The claims ledger: every checkable sentence of the paper as one row, with what is true of it and what was run here.

What lives here: ``claims.toml`` — the rows, the only place where verdicts are written down; ``claims.json`` — the
figures last computed and the fingerprints of quotes, written by ``burnside claims --update``; ``ledger`` — reading both
and finding what is wrong with them; ``figures``, ``conditions``, ``quotes`` — finding a figure in what a command
prints, what is expected of it, and the paper's own words; ``compute`` with ``compute_theory``, ``compute_studies`` and
``compute_setup`` — figures that no other command prints; ``render`` — the rows as Markdown and as a section of the
report.
It may import everything up to ``burnside.experiments``; commands are run by the command line.
"""

from __future__ import annotations

from burnside.report.claims import compute_setup, compute_studies, compute_theory  # noqa: F401  # register themselves
from burnside.report.claims.compute import COMPUTATIONS, compute
from burnside.report.claims.conditions import holds
from burnside.report.claims.figures import agree, figure_at, rounded
from burnside.report.claims.ledger import KINDS, OURS, STATUSES, Claim, Kept, counts, kept, load
from burnside.report.claims.quotes import fingerprint, is_quoted, squeezed
from burnside.report.claims.render import ledger_section, markdown

__all__ = [
    "COMPUTATIONS",
    "KINDS",
    "OURS",
    "STATUSES",
    "Claim",
    "Kept",
    "agree",
    "compute",
    "counts",
    "figure_at",
    "fingerprint",
    "holds",
    "is_quoted",
    "kept",
    "ledger_section",
    "load",
    "markdown",
    "rounded",
    "squeezed",
]
