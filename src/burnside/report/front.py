"""The front page of the report: five questions, each with one picture and one sentence that links to its tab.

Every picture and every number in the sentences is made from the committed results, the ledger and the shipped policy.
Where results are missing, the picture is left out and a sentence says how to make them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from importlib.resources import as_file
from pathlib import Path
from typing import Any

from burnside.errors import BurnsideError
from burnside.experiments.atlas.analysis import BY_SYMMETRY
from burnside.report import style
from burnside.report.claims.ledger import STATUSES, Claim, counts
from burnside.report.claims.render import STATUS_COLOURS
from burnside.report.page import Html, Page, escape
from burnside.report.plots import Plot, plot
from burnside.report.savings import arms_of, ratio_dots, savings_plot
from burnside.report.tables import spaced, with_limits
from burnside.runs.results import committed, read_results

__all__ = ["Card", "front_section", "saving_card"]

#: Inches: on a phone such a picture is shown at its own size, so that its letters can be read there.
_SIZE = (4.3, 3.1)


@dataclass(frozen=True)
class Card:
    """A picture with a sentence.

    Attributes:
        title: the question.
        tab: the section that has the rest.
        sentence: the answer, with its numbers.
        picture: None where there are no results yet.
        more: markup below.
        missing: whether there is nothing to show yet.
    """

    title: str
    tab: str
    sentence: str
    picture: Plot | None = None
    more: str = ""
    missing: bool = False


def front_section(page: Page, claims: Sequence[Claim], out: Path, tabs: Collection[str] | None = None) -> Page:
    """Add the section ``overview``. What is not among the tabs of the page (default: all are there) is no link."""
    page.use("front").section("What was found, in pictures", id="overview")
    makers: list[Callable[[], Card]] = [
        _atlas,
        _ring1d,
        _cube,
        _planar,
        _robot,
        lambda: _ledger(claims),
    ]
    cards = [make() for make in makers]
    for card in cards:
        if card.picture is not None:
            card.picture.save(out / "figures")
    shown = "".join(_markup(card, tabs is None or card.tab in tabs) for card in cards if not card.missing)
    page.html(f'<div class="cards">{shown}</div>')
    page.text(*(f"{card.title} {card.sentence}" for card in cards if card.missing))
    return page.text(
        "From the committed studies; what this machine measured is in the tabs. Bars and brackets are 95 % intervals "
        "over seeds. In every picture orange is without the symmetry and blue with a canonical form."
    )


def saving_card() -> Card:
    """The one picture for who sees only one: environments people use, or the plane until that study is there."""
    card = _atlas()
    return _planar() if card.missing else card


def _markup(card: Card, there: bool = True) -> Html:
    if not there:  # only some parts were asked for
        svg = "" if card.picture is None else card.picture.svg
        drawn = f'<div class="picture">{svg[svg.index("<svg") :]}</div>' if svg else ""
        sentence = f"<p>{escape(card.sentence)} <code>burnside table {escape(card.tab)}</code></p>"
        return Html(f'<article class="card"><h3>{escape(card.title)}</h3>{drawn}{sentence}{card.more}</article>')
    link = f'href="#{escape(card.tab)}"'
    drawn = ""
    if card.picture is not None:
        svg = card.picture.svg
        label = f'aria-label="{escape(card.title)}: to the tab {escape(card.tab)}"'
        drawn = f'<a class="picture" {link} {label}>{svg[svg.index("<svg") :]}</a>'
    sentence = f"<p>{escape(card.sentence)} <a {link}>More</a></p>"
    return Html(
        f'<article class="card"><h3><a {link}>{escape(card.title)}</a></h3>{drawn}{sentence}{card.more}</article>'
    )


def _missing(title: str, tab: str, command: str) -> Card:
    return Card(
        title,
        tab,
        f"The study has not been run to its end, so its picture is left out: '{command}' runs it.",
        missing=True,
    )


# ---------------------------------------------------------------------- (1) environments people use


#: Arms of the picture: those that most tasks have.
_COMMON = ("canonical", "augment", "augment-random", "averaging")


def _atlas() -> Card:
    title = "What does symmetry save in environments people use?"
    folder = committed("atlas")
    rows = []
    if folder is not None:
        from burnside.experiments.atlas.analysis import table

        rows = arms_of(table(folder, allow_missing=True))
    drawn = savings_plot([row for row in rows if row["arm"] in _COMMON], "front-atlas", _SIZE)
    if drawn is None:
        return _missing(title, "atlas", "burnside sweep atlas --preset study")
    names = list(dict.fromkeys((row["env"], row["variant"]) for row in rows))

    def having(word: str) -> int:
        return sum(
            any(row["verdict"].startswith(word) for row in rows if (row["env"], row["variant"]) == key) for key in names
        )

    proven = [row for row in rows if row["low"] is not None and row["verdict"] == BY_SYMMETRY]
    best = max(proven, key=lambda row: row["low"], default=None)
    words = [f"In {having('a saving')} of {len(names)} tasks ({len({env for env, _ in names})} environments) an arm"]
    words.append(f" saves steps for certain, by symmetry and not by what a control shares in {having(BY_SYMMETRY)}")
    words.append(f"; in {having('a loss')} one loses.")
    if best is not None:
        ratio = with_limits(best["ratio"], best["low"], best["high"], best["bound"], 1)
        words.append(f" The most certain: {ratio} times fewer on {best['env']} ({best['arm']}).")
    return Card(title, "atlas", "".join(words), drawn)


# ---------------------------------------------------------------------- (2) Table 1


def _ring1d() -> Card:
    title = "Does the gap grow with the problem? (Table 1)"
    folder = committed("ring1d")
    if folder is None:
        return _missing(title, "ring1d", "burnside sweep ring1d --preset study")
    from burnside.experiments.ring1d.analysis import table

    least: dict[tuple[int, str], dict[str, Any]] = {}
    for row in table(folder, allow_missing=True):
        key = (row["n"], row["arm"])
        wanted = row["arm"] in ("baseline", "canonical") and row["variant"] == "paper"
        if wanted and (key not in least or row["budget"] < least[key]["budget"]):
            least[key] = row
    rows = list(least.values())
    picture = _times_picture(rows)
    canonical = sorted((row for row in rows if row["arm"] == "canonical"), key=lambda row: row["n"])
    solved = [row for row in canonical if row["ratio"] is not None and not row["ratio_bound"]]
    never = sorted(row["n"] for row in rows if row["arm"] == "baseline" and row["solved"] == 0)
    words = ""
    if solved:
        one, last = solved[0], solved[-1]
        words = (
            f"Without the symmetry DQN takes {one['ratio']:.1f} times as many episodes at N = {one['n']} and "
            f"{with_limits(last['ratio'], last['ratio_low'], last['ratio_high'], '', 1)} times at N = {last['n']}"
        )
        budget = next((row["budget"] for row in rows if row["n"] in never[:1] and row["arm"] == "baseline"), None)
        words += f"; from N = {never[0]} on no run of it ends within {spaced(budget)}." if never else "."
    return Card(title, "ring1d", words, picture)


def _times_picture(rows: Sequence[dict[str, Any]]) -> Plot:
    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for arm in ("baseline", "canonical"):
            mine = sorted((row for row in rows if row["arm"] == arm), key=lambda row: row["n"])
            colour = style.arm_colour(arm)
            whole = [row for row in mine if row["solved"] == 1]
            cut = [row for row in mine if row["solved"] < 1]
            mean = [row["restricted_mean"] for row in whole]
            ends = [
                [row["restricted_mean"] - row["restricted_low"] for row in whole],
                [row["restricted_high"] - row["restricted_mean"] for row in whole],
            ]
            axes.errorbar([r["n"] for r in whole], mean, ends, color=colour, marker="o", ms=4, capsize=2, label=arm)
            axes.plot(
                [r["n"] for r in cut], [r["restricted_mean"] for r in cut], "^", mfc="none", color=colour,
                label=f"{arm}: more than this" if cut else None,
            )  # fmt: skip
            paper = [row for row in mine if row["paper_mean"] is not None]
            axes.plot(
                [r["n"] for r in paper], [r["paper_mean"] for r in paper], "x:", color=colour, linewidth=1, ms=5,
                label=f"{arm}, paper",
            )  # fmt: skip
        axes.set(yscale="log", xlabel="cells of the ring, N", ylabel="episodes to converge")
        axes.legend(fontsize=7)

    headers = ("n", "arm", "solved", "restricted_mean", "restricted_low", "restricted_high", "paper_mean")
    data = [tuple(row[key] for key in headers) for row in rows]
    seeds = min((row["seeds"] for row in rows), default=None)
    return plot("front-ring1d", "Table 1 and the blow-up", draw, headers, data, size=_SIZE, seeds=seeds)


# ---------------------------------------------------------------------- (3) the cube


def _cube() -> Card:
    title = "How small a network solves random Rubik's cubes?"
    shipped = _shipped()
    if shipped is None:
        return Card(title, "cube_solver", "Its picture needs torch: pip install 'burnside[learn]'.", missing=True)
    from burnside.experiments.cube_solver import PUBLISHED

    weights, states = shipped
    folder = committed("cube_solver")
    ours: list[dict[str, Any]] = []
    if folder is not None:
        from burnside.experiments.cube_solver.analysis import table

        rows = table(folder, allow_missing=True)
        size = {row["arm"]: row["weights"] for row in rows if row["kind"] == "budget"}
        ours = [
            {"arm": row["arm"], "states": row["needed"], "weights": size[row["arm"]]}
            for row in rows
            if row["kind"] == "needed" and not row["censored"] and row["arm"] in size
        ]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for row in ours:
            axes.plot(row["states"], row["weights"], "o", color=style.arm_colour(row["arm"]), ms=5, label=row["arm"])
        axes.plot(states, weights, "*", color=style.arm_colour("equivariant-96"), ms=12, label="shipped, 96 symmetries")
        for k, solver in enumerate(sorted(PUBLISHED, key=lambda each: each.states)):
            axes.plot(solver.states, solver.weights, "x", color=style.INK, ms=6)
            above = 6 if k % 2 else -13  # neighbours do not cover one another
            axes.annotate(
                solver.name, (solver.states, solver.weights), xytext=(0, above), textcoords="offset points", fontsize=8,
                ha="center",
            )  # fmt: skip
        axes.plot([], [], "x", color=style.INK, label="published, no symmetry")
        axes.set(xscale="log", yscale="log", xlabel="training states", ylabel="weights")
        axes.margins(0.25, 0.25)
        figure.legend(loc="outside lower center", ncols=2, fontsize=7)

    least = min(solver.weights for solver in PUBLISHED)
    fewest = min(solver.states for solver in PUBLISHED)
    sentence = (
        f"The shipped policy has {spaced(weights)} weights and learned from {spaced(states)} random walks; the "
        f"smallest published solver we know of has {spaced(least)} weights, and the least data used were "
        f"{_power(fewest)} states."
    )
    data = [("shipped", states, weights), *((s.name, s.states, s.weights) for s in PUBLISHED)]
    data += [(row["arm"], row["states"], row["weights"]) for row in ours]
    picture = plot("front-cube", "Solvers of the cube", draw, ("solver", "states", "weights"), data, size=_SIZE)
    return Card(title, "cube_solver", sentence, picture)


def _power(count: float) -> str:
    """A count for people.

    >>> _power(1.3e8), _power(2e9)
    ('130 million', '2 billion')
    """
    size, word = (1e9, "billion") if count >= 1e9 else (1e6, "million")
    return f"{count / size:.3g} {word}"


def _shipped() -> tuple[int, int] | None:
    """Weights and training states of the policy in the package; None without torch."""
    try:
        from burnside.agents.cube_walks.config import shipped_policy
        from burnside.envs.cube.core import CubeSpec
        from burnside.nn.tensors import open_tensors
    except BurnsideError:
        return None
    with as_file(shipped_policy(CubeSpec(3))) as path:
        file = open_tensors(path)
        # the running means and variances of the normalisation are not learned
        learned = {name: shape for name, shape in file.shapes.items() if not name.startswith(("mean", "var"))}
        return sum(math.prod(shape) for shape in learned.values()), int(file.settings("config")["states"])


# ---------------------------------------------------------------------- (4) the plane and the robot


def _planar() -> Card:
    title = "Do frames save episodes in the plane?"
    folder = committed("planar")
    if folder is None:
        return _missing(title, "planar", "burnside sweep planar --preset study")
    from burnside.experiments.planar.analysis import table

    rows = [row for row in table(folder, allow_missing=True) if row["kind"] == "ppo"]
    places = sorted({(row["shift"], row["turn"]) for row in rows})

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for arm in ("world", "relative", "robot"):
            mine = {(row["shift"], row["turn"]): row for row in rows if row["arm"] == arm}
            colour = style.arm_colour(arm)
            whole = [k for k, place in enumerate(places) if place in mine and mine[place]["solved"] == 1]
            cut = [k for k, place in enumerate(places) if place in mine and mine[place]["solved"] < 1]
            found = [mine[places[k]] for k in whole]
            mean = [row["restricted_mean"] for row in found]
            ends = [
                [row["restricted_mean"] - row["restricted_low"] for row in found],
                [row["restricted_high"] - row["restricted_mean"] for row in found],
            ]
            axes.errorbar(whole, mean, ends, color=colour, marker="o", ms=4, capsize=2, label=arm)
            axes.plot(cut, [mine[places[k]]["restricted_mean"] for k in cut], "^", mfc="none", color=colour,
                      label=f"{arm}: more than this" if cut else None)  # fmt: skip
        words = [f"{a:g} m, {math.degrees(b):.0f}°" if a or b else "none" for a, b in places]
        axes.set_xticks(range(len(places)), words)
        axes.set(yscale="log", xlabel="how far scenes are moved about", ylabel="episodes to 90 % success")
        axes.legend(fontsize=7)

    far = [row for row in rows if (row["shift"], row["turn"]) == places[-1] and row["arm"] == "world"]
    ratio = with_limits(far[0]["ratio"], far[0]["ratio_low"], far[0]["ratio_high"], far[0]["ratio_bound"], 1)
    sentence = (
        f"PPO that sees the scene from the robot needs the same few episodes wherever the scene stands; from the world "
        f"it needs {ratio} times as many when scenes stand anywhere."
    )
    headers = ("task", "shift", "turn", "arm", "solved", "restricted_mean", "restricted_low", "restricted_high")
    data = [tuple(row[key] for key in headers) for row in rows]
    seeds = min(row["seeds"] for row in rows)
    picture = plot("front-planar", "Frames in the plane", draw, headers, data, size=_SIZE, seeds=seeds)
    return Card(title, "planar", sentence, picture)


def _robot() -> Card:
    title = "Do frames save demonstrations on the robot?"
    folder = committed("robot")
    rows: list[dict[str, Any]] = []
    if folder is not None:
        from burnside.experiments.robot.analysis import rows_of

        rows = [row for row in rows_of(read_results(folder, allow_missing=True)) if row["kind"] == "saving"]
    if not rows:
        return _missing(title, "robot", "burnside sweep robot --preset study --only kind=frames")
    for row in rows:
        row |= {
            "ratio": row["saving"],
            "low": row["saving_low"],
            "high": row["saving_high"],
            "bound": row["saving_bound"],
        }
    settings = list(dict.fromkeys((row["task"], row["shift"], row["turn"], row["demos"]) for row in rows))
    arms = [arm for arm in style.ARM_COLOURS if any(row["arm"] == arm for row in rows)]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for k, arm in enumerate(arms):
            mine = [row for row in rows if row["arm"] == arm]
            place = [
                settings.index((r["task"], r["shift"], r["turn"], r["demos"])) + 0.7 * (k + 0.5) / len(arms) - 0.35
                for r in mine
            ]
            ratio_dots(axes, mine, place, arm)
        axes.axvline(1.0, color=style.MUTED, linewidth=1)
        axes.set_xscale("log")
        words = [f"{t}, {s:g} m {math.degrees(a):.0f}°, {d} demos" for t, s, a, d in settings]
        axes.set_yticks(range(len(settings)), words, fontsize=7)
        axes.invert_yaxis()
        axes.set_xlabel("times as many demonstrations the world's frame needs")
        figure.legend(loc="outside lower center", ncols=3, fontsize=7)

    best = max(rows, key=lambda row: row["low"] if row["low"] is not None else 0.0)
    ratio = with_limits(best["ratio"], best["low"], best["high"], best["bound"], 1)
    sentence = (
        f"On cells that are moved as a whole the world's frame needs up to {ratio} times as many demonstrations "
        f"({best['task']}, frame {best['arm']}); where the cell stands still a frame saves little or nothing."
    )
    headers = ("task", "shift", "turn", "demos", "arm", "ratio", "low", "high", "bound")
    data = [tuple(row[key] for key in headers) for row in rows]
    size = (_SIZE[0], max(_SIZE[1], 1.2 + 0.22 * len(settings)))
    seeds = min(row["seeds"] for row in rows)
    picture = plot("front-robot", "Frames on the robot", draw, headers, data, size=size, seeds=seeds)
    return Card(title, "robot", sentence, picture)


# ---------------------------------------------------------------------- (5) the ledger


def _ledger(claims: Sequence[Claim]) -> Card:
    found = counts(claims)["status"]
    wrong = [claim for claim in claims if claim.status == "wrong"]
    total = len(claims)
    parts = "".join(
        f'<li style="--share:{number / total:.4f};--light:{STATUS_COLOURS[name][0]};--dark:{STATUS_COLOURS[name][1]}" '
        f'title="{escape(STATUSES[name])}"><b>{number}</b> <span>{escape(name)}</span></li>'
        for name, number in found.items()
    )
    named = "".join(f'<li><a href="#claim-{c.id}">{escape(c.where)}</a>: {escape(c.claim)}</li>' for c in wrong)
    undecided = sum(claim.ours == "not decided here" for claim in claims)
    sentence = (
        f"Of {total} checkable sentences {found.get('wrong', 0)} need a correction; {undecided} were not decided here, "
        "because nothing was run at a scale that could."
    )
    bar = f'<ol class="bar" aria-label="claims by status">{parts}</ol>'
    more = f'{bar}<p>These need one; each link says which:</p><ul class="named">{named}</ul>'
    return Card("Is the paper right?", "claims", sentence, None, more)
