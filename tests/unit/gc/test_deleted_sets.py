"""The collection record stays small however much is collected, and nothing is forgotten too early."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.blobs.local import LocalBlobs
from graveler_core.codec.records import encode
from graveler_core.engine.reading.expired import MAX_REVIVED
from graveler_core.engine.staging import kept_content
from graveler_core.errors import Conflict, Kind, OutcomeUnknown, Unavailable
from graveler_core.gc.collection_record import REPLACED, CollectionRecord
from graveler_core.gc.deleted_sets import FALLEN, FOREVER_FILES, PERIOD, SETS, grouped, shortening
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
from graveler_core.objects import condemned
from graveler_core.objects.sorted_files import BOUND_BYTES, FILES
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.segments import format as segment_format
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
        replaced={f"{number:032x}": full.since for number in range(REPLACED)},
        nonce=Nonce("0" * 32),
    )
    assert len(encode(record)) <= MAX_VALUE


@given(st.lists(st.tuples(st.floats(0, 1.5 * (REMEMBERED / DAY)), st.integers(1, 1_000)), max_size=40))
def test_sets_of_one_period_are_put_together(drawn: list[tuple[float, int]]) -> None:
    sets = [a_set(-age, count) for age, count in sorted(drawn)]
    groups = grouped(sets, SETS)
    assert list(chain(*groups)) == sets
    assert len(groups) == min(len(sets), SETS)
    for group in groups:
        assert group[0].since - group[-1].since < PERIOD


def test_small_sets_are_put_together_first() -> None:
    sizes = [9, 2, 1, 9, 8, 9, 5, 9]
    found = grouped([a_set(-number / 100, size) for number, size in enumerate(sizes)], 5)
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
        before = set(record(lake).replaced)
        lake.collect()
        listed, stored = listed_and_stored(lake)
        assert stored == listed | set(record(lake).replaced)
        assert not before & stored
        lake.sleep(GRACE)
        lake.collect()
    assert listed_and_stored(lake) == (listed, listed)
    assert not record(lake).replaced


def test_a_restored_record_can_be_used_for_a_grace_period(prepared: tuple[Template[Lake], list[Entry]]) -> None:
    """A backup of the database contains the record from before the sets were put together."""
    template, lost = prepared
    lake = template.copy()
    before = record(lake)
    with small():
        lake.collect()
        assert len(record(lake).past) == 1
        lake.sleep(GRACE - DAY)
        lake.collect()
        replaced(lake, **dict(before))
        assert all(refuses(lake, entry) for entry in lost)
        lake.collect()
        assert len(record(lake).past) == 1
    assert all(refuses(lake, entry) for entry in lost)


def test_a_record_from_before_the_deletion_can_be_used_for_a_grace_period(lake: Lake) -> None:
    lost = lake.branch().put("lost", b"lost")
    lake.branch().reset()
    lake.sleep(GRACE)
    assert lake.collect().condemned == 1
    before = record(lake)
    lake.sleep(GRACE)
    assert lake.collect().deleted == 1
    replaced(lake, **dict(before))
    assert refuses(lake, lost)


@pytest.fixture
def prepared(lake: Lake) -> tuple[Template[Lake], list[Entry]]:
    """Three sets that are to be put together, of which the files are old."""
    lost = [deleted(lake) for _ in range(3)]
    lake.sleep(GRACE)
    assert len(record(lake).past) == 3
    return Template(lake), lost


def test_no_more_replaced_sets_are_noted_than_the_record_has_room_for(
    prepared: tuple[Template[Lake], list[Entry]],
) -> None:
    """The oldest are forgotten first, and a time that a wrong clock has noted lasts no longer than others."""
    template, _ = prepared
    lake = template.copy()
    names, now = [f"{number:032x}" for number in range(1, 3)], lake.world.clock.time
    three = {one.id for one in record(lake).past}
    replaced(lake, replaced={names[0]: now - DAY, names[1]: now + 1_000 * DAY})
    with small(), smallest.patched({"graveler_core.gc.collection_record.REPLACED": 4}):
        lake.collect()
        assert set(record(lake).replaced) == {names[1], *three}
        lake.sleep(GRACE)
        lake.collect()
    assert not record(lake).replaced


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
        lake.sleep(GRACE)
        lake.collect()
        assert own.shorten(lake.world.clock.time - GRACE)
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
            lake.sleep(GRACE)
            lake.collect()
        return held

    with small(), patch.object(kept_content.access, "read", and_then_collected), pytest.raises(Conflict):
        kept_content.require_kept(lake.world.stores(), lake.record, lost[:1], swaps=False)
    assert len(reads) > 2


def test_a_restoration_finds_all_addresses_while_sets_are_put_together(
    prepared: tuple[Template[Lake], list[Entry]],
) -> None:
    """The files that it has listed are gone when it reads them."""
    template, lost = prepared
    lake = template.copy()
    real, reads = LocalBlobs.read, list[str]()

    def read(blobs: LocalBlobs, address: str) -> bytes:
        reads.append(address)
        if len(reads) == 2:
            lake.collect()
            lake.sleep(GRACE)
            lake.collect()
        return real(blobs, address)

    with small(), patch.object(LocalBlobs, "read", read):
        found = condemned.deleted_objects(lake.world.blobs.at(lake.root.as_uri()))
    assert found.column("address").to_pylist() == sorted(str(entry.address) for entry in lost)


Damage = Callable[[Path], contextlib.AbstractContextManager[object]]


def missing(file: Path) -> contextlib.AbstractContextManager[object]:
    file.unlink()
    return contextlib.nullcontext()


def cut(file: Path) -> contextlib.AbstractContextManager[object]:
    file.write_bytes(file.read_bytes()[:-9])
    return contextlib.nullcontext()


def refused(file: Path, *, unreadable: bool = False) -> contextlib.AbstractContextManager[object]:
    """The store does not return the file: it is archived, for example."""
    real = LocalBlobs.read

    def read(blobs: LocalBlobs, address: str) -> bytes:
        if file.as_posix().endswith(address):
            raise Unavailable("cannot read", unreadable=unreadable)
        return real(blobs, address)

    return patch.object(LocalBlobs, "read", read)


DAMAGES: list[Damage] = [missing, cut, partial(refused, unreadable=True)]


def file_of(lake: Lake, one: CondemnedSet) -> Path:
    (file,) = (lake.root / "_graveler" / "collections" / one.id).iterdir()
    return file


def replaced(lake: Lake, **update: object) -> None:
    """Change the record."""
    where = keys.collections(lake.record.id, lake.record.uid)
    held = access.read(lake.world.kv, where)
    assert held is not None
    access.replace(lake.world.kv, where, held, held.value.model_copy(update=update))


def listed_and_stored(lake: Lake) -> tuple[set[str], set[str]]:
    files = (lake.root / "_graveler" / "collections").glob("*/*")
    return {one.id for one in record(lake).sets}, {path.parent.name for path in files}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("number", range(3))
def test_a_set_that_cannot_be_read_stays_as_it_is(
    prepared: tuple[Template[Lake], list[Entry]], damage: Damage, number: int, caplog: pytest.LogCaptureFixture
) -> None:
    """The others are put together, and no files are written in vain."""
    template, lost = prepared
    lake = template.copy()
    broken = record(lake).past[number]
    file = file_of(lake, broken)
    with damage(file), small():
        deleted(lake)
        assert [event.record for event in caplog.records] == [file.relative_to(lake.root).as_posix()]  # type: ignore[attr-defined]
        assert broken in record(lake).past
        assert [one.objects for one in record(lake).past if one != broken] == [1, 2]
        lake.sleep(GRACE)
        lake.collect()
        listed, stored = listed_and_stored(lake)
        assert stored <= listed | set(record(lake).replaced)
        lake.sleep(REMEMBERED)
        deleted(lake)
    assert len(record(lake).past) == 1
    assert [refuses(lake, lost[at]) for at in range(3)] == [False] * 3


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("number", range(3))
def test_old_sets_are_put_together_except_for_one_that_cannot_be_read(
    prepared: tuple[Template[Lake], list[Entry]], damage: Damage, number: int
) -> None:
    template, lost = prepared
    lake = template.copy()
    replaced(lake, expired=ExpiredCommits(id="e", files=()))
    broken = record(lake).past[number]
    file = file_of(lake, broken)
    with damage(file), smallest.patched({"graveler_core.gc.deleted_sets.FALLEN": 2}):
        lake.sleep(REMEMBERED)
        lake.collect()
        assert record(lake).past == (broken,)
        forever = record(lake).forever
        assert forever is not None
        assert forever.objects == 2
    assert [refuses(lake, lost[at]) for at in range(3) if at != 2 - number] == [True] * 2


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_set_that_is_remembered_for_ever_cannot_be_read(
    prepared: tuple[Template[Lake], list[Entry]], damage: Damage
) -> None:
    """Old sets are put together beside it, so that the record stays small."""
    template, lost = prepared
    lake = template.copy()
    *past, forever = record(lake).past
    file = file_of(lake, forever)
    replaced(lake, expired=ExpiredCommits(id="e", files=()), forever=forever, past=tuple(past))
    with damage(file), smallest.patched({"graveler_core.gc.deleted_sets.FALLEN": 2}):
        for _ in range(4):
            lake.sleep(REMEMBERED)
            lost.append(deleted(lake))
            assert record(lake).forever == forever
            assert len(record(lake).past) == 2
        lake.sleep(REMEMBERED)
        lake.collect()
    assert [one.objects for one in record(lake).past] == [6]
    assert all(refuses(lake, entry) for entry in lost[1:])


def test_sets_for_which_memory_is_too_small_stay_as_they_are(prepared: tuple[Template[Lake], list[Entry]]) -> None:
    """Damage may cause this, too: a page that says that it is large."""
    template, _ = prepared
    lake = template.copy()
    before = record(lake).past
    with small(), patch.object(segment_format, "decode_parts", side_effect=MemoryError):
        lake.collect()
    assert record(lake).past == before


def test_an_outage_ends_a_collection(prepared: tuple[Template[Lake], list[Entry]]) -> None:
    template, _ = prepared
    lake = template.copy()
    before = record(lake)
    with refused(file_of(lake, before.past[0])), small(), pytest.raises(Unavailable):
        lake.collect()
    assert record(lake) == before


def test_a_large_set_that_is_remembered_for_ever_is_written_again() -> None:
    """An earlier version of graveler did not limit its files."""
    old, record = a_set(), Collections(past=(a_set(1),), forever=a_set(files=FOREVER_FILES + 1), nonce=Nonce("n"))
    now = old.since + REMEMBERED + 2 * DAY
    assert shortening(record, now, ()).forever == [record.forever]
    expired = record.model_copy(update={"expired": ExpiredCommits(id="e", files=())})
    assert shortening(expired, now, ()).forever == [*record.past, record.forever]
    fits = expired.model_copy(update={"forever": a_set(files=FOREVER_FILES)})
    assert shortening(fits, now, ()).past == [[*record.past]]


def test_an_unreadable_set_with_many_files_stays() -> None:
    big = a_set(1, files=FILES + 1).model_copy(update={"id": "1" * 32})
    forever = a_set(files=FOREVER_FILES + 1).model_copy(update={"id": "2" * 32})
    record = Collections(past=(big,), forever=forever, nonce=Nonce("n"))
    plan = shortening(record, START + DAY, {big.id, forever.id})
    assert (plan.past, plan.forever, list(plan.rewritten())) == ([[big]], [forever], [])
    assert {one.id for one in shortening(record, START + DAY, ()).rewritten()} == {big.id, forever.id}
