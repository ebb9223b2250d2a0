"""Process that reads a Parquet file for a preview: see `table_program`. It has limits of memory, time and reads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from threading import BoundedSemaphore, Timer
from typing import IO, Any, Final

from graveler.server.web import table_program
from graveler.server.web.table_program import ANSWER, REQUEST
from graveler_core.facade.content_file import ContentFile

MAX_PROCESSES: Final = 4
"""Number of processes that run at once."""
MEMORY_BYTES: Final = 1 << 30
"""Maximum size of the memory of a process. Python and PyArrow reserve about a third of it."""
SECONDS: Final = 30.0
"""Seconds after which a process is ended."""
MAX_READ_BYTES: Final = 256 << 20
"""Maximum number of bytes of the content that a process may read."""
MAX_ANSWER_BYTES: Final = 32 << 20
_FRUGAL: Final = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "ARROW_IO_THREADS": "1",
    "MALLOC_ARENA_MAX": "1",
    "OMP_NUM_THREADS": "1",
}
"""Environment in which a process reserves no memory in advance, and none for each processor of the machine."""
_TOO_MUCH: Final = {"kind": "none", "note": "the table needs too much memory or time"}
_BUSY: Final = {"kind": "none", "note": "the server makes other previews; load the page again"}
_running = BoundedSemaphore(MAX_PROCESSES)


def table_of(content: ContentFile, memory: int = MEMORY_BYTES, seconds: float = SECONDS) -> dict[str, Any]:
    """Return the schema and the first rows of a Parquet file, as fields of a preview.

    Args:
        content: The file.
        memory: Maximum size of the memory of the process in bytes.
        seconds: Seconds after which the process is ended.

    Returns:
        The fields. A file that cannot be read, or needs too much, has a note.

    Raises:
        GravelerError: The content cannot be read.
    """
    if not _running.acquire(blocking=False):
        return _BUSY
    try:
        return _table_of(content, memory, seconds)
    finally:
        _running.release()


def _table_of(content: ContentFile, memory: int, seconds: float) -> dict[str, Any]:
    program = [sys.executable, "-P", str(table_program.__file__), str(content.size), str(memory)]
    # The environment of the server may hold secrets, so the process does not inherit it.
    environment = {**_FRUGAL, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(  # noqa: S603 - this program, with numbers
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018 - both are pipes
        timer = Timer(seconds, process.kill)
        timer.daemon = True
        timer.start()
        try:
            return _served(content, process.stdout, process.stdin) or _TOO_MUCH
        finally:
            timer.cancel()
            process.kill()
            with suppress(BrokenPipeError):  # it has not read everything
                process.stdin.close()


def _served(content: ContentFile, requests: IO[bytes], parts: IO[bytes]) -> dict[str, Any] | None:
    """Serve the requests of a process. Return its answer, or `None` if it ends without one or asks for too much."""
    left = MAX_READ_BYTES
    while len(request := requests.read(REQUEST.size)) == REQUEST.size:
        position, length = REQUEST.unpack(request)
        if position == ANSWER:
            answer = requests.read(length) if length <= MAX_ANSWER_BYTES else b""
            return dict(json.loads(answer)) if answer and len(answer) == length else None
        left -= length
        if left < 0:
            return None
        try:
            parts.write(content.read_range(position, length))
            parts.flush()
        except BrokenPipeError:
            return None
    return None
