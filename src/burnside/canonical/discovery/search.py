"""``discover_env``: which symmetries does a black box have?

Transitions are collected, maps are proposed generously (signed permutations by statistics, rotations by a null space,
turns of boards by geometry), one step from some states and from their images shows which are worth a check, and
:func:`~burnside.canonical.check_symmetry` decides about the group that is left.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from burnside._resources import needs_memory
from burnside._types import BoolArray, FloatArray, IntArray
from burnside.canonical.checking.check import PLACE_BYTES, check_symmetry
from burnside.canonical.checking.evidence import COMPONENTS
from burnside.canonical.checking.verdict import EnvVerdict
from burnside.canonical.checking.walks import policy_action
from burnside.canonical.discovery.flat import FlatEnv
from burnside.canonical.discovery.groups import ELEMENTS, generated, points
from burnside.canonical.discovery.lifting import GOOD, Lifter, Screen, Screening, scattered
from burnside.canonical.discovery.resting import Completion, embedded, resting, without
from burnside.canonical.discovery.results import Budget, Discovery, Found, components_of
from burnside.canonical.discovery.simulator import Simulator, open_simulator, reproduces
from burnside.canonical.discovery.turns import MOST, Turn, angle_of, few_enough, find_turns, flow, turned
from burnside.errors import BurnsideError, InvalidParameter
from burnside.symmetry import EnvSymmetry, Labels, Rotation, SignedPermutation
from burnside.symmetry.proposals import Proposal, Transitions, collect, propose
from burnside.symmetry.states import state_adapter
from burnside.symmetry.vectors import Trivial

__all__ = ["NEARLY", "discover_env"]

#: Differences up to this share of how much a number varies are those of a symmetry that holds nearly.
NEARLY = 1e-4
_ENDS = 0.1  # the share of states where only one of both ends the episode, likewise
_WIDEST = 160  # numbers of an observation up to which any permutation is looked for
_MOVABLE = 24  # numbers of a state up to which states are scattered
_TOGETHER = 64  # elements of a group that is checked as a whole though nothing is known of it
_SOLVED = 24  # proposals for which the states that are seen as images are computed one by one
_STEP_BYTES = 500  # memory that a transition takes at least, while they are collected
_FEW = 60  # places of each kind in the check of a proposal that one step contradicts


@dataclass(frozen=True)
class _Candidate:
    """A proposal with the map of states that fits best (a function of vectors), and how one step looks."""

    proposal: Proposal
    state: Callable[[FloatArray], FloatArray] | None
    look: Screening | None
    why: str = ""
    unfit: bool = False  # numbers that mostly rest do not fit, which a check at few places may miss

    @property
    def good(self) -> bool:
        return self.look is not None and self.look.worst <= GOOD

    @property
    def good_dynamics(self) -> bool:
        return self.look is not None and self.look.dynamics <= GOOD


@dataclass
class _Sorted:
    """Candidates that were checked: those that hold, those that do not, and what follows without a check."""

    right: list[tuple[_Candidate, Found]] = field(default_factory=list)
    wrong: list[tuple[_Candidate, Found]] = field(default_factory=list)
    follow: list[Found] = field(default_factory=list)

    def known(self, candidate: _Candidate) -> str:
        """What follows for another one: products of what holds hold, a product with one that is refuted does not."""
        point = _points(candidate)
        held = generated([_points(c) for c, _ in self.right]).elements
        if tuple(point.tolist()) in held:
            return "holds"
        refuted = {tuple(_points(c).tolist()) for c, entry in self.wrong if entry.verdict == "refuted"}
        for e in (np.array(row) for row in held) if refuted else ():
            if tuple(point[e].tolist()) in refuted or tuple(e[point].tolist()) in refuted:
                return "refuted"
        return ""


def discover_env(
    env: Any,
    name: str = "",
    *,
    steps: int = 10_000,
    samples: int = 500,
    checks: int = 12,
    z: float = 5.0,
    tol: float = 1e-6,
    seed: int = 0,
    policy: Callable[[Any], Any] | None = None,
    seconds: float = 120.0,
) -> Discovery:
    """Look for signed permutations and rotations that are symmetries of an environment.

    Args:
        env: a Gymnasium environment. Observations are looked at as vectors, whatever their space; actions are vectors
            or labels.
        name: for the report.
        steps: transitions to collect.
        samples: places of each kind at which a proposal is checked.
        checks: the most proposals that are checked one by one, the best first.
        z: proposals may differ from the data by so many standard errors.
        tol: as in :func:`~burnside.canonical.check_symmetry`.
        seed: of everything random.
        policy: a function of the observation that returns an action; default random actions.
        seconds: no new check is begun after so many seconds of the processor; what is left is counted as unchecked.

    >>> import gymnasium as gym
    >>> found = discover_env(gym.make("CartPole-v1"), steps=3000, samples=100)
    >>> [(entry.generators, entry.verdict) for entry in found.found]
    [((('-0,-1,-2,-3', '1,0'),), 'holds')]
    """
    for option, given, least in (("steps", steps, 400), ("samples", samples, 1), ("checks", checks, 1)):
        if given < least:
            raise InvalidParameter(f"{option} must be {least} or more, not {given}")
    if not seconds > 0:
        raise InvalidParameter(f"seconds must be positive, not {seconds}")
    if not (tol >= 0 and np.isfinite(tol)):
        raise InvalidParameter(f"tol must be finite and 0 or more, not {tol}")
    needs_memory(f"a search in {steps} transitions", steps * _STEP_BYTES, "give fewer steps")
    needs_memory(f"a search with {samples} samples", samples * PLACE_BYTES, "give fewer samples")
    from burnside.canonical.discovery.tables import discover_table, has_labels

    if has_labels(env):
        return discover_table(env, name)
    flat = FlatEnv(env)
    act = None if policy is None else partial(policy_action, policy, flat.action_space)
    return _Search(flat, name, steps, samples, checks, z, tol, seed, act, seconds).run()


@dataclass
class _Search:
    env: FlatEnv
    name: str
    steps: int
    samples: int
    checks: int
    z: float
    tol: float
    seed: int
    policy: Any
    seconds: float
    found: list[Found] = field(default_factory=list)
    refuted: list[Found] = field(default_factory=list)
    undecided: list[Found] = field(default_factory=list)
    done: int = 0
    unchecked: int = 0
    left: int = 0
    solved: int = 0
    began: float = 0.0
    rests: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    def run(self) -> Discovery:
        data = collect(self.env, self.steps, self.seed, self.policy)
        self.began = time.process_time()
        self.simulator = open_simulator(self.env, self.seed)
        self.exact = self.simulator is not None and reproduces(self.simulator, self.seed)
        self.lifter = None if self.simulator is None else Lifter(self.simulator, self.seed)
        proposals = self._proposals(data)
        candidates = self._candidates(proposals)
        turns = find_turns(self.simulator, self.seed) if self.simulator is not None and self.exact else []
        if not self._world():  # moves of the picture alone are none of the world
            self._permutations(candidates)
        for turn in turns:
            self._turn(turn, candidates)
        self._tidy()
        made = {"signed permutations": len(proposals), "rotations": len(turns)}
        spent = Budget(
            self.steps, made, self.done, self.unchecked, self.samples, time.process_time() - self.began, self.seconds
        )
        tried = self._tried()
        if self.left:
            tried += f"; {self.left} of them were left out, because with them a group has more than {ELEMENTS} elements"
        return Discovery(self.name, tuple(self.found), tuple(self.refuted), tuple(self.undecided), tried, spent)

    def _proposals(self, data: Any) -> list[Proposal]:
        from burnside.canonical.discovery.boards import propose_boards

        self.varies = np.ptp(data.observations, axis=0) > 0
        self.usual = np.median(data.observations, axis=0)
        boards = propose_boards(self.env, data)
        known = {(str(p.observation), str(p.action)) for p in boards}
        if boards or len(self.env.layout.names) > _WIDEST:
            return boards  # cells move with the board; and pictures have too many numbers for a search
        found = boards
        scattered_data = self._scattered(data)
        self.rests = resting(data, self.lifter if self.exact else None)
        sources = [
            self.lifter.linear(self.rests) if self.lifter is not None and self.exact else [],
            propose(without(data, self.rests), self.z),
            [] if scattered_data is None else propose(without(scattered_data, self.rests), self.z),
        ]
        for source in sources:
            for p in (embedded(small, self.rests) for small in source):
                key = str(p.observation), str(p.action)
                if key not in known and not self._idle(p.observation, p.action):
                    known.add(key)
                    found.append(p)
        return found

    def _idle(self, observation: SignedPermutation, action: Any) -> bool:
        """Whether a map changes nothing but numbers that were never seen to change: any such map seems to hold."""
        places = np.flatnonzero(self.varies)
        stays = (observation.index[places] == places).all() and (observation.signs[places] > 0).all()
        return bool(stays) and str(action) == str(action.identity())

    def _scattered(self, data: Transitions) -> Transitions | None:
        """Transitions from states with signs and places changed at random: no asymmetry of the starts is left there."""
        simulator = self.simulator
        if simulator is None or not self.exact or simulator.width > _MOVABLE or simulator.look is None:
            return None
        if any(name in ("qpos", "qvel") for name, _ in simulator.parts):
            return None  # joints out of their place would be bodies inside of each other
        return scattered(simulator, len(data.rewards) // 2, self.seed)

    def _tried(self) -> str:
        """What was looked for: nothing that was too wide to be looked for."""
        d, actions = len(self.env.layout.names), self.env.action_space
        labels = int(getattr(actions, "n", 0))
        m = 0 if labels else len(actions.sample())
        acts = f"{labels} labels" if labels else f"{m} numbers"
        whom = f"of the {d} numbers of the observation and of the action's {acts}"
        if d > _WIDEST:
            return (
                f"motions of boards {whom}; nothing else, because permutations are looked for among up to {_WIDEST} "
                "numbers: show less of it, as with --param include_cinert_in_observation=False"
            )
        if not self.exact:
            why = "the state cannot be set and read exactly, so rotations were not looked for"
            return f"signed permutations {whom} ({why})"
        assert self.simulator is not None
        if not few_enough(self.simulator, d + m):
            return f"signed permutations {whom} (rotations are looked for among up to {MOST} numbers)"
        return f"signed permutations and rotations {whom}"

    def _late(self) -> bool:
        return time.process_time() - self.began > self.seconds

    def _world(self) -> bool:
        """Grid worlds whose whole grid can be turned: checked as they are, not as vectors. Whether that holds."""
        from burnside.canonical.discovery.boards import grid_world

        symmetry = grid_world(self.env.env)
        if symmetry is None:
            return False
        count = len(symmetry.generators)
        texts = tuple(
            (_one_of(symmetry.observation, k, count), _one_of(symmetry.action, k, count)) for k in range(count)
        )
        blank = Found(str(symmetry.group), symmetry.order, texts, "inconclusive", symmetry=symmetry)
        entry = self._decided(blank, self.samples, self.env.env)
        self._keep(entry)
        return entry.verdict == "holds"

    # ------------------------------------------------------------------ states, and the quick look

    def _candidates(self, proposals: list[Proposal]) -> list[_Candidate]:
        if self.simulator is not None and self.exact:
            self.screen = Screen(self.simulator, self.seed, self.rests)
        found = [self._candidate(proposal) for proposal in proposals]
        if not self.rests.any() or self.simulator is None or not any(c.good_dynamics for c in found):
            return found
        completion = Completion(self.simulator, self.rests, self.usual, self.seed)
        return [self._completed(c, completion) if c.good_dynamics else c for c in found]

    def _completed(self, candidate: _Candidate, completion: Completion) -> _Candidate:
        """With numbers that mostly rest, which the search left out."""
        assert candidate.look is not None
        proposal, apart = completion.complete(candidate.proposal, candidate.state)
        look = replace(candidate.look, dynamics=max(candidate.look.dynamics, apart))
        return _Candidate(proposal, candidate.state, look, unfit=apart > GOOD)

    def _candidate(self, proposal: Proposal) -> _Candidate:
        simulator, lifter = self.simulator, self.lifter
        if simulator is None or lifter is None:
            return _Candidate(proposal, None, None)
        if self._late():
            return _Candidate(proposal, None, None, "there was no time to look at it")
        lifts = lifter.maps(proposal.observation)
        if not self.exact:
            return _Candidate(proposal, lifts[0] if lifts else None, None)
        if lifts:
            looks = [(self.screen.look(proposal.observation, proposal.action, s), s) for s in lifts]
            best = min(looks, key=lambda entry: (entry[0].worst, entry[0].dynamics))
            return _Candidate(proposal, best[1], best[0])
        if simulator.look is None:
            return _Candidate(proposal, None, None)  # what is seen is not known without a step: the check decides
        self.solved += 1
        if self.solved > _SOLVED:
            return _Candidate(proposal, None, None, "it came after others for whose states equations were solved")
        solve = _Solver(lifter, proposal.observation)
        # A few states suffice to see that nothing is seen as the image, or that a step from there is another one.
        first = self.screen.look(proposal.observation, proposal.action, solve, places=3)
        if first.dynamics > GOOD:
            if math.isinf(first.dynamics):
                return _Candidate(proposal, None, None, "no state was found that is seen as the image of another one")
            return _Candidate(proposal, solve, first)
        return _Candidate(proposal, solve, self.screen.look(proposal.observation, proposal.action, solve, places=20))

    # ------------------------------------------------------------------ signed permutations

    def _permutations(self, candidates: list[_Candidate]) -> None:
        good = [c for c in candidates if c.good]
        half = [c for c in candidates if c.good_dynamics and not c.good]
        bad = [c for c in candidates if c.look is not None and not c.good_dynamics]
        blind = [c for c in candidates if c.look is None]
        held = self._group(good, self.samples)
        for entry in held:
            self._keep(entry)
        if half:
            self._dynamics_only(half)
        bad.sort(key=lambda c: (c.look.dynamics if c.look else 0.0, c.proposal.score))
        for k, candidate in enumerate(sorted(bad, key=lambda c: c.unfit)):
            lifted = isinstance(candidate.state, SignedPermutation) and not candidate.unfit
            if k < min(2, self.checks) and lifted and not self._late():
                entry = self._checked([candidate], _FEW, "walk")
                # A few places may miss what one step has shown.
                self._keep(self._checked([candidate], self.samples) if entry.verdict == "holds" else entry)
            else:
                self._keep(self._by_one_step(candidate))
        for candidate in [c for c in blind if c.why]:
            self._keep(replace(self._named(candidate), why=candidate.why))
        self._blind([c for c in blind if not c.why])

    def _blind(self, blind: list[_Candidate]) -> None:
        """Proposals that nothing but the check can tell about: first all of them as one group, then one by one."""
        made = generated([_points(c) for c in blind]) if len(blind) > 1 else None
        if made is not None and made.order <= _TOGETHER and len(made.kept) <= 3:
            whole = self._checked([blind[k] for k in made.kept], self.samples)
            if whole.verdict == "holds" or (whole.verdict == "inconclusive" and whole.statistics):
                self._keep(whole)
                return
        sorted_out = _Sorted()
        for candidate in blind[: self.checks]:
            self._sort(candidate, sorted_out, quick=True)
        for entry in self._together(sorted_out, self.samples):
            self._keep(entry)
        self.unchecked += max(0, len(blind) - self.checks)

    def _group(self, good: list[_Candidate], samples: int) -> list[Found]:
        """The group that all good candidates generate; if that does not hold, the part of it that does."""
        if not good:
            return []
        good = self._distinct(sorted(good, key=lambda c: (c.proposal.order, c.proposal.score)), samples)
        kept = self._generators(good)
        whole = self._checked(kept, samples)
        if whole.verdict == "holds" or len(kept) == 1:
            return [whole]
        return self._part_that_holds(good, samples)

    def _generators(self, candidates: list[_Candidate]) -> list[_Candidate]:
        """Those that the others are products of; where the group is too large to be listed, those of a part of it."""
        made = generated([_points(c) for c in candidates])
        self.left = max(self.left, len(made.left))
        return [candidates[k] for k in made.kept]

    def _part_that_holds(self, good: list[_Candidate], samples: int) -> list[Found]:
        """One by one, those first that a step contradicts least, until all others are known.

        Generators of the whole do not suffice here: a symmetry can be the product of two maps that are none. What
        those that hold generate holds too, and a product of one of these with one that is refuted does not.
        """
        sorted_out = _Sorted()
        for candidate in sorted(good, key=_nearness):
            if len(sorted_out.wrong) < self.checks:
                self._sort(candidate, sorted_out)
            else:
                self.unchecked += 1
        return self._together(sorted_out, samples)

    def _sort(self, candidate: _Candidate, among: _Sorted, *, quick: bool = False) -> None:
        """Check a candidate, unless those that were checked say all about it; quick: first at few places."""
        known = among.known(candidate)
        if known == "holds":
            return
        if known == "refuted":
            why = "it is the product of one that holds and one that is refuted"
            among.follow.append(replace(self._named(candidate), verdict="refuted", why=why))
            return
        if self._late():
            self.unchecked += 1
            return
        entry = self._checked([candidate], _FEW, "walk") if quick else None
        if entry is None or not (entry.verdict == "refuted" or _hopeless(entry)):
            entry = self._checked([candidate], self.samples)
        (among.right if entry.verdict == "holds" else among.wrong).append((candidate, entry))

    def _together(self, among: _Sorted, samples: int) -> list[Found]:
        """What holds as one group, and all else."""
        rest = [*(entry for _, entry in among.wrong), *among.follow]
        kept = self._generators([candidate for candidate, _ in among.right])
        if len(kept) > 1 and not self._late():
            whole = self._checked(kept, samples)
            if whole.verdict == "holds":
                return [whole, *rest]
        return [*(entry for _, entry in among.right), *rest]

    def _distinct(self, good: list[_Candidate], samples: int) -> list[_Candidate]:
        """Of proposals that differ only in numbers that never changed, the first that the check does not refute."""
        chosen: dict[tuple[Any, ...], list[_Candidate]] = {}
        places = np.flatnonzero(self.varies)
        for c in good:
            o = c.proposal.observation
            key = (*o.index[places].tolist(), *o.signs[places].tolist(), str(c.proposal.action))
            chosen.setdefault(key, []).append(c)
        found: list[_Candidate] = []
        for alike in chosen.values():
            for candidate in alike[:-1]:
                entry = self._checked([candidate], samples)
                if entry.verdict != "refuted":
                    found.append(candidate)
                    break
                self._keep(entry)
            else:
                found.append(alike[-1])
        return found

    def _dynamics_only(self, half: list[_Candidate]) -> None:
        """Symmetries of the dynamics that the reward does not have: one group for all of them."""
        kept = self._generators(half)
        if self._late():
            self.unchecked += len(kept)
            return
        self._keep(self._checked(kept, min(120, self.samples)))

    def _keep(self, entry: Found) -> None:
        compared = entry.evidence == "statistics" and entry.verdict == "inconclusive" and entry.statistics
        if entry.verdict == "refuted":
            self.refuted.append(entry)
        elif entry.verdict == "holds" or compared:
            self.found.append(entry)
        else:
            self.undecided.append(entry)

    def _by_one_step(self, candidate: _Candidate) -> Found:
        look = candidate.look
        assert look is not None
        why = "one step from the images of some states differs from the image of the step, in the median by"
        blank = self._named(candidate)
        return replace(blank, verdict="refuted", why=f"{why} {look.dynamics:.3g} (relative to 1 + the number)")

    @staticmethod
    def _named(candidate: _Candidate) -> Found:
        p = candidate.proposal
        texts = ((str(p.observation), str(p.action)),)
        return Found("mirror" if p.order == 2 else f"C{p.order}", p.order, texts, "inconclusive")

    # ------------------------------------------------------------------ the check

    def _checked(self, candidates: list[_Candidate], samples: int, places: str = "all") -> Found:
        """The group of some candidates, checked; if it fails by little only, checked again as one that holds nearly."""
        made = generated([_points(c) for c in candidates])
        group = made.group([_points(c) for c in candidates])
        texts = tuple((str(c.proposal.observation), str(c.proposal.action)) for c in candidates)
        try:
            symmetry = self._declared(group, candidates)
        except BurnsideError as error:
            return Found(made.name, made.order, texts, "inconclusive", why=str(error))
        blank = Found(made.name, made.order, texts, "inconclusive", symmetry=symmetry)
        return self._decided(blank, samples, places=places)

    def _declared(self, group: Any, candidates: list[_Candidate]) -> EnvSymmetry:
        maps = [c.proposal.observation for c in candidates]
        actions = [c.proposal.action for c in candidates]
        states = [c.state for c in candidates]
        simulator = self.simulator
        options: dict[str, Any] = {"name": "proposal", "names": self.env.layout.names}
        if simulator is not None and all(s is not None for s in states):
            known: list[Any] = [s for s in states if s is not None]
            if not simulator.native:
                options |= {"get_state": _numbers_of(simulator), "set_state": _numbers_into(simulator)}
            if not simulator.native and all(isinstance(s, SignedPermutation) for s in known):
                options["state"] = known if len(known) > 1 else known[0]
            elif all(isinstance(s, SignedPermutation) for s in known):
                if not simulator.is_observation:
                    parts = [_by_parts(simulator, s) for s in known]
                    options["state"] = parts if len(parts) > 1 else parts[0]
            else:
                options["act_on_state"] = _by_words(simulator, group, known)
        adapter = state_adapter(self.env)
        if adapter is not None and adapter.kind == "moves":
            options["state"] = actions if len(actions) > 1 else actions[0]  # what was played, as the actions move
        one = len(candidates) == 1
        return EnvSymmetry(group, maps[0] if one else maps, actions[0] if one else actions, **options)

    def _decided(self, blank: Found, samples: int, other: Any = None, places: str = "all") -> Found:
        """The verdict of the check; what fails by little only is checked again as what holds nearly."""
        self.done += 1
        env = self.env if other is None else other
        symmetry = blank.symmetry
        rate = max(0.01, 5.0 / samples)
        options: dict[str, Any] = {"samples": samples, "seed": self.seed, "max_failure_rate": rate}
        options["names"] = self.env.layout.names if other is None else None
        try:
            verdict = check_symmetry(env, symmetry, tol=self.tol, places=places, **options)
            by_number = verdict.method in ("deterministic", "two-sample")  # elsewhere tol decides nothing
            if by_number and verdict.verdict != "holds" and _small(verdict):
                again = check_symmetry(env, symmetry, tol=NEARLY, places="reached", **options)
                if again.verdict == "holds":
                    parts, eps = components_of(again)
                    return replace(
                        blank, verdict="holds", components=parts, nearly=True, eps=eps,
                        why=f"nearly, not exactly: {_shortly(verdict)}",
                    )  # fmt: skip
        except BurnsideError as error:
            return replace(blank, why=str(error))
        parts, eps = components_of(verdict)
        evidence = "simulator" if verdict.method in ("deterministic", "two-sample", "table") else "statistics"
        return replace(
            blank, verdict=verdict.verdict, components=parts, eps=eps, evidence=evidence, why=_shortly(verdict),
            statistics=_statistics(verdict) if evidence == "statistics" else {},
        )  # fmt: skip

    # ------------------------------------------------------------------ rotations

    def _turn(self, turn: Turn, candidates: list[_Candidate]) -> None:
        simulator = self.simulator
        assert simulator is not None
        if self._late():
            self.unchecked += 1
            return
        text = (turn.text(turn.observation), turn.text(turn.action) if turn.action.size else "stays")
        look = self.screen.look(
            lambda x: turned(turn.observation, 1.0, x),
            lambda a: turned(turn.action, 1.0, a) if turn.action.any() else a,
            lambda s: flow(turn, 1.0, s),
        )
        blank = Found("SO(2)", None, (text,), "inconclusive")
        if look.dynamics > GOOD:
            why = (
                f"one step from turned states differs by {look.dynamics:.3g} in the median (relative to 1 + the number)"
            )
            self._keep(replace(blank, verdict="refuted", why=why))
            return
        for mirror in [c for c in candidates if c.good and _reverses(turn, c.proposal)][:1]:
            entry = self._mirrored_turn(turn, mirror, text, look)
            if entry is not None and entry.verdict == "holds":
                self._keep(entry)
                self.found = [e for e in self.found if e is entry or not _inside(e, turn, mirror.proposal)]
                return
        symmetry = EnvSymmetry(
            "SO(2)",
            _representation(turn, turn.observation),
            _representation(turn, turn.action) if turn.action.size else Trivial(),
            act_on_state=lambda R, s: simulator.on_parts(s, lambda v: flow(turn, angle_of(R), v)),
            **self._state_functions(),
        )
        few = look.worst > GOOD
        self._keep(self._decided(replace(blank, symmetry=symmetry), min(120, self.samples) if few else self.samples))

    def _state_functions(self) -> dict[str, Any]:
        simulator = self.simulator
        assert simulator is not None
        if simulator.native:
            return {}
        return {"get_state": simulator.get, "set_state": simulator.put}

    def _mirrored_turn(self, turn: Turn, mirror: _Candidate, text: Any, look: Screening) -> Found | None:
        """Turns and a mirror together: the group O(2)."""
        simulator = self.simulator
        pairs = turn.representation(turn.observation)
        if not isinstance(pairs, Rotation) or simulator is None or mirror.state is None:
            return None
        p, state = mirror.proposal, mirror.state
        quarter = _standard_mirror(turn, p)
        if quarter is None or isinstance(p.action, Labels):
            return None
        angle, observation = quarter
        pairs_a = turn.representation(turn.action)
        action = SignedPermutation(p.action.index, p.action.signs)
        if turn.action.any():
            return None  # what turns actions is checked as a turn alone
        assert pairs_a is not None

        def act(R: Any, s: Any) -> Any:
            reflects = np.linalg.det(R) < 0
            proper = R * np.array([1.0, -1.0]) if reflects else R

            def move(v: FloatArray) -> FloatArray:
                first = flow(turn, angle, state(v)) if reflects else v
                return flow(turn, angle_of(proper), first)

            return simulator.on_parts(s, move)

        try:
            symmetry = EnvSymmetry(
                "O(2)",
                Rotation(*pairs.vectors, mirror=observation),
                Rotation(mirror=action),
                act_on_state=act,
                **self._state_functions(),
            )
        except BurnsideError:
            return None
        texts = ((str(p.observation), str(p.action)), text)
        return self._decided(Found("O(2)", None, texts, "inconclusive", symmetry=symmetry), self.samples)

    def _tidy(self) -> None:
        """A mirror that is part of O(2) is not listed again."""
        infinite = [entry for entry in self.found if entry.order is None and entry.verdict == "holds"]
        whole = {generator for entry in infinite for generator in entry.generators}
        self.found = [e for e in self.found if e in infinite or not set(e.generators) <= whole]
        self.found.sort(key=lambda e: (e.verdict != "holds", e.order is not None, -(e.order or 0)))


# ---------------------------------------------------------------------- small things


def _hopeless(entry: Found) -> bool:
    """Whether more places cannot help: starts differ, so trajectories do, whatever the dynamics are."""
    starts = entry.components.get("reset", {}).get("verdict")
    return entry.evidence == "statistics" and starts == "refuted" and not entry.statistics


def _one_of(rep: Any, k: int, count: int) -> str:
    """What generator k does, as text."""
    maps = getattr(rep, "maps", None)
    return repr(maps[k] if maps is not None and len(maps) == count else rep)


def _points(candidate: _Candidate) -> IntArray:
    return points(candidate.proposal.observation, candidate.proposal.action)


def _nearness(candidate: _Candidate) -> tuple[float, int, float]:
    """In the order of what one step shows, in powers of ten above rounding; then plain maps first."""
    worst = candidate.look.worst if candidate.look is not None else 1.0
    return round(math.log10(max(worst, 1e-12))), candidate.proposal.order, candidate.proposal.score


def _small(verdict: EnvVerdict) -> bool:
    """Whether all that differs does so by little beside how much it varies."""
    rows = [row for row in verdict.deviations if row["share"] > 0]
    parts = verdict.components
    if any(parts[name].verdict == "refuted" for name in ("termination", "truncation")):
        return False
    return all(row["largest"] is not None and row["largest"] <= 10 * NEARLY * max(row["spread"], 1e-12) for row in rows)


def _shortly(verdict: EnvVerdict) -> str:
    if verdict.counterexample is not None:
        text = str(verdict.counterexample)
    else:
        open_ = [
            verdict.components[name].text for name in COMPONENTS if verdict.components[name].verdict == "inconclusive"
        ]
        text = "; ".join(dict.fromkeys(said for said in (*open_, verdict.advice) if said))
    return text if len(text) <= 600 else text[:600] + " …"


def _statistics(verdict: EnvVerdict) -> dict[str, float]:
    if verdict.method != "trajectories" or not verdict.checked:
        return {}
    return {"level": 1 - verdict.confidence, "resolution": verdict.resolution, "trajectories": float(verdict.checked)}


def _by_parts(simulator: Simulator, state: SignedPermutation) -> Any:
    """A signed permutation of the whole vector, part by part."""
    if not simulator.parts[0][0]:
        return state
    found: dict[str, SignedPermutation] = {}
    at = 0
    for name, size in simulator.parts:
        index = state.index[at : at + size] - at
        if index.min() < 0 or index.max() >= size:
            raise InvalidParameter("the map of states mixes parts of the state, so it cannot be declared")
        found[name] = SignedPermutation(index, state.signs[at : at + size])
        at += size
    return found


def _by_words(simulator: Simulator, group: Any, maps: list[Any]) -> Callable[[Any, Any], Any]:
    """How elements act on states, from what the generators do: one after the other."""

    def act(g: Any, state: Any) -> Any:
        def move(vector: FloatArray) -> FloatArray:
            for j in group.tree.word(int(g)):
                vector = maps[j](vector)
            return vector

        return simulator.on_parts(state, move) if simulator.native else move(np.asarray(state, dtype=np.float64))

    return act


class _Solver:
    """A map of states as the solution of an equation: which state is seen as the image?"""

    def __init__(self, lifter: Lifter, observation: SignedPermutation) -> None:
        self.lifter, self.observation = lifter, observation

    def __call__(self, vector: FloatArray) -> FloatArray:
        found = self.lifter.image(self.observation, vector)
        if found is None:
            raise InvalidParameter("no state was found that is seen as the image of another one")
        return found


def _numbers_of(simulator: Simulator) -> Callable[[Any], FloatArray]:
    return lambda env: simulator.vector(simulator.get(env))


def _numbers_into(simulator: Simulator) -> Callable[[Any, Any], None]:
    def put(env: Any, numbers: Any) -> None:
        simulator.set(simulator.get(env), np.asarray(numbers, dtype=np.float64))

    return put


def _representation(turn: Turn, matrix: FloatArray) -> Any:
    """The rotation as a value; as a function if it is not made of plain pairs."""
    found = turn.representation(matrix)
    return found if found is not None else lambda R, x: turned(matrix, angle_of(R), x)


def _reverses(turn: Turn, proposal: Proposal) -> bool:
    """Whether a mirror turns the rotation round."""
    P = proposal.observation.matrix()
    return proposal.order == 2 and bool(np.allclose(P @ turn.observation @ P.T, -turn.observation))


def _inside(entry: Found, turn: Turn, mirror: Proposal) -> bool:
    """Whether a finite group consists of turns by eighths, and of these after a mirror."""
    turns = [turned(turn.observation, k * math.pi / 4, np.eye(len(turn.observation))).T for k in range(8)]
    whole = turns + [T @ mirror.observation.matrix() for T in turns]
    for observation, action in entry.generators:
        if not observation.replace("-", "").replace(",", "").isdigit():
            return False
        P = SignedPermutation(observation).matrix()
        same = [k for k, W in enumerate(whole) if np.allclose(P, W, atol=1e-9)]
        stays = str(mirror.action.identity())
        if not any(action == (stays if k < 8 else str(mirror.action)) for k in same):
            return False
    return True


def _standard_mirror(turn: Turn, proposal: Proposal) -> tuple[float, SignedPermutation] | None:
    """The mirror ``y → −y`` of all pairs: the one that was found, after a number of quarter turns."""
    pairs = turn.representation(turn.observation)
    assert isinstance(pairs, Rotation)
    for k in range(4):
        angle = k * math.pi / 2
        matrix = np.round(turned(turn.observation, angle, proposal.observation.matrix().T).T)
        index = np.abs(matrix).argmax(axis=1)
        signs = matrix[np.arange(len(matrix)), index]
        if all((index[i], signs[i], index[j], signs[j]) == (i, 1, j, -1) for i, j in pairs.vectors):
            return angle, SignedPermutation(index, signs.astype(np.int64))
    return None
