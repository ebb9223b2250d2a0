"""Bodies of requests that are held in memory as a whole, such as JSON and forms."""

from __future__ import annotations

from starlette.requests import Request

from graveler_core.errors import Kind, LimitExceeded
from graveler_core.model.limit import require_limit


async def body_of(request: Request, what: str, maximum: int) -> bytes:
    """Return the body of a request. One that is announced as too large is refused before the client sends it.

    Args:
        request: The request.
        what: Name of the body in the error message.
        maximum: Maximum size in bytes.

    Raises:
        LimitExceeded: The body is larger. `details` has the `size` only if the client has announced it.
    """
    announced = request.headers.get("content-length", "")
    if announced.isdecimal():
        require_limit(what, int(announced), maximum, "bytes", Kind.ValueTooLarge)
    content = bytearray()
    async for block in request.stream():
        content += block
        if len(content) > maximum:
            raise LimitExceeded(f"{what}: has more than {maximum:,} bytes, the maximum", limit=maximum)
    return bytes(content)
