"""Operations of S3 that copy content, and their answers, which begin before a long copy has ended.

Clients wait about a minute for the first byte of an answer. If an operation takes longer than `PATIENCE_SECONDS`, the
answer begins with status 200 and the declaration of its document. White space follows while the content is copied, and
then the document: the result, or an error. S3 answers in the same way, so clients look for errors there.

A client that repeats a request while its first copy runs gets the answer of that copy.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Hashable
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response, StreamingResponse

from graveler.server.copy_threads import CopyThreads
from graveler.server.s3.refusals import S3Refusal, refusal_of
from graveler.server.s3.xml import DECLARATION
from graveler_core.errors import GravelerError

PATIENCE_SECONDS: Final = 10.0
"""Seconds for which the answer to an operation waits for its result, so that its status can say that it has failed."""
SPACE_SECONDS: Final = 10.0
"""Seconds between two bytes of white space."""
_XML: Final = "application/xml"
_log = logging.getLogger("graveler.server")

Refused = Callable[[S3Refusal], Response]
"""Returns the answer to a refused request."""


@dataclass(frozen=True, slots=True)
class ContentCopy:
    """Rest of an operation, which copies content and needs nothing more from the connection of the request."""

    run: Callable[[], bytes]
    """Copies, and returns the document of the answer. It may raise `S3Refusal` and `GravelerError`."""
    repeated: Hashable = None
    """Value that is the same for repetitions of the request. `None` means that each request makes a copy."""


class RunningCopies:
    """Copies of one process. Use it in one event loop."""

    def __init__(self, threads: CopyThreads) -> None:
        self._threads = threads
        self._running: dict[Hashable, asyncio.Future[bytes]] = {}

    async def answer(self, copy: ContentCopy, refused: Refused) -> Response:
        """Run a copy, or wait for an equal one that runs. Return the answer, which may begin before the copy has ended.

        Args:
            copy: The copy.
            refused: Returns the answer if it fails.
        """
        try:
            running = self._begun(copy)
            if await ended_within(running, PATIENCE_SECONDS):
                return Response(running.result(), media_type=_XML)
        except S3Refusal as refusal:
            return refused(refusal)
        except GravelerError as error:
            return refused(refusal_of(error))
        return StreamingResponse(_slowly(running, refused), media_type=_XML)

    def _begun(self, copy: ContentCopy) -> asyncio.Future[bytes]:
        running = self._running.get(copy.repeated)
        if running is None:
            running = self._threads.run(copy.run)
            running.add_done_callback(_look_at)
            if copy.repeated is not None:
                self._running[copy.repeated] = running
                running.add_done_callback(lambda _: self._running.pop(copy.repeated))
        return running


async def ended_within(running: asyncio.Future[bytes], seconds: float) -> bool:
    """Wait for a copy. Return true if it has ended. The copy goes on if the wait is cancelled."""
    ended, _ = await asyncio.wait({running}, timeout=seconds)
    return bool(ended)


async def _slowly(running: asyncio.Future[bytes], refused: Refused) -> AsyncIterator[bytes]:
    """Yield the answer to an operation that takes long."""
    yield DECLARATION
    while not await ended_within(running, SPACE_SECONDS):
        yield b" "
    try:
        document = running.result()
    except S3Refusal as refusal:
        document = bytes(refused(refusal).body)
    except GravelerError as error:
        document = bytes(refused(refusal_of(error)).body)
    except Exception:  # the status can no longer say it
        _log.exception("copy of content")
        document = bytes(refused(S3Refusal(500, "InternalError", "the log of the server has more")).body)
    yield document.removeprefix(DECLARATION)


def _look_at(copy: asyncio.Future[bytes]) -> None:
    """Look at the error of a copy. Without it, one that no client waits for any more would be reported as forgotten."""
    if not copy.cancelled():
        copy.exception()
