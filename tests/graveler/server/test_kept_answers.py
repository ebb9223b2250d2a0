"""Answers to listings that a server keeps."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.responses import Response

from graveler.server.api import objects
from graveler.server.kept_answers import KeptAnswers
from graveler.server.s3 import listing
from graveler_core.facade.listing import Listing
from graveler_core.facade.repository import Repository
from tests.graveler.server.conftest import Place
from tests.graveler.server.plain_http import Http, header_of, user_who_may
from tests.graveler.server.s3.clients import BotoClients, boto_clients

only_sqlite = pytest.mark.parametrize("place", ["sqlite"], indirect=True)


def named(version: str | None) -> Listing[str]:
    return Listing(iter(["item"]), str, version=lambda: version)


class Writer:
    """Writes answers, and counts them."""

    def __init__(self) -> None:
        self.written = 0

    def write(self, size: int = 10) -> Response:
        self.written += 1
        return Response(bytes([self.written]) * size, media_type="application/json")


def test_an_answer_is_written_once_for_a_version_and_a_key() -> None:
    kept, writer = KeptAnswers(), Writer()
    bodies = [kept.answer(named("one"), (key,), writer.write).body for key in ("a", "b", "a", "b")]
    assert (bodies, writer.written) == ([b"\x01" * 10, b"\x02" * 10] * 2, 2)
    assert kept.answer(named("other"), ("a",), writer.write).body == b"\x03" * 10
    again = kept.answer(named("one"), ("a",), writer.write)
    assert (again.body, again.media_type, again.headers["content-length"]) == (b"\x01" * 10, "application/json", "10")
    again.headers["x-request-id"] = "7"
    assert "x-request-id" not in kept.answer(named("one"), ("a",), writer.write).headers


def test_an_answer_without_a_version_is_written_each_time() -> None:
    kept, writer = KeptAnswers(), Writer()
    for _ in range(3):
        kept.answer(named(None), ("a",), writer.write)
    assert writer.written == 3


def test_the_least_recently_used_answers_are_dropped() -> None:
    kept, writer = KeptAnswers(max_bytes=32_000), Writer()

    def is_kept(version: str, size: int = 3_000) -> bool:
        before = writer.written
        kept.answer(named(version), ("a",), lambda: writer.write(size))
        return writer.written == before

    assert [is_kept(version) for version in "abcdefgh"] == [False] * 8, "4,000 bytes each"
    assert [is_kept(version) for version in "abcdefgh"] == [True] * 8
    assert [is_kept(version) for version in "aiab"] == [True, False, True, False]
    assert [is_kept("large", 3_001) for _ in range(2)] == [False] * 2, "more than an eighth"
    assert [is_kept(version) for version in "defghiab"] == [True] * 8


@pytest.fixture
def repo(place: Place) -> Repository:
    found = place.server.graveler.repository(place.repository())
    main = found.branch("main")
    for path in ("a/1", "a/2", "b"):
        main.put(path, path.encode(), metadata={"of": path})
    main.commit("three")
    return found


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Paths that the API and the gateway write into answers."""
    found = list[str]()
    fields, of_document = objects.object_fields, listing._items

    def counted(root: str, item: Any, *, with_metadata: bool) -> dict[str, object]:
        found.append(item.path)
        return fields(root, item, with_metadata=with_metadata)

    def items(page: listing.ListedPage, *arguments: Any, **options: Any) -> Iterator[Any]:
        found.extend(key for key, _ in page.items)
        return of_document(page, *arguments, **options)

    monkeypatch.setattr(objects, "object_fields", counted)
    monkeypatch.setattr(listing, "_items", items)
    return found


def listed(place: Place, repo: Repository, ref: str = "main", **query: object) -> dict[str, Any]:
    path = f"/repositories/{repo.id}/refs/{ref}/objects/ls?{urlencode(query)}"
    status, said, headers = Http(place).send("GET", path)
    assert (status, headers["content-type"]) == (200, "application/json"), said
    answer = json.loads(said)
    assert isinstance(answer, dict)
    return answer


def paths(answer: dict[str, Any]) -> list[str]:
    return [each["path"] for each in answer["results"]]


def test_a_repeated_listing_is_not_written_again(place: Place, repo: Repository, written: list[str]) -> None:
    first = listed(place, repo)
    assert paths(first) == written == ["a/1", "a/2", "b"]
    assert [listed(place, repo) for _ in range(3)] == [first] * 3
    commit = repo.at("main").commit_id
    assert listed(place, repo, commit) == listed(place, repo, "main@") == first
    assert len(written) == 3


@only_sqlite
def test_each_query_has_an_answer_of_its_own(place: Place, repo: Repository) -> None:
    queries: dict[str, Callable[[dict[str, Any]], bool]] = {
        "": lambda answer: paths(answer) == ["a/1", "a/2", "b"],
        "prefix=a/": lambda answer: paths(answer) == ["a/1", "a/2"],
        "after=a/1": lambda answer: paths(answer) == ["a/2", "b"],
        "delimiter=/": lambda answer: paths(answer) == ["a/", "b"],
        "amount=1": lambda answer: answer["pagination"]["has_more"],
        "user_metadata=false": lambda answer: not any("metadata" in each for each in answer["results"]),
    }
    for _ in range(2):
        for query, is_right in queries.items():
            answer = listed(place, repo, **dict([query.split("=")] if query else []))
            assert is_right(answer), (query, answer)


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_signed_urls_are_made_each_time(place: Place, repo: Repository, written: list[str]) -> None:
    for number in range(3):
        signed = listed(place, repo, presign="true")
        assert all("physical_address_expiry" in each for each in signed["results"])
        assert len(written) == 3 * (number + 1)


@only_sqlite
def test_changes_are_seen_at_once(place: Place, repo: Repository, written: list[str]) -> None:
    main, before = repo.branch("main"), listed(place, repo)
    main.put("c", b"c")
    assert paths(listed(place, repo)) == paths(listed(place, repo)) == ["a/1", "a/2", "b", "c"]
    assert listed(place, repo, "main@") == before
    main.remove_prefix("a/")
    assert paths(listed(place, repo)) == ["b", "c"]
    main.compact()
    assert paths(listed(place, repo)) == ["b", "c"]
    main.commit("c without a")
    assert paths(listed(place, repo)) == ["b", "c"]
    written.clear()
    assert paths(listed(place, repo)) == ["b", "c"]
    assert not written
    main.hard_reset("main~1")
    assert listed(place, repo) == before
    assert not written


@only_sqlite
def test_a_branch_and_a_repository_that_are_created_again(place: Place, repo: Repository) -> None:
    place.server.graveler.repository(repo.id).create_branch("dev", "main")
    assert paths(listed(place, repo, "dev")) == ["a/1", "a/2", "b"]
    repo.delete_branch("dev")
    assert Http(place).send("GET", f"/repositories/{repo.id}/refs/dev/objects/ls")[0] == 404
    place.server.graveler.delete_repository(repo.id)
    assert Http(place).send("GET", f"/repositories/{repo.id}/refs/main/objects/ls")[0] == 404
    place.server.graveler.create_repository(repo.id, f"{place.server.root}/{repo.id}-again")
    assert paths(listed(place, repo)) == []


@only_sqlite
def test_a_kept_answer_needs_the_permission(place: Place, repo: Repository) -> None:
    path = f"/repositories/{repo.id}/refs/main/objects/ls"
    reader, stranger = user_who_may(place, "fs:*"), user_who_may(place, "fs:ReadRepository", "fs:ReadCommit")
    answers = [Http(place).send("GET", path, headers=header_of(user))[0] for user in (reader, stranger, reader)]
    assert answers == [200, 401, 200]


@pytest.fixture
def boto(place: Place) -> Iterator[BotoClients]:
    with boto_clients(place) as clients:
        yield clients


def test_listings_of_the_gateway(place: Place, repo: Repository, boto: BotoClients, written: list[str]) -> None:
    client = boto.open()

    def keys(call: str, **query: object) -> list[str]:
        answer = getattr(client, call)(Bucket=repo.id, **query)
        return [each["Key"] for each in answer.get("Contents", ())]

    calls = ("list_objects_v2", "list_objects")
    for call in calls:
        assert keys(call, Prefix="main/") == ["main/a/1", "main/a/2", "main/b"]
        assert keys(call, Prefix="main/a/") == ["main/a/1", "main/a/2"]
        assert keys(call, Prefix="main/", MaxKeys=1) == ["main/a/1"]
    assert len(written) == 12
    for call in calls:
        assert keys(call, Prefix="main/") == ["main/a/1", "main/a/2", "main/b"]
        assert keys(call, Prefix="main/", MaxKeys=1) == ["main/a/1"]
    assert len(written) == 12
    repo.branch("main").put("c", b"c")
    assert keys("list_objects_v2", Prefix="main/") == ["main/a/1", "main/a/2", "main/b", "main/c"]
    for _ in range(2):
        paged = {"Bucket": repo.id, "Prefix": "main@/", "PaginationConfig": {"PageSize": 2}}
        pages = client.get_paginator("list_objects_v2").paginate(**paged)
        assert [each["Key"] for page in pages for each in page["Contents"]] == ["main@/a/1", "main@/a/2", "main@/b"]
