"""Headers of commits become committer and metadata, and the same headers again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.transfer.broken_values import BrokenValueError
from graveler_core.transfer.nessie.headers import (
    MANY,
    OWN_COMMITTER,
    headers_of,
    headers_of_metadata,
    instant,
    metadata_of,
)

DATE = datetime(2023, 11, 14, 22, 13, 20, 123_000, UTC)
TEXTS = st.text(max_size=5)
NAMES = st.one_of(st.sampled_from(["committer", "author", "date", "author-date"]), TEXTS)
HEADERS = st.dictionaries(NAMES, st.lists(TEXTS.filter(bool), min_size=1, max_size=3), max_size=5)


@given(HEADERS)
def test_headers_come_back(headers: dict[str, list[str]]) -> None:
    committer, metadata = metadata_of(headers, DATE)
    assert headers_of(committer, metadata, DATE) == {"date": [instant(DATE)], **headers}


@given(TEXTS, st.dictionaries(NAMES, TEXTS, max_size=5))
def test_metadata_come_back(committer: str, metadata: dict[str, str]) -> None:
    headers = headers_of(committer, metadata, DATE)
    assert headers.get("committer", [""]) == [committer]
    assert metadata_of(headers, DATE) == (committer, metadata)


def test_the_committer_takes_precedence_over_metadata() -> None:
    several = {"committer": "ann", MANY: '{"committer": ["ann", "eve"]}'}
    for committer in ("ada", ""):
        headers = headers_of(committer, several, DATE)
        assert headers.get("committer", [""]) == [committer]
        assert headers[OWN_COMMITTER] == ["ann", "eve"]
        assert metadata_of(headers, DATE) == (committer, several)
    assert headers_of("ann", several, DATE) == {"committer": ["ann", "eve"], "date": [instant(DATE)]}
    assert headers_of("ada", {OWN_COMMITTER: "x"}, DATE) == {"committer": ["ada"], "date": [instant(DATE)]}


def test_the_reserved_header_beside_several_committers_is_refused() -> None:
    with pytest.raises(BrokenValueError, match="several committers"):
        metadata_of({"committer": ["ann", "eve"], OWN_COMMITTER: ["x"]}, DATE)


@pytest.mark.parametrize("text", ["[]", "{", '{"x": []}', '{"x": [1]}', "null", "7"])
def test_metadata_that_users_have_changed_is_no_error(text: str) -> None:
    assert headers_of("", {"k": "v", MANY: text}, DATE) == {"date": [instant(DATE)], "k": ["v"]}


def test_instants_are_written_as_nessie_writes_them() -> None:
    second = DATE.replace(microsecond=0)
    said = [instant(second + timedelta(microseconds=each)) for each in (0, 1, 1_000, 123_456)]
    assert said == [f"2023-11-14T22:13:20{end}Z" for end in ("", ".000001", ".001", ".123456")]


def test_both_forms_of_the_first_version() -> None:
    same = b'"message": "m", "commitTime": "t"}'
    old = b'{"author": "ada", "signedOffBy": "eve", "properties": {"k": "v"}, ' + same
    new = b'{"authors": ["ada"], "allSignedOffBy": ["eve"], "allProperties": {"k": ["v"]}, ' + same
    expected = ("m", {"k": ["v"], "date": ["t"], "author": ["ada"], "signed-off-by": ["eve"]})
    assert headers_of_metadata(old) == headers_of_metadata(new) == expected


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{", b'{"message": 1}', b'{"properties": ["x"]}', b'{"author": {}}', b"\xff"]
)
def test_other_metadata_is_refused(data: bytes) -> None:
    with pytest.raises(BrokenValueError, match="its metadata"):
        headers_of_metadata(data)
