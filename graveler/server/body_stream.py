"""Body of a request as an iterable of bytes for a worker thread. It is read piece by piece, with back-pressure.

The server asks for the body (`100 Continue`) when the first piece is requested. An operation that refuses a request
before it reads the body saves the client the transfer.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator

from anyio import from_thread
from python_multipart.multipart import parse_options_header
from starlette.requests import ClientDisconnect, Request

from graveler.server.form_content import FormContent
from graveler_core.errors import InvalidInput, Unavailable


class BodyStream:
    """Body of one request. Iterate over it once, in a worker thread that the event loop has started."""

    def __init__(self, request: Request) -> None:
        self._pieces = aiter(request.stream())
        kind, options = parse_options_header(request.headers.get("content-type"))
        self._boundary = options.get(b"boundary") if kind == b"multipart/form-data" else None
        self._type = request.headers.get("content-type")
        self._length = request.headers.get("content-length")
        self.ended = False
        """True once the whole body was received."""
        self._is_form = kind == b"multipart/form-data"

    def content(self) -> tuple[str | None, Iterable[bytes]]:
        """Return the content type of what the client uploads, and its content.

        Of a form, this is its part `content`. It reads the form up to there.

        Raises:
            InvalidInput: The form has no such part. The content of a form that is not complete raises it too.
        """
        if not self._is_form:
            return self._type, self.raw()
        if not self._boundary:
            raise InvalidInput("content-type multipart/form-data: needs a boundary")
        return FormContent(self._boundary).read(self.raw())

    def raw(self) -> Iterator[bytes]:
        """Yield the body as it is, whatever its content type says.

        Raises:
            Unavailable: The client has gone before the end of the body.
        """
        received = 0
        try:
            while (piece := from_thread.run(_next, self._pieces)) is not None:
                received += len(piece)
                if piece:
                    yield piece
        except ClientDisconnect as error:
            raise Unavailable(
                "the client ended the connection before the end of the body; nothing is staged"
            ) from error
        self.ended = True
        if self._length is not None and received != int(self._length):
            raise Unavailable(f"the body has {received} bytes, its header says {self._length}; nothing is staged")


async def _next(pieces: AsyncIterator[bytes]) -> bytes | None:
    return await anext(pieces, None)
