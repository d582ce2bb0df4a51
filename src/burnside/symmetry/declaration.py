"""One declaration of a symmetry, from which everything else follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from burnside._types import ArrayLike
from burnside.errors import InvalidAction, InvalidParameter
from burnside.groups import Action
from burnside.symmetry.acting import Acting, FunctionActing
from burnside.symmetry.base import Function, Representation, as_representation, from_data
from burnside.symmetry.binding import bind
from burnside.symmetry.forms import CanonicalForm
from burnside.symmetry.frames import Frame, canonical_form
from burnside.symmetry.given import GivenGroup
from burnside.symmetry.groups import EnvGroup, env_group
from burnside.symmetry.smallest import LexMin, SmallestLabel
from burnside.symmetry.spaces import space_problems

__all__ = ["EnvSymmetry", "as_symmetry"]


@dataclass(frozen=True)
class EnvSymmetry:
    """A claimed symmetry of an environment: a group, and how it acts on observations, actions and perhaps states.

    Attributes:
        group: by name (``"mirror"``, ``"C4"``, ``"D4"``, ``"SO(2)"``, …; see :func:`env_group`), as a ``Group``, or as
            a list of generators in any form that your own functions understand.
        observation: how it acts on observations.
        action: how it acts on actions.
        state: how it acts on the state of the simulator, where that is not what is observed.
        name: shown in reports.
        names: names of the numbers of the observation, where it is one vector.
        domain: which of all images is the canonical one; see :func:`~burnside.symmetry.canonical_form`.
        get_state: ``env → s``, a copy of all that decides what happens next.
        set_state: ``(env, s)``, put it back.
        canonicalizer: a canonical form of your own; default the one that follows from the domain.

    Representations are written as values (:class:`SignedPermutation`, :class:`Rotation`, …) or for short: a string is a
    signed permutation, a list has one map for each generator, dictionaries and tuples are ``Dict`` and ``Tuple``
    spaces, a function ``(g, x) → g·x`` is taken as it is. All of it is checked when the declaration is made: the
    maps must multiply as the elements of the group do.

    >>> import numpy as np
    >>> cartpole = EnvSymmetry("mirror", observation="- - - -", action="labels 1,0", name="left and right")
    >>> cartpole.act_on_observation(1, np.array([0.1, 0.0, -0.2, 0.3]))
    array([-0.1, -0. ,  0.2, -0.3])
    >>> cartpole.act_on_action(1, 0)
    1
    >>> print(cartpole)
    left and right: group mirror with 2 elements
      observation: SignedPermutation('-0,-1,-2,-3')
      action: Labels('1,0')

    Where no representation fits, everything can be given as functions: ``generators``, ``act_on_observation`` and
    ``act_on_action`` are needed, ``act_on_state``, ``elements`` and ``inverse`` may be. An object of your own with
    attributes of these names serves as well.

    >>> walk = EnvSymmetry([-1], lambda g, x: g * x, lambda g, a: a if g == 1 else 1 - a, name="mirror")
    >>> walk.act_on_observation(-1, 3)
    -3
    """

    group: EnvGroup
    observation: Representation
    action: Representation
    state: Representation | None = None
    name: str = ""
    names: tuple[str, ...] = ()
    domain: Any = None
    get_state: Callable[[Any], Any] | None = field(default=None, repr=False)
    set_state: Callable[[Any, Any], None] | None = field(default=None, repr=False)
    canonicalizer: Any = field(default=None, repr=False, compare=False)

    # The arguments of functions are not fields, so that `dataclasses.replace` passes only those to be replaced.
    def __init__(
        self,
        group: Any = None,
        observation: Any = None,
        action: Any = None,
        state: Any = None,
        *,
        name: str = "",
        names: Sequence[str] = (),
        domain: Any = None,
        get_state: Callable[[Any], Any] | None = None,
        set_state: Callable[[Any, Any], None] | None = None,
        canonicalizer: Any = None,
        generators: Sequence[Any] | None = None,
        act_on_observation: Callable[[Any, Any], Any] | None = None,
        act_on_action: Callable[[Any, Any], Any] | None = None,
        act_on_state: Callable[[Any, Any], Any] | None = None,
        elements: Sequence[Any] | None = None,
        inverse: Callable[[Any], Any] | None = None,
    ) -> None:
        put = object.__setattr__
        put(self, "group", _group(group, generators, elements, inverse, name))
        functions = {"observation": act_on_observation, "action": act_on_action, "state": act_on_state}
        given = {"observation": observation, "action": action, "state": state}
        for what, function in functions.items():
            spec = given[what] if function is None else Function(function)
            if spec is None and what != "state":
                raise InvalidParameter(f"say how the group acts on the {what}: give {what}=… or act_on_{what}=…")
            rep = None if spec is None else as_representation(spec)
            put(self, what, rep)
            if rep is not None:
                try:
                    put(self, f"_{what}", bind(self.group, rep))
                except InvalidAction as error:
                    raise InvalidAction(f"the {what}: {error}") from None
        put(self, "name", name or self.group.name)
        put(self, "names", tuple(names))
        put(self, "domain", tuple(domain) if isinstance(domain, list) else domain)
        put(self, "get_state", get_state)
        put(self, "set_state", set_state)
        put(self, "act_on_observation", self.on("observation").act)
        put(self, "act_on_action", self.on("action").act)
        put(self, "act_on_state", None if self.state is None else self.on("state").act)
        width = self.observation.width
        if self.names and width is not None and len(self.names) != width:
            raise InvalidParameter(f"there are {len(self.names)} names for {width} numbers of the observation")
        put(self, "canonicalizer", self._form(canonicalizer))

    if TYPE_CHECKING:  # made in __init__, and no fields: see there
        #: ``(g, x) → g·x``; leading axes of elements and observations broadcast. What does not change may be x itself.
        act_on_observation: Callable[[Any, Any], Any] = field(init=False)
        #: ``(g, a) → g·a``.
        act_on_action: Callable[[Any, Any], Any] = field(init=False)
        #: ``(g, s) → g·s``; None if the state is what is observed.
        act_on_state: Callable[[Any, Any], Any] | None = field(init=False)

    def changed(self, **changes: Any) -> EnvSymmetry:
        """The same symmetry with some arguments replaced, functions among them.

        >>> EnvSymmetry("mirror", "-0,1", "-0").changed(act_on_action=lambda g, a: a).act_on_action(1, 5)
        5
        """
        return replace(self, **changes)

    def _form(self, given: Any) -> Any:
        """The canonical form: one of the user's own, else that of the domain, if the representations give one."""
        if given is not None and not isinstance(given, CanonicalForm):
            return given
        if any(isinstance(self.on(what), FunctionActing) for what in ("observation", "action")) or isinstance(
            self.group, GivenGroup
        ):
            if self.domain is not None and given is None:
                raise InvalidParameter(
                    f"{self.name} is given by functions, from which no canonical form follows: give canonicalizer=…"
                )
            return given
        if self.domain is None and self.elements is None:
            return None
        return canonical_form(self, self.domain)

    @classmethod
    def from_actions(cls, on_observation: Action, on_actions: Action, *, labels: bool = False) -> EnvSymmetry:
        """From actions of one finite group on the observation and on the numbers of the actions.

        Args:
            on_observation: on the entries of a vector; with ``labels``, on the numbers that are the observations.
            on_actions: on the numbers of the actions.
            labels: whether observations are numbers (``Discrete``) instead of vectors.

        >>> import numpy as np
        >>> from burnside.groups import Group
        >>> G = Group.cyclic(3)
        >>> turn = EnvSymmetry.from_actions(Action.natural(G), Action.trivial(G, 2))
        >>> turn.act_on_observation(1, np.array([5, 6, 7]))           # (g·x)(g·i) = x(i)
        array([7, 5, 6])
        """
        form = (SmallestLabel if labels else LexMin)(on_observation, on_actions)
        table = on_actions.table
        return cls(on_observation.group, form.act, lambda g, a: table[g, a], canonicalizer=form)

    def on(self, what: str) -> Acting:
        """The action on ``"observation"``, ``"action"`` or ``"state"``, with its matrices and images."""
        found = self.__dict__.get(f"_{what}")
        if found is None:
            raise InvalidParameter(f"{self.name} does not say how the group acts on the {what}")
        return found

    # ------------------------------------------------------------------ the group

    @property
    def generators(self) -> Sequence[Any]:
        """Elements that generate the group (or come near to every element of it, if it is continuous)."""
        return self.group.generators

    @property
    def elements(self) -> Sequence[Any] | None:
        """All elements; None if there are infinitely many, or if they are not listed."""
        return self.group.elements

    @property
    def order(self) -> int | None:
        """How many elements there are; None if infinitely many, or if they are not listed."""
        return self.group.order

    @property
    def inverse(self) -> Callable[[Any], Any] | None:
        """``g → g⁻¹``; None if elements are your own and their inverses were not given."""
        return self.group.inverse

    @property
    def can_be_drawn(self) -> bool:
        """Whether random elements can be drawn and undone, which augmentation needs."""
        return self.inverse is not None and not (isinstance(self.group, GivenGroup) and self.elements is None)

    def random_element(self, seed: int, counter: ArrayLike) -> Any:
        """A random element (one for each counter), a pure function of seed and counter."""
        return self.group.random_element(seed, counter)

    # ------------------------------------------------------------------ what follows

    def check_spaces(self, observation_space: Any, action_space: Any) -> None:
        """Refuse Gymnasium spaces that do not fit, in sentences: widths, types, bounds, labels.

        >>> import gymnasium as gym
        >>> env = gym.make("CartPole-v1")
        >>> EnvSymmetry("mirror", "- - -", "labels 1,0").check_spaces(env.observation_space, env.action_space)
        Traceback (most recent call last):
        ...
        burnside.errors.InvalidAction: mirror does not fit: the observation is Box(...) of shape (4,), but the
        representation acts on vectors of 3 numbers
        """
        found = space_problems(self.on("observation"), observation_space, "observation")
        found += space_problems(self.on("action"), action_space, "action")
        if found:
            more = f" (and {len(found) - 3} more)" if len(found) > 3 else ""
            raise InvalidAction(f"{self.name} does not fit: {'; '.join(found[:3])}{more}")

    # ------------------------------------------------------------------ written and read

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON and TOML; functions (``get_state``, a domain of your own) cannot be written.

        >>> EnvSymmetry("mirror", "-0,1", "-0").to_dict()
        {'name': 'mirror', 'group': 'mirror', 'observation': '-0,1', 'action': '-0'}
        """
        found: dict[str, Any] = {"name": self.name, "group": self.group.to_data()}
        found |= {"observation": self.observation.to_data(), "action": self.action.to_data()}
        if self.state is not None:
            found["state"] = self.state.to_data()
        if self.names:
            found["names"] = list(self.names)
        if self.domain is not None:
            if callable(self.domain):
                raise InvalidParameter("the domain is a Python function, which cannot be written to a file")
            found["domain"] = _domain_data(self.domain)
        return found

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], **functions: Any) -> EnvSymmetry:
        """From what :meth:`to_dict` wrote; ``get_state`` and ``set_state`` may be added.

        >>> found = EnvSymmetry.from_dict({"group": "C4", "observation": "1,-0", "action": "trivial"})
        >>> found == EnvSymmetry.from_dict(found.to_dict())
        True
        """
        unknown = set(data) - {"name", "group", "observation", "action", "state", "names", "domain"}
        if unknown:
            raise InvalidParameter(f"a declaration has no field {sorted(unknown)[0]!r}")
        missing = [key for key in ("group", "observation", "action") if key not in data]
        if missing:
            raise InvalidParameter(f"a declaration needs the field {missing[0]!r}")
        parts: dict[str, Any] = {key: from_data(data[key]) for key in ("observation", "action", "state") if key in data}
        domain = data.get("domain")
        if isinstance(domain, Mapping):
            domain = Frame.from_dict(domain)
        elif isinstance(domain, list):
            domain = tuple(tuple(d) if isinstance(d, list) else d for d in domain)
        return cls(
            data["group"], **parts, name=data.get("name", ""), names=data.get("names", ()), domain=domain, **functions
        )

    def __str__(self) -> str:
        """Some lines for people."""
        size = "infinitely many" if self.order is None else str(self.order)
        lines = [f"{self.name}: group {self.group} with {size} elements"]
        lines += [f"  observation: {self.observation!r}", f"  action: {self.action!r}"]
        lines += [] if self.state is None else [f"  state: {self.state!r}"]
        lines += [] if self.domain is None else [f"  domain: {self.domain!r}"]
        return "\n".join(lines)


def _domain_data(domain: Any) -> Any:
    if isinstance(domain, Frame):
        return domain.to_dict()
    return [_domain_data(d) for d in domain] if isinstance(domain, tuple) else domain


def _group(
    group: Any,
    generators: Sequence[Any] | None,
    elements: Sequence[Any] | None,
    inverse: Callable[[Any], Any] | None,
    name: str,
) -> EnvGroup:
    """The group: one that is known, or elements of the user's own; of a known one, some of it may be replaced."""
    own = isinstance(group, list | tuple | range)
    base: EnvGroup | None = None if own or group is None else env_group(group)
    if own:
        if generators is not None:
            raise InvalidParameter("the generators were given twice: as the group and as generators=…")
        generators = group
    if base is not None and generators is None and elements is None and inverse is None:
        return base
    if base is None:
        if generators is None:
            raise InvalidParameter("a symmetry needs a group: give its name, a Group, or generators=…")
        return GivenGroup(generators, elements, inverse, name or "G")
    return GivenGroup(
        base.generators if generators is None else generators,
        base.elements if elements is None else elements,
        base.inverse if inverse is None else inverse,
        name or base.name,
        base.base if isinstance(base, GivenGroup) else base,
    )


def as_symmetry(found: Any) -> EnvSymmetry:
    """An :class:`EnvSymmetry` from any object with attributes of those names."""
    if isinstance(found, EnvSymmetry):
        return found
    needed = ("generators", "act_on_observation", "act_on_action")
    missing = [name for name in needed if not hasattr(found, name)]
    if missing:
        raise InvalidParameter(
            f"a {type(found).__name__} is not a symmetry of an environment: it lacks {', '.join(missing)} "
            "(see burnside.symmetry.EnvSymmetry)"
        )
    optional = ("get_state", "set_state", "act_on_state", "elements", "inverse", "canonicalizer", "name")
    given = {name: getattr(found, name) for name in (*needed, *optional) if getattr(found, name, None) is not None}
    return EnvSymmetry(**({"name": type(found).__name__} | given))
