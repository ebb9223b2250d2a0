"""`graveler kv copy` between a file and each store that is a server, in both directions."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl

from tests.integration.command_line import Cli, paths, put, refused
from tests.integration.stores.conftest import of_each_kind

HERE, BACK = "sqlite:///.graveler/meta.db", "sqlite:///back.db"


def test_copies_there_and_back(flights: Cli, store_url: str, here: Path) -> None:
    del here
    put(flights, "staged", b"x")
    for source, target in ((HERE, store_url), (store_url, BACK)):
        (copied,) = flights("kv", "copy", source, target, "--json").documents
        assert copied["repositories"] == 1
        verified = flights("kv", "verify", source, target)
        assert (verified.code, verified.err) == (0, "")
    assert flights("kv", "verify", HERE, BACK).code == 0
    shown = paths(flights, "graveler://flights/main/")
    ran = flights("ls", "-r", "graveler://flights/main/", "--store", store_url, "--json")
    assert [row["path"] for row in ran.documents] == shown
    assert "staged" in shown
    refused(flights("kv", "copy", HERE, store_url), "the target is not empty")


@of_each_kind
def test_work_goes_on_in_the_copy(flights: Cli, store_url: str) -> None:
    assert flights("kv", "copy", HERE, store_url).code == 0
    for arguments in (
        ("branch", "create", "graveler://flights/dev", "--source", "main"),
        ("rm", "graveler://flights/dev/readme"),
        ("commit", "graveler://flights/dev", "-m", "Remove the readme"),
        ("merge", "graveler://flights/dev", "graveler://flights/main"),
    ):
        ran = flights(*arguments, "--store", store_url)
        assert ran.code == 0, ran.err
    ran = flights("ls", "-r", "graveler://flights/main/", "--store", store_url, "--json")
    assert [row["path"] for row in ran.documents] == ["raw/feb.csv", "raw/jan.csv"]
    assert "secret" not in ran.out + ran.err


@of_each_kind
def test_dumps_there_and_back(flights: Cli, store_url: str, here: Path) -> None:
    """The dump of a restored repository is the same file."""
    (repository,) = flights("repo", "list", "--json").documents
    place = ("--create", "--adopt", "--storage-namespace", repository["storage_namespace"])
    assert flights("dump", "graveler://flights", "first.dump").code == 0
    for number, store in enumerate((store_url, BACK)):
        ran = flights("restore", "graveler://flights", "first.dump", *place, "--store", store)
        assert ran.code == 0, ran.err
        assert flights("dump", "graveler://flights", f"{number}.dump", "--store", store).code == 0
        assert (here / f"{number}.dump").read_bytes() == (here / "first.dump").read_bytes()
    logs = [flights("log", "graveler://flights/main", "--json", "--store", store).documents for store in (HERE, BACK)]
    assert [commit["id"] for commit in logs[0]] == [commit["id"] for commit in logs[1]]


def test_each_end_has_options_of_its_own(flights: Cli, s3_url: str) -> None:
    """So two buckets may have different services, regions and credentials."""
    bucket, _, query = s3_url.partition("?")
    into, out_of = (
        [word for name, value in parse_qsl(query) for word in (option, f"{name}={value}")]
        for option in ("--to-option", "--from-option")
    )
    refused(flights("kv", "copy", HERE, bucket, "--to-option", "endpoint"), "KEY=VALUE")
    assert flights("kv", "copy", HERE, bucket, *into).code == 0
    assert flights("kv", "verify", HERE, bucket, *into).code == 0
    assert flights("kv", "copy", bucket, BACK, *out_of).code == 0
    assert flights("kv", "verify", bucket, BACK, *out_of).code == 0

    flights("branch", "create", "graveler://flights/dev", "--source", "main", "--store", s3_url)
    flights("branch", "delete", "graveler://flights/dev", "--yes", "--store", s3_url)
    swept = [flights("kv", "sweep", s3_url, "--json").documents[0]["removed"] for _ in range(2)]
    assert swept[0] > 0
    assert swept[1] == 0
    refused(flights("kv", "sweep", HERE), "not a store in a bucket")
