"""Addresses of lakeFS become full addresses of the same objects."""

from __future__ import annotations

import pytest

from graveler_core.errors import InvalidInput
from graveler_core.model.address import namespace
from graveler_core.model.entry import AddressType
from graveler_core.transfer.broken_values import BrokenValueError
from graveler_core.transfer.lakefs.addresses import LakefsAddresses, location, storage_namespace
from graveler_core.transfer.lakefs.entries import BY_PREFIX, FULL, RELATIVE
from graveler_core.transfer.lakefs.uncommitted import stored_address

HOME = namespace("s3://bucket/lake")


@pytest.mark.parametrize(
    ("address", "kind", "expected"),
    [
        ("data/x", RELATIVE, "s3://bucket/lake/data/x"),
        ("data/x", BY_PREFIX, "s3://bucket/lake/data/x"),
        ("data/a b+ü", RELATIVE, "s3://bucket/lake/data/a%20b%2B%C3%BC"),
        ("s3://other/x", FULL, "s3://other/x"),
        ("s3://other/x", BY_PREFIX, "s3://other/x"),
        ("s3://other/a b/ü?#", FULL, "s3://other/a%20b/%C3%BC%3F%23"),
        ("s3://other/a%20b", FULL, "s3://other/a%20b"),
        ("s3://other/a b%20c", FULL, "s3://other/a%20b%2520c"),
        ("s3://other/day=1,2", FULL, "s3://other/day%3D1%2C2"),
        ("gs://other/x", FULL, "gs://other/x"),
        ("local:///data/x", FULL, "file:///data/x"),
        ("https://account.blob.core.windows.net/container/a/b", FULL, "az://container/a/b"),
        ("https://account.blob.core.chinacloudapi.cn/container/a", FULL, "az://container/a"),
    ],
)
def test_addresses(address: str, kind: int, expected: str) -> None:
    assert LakefsAddresses(HOME)(address, kind) == (expected, AddressType.FULL)


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("../x", RELATIVE),
        ("a//b", RELATIVE),
        ("/a", RELATIVE),
        ("ftp://host/x", FULL),
        ("https://example.com/container/x", FULL),
        ("local://name/x", FULL),
        ("s3://bucket", FULL),
        ("s3://bucket/", FULL),
        ("s3://bucket/a/../b", FULL),
        ("x", FULL),
    ],
)
def test_addresses_that_name_no_object(address: str, kind: int) -> None:
    with pytest.raises(BrokenValueError):
        LakefsAddresses(HOME)(address, kind)


@pytest.mark.parametrize(
    ("uri", "objects", "expected"),
    [
        ("s3://bucket/lake/", None, "s3://bucket/lake"),
        ("https://account.blob.core.windows.net/container/lake", None, "az://container/lake"),
        ("local://flights", "file:///data/flights", "file:///data/flights"),
        ("s3://bucket/lake", "s3://mirror/lake", "s3://mirror/lake"),
    ],
)
def test_storage_namespaces(uri: str, objects: str | None, expected: str) -> None:
    assert storage_namespace(uri, objects).uri == expected


def test_a_namespace_without_a_location() -> None:
    with pytest.raises(InvalidInput, match="--objects"):
        storage_namespace("local://flights", None)
    with pytest.raises(InvalidInput, match="not a URI of an object store"):
        location("mem://flights/x")


@pytest.mark.parametrize(
    ("home", "place", "said", "expected"),
    [
        ("s3://bucket/lake", "s3://bucket/lake", "s3://bucket/lake/data/x", ("data/x", RELATIVE)),
        ("s3://bucket/lake/", "s3://mirror/lake", "s3://bucket/lake/data/x", ("data/x", RELATIVE)),
        ("s3://bucket/lake", "s3://bucket/lake", "s3://bucket/lakeside/x", ("s3://bucket/lakeside/x", FULL)),
        ("local://f", "file:///data/blocks/f", "local:///data/blocks/f/data/x", ("data/x", RELATIVE)),
        ("local://f", "file:///data/blocks/f", "local:///data/blocks/tmp/x", ("local:///tmp/x", FULL)),
        ("local://a/f", "file:///data/blocks/a/f", "local:///data/blocks/a/f/data/x", ("data/x", RELATIVE)),
    ],
)
def test_the_server_states_full_addresses_only(home: str, place: str, said: str, expected: tuple[str, int]) -> None:
    assert stored_address(home, namespace(place), said) == expected
