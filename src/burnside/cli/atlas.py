"""``burnside atlas``: environments and their symmetries, listed, explained and checked again."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from burnside.cli.console import error_console, output, print_json, progress, styled, table
from burnside.errors import InvalidParameter, UnknownName
from burnside.symmetry.atlas import CLAIMS, AtlasEntry, entries, find_entries, write_entries

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Atlas"]

_COLOURS = {"holds": "green", "refuted": "bold red", "inconclusive": "yellow", "": "dim"}


@dataclass(frozen=True)
class Atlas:
    """List environments and their symmetries, explain one of them, or check again what is installed.

    Exit code 1 if --check finds something else than what is stored, 2 on bad input, else 0.
    """

    env: Annotated[str, tyro.conf.Positional] = ""
    """An id such as Walker2d-v5, which is explained, or a part of some ids, which are listed."""
    family: str = ""
    """Only this family: toy text, classic control, Box2D, MuJoCo, dm_control, MiniGrid, PettingZoo, Burnside."""
    claim: str = ""
    """Only entries that claim this: symmetry, nearly (up to 1e-4), dynamics (not the reward) or none."""
    verdict: str = ""
    """Only entries whose check said this: holds, refuted or inconclusive."""
    check: bool = False
    """Check every entry whose package is installed, and compare with what is stored. Some seconds for each."""
    write: bool = False
    """With --check: store what was found, in the atlas of this installation."""
    samples: int | None = None
    """With --check: places of each kind that are tried; default as stored."""
    json: bool = False
    """Print one JSON object."""

    def run(self) -> int:
        """Run the command."""
        if self.claim and self.claim not in CLAIMS:
            raise UnknownName("claim", self.claim, CLAIMS)
        if self.verdict and self.verdict not in _COLOURS:
            raise UnknownName("verdict", self.verdict, [word for word in _COLOURS if word])
        if self.write and not self.check:
            raise InvalidParameter("--write stores what --check finds: give both")
        if self.samples is not None and self.samples < 1:
            raise InvalidParameter(f"samples must be at least 1, got {self.samples}")
        found = find_entries(self.env, family=self.family, claim=self.claim, verdict=self.verdict)
        exact = [entry for entry in found if entry.env == self.env]
        found = exact or found
        if not found:
            if self.env and not find_entries(self.env):
                raise UnknownName("environment of the atlas", self.env, dict.fromkeys(e.env for e in entries()))
            raise InvalidParameter("no entry is like that: leave out --family, --claim or --verdict")
        if self.check:
            return self._check(found)
        if self.json:
            print_json({"entries": [_plain(entry, entry.measured) for entry in found]})
        elif exact:
            for entry in exact:
                _explain(entry)
        else:
            _list(found)
        return 0

    def _check(self, chosen: list[AtlasEntry]) -> int:
        from burnside.canonical.atlas import EXTRAS, differences, is_installed, measure_entry

        rows: list[dict[str, Any]] = []
        new: dict[tuple[str, str], Mapping[str, Any]] = {}
        with progress("checking") as update:
            for k, entry in enumerate(chosen):
                update(k, len(chosen))
                if not is_installed(entry):
                    why = f"not installed: pip install 'burnside[{EXTRAS[entry.family][0]}]'"
                    rows.append(_plain(entry, entry.measured) | {"status": "not installed", "differences": [why]})
                    continue
                measured = measure_entry(entry, samples=self.samples)
                new[entry.env, entry.symmetry] = measured
                told = replace(entry, measured=measured) if self.write else entry
                wrong = differences(told, measured)
                status = "differs" if wrong else "agrees"
                rows.append(_plain(entry, measured) | {"status": status, "differences": wrong})
        if self.write:
            write_entries(
                replace(entry, measured=new.get((entry.env, entry.symmetry), entry.measured)) for entry in entries()
            )
        counts = {name: sum(row["status"] == name for row in rows) for name in ("agrees", "differs", "not installed")}
        if self.json:
            print_json(
                {
                    "entries": rows,
                    "checked": counts["agrees"] + counts["differs"],
                    "disagreeing": counts["differs"],
                    "not_installed": counts["not installed"],
                }
            )
        else:
            _show_check(rows, counts)
        return 1 if counts["differs"] else 0


# ---------------------------------------------------------------------- what is printed


def _plain(entry: AtlasEntry, measured: Mapping[str, Any]) -> dict[str, Any]:
    """An entry for programs."""
    declared = entry.declaration
    components = measured.get("components") or {}
    return {
        "env": entry.env,
        "family": entry.family,
        "symmetry": entry.symmetry,
        "claim": entry.claim,
        "group": entry.group or None,
        "order": measured.get("order"),
        "observation": declared.get("observation"),
        "action": declared.get("action"),
        "state": declared.get("state"),
        "verdict": measured.get("verdict"),
        "components": {name: dict(part) for name, part in components.items()},
        "breakers": list(measured.get("breakers", ())),
        "method": measured.get("method"),
        "versions": dict(measured.get("versions", {})),
        "source": entry.source,
        "note": entry.note,
    }


def _list(found: list[AtlasEntry]) -> None:
    console = output()
    rows = table("environment", "symmetry", "group", "dynamics", "reward", "ends", "reset")
    for entry in found:
        parts = entry.measured.get("components", {})
        words = [parts.get(name, {}).get("verdict", "") for name in ("dynamics", "reward", "termination", "reset")]
        rows.add_row(
            entry.env,
            entry.symmetry if entry.claim != "none" else f"none ({entry.symmetry} fails)",
            entry.group or "–",
            *(styled((word or "–", _COLOURS[word])) for word in words),
        )
    console.print(rows)
    with_symmetry = sum(entry.claim == "symmetry" for entry in found)
    count = "1 entry" if len(found) == 1 else f"{len(found)} entries"
    console.print(f"{count}, {with_symmetry} with a symmetry; burnside atlas ENV explains one")


def _explain(entry: AtlasEntry) -> None:
    console = output()
    console.print(styled((entry.env, "bold"), f" ({entry.family}): {entry.symmetry}"), soft_wrap=True)
    console.print(f"claim: {entry.claim}, it {CLAIMS[entry.claim]}", soft_wrap=True)
    console.print(f"because of: {entry.source}", soft_wrap=True)
    if entry.note:
        console.print(f"note: {entry.note}", soft_wrap=True)
    if entry.make:
        console.print("made with: " + ", ".join(f"{key}={value!r}" for key, value in entry.make.items()))
    for key in ("group", "observation", "action", "state", "domain"):
        if key in entry.declaration:
            value = entry.declaration[key]
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            console.print(f"{key}: {text if len(text) < 400 else text[:400] + ' …'}", soft_wrap=True, markup=False)
    if entry.factory:
        console.print(f"made by: {entry.factory}", markup=False)
    measured = entry.measured
    if not measured:
        console.print("not checked yet: burnside atlas --check")
        return
    rows = table("", "verdict", "largest difference")
    for name, part in measured["components"].items():
        eps = "–" if part["eps"] is None else f"{part['eps']:.3g}"
        rows.add_row(name, styled((part["verdict"], _COLOURS[part["verdict"]])), eps)
    console.print(rows)
    if measured["breakers"]:
        named = ", ".join(f"{b['what']} ({b['amount']:.3g})" for b in measured["breakers"] if b["amount"] is not None)
        console.print(f"what breaks it: {named}", soft_wrap=True, markup=False)
    versions = ", ".join(f"{name} {version}" for name, version in measured["versions"].items())
    console.print(
        f"checked with {versions}: {measured['method']}, {measured['checked']} places, at most "
        f"{100 * measured['max_failure_rate']:g} % of them may fail at 99 % confidence",
        soft_wrap=True,
    )
    if entry.claim in ("symmetry", "nearly"):
        console.print(f'use it: CanonicalEnv(gym.make("{entry.env}"))', markup=False)


def _show_check(rows: list[dict[str, Any]], counts: Mapping[str, int]) -> None:
    console = output()
    shown = table("environment", "symmetry", "verdict", "as stored")
    for row in rows:
        colour = {"agrees": "green", "differs": "bold red"}.get(row["status"], "dim")
        verdict = row["verdict"] or ""
        shown.add_row(
            row["env"], row["symmetry"], styled((verdict or "–", _COLOURS[verdict])), styled((row["status"], colour))
        )
    console.print(shown)
    for row in rows:
        for text in row["differences"] if row["status"] == "differs" else ():
            error_console().print(f"{row['env']}: {text}", soft_wrap=True, markup=False)
    words = ", ".join(f"{count} {name}" for name, count in counts.items())
    console.print(words)
