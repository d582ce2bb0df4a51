"""``reproduce``: run the parts one after the other and write ``index.html``; a part that fails is shown as failed."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from burnside.errors import UnknownName
from burnside.report.mistakes import mistakes_part
from burnside.report.page import Page
from burnside.report.ring1d import ring1d_part
from burnside.report.theory import theory_part

__all__ = ["PARTS", "Outcome", "Part", "Preset", "reproduce"]

Preset = Literal["smoke", "laptop", "study", "paper"]


@dataclass(frozen=True)
class Part:
    """One part of the report.

    Attributes:
        title: heading of its section.
        run: adds its results to the page; gets the preset, a function ``report(done, total)``, and the folder.
    """

    title: str
    run: Callable[[Page, Preset, Callable[[int, int], None], Path], None]


PARTS: dict[str, Part] = {
    "theory": Part("What the symmetries save: verified quotients and exact counts", theory_part),
    "mistakes": Part("Sample complexity, measured: mistakes on M and on its quotient", mistakes_part),
    "ring1d": Part("The 1D cyclic game: DQN with and without canonicalization (Table 1, Fig. 4a)", ring1d_part),
}


@dataclass
class Outcome:
    """What :func:`reproduce` did: where the report is, how long each part took, and what failed."""

    path: Path
    seconds: dict[str, float] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


def reproduce(
    out: str | Path = "report",
    *,
    preset: Preset = "laptop",
    only: Sequence[str] = (),
    progress: Callable[[str, int, int], None] | None = None,
) -> Outcome:
    """Run the parts and write ``out/index.html``.

    Args:
        out: folder of the report.
        preset: how much to run; see the documentation.
        only: names of parts; all of them if empty.
        progress: called with (part, done, total).
    """
    for name in only:
        if name not in PARTS:
            raise UnknownName("part of the report", name, PARTS)
    chosen = [name for name in PARTS if not only or name in only]
    page = Page(
        "Burnside: sample complexity under symmetry",
        lead=f"What this machine computed with the preset '{preset}'. Every table says how to get it again.",
    )
    outcome = Outcome(Path(out) / "index.html")
    for name in chosen:
        part = PARTS[name]
        began = time.perf_counter()

        def report(done: int, total: int, name: str = name) -> None:
            if progress is not None:
                progress(name, done, total)

        page.section(part.title, id=name)
        try:
            part.run(page, preset, report, Path(out))
        except Exception as error:  # any failure of one part must not cost the others
            outcome.failed[name] = f"{type(error).__name__}: {error}"
            page.text(f"This part failed: {outcome.failed[name]}")
            page.html(f"<pre>{_last_frames(error)}</pre>")
        outcome.seconds[name] = time.perf_counter() - began
        page.text(f"Run again with: burnside reproduce --preset {preset} --only {name}")
    page.write(outcome.path)
    return outcome


def _last_frames(error: BaseException) -> str:
    from burnside.report.page import escape

    return escape("".join(traceback.format_exception(error)[-6:]))
