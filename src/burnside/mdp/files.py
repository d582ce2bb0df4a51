"""MDPs in files: a readable JSON form and a compact npz form. Neither ever holds a pickle.

JSON (UTF-8)::

    {"format": "burnside-mdp", "version": 1, "name": "coin", "horizon": 3,
     "states": ["heads", "tails"],            # names, or just their number
     "actions": ["keep", "flip"],             # optional
     "initial": [0.5, 0.5],
     "pairs": [{"state": 0, "action": 0, "reward": 1.0, "next": [[0, 1.0]]}, …]}

A reward is a number, or a list of H numbers if rewards depend on time; ``next`` lists ``[state, probability]``.

npz (``numpy.savez``): ``format`` = "burnside-mdp", ``version`` = 1, ``horizon``, ``name``, ``initial``, ``rewards``
(pairs,) or (H, pairs), ``pair_state``, ``pair_action``, and the kernel in CSR form ``indptr``, ``indices``, ``data``;
optionally ``state_names`` and ``action_names`` as arrays of strings.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from burnside._files import write_atomically, write_text
from burnside.errors import InvalidModel, UnreadableFile
from burnside.mdp._checks import whole
from burnside.mdp.tabular import TabularMDP

__all__ = ["FORMAT", "VERSION", "load", "save"]

FORMAT, VERSION = "burnside-mdp", 1
_SUFFIXES = (".json", ".npz")
_ARRAYS = ("horizon", "initial", "rewards", "pair_state", "pair_action", "indptr", "indices", "data")


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
        return write_atomically(target, lambda file: np.savez_compressed(file, **_to_arrays(mdp)))
    if target.suffix == ".json":
        return write_text(target, json.dumps(_to_json(mdp), ensure_ascii=False))
    raise UnreadableFile(f"cannot tell the format of {target.name}: use one of the suffixes {', '.join(_SUFFIXES)}")


def load(path: str | Path) -> TabularMDP:
    """Read an MDP that :func:`save` wrote, or that follows the format in this module's description."""
    source = Path(path)
    if source.suffix not in _SUFFIXES:
        raise UnreadableFile(f"cannot tell the format of {source.name}: use one of the suffixes {', '.join(_SUFFIXES)}")
    if not source.is_file():
        raise UnreadableFile(f"there is no file {source}: check the path")
    try:
        return _from_npz(source) if source.suffix == ".npz" else _from_json(source)
    except InvalidModel as error:
        raise InvalidModel(f"{source.name}: {error}") from None
    except OSError as error:
        raise UnreadableFile(f"cannot read {source}: {error.strerror or 'damaged file'}") from None


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
    arrays["action_names"] = np.array([mdp.action_name(a) for a in range(mdp.n_actions)])
    return arrays


def _from_npz(source: Path) -> TabularMDP:
    try:
        with np.load(source, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
    except OSError:
        raise
    except Exception as error:  # a damaged archive fails in many ways: zlib.error, BadZipFile, NotImplementedError, …
        pickled = "pickle" in str(error)
        reason = "it holds pickled objects, which are never loaded" if pickled else "it is damaged or no npz archive"
        raise UnreadableFile(f"cannot read {source.name}: {reason}; save it again with mdp.save(path)") from None
    _check_header(source, {k: arrays[k].item() for k in ("format", "version") if k in arrays and arrays[k].ndim == 0})
    missing = [key for key in _ARRAYS if key not in arrays]
    if missing:
        raise UnreadableFile(f"{source.name} lacks the array {missing[0]!r}: see the file format in the documentation")
    horizon = arrays["horizon"]
    if horizon.ndim or horizon.dtype.kind not in "iu":
        raise UnreadableFile(f"{source.name}: the horizon must be one whole number, got {_about(horizon)}")
    kernel = _kernel(source, arrays)
    names = {key: arrays[key].tolist() for key in ("state_names", "action_names") if key in arrays}
    name = str(arrays["name"]) if "name" in arrays else source.stem
    return TabularMDP(
        kernel,
        arrays["rewards"],
        arrays["initial"],
        int(horizon),
        pair_state=arrays["pair_state"],
        pair_action=arrays["pair_action"],
        name=name,
        **names,
    )


def _kernel(source: Path, arrays: dict[str, Any]) -> sp.csr_matrix:
    data, indices, indptr = (arrays[key] for key in ("data", "indices", "indptr"))
    for key, array, kinds in (("indptr", indptr, "iu"), ("indices", indices, "iu"), ("data", data, "iuf")):
        if array.ndim != 1 or array.dtype.kind not in kinds:
            what = "real" if "f" in kinds else "whole"
            raise UnreadableFile(f"{source.name}: {key} must be a vector of {what} numbers, got {_about(array)}")
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
        raise UnreadableFile(f"{source.name} holds no valid CSR kernel: {error}") from None
    return kernel


def _about(array: Any) -> str:
    return f"{array.dtype} of shape {array.shape}" if array.ndim else f"{array.item()!r:.40}"


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
        "pairs": pairs,
    }


def _from_json(source: Path) -> TabularMDP:
    try:
        content = json.loads(source.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise UnreadableFile(f"cannot read {source.name}: it is not valid JSON ({error})") from None
    if not isinstance(content, dict):
        raise UnreadableFile(f'cannot read {source.name}: the top level must be an object with "format": "{FORMAT}"')
    _check_header(source, content)
    try:
        number, pairs = _Number(content["states"]), content["pairs"]
        action_names = None if content.get("actions") is None else [str(a) for a in content["actions"]]
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
        }
    except KeyError as error:
        raise UnreadableFile(f"{source.name} lacks the key {error}: see the file format in the documentation") from None
    except (TypeError, ValueError, IndexError, OverflowError) as error:
        raise UnreadableFile(f"{source.name} does not follow the file format: {error}") from None
    return TabularMDP(
        **arguments,
        name=str(content.get("name", source.stem)),
        state_names=number.names,
        action_names=action_names,
    )


class _Number:
    """Reads the numbers of a JSON file: a ValueError names the pair whose entry is none, or names no state."""

    def __init__(self, states: Any) -> None:
        self.names = [str(name) for name in states] if isinstance(states, list) else None
        found = len(states) if isinstance(states, list) else whole(states)
        if found is None or found < 1:
            raise ValueError(f'"states" must be a list of names or their number, at least 1, got {states!r:.40}')
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
        if found is None or found < 0:
            raise ValueError(f"pair {pair} has the action {value!r:.40}: write its number, 0, 1, …")
        return found

    def real(self, value: Any, pair: int, what: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"pair {pair} has the {what} {value!r:.40}: write a number")
        return float(value)

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
    if header.get("version") != VERSION:
        raise UnreadableFile(
            f"{source.name} has format version {header.get('version')!r}, this release reads version {VERSION}: "
            f"save it again with this release"
        )
