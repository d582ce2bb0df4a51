"""A symmetry as plain code for other libraries: rsl_rl, Stable-Baselines3, TorchRL, CleanRL.

:func:`export` writes a module that needs torch and that library, and nothing of Burnside: tables of indices and signs
(or matrices), and the few functions the library calls. It can be read, checked in and changed.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from burnside.errors import InvalidParameter, UnknownName
from burnside.symmetry.acting import LeafActing, StackActing, TreeActing
from burnside.symmetry.affine import affine
from burnside.symmetry.base import Map
from burnside.symmetry.concrete import finite, flat_maps, represented, squashed
from burnside.symmetry.declaration import EnvSymmetry, as_symmetry
from burnside.symmetry.images import Image
from burnside.symmetry.labels import Labels
from burnside.symmetry.vectors import SignedPermutation

__all__ = ["LIBRARIES", "export"]

LIBRARIES = ("cleanrl", "rsl_rl", "sb3", "torchrl")
_MOST = 64  # elements whose tables are still a file to read


def export(symmetry: EnvSymmetry, env: Any, to: str, *, turns: int = 8) -> str:
    """The source of a Python module by which another library uses a symmetry.

    Args:
        symmetry: the declaration.
        env: the environment, for its spaces.
        to: ``"rsl_rl"`` (``data_augmentation_func(env, obs, actions)``), ``"sb3"`` (replay and rollout buffers),
            ``"torchrl"`` (a transform for replay buffers, and its function) or ``"cleanrl"`` (functions to paste).
        turns: a continuous group is approximated by as many turns.

    >>> import gymnasium as gym
    >>> mirror = EnvSymmetry("mirror", "- - - -", "labels 1,0", name="left and right")
    >>> print(export(mirror, gym.make("CartPole-v1"), "cleanrl"))  # doctest: +ELLIPSIS
    # The symmetry 'left and right' (mirror, 2 elements) of CartPole-v1, for CleanRL; written by burnside export.
    ...
    """
    if to not in LIBRARIES:
        raise UnknownName("library to export to", str(to), LIBRARIES)
    declared = as_symmetry(symmetry)
    seen = getattr(env, "single_observation_space", env.observation_space)
    done = getattr(env, "single_action_space", env.action_space)
    declared.check_spaces(seen, done)
    found = finite(represented(declared, seen, done), turns)
    if (found.order or 0) > _MOST:
        raise InvalidParameter(
            f"{found.name} has {found.order} elements, too many for tables in a file: declare a subgroup, or use "
            "burnside.agents.make_sb3"
        )
    spec = getattr(env, "spec", None)
    where = f" of {spec.id}" if spec is not None else ""
    head = f"# The symmetry {found.name!r} ({found.group}, {found.order} elements){where}, for {_TITLES[to]}; "
    return {"rsl_rl": _rsl_rl, "sb3": _sb3, "torchrl": _torchrl, "cleanrl": _cleanrl}[to](
        head + "written by burnside export.", found, seen, done
    )


_TITLES = {"rsl_rl": "rsl_rl", "sb3": "Stable-Baselines3", "torchrl": "TorchRL", "cleanrl": "CleanRL"}


# ---------------------------------------------------------------------- maps as code


def _flat(symmetry: EnvSymmetry, what: str, space: Any, acting: Any = None) -> list[Map]:
    """The maps of all elements on one vector; refuses what is none."""
    acting = symmetry.on(what) if acting is None else acting
    inner = acting.part if isinstance(acting, StackActing) else acting
    if isinstance(inner, LeafActing) and any(isinstance(m, Image) for m in inner.maps):
        raise InvalidParameter(
            f"the {what} is a picture, and exported code moves vectors: use burnside.agents.make_sb3"
        )
    if isinstance(acting, TreeActing):
        raise InvalidParameter(
            f"the {what} is a Dict or Tuple, which this library's export does not take: use burnside.agents.make_sb3, "
            "or flatten it"
        )
    shape = getattr(space, "shape", None)
    if isinstance(acting, StackActing) or (shape is not None and len(shape) > 1):
        raise InvalidParameter(f"the {what} has shape {shape}, and exported code moves vectors: flatten it")
    return flat_maps(acting, space)


def _is_labels(space: Any) -> bool:
    return type(space).__name__ == "Discrete"


def _vector_code(name: str, maps: Sequence[Map]) -> str:
    """Tables and the function ``move_<name>(g, x)`` for vectors."""
    upper, width = name.upper(), maps[0].width
    if all(isinstance(m, SignedPermutation) for m in maps):
        signed: list[Any] = list(maps)
        return _filled(
            """
            # {name}: new[i] = sign[i] * old[index[i]]; one row for each element, the first changes nothing
            {upper}_INDEX = torch.tensor({index})
            {upper}_SIGN = torch.tensor({sign})


            def move_{name}(g, x):
                \"\"\"Element g applied to tensors (..., {width}).\"\"\"
                return x[..., {upper}_INDEX[g].to(x.device)] * {upper}_SIGN[g].to(x)
            """,
            name=name,
            upper=upper,
            width=width,
            index=_rows([m.index for m in signed]),
            sign=_rows([m.signs.astype(float) for m in signed]),
        )
    general = [affine(m) for m in maps]
    if any(m.folding.quaternions for m in general):
        raise InvalidParameter(
            f"the {name} has quaternions, whose sign is folded: exported code does not do that; give rot6d, or use "
            "burnside.agents.make_sb3"
        )
    periodic = sorted({p for m in general for p in m.folding.periodic})
    wrap = "".join(
        f"\n    out[..., {i}] = torch.remainder(out[..., {i}] - ({low!r}), {period!r}) + ({low!r})"
        for i, low, period in periodic
    )
    return _filled(
        """
        # {name}: new = matrix @ old + offset; one matrix for each element, the first changes nothing
        {upper}_MATRIX = torch.tensor({matrix})
        {upper}_OFFSET = torch.tensor({offset})


        def move_{name}(g, x):
            \"\"\"Element g applied to tensors (..., {width}).\"\"\"
            out = x @ {upper}_MATRIX[g].to(x).T + {upper}_OFFSET[g].to(x){wrap}
            return out
        """,
        name=name,
        upper=upper,
        width=width,
        matrix=_rows([m.linear for m in general]),
        offset=_rows([m.offset for m in general]),
        wrap=wrap,
    )


def _pictures(acting: Any) -> list[Image] | None:
    """The maps of all elements, if they are those of pictures."""
    if not isinstance(acting, LeafActing) or not any(isinstance(m, Image) for m in acting.maps):
        return None
    found = [m for m in acting.maps if isinstance(m, Image)]
    if len(found) < len(acting.maps) or any(m.permute is not None for m in found):
        raise InvalidParameter(
            "channels that change places with the picture are not exported: use burnside.agents.make_sb3"
        )
    return found


def _picture_code(name: str, maps: Sequence[Image], axes: tuple[int, int]) -> str:
    """The table and the function ``move_<name>(g, x)`` for pictures."""
    return _filled(
        """
        # {name}: left and right change places (1) or not (0), then quarter turns counter-clockwise; the first element
        # changes nothing
        {upper}_MOVES = {moves}


        def move_{name}(g, x):
            \"\"\"Element g applied to pictures, whose rows and columns are the axes {axes}.\"\"\"
            flip, turns = {upper}_MOVES[g]
            x = torch.flip(x, ({column},)) if flip else x
            return torch.rot90(x, turns, {axes})
        """,
        name=name,
        upper=name.upper(),
        moves=str([(m.moves[1], m.moves[0]) for m in maps]),
        axes=str(axes),
        column=str(axes[1]),
    )


def _label_code(name: str, maps: Sequence[Any]) -> str:
    """The table and the function ``move_<name>(g, a)`` for labels."""
    return _filled(
        """
        # {name}: label a becomes table[a]; one row for each element, the first changes nothing
        {upper}_TABLE = torch.tensor({table})


        def move_{name}(g, a):
            \"\"\"Element g applied to a tensor of labels, of any shape.\"\"\"
            return {upper}_TABLE[g].to(a.device)[a.long()].to(a.dtype)
        """,
        name=name,
        upper=name.upper(),
        table=_rows([m.table for m in maps]),
    )


def _action_code(symmetry: EnvSymmetry, space: Any, name: str = "action") -> str:
    if not _is_labels(space):
        return _vector_code(name, _flat(symmetry, "action", space))
    acting = symmetry.on("action")
    if isinstance(acting, LeafActing):
        if int(space.start) != 0:
            raise InvalidParameter(f"labels of exported code begin at 0, but the environment has {space}")
        return _label_code(name, acting.maps)
    return _label_code(name, [Labels(range(int(space.n)))] * (symmetry.order or 1))


def _moved_code(name: str, symmetry: EnvSymmetry, space: Any, acting: Any) -> str:
    """The code that moves one array of observations: a picture or a vector."""
    pictures = _pictures(acting)
    if pictures is not None:
        return _picture_code(name, pictures, pictures[0].axes)
    return _vector_code(name, _flat(symmetry, "observation", space, acting))


def _observation_code(symmetry: EnvSymmetry, space: Any) -> str:
    pictures = _pictures(symmetry.on("observation"))
    if pictures is not None:
        return _picture_code("observation", pictures, (-2, -1) if _is_transposed(space) else pictures[0].axes)
    if _is_labels(space) and isinstance(symmetry.on("observation"), LeafActing):
        return _label_code("observation", symmetry.on("observation").maps)  # type: ignore[attr-defined]
    return _vector_code("observation", _flat(symmetry, "observation", space))


def _is_transposed(space: Any) -> bool:
    """Whether Stable-Baselines3 brings the channels of these pictures to the front, before it stores them."""
    shape: tuple[int, ...] = getattr(space, "shape", None) or ()
    dtype = getattr(space, "dtype", None)
    if len(shape) != 3 or dtype != np.uint8 or shape[-1] not in (1, 3, 4) or shape[-1] != min(shape):
        return False
    return bool((space.low == 0).all() and (space.high == 255).all())


def _rows(values: Sequence[Any]) -> str:
    """Nested lists, one row of the outermost on each line."""
    lines = [f"    {np.round(np.asarray(v), 12).tolist()}," for v in values]
    return "[\n" + "\n".join(lines) + "\n]"


def _filled(template: str, **words: Any) -> str:
    out = textwrap.dedent(template).strip("\n")
    for key, value in words.items():
        out = out.replace("{" + key + "}", str(value))
    return out


def _module(head: str, *parts: str) -> str:
    return head + "\n\n" + "\n\n\n".join(part.strip("\n") for part in parts) + "\n"


# ---------------------------------------------------------------------- CleanRL


_CLEANRL = """
def all_images(move, x):
    \"\"\"All images of a batch, the originals first: (batch, ...) to (ORDER * batch, ...).\"\"\"
    return torch.cat([move(g, x) for g in range(ORDER)])


def augment_rollout(b_obs, b_actions, *kept):
    \"\"\"A PPO batch with all its images: pass b_logprobs, b_advantages, b_returns, b_values as they are.

    The log-probabilities stay those of the behaviour. Every batch is ORDER times as large.
    \"\"\"
    images = all_images(move_observation, b_obs), all_images(move_action, b_actions)
    return *images, *(torch.cat([x] * ORDER) for x in kept)


def augment_transitions(observations, actions, next_observations, *kept):
    \"\"\"A replay batch with all its images: pass rewards and dones as they are.\"\"\"
    images = all_images(move_observation, observations), all_images(move_action, actions)
    return *images, all_images(move_observation, next_observations), *(torch.cat([x] * ORDER) for x in kept)


def random_images(observations, actions, next_observations=None):
    \"\"\"Every row moved by a random element of its own: batches stay as large as they are.\"\"\"
    rows = torch.arange(len(observations), device=observations.device)
    g = torch.randint(ORDER, rows.shape, device=rows.device)

    def one(move, x):
        return torch.stack([move(k, x) for k in range(ORDER)])[g, rows]

    found = one(move_observation, observations), one(move_action, actions)
    return found if next_observations is None else (*found, one(move_observation, next_observations))
"""

_MIRROR_LOSS = """
def mirror_loss(policy_mean, observations):
    \"\"\"How far a function from observations to mean actions is from equivariant; add it to the loss.\"\"\"
    mean = policy_mean(observations)
    gaps = [policy_mean(move_observation(g, observations)) - move_action(g, mean) for g in range(1, ORDER)]
    return torch.stack(gaps).square().mean()
"""


def _cleanrl(head: str, symmetry: EnvSymmetry, seen: Any, done: Any) -> str:
    acting = symmetry.on("observation")
    pictures = _pictures(acting)
    code = _observation_code(symmetry, seen) if pictures is None else _moved_code("observation", symmetry, seen, acting)
    parts = [f"import torch\n\nORDER = {symmetry.order}", code]
    parts += [_action_code(symmetry, done), _CLEANRL]
    return _module(head, *parts, *([] if _is_labels(done) else [_MIRROR_LOSS]))


# ---------------------------------------------------------------------- rsl_rl

_GROUPS = """
# what moves each group of observations
GROUPS = {{table}}
"""

_ONE_WIDTH = """
# Groups of observations of this width are moved alike. Others are refused: say in GROUPS what moves them.
WIDTH = {width}
GROUPS = {}
"""

_RSL_RL = """
def move_groups(g, obs):
    \"\"\"Element g applied to every group of a TensorDict of observations.\"\"\"
    out = obs.clone(recurse=False)
    for name, value in obs.items():
        move = {pick}
        if move is None:
            raise ValueError(f"how does the symmetry move the observations {name!r}? Say so in GROUPS.")
        out[name] = move(g, value)
    return out


def data_augmentation_func(env, obs, actions):
    \"\"\"For rsl_rl: (batch, ...) to (ORDER * batch, ...), the originals first; None stays None.

    algorithm = {..., "symmetry_cfg": {"data_augmentation_func": "this_module:data_augmentation_func",
                                       "use_data_augmentation": True}}
    \"\"\"
    if obs is not None:
        obs = torch.cat([move_groups(g, obs) for g in range(ORDER)])
    if actions is not None:
        actions = torch.cat([move_action(g, actions) for g in range(ORDER)])
    return obs, actions
"""


def _rsl_rl(head: str, symmetry: EnvSymmetry, seen: Any, done: Any) -> str:
    if _is_labels(done):
        raise InvalidParameter("rsl_rl has continuous actions only, but those of the environment are numbered: use sb3")
    codes, moves = _observations_by_key(symmetry, seen)
    if moves is None and _pictures(symmetry.on("observation")) is not None:
        raise InvalidParameter(
            "rsl_rl has groups of observations: say by key which of them is the picture, as in "
            'EnvSymmetry(…, observation={"camera": Image()})'
        )
    if moves is None:
        group, pick = _filled(_ONE_WIDTH, width=seen.shape[0]), "GROUPS.get(name, {usual})"
        pick = pick.replace("{usual}", "move_observation if value.shape[-1] == WIDTH else None")
    else:
        group = _filled(_GROUPS, table=", ".join(f"{key!r}: {move}" for key, move in moves.items()))
        pick = "GROUPS.get(name)"
    parts = [f"import torch\n\nORDER = {symmetry.order}", *codes, _action_code(symmetry, done), group]
    return _module(head, *parts, _filled(_RSL_RL, pick=pick))


def _observations_by_key(symmetry: EnvSymmetry, space: Any) -> tuple[list[str], dict[str, str] | None]:
    """The code that moves observations, and for dictionaries the function of each key."""
    acting = symmetry.on("observation")
    if not isinstance(acting, TreeActing) or acting.sequence:
        return [_moved_code("observation", symmetry, space, acting)], None
    keys = list(acting.inside)
    codes = [_moved_code(f"observation{k}", symmetry, space[key], acting.inside[key]) for k, key in enumerate(keys)]
    return codes, {key: f"move_observation{k}" for k, key in enumerate(keys)}


# ---------------------------------------------------------------------- TorchRL

_EITHER = """
def move_either(g, a, axes):
    \"\"\"Labels, or one-hot vectors of {n} numbers, which GymEnv has by default and which have one more axis.\"\"\"
    if a.ndim == axes:
        return move_action(g, a)
    labels = move_action(g, a.int().argmax(-1))
    return torch.nn.functional.one_hot(labels, {n}).to(a.dtype)
"""

_TORCHRL = """
# what moves, by key; all else must be in KEPT, so that nothing is left unmoved by accident
MOVED = {
{table}
}
KEPT = {
    "reward", "done", "terminated", "truncated", "sample_log_prob", "action_log_prob", "log_prob", "advantage",
    "value_target", "state_value", "index", "step_count", "episode_reward", "traj_ids", "is_init", "_weight",
    "priority_weight",
}


def moved_by(g, tensordict):
    \"\"\"Element g applied to a batch; rewards, flags, values and log-probabilities stay.\"\"\"
    out = tensordict.clone(recurse=False)
    for key in list(tensordict.keys(include_nested=True, leaves_only=True)):
        if key in MOVED:
            out.set(key, MOVED[key](g, tensordict.get(key)))
        elif key == "action":
            out.set(key, {action})
        elif (key if isinstance(key, str) else key[-1]) not in KEPT:
            raise ValueError(f"how does the symmetry move {key!r}? Add it to MOVED or to KEPT, or leave it out.")
    return out


def augment(tensordict, random=False):
    \"\"\"All images of a batch, the originals first; or with `random` one image of each row.\"\"\"
    images = [moved_by(g, tensordict) for g in range(ORDER)]
    if not random:
        return torch.cat(images)
    rows = torch.arange(len(tensordict), device=tensordict.device)
    g = torch.randint(ORDER, rows.shape, device=tensordict.device)
    return torch.stack(images)[g, rows]


class SymmetryTransform(Transform):
    \"\"\"For replay buffers: ReplayBuffer(..., transform=SymmetryTransform()).\"\"\"

    def __init__(self, random=False):
        super().__init__(in_keys=[], out_keys=[])
        self.random = random

    def forward(self, tensordict):
        return augment(tensordict, self.random)
"""


def _torchrl(head: str, symmetry: EnvSymmetry, seen: Any, done: Any) -> str:
    codes, moves = _observations_by_key(symmetry, seen)
    moves = {"observation": "move_observation"} if moves is None else moves
    table = "\n".join(f'    "{key}": {move},\n    ("next", "{key}"): {move},' for key, move in moves.items())
    parts = ["import torch\nfrom torchrl.envs.transforms import Transform\n\n" + f"ORDER = {symmetry.order}", *codes]
    parts.append(_action_code(symmetry, done))
    action = "move_action(g, tensordict.get(key))"
    if _is_labels(done):
        parts.append(_filled(_EITHER, n=int(done.n)))
        action = "move_either(g, tensordict.get(key), tensordict.ndim)"
    return _module(head, *parts, _filled(_TORCHRL, table=table, action=action))


# ---------------------------------------------------------------------- Stable-Baselines3


_SB3 = """
def images(samples, random, move_action):
    \"\"\"Samples of a buffer with all their images, or with a random image of each. Log-probabilities stay.\"\"\"
    moves = {"observations": move_observation, "next_observations": move_observation, "actions": move_action}
    rows = torch.arange(len(samples.actions), device=samples.actions.device)
    g = torch.randint(ORDER, rows.shape, device=rows.device)
    found = {}
    for name, value in samples._asdict().items():
        if value is None:
            continue
        move = moves.get(name)
        if random:
            found[name] = value if move is None else torch.stack([move(k, value) for k in range(ORDER)])[g, rows]
        else:
            found[name] = torch.cat([value if move is None else move(k, value) for k in range(ORDER)])
    return samples._replace(**found)


class SymmetricReplayBuffer(ReplayBuffer):
    \"\"\"SAC("MlpPolicy", env, replay_buffer_class=SymmetricReplayBuffer); random: batches stay as large.\"\"\"

    def __init__(self, *args, random=False, **kwargs):
        super().__init__(*args, **kwargs)
        self.random = random

    def _get_samples(self, batch_inds, env=None):
        return images(super()._get_samples(batch_inds, env), self.random, {stored})


class SymmetricRolloutBuffer(RolloutBuffer):
    \"\"\"PPO("MlpPolicy", env, rollout_buffer_class=SymmetricRolloutBuffer); random: batches stay as large.\"\"\"

    def __init__(self, *args, random=False, **kwargs):
        super().__init__(*args, **kwargs)
        self.random = random

    def _get_samples(self, batch_inds, env=None):
        return images(super()._get_samples(batch_inds, env), self.random, move_action)
"""


def _sb3(head: str, symmetry: EnvSymmetry, seen: Any, done: Any) -> str:
    codes = [_observation_code(symmetry, seen), _action_code(symmetry, done)]
    stored = "move_action"
    scaled = squashed(symmetry, done)
    if not _is_labels(done) and _flat(scaled, "action", done) != _flat(symmetry, "action", done):
        stored = "move_scaled_action"
        codes.append("# replay buffers hold actions scaled to [-1, 1]\n" + _action_code(scaled, done, "scaled_action"))
    top = "import torch\nfrom stable_baselines3.common.buffers import ReplayBuffer, RolloutBuffer\n\n"
    return _module(head, top + f"ORDER = {symmetry.order}", *codes, _filled(_SB3, stored=stored))
