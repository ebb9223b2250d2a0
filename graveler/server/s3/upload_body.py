"""Body of an upload: decoded, measured, and compared with everything that the client says about it.

Content is passed on before all of it was verified. The last step of the iteration raises an error if something does not
match, and the engine stores no entry for content whose iteration has failed.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from graveler.server.overlapped_hashing import BLOCK_BYTES, RunningChecksum, UploadHashing
from graveler.server.s3 import checksums
from graveler.server.s3.chunked_body import ChunkedBody, ChunkSignatures
from graveler.server.s3.refusals import S3Refusal, invalid_argument
from graveler.server.s3.request import S3Request
from graveler.server.s3.signature import UNSIGNED_PAYLOAD, payload_of
from graveler_core.codec.blocks import blocks
from graveler_core.model.counting import counted

if TYPE_CHECKING:
    from hashlib import _Hash

MAX_UPLOAD_BYTES: Final = 5 << 30
"""Maximum size of the content of one request, as of S3. Larger objects are uploaded in parts."""
_CHUNKED_SIGNED: Final = ("STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER")
_CHUNKED: Final = (*_CHUNKED_SIGNED, "STREAMING-UNSIGNED-PAYLOAD-TRAILER")


class UploadBody:
    """Body of one upload. Iterate over it once; its MD5 is known at the end."""

    def __init__(self, request: S3Request, signatures: ChunkSignatures | None, *, verify: bool = True) -> None:
        """Prepare the body of a request.

        Args:
            request: The request.
            signatures: Signatures of the chunks, to verify those of a body that has them; `None` on a server without
                access control, which verifies no signatures.
            verify: Compare the body with the headers `x-amz-checksum-…`.

        Raises:
            S3Refusal: A header about the body is not valid.
        """
        self.checked: dict[str, str] = {}
        """Checksums that were verified, by the name of their header, in base64. The response repeats them."""
        self._request = request
        self._pieces: Iterable[bytes] = request.stream
        self._length = _number(request, "content-length")
        self._expected: list[tuple[str, str, RunningChecksum]] = []
        self._in_trailer: list[tuple[str, RunningChecksum]] = []
        self._chunked: ChunkedBody | None = None
        self._sha256: _Hash | None = None
        """SHA-256 of the content, or `None` if nothing needs it. All uses share one computation."""
        payload = payload_of(request)
        if payload in _CHUNKED:
            self._expect_chunks(payload, signatures)
        elif payload.startswith("STREAMING-"):
            raise invalid_argument(f"x-amz-content-sha256 {payload[:80]!r}: is not supported")
        elif payload != UNSIGNED_PAYLOAD:
            self._expect_digest(payload)
        self._expect_headers(given=verify)
        found = (*(checksum for _, _, checksum in self._expected), *(checksum for _, checksum in self._in_trailer))
        self._hashing = UploadHashing([checksum for checksum in found if checksum is not self._sha256])
        if self._length is not None and self._length > MAX_UPLOAD_BYTES:
            raise _too_large()  # before the client sends it

    @property
    def md5(self) -> str:
        """MD5 of the content, in hex, after the iteration."""
        return self._hashing.md5().hex()

    def compute_sha256(self) -> Callable[[], str]:
        """Compute the SHA-256 too. Return a function that returns the checksum of the entry after the iteration."""
        digest = self._shared_sha256()
        return lambda: f"sha256:{digest.hexdigest()}"

    def __iter__(self) -> Iterator[bytes]:
        """Yield the content in blocks.

        Raises:
            S3Refusal: The content is not what the client says about it.
        """
        size = 0
        for block in blocks(self._chunked or self._pieces, BLOCK_BYTES):
            size += len(block)
            if size > MAX_UPLOAD_BYTES:
                raise _too_large()
            self._hashing.update(block)
            if self._sha256 is not None:  # in this thread, while another one computes the MD5
                self._sha256.update(block)
            yield block
        self._verify(size)

    def _expect_chunks(self, payload: str, signatures: ChunkSignatures | None) -> None:
        trailer = payload.endswith("-TRAILER")
        self._length = _number(self._request, "x-amz-decoded-content-length")
        signed = signatures if payload in _CHUNKED_SIGNED else None
        self._chunked = ChunkedBody(self._pieces, signed, trailer)
        names = (self._request.header("x-amz-trailer") or "").lower().split(",") if trailer else []
        self._in_trailer = [(name.strip(), self._running(name.strip())) for name in names if name.strip()]

    def _expect_digest(self, payload: str) -> None:
        try:
            digest = bytes.fromhex(payload)
        except ValueError:
            digest = b""
        if len(digest) != 32:
            raise invalid_argument(f"x-amz-content-sha256 {payload[:80]!r}: must be a SHA-256 in hex or a known word")
        self._expected.append(("x-amz-content-sha256", base64.b64encode(digest).decode(), self._shared_sha256()))

    def _expect_headers(self, *, given: bool) -> None:
        for name, _ in self._request.headers:
            if given and name.startswith(checksums.PREFIX) and name not in checksums.NO_VALUES:
                self._expected.append((name, self._request.header(name) or "", self._running(name)))
        for name, value, checksum in self._expected:
            checksums.decoded(name, value, len(checksum.digest()))
        md5 = self._request.header("content-md5")
        if md5 is not None:
            checksums.decoded("Content-MD5", md5, 16)

    def _running(self, name: str) -> RunningChecksum:
        return self._shared_sha256() if name == checksums.SHA256 else checksums.running(name)

    def _shared_sha256(self) -> _Hash:
        if self._sha256 is None:
            self._sha256 = hashlib.sha256()
        return self._sha256

    def _verify(self, size: int) -> None:
        if self._length is not None and size != self._length:
            raise S3Refusal(
                400,
                "IncompleteBody",
                f"the content has {counted(size, 'byte')}, its header says {self._length}; nothing is stored",
            )
        md5, given = self._hashing.md5(), self._request.header("content-md5")
        if given is not None:
            _require_equal("Content-MD5", given, md5)
        for name, value, checksum in self._expected:
            _require_equal(name, value, checksum.digest())
        trailer = {} if self._chunked is None else self._chunked.trailer
        if trailer.keys() != {name for name, _ in self._in_trailer}:
            raise S3Refusal(400, "MalformedTrailerError", "the trailer must have the lines that x-amz-trailer names")
        for name, checksum in self._in_trailer:
            checksums.decoded(name, trailer[name], len(checksum.digest()))
            _require_equal(name, trailer[name], checksum.digest())
            self.checked[name] = trailer[name]
        for name, value, _ in self._expected:
            if name.startswith(checksums.PREFIX):
                self.checked[name] = value


def _too_large() -> S3Refusal:
    message = f"the content has more than {MAX_UPLOAD_BYTES:,} bytes; upload it in parts"
    return S3Refusal(400, "EntityTooLarge", message)


def _number(request: S3Request, name: str) -> int | None:
    given = request.header(name)
    if given is None:
        return None
    if not (given.isascii() and given.isdigit() and len(given) <= 15):
        raise invalid_argument(f"{name} {given[:40]!r}: must be a whole number")
    return int(given)


def _require_equal(name: str, given: str, found: bytes) -> None:
    if hmac.compare_digest(base64.b64encode(found), given.encode("latin-1")):
        return
    if name == "x-amz-content-sha256":
        raise S3Refusal(400, "XAmzContentSHA256Mismatch", "the content differs from x-amz-content-sha256")
    raise S3Refusal(400, "BadDigest", f"the content differs from its checksum {name}; nothing is stored")
