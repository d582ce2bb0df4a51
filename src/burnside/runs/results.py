"""Reading results, from the folder of a sweep or from its compact form; and making the compact form.

The compact form is a folder small enough to be committed: ``rows.parquet`` (or ``rows.csv`` without polars) with one
row per seed as a rule, ``NAME.parquet`` (or ``NAME.npz``) per table of the cells, and ``manifest.json``.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from burnside._files import write_atomically, write_text
from burnside._types import AnyArray
from burnside.errors import InvalidParameter, MissingExtra, UnreadableFile
from burnside.runs.cells import FORMAT, Cell
from burnside.runs.checkpoint import read_arrays, write_arrays
from burnside.runs.folder import CellFolder
from burnside.runs.manifest import read_plans

__all__ = ["Results", "committed", "compact", "read_results"]

Row = dict[str, Any]


@dataclass(frozen=True)
class Results:
    """Finished cells as long-form tables.

    Attributes:
        rows: one dict per row of the results: ``cell``, the scalars of its config, and what the job returned.
        missing: titles of planned cells without a result; there are some only if that was allowed.
        manifest: where they come from.
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
        return _read_columns(source) if isinstance(source, Path) else _join(name, source)


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
    about = {
        "cells": [cell.identity | {"name": cell.name, "label": cell.label} for cell in cells],
        "cell_seconds": {folder.name: folder.about().get("seconds") for folder, _ in found},
    }
    return Results(rows, missing, manifest | about, tables)


def committed(experiment: str) -> Path | None:
    """Where the committed results of an experiment are: ``results/`` here, or that of the checkout we run from.

    >>> committed("no such experiment") is None
    True
    """
    places = [Path("results") / experiment, Path(__file__).resolve().parents[3] / "results" / experiment]
    return next((place for place in places if (place / "manifest.json").exists()), None)


def compact(
    folder: str | Path,
    out: str | Path,
    *,
    preset: str | None = None,
    allow_missing: bool = False,
    format: Literal["auto", "parquet", "csv"] = "auto",
    add: bool = False,
) -> Path:
    """Write the compact form of a sweep's folder; ``auto`` takes parquet if polars is installed, else CSV and npz.

    ``add`` keeps the cells that compact results in ``out`` have and this folder does not.
    """
    results = read_results(folder, preset=preset, allow_missing=allow_missing)
    target = Path(out)
    if add and (target / "manifest.json").exists():
        results = _added(read_results(target, allow_missing=True), results)
    parquet = format == "parquet" or (format == "auto" and _polars() is not None)
    columns = _columns(results.rows)
    types = {key: _type_name(results.rows, key) for key in columns}
    files = [_write_table(target, "rows", columns, True) if parquet else _write_csv(target / "rows.csv", results.rows)]
    files += [_write_table(target, name, results.table(name), parquet) for name in results.tables]
    manifest = {
        **{key: value for key, value in results.manifest.items() if key != "format"},
        "format": FORMAT,
        "kind": "compact",
        "missing": list(results.missing),
        "types": types,
        "files": [path.name for path in files],
    }
    write_text(target / "manifest.json", json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    return target


def _added(old: Results, new: Results) -> Results:
    """Both together; a cell that both have is taken from the new ones."""
    cells = {cell["name"]: cell for results in (old, new) for cell in results.manifest["cells"]}
    names, before = _finished(new), _finished(old)

    def joined(name: str) -> dict[str, AnyArray]:
        parts = []
        for results, kept in ((old, False), (new, True)):
            if name in results.tables:
                columns = results.table(name)
                mine = np.isin(columns["cell"], sorted(names)) == kept
                parts.append({key: column[mine] for key, column in columns.items()})
        if {frozenset(part) for part in parts} != {frozenset(parts[0])}:
            raise InvalidParameter(f"table {name!r} has other columns than the results it is to be added to")
        return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}

    manifest = {
        **old.manifest,
        "sweeps": [*old.manifest.get("sweeps", []), *new.manifest.get("sweeps", [])],
        "cells": list(cells.values()),
        "cell_seconds": {**old.manifest.get("cell_seconds", {}), **new.manifest.get("cell_seconds", {})},
    }
    rows = [row for row in old.rows if row["cell"] not in names] + new.rows
    missing = tuple(Cell.from_dict(cell).title for name, cell in cells.items() if name not in names | before)
    return Results(rows, missing, manifest, {name: joined(name) for name in {*old.tables, *new.tables}})


def _finished(results: Results) -> set[str]:
    """Names of the cells that have a result; a cell's rows may be none."""
    return {*results.manifest.get("cell_seconds", {}), *(row["cell"] for row in results.rows)}


def _manifest(top: Path) -> dict[str, Any]:
    path = top / "manifest.json"
    if not path.exists():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError
    except (OSError, ValueError):
        raise UnreadableFile(f"the manifest {path} is damaged or of another version") from None
    return content


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
    """The tables of several cells below one another, with the cell's name and the scalars of its config."""
    parts: list[dict[str, AnyArray]] = []
    for folder in folders:
        own = folder.table(name)
        length = len(next(iter(own.values()))) if own else 0
        base = {"cell": folder.name, **_scalars(folder.cell.config)}
        parts.append({key: np.full(length, v) for key, v in base.items() if v is not None and key not in own} | own)
    keys = list(parts[0])
    for folder, part in zip(folders, parts, strict=True):
        if set(part) != set(keys):
            raise InvalidParameter(f"table {name!r} of {folder.cell.title} has other columns than the cells before it")
    return {key: np.concatenate([part[key] for part in parts]) for key in keys}


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
    """CSV in which None is an empty field and a string is quoted, so that an empty string is another thing."""
    columns = _columns(rows)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([None if row.get(key) is None else json.dumps(row[key]) for key in columns])
    return write_text(path, text.getvalue())


def _read_compact(top: Path, manifest: dict[str, Any], allow_missing: bool) -> Results:
    try:
        files = [top / str(name) for name in manifest["files"]]
        missing = tuple(map(str, manifest["missing"]))
        planned = len(manifest["cells"])
    except (KeyError, TypeError):
        raise UnreadableFile(f"the manifest {top / 'manifest.json'} is damaged or of another version") from None
    _check_missing(missing, planned, top, allow_missing)
    tables = {path.stem: path for path in files if path.stem != "rows"}
    source = next((path for path in files if path.stem == "rows"), top / "rows.parquet")
    if not source.exists():
        raise UnreadableFile(f"the file {source} is missing")
    if source.suffix == ".csv":
        return Results(_read_csv(source, manifest), missing, manifest, tables)
    try:
        rows = _frame(source).to_dicts()
    except MissingExtra:
        raise
    except Exception as error:  # polars has its own errors for every kind of damage
        raise UnreadableFile(f"the file {source} cannot be read ({type(error).__name__})") from None
    return Results(rows, missing, manifest, tables)


def _read_csv(path: Path, manifest: dict[str, Any]) -> list[Row]:
    types = manifest.get("types", {})

    def value(key: str, text: str) -> Any:
        if text == "":
            return None
        found = json.loads(text)
        return float(found) if types.get(key) == "float" else found

    try:
        with open(path, encoding="utf-8", newline="") as file:
            return [{key: value(key, text) for key, text in row.items()} for row in csv.DictReader(file)]
    except (OSError, ValueError, TypeError) as error:
        raise UnreadableFile(f"the file {path} cannot be read ({type(error).__name__}: {error})") from None


def _frame(path: Path) -> Any:
    polars = _polars()
    if polars is None:
        raise MissingExtra("polars", "learn")
    return polars.read_parquet(path)


def _read_columns(path: Path) -> dict[str, AnyArray]:
    if path.suffix == ".npz":
        return read_arrays(path)[0]
    frame = _frame(path)
    columns = {name: frame[name].to_numpy() for name in frame.columns}
    return {name: column.astype(str) if column.dtype == object else column for name, column in columns.items()}
