"""``burnside measure ENV --learner ppo``: how many steps a symmetry saves a deep learner, with controls."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnside.cli.console import output, print_json, print_problem, progress, styled, table
from burnside.cli.models import parse_parameters
from burnside.errors import BurnsideError, InvalidParameter, UnknownName
from burnside.experiments.atlas.config import ARMS, CONTROLS, FRACTIONS, MAIN, PATIENCE, TASKS, USUAL, Task, conditions
from burnside.experiments.atlas.run import Measurement, cells_of, check_evaluations
from burnside.runs import sweep
from burnside.runs.sweep import SweepOutcome
from burnside.symmetry.frames import canonical_form

if TYPE_CHECKING:
    from burnside.cli.measure import Measure
    from burnside.experiments.atlas.analysis import Group

__all__ = ["DEEP", "check_words", "is_deep", "measure_env"]

#: Learners of environments; also ``module:function``.
DEEP = ("ppo", "dqn", "sac", "sb3:PPO", "sb3:SAC", "sb3:DQN")
#: Steps between evaluations of PPO are whole rollouts.
_GRAIN = {"ppo": 512, "dqn": 256, "sac": 256}
#: Places of every kind at which the symmetry is checked: enough for *holds*, and a few seconds.
_CHECKED = 500


def is_deep(learner: str) -> bool:
    """Whether a learner is one of environments, not of tables."""
    return learner in DEEP or ":" in learner


def measure_env(options: Measure) -> int:
    """Run the command for an environment."""
    task, reference, checked = _task(options)
    folder = options.runs / _folder_name(task, options.domain)
    if options.tune:
        from burnside.experiments.atlas.tuning import tuning_tasks

        place = folder / "tuning"
        searched = _sweep(options, Measurement(tuning_tasks(task, options.tune), "measure"), place)
        if not searched.ok:
            return _unfinished(searched, place)
        task = _tuned(task, place)
    outcome = _sweep(options, Measurement((task,), "measure"), folder)
    if not outcome.ok:
        return _unfinished(outcome, folder)
    from burnside.experiments.atlas.analysis import groups

    (group,) = groups(folder)
    found = _summary(task, group, reference, checked, folder, options)
    try:
        found["report"] = str(_page(group, folder, found))
    except BurnsideError as error:  # matplotlib is an extra
        found["report"] = None
        found["note"] = str(error)
        print_problem("note", f"there is no page: {error}")
    for note in found["notes"]:
        print_problem("note", note)
    if options.json:
        print_json(found)
    else:
        _show(found, group)
    return 0


def _folder_name(task: Task, domain: str | None) -> str:
    by = f"-by-{domain}" if domain else ""
    return re.sub(r"[^\w.-]+", "-", f"{task.env}-{task.learner}{by}")


def _task(options: Measure) -> tuple[Task, dict[str, float], dict[str, Any] | None]:
    """The task that the options name, the scores of random actions and of the action zero, and the check."""
    from burnside.canonical.guard import theirs
    from burnside.experiments.atlas.learners import reference_score, steps_at_a_time
    from burnside.experiments.atlas.tasks import digests, env_maker, symmetry_for

    learner = options.learner
    if learner.startswith("sb3:") and learner not in DEEP:
        raise UnknownName("learner", learner, DEEP)
    known = next((t for t in TASKS if t.env == options.model and t.learner == learner and not t.variant), None)
    known = known or next((t for t in TASKS if t.env == options.model and not t.variant), None)
    make = parse_parameters(options.param)
    maker = env_maker(options.model, make or (known.make if known else {}))
    env = maker()
    symmetry: Any = options.symmetry or (known.symmetry if known else "atlas")
    declared = symmetry_for(env, options.model, symmetry)
    if options.domain is not None:
        try:
            symmetry = {**declared.to_dict(), "domain": _deciding(options.domain)}
        except BurnsideError as error:
            raise InvalidParameter(f"--domain needs a symmetry that can be written down, but {error}") from None
        declared = symmetry_for(env, options.model, symmetry)
        canonical_form(declared)  # refuses what decides nothing, before anything runs
    with progress(f"playing {options.model} with random actions and with none"):
        reference = {
            name: float(theirs(f"playing {options.model}", reference_score, maker, name, 30).mean())
            for name in ("random", "zero")
        }
    settings: dict[str, Any] = dict(known.settings) if known and known.learner == learner else {}
    settings |= parse_settings(options.setting)
    steps = options.steps or (known.steps if known and known.learner == learner else 200_000)
    # at least as far apart as the learner's stops are
    own = theirs(f"--setting of {learner}", steps_at_a_time, learner, settings)
    grain = max(own, _GRAIN.get(learner, 500))
    usual = known.every if known and known.learner == learner else max(grain, steps // 60 // grain * grain)
    if options.every is not None and options.every > own and options.every % own:
        raise InvalidParameter(
            f"{learner} makes {own} steps at a time, so evaluations every {options.every} would come after more "
            f"steps than they say: give a multiple of {own}"
        )
    every = options.every if options.every is not None else max(1, -(-usual // own)) * own
    # what is known of an environment's scores is known of it as it is usually made
    usually = not make or (known is not None and make == dict(known.make))
    low, best = _scale(options, known if usually else None, env if usually else None, reference["random"])
    task = Task(
        options.model,
        known.family if known else "",
        learner,
        steps,
        low,
        best,
        every=min(every, steps),
        episodes=options.episodes,
        seeds=options.seeds,
        settings=settings,
        arms=tuple(options.arms.split(",")),
        controls=tuple(c for c in options.controls.split(",") if c and c != "none"),
        make=make or (dict(known.make) if known else {}),
        symmetry=symmetry,
        block=max(1, min(5, -(-options.seeds // 2))),
        code=digests(options.model, options.symmetry, learner),
    )
    for cell in cells_of(task)[:1]:
        check_evaluations(cell.config)
    task = _used(_suitable(_possible(task, env, declared, options), options), options)
    return task, reference, _checked(options, maker, declared) if len(conditions(task)) > 1 else None


def parse_settings(words: Iterable[str | Iterable[str]]) -> dict[str, Any]:
    """``--setting`` as a dictionary; its mistakes are told as those of ``--setting``.

    >>> parse_settings(["gamma=0.9", "hidden=[16,16]"])
    {'gamma': 0.9, 'hidden': [16, 16]}
    """
    try:
        return parse_parameters(words)
    except InvalidParameter as error:
        raise InvalidParameter(str(error).replace("--param", "--setting")) from None


def _suitable(task: Task, options: Measure) -> Task:
    """The task, every learner of which can be made; of the usual arms those that do not suit are left out."""
    from burnside.experiments.atlas.learners import condition, make_learner

    left: dict[str, str] = {}
    for cell in cells_of(replace(task, seeds=1)):
        arm, control = cell.config["arm"], cell.config["control"]
        if control == "placebo" or arm in left:  # a placebo takes a while to be drawn
            continue
        try:
            make_learner(cell.config, condition(cell.config), 0)
        except BurnsideError as error:
            if arm == "baseline" or options.arms != ",".join(USUAL):
                raise
            left[arm] = str(error)
    for arm, why in left.items():
        print_problem("note", f"without {arm}: {why}")
    return replace(task, arms=tuple(arm for arm in task.arms if arm not in left))


def _checked(options: Measure, maker: Callable[[], Any], declared: Any) -> dict[str, Any]:
    """What the check says of the symmetry; whoever measures a wrong one is warned before anything runs."""
    from burnside.canonical import check_symmetry

    name = getattr(declared, "name", "the symmetry")
    again = f"burnside check {options.model}" + (f" --symmetry {options.symmetry}" if options.symmetry else "")
    try:
        with progress("checking the symmetry"):
            verdict = check_symmetry(maker(), declared, samples=_CHECKED)
    except BurnsideError as error:
        print_problem("note", f"{name} could not be checked: {error}")
        return {"name": name, "check": "not checked", "why": str(error)}
    found = {"name": name, "check": verdict.verdict, "why": str(verdict.counterexample or verdict.advice or "")}
    if verdict.verdict == "refuted":
        print_problem("warning", f"{name} does not hold in {options.model}: {found['why']}; see '{again}'")
    return found


def _deciding(domain: str) -> Any:
    """A number of the observation, or a name."""
    return int(domain) if domain.isdigit() else domain


def _scale(options: Measure, known: Task | None, env: Any, random: float) -> tuple[float | None, float | None]:
    """Between which scores the thresholds lie: as given, as known, or as the environment's own aim says."""
    if options.threshold is not None:
        if not math.isfinite(options.threshold):
            raise InvalidParameter(f"the threshold is {options.threshold}: give a score")
        if not options.threshold > random:
            raise InvalidParameter(
                f"the threshold {options.threshold:g} is not above {random:.4g}, which random actions reach"
            )
        return random, random + (options.threshold - random) / MAIN
    if known is not None:
        return known.random, known.best
    aim = getattr(getattr(env, "spec", None), "reward_threshold", None)
    return (random, float(aim)) if aim is not None and aim > random else (None, None)


def _possible(task: Task, env: Any, declared: Any, options: Measure) -> Task:
    """Without the controls that this symmetry cannot have."""
    from burnside.canonical.arms import on_rows
    from burnside.envs.gymnasium_batch import as_batched

    flat = on_rows(as_batched(lambda: env), declared)
    controls = task.controls
    if "domain" in controls and "canonical" in task.arms and flat.other_domain() is None:
        why = f"no other domain of {getattr(declared, 'name', 'the symmetry')} was found"
        if options.controls != ",".join(CONTROLS):
            raise InvalidParameter(f"{why}: leave out the control domain")
        print_problem("note", f"without the control domain: {why}")
        controls = tuple(c for c in controls if c != "domain")
    return replace(task, controls=controls)


def _used(task: Task, options: Measure) -> Task:
    """The task with the controls that belong to one of its arms; others are named, or refused if asked for."""
    idle = [name for name in task.controls if not set(CONTROLS[name]) & set(task.arms)]
    if idle and len(conditions(task)) > 1:
        many = len(idle) > 1
        words = f"{'controls' if many else 'control'} {' and '.join(idle)}, which {'go' if many else 'goes'} with "
        words += "the arm " + " or ".join(CONTROLS[idle[-1]])
        if options.controls != ",".join(CONTROLS):
            raise InvalidParameter(f"--arms names no arm for the {words}: name one, or leave that control out")
        print_problem("note", f"without the {words}")
    return replace(task, controls=tuple(name for name in task.controls if name not in idle))


def _sweep(options: Measure, job: Measurement, folder: Path) -> SweepOutcome:
    from burnside.cli.sweep import parse_options

    return sweep(
        job,
        "measure",
        folder,
        engine=options.engine,
        workers=options.workers,
        threads=1,
        track=options.track,
        options=parse_options(options.option),
    )


def _tuned(task: Task, place: Path) -> Task:
    """The task with settings that the same search found for every condition."""
    from burnside.experiments.atlas.analysis import groups
    from burnside.experiments.atlas.tuning import chosen

    best = chosen(task, groups(place))
    return replace(task, tuned={f"{arm}/{control}": own for (arm, control), own in best.items()})


def _unfinished(outcome: SweepOutcome, folder: Path) -> int:
    same: dict[str, list[str]] = {}
    for name, why in outcome.failed.items():
        same.setdefault(why, []).append(name)
    for why, names in same.items():
        often = f"{len(names)} cells: " if len(names) > 1 else ""
        print_problem("failed", f"{often}{why} ({folder / 'cells' / names[0] / 'failed.txt'})")
    if outcome.left:
        output().print("stopped; the same command resumes from here")
    return outcome.exit_code


def _summary(
    task: Task,
    group: Group,
    reference: dict[str, float],
    checked: dict[str, Any] | None,
    folder: Path,
    options: Measure,
) -> dict[str, Any]:
    from burnside.experiments.atlas.analysis import rows_of
    from burnside.experiments.atlas.tuning import SEEDS

    rows = rows_of(group, refuted=checked is not None and checked["check"] == "refuted")
    order = next((row["order"] for row in rows if row["arm"] != "baseline"), None)
    others = [key for key in group.conditions if key != ("baseline", "")]
    overall = {"/".join(k for k in key if k): _finite(group.overall(key)) for key in others}
    return {
        "env": task.env,
        "learner": task.learner,
        "settings": dict(task.settings),
        "tuning": "none: all at the learner's usual settings" if not task.tuned else {
            "candidates": options.tune, "seeds": SEEDS,
            "settings": {key: dict(own) for key, own in task.tuned.items()}},
        "steps": task.steps,
        "every": task.every,
        "episodes": task.episodes,
        "reference": reference,
        "symmetry": checked,
        "thresholds": [{"fraction": f, "score": group.threshold(f)} for f in FRACTIONS],
        "thresholds_fixed_before": group.given,
        "main": {"fraction": MAIN, "score": group.threshold(MAIN), "evaluations_in_a_row": PATIENCE},
        "order": order,
        # almost every pair of state and action has as many images as the group has elements
        "orbit_counting": None if checked is not None and checked["check"] == "refuted" else order,
        "rows": rows,
        "over_thresholds": {"/".join(k for k in key if k): group.over_thresholds(key) for key in others},
        "overall": overall,
        "notes": _notes(group, rows, reference),
        "runs": str(folder),
    }  # fmt: skip


def _notes(group: Group, rows: Iterable[dict[str, Any]], reference: dict[str, float]) -> list[str]:
    """What a reader of the ratios must know, beside them."""
    notes = []
    if not group.improved:
        notes.append(
            "the baseline never did better than at its first evaluation, so thresholds on its scale, and ratios at "
            "them, mean nothing: give --threshold, or more --steps"
        )
    elif reference["zero"] >= group.threshold(FRACTIONS[0]):
        notes.append(
            f"the action zero reaches {reference['zero']:.4g}, above the threshold of {FRACTIONS[0]:.0%}: give a "
            f"higher --threshold, to measure more than doing nothing"
        )
    early = [
        f"{' '.join(part for part in (row['arm'], row['control']) if part)} {row['at_first']} of {row['seeds']}"
        for row in rows
        if row["at_first"]
    ]
    if early:
        notes.append(
            f"some runs are there at the first evaluation ({', '.join(early)}) and may have needed fewer steps than it "
            f"counts: of an arm, the ratio may then be larger; of the baseline, smaller"
        )
    return notes


def _finite(found: Any) -> dict[str, Any]:
    return {
        "ratio": found.value if math.isfinite(found.value) else None,
        "low": found.low,
        "high": found.high,
        "bound": found.bound,
    }


def _page(group: Group, folder: Path, found: dict[str, Any]) -> Path:
    from burnside.report.savings import measure_page

    words = _tuning(found["tuning"])
    lead = (
        f"burnside measure {found['env']} --learner {found['learner']}. Tuning: {words}. Random actions reach "
        f"{found['reference']['random']:.4g}, the action zero {found['reference']['zero']:.4g}."
    )
    checked = found["symmetry"]
    if checked is not None:
        lead += f" The symmetry: {_words(checked)}"
        lead += f": {checked['why']}." if checked["check"] == "refuted" else "."
    return measure_page([group], folder, lead, refuted=checked is not None and checked["check"] == "refuted")


def _tuning(said: str | dict[str, Any]) -> str:
    """What was tuned, with which budget, and what was chosen."""
    if isinstance(said, str):
        return said
    own = []
    for key, settings in said["settings"].items():
        words = ", ".join(f"{name}={value}" for name, value in settings.items()) or "the usual settings"
        own.append(f"{key.strip('/').replace('/', ' ')} {words}")
    return (
        f"baseline, arms and controls each tried the same {said['candidates']} settings on {said['seeds']} other "
        f"seeds; chosen: {'; '.join(own)}"
    )


def _words(checked: dict[str, Any]) -> str:
    """What the check says, in a few words."""
    said = {
        "holds": "holds, as far as the check sees",
        "refuted": "is refuted by the check",
        "inconclusive": "the check does not decide whether it holds",
        "not checked": "it could not be checked",
    }
    name, verdict = checked["name"], checked["check"]
    return f"{name} {said[verdict]}" if verdict in ("holds", "refuted") else f"{name}; {said[verdict]}"


def _show(found: dict[str, Any], group: Group) -> None:
    from burnside.report.savings import HEADERS, savings_rows

    console = output()
    console.print(styled((found["env"], "bold"), f", {found['learner']}: steps of the baseline over steps of the arm"))
    fixed = "fixed before" if found["thresholds_fixed_before"] else "their scale measured in the baseline's runs"
    levels = ", ".join(f"{t['score']:.4g} ({t['fraction']:.0%})" for t in found["thresholds"])
    console.print(
        f"thresholds ({fixed}): {levels}; the table has {found['main']['score']:.4g}, sustained", soft_wrap=True
    )
    reference = found["reference"]
    console.print(f"random actions reach {reference['random']:.4g}, the action zero {reference['zero']:.4g}")
    if found["symmetry"] is not None:
        console.print(f"symmetry: {_words(found['symmetry'])}", soft_wrap=True)
    shown = table(*HEADERS)
    for row in savings_rows(found["rows"]):
        shown.add_row(*("–" if cell is None else str(cell) for cell in row))
    console.print(shown)
    console.print(f"tuning: {_tuning(found['tuning'])}", soft_wrap=True)
    if found["order"] and found["symmetry"]["check"] != "refuted":
        console.print(f"orbit counting predicts {found['order']}: almost every pair has that many images")
    if found["report"]:
        console.print(f"the page: {found['report']}", soft_wrap=True)


def check_words(options: Measure) -> None:
    """Refuse arms and controls that do not exist, before anything runs."""
    for kind, given, known in (("arm", options.arms, ARMS), ("control", options.controls, (*CONTROLS, "none", ""))):
        words = given.split(",")
        for word in words:
            if word not in known:
                raise UnknownName(kind, word, [name for name in known if name])
            if words.count(word) > 1:
                raise InvalidParameter(f"--{kind}s names {word!r} twice: give it once")
    if "none" in options.controls.split(",") and options.controls != "none":
        raise InvalidParameter(f"--controls {options.controls} says none and some: leave out one of them")
    if options.domain is not None and "canonical" not in options.arms.split(","):
        raise InvalidParameter(
            "--domain is what decides in the arm canonical, which --arms does not name: leave it out"
        )
    if options.seeds < 1:
        raise InvalidParameter(f"seeds is {options.seeds}: give at least 1")
    if options.every is not None and options.every < 1:
        raise InvalidParameter(f"--every is {options.every}: give at least 1")
    if options.tune == 1:
        raise InvalidParameter("--tune 1 would try only the settings that are given: give 2 or more, or leave it out")
    if options.tune < 0 or options.episodes < 1 or (options.steps is not None and options.steps < 1):
        raise InvalidParameter("--tune must be 0 or more, --episodes and --steps at least 1")
