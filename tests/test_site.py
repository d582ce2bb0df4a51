"""The built documentation in a browser, served as a reader's server would: no other host, and a search that finds.

BURNSIDE_SCREENSHOTS=docs/images writes its picture again.
"""

import functools
import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from burnside.cli.tools import chromium

REPO = Path(__file__).resolve().parents[1]
playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright (make install)")
pytest.importorskip("material", reason="needs mkdocs-material (make install)")
pytestmark = pytest.mark.slow
if chromium() is None:
    pytest.skip("needs a chromium that works (make browser)", allow_module_level=True)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Requests are not news."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(build, cwd=REPO, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


def test_pages_show_and_the_search_finds(address: str) -> None:
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(120_000)
        troubles: list[str] = []
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda r: None if r.url.startswith((address, "data:", "blob:")) else troubles.append(r.url))
        page.goto(f"{address}/reference/canonical.html")
        assert "CanonicalEnv" in page.locator("main").inner_text()
        page.goto(f"{address}/index.html")
        page.keyboard.press("/")
        page.keyboard.type("fundamental domain")
        found = page.locator(".md-search-result__link")
        found.first.wait_for()
        assert any("declare-a-symmetry" in (link.get_attribute("href") or "") for link in found.all())
        if folder := os.environ.get("BURNSIDE_SCREENSHOTS"):
            page.screenshot(path=Path(folder) / "docs-search.png")
        browser.close()
        assert troubles == []
