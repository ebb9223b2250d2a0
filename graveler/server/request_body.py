"""Bodies of requests that are held in memory as a whole, such as JSON and forms."""

from __future__ import annotations

import asyncio

from starlette.requests import Request

from graveler.server.body_stream import IDLE_SECONDS, PROGRESS_BYTES
from graveler_core.errors import Kind, LimitExceeded, Unavailable
from graveler_core.model.limit import require_limit


async def body_of(request: Request, what: str, maximum: int, idle: float = IDLE_SECONDS) -> bytes:
    """Return the body of a request. One that is announced as too large is refused before the client sends it.

    Args:
        request: The request.
        what: Name of the body in the error message.
        maximum: Maximum size in bytes.
        idle: Seconds within which `PROGRESS_BYTES` of the body must arrive, or the rest of it.

    Raises:
        LimitExceeded: The body is larger. `details` has the `size` only if the client has announced it.
        Unavailable: The client is too slow.
    """
    announced = request.headers.get("content-length", "")
    if announced.isdecimal():
        require_limit(what, int(announced), maximum, "bytes", Kind.ValueTooLarge)
    content, counted, loop = bytearray(), 0, asyncio.get_running_loop()
    try:
        async with asyncio.timeout(idle) as limit:
            async for block in request.stream():
                content += block
                if len(content) > maximum:
                    raise LimitExceeded(f"{what}: has more than {maximum:,} bytes, the maximum", limit=maximum)
                if len(content) >= counted + PROGRESS_BYTES:
                    counted = len(content)
                    limit.reschedule(loop.time() + idle)
    except TimeoutError as error:
        raise Unavailable(f"{what}: the client sent too little within {idle:g} seconds") from error
    return bytes(content)
