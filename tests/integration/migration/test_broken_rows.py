"""Rows that cannot become records are told with table, id and rule; nothing of their repository is written."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.lifecycle.sources import entry
from graveler_core.committed.trees import address
from graveler_core.model.entry import AddressType
from graveler_core.transfer.lakefs.entries import BY_PREFIX, FULL, RELATIVE
from graveler_core.transfer.migration.report import MAX_BROKEN, MigrationOutcome, Result
from tests.integration.migration.histories import History, Lake, commit_id, flights
from tests.integration.migration.runs import rows

Breaks = Callable[[History], object]
NEW = commit_id(50)


def rejected(lake: Lake, name: str = "flights") -> MigrationOutcome:
    """What a run says of a broken repository, of which it has written nothing."""
    before = rows(lake.world)
    for dry_run in (True, False):
        outcome = next(found for found in lake.migrate(dry_run=dry_run).outcomes if found.repository == name)
        assert outcome.result is Result.BROKEN
    assert rows(lake.world) == before
    assert outcome.broken_rows >= len(outcome.broken) > 0
    return outcome


def staged(made: History, key: Any, identity: Any, data: Any) -> None:
    row = {"staging_token": "flights-main:token", "key": key, "identity": identity, "data": data}
    made.lake.insert("graveler_staging_kv", row)


def commit(**values: Any) -> Breaks:
    return lambda made: made.commit(50, **{"parents": [9], **values})


def address_of(text: str, kind: int = RELATIVE) -> Breaks:
    return lambda made: staged(made, b"bad", b"i", entry(1, text, kind))


def without_tree(made: History) -> None:
    made.commit(50, [9], meta_range_id="ab" * 32)


def of_lakefs(made: History) -> None:
    """A metarange of another program lies where that keeps it."""
    without_tree(made)
    made.lake.world.blobs.at(made.namespace).create(f"_lakefs/{'ab' * 32}", b"pebble")


def damaged_tree(made: History) -> None:
    tree = made.tree({"x": 12345})
    blobs = made.lake.world.blobs.at(made.namespace)
    blobs.delete(address(tree))
    blobs.create(address(tree), b"damaged")
    made.commit(50, [9], meta_range_id=tree)


def without_range(made: History) -> None:
    """The tree's root is there, its one range is not."""
    blobs = made.lake.world.blobs.at(made.namespace)
    before = {blob.address for blob in blobs.list()}
    tree = made.tree({"y": 54321})
    (lost,) = {blob.address for blob in blobs.list()} - before - {address(tree)}
    blobs.delete(lost)
    made.commit(50, [9], meta_range_id=tree)


CASES: list[tuple[Breaks, str, str, str]] = [
    (lambda made: made.tag("a/b", 9), "graveler_tags", "a/b", "tag name 'a/b': must be"),
    (lambda made: made.tag("int", 9), "graveler_tags", "int", "tag name 'int'"),
    (lambda made: made.branch("a b", 9), "graveler_branches", "a b", "branch name 'a b'"),
    (lambda made: made.branch("b", 9, commit_id=NEW), "graveler_branches", "b", "commit_id 0.*32 does not exist"),
    (lambda made: made.branch("b", 9, commit_id=None), "graveler_branches", "b", "commit_id must be text, but is null"),
    (
        lambda made: made.branch("b", 9, staging_token="flights-main:token"),
        "graveler_branches",
        "b|main",
        "is also used by branch",
    ),
    (commit(parents=[77]), "graveler_commits", NEW, "its parent 0*4d is missing"),
    (commit(parents=[50]), "graveler_commits", NEW, "it is an ancestor of itself"),
    (commit(version=2), "graveler_commits", NEW, "version 2 is unknown"),
    (commit(metadata={"a": 1}), "graveler_commits", NEW, "metadata 'a' must be text, but is int"),
    (commit(metadata=[1]), "graveler_commits", NEW, "metadata must be an object"),
    (commit(metadata={"graveler.migrated-from": "x"}), "graveler_commits", NEW, "which is reserved"),
    (commit(message="x" * 40_000), "graveler_commits", NEW, "have 40,0.* bytes; the maximum is 32,768"),
    (commit(meta_range_id="short"), "graveler_commits", NEW, "must be 64 hexadecimal digits or empty"),
    (without_tree, "graveler_commits", NEW, "_graveler/abab.*: is missing$"),
    (of_lakefs, "graveler_commits", NEW, "there is one of another format in _lakefs/"),
    (damaged_tree, "graveler_commits", NEW, "its content has another hash"),
    (without_range, "graveler_commits", NEW, "is missing"),
    (
        lambda made: staged(made, b"\xff", b"i", entry(1)),
        "graveler_staging_kv",
        "of branch main",
        "must be valid UTF-8",
    ),
    (
        lambda made: staged(made, b"", b"i", entry(1)),
        "graveler_staging_kv",
        "of branch main",
        "must not be empty",
    ),
    (
        lambda made: staged(made, b"x" * 1_001, b"i", entry(1)),
        "graveler_staging_kv",
        "of branch main",
        "the maximum is",
    ),
    (lambda made: staged(made, b"k", b"i", b"\xff\xff"), "graveler_staging_kv", "'k'", "data is not an entry"),
    (lambda made: staged(made, b"k", None, entry(1)), "graveler_staging_kv", "'k'", "must both be bytes, or both null"),
    (lambda made: staged(made, b"k", b"i", None), "graveler_staging_kv", "'k'", "must both be bytes, or both null"),
    (address_of(""), "graveler_staging_kv", "'bad'", "has no address"),
    (address_of("../x"), "graveler_staging_kv", "'bad'", "must be a relative path"),
    (address_of("s3://b/x"), "graveler_staging_kv", "'bad'", "must be a relative path"),
    (address_of("x", 7), "graveler_staging_kv", "'bad'", "address type 7 is unknown"),
    (address_of("https://host/x", FULL), "graveler_staging_kv", "'bad'", "must begin with one of"),
    (lambda made: staged(made, b"k", b"i", entry(-1)), "graveler_staging_kv", "'k'", "size must not be negative"),
]


@pytest.mark.parametrize(("breaks", "table", "id", "rule"), CASES)
def test_a_broken_row(small: Lake, breaks: Breaks, table: str, id: str, rule: str) -> None:
    made = flights(small)
    breaks(made)
    outcome = rejected(small)
    row = outcome.broken[0]
    assert outcome.broken_rows == (2 if breaks is without_range else 1)
    assert row.table == table
    assert re.search(id, row.id), row
    assert re.search(rule, row.rule), row


def test_broken_rows_on_both_kinds_of_database(lake: Lake) -> None:
    """All are told at once, and other repositories come over."""
    made = flights(lake)
    commit(version=2)(made)
    made.tag("a/b", 9)
    staged(made, b"k", b"i", b"\xff\xff")
    staged(made, b"\xff", b"i", entry(1))
    other = lake.history("other").repository()
    other.commit(1, state={"x": 1}).branch("main", 1, {"y": 2})
    assert lake.migrate("other").good
    outcome = rejected(lake)
    assert [row.table for row in outcome.broken] == [
        "graveler_commits",
        "graveler_tags",
        "graveler_staging_kv",
        "graveler_staging_kv",
    ]
    other.assert_migrated()


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ({"id": "No"}, "must have 3 to 63"),
        ({"storage_namespace": "local://x"}, "must begin with one of"),
        ({"storage_namespace": "s3://u:secret@bucket/x"}, "credentials"),
        ({"default_branch": "a/b"}, "branch name 'a/b'"),
        ({"creation_date": "not a time"}, "is not a time"),
        ({"default_branch": "other"}, "default_branch 'other' is missing"),
    ],
)
def test_a_broken_repository(small: Lake, values: dict[str, Any], rule: str) -> None:
    small.history().repository(**values).commit(1).branch("main", 1)
    outcome = rejected(small, values.get("id", "flights"))
    (row,) = outcome.broken
    assert (row.table, row.id) == ("graveler_repositories", values.get("id", "flights"))
    assert rule in row.rule


@pytest.mark.parametrize("default", ["main", "side"])
def test_a_repository_that_is_there_twice(small: Lake, default: str) -> None:
    """Nothing says which row counts, even where they are equal."""
    made = flights(small)
    small.sql("ALTER TABLE graveler_repositories RENAME TO former")
    small.sql("CREATE TABLE graveler_repositories AS SELECT * FROM former")
    made.repository(default_branch=default)
    (row,) = rejected(small).broken
    assert str(row) == "graveler_repositories flights: is duplicated"


def test_dates_that_python_does_not_know(lake: Lake) -> None:
    far = "12000-01-01 00:00:00+00" if lake.url.startswith("postgresql") else "12000-01-01"
    made = lake.history().repository().commit(1).branch("main", 1)
    made.commit(2, [1])
    lake.sql(f"UPDATE graveler_commits SET creation_date = '{far}' WHERE id = '{commit_id(2)}'")
    (row,) = rejected(lake).broken
    assert "in the years 1 to 9999" in row.rule


def test_what_sqlite_lets_in(small: Lake) -> None:
    """Texts where bytes belong, bytes that are no text, keys that are there twice."""
    made = flights(small)
    staged(made, "text", b"i", entry(1))
    small.sql("UPDATE graveler_commits SET message = CAST(x'ff' AS text) WHERE id LIKE '%1'")
    small.sql("UPDATE graveler_commits SET metadata = '{' WHERE id LIKE '%2'")
    small.sql("UPDATE graveler_commits SET parents = '7' WHERE id LIKE '%4'")
    small.sql("UPDATE graveler_tags SET commit_id = 5")
    rules = " ".join(map(str, rejected(small).broken))
    for said in (
        "key must be bytes, but is str",
        "message must be valid UTF-8",
        "metadata is not valid JSON",
        "must be a list",
    ):
        assert said in rules


def test_many_broken_rows(small: Lake) -> None:
    made = small.history().repository().commit(1).branch("main", 1, {})
    small.insert(
        "graveler_staging_kv",
        *(
            {"staging_token": "flights-main:token", "key": f"{n:04}".encode(), "identity": b"i", "data": b"\xff"}
            for n in range(300)
        ),
    )
    outcome = rejected(small)
    assert (outcome.broken_rows, len(outcome.broken)) == (300, MAX_BROKEN)
    assert made.name == outcome.repository


def test_addresses(lake: Lake) -> None:
    """Each kind becomes what it means; one object has one address."""
    made = lake.history().repository().commit(1).branch("main", 1, {})
    inside = f"{made.namespace}/data/inside"
    given = {
        "a": ("data/a", RELATIVE, "data/a", AddressType.RELATIVE),
        "b": ("s3://bucket//b%20c", FULL, "s3://bucket/b%20c", AddressType.FULL),
        "c": ("data/c", BY_PREFIX, "data/c", AddressType.RELATIVE),
        "d": ("gs://bucket/d", BY_PREFIX, "gs://bucket/d", AddressType.FULL),
        "e": (inside, FULL, "data/inside", AddressType.RELATIVE),
        "f": (inside, BY_PREFIX, "data/inside", AddressType.RELATIVE),
        "g": (f"{made.namespace}-beside/x", FULL, f"{made.namespace}-beside/x", AddressType.FULL),
    }
    for path, (said, kind, _, _) in given.items():
        staged(made, path.encode(), b"i", entry(3, said, kind))
    assert lake.migrate().good
    main = made.migrated().branch("main")
    for path, (_, _, meant, becomes) in given.items():
        found = main.get(path)
        assert (found.address, found.address_type) == (meant, becomes)
    found = main.get("a")
    assert (found.size, found.checksum, found.content_type, found.metadata) == (3, "sum3", "text/plain", {"n": "3"})
    assert found.mtime is not None
    assert found.mtime.timestamp() == 1_600_000_003
    assert lake.differences() == []
