"""The page builder: one file, text escaped, sections linked."""

import re
from pathlib import Path

import pytest

from burnside.errors import UnreadableFile
from burnside.report.front import Card, _markup
from burnside.report.page import Html, Page, escape, figure, table
from burnside.report.plots import Plot


def test_sections_are_linked_and_distinct() -> None:
    page = Page("A <b>title</b>", lead="1 < 2")
    page.section("First part", "<p>one</p>").section("First part").text("two & three").section("Third", id="x")
    text = page.render()
    assert "<title>A &lt;b&gt;title&lt;/b&gt;</title>" in text and "1 &lt; 2" in text and "two &amp; three" in text
    ids = re.findall(r'<section id="([^"]*)">', text)
    assert ids == ["first-part", "first-part-2", "x"]
    assert re.findall(r'href="#([^"]*)"', text) == ids


def test_table() -> None:
    text = table(["name", "n", "ok", "x"], [["<i>", 3, True, 0.123456], ["b", None, False, None]], caption="c & d")
    assert "&lt;i&gt;" in text and "<td>yes</td>" in text and "0.1235" in text and "c &amp; d" in text
    assert '<td class="n">3</td>' in text and '<td class="n">–</td>' in text
    assert table(["a", "b"], [["6.667", "Z5"], ["–", "x"], ["4.4e-16", "1"], ["10^246.8", ""]]).count('class="n"') == 5
    assert "<b>kept</b>" in table(["x"], [[Html("<b>kept</b>")]])
    with pytest.raises(ValueError):
        table(["a", "b"], [[1]])


def test_figure_drops_the_prologue() -> None:
    text = figure('<?xml version="1.0"?>\n<!DOCTYPE svg>\n<svg><g/></svg>', "a < b")
    assert text == "<figure><svg><g/></svg><figcaption>a &lt; b</figcaption></figure>"


def test_page_collects_each_style_and_script_once() -> None:
    page = Page("t").style("p{}").style("p{}").script("1;").script("1;").script("2;")
    text = page.table(["a"], [[1]]).figure("<svg></svg>").render()
    assert text.count("p{}") == 1 and text.count("<script>") == 2
    assert not re.search(r"https?://", text)


def test_write(tmp_path: Path) -> None:
    path = Page("M̄").write(tmp_path / "new" / "index.html")
    assert "M̄" in path.read_text(encoding="utf-8")
    with pytest.raises(UnreadableFile):
        Page("x").write(path / "below-a-file.html")


def test_escape_is_for_attributes_too() -> None:
    assert escape("\"'") == "&quot;&#x27;"
    assert escape(escape("<")) == "&lt;"


def test_the_front_page_links_to_no_tab_that_is_not_there() -> None:
    """`burnside reproduce --only theory` has the pictures of all studies, and the tabs of one part."""
    card = Card("What is saved?", "atlas", "A lot.", Plot("saved", "", "<?xml?><svg>drawn</svg>", b"", (), ()))
    there, elsewhere = _markup(card), _markup(card, there=False)
    assert there.count('href="#atlas"') == 3 and 'aria-label="What is saved?: to the tab atlas"' in there
    assert "href" not in elsewhere and "<svg>drawn</svg>" in elsewhere and "burnside table atlas" in elsewhere
