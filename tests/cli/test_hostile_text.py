"""Text from outside (names of models and files, messages of other packages) is shown, never obeyed or parsed."""

import ast
import io
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from burnside import TabularMDP
from burnside._terminal import Terminal, one_line, printable, styled
from burnside.cli import main
from burnside.cli.console import progress, table
from burnside.cli.reproduce_progress import Live as ReproduceLive
from burnside.cli.reproduce_progress import PartState
from burnside.cli.sweep import Table as TableCommand
from burnside.runs import Cell
from burnside.runs.display import CellState, _Lines, _Live

SOURCE = Path(__file__).resolve().parents[2] / "src" / "burnside"
#: Markup of rich (wrong, right, a link, an emoji), colours and a title of the terminal, a bell, text turned backwards.
HOSTILE = "[/x] [bold]b[/] [link=https://x]l[/link] :smile: \x1b[31mred \x1b]0;title\x07 \u202eback \x9b2J"
SEEN = "[/x] [bold]b[/] [link=https://x]l[/link] :smile: \\x1b[31mred"


def harmless(text: str) -> bool:
    return not any(character in text for character in "\x1b\x07\u202e\x9b")


def coin(name: str = HOSTILE) -> TabularMDP:
    return TabularMDP(
        np.array([[1, 0], [0, 1], [0, 1], [1, 0.0]]),
        [1, 0, 0, 1],
        [0.5, 0.5],
        3,
        name=name,
        state_names=[HOSTILE, f"{HOSTILE}<script>alert(1)</script>"],
        action_names=["[/a]", "\x1b[2J"],
    )


@pytest.mark.parametrize("suffix", ["json", "npz"])
@pytest.mark.parametrize("command", ["audit", "minimise", "show", "measure"])
def test_names_in_a_model(command, suffix, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = coin(HOSTILE + "\nerror: forged").save(tmp_path / f"m.{suffix}")
    extra = {"measure": ["--seeds", "1", "--fresh", "--max-episodes", "20"], "show": ["--out", "s[/q]x.svg"]}
    assert main([command, str(path), *extra.get(command, [])]) == 0
    out, err = capsys.readouterr()
    assert SEEN in out and harmless(out + err)
    assert "\nerror: forged" not in out  # a line of its own would look like ours
    assert main([command, str(path), "--json", *extra.get(command, [])]) == 0
    text = capsys.readouterr().out
    assert harmless(text)
    if command in ("audit", "minimise"):
        assert json.loads(text)["model"] == HOSTILE + "\nerror: forged"  # JSON keeps it, in its own escapes


@pytest.mark.parametrize("suffix", ["svg", "html", "png"])
def test_names_in_pictures(suffix, tmp_path, capsys):
    path = coin().save(tmp_path / "m.json")
    out = tmp_path / f"s[/q]x.{suffix}"
    assert main(["show", str(path), "--out", str(out)]) == 0
    assert "s[/q]x" in capsys.readouterr().out
    if suffix == "svg":
        ElementTree.parse(out)  # XML knows no control characters, escaped or not
    if suffix == "html":
        text = out.read_text(encoding="utf-8")
        assert "<script>alert" not in text and harmless(text)


def test_names_of_files_and_folders(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("m[/q]x").mkdir(parents=True)
    for words in (
        ["audit", "[/x] hello"],
        ["audit", "[/x] hello.json"],
        ["audit", "[/x]\x1b[31m:y"],
        ["audit", "m[/q]x/\x1b[2J.npz"],
        ["table", "ring1d", "--runs", "m[/q]x"],
        ["table", "[/x]"],
        ["claims", "--file", "[/x]"],
        ["solve", "R", "--network", "[/x]\n.safetensors"],
        ["measure", "ring", "--runs", "[/x]", "--symmetry", "[/q]"],
        ["cover", "[/x]", "--alpha", "0.1"],
        ["check", "[/x]", "--symmetry", "[/q]"],
        ["train", "cube", "[/x]"],
    ):
        assert main(words) == 2, words
        out, err = capsys.readouterr()
        assert out == "" and err.startswith("error: ") and err.count("\n") == 1, words
        assert harmless(err) and "]" in err, words


def test_a_file_name_that_is_no_utf8(tmp_path):
    """Python stands in for such bytes by halves of characters, which no stream can encode."""
    path = tmp_path / os.fsdecode(b"\xff[/x].svg")
    path.parent.mkdir(parents=True)
    for extra in ([], ["--json"]):
        command = [sys.executable, "-m", "burnside", "show", "fig2", "--out", str(path), *extra]
        done = subprocess.run(command, capture_output=True)
        assert done.returncode == 0 and done.stderr == b""
        assert b"\\udcff[/x].svg" in done.stdout
    command = [sys.executable, "-m", "burnside", "audit", str(tmp_path / os.fsdecode(b"\xfe.json"))]
    done = subprocess.run(command, capture_output=True)
    assert done.returncode == 2 and b"\\udcfe.json" in done.stderr and b"Traceback" not in done.stderr


def test_an_encoding_that_lacks_our_letters():
    command = [sys.executable, "-m", "burnside", "bounds", "--states", "5", "--pairs", "20", "--succ", "2"]
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*command, "--horizon", "9"], capture_output=True, env=ascii_only)
    assert done.returncode == 0 and b"\\u03b4" in done.stdout


@pytest.mark.parametrize("words", [["minimise", "fig2"], ["--version"]])
def test_output_that_cannot_be_written(words):
    """A full disk is one sentence; a reader that went away is not our error; neither is a missing stdout."""
    command = [sys.executable, "-m", "burnside", *words]
    if Path("/dev/full").exists():
        with open("/dev/full", "w") as full:
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and "No space left" in done.stderr
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")
    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *command], stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(), "not enough memory for this: make"),
        (np._core._exceptions._ArrayMemoryError((10**9, 8), np.dtype(float)), "Unable to allocate 59.6 GiB"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to"), "not enough memory for this: make"),
        (RecursionError("maximum depth"), "nested too deeply"),
        (OSError(28, "No space left on device", "runs/[/x]"), "runs/[/x]: No space left on device"),
        (UnicodeEncodeError("ascii", "ε", 0, 1, "ordinal"), "use UTF-8"),
    ],
)
def test_errors_of_the_machine_are_one_sentence(error, words, monkeypatch, capsys):
    def run(_self: object) -> int:
        raise error

    monkeypatch.setattr(TableCommand, "run", run)
    assert main(["table", "ring1d"]) == 2
    err = capsys.readouterr().err
    assert words in err and err.startswith("error: ") and err.count("\n") == 1


def shown(renderable: object) -> str:
    file = io.StringIO()
    Terminal(file=file, force_terminal=True, width=200, color_system="truecolor").print(renderable)
    return file.getvalue()


def test_every_string_of_a_table():
    grid = table(HOSTILE, title=HOSTILE)
    grid.add_row(HOSTILE)
    assert shown(grid).count("[link=https://x]l[/link] :smile: \\x1b[31mred \\x1b]0;title\\x07") == 3
    assert "\x1b[1m[/x]" in shown(styled((HOSTILE, "bold"), HOSTILE))  # our own bold is there, theirs is text
    assert shown("[/x]\nline") == "[/x]\nline\n"


def test_live_tables_and_bars(monkeypatch, capsys):
    states = {"c": CellState(Cell("toy", {"n": HOSTILE}), "running", message=HOSTILE)}
    live = _Live()
    live._states = states
    assert SEEN in shown(live._table())
    live._console = Terminal(file=(file := io.StringIO()), width=200)
    live.note(HOSTILE)
    assert SEEN in file.getvalue() and harmless(file.getvalue())
    parts = ReproduceLive()
    parts._states = [PartState(HOSTILE, 1.0, status="failed", message=HOSTILE)]
    assert SEEN in shown(parts._table())
    lines = _Lines()
    lines.start(states)
    lines.change(states["c"])
    lines.note(HOSTILE + "\nmore")
    err = capsys.readouterr().err
    assert SEEN in err and harmless(err) and "\\nmore" in err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with progress(HOSTILE, after=-1) as update:
        update(1, 2)
    assert harmless(capsys.readouterr().err.replace("\x1b[", ""))


def test_warnings_are_notes_of_one_line(monkeypatch, capsys):
    import warnings

    def run(_self: object) -> int:
        warnings.warn(f"{HOSTILE}\nmore", RuntimeWarning, stacklevel=1)
        return 0

    monkeypatch.setattr(TableCommand, "run", run)
    assert main(["table", "ring1d"]) == 0
    err = capsys.readouterr().err
    assert err.startswith("note: [/x]") and err.count("\n") == 1 and harmless(err)


def test_only_one_place_makes_consoles():
    """Markup in a string of ours would be printed as it is; another console than a ``Terminal`` would obey it."""
    for path in SOURCE.rglob("*.py"):
        if path.name == "_terminal.py":
            continue
        text = path.read_text(encoding="utf-8")
        if not any(word in text for word in ("rich", "[/]", "[bold", "\\x", "\\u")):  # parsing all takes seconds
            continue
        for node in ast.walk(ast.parse(text)):
            where = f"{path.relative_to(SOURCE)}:{getattr(node, 'lineno', '')}"
            if isinstance(node, ast.ImportFrom):
                assert node.module not in ("rich.console", "rich.markup", "rich.text"), where
                assert not (node.module == "rich" and {a.name for a in node.names} & {"print", "console"}), where
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert "[/]" not in node.value and "[bold" not in node.value, where


def test_printable_changes_nothing_else():
    text = "ε-suboptimal — naïve 日本語 🙂\u200d é\ttab\nline"
    assert printable(text) == text
    assert one_line("a\nb\tc") == "a\\nb\\tc"
    assert harmless("".join(printable(chr(k)) for k in range(0x110000) if k not in (9, 10)))


def test_colours_of_other_people_are_left_out_of_notes(capsys):
    from burnside.cli import _show_warning

    _show_warning(UserWarning("\x1b[33mWARN: out of date\x1b[0m"))
    assert "note: WARN: out of date\n" in capsys.readouterr().err
