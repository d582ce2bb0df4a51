"""Pages of the documentation whose numbers are written from the committed results; a test holds them equal.

``python -m burnside.report.pages docs`` (``make pages``) rewrites, in the pages under ``docs/experiments``, in
``docs/atlas.md`` and in ``README.md``, everything between ``<!-- from results: NAME -->`` and ``<!-- end -->``, and the
pictures in ``docs/images``. What a block holds is in :mod:`burnside.report.page_tables`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from burnside._files import write_text
from burnside.errors import InvalidParameter, UnknownName
from burnside.report.page_tables import BLOCKS, FIGURES

__all__ = ["rewrite", "write_pages"]

_BLOCK = re.compile(r"(?P<head><!-- from results: (?P<name>[\w-]+) -->\n).*?(?P<tail><!-- end -->)", re.DOTALL)


def rewrite(text: str) -> str:
    """A page with every block made again.

    >>> rewrite("no block here")
    'no block here'
    """

    def made(found: re.Match[str]) -> str:
        name = found["name"]
        if name not in BLOCKS:
            raise UnknownName("block of a page", name, BLOCKS)
        return f"{found['head']}{BLOCKS[name]()}\n{found['tail']}"

    if text.count("<!-- from results:") != len(_BLOCK.findall(text)):
        raise InvalidParameter("a block of the page has no end: write <!-- end --> behind it")
    return _BLOCK.sub(made, text)


def write_pages(docs: Path) -> list[Path]:
    """Rewrite the blocks and pictures under a folder of documentation; the files that changed."""
    changed = []
    for page in [*sorted((docs / "experiments").glob("*.md")), *docs.glob("atlas.md"), *docs.parent.glob("README.md")]:
        before = page.read_text(encoding="utf-8")
        after = rewrite(before)
        if after != before:
            changed.append(write_text(page, after))
    for name, draw in FIGURES.items():
        path, svg = docs / "images" / name, draw().svg
        if not path.exists() or path.read_text(encoding="utf-8") != svg:
            changed.append(write_text(path, svg))
    return changed


if __name__ == "__main__":
    for path in write_pages(Path(sys.argv[1] if len(sys.argv) > 1 else "docs")):
        print(f"wrote {path}")
