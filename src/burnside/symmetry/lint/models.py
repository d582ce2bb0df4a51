"""Models to lint: from XML files, from Gymnasium environments, from dm_control."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from burnside.errors import InvalidModel, InvalidParameter, MissingExtra, UnknownName, UnreadableFile
from burnside.symmetry.lint.motions import mujoco_module, quiet

__all__ = ["Source", "dm_control_xml", "load_source"]

_SUFFIXES = (".xml", ".mjcf", ".urdf", ".mjb")


@dataclass(frozen=True)
class Source:
    """A model and where it came from.

    Attributes:
        name: as the user gave it.
        model: the compiled ``mujoco.MjModel``.
        path: the XML file, if there is one.
        xml: the XML text, if there is no file.
        assets: files that the text refers to.
        env: the Gymnasium environment, if that was asked for.
    """

    name: str
    model: Any
    path: Path | None = None
    xml: str | None = None
    assets: dict[str, bytes] = field(default_factory=dict)
    env: Any = None

    def spec(self) -> Any:
        """The model in a form that can be edited and written (``mujoco.MjSpec``)."""
        mujoco = mujoco_module()
        if self.path is not None:
            return mujoco.MjSpec.from_file(str(self.path))
        if self.xml is not None:
            return mujoco.MjSpec.from_string(self.xml, assets=self.assets)
        raise InvalidParameter(f"{self.name} has no XML that could be repaired: give its XML file instead")


def load_source(name: str, parameters: dict[str, Any] | None = None) -> Source:
    """The model that a user named: an XML file, a Gymnasium id, or ``dm_control:domain-task``.

    Args:
        name: such as ``robot.xml``, ``Ant-v5`` or ``dm_control:walker-walk``.
        parameters: arguments of a Gymnasium environment.
    """
    with quiet():
        return _load(name, parameters or {})


def _load(name: str, parameters: dict[str, Any]) -> Source:
    if Path(name).suffix.lower() in _SUFFIXES or Path(name).is_file():
        return _from_file(name)
    if name.startswith(("dm_control:", "dm_control/")):
        domain, _, task = re.sub(r"-v\d+$", "", name.split(name[10], 1)[1]).partition("-")
        xml, assets = dm_control_xml(domain, task)
        return Source(name, _compiled(name, xml, assets), xml=xml, assets=assets)
    if re.search(r"-v\d+$", name):
        return _from_gymnasium(name, parameters)
    raise InvalidParameter(
        f"{name!r} is neither an XML file, nor a Gymnasium id such as Ant-v5, nor dm_control:domain-task such as "
        "dm_control:walker-walk"
    )


def _from_file(name: str) -> Source:
    mujoco = mujoco_module()
    path = Path(name)
    if not path.exists():
        raise UnreadableFile(f"there is no file {path}: check the path")
    if not path.is_file():
        raise UnreadableFile(f"cannot read {path}: it is not a file")
    if path.suffix.lower() == ".mjb":
        raise UnreadableFile(f"{path} is a binary model, which is not read here: give the XML that it was made from")
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except Exception as error:  # of several types, with the reason in their text
        raise InvalidModel(f"{path} is not a model that MuJoCo can compile: {_first_line(error)}") from None
    return Source(name, model, path=path)


def _compiled(name: str, xml: str, assets: dict[str, bytes]) -> Any:
    try:
        return mujoco_module().MjModel.from_xml_string(xml, assets)
    except Exception as error:
        raise InvalidModel(f"MuJoCo cannot compile the model of {name}: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def _from_gymnasium(name: str, parameters: dict[str, Any]) -> Source:
    try:
        import gymnasium
    except ImportError:
        raise MissingExtra("gymnasium", "envs") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that there is a newer version, which is not what was asked for
            env = gymnasium.make(name, **parameters)
    except Exception as error:
        raise InvalidParameter(f"Gymnasium cannot make {name!r}: {_first_line(error)}") from None
    inner = env.unwrapped
    model = getattr(inner, "model", None)
    if not isinstance(model, mujoco_module().MjModel):
        raise InvalidParameter(f"{name} has no MuJoCo model to look at: lint is for MuJoCo environments and XML files")
    path = getattr(inner, "fullpath", None)
    return Source(name, model, path=None if path is None else Path(path), env=env)


def dm_control_xml(domain: str, task: str) -> tuple[str, dict[str, bytes]]:
    """The XML of a task of dm_control's suite, with the files it refers to.

    The XML is caught where the task hands it to the simulator. So each task's own variant is found (the number of
    poles, the terrain), without making the simulation: releases of dm_control and of MuJoCo do not always fit.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that there is no display, which is not needed
            from dm_control import suite
    except ImportError:
        raise MissingExtra("dm_control", "dm-control") from None
    known = sorted({d for d, _ in suite.ALL_TASKS})
    if domain not in known:
        raise UnknownName("domain of dm_control", domain, known)
    tasks = sorted(t for d, t in suite.ALL_TASKS if d == domain)
    if task not in tasks:
        raise UnknownName(f"task of {domain}", task, tasks)
    module: Any = getattr(suite, domain)
    physics = module.Physics
    module.Physics = _Catcher
    try:
        module.SUITE[task]()
    except _Caught as caught:
        return caught.xml, caught.assets
    finally:
        module.Physics = physics
    raise InvalidParameter(f"the model of dm_control:{domain}-{task} cannot be read: give its XML file instead")


class _Caught(Exception):
    def __init__(self, xml: str | bytes, assets: dict[str, bytes] | None) -> None:
        super().__init__()
        self.xml = xml.decode() if isinstance(xml, bytes) else xml
        self.assets = {name: text.encode() if isinstance(text, str) else text for name, text in (assets or {}).items()}


class _Catcher:
    """Stands for a domain's ``Physics``, and keeps what it is given."""

    @classmethod
    def from_xml_string(cls, xml_string: str | bytes, assets: dict[str, bytes] | None = None) -> None:
        """Keep the XML."""
        raise _Caught(xml_string, assets)
