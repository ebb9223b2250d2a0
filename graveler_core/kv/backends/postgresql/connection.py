"""Connections to PostgreSQL that do not wait for ever.

libpq has a time-out for the connection, and none for an answer. If the network is cut between client and server, an
answer would not come for hours. So each wait of psycopg for the server has a limit here.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen

from graveler_core.model.counting import counted

_T = TypeVar("_T")


class PatientConnection(psycopg.Connection[Any]):
    """Connection that is closed if an answer takes longer than `read_timeout`."""

    read_timeout: float = float("inf")
    """Maximum time until an answer arrives, in seconds."""

    def wait(self, gen: PQGen[_T], *arguments: Any, **options: Any) -> _T:
        """Wait for the answer to an operation that psycopg has begun.

        Raises:
            psycopg.OperationalError: The answer did not arrive in time. The connection cannot be used again.
        """
        try:
            return super().wait(_limited(gen, self.read_timeout), *arguments, **options)
        except NoAnswer:
            self.pgconn.finish()
            raise


class NoAnswer(psycopg.OperationalError):
    """No answer arrived in time."""


def _limited(gen: PQGen[_T], seconds: float) -> Generator[Any, Any, _T]:
    """Run a generator of psycopg for a limited time.

    A generator yields what it waits for, and is continued when the socket is ready, and ten times a second.

    Args:
        gen: The generator.
        seconds: The time.
    """
    end = time.monotonic() + seconds
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() > end:
                raise NoAnswer(f"no answer arrived within {counted(seconds, 'second')}")
            wanted = gen.send(ready)
    except StopIteration as done:
        answer: _T = done.value
        return answer
