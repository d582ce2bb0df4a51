"""What the documentation build changes in our text before it is rendered.

Fences carry a word for tests/test_docs.py (`python no-run`, `text output`), which the Markdown extension would take
for a reason not to see a fence at all. Docstrings hold bare doctests, which Markdown would take for block quotes, and
Sphinx roles, which it does not know. The page of the benchmarks shows the one that ``make bench`` writes.
"""

import re
from pathlib import Path
from typing import Any

import griffe

from burnside._lazy import exported

FENCE = re.compile(r"^(\s*`{3,}(?:python|console|text))[ \t]+(?:no-run|output)[ \t]*$", re.MULTILINE)
DOCTEST = re.compile(r"^(?P<indent>[ \t]*)>>> .*(?:\n(?P=indent)\S.*|\n(?P=indent)[ \t]+\S.*)*", re.MULTILINE)
RESULTS = Path(__file__).parents[1] / "benchmarks" / "RESULTS.md"
ROLE = re.compile(r":(?:class|func|meth|mod|attr|data|exc):`[~!]?([^`<]+?)`")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by mkdocs for every page."""
    return FENCE.sub(r"\1", markdown.replace("<!-- benchmarks/RESULTS.md -->", results()))


def results() -> str:
    """The page that ``make bench`` wrote, without its title and with its pictures found from here."""
    text = RESULTS.read_text(encoding="utf-8") if RESULTS.is_file() else "# \n\nNothing has been measured yet."
    return text.split("\n", 1)[1].replace("../docs/images/", "images/")


def tidy(docstring: str) -> str:
    """Doctests as code blocks, roles as plain code."""
    fenced = DOCTEST.sub(lambda m: f"{m['indent']}```pycon\n{m[0]}\n{m['indent']}```", docstring)
    return ROLE.sub(r"`\1`", fenced)


class TidyDocstrings(griffe.Extension):
    """Called by mkdocstrings for every object it loads."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring before it is parsed."""
        if obj.docstring:
            obj.docstring.value = tidy(obj.docstring.value)

    def on_module(self, *, mod: griffe.Module, **_: Any) -> None:
        """Tell griffe the public names of a package: its ``__all__`` is computed (``burnside/_lazy.py``)."""
        if mod.is_init_module and not mod.exports:
            mod.exports = set(exported(mod.path))
