"""Bad input to every command: unknown names, missing and damaged files, senseless numbers, places one cannot write to.

Each time the exit code is 2 and one sentence on stderr says what is wrong; nothing else is raised, so that no traceback
can be printed. What the parser itself refuses (an unknown choice, a word for a number) it explains in its own box.
"""

import shlex
import sys
import typing
from pathlib import Path

import numpy as np
import polars
import pytest

from burnside.cli import main
from burnside.cli.commands import Command
from burnside.runs import Cell
from burnside.runs.folder import CellFolder
from burnside.runs.manifest import write_plan

REFLECTION = "--symmetry burnside.canonical.known:cartpole_reflection"
SIZES = "--states 5 --pairs 20 --succ 2 --horizon 10"
SMOKE = "sweep ring1d --preset smoke"

#: Command line → words of the sentence. The files are those of ``place``.
BAD = {
    "audit .": "unknown model",
    "audit file": "unknown model",
    "audit junk.npz": "damaged",
    "audit empty.npz": "damaged",
    "audit junk.json": "not valid JSON",
    "audit list.json": "burnside-mdp",
    "audit bytes.json": "not valid JSON",
    "audit missing.npz": "no file missing.npz",
    "audit boom:make": "importing 'boom' fails: ValueError: import fails (boom.py, line 1)",
    "audit slip:make": "importing 'slip' fails: SyntaxError",
    "audit theirs:make": "theirs:make fails: RuntimeError: no luck (theirs.py, line 2)",
    "audit theirs:make --n 3": "theirs:make cannot be called with these options",
    "audit theirs:three": "it must be, or return, a TabularMDP",
    "audit theirs:none": "unknown name in theirs",
    "audit :make": "form module:name",
    "audit theirs:": "form module:name",
    "audit ring --n -5": "n ≥ 5",
    "audit ring --horizon 0": "horizon H must be",
    "audit ring --n 5 --param n=6": "n is given twice, as --n 5 and as --param n=6: give it once",
    "audit ring --param n=5 n=6": "--param gives n twice",
    "audit ring --horizon 3 --param horizon=5": "horizon is given twice",
    "audit cube --n 2 --goal fixed --param goal=any-orientation": "goal is given twice",
    "audit cube --n 4 --slices --param turns=outer": "--slices contradicts --param turns=outer",
    "audit half.json": "pair 0 leads to state 0.5, but states are numbered 0…0",
    "audit ring --eps nan": "eps must be positive and finite",
    "audit ring --delta 0": "delta must be",
    "audit ring --symmetry theirs:wrong": "theirs:wrong fails: ZeroDivisionError",
    "audit ring --symmetry theirs:three": "must be a Symmetry",
    "audit ring --symmetry boom:x": "importing 'boom' fails",
    "audit ring --symmetry ''": "unknown symmetry",
    "audit ring --param =3": "no parameter ''",
    "audit slip-ring --param slip=nan": "slip must lie in",
    "audit cube --n 1": "from 2 to 40",
    "audit cube --n 3 --depth -1": "depth must be",
    "audit cube --n 3 --symmetry foo": "unknown symmetry of the cube",
    "audit FrozenLake-v99": "Gymnasium cannot make",
    "audit FrozenLake-v1 --n 3": "takes no --n",
    "audit FrozenLake-v1 --param foo=3": "with --param foo=3: FrozenLakeEnv.__init__() got an unexpected keyword",
    "audit FrozenLake-v1 --param desc=[": "the value of --param desc is not a Python literal",
    "audit FrozenLake-v1 --param desc=[]": "Gymnasium cannot make",
    f"audit ring --param n={'9' * 5000}": "has 5000 digits",
    f"audit ring --param n={'[' * 5000}": "is not a Python literal",
    f"audit ring --param n={'a' * 50_000}": "has 50000 characters",
    "audit CartPole-v1": "no transition table",
    "measure CartPole-v1": "add --learner ppo",
    "audit ring --n 5 --d 50": "needs about 10^57 GB of memory",
    "minimise slip-ring --n 100000": "the table of slip-ring(n=100000), 10^10 states, needs about",
    "minimise slip-ring --n 100000000000000000000": "GB of memory",
    "audit torus --n 100000": "GB of memory",
    "audit bandit --n 1000000": "GB of memory",
    "audit deep-sea --n 1000000": "more than 2000000",
    "measure river --param length=1000000000": "more than 2000000",
    "measure slip-ring --n 5 --horizon 1000000000": "shorter horizon",
    "cover se3^3/se3 --alpha 1 --samples 100000000000": "give fewer samples",
    "cover box:3 --alpha 0.0001 --samples 1000000000000": "more than a day",
    "measure CliffWalking-v1": "in burnside measure: --absolute",
    "audit ring --terminal-actions": "--terminal-actions is for Gymnasium ids",
    "audit cube --terminal-actions": "--terminal-actions is for Gymnasium ids",
    "bounds --states 16 --pairs 5 --succ 3 --horizon 100 --terminal 5": "5 pairs are too few for 11 states",
    "bounds --states 5 --pairs 5 --succ 3 --horizon 100 --terminal 5": "leave none in which to act",
    "show fig2 --out file/orbits.svg": "cannot write file/orbits.svg",
    "show fig2 --out .": "the file '.' has no suffix: end it with .svg, .png or .html",
    "show fig2 --out orbits.pdf": "the suffix '.pdf' of orbits.pdf cannot be drawn: use svg, png or html",
    "show fig2 --max-states -1": "max_states must be at least 1",
    "show junk.npz": "damaged",
    "minimise nope": "unknown model",
    "minimise junk.json": "not valid JSON",
    "zoo x": "Unrecognized",
    "check nope --symmetry a:b": "neither module:env nor a Gymnasium id",
    f"check Nope-v1 {REFLECTION}": "Gymnasium cannot make 'Nope-v1'",
    "discover nope": "is not a Gymnasium id such as CartPole-v1, a module:function, or an npz or parquet file",
    "discover missing.npz": "no file missing.npz",
    "discover junk.npz": "damaged",
    "discover CartPole-v1 --steps 10": "steps must be 400 or more, not 10",
    "discover CartPole-v1 --steps 99999999999": "a search in 99999999999 transitions needs about",
    "discover CartPole-v1 --tol nan": "tol must be finite and 0 or more, not nan",
    "discover CartPole-v1 --checks 0": "checks must be 1 or more, not 0",
    "discover CartPole-v1 --data none.npz": "give CartPole-v1 or --data none.npz, not both",
    "discover --data none.npz --policy theirs:make": "--policy and --param are for an environment",
    "discover worlds:Fails": "step of the environment fails: RuntimeError: no luck (worlds.py, line 13)",
    "discover worlds:Four": "step must return (observation, reward, terminated, truncated, info)",
    "discover worlds:Wide": "an observation has 3 numbers, but Box(-9.0, 9.0, (2,), float32) has 2",
    "discover worlds:mirror": "worlds:mirror is a EnvSymmetry: it must be an environment or make one",
    "discover worlds:World --policy worlds:policy": "the policy fails: ZeroDivisionError",
    "discover worlds:World --policy worlds:five": "with 5, which is not an action of Discrete(2)",
    "check worlds:World --symmetry worlds:mirror --states worlds:states": "has the shape (5,), and those of the",
    "discover --data none.npz": "0 transitions are too few to say anything: give at least 400",
    "discover --data number.npz": "0 transitions are too few",
    "discover --data few.npz": "200 transitions are too few to say anything: give at least 400",
    "discover --data labels.npz": "labels must be below 1024, and one is 1000000000000000000",
    "discover --data junk.parquet": "cannot read junk.parquet as parquet: it is damaged, or something else",
    "discover --data torn.parquet": "cannot read torn.parquet: it is a folder, not a file",
    "discover --data ragged.parquet": "the lists of 'observations' differ in length",
    "export nope --to sb3": "neither module:env nor a Gymnasium id",
    "export MountainCar-v0 --to sb3": "the atlas says that it has none",
    "export Reacher-v5 --to cleanrl --turns 1000000": "a subgroup of O(2) has 2 to 9999 turns here, got 1000000",
    "export CartPole-v1 --to rsl_rl": "continuous actions only",
    "export CartPole-v1 --to cleanrl --out mirror.txt": "must end in .py",
    "export CartPole-v1 --to cleanrl --symmetry theirs:three": "is not a symmetry of an environment",
    "atlas Nope-v0": "unknown environment of the atlas",
    "atlas --claim maybe": "unknown claim",
    "atlas --write": "--write stores what --check finds",
    "lint missing.xml": "there is no file missing.xml",
    "lint nope": "neither an XML file, nor a Gymnasium id",
    "lint CartPole-v1": "has no MuJoCo model",
    "lint Nope-v1": "Gymnasium cannot make 'Nope-v1'",
    "lint junk.xml": "is not a model that MuJoCo can compile",
    "lint Walker2d-v5 --only foo": "unknown motion of this model 'foo'",
    "lint Walker2d-v5 --tolerance 2": "tolerance must be at least 0",
    "lint Walker2d-v5 --states -1": "states must be 0 to 100000",
    "lint Walker2d-v4 --repair out.txt": "end with .xml",
    "lint Walker2d-v4 --repair file/out.xml": "cannot write file/out.xml",
    "lint dm_control:walker-fly": "unknown task of walker 'fly'",
    f"check CartPole-v1 {REFLECTION} --samples 0": "samples must be 1 or more, not 0",
    f"check CartPole-v1 {REFLECTION} --confidence nan": "confidence must lie between 0 and 1, not nan",
    f"check CartPole-v1 {REFLECTION} --draws 3": "draws must be 20 or more, not 3",
    f"check CartPole-v1 {REFLECTION} --tol inf": "tol must be finite and 0 or more, not inf",
    f"check CartPole-v1 {REFLECTION} --samples 99999999999": "a check of 99999999999 samples needs about",
    f"check CartPole-v1 {REFLECTION} --draws 99999999999": "a comparison of 99999999999 draws needs about",
    f"check CartPole-v1 {REFLECTION} --seed -1": "seed must be 0 or more",
    f"check CartPole-v1 {REFLECTION} --param foo=3": "unexpected keyword argument 'foo'",
    f"check theirs:make {REFLECTION}": "theirs:make fails: RuntimeError",
    f"check theirs:three {REFLECTION}": "is a int",
    "check CartPole-v1 --symmetry nope": "module:obj",
    "check CartPole-v1 --symmetry nowhere:x": "cannot import 'nowhere'",
    "check CartPole-v1 --symmetry theirs:three": "is not a symmetry of an environment",
    "measure nope": "unknown model",
    "measure cube": "too large for a table",
    "measure slip-ring --eps 0": "eps must be a positive number",
    "measure slip-ring --eps nan": "eps must be a positive number",
    "measure slip-ring --eps 1": "with 1 of R* no policy is a mistake, so give a fraction below 1",
    "measure slip-ring --eps 2": "eps is a fraction of R*",
    "measure slip-ring --delta 1": "delta must lie strictly",
    "measure slip-ring --seeds -3": "seeds must be",
    "measure slip-ring --scale -1": "scale must be",
    "measure slip-ring --max-episodes 0": "max_episodes must be",
    "measure slip-ring --workers -1": "workers must be",
    "measure slip-ring --n 5 --seeds 2 --max-episodes 5 --runs file": "cannot make the folder file/",
    "measure slip-ring --learner foo": "unknown learner 'foo'",
    "bounds": "required",
    "bounds --states -1 --pairs 1 --succ 1 --horizon 3": "states must be at least 1",
    "bounds --states 5 --pairs 20 --succ 9 --horizon 10": "9 successors among 5 states",
    "bounds --states 10 --pairs 5 --succ 1 --horizon 1": "5 pairs are too few for 10 states",
    f"bounds {SIZES} --eps 0": "eps must be positive",
    f"bounds {SIZES} --delta 2": "delta must lie strictly",
    f"bounds {SIZES} --reward-range -1": "reward_range must be positive",
    "cover nope --alpha 0.1": "unknown space",
    "cover circle --alpha -1": "alpha must be positive",
    "cover circle/Z0 --alpha 0.1": "must be at least 1",
    "cover circle --alpha 0.1 --side -1": "takes no options",
    "cover so3 --alpha 0.1 --samples -1": "samples must be 1 or more",
    "sweep rnig1d": "did you mean 'ring1d'",
    "sweep ring1d --preset nope": "invalid choice",
    f"{SMOKE} --workers -1": "workers must be 0 or more with the engine local, not -1",
    f"{SMOKE} --engine ray --workers 0": "workers must be 1 or more",
    f"{SMOKE} --threads 0": "at least one thread",
    f"{SMOKE} --only colour=red": "unknown setting of a cell 'colour'",
    "sweep mistakes --only arm=canonical": "unknown setting of a cell 'arm' (known: model, seeds, setting, side)",
    f"{SMOKE} --only n=99": "no cell of the plan has n=99",
    f"{SMOKE} --option foo": "KEY=VALUE",
    f"{SMOKE} --option foo=1": "the local engine has no options",
    f"{SMOKE} --runs file": "cannot write",
    "table nope": "unknown experiment",
    "table ring1d --runs nowhere": "no folder nowhere",
    "table ring1d --runs file": "no folder file",
    "table ring1d --runs .": "not the folder of a sweep",
    "table ring1d --runs torn": "is damaged",
    "table ring1d --add": "give its folder as well",
    "table ring1d --replace": "give its folder as well",
    "table ring1d --compact out --add --replace": "give one of them",
    "table ring1d --runs other": "are not such as ring1d has them (KeyError: 'arm')",
    "table cube --runs torn": "is damaged",
    "train nope": "Available subcommands: cube",
    "train cube --sides 3": "give 1 or 2",
    "train cube --n 4 --slices --sides 2": "has no meaning here",
    "train cube --method davi --slices": "for --method walks",
    "train cube --rate nan": "learning_rate is nan",
    "train cube --walk 0": "walk is 0",
    "train cube out.safetensors --n 1": "from 2 to 40",
    "train cube out.safetensors --batch 0": "batch is 0",
    "train cube out.safetensors --states 0": "states is 0",
    "train cube out.safetensors --threads 0": "threads is 0",
    "train robot --task nope": "stack-three",
    "train robot --frame nope": "gripper",
    "train robot --arm augmented": "give a spread",
    "train robot --arm base --spread 0.3 180": "relations",
    "train robot --spread 0.3 200": "degrees",
    "train robot --pays often": "staged",
    "train cube out.net": "must end with .safetensors",
    "solve": "give one cube",
    "solve X": "unknown move 'X'",
    "solve 'R U' --n 1": "from 2 to 40",
    "solve --scramble -1": "scrambles have 0 to",
    "solve --scramble 3 --seed -1": "seed must be",
    "solve --stickers UUUU": "got 4 letters",
    "solve --stickers UFLDBRUFLDBRUFLDBRUFLDBR": "a piece that does not exist",
    "solve R --network missing.safetensors": "there is no file missing.safetensors",
    "solve R --network junk.safetensors": "is damaged or no network",
    "solve R --batch 0": "batch must be",
    "solve R --cap -1": "cap must be",
    "solve R --weight nan": "weight must be",
    "solve R --method beam --width 0": "width must be",
    "solve R --method greedy --depth 0": "depth must be",
    "solve R --threads 0": "--threads must be at least 1",
    "solve R --table": "for n=2 only",
    "solve R --effort -1": "effort must be",
    "solve R --effort 20": "a beam of width 1073741824 needs about",
    "solve R --endgame 99": "table must be",
    "solve R --count 5": "--count needs --scramble",
    "solve --scramble 5 --count 0": "--count needs --scramble",
    "solve R --n 2 --method policy": "no policy is shipped",
    "solve R --n 5 --slices": "no network is shipped",
    "demos nope": "invalid choice",
    "demos stack-three --count -1": "count must be at least 1",
    "reproduce --preset nope": "invalid choice",
    "reproduce --only theory,nope": "unknown part of the report 'nope'",
    "reproduce --only theory --preset smoke --out file": "cannot write file/",
    "reproduce --workers -1": "workers must be 0 or more",
    "reproduce --threads 0": "threads 1 or more",
    "reproduce --option x": "KEY=VALUE",
    "claims --id nope": "unknown claim",
    "claims --status nope": "unknown status",
    "claims --ours nope": "unknown outcome",
    "claims --compute nope": "unknown computation",
    "doctor x": "Unrecognized",
    "completion fisch": "invalid choice",
}

#: Environments that do not do what Gymnasium says, and what one may give to a command besides.
WORLDS = """import gymnasium as gym, numpy as np
from burnside.symmetry import EnvSymmetry
class World(gym.Env):
    observation_space, action_space = gym.spaces.Box(-9, 9, (2,)), gym.spaces.Discrete(2)
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = self.np_random.normal(size=2)
        return self.x.astype(np.float32), {}
    def step(self, action):
        self.x = 0.9 * self.x + 0.1 * (2 * action - 1)
        return self.x.astype(np.float32), 0.0, False, False, {}
class Fails(World):
    def step(self, action): raise RuntimeError("no luck")
class Four(World):
    def step(self, action): return self.x, 0.0, False, {}
class Wide(World):
    def step(self, action): return np.zeros(3, np.float32), 0.0, False, False, {}
mirror = EnvSymmetry("mirror", observation="-0,-1", action="labels 1,0")
states = [np.zeros(2), np.zeros(5)]
def policy(x): return 1 / 0
def five(x): return 5
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file where a folder would be needed, damaged files, and modules that fail."""
    (tmp_path / "file").write_text("x")
    for name, content in {
        "junk.npz": b"PK\x03\x04junk",
        "empty.npz": b"",
        "junk.json": b"{",
        "junk.xml": b"<mujoco><nonsense/></mujoco>",
        "half.json": b'{"format": "burnside-mdp", "version": 1, "horizon": 3, "states": 1, "initial": [1.0], "pairs": '
        b'[{"state": 0, "action": 0, "reward": 0, "next": [[0.5, 1.0]]}]}',
        "list.json": b"[1, 2]",
        "bytes.json": b"\xff\xfe\x00",
        "junk.safetensors": b"\x10\0\0\0\0\0\0\0{",
        "boom.py": b"raise ValueError('import fails')\n",
        "slip.py": b"def (:\n",
        "worlds.py": WORLDS.encode(),
        "theirs.py": b"def make():\n    raise RuntimeError('no luck')\nthree = 3\ndef wrong(mdp):\n    return 1 / 0\n",
    }.items():
        (tmp_path / name).write_bytes(content)
    _write_transitions(tmp_path)
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn" / "plan-smoke.json").write_text('{"cells": [')
    toy = CellFolder(tmp_path / "other", Cell("toy", {"n": 1}))
    toy.make()
    toy.finish({"rows": [{"seed": 0}]}, {})
    write_plan(tmp_path / "other", "smoke", [toy.cell])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [str(tmp_path), *sys.path])
    for module in ("boom", "slip", "theirs", "worlds"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    return tmp_path


def _write_transitions(folder: Path) -> None:
    """Recordings that cannot be searched."""

    def write(name: str, n: int, actions: np.ndarray) -> None:
        seen = np.zeros((n, 2))
        np.savez(folder / name, observations=seen, next_observations=seen, actions=actions, rewards=np.zeros(n))

    write("none.npz", 0, np.zeros((0, 1)))
    write("few.npz", 200, np.zeros((200, 1)))
    write("labels.npz", 400, np.full(400, 10**18))
    np.savez(folder / "number.npz", observations=1.0, next_observations=1.0, actions=1.0, rewards=1.0)
    (folder / "junk.parquet").write_bytes(b"PAR1junkPAR1")
    (folder / "torn.parquet").mkdir()
    numbers = [0.0] * 400
    columns = {"observations": [[0.0], *[[0.0, 1.0]] * 399], "actions": numbers, "rewards": numbers}
    polars.DataFrame(columns | {"next_observations": numbers}).write_parquet(folder / "ragged.parquet")


@pytest.mark.parametrize("line", BAD, ids=[line[:80] for line in BAD])
def test_one_sentence_and_exit_code_2(line: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {
        path: path.read_bytes() for path in place.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    }
    code = main(shlex.split(line))
    captured = capsys.readouterr()
    said = " ".join(captured.err.replace("│", " ").split())
    assert code == 2 and BAD[line] in said, said
    assert "Traceback" not in captured.err + captured.out
    if captured.err.startswith("error:"):
        assert not captured.out and len(captured.err.strip().splitlines()) == 1
    assert {path: path.read_bytes() for path in before} == before, "what was there is untouched"


def test_no_command_is_left_out() -> None:
    names = {annotation.__metadata__[0].name for annotation in typing.get_args(Command)}
    assert names == {line.split()[0] for line in BAD}


@pytest.mark.parametrize(
    ("word", "hint"), [("chek", "'chek': did you mean 'check'"), ("", "''"), ("./x.json", "x.json")]
)
def test_an_unknown_command_is_one_sentence(word: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([word, "CartPole-v1"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: unknown command ") and hint in said and len(said.splitlines()) == 1
    assert said.rstrip().endswith("; burnside --help says what each does")


def test_a_disk_that_fails_is_one_sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from burnside.cli.audit import Zoo

    def full(self: Zoo) -> int:
        raise OSError(28, "No space left on device", "runs/cells")

    monkeypatch.setattr(Zoo, "run", full)
    assert main(["zoo"]) == 2
    assert capsys.readouterr().err == "error: runs/cells: No space left on device; choose another place\n"
