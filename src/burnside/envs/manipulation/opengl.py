"""Which OpenGL library draws on this machine: decided by drawing a picture, once, and remembered.

MuJoCo draws without a screen through OSMesa or EGL. That such a library is installed does not mean that it draws (its
driver may be missing), and a process that tried one of them cannot simply turn to the other, because PyOpenGL binds
itself to one library when it is first imported. So every candidate draws a small scene in a process of its own, and
the first one whose picture is right is taken.

The choice is kept in the user's cache folder, together with what it depends on: a new package, driver or variable
makes it void. It is tested again, by the same picture, in every process that uses it; one that stopped working is
forgotten and the search is repeated. "Nothing draws" is never remembered.

``MUJOCO_GL`` (or ``PYOPENGL_PLATFORM``), where the user has set it, decides instead.

``python -m burnside.envs.manipulation.opengl`` says which library draws; its exit code is 1 if none does. The
Makefile asks it before and after it installs packages.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from burnside._files import write_text
from burnside.errors import BurnsideError, InvalidParameter, MissingExtra

__all__ = ["PACKAGES", "candidates", "failure_of", "find_library", "load_mujoco", "open_context"]

#: Debian and Ubuntu packages, in the order in which they are worth trying: either line is enough to draw.
PACKAGES = ("libosmesa6", "libegl1 libgl1 libgl1-mesa-dri")

_TITLES = {"osmesa": "OSMesa", "egl": "EGL", "glfw": "GLFW", "cgl": "CGL"}
#: The libraries that go through PyOpenGL, which is bound to one of them for the life of the process.
_THROUGH_PYOPENGL = ("osmesa", "egl")
#: What ``MUJOCO_GL`` may hold and which of MuJoCo's modules it means; "" leaves the choice to us.
_MEANINGS = {
    **dict.fromkeys(("", "enable", "enabled", "on", "true", "1"), ""),
    **dict.fromkeys(("disable", "disabled", "off", "false", "0"), "off"),
    **dict.fromkeys(("glfw", "glx", "wgl"), "glfw"),
    "osmesa": "osmesa",
    "egl": "egl",
    "cgl": "cgl",
}
#: Variables that change which library is found or which driver it uses.
_VARIABLES = (
    *("LD_LIBRARY_PATH", "LD_PRELOAD", "DISPLAY", "WAYLAND_DISPLAY", "MUJOCO_EGL_DEVICE_ID", "CUDA_VISIBLE_DEVICES"),
    *("__EGL_VENDOR_LIBRARY_DIRS", "__EGL_VENDOR_LIBRARY_FILENAMES", "EGL_PLATFORM", "LIBGL_DRIVERS_PATH"),
    *("LIBGL_ALWAYS_SOFTWARE", "GALLIUM_DRIVER", "MESA_LOADER_DRIVER_OVERRIDE"),
)
#: Files and folders that change when a library or a driver is installed or removed.
_PLACES = ("/etc/ld.so.cache", "/usr/share/glvnd/egl_vendor.d", "/etc/glvnd/egl_vendor.d", "/dev/dri")
#: A trial takes one or two seconds; a library that hangs is given up.
_PATIENCE = 120

_SCENE = """
<mujoco>
  <visual><quality offsamples="0" shadowsize="0"/></visual>
  <worldbody>
    <light pos="0 0 3"/>
    <camera name="above" pos="0 0 2"/>
    <geom type="sphere" size="0.5" rgba="1 0 0 1"/>
  </worldbody>
</mujoco>
"""


def candidates() -> tuple[str, ...]:
    """The libraries worth trying on this system, the preferred one first.

    OSMesa comes before EGL because it draws in software: the same picture with and without a graphics card.
    """
    if sys.platform == "darwin":
        return ("cgl",)
    if sys.platform == "win32":
        return ("glfw",)
    screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return (*_THROUGH_PYOPENGL, "glfw") if screen else _THROUGH_PYOPENGL


def load_mujoco() -> Any:
    """MuJoCo, or one sentence about why not: it loads the library that ``MUJOCO_GL`` names when it is imported."""
    wanted = os.environ.get("MUJOCO_GL", "")
    if _MEANINGS.get(wanted.lower().strip()) in _THROUGH_PYOPENGL and "OpenGL.platform" not in sys.modules:
        os.environ["PYOPENGL_PLATFORM"] = wanted.lower().strip()  # another value would stop the import
    try:
        return importlib.import_module("mujoco")
    except ModuleNotFoundError as error:
        if error.name == "mujoco":
            raise MissingExtra("mujoco", "robot") from None
        raise
    except Exception as error:  # each library fails in its own way
        if not wanted:
            raise
        raise InvalidParameter(
            f"MUJOCO_GL={wanted} keeps MuJoCo from being loaded ({_short(error)}): unset it, or set it to a library "
            f"that is installed here (osmesa, egl)"
        ) from None


def open_context(width: int, height: int) -> Any:
    """A current OpenGL context of the library that draws here.

    Raises:
        InvalidParameter: if none does, or the one that the user asked for does not.
    """
    load_mujoco()
    asked, variable = _asked()
    bound = _bound()
    if bound and (asked or bound) != bound:
        raise InvalidParameter(
            f"{variable}={asked} comes too late: this process has loaded PyOpenGL for {bound!r} already; "
            f"set {variable} before Python starts"
        )
    if asked or bound:
        name = asked or bound
        try:
            return _open(name, width, height)
        except Exception as error:
            why = f"{variable}={asked}" if asked else "PyOpenGL, which this process had loaded before,"
            raise InvalidParameter(
                f"{why} asks for {_TITLES.get(name, name)}, which does not draw here ({_short(error)}): "
                f"{f'unset {variable}, and a library that draws is looked for' if asked else _remedy()}"
            ) from None
    remembered = _recall()
    if remembered:
        try:
            return _open(remembered, width, height)
        except Exception:  # the machine has changed in a way that the record does not show
            _forget()
            _unbind(remembered)
    return _open(find_library(), width, height)


def find_library(failure: Callable[[str], str] | None = None) -> str:
    """Try the candidates one after the other, each in a fresh process, and remember the first that draws.

    Args:
        failure: tells why a library does not draw, or "" if it does; default: :func:`failure_of`.
    """
    reasons = []
    for name in candidates():
        reason = (failure or failure_of)(name)
        if not reason:
            _remember(name)
            return name
        reasons.append(f"{_TITLES[name]}: {reason}")
    raise InvalidParameter(f"no OpenGL library draws without a screen here ({'; '.join(reasons)}): {_remedy()}")


def failure_of(name: str) -> str:
    """Why a library does not draw, found by drawing with it in a fresh process; "" if it draws."""
    environment = {key: value for key, value in os.environ.items() if key not in ("MUJOCO_GL", "PYOPENGL_PLATFORM")}
    source = str(Path(__file__).resolve().parents[3])
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    try:
        done = subprocess.run(
            [sys.executable, "-m", __spec__.name, "--draw", name],
            env=environment,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return f"no picture after {_PATIENCE} seconds"
    if done.returncode == 0:
        return ""
    if done.returncode < 0:
        return f"the process died of signal {-done.returncode}"
    said = (done.stdout.strip() or done.stderr.strip()).splitlines()  # drivers talk on stderr
    return said[-1] if said else f"the process ended with code {done.returncode}"


def _open(name: str, width: int, height: int) -> Any:
    """A context of this library in this process, after it has drawn the test picture."""
    if name in _THROUGH_PYOPENGL:
        os.environ["PYOPENGL_PLATFORM"] = name
    try:
        module = importlib.import_module(f"mujoco.{name}")
    except Exception as error:
        raise RuntimeError(f"the library is not installed or cannot be loaded ({_short(error)})") from None
    context = module.GLContext(width, height)
    context.make_current()
    trouble = _trouble()
    if trouble:
        context.free()
        raise RuntimeError(trouble)
    return context


def _trouble() -> str:
    """What is wrong with the picture that the current context draws of a red ball: "" if nothing is."""
    mujoco = load_mujoco()
    model = mujoco.MjModel.from_xml_string(_SCENE)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    scene, camera = mujoco.MjvScene(model, maxgeom=10), mujoco.MjvCamera()
    camera.type, camera.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, 0
    everything = mujoco.mjtCatBit.mjCAT_ALL.value
    mujoco.mjv_updateScene(model, data, mujoco.MjvOption(), None, camera, everything, scene)
    size = 33
    colours, depths = np.zeros((size, size, 3), np.uint8), np.zeros((size, size), np.float32)
    frame = mujoco.MjrRect(0, 0, size, size)
    canvas = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
    try:
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, canvas)
        mujoco.mjr_render(frame, scene, canvas)
        mujoco.mjr_readPixels(colours, depths, frame, canvas)
    finally:
        canvas.free()
    red, green, blue = (int(value) for value in colours[size // 2, size // 2])
    if red < 100 or max(green, blue) > red - 50 or colours[0, 0].max() > 50:
        return "it draws a wrong picture"
    near, far = model.vis.map.znear * model.stat.extent, model.vis.map.zfar * model.stat.extent
    distance = near / (1.0 - float(depths[size // 2, size // 2]) * (1.0 - near / far))
    if abs(distance - 1.5) > 0.01 or depths[0, 0] < 1.0:
        return f"it draws wrong depths: {distance:.3f} m instead of 1.5 m"
    return ""


def _asked() -> tuple[str, str]:
    """The library that the user asked for and the variable that says so; two empty strings if none."""
    said = os.environ.get("MUJOCO_GL", "").lower().strip()
    meaning = _MEANINGS.get(said, said)
    if meaning == "off":
        raise InvalidParameter(
            f"MUJOCO_GL={said} turns drawing off: unset it, or use observation='state', which draws nothing"
        )
    if meaning:
        return meaning, "MUJOCO_GL"
    platform_name = os.environ.get("PYOPENGL_PLATFORM", "").lower().strip()
    # Its other values name window systems, which say nothing about drawing without a screen.
    return (platform_name, "PYOPENGL_PLATFORM") if platform_name in _THROUGH_PYOPENGL else ("", "")


def _bound() -> str:
    """The library PyOpenGL is bound to in this process; "" if it is not loaded yet."""
    loaded = sys.modules.get("OpenGL.platform")
    if loaded is None:
        return ""
    kind = type(getattr(loaded, "PLATFORM", None)).__name__.lower()
    return next((name for name in _THROUGH_PYOPENGL if kind.startswith(name)), kind)


def _unbind(name: str) -> None:
    """Let PyOpenGL be imported afresh. Only for a library that has just failed: no context of it is in use."""
    for module in [m for m in sys.modules if m.split(".")[0] == "OpenGL" or m.startswith(f"mujoco.{name}")]:
        del sys.modules[module]
    os.environ.pop("PYOPENGL_PLATFORM", None)


def _record() -> Path:
    """Where the choice is kept: one small file per Python environment and machine (home folders may be shared)."""
    if sys.platform == "win32":
        folder = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        folder = Path.home() / "Library" / "Caches"
    else:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    which = hashlib.sha256(f"{sys.prefix}\n{platform.node()}".encode()).hexdigest()[:16]
    return folder / "burnside" / f"opengl-{which}.json"


def _circumstances() -> dict[str, Any]:
    """What the choice depends on."""
    places = {}
    for place in _PLACES:
        try:
            found = os.stat(place)
            places[place] = [found.st_mtime_ns, found.st_size]
        except OSError:
            places[place] = []
    versions = {}
    for package in ("mujoco", "PyOpenGL"):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = ""
    variables = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    return {"python": sys.version, "versions": versions, "places": places, "variables": variables}


def _remember(name: str) -> None:
    try:
        write_text(_record(), json.dumps({"library": name, **_circumstances()}, indent=1) + "\n")
    except (BurnsideError, OSError, RuntimeError):  # no home, no room, not ours: the search is repeated next time
        return


def _recall() -> str:
    """The library that drew the last time under the same circumstances; "" if there is none."""
    try:
        with _record().open("rb") as file:
            content = json.loads(file.read(100_000))
    except (OSError, ValueError, RuntimeError, RecursionError):
        return ""
    if not isinstance(content, dict):
        return ""
    name = content.pop("library", "")
    return name if name in candidates() and content == _circumstances() else ""


def _forget() -> None:
    try:
        _record().unlink(missing_ok=True)
    except (OSError, RuntimeError):
        return


def _remedy() -> str:
    if sys.platform in ("darwin", "win32"):
        return "use observation='state', which draws nothing"
    either = " or ".join(f"apt install {line}" for line in PACKAGES)
    return f"install OSMesa or EGL (on Debian or Ubuntu: {either}), or use observation='state', which draws nothing"


def _short(error: Exception) -> str:
    """The first line of an error, or its kind if it says nothing."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def main(arguments: list[str]) -> int:
    """Say which library draws; with ``--draw NAME``, draw with that one and say what is wrong."""
    try:
        if arguments[:1] == ["--draw"]:
            load_mujoco()
            _open(arguments[1], 33, 33)
            return 0
        asked, variable = _asked()
        if asked:
            reason = failure_of(asked)
            if reason:
                raise InvalidParameter(f"{variable}={asked} is set, but {_TITLES[asked]} does not draw here: {reason}")
            print(f"drawing without a screen works: {_TITLES[asked]}, as {variable} says")
        else:
            print(f"drawing without a screen works: {_TITLES[find_library()]}")
    except Exception as error:
        print(_short(error), file=sys.stdout if arguments else sys.stderr)  # stdout: for the process that asked
        return 1
    return 0


if __name__ == "__main__":
    # The context is freed when the process ends, in an order that some drivers dislike: leave without tidying up.
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
