"""Environments that hold a wheel and exactly the distributions that it requires, linked from this environment."""

from __future__ import annotations

import configparser
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from email.parser import HeaderParser
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


@dataclass(frozen=True)
class Wheel:
    """A wheel that was built."""

    path: Path

    @property
    def names(self) -> list[str]:
        """The paths of the files in the wheel."""
        with zipfile.ZipFile(self.path) as archive:
            return archive.namelist()

    @property
    def programs(self) -> list[tuple[str, str, str]]:
        """The name, module and function of each program that an installer makes."""
        listing = next(name for name in self.names if name.endswith(".dist-info/entry_points.txt"))
        found = configparser.ConfigParser()
        with zipfile.ZipFile(self.path) as archive:
            found.read_string(archive.read(listing).decode())
        return [(name, *target.split(":")) for name, target in found["console_scripts"].items()]

    @property
    def requires(self) -> list[Requirement]:
        metadata = next(name for name in self.names if name.endswith(".dist-info/METADATA"))
        with zipfile.ZipFile(self.path) as archive:
            found = HeaderParser().parsestr(archive.read(metadata).decode()).get_all("Requires-Dist", [])
        return [Requirement(text) for text in found]

    def closure(self, *extras: str) -> dict[str, Distribution]:
        """All distributions that the wheel needs with these extras, by their canonical names."""
        found: dict[str, Distribution] = {}
        waiting = [("graveler", frozenset(extras))]
        seen = set()
        while waiting:
            name, wanted = waiting.pop()
            if (name, wanted) in seen:
                continue
            seen.add((name, wanted))
            if name != "graveler":
                found[name] = distribution(name)
            requirements = self.requires if name == "graveler" else map(Requirement, found[name].requires or ())
            waiting += [(canonicalize_name(r.name), frozenset(r.extras)) for r in applying(requirements, wanted)]
        return found


def applying(requirements: Iterable[Requirement], extras: frozenset[str]) -> list[Requirement]:
    """The requirements that hold on this interpreter with these extras."""
    return [
        requirement
        for requirement in requirements
        if requirement.marker is None or any(requirement.marker.evaluate({"extra": e}) for e in extras or {""})
    ]


def size(found: Distribution) -> int:
    """The bytes of a distribution's files, without what the interpreter compiled."""
    return sum(file.size or 0 for file in found.files or () if file.suffix != ".pyc")


def install(wheel: Wheel, directory: Path, *extras: str) -> Path:
    """Make an environment of the wheel, with its programs, and what it requires.

    Returns:
        The environment's interpreter.
    """
    venv.create(directory, with_pip=False)
    layout = {"base": str(directory), "platbase": str(directory)}
    site = Path(sysconfig.get_path("purelib", "venv", layout))
    with zipfile.ZipFile(wheel.path) as archive:
        archive.extractall(site)
    for found in wheel.closure(*extras).values():
        for file in linked(found):
            source = Path(str(found.locate_file(file))).resolve()
            _link(site / file, source)
            if sys.pycache_prefix and source.is_dir():  # else each environment compiles all that it imports
                _compiled(source).mkdir(parents=True, exist_ok=True)
                _link(_compiled(site / file), _compiled(source))
    python = directory / "bin" / Path(sys.executable).name
    for name, module, function in wheel.programs:
        program = python.parent / name
        program.write_text(f"#!{python}\nfrom {module} import {function}\n{function}()\n")
        program.chmod(0o755)
    return python


def _link(link: Path, target: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.exists():
        link.symlink_to(target)


def _compiled(package: Path) -> Path:
    """The place of a package's bytecode below the interpreter's prefix."""
    return Path(f"{sys.pycache_prefix}{package}")


def linked(found: Distribution) -> set[str]:
    """What is linked of a distribution: its packages and modules; of a namespace package, what is below it."""
    files = [file for file in found.files or () if file.parts[0] != ".." and "__pycache__" not in file.parts]
    packages = {file.parts[0] for file in files if file.parts[1:] in (("__init__.py",), ("METADATA",))}
    libraries = {file.parts[0] for file in files if file.parts[0].endswith(".libs")}
    return {
        file.parts[0] if file.parts[0] in packages | libraries or len(file.parts) == 1 else "/".join(file.parts[:2])
        for file in files
    }
