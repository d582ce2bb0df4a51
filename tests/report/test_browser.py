"""The report in a real browser: Debian's Chromium, headless, driven by Playwright.

It renders without an error on the console, its buttons and orbits work, nothing overlaps or runs out of the page at the
width of a phone and of a desk, and it prints. BURNSIDE_SCREENSHOTS=docs/images writes the pictures of the docs again.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from burnside.cli.doctor import chromium
from burnside.report.claims import counts, load
from burnside.report.reproduce import reproduce

playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright (pip install playwright)")
if chromium() is None:
    pytest.skip("needs the package chromium (on Debian: apt install chromium)", allow_module_level=True)

WIDTHS = {"phone": (390, 844), "desk": (1280, 900)}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ledger and the theory part, with the orbit view."""
    folder = tmp_path_factory.mktemp("report")
    outcome = reproduce(folder, preset="smoke", only=["theory"])
    assert outcome.exit_code == 0
    return outcome.path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as p:
        found = p.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        yield found
        found.close()


@pytest.fixture
def page(browser: Any, report: Path) -> Iterator[Any]:
    """The report, opened offline; a message of an error, or any request but for the file itself, fails the test."""
    context = browser.new_context(viewport=dict(zip(("width", "height"), WIDTHS["desk"], strict=True)))
    context.set_offline(True)
    opened = context.new_page()
    troubles: list[str] = []
    opened.on("console", lambda m: troubles.append(m.text) if m.type in ("error", "warning") else None)
    opened.on("pageerror", lambda error: troubles.append(str(error)))
    opened.on("request", lambda r: troubles.append(r.url) if not r.url.startswith(("file:", "data:")) else None)
    opened.goto(report.as_uri())
    yield opened
    context.close()
    assert troubles == []


def test_it_renders(page: Any) -> None:
    assert page.title().startswith("Burnside")
    assert page.locator("section").count() == 2 and page.locator("section#claims article").count() == len(load())
    links = page.locator("nav.toc a")
    assert links.count() == 2
    links.nth(1).click()
    assert page.url.endswith("#theory") and page.evaluate("window.scrollY") > 1000


def test_buttons_hide_and_show_a_verdict(page: Any) -> None:
    for verdict, number in counts(load()).items():
        button = page.locator(f'.verdicts button[data-verdict="{verdict}"]')
        rows = page.locator(f'.claim[data-verdict="{verdict}"]')
        assert rows.count() == number and rows.first.is_visible() and str(number) in button.inner_text()
        button.click()
        assert button.get_attribute("aria-pressed") == "false" and not rows.first.is_visible()
        assert page.locator(".claim:visible").count() == len(load()) - number
        button.focus()
        page.keyboard.press("Enter")
        assert button.get_attribute("aria-pressed") == "true" and rows.last.is_visible()


def test_an_orbit_lights_up_with_its_members(page: Any) -> None:
    view = page.locator(".orbits").first
    before = view.locator(".status").inner_text()
    node = view.locator("svg g[data-orbit][role=button]").nth(40)
    orbit = node.get_attribute("data-orbit")
    node.scroll_into_view_if_needed()
    node.hover()
    said = view.locator(".status").inner_text()
    assert said != before and f"orbit {orbit}" in said


OVERLAPS = """
() => {
  const boxes = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (!node.data.trim() || node.parentElement.closest('svg, script, style, .scroll')) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    let top = -Infinity, bottom = Infinity;  // what a box that scrolls shows
    for (let e = node.parentElement; e; e = e.parentElement)
      if (e !== document.body && getComputedStyle(e).overflowY !== 'visible') {
        const r = e.getBoundingClientRect();
        top = Math.max(top, r.top);
        bottom = Math.min(bottom, r.bottom);
      }
    for (const r of range.getClientRects())
      if (r.width > 1 && r.height > 1 && Math.min(r.bottom, bottom) - Math.max(r.top, top) > 1)
        boxes.push([r.left, Math.max(r.top, top), r.right, Math.min(r.bottom, bottom), node.data.trim().slice(0, 40)]);
  }
  boxes.sort((a, b) => a[1] - b[1]);
  const found = [];
  for (let i = 0; i < boxes.length; i++)
    for (let j = i + 1; j < boxes.length && boxes[j][1] < boxes[i][3]; j++) {
      const wide = Math.min(boxes[i][2], boxes[j][2]) - Math.max(boxes[i][0], boxes[j][0]);
      const high = Math.min(boxes[i][3], boxes[j][3]) - boxes[j][1];
      if (wide > 2 && high > 6) found.push(boxes[i][4] + ' | ' + boxes[j][4]);
    }
  return {found: found.slice(0, 5), boxes: boxes.length};
}
"""


CONTRAST = """
() => {
  const light = c => {
    const linear = x => x <= .04045 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4;
    const v = c.match(/[\\d.]+/g).slice(0, 3).map(x => linear(x / 255));
    return .2126 * v[0] + .7152 * v[1] + .0722 * v[2] + .05;
  };
  const ground = light(getComputedStyle(document.body).backgroundColor);
  const ratios = [...document.querySelectorAll('.badge')].map(e => light(getComputedStyle(e).color) / ground);
  return Math.min(...ratios.map(r => Math.max(r, 1 / r)));
}
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("place", list(WIDTHS))
def test_nothing_overlaps_or_runs_out_of_the_page(page: Any, place: str, scheme: str) -> None:
    width, height = WIDTHS[place]
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme)
    found = page.evaluate(OVERLAPS)
    assert found["boxes"] > 300 and found["found"] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    colours = page.evaluate("[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]")
    brightness = [sum(int(v) for v in c.replace(" ", "").split("(")[1].rstrip(")").split(",")[:3]) for c in colours]
    assert (brightness[0] < brightness[1]) == (scheme == "light"), colours
    assert page.evaluate(CONTRAST) >= 4.5, "WCAG AA asks for that much between text and ground"
    if (place, scheme) in (("desk", "light"), ("phone", "dark")):
        keep(page, f"report-{place}.png")
        if place == "desk":
            keep(page.locator(".orbits .panels").first, "report-orbits.png")


def keep(what: Any, name: str) -> None:
    """Write a picture for the documentation if that was asked for, in few colours."""
    if folder := os.environ.get("BURNSIDE_SCREENSHOTS"):
        from PIL import Image

        path = Path(folder) / name
        what.screenshot(path=path)
        Image.open(path).convert("RGB").quantize(64).save(path, optimize=True)


def test_it_prints(page: Any) -> None:
    page.locator(".verdicts button").first.click()
    page.emulate_media(media="print")
    assert page.locator(".claim").first.is_visible() and not page.locator(".verdicts").is_visible()
    pdf = page.pdf(format="A4")
    assert pdf.startswith(b"%PDF") and len(pdf) > 50_000
