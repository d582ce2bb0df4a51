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

from burnside._lazy import exported
from burnside.report.claims import compute_setup, compute_studies, compute_theory  # noqa: F401  # register themselves
from burnside.report.claims.compute import COMPUTATIONS as COMPUTATIONS
from burnside.report.claims.compute import compute as compute
from burnside.report.claims.conditions import holds as holds
from burnside.report.claims.figures import agree as agree
from burnside.report.claims.figures import figure_at as figure_at
from burnside.report.claims.figures import rounded as rounded
from burnside.report.claims.ledger import KINDS as KINDS
from burnside.report.claims.ledger import OURS as OURS
from burnside.report.claims.ledger import STATUSES as STATUSES
from burnside.report.claims.ledger import Claim as Claim
from burnside.report.claims.ledger import Kept as Kept
from burnside.report.claims.ledger import counts as counts
from burnside.report.claims.ledger import kept as kept
from burnside.report.claims.ledger import load as load
from burnside.report.claims.quotes import fingerprint as fingerprint
from burnside.report.claims.quotes import is_quoted as is_quoted
from burnside.report.claims.quotes import squeezed as squeezed
from burnside.report.claims.render import ledger_section as ledger_section
from burnside.report.claims.render import markdown as markdown

__all__ = exported(__name__)
