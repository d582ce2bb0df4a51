"""The public API, frozen: every public name with its parameters stands in ``public_api.txt``.

A name that disappears or changes its parameters breaks programs of others, and needs a line in CHANGELOG.md; a new one
is a promise. Either way the file is written again by hand: ``python tests/test_public_api.py --write``.
"""

import importlib
import inspect
import sys
from pathlib import Path

import pytest

LISTING = Path(__file__).with_name("public_api.txt")

#: Packages whose ``__all__`` is public. What is not listed here may change without notice.
PACKAGES = (
    "burnside",
    "burnside.errors",
    "burnside.groups",
    "burnside.mdp",
    "burnside.theory",
    "burnside.learning",
    "burnside.symmetry",
    "burnside.envs",
    "burnside.envs.cube",
    "burnside.canonical",
    "burnside.nn",
    "burnside.nn.flow",
    "burnside.agents",
    "burnside.agents.cube_values",
    "burnside.agents.dqn",
    "burnside.agents.flow_ppo",
    "burnside.agents.ppo",
    "burnside.search",
    "burnside.runs",
    "burnside.stats",
    "burnside.report",
)


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


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_can_be_had_and_is_documented(package: str) -> None:
    module = importlib.import_module(package)
    assert len(set(module.__all__)) == len(module.__all__)
    for name in module.__all__:
        value = getattr(module, name)
        speaks = inspect.isclass(value) or inspect.isfunction(value) or inspect.ismodule(value)
        assert not speaks or inspect.getdoc(value), f"{package}.{name} says nothing about itself"


def test_the_root_lists_what_it_loads_lazily() -> None:
    import burnside

    assert set(burnside._WHERE) <= set(burnside.__all__) and set(burnside.__all__) <= set(dir(burnside))
    with pytest.raises(AttributeError, match="no attribute 'quotent'"):
        burnside.quotent  # noqa: B018


if __name__ == "__main__" and "--write" in sys.argv:
    LISTING.write_text("\n".join(listing()) + "\n", encoding="utf-8")
