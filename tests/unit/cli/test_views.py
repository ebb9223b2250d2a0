"""The JSON documents: their field names are a promise, so each is spelled out here."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from graveler_core.cli import usage, views
from graveler_core.documents import upkeep, versions
from graveler_core.gc.collected import Collected
from graveler_core.gc.findings import Finding, Thing, Trouble
from graveler_core.gc.sweep import Swept
from graveler_core.model.changes import Change, ChangeKind, ChangeSummary, MergeConflict
from graveler_core.model.collection import NEVER_REACHED, Expiry
from graveler_core.model.entities import BranchRecord, RepositoryState, Tag
from graveler_core.model.entry import AddressType, CommonPrefix, Entry
from graveler_core.model.ids import BranchId, BranchUid, CommitId, StagingToken, TagId
from graveler_core.model.usage import Usage

MOMENT = datetime(2013, 1, 1, tzinfo=UTC)
ENTRY = Entry(
    address="data/x",
    size=3,
    checksum="abc",
    mtime=MOMENT,
    content_type="text/plain",
    metadata={"k": "v"},
    address_type=AddressType.RELATIVE,
    path="a/b",
    identity=b"\x01" * 32,
)
ENTRY_DOCUMENT = {
    "type": "object",
    "path": "a/b",
    "size": 3,
    "checksum": "abc",
    "mtime": "2013-01-01T00:00:00.000000Z",
    "content_type": "text/plain",
    "metadata": {"k": "v"},
    "address": "data/x",
    "address_type": "relative",
    "identity": "01" * 32,
}


def test_listed() -> None:
    assert views.LISTED.document(ENTRY) == ENTRY_DOCUMENT
    assert views.LISTED.document(CommonPrefix("a/")) == {"type": "prefix", "path": "a/"}
    assert views.LISTED.cells(ENTRY) == (3, MOMENT, "a/b")
    assert views.LISTED.cells(CommonPrefix("a/")) == (None, None, "a/")


def test_usage() -> None:
    view = usage.directories("raw/")
    inside, total = Usage("raw/2024/", 1_000, 5_000), Usage("raw/", 2_000, 7_000)
    assert view.document(inside) == {"type": "directory", "path": "raw/2024/", "size": 5_000, "entries": 1_000}
    assert view.document(total) == {"type": "total", "path": "raw/", "size": 7_000, "entries": 2_000}
    assert [view.cells(one) for one in (inside, total)] == [(5_000, 1_000, "raw/2024/"), (7_000, 2_000, "total")]
    assert [column.people(cell) for column, cell in zip(view.columns, view.cells(inside), strict=True)] == [
        "5.0 kB",
        "1,000",
        "raw/2024/",
    ]


def test_content_by_state() -> None:
    counts = {"deleted": 1, "spared": 2, "condemned": 4, "named": 8, "young": 16, "uploading": 32, "waiting": 64}
    sizes = {f"{name}_size": 1_000 * count for name, count in counts.items()}
    counts |= {"history": 3, "condemned_expired": 1}
    sizes |= {"history_size": 3_000, "condemned_expired_size": 1_000}
    rows = upkeep.stored_states(Collected(dry_run=True, **counts, **sizes))
    assert [(row["type"], row["state"], row["objects"]) for row in rows] == [
        ("state", "live", 5),
        ("state", "history", 3),
        ("state", "young", 16),
        ("state", "uploading", 32),
        ("state", "waiting", 64),
        ("state", "expired", 1),
        ("state", "unnamed", 3),
        ("state", "due", 1),
        ("sum", "reclaimable", 69),
        ("sum", "total", 125),
    ]
    assert [row["size"] for row in rows] == [1_000 * row["objects"] for row in rows]
    assert usage.STATES.document(rows[0]) == {"type": "state", "state": "live", "size": 5_000, "objects": 5}
    assert usage.STATES.cells(rows[0]) == (5_000, 5, "live")


def test_an_entry_of_which_little_is_known() -> None:
    document = versions.entry_document(Entry(data=b"x", size=1, address_type=AddressType.INLINE), "p")
    assert document["path"] == "p"
    assert document["address_type"] == "inline"
    assert [document[field] for field in ("checksum", "mtime", "content_type", "address")] == [None] * 4


def test_change() -> None:
    change = Change("a/b", ChangeKind.ADDED, None, ENTRY)
    assert views.CHANGES.document(change) == {
        "type": "change",
        "path": "a/b",
        "kind": "added",
        "before": None,
        "after": ENTRY_DOCUMENT,
    }
    assert views.CHANGES.cells(change) == ("added", None, 3, "a/b")


def test_an_empty_object_has_a_size() -> None:
    change = Change("a", ChangeKind.REMOVED, Entry(size=0), None)
    assert views.CHANGES.cells(change) == ("removed", 0, None, "a")


def test_conflict() -> None:
    conflict = MergeConflict("a/b", ENTRY, ENTRY, None)
    assert views.CONFLICTS.document(conflict) == {
        "type": "conflict",
        "path": "a/b",
        "kind": "removed in destination",
        "base": ENTRY_DOCUMENT,
        "source": ENTRY_DOCUMENT,
        "destination": None,
    }
    assert views.CONFLICTS.cells(conflict) == ("removed in destination", 3, 3, None, "a/b")


@pytest.mark.parametrize(
    ("sides", "kind"),
    [
        ((None, ENTRY, ENTRY), "added in both"),
        ((ENTRY, ENTRY, ENTRY), "changed in both"),
        ((ENTRY, None, ENTRY), "removed in source"),
        ((ENTRY, ENTRY, None), "removed in destination"),
    ],
)
def test_how_sides_disagree(sides: tuple[Entry | None, Entry | None, Entry | None], kind: str) -> None:
    assert MergeConflict("a", *sides).kind == kind


def test_commit() -> None:
    fields = {"id": "c1", "message": "m", "committer": "me", "parents": ("p",), "metadata": {"k": "v"}, "generation": 2}
    commit: Any = SimpleNamespace(
        creation_date=MOMENT, token="t", summary=lambda: ChangeSummary(added=1, removed=2_000), expired=None, **fields
    )
    document = {**fields, "creation_date": "2013-01-01T00:00:00.000000Z", "parents": ["p"], "expired": None}
    assert versions.commit_document(commit) == document
    logged = {"type": "commit", **document, "token": "t"}
    assert views.LOG.document(commit) == logged
    counts = {"added": 1, "changed": 0, "removed": 2_000}
    assert views.LOG_WITH_COUNTS.document(commit) == {**logged, "changes": counts}
    assert views.LOG_WITH_COUNTS.columns[3].people(views.LOG_WITH_COUNTS.cells(commit)[3]) == "+1 ~0 -2000"
    assert views.LOG_WITH_CHANGES.document((commit, None)) == logged
    change = Change(" a\nb", ChangeKind.ADDED, None, ENTRY)
    assert views.LOG_WITH_CHANGES.document((commit, change)) == {**versions.change_document(change), "commit": "c1"}


def test_expired_commits_are_marked() -> None:
    expiry = Expiry(since=MOMENT, rule="default rule: 30 days", final=True)
    assert versions.expiry_document(expiry) == {
        "since": "2013-01-01T00:00:00.000000Z",
        "rule": "default rule: 30 days",
        "final": True,
        "removes": False,
    }
    commit: Any = SimpleNamespace(id="c1", creation_date=MOMENT, committer="me", message="what", expired=expiry)
    assert "expired 2013-01-01" in views.LOG.cells(commit)[3]
    assert views.LOG.cells(commit)[3].endswith("(default rule: 30 days)] what")
    commit.expired = expiry.model_copy(update={"final": False})
    assert views.COMMITS.cells(commit)[3] == "[content about to expire (default rule: 30 days)] what"


def test_commits_that_are_removed_are_marked() -> None:
    announced = Expiry(since=MOMENT, rule=NEVER_REACHED)
    assert versions.expiry_document(announced) == {
        "since": "2013-01-01T00:00:00.000000Z",
        "rule": "no branch or tag has reached it",
        "final": False,
        "removes": True,
    }
    commit: Any = SimpleNamespace(id="c1", creation_date=MOMENT, committer="me", message="what", expired=announced)
    assert views.COMMITS.cells(commit)[3] == "[about to be removed: no branch or tag has reached it] what"
    removed = announced.model_copy(update={"final": True})
    assert views.expiry_for_people(removed) == "removed: no branch or tag has reached it"


def test_messages_and_paths_of_a_log_share_a_column() -> None:
    commit: Any = SimpleNamespace(id="c1", creation_date=MOMENT, committer="me", message="what\n\nwhy", expired=None)
    change = Change(" a\nb", ChangeKind.ADDED, None, ENTRY)
    first, second = views.LOG_WITH_CHANGES.columns
    identifier, said = views.LOG_WITH_CHANGES.cells((commit, None))
    assert second.people(said).endswith("  me  what …")
    assert second.machines(said) == "2013-01-01T00:00:00.000000Z me: what\n\nwhy"
    kind, path = views.LOG_WITH_CHANGES.cells((commit, change))
    assert (identifier, kind) == ("c1", "added")
    assert (second.people(path), second.machines(path)) == (" a\nb", " a\nb")
    assert callable(first.style)
    assert first.style(kind) != first.style(identifier)


def test_branch_tag_and_repository() -> None:
    branch = BranchRecord(
        id=BranchId("main"), uid=BranchUid("u"), commit_id=CommitId("c"), staging_token=StagingToken("flights/main:t")
    )
    assert views.BRANCHES.document(branch) == {"id": "main", "commit_id": "c"}
    tag = Tag(id=TagId("v1"), commit_id=CommitId("c"), message="why")
    said = {"id": "v1", "commit_id": "c", "message": "why", "signature": ""}
    assert views.TAGS.document(tag) == {
        **said,
        "tagger": "",
        "metadata": {},
        "creation_date": None,
        "target": "commit",
        "tree": None,
        "tagged": None,
    }
    outer = Tag(id=TagId("v2"), commit_id=CommitId("c"), tagged=tag)
    assert views.TAGS.document(outer)["tagged"] == views.TAGS.document(tag)
    of_tree = tag.model_copy(update={"tree": "a" * 64})
    names = [views.target_of_tag(each) for each in (tag, outer, of_tree)]
    assert names == ["commit c", "tag v1", "tree aaaaaaaaaaaa"]
    repository = {"id": "flights", "storage_namespace": "s3://b/f", "default_branch": "main"}
    assert views.REPOSITORIES.document(
        SimpleNamespace(creation_date=MOMENT, state=RepositoryState.ACTIVE, **repository)
    ) == {
        **repository,
        "state": "active",
        "creation_date": "2013-01-01T00:00:00.000000Z",
    }


@pytest.mark.parametrize("kind", ["added", "changed", "removed"])
def test_every_kind_of_change_has_a_colour(kind: str) -> None:
    style = views.CHANGES.columns[0].style
    assert callable(style)
    assert style(ChangeKind(kind).value)


def test_findings() -> None:
    missing = Finding(Trouble.MISSING, Thing.RANGE, "ab" * 32, "is not there", "node cd")
    assert views.FINDINGS.document(missing) == {
        "type": "finding",
        "trouble": "missing",
        "thing": "range",
        "id": "ab" * 32,
        "why": "is not there",
        "named_by": "node cd",
        "size": None,
    }
    assert views.FINDINGS.cells(missing) == ("missing", "range", None, "ab" * 32, "node cd", "is not there")


def test_swept() -> None:
    assert upkeep.swept_document(Swept(dry_run=True, objects=1, blobs=2, size=3, young=4)) == {
        "dry_run": True,
        "objects": 1,
        "blobs": 2,
        "size": 3,
        "young": 4,
        "renewed": 0,
        "rest": 0,
        "unreadable": 0,
        "uploads": 0,
    }
