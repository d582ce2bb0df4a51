"""Writes ``licences.md``: the licence of every package that the pins name, as the package itself states it.

    python docs/licences.py > docs/licences.md

Run it (``make licences``) in an environment in which everything is installed. What is not installed is asked of
the package index.
"""

import email
import importlib.metadata
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from email.message import Message
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
_LONG = 40  # some packages put the whole text into the field


def canonical(requirement: str) -> str:
    """The name of a package, spelled as the index does."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^A-Za-z0-9._-]", requirement)[0]).lower()


def users() -> dict[str, list[str]]:
    """Direct dependencies, and who asks for them: the core or extras."""
    found: dict[str, list[str]] = {}
    for where, lines in {"core": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}.items():
        for line in lines:
            if not line.startswith("burnside["):
                found.setdefault(canonical(line), []).append(where)
    return found


def pins() -> dict[str, str]:
    """Every pinned package with its version, those of the robot's environment last."""
    found: dict[str, str] = {}
    for name in ("constraints.txt", "constraints-robot.txt"):
        for line in (TOP / name).read_text().splitlines():
            if "==" in line and not line.startswith("#"):
                package, version = line.split(";")[0].strip().split("==")
                found.setdefault(canonical(package), version)
    return dict(sorted(found.items()))


def licence(about: Message) -> str:
    """What the metadata of a package say of its licence."""

    def value(key: str) -> str:
        return str(about[key]) if about.get(key) else ""

    if expression := value("License-Expression"):
        return expression
    short = value("License").strip().splitlines()
    if short and len(short) == 1 and len(short[0]) <= _LONG and short[0].upper() != "UNKNOWN":
        return short[0]
    named = [line.split(" :: ")[-1] for line in about.get_all("Classifier") or [] if line.startswith("License ::")]
    return ", ".join(name for name in named if name != "OSI Approved") or (
        short[0][:_LONG] if short else "not stated in its metadata"
    )


def metadata(package: str, version: str) -> Message:
    """Of the installed package, or else of what the package index has."""
    try:
        return importlib.metadata.metadata(package)  # type: ignore[return-value]
    except importlib.metadata.PackageNotFoundError:
        pass
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", folder, f"{package}=={version}"]
        subprocess.run(pip, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        (file,) = Path(folder).iterdir()
        if file.suffix == ".whl":
            with zipfile.ZipFile(file) as wheel:
                (name,) = [n for n in wheel.namelist() if re.fullmatch(r"[^/]*\.dist-info/METADATA", n)]
                return email.message_from_bytes(wheel.read(name))
        with tarfile.open(file) as archive:
            (name,) = [n for n in archive.getnames() if re.fullmatch(r"[^/]*/PKG-INFO", n)]
            found = archive.extractfile(name)
            assert found is not None
            return email.message_from_bytes(found.read())


def main() -> None:
    """Print the page."""
    asked = users()
    print("# Licences\n")
    print(
        "Burnside is under the MIT licence. Nothing of other packages is copied into it; these are what it asks pip to"
    )
    print("install, and what those ask for, with the licence that each states in its metadata.")
    print("Two to know of: igraph, which finds automorphisms, is under the GPL (a program that ships it together with")
    print("Burnside falls under it), and so is chess, which PettingZoo brings with the extra `pettingzoo`.\n")
    print("`make licences` writes this page from `constraints.txt` and `constraints-robot.txt`.\n")
    print("| package | version | licence | asked for by |\n| --- | --- | --- | --- |")
    for package, version in pins().items():
        try:
            found = licence(metadata(package, version))
        except (subprocess.CalledProcessError, ValueError) as error:
            print(f"{package}: {error}", file=sys.stderr)
            found = "not found"
        print(f"| {package} | {version} | {found.replace('|', '/')} | {', '.join(asked.get(package, ['–']))} |")


if __name__ == "__main__":
    main()
