"""Bodies in chunks: the published example, other framings, and what is refused."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graveler.server.s3.chunked_body import MAX_LINE_BYTES, ChunkedBody, ChunkSignatures
from graveler.server.s3.refusals import S3Refusal
from graveler.server.s3.signature import sign, signing_key

SEED = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9"
KEY = signing_key("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "20130524", "us-east-1")
EXAMPLE = (
    b"10000;chunk-signature=ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648\r\n"
    + b"a" * 65_536
    + b"\r\n"
    b"400;chunk-signature=0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497\r\n" + b"a" * 1_024 + b"\r\n"
    b"0;chunk-signature=b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9\r\n\r\n"
)


def signatures() -> ChunkSignatures:
    return ChunkSignatures(KEY, "20130524T000000Z", "20130524/us-east-1/s3/aws4_request", SEED)


def cut(body: bytes, size: int) -> Iterator[bytes]:
    return (body[start : start + size] for start in range(0, len(body), size))


def read(body: bytes, size: int = 7_000, **options: object) -> bytes:
    return b"".join(ChunkedBody(cut(body, size), **options))  # type: ignore[arg-type]


def signed(chunks: list[bytes], trailer: list[str]) -> bytes:
    """A body as a client makes it, whose chunks and trailer are signed."""
    known, body = signatures(), b""
    for chunk in [*chunks, b""]:
        text = f"{hashlib.sha256(b'').hexdigest()}\n{hashlib.sha256(chunk).hexdigest()}"
        known.previous = sign(KEY, f"AWS4-HMAC-SHA256-PAYLOAD\n{known.time}\n{known.scope}\n{known.previous}\n{text}")
        body += f"{len(chunk):x};chunk-signature={known.previous}\r\n".encode() + chunk + (b"\r\n" if chunk else b"")
    if trailer:
        digest = hashlib.sha256("".join(f"{line}\n" for line in trailer).encode()).hexdigest()
        last = sign(KEY, f"AWS4-HMAC-SHA256-TRAILER\n{known.time}\n{known.scope}\n{known.previous}\n{digest}")
        body += "".join(f"{line}\r\n" for line in [*trailer, f"x-amz-trailer-signature:{last}"]).encode()
    return body + b"\r\n"


@pytest.mark.parametrize("size", [1, 7, 4_096, 1 << 20])
def test_the_published_example(size: int) -> None:
    assert read(EXAMPLE, size, signatures=signatures()) == b"a" * (65_536 + 1_024)


@pytest.mark.parametrize(
    "damaged",
    [
        EXAMPLE.replace(b"a" * 1_024, b"a" * 1_023 + b"b"),
        EXAMPLE.replace(b";chunk-signature=0055", b";chunk-signature=1055"),
        EXAMPLE.replace(
            b"400;chunk-signature=0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497", b"400"
        ),
        EXAMPLE[: 65_536 + 90] + EXAMPLE[65_536 + 90 + 1_024 + 91 :],
    ],
    ids=["data", "signature", "no signature", "a chunk is missing"],
)
def test_changed_chunks_are_refused(damaged: bytes) -> None:
    assert damaged != EXAMPLE
    with pytest.raises(S3Refusal):
        read(damaged, signatures=signatures())


@settings(max_examples=50, deadline=None)
@given(
    chunks=st.lists(st.binary(min_size=1, max_size=50), max_size=4), size=st.integers(1, 60), with_trailer=st.booleans()
)
def test_signed_chunks_and_trailers(chunks: list[bytes], size: int, with_trailer: bool) -> None:
    trailer = ["x-amz-checksum-crc32:AAAAAA=="] if with_trailer else []
    body = signed(chunks, trailer)
    decoder = ChunkedBody(cut(body, size), signatures(), with_trailer)
    assert b"".join(decoder) == b"".join(chunks)
    assert decoder.trailer == ({"x-amz-checksum-crc32": "AAAAAA=="} if with_trailer else {})
    with pytest.raises(S3Refusal):
        read(
            body.replace(b"AAAAAA", b"AAAAAB") if with_trailer else body[:-4],
            signatures=signatures(),
            with_trailer=True,
        )


def test_a_signature_of_other_characters_is_refused() -> None:
    body = signed([b"abc"], ["x-amz-checksum-crc32:AAAAAA=="])
    wrong = body.replace(b"trailer-signature:", b"trailer-signature:\xe4")
    with pytest.raises(S3Refusal) as caught:
        read(wrong, signatures=signatures(), with_trailer=True)
    assert caught.value.status == 403


def test_chunks_without_signatures_and_with_a_trailer() -> None:
    body = b"3\r\nabc\r\n2\r\nde\r\n0\r\nx-amz-checksum-crc32:hYrMCQ==\r\n\r\n"
    decoder = ChunkedBody([body], with_trailer=True)
    assert b"".join(decoder) == b"abcde"
    assert decoder.trailer == {"x-amz-checksum-crc32": "hYrMCQ=="}
    assert read(b"3\r\nabc\r\n0\r\n\r\n\r\n") == b"abc"  # a needless CRLF
    assert read(b"3\r\nabc\r\n0\r\n") == b"abc"  # some clients leave the last one out
    assert read(b"0\r\n\r\n") == b""


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"3",
        b"3\r\n",
        b"3\r\nab",
        b"3\r\nabc",
        b"3\r\nabcd\r\n0\r\n\r\n",
        b"3\r\nabc\r\n",
        b"-3\r\nabc\r\n0\r\n\r\n",
        b"zz\r\nabc\r\n0\r\n\r\n",
        b"fffffffffffffffff\r\nabc\r\n0\r\n\r\n",
        b"3;chunk-extension=1\r\nabc\r\n0\r\n\r\n",
        b"3\r\nabc\r\n0\r\n\r\nmore",
        b"0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n",
        b"x" * (MAX_LINE_BYTES + 2),
        b"0\r\n" + b"x" * (MAX_LINE_BYTES + 2) + b"\r\n\r\n",
    ],
)
def test_wrong_framing_is_refused(body: bytes) -> None:
    for size in (1, 5, 10_000):
        with pytest.raises(S3Refusal) as caught:
            read(body, size)
        assert caught.value.status == 400


@settings(max_examples=200, deadline=None)
@given(body=st.binary(max_size=200) | st.text("0123abc\r\n;=:x-", max_size=80).map(str.encode), size=st.integers(1, 50))
def test_any_bytes_are_content_or_refused(body: bytes, size: int) -> None:
    for options in ({}, {"with_trailer": True}, {"signatures": signatures()}):
        with suppress(S3Refusal):
            read(body, size, **options)


class Copied(bytes):
    """Bytes that count how many bytes of them are copied, and of what is made of them."""

    total = 0

    def __getitem__(self, key: object) -> Copied:  # type: ignore[override]
        return self._counted(super().__getitem__(key))  # type: ignore[index]

    def __radd__(self, other: bytes) -> Copied:
        return self._counted(other + bytes(self))

    def __add__(self, other: bytes) -> Copied:  # type: ignore[override]
        return self._counted(bytes(self) + other)

    def _counted(self, made: bytes) -> Copied:
        Copied.total += len(made)
        return Copied(made)


def test_short_chunks_in_a_long_piece_are_copied_a_few_times() -> None:
    body = Copied(b"1\r\na\r\n" * 5_000 + b"0\r\n\r\n")
    Copied.total = 0
    assert b"".join(ChunkedBody(iter([body]), signatures=None)) == b"a" * 5_000
    assert Copied.total < 3 * len(body)
