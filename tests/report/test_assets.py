"""Scripts and style sheets are files under ``assets``, and parts of the report only draw."""

import ast
import re
from pathlib import Path

import pytest

REPORT = Path(__file__).resolve().parents[2] / "src/burnside/report"
SOURCES = sorted(REPORT.rglob("*.py"))
CODE = re.compile(r"addEventListener\(|\{\s*display\s*:|@media ")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(REPORT).as_posix())
def test_no_script_or_style_sheet_is_a_string(path: Path) -> None:
    strings = [
        node.value for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Constant)
    ]
    found = [text for text in strings if isinstance(text, str) and CODE.search(text)]
    assert not found, f"{path.name}: move it to assets/: {found[0][:60]!r}"


def test_the_check_itself() -> None:
    assert CODE.search(".claim{display:none}") and CODE.search("b.addEventListener('click', f)")


@pytest.mark.parametrize("name", ["mistakes", "ring1d", "ring3d", "cube", "planar", "robot"])
def test_parts_draw_and_run_nothing(name: str) -> None:
    text = (REPORT / f"{name}.py").read_text(encoding="utf-8")
    assert "run_sweep" not in text and "sweep(" not in text
