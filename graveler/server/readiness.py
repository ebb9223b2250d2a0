"""Answer to probes that ask if the server can serve requests now."""

from __future__ import annotations

import logging
from asyncio import Future, wait
from collections.abc import Callable
from time import monotonic
from typing import Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from graveler.server.refusals import refusal
from graveler.server.worker_threads import run_in_thread
from graveler_core.errors import GravelerError
from graveler_core.telemetry.events import tell

PATIENCE_SECONDS: Final = 10.0
"""Seconds for which a request waits for the store."""
MAX_HANGING: Final = 3
"""Number of calls of the store that run at once. While as many hang, the store is rarely asked again."""
AGAIN_SECONDS: Final = 300.0
"""Seconds after which the store is asked once more although calls hang."""


class Readiness:
    """Asks the store if it can be reached. Requests that arrive meanwhile wait for the same answer.

    Everyone may send these requests, so many of them cause no more work than one. After a request has waited in vain,
    the next one asks the store again, because the first call may hang for ever. Each call occupies a thread, so only a
    few run at once. If they hang for ever, the store is still asked every few minutes, so that the server becomes ready
    again without a restart.

    Args:
        reach: Function that raises a `GravelerError` if the store cannot be reached.
        patience: Seconds for which a request waits.
        clock: Returns a time in seconds that never goes back.
    """

    def __init__(
        self,
        reach: Callable[[], object],
        patience: float = PATIENCE_SECONDS,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._reach = reach
        self._patience = patience
        self._clock = clock
        self._asked: Future[object] | None = None
        self._asked_at = 0.0
        self._running = 0

    async def answer(self, request: Request) -> Response:
        """Answer one request. The text of an error may name hosts and files, so it is only logged."""
        now = self._clock()
        if self._asked is None or self._asked.done() or now - self._asked_at >= AGAIN_SECONDS:
            self._asked, self._asked_at = run_in_thread(self._reach), now
            self._asked.add_done_callback(self._end)
            self._running += 1
        asked = self._asked
        await wait([asked], timeout=self._patience)
        if not asked.done():
            if self._asked is asked and self._running < MAX_HANGING:
                self._asked = None
            tell("ready", logging.WARNING, "not ready", error="NoAnswer", message="the store does not answer in time")
            return refusal(503, "the server does not reach its store: no answer in time", **{"retry-after": "1"})
        try:
            asked.result()
        except GravelerError as error:
            tell("ready", logging.WARNING, "not ready", error=error.kind, message=error.message)
            return refusal(503, f"the server does not reach its store: {error.kind}", **{"retry-after": "1"})
        return PlainTextResponse("ready")

    def _end(self, asked: Future[object]) -> None:
        """Read the error, of which asyncio would complain if no client waits for it any more."""
        self._running -= 1
        if not asked.cancelled():
            asked.exception()
