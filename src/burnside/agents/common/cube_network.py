"""A trained network for cubes, and its file: it also says which cube, arm and settings the tensors are for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar, Self

from burnside.envs.cube.core import CubeSpec
from burnside.errors import DamagedFile, InvalidParameter
from burnside.nn.tensors import TensorFile, open_tensors, write_tensors

__all__ = ["CubeNetwork"]


class CubeNetwork:
    """What networks for cubes have in common.

    Attributes:
        spec: The cube; a policy for the 3-cube also solves larger ones by outer turns.
        arm: How states are shown to the network.
        config: The settings it was made with.
        net: The network, one member, in evaluation mode.
        seed: The seed of the run it comes from, if known.
    """

    FORMAT: ClassVar[str]
    NOUN: ClassVar[str]
    CONFIG: ClassVar[Any]

    def __init__(self, spec: CubeSpec, arm: str, config: Any, net: Any, seed: int | None = None) -> None:
        self.spec, self.arm, self.config, self.net, self.seed = spec, arm, config, net.eval(), seed

    @classmethod
    def untrained(cls, config: Any, spec: CubeSpec, arm: str) -> Any:
        """A network whose tensors can be replaced by those of a file."""
        raise NotImplementedError

    @classmethod
    def fits(cls, shapes: Any, config: Any, spec: CubeSpec, arm: str) -> bool:
        """Whether tensors of these shapes belong to the settings; checked before a network is made."""
        raise NotImplementedError

    def save(self, path: str | Path) -> Path:
        """Write it as safetensors, with what it is for in the metadata; atomic."""
        about = {"format": self.FORMAT, "n": str(self.spec.n), "turns": self.spec.turns, "goal": self.spec.goal}
        about |= {"arm": self.arm, "config": json.dumps(self.config.to_json())}
        about |= {} if self.seed is None else {"seed": str(self.seed)}
        return write_tensors(path, self.net.state_dict(), about)

    @classmethod
    def load(cls, path: str | Path, spec: CubeSpec | None = None, arm: str | None = None) -> Self:
        """Read a file; refuses one that was trained for another cube or arm than those given."""
        file = open_tensors(path)
        name = file.path.name
        if file.about.get("format") != cls.FORMAT:
            raise DamagedFile(f"{name} is not a {cls.NOUN} for a cube, or has another format: train or copy it again")
        found, trained, config, seed = cls._read(file)
        if spec is not None and found != spec:
            raise InvalidParameter(f"the network {name} was trained for {_words(found)}, not for {_words(spec)}")
        if arm is not None and arm != trained:
            raise InvalidParameter(f"the network {name} was trained as arm {trained!r}, not {arm!r}")
        net = cls.untrained(config, found, trained)
        try:
            net.load_state_dict(file.tensors())
        except RuntimeError:
            raise file.damaged("its tensors do not fit its settings") from None
        return cls(found, trained, config, net, seed)

    @classmethod
    def _read(cls, file: TensorFile) -> tuple[CubeSpec, str, Any, int | None]:
        about = file.about
        try:
            spec, arm = CubeSpec(int(about["n"]), about["turns"], about["goal"]), about["arm"]
            seed = int(about["seed"]) if "seed" in about else None
            config = cls.CONFIG.from_json(file.settings("config"))
            fits = cls.fits(file.shapes, config, spec, arm)  # also refuses an unknown arm
        except (KeyError, TypeError, ValueError, LookupError, OverflowError) as error:
            raise error if isinstance(error, DamagedFile) else file.damaged(str(error)) from None
        if not fits:
            raise file.damaged("its tensors do not fit its settings")
        return spec, arm, config, seed


def _words(spec: CubeSpec) -> str:
    return f"n={spec.n}, {spec.turns} turns, goal {spec.goal}"
