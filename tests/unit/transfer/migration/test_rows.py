"""Tests of the accepted values of the rows of a source."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from graveler_core.transfer.broken_values import BrokenValueError
from graveler_core.transfer.migration.rows import (
    branch_of,
    commit_of,
    id_of,
    parents_of,
    repository_of,
    tag_of,
)

WHEN = "2020-01-02 03:04:05.6+02"
COMMIT = ("c1", "ann", "é", WHEN, "", '{"k": "v"}', ["c0"], 1, 7)
_FIELDS = ("id", "committer", "message", "created", "metarange", "metadata", "parents", "version", "generation")


def with_value(**values: Any) -> tuple[Any, ...]:
    return tuple(values.get(name, found) for name, found in zip(_FIELDS, COMMIT, strict=True))


def test_whole_rows() -> None:
    repository = repository_of(("flights", "s3://bucket//x/", WHEN, "main"))
    assert (repository.id, repository.storage_namespace) == ("flights", "s3://bucket/x")
    assert repository.creation_date == datetime(2020, 1, 2, 1, 4, 5, 600_000, tzinfo=UTC)
    assert branch_of(("main", "t", "c1")).staging_token == "t"
    assert branch_of(("main", "", "c1")).staging_token is branch_of(("main", None, "c1")).staging_token is None
    assert tag_of(("v1", "c1")).commit_id == "c1"
    commit = commit_of(COMMIT)
    assert (commit.metadata, commit.parents) == ({"k": "v"}, ("c0",))


def test_dates_without_a_zone_are_utc() -> None:
    assert commit_of(with_value(created="2020-01-02T03:04:05")).creation_date == datetime(
        2020, 1, 2, 3, 4, 5, tzinfo=UTC
    )


@pytest.mark.parametrize(
    ("parents", "version", "expected"),
    [
        (None, 0, ()),
        ("[]", 1, ()),
        ("null", 1, ()),
        ('["a", "b"]', 1, ("a", "b")),
        ('["a", "b"]', 0, ("b", "a")),
        (["a", "b"], None, ("b", "a")),
        (["a"], 0, ("a",)),
    ],
)
def test_parents(parents: Any, version: Any, expected: tuple[str, ...]) -> None:
    """What was merged into comes first, which in version 0 stands last."""
    assert parents_of(parents, version) == expected


def test_metadata_that_is_not_there() -> None:
    assert commit_of(with_value(metadata=None)).metadata == commit_of(with_value(metadata="null")).metadata == {}


@pytest.mark.parametrize(
    ("read", "rule"),
    [
        (lambda: repository_of(("Flights", "s3://b", WHEN, "main")), "repository name 'Flights'"),
        (lambda: repository_of((None, "s3://b", WHEN, "main")), "id must be text, but is null"),
        (lambda: repository_of(("flights", "local://b", WHEN, "main")), "must begin with one of"),
        (lambda: repository_of(("flights", b"s3://b", WHEN, "main")), "must be text, but is bytes"),
        (lambda: repository_of(("flights", "s3://b", "infinity", "main")), "is not a time"),
        (lambda: repository_of(("flights", "s3://b", "0001-01-01 00:00:00+14", "main")), "is not a time"),
        (lambda: repository_of(("flights", "s3://b", None, "main")), "creation_date must be text"),
        (lambda: repository_of(("flights", "s3://b", WHEN, "a/b")), "branch name 'a/b'"),
        (lambda: branch_of(("main", 7, "c1")), "staging_token must be text, but is int"),
        (lambda: branch_of(("main", "t", "")), "1 to 255 characters"),
        (lambda: tag_of(("v/1", "c1")), "tag name 'v/1'"),
        (lambda: commit_of(with_value(id="x" * 256)), "1 to 255 characters"),
        (lambda: commit_of(with_value(message=None)), "message must be text, but is null"),
        (lambda: commit_of(with_value(message="\udcff")), "message must be valid UTF-8"),
        (lambda: commit_of(with_value(metadata="{")), "metadata is not valid JSON"),
        (lambda: commit_of(with_value(metadata="[" * 100_000)), "nested too deeply"),
        (lambda: commit_of(with_value(metadata="[]")), "must be an object with text values"),
        (lambda: commit_of(with_value(metadata='{"a": null}')), "metadata 'a' must be text, but is null"),
        (lambda: commit_of(with_value(metadata='{"a": "\\ud800"}')), "must be valid UTF-8"),
        (lambda: commit_of(with_value(metadata={"a": "x" * 33_000})), "the maximum is 32,768"),
        (lambda: parents_of('{"a": 1}', 1), "must be a list"),
        (lambda: parents_of('"a"', 1), "must be a list"),
        (lambda: parents_of([None], 1), "parents must be text, but is null"),
        (lambda: parents_of([["a"]], 1), "parents must be text, but is list"),
        (lambda: parents_of([], 2), "version 2 is unknown"),
        (lambda: parents_of([], True), "version True is unknown"),
        (lambda: parents_of([], "commit:v1"), "version 'commit:v1' is unknown"),
        (lambda: id_of(5, "id"), "id must be text, but is int"),
    ],
)
def test_what_breaks_a_rule(read: Callable[[], object], rule: str) -> None:
    with pytest.raises(BrokenValueError, match=rule):
        read()
