"""One table over all benchmarks, from the rows they kept: what was promised, ours against each peer, machines."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.lines import QUIET, WISHES, Measured, Row, number
from burnside._files import read_json
from burnside.errors import UnreadableFile

Results = Mapping[str, Measured]


@dataclass(frozen=True)
class Comparison:
    """Ours against one other way of doing the same thing.

    Attributes:
        what: is done, with its unit.
        ours: how much of it, None where only the ratio is kept.
        peer: the other.
        theirs: how much of it.
        ratio: how many times better ours is; the median within rounds where there are rounds.
        roofline: ours as a fraction of what the bare arithmetic reaches.
    """

    what: str
    ours: float | None
    peer: str
    theirs: float | None
    ratio: float | None
    roofline: float | None = None


def load(folder: Path) -> dict[str, Measured]:
    """Every ``NAME.json`` of a folder."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        try:
            content = read_json(path)
            found[path.stem] = Measured(content["machine"], tuple(content["rows"]))
        except (ValueError, KeyError, TypeError, RecursionError):
            raise UnreadableFile(
                f"{path.name} is damaged: delete it, or run 'python -m benchmarks {path.stem}'"
            ) from None
    return found


# ---------------------------------------------------------------------- ours against each peer


def _core(found: Measured) -> Iterator[Comparison]:
    for row in found.rows:
        if row.get("what") == "verify+quotient":
            how = "at random" if row["scattered"] else "orbit by orbit"
            what = f"verify + quotient, {number(row['pairs'])} pairs numbered {how}, ms"
            # P @ v reads the model once: the least that any check of all pairs can cost
            yield Comparison(
                what, row["verify_quotient_ms"], "one pass of P @ v", row["pass_ms"], None, 1 / row["passes"]
            )


def _learning(found: Measured) -> Iterator[Comparison]:
    for row in found.rows:
        ours, peer = str(row["name"]).split(" | ")
        if "episodes_per_second" in row:
            yield Comparison(
                f"{ours.split(':')[0]}, episodes/s",
                row["episodes_per_second"],
                peer,
                row["peer_episodes_per_second"],
                row["ratio"],
            )
        else:
            yield Comparison(f"{ours}, s", row["seconds"], peer, row["peer_seconds"], row["ratio"])


def _rated(found: Measured, rate: str, what: str, ours: Row, peers: Sequence[Row], roofline: Row | None) -> Iterator:
    """Rows with a rate by the clock and one by processor time, and ratios of both."""
    clock, cpu = f"{rate} per second", f"{rate} per CPU second"
    key, by = (clock, "/s") if found.quiet else (cpu, " per CPU second")
    limit = None
    if roofline is not None:
        limit = found.ratio(roofline, "ours is faster by", "ours is faster by, CPU time")
    for row in peers:
        if "not installable" in row:
            yield Comparison(what, ours.get(key), f"{row['name']} (not installable)", None, None)
            continue
        ratio = found.ratio(row, "ours is faster by", "ours is faster by, CPU time")
        void = f" (void: {row['void']})" if "void" in row else ""
        yield Comparison(
            f"{what}, {rate}{by}",
            ours[key],
            str(row["name"]).split(": ")[-1] + void,
            row[key],
            None if ratio is None else ratio[0],
            None if limit is None else limit[0],
        )


def _dqn(found: Measured) -> Iterator[Comparison]:
    ours = found.named("burnside")
    if ours is not None:
        peers = [r for r in found.rows if not str(r["name"]).startswith(("burnside", "summary", "bare"))]
        yield from _rated(found, "updates", "DQN, ring N = 20, ten seeds", ours, peers, found.named("bare"))


def _search(found: Measured) -> Iterator[Comparison]:
    for method, title in (("astar", "A*"), ("beam", "beam search")):
        ours = found.find(name=f"{method}: burnside")
        peers = [r for r in found.rows if str(r["name"]).startswith(method) and "burnside" not in str(r["name"])]
        if ours is not None:
            yield from _rated(found, "nodes", f"{title}, 3-cube, same network", ours, peers, None)


def _cube_solver(found: Measured) -> Iterator[Comparison]:
    ours = found.find(name="burnside", what="solve")
    for row in found.rows:
        if ours is not None and row.get("what") == "solve" and "burnside" not in str(row["name"]):
            a, b = 100 * ours["solved"] / ours["cubes"], 100 * row["solved"] / row["cubes"]
            what = f"random 3-cubes solved after {ours['training']:.0f} CPU s of training, beam {ours['width']}, %"
            yield Comparison(what, a, str(row["name"]), b, None)
            yield Comparison(
                "CPU s for one of these cubes", ours["cpu"], str(row["name"]), row["cpu"], row["cpu"] / ours["cpu"]
            )
    training = found.find(what="training")
    if training is not None:
        yield Comparison(
            "training on walks, states per CPU second",
            training["states_per_cpu_second"],
            "its bare products",
            training["bare_products_per_cpu_second"],
            None,
            training["roofline"],
        )


def _flow(found: Measured) -> Iterator[Comparison]:
    ours = found.named("burnside Gaussian PPO")
    if ours is not None:
        peers = [r for r in found.rows if "Stable-Baselines3" in str(r["name"])]
        yield from _rated(found, "steps", "PPO, planar push", ours, peers, None)
    chain = found.named("chain update")
    if chain is not None:
        a, b = chain["shared context, CPU s"], chain["context per step, CPU s"]
        limit = chain["of the roofline, shared"]
        yield Comparison(
            str(chain["name"]) + ", CPU s", a, "context per step", b, chain["sharing saves a factor"], limit
        )


def _cube(found: Measured) -> Iterator[Comparison]:
    for row in found.rows:
        if row.get("what") == "canonical form":
            what = f"canonical form, {row['n']}-cube, {row['symmetry']}, thousands/s"
            for key, peer in (("chunked", "the paper's op (chunked keys)"), ("gather", "naive gather, images only")):
                yield Comparison(
                    what, row["fast_k_per_s"], peer, row[f"{key}_k_per_s"], row[f"over_{key}"], row["of_copy"]
                )


def _davi(found: Measured) -> Iterator[Comparison]:
    for row in found.rows:
        yield Comparison(
            f"value iteration, 3-cube, {row['arm']}, states/s",
            row["states_per_second"],
            "bare products, all children",
            row["products_all_children"],
            row["states_per_second"] / row["products_all_children"],
            row["fraction_of_roofline"],
        )


def _planar(found: Measured) -> Iterator[Comparison]:
    for row in found.rows:
        what = f"planar {row['task']}, {row['scenes']} scenes, steps per CPU second"
        yield Comparison(what, row["core_robot"], "Gymnasium SyncVectorEnv", row["sync"], row["core_over_sync"])


def _robot(found: Measured) -> Iterator[Comparison]:
    for row in found.rows:
        what, _, peer = str(row["what"]).partition(": ")
        ours = row.get("ours_per_second", row.get("ours_ms"))
        unit = ", steps per CPU second" if "ours_per_second" in row else ", CPU ms" if "ours_ms" in row else ""
        yield Comparison(what + unit, ours, peer or "one worker", None, row["ratio"])


COMPARISONS: dict[str, Callable[[Measured], Iterator[Comparison]]] = {
    "core": _core,
    "learning": _learning,
    "dqn": _dqn,
    "cube": _cube,
    "davi": _davi,
    "search": _search,
    "cube_solver": _cube_solver,
    "planar": _planar,
    "flow": _flow,
    "robot": _robot,
}


def comparisons(results: Results) -> list[Comparison]:
    """Ours against every peer, in the order of the parts."""
    return [line for name, look in COMPARISONS.items() if name in results for line in look(results[name])]


# ---------------------------------------------------------------------- as text


def promised(results: Results) -> list[tuple[str, str, str, str, str]]:
    """(part, what, target, measured, yes or no) of every line on speed."""
    rows = []
    for wish in WISHES:
        answer = wish.look(results[wish.benchmark]) if wish.benchmark in results else None
        if answer is None:
            measured, met = "not measured", "—"
        else:
            measured, met = answer.text, {True: "yes", False: "**no**", None: "—"}[answer.met]
        rows.append((str(wish.part), wish.what, wish.target, measured, met))
    return rows


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _shown(value: float | None, unit: str = "") -> str:
    return "" if value is None else f"{number(value)}{unit}"


def markdown(results: Results, figures: Sequence[tuple[str, str]]) -> str:
    """The whole page; ``figures`` are names and captions of pictures in ``docs/images``."""
    lines = promised(results)
    met, judged = sum(line[4] == "yes" for line in lines), sum(line[4] in ("yes", "**no**") for line in lines)
    missing = sum(line[3] == "not measured" for line in lines)
    against = [
        (c.what, _shown(c.ours), c.peer, _shown(c.theirs), _shown(c.ratio, "×"), _shown(c.roofline))
        for c in comparisons(results)
    ]
    text = [
        "# Benchmarks: results",
        "Written by `make bench` from `benchmarks/results/`, and again by `python -m benchmarks --table`; do not edit.",
        "Ratios are taken within rounds of one run on one machine, ours and the peers in turn. Where both were "
        f"measured, the clock counts if other processes used at most {QUIET} cores meanwhile, else processor time.",
        "## What was promised",
        f"{met} of {judged} targets with a number are met; {missing} lines are not measured.",
        _table(("part", "what", "target", "measured", "met"), lines),
        "## Ours against each peer",
        "Ratio: how many times better ours is. Roofline: ours as a fraction of what the bare arithmetic reaches in the "
        "same run: matrix products; for canonical forms a copy of the states; for `verify` one pass of `P @ v`.",
        _table(("what", "ours", "peer", "peer's", "ratio", "roofline"), against),
    ]
    if figures:
        text.append("## How the cost grows")
        text += [f"![{caption}](../docs/images/{name}.svg)\n\n{caption}" for name, caption in figures]
    text += ["## Machines and versions", _table(MACHINE, [_machine(name, m) for name, m in results.items()])]
    versions = sorted({f"{k} {v}" for m in results.values() for k, v in m.machine.get("versions", {}).items()})
    if versions:
        text.append("Versions: " + ", ".join(versions) + ". Those of peers are in their names above.")
    return "\n\n".join(text) + "\n"


MACHINE = ("benchmark", "processor", "cores", "python", "commit", "on", "cores used by others")


def _machine(name: str, found: Measured) -> tuple[str, ...]:
    m = found.machine
    others = f"{m['others']:.2f}" if "others" in m else "unknown"
    commit, started = m.get("commit"), m.get("started")
    return (
        name,
        str(m.get("cpu", "")),
        str(m.get("cores", "")),
        str(m.get("python", "")),
        str(commit)[:7] if commit else "",
        str(started)[:10] if started else "",
        others,
    )
