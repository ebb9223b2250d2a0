"""Programs of this environment as processes that are forked from one: `graveler`, `python` with a file or `-c`, `dg`.

A start of one takes a second of processor time or more, nearly all of it for imports. Here one process imports what
most programs need, and forks a process for each start. Tests whose subject is what programs do and print put the
directory of these programs first in PATH. The tests of the wheel and of `graveler_core.cli.startup` start real ones.

    python -m tests.forked_programs SOCKET MODULE…      is that process, which imports the modules
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

_LIBRARY = ("graveler.fs", "graveler_core.cli.app", "graveler_core.settings", "pandas", "pyarrow.parquet")
_DAGSTER = ("dagster_dg_cli.cli", "dagster._cli.asset", "dagster._cli.job", "dagster_graveler.components", *_LIBRARY)
PROGRAMS = {"graveler": _LIBRARY, "python": _LIBRARY, "dg": _DAGSTER}
"""Modules that each program imports in most tests. None of them starts a thread."""
_ASK = """#!/bin/sh
exec '{python}' -ISE '{client}' '{socket}' {name} "$@"
"""
_CLIENT = """
import json, os, signal, socket, sys

with socket.socket(socket.AF_UNIX) as server:
    server.connect(sys.argv[1])
    asked = json.dumps({"command": sys.argv[2:], "directory": os.getcwd(), "environment": dict(os.environ)}).encode()
    socket.send_fds(server, [len(asked).to_bytes(4, "big")], [0, 1, 2])
    server.sendall(asked)
    program = int(server.recv(16))
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: os.kill(program, number))
    server.sendall(b".")
    code = int(server.recv(16) or 1)
if code < 0:
    os.kill(os.getpid(), -code)
sys.exit(code)
"""


@contextmanager
def forked_programs(*names: str) -> Iterator[Path]:
    """Give the directory of some of `PROGRAMS`, as long as the process that forks them runs."""
    with tempfile.TemporaryDirectory(prefix="graveler-programs-") as place:
        path, client = Path(place, "socket"), Path(place, "client.py")
        client.write_text(_CLIENT)
        for name in names:
            program = Path(place, name)
            program.write_text(_ASK.format(python=sys.executable, client=client, socket=path, name=name))
            program.chmod(0o755)
        modules = sorted({module for name in names for module in PROGRAMS[name]})
        command = [sys.executable, "-m", "tests.forked_programs", str(path), *modules]
        with subprocess.Popen(command, cwd=Path(__file__).parents[1], stdin=subprocess.DEVNULL) as process:
            try:
                while not path.exists():
                    assert process.poll() is None
                    time.sleep(0.02)
                yield Path(place)
            finally:
                process.terminate()


def _serve(path: str, modules: list[str]) -> None:
    for name in modules:
        importlib.import_module(name)
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{path}.new")
        listening.listen()
        os.rename(f"{path}.new", path)
        while True:
            connection, _ = listening.accept()
            if not os.fork():
                listening.close()
                os._exit(_answer(connection))
            connection.close()


def _answer(connection: socket.socket) -> int:
    """Start one program, wait until it ends, and tell how."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    length, descriptors, *_ = socket.recv_fds(connection, 4, 3)
    asked = b""
    while len(asked) < int.from_bytes(length, "big"):
        asked += connection.recv(1 << 20)
    child = os.fork()
    if not child:
        connection.close()
        for standard, (descriptor, name) in enumerate(zip(descriptors, ("stdin", "stdout", "stderr"), strict=True)):
            os.dup2(descriptor, standard)
            os.close(descriptor)
            setattr(sys, name, os.fdopen(standard, "w" if standard else "r", closefd=False))
        os._exit(_run(json.loads(asked)))
    connection.sendall(str(child).encode())
    connection.recv(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    connection.sendall(str(code).encode())
    return 0


def _run(asked: dict[str, Any]) -> int:
    """Become the program, and return its exit code."""
    name, *arguments = asked["command"]
    os.chdir(asked["directory"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.path[1:1] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    code: object = 0
    try:
        if name == "graveler":
            from graveler_core.cli.startup import main

            sys.argv = [name, *arguments]
            main()
        elif name == "dg":
            from dagster_dg_cli.cli import main as dg

            sys.argv = [name, *arguments]
            dg()
        elif arguments[0] == "-c":
            sys.argv, sys.path[0] = arguments[:1] + arguments[2:], ""
            sys.modules["__main__"] = program = ModuleType("__main__")
            exec(compile(arguments[1], "<string>", "exec"), program.__dict__)
        else:
            sys.argv, sys.path[0] = arguments, str(Path(arguments[0]).absolute().parent)
            runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as end:
        code = end.code
    except BaseException:  # what the interpreter does
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    with suppress(BrokenPipeError):
        sys.stdout.flush()
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr, flush=True)
    return code if isinstance(code, int) else int(code is not None)


if __name__ == "__main__":
    _serve(sys.argv[1], sys.argv[2:])
