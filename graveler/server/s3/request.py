"""A request as the gateway sees it: decoded once, from the bytes that the client has sent.

The path and the query are decoded from their raw form. A signature covers what is decoded here, so that the operation
and the signature never see different requests.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote_to_bytes

from graveler.server.s3.refusals import S3Refusal

MAX_PART_NUMBER: Final = 10_000


@dataclass(frozen=True, slots=True)
class S3Request:
    """Method, path, query, headers and body of a request."""

    method: str
    path: str
    """Decoded path, with the first slash."""
    query: tuple[tuple[str, str], ...] = ()
    """Decoded parameters in their order."""
    headers: tuple[tuple[str, bytes], ...] = ()
    """Names in lower case, with values, in their order."""
    raw_path: str = ""
    """Path as the client has sent it."""
    stream: Iterable[bytes] = field(default=(), repr=False)
    """Body. It can be read once, in the thread of the operation."""

    @classmethod
    def of(
        cls,
        method: str,
        raw_path: bytes,
        raw_query: bytes,
        headers: Iterable[tuple[bytes, bytes]],
        stream: Iterable[bytes] = (),
    ) -> S3Request:
        """Decode a request.

        Raises:
            S3Refusal: The path or the query is not UTF-8.
        """
        try:
            path = unquote_to_bytes(raw_path).decode()
            pairs = (pair.partition(b"=") for pair in raw_query.split(b"&") if pair)
            # A plus sign stays one: S3 clients encode a space as %20.
            query = tuple((unquote_to_bytes(n).decode(), unquote_to_bytes(v).decode()) for n, _, v in pairs)
        except UnicodeDecodeError as e:
            raise S3Refusal(400, "InvalidURI", "the path and the query must be UTF-8 text") from e
        named = tuple((name.decode("latin-1").lower(), value) for name, value in headers)
        return cls(method, path, query, named, raw_path.decode("latin-1"), stream)

    def parameter(self, name: str) -> str | None:
        """Return the value of a query parameter, or `None`.

        Raises:
            S3Refusal: The parameter is given twice.
        """
        found = [value for each, value in self.query if each == name]
        if len(found) > 1:
            raise S3Refusal(400, "InvalidArgument", f"query parameter {name!r}: must be given only once")
        return found[0] if found else None

    def has(self, name: str) -> bool:
        """Return true if a query parameter is given, perhaps without a value."""
        return any(each == name for each, _ in self.query)

    def header(self, name: str) -> str | None:
        """Return a header as text, or `None`. The values of a repeated header are joined by commas."""
        found = [value for each, value in self.headers if each == name]
        return b",".join(found).decode("latin-1").strip() if found else None

    def number(self, name: str, default: int, *, most: int, least: int = 0) -> int:
        """Return a query parameter as a number, clipped to a maximum.

        Raises:
            S3Refusal: It is not a whole number, or too small.
        """
        given = self.parameter(name)
        if given is None or given == "":
            return default
        if not (given.isascii() and given.isdigit() and len(given) <= 10) or int(given) < least:
            raise S3Refusal(400, "InvalidArgument", f"{name} {given[:40]!r}: must be a whole number from {least} on")
        return min(int(given), most)
