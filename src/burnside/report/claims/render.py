"""The ledger as Markdown for ``docs/claims.md`` and as the first section of the report."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from burnside.report.claims.ledger import OURS, STATUSES, Claim, counts
from burnside.report.page import Html, Page, escape

__all__ = ["STATUS_COLOURS", "ledger_section", "markdown"]

_HEAD = """\
# Claims ledger

Every checkable sentence of the paper *Sample Complexity of Equivariant Reinforcement Learning*: definitions, theorems,
figures, tables, numbers and settings. A row says two different things, which are kept apart:

- **Of the paper**: what is true of the sentence itself.
- **Here**: what we did about it. A run that was too small to decide a sentence is *not decided here*, whatever it
  showed; the row then says what would decide it.

The words in quotation marks are the paper's. Every figure in a row is printed by the command of that row.
`burnside claims --check` runs all these commands and compares: figures, the conditions a verdict rests on, and quotes.
This page is written by `burnside claims --write docs/claims.md`; a test keeps it equal to the data.

"""


def markdown(claims: Sequence[Claim]) -> str:
    """The page of the documentation."""
    lines = [_HEAD]
    found = counts(claims)
    for title, key, meanings in (("of the paper", "status", STATUSES), ("here", "ours", OURS)):
        lines.append(f"| {title} | claims | meaning |\n| --- | --- | --- |\n")
        lines += [f"| {name} | {number} | {meanings[name]} |\n" for name, number in found[key].items()]
        lines.append("\n")
    lines.append(_crossed(claims))
    place = ""
    for claim in claims:
        section = _section(claim)
        if section != place:
            lines.append(f"\n## {section}\n")
            place = section
        lines.append(_row(claim))
    return "".join(lines)


def _crossed(claims: Sequence[Claim]) -> str:
    """How many claims have each status and outcome together."""
    found = counts(claims)
    columns = list(found["ours"])
    lines = [f"| | {' | '.join(columns)} |\n", f"| --- | {' | '.join('---' for _ in columns)} |\n"]
    for status in found["status"]:
        numbers = [sum((claim.status, claim.ours) == (status, ours) for claim in claims) for ours in columns]
        lines.append(f"| {status} | {' | '.join(str(number or '') for number in numbers)} |\n")
    return "".join(lines)


def _row(claim: Claim) -> str:
    needs = f"To decide it: {claim.needs}\n\n" if claim.needs else ""
    sources = f" Sources: {', '.join(f'`{source}`' for source in claim.sources)}." if claim.sources else ""
    return (
        f"\n**{claim.where}** · `{claim.id}` · of the paper: *{claim.status}* · here: *{claim.ours}*\n\n"
        f"> “{claim.quote}”\n\n"
        f"{claim.claim}\n\n"
        f"**Found.** {claim.found}\n\n"
        f"{needs}"
        f"{claim.how} `{claim.command}`{sources}\n"
    )


def _section(claim: Claim) -> str:
    """The part of the paper a claim stands in: '§3.1, Def. 4' → 'Section 3'."""
    if found := re.match(r"§(\d)", claim.where):
        return f"Section {found[1]}"
    if found := re.match(r"App\. ([A-Z])", claim.where):
        return f"Appendix {found[1]}"
    return "Abstract"


#: Light and dark colour of each status; the words stand beside it, so that nothing rests on colour alone.
STATUS_COLOURS = {
    "correct": ("#00664a", "#5fd3ae"),
    "correct with a condition": ("#00568a", "#7cc4f2"),
    "wrong": ("#a33c00", "#ff9a5c"),
    "underspecified": ("#6b4f00", "#e6c34d"),
    "measurement": ("#5a3d8a", "#c3a6f0"),
    "setting": ("#5c6670", "#a9b4be"),
}


def ledger_section(page: Page, claims: Sequence[Claim]) -> Page:
    """Add the ledger as a section: a button per status and per outcome, then one block per claim."""
    page.use("claims").section("What the paper claims, and what was found", id="claims")
    page.text(
        f"{len(claims)} sentences of the paper, one block each. A block says two things: what is true of the paper's "
        "sentence, and what was done about it here. What was not run at a scale that could decide it is 'not decided "
        "here'. Buttons hide and show; 'burnside claims --check' runs every command and compares every figure."
    )
    found = counts(claims)
    axes = (("Of the paper", "status", STATUSES), ("Here", "ours", OURS))
    buttons = "".join(
        f'<p class="axis">{title}</p><ul class="verdicts">{_buttons(key, found[key], meanings)}</ul>'
        for title, key, meanings in axes
    )
    blocks = "".join(_block(claim) for claim in claims)
    return page.html(Html(f'{buttons}<div class="claims">{blocks}</div>'))


def _buttons(axis: str, numbers: Mapping[str, int], meanings: Mapping[str, str]) -> str:
    return "".join(
        f'<li><button type="button" aria-pressed="true" data-axis="{axis}" data-name="{escape(name)}" '
        f'title="{escape(meanings[name])}">{escape(name)} · {number}</button></li>'
        for name, number in numbers.items()
    )


def _block(claim: Claim) -> Html:
    light, dark = STATUS_COLOURS[claim.status]
    needs = f"<p>To decide it: {escape(claim.needs)}</p>" if claim.needs else ""
    return Html(
        f'<article class="claim" id="claim-{escape(claim.id)}" '
        f'data-status="{escape(claim.status)}" data-ours="{escape(claim.ours)}" '
        f'style="--light:{light};--dark:{dark}">'
        f'<p><span class="badge">{escape(claim.status)}</span> · here: {escape(claim.ours)} · {escape(claim.where)}</p>'
        f"<blockquote>“{escape(claim.quote)}”</blockquote>"
        f"<p>{escape(claim.claim)}</p><p>{escape(claim.found)}</p>{needs}"
        f'<p class="about">{escape(claim.how)} <code>{escape(claim.command)}</code></p></article>'
    )
