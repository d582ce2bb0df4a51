"""All commands as one union, for the parser."""

from __future__ import annotations

from typing import Annotated

import tyro

from burnside.cli.atlas import Atlas
from burnside.cli.audit import Audit, Minimise, Zoo
from burnside.cli.check import Check
from burnside.cli.claims import Claims
from burnside.cli.completion import Completion
from burnside.cli.demos import Demos
from burnside.cli.discover import Discover
from burnside.cli.doctor import Doctor
from burnside.cli.export import Export
from burnside.cli.lint import Lint
from burnside.cli.measure import Measure
from burnside.cli.reproduce import Reproduce
from burnside.cli.show import Show
from burnside.cli.solve import Solve
from burnside.cli.sweep import Sweep, Table
from burnside.cli.theory import Bounds, Cover
from burnside.cli.train import Train

__all__ = ["Command"]

Command = (
    Annotated[Audit, tyro.conf.subcommand(name="audit")]
    | Annotated[Show, tyro.conf.subcommand(name="show")]
    | Annotated[Minimise, tyro.conf.subcommand(name="minimise")]
    | Annotated[Zoo, tyro.conf.subcommand(name="zoo")]
    | Annotated[Check, tyro.conf.subcommand(name="check")]
    | Annotated[Discover, tyro.conf.subcommand(name="discover")]
    | Annotated[Lint, tyro.conf.subcommand(name="lint")]
    | Annotated[Atlas, tyro.conf.subcommand(name="atlas")]
    | Annotated[Export, tyro.conf.subcommand(name="export")]
    | Annotated[Measure, tyro.conf.subcommand(name="measure")]
    | Annotated[Bounds, tyro.conf.subcommand(name="bounds")]
    | Annotated[Cover, tyro.conf.subcommand(name="cover")]
    | Annotated[Sweep, tyro.conf.subcommand(name="sweep")]
    | Annotated[Table, tyro.conf.subcommand(name="table")]
    | Annotated[Train, tyro.conf.subcommand(name="train")]
    | Annotated[Solve, tyro.conf.subcommand(name="solve")]
    | Annotated[Demos, tyro.conf.subcommand(name="demos")]
    | Annotated[Reproduce, tyro.conf.subcommand(name="reproduce")]
    | Annotated[Claims, tyro.conf.subcommand(name="claims")]
    | Annotated[Doctor, tyro.conf.subcommand(name="doctor")]
    | Annotated[Completion, tyro.conf.subcommand(name="completion")]
)
