"""Several processes that accept the connections of one listening socket.

The parent serves nothing. It starts the processes, passes on the signals that stop a server, and waits. If one process
ends by itself, the others are stopped too, and the call fails, so that the supervisor of the server starts it again.
The parent is forked before it opens a store or starts a thread. Processes stop when their parent has died.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection as Pipe
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess
from threading import Thread
from typing import Final

from graveler_core.errors import GravelerError, Unavailable

Serving = Callable[[Callable[[], object]], object]
"""Function that serves until the process is told to stop. It calls its argument when it is ready."""
_FORKS: Final = get_context("fork")
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def run_processes(count: int, serving: Serving, started: Callable[[], object]) -> None:
    """Run a function in several processes until this process is told to stop.

    Args:
        count: Number of processes.
        serving: Function that each process runs.
        started: Called in this process when all processes are ready.

    Raises:
        GravelerError: The first error of a process that did not become ready.
        Unavailable: A process ended by itself.
    """
    pipes = [_FORKS.Pipe(duplex=False) for _ in range(count)]
    processes = [_FORKS.Process(target=_serve, args=(serving, write)) for _, write in pipes]
    with _passing_on_signals(processes) as told_to_stop:
        try:
            with _blocked_signals():  # a signal that came now would not reach the processes that start later
                for process in processes:
                    process.start()
            for process, (read, _) in zip(processes, pipes, strict=True):
                _require_ready(process, read)
            started()
            wait([process.sentinel for process in processes])
            if not told_to_stop:
                raise Unavailable("a process of the server has ended by itself; its log says why")
        except Unavailable:
            if not told_to_stop:
                raise
        finally:
            for process in processes:
                if process.is_alive() and not told_to_stop:
                    process.terminate()
            for process in processes:
                if process.pid is not None:
                    process.join()


def _serve(serving: Serving, ready: Pipe) -> None:
    os.setsid()  # a signal of the terminal reaches the parent, which passes it on
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    Thread(target=_stop_with_parent, daemon=True).start()
    try:
        serving(lambda: ready.send(None))
    except GravelerError as error:
        ready.send(error)
        raise SystemExit(1) from None


def _stop_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


def _require_ready(process: ForkProcess, read: Pipe) -> None:
    """Wait until a process is ready. Raise its error if it cannot be."""
    if read not in wait([read, process.sentinel]):
        raise Unavailable("a process of the server has ended while it started; its log says why")
    error = read.recv()
    if error is not None:
        raise error


@contextmanager
def _blocked_signals() -> Iterator[None]:
    """Block the signals that stop a server until the context ends. Processes that start in it begin with the block."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)


@contextmanager
def _passing_on_signals(processes: Sequence[ForkProcess]) -> Iterator[list[int]]:
    """Pass on signals that stop a server. A second one ends the processes at once. Yield the signals that came."""
    came: list[int] = []

    def pass_on(number: int, _: object) -> None:
        came.append(number)
        for process in processes:
            if process.is_alive():
                process.terminate() if len(came) == 1 else process.kill()

    former = {number: signal.signal(number, pass_on) for number in _SIGNALS}
    try:
        yield came
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
