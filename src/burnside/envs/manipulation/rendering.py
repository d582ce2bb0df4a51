"""Pictures and depth from MuJoCo's renderer, drawn as cheaply as a point cloud allows.

Rendering time goes into vertices and shadows, not pixels: with robosuite's default flags a cloud of four views takes
hundreds of milliseconds on a processor, with the collision shapes only (group 0) and neither shadows nor
multisampling about ten. There is one OpenGL context per process: a second one in the same process was seen to return
wrong depths without an error. Which library makes it is decided in ``opengl``.
"""

from __future__ import annotations

import atexit
from typing import Any

import numpy as np

from burnside._types import AnyArray, FloatArray
from burnside.envs.manipulation.opengl import load_mujoco, open_context
from burnside.errors import InvalidParameter

__all__ = ["Renderer", "renderer_for"]

_context: Any = None
_current: list[Renderer] = []


def _gl_context() -> Any:
    """The process's only OpenGL context, made at the first call."""
    global _context
    if _context is None:
        _context = open_context(1280, 1280)
        atexit.register(_close)
    return _context


def _close() -> None:
    """Free everything while Python is still whole."""
    global _context
    while _current:
        _current.pop().close()
    if _context is not None:
        _context.free()
        _context = None


class Renderer:
    """Draws views of one model; take it from :func:`renderer_for`.

    Args:
        model: the ``mujoco.MjModel``.
        size: height and width of a view in pixels.
        plain: True: collision shapes without shadows, for point clouds; False: as robosuite draws, for people.
    """

    def __init__(self, model: Any, size: tuple[int, int], plain: bool = True) -> None:
        mujoco = load_mujoco()
        self._mujoco, self.model, self.size, self.plain = mujoco, model, size, plain
        height, width = size
        model.vis.global_.offwidth = max(model.vis.global_.offwidth, width)
        model.vis.global_.offheight = max(model.vis.global_.offheight, height)
        samples, shadow = model.vis.quality.offsamples, model.vis.quality.shadowsize
        if plain:
            model.vis.quality.offsamples, model.vis.quality.shadowsize = 0, 0
        _gl_context().make_current()
        self._con = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
        model.vis.quality.offsamples, model.vis.quality.shadowsize = samples, shadow
        self._con.readDepthMap = mujoco.mjtDepthMap.mjDEPTH_ZEROFAR  # keeps far depths exact in 32 bits
        self._scene = mujoco.MjvScene(model, maxgeom=1000)
        self._option = mujoco.MjvOption()
        self._option.geomgroup[:] = 0
        self._option.geomgroup[0 if plain else 1] = 1
        self._option.sitegroup[:] = 0
        if plain:
            for flag in ("SHADOW", "REFLECTION", "SKYBOX", "HAZE", "FOG"):
                self._scene.flags[getattr(mujoco.mjtRndFlag, f"mjRND_{flag}")] = 0
        self._camera = mujoco.MjvCamera()
        self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED
        self._rect = mujoco.MjrRect(0, 0, width, height)
        self._rgb = np.zeros((height, width, 3), np.uint8)
        self._depth = np.zeros((height, width), np.float32)

    def draw(self, data: Any, camera: str, depth: bool = True) -> tuple[AnyArray, FloatArray]:
        """Colours (height, width, 3) and depths in metres (height, width), the lowest row first.

        Args:
            data: the ``mujoco.MjData``.
            camera: name of a camera of the model.
            depth: whether depths are wanted; otherwise they are not read.
        """
        m = self._mujoco
        identity = m.mj_name2id(self.model, m.mjtObj.mjOBJ_CAMERA, camera)
        if identity < 0:
            names = [self.model.cam(k).name for k in range(self.model.ncam)]
            raise InvalidParameter(f"the model has no camera {camera!r}; it has {', '.join(names)}")
        _gl_context().make_current()
        self._camera.fixedcamid = identity
        m.mjv_updateScene(self.model, data, self._option, None, self._camera, m.mjtCatBit.mjCAT_ALL.value, self._scene)
        m.mjr_setBuffer(m.mjtFramebuffer.mjFB_OFFSCREEN, self._con)  # another renderer may have drawn since
        m.mjr_render(self._rect, self._scene, self._con)
        m.mjr_readPixels(self._rgb, self._depth if depth else None, self._rect, self._con)
        if not depth:
            return self._rgb.copy(), np.zeros(0)
        return self._rgb.copy(), self._metres(self._depth)

    def _metres(self, raw: AnyArray) -> FloatArray:
        """Distances along the camera's axis from what the depth buffer holds."""
        extent = self.model.stat.extent
        near, far = self.model.vis.map.znear * extent, self.model.vis.map.zfar * extent
        slope, shift = -(far + near) / (far - near), -(2.0 * far * near) / (far - near)
        return np.asarray((-0.5 * shift) / (raw.astype(np.float64) - 0.5 * slope - 0.5))

    def picture(self, data: Any, camera: str) -> AnyArray:
        """Colours (height, width, 3), the highest row first, for people and for image networks."""
        return self.draw(data, camera, depth=False)[0][::-1].copy()

    def close(self) -> None:
        """Give the memory back."""
        self._con.free()


def renderer_for(model: Any, size: tuple[int, int] = (84, 84), plain: bool = True) -> Renderer:
    """The renderer of a model, shared by everything in this process that asks for the same."""
    for found in _current:
        if found.model is model and found.size == size and found.plain == plain:
            return found
    _current.append(Renderer(model, size, plain))
    return _current[-1]
