"""A server as a process of the tests: on a free port of the loopback interface, stopped by its id."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

_PATIENCE = 120
"""Seconds until a server that does not start, or does not end, is given up."""


@dataclass
class ServerProcess:
    """A server that tests start, stop and kill."""

    command: Callable[[int, Path], list[str]]
    """The command, from the port and the directory of the server."""
    ready: Callable[[int], bool]
    """True once the server at this port answers."""
    environment: Mapping[str, str]
    directory: Path
    port: int = 0
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def start(self) -> None:
        """Start it, at the same port as before, and wait until it answers."""
        self.port = self.port or free_port()
        with (self.directory / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self.command(self.port, self.directory),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=dict(self.environment),
                cwd=self.directory,
            )
        deadline = time.monotonic() + _PATIENCE
        while not self._answers():
            assert self.process.poll() is None, f"the server ended: {self.log()}"
            assert time.monotonic() < deadline, f"the server does not answer: {self.log()}"
            time.sleep(0.02)

    def stop(self) -> None:
        """End it as an administrator would."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it in the middle of what it does."""
        self._end(signal.SIGKILL)

    def log(self) -> str:
        """The end of what the server has said."""
        return (self.directory / "log").read_text(errors="replace")[-2_000:]

    def _answers(self) -> bool:
        try:
            return self.ready(self.port)
        except OSError:
            return False

    def _end(self, signum: signal.Signals) -> None:
        if self.process is not None:
            self.process.send_signal(signum)
            try:
                self.process.wait(_PATIENCE)
            finally:
                self.process.kill()
            self.process = None


@contextmanager
def running(
    command: Callable[[int, Path], list[str]],
    ready: Callable[[int], bool],
    environment: Mapping[str, str],
    template: Path | None = None,
) -> Iterator[ServerProcess]:
    """A server in a directory of its own, which is removed.

    Args:
        command: The command, from the port and the directory of the server.
        ready: True once the server at a port answers.
        environment: Environment of the process.
        template: Directory to copy to the directory `data` of the server.
    """
    # Not below pytest's directories: paths of sockets are short.
    directory = Path(tempfile.mkdtemp(prefix="graveler-server-"))
    try:
        if template is None:
            (directory / "data").mkdir()
        else:
            shutil.copytree(template, directory / "data")
        server = ServerProcess(command, ready, environment, directory)
        try:
            server.start()
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(directory)


def free_port() -> int:
    """A port of the loopback interface at which nobody listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port


def listens(port: int) -> bool:
    """True if somebody listens at the port."""
    with socket.create_connection(("127.0.0.1", port), timeout=1):
        return True


def says(port: int, question: bytes, answer: bytes) -> bool:
    """True if the server at the port answers a question in this way."""
    with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
        connection.sendall(question)
        return connection.recv(len(answer)) == answer
