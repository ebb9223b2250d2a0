"""The judge finds what it is there to find, and lets pass what is allowed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from graveler_core.model.entities import Commit, Layout
from graveler_core.model.ids import CommitId, MetarangeId, Nonce
from graveler_core.model.index import Index
from graveler_core.objects.commits import StoredCommit
from tests.proofs.processes.journal import NEVER, Journal, Operation, read_all
from tests.proofs.processes.judge import Judge, Look

PATH = "own/w0/0"


def write(number: int, began: int, ended: int, outcome: str = "done") -> Operation:
    return Operation("w0", number, "stage", {PATH: f"v{number}"}, began, ended, outcome)


def removal(number: int, began: int, ended: int) -> Operation:
    return Operation("w0", number, "remove", {PATH: None}, began, ended, "done")


FIRST, SECOND = write(1, 10, 20), write(2, 30, 40)


@pytest.mark.parametrize(
    ("writes", "value", "began", "allowed"),
    [
        ([], None, 100, True),
        ([FIRST], "v1", 100, True),
        ([FIRST], None, 100, False),
        ([FIRST], "v2", 100, False),
        ([FIRST, SECOND], "v2", 100, True),
        ([FIRST, SECOND], "v1", 100, False),
        ([FIRST, SECOND], "v1", 35, True),
        ([FIRST, write(2, 15, 40)], "v1", 100, True),
        ([FIRST, write(2, 30, NEVER, "unknown")], "v1", 100, True),
        ([FIRST, write(2, 30, NEVER, "unknown")], "v2", 100, True),
        ([write(1, 10, NEVER, "unknown"), SECOND], "v1", 100, True),
        ([FIRST, write(2, 30, 40, "refused")], "v1", 100, True),
        ([FIRST, write(2, 30, 40, "refused")], "v2", 100, False),
        ([FIRST, removal(2, 30, 40)], None, 100, True),
        ([FIRST, removal(2, 30, 40)], "v1", 100, False),
        ([FIRST, write(2, 200, 210)], "v2", 100, False),
    ],
)
def test_what_a_path_may_show(writes: list[Operation], value: str | None, began: int, allowed: bool) -> None:
    found = list(Judge(writes).shown(PATH, value, Look("a look", began, began + 1)))
    assert (not found) is allowed


def test_reads_are_judged_by_what_they_asked_for() -> None:
    """A listing also by what it left out."""

    def reads(verb: str, asked: str, seen: dict[str, str | None]) -> list[str]:
        return list(Judge([FIRST, Operation("r0", 0, verb, seen, 50, 60, "done", asked)]).reads())

    assert not reads("list", "own/w0/", {PATH: "v1"})
    assert not reads("list", "own/w1/", {})
    assert not reads("get", PATH, {PATH: "v1"})
    assert len(reads("list", "own/w0/", {})) == 1
    assert len(reads("get", PATH, {PATH: None})) == 1


@pytest.mark.parametrize(
    ("outcomes", "allowed"),
    [(["refused"], False), (["unknown"], True), (["unknown", "refused"], True), (["refused", "unknown"], False)],
)
def test_what_was_refused_is_not_there_unless_the_same_was_tried_before(outcomes: list[str], allowed: bool) -> None:
    calls = [
        Operation("c0", number, "commit", {"key": "c0:0"}, 10 * number, 10 * number + 5, outcome)
        for number, outcome in enumerate(outcomes)
    ]
    header = Commit(
        committer="",
        message="c0:0",
        creation_date=datetime(2026, 1, 1, tzinfo=UTC),
        parents=(),
        generation=1,
        nonce=Nonce("n"),
        operations="",
    )
    chain = [StoredCommit(CommitId("c"), header, Layout(index=Index(metarange_id=MetarangeId("m"))))]
    assert (not list(Judge(calls).commits(chain))) == allowed


def test_a_line_that_was_cut_off_never_was(tmp_path: Path) -> None:
    first = Journal(tmp_path, "w0")
    first.begin("stage", {PATH: "v0"})
    first.end("done")
    first.begin("stage", {PATH: "v1"})
    [life] = tmp_path.iterdir()
    life.write_bytes(life.read_bytes() + b'{"number": 1, "ended": 5, "outco')
    second = Journal(tmp_path, "w0")
    assert second.number == 2
    second.begin("stage", {PATH: "v2"})
    second.end("unknown", "lost")
    found = [(o.number, o.values[PATH], o.outcome, o.ended == NEVER) for o in read_all(tmp_path)]
    assert found == [(0, "v0", "done", False), (1, "v1", "unknown", True), (2, "v2", "unknown", False)]
