"""Reading results, from the folder of a sweep or from its compact form; and making the compact form.

The compact form is a folder small enough to be committed: ``rows.parquet`` (or ``rows.csv`` without polars) usually
with one row per seed, ``NAME.parquet`` (or ``NAME.npz``) per table of the cells, and ``manifest.json``, which also
holds the checksums of the others: a file that was cut short or changed is noticed before it is parsed.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np

from burnside._checkpoints import read_arrays, write_arrays
from burnside._files import from_parquet, read_bytes, read_json, write_atomically, write_text
from burnside._types import AnyArray
from burnside.errors import DamagedFile, InvalidParameter, MissingExtra, UnreadableFile
from burnside.runs.cells import FORMAT, Cell, ours, plain
from burnside.runs.folder import CellFolder, check_columns
from burnside.runs.manifest import read_plans

__all__ = ["Results", "committed", "compact", "read_results", "unfinished"]

Row = dict[str, Any]

#: What cells cost: keys of the manifest, and what they are called in a cell's own ``about.json``.
SPENT = {"cell_seconds": "seconds", "cell_processor_seconds": "processor_seconds"}
#: Bytes of the largest file of compact results that is read.
LARGEST_RESULTS = 2**30


@dataclass(frozen=True)
class Results:
    """Finished cells as long-form tables.

    Attributes:
        rows: one dict per row of the results: ``cell``, the scalars of its config, and what the job returned.
        missing: titles of planned cells without a result; there are some only if that was allowed.
        manifest: where they come from.

    >>> found = Results([{"cell": "a", "seed": 0, "mean": 3.4}], missing=(), manifest={})
    >>> found.rows[0]["mean"], found.tables
    (3.4, [])
    """

    rows: list[Row]
    missing: tuple[str, ...]
    manifest: dict[str, Any]
    _tables: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def tables(self) -> list[str]:
        """Names of the tables beside the rows."""
        return sorted(self._tables)

    def table(self, name: str) -> dict[str, AnyArray]:
        """A table as columns: ``cell``, the scalars of the config, and what the job saved under this name."""
        if name not in self._tables:
            raise UnreadableFile(
                f"there is no table {name!r} in these results, only: {', '.join(self.tables) or 'none'}"
            )
        source = self._tables[name]
        if isinstance(source, dict):
            return source
        return _read_columns(source) if isinstance(source, _File) else _join(name, source)


def read_results(folder: str | Path, *, preset: str | None = None, allow_missing: bool = False) -> Results:
    """The results in a folder, of a sweep or compact; a planned cell that is missing is an error unless allowed.

    Args:
        folder: of the sweep, or the compact form.
        preset: only the cells of this preset, if several were run in one folder.
        allow_missing: pass over missing cells.
    """
    top = Path(folder)
    manifest = _manifest(top)
    if manifest.get("kind") == "compact":
        return _read_compact(top, manifest, allow_missing)
    cells = read_plans(top, preset)
    folders = [CellFolder(top, cell) for cell in cells]
    found = [(folder, result) for folder in folders if (result := folder.result()) is not None]
    names = {folder.name for folder, _ in found}
    missing = tuple(cell.title for cell in cells if cell.name not in names)
    _check_missing(missing, len(cells), top, allow_missing)
    rows = [row for folder, result in found for row in _rows(folder.cell, result)]
    tables: dict[str, list[CellFolder]] = {}
    for cell_folder, _ in found:
        for name in cell_folder.tables():
            tables.setdefault(name, []).append(cell_folder)
    spent = {folder.name: folder.about() for folder, _ in found}
    about = {
        "cells": [cell.identity | {"name": cell.name, "label": cell.label} for cell in cells],
        **{key: {name: of.get(spend) for name, of in spent.items()} for key, spend in SPENT.items()},
    }
    return Results(rows, missing, manifest | about, tables)


def committed(experiment: str) -> Path | None:
    """Where the committed results of an experiment are: in ``results/`` here or in our checkout, or in the wheel.

    >>> committed("no such experiment") is None
    True
    """
    checkout, package = Path(__file__).resolve().parents[3], Path(str(files("burnside")))
    places = [top / "results" / experiment for top in (Path(), checkout, package)]
    marks = ("manifest.json", f"{experiment}.csv")  # a compact sweep, or a table of the report
    return next((place for place in places if any((place / mark).exists() for mark in marks)), None)


def unfinished(experiment: str) -> Path | None:
    """Where a study that has not finished is kept in our checkout; None if there is none.

    >>> unfinished("no such experiment") is None
    True
    """
    folder = Path(__file__).resolve().parents[3] / "results" / "under-way" / experiment
    return folder if folder.is_dir() else None


def compact(
    folder: str | Path,
    out: str | Path,
    *,
    preset: str | None = None,
    allow_missing: bool = False,
    format: Literal["auto", "parquet", "csv"] = "auto",
    add: bool = False,
    replace: bool = False,
) -> Path:
    """Write the compact form of a sweep's folder; ``auto`` takes parquet if polars is installed, else CSV and npz.

    Everything is read before the first file is written. Results in ``out`` that this folder does not have are not lost
    by accident: without ``add`` or ``replace`` they are a reason to refuse.

    Args:
        folder: of the sweep.
        out: where the compact form goes.
        preset: only the cells of this preset.
        allow_missing: pass over cells without a result.
        format: of the tables.
        add: keep the cells that results in ``out`` have and this folder does not.
        replace: drop them.
    """
    if add and replace:
        raise InvalidParameter("add keeps the results that are there and replace drops them: give one of them")
    results = read_results(folder, preset=preset, allow_missing=allow_missing)
    target = Path(out)
    if not replace and target.resolve() != Path(folder).resolve() and (target / "manifest.json").exists():
        results = _beside(target, results, add)
    parquet = format == "parquet" or (format == "auto" and _polars() is not None)
    columns = _columns(results.rows)
    types = {key: _type_name(results.rows, key) for key in columns}
    tables = {name: results.table(name) for name in results.tables}
    files = [_write_table(target, "rows", columns, True) if parquet else _write_csv(target / "rows.csv", results.rows)]
    files += [_write_table(target, name, table, parquet) for name, table in tables.items()]
    manifest = {
        **{key: value for key, value in results.manifest.items() if key != "format"},
        "format": FORMAT,
        "kind": "compact",
        "missing": list(results.missing),
        "types": types,
        "files": [path.name for path in files],
        "sha256": {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files},
    }
    write_text(target / "manifest.json", json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    return target


def _beside(target: Path, new: Results, add: bool) -> Results:
    """The results to write where there are some already; refuses to drop any."""
    choice = "--add keeps them, --replace drops them"
    if _manifest(target).get("kind") != "compact":
        raise InvalidParameter(f"{target} is the folder of a sweep, not of compact results: choose another one")
    try:
        old = read_results(target, allow_missing=True)
    except DamagedFile as error:
        raise DamagedFile(f"results in {target} cannot be read ({error}); --replace drops them") from None
    if add:
        return _added(old, new)
    lost = _finished(old) - _finished(new)
    if lost:
        raise InvalidParameter(f"{target} has results of {len(lost)} cells that this run does not have: {choice}")
    return new


def _added(old: Results, new: Results) -> Results:
    """Both together; a cell that both have is taken from the new ones."""
    cells = {cell["name"]: cell for results in (old, new) for cell in results.manifest["cells"]}
    names, before = _finished(new), _finished(old)
    settings = {key for cell in cells.values() for key in _scalars(cell["config"])}

    def joined(name: str) -> dict[str, AnyArray]:
        parts = []
        for results, kept in ((old, False), (new, True)):
            if name in results.tables:
                columns = results.table(name)
                mine = np.isin(columns["cell"], sorted(names)) == kept
                parts.append({key: column[mine] for key, column in columns.items()})
        # as where cells are joined: of their settings, a table has those that all cells have
        partial = {key for key in settings if len({key in part for part in parts}) > 1}
        parts = [{key: column for key, column in part.items() if key not in partial} for part in parts]
        if {frozenset(part) for part in parts} != {frozenset(parts[0])}:
            raise InvalidParameter(f"table {name!r} has other columns than the results it is to be added to")
        return _stacked(name, parts)

    manifest = {
        **old.manifest,
        "sweeps": [*old.manifest.get("sweeps", []), *new.manifest.get("sweeps", [])],
        "cells": list(cells.values()),
        **{key: {**old.manifest.get(key, {}), **new.manifest.get(key, {})} for key in SPENT},
    }
    rows = [row for row in old.rows if row["cell"] not in names] + new.rows
    missing = tuple(Cell.from_dict(cell).title for name, cell in cells.items() if name not in names | before)
    return Results(rows, missing, manifest, {name: joined(name) for name in {*old.tables, *new.tables}})


def _finished(results: Results) -> set[str]:
    """Names of the cells that have a result; a cell may have no rows."""
    return {*results.manifest.get("cell_seconds", {}), *(row["cell"] for row in results.rows)}


def _manifest(top: Path) -> dict[str, Any]:
    path = top / "manifest.json"
    if not path.exists():
        return {}
    try:
        content = read_json(path)
        if not isinstance(content, dict) or not ours(content.get("format")):
            raise DamagedFile("no manifest")
        _check_manifest(plain(content, "the manifest"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        if isinstance(error, UnreadableFile) and not isinstance(error, DamagedFile):
            raise
        again = "make it again with 'burnside table … --compact'"
        if (top / "cells").is_dir():  # of a sweep, which writes a new one
            again = "delete it, and run the command that made it again; no finished cell is lost"
        raise DamagedFile(f"the manifest {path} is damaged or of another version: {again}") from None
    return content


def _check_manifest(content: dict[str, Any]) -> None:
    """Refuse a manifest whose parts are not what they should be; the names of its files stay in its folder."""
    kinds = {"sweeps": list, "cells": list, "missing": list, "files": list, "sha256": dict, "types": dict}
    for key, kind in (kinds | dict.fromkeys(SPENT, dict)).items():
        if not isinstance(content.get(key, kind()), kind):
            raise DamagedFile(f"{key} is no {kind.__name__}")
    for cell in content.get("cells", []):
        if Cell.from_dict(cell).name != cell["name"]:
            raise DamagedFile("a cell has another name than its config makes")
    for name in content.get("files", []):
        stem, _, suffix = name.partition(".")
        if not stem.isidentifier() or suffix not in ("parquet", "csv", "npz"):
            raise DamagedFile(f"{name!r} is not the name of a results file")
    if content.get("kind") == "compact" and not {"files", "missing", "cells"} <= set(content):
        raise DamagedFile("a key is missing")


def _check_missing(missing: tuple[str, ...], planned: int, where: Path, allowed: bool) -> None:
    if missing and not allowed:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise UnreadableFile(
            f"{len(missing)} of {planned} cells in {where} have no result ({'; '.join(missing[:3])}{more}): run the "
            f"sweep again to finish them, or allow missing cells (--allow-missing)"
        )


def _rows(cell: Cell, result: Mapping[str, Any]) -> Iterable[Row]:
    """The rows of a result, each with the cell's name and the scalars of its config."""
    base = {"cell": cell.name, **_scalars(cell.config)}
    own = result.get("rows")
    for row in [_scalars(result)] if own is None else own:
        clash = [key for key in row if key in base and row[key] != base[key]]
        if clash:
            raise InvalidParameter(f"a result of {cell.title} says {clash[0]}={row[clash[0]]!r}, its config otherwise")
        yield base | row


def _scalars(content: Mapping[str, Any]) -> Row:
    return {key: value for key, value in content.items() if not isinstance(value, (list, dict))}


def _join(name: str, folders: list[CellFolder]) -> dict[str, AnyArray]:
    """The tables of several cells, concatenated, with the cell's name and those scalars of its config that all have."""
    tables = [folder.table(name) for folder in folders]
    for folder, own in zip(folders, tables, strict=True):
        if set(own) != set(tables[0]):
            raise InvalidParameter(f"table {name!r} of {folder.cell.title} has other columns than the cells before it")
    bases = [{"cell": folder.name, **_scalars(folder.cell.config)} for folder in folders]
    # a setting may be plain text in one cell and a whole declaration in another
    shared = [key for key in bases[0] if all(base.get(key) is not None for base in bases) and key not in tables[0]]
    parts = []
    for base, own in zip(bases, tables, strict=True):
        length = len(next(iter(own.values()))) if own else 0
        parts.append({key: np.full(length, base[key]) for key in shared} | own)
    return _stacked(name, parts)


def _stacked(name: str, parts: list[dict[str, AnyArray]]) -> dict[str, AnyArray]:
    """Concatenate tables with the same columns."""
    try:
        return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    except TypeError:  # numbers below text
        raise InvalidParameter(f"a column of table {name!r} has different types in different cells") from None


def _columns(rows: list[Row]) -> dict[str, list[Any]]:
    keys = list(dict.fromkeys(key for row in rows for key in row))
    return {key: [row.get(key) for row in rows] for key in keys}


def _type_name(rows: list[Row], key: str) -> str:
    """The type of a column, for reading CSV back; mixed whole numbers and floats are floats."""
    kinds = {type(row[key]).__name__ for row in rows if row.get(key) is not None}
    if kinds <= {"int", "float"} and len(kinds) == 2:
        return "float"
    if len(kinds) > 1:
        raise InvalidParameter(f"the column {key!r} mixes {' and '.join(sorted(kinds))}: keep one type per column")
    return next(iter(kinds), "str")


def _polars() -> Any:
    try:
        import polars
    except ImportError:
        return None
    return polars


def _write_table(target: Path, name: str, columns: Mapping[str, Any], parquet: bool) -> Path:
    if not parquet:
        return write_arrays(target / f"{name}.npz", columns, {"table": name})
    polars = _polars()
    if polars is None:
        raise MissingExtra("polars", "learn")
    frame = polars.DataFrame(dict(columns), strict=False)
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", compression_level=12)
    return write_atomically(target / f"{name}.parquet", lambda file: file.write(buffer.getvalue()))


def _write_csv(path: Path, rows: list[Row]) -> Path:
    """CSV in which None is an empty field and a string is quoted, so that an empty string is distinct."""
    columns = _columns(rows)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([None if row.get(key) is None else json.dumps(row[key]) for key in columns])
    return write_text(path, text.getvalue())


def _read_compact(top: Path, manifest: dict[str, Any], allow_missing: bool) -> Results:
    checksums = manifest.get("sha256", {})
    files = [_File(top / name, checksums.get(name)) for name in manifest["files"]]
    missing = tuple(map(str, manifest["missing"]))
    _check_missing(missing, len(manifest["cells"]), top, allow_missing)
    tables = {file.path.stem: file for file in files if file.path.stem != "rows"}
    source = next((file for file in files if file.path.stem == "rows"), _File(top / "rows.parquet"))
    if source.path.suffix == ".csv":
        return Results(_read_csv(source, manifest), missing, manifest, tables)
    rows = _frame(source, lambda frame: frame.to_dicts())
    return Results(_plain_rows(source, rows), missing, manifest, tables)


@dataclass(frozen=True)
class _File:
    """A file of compact results, and its checksum if the manifest has one."""

    path: Path
    sha256: str | None = None

    def content(self) -> bytes:
        """All of it, if it is what was written."""
        content = read_bytes(self.path, LARGEST_RESULTS)
        if self.sha256 is not None and hashlib.sha256(content).hexdigest() != self.sha256:
            raise self.damaged("it is not the one that was written")
        return content

    def damaged(self, why: str) -> DamagedFile:
        """The sentence about it."""
        return DamagedFile(f"the file {self.path} is damaged ({why}): restore it, or make the compact results again")


def _plain_rows(source: _File, rows: list[Row]) -> list[Row]:
    """Rows of scalars, which is what was written."""
    try:
        return [_row(row) for row in rows]
    except InvalidParameter as error:
        raise source.damaged(str(error)) from None


def _row(row: Row) -> Row:
    found: Row = plain(row, "a row")
    if any(isinstance(value, (list, dict)) for value in found.values()) or not isinstance(found.get("cell"), str):
        raise InvalidParameter("a row has no cell, or holds more than scalars")
    return found


def _read_csv(source: _File, manifest: dict[str, Any]) -> list[Row]:
    types = manifest.get("types", {})

    def value(key: str, text: str) -> Any:
        if text == "":
            return None
        found = json.loads(text)
        return float(found) if types.get(key) == "float" else found

    try:
        file = io.StringIO(source.content().decode("utf-8"), newline="")
        rows = [{key: value(key, text) for key, text in row.items()} for row in csv.DictReader(file, strict=True)]
    except (ValueError, TypeError, RecursionError, OverflowError, csv.Error) as error:
        if isinstance(error, UnreadableFile):
            raise
        raise source.damaged(type(error).__name__) from None
    return _plain_rows(source, rows)


def _frame(source: _File, take: Callable[[Any], Any]) -> Any:
    """What ``take`` makes of a parquet file."""
    if _polars() is None:
        raise MissingExtra("polars", "learn")
    content = source.content()
    try:
        return from_parquet(content, take)
    except DamagedFile as error:
        raise source.damaged(str(error)) from None


def _read_columns(source: _File) -> dict[str, AnyArray]:
    if source.path.suffix == ".npz":
        source.content()
        try:
            return check_columns(read_arrays(source.path)[0])
        except DamagedFile as error:
            raise source.damaged(str(error)) from None

    def take(frame: Any) -> dict[str, AnyArray]:
        columns = {name: frame[name].to_numpy() for name in frame.columns}
        return {name: column.astype(str) if column.dtype == object else column for name, column in columns.items()}

    columns: dict[str, AnyArray] = _frame(source, take)
    return columns
