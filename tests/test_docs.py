"""The documentation runs: Python blocks, the output they promise, and `$ burnside …` commands.

The blocks of a page share one namespace and a temporary working directory. A fence whose info string contains
`no-run` is shown but not run; a fence ```` ```text output ```` right after a Python block is compared with what that
block printed.
"""

import contextlib
import io
import itertools
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

REPO = Path(__file__).resolve().parents[1]
PAGES = [path for path in [REPO / "README.md", *sorted((REPO / "docs").rglob("*.md"))] if path.is_file()]
FENCE = re.compile(
    r"^(?P<indent> *)(?P<ticks>`{3,})(?P<info>[^`\n]*)\n(?P<body>.*?)^(?P=indent)(?P=ticks) *$", re.M | re.S
)


@dataclass(frozen=True)
class Block:
    language: str
    words: tuple[str, ...]
    line: int  # of the first line of the body
    start: int
    end: int
    body: str


def blocks(text: str) -> list[Block]:
    """All fenced blocks of a page, their indentation (inside lists and tabs) removed."""
    found = []
    for match in FENCE.finditer(text):
        language, *words = match["info"].split() or [""]
        body = re.sub(f"^{match['indent']}", "", match["body"], flags=re.M)
        line = text.count("\n", 0, match.start()) + 2
        found.append(Block(language, tuple(words), line, match.start(), match.end(), body))
    return found


def promised_output(text: str, block: Block, following: Block | None) -> str | None:
    """The body of a `text output` fence with nothing but blank space between it and the block."""
    if following is None or following.language != "text" or "output" not in following.words:
        return None
    return None if text[block.end : following.start].strip() else following.body


def commands(block: Block) -> list[list[str]]:
    """The arguments of each `$ burnside …` line, continued over a trailing backslash."""
    lines = re.sub(r"\\\n\s*>?\s*", " ", block.body).splitlines()
    return [shlex.split(line[2:], comments=True)[1:] for line in lines if re.match(r"\$ burnside(\s|$)", line)]


def run_command(argv: list[str], name: str) -> None:
    from burnside.cli import main

    try:
        code: Any = main(argv)
    except SystemExit as exit_:  # `--help` and usage errors of the argument parser
        code = exit_.code
    assert code in (0, None), f"{name}: 'burnside {shlex.join(argv)}' ended with exit code {code}"


def run_page(text: str, name: str) -> int:
    """Run all there is to run on a page, and say how many blocks that was."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    ran = 0
    found = blocks(text)
    for block, following in itertools.zip_longest(found, found[1:]):
        if "no-run" in block.words:
            continue
        if block.language == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                # Blank lines in front make tracebacks and warnings name the line of the page.
                exec(compile("\n" * (block.line - 1) + block.body, name, "exec"), namespace)
            promised = promised_output(text, block, following)
            if promised is not None:
                assert printed.getvalue().strip() == promised.strip(), f"{name}:{block.line}: prints something else"
            ran += 1
        elif block.language == "console":
            for argv in commands(block):
                run_command(argv, f"{name}:{block.line}")
                ran += 1
    return ran


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPO).as_posix())
def test_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(page.read_text(), str(page.relative_to(REPO)))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPO).as_posix())
def test_every_output_belongs_to_a_block(page: Path) -> None:
    """A promised output that follows no Python block would never be compared."""
    text = page.read_text()
    found = blocks(text)
    for before, block in zip([None, *found], found, strict=False):
        if block.language == "text" and "output" in block.words:
            compared = before is not None and before.language == "python" and "no-run" not in before.words
            assert compared and promised_output(text, before, block) is not None, f"{page.name}:{block.line}"


# README, and links.


def test_readme_begins_with_what_it_is_for_how_to_get_it_and_the_two_commands() -> None:
    lines = (REPO / "README.md").read_text().splitlines()
    screen = "\n".join(lines[:40])
    for words in ("How much less experience", "$ pip install", "$ make reproduce", "$ make test", "CanonicalEnv(env)"):
        assert words in screen
    assert "$ burnside measure" in screen and lines[0] == "# Burnside"


def test_no_cell_of_a_table_in_readme_has_more_than_25_words() -> None:
    cells = [
        cell
        for line in (REPO / "README.md").read_text().splitlines()
        if line.startswith("|")
        for cell in re.split(r"(?<!\\\\)\|", line)
    ]
    assert cells and [cell for cell in cells if len(cell.split()) > 25] == []


LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


@pytest.mark.parametrize("page", [*PAGES, REPO / "CONTRIBUTING.md", REPO / "examples/README.md"], ids=lambda p: p.name)
def test_links_lead_to_files_that_are_there(page: Path) -> None:
    """Those of the documentation are also checked by mkdocs, README's by nobody else."""
    text = FENCE.sub("", page.read_text())
    targets = [link.split("#")[0] for link in LINK.findall(text) if not re.match(r"[a-z]+:|#", link)]
    assert [target for target in targets if not (page.parent / target).exists()] == []


# The runner itself.


def test_runner_shares_the_namespace_and_compares_output() -> None:
    good = "```python\nx = 2\n```\ntext\n```python\nprint(x)\n```\n\n```text output\n2\n```\n"
    assert run_page(good, "page") == 2
    with pytest.raises(AssertionError, match="page:6"):
        run_page(good.replace("output\n2", "output\n3"), "page")


def test_runner_fails_on_errors_and_skips_no_run() -> None:
    with pytest.raises(ZeroDivisionError):
        run_page("```python\n1 / 0\n```\n", "page")
    assert run_page("```python no-run\n1 / 0\n```\n```console no-run\n$ burnside nonsense\n```\n", "page") == 0


def test_runner_reads_indented_blocks_and_commands() -> None:
    page = "- a\n\n    ```console\n    $ burnside audit ring \\\n        --n 5  # note\n    printed\n    ```\n"
    (block,) = blocks(page)
    assert commands(block) == [["audit", "ring", "--n", "5"]]
    (block,) = blocks("```console\n$ make test\n$ burnside\n$ burnsides x\n```\n")
    assert commands(block) == [[]]
