"""Programs outside Python: a browser for the tests of the report, a C compiler for the robot extra.

A program that is found is not yet one that works: Ubuntu's ``chromium-browser`` may be a note about another package, a
compiler may lack its headers. So each is tried: the browser shows a page, the compiler builds a program.

``python -P src/burnside/cli/tools.py browser`` (or ``compiler``) says what works; its exit code is 1 if nothing does.
``make`` asks it before anything is installed, so this file imports nothing but the standard library.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from functools import lru_cache
from pathlib import Path

__all__ = ["chromium", "chromium_trouble", "compiler", "compiler_trouble", "python_headers"]

_BROWSERS: tuple[str, ...] = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_COMPILERS: tuple[str, ...] = ("cc", "gcc", "clang")
_PAGE = "data:text/html,<script>document.title=6*7</script>"
_PATIENCE = 120


@lru_cache(maxsize=1)
def chromium() -> str | None:
    """The first Chromium that shows a page, if there is one."""
    return next((where for where in _found(_BROWSERS) if not chromium_trouble(where)), None)


def chromium_trouble(where: str) -> str:
    """Why this browser does not show a page, found by showing one; "" if it does."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--dump-dom"]
        code, said = _run([where, *options, _PAGE])
    return "" if code == 0 and "<title>42</title>" in said else _reason("it shows no page", said)


def compiler() -> str | None:
    """The first C compiler whose programs run, if there is one; the variable CC is asked first."""
    return next(
        (where for where in _found((os.environ.get("CC", ""), *_COMPILERS)) if not compiler_trouble(where)), None
    )


def compiler_trouble(where: str) -> str:
    """Why this compiler does not work, found by compiling and running a program; "" if it is."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "test.c"), Path(folder, "test")
        source.write_text('#include <stdio.h>\nint main(void) { return printf("works") == 5 ? 0 : 1; }\n')
        code, said = _run([where, str(source), "-o", str(program)])
        if code != 0:
            return _reason("it cannot compile a program", said)
        code, said = _run([str(program)])
    return "" if code == 0 and said == "works" else _reason("what it compiles does not run", said)


def python_headers(where: str) -> str:
    """Why this compiler cannot build a module for this Python (evdev, which robosuite needs); "" if it can."""
    headers = ["Python.h", *(["linux/input.h"] if sys.platform == "linux" else [])]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "test.c")
        source.write_text("".join(f"#include <{name}>\n" for name in headers))
        include = [f"-I{sysconfig.get_path(kind)}" for kind in ("include", "platinclude")]
        code, said = _run([where, "-c", *include, str(source), "-o", str(Path(folder, "test.o"))])
    return "" if code == 0 else _reason("the headers of Python or of the system are missing", said)


def _found(names: tuple[str, ...]) -> list[str]:
    found = [shutil.which(name) for name in names if name]
    return list(dict.fromkeys(where for where in found if where))


def _run(command: list[str]) -> tuple[int, str]:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        return 1, f"no answer after {_PATIENCE} seconds"
    except OSError as error:
        return 1, str(error)
    return done.returncode, done.stdout or done.stderr


def _reason(what: str, said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return f"{what} ({lines[0][:200]})" if lines else what


def main(arguments: list[str]) -> int:
    """Say what works."""
    if arguments == ["browser"]:
        working, names, trouble, title = chromium(), _BROWSERS, chromium_trouble, "browser"
    elif arguments == ["compiler"]:
        working, names, trouble, title = compiler(), _COMPILERS, compiler_trouble, "C compiler"
    else:
        print("usage: tools.py browser|compiler", file=sys.stderr)
        return 2
    if working is None:
        reasons = [f"{where}: {trouble(where)}" for where in _found(names)]
        print(f"no {title} works here: {'; '.join(reasons) or 'none is installed'}", file=sys.stderr)
        return 1
    lacking = python_headers(working) if title == "C compiler" else ""
    if lacking:
        print(f"the {title} {working} works, but {lacking}", file=sys.stderr)
        return 1
    print(f"the {title} works: {working}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
