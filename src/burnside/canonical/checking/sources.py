"""Where the check looks: the places of each kind, one after the other."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from burnside._types import BoolArray
from burnside.canonical.base import numbers
from burnside.canonical.checking.access import Pair
from burnside.canonical.checking.bench import Bench
from burnside.canonical.checking.drawn import declared_states, labels_of, moving, states_beyond
from burnside.canonical.checking.evidence import Kind, Place, Stratum
from burnside.canonical.checking.explore import explore
from burnside.canonical.checking.spaces import inside
from burnside.canonical.checking.walks import Coverage, Visit, choose_visits, walk
from burnside.canonical.guard import theirs
from burnside.errors import InvalidParameter
from burnside.symmetry.declaration import EnvSymmetry

__all__ = ["PLACES", "WALK", "Moves", "Sources"]

#: Where to look: everywhere; only where the environment was seen to go; only where random play (and a policy) goes.
PLACES = ("all", "reached", "walk")

WALK = Kind("walk", "reached by random play")
POLICY = Kind("policy", "reached by the policy")
EXPLORED = Kind("explored", "the random walk did not go there; a search for new states did")
STATES = Kind("states", "one of the states that were given")
SET = Kind("set", "this state was set, within the bounds of the space; the walk did not go there", known=False)
LABELS = Kind("set", "this state was set; the walk did not go there", refutes=False, known=False)
BEYOND = Kind("beyond", "this state was set; nobody knows whether it can be reached", refutes=False, known=False)

_SEARCH = 12  # steps of the search for new states, for each sample
_SMALL = 5000  # triples up to which all labels are tried
_ELEMENTS = 6  # elements that are tried beside the generators
_BEYOND = 300  # states beyond all that is known, which certify nothing; fewer where few samples are wanted


@dataclass(frozen=True)
class Moves:
    """The generators, and some of the listed elements, which augmentation would use whether or not they are generated.

    Elements have negative numbers, so that ``(*generators, *elements)[j]`` is the right one in both cases.
    """

    generators: int
    elements: tuple[Any, ...]

    @classmethod
    def of(
        cls, symmetry: EnvSymmetry, observations: Sequence[Any], actions: Sequence[Any], rng: np.random.Generator
    ) -> Moves:
        """Those of a symmetry, without elements that do to these observations and actions what a generator does."""

        def done(g: Any) -> bytes:
            images = [symmetry.act_on_observation(g, x) for x in observations]
            return b"".join(numbers(y).tobytes() for y in (*images, *(symmetry.act_on_action(g, a) for a in actions)))

        listed = symmetry.elements
        if listed is None or not len(listed):
            return cls(len(symmetry.generators), ())
        known = {done(g) for g in symmetry.generators}
        known.add(b"".join(numbers(y).tobytes() for y in (*observations, *actions)))  # the identity
        found: list[Any] = []
        for k in rng.permutation(len(listed))[: 4 * _ELEMENTS]:
            element = listed[int(k)]
            if (mark := done(element)) not in known and len(found) < _ELEMENTS:
                known.add(mark)
                found.append(element)
        return cls(len(symmetry.generators), tuple(found))

    @property
    def all(self) -> list[int]:
        """All numbers."""
        return [*range(self.generators), *range(-len(self.elements), 0)]

    def turn(self, k: int) -> int:
        """The generators in turn; every fourth time an element.

        >>> moves = Moves(2, ("a", "b"))
        >>> [moves.turn(k) for k in range(8)]
        [0, 1, 0, -1, 1, 0, 1, -2]
        """
        others = len(self.elements)
        if others and k % 4 == 3:
            return -1 - k // 4 % others
        return (k - k // 4 if others else k) % self.generators


@dataclass
class Sources:
    """Makes the places of each kind.

    Attributes:
        bench: of the check.
        moves: generators and elements to try.
        visits: what random play met.
        longest: steps after which an episode is left.
        where: one of :data:`PLACES`.
        policy: of the user, if any.
        states: of the user, if any.
        found: what the search met; filled by it.
        explored: the ranges that it saw.
    """

    bench: Bench
    moves: Moves
    visits: Sequence[Visit]
    longest: int
    where: str
    policy: Callable[[Any], Any] | None
    states: Iterable[Any] | Callable[[Any], Iterable[Any]] | None
    found: list[Visit] = field(default_factory=list)
    explored: Coverage = field(default_factory=Coverage)
    _changing: tuple[BoolArray | None] | None = None

    @property
    def samples(self) -> int:
        """Places of each kind."""
        return self.bench.options.samples

    def all(self) -> list[Callable[[], Stratum | None]]:
        """Functions that make the places, to be called in this order; None if there are none of that kind."""
        made: list[Callable[[], Stratum | None]] = [self.walked]
        if self.policy is not None:
            made.append(self.followed)
        if self.where != "walk":
            made.append(self.searched)
        if self.states is not None:
            made.append(self.given)
        if self.where == "all":
            made += [self.drawn, self.beyond]
        return made

    # ------------------------------------------------------------------ places that were reached

    def _places(self, visits: Sequence[Visit]) -> list[Place]:
        """Every other place with the action that was taken there, the rest with one whose turn it is."""
        found = []
        for k, visit in enumerate(visits):
            j, pair = self.moves.turn(k // 2), visit.pair
            if k % 2 == 0 or visit.over:
                found.append(Place(pair, j, visit.outcome, visit.elapsed))
            else:
                found.append(Place(Pair(pair.state, pair.observation, self.bench.actions.next()), j))
        return found

    def walked(self) -> Stratum:
        """Places of random play."""
        return Stratum(WALK, self._places(self.visits))

    def followed(self) -> Stratum:
        """Places to which the policy leads."""
        bench = self.bench
        visits = walk(bench.env, bench.access, bench.actions, bench.rng, self.policy, self.longest)
        return Stratum(POLICY, self._places(choose_visits(visits, self.samples, bench.rng, Coverage())))

    def searched(self) -> Stratum | None:
        """Places that a search found: ends of episodes, and as many others as are wanted."""
        budget = _SEARCH * self.samples
        bench = self.bench
        steps = explore(bench.prober, self.visits, bench.described, bench.actions, budget, self.explored)
        self.found = list(steps)
        if not self.found:
            return None
        ends = [v for v in self.found if v.over]
        chosen = ends[-self.samples // 4 :]
        order = self.bench.rng.permutation(len(self.found))
        for k in range(self.samples - len(chosen)):
            chosen.append(self.found[int(order[k % len(order)])])
        places = []
        for k, visit in enumerate(chosen):
            pair = visit.pair
            taken = k < len(ends) or (k < len(order) and k % 2 == 0)
            action = pair.action if taken else self.bench.actions.next()
            places.append(Place(Pair(pair.state, pair.observation, action), self.moves.turn(k // 2)))
        return Stratum(EXPLORED, places)

    def given(self) -> Stratum:
        """The user's own states, each with every action in turn."""
        made: Any = theirs("states", self.states, self.bench.env) if callable(self.states) else self.states
        try:
            states = list(itertools.islice(made, 10**6))
        except TypeError:
            raise InvalidParameter(
                f"states must be a list of states, or a function of the environment that returns one, not a "
                f"{type(made).__name__}"
            ) from None
        if not states:
            raise InvalidParameter("states is empty: give some, or leave it out")
        sample = self.visits[0].pair.state
        for state in states if isinstance(sample, np.ndarray) else ():
            shape = theirs("a state that was given", lambda s: np.asarray(s, dtype=sample.dtype), state).shape
            if shape != sample.shape:
                raise InvalidParameter(
                    f"a state that was given has the shape {shape}, and those of the environment have {sample.shape}"
                )
        whole = (
            [(s, a, j) for s in states for a in self.bench.actions.special for j in self.moves.all]
            if len(states) * len(self.bench.actions.special) * len(self.moves.all) <= self.samples
            else []
        )
        places = [Place(Pair(s, self._shown(s), a), j) for s, a, j in whole]
        order = self.bench.rng.permutation(len(states))
        for k in range(self.samples - len(places)):
            state = states[int(order[k % len(order)])]
            places.append(Place(Pair(state, self._shown(state), self.bench.actions.next()), self.moves.turn(k)))
        return Stratum(STATES, places)

    # ------------------------------------------------------------------ states that are set

    def _shown(self, state: Any) -> Any:
        """What is seen at a state, where the observation is the state; else nobody knows."""
        if not self.bench.access.is_observation:
            return None
        sample = self.visits[0].pair.observation
        if isinstance(sample, np.ndarray):
            return theirs("a state that was given", lambda: np.asarray(state).astype(sample.dtype))
        return type(sample)(state) if isinstance(sample, int | np.integer | float) else state

    def _reached(self) -> list[Any]:
        return [v.pair.state for v in (*self.visits, *self.found)]

    def _moving(self) -> BoolArray | None:
        if self._changing is None:
            self._changing = (moving(self.bench.prober, [v.pair for v in (*self.visits, *self.found)]),)
        return self._changing[0]

    def drawn(self) -> Stratum | None:
        """States that are set because the environment declares them: all labels, or over the bounds of the space."""
        if not self.bench.access.is_observation:
            return None
        labels = labels_of(self.bench.env)
        if labels is not None:
            return self._labels(labels)
        if not self.bench.trusted:
            return None
        stratum = Stratum(SET)
        made = declared_states(self._reached(), self._moving(), self.bench.described, self.bench.rng)
        for k, state in enumerate(itertools.islice(made, 3 * self.samples)):
            seen = self._shown(state)
            if inside(self.bench.env.observation_space, seen, slack=0.0):
                stratum.places.append(Place(Pair(state, seen, self.bench.actions.next()), self.moves.turn(k // 2)))
            if len(stratum.places) == self.samples:
                break
        return stratum if stratum.places else None

    def _labels(self, labels: range) -> Stratum:
        from gymnasium import spaces

        actions, space = self.bench.actions.special, self.bench.env.action_space
        every = isinstance(space, spaces.Discrete) and len(actions) == space.n
        if every and len(labels) * len(actions) * len(self.moves.all) <= max(_SMALL, self.samples):
            triples = itertools.product(labels, actions, self.moves.all)
            return Stratum(LABELS, [Place(Pair(s, s, a), j) for s, a, j in triples], complete=True)
        drawn = self.bench.rng.integers(len(labels), size=max(0, self.samples - 2))
        chosen = [labels[0], labels[-1], *(int(labels[int(k)]) for k in drawn)]
        places = [Place(Pair(s, s, self.bench.actions.next()), self.moves.turn(k // 2)) for k, s in enumerate(chosen)]
        return Stratum(LABELS, places)

    def beyond(self) -> Stratum | None:
        """States that are set though nobody vouches for them: if it fails there, the question stays open."""
        stratum = Stratum(BEYOND)
        made = states_beyond(self._reached(), self._moving(), self.bench.rng)
        for k, state in enumerate(itertools.islice(made, min(_BEYOND, 1 + self.samples // 3))):
            stratum.places.append(
                Place(Pair(state, self._shown(state), self.bench.actions.next()), self.moves.turn(k // 2))
            )
        return stratum if stratum.places else None
