"""The map of the source tree, enforced: layer order, folder docstrings, unsafe calls, machine paths."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[1]
ROOT = REPO / "src" / "burnside"

# Lowest first. A layer may import those before it and itself; a new folder must be placed here (and in
# CONTRIBUTING.md) before anything else works.
LAYERS: list[tuple[str, ...]] = [
    (
        "errors",
        "_configs",
        "_types",
        "_version",
        "_archives",
        "_checkpoints",
        "_compiled",
        "_files",
        "_lazy",
        "_progress",
        "_random",
        "_random_kernels",
        "_resources",
        "_terminal",
        "_wrappers",
    ),
    ("stats",),
    ("groups",),
    ("mdp",),
    ("theory",),
    ("learning",),
    ("symmetry",),
    ("envs",),
    ("canonical",),
    ("testing",),
    ("nn",),
    ("agents",),
    ("search",),
    ("runs",),
    ("experiments",),
    ("report",),
    ("burnside",),  # the root __init__: a lazy façade over everything below, which only the top may import
    ("cli",),
    ("__main__",),
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
SOURCES = sorted(ROOT.rglob("*.py"))
FOLDERS = sorted({path.parent for path in SOURCES})


def where(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def layer_of(dotted: list[str]) -> str:
    """The layer of a module path inside the package: [] and unknown names belong to the root façade."""
    return dotted[0] if dotted and dotted[0] in LEVEL else "burnside"


def imports(tree: ast.Module, relative: Path) -> Iterator[tuple[int, str, str]]:
    """(line, what is written, layer it reaches) of every import of our own package, wherever it stands."""
    package = list(relative.parent.parts)  # burnside.mdp.zoo.ring -> [mdp, zoo]; also right for an __init__
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                head, *rest = alias.name.split(".")
                if head == "burnside":
                    yield node.lineno, f"import {alias.name}", layer_of(rest)
        elif isinstance(node, ast.ImportFrom):
            module = node.module.split(".") if node.module else []
            if node.level:
                base = package[: len(package) - (node.level - 1)] + module
            elif module and module[0] == "burnside":
                base = module[1:]
            else:
                continue
            for alias in node.names:
                written = f"from {'.' * node.level}{node.module or ''} import {alias.name}"
                yield node.lineno, written, layer_of([*base, alias.name])
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            value = node.args[0].value
            if called in ("import_module", "__import__") and str(value).split(".")[0] == "burnside":
                yield node.lineno, f"{called}({value!r})", layer_of(str(value).split(".")[1:])


def violations(source: str, relative: Path) -> list[str]:
    """Sentences about the imports in one file that go up."""
    own = relative.parts[0].removesuffix(".py")
    if own == "__init__":
        return []  # the root may import anything (lazily: see test_packaging)
    if own not in LEVEL:
        return [f"{relative.as_posix()}: '{own}' is in no layer: place it in LAYERS of tests/test_layers.py"]
    return [
        f"{relative.as_posix()}:{line}: '{written}' reaches up from layer '{own}' into '{target}'"
        for line, written, target in imports(ast.parse(source), relative)
        if LEVEL[target] > LEVEL[own]
    ]


def unsafe(source: str) -> list[tuple[int, str]]:
    """Uses of pickles and of evaluated text: data files must never be able to run code."""
    found = []
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        for name in names:
            if name.split(".")[0] in {
                "pickle",
                "cPickle",
                "_pickle",
                "cloudpickle",
                "dill",
                "shelve",
                "joblib",
            }:
                found.append((node.lineno, f"import of {name}"))
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in {"eval", "exec"}:
                found.append((node.lineno, f"{node.func.id}()"))
            for keyword in node.keywords:
                value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
                if keyword.arg == "allow_pickle" and value is not False:
                    found.append((node.lineno, "allow_pickle"))
                if keyword.arg == "weights_only" and value is not True:
                    found.append((node.lineno, "weights_only"))
    return found


def has_machine_path(text: str) -> re.Match[str] | None:
    """An absolute path of somebody's machine (a web address with such a part does not count)."""
    return re.search(r"(?<![\w.~-])/(?:work|root|home)/[\w.]", text)


def text_files() -> list[Path]:
    """What git tracks or would track; without git, what is not hidden or generated."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        listing = subprocess.run(command, cwd=REPO, capture_output=True, check=True, text=True).stdout
        paths = [REPO / name for name in listing.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        generated = {"report", "runs", "site", "build", "dist", "__pycache__"}
        paths = [
            path
            for path in REPO.rglob("*")
            if not any(p.startswith(".") or p in generated for p in path.relative_to(REPO).parts[:-1])
        ]
    return [path for path in paths if path.is_file() and b"\0" not in path.read_bytes()[:4096]]


def test_there_is_something_to_check() -> None:
    assert len(SOURCES) > 2
    assert len(text_files()) > 10


@pytest.mark.parametrize("path", SOURCES, ids=where)
def test_no_layer_imports_a_higher_one(path: Path) -> None:
    assert not (found := violations(path.read_text(), path.relative_to(ROOT))), "\n".join(found)


def test_every_folder_and_module_is_in_the_map() -> None:
    present = {p.stem if p.suffix == ".py" else p.name for p in ROOT.iterdir() if p.suffix == ".py" or p in FOLDERS}
    unplaced = present - set(LEVEL) - {"__init__"}
    assert not unplaced, f"not in LAYERS of tests/test_layers.py: {', '.join(sorted(unplaced))}"


def test_contributing_shows_the_same_map() -> None:
    text = (REPO / "CONTRIBUTING.md").read_text()
    positions = [
        text.find(f"`{name}`") for names in LAYERS[1:] for name in names if name not in ("burnside", "__main__")
    ]
    assert -1 not in positions, "CONTRIBUTING.md leaves a layer out"
    assert positions == sorted(positions), "CONTRIBUTING.md lists the layers in another order"


@pytest.mark.parametrize("folder", FOLDERS, ids=where)
def test_every_folder_explains_itself(folder: Path) -> None:
    init = folder / "__init__.py"
    assert init.is_file(), f"{where(folder)}/ has no __init__.py"
    doc = ast.get_docstring(ast.parse(init.read_text())) or ""
    lines = [line for line in doc.splitlines() if line.strip()]
    assert len(lines) >= 2, f"{where(init)}: say in two lines or more what lives here and what it may import"


@pytest.mark.parametrize("path", sorted((ROOT / "agents").rglob("*.py")), ids=where)
def test_no_learner_imports_another(path: Path) -> None:
    """What learners share is in ``agents.common``, which imports none of them."""
    own = path.relative_to(ROOT / "agents").parts[0]
    if path.parent == ROOT / "agents":
        return  # the list of learners
    found = re.findall(r"(?:from|import) burnside\.agents\.(\w+)", path.read_text())
    others = set(found) - {own} - ({"common"} if own != "common" else set())
    assert not others, f"{where(path)} imports from {', '.join(sorted(others))}: move what they share to agents.common"


@pytest.mark.parametrize("path", SOURCES, ids=where)
def test_nothing_unpickles_or_evaluates(path: Path) -> None:
    found = [f"{where(path)}:{line}: {what}" for line, what in unsafe(path.read_text())]
    assert not found, "\n".join(found)


def test_no_machine_paths() -> None:
    found = []
    for path in text_files():
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1):
            if has_machine_path(line):
                found.append(f"{path.relative_to(REPO).as_posix()}:{number}: {line.strip()[:100]}")
    assert not found, "\n".join(found)


# The checkers themselves, on sources that are wrong on purpose.


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("groups/finite.py", "import burnside.mdp"),
        ("groups/finite.py", "import burnside.theory.bounds as b"),
        ("groups/finite.py", "from burnside.mdp import TabularMDP"),
        ("groups/finite.py", "from burnside import mdp"),
        ("groups/finite.py", "from burnside import Group"),
        ("groups/finite.py", "import burnside"),
        ("groups/finite.py", "from ..mdp.tabular import TabularMDP"),
        ("groups/finite.py", "from .. import mdp"),
        ("groups/__init__.py", "from ..mdp import TabularMDP"),
        ("mdp/zoo/ring.py", "from ...theory import audit"),
        ("errors.py", "from .groups import Group"),
        ("mdp/tabular.py", "def f():\n    from burnside.theory import audit"),
        ("mdp/tabular.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..nn import Layer"),
        ("mdp/tabular.py", "import importlib\nimportlib.import_module('burnside.cli')"),
        ("stats/times.py", "from burnside.report.html import page"),
        ("report/html.py", "from ..cli import main"),
        ("invented/thing.py", "x = 1"),
    ],
)
def test_checker_sees_a_violation(file: str, source: str) -> None:
    found = violations(source, Path(file))
    assert len(found) == 1
    assert file in found[0]
    if "invented" not in file:
        assert f"{file}:{len(source.splitlines())}: " in found[0]


@pytest.mark.parametrize(
    ("file", "source"),
    [
        (
            "mdp/tabular.py",
            "import numpy\nfrom burnside.groups import Group\nfrom ..errors import InvalidModel",
        ),
        (
            "mdp/zoo/ring.py",
            "from ..tabular import TabularMDP\nfrom ...groups import Group\nfrom . import torus",
        ),
        ("groups/__init__.py", "from .finite import Group\nfrom . import action"),
        ("groups/finite.py", "from burnside import errors\nfrom .. import _types"),
        ("cli.py", "from burnside import __version__\nfrom .theory import audit"),
        ("__main__.py", "from burnside.cli import main"),
        ("__init__.py", "from .cli import main"),
    ],
)
def test_checker_lets_good_imports_pass(file: str, source: str) -> None:
    assert violations(source, Path(file)) == []


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from pickle import load",
        "import numpy as np\nnp.load(f, allow_pickle=True)",
        "import numpy as np\nnp.load(f, allow_pickle=flag)",
        "torch.load(f, weights_only=False)",
        "eval('1 + 1')",
    ],
)
def test_checker_sees_unsafe_calls(source: str) -> None:
    assert len(unsafe(source)) == 1


def test_checker_lets_safe_calls_pass() -> None:
    assert unsafe("np.load(f, allow_pickle=False)\nmodel.eval()\ntorch.load(f, weights_only=True)\n'pickle'") == []


def test_checker_sees_machine_paths() -> None:
    for top in ("work", "root", "home"):
        assert has_machine_path(f"data in /{top}/somebody")
        assert has_machine_path(f"file:///{top}/x")
        assert not has_machine_path(f"https://example.org/{top}/page")
        assert not has_machine_path(f"src/{top}/x")
