"""Pictures on machines with OSMesa only, with EGL only, with both and with neither.

A library is hidden from a process by files that are not libraries, in a folder that the loader searches first. Which
libraries this machine really has is found by MuJoCo's own renderer, with none of our code: with both installed, all
four machines are tested; with one, the others become "neither".
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

TITLES = {"osmesa": "OSMesa", "egl": "EGL"}
HIDDEN = {"both": (), "egl only": ("osmesa",), "osmesa only": ("egl",), "neither": ("osmesa", "egl")}

SCENE = """
model = mujoco.MjModel.from_xml_string(
    "<mujoco><worldbody><camera name='c' pos='0 0 3'/><light pos='0 0 4'/><body pos='0 0 1'>"
    "<geom type='box' size='.4 .4 .5' rgba='0 1 0 1'/></body></worldbody></mujoco>"
)
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
"""
MUJOCO_ITSELF = f"""import mujoco
{SCENE}
renderer = mujoco.Renderer(model, 21, 21)
renderer.update_scene(data, "c")
print(renderer.render()[10, 10].argmax())
"""
OURS = f"""import sys
from burnside.envs.manipulation import opengl
from burnside.envs.manipulation.rendering import renderer_for
from burnside.errors import BurnsideError
try:
    mujoco = opengl.load_mujoco()
    {SCENE.strip().replace(chr(10), chr(10) + "    ")}
    colours, depths = renderer_for(model, (21, 21)).draw(data, "c")
except BurnsideError as error:
    sys.exit(str(error))
print(opengl._bound(), colours[10, 10].argmax(), round(float(depths[10, 10]), 3))
"""

Done = subprocess.CompletedProcess[str]
Run = Callable[..., Done]


def start(folder: Path, code: str, hidden: tuple[str, ...], variables: dict[str, str]) -> Done:
    """Run code, or a module, in a fresh process that does not see some of the libraries."""
    hide = folder / "-".join(("hide", *hidden))
    hide.mkdir(exist_ok=True)
    for name in hidden:
        for suffix in ("", *(f".{k}" for k in range(10))):
            (hide / f"lib{TITLES[name]}.so{suffix}").write_text("not a library")
    clean = {key: value for key, value in os.environ.items() if key not in ("MUJOCO_GL", "PYOPENGL_PLATFORM")}
    search = os.pathsep.join(filter(None, (str(hide), os.environ.get("LD_LIBRARY_PATH"))))
    environment = {**clean, "LD_LIBRARY_PATH": search, "XDG_CACHE_HOME": str(folder / "cache"), **variables}
    arguments = ["-m", code] if code.startswith("burnside.") else ["-c", code]
    return subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """The libraries with which MuJoCo draws on this machine, in our order."""
    folder = tmp_path_factory.mktemp("here")
    done = {name: start(folder, MUJOCO_ITSELF, (), {"MUJOCO_GL": name}) for name in TITLES}
    return tuple(name for name in TITLES if done[name].returncode == 0 and done[name].stdout == "1\n")  # a green box


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run code with an empty cache folder."""
    return lambda code, *hidden, **variables: start(tmp_path, code, hidden, variables)


@pytest.mark.parametrize("machine", HIDDEN)
def test_each_machine_draws_with_what_it_has(run: Run, here: tuple[str, ...], machine: str) -> None:
    hidden = HIDDEN[machine]
    left = [name for name in here if name not in hidden]
    done = run(OURS, *hidden)
    asked = run("burnside.envs.manipulation.opengl", *hidden)
    if left:
        assert done.stdout.split() == [left[0], "1", "1.5"], done.stderr
        assert (asked.returncode, asked.stdout) == (0, f"drawing without a screen works: {TITLES[left[0]]}\n")
    else:
        assert done.returncode == asked.returncode == 1
        assert "no OpenGL library draws" in done.stderr and "apt install libosmesa6 or apt install" in done.stderr
        assert "OSMesa: the library is not installed" in asked.stderr and len(asked.stderr.splitlines()) == 1


def remembered(tmp_path: Path) -> str:
    (record,) = (tmp_path / "cache").rglob("opengl-*.json")
    return str(json.loads(record.read_text())["library"])


@pytest.mark.parametrize("machine", ["egl only", "osmesa only"])
def test_a_remembered_library_that_no_longer_draws_is_replaced(
    run: Run, here: tuple[str, ...], machine: str, tmp_path: Path
) -> None:
    hidden = HIDDEN[machine]
    left = [name for name in here if name not in hidden]
    if not left:
        pytest.skip(f"this machine cannot be one with {machine}")
    assert (
        run(f"from burnside.envs.manipulation.opengl import _remember\n_remember({hidden[0]!r})", *hidden).stderr == ""
    )
    assert remembered(tmp_path) == hidden[0]
    done = run(OURS, *hidden)
    assert done.stdout.split() == [left[0], "1", "1.5"], done.stderr
    assert remembered(tmp_path) == left[0]


def test_a_remembered_library_is_used_without_trying_others(run: Run, here: tuple[str, ...], tmp_path: Path) -> None:
    """Once something was found, no more processes are started."""
    if not here:
        pytest.skip("nothing draws on this machine")
    assert run(OURS).returncode == 0 and remembered(tmp_path) == here[0]
    alone = OURS.replace("try:", "opengl.failure_of = None\ntry:")
    assert run(alone).stdout.split() == [here[0], "1", "1.5"]


@pytest.mark.parametrize("variable", ["MUJOCO_GL", "PYOPENGL_PLATFORM"])
@pytest.mark.parametrize("name", TITLES)
def test_what_the_user_chose_is_used_or_said_to_fail(run: Run, here: tuple[str, ...], variable: str, name: str) -> None:
    hidden = run(OURS, name, **{variable: name})
    assert f"{variable}={name}" in hidden.stderr and ": unset " in hidden.stderr
    assert len(hidden.stderr.splitlines()) == 1  # MuJoCo itself ends in a traceback
    if name in here:
        done = run(OURS, **{variable: name})
        assert done.stdout.split() == [name, "1", "1.5"], done.stderr


def test_mujoco_s_own_variable_decides_over_that_of_pyopengl(run: Run, here: tuple[str, ...]) -> None:
    if "egl" not in here:
        pytest.skip("EGL does not draw on this machine")
    done = run(OURS, MUJOCO_GL="egl", PYOPENGL_PLATFORM="osmesa")
    assert done.stdout.split() == ["egl", "1", "1.5"], done.stderr


def test_pyopengl_that_was_loaded_before_is_used_or_said_to_be_in_the_way(run: Run, here: tuple[str, ...]) -> None:
    loaded = "import OpenGL.platform\n" + OURS
    for name in here:
        done = run(loaded, PYOPENGL_PLATFORM=name)
        assert done.stdout.split() == [name, "1", "1.5"], done.stderr
    late = loaded.replace("    colours", "    import os\n    os.environ['MUJOCO_GL'] = 'egl'\n    colours")
    done = run(late, PYOPENGL_PLATFORM="osmesa")
    assert "MUJOCO_GL=egl comes too late" in done.stderr and len(done.stderr.splitlines()) == 1


def test_robosuite_does_not_change_what_was_chosen(run: Run) -> None:
    code = (
        "import os\nfrom burnside.envs.manipulation.scenes import load_robosuite\n"
        "load_robosuite()\nprint(os.environ.get('MUJOCO_GL'))"
    )
    assert run(code).stdout.strip() == "None"
    assert run(code, MUJOCO_GL="glfw").stdout.strip() == "glfw"
