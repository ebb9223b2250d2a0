"""Operations of S3 that copy content, and their answers, which begin before a long copy has ended.

Clients wait about a minute for the first byte of an answer. If an operation takes longer than `PATIENCE_SECONDS`, the
answer begins with status 200 and the declaration of its document. White space follows while the content is copied, and
then the document: the result, or an error. S3 answers in the same way, so clients look for errors there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Hashable
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response, StreamingResponse

from graveler.server.copy_threads import CopyThreads, ended_within
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
    """Value that repetitions of the request have in common: see `CopyThreads.run`."""


async def answer_of_copy(threads: CopyThreads, copy: ContentCopy, refused: Refused) -> Response:
    """Run a copy, or wait for the one that it repeats. Return the answer, which may begin before the copy has ended.

    Args:
        threads: Threads for copies.
        copy: The copy.
        refused: Returns the answer if it fails.
    """
    try:
        running = threads.run(copy.run, copy.repeated)
        if await ended_within(running, PATIENCE_SECONDS):
            return Response(running.result(), media_type=_XML)
    except S3Refusal as refusal:
        return refused(refusal)
    except GravelerError as error:
        return refused(refusal_of(error))
    return StreamingResponse(_slowly(running, refused), media_type=_XML)


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
