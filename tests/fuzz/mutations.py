"""Mutations of files: of their bytes, of the JSON in them, of the arrays in them. All from one random generator."""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
from random import Random
from typing import Any

import numpy as np
from numpy.lib import format as npy

#: Numbers at which something ends: of types, of memory, of what a model may have.
NUMBERS: list[Any] = [
    0, -1, 1, 2, 3, 255, 256, 2**15, 2**16, 2**20 - 1, 2**20, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**62, 2**63 - 1,
    2**63, 2**64, -(2**63), 10**9, 10**18, 10**30, 0.5, -0.5, 1.0, 1e-300, 5e-324, 1e17, 1e300, 1.7e308, -1.7e308,
]  # fmt: skip
VALUES: list[Any] = [
    None, True, False, "", "x", "0", "1.5", "[/x]", "\x1b[31m", "a\nb", "ä日本", "\ud800", "x" * 20_000, [], {}, [[]],
    [0], [None], {"a": 1}, {"": {}}, [1, "x"], [[0, 1.0]], "NaN", "burnside-mdp", 1,
]  # fmt: skip
#: Tokens that Python's own writer does not write, put in place of a marked string.
TOKENS = ["NaN", "Infinity", "-Infinity", "1e999", "-0.0", "9" * 5000, "9" * 400, "1e-400", "[" * 3000 + "]" * 3000,
          '{"a":' * 2000 + "0" + "}" * 2000, "01", "tru", "'x'", "\\u0000", ""]  # fmt: skip


def mutate_bytes(rng: Random, content: bytes, *, front: int = 400) -> bytes:
    """Flip, set, cut, double, insert, move; near the beginning more often, where headers are."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 10))):
        if not data:
            break
        at = rng.randrange(len(data) if rng.random() < 0.6 else min(len(data), front))
        if rng.random() < 0.2:
            at = max(0, len(data) - 1 - rng.randrange(front))  # tables of contents stand at the end
        match rng.randrange(9):
            case 0 | 1:
                data[at] ^= 1 << rng.randrange(8)
            case 2:
                data[at] = rng.randrange(256)
            case 3:
                number = rng.choice([n for n in NUMBERS if isinstance(n, int) and 0 <= n < 2**64])
                width = rng.choice((2, 4, 8))
                data[at : at + width] = (number % 2 ** (8 * width)).to_bytes(width, rng.choice(("little", "big")))
            case 4:
                del data[at:]
            case 5:
                del data[at : at + rng.randrange(1, 200)]
            case 6:
                data[at:at] = rng.randbytes(rng.randrange(1, 50))
            case 7:
                chunk = data[at : at + rng.randrange(1, 500)]
                data[at:at] = chunk * rng.choice((1, 1, 2, 50))
            case _:
                other = rng.randrange(len(data))
                size = rng.randrange(1, 100)
                data[at : at + size] = data[other : other + size]
    return bytes(data)


def mutate_json(rng: Random, content: bytes) -> bytes:
    """Change the structure: values, types, keys, lengths; in one case of five only the bytes of the text."""
    if rng.random() < 0.2:
        return mutate_bytes(rng, content)
    tree = json.loads(content)
    tokens: dict[str, str] = {}
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        tree = _change(rng, tree, tokens)
    text = json.dumps(tree, ensure_ascii=rng.random() < 0.5)
    for mark, token in tokens.items():
        text = text.replace(f'"{mark}"', token)
    return text.encode("utf-8", "surrogatepass")


def _change(rng: Random, tree: Any, tokens: dict[str, str]) -> Any:
    """One change at one place of a tree; places deep down are as likely as those on top."""
    places = list(_places(tree))
    if not places:
        return _value(rng, tree, tokens)
    holder, key = rng.choice(places)
    match rng.randrange(10):
        case 0 | 1 | 2 | 3:
            holder[key] = _value(rng, holder[key], tokens)
        case 4:
            del holder[key]
        case 5:
            other, name = rng.choice(places)
            if name in other if isinstance(other, dict) else name < len(other):
                holder[key] = json.loads(json.dumps(other[name]))
        case 6:
            holder[key] = [holder[key]] * rng.choice((0, 1, 2, 1000)) if rng.random() < 0.7 else {"a": holder[key]}
        case 7 if isinstance(holder, dict):
            holder[rng.choice((key + "x", "", key.upper(), *holder))] = holder.pop(key)
        case 8 if isinstance(holder, list):
            holder[:] = rng.choice((holder * 2, holder[::-1], holder[:1], holder * 300))
        case _:
            holder[key] = str(holder[key]) if rng.random() < 0.5 else _value(rng, holder[key], tokens)
    return tree


def _places(tree: Any) -> Any:
    if isinstance(tree, dict | list):
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield tree, key
            yield from _places(value)


def _value(rng: Random, old: Any, tokens: dict[str, str]) -> Any:
    kind = rng.randrange(5)
    if kind == 0 and isinstance(old, int | float):
        return old + rng.choice((-1, 1, 1e-9, 0.5, -2 * old))
    if kind <= 1:
        mark = f"@{len(tokens)}@"
        tokens[mark] = rng.choice(TOKENS)
        return mark
    return rng.choice(NUMBERS if kind <= 3 else VALUES)


# ---------------------------------------------------------------------- archives of arrays


def mutate_npz(rng: Random, content: bytes) -> bytes:
    """Change members and pack them again with right checksums; in a third of cases only the bytes of the archive."""
    if rng.random() < 0.33:
        return mutate_bytes(rng, content)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice(list(members))
        match rng.randrange(8):
            case 0:
                del members[name]
            case 1:
                members[rng.choice((name + "x", "x.npy", rng.choice(list(members))))] = members[name]
            case 2 if name.endswith(".json"):
                try:
                    members[name] = mutate_json(rng, members[name])
                except ValueError:  # it was changed before
                    members[name] = mutate_bytes(rng, members[name])
            case 2 | 3 | 4:
                members[name] = _array(rng, members[name])
            case 5 | 6:
                members[name] = _header(rng, members[name])
            case _:
                members[name] = mutate_bytes(rng, members[name], front=130)
        if not members:
            break
    out = io.BytesIO()
    method = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def _array(rng: Random, member: bytes) -> bytes:
    """Another array in place of one: type, shape or values changed."""
    try:
        array = npy.read_array(io.BytesIO(member), allow_pickle=False)
    except Exception:  # it was changed before
        return mutate_bytes(rng, member)
    with np.errstate(all="ignore"):
        match rng.randrange(8):
            case 0:
                kind = rng.choice(("f4", "i1", "u8", "i8", "c16", "U3", "S2", "?", "M8[s]", "f2", ">f8"))
                try:
                    array = array.astype(kind)
                except (ValueError, TypeError):
                    array = np.zeros(array.shape, kind)
            case 1:
                array = array.reshape(-1)[: rng.choice((0, 1, 2, array.size - 1))]
            case 2:
                array = np.concatenate([array.reshape(-1)] * rng.choice((2, 3, 50)))
            case 3:
                array = array.reshape(rng.choice(((1, -1), (-1, 1), (-1,), (1, 1, -1))))
            case 4:
                array = np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")])
            case _ if array.size and array.dtype.kind in "biuf":
                array = array.copy().reshape(-1)
                value = rng.choice([*NUMBERS, float("nan"), float("inf"), -7])
                if array.dtype.kind in "iu":
                    limits = np.iinfo(array.dtype)
                    value = int(min(max(0 if value != value else value, limits.min), limits.max))
                elif array.dtype.kind == "f":
                    value = float(value)
                array[rng.randrange(array.size)] = value
            case _:
                array = np.array(rng.choice(("", "x" * 20_000, "[/x]", "\x1b[2J")))
    out = io.BytesIO()
    npy.write_array(out, array, allow_pickle=False)
    return out.getvalue()


def _header(rng: Random, member: bytes) -> bytes:
    """Another header before the same bytes."""
    if len(member) < 10:
        return member
    length = struct.unpack("<H", member[8:10])[0]
    text, rest = member[10 : 10 + length], member[10 + length :]
    match rng.randrange(5):
        case 0:
            kinds = (b"'|O'", b"'<M8[ns]'", b"[('a', '<f8')]", b"'<f3'", b"'<U999999999'", b"1", b"'<i8'", b"'|b1'")
            text = re.sub(rb"'descr': '[^']*'", b"'descr': " + rng.choice(kinds), text)
        case 1:
            numbers = [b"-1,", b"9" * 30 + b",", b"1000000000000,", b"0,", b"4611686018427387904, 4,", b"", b"1,1,"]
            text = re.sub(rb"\([^)]*\)", b"(" + rng.choice(numbers) + b")", text)
        case 2:
            text = text.replace(b"False", rng.choice((b"True", b"None", b"exit()")))
        case 3:
            text = mutate_bytes(rng, text)
        case _:
            text = b"(" * 5000
    return member[:8] + struct.pack("<H", min(len(text), 65535)) + text[:65535] + rest


# ---------------------------------------------------------------------- other formats


def mutate_safetensors(rng: Random, content: bytes) -> bytes:
    """Change the header, or what is written in it as JSON once more; in a third of cases the bytes."""
    if rng.random() < 0.33:
        return mutate_bytes(rng, content)
    start = 8 + int.from_bytes(content[:8], "little")
    header = content[8:start]
    if rng.random() < 0.5:
        tree = json.loads(header)
        about = tree["__metadata__"]
        key = rng.choice(list(about))
        about[key] = rng.choice(("", "x", "-1", "3", "1e9", "\x1b[2J", "9" * 5000))
        if key == "config":
            about[key] = mutate_json(rng, json.loads(header)["__metadata__"][key].encode()).decode("utf-8", "replace")
        header = json.dumps(tree).encode()
    else:
        header = mutate_json(rng, header)
    return len(header).to_bytes(8, "little") + header + content[start:]


def mutate_lines(rng: Random, content: bytes) -> bytes:
    """Text in lines (TOML, CSV): lines dropped, doubled, swapped, values replaced; or its bytes."""
    if rng.random() < 0.4:
        return mutate_bytes(rng, content)
    lines = content.split(b"\n")
    for _ in range(rng.choice((1, 2, 5))):
        at = rng.randrange(len(lines))
        match rng.randrange(4):
            case 0:
                del lines[at]
                lines = lines or [b""]
            case 1:
                lines.insert(at, rng.choice(lines))
            case 2:
                before, sign, _ = lines[at].partition(rng.choice((b"=", b",")))
                lines[at] = before + sign + json.dumps(rng.choice(NUMBERS + VALUES)).encode()
            case _:
                lines[at] = rng.choice((b"[[", b"a = [" * 500, b'"', b"[claim]", b"x = 1", b",,,,", b"\xff"))
    return b"\n".join(lines)
