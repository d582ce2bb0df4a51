"""What every comparison needs: the environment, the symmetry, what counts as equal, and how places are looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from burnside._types import BoolArray, FloatArray
from burnside.canonical.base import numbers, structure
from burnside.canonical.checking.access import Outcome, Pair, Prober, StateAccess, alike
from burnside.canonical.checking.evidence import Deviations, EnvCounterexample, Place, Stratum, counterexample
from burnside.canonical.checking.spaces import Actions, Numbers, image_action, inside
from burnside.canonical.checking.tolerance import Gap, Ruler, floats_of, lattice_of, nudged
from burnside.errors import BurnsideError
from burnside.symmetry.declaration import EnvSymmetry

__all__ = ["Bench", "Options", "Unreproduced"]

_NUDGES = (0.5, 1.0, 2.0)  # units of the last digit by which states are moved
_FAR = (8.0, 32.0, 1e3, 1e6)  # the same, to find edges; in single precision the first two
_MARGIN = 4  # times what nudging does is rounding


class Unreproduced(Exception):
    """Setting the state does not bring back what was seen."""


@dataclass(frozen=True)
class Options:
    """What the user asked for."""

    samples: int
    confidence: float
    max_failure_rate: float
    tol: float
    draws: int


@dataclass
class Bench:
    """One check of one environment.

    Attributes:
        described: names and bounds of the numbers of an observation.
        trusted: whether the environment's own observations lie in the space that it declares.
        fixed: floating-point numbers of the state that live on a grid.
        examples: some states that were reached.
        progress: told how many places are done, of how many.
    """

    env: Any
    symmetry: EnvSymmetry
    access: StateAccess
    options: Options
    rng: np.random.Generator
    ruler: Ruler
    described: Numbers
    actions: Actions
    trusted: bool
    deviations: Deviations
    fixed: BoolArray | None = None
    examples: Sequence[Any] = ()
    progress: Callable[[int], None] = lambda done: None

    def __post_init__(self) -> None:
        self.prober = Prober(self.env, self.access, self.rng)
        self._grids: dict[int, BoolArray | None] = {}

    # ------------------------------------------------------------------ images

    def image_pair(self, place: Place) -> tuple[Any, Any]:
        """The images of what is seen (or of the state, if that is not known) and of the action."""
        g, pair = self.symmetry.generators[place.j], place.pair
        seen = (
            self.access.act(g, pair.state)
            if pair.observation is None
            else self.symmetry.act_on_observation(g, pair.observation)
        )
        return seen, image_action(self.env.action_space, self.symmetry, g, pair.action)

    def target(self, g: Any, state: Any) -> Any:
        """The image of a state, in the types of the state."""
        return alike(self.access.act(g, state), state)

    def image(self, g: Any, outcome: Outcome) -> Outcome:
        """What the group makes of an outcome."""
        moved = self.symmetry.act_on_observation(g, outcome.observation)
        return Outcome(moved, outcome.reward, outcome.terminated, outcome.truncated, outcome.reward_eps)

    def misfit(self, place: Place, image: tuple[Any, Any], stratum: Stratum) -> EnvCounterexample | None:
        """An image that is not an observation or not an action of this environment."""
        pair, g = place.pair, self.symmetry.generators[place.j]
        if pair.observation is not None and structure(image[0]) != structure(pair.observation):
            text = "whose observation is of another shape"
            return counterexample("dynamics", "observation", place, g, image, 1.0, text, stratum.kind)
        if not inside(self.env.action_space, image[1]):
            text = f"which is not an action of this environment ({self.env.action_space})"
            return counterexample("dynamics", "action", place, g, image, 1.0, text, stratum.kind)
        return None

    # ------------------------------------------------------------------ states that nobody vouches for

    def unusable(self, pair: Pair, outcome: Outcome) -> str | None:
        """Why a drawn state does not belong to this environment; None if it may."""
        if not np.all(np.isfinite(numbers(outcome.observation))) or not np.isfinite(outcome.reward):
            return "what follows is not finite"
        if self.trusted and not inside(self.env.observation_space, outcome.observation):
            return "what follows lies outside the observation space"
        self.prober.place(pair.state, 0)
        want, got = floats_of(pair.state), floats_of(self.access.get(self.env))
        if want.size != got.size or not np.all(np.abs(want - got) <= 4e-7 * np.maximum(np.abs(want), np.abs(got))):
            return "the environment changes them when they are set"
        return None

    # ------------------------------------------------------------------ what rounding explains

    def image_rounding(self, g: Any, outcome: Outcome, times: int = 4) -> FloatArray | float:
        """What changes in the last digits of an observation do to its image."""
        plain = numbers(self.symmetry.act_on_observation(g, outcome.observation))
        found = np.zeros(plain.size)
        for _ in range(times):
            moved = numbers(self.symmetry.act_on_observation(g, nudged(outcome.observation, self.rng, 1.0)))
            if moved.size != plain.size:
                return 0.0
            with np.errstate(invalid="ignore"):
                np.fmax(found, np.abs(moved - plain), out=found)
        return _MARGIN * np.where(np.isfinite(found), found, 0.0)

    def beyond_rounding(self, place: Place, action: Any, here: Outcome, there: Outcome, tries: int) -> Gap:
        """The difference between what is expected and what was found, as far as rounding does not explain it.

        First the last digits of what follows here are moved before the group acts on it; then those of the state. If
        that is enough to bring about, or away, an end of the episode, the state lies on an edge and decides nothing.
        """
        g, ruler = self.symmetry.generators[place.j], self.ruler
        expected = self.image(g, here)
        more = self.image_rounding(g, here)
        gap = ruler.gap(expected, there, _array(more, gap_size(ruler, expected, there)))
        if not gap.parts:
            return gap
        moved = self._moved(place, action, tries)
        if not moved:
            return gap
        size = numbers(there.observation).size
        wide = np.broadcast_to(np.asarray(more, dtype=np.float64), size).copy()
        wide, paid = self._widened(wide, 0.0, there, moved)
        gap = _with_ends(ruler.gap(expected, there, wide, paid), _Ends(expected, there, moved, []))
        if not gap.parts:
            return gap
        # The same on this side, without what was there before it was moved: a number that must be met exactly, such as
        # a wall that is touched, is missed by all that are moved, and that explains nothing.
        around = [self.image(g, o) for o in self._moved(place, None, tries)]
        if not around:
            return gap
        wide, paid = self._widened(wide, paid, around[0], around[1:])
        gap = _with_ends(ruler.gap(expected, there, wide, paid), _Ends(expected, there, moved, around))
        if gap.terminated or gap.truncated:
            # By chance nothing lies within a billionth of an edge: what does was put there, and rounding decides.
            moved += self._moved(place, action, tries, _FAR)
            around += [self.image(g, o) for o in self._moved(place, None, tries, _FAR)]
            gap = _with_ends(gap, _Ends(expected, there, moved, around))
        return gap

    def _widened(
        self, wide: FloatArray, paid: float, one: Outcome, others: Sequence[Outcome]
    ) -> tuple[FloatArray, float]:
        """What rounding explains, after a look at outcomes that differ from one by rounding only."""
        for other in others:
            apart = self.ruler.apart(other.observation, one.observation)
            if apart is not None and apart.size == wide.size:
                wide = np.fmax(wide, _MARGIN * np.where(np.isfinite(apart), apart, 0.0))
            if np.isfinite(other.reward - one.reward):
                paid = max(paid, _MARGIN * abs(other.reward - one.reward))
        return wide, paid

    def _moved(self, place: Place, action: Any, tries: int, sizes: Sequence[float] = _NUDGES) -> list[Outcome]:
        """Outcomes at images of the state that differ in the last digits; without an action, at the state itself."""
        state, g = place.pair.state, self.symmetry.generators[place.j]
        fixed = _fitting(self.fixed, state)
        if not floats_of(state).size or (fixed is not None and fixed.all()):
            return []
        found = []
        for k in range(tries):
            ulps = sizes[k % len(sizes)]
            try:
                near = nudged(state, self.rng, ulps, fixed)
                if action is None:
                    found.append(self.prober.draw(near, place.pair.action))
                else:
                    image = self.target(g, near)
                    image = nudged(image, self.rng, ulps, self._fixed_images(place.j, image))
                    found.append(self.prober.draw(image, action))
            except BurnsideError:  # just outside of what it takes
                continue
        return found

    def _fixed_images(self, j: int, image: Any) -> BoolArray | None:
        """Floating-point numbers of the images that live on a grid."""
        if j not in self._grids:
            g = self.symmetry.generators[j]
            rows = [floats_of(self.target(g, state)) for state in self.examples]
            alike = len(rows) > 0 and len({row.size for row in rows}) == 1
            self._grids[j] = lattice_of(np.stack(rows)) if alike else None
        return _fitting(self._grids[j], image)


@dataclass(frozen=True)
class _Ends:
    """Outcomes that decide whether an end of the episode on one side only is one: moved ones there, and here."""

    expected: Outcome
    there: Outcome
    moved: Sequence[Outcome]
    around: Sequence[Outcome]

    def differ(self, name: str) -> bool:
        """Whether only one side ends, however the last digits are."""
        if getattr(self.expected, name) == getattr(self.there, name):
            return False
        always = all(getattr(o, name) == getattr(self.there, name) for o in self.moved)
        return always and len({getattr(o, name) for o in self.around}) < 2


def _with_ends(gap: Gap, ends: _Ends) -> Gap:
    return replace(gap, terminated=ends.differ("terminated"), truncated=ends.differ("truncated"))


def _fitting(mask: BoolArray | None, state: Any) -> BoolArray | None:
    return mask if mask is not None and mask.size == floats_of(state).size else None


def _array(more: FloatArray | float, size: int) -> FloatArray | None:
    found = np.asarray(more, dtype=np.float64)
    return found if found.ndim and found.size == size else None


def gap_size(ruler: Ruler, one: Outcome, other: Outcome) -> int:
    """How many numbers are compared."""
    apart = ruler.apart(one.observation, other.observation)
    return 0 if apart is None else apart.size
