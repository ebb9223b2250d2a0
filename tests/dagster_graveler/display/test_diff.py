"""Diffs as tables and markdown: counted, bounded, escaped."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dagster_graveler.display import diff
from dagster_graveler.display.diff import SHOWN, escaped, summarise
from graveler_core.model.changes import Change, ChangeKind
from graveler_core.model.entry import Entry


def added(path: str, size: int = 7) -> Change:
    return Change(path, ChangeKind.ADDED, None, Entry(path=path, size=size))


def removed(path: str) -> Change:
    return Change(path, ChangeKind.REMOVED, Entry(path=path), None)


def test_changes_are_counted_by_table_and_kind() -> None:
    changed = Change("b/1", ChangeKind.CHANGED, Entry(path="b/1"), Entry(path="b/1"))
    summary = summarise([added("a/1"), added("a/2"), changed, removed("b/2"), removed("top")])
    assert summary.total == 5
    assert summary.markdown().splitlines() == [
        "| table | added | changed | removed |",
        "|---|---:|---:|---:|",
        "| a | 2 | 0 | 0 |",
        "| b | 0 | 1 | 1 |",
        "| top | 0 | 0 | 1 |",
    ]
    records = [record.data for record in summary.table().records]
    assert records[0] == {"path": "a/1", "change": "added", "bytes": 7}
    assert records[4] == {"path": "top", "change": "removed", "bytes": 0}


def test_no_changes_are_said_so() -> None:
    assert summarise([]).markdown() == "No changes."
    assert summarise([]).table().records == []


def test_a_large_diff_is_read_no_further_than_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diff, "COUNTED", 100)
    drawn = 0

    def endless() -> Iterator[Change]:
        nonlocal drawn
        while True:
            drawn += 1
            yield added(f"t/{drawn}")

    summary = summarise(endless())
    assert drawn == 101
    assert summary.total == 100
    assert len(summary.shown) == SHOWN
    assert "More than 100 changes" in summary.markdown()


def test_a_summary_is_short_however_many_names_there_are() -> None:
    lines = summarise(added(f"{number:04}.parquet") for number in range(SHOWN + 2_000)).markdown().splitlines()
    assert len(lines) == 2 + SHOWN + 2
    assert lines[2:4] == [r"| 0000\.parquet | 1 | 0 | 0 |", r"| 0001\.parquet | 1 | 0 | 0 |"]
    assert lines[-2:] == ["", "2,000 more names with changes."]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("daily_delays", r"daily\_delays"),
        ("a|b", r"a\|b"),
        ("<script>x</script>", r"\<script\>x\</script\>"),
        ("![x](http://h)", r"\!\[x\]\(http://h\)"),
        ("two\nlines\t|", r"two lines \|"),
    ],
)
def test_other_peoples_text_is_escaped(text: str, shown: str) -> None:
    assert escaped(text) == shown
    assert f"| {escaped(text.split('/', maxsplit=1)[0])} |" in summarise([added(text)]).markdown()
