"""Names of objects: they have the order of the keys, fit into every service, and tell the key."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from graveler_core.errors import CorruptData
from graveler_core.kv.backends.bucket.names import MAX_NAME, RowNames, content_of, row_of
from graveler_core.kv.backends.bucket.url import parse_url
from graveler_core.kv.limits import MAX_KEY, MAX_PARTITION

NAMES = RowNames("lake/graveler-kv")
LONG = 400
"""Number of bytes of a key that are in its name."""

keys = st.one_of(
    st.binary(min_size=1, max_size=6),
    st.builds(
        lambda size, end: b"\x00" * size + end,
        st.sampled_from((1, 99, 100, 101, 200, 399, 400, 401)),
        st.binary(max_size=3),
    ),
    st.binary(min_size=95, max_size=105),
)


@given(first=keys, second=keys)
@example(first=b"a" * 100, second=b"a" * 100 + b"\x00")
@example(first=b"a" * 100 + b"\x00", second=b"a" * 101)
@example(first=b"a" * 400, second=b"a" * 400 + b"\x00")
def test_names_have_the_order_of_keys(first: bytes, second: bytes) -> None:
    """Whole names and, for services with directories, the lists of their parts."""
    cut = first[:LONG], second[:LONG]
    one, other = (NAMES.row(b"p", key) for key in (first, second))
    if cut[0] != cut[1]:
        assert (one < other) == (cut[0] < cut[1]) == (one.split("/") < other.split("/"))
    elif first != second:
        assert one != other
        assert len(first) > LONG or one < other


@given(key=keys, lower=keys)
def test_listings_begin_before_the_bound(key: bytes, lower: bytes) -> None:
    """No key of the range is left out. What is listed besides agrees with the bound as far as names tell."""
    listed = NAMES.row(b"p", key) > NAMES.before(b"p", lower)
    assert listed or key < lower
    assert not listed or key[:LONG] >= lower[:LONG]


@given(key=keys)
def test_names_tell_the_key(key: bytes) -> None:
    found = NAMES.parsed(NAMES.row(b"p", key))
    assert (found.stem, found.is_whole) == (key[:LONG], len(key) <= LONG)


@pytest.mark.parametrize("size", [1, 99, 100, 101, 400, 401, MAX_KEY])
def test_names_fit_into_every_service(size: int) -> None:
    """Also with the longest prefix. Servers that keep objects as files limit the parts to 255 bytes."""
    with pytest.raises(Exception, match="at most") as caught:
        parse_url(f"s3://bucket/{'x' * 1_024}")
    longest = int(str(caught.value).partition("at most ")[2].partition(" ")[0])
    names = parse_url(f"s3://bucket/{'x' * longest}").names
    name = names.row(b"\xff" * MAX_PARTITION, b"\xff" * size)
    assert len(name) <= MAX_NAME
    assert size != MAX_KEY or len(name) > MAX_NAME - 5
    assert max(map(len, NAMES.row(b"p", b"\xff" * size).split("/"))) <= 255
    assert names.mark != name


@pytest.mark.parametrize(
    "tail", ["", "!", "6", "61", "6!", "61!!", "6g!", "61-", "61-/!", "61/62!", "61 62!", "-" + "0" * 32, "A1!"]
)
def test_other_names_are_refused(tail: str) -> None:
    with pytest.raises(CorruptData, match="does not have the name of a row"):
        NAMES.parsed(f"{NAMES.partition(b'p')}/{tail}")


@given(key=keys, value=st.binary(max_size=20))
def test_contents(key: bytes, value: bytes) -> None:
    content = content_of(key, value)
    assert row_of(content, "name") == (key, value)
    assert content_of(key, value) != content


@pytest.mark.parametrize("content", [b"x", b"x" * 18, b"x" * 16 + b"\x00\x00value", b"x" * 16 + b"\x00\x05key"])
def test_other_contents_are_refused(content: bytes) -> None:
    with pytest.raises(CorruptData, match="the object name does not have the content of a row"):
        row_of(content, "name")
