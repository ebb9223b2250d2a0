"""Answer to probes that ask if the server can serve requests now."""

from __future__ import annotations

import logging
from asyncio import Future, shield
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from graveler.server.refusals import refusal
from graveler.server.worker_threads import run_in_thread
from graveler_core.errors import GravelerError
from graveler_core.telemetry.events import tell


class Readiness:
    """Asks the store if it can be reached. Requests that arrive meanwhile wait for the same answer.

    Everyone may send these requests, so many of them cause no more work than one.

    Args:
        reach: Function that raises a `GravelerError` if the store cannot be reached.
    """

    def __init__(self, reach: Callable[[], object]) -> None:
        self._reach = reach
        self._asked: Future[object] | None = None

    async def answer(self, request: Request) -> Response:
        """Answer one request. The text of an error may name hosts and files, so it is only logged."""
        if self._asked is None or self._asked.done():
            self._asked = run_in_thread(self._reach)
            self._asked.add_done_callback(_read)
        try:
            await shield(self._asked)
        except GravelerError as error:
            tell("ready", logging.WARNING, "not ready", error=error.kind, message=error.message)
            return refusal(503, f"the server does not reach its store: {error.kind}", **{"retry-after": "1"})
        return PlainTextResponse("ready")


def _read(asked: Future[object]) -> None:
    """Read the error, of which asyncio would complain if no client waits for it any more."""
    if not asked.cancelled():
        asked.exception()
