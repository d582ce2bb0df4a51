"""The report in a real browser: Debian's Chromium, headless, driven by Playwright.

It renders without an error on the console, its buttons, orbits, curves and cubes work, nothing overlaps or runs out of
the page at the width of a phone and of a desk, names of users stay names, and it prints.

BURNSIDE_REPORT=report/index.html looks at a report that is there instead of making one of the first part only, and
BURNSIDE_SCREENSHOTS=docs/images writes the pictures of the documentation again.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from burnside.cli.reproduce_parts import reproduce
from burnside.cli.tools import chromium
from burnside.mdp import Symmetry, TabularMDP, quotient
from burnside.report.claims import counts, load
from burnside.report.graphs import orbit_view
from burnside.report.page import Page
from burnside.report.plots import plot

playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright (make install)")
if chromium() is None:
    pytest.skip(
        "needs a chromium that works (make browser, or on Debian: apt install chromium)", allow_module_level=True
    )

WIDTHS = {"phone": (390, 844), "desk": (1280, 900)}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ledger and the theory part, with the orbit view; or a report that is there already."""
    if there := os.environ.get("BURNSIDE_REPORT"):
        return Path(there).resolve(strict=True)
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


@contextlib.contextmanager
def opened(browser: Any, path: Path) -> Iterator[Any]:
    """A page, opened offline; a message of an error, or any request but for the file itself, fails the test."""
    context = browser.new_context(viewport=dict(zip(("width", "height"), WIDTHS["desk"], strict=True)))
    context.set_offline(True)
    found = context.new_page()
    troubles: list[str] = []
    found.on("console", lambda m: troubles.append(m.text) if m.type in ("error", "warning") else None)
    found.on("pageerror", lambda error: troubles.append(str(error)))
    found.on("dialog", lambda dialog: (troubles.append(dialog.message), dialog.dismiss()))
    found.on("request", lambda r: troubles.append(r.url) if not r.url.startswith(("file:", "data:")) else None)
    found.goto(path.as_uri())
    yield found
    context.close()
    assert troubles == []


@pytest.fixture
def page(browser: Any, report: Path) -> Iterator[Any]:
    """The report."""
    with opened(browser, report) as found:
        yield found


def test_it_renders(page: Any) -> None:
    assert page.title().startswith("Burnside")
    sections = page.locator("main > section").count()
    assert sections >= 2 and page.locator("section#claims article").count() == len(load())
    assert page.locator("nav.toc a").count() == sections + 1, "a tab for each, and one for everything"
    assert page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id).filter(x => !x).length") == 0


def test_tabs_show_one_section_or_everything(page: Any) -> None:
    tabs, sections = page.locator("nav.tabs [role=tab]"), page.locator("main > section")
    chosen = page.locator("nav.tabs [aria-selected=true]")
    assert chosen.inner_text() == "Everything" and all(s.is_visible() for s in sections.all())
    theory = page.locator("nav.tabs a[href='#theory']")
    assert theory.inner_text() == "theory", "tabs are short, their titles are in the sections"
    assert theory.get_attribute("aria-label") == page.locator("section#theory h2").inner_text()
    theory.click()
    assert page.url.endswith("#theory") and page.locator("section#theory").is_visible()
    assert not page.locator("section#claims").is_visible() and chosen.count() == 1
    page.keyboard.press("ArrowLeft")
    assert page.locator("section#claims").is_visible() and not page.locator("section#theory").is_visible()
    page.evaluate("location.hash = 'theory'")  # as a link inside the page does
    page.wait_for_function("document.querySelector('section#theory').checkVisibility()")
    page.emulate_media(media="print")
    assert all(s.is_visible() for s in sections.all()), "paper shows everything"
    page.emulate_media(media="screen")
    chosen.focus()
    page.keyboard.press("Home")
    assert all(s.is_visible() for s in sections.all()) and "#" not in page.url
    page.mouse.wheel(0, 5000)
    page.wait_for_function("window.scrollY > 1000")
    assert tabs.first.bounding_box()["y"] < 60, "the bar stays in sight"
    page.locator("nav.tabs a[href='#theory']").click()
    page.reload()
    assert page.locator("section#theory").is_visible() and not page.locator("section#claims").is_visible()


def test_curves_are_switched_off_and_on(browser: Any, tmp_path: Path) -> None:
    """Two plots on a page: a button hides its curve and what belongs to it, in its own plot only; paper shows all."""
    path = two_plots().write(tmp_path / "plots.html")
    with opened(browser, path) as page:
        first, second = page.locator("figure").nth(0), page.locator("figure").nth(1)
        button = first.locator(".arms button", has_text="canonical")
        mine, others = first.locator('[data-arm="canonical"]'), first.locator('[data-arm="baseline"]')
        assert first.locator(".arms button").count() == 2 and mine.count() == 2 and others.count() == 2
        button.click()
        assert button.get_attribute("aria-pressed") == "false" and not mine.nth(0).is_visible()
        assert not mine.nth(1).is_visible(), "the band goes with its curve"
        assert others.nth(0).is_visible() and second.locator('[data-arm="canonical"]').nth(0).is_visible()
        page.emulate_media(media="print")
        assert mine.nth(0).is_visible() and not button.is_visible()
        page.emulate_media(media="screen")
        button.focus()
        page.keyboard.press("Space")
        assert button.get_attribute("aria-pressed") == "true" and mine.nth(0).is_visible()


def two_plots() -> Page:
    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for label, colour in (("baseline", "#d55e00"), ("canonical", "#0072b2")):
            axes.plot([0, 1, 2], [0, 1, 3], color=colour, label=label)
            axes.fill_between([0, 1, 2], [0, 0, 1], [1, 2, 4], color=colour, alpha=0.2)

    page = Page("Plots", contents=False)
    for name in ("one", "two"):
        page.figure(plot(name, name, draw, ("x",), []).svg, name)
    return page


EVIL = "<script>alert('ha')</script><img src=x onerror=alert(1)>\"'"


def test_names_of_users_stay_names(browser: Any, tmp_path: Path) -> None:
    """A model, its states and actions, a symmetry, a curve and a section named like an attack run nothing."""
    names = [f"{EVIL}{k}" for k in "ab"]
    mdp = TabularMDP([[0, 1], [1, 0]], [0, 0], [1, 0], 2, name=EVIL, state_names=names)
    halves = quotient(mdp, Symmetry([[1, 0]], [[1, 0]], name=EVIL))

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for label in (EVIL, "other"):
            axes.plot([0, 1], [0, 1], label=label)
        axes.set_title(EVIL)
        axes.legend()

    page = Page(EVIL).section(EVIL, id="one").text(EVIL).table([EVIL], [[EVIL]], EVIL)
    orbit_view(page, mdp, halves, symmetry_name=EVIL)
    page.section(EVIL).figure(plot("x", EVIL, draw, (EVIL,), []).svg, EVIL)
    with opened(browser, page.write(tmp_path / "evil.html")) as found:
        assert found.locator("h1").inner_text() == EVIL and found.locator("img").count() == 0
        found.locator(".arms button").first.click()
        assert not found.locator("[data-arm]").first.is_visible()
        node = found.locator(".orbits svg g[data-orbit][role=button]").first
        node.hover()
        assert EVIL in found.locator(".orbits .status").inner_text()
        assert found.locator("script").count() == 2


def test_buttons_hide_and_show_a_status_and_an_outcome(page: Any) -> None:
    claims = load()
    for axis, numbers in counts(claims).items():
        for name, number in numbers.items():
            button = page.locator(f'.verdicts button[data-axis="{axis}"][data-name="{name}"]')
            rows = page.locator(f'.claim[data-{axis}="{name}"]')
            assert rows.count() == number and rows.first.is_visible() and str(number) in button.inner_text()
            button.click()
            assert button.get_attribute("aria-pressed") == "false" and not rows.first.is_visible()
            assert page.locator(".claim:visible").count() == len(claims) - number
            button.focus()
            page.keyboard.press("Enter")
            assert button.get_attribute("aria-pressed") == "true" and rows.last.is_visible()
    # both together: what either button hides is hidden, and shown again only when both are on
    wrong, exact = (page.locator(f'.verdicts button[data-name="{name}"]') for name in ("wrong", "computed exactly"))
    wrong.click()
    exact.click()
    left = sum(claim.status != "wrong" and claim.ours != "computed exactly" for claim in claims)
    assert page.locator(".claim:visible").count() == left
    exact.click()
    assert page.locator(".claim:visible").count() == sum(claim.status != "wrong" for claim in claims)
    wrong.click()
    assert page.locator(".claim:visible").count() == len(claims)


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
            curves = page.locator("section#ring3d figure:has(.arms)")  # of this machine, then of the study
            keep(curves.nth(curves.count() // 2), "report-curves.png")
            keep(page.locator(".cube-player").first, "report-cube.png")


def keep(what: Any, name: str) -> None:
    """Write a picture for the documentation if requested and available, in few colours."""
    folder = os.environ.get("BURNSIDE_SCREENSHOTS")
    if folder and (not hasattr(what, "count") or what.count()):
        from PIL import Image

        path = Path(folder) / name
        what.screenshot(path=path)
        Image.open(path).convert("RGB").quantize(64).save(path, optimize=True)


def test_it_prints(page: Any) -> None:
    page.locator(".verdicts button").first.click()
    page.emulate_media(media="print")
    assert page.locator(".claim").first.is_visible() and not page.locator(".verdicts").first.is_visible()
    pdf = page.pdf(format="A4")
    assert pdf.startswith(b"%PDF") and len(pdf) > 50_000
