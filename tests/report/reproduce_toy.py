"""``burnside reproduce`` with three small parts in place of the real ones, for tests that kill and stop it."""

import sys
import time
from pathlib import Path

from tests.runs.toy import ToyJob, snapshot

from burnside.cli import main
from burnside.report import reproduce as module
from burnside.report.page import Page
from burnside.report.parts import Part, PartProgress, run_sweep


def counting(page: Page, preset: str, report: PartProgress, out: Path) -> None:
    for k in range(5):
        time.sleep(0.05)
        report(k + 1, 5)
    page.text("counted to five")


def toy(page: Page, preset: str, report: PartProgress, out: Path) -> None:
    folder = Path("runs") / "toy"
    run_sweep(ToyJob(pause=0.005), "laptop", folder, report)
    for name, content in sorted(snapshot(folder).items()):
        page.text(f"{name}: {content!r}")


def last(page: Page, preset: str, report: PartProgress, out: Path) -> None:
    page.text("the last one")


if __name__ == "__main__":
    module.PARTS.clear()
    module.PARTS.update(counting=Part("Counting", counting), toy=Part("Toy", toy), last=Part("Last", last))
    sys.exit(main(["reproduce", "--preset", "smoke", *sys.argv[1:]]))
