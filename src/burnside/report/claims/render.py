"""The ledger as Markdown for ``docs/claims.md`` and as the first section of the report."""

from __future__ import annotations

import re
from collections.abc import Sequence

from burnside.report.claims.ledger import VERDICTS, Claim, counts
from burnside.report.page import Html, Page, escape

__all__ = ["ledger_section", "markdown"]

_HEAD = """\
# Claims ledger

Every definition, proposition, lemma, theorem, corollary, figure, table and quantitative sentence of the paper *Sample
Complexity of Equivariant Reinforcement Learning*: what it says, what we found, and the command that finds it again.
This page is written by `burnside claims --write docs/claims.md` from the data file of the package; a test holds the two
equal. `burnside claims --check` validates every row and computes the cheap figures again.

"""


def markdown(claims: Sequence[Claim]) -> str:
    """The page of the documentation."""
    lines = [_HEAD, "| verdict | claims | meaning |\n| --- | --- | --- |\n"]
    for verdict, number in counts(claims).items():
        lines.append(f"| {verdict} | {number} | {VERDICTS[verdict]} |\n")
    place = ""
    for claim in claims:
        section = _section(claim)
        if section != place:
            lines.append(f"\n## {section}\n")
            place = section
        lines.append(
            f"\n**{claim.where}** · `{claim.id}` · *{claim.verdict}*\n\n"
            f"> {claim.claim}\n\n"
            f"{claim.evidence}\n\n"
            f"How: {claim.how} Command: `{claim.command}`{_sources(claim)}\n"
        )
    return "".join(lines)


def _section(claim: Claim) -> str:
    """The part of the paper a claim stands in: '§3.1, Def. 4' → 'Section 3'."""
    if found := re.match(r"§(\d)", claim.where):
        return f"Section {found[1]}"
    if found := re.match(r"App\. ([A-Z])", claim.where):
        return f"Appendix {found[1]}"
    return "Abstract"


def _sources(claim: Claim) -> str:
    return f" Source: {', '.join(f'`{s}`' for s in claim.sources)}" if claim.sources else ""


_CSS = """
.verdicts{display:flex;flex-wrap:wrap;gap:.4rem;margin:.8rem 0;padding:0;list-style:none}
.verdicts button{font:inherit;font-size:.85rem;padding:.25rem .6rem;border:1px solid currentColor;border-radius:1rem;
background:none;color:inherit;cursor:pointer}
.verdicts button[aria-pressed=false]{opacity:.45;text-decoration:line-through}
.claims{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,27rem),1fr));gap:1rem 1.5rem}
.claim{--v:var(--light);border-left:4px solid var(--v);padding:.15rem 0 .15rem .8rem;break-inside:avoid;min-width:0}
.claim[hidden]{display:none}
.claim p{margin:.25rem 0}
.claim .about{font-size:.85rem;opacity:.8}
.claim code{overflow-wrap:anywhere}
.claim .badge{font-weight:600;color:var(--v)}
@media (prefers-color-scheme:dark){.claim{--v:var(--dark)}}
@media print{.verdicts{display:none}.claims{display:block}.claim,.claim[hidden]{display:block;margin:.9rem 0}}
"""

_JS = """
document.querySelectorAll('.verdicts button').forEach(function(b){b.addEventListener('click',function(){
var on=b.getAttribute('aria-pressed')!=='true';b.setAttribute('aria-pressed',on);
document.querySelectorAll('.claim').forEach(function(c){if(c.dataset.verdict===b.dataset.verdict)c.hidden=!on;});});});
"""

#: Light and dark colour of each verdict; the words stand beside it, so that nothing rests on colour alone.
_COLOURS = {
    "holds": ("#00664a", "#5fd3ae"),
    "holds as corrected": ("#00568a", "#7cc4f2"),
    "does not hold as stated": ("#a33c00", "#ff9a5c"),
    "reproduced": ("#00664a", "#5fd3ae"),
    "not reproduced": ("#a33c00", "#ff9a5c"),
    "needs a GPU: recipe runs at small scale": ("#6b4f00", "#e6c34d"),
    "pending": ("#5c6670", "#a9b4be"),
}


def ledger_section(page: Page, claims: Sequence[Claim]) -> Page:
    """Add the ledger as a section: a button per verdict, then one block per claim."""
    page.style(_CSS).script(_JS)
    page.section("What the paper claims, and what was found", id="claims")
    page.text(
        f"{len(claims)} claims, one block each, with the command that checks it. A button hides or shows a verdict; "
        "'burnside claims --check' computes the cheap figures again."
    )
    buttons = "".join(
        f'<li><button type="button" aria-pressed="true" data-verdict="{escape(verdict)}" '
        f'title="{escape(VERDICTS[verdict])}">{escape(verdict)} · {number}</button></li>'
        for verdict, number in counts(claims).items()
    )
    blocks = "".join(_block(claim) for claim in claims)
    return page.html(f'<ul class="verdicts">{buttons}</ul><div class="claims">{blocks}</div>')


def _block(claim: Claim) -> Html:
    light, dark = _COLOURS[claim.verdict]
    return Html(
        f'<article class="claim" data-verdict="{escape(claim.verdict)}" style="--light:{light};--dark:{dark}">'
        f'<p><span class="badge">{escape(claim.verdict)}</span> · {escape(claim.where)}: {escape(claim.claim)}</p>'
        f"<p>{escape(claim.evidence)}</p>"
        f'<p class="about">{escape(claim.how)} <code>{escape(claim.command)}</code></p></article>'
    )
