"""Deletion of many objects, and failures of some of them."""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from graveler_core.blobs.created_once import CreatedOnce
from graveler_core.blobs.deletion import batches, delete_all, delete_permitted
from graveler_core.blobs.open import open_blobs
from graveler_core.blobs.port import Blobs
from graveler_core.errors import GravelerError, Kind, OutcomeUnknown, SlowDown, Unavailable
from graveler_core.testing.counting_blobs import CountingBlobs
from tests.unit.blobs.test_remote import OPTIONS, Server

NAMES = [f"d/{number}" for number in range(7)]


class InThrees(CountingBlobs):
    """Deletes three objects by one request."""

    deletes_at_once = 3


def _filled(broken: dict[str, GravelerError]) -> InThrees:
    beneath = open_blobs(f"memory://{uuid.uuid4().hex}")
    for name in NAMES:
        beneath.create(name, b"x")
    return InThrees(beneath, lambda verb, address: broken.get(address) if verb == "delete" else None)


def _left(blobs: Blobs) -> list[str]:
    return [blob.address for blob in blobs.list()]


def test_batches() -> None:
    assert batches(NAMES, 3) == [NAMES[:3], NAMES[3:6], NAMES[6:]]
    assert batches([], 3) == []


@pytest.mark.parametrize("concurrent", [False, True])
def test_all_are_deleted(concurrent: bool) -> None:
    blobs, counts = _filled({}), list[int]()
    with ThreadPoolExecutor(2) as pool:
        delete_all(blobs, NAMES, pool.map if concurrent else map, counts.append)
    assert _left(blobs) == []
    assert counts == [3, 3, 1]
    assert blobs.calls["delete"] == 3


def test_a_failure_ends_it_and_names_the_objects() -> None:
    broken = {name: Unavailable(f"{name}: planted", kind=Kind.PermissionDenied, uri=name) for name in NAMES[4:6]}
    blobs, counts = _filled(dict(broken)), list[int]()
    with pytest.raises(Unavailable, match="2 of 3 objects could not be deleted: d/4: planted") as caught:
        delete_all(blobs, NAMES, deleted=counts.append)
    assert caught.value.kind is Kind.PermissionDenied
    assert caught.value.details == {"uri": "d/4", "failed": ["d/4", "d/5"]}
    assert pickle.loads(pickle.dumps(caught.value)).details == caught.value.details
    assert counts == [3, 1]
    assert _left(blobs) == NAMES[4:]


def test_objects_that_a_store_refuses_to_delete_keep_no_others() -> None:
    refused = {NAMES[0]: Unavailable("held", kind=Kind.PermissionDenied)}
    blobs, counts = _filled(dict(refused)), list[int]()
    assert delete_permitted(blobs, NAMES, deleted=counts.append) == refused
    assert (_left(blobs), counts) == (NAMES[:1], [2, 3, 1])
    blobs = _filled({NAMES[0]: Unavailable("away")})
    with pytest.raises(Unavailable, match="1 of 3 objects could not be deleted: away"):
        delete_permitted(blobs, NAMES)
    assert _left(blobs) == [NAMES[0], *NAMES[3:]]


def test_the_failure_of_a_single_request_is_its_own() -> None:
    blobs = _filled({NAMES[6]: SlowDown("planted")})
    with pytest.raises(SlowDown, match=r"^planted$"):
        delete_all(blobs, NAMES)
    assert _left(blobs) == NAMES[6:]


def test_what_could_not_be_deleted_is_not_written_again() -> None:
    blobs = CreatedOnce(_filled({NAMES[0]: OutcomeUnknown("planted")}))
    assert [blobs.create("new", b"1"), blobs.create(NAMES[0], b"1")] == [True, False]
    assert blobs.delete_many([NAMES[0], "new"]).keys() == {NAMES[0]}
    assert [blobs.create("new", b"1"), blobs.create(NAMES[0], b"1")] == [True, False]


def test_one_by_one_where_the_store_knows_nothing_better(tmp_path: Path) -> None:
    """The default goes on after a failure: a file cannot be deleted whose directory is a file."""
    blobs = open_blobs(tmp_path.as_uri())
    assert blobs.deletes_at_once == 1
    blobs.create("a/b", b"1")
    blobs.create("c", b"1")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "x").mkdir()
    failed = blobs.delete_many(["a/b", "broken/x", "c"])
    assert failed.keys() <= {"broken/x"}
    assert _left(blobs) == []


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.stop()


@pytest.fixture
def bucket(server: Server) -> Blobs:
    blobs = open_blobs("s3://bucket", {**OPTIONS, "endpoint": f"http://127.0.0.1:{server.http.server_port}"})
    for name in ("a", "b", "c"):
        blobs.create(name, b"1")
    server.requests.clear()
    return blobs


def test_one_request_deletes_many(server: Server, bucket: Blobs) -> None:
    assert bucket.delete_many(["a", "b", "missing"]) == {}
    assert server.objects.keys() == {"/bucket/c"}
    assert server.requests == ["POST"]


def test_refused_keys_are_found(server: Server, bucket: Blobs) -> None:
    """The store names them all, obstore only one. So each object is asked for."""
    server.refused = {"a": "AccessDenied", "c": "AccessDenied"}
    failed = bucket.delete_many(["a", "b", "c"])
    assert {address: error.kind for address, error in failed.items()} == dict.fromkeys("ac", Kind.PermissionDenied)
    assert "s3://bucket/a" in str(failed["a"])
    assert server.objects.keys() == {"/bucket/a", "/bucket/c"}
    assert server.requests == ["POST"] * 4


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("503 SlowDown", SlowDown),
        ("403 AccessDenied", Unavailable),
        ("404 NoSuchBucket", Unavailable),
        ("500", OutcomeUnknown),
        ("close", OutcomeUnknown),
        ("hang", OutcomeUnknown),
    ],
)
def test_a_failed_request_fails_for_each_object(
    server: Server, bucket: Blobs, step: str, expected: type[GravelerError]
) -> None:
    server.script = [step]
    failed = bucket.delete_many(["a", "b"])
    assert failed.keys() == {"a", "b"}
    assert {type(error) for error in failed.values()} == {expected}
    assert len(server.objects) == 3
    assert server.requests == ["POST"]


def test_a_lost_response_says_nothing_about_the_objects(server: Server, bucket: Blobs) -> None:
    server.script = ["lost"]
    failed = bucket.delete_many(["a", "b"])
    assert [type(error) for error in failed.values()] == [OutcomeUnknown, OutcomeUnknown]
    assert server.objects.keys() == {"/bucket/c"}
    assert bucket.delete_many(["a", "b"]) == {}


def test_a_throttled_key_is_a_throttled_request(server: Server, bucket: Blobs) -> None:
    server.refused = {"b": "SlowDown"}
    failed = bucket.delete_many(["a", "b"])
    assert [type(error) for error in failed.values()] == [SlowDown, SlowDown]


def test_a_store_that_cannot_be_reached_is_not_asked_for_each_object(server: Server, bucket: Blobs) -> None:
    names = [f"n{number}" for number in range(500)]
    server.refused = {"n7": "AccessDenied"}
    server.script = ["work", *["500"] * 1_000]
    failed = bucket.delete_many(names)
    assert list(failed) == names
    assert {type(error) for error in failed.values()} == {OutcomeUnknown}
    assert len(server.requests) < 100
