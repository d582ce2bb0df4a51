"""``check_symmetry``: does a claimed symmetry hold in *any* Gymnasium environment? If not, here is where it fails.

Def. 7 asks for ``r(g·s, g·a) = r(s, a)`` and ``p(g·s' | g·s, g·a) = p(s' | s, a)``. With a transition table this is
checked everywhere; with a state that can be set, at places of several kinds, by comparing what the action does there
with what its image does in the image of the state; without, on pairs whose image was met as well.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from burnside._resources import needs_memory
from burnside.canonical.base import Canonicalizer
from burnside.canonical.checking.access import (
    Pair,
    Prober,
    StateAccess,
    folded_env,
    folding_of,
    open_env,
    plain_action,
    state_access,
)
from burnside.canonical.checking.bench import Bench, Options, Unreproduced
from burnside.canonical.checking.canonicity import check_form, check_group
from burnside.canonical.checking.episodes import mirrored_truncation
from burnside.canonical.checking.evidence import (
    COMPONENTS,
    Deviations,
    EnvCounterexample,
    Kind,
    Place,
    Stratum,
    counterexample,
)
from burnside.canonical.checking.laws import LawComparison
from burnside.canonical.checking.rates import failure_bound, samples_needed
from burnside.canonical.checking.report import coverage_of, largest_law, measures_of, worst_of
from burnside.canonical.checking.resets import ResetLaw, compare_resets
from burnside.canonical.checking.single import compare_single
from burnside.canonical.checking.sources import PLACES, WALK, Moves, Sources
from burnside.canonical.checking.spaces import Actions, describe, inside
from burnside.canonical.checking.tables import agrees_with_walk, check_table, has_table
from burnside.canonical.checking.tolerance import Ruler, fit_scales, floats_of, lattice_of
from burnside.canonical.checking.trajectories import compare_trajectories
from burnside.canonical.checking.verdict import (
    HOLDS,
    INCONCLUSIVE,
    REFUTED,
    Component,
    EnvVerdict,
    component_verdicts,
    reset_component,
    worst_example,
)
from burnside.canonical.checking.visited import VisitedPairs, compare_visited
from burnside.canonical.checking.walks import Coverage, choose_visits, time_limit, walk
from burnside.canonical.declared import known_symmetry
from burnside.canonical.guard import GuardedForm, guarded
from burnside.errors import BurnsideError, InvalidParameter
from burnside.symmetry.declaration import EnvSymmetry, as_symmetry

__all__ = ["PLACES", "check_symmetry"]

_LEAST_DRAWS = 20
#: Memory that a place takes at least: a state, two observations, an action and what holds them.
PLACE_BYTES = 1000
_DRAW_BYTES = 500  # of one outcome: an observation and what holds it
_FORMS = 500  # observations on which a canonical form is checked, up to half of them from the search
_TRIED = 8  # observations and actions by which elements are told apart
_SMALL = 5000  # pairs of a table that are tried for truncation
_LONGEST = 5000  # steps of a longer time limit are not waited for
_EXAMPLES = 200  # observations and actions of the spaces whose images are looked at


def check_symmetry(
    env_or_factory: Any,
    symmetry: Any = None,
    *,
    samples: int = 1000,
    confidence: float = 0.99,
    max_failure_rate: float = 0.01,
    seed: int = 0,
    tol: float = 1e-6,
    draws: int = 32,
    places: str = "all",
    policy: Callable[[Any], Any] | None = None,
    states: Iterable[Any] | Callable[[Any], Iterable[Any]] | None = None,
    names: Sequence[str] | None = None,
    canonicalizer: Canonicalizer | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> EnvVerdict:
    """Check dynamics, reward, termination, truncation and the law of ``reset`` under the generators of a group.

    The answer is ``holds``, ``refuted`` (with a counter-example) or ``inconclusive`` (with what would decide it), for
    each of these and for the whole. ``holds`` promises that at most ``max_failure_rate`` of the places of each kind
    violate the symmetry, at the stated confidence. The canonical form, the elements and the inverse are checked along.

    Args:
        env_or_factory: an environment, a function that makes one, or a registered id. It is stepped and reset.
        symmetry: an :class:`EnvSymmetry`, or any object with its attributes; default what the environment declares,
            or the atlas knows of it.
        samples: (state, action, generator) that are tried at places of each kind, where there is no table.
        confidence: of the stated failure rate; and 1 − confidence bounds the chance that a true symmetry is refuted.
        max_failure_rate: what ``holds`` promises. At 99 % confidence, 1 % needs 459 samples without a violation.
        seed: of all that is random here.
        tol: differences up to this count as equal, relative to how much that number varies or changes in a step. What
            rounding explains never counts.
        draws: outcomes drawn on either side at first, where the environment is stochastic; what looks different is
            drawn again, more often.
        places: ``"all"``; ``"reached"``, without states that are only set; ``"walk"``, without the search for new ones.
        policy: a function of the observation that returns an action, to go where chance does not.
        states: states to check as well, or a function of the environment that returns some.
        names: of the numbers of an observation, for reports.
        canonicalizer: default the symmetry's own.
        progress: called with the number of places that are done, and of all.

    The environment is judged as it is passed, with its wrappers. Those that remember (frame stacks) have a state that
    cannot be set, so check what is inside them. Time limits do not matter. If setting the state as the symmetry says
    does not bring back what was seen, nothing is judged: that is an :class:`~burnside.errors.InvalidParameter`.

    >>> from burnside.canonical import known
    >>> verdict = check_symmetry("CartPole-v1", known.cartpole_reflection())
    >>> verdict.verdict, verdict.method, round(verdict.failure_rate, 4), verdict.components["reward"].verdict
    ('holds', 'deterministic', 0.0046, 'holds')
    >>> few = check_symmetry("CartPole-v1", known.cartpole_reflection(), samples=100)
    >>> few.verdict, few.ok, round(few.failure_rate, 3)
    ('inconclusive', False, 0.045)
    """
    _validate(samples, draws, confidence, max_failure_rate, tol, seed, places, policy)
    env = open_env(env_or_factory)
    claimed = known_symmetry(env, "check_symmetry") if symmetry is None else as_symmetry(symmetry)
    options = Options(samples, confidence, max_failure_rate, tol, draws)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # what an environment says about states that were set does not matter here
        form = claimed.canonicalizer if canonicalizer is None else canonicalizer
        for lifted in (True, False):
            rng = np.random.default_rng(seed)
            check = _Check(env, claimed, options, places, policy, states, names, rng, progress, lifted)
            verdict = check.run(form)
            if not (check.guessed and verdict.verdict == REFUTED):
                break  # a guess of how states move can show that the symmetry holds, not that it does not
        return verdict


def _validate(
    samples: int,
    draws: int,
    confidence: float,
    max_failure_rate: float,
    tol: float,
    seed: Any,
    places: str,
    policy: Any,
) -> None:
    for option, given, least in (("samples", samples, 1), ("draws", draws, _LEAST_DRAWS)):
        if given < least:
            raise InvalidParameter(f"{option} must be {least} or more, not {given}")
    if not 0 < confidence < 1:
        raise InvalidParameter(f"confidence must lie between 0 and 1, not {confidence}")
    if not (tol >= 0 and math.isfinite(tol)):
        raise InvalidParameter(f"tol must be finite and 0 or more, not {tol}")
    needs_memory(f"a check of {samples} samples", samples * PLACE_BYTES, "give fewer samples")
    needs_memory(f"a comparison of {draws} draws", draws * _DRAW_BYTES, "give fewer draws")
    if not 0 < max_failure_rate < 1:
        raise InvalidParameter(f"max_failure_rate must lie between 0 and 1, got {max_failure_rate}")
    if isinstance(seed, int) and seed < 0:
        raise InvalidParameter(f"seed must be 0 or more, not {seed}")
    if places not in PLACES:
        raise InvalidParameter(f"places must be one of {', '.join(PLACES)}, got {places!r}")
    if policy is not None and not callable(policy):
        raise InvalidParameter(f"policy must be a function of the observation, got a {type(policy).__name__}")


class _Check:
    """One check, step by step."""

    def __init__(
        self,
        env: Any,
        symmetry: EnvSymmetry,
        options: Options,
        places: str,
        policy: Callable[[Any], Any] | None,
        states: Any,
        names: Sequence[str] | None,
        rng: np.random.Generator,
        progress: Callable[[int, int], None] | None,
        lifted: bool,
    ) -> None:
        fold, unfolded = folding_of(symmetry), env
        env = env if fold is None else folded_env(env, fold)
        self.env, self.claimed, self.options = env, symmetry, options
        self.plain = guarded(symmetry)
        self.where, self.policy, self.states = places, policy, states
        self.rng = rng
        self.notes: list[str] = []
        if fold is not None:
            self.notes.append("angles are compared up to full turns, and quaternions up to their sign")
        self.advice: list[str] = []
        self.texts: dict[str, str] = {}
        self.strata: list[Stratum] = []
        self.required: list[str] = []
        self.exhaustive = False
        self.power, self.resolution, self.pooled = 1.0, 0.0, 0.0
        self.method = ""
        self.rate: float | None = None
        self._told = progress
        self._done, self._all = 0, options.samples
        self.access, self.reason = state_access(env, self.plain, fold)
        self.guessed = False
        if self.access is None and lifted:
            self._find_state(unfolded, fold)
        self.actions = Actions(env.action_space, rng)
        self.coverage = Coverage()
        self.sources: Sources | None = None
        # Even an episode that never ends is begun several times. One with a time limit is played to its end: what is
        # there may depend on a clock that is not part of the state.
        limit = min(time_limit(env), _LONGEST)
        self.longest = max(50, options.samples // 2, limit)
        visits = walk(env, self.access, self.actions, rng, longest=self.longest)
        self.visits = choose_visits(visits, options.samples, rng, self.coverage, limit)
        seen = [v.pair.observation for v in self.visits[:_TRIED]]
        actions = [*self.actions.special[:_TRIED], *(self.actions.random() for _ in range(_TRIED))]
        self.moves = Moves.of(self.plain, seen, actions, rng)
        self.symmetry = self.plain.changed(generators=[*symmetry.generators, *self.moves.elements])
        self.described = describe(env, self.visits[0].pair.observation, names)
        self.ruler = self._ruler()
        self.deviations = Deviations(self.described.names)
        self.trusted = all(
            inside(env.observation_space, x) for v in self.visits for x in (v.pair.observation, v.outcome.observation)
        )

    def _find_state(self, env: Any, fold: Callable[[Any], Any] | None) -> None:
        """The state that the environment seems to have, if what is seen says how the group acts on it."""
        from burnside.canonical.checking.found import find_lift

        found = find_lift(env, self.plain, self.claimed.group, fold)
        if found is not None:
            self.access, self.guessed = found.access, found.guessed
            self.notes.append("nothing says how states are moved, so they were moved such that what is seen moves")

    def _ruler(self) -> Ruler:
        before = [v.pair.observation for v in self.visits]
        after = [v.outcome.observation for v in self.visits]
        scale, reward = fit_scales(before, after, [v.outcome.reward for v in self.visits])
        return Ruler(self.options.tol, scale, reward, self.described.label)

    def _progress(self, done: int) -> None:
        self._done += done
        if self._told is not None:
            self._told(min(self._done, self._all), self._all)

    # ------------------------------------------------------------------ the whole

    def run(self, form: Canonicalizer | None) -> EnvVerdict:
        misfits = self._spaces()
        if self.states is not None and self.access is None:
            raise InvalidParameter(f"states cannot be tried in this environment: {self.reason}")
        if self.access is not None and self._believes_table(self.access):
            self._table(self.access)
        elif self.access is not None:
            try:
                self._settable(self.access)
            except Unreproduced as error:
                if self.access.given:
                    raise InvalidParameter(str(error)) from None
                self.reason = str(error)
                self.access = None
        resets: ResetLaw | None = None
        if self.access is None and self._never_twice():
            resets = self._resets()
            self._trajectories(resets)
        elif self.access is None:
            self._visited()
        for misfit in misfits:
            self.strata[0].add(misfit)
        return self._verdict(form, self._resets() if resets is None else resets)

    def _resets(self) -> ResetLaw:
        return compare_resets(
            self.env,
            self.plain,
            self.described,
            self.options.tol,
            self.options.samples,
            self.options.confidence,
            self.rng,
        )

    # ------------------------------------------------------------------ the spaces, before any step

    def _spaces(self) -> list[EnvCounterexample]:
        """Images of actions and observations of the spaces. An action whose image is not an action refutes."""
        outside = 0
        found: list[EnvCounterexample] = []
        actions = [*self.actions.special[:_EXAMPLES], *(self.actions.random() for _ in range(_EXAMPLES // 4))]
        for j, action in itertools.product(self.moves.all, actions):
            g = self.symmetry.generators[j]
            image = plain_action(self.env.action_space, self.symmetry.act_on_action(g, action))
            if inside(self.env.action_space, image):
                continue
            outside += 1
            if not found:
                first = self.visits[0].pair
                place = Place(Pair(first.state, first.observation, action), j)
                seen = self.symmetry.act_on_observation(g, first.observation)
                text = f"which is not an action of this environment ({self.env.action_space})"
                found.append(counterexample("dynamics", "action", place, g, (seen, image), 1.0, text, WALK))
        total = len(actions) * len(self.moves.all)
        self.action_mismatch = outside / total if total else 0.0
        self.space_mismatch = self._observation_mismatch()
        if self.space_mismatch:
            self.notes.append(
                f"the observation space is not mapped to itself: about {100 * self.space_mismatch:.2g} % of it has its "
                "image outside"
            )
        if self.trusted and self.access is None:
            found += self._seen_outside()
        return found

    def _observation_mismatch(self) -> float | None:
        """The share of the observation space whose image lies outside of it; None if that cannot be told."""
        space = self.env.observation_space
        outside = tried = 0
        try:
            space.seed(int(self.rng.integers(2**31)))
            examples = [space.sample() for _ in range(_EXAMPLES)]
        except Exception:  # a space that cannot be sampled
            return None
        for k, x in enumerate(examples):
            g = self.symmetry.generators[k % len(self.symmetry.generators)]
            try:
                image = self.symmetry.act_on_observation(g, x)
                outside += not inside(space, image)
                tried += 1
            except Exception:  # the symmetry need not understand what never occurs
                continue
        return outside / tried if tried else None

    def _seen_outside(self) -> list[EnvCounterexample]:
        """Observations that were seen and whose image, the space says, cannot exist."""
        for k, visit in enumerate(self.visits):
            j = self.moves.turn(k)
            g, place = self.symmetry.generators[j], Place(visit.pair, j)
            image = self.symmetry.act_on_observation(g, visit.pair.observation)
            if not inside(self.env.observation_space, image):
                both = image, plain_action(self.env.action_space, self.symmetry.act_on_action(g, visit.pair.action))
                text = (
                    f"but the image lies outside the observation space ({self.env.observation_space}), so it cannot "
                    "occur; if only the declaration is wrong, mend it"
                )
                return [counterexample("dynamics", "observation", place, g, both, 1.0, text, WALK)]
        return []

    # ------------------------------------------------------------------ a table

    def _believes_table(self, access: StateAccess) -> bool:
        """Whether there is a table, and a walk of which every step counts agrees with it."""
        if not has_table(self.env, access):
            return False
        steps = list(itertools.islice(walk(self.env, access, self.actions, self.rng), 4 * self.options.samples))
        if not agrees_with_walk(self.env, steps):
            self.notes.append("its transition table P does not describe what it does, so the table was left aside")
            return False
        if len({v.elapsed for v in steps if v.outcome.truncated}) > 1 or self._truncates(access):
            self.notes.append("it truncates episodes, which its transition table P does not say, so it was sampled")
            return False
        return True

    def _truncates(self, access: StateAccess) -> bool:
        """Whether a first step from some state truncates the episode."""
        prober = Prober(self.env, access, self.rng)
        table = self.env.unwrapped.P
        pairs = [(s, a) for s in range(len(table)) for a in range(len(table[s]))]
        chosen = self.rng.permutation(len(pairs))[:_SMALL]
        return any(prober.draw(*pairs[int(k)]).truncated for k in chosen)

    def _table(self, access: StateAccess) -> None:
        self.method, self.exhaustive = "table", True
        given = getattr(self.env.unwrapped, "initial_state_distrib", None)
        count = len(self.env.unwrapped.P)
        starts: Iterable[int] = range(count)
        if given is not None and np.shape(given) == (count,):
            first = {int(v.pair.observation) for v in self.visits if v.elapsed == 1}
            starts = {int(s) for s in np.flatnonzero(np.asarray(given) > 0)} | first
        self.deviations = Deviations(("law of the next state",))
        stratum = check_table(
            self.env, self.symmetry, access, self.options.tol, starts, self.moves.all, self.deviations
        )
        self.strata, self.required = [stratum], ["table"]
        self._truncations([v.elapsed for v in self.visits if v.outcome.truncated])

    def _truncations(self, times: Sequence[int]) -> None:
        """Truncations that no state explains: those of a time limit all come after the same number of steps."""
        if len(set(times)) == 1:
            self.notes.append(f"episodes are truncated after {times[0]} steps, by a clock")
        elif times:
            self.strata[0].doubtful["truncation"] += len(times)
            self.texts["truncation"] = (
                f"{len(times)} truncations on the walk, after {min(times)} to {max(times)} steps, do not follow from "
                "the state: they depend on something that is not part of it"
            )
            self.advice.append("a state that includes what truncates the episode (get_state, set_state, act_on_state)")

    # ------------------------------------------------------------------ a state that can be set

    def _settable(self, access: StateAccess) -> None:
        bench = self._bench(access)
        try:
            bench.prober.place(self.visits[0].pair.state, 0)
        except BurnsideError as error:
            raise Unreproduced(str(error)) from None
        self.sources = Sources(bench, self.moves, self.visits, self.longest, self.where, self.policy, self.states)
        sources = self.sources.all()
        self._all = len(sources) * self.options.samples
        clocks: list[int] = []
        stochastic: LawComparison | None = None
        for make in sources:
            stratum = make()
            if stratum is None:
                self._progress(self.options.samples)
                continue
            self.strata.append(stratum)
            if stochastic is not None:
                stochastic.run(stratum)
            elif not compare_single(bench, stratum, clocks):
                stochastic = self._start_over(bench, len(sources))
        self.method = "deterministic" if stochastic is None else "two-sample"
        self.required = [s.kind.name for s in self.strata if s.kind.known]
        whole = next((s for s in self.strata if s.complete), None)
        if whole is not None and stochastic is None and not whole.skipped:
            self.required, self.exhaustive = ["set"], not any(s.violations for s in self.strata)
        if stochastic is not None:
            clocks = stochastic.clocks
            floor = failure_bound(0, self.options.samples, self.options.confidence)
            self.power = min(0.95, max(0.5, floor / self.options.max_failure_rate))
            self.resolution = stochastic.resolution(self.power)
            self.pooled = stochastic.pooled_resolution(min(s.tested for s in self.strata if s.kind.known))
        if len(set(clocks)) > 1 and stochastic is None:
            found = mirrored_truncation(bench, 10 * self.options.samples)
            if found is not None:
                self.strata[0].add(found)
                return
        self._truncations(clocks)

    def _start_over(self, bench: Bench, kinds: int) -> LawComparison:
        """The environment is stochastic: what was compared so far is compared again, by distributions."""
        found = LawComparison(bench, kinds * self.options.samples, kinds)
        bench.deviations = self.deviations = Deviations(self.described.names)
        self._done = 0
        for k, stratum in enumerate(self.strata):
            self.strata[k] = Stratum(stratum.kind, stratum.places, complete=False)
            found.run(self.strata[k])
        return found

    def _bench(self, access: StateAccess) -> Bench:
        rows = [floats_of(v.pair.state) for v in self.visits]
        same = bool(rows) and len({row.size for row in rows}) == 1 and rows[0].size > 0
        return Bench(
            self.env,
            self.symmetry,
            access,
            self.options,
            self.rng,
            self.ruler,
            self.described,
            self.actions,
            self.trusted,
            self.deviations,
            lattice_of(np.stack(rows)) if same else None,
            [v.pair.state for v in self.visits[:200]],
            self._progress,
        )

    # ------------------------------------------------------------------ a state that cannot be set

    def _visited(self) -> None:
        self.method = "visited pairs"
        self.exhaustive = False
        self.deviations = Deviations(("law of the next observation",))
        self._all, self._done = 6, 0
        found = compare_visited(
            self.env,
            self.symmetry,
            walk(self.env, None, self.actions, self.rng, self.policy),
            self.moves.all,
            self.ruler,
            self.options.samples,
            self.options.confidence,
            self.options.max_failure_rate,
            self.rng,
            self.deviations,
            self._progress,
        )
        self.strata, self.required = [found.stratum], ["visited"]
        self.resolution = found.resolution if found.stratum.tested else 0.0
        self.rate = failure_bound(found.untestable, found.visits, self.options.confidence)
        self._visited_words(found)

    def _visited_words(self, found: VisitedPairs) -> None:
        self.notes.append(f"the state was not set ({self.reason}), so the observation was taken for the state")
        if self.rate is not None and self.rate > self.options.max_failure_rate:
            text = (
                f"{found.untestable} of {found.visits} visits could not be compared: the pair or its image was met too "
                f"rarely, for example {found.example}"
                if found.untestable
                else f"only {found.visits} visits were looked at"
            )
            for name in COMPONENTS:
                self.texts[name] = text
            self.advice.append(f"a way to set the state ({self.reason})")
        if found.hidden:
            for name in COMPONENTS:
                self.texts.setdefault(name, found.hidden)
            self.advice.append("a way to set the state, or an observation that says all (for example a frame stack)")

    # ------------------------------------------------------------------ nor is anything seen twice

    def _never_twice(self) -> bool:
        """Whether observations are vectors of which none comes again: then no pair can be compared with its image."""
        rows = [v.outcome.observation for v in self.visits]
        if not all(isinstance(row, np.ndarray) and row.dtype.kind == "f" and row.ndim == 1 for row in rows):
            return False
        return len({row.tobytes() for row in rows}) > 0.9 * len(rows) and len(rows) > _LEAST_DRAWS

    def _trajectories(self, resets: ResetLaw) -> None:
        self.method, self.exhaustive, self.rate = "trajectories", False, 1.0
        self.deviations = Deviations(("law of trajectories",))
        stratum = Stratum(Kind("trajectories", "whole trajectories of random play"))
        self.strata, self.required = [stratum], ["trajectories"]
        self.notes.append(f"the state was not set ({self.reason}), so whole trajectories were compared in distribution")
        self.advice.append(f"a way to set the state ({self.reason})")
        if resets.verdict == "refuted":
            text = "the law of reset is not symmetric, so trajectories may differ though the dynamics are symmetric"
            self.texts |= dict.fromkeys(COMPONENTS, text)
            return
        self._all, self._done = 2 * len(self.moves.all), 0
        law = compare_trajectories(
            self.env,
            self.symmetry,
            self.moves.all,
            self.options.samples,
            self.options.confidence,
            self.described.names,
            self.rng,
            self._progress,
        )
        stratum.tested, self.resolution = law.count, law.resolution
        text = (
            f"{law.count} trajectories and {law.count} images of others show no difference; one of about "
            f"{law.shift:.2g} standard deviations, or {law.resolution:.2g} in a probability, would have been seen"
        )
        self.texts |= dict.fromkeys(COMPONENTS, text)
        pair, g = self.visits[0].pair, self.symmetry.generators[0]
        image = self.symmetry.act_on_observation(g, pair.observation), self.symmetry.act_on_action(g, pair.action)
        for part, text in law.refuted.items():
            kind = "transition" if part == "dynamics" else part
            stratum.add(counterexample(part, kind, Place(pair, 0), g, image, 0.0, f"but {text}", stratum.kind))

    # ------------------------------------------------------------------ the verdict

    def _verdict(self, form: Canonicalizer | None, resets: ResetLaw) -> EnvVerdict:
        by_number = self.method in ("deterministic", "two-sample")
        rows = self.deviations.table(self.ruler if by_number else self._law_ruler())
        measures = measures_of(rows, self.deviations)
        parts, rate = component_verdicts(
            self.strata,
            self.required,
            self.options.confidence,
            self.options.max_failure_rate,
            self.power,
            measures,
        )
        if self.rate is not None:
            rate = self.rate
        parts = {name: self._reworded(name, part) for name, part in parts.items()}
        parts["reset"] = reset_component(resets)
        example = worst_example(self.strata)
        canonical, canonical_checked, form_example = self._canonical(form)
        deciding = [parts[name].verdict for name in COMPONENTS]
        if canonical:
            deciding.append(canonical["verdict"])
        verdict = REFUTED if REFUTED in deciding else INCONCLUSIVE if INCONCLUSIVE in deciding else HOLDS
        exhaustive = self.exhaustive and verdict != INCONCLUSIVE
        if verdict == INCONCLUSIVE:
            self._advise(parts)
        # A wrong identity or inverse says more than what follows from it.
        broken_group = form_example is not None and form_example.kind == "group"
        clear = example is not None and example.kind in ("action", "observation")
        counter = form_example if example is None or (broken_group and not clear) else example
        return EnvVerdict(
            ok=verdict == HOLDS,
            exhaustive=exhaustive,
            checked=sum(s.tested for s in self.strata),
            eps_r=measures.get("reward", (0.0, 0.0))[0] or 0.0,
            eps_p=largest_law(self.method, rows, self.strata),
            counterexample=counter if verdict == REFUTED else None,
            tolerance=self.options.tol,
            confidence=1.0 if exhaustive and self.method == "table" else self.options.confidence,
            failure_rate=0.0 if exhaustive and verdict == HOLDS else rate,
            subject=(self.env, self.claimed),
            verdict=verdict,
            components=parts,
            method=self.method,
            max_failure_rate=self.options.max_failure_rate,
            resolution=self.resolution,
            pooled_resolution=self.pooled,
            deviations=rows,
            worst=worst_of(rows),
            coverage=self._coverage(),
            notes=tuple(self.notes),
            advice="; ".join(dict.fromkeys(self.advice)),
            canonical=canonical,
            canonical_checked=canonical_checked,
        )

    def _reworded(self, name: str, part: Component) -> Component:
        verdict = part.verdict
        if self.rate is not None and verdict == HOLDS and self.rate > self.options.max_failure_rate:
            verdict = INCONCLUSIVE
        elif self.rate is not None and verdict == INCONCLUSIVE and name not in self.texts and part.samples:
            verdict = HOLDS  # every pair that was met often was compared: the rate is that of what was not
        text = part.text if verdict == REFUTED or name not in self.texts else self.texts[name]
        if verdict == HOLDS and self.rate is not None:
            text = f"no violation at {part.samples} pairs; at most {100 * self.rate:.2g} % of the visits fail"
        return Component(verdict, part.eps, part.median, part.share, part.samples, text)

    # ------------------------------------------------------------------ the canonical form

    def _canonical(self, form: Canonicalizer | None) -> tuple[dict[str, Any], int, Any]:
        if form is None and self.claimed.elements is None and self.claimed.inverse is None:
            return {}, 0, None
        seen, complete = self._observations()
        example = check_group(self.plain, seen, self.env.action_space, self.rng, self.ruler)
        checked = 0
        if form is not None and example is None:
            checked, example = check_form(
                GuardedForm(form), self.plain, seen, self.env.action_space, self.rng, self.ruler
            )
        if example is not None:
            return {"verdict": REFUTED, "checked": checked, "text": example.text}, checked, example
        if form is None:
            return {"verdict": HOLDS, "checked": 0, "text": "elements and inverse act as those of a group"}, 0, None
        rate = (
            (len(seen) - checked) / len(seen)
            if complete
            else failure_bound(len(seen) - checked, len(seen), self.options.confidence)
        )
        if rate <= self.options.max_failure_rate:
            text = f"is one: {checked} observations, and their images"
            return {"verdict": HOLDS, "checked": checked, "text": text}, checked, None
        text = f"its undo could be checked on {checked} of {len(seen)} observations"
        if checked < len(seen):
            self.advice.append("the elements of the group (elements=…), to tell whether undo is right")
        return {"verdict": INCONCLUSIVE, "checked": checked, "text": text}, checked, None

    def _observations(self) -> tuple[list[Any], bool]:
        """Observations on which the form is tried, and whether these are all there are."""
        if self.method == "table":
            return sorted({place.pair.state for place in self.strata[0].places}), True
        whole = next((s for s in self.strata if s.complete and not s.skipped), None)
        if whole is not None:
            return sorted({place.pair.observation for place in whole.places}), True
        found = [] if self.sources is None else self.sources.found[: _FORMS // 2]
        return [v.pair.observation for v in (*self.visits[: _FORMS - len(found)], *found)], False

    # ------------------------------------------------------------------ words

    def _advise(self, parts: dict[str, Component]) -> None:
        """What would decide it."""
        needed = samples_needed(
            self.options.confidence, self.options.max_failure_rate * (0.95 if self.power < 1 else 1)
        )
        if self.options.samples < needed and not self.exhaustive:
            self.advice.append(
                f"{needed} samples (there were {self.options.samples}) certify a failure rate of "
                f"{self.options.max_failure_rate:g} at {100 * self.options.confidence:g} % confidence"
            )
        if any(s.violations for s in self.strata if not s.kind.refutes):
            self.advice.append(
                "a policy or states of yours that show whether the states where it fails can be reached; "
                "places='reached' leaves them out"
            )
        if any(s.doubtful - _only("truncation", s) for s in self.strata) and self.method != "visited pairs":
            self.advice.append("a look at the deviations: a larger tol, if they are errors of a solver")

    def _law_ruler(self) -> Ruler:
        """For differences that are distances of laws, between 0 and 1."""
        return Ruler(self.options.tol, np.ones(1), self.ruler.reward_scale, np.zeros(1, dtype=np.bool_))

    def _coverage(self) -> dict[str, Any]:
        explored = None if self.sources is None else self.sources.explored
        mismatch = {"space_mismatch": self.space_mismatch, "action_mismatch": self.action_mismatch}
        return coverage_of(self.strata, self.coverage, explored, self.described) | mismatch


def _only(name: str, stratum: Stratum) -> Any:
    return type(stratum.doubtful)({name: stratum.doubtful[name]})
