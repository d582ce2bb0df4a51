"""MDPs in files: a readable JSON form and a compact npz form. Neither ever holds a pickle.

JSON (UTF-8)::

    {"format": "burnside-mdp", "version": 1, "name": "coin", "horizon": 3,
     "states": ["heads", "tails"],            # names, or just their number
     "actions": ["keep", "flip"],             # optional
     "initial": [0.5, 0.5],
     "positions": [[0, 0], [1, 0]],           # optional: x and y of each state, y down, for pictures
     "pairs": [{"state": 0, "action": 0, "reward": 1.0, "next": [[0, 1.0]]}, …]}

A reward is a number, or a list of H numbers if rewards depend on time; ``next`` lists ``[state, probability]``.

npz (as ``numpy.savez`` writes it): ``format`` = "burnside-mdp", ``version`` = 1, ``horizon``, ``name``, ``initial``,
``rewards`` (pairs,) or (H, pairs), ``pair_state``, ``pair_action``, and the kernel in CSR form ``indptr``, ``indices``,
``data``; optionally ``state_names`` and ``action_names`` as arrays of strings, and ``positions`` (states, 2).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from burnside._archives import LARGEST_ARRAYS, Archive, Header, open_archive, write_archive
from burnside._files import LARGEST_TEXT, read_json, size_words, write_text
from burnside.errors import DamagedFile, InvalidModel, InvalidParameter, UnreadableFile
from burnside.mdp._checks import whole
from burnside.mdp.tabular import MOST_ACTIONS, TabularMDP

__all__ = ["FORMAT", "VERSION", "load", "save"]

FORMAT, VERSION = "burnside-mdp", 1
#: Characters of the longest name that is read; names are printed.
LONGEST_NAME = 10_000
_SUFFIXES = (".json", ".npz")
#: The arrays of a npz file: what they hold, and the number of their axes.
_ARRAYS = {
    "format": ("text", (0,)),
    "version": ("whole", (0,)),
    "horizon": ("whole", (0,)),
    "initial": ("real", (1,)),
    "rewards": ("real", (1, 2)),
    "pair_state": ("whole", (1,)),
    "pair_action": ("whole", (1,)),
    "indptr": ("whole", (1,)),
    "indices": ("whole", (1,)),
    "data": ("real", (1,)),
}
_OPTIONAL = {"name": ("text", (0,)), "state_names": ("text", (1,)), "action_names": ("text", (1,)),
             "positions": ("real", (2,))}  # fmt: skip
_KINDS = {"text": "U", "whole": "iu", "real": "iuf"}


def save(mdp: TabularMDP, path: str | Path) -> Path:
    """Write an MDP to ``path``, as JSON or npz by its suffix.

    >>> import tempfile
    >>> from burnside.mdp import zoo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     same = load(save(zoo.fig2(), Path(folder) / "fig2.json"))
    >>> same.n_pairs, same.state_name(2)
    (16, 's3')
    """
    target = Path(path)
    if target.suffix == ".npz":
        arrays = {name: np.asarray(array) for name, array in _to_arrays(mdp).items()}
        size = sum(array.nbytes for array in arrays.values())
        if size > LARGEST_ARRAYS:
            raise InvalidParameter(
                f"{mdp.name} is too large for a file: it has {size_words(size)}, and at most "
                f"{size_words(LARGEST_ARRAYS)} are read"
            )
        return write_archive(target, arrays, compress=True)
    if target.suffix == ".json":
        text = json.dumps(_to_json(mdp), ensure_ascii=False)
        if len(text) > LARGEST_TEXT:
            raise InvalidParameter(f"{mdp.name} is too large for JSON ({size_words(len(text))}): save it as .npz")
        return write_text(target, text)
    raise UnreadableFile(f"cannot tell the format of {target.name}: use one of the suffixes {', '.join(_SUFFIXES)}")


def load(path: str | Path) -> TabularMDP:
    """Read an MDP that :func:`save` wrote, or that follows the format in this module's description.

    The file is not trusted: sizes are checked before anything is made of them, what is not a model is refused in one
    sentence, and nothing in it is ever run.
    """
    source = Path(path)
    suffix = source.suffix.lower()
    if suffix not in _SUFFIXES:
        raise UnreadableFile(f"cannot tell the format of {source.name}: use one of the suffixes {', '.join(_SUFFIXES)}")
    try:
        return _from_npz(source) if suffix == ".npz" else _from_json(source)
    except InvalidModel as error:
        raise InvalidModel(f"{source.name}: {error}") from None


# ---------------------------------------------------------------------- npz


def _to_arrays(mdp: TabularMDP) -> dict[str, Any]:
    arrays: dict[str, Any] = {
        "format": np.array(FORMAT),
        "version": np.array(VERSION),
        "name": np.array(mdp.name),
        "horizon": np.array(mdp.H),
        "initial": mdp.p0,
        "rewards": mdp.R,
        "pair_state": mdp.pair_state,
        "pair_action": mdp.pair_action,
        "indptr": mdp.P.indptr,
        "indices": mdp.P.indices,
        "data": mdp.P.data,
    }
    if mdp.n_states <= 1_000_000:
        arrays["state_names"] = np.array([mdp.state_name(s) for s in range(mdp.n_states)])
    if mdp.positions is not None:
        arrays["positions"] = mdp.positions
    arrays["action_names"] = np.array([mdp.action_name(a) for a in range(mdp.n_actions)])
    return arrays


def _from_npz(source: Path) -> TabularMDP:
    try:
        with open_archive(source) as archive:
            arrays = _read_arrays(source, archive)
    except DamagedFile as error:
        raise DamagedFile(f"{error}; save it again with mdp.save(path)") from None
    kernel = _kernel(source, arrays)
    names: dict[str, Any] = {key: arrays[key].tolist() for key in ("state_names", "action_names") if key in arrays}
    name = str(arrays["name"]) if "name" in arrays else source.stem
    return TabularMDP(
        kernel,
        arrays["rewards"],
        arrays["initial"],
        int(arrays["horizon"]),
        pair_state=arrays["pair_state"],
        pair_action=arrays["pair_action"],
        name=name,
        positions=arrays.get("positions"),
        **names,
    )


def _read_arrays(source: Path, archive: Archive) -> dict[str, Any]:
    """The arrays of the format and no others, once their shapes fit one another."""
    if "format" not in archive or "version" not in archive:
        _check_header(source, {})
    missing = [key for key in _ARRAYS if key not in archive]
    if missing:
        raise UnreadableFile(f"{source.name} lacks the array {missing[0]!r}: see the file format in the documentation")
    wanted = _ARRAYS | {key: kind for key, kind in _OPTIONAL.items() if key in archive}
    headers = archive.headers(wanted)
    for key, (kind, axes) in wanted.items():
        header = headers[key]
        if header.dtype.kind not in _KINDS[kind] or len(header.shape) not in axes:
            one = "one" if axes == (0,) else "a vector of"
            raise UnreadableFile(f"{source.name}: {key} must be {one} {_words(kind, axes)}, got {header}")
    _check_shapes(source, headers)
    scalars = {key: archive.array(key, headers[key]).item() for key in ("format", "version")}
    _check_header(source, scalars)
    return {key: archive.array(key, header) for key, header in headers.items()}


def _words(kind: str, axes: tuple[int, ...]) -> str:
    if kind == "text":
        return "text" if axes == (0,) else "texts"
    return f"{kind} number" if axes == (0,) else f"{kind} numbers"


def _check_shapes(source: Path, headers: dict[str, Header]) -> None:
    """Whether the arrays can belong to one model, by their shapes alone."""
    n_pairs, n_states = headers["indptr"].shape[0] - 1, headers["initial"].shape[0]
    lengths = {"pair_state": n_pairs, "pair_action": n_pairs, "rewards": n_pairs, "indices": headers["data"].shape[0]}
    lengths |= {key: n_states for key in ("state_names", "positions") if key in headers}
    for key, length in lengths.items():
        if headers[key].shape[0 if key == "positions" else -1] != length:
            other = {"indices": "data", "state_names": "initial", "positions": "initial"}.get(key, "indptr")
            raise UnreadableFile(
                f"{source.name}: {key} has shape {headers[key].shape}, which does not fit {other} of shape "
                f"{headers[other].shape}: see the file format in the documentation"
            )
    for key in ("name", "format", "state_names", "action_names"):
        if key in headers and headers[key].dtype.itemsize > 4 * LONGEST_NAME:
            raise UnreadableFile(f"{source.name}: {key} has more than {LONGEST_NAME} characters: shorten it")
    if "action_names" in headers and headers["action_names"].shape[0] > MOST_ACTIONS:
        raise UnreadableFile(f"{source.name}: action_names has more than {MOST_ACTIONS} entries")


def _kernel(source: Path, arrays: dict[str, Any]) -> sp.csr_matrix:
    data, indices, indptr = (arrays[key] for key in ("data", "indices", "indptr"))
    n_pairs, n_states = indptr.size - 1, arrays["initial"].size
    outside = (indices < 0) | (indices >= n_states)
    if outside.any():
        at = int(np.argmax(outside))
        pair = int(np.searchsorted(indptr, at, side="right")) - 1
        raise UnreadableFile(
            f"{source.name}: pair {pair} leads to state {indices[at]}, but the {n_states} states are numbered "
            f"0…{n_states - 1}: correct indices[{at}], or give initial an entry for every state"
        )
    try:
        kernel = sp.csr_matrix((data, indices, indptr), shape=(n_pairs, n_states))
        kernel.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise UnreadableFile(f"{source.name} does not hold a valid CSR kernel: {error}") from None
    return kernel


# ---------------------------------------------------------------------- JSON


def _to_json(mdp: TabularMDP) -> dict[str, Any]:
    pairs = []
    for i in range(mdp.n_pairs):
        row = slice(mdp.P.indptr[i], mdp.P.indptr[i + 1])
        pairs.append(
            {
                "state": int(mdp.pair_state[i]),
                "action": int(mdp.pair_action[i]),
                "reward": mdp.R[..., i].tolist(),
                "next": [[int(c), float(p)] for c, p in zip(mdp.P.indices[row], mdp.P.data[row], strict=True)],
            }
        )
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": mdp.name,
        "horizon": mdp.H,
        "states": [mdp.state_name(s) for s in range(mdp.n_states)],
        "actions": [mdp.action_name(a) for a in range(mdp.n_actions)],
        "initial": mdp.p0.tolist(),
        **({} if mdp.positions is None else {"positions": mdp.positions.tolist()}),
        "pairs": pairs,
    }


def _from_json(source: Path) -> TabularMDP:
    content = read_json(source)
    if not isinstance(content, dict):
        raise UnreadableFile(f'cannot read {source.name}: the top level must be an object with "format": "{FORMAT}"')
    _check_header(source, content)
    try:
        number, pairs = _Number(content["states"], content["initial"]), content["pairs"]
        actions = content.get("actions")
        action_names = None if actions is None else _names(actions, "actions", MOST_ACTIONS)
        rows = [i for i, pair in enumerate(pairs) for _ in pair["next"]]
        columns = [number.state(entry[0], i, "leads to") for i, pair in enumerate(pairs) for entry in pair["next"]]
        values = [number.real(entry[1], i, "probability") for i, pair in enumerate(pairs) for entry in pair["next"]]
        kernel = sp.csr_matrix((values, (rows, columns)), shape=(len(pairs), number.n_states))
        arguments = {
            "P": kernel,
            "R": number.rewards(pairs),
            "p0": content["initial"],
            "H": content["horizon"],
            "pair_state": [number.state(pair["state"], i, "belongs to") for i, pair in enumerate(pairs)],
            "pair_action": [number.action(pair["action"], i) for i, pair in enumerate(pairs)],
            "name": _names([content.get("name", source.stem)], "name", 1)[0],
            "positions": number.positions(content.get("positions")),
        }
    except KeyError as error:
        raise UnreadableFile(f"{source.name} lacks the key {error}: see the file format in the documentation") from None
    except (TypeError, ValueError, IndexError, OverflowError, RecursionError) as error:
        raise UnreadableFile(f"{source.name} does not follow the file format: {error}") from None
    return TabularMDP(**arguments, state_names=number.names, action_names=action_names)


def _names(given: Any, what: str, most: int) -> list[str]:
    """A list of names: texts, or numbers, which are then written out."""
    if not isinstance(given, list) or len(given) > most:
        raise ValueError(f'"{what}" must be a list of at most {most} names, got {given!r:.40}')
    for name in given:
        if isinstance(name, bool) or not isinstance(name, str | int | float):
            raise ValueError(f'"{what}" holds the name {name!r:.40}: write a text')
        if isinstance(name, str) and len(name) > LONGEST_NAME:
            raise ValueError(f'"{what}" holds a name of {len(name)} characters: at most {LONGEST_NAME} are read')
    return [str(name) for name in given]


class _Number:
    """Reads the numbers of a JSON file: a ValueError names the pair whose entry is not a number or not a state."""

    def __init__(self, states: Any, initial: Any) -> None:
        self.names = _names(states, "states", LARGEST_TEXT) if isinstance(states, list) else None
        found = len(states) if isinstance(states, list) else whole(states)
        if found is None or found < 1:
            raise ValueError(f'"states" must be a list of names or their number, at least 1, got {states!r:.40}')
        if isinstance(initial, list) and len(initial) != found:  # before arrays of that size are made
            raise ValueError(f'there are {found} states, but "initial" has {len(initial)} entries: give one for each')
        self.n_states = found

    def state(self, value: Any, pair: int, verb: str) -> int:
        found = whole(value)
        if found is not None and 0 <= found < self.n_states:
            return found
        if self.names is not None and value in self.names:
            remedy = f"write {self.names.index(value)}"
        elif found is None:
            remedy = "write one of these numbers"
        else:
            remedy = 'correct it, or add what is missing to "states"'
        last = self.n_states - 1
        raise ValueError(f"pair {pair} {verb} state {value!r:.40}, but states are numbered 0…{last}: {remedy}")

    def action(self, value: Any, pair: int) -> int:
        found = whole(value)
        if found is None or not 0 <= found < MOST_ACTIONS:
            raise ValueError(
                f"pair {pair} has the action {value!r:.40}: write its number, 0, 1, …, below {MOST_ACTIONS}"
            )
        return found

    def real(self, value: Any, index: int, what: str, of: str = "pair") -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{of} {index} has the {what} {value!r:.40}: write a number")
        return float(value)

    def positions(self, given: Any) -> Any:
        if given is None:
            return None
        if not isinstance(given, list) or not all(isinstance(one, list) and len(one) == 2 for one in given):
            raise ValueError(f'"positions" must list x and y of each state, got {given!r:.40}')
        return [[self.real(x, s, "position", of="state") for x in one] for s, one in enumerate(given)]

    def rewards(self, pairs: Any) -> Any:
        given = [pair["reward"] for pair in pairs]
        lengths = [len(one) if isinstance(one, list) else None for one in given]
        if len(set(lengths)) > 1:
            other = next(i for i, length in enumerate(lengths) if length != lengths[0])
            raise ValueError(
                f"pair {other} has another number of rewards than pair 0: give every pair one, or one for every step"
            )
        return np.array([
            [self.real(x, i, "reward") for x in one] if isinstance(one, list) else self.real(one, i, "reward")
            for i, one in enumerate(given)
        ]).T  # fmt: skip


def _check_header(source: Path, header: dict[str, Any]) -> None:
    if header.get("format") != FORMAT:
        raise UnreadableFile(f'{source.name} is not an MDP of ours: it must say "format": "{FORMAT}"')
    version = header.get("version")
    if type(version) is not int or version != VERSION:  # true equals 1, and so does 1.0
        raise UnreadableFile(
            f"{source.name} has format version {version!r:.40}, this release reads version {VERSION}: "
            f"save it again with this release"
        )
