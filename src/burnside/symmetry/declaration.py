"""One declaration of a symmetry, from which everything else follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from burnside._types import ArrayLike
from burnside.errors import InvalidAction, InvalidParameter
from burnside.symmetry.acting import Acting, FunctionActing
from burnside.symmetry.base import Representation, as_representation, from_data
from burnside.symmetry.binding import bind
from burnside.symmetry.forms import CanonicalForm
from burnside.symmetry.frames import Frame, canonical_form
from burnside.symmetry.groups import EnvGroup, env_group
from burnside.symmetry.spaces import space_problems

__all__ = ["Declaration"]


@dataclass(frozen=True)
class Declaration:
    """A claimed symmetry of an environment: a group, and how it acts on observations, actions and perhaps states.

    Attributes:
        group: by name (``"mirror"``, ``"C4"``, ``"D4"``, ``"SO(2)"``, …; see :func:`env_group`) or as a ``Group``.
        observation: how it acts on observations.
        action: how it acts on actions.
        state: how it acts on the state of the simulator, where that is not what is observed.
        name: shown in reports.
        names: names of the numbers of the observation, where it is one vector.
        domain: which of all images is the canonical one; see :func:`~burnside.symmetry.canonical_form`.
        get_state: ``env → s``, a copy of all that decides what happens next.
        set_state: ``(env, s)``, put it back.

    Representations are written as values (:class:`SignedPermutation`, :class:`Rotation`, …) or for short: a string is a
    signed permutation, a list has one map for each generator, dictionaries and tuples are ``Dict`` and ``Tuple``
    spaces, a function ``(g, x) → g·x`` is taken as it is. All of it is checked when the declaration is made: the
    maps must multiply as the elements of the group do.

    >>> import numpy as np
    >>> cartpole = Declaration("mirror", observation="- - - -", action="labels 1,0", name="left and right")
    >>> cartpole.act_on_observation(1, np.array([0.1, 0.0, -0.2, 0.3]))
    array([-0.1, -0. ,  0.2, -0.3])
    >>> cartpole.act_on_action(1, 0)
    1
    >>> print(cartpole)
    left and right: group mirror with 2 elements
      observation: SignedPermutation('-0,-1,-2,-3')
      action: Labels('1,0')
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

    def __init__(
        self,
        group: Any,
        observation: Any,
        action: Any,
        state: Any = None,
        *,
        name: str = "",
        names: Sequence[str] = (),
        domain: Any = None,
        get_state: Callable[[Any], Any] | None = None,
        set_state: Callable[[Any, Any], None] | None = None,
    ) -> None:
        put = object.__setattr__
        put(self, "group", env_group(group))
        put(self, "observation", as_representation(observation))
        put(self, "action", as_representation(action))
        put(self, "state", None if state is None else as_representation(state))
        put(self, "name", name or self.group.name)
        put(self, "names", tuple(names))
        put(self, "domain", tuple(domain) if isinstance(domain, list) else domain)
        put(self, "get_state", get_state)
        put(self, "set_state", set_state)
        for what in ("observation", "action", "state"):
            if getattr(self, what) is not None:
                try:
                    put(self, f"_{what}", bind(self.group, getattr(self, what)))
                except InvalidAction as error:
                    raise InvalidAction(f"the {what}: {error}") from None
        put(self, "act_on_observation", self.on("observation").act)
        put(self, "act_on_action", self.on("action").act)
        put(self, "act_on_state", None if self.state is None else self.on("state").act)
        width = self.observation.width
        if self.names and width is not None and len(self.names) != width:
            raise InvalidParameter(f"there are {len(self.names)} names for {width} numbers of the observation")
        if self.domain is not None:
            self.canonicalizer  # noqa: B018 - refuses a domain that does not fit

    #: ``(g, x) → g·x``; leading axes of elements and observations broadcast. What does not change may be x itself.
    act_on_observation: Callable[[Any, Any], Any] = field(init=False, repr=False, compare=False)
    #: ``(g, a) → g·a``.
    act_on_action: Callable[[Any, Any], Any] = field(init=False, repr=False, compare=False)
    #: ``(g, s) → g·s``; None if the state is what is observed.
    act_on_state: Callable[[Any, Any], Any] | None = field(init=False, repr=False, compare=False)

    def on(self, what: str) -> Acting:
        """The action on ``"observation"``, ``"action"`` or ``"state"``, with its matrices and images."""
        found = self.__dict__.get(f"_{what}")
        if found is None:
            raise InvalidParameter(f"{self.name} does not say how the group acts on the {what}")
        return found

    # ------------------------------------------------------------------ the group

    @cached_property
    def generators(self) -> list[Any]:
        """Elements that generate the group (or come near to every element of it, if it is continuous)."""
        return self.group.generators

    @property
    def elements(self) -> Sequence[Any] | None:
        """All elements; None if there are infinitely many."""
        return self.group.elements

    @property
    def order(self) -> int | None:
        """How many elements there are; None if infinitely many."""
        return self.group.order

    def inverse(self, g: Any) -> Any:
        """``g⁻¹``."""
        return self.group.inverse(g)

    def random_element(self, seed: int, counter: ArrayLike) -> Any:
        """A random element (one for each counter), a pure function of seed and counter."""
        return self.group.random_element(seed, counter)

    # ------------------------------------------------------------------ what follows

    @cached_property
    def canonicalizer(self) -> CanonicalForm | None:
        """The canonical form of this declaration's domain; None for a continuous group or a function without one."""
        if self.domain is None and (self.elements is None or isinstance(self.on("observation"), FunctionActing)):
            return None
        return canonical_form(self, self.domain)

    def check_spaces(self, observation_space: Any, action_space: Any) -> None:
        """Refuse Gymnasium spaces that do not fit, in sentences: widths, types, bounds, labels.

        >>> import gymnasium as gym
        >>> env = gym.make("CartPole-v1")
        >>> Declaration("mirror", "- - -", "labels 1,0").check_spaces(env.observation_space, env.action_space)
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

        >>> Declaration("mirror", "-0,1", "-0").to_dict()
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
    def from_dict(cls, data: Mapping[str, Any], **functions: Any) -> Declaration:
        """From what :meth:`to_dict` wrote; ``get_state`` and ``set_state`` may be added.

        >>> found = Declaration.from_dict({"group": "C4", "observation": "1,-0", "action": "trivial"})
        >>> found == Declaration.from_dict(found.to_dict())
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
