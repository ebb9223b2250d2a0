"""Handles and values in notebooks: tables that escape all text, and that read nothing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from xml.etree.ElementTree import fromstring

import pytest

from graveler_core.model.changes import Change, ChangeKind, ChangeSummary
from graveler_core.model.entry import CommonPrefix, Entry
from graveler_core.testing.counting_store import Counting
from tests.unit.engine.world import World

HOSTILE = "<script>alert('&')</script>"
TIME = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def shown(value: object) -> tuple[str, dict[str, str]]:
    """Caption and rows of a table, which is well-formed."""
    table = fromstring(value._repr_html_())  # type: ignore[attr-defined]
    assert {part.tag for part in table.iter()} <= {"table", "caption", "tr", "th", "td"}
    rows = {row[0].text or "": row[1].text or "" for row in table.findall("tr")}
    return table.findtext("caption") or "", rows


def test_entries_and_changes() -> None:
    entry = Entry("data/1", 1_234_567, "sum", TIME, "text/csv", {"k": HOSTILE}, path=HOSTILE)
    rows = {
        "size": "1,234,567",
        "content type": "text/csv",
        "modified": "2026-01-02 03:04:05+00:00",
        "checksum": "sum",
        "address": "data/1",
        "metadata": f"k={HOSTILE}",
    }
    assert shown(entry) == (f"Entry {HOSTILE}", rows)
    assert shown(CommonPrefix("a/")) == ("Prefix a/", {})
    bigger = Entry("data/1", 2_000_000, "sum", TIME, "text/csv", {"k": HOSTILE}, path=HOSTILE)
    change = Change(HOSTILE, ChangeKind.CHANGED, entry, bigger)
    assert shown(change) == (f"changed {HOSTILE}", {"size before": "1,234,567", "size after": "2,000,000"})
    assert shown(Change("a", ChangeKind.REMOVED, entry, None))[1]["size before"] == "1,234,567"
    assert shown(ChangeSummary(1, 0, 2)) == ("Changes", {"added": "1", "changed": "0", "removed": "2"})


def test_commits() -> None:
    main = World().repository().branch("main")
    main.put("a", b"")
    made = main.commit(HOSTILE, committer=HOSTILE, metadata={"k": "v"})
    caption, rows = shown(made)
    assert caption == f"Commit {made.id}"
    assert (rows["message"], rows["committer"], rows["metadata"]) == (HOSTILE, HOSTILE, "k=v")
    assert rows["parents"] == made.parents[0]


@pytest.mark.parametrize(
    ("open_handle", "caption", "row"),
    [
        (lambda repo: repo, "Repository repo", ("default branch", "main")),
        (lambda repo: repo.branch("main"), "Branch main", ("repository", "repo")),
        (lambda repo: repo.at("main"), "Snapshot main", ("staged changes", "yes")),
        (lambda repo: repo.at("main@"), "Snapshot main@", ("staged changes", "no")),
    ],
)
def test_handles_read_nothing(open_handle: Callable[..., object], caption: str, row: tuple[str, str]) -> None:
    world = World()
    world.repository()
    kv = Counting(world.kv)
    opened = open_handle(world.graveler(kv).repository("repo"))
    before = kv.round_trips
    found, rows = shown(opened)
    assert kv.round_trips == before
    assert found == caption
    assert row in rows.items()


def columns(listing: object) -> list[dict[str, str]]:
    """Rows of a listing's table, which is well-formed."""
    head, *rows = fromstring(listing._repr_html_()).findall("tr")  # type: ignore[attr-defined]
    names = [cell.text or "" for cell in head]
    return [dict(zip(names, (cell.text or "" for cell in row), strict=True)) for row in rows]


def test_listings() -> None:
    repo = World().repository()
    main = repo.branch("main")
    main.put("a", b"old")
    main.put("d/b", b"")
    main.commit(HOSTILE)
    main.put("a", b"longer")
    listed = columns(main.list(delimiter="/"))
    assert [(row["path"], row["size"]) for row in listed] == [("a", "6"), ("d/", "")]
    assert columns(main.uncommitted()) == [{"path": "a", "change": "changed", "size before": "3", "size after": "6"}]
    assert columns(repo.log("main"))[0]["message"] == HOSTILE
    assert columns(repo.branches())[0]["branch"] == "main"
