"""The public API, frozen: every public name with its parameters stands in ``public_api.txt``.

A name that disappears or changes its parameters breaks programs of others, and needs a line in CHANGELOG.md; a new one
is a promise. Either way the file is written again by hand: ``python tests/test_public_api.py --write``.
"""

import ast
import importlib
import inspect
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from burnside._lazy import homes
from burnside.mdp import zoo
from burnside.mdp.zoo.catalogue import MODELS

REPO = Path(__file__).resolve().parents[1]
LISTING = Path(__file__).with_name("public_api.txt")
PAGES = [REPO / "README.md", *sorted((REPO / "docs").rglob("*.md"))]

#: Packages whose ``__all__`` is public: the pages of the reference. What is not listed here may change without notice.
PACKAGES = (
    "burnside",
    "burnside.errors",
    "burnside.groups",
    "burnside.mdp",
    "burnside.mdp.zoo",
    "burnside.theory",
    "burnside.learning",
    "burnside.symmetry",
    "burnside.symmetry.lint",
    "burnside.envs",
    "burnside.envs.cube",
    "burnside.envs.manipulation",
    "burnside.envs.planar",
    "burnside.canonical",
    "burnside.canonical.known",
    "burnside.testing",
    "burnside.nn",
    "burnside.nn.flow",
    "burnside.agents",
    "burnside.agents.flow_ppo",
    "burnside.search",
    "burnside.runs",
    "burnside.stats",
    "burnside.report",
)

#: How many classes and functions may be public: about 150. A package that needs one more gives up another.
MOST = 160


def parameters(value: object) -> str:
    """Names and kinds of parameters, without types and defaults; empty for what cannot be called."""
    if inspect.isclass(value) and issubclass(value, BaseException):
        return ""
    try:
        signature = inspect.signature(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ""
    words = []
    for parameter in signature.parameters.values():
        star = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        optional = "" if parameter.default is inspect.Parameter.empty else "=…"
        only = "(only by name) " if parameter.kind is inspect.Parameter.KEYWORD_ONLY else ""
        words.append(f"{only}{star}{parameter.name}{optional}")
    return f"({', '.join(words)})"


def listing() -> list[str]:
    lines = []
    for package in PACKAGES:
        module = importlib.import_module(package)
        lines += [f"{package}.{name}{parameters(getattr(module, name))}" for name in sorted(module.__all__)]
    return lines


def test_the_api_is_the_one_that_was_promised() -> None:
    promised = LISTING.read_text(encoding="utf-8").splitlines()
    found = listing()
    gone = sorted(set(promised) - set(found))
    new = sorted(set(found) - set(promised))
    assert not gone, f"gone or changed (say so in CHANGELOG.md, then write the listing again): {gone}"
    assert not new, f"new (write the listing again: python tests/test_public_api.py --write): {new}"


def public() -> dict[int, tuple[str, object]]:
    """Every public class and function once. Modules do not count, nor do the models of the zoo: data, not interface."""
    found = {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            value = getattr(module, name)
            if not inspect.ismodule(value) and value not in [*MODELS.values(), zoo.ring, zoo.ring_game]:
                found[id(value)] = (f"{package}.{name}", value)
    return found


def test_the_public_surface_stays_small() -> None:
    assert len(public()) <= MOST, f"{len(public())} public names"


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_can_be_had_and_is_documented(package: str) -> None:
    module = importlib.import_module(package)
    assert len(set(module.__all__)) == len(module.__all__)
    for name in module.__all__:
        value = getattr(module, name)
        speaks = inspect.isclass(value) or inspect.isfunction(value) or inspect.ismodule(value)
        assert not speaks or inspect.getdoc(value), f"{package}.{name} has no docstring"


def test_every_public_name_has_an_example() -> None:
    """In its own docstring, on a page, or, for a result, where the function that returns it is documented.

    Errors need none: their message is one.
    """
    pages = "\n".join(block for page in PAGES for block in code_of(page))
    without = []
    for path, value in public().values():
        name = path.rsplit(".", 1)[1]
        if inspect.isclass(value) and issubclass(value, BaseException):
            continue
        text = inspect.getdoc(value) or ""
        maker = re.match(r"(?:What|The result of) :func:`(\w+)`", text)
        if maker:
            text = inspect.getdoc(getattr(importlib.import_module(path.rsplit(".", 1)[0]), maker[1])) or ""
        if ">>>" not in text and "::\n\n" not in text and not re.search(rf"\b{name}\b", pages):
            without.append(path)
    assert not without, f"no example: {', '.join(without)}"


def code_of(page: Path) -> list[str]:
    return re.findall(r"^ *```python[^\n]*\n(.*?)^ *```", page.read_text(encoding="utf-8"), flags=re.M | re.S)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPO).as_posix())
def test_pages_import_public_names_only(page: Path) -> None:
    for block in code_of(page):
        for node in ast.walk(ast.parse(textwrap.dedent(block))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("burnside"):
                assert node.module in PACKAGES, f"{page.name} teaches {node.module}, which is not public"
                wrong = {alias.name for alias in node.names} - set(importlib.import_module(node.module).__all__)
                assert not wrong, f"{page.name} teaches {node.module}.{wrong}, which is not public"


def test_the_reference_shows_what_is_public() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in sorted((REPO / "docs/reference").glob("*.md")))
    shown = set(re.findall(r"^::: (\S+)", text, flags=re.M))
    assert shown | {"burnside"} == set(PACKAGES)


# One list per package (burnside/_lazy.py).

INITS = sorted((REPO / "src/burnside").rglob("__init__.py"))
LISTED = [path for path in INITS if "burnside._lazy" in path.read_text(encoding="utf-8")]


def package_of(path: Path) -> str:
    return ".".join(path.parent.relative_to(REPO / "src").parts)


@pytest.mark.parametrize("path", LISTED, ids=package_of)
def test_the_list_of_a_package_is_its_import_lines(path: Path) -> None:
    """What ``homes`` reads line by line is what Python's parser sees."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    expected = {a.name: node.module for node in imports for a in node.names if a.asname == a.name}
    own = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    expected |= {name: package_of(path) for name in own if not name.startswith("_")}
    assert homes(package_of(path)) == expected
    assert sorted(expected) == importlib.import_module(package_of(path)).__all__


@pytest.mark.parametrize("path", LISTED, ids=package_of)
def test_no_lazy_name_is_also_a_module(path: Path) -> None:
    """Importing the module would put it in the place of the name."""
    if "lazy(__name__)" not in path.read_text(encoding="utf-8"):
        return
    package = package_of(path)
    modules = {file.stem for file in path.parent.glob("*.py")} | {
        f.parent.name for f in path.parent.glob("*/__init__.py")
    }
    clash = {name for name, home in homes(package).items() if name in modules and home != package}
    assert not clash, f"import {clash} at once in {package}: a module has the same name"


def test_public_packages_keep_one_list() -> None:
    listed = {package_of(path) for path in LISTED}
    assert {package_of(path) for path in INITS} & set(PACKAGES) <= listed, "use burnside._lazy"
    for path in LISTED:
        assert "__all__ = [" not in path.read_text(encoding="utf-8"), f"{package_of(path)} lists its names twice"


def test_packages_are_attributes_of_the_root() -> None:
    code = (
        "import sys, burnside as bs\n"
        "heavy = {'torch', 'numba', 'gymnasium', 'matplotlib', 'sympy', 'igraph', 'numpy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert bs.agents.DQNConfig().gamma and bs.search.CubePuzzle and bs.nn.__all__ and 'nn' in dir(bs)\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_name_is_an_attribute_error() -> None:
    import burnside

    with pytest.raises(AttributeError, match="no attribute 'quotent'"):
        burnside.quotent  # noqa: B018


if __name__ == "__main__" and "--write" in sys.argv:
    LISTING.write_text("\n".join(listing()) + "\n", encoding="utf-8")
