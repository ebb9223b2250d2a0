"""Content of an upload in a form: the first part that is named `content`, as a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Final

from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header

from graveler_core.errors import InvalidInput

_NAME: Final = b"content"
_MAX_HEADER_BYTES: Final = 16 << 10
"""Maximum size of the headers of a part. Older versions of the parser have no limit of their own."""


class FormContent:
    """The part `content` of one form."""

    def __init__(self, boundary: bytes) -> None:
        """Create a reader of a form.

        Args:
            boundary: Line between the parts.

        Raises:
            InvalidInput: The parser refuses the boundary as too long.
        """
        self._collected: list[bytes] = []
        self._field = self._value = b""
        self._headers: dict[bytes, bytes] = {}
        self._header_bytes = 0
        self._type: bytes | None = None
        self._wanted = self._found = self._complete = False
        with _refusing():
            self._parser = MultipartParser(
                boundary,
                {
                    "on_part_begin": self._begin_headers,
                    "on_header_field": self._add_field,
                    "on_header_value": self._add_value,
                    "on_header_end": self._end_header,
                    "on_headers_finished": self._begin_part,
                    "on_part_data": self._add_data,
                    "on_part_end": self._end_part,
                    "on_end": self._end,
                },
            )

    def read(self, body: Iterator[bytes]) -> tuple[str | None, Iterable[bytes]]:
        """Read a form up to the part. Return the content type of the part, and its content.

        Args:
            body: Pieces of the form.

        Raises:
            InvalidInput: The form is malformed, or has no such part. The content raises it too, at its end if the form
                is not complete.
        """
        for piece in body:
            self._write(piece)
            if self._found:
                return None if self._type is None else self._type.decode("latin-1"), self._content(body)
        raise _incomplete()

    def _content(self, rest: Iterator[bytes]) -> Iterator[bytes]:
        for piece in chain((b"",), rest):
            self._write(piece)
            yield from self._collected
            self._collected.clear()
        if not self._complete:
            raise _incomplete()

    def _write(self, piece: bytes) -> None:
        with _refusing():
            self._parser.write(piece)

    def _begin_headers(self) -> None:
        self._headers.clear()
        self._header_bytes = 0

    def _add_field(self, data: bytes, start: int, end: int) -> None:
        self._count(end - start)
        self._field += data[start:end]

    def _add_value(self, data: bytes, start: int, end: int) -> None:
        self._count(end - start)
        self._value += data[start:end]

    def _count(self, size: int) -> None:
        self._header_bytes += size
        if self._header_bytes > _MAX_HEADER_BYTES:
            raise InvalidInput(f"body: the headers of a part must have at most {_MAX_HEADER_BYTES:,} bytes")

    def _end_header(self) -> None:
        self._headers[self._field.lower()] = self._value
        self._field = self._value = b""

    def _begin_part(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        self._wanted = not self._found and options.get(b"name") == _NAME
        if self._wanted:
            self._found, self._type = True, self._headers.get(b"content-type")

    def _add_data(self, data: bytes, start: int, end: int) -> None:
        if self._wanted:
            self._collected.append(data[start:end])

    def _end_part(self) -> None:
        self._wanted = False

    def _end(self) -> None:
        self._complete = True


@contextmanager
def _refusing() -> Iterator[None]:
    """Refuse a form that the parser cannot read."""
    try:
        yield
    except FormParserError as error:
        raise InvalidInput(f"body: must be a form as its content type says: {error}") from error


def _incomplete() -> InvalidInput:
    return InvalidInput("body: must be a complete form with a part named 'content'; nothing is staged")
