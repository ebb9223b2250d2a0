"""Body of a request as an iterable of bytes for a worker thread. It is read piece by piece, with back-pressure.

The server asks for the body (`100 Continue`) when the first piece is requested. An operation that refuses a request
before it reads the body saves the client the transfer.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from anyio import from_thread
from python_multipart import MultipartParser
from python_multipart.multipart import parse_options_header
from starlette.requests import ClientDisconnect, Request

from graveler_core.errors import InvalidInput, Unavailable

_END = b""


class BodyStream:
    """Body of one request. Iterate over it once, in a worker thread that the event loop has started."""

    def __init__(self, request: Request) -> None:
        self._pieces = aiter(request.stream())
        kind, options = parse_options_header(request.headers.get("content-type"))
        self._boundary = options.get(b"boundary") if kind == b"multipart/form-data" else None
        self._length = request.headers.get("content-length")
        self.ended = False
        """True once the whole body was received."""
        self._is_form = kind == b"multipart/form-data"

    def __iter__(self) -> Iterator[bytes]:
        if not self._is_form:
            return self.raw()
        if not self._boundary:
            raise InvalidInput("content-type multipart/form-data: needs a boundary")
        return _first_part(self.raw(), self._boundary)

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


def _first_part(body: Iterator[bytes], boundary: bytes) -> Iterator[bytes]:
    """Yield the content of the first part of a form that is named `content`."""
    collected: list[bytes] = []
    header: dict[str, bytes] = {"field": b"", "value": b""}
    state = {"wanted": False, "done": False, "found": False}

    def on_header_field(data: bytes, start: int, end: int) -> None:
        header["field"] += data[start:end]

    def on_header_value(data: bytes, start: int, end: int) -> None:
        header["value"] += data[start:end]

    def on_header_end() -> None:
        if header["field"].lower() == b"content-disposition":
            _, options = parse_options_header(header["value"])
            state["wanted"] = not state["found"] and options.get(b"name") == b"content"
            state["found"] = state["found"] or state["wanted"]
        header.update(field=b"", value=b"")

    def on_part_data(data: bytes, start: int, end: int) -> None:
        if state["wanted"]:
            collected.append(data[start:end])

    def on_part_end() -> None:
        state["wanted"] = False

    def on_end() -> None:
        state["done"] = True

    parser = MultipartParser(
        boundary,
        {
            "on_header_field": on_header_field,
            "on_header_value": on_header_value,
            "on_header_end": on_header_end,
            "on_part_data": on_part_data,
            "on_part_end": on_part_end,
            "on_end": on_end,
        },
    )
    for piece in body:
        parser.write(piece)
        yield from collected
        collected.clear()
    if not state["done"] or not state["found"]:
        raise InvalidInput("body: must be a complete form with a part named 'content'; nothing is staged")
