"""The walks of docs/architecture.md: the files exist, each is imported by one before it, and layers descend."""

import ast
import re
from pathlib import Path

import pytest
from tests.test_layers import LEVEL

REPO = Path(__file__).resolve().parents[1]
SOURCE = REPO / "src/burnside"
PAGE = (REPO / "docs/architecture.md").read_text(encoding="utf-8")
WALKS = {
    title: re.findall(r"^\d+\. `([\w/]+\.py)`", body, flags=re.M)
    for title, body in re.findall(r"^### ([^\n]+)\n(.*?)(?=^##|\Z)", PAGE, flags=re.M | re.S)
}


def file_of(module: str) -> str | None:
    """The file of a module inside ``src/burnside``."""
    path = Path(*module.split(".")[1:])
    for found in (path.with_suffix(".py"), path / "__init__.py") if path.parts else (Path("__init__.py"),):
        if (SOURCE / found).is_file():
            return found.as_posix()
    return None


def imported(file: str) -> set[str]:
    """The files a file imports, through the ``__init__.py`` of packages to the modules that define the names."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((SOURCE / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("burnside"):
            for alias in node.names:
                found |= defined(node.module or "", alias.name)
    return found


def defined(module: str, name: str) -> set[str]:
    """The module, the module of that name in it, and where a package takes the name from."""
    files = {file_of(module), file_of(f"{module}.{name}")}
    home = file_of(module)
    if home is not None and home.endswith("__init__.py"):
        for node in ast.walk(ast.parse((SOURCE / home).read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module != module and name in {a.name for a in node.names}:
                files |= defined(node.module or "", name)
    return {file for file in files if file is not None}


def test_there_are_four_walks() -> None:
    assert len(WALKS) == 4 and all(len(files) >= 5 for files in WALKS.values())


@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_is_short_and_goes_down(walk: str) -> None:
    files = WALKS[walk]
    assert len(files) <= 12 and len(set(files)) == len(files)
    missing = [file for file in files if not (SOURCE / file).is_file()]
    assert not missing, f"not there: {missing}"
    levels = [LEVEL[file.split("/")[0].removesuffix(".py")] for file in files]
    assert levels == sorted(levels, reverse=True), "a walk only goes down"


@pytest.mark.parametrize("walk", WALKS)
def test_every_file_is_imported_by_one_before(walk: str) -> None:
    files = WALKS[walk]
    for k, file in enumerate(files[1:], start=1):
        reached = set().union(*(imported(before) for before in files[:k]))
        assert file in reached, f"{file}: nothing before it in the walk imports it"


def test_the_picture_has_every_layer() -> None:
    picture = PAGE.split("```text")[1].split("```")[0]
    layers = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").is_file()}
    absent = {layer for layer in layers if not re.search(rf"^.{{22}}{layer}\b|\b{layer},", picture, flags=re.M)}
    assert not absent, f"not in the picture: {absent}"
