"""The symmetries of the cube and the canonical forms they give.

``position`` is the paper's (App. C): the 24 rotations move the stickers and keep their colours. It maps the solved cube
to a turned one, so it is a symmetry only if every orientation is a goal; and with outer turns and n ≥ 3 no two states
that can be reached are images of each other, because centres never move: it re-encodes, and merges nothing.

``conjugation`` rotates and recolours, ``(c_g s)(g·i) = g·s(i)``. It fixes the solved cube and maps turn a to g a g⁻¹,
so it is a symmetry for either goal: 24 elements, 48 with mirrors. ``+inverse`` adds s ↦ s⁻¹, which preserves distances
but turns right moves into left ones: it is not a symmetry of the MDP, good for values and refused for actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from burnside._types import AnyArray, ArrayLike, IntArray
from burnside.envs.cube.core import CubeSpec, as_actions, as_array, is_solved, is_torch, solved
from burnside.envs.cube.geometry import (
    FACES,
    collapse,
    colour_table,
    inverse_elements,
    representatives,
    stickers,
    symmetry_table,
    turn_image,
)
from burnside.errors import InvalidModel, InvalidParameter, NotVerified, UnknownName
from burnside.groups.permutations import inverse as inverse_permutations
from burnside.mdp.implicit import ImplicitMDP, ImplicitSymmetry

__all__ = ["SYMMETRIES", "CubeCanonicalizer", "CubeSymmetry", "cube_mdp", "inverse_states"]

SYMMETRIES = (
    "position",
    "conjugation",
    "conjugation+mirror",
    "conjugation+inverse",
    "conjugation+mirror+inverse",
)
METHODS = ("fast", "chunked")
_CHUNK = 13  # 6¹³ < 2⁶³, as in App. C
_ROWS = 8192  # the chunked form makes |G| images of this many states at a time


@dataclass(frozen=True)
class CubeSymmetry:
    """A group acting on the states and turns of a cube; elements are numbers, 0 is the identity.

    Element g is ``geometry.matrices()[g]``; with the inverse, element ``base + g`` first inverts the state.

    >>> symmetry = CubeSymmetry(CubeSpec(3), "conjugation+mirror")
    >>> symmetry.order, CubeSymmetry(CubeSpec(3), "position").order
    (48, 24)
    >>> from burnside.mdp import verify
    >>> verify(cube_mdp(CubeSpec(3)), symmetry.implicit(), samples=300).ok
    True
    >>> two = CubeSpec(2, goal="fixed")                       # R L' has value 2, and is a rotation of the goal
    >>> verify(cube_mdp(two), CubeSymmetry(two, "position").implicit(), samples=300).ok
    False
    """

    spec: CubeSpec
    name: str = "conjugation"

    def __post_init__(self) -> None:
        if self.name not in SYMMETRIES:
            raise UnknownName("symmetry of the cube", str(self.name), SYMMETRIES)
        if self.value_only and self.spec.slices and self.spec.n > 3:
            raise InvalidParameter("with slice turns and n > 3 equal centres are exchanged: the inverse has no meaning")

    @property
    def value_only(self) -> bool:
        """Whether it preserves distances only, and must not be used for actions."""
        return self.name.endswith("+inverse")

    @property
    def base(self) -> int:
        """Order of the geometric part: 24, or 48 with mirrors."""
        return 48 if "+mirror" in self.name else 24

    @property
    def order(self) -> int:
        """Number of elements."""
        return self.base * (2 if self.value_only else 1)

    @cached_property
    def perms(self) -> IntArray:
        """``(base, 6n²)``: image i comes from place ``perms[g, i]``."""
        return symmetry_table(self.spec.n)[: self.base]

    @cached_property
    def colours(self) -> AnyArray:
        """``(base, 6)`` uint8: what each colour becomes; for ``position`` itself."""
        if self.name == "position":
            return np.tile(np.arange(6, dtype=np.uint8), (24, 1))
        return colour_table()[: self.base].astype(np.uint8)

    @cached_property
    def on_moves(self) -> IntArray:
        """``(order, turns)``: the turn ``g·a``."""
        if self.value_only:
            raise NotVerified(
                f"'{self.name}' has no action on turns: s ↦ s⁻¹ makes right moves left ones; "
                "use it for values, and the name without '+inverse' for policies"
            )
        return turn_image(self.spec.n, self.spec.slices)[: self.base]

    @cached_property
    def on_inputs(self) -> IntArray:
        """``(order, 36n²)``: the left action on one-hot entries, for networks with shared weights."""
        if self.value_only:
            raise NotVerified(f"'{self.name}' does not permute the inputs: drop '+inverse' for equivariant networks")
        place = inverse_permutations(self.perms)[:, :, None]
        return (6 * place + self.colours[:, None, :].astype(np.int64)).reshape(self.base, -1)

    @property
    def generators(self) -> tuple[int, ...]:
        """Elements that generate the geometric part: quarter turns about two axes, and the inversion for mirrors."""
        about = [int(np.argmax((colour_table()[:24] == list(images)).all(axis=1))) for images in _QUARTERS]
        return (*about, 24) if self.base == 48 else tuple(about)

    def act(self, g: ArrayLike, states: Any) -> Any:
        """The states ``g·s``; g broadcasts with the leading axes of the states."""
        found, element = _numpy(as_array(self.spec, states)), np.asarray(g)
        if element.dtype.kind not in "iu" or (element.size and not (element.min() >= 0 and element.max() < self.order)):
            raise InvalidParameter(f"elements of '{self.name}' are numbered 0…{self.order - 1}, got {g!r:.80}")
        h = element % self.base
        lead = np.broadcast_shapes(found.shape[:-1], element.shape)
        found = np.broadcast_to(found, (*lead, self.spec.n_stickers))
        if self.value_only and (element >= self.base).any():
            flip = np.broadcast_to(element >= self.base, lead)[..., None]
            found = np.where(flip, inverse_states(self.spec, found), found)
        source = np.broadcast_to(self.perms[h], found.shape)
        colours = np.broadcast_to(self.colours[h], (*lead, 6)).astype(found.dtype)
        moved = np.take_along_axis(found, source, axis=-1)
        return _back(np.take_along_axis(colours, moved.astype(np.int64), axis=-1), states)

    def act_on_action(self, g: ArrayLike, action: ArrayLike) -> IntArray:
        """The turn ``g·a``, which does to ``g·s`` what a does to s."""
        return self.on_moves[np.asarray(g), as_actions(self.spec, action)]

    # What ``burnside.canonical.check_symmetry`` asks of the symmetry of an environment.

    @property
    def elements(self) -> range:
        """All elements."""
        return range(self.order)

    @property
    def canonicalizer(self) -> CubeCanonicalizer:
        """The smallest image."""
        return CubeCanonicalizer(self)

    def inverse(self, g: int) -> int:
        """The number of g⁻¹."""
        return int(inverse_elements()[g % self.base]) + g // self.base * self.base

    def act_on_observation(self, g: ArrayLike, x: Any) -> Any:
        """The same as :meth:`act`: stickers are what the environment shows."""
        return self.act(g, x)

    def get_state(self, env: Any) -> AnyArray:
        """The stickers of a ``CubeEnv``."""
        return np.array(env.unwrapped.state)

    def set_state(self, env: Any, state: AnyArray) -> None:
        """Put stickers into a ``CubeEnv``."""
        env.unwrapped.state = np.array(state, dtype=np.uint8)

    def implicit(self, elements: Any = None) -> ImplicitSymmetry:
        """What ``verify`` takes; by default generators, which prove it for the group."""
        table = self.on_moves

        def act(g: int, state: bytes) -> bytes:
            return self.colours[g][np.frombuffer(state, np.uint8)[self.perms[g]]].tobytes()

        return ImplicitSymmetry(
            act,
            lambda g, state, action: int(table[g, action]),
            generators=self.generators if elements is None else list(elements),
            name=self.name,
            order=self.order,
        )


#: Images of the faces U F L D B R under the quarter turns about U and about R.
_QUARTERS = ((0, 2, 4, 3, 5, 1), (4, 0, 2, 1, 3, 5))


def cube_mdp(spec: CubeSpec, scramble: int = 12) -> ImplicitMDP:
    """The cube as an implicit model: −1 per turn until solved, so values are minus distances; goals are absorbing.

    States are bytes. Samples are scrambles of 0 to ``scramble`` turns, so goals and their surroundings are among them.

    >>> model = cube_mdp(CubeSpec(2))
    >>> model.step(solved(CubeSpec(2)).tobytes(), 0)[0][2], model.n_states
    (0.0, 88179840)
    """
    table = spec.table

    def step(state: bytes, action: int) -> list[tuple[float, bytes, float]]:
        found = np.frombuffer(state, np.uint8)
        if bool(is_solved(spec, found)):
            return [(1.0, state, 0.0)]
        return [(1.0, found[table[action]].tobytes(), -1.0)]

    def sample(rng: np.random.Generator) -> bytes:
        state = solved(spec)
        for action in rng.integers(spec.n_moves, size=int(rng.integers(scramble + 1))):
            state = state[table[action]]
        return state.tobytes()

    def show(state: bytes) -> str:
        letters = "".join(FACES[c] for c in state)
        return " ".join(letters[i : i + spec.n**2] for i in range(0, len(letters), spec.n**2))

    known = None if spec.slices and spec.n > 2 else 88_179_840 if spec.n == 2 else 43_252_003_274_489_856_000
    actions = tuple(range(spec.n_moves))
    return ImplicitMDP(
        step,
        lambda state: actions,
        sample,
        name=f"cube n={spec.n}, {spec.turns} turns, goal {spec.goal}",
        n_states=known,
        n_pairs=None if known is None else known * spec.n_moves,
        show=show,
    )


# ---------------------------------------------------------------------- inverse states


@lru_cache(maxsize=8)
def _neighbours(n: int) -> tuple[IntArray, IntArray]:
    """For n = 2 or 3: the three stickers of each sticker's cubelet, repeated if fewer, and ``home[colour, colours]``.

    ``home`` gives the sticker with that colour on the cubelet with that set of colours (as bits), −1 if there is none.
    """
    positions, _ = stickers(n)
    together = np.stack([np.resize(np.flatnonzero((positions == p).all(axis=1)), 3) for p in positions])
    colour = np.arange(len(positions)) // n**2
    home = np.full((6, 64), -1)
    home[colour, np.bitwise_or.reduce(1 << colour[together], axis=1)] = np.arange(len(positions))
    return together, home


def inverse_states(spec: CubeSpec, states: Any) -> Any:
    """The states s⁻¹, made by the inverse turns in the opposite order; the distance to the solved cube is the same.

    >>> spec = CubeSpec(3)
    >>> from burnside.envs.cube.core import apply_moves
    >>> one = apply_moves(spec, solved(spec), "R U F'")
    >>> bool((inverse_states(spec, one) == apply_moves(spec, solved(spec), "F U' R'")).all())
    True
    """
    if spec.slices and spec.n > 3:
        raise InvalidParameter("with slice turns and n > 3 equal centres are exchanged: the inverse has no meaning")
    found = _numpy(as_array(spec, states))
    small = min(spec.n, 3)
    together, home = _neighbours(small)
    seen = found[..., representatives(spec.n)].astype(np.int64)
    if seen.size and not (seen.min() >= 0 and seen.max() <= 5):
        raise InvalidModel("stickers must be whole numbers from 0 to 5")
    source = home[seen, np.bitwise_or.reduce(1 << seen[..., together], axis=-1)]
    if (source < 0).any() or (np.sort(source, axis=-1) != np.arange(source.shape[-1])).any():
        raise InvalidModel("these stickers do not make a cube: a piece is missing, occurs twice, or does not exist")
    out = (inverse_permutations(source) // small**2).astype(found.dtype)
    return _back(out if spec.n == small else out[..., collapse(spec.n)], states)


# ---------------------------------------------------------------------- canonical forms


def _numpy(x: Any) -> AnyArray:
    return x.detach().cpu().numpy() if is_torch(x) else x


def _back(out: AnyArray, like: Any) -> Any:
    if not is_torch(like):
        return out
    import torch

    return torch.as_tensor(out, device=like.device)


@dataclass(frozen=True)
class CubeCanonicalizer:
    """The lexicographically smallest image of a state, ``r(s) = min_g lex(g·s)`` (App. C).

    ``method="chunked"`` is the paper's: all images, then base-6 keys of 13 stickers at a time until one image is left.
    ``method="fast"`` compares sticker by sticker in compiled code and gives the same. Of several elements with the same
    image the first is taken. It satisfies :class:`burnside.canonical.Canonicalizer`.

    >>> from burnside.envs.cube.core import apply_moves
    >>> spec = CubeSpec(2)
    >>> form = CubeCanonicalizer(CubeSymmetry(spec, "position"))
    >>> turned = apply_moves(spec, solved(spec), "R L'")             # a rotation of the solved cube
    >>> bool((form(turned)[0] == form(solved(spec))[0]).all())
    True
    """

    symmetry: CubeSymmetry
    method: str = "fast"

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UnknownName("method", str(self.method), METHODS)

    @property
    def spec(self) -> CubeSpec:
        """The cube."""
        return self.symmetry.spec

    def __call__(self, states: Any) -> tuple[Any, Any]:
        """``(x̄, g)`` with ``x̄ = g·x``."""
        found = as_array(self.spec, states)
        lead = tuple(found.shape[:-1])
        if is_torch(found) and found.device.type != "cpu" and not self.symmetry.value_only:
            image, g = _chunked_torch(self.symmetry, found.reshape(-1, self.spec.n_stickers))
            return image.reshape(found.shape), g.reshape(lead)
        flat = _numpy(found).reshape(-1, self.spec.n_stickers)
        if flat.dtype != np.uint8:
            flat = _bytes(flat)
        image, g = self._rows(flat)
        image = image.astype(_numpy(found).dtype, copy=False).reshape(found.shape)
        return _back(image, found), (_back(g.reshape(lead), found) if lead or is_torch(found) else g[0])

    def _rows(self, flat: AnyArray) -> tuple[AnyArray, IntArray]:
        find = _fast if self.method == "fast" else _chunked
        image, g = find(self.symmetry, flat)
        if self.symmetry.value_only and len(flat):
            other, h = find(self.symmetry, inverse_states(self.spec, flat))
            at = np.argmax(image != other, axis=1)[:, None]
            less = np.take_along_axis(other, at, axis=1) < np.take_along_axis(image, at, axis=1)
            image, g = np.where(less, other, image), np.where(less[:, 0], h + self.symmetry.base, g)
        return image, g

    def act(self, g: Any, x: Any) -> Any:
        """The state ``g·x``."""
        return self.symmetry.act(_numpy(g), x)

    def undo(self, action: Any, g: Any) -> Any:
        """The turn ``g⁻¹·ā``; refused where the inverse of states is in the group."""
        table = self.symmetry.on_moves
        return _back(table[inverse_elements()[_numpy(g)], as_actions(self.spec, action)], action)


def _bytes(flat: AnyArray) -> AnyArray:
    small = flat.astype(np.uint8)
    if (small != flat).any():
        raise InvalidModel("stickers must be whole numbers from 0 to 5")
    return small


@lru_cache(maxsize=32)
def _tables(symmetry: CubeSymmetry) -> tuple[AnyArray, AnyArray]:
    return symmetry.perms.astype(np.uint16), symmetry.colours


def _fast(symmetry: CubeSymmetry, flat: AnyArray) -> tuple[AnyArray, IntArray]:
    from burnside.envs.cube import kernels

    if flat.size and flat.max() > 5:
        raise InvalidModel("stickers must be whole numbers from 0 to 5")
    out, g = np.empty(flat.shape, dtype=np.uint8), np.empty(len(flat), dtype=np.int64)
    kernels.smallest_image(np.ascontiguousarray(flat), *_tables(symmetry), out, g)
    return out, g


def _chunked(symmetry: CubeSymmetry, flat: AnyArray) -> tuple[AnyArray, IntArray]:
    """The op of App. C: all views, chunked base-6 keys, progressive tie-breaking."""
    images, chosen = [np.empty((0, symmetry.spec.n_stickers), np.uint8)], [np.empty(0, np.int64)]
    elements = np.arange(symmetry.base)[:, None]
    weights = 6 ** np.arange(_CHUNK - 1, -1, -1)
    for first in range(0, len(flat), _ROWS):
        views = flat[first : first + _ROWS][:, symmetry.perms]
        if symmetry.name != "position":
            views = symmetry.colours[elements, views]
        alive = np.ones(views.shape[:2], dtype=np.bool_)
        for start in range(0, views.shape[2], _CHUNK):
            part = views[:, :, start : start + _CHUNK].astype(np.int64)
            key = np.where(alive, part @ weights[-part.shape[2] :], np.iinfo(np.int64).max)
            alive &= key == key.min(axis=1, keepdims=True)
            if (alive.sum(axis=1) == 1).all():
                break
        g = np.argmax(alive, axis=1)
        images.append(views[np.arange(len(views)), g])
        chosen.append(g)
    return np.concatenate(images), np.concatenate(chosen)


def _chunked_torch(symmetry: CubeSymmetry, flat: Any) -> tuple[Any, Any]:
    """The same on a torch device."""
    import torch

    device = flat.device
    perms, colours = (torch.as_tensor(np.array(t, dtype=np.int64), device=device) for t in _tables(symmetry))
    weights = 6 ** torch.arange(_CHUNK - 1, -1, -1, device=device)
    images, chosen = [flat[:0]], [torch.empty(0, dtype=torch.int64, device=device)]
    for rows in flat.split(_ROWS):
        if not len(rows):
            continue
        views = rows[:, perms].long()
        if symmetry.name != "position":
            views = colours[torch.arange(symmetry.base, device=device)[:, None], views]
        alive = torch.ones(views.shape[:2], dtype=torch.bool, device=device)
        for start in range(0, views.shape[2], _CHUNK):
            part = views[:, :, start : start + _CHUNK]
            key = (part * weights[-part.shape[2] :]).sum(-1).masked_fill(~alive, 2**62)
            alive &= key == key.amin(dim=1, keepdim=True)
        g = alive.byte().argmax(dim=1)
        images.append(views[torch.arange(len(views), device=device), g].to(flat.dtype))
        chosen.append(g)
    return torch.cat(images), torch.cat(chosen)
