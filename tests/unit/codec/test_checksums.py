"""Only checksums `sha256:<64 hex digits>` are known."""

from __future__ import annotations

import pyarrow as pa
import pytest

from graveler_core.codec.checksums import sha256_digest, sha256_digests

KNOWN = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("checksum", "digest"),
    [
        (f"sha256:{KNOWN}", KNOWN),
        (f"sha256:{KNOWN}0", None),
        (f"sha256:{KNOWN[1:]}", None),
        (f"sha256:{KNOWN.upper()}", None),
        (f"sha256:{KNOWN}\n", None),
        (f"md5:{KNOWN}", None),
        (KNOWN, None),
        ("", None),
        (None, None),
    ],
)
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_one_and_many(checksum: str | None, digest: str | None, kind: pa.DataType) -> None:
    assert sha256_digest(checksum) == digest
    assert sha256_digests(pa.chunked_array([[checksum, f"sha256:{KNOWN}"]], kind)).to_pylist() == [digest, KNOWN]
