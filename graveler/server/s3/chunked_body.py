"""Bodies in the form `aws-chunked`: chunks, each perhaps with a signature, then perhaps a trailer.

    <hex size>[;chunk-signature=<signature>] CRLF <data> CRLF …
    0[;chunk-signature=<signature>] CRLF [<name>:<value> CRLF …] [x-amz-trailer-signature:<signature> CRLF] CRLF

Each signature covers the one before it, and the first covers that of the request, so chunks cannot be removed, added or
moved. Data are passed on before the signature of their chunk was verified, so the reader must not use them before the
iteration has ended.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from graveler.server.s3.refusals import S3Refusal
from graveler.server.s3.signature import sign

MAX_LINE_BYTES: Final = 1_024
"""Maximum size of the line before a chunk, and of a line of a trailer."""
MAX_TRAILER_LINES: Final = 16
_CHUNK: Final = re.compile(rb"([0-9a-fA-F]{1,12})(?:;chunk-signature=([0-9a-f]{64}))?")
_NOTHING: Final = hashlib.sha256(b"").hexdigest()
_TRAILER_SIGNATURE: Final = "x-amz-trailer-signature"


@dataclass(slots=True)
class ChunkSignatures:
    """Signatures of the chunks of one body. Each is computed from the one before it."""

    key: bytes
    time: str
    scope: str
    previous: str
    """Signature of the request, then of the last chunk."""

    def require_chunk(self, data_digest: str, signature: str | None) -> None:
        """Verify the signature of the next chunk.

        Raises:
            S3Refusal: The signature is wrong or missing.
        """
        self._require("AWS4-HMAC-SHA256-PAYLOAD", f"{_NOTHING}\n{data_digest}", signature)

    def require_trailer(self, lines: Iterable[str], signature: str | None) -> None:
        """Verify the signature of the trailer.

        Raises:
            S3Refusal: The signature is wrong or missing.
        """
        text = "".join(f"{line}\n" for line in lines)
        self._require("AWS4-HMAC-SHA256-TRAILER", hashlib.sha256(text.encode("latin-1")).hexdigest(), signature)

    def _require(self, algorithm: str, rest: str, signature: str | None) -> None:
        expected = sign(self.key, f"{algorithm}\n{self.time}\n{self.scope}\n{self.previous}\n{rest}")
        if signature is None or not hmac.compare_digest(expected.encode(), signature.encode()):
            raise S3Refusal(403, "SignatureDoesNotMatch", "the signature of a chunk or of the trailer does not match")
        self.previous = signature


@dataclass(slots=True)
class ChunkedBody:
    """Decoder of one body. Iterate over it once; the trailer is known at the end."""

    pieces: Iterable[bytes]
    signatures: ChunkSignatures | None = None
    """Signatures to verify; `None` if chunks have none."""
    with_trailer: bool = False
    trailer: dict[str, str] = field(default_factory=dict)
    """Values of the trailer by name in lower case."""

    def __iter__(self) -> Iterator[bytes]:
        """Yield the data.

        Raises:
            S3Refusal: The framing is wrong, the body ends too early, or a signature does not match.
        """
        source = _Source(iter(self.pieces))
        size = 1
        while size:
            found = _CHUNK.fullmatch(source.line())
            if found is None:
                raise _incomplete("a chunk must begin with its size in hex")
            size, signature = int(found[1], 16), found[2]
            digest = hashlib.sha256()
            for data in source.exactly(size):
                if self.signatures is not None:
                    digest.update(data)
                yield data
            if size and source.line():
                raise _incomplete("a chunk must end after its size")
            if self.signatures is not None:
                self.signatures.require_chunk(digest.hexdigest(), signature.decode() if signature else None)
        self._read_end(source)

    def _read_end(self, source: _Source) -> None:
        lines: list[str] = []
        signature = None
        while line := source.line(optional=True).decode("latin-1"):
            name, colon, value = line.partition(":")
            name = name.strip().lower()
            if not colon or not self.with_trailer or len(lines) >= MAX_TRAILER_LINES:
                raise S3Refusal(400, "MalformedTrailerError", "the trailer has a line that was not announced")
            if name == _TRAILER_SIGNATURE:
                signature = value.strip()
                continue
            lines.append(f"{name}:{value.strip()}")
            self.trailer[name] = value.strip()
        if self.signatures is not None and self.with_trailer:
            self.signatures.require_trailer(lines, signature)
        source.require_end()


class _Source:
    """Buffered reader of the pieces of a body. Each byte is copied only a few times, however short the chunks are."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._piece = b""
        self._at = 0
        """Position of the first byte of the piece that was not read yet."""

    def line(self, *, optional: bool = False) -> bytes:
        """Return the next line without its CRLF.

        Args:
            optional: The body may end instead, which counts as an empty line.
        """
        while (end := self._piece.find(b"\r\n", self._at, self._at + MAX_LINE_BYTES + 2)) < 0:
            if len(self._piece) - self._at > MAX_LINE_BYTES + 1:
                raise _incomplete(f"a line must have at most {MAX_LINE_BYTES} bytes")
            rest, piece = self._piece[self._at :], next(self._pieces, None)
            if piece is None:
                if optional and not rest:
                    return b""
                raise _incomplete("the body ends within a chunk")
            self._piece, self._at = rest + piece, 0
        line, self._at = self._piece[self._at : end], end + 2
        return line

    def exactly(self, size: int) -> Iterator[bytes]:
        """Yield the next bytes, in pieces."""
        while size:
            if self._at == len(self._piece):
                self._piece, self._at = next(self._pieces, b""), 0
            taken = self._piece[self._at : self._at + size]
            if not taken:
                raise _incomplete("the body ends within a chunk")
            self._at += len(taken)
            size -= len(taken)
            yield taken

    def require_end(self) -> None:
        """Refuse a body with data after its end, except for a needless CRLF, which some clients send."""
        rest = self._piece[self._at :]
        while len(rest) <= 2 and (piece := next(self._pieces, None)) is not None:
            rest += piece
        if rest not in (b"", b"\r\n"):
            raise _incomplete("the body must end after its last chunk")


def _incomplete(why: str) -> S3Refusal:
    return S3Refusal(400, "IncompleteBody", f"aws-chunked body: {why}; nothing is stored")
