"""Both sides of the thresholds inside single stores: a store in a file, and a place on the local disk."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from graveler_core.blobs import local_listing, local_writing
from graveler_core.blobs.local import LocalBlobs
from graveler_core.kv.backends.sqlite import store as sqlite
from graveler_core.kv.registry import open_store
from graveler_core.model.address import namespace

NAMES = st.lists(st.sampled_from(["a", "a-", "b", "c", "ü"]), min_size=2, max_size=3).map("/".join)
ADDRESSES = st.sets(NAMES.map(lambda name: f"{name}/file"), max_size=12)
ROWS = st.dictionaries(st.binary(min_size=1, max_size=4), st.binary(max_size=4), max_size=12)
BOUNDS = st.binary(max_size=2)


@settings(max_examples=20)
@given(ROWS, BOUNDS, BOUNDS, st.integers(1, 3))
def test_sqlite_reads_the_same(rows: dict[bytes, bytes], prefix: bytes, start: bytes, fetched: int) -> None:
    with TemporaryDirectory() as directory:
        store = open_store(f"sqlite:///{directory}/meta.db?durability=process")
        for key, value in rows.items():
            store.set(b"p", key, value)
        usual = list(store.scan(b"p", prefix=prefix, start=start))
        with patch.object(sqlite, "_FETCH_ROWS", fetched):
            assert list(store.scan(b"p", prefix=prefix, start=start)) == usual
        wanted = sorted(key for key in rows if key.startswith(prefix) and key >= start)
        assert [(row.key, row.value) for row in usual] == [(key, rows[key]) for key in wanted]
        store.close()


@settings(max_examples=20)
@given(ADDRESSES, st.sampled_from(["", "a", "a/b", "b/"]), st.sampled_from(["", "a/a/file", "b"]), st.integers(1, 3))
def test_a_local_listing_is_the_same(addresses: set[str], prefix: str, after: str, page: int) -> None:
    with TemporaryDirectory() as directory:
        blobs = LocalBlobs(namespace(Path(directory, "repo").as_uri()))
        for address in addresses:
            assert blobs.create(address, address.encode())
        usual = list(blobs.list(prefix, after))
        with patch.object(local_listing, "PAGE", page):
            assert list(blobs.list(prefix, after)) == usual
        assert [info.address for info in usual] == sorted(
            (address for address in addresses if address.startswith(prefix) and address > after), key=str.encode
        )


@settings(max_examples=20)
@given(st.lists(NAMES, max_size=12), st.sampled_from([1, 2, 10_000]))
def test_a_local_place_holds_the_same(names: list[str], known: int) -> None:
    """Directories are known or created again; the objects in them are the same."""
    with TemporaryDirectory() as directory, patch.object(local_writing, "_MAX_KNOWN", known):
        blobs = LocalBlobs(namespace(Path(directory, "repo").as_uri()))
        held = set[str]()
        for name in names:
            address = f"{name}/file"
            assert blobs.create(address, name.encode()) == (address not in held)
            held.add(address)
        assert {info.address: blobs.read(info.address) for info in blobs.list()} == {
            address: address.removesuffix("/file").encode() for address in held
        }
