"""The store in a bucket: its URL, the bucket that it accepts or refuses, and the requests that it sends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from threading import Barrier
from typing import Any

import obstore
import pyarrow as pa
import pytest
from obstore.store import MemoryStore

from graveler_core.errors import CorruptData, InvalidInput, Kind, PredicateFailed, SlowDown, Unavailable
from graveler_core.kv import bulk, open_store
from graveler_core.kv.backends import backing_off
from graveler_core.kv.backends.bucket.mark import prepare
from graveler_core.kv.backends.bucket.requests import BucketObject, BucketRequests
from graveler_core.kv.backends.bucket.store import BucketStore
from graveler_core.kv.backends.bucket.url import parse_url
from graveler_core.kv.limits import MAX_KEY, MAX_VALUE
from graveler_core.kv.store import EXISTS
from tests.memory_bucket import URL, memory_bucket, memory_requests
from tests.servers.process import free_port

SECRET = "hunter22"
ROOT = "lake/graveler-kv"
LONG = b"l" * 400
"""A key of which a name has all bytes. Longer ones that begin with it are in one group."""


@pytest.fixture
def memory() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def store(memory: MemoryStore) -> Iterator[BucketStore]:
    with closing(memory_bucket(memory)) as opened:
        yield opened


@pytest.fixture
def sent(store: BucketStore, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many requests of each kind the store sends."""
    noted = Counter[str]()

    def counting(name: str) -> Callable[..., Any]:
        plain = getattr(obstore, name)

        def send(*arguments: Any, **options: Any) -> Any:
            noted[name] += 1
            return plain(*arguments, **options)

        return send

    for name in ("get", "put", "delete", "list"):
        monkeypatch.setattr(obstore, name, counting(name))
    return noted


def fill(store: BucketStore, rows: int) -> list[bytes]:
    keys = [b"%05d" % number for number in range(rows)]
    bulk.set_many(store, [(b"p", key, b"v") for key in keys])
    return keys


def names(memory: MemoryStore) -> list[str]:
    return [found["path"] for page in obstore.list(memory) for found in page]


def test_urls() -> None:
    plain = parse_url("s3://bucket/some/prefix/")
    assert (plain.place.bucket, plain.names.root, dict(plain.options)) == ("bucket", "some/prefix/graveler-kv", {})
    assert parse_url("gs://bucket").names.root == "graveler-kv"
    full = parse_url(f"az://container/lake?account_key={SECRET}", {"account_key": "other", "timeout": "3s"})
    assert full.options == {"account_key": SECRET, "timeout": "3s"}
    assert (full.shown, SECRET in repr(full)) == ("az://container/lake", False)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("s3://", "scheme://bucket/prefix"),
        ("s3:///prefix", "scheme://bucket/prefix"),
        (f"s3://key:{SECRET}@bucket/lake", "without credentials"),
        ("s3://bucket/../lake", "scheme://bucket/prefix"),
        ("s3://bucket/l%20ke", "letters, digits, slashes"),
        ("s3://bucket/" + "x" * 200, "at most"),
        ("file:///lake", "s3, gs, az"),
        ("s3://bucket/lake?region=", "'region'"),
        ("s3://bucket/lake?region=a&region=b", "'region'"),
    ],
)
def test_urls_that_are_refused(url: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told) as caught:
        parse_url(url)
    assert caught.value.kind is Kind.InvalidUrl
    assert SECRET not in repr(caught.value) + str(caught.value.details)


@pytest.mark.parametrize(
    ("options", "told"), [(f"nonsense={SECRET}", "'nonsense' is not known"), (f"max_retries={SECRET}", "'max_retries'")]
)
def test_options_that_are_refused(options: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told) as caught:
        open_store(f"s3://bucket/lake?{options}")
    assert SECRET not in repr(caught.value) + str(caught.value.details)


def test_nobody_is_there() -> None:
    where = f"endpoint=http://127.0.0.1:{free_port()}&allow_http=true&region=us-east-1&max_retries=0"
    with pytest.raises(Unavailable, match="s3://bucket/lake") as caught:
        open_store(f"s3://bucket/lake?{where}&access_key_id=key&secret_access_key={SECRET}")
    assert SECRET not in repr(caught.value)


@pytest.mark.everyday
def test_a_missing_bucket(s3_url: str) -> None:
    bucket = s3_url.partition("//")[2].partition("/")[0]
    with pytest.raises(Unavailable, match="does not exist") as caught:
        open_store(s3_url.replace(bucket, "nowhere"))
    assert caught.value.kind is Kind.BucketNotFound


def test_options_of_object_stores_are_used(s3_url: str) -> None:
    """As with the storage namespaces of the same handle."""
    place, _, query = s3_url.partition("?")
    options = dict(option.split("=", 1) for option in query.split("&"))
    with closing(open_store(place, options)) as store:
        store.set(b"p", b"k", b"v")
        told = store.describe()
    assert (told["backend"], told["service"], told["host"], told["durability"]) == (
        "bucket",
        "s3",
        "127.0.0.1",
        "unknown",
    )
    assert "secret" not in repr(told)


def test_what_an_opened_store_leaves(memory: MemoryStore, store: BucketStore) -> None:
    assert names(memory) == [f"{ROOT}/schema_version"]
    obstore.put(memory, "lake/flights/data/x", b"of a storage namespace")
    memory_bucket(memory).close()
    assert store.describe()["durability"] == "unknown"


def test_opening_again_takes_one_request(memory: MemoryStore, store: BucketStore, sent: Counter[str]) -> None:
    del store
    memory_bucket(memory).close()
    assert sent == {"get": 1}


def test_stores_beside_each_other(memory: MemoryStore) -> None:
    stores = []
    for prefix in ("lake", "lake/b", "lak"):
        target, requests = parse_url(f"s3://bucket/{prefix}"), memory_requests(memory)
        prepare(requests, target.names)
        stores.append(BucketStore(target, requests))
    for number, store in enumerate(stores):
        store.set(b"p", b"k", b"%d" % number)
    assert [[row.value for row in store.scan(b"p")] for store in stores] == [[b"0"], [b"1"], [b"2"]]


@pytest.mark.parametrize(
    ("mark", "kind"), [(b"2", Kind.NewerSchema), (b"x", Kind.NotAGravelerStore), (b"", Kind.NotAGravelerStore)]
)
def test_other_marks(memory: MemoryStore, mark: bytes, kind: Kind) -> None:
    obstore.put(memory, f"{ROOT}/schema_version", mark)
    with pytest.raises(Unavailable) as caught:
        memory_bucket(memory)
    assert caught.value.kind is kind


def test_other_objects(memory: MemoryStore) -> None:
    obstore.put(memory, f"{ROOT}/probes/of-another-process", b"x")
    memory_bucket(memory).close()
    obstore.delete(memory, f"{ROOT}/schema_version")
    obstore.put(memory, f"{ROOT}/some/file", b"x")
    with pytest.raises(Unavailable, match="there are other objects below lake/graveler-kv") as caught:
        memory_bucket(memory)
    assert caught.value.kind is Kind.NotAGravelerStore


def test_another_process_opens_it_first(memory: MemoryStore) -> None:
    """Its rows are listed, and its mark is found after them."""

    class Late(BucketRequests):
        looked = False

        def read(self, name: str) -> BucketObject | None:
            found = super().read(name)
            if not Late.looked:
                Late.looked = True
                memory_bucket(memory).set(b"p", b"k", b"v")
            return found

    prepare(memory_requests(memory, Late), parse_url(URL).names)


class Overwriting(BucketRequests):
    """It ignores `If-None-Match`."""

    def create(self, name: str, content: bytes) -> str | None:
        self.put(name, content)
        return self.read(name).tag  # type: ignore[union-attr]


class Unconditional(BucketRequests):
    """It ignores `If-Match`."""

    def replace(self, name: str, content: bytes, tag: str) -> str | None:
        del tag
        self.put(name, content)
        return self.read(name).tag  # type: ignore[union-attr]


class OnlyExisting(BucketRequests):
    """It replaces any object that exists."""

    def replace(self, name: str, content: bytes, tag: str) -> str | None:
        held = self.read(name)
        return None if held is None else super().replace(name, content, held.tag)


class Reviving(BucketRequests):
    """It creates what it should replace."""

    def replace(self, name: str, content: bytes, tag: str) -> str | None:
        return super().replace(name, content, tag) if self.read(name) else self.create(name, content)


class Reluctant(BucketRequests):
    """It does not create objects."""

    def create(self, name: str, content: bytes) -> str | None:
        return None


class Racing(BucketRequests):
    """It checks a condition, and writes later."""

    both = Barrier(2)

    def each(self, work: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
        return [*super().each(work, tasks[:2]), *[None] * (len(tasks) - 2)]

    def _race(self, name: str, content: bytes, holds: bool) -> str | None:
        if not holds:
            return None
        if "race" in name:
            self.both.wait(60)
        self.put(name, content)
        return self.read(name).tag  # type: ignore[union-attr]

    def create(self, name: str, content: bytes) -> str | None:
        return self._race(name, content, self.read(name) is None)


class RacingToReplace(Racing):
    """As `Racing`, but only for objects that exist."""

    def create(self, name: str, content: bytes) -> str | None:
        return BucketRequests.create(self, name, content)

    def replace(self, name: str, content: bytes, tag: str) -> str | None:
        held = self.read(name)
        return self._race(name, content, held is not None and held.tag == tag)


class Caching(BucketRequests):
    """It returns old data."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.first: dict[str, str] = {}

    def create(self, name: str, content: bytes) -> str | None:
        tag = super().create(name, content)
        self.first.setdefault(name, tag or "")
        return tag

    def read(self, name: str) -> BucketObject | None:
        found = super().read(name)
        return None if found is None else BucketObject(found.content, self.first.get(name, found.tag))


class Unordered(BucketRequests):
    """It lists in another order."""

    def pages(self, directory: str, after: str | None = None) -> Iterator[Any]:
        for page in super().pages(directory, after):
            yield list(page)[::-1]


class Forgetting(BucketRequests):
    """Its listings do not contain all objects."""

    def pages(self, directory: str, after: str | None = None) -> Iterator[Any]:
        for page in super().pages(directory, after):
            yield list(page)[1:] if after else page


class Repeating(BucketRequests):
    """It ignores the beginning of a listing."""

    def pages(self, directory: str, after: str | None = None) -> Iterator[Any]:
        del after
        return super().pages(directory)


@pytest.mark.parametrize(
    ("service", "told"),
    [
        (Overwriting, "created an object twice"),
        (Unconditional, "replaced an object that has changed"),
        (OnlyExisting, "replaced an object that has changed"),
        (Reviving, "replaced an object that does not exist"),
        (Reluctant, "does not create objects"),
        (Racing, "not exactly one created an object"),
        (RacingToReplace, "not exactly one replaced an object"),
        (Caching, "returned old data"),
        (Unordered, "not in order"),
        (Forgetting, "not in order"),
        (Repeating, "not in order"),
    ],
)
def test_services_that_are_refused(memory: MemoryStore, service: type[BucketRequests], told: str) -> None:
    with pytest.raises(Unavailable, match=told) as caught:
        prepare(memory_requests(memory, service), parse_url(URL).names)
    assert caught.value.kind is Kind.StoreNotDurable
    assert caught.value.message.startswith(f"{URL} cannot hold a store: ")
    assert names(memory) == []


def test_a_service_that_lists_in_another_order(store: BucketStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scan would lose rows."""
    fill(store, 3)
    plain = obstore.list
    monkeypatch.setattr(
        obstore, "list", lambda *given, **options: [list(page)[::-1] for page in plain(*given, **options)]
    )  # type: ignore[arg-type]
    with pytest.raises(Unavailable, match="order of their names"):
        list(store.scan(b"p"))


def test_a_service_that_lists_from_the_first_name(store: BucketStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The emulator of Azure ignores where a listing is to begin."""
    keys, plain = fill(store, 5), obstore.list
    monkeypatch.setattr(obstore, "list", lambda *given, **options: plain(*given, **{**options, "offset": None}))
    assert [row.key for row in store.scan(b"p", start=keys[2], end=keys[4])] == keys[2:4]


def test_requests_of_single_rows(store: BucketStore, sent: Counter[str]) -> None:
    def counted(work: Callable[[], Any]) -> dict[str, int]:
        sent.clear()
        work()
        return dict(sent)

    assert counted(lambda: store.set_if(b"p", b"k", b"1", None)) == {"put": 1}
    assert counted(lambda: store.set(b"p", b"k", b"2")) == {"put": 1}
    assert counted(lambda: store.get(b"p", b"k")) == {"get": 1}
    found = store.get(b"p", b"k")
    assert found is not None
    assert counted(lambda: store.set_if(b"p", b"k", b"3", found.predicate)) == {"put": 1}
    assert counted(lambda: store.set_if(b"p", b"k", b"4", EXISTS)) == {"get": 1, "put": 1}
    assert counted(lambda: store.delete_if(b"p", b"k", EXISTS)) == {"get": 1, "put": 1}
    assert counted(lambda: store.set_if(b"p", b"k", b"5", None)) == {"get": 1, "put": 2}
    assert counted(lambda: store.delete(b"p", b"k")) == {"delete": 1}


def test_requests_of_many_rows(store: BucketStore, sent: Counter[str]) -> None:
    """A listing reads the names first, so it reads no more objects than it returns."""
    keys = fill(store, 2_500)
    store.delete_if(b"p", keys[0], EXISTS)
    for rows, expected in (
        (store.scan(b"p", limit=1), keys[1:2]),
        (store.scan(b"p", limit=40), keys[1:41]),
        (store.scan(b"p", start=keys[2_000], end=keys[2_003]), keys[2_000:2_003]),
        (store.scan(b"p", prefix=b"024"), keys[2_400:2_500]),
        (store.scan(b"q"), []),
    ):
        sent.clear()
        assert [row.key for row in rows] == expected
        assert (sent["get"], sent["list"], sent["put"]) == (len(expected), 1, 0)
    sent.clear()
    assert bulk.about_rows(store, b"p") == 2_499
    assert len(bulk.split_points(store, b"p", 3)) == 2
    assert sent == {"list": 2}
    assert bulk.drop_partition(store, b"p") == 2_499
    assert sent == {"list": 3, "delete": 3}


def test_deletions_take_few_requests(sent: Counter[str], memory: MemoryStore) -> None:
    requests = memory_requests(memory)
    for number in range(1_003):
        requests.put(f"{number:04}", b"x")
    requests.delete([f"{number:04}" for number in range(1, 1_001)])
    assert sent["delete"] == 1
    requests.delete([f"{number:04}" for number in range(1_003)])
    assert sent["delete"] == 3
    assert not any(name.startswith(("0", "1")) for name in names(memory))


def test_an_absent_object_among_others(memory: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Google Cloud Storage and Azure say that an object is absent, and obstore ends there."""
    plain = obstore.delete

    def delete(store: MemoryStore, paths: Sequence[str]) -> None:
        for path in paths:
            if path not in names(memory):
                raise FileNotFoundError(path)
            plain(store, [path])

    requests = memory_requests(memory)
    for name in ("a", "b", "c"):
        requests.put(name, b"x")
    monkeypatch.setattr(obstore, "delete", delete)
    requests.delete(["a", "absent", "b", "also absent", "c"])
    assert names(memory) == []


def test_a_scan_reads_as_it_is_consumed(store: BucketStore, sent: Counter[str]) -> None:
    fill(store, 400)
    sent.clear()
    rows = store.scan(b"p")
    next(rows)
    assert sent["get"] == 32
    for _ in range(32):
        next(rows)
    assert sent["get"] == 32 + 128


def test_pages_are_limited_by_their_size(store: BucketStore, sent: Counter[str]) -> None:
    keys = [b"%02d" % number for number in range(96)]
    bulk.load(store, b"p", pa.array(keys, pa.binary()), pa.array([bytes(MAX_VALUE)] * 96, pa.binary()))
    sent.clear()
    batches = bulk.scan_arrow(store, b"p")
    assert next(batches).num_rows == sent["get"] == 43
    assert sum(batch.num_rows for batch in batches) == 53


def test_long_keys_are_sorted(store: BucketStore) -> None:
    """Of keys that agree in their first 400 bytes, names do not tell the order."""
    keys = sorted(
        {LONG, *(LONG + b"%03d" % number for number in range(90)), LONG[:-1], LONG[:-1] + b"m", LONG + b"z" * 624}
    )
    assert max(map(len, keys)) == MAX_KEY
    bulk.set_many(store, [(b"p", key, key[-3:]) for key in reversed(keys)])
    assert [row.key for row in store.scan(b"p")] == keys
    for first, last in ((0, 5), (1, 3), (2, 40), (3, 92), (91, 95)):
        bounds = {"start": keys[first], "end": keys[last] if last < len(keys) else None}
        assert [row.key for row in store.scan(b"p", **bounds)] == keys[first:last]
        assert [row.key for row in store.scan(b"p", start=keys[first], limit=4)] == keys[first : first + 4]
    points = bulk.split_points(store, b"p", 4)
    assert points == sorted(set(points))
    assert set(points) <= {key[:400] for key in keys}


def test_a_row_that_goes_while_it_is_scanned(store: BucketStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was listed, and is absent or a tombstone when it is read. The limit counts rows that are there."""
    fill(store, 60)
    plain, gone = BucketRequests.read, []

    def read(self: BucketRequests, name: str) -> BucketObject | None:
        if not gone:
            gone.append(name)
            store.delete(b"p", b"00001")
            store.delete_if(b"p", b"00002", EXISTS)
        return plain(self, name)

    monkeypatch.setattr(BucketRequests, "each", lambda self, work, tasks: [work(task) for task in tasks])
    monkeypatch.setattr(BucketRequests, "read", read)
    assert [row.key for row in store.scan(b"p", limit=4)] == [b"00000", b"00003", b"00004", b"00005"]


def test_rows_in_wrong_places(memory: MemoryStore, store: BucketStore) -> None:
    fill(store, 2)
    one, other = names(memory)[:2]
    obstore.copy(memory, one, other)
    with pytest.raises(CorruptData, match="the row of another key"):
        list(store.scan(b"p"))
    with pytest.raises(CorruptData, match="the row of another key"):
        store.get(b"p", b"00001")
    obstore.put(memory, other, b"short")
    with pytest.raises(CorruptData, match="does not have the content"):
        store.get(b"p", b"00001")
    obstore.put(memory, other + "x", b"short")
    with pytest.raises(CorruptData, match="does not have the name"):
        list(store.scan(b"p"))


def test_objects_of_directories_are_no_rows(memory: MemoryStore, store: BucketStore) -> None:
    """Consoles and file systems on buckets leave empty objects."""
    fill(store, 2)
    obstore.put(memory, names(memory)[0].rpartition("/")[0] + "/folder", b"")
    assert [row.key for row in store.scan(b"p")] == [b"00000", b"00001"]


class Contended(BucketRequests):
    """Others create, replace and delete the object between any two requests of a call."""

    def replace(self, name: str, content: bytes, tag: str) -> str | None:
        self.put(name, self._mine(name))
        return super().replace(name, content, tag)

    def create(self, name: str, content: bytes) -> str | None:
        self.put(name, self._mine(name))
        done = super().create(name, content)
        self.delete([name])
        return done

    def _mine(self, name: str) -> bytes:
        held = super().read(name)
        return b"" if held is None else held.content


def test_an_endless_race_is_given_up(memory: MemoryStore, store: BucketStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written, so the caller may repeat it later."""
    monkeypatch.setattr(backing_off, "_PAUSE", 0)
    store.set(b"p", b"k", b"v")
    contended = BucketStore(parse_url(URL), memory_requests(memory, Contended))
    for write in (
        lambda: contended.set_if(b"p", b"k", b"w", EXISTS),
        lambda: contended.delete_if(b"p", b"k", EXISTS),
        lambda: contended.set_if(b"p", b"new", b"w", None),
    ):
        with pytest.raises(SlowDown, match="again and again"):
            write()
    assert [(row.key, row.value) for row in store.scan(b"p")] == [(b"k", b"v")]


def test_a_create_over_a_tombstone(memory: MemoryStore, store: BucketStore) -> None:
    """The tombstone may be replaced, removed, or become another one in between. The caller wants an absent key."""
    before = store.set_if(b"p", b"k", b"1", None)
    store.delete_if(b"p", b"k", before)
    assert [found["size"] for page in obstore.list(memory, ROOT) for found in page][:1] == [0]
    steps: list[Callable[[], object]] = [
        lambda: store.set(b"p", b"k", b"other"),
        lambda: store.delete(b"p", b"k"),
        lambda: (store.set(b"p", b"k", b"other"), store.delete_if(b"p", b"k", EXISTS)),
    ]

    class Overtaken(BucketRequests):
        def replace(self, name: str, content: bytes, tag: str) -> str | None:
            if steps:
                steps.pop(0)()
            return super().replace(name, content, tag)

    overtaken = BucketStore(parse_url(URL), memory_requests(memory, Overtaken))
    with pytest.raises(PredicateFailed):
        overtaken.set_if(b"p", b"k", b"2", None)
    store.delete_if(b"p", b"k", EXISTS)
    for value in (b"3", b"4"):
        predicate = overtaken.set_if(b"p", b"k", value, None)
        found = store.get(b"p", b"k")
        assert found is not None
        assert (found.value, found.predicate) == (value, predicate)
        store.delete_if(b"p", b"k", predicate)


def test_equal_values_have_different_predicates(store: BucketStore) -> None:
    """A value that was changed and changed back does not satisfy an old predicate."""
    first = store.set_if(b"p", b"k", b"v", None)
    second = store.set_if(b"p", b"k", b"v", first)
    assert first != second
    with pytest.raises(PredicateFailed):
        store.set_if(b"p", b"k", b"w", first)


def test_a_failed_task_leaves_nothing_under_way(memory: MemoryStore) -> None:
    """Otherwise a write of a call that has failed could overtake a later one."""
    requests, running = memory_requests(memory), []

    def work(number: int) -> None:
        running.append(number)
        if number == 3:
            raise Unavailable("no")
        running.remove(number)

    with closing(requests), pytest.raises(Unavailable, match="no"):
        requests.each(work, range(500))
    assert running == [3]


def test_a_store_that_is_closed_during_a_call(memory: MemoryStore) -> None:
    requests = memory_requests(memory)

    def work(number: int) -> None:
        requests.close()

    with pytest.raises(Unavailable, match="was closed"):
        requests.each(work, range(500))
