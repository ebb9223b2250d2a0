"""Servers from Debian packages, unpacked into a cache of the checkout: nothing is installed, and no rights are needed.

A server that the machine has is taken as it is. Otherwise apt downloads the named packages and what they need, once for
all workers and runs. A server that cannot be had is an error: its tests fail, and are never skipped.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CACHE = Path(__file__).parents[2] / ".tools" / "servers"
_PLACES = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin"))


@dataclass(frozen=True)
class Programs:
    """The programs of a package: those of the machine, or those below the directory where it was unpacked."""

    root: Path | None

    def path(self, name: str) -> str:
        """The program of this name."""
        found = shutil.which(name, path=_PLACES if self.root is None else self._below("usr/sbin", "usr/bin"))
        assert found, f"{name} is in none of the packages"
        return found

    @property
    def environment(self) -> dict[str, str]:
        """What the programs need to find their libraries."""
        if self.root is None:
            return dict(os.environ)
        libraries = sorted({str(file.parent) for file in self.root.glob("**/*.so*")})
        return {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(libraries)}

    def _below(self, *directories: str) -> str:
        return os.pathsep.join(str(self.root / directory) for directory in directories if self.root)


def programs(server: str, *packages: str) -> Programs:
    """The programs of Debian packages.

    Args:
        server: Program of the server. If the machine has it, nothing is downloaded.
        packages: Names of the packages that have it.
    """
    if shutil.which(server, path=_PLACES):
        return Programs(None)
    root = CACHE / "-".join(packages)
    with made_once(root) as unfinished:
        if unfinished:
            _unpack(packages, unfinished)
    return Programs(root)


@contextmanager
def made_once(directory: Path) -> Iterator[Path | None]:
    """An empty directory to fill, which then becomes `directory`; `None` if that exists. Other processes wait."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    with (directory.parent / f"{directory.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if directory.exists():
            yield None
            return
        unfinished = Path(tempfile.mkdtemp(prefix=f"{directory.name}.", dir=directory.parent))
        try:
            yield unfinished
            unfinished.rename(directory)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)


def _unpack(packages: tuple[str, ...], root: Path) -> None:
    """Download packages with lists of apt's own, which needs no rights, and unpack them."""
    with tempfile.TemporaryDirectory() as work:
        for directory in ("lists/partial", "archives/partial"):
            Path(work, directory).mkdir(parents=True)
        options = ("Debug::NoLocking=1", "APT::Sandbox::User=root", f"Dir::State::Lists={work}/lists")
        settings = [
            f"-o{option}" for option in (*options, f"Dir::Cache={work}", f"Dir::Cache::Archives={work}/archives")
        ]
        _run("apt-get", *settings, "-q", "update")
        _run("apt-get", *settings, "-qy", "--no-install-recommends", "--download-only", "install", *packages)
        for archive in sorted(Path(work, "archives").glob("*.deb")):
            _run("dpkg", "-x", str(archive), str(root))


def _run(*command: str) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert not done.returncode, f"{' '.join(command[:1] + command[-3:])} failed: {done.stdout[-2_000:]}"
