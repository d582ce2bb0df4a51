"""Quotes: words of the paper as they stand in its LaTeX source, found again without regard to markup and spaces."""

from __future__ import annotations

import hashlib
import re
import unicodedata

__all__ = ["fingerprint", "is_quoted", "squeezed"]

#: Commands that stand for a character; every other command is markup and goes, its argument stays.
_SIGNS = {
    "times": "×",
    "pm": "±",
    "leq": "≤",
    "epsilon": "ε",
    "delta": "δ",
    "sigma": "σ",
    "alpha": "α",
    "gamma": "γ",
    "lambda": "λ",
    "star": "*",
    "propto": "∝",
    "approx": "≈",
    "cong": "≅",
    "circ": "∘",
    "in": "∈",
    "s": "S",
    "A": "A",
    "G": "G",
    "cdot": "·",
    "pi": "π",
    "to": "→",
    "reals": "ℝ",
    "ldots": "…",
}
#: Commands whose argument is not text of the paper.
_SILENT = re.compile(r"\\(?:cite|citep|citet|ref|label|eqref|url)\*?(?:\[[^\]]*\])*\{[^}]*\}")


def squeezed(tex: str) -> str:
    """LaTeX or plain text with nothing left but its letters, digits and signs.

    Hats and bars go, as do spaces, dollar signs and braces; so a quote is written as it is read.

    >>> squeezed(r"is $|\\mathcal{G}_{\\s}|\\,\\bar{C}=2^3$~\\cite{x} and $1{,}444.1 \\pm 137.0$")
    'is|G_S|C=2^3and1,444.1±137.0'
    >>> squeezed("|S̄|=2") == squeezed(r"\\(|\\bar{\\s}|=2\\)")
    True
    """
    text = re.sub(r"(?<!\\)%.*", "", tex)
    text = _SILENT.sub("", text)
    text = re.sub(r"\\\\|\\[,;:! ]", " ", text)
    text = re.sub(r"\\([%_$&#{}])", r"\1", text)
    text = re.sub(r"\\([A-Za-z]+)\*?", lambda found: _SIGNS.get(found[1], ""), text)
    text = unicodedata.normalize("NFKD", text.replace("``", '"').replace("''", '"'))
    text = "".join(c for c in text if not unicodedata.combining(c))
    text = re.sub(r"[-–—−]+", "-", text).replace("′", "'")
    return re.sub(r"[\s{}$~\\()]", "", text)


def is_quoted(quote: str, paper: str) -> bool:
    """Whether the words of a quote stand in a text that was squeezed before; ``…`` stands for words left out.

    >>> is_quoted("the group acts … on states", squeezed("Here the group acts freely on states."))
    True
    >>> is_quoted("whenever the ring has the symmetry", squeezed("Here the group acts freely on states."))
    False
    """
    at = 0
    for part in quote.split("…"):
        words = squeezed(part)
        found = paper.find(words, at)
        if found < 0 or not words:
            return False
        at = found + len(words)
    return True


def fingerprint(quote: str) -> str:
    """What is kept of a quote that was found in the paper, to notice if it is changed afterwards."""
    return hashlib.sha256(squeezed(quote).encode()).hexdigest()[:16]
