"""The collection record stays small however much is collected, and nothing is forgotten too early."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.codec.records import encode
from graveler_core.engine.reading.expired import MAX_REVIVED
from graveler_core.engine.staging import kept_content
from graveler_core.errors import Conflict, Kind, OutcomeUnknown
from graveler_core.gc.collection_record import FALLEN, FOREVER_FILES, CollectionRecord
from graveler_core.gc.deleted_sets import PERIOD, SETS, grouped
from graveler_core.gc.sweep import GRACE
from graveler_core.kv.limits import MAX_VALUE
from graveler_core.model.collection import (
    REMEMBERED,
    Collections,
    CollectionState,
    CondemnedSet,
    ExpiredCommits,
    RemovedCommits,
    SortedFile,
)
from graveler_core.model.entry import Entry
from graveler_core.model.ids import CommitId, Nonce
from graveler_core.objects.sorted_files import BOUND_BYTES, FILES
from graveler_core.records import access
from graveler_core.records import layout as keys
from tests import smallest
from tests.unit.engine.interposed import Crash, Interposed
from tests.unit.engine.templates import Template
from tests.unit.gc.lake import NOW, Lake

DAY = timedelta(days=1)
START = datetime(2026, 1, 1, tzinfo=UTC)
BIGGEST = 10**12


def a_set(day: float = 0, objects: int = BIGGEST, files: int = 0) -> CondemnedSet:
    bound = "x" * BOUND_BYTES
    listed = [SortedFile(name="000000.parquet", first=bound, last=bound + "\U0010ffff", count=BIGGEST)] * files
    return CondemnedSet(
        id="0" * 32,
        state=CollectionState.CONDEMNED,
        since=START + timedelta(days=day, microseconds=1),
        files=tuple(listed),
        objects=objects,
        size=BIGGEST**2,
    )


def test_the_largest_record_fits() -> None:
    """A record that was shortened, after two more sets were deleted, with a third one."""
    full = a_set(files=FILES)
    record = Collections(
        current=full.model_copy(
            update={"unconfirmed": True, "expiring": full.files, "revived": (CommitId("0" * 64),) * MAX_REVIVED}
        ),
        past=(full,) * (2 + SETS + FALLEN - 1),
        expired=ExpiredCommits(id="0" * 32, files=full.files),
        forever=a_set(files=FOREVER_FILES),
        recording=full.since,
        adopted=True,
        removed=RemovedCommits(id="0" * 32, files=full.files, since=full.since, done=True),
        nonce=Nonce("0" * 32),
    )
    assert len(encode(record)) <= MAX_VALUE


@given(st.lists(st.tuples(st.floats(0, 1.5 * (REMEMBERED / DAY)), st.integers(1, 1_000)), max_size=40))
def test_sets_of_one_period_are_put_together(drawn: list[tuple[float, int]]) -> None:
    sets = [a_set(-age, count) for age, count in sorted(drawn)]
    groups = grouped(sets)
    assert list(chain(*groups)) == sets
    assert len(groups) == min(len(sets), SETS)
    for group in groups:
        assert group[0].since - group[-1].since < PERIOD


def test_small_sets_are_put_together_first() -> None:
    sizes = [9, 2, 1, 9, 8, 9, 5, 9]
    with smallest.patched({"graveler_core.gc.deleted_sets.SETS": 5}):
        found = grouped([a_set(-number / 100, size) for number, size in enumerate(sizes)])
    assert [[one.objects for one in group] for group in found] == [[9, 2, 1], [9], [8], [9, 5], [9]]


def record(lake: Lake) -> Collections:
    held = access.read(lake.world.kv, keys.collections(lake.record.id, lake.record.uid))
    assert held is not None
    return held.value


def deleted(lake: Lake) -> Entry:
    """Content that a collection deletes now."""
    lost = lake.branch().put("lost", b"lost")
    lake.branch().reset()
    assert lake.collect(NOW).deleted == 1
    return lost


def refuses(lake: Lake, entry: Entry) -> bool:
    try:
        lake.branch().stage("again", entry)
    except Conflict as e:
        return e.kind is Kind.ContentCollected
    return False


@contextmanager
def small(sets: int = 1) -> Iterator[None]:
    names = {"gc.deleted_sets.SETS": sets, "objects.sorted_files.FILE_ROWS": 1, "objects.sorted_files.FILES": 2}
    with smallest.patched({f"graveler_core.{name}": value for name, value in names.items()}):
        yield


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


def test_the_record_stays_small(lake: Lake) -> None:
    lost: dict[datetime, Entry] = {}
    with small(sets=8):
        for number in range(30):
            lake.sleep(6 * DAY)
            lost[lake.world.clock.time] = deleted(lake)
            listed = record(lake)
            assert len(listed.past) <= 9, number
            assert all(len(one.files) <= 2 for one in listed.past)
            assert [len(one.files) for one in listed.past] != [1] * len(listed.past) or number < 9
        now = lake.world.clock.time
        found = {time: refuses(lake, entry) for time, entry in lost.items()}
    assert all(found[time] for time in found if now - time < REMEMBERED)
    assert not any(found[time] for time in found if now - time > REMEMBERED + PERIOD)
    total = sum(one.objects for one in record(lake).past)
    assert (total, sum(one.size for one in record(lake).past)) == (sum(found.values()), 4 * sum(found.values()))


def test_files_of_sets_that_were_put_together_go(lake: Lake) -> None:
    with small():
        for _ in range(4):
            deleted(lake)
        lake.sleep(GRACE)
        lake.collect()
    files = (lake.root / "_graveler" / "collections").glob("*/*")
    assert {path.parent.name for path in files} == {one.id for one in record(lake).past}


@pytest.fixture
def prepared(lake: Lake) -> tuple[Template[Lake], list[Entry]]:
    """Three sets that are to be put together, of which the files are old."""
    lost = [deleted(lake) for _ in range(3)]
    lake.sleep(GRACE)
    assert len(record(lake).past) == 3
    return Template(lake), lost


def test_a_collector_dies_at_any_call_and_the_next_goes_on(prepared: tuple[Template[Lake], list[Entry]]) -> None:
    template, lost = prepared
    at = reached = 0
    with small():
        while at == reached:
            lake = template.copy()
            kv = Interposed(lake.world.kv)
            kv.fail[at] = Crash()
            try:
                lake.collect(None, kv)
            except Crash:
                reached += 1
            assert all(refuses(lake, entry) for entry in lost), at
            lake.collect()
            assert all(refuses(lake, entry) for entry in lost), at
            assert len(record(lake).past) == 1
            at += 1
    assert at > 5


@pytest.mark.parametrize("done", [True, False])
def test_a_reply_is_lost(prepared: tuple[Template[Lake], list[Entry]], done: bool) -> None:
    template, lost = prepared
    with small():
        lake = template.copy()
        rehearsal = Interposed(lake.world.kv)
        lake.collect(None, rehearsal)
        assert rehearsal.writes
        for at in rehearsal.writes:
            lake = template.copy()
            kv = Interposed(lake.world.kv)
            kv.lose[at] = done
            with suppress(OutcomeUnknown):
                lake.collect(None, kv)
            lake.collect()
            assert (len(record(lake).past), [refuses(lake, entry) for entry in lost]) == (1, [True] * 3), at


def test_two_collectors_between_any_two_calls(prepared: tuple[Template[Lake], list[Entry]]) -> None:
    template, lost = prepared
    at, calls = 0, 1
    with small():
        while at < calls:
            lake = template.copy()
            kv = Interposed(lake.world.kv)
            kv.before[at] = lake.collect
            lake.collect(None, kv)
            calls, at = len(kv.verbs), at + 1
            assert (len(record(lake).past), [refuses(lake, entry) for entry in lost]) == (1, [True] * 3), at
            lake.sleep(GRACE)
            lake.collect()
            assert all(refuses(lake, entry) for entry in lost), at


def test_another_collector_puts_sets_together_after_the_record_was_read(
    prepared: tuple[Template[Lake], list[Entry]],
) -> None:
    """Files of the former sets are gone when they are to be read."""
    template, lost = prepared
    lake = template.copy()
    with small():
        own = CollectionRecord(lake.world.stores(), lake.record)
        lake.collect()
        assert own.shorten()
    assert [refuses(lake, entry) for entry in lost] == [True] * 3


def test_a_write_that_has_read_the_record_before_finds_the_new_files(
    prepared: tuple[Template[Lake], list[Entry]],
) -> None:
    template, lost = prepared
    lake = template.copy()
    read, reads = access.read, []

    def and_then_collected(*args: object) -> object:
        held = read(*args)  # type: ignore[arg-type]
        reads.append(held)
        if len(reads) == 1:
            lake.collect()
        return held

    with small(), patch.object(kept_content.access, "read", and_then_collected), pytest.raises(Conflict):
        kept_content.require_kept(lake.world.stores(), lake.record, lost[:1], swaps=False)
    assert len(reads) > 2


def test_a_missing_file_of_a_deleted_set_ends_no_collection(
    prepared: tuple[Template[Lake], list[Entry]], caplog: pytest.LogCaptureFixture
) -> None:
    """Sets are put together again when the set is forgotten."""
    template, _ = prepared
    lake = template.copy()
    missing = record(lake).past[0]
    for file in (lake.root / "_graveler" / "collections" / missing.id).iterdir():
        file.unlink()
    with small():
        deleted(lake)
        assert len(record(lake).past) == 4
        assert [event.message for event in caplog.records] == ["a record that cannot be read was left out"]
        lake.sleep(REMEMBERED)
        deleted(lake)
    assert len(record(lake).past) == 1
