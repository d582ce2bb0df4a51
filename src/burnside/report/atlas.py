"""The page of the documentation that lists the atlas: one table for each family, written from its file."""

from __future__ import annotations

from burnside.report.tables import markdown
from burnside.symmetry.atlas import AtlasEntry, entries

__all__ = ["atlas_tables"]

_WORDS = {"holds": "holds", "refuted": "**refuted**", "inconclusive": "open", "": "–"}
_SHOWN = 3  # names of what breaks a symmetry


def atlas_tables() -> str:
    """The tables of all families, in the order of the file."""
    found = entries()
    families = dict.fromkeys(entry.family for entry in found)
    parts = [_counts(found)]
    for family in families:
        rows = [_row(entry) for entry in found if entry.family == family]
        heads = ["environment", "symmetry", "group", "dynamics", "reward", "ends", "reset", "what breaks it"]
        parts.append(f"## {family}\n\n{markdown(heads, rows)}\n\n{_versions(found, family)}")
    return "\n\n".join(parts)


def _counts(found: tuple[AtlasEntry, ...]) -> str:
    having = sum(entry.claim in ("symmetry", "nearly") for entry in found)
    none = sum(entry.claim == "none" for entry in found)
    names = len({entry.env for entry in found})
    return (
        f"{len(found)} entries for {names} environments: {having} symmetries, {none} that one might expect and that "
        f"do not hold, {len(found) - having - none} of the dynamics only."
    )


def _row(entry: AtlasEntry) -> list[str]:
    parts = entry.measured.get("components", {})
    cells = [_cell(parts.get(name, {})) for name in ("dynamics", "reward", "termination", "reset")]
    named = [str(b["what"]) for b in entry.measured.get("breakers", ()) if b["what"] != "law of reset"][:_SHOWN]
    why = ", ".join(named) + (f" ({entry.note.rstrip('.')})" if entry.note and named else "")
    name = entry.symmetry if entry.claim != "none" else f"none ({entry.symmetry})"
    return [f"`{entry.env}`", name, entry.group or "–", *cells, (why or entry.note or "–").replace("|", "\\|")]


def _cell(part: dict[str, object]) -> str:
    word = _WORDS[str(part.get("verdict", ""))]
    eps = part.get("eps")
    return f"{word}, {eps:.2g}" if isinstance(eps, float) and eps > 0 else word


def _versions(found: tuple[AtlasEntry, ...], family: str) -> str:
    versions: dict[str, str] = {}
    for entry in found:
        if entry.family == family:
            versions |= entry.measured.get("versions", {})
    return "Checked with " + ", ".join(f"{name} {version}" for name, version in versions.items()) + "."
