"""``burnside reproduce`` with three small parts in place of the real ones, for tests that kill and stop it."""

import sys
from pathlib import Path

from tests.runs.toy import ToyJob, snapshot

from burnside.cli import main
from burnside.cli import reproduce_parts as module
from burnside.cli.reproduce_parts import Part
from burnside.report.page import Page


def toy(page: Page, preset: str, folder: Path, out: Path) -> None:
    for name, content in sorted(snapshot(folder).items()):
        page.text(f"{name}: {content!r}")


if __name__ == "__main__":
    module.PARTS.clear()
    module.PARTS.update(
        first=Part("First", lambda page, *_: page.text("the first one")),
        toy=Part("Toy", toy, job=ToyJob(pause=0.005)),
        last=Part("Last", lambda page, *_: page.text("the last one")),
    )
    sys.exit(main(["reproduce", "--preset", "smoke", *sys.argv[1:]]))
