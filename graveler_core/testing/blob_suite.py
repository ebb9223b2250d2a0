"""Test suite for implementations of `Blobs`. A test class inherits it and defines the fixture `blobs`.

`blobs` returns a new, empty namespace for each test. No test may be skipped or overridden.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from graveler_core.blobs.port import Blobs
from graveler_core.errors import GravelerError, InvalidInput, Kind, LimitExceeded, NotFound
from graveler_core.model.address import full_address, namespace

# The clock of the store may be on another machine, and S3 stores whole seconds.
_CLOCKS_APART = timedelta(minutes=10)

OUTSIDE = (
    "",
    ".",
    "..",
    "../other",
    "a/../../other",
    "a/..",
    "/etc/passwd",
    "//host/share",
    "a//b",
    "a/",
    "a/./b",
    "a\0b",
    "a\\b",
    "..\\other",
    "%2e%2e/other",
    "a/%2e%2e/b",
    "%2Fetc",
    "a%00",
    "a\nb",
    "a\x7fb",
    "a\ud800b",
    ".graveler-tmp/x",
)
"""Invalid addresses, which every method of every store refuses."""

ADDRESSES = (
    "plain",
    "_graveler/" + "0f" * 32,
    "data/a b/c=1,d=2/é ü 日本 😀.parquet",
    "odd/~!@$&'()+;[]{}^`|\"<>*:",
    "odd/question?and#hash",
    "odd/ends#1",
    "..dots/...",
    "long/" + "x" * 255,
)
"""Valid addresses, which every store accepts."""


class BlobSuite:
    """Tests of the interface `graveler_core.blobs.port.Blobs`."""

    @pytest.mark.parametrize("address", ADDRESSES)
    def test_gives_back_what_was_created(self, blobs: Blobs, address: str) -> None:
        assert blobs.create(address, b"content of " + address.encode()) is True
        assert blobs.read(address) == b"content of " + address.encode()
        assert [info.address for info in blobs.list()] == [address]
        info = blobs.head(address)
        assert info is not None
        assert (info.address, info.size) == (address, 11 + len(address.encode()))

    @pytest.mark.parametrize("size", [0, 1, 4096, 6_000_000])
    def test_keeps_every_byte(self, blobs: Blobs, size: int) -> None:
        content = random.Random(size).randbytes(size)  # noqa: S311 (content, no secret)
        assert blobs.create("a/b", content)
        assert blobs.read("a/b") == content
        assert isinstance(blobs.read("a/b"), bytes)
        chunks = [bytes(chunk) for chunk in blobs.chunks("a/b")]
        assert b"".join(chunks) == content
        assert all(chunks)

    @pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview, lambda b: memoryview(b + b"..")[: len(b)]])
    def test_takes_buffers(self, blobs: Blobs, wrap: Callable[[bytes], bytes]) -> None:
        assert blobs.create("a", wrap(b"content"))
        assert blobs.read("a") == b"content"

    def test_takes_buffers_of_wider_items(self, blobs: Blobs) -> None:
        assert blobs.create("a", memoryview(b"01234567").cast("I"))
        assert blobs.read("a") == b"01234567"

    def test_never_overwrites(self, blobs: Blobs) -> None:
        assert blobs.create("a", b"first") is True
        before = blobs.head("a")
        assert blobs.create("a", b"second") is False
        assert blobs.create("a", b"first") is False
        assert blobs.create("a", b"first", sure=True) is False
        assert blobs.create("b", b"first", sure=True) is True
        assert blobs.read("a") == b"first"
        assert blobs.head("a") == before

    @pytest.mark.parametrize("sizes", [[], [0], [1], [3, 0, 5], [9 << 20, 1, 12 << 20]], ids=str)
    def test_uploads_parts(self, blobs: Blobs, sizes: list[int]) -> None:
        parts = [bytes([number]) * size for number, size in enumerate(sizes)]
        blobs.upload("data/new", iter(parts))
        assert blobs.read("data/new") == b"".join(parts)

    def test_an_upload_whose_parts_end_with_an_error_shows_nothing(self, blobs: Blobs) -> None:
        """The error is raised as it is, although it looks like one of the store."""

        def parts() -> Iterator[bytes]:
            yield b"begun"
            raise OSError("the source failed")

        with pytest.raises(OSError, match="the source failed"):
            blobs.upload("data/new", parts())
        assert blobs.head("data/new") is None
        assert list(blobs.list()) == []
        blobs.upload("data/new", [b"again"])
        assert blobs.read("data/new") == b"again"

    def test_one_of_many_creators_wins(self, blobs: Blobs) -> None:
        ready = threading.Barrier(8)

        def create(n: int) -> bool:
            ready.wait()
            return blobs.create("contested/a", b"%d" % n * 1000)

        with ThreadPoolExecutor(8) as pool:
            won = list(pool.map(create, range(8)))
        assert sum(won) == 1
        assert blobs.read("contested/a") == b"%d" % won.index(True) * 1000

    def test_missing_objects(self, blobs: Blobs) -> None:
        assert blobs.create("directory/a", b"1")
        for address in ("missing", "directory", "directory/b", "directory/b/c"):
            assert blobs.head(address) is None
            assert blobs.renew(address) is False
            blobs.delete(address)
            for read in (
                blobs.read,
                lambda a: next(blobs.chunks(a)),
                lambda a: blobs.read_range(a, 0, 1),
                lambda a: blobs.read_range(a, 0, 0),
            ):
                with pytest.raises(NotFound, match=address) as caught:
                    read(address)
                assert caught.value.kind is Kind.ObjectNotFound
        assert blobs.read("directory/a") == b"1"

    @pytest.mark.parametrize(("start", "length"), [(0, 10), (0, 3), (3, 4), (8, 5), (9, 1), (10, 1), (50, 5), (4, 0)])
    def test_reads_ranges(self, blobs: Blobs, start: int, length: int) -> None:
        blobs.create("a/b", b"0123456789")
        assert blobs.read_range("a/b", start, length) == b"0123456789"[start : start + length]

    def test_reads_a_range_of_nothing(self, blobs: Blobs) -> None:
        blobs.create("a", b"")
        assert blobs.read_range("a", 0, 10) == b""

    @pytest.mark.parametrize(("start", "length"), [(-1, 2), (0, -1)])
    def test_refuses_negative_ranges(self, blobs: Blobs, start: int, length: int) -> None:
        blobs.create("a", b"0123456789")
        with pytest.raises(InvalidInput, match="must not be negative"):
            blobs.read_range("a", start, length)

    def test_tells_what_it_knows(self, blobs: Blobs) -> None:
        blobs.create("a", b"12345")
        blobs.create("b", b"67890")
        a, b = blobs.head("a"), blobs.head("b")
        assert a is not None
        assert b is not None
        assert a.size == 5
        assert a.etag != b.etag
        assert abs(datetime.now(UTC) - a.mtime) < _CLOCKS_APART
        assert a.mtime.utcoffset() == timedelta(0)
        assert list(blobs.list()) == [a, b]

    def test_deletes_and_creates_again(self, blobs: Blobs) -> None:
        blobs.create("a/b", b"1")
        blobs.create("a/c", b"2")
        blobs.delete("a/b")
        blobs.delete("a/b")
        assert blobs.head("a/b") is None
        assert [info.address for info in blobs.list()] == ["a/c"]
        assert blobs.create("a/b", b"3") is True
        assert blobs.read("a/b") == b"3"

    def test_deletes_many(self, blobs: Blobs) -> None:
        names = _create_all(blobs, ["a/b", "a/b & <c>", "a/é😀", "b/'\"+;=?", "c/d/e", "kept/a", "kept/b"])
        gone = [name for name in names if not name.startswith("kept/")]
        assert blobs.deletes_at_once >= 1
        assert blobs.delete_many([*gone, "a/missing", "missing", gone[0]]) == {}
        assert [info.address for info in blobs.list()] == ["kept/a", "kept/b"]
        assert all(blobs.head(name) is None for name in gone)
        assert blobs.delete_many(gone) == {}
        assert blobs.delete_many([]) == {}
        assert blobs.create("a/b", b"again") is True
        assert blobs.read("a/b") == b"again"

    @pytest.mark.parametrize("address", OUTSIDE)
    def test_deletes_nothing_if_an_address_leads_out(self, blobs: Blobs, address: str) -> None:
        blobs.create("a", b"1")
        with pytest.raises(InvalidInput, match=r"must|reserved"):
            blobs.delete_many(["a", address])
        assert blobs.read("a") == b"1"

    def test_renews(self, blobs: Blobs) -> None:
        content = b"x" * 6_000_000
        blobs.create("a/b", content)
        before = blobs.head("a/b")
        assert blobs.renew("a/b") is True
        after = blobs.head("a/b")
        assert before is not None
        assert after is not None
        assert after.mtime >= before.mtime
        assert after.size == before.size
        assert blobs.read("a/b") == content
        assert [info.address for info in blobs.list()] == ["a/b"]
        assert blobs.create("a/b", b"other") is False

    def test_lists_in_order_of_the_bytes(self, blobs: Blobs) -> None:
        names = ["a", "a!", "a.b", "a/b", "a/b.c", "a/b/c", "a0", "aé", "a\uffee", "a😀", "B", "Z/z", "_", "~"]
        taken = _create_all(blobs, names)
        assert [info.address for info in blobs.list()] == sorted(taken, key=str.encode)

    def test_lists_by_prefix_and_after(self, blobs: Blobs) -> None:
        names = _create_all(blobs, ["a", "a.", "a/b", "a/bc", "a/b.d/e", "a/b0/c", "a/c", "ab", "b/a/b"])
        marks = ["", "a", "a.", "a/", "a/b", "a/b.", "a/b.d/", "a/b.d/e", "a/b0/c", "a/bb", "a/zz", "ab", "b", "c"]
        for prefix in [*marks, ".", "a/b.d/e/f"]:
            for after in marks:
                expected = sorted(n for n in names if n.startswith(prefix) and n > after)
                assert [i.address for i in blobs.list(prefix, after)] == expected, (prefix, after)

    def test_lists_more_than_a_page(self, blobs: Blobs) -> None:
        names = [f"many/{n:05}" for n in range(1203)]
        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(lambda name: blobs.create(name, b"1"), names))
        assert [info.address for info in blobs.list("many/")] == names
        assert [info.address for info in blobs.list("many/", after=names[1100])] == names[1101:]
        assert next(iter(blobs.list())).address == names[0]
        assert blobs.delete_many(names[1:]) == {}
        assert [info.address for info in blobs.list()] == names[:1]

    def test_lists_while_it_changes(self, blobs: Blobs) -> None:
        names = [f"d{n}/x" for n in range(10)]
        _create_all(blobs, names)
        listing = blobs.list()
        seen = [next(listing).address]
        blobs.delete("d5/x")
        seen += [info.address for info in listing]
        assert [n for n in seen if n != "d5/x"] == [n for n in names if n != "d5/x"]

    def test_an_empty_namespace_lists_nothing(self, blobs: Blobs) -> None:
        assert list(blobs.list()) == []
        assert list(blobs.list("a/b", after="a/c")) == []

    @pytest.mark.parametrize("address", OUTSIDE)
    def test_refuses_ways_out(self, blobs: Blobs, address: str) -> None:
        for verb in _verbs(blobs):
            with pytest.raises(InvalidInput, match=r"must|reserved"):
                verb(address)
        assert list(blobs.list()) == []

    @pytest.mark.parametrize("prefix", ["/", "../", "a/../b", "a//", "a\0", "\\", "a/../", "%2e%2e/x"])
    def test_refuses_prefixes_that_lead_out(self, blobs: Blobs, prefix: str) -> None:
        with pytest.raises(InvalidInput):
            list(blobs.list(prefix))
        with pytest.raises(InvalidInput):
            list(blobs.list(after=prefix))

    @pytest.mark.parametrize("address", ["x" * 256, "é" * 128, "x/" * 400 + "y"])
    def test_refuses_addresses_too_long_for_some_store(self, blobs: Blobs, address: str) -> None:
        for verb in _verbs(blobs):
            with pytest.raises(LimitExceeded):
                verb(address)

    @pytest.mark.parametrize("address", ADDRESSES)
    def test_a_uri_is_its_own_one_spelling(self, blobs: Blobs, address: str) -> None:
        uri = blobs.uri(address)
        assert full_address(uri) == uri
        assert f"/{namespace(uri).path}".endswith("/" + address)
        assert uri.isascii()

    def test_errors_name_the_object(self, blobs: Blobs) -> None:
        with pytest.raises(GravelerError) as caught:
            blobs.read("no/such/object")
        assert blobs.uri("no/such/object") in str(caught.value)
        assert caught.value.details["uri"] == blobs.uri("no/such/object")
        assert caught.value.__cause__ is None

    def test_serves_threads(self, blobs: Blobs) -> None:
        def work(n: int) -> bytes:
            blobs.create(f"t/{n % 10}", b"%d" % (n % 10))
            return blobs.read(f"t/{n % 10}")

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(work, range(100))) == [b"%d" % (n % 10) for n in range(100)]


def _create_all(blobs: Blobs, names: list[str]) -> list[str]:
    """Create objects and return the addresses that the store accepted.

    A local directory refuses an object at the address of a directory, and objects below another object.
    """
    taken: list[str] = []
    for name in names:
        try:
            assert blobs.create(name, name.encode())
        except InvalidInput:
            assert any(t.startswith(name + "/") or name.startswith(t + "/") for t in taken), name
            continue
        taken.append(name)
    return taken


def _verbs(blobs: Blobs) -> list[Callable[[str], object]]:
    return [
        lambda address: blobs.create(address, b"x"),
        blobs.read,
        lambda address: list(blobs.chunks(address)),
        lambda address: blobs.read_range(address, 0, 1),
        blobs.head,
        blobs.delete,
        blobs.renew,
        blobs.uri,
    ]
