"""Google's emulator of Bigtable for tests, in memory. Tests use tables of their own.

It is a program in Go, which is built once into the cache of the checkout. It is an error if that fails.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from tests.servers.packages import CACHE, made_once
from tests.servers.process import ServerProcess, listens, running

VERSION = "1.58.0"
_PACKAGE = f"cloud.google.com/go/bigtable/cmd/emulator@v{VERSION}"


@contextmanager
def bigtable_server() -> Iterator[ServerProcess]:
    """A running emulator without tables."""
    directory = CACHE / f"bigtable-emulator-{VERSION}"
    with made_once(directory) as unfinished:
        if unfinished:
            _build(unfinished)

    def command(port: int, where: Path) -> list[str]:
        del where
        return [str(directory / "emulator"), "-host", "127.0.0.1", "-port", str(port)]

    with running(command, listens, dict(os.environ)) as server:
        yield server


def fresh_table(port: int, options: str = "") -> str:
    """The URL of a table that does not exist.

    Args:
        port: Port of the emulator, or of a network before it.
        options: Further options of the URL.
    """
    return f"bigtable://project/instance/test_{uuid4().hex}?emulator=127.0.0.1:{port}{options}"


def _build(directory: Path) -> None:
    go = shutil.which("go")
    assert go, "the emulator of Bigtable is built with Go: install the package golang-go"
    done = subprocess.run(
        [go, "install", _PACKAGE],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "GOBIN": str(directory)},
        check=False,
    )
    assert not done.returncode, done.stdout[-2_000:]
