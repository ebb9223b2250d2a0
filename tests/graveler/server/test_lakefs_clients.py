"""lakeFS's own Python clients, unchanged, against a running server."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import Any

import lakefs
import lakefs_sdk
import pandas as pd
import pytest
from lakefs.client import Client
from lakefs_spec import LakeFSFileSystem

from graveler.server.api import commits
from tests.graveler.server.conftest import Place


@pytest.fixture
def client(place: Place) -> Client:
    admin = place.server.admin
    return Client(host=place.server.url, username=str(admin.access_key_id), password=admin.secret.get_secret_value())


def test_a_notebook_of_lakefs_runs(place: Place, client: Client) -> None:
    repo = lakefs.Repository(f"shop-{id(client):x}", client=client).create(place.namespace())
    main = repo.branch("main")
    main.object("raw/a.csv").upload(b"a,b\n1,2\n", content_type="text/csv", metadata={"source": "test"})
    first = main.commit("Add a", metadata={"who": "me"})
    assert first.get_commit().committer == "ada"
    assert first.get_commit().metadata == {"who": "me"}

    dev = repo.branch("dev").create(source_reference="main")
    with dev.object("raw/b.bin").writer(mode="wb") as writer:
        writer.write(b"0123456789")
    assert [change.path for change in dev.uncommitted()] == ["raw/b.bin"]
    dev.commit("Add b")
    assert [(change.type, change.path) for change in main.diff(dev)] == [("added", "raw/b.bin")]
    assert dev.merge_into(main)
    assert [entry.path for entry in main.objects()] == ["raw/a.csv", "raw/b.bin"]
    assert [commit.message for commit in main.log()][1:] == ["Add b", "Add a", "Repository created"]

    stat = main.object("raw/a.csv").stat()
    assert (stat.size_bytes, stat.content_type, stat.metadata) == (8, "text/csv", {"source": "test"})
    with main.object("raw/b.bin").reader(mode="rb") as reader:
        reader.seek(4)
        assert reader.read(3) == b"456"
        assert reader.read() == b"789"
    assert main.object("raw/a.csv").exists()
    assert not main.object("raw/missing").exists()

    tag = repo.tag("v1").create("main")
    assert tag.get_commit().id == main.get_commit().id
    assert [each.id for each in repo.tags()] == ["v1"]
    main.object("raw/a.csv").copy("dev", "copy/a.csv")
    assert dev.object("copy/a.csv").reader(mode="rb").read() == b"a,b\n1,2\n"
    dev.reset_changes()
    assert [*dev.uncommitted()] == []
    main.revert("main", parent_number=1)
    assert [entry.path for entry in main.objects()] == ["raw/a.csv"]
    main.delete_objects(["raw/a.csv", "raw/none"])
    assert [(change.type, change.path) for change in main.uncommitted()] == [("removed", "raw/a.csv")]
    tag.delete()
    dev.delete()
    assert [branch.id for branch in repo.branches()] == ["main"]
    repo.delete()
    assert repo.id not in [each.id for each in lakefs.repositories(client=client)]


def test_a_transaction_is_one_merge(place: Place, client: Client) -> None:
    repo = lakefs.Repository(place.repository(), client=client)
    main = repo.branch("main")
    with main.transact(commit_message="Load") as work:
        work.object("t/1").upload(b"one")
        work.object("t/2").upload(b"two")
    assert [entry.path for entry in main.objects()] == ["t/1", "t/2"]


def test_pages_of_objects_common_prefixes_and_commits(place: Place, client: Client) -> None:
    name = place.repository()
    branch = place.server.graveler.repository(name).branch("main")
    branch.put_many({f"d{number % 3}/{number:03}": b"x" for number in range(30)} | {"top": b"y"})
    for number in range(7):
        branch.put("n", str(number).encode())
        branch.commit(f"commit {number}")
    objects, refs = (kind(client.sdk_client._api) for kind in (lakefs_sdk.ObjectsApi, lakefs_sdk.RefsApi))

    def listed(**options: object) -> list[tuple[str, str]]:
        found, after = [], ""
        while True:
            page = objects.list_objects(name, "main", after=after, **options)
            found += [(each.path_type, each.path) for each in page.results]
            assert page.pagination.results == len(page.results)
            if not page.pagination.has_more:
                return found
            after = page.pagination.next_offset

    every = sorted([f"d{number % 3}/{number:03}" for number in range(30)] + ["n", "top"])
    assert listed(amount=4) == [("object", path) for path in every]
    directories = [("common_prefix", f"d{number}/") for number in range(3)]
    assert listed(amount=2, delimiter="/") == [*directories, ("object", "n"), ("object", "top")]
    ids = [commit.id for commit in place.server.graveler.repository(name).log("main")]
    page = refs.log_commits(name, "main", amount=3)
    rest = refs.log_commits(name, "main", amount=100, after=page.pagination.next_offset)
    assert [commit.id for commit in [*page.results, *rest.results]] == ids
    behind = refs.log_commits(name, "main", after=ids[2], amount=2)
    assert [commit.id for commit in behind.results] == ids[3:5]
    repo = place.server.graveler.repository(name)
    other = repo.create_branch("other", ids[3]).commit("other", allow_empty=True)
    behind = refs.log_commits(name, "main", after=other.id)
    passed = [commit.id for commit in behind.results]
    assert passed == ids[-len(passed) :]
    assert ids[3] in passed
    with pytest.raises(lakefs_sdk.exceptions.NotFoundException, match="commit not found"):
        refs.log_commits(name, "main", after="0" * 64)


@pytest.mark.parametrize(
    ("filters", "numbers"),
    [
        ({"objects": ["rare"]}, [12, 2]),
        ({"prefixes": ["ra"]}, [12, 2]),
        ({"prefixes": ["no/", "ra"]}, [12, 2]),
        ({"objects": ["n0"], "prefixes": ["rar"]}, [12, 2, 0]),
        ({"objects": ["nothing"]}, []),
        ({"prefixes": ["no/", "rar"], "stop_at": "main~8"}, [12]),
        ({"prefixes": ["rar"], "stop_at": "main~8"}, [12]),
        ({"objects": ["rare"], "since": "2026-01-01T00:00:00Z"}, [12, 2]),
    ],
    ids=str,
)
def test_a_request_for_a_log_looks_at_few_commits(
    place: Place, client: Client, monkeypatch: pytest.MonkeyPatch, filters: dict[str, Any], numbers: list[int]
) -> None:
    name = place.repository()
    repo = place.server.graveler.repository(name)
    branch = repo.branch("main")
    for number in range(20):
        branch.put("rare" if number in (2, 12) else f"n{number}", str(number).encode())
        branch.commit(f"commit {number}")
    if "stop_at" in filters:
        filters = filters | {"stop_at": repo.commit(filters["stop_at"]).id}
    monkeypatch.setattr(commits, "LOOKED_AT", 3)
    first = lakefs_sdk.RefsApi(client.sdk_client._api).log_commits(name, "main", amount=2, **filters)
    assert (first.results, first.pagination.has_more) == ([], True)
    found = lakefs.Repository(name, client=client).branch("main").log(amount=2, **filters)
    assert [commit.message for commit in found] == [f"commit {number}" for number in numbers]


def test_the_commit_has_the_date_that_the_client_gives(place: Place, client: Client) -> None:
    name = place.repository()
    main = lakefs.Repository(name, client=client).branch("main")
    main.object("a").upload(b"a")
    made = main.commit("Old", date=86_400)
    assert made.get_commit().creation_date == 86_400
    stored = place.server.graveler.repository(name).commit("main")
    assert stored.creation_date == datetime(1970, 1, 2, tzinfo=UTC)


def test_errors_are_those_that_the_client_knows(place: Place, client: Client) -> None:
    repo = lakefs.Repository(place.repository(), client=client)
    with pytest.raises(lakefs.exceptions.NotFoundException):
        repo.branch("nowhere").get_commit()
    with pytest.raises(lakefs.exceptions.ConflictException):
        repo.branch("main").create("main")
    with pytest.raises(lakefs.exceptions.BadRequestException):
        repo.branch("main").commit("nothing")
    with pytest.raises(lakefs.exceptions.ObjectNotFoundException):
        repo.branch("main").object("none").stat()
    repo.branch("main").object("once").upload(b"x", mode="xb")
    with pytest.raises(lakefs.exceptions.ObjectExistsException):
        repo.branch("main").object("once").upload(b"x", mode="xb")
    main, dev = repo.branch("main"), repo.branch("dev").create("main")
    for branch in (main, dev):
        branch.object("both").upload(branch.id.encode())
        branch.commit("Change both")
    with pytest.raises(lakefs.exceptions.ConflictException):
        dev.merge_into(main)
    assert ("conflict", "both") in [(change.type, change.path) for change in main.diff(dev)]
    dev.merge_into(main, strategy="source-wins")
    assert main.object("both").reader(mode="rb").read() == b"dev"


def test_pandas_reads_and_writes_by_lakefs_spec(place: Place, client: Client) -> None:
    name = place.repository()
    admin = place.server.admin
    options = {
        "host": place.server.url,
        "username": str(admin.access_key_id),
        "password": admin.secret.get_secret_value(),
    }
    frame = pd.DataFrame({"carrier": ["AA", "UA"], "flights": [1, 2]})
    frame.to_parquet(f"lakefs://{name}/main/flights.parquet", storage_options=options)
    assert pd.read_parquet(f"lakefs://{name}/main/flights.parquet", storage_options=options).equals(frame)
    fs = LakeFSFileSystem(**options)
    assert fs.ls(f"{name}/main/", detail=False) == [f"{name}/main/flights.parquet"]
    lakefs.Repository(name, client=client).branch("main").commit("Add flights")
    with fs.transaction(name, "main") as tx:
        fs.pipe(f"{name}/{tx.branch.id}/more.csv", b"a\n1\n")
        tx.commit(message="Add more")
    assert place.server.graveler.repository(name).branch("main").read("more.csv") == b"a\n1\n"
    fs.rm(f"{name}/main/more.csv")
    assert not fs.exists(f"{name}/main/more.csv")


def test_a_form_upload_stores_its_part(place: Place, client: Client) -> None:
    name = place.repository()
    api = lakefs_sdk.ObjectsApi(client.sdk_client._api)
    made = api.upload_object(name, "main", "form.txt", content=io.BytesIO(b"in a form").read())
    assert made.size_bytes == 9
    assert place.server.graveler.repository(name).branch("main").read("form.txt") == b"in a form"
