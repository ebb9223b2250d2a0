"""From namespaces to stores; configuration that travels and secrets that do not show."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from graveler_core import connect
from graveler_core.blobs import open as blobs_open
from graveler_core.blobs.open import OpenedBlobs, open_blobs, open_bucket
from graveler_core.blobs.port import BlobStores
from graveler_core.blobs.remote import RemoteStore
from graveler_core.errors import GravelerError, InvalidInput, Kind, Unavailable
from graveler_core.model.address import Namespace, namespace

GOOD = {
    "s3": {"access_key_id": "canary-1", "secret_access_key": "canary-2", "region": "eu-north-1"},
    "gs": {"skip_signature": "true"},
    "az": {"account_name": "account", "account_key": "Y2FuYXJ5LTM="},
}


@pytest.fixture
def bucket() -> str:
    return f"memory://{uuid.uuid4().hex}"


def test_memory_is_shared_by_bucket(bucket: str) -> None:
    open_blobs(f"{bucket}/one").create("a", b"1")
    assert open_blobs(f"{bucket}/one/").read("a") == b"1"
    assert open_blobs(bucket).read("one/a") == b"1"
    assert open_blobs(namespace(f"{bucket}/two")).head("a") is None
    assert open_blobs(f"memory://{uuid.uuid4().hex}/one").head("a") is None


def test_siblings_do_not_see_each_other(bucket: str, tmp_path: Path) -> None:
    for top in (bucket, tmp_path.as_uri()):
        open_blobs(f"{top}/repo2").create("a", b"2")
        open_blobs(f"{top}/repo").create("b", b"1")
        assert [info.address for info in open_blobs(f"{top}/repo").list()] == ["b"]
        assert [info.address for info in open_blobs(top).list()] == ["repo/b", "repo2/a"]


@pytest.mark.parametrize("scheme", sorted(GOOD))
def test_opens_every_scheme_without_a_connection(scheme: str) -> None:
    blobs = open_blobs(f"{scheme}://some-bucket/below", GOOD[scheme])
    assert blobs.uri("a b") == f"{scheme}://some-bucket/below/a%20b"
    assert "canary" not in repr(blobs)
    blobs.close()


@pytest.mark.parametrize("bad", ["", "here", "ftp://host/x", "file://host/x", "s3:///x", "memory://b/../c", "file:///"])
def test_refuses_what_is_no_namespace(bad: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        open_blobs(bad)
    assert caught.value.kind is Kind.InvalidNamespace


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"nonsense": "canary", "region": "x"}, "nonsense"),
        ({"allow_http": "canary"}, "allow_http"),
        ({"timeout": "canary", "region": "x"}, "timeout"),
        ({"max_retries": "canary"}, "max_retries"),
        ({"retry_timeout": "canary"}, "retry_timeout"),
    ],
)
def test_names_a_bad_option_without_its_value(options: dict[str, str], named: str) -> None:
    with pytest.raises(InvalidInput, match=f"option '{named}'") as caught:
        open_blobs("s3://bucket", options)
    assert "canary" not in repr((caught.value, caught.value.details))
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("name", ["max_retries", "retry_timeout"])
@pytest.mark.parametrize("value", ["", "many", "nan", "inf", "-1", "1e20"])
def test_a_number_out_of_range_is_refused_with_its_rule(name: str, value: str) -> None:
    with pytest.raises(InvalidInput, match=f"option '{name}': must be a number from 0 to 1,000,000,000"):
        open_blobs("s3://bucket", GOOD["s3"] | {name: value})


@pytest.mark.parametrize("value", ["0", "1e9"])
def test_the_limits_of_numbers_are_accepted(value: str) -> None:
    open_blobs("s3://bucket", GOOD["s3"] | {"max_retries": value, "retry_timeout": value}).close()


@pytest.mark.parametrize("bucket", ["lake--usw2-az1--x-s3", "lake--usw2-az1--xa-s3"])
def test_directory_buckets_are_refused(bucket: str) -> None:
    opened = OpenedBlobs(GOOD["s3"])
    for opening in (opened.at, lambda uri: opened.foreign(namespace(uri)), connect):
        with pytest.raises(InvalidInput, match=f"s3://{bucket}/x.*: is in an S3 directory bucket"):
            opening(f"s3://{bucket}/x")
    assert OpenedBlobs(GOOD["s3"]).at("s3://lake-x-s3/x")
    with connect("memory://") as g, pytest.raises(InvalidInput, match="directory bucket"):
        g.create_repository("repo", f"s3://{bucket}/x")


def test_an_incomplete_configuration() -> None:
    with pytest.raises(InvalidInput, match="options and environment"):
        open_blobs("s3://bucket", {"secret_access_key": "canary", "region": "x"})


def test_opens_a_namespace_once(bucket: str) -> None:
    stores: BlobStores = OpenedBlobs()
    assert stores.at(f"{bucket}/x/") is stores.at(f"{bucket}/x")
    assert stores.at(bucket) is not stores.at(f"{bucket}/x")
    with ThreadPoolExecutor(8) as pool:
        assert len({id(b) for b in pool.map(lambda _: stores.at(f"{bucket}/y"), range(50))}) == 1


def test_namespaces_of_a_bucket_share_one_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client takes much memory and time, and a bucket may contain thousands of repositories."""
    opened: list[str] = []

    def noted(place: Namespace, options: Mapping[str, str]) -> RemoteStore:
        opened.append(place.bucket)
        return open_bucket(place, options)

    monkeypatch.setattr(blobs_open, "open_bucket", noted)
    blobs = OpenedBlobs({"region": "us-east-1"})
    for number in range(3):
        assert blobs.at(f"s3://one/lake-{number}").uri("data/a") == f"s3://one/lake-{number}/data/a"
        blobs.foreign(namespace(f"s3://one/source-{number}"))
        blobs.at(f"s3://two/lake-{number}")
    assert opened == ["one", "two"]


def test_closing_forgets_and_opens_anew(bucket: str) -> None:
    stores = OpenedBlobs()
    first = stores.at(bucket)
    first.create("a", b"1")
    stores.close()
    assert stores.at(bucket) is not first
    assert stores.at(bucket).read("a") == b"1"


def test_options_never_show() -> None:
    stores = OpenedBlobs(GOOD["s3"])
    stores.at("s3://bucket/x")
    assert "canary" not in repr(stores)
    assert "canary" not in str(stores)


def test_travels_within_the_process(bucket: str, tmp_path: Path) -> None:
    stores = OpenedBlobs(durable=False)
    stores.at(bucket).create("a", b"1")
    copy = pickle.loads(pickle.dumps(stores))
    assert copy.at(bucket).read("a") == b"1"
    assert copy.at(tmp_path.as_uri()).create("b", b"2")
    assert stores.at(tmp_path.as_uri()).read("b") == b"2"


def test_travels_to_another_process(s3: Any, tmp_path: Path, bucket: str) -> None:
    place = f"s3://{s3.make_bucket(f'bucket-{uuid.uuid4().hex[:12]}')}/x"
    stores = OpenedBlobs(s3.options)
    stores.at(place).create("a", b"from s3")
    stores.at(tmp_path.as_uri()).create("a", b"from a directory")
    stores.at(bucket).create("a", b"from memory")
    script = """
import pickle, sys
from graveler_core.errors import GravelerError
stores = pickle.loads(bytes.fromhex(sys.argv[1]))
for place in sys.argv[2:]:
    try:
        print(stores.at(place).read("a").decode())
    except GravelerError as e:
        print(type(e).__name__, e)
"""
    arguments = [sys.executable, "-c", script, pickle.dumps(stores).hex(), place, tmp_path.as_uri(), bucket]
    lines = subprocess.run(arguments, check=True, capture_output=True, text=True).stdout.splitlines()
    assert lines[:2] == ["from s3", "from a directory"]
    assert lines[2] == f"Unavailable {bucket}: a storage namespace in memory cannot be used from another process"


def test_memory_does_not_follow_a_fork(bucket: str) -> None:
    """A forked process has a copy of the memory that would silently go its own way."""
    stores = OpenedBlobs()
    stores.at(bucket).create("a", b"1")
    here = os.getpid()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "getpid", lambda: here + 1)
        with pytest.raises(Unavailable, match="another process"):
            stores.at(bucket)
    assert stores.at(bucket).read("a") == b"1"


_FORKED = """
import os, signal, sys
from graveler_core.blobs.open import OpenedBlobs
from graveler_core.errors import Unavailable
from graveler_core.model.address import namespace

stores = OpenedBlobs({"region": "x", "skip_signature": "true"})
if sys.argv[1] == "bucket":
    stores.at("s3://bucket/x")
elif sys.argv[1] == "memory":
    stores.at("memory://bucket/x").create("a", b"1")
child = os.fork()
if child == 0:
    signal.alarm(30)
    for opening in (lambda: stores.at("s3://bucket/x"), lambda: stores.foreign(namespace("s3://bucket/y"))):
        try:
            opening()
            print("opened")
        except Unavailable as e:
            print(e)
    sys.stdout.flush()
    os._exit(0)
_, status = os.waitpid(child, 0)
assert status == 0, status
"""


@pytest.mark.parametrize("used", ["bucket", "memory", "nothing"])
def test_a_bucket_does_not_follow_a_fork(used: str) -> None:
    """A request in the child would wait without end for threads that only the parent has."""
    run = subprocess.run([sys.executable, "-c", _FORKED, used], check=True, capture_output=True, text=True)
    rule = (
        "cannot be used in a process that was forked after a bucket, or a storage namespace in memory, was opened; "
        "start processes with the method spawn or forkserver"
    )
    refused = [f"s3://bucket/x: {rule}", f"s3://bucket/y: {rule}"]
    assert run.stdout.splitlines() == (["opened", "opened"] if used == "nothing" else refused)


def test_a_missing_bucket_is_one_clear_error(s3: Any) -> None:
    blobs = open_blobs("s3://never-made-bucket/x", s3.options)
    for verb in (lambda: blobs.create("a", b"1"), lambda: blobs.read("a"), lambda: list(blobs.list())):
        with pytest.raises(Unavailable) as caught:
            verb()
        assert "s3://never-made-bucket/x" in str(caught.value)


def test_etag_stays_when_renewed_on_s3(s3: Any) -> None:
    """Readers of several requests pin it; S3's depends on the number of parts."""
    blobs = open_blobs(f"s3://{s3.make_bucket(f'bucket-{uuid.uuid4().hex[:12]}')}", s3.options)
    blobs.create("a", b"x" * 12_000_000)
    before = blobs.head("a")
    assert blobs.renew("a")
    after = blobs.head("a")
    assert before is not None
    assert after is not None
    assert after.etag == before.etag


def test_no_error_shows_the_options(s3: Any) -> None:
    blobs = open_blobs("s3://never-made-bucket/x", s3.options)
    with pytest.raises(GravelerError) as caught:
        blobs.create("a", b"1")
    assert "canary" not in repr((caught.value, caught.value.details))
