"""A collection deletes the content that nothing names, after two graces, and nothing that something names."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from unittest.mock import patch
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graveler_core.blobs.local import LocalBlobs
from graveler_core.errors import Conflict, CorruptData, InvalidInput, Kind, OutcomeUnknown, Unavailable
from graveler_core.gc.collected import Collected
from graveler_core.gc.collection_plan import CollectionPlan
from graveler_core.gc.collection_record import CollectionRecord
from graveler_core.gc.sweep import GRACE
from graveler_core.model.collection import REMEMBERED, Collections, CollectionState, CondemnedSet
from graveler_core.model.entry import AddressType, Entry
from graveler_core.model.ids import Nonce
from graveler_core.model.operations import Put
from graveler_core.objects import condemned
from graveler_core.records import access
from graveler_core.records import layout as keys
from tests import smallest
from tests.unit.engine.interposed import Crash, Interposed, unavailable
from tests.unit.engine.templates import Template
from tests.unit.engine.world import entry
from tests.unit.gc.lake import NOW, Lake

DAY = timedelta(days=1)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


def overwritten(lake: Lake) -> Entry:
    """Content that was staged, and then replaced before any commit had it."""
    lost = lake.branch().put("x", b"lost")
    lake.branch().put("x", b"kept")
    lake.branch().commit("kept")
    return lost


def test_overwrites_resets_and_failures_leave_nothing(lake: Lake) -> None:
    main = lake.branch()
    for number in range(20):
        main.put("x", b"%d" % number)
    main.commit("the last of twenty")
    for number in range(20):
        main.put(f"y/{number}", b"reset")
        main.reset()
    main.upload("z", b"never staged")
    assert len(lake.objects) == 41
    done = lake.collect(NOW)
    assert (done.condemned, done.deleted, done.spared, done.named) == (40, 40, 0, 1)
    assert (done.deleted_size, done.named_size) == (10 + 2 * 9 + 20 * 5 + 12, 2)
    assert len(lake.objects) == 1
    assert main.read("x") == b"19"
    assert lake.collect(NOW) == Collected(dry_run=False, named=1, named_size=2)


def test_it_waits_twice(lake: Lake) -> None:
    overwritten(lake)
    assert (lake.collect().young, lake.collect().young_size, lake.collect().condemned) == (2, 8, 0)
    lake.sleep(GRACE)
    first = lake.collect()
    assert (first.condemned, first.waiting, first.deleted, first.named) == (1, 1, 0, 1)
    assert first.due is not None
    lake.sleep(GRACE - timedelta(minutes=1))
    assert (lake.collect().waiting, len(lake.objects)) == (1, 2)
    lake.sleep(timedelta(minutes=1))
    assert first.due <= lake.world.clock.time
    last = lake.collect()
    assert (last.deleted, last.waiting, last.due, len(lake.objects)) == (1, 0, None, 1)


def test_the_report_names_files_that_list_the_objects(lake: Lake) -> None:
    lost = overwritten(lake)
    lake.sleep(GRACE)
    waiting = lake.collect()
    would = lake.collect(CollectionPlan(dry_run=True))
    row = {"address": lost.address, "size": lost.size, "reason": "unnamed"}
    assert [pq.read_table(uri).to_pylist() for uri in waiting.waiting_files] == [[row]]
    lake.sleep(GRACE)
    deleted = lake.collect()
    assert [pq.read_table(uri).to_pylist() for uri in deleted.files] == [[row]]
    assert (waiting.files, would.files, deleted.waiting_files) == ((), (), ())
    assert would.waiting_files == waiting.waiting_files


def test_a_dry_run_says_what_a_run_does(lake: Lake) -> None:
    overwritten(lake)
    lake.sleep(GRACE)
    for _ in range(3):
        would = lake.collect(CollectionPlan(dry_run=True))
        files = sorted(path for path in lake.root.rglob("*") if path.is_file())
        did = lake.collect()
        assert would.condemned == did.condemned
        assert (would.deleted, would.deleted_size) == (did.deleted, did.deleted_size)
        assert len(files) >= 2
        lake.branch().put("x", b"once more")
        lake.branch().reset()
        lake.sleep(GRACE)


def listed(lake: Lake, state: CollectionState, *entries: Entry) -> None:
    """Write a collection record by hand, with one set in a state."""
    addresses = sorted(str(one.address) for one in entries)
    sizes = {str(one.address): one.size for one in entries}
    columns = {"address": addresses, "size": [sizes[one] for one in addresses], "reason": ["unnamed"] * len(addresses)}
    objects = pa.table(columns, condemned.CONDEMNED)
    files = condemned.write(lake.world.blobs.at(lake.root.as_uri()), "1" * 32, [objects], len(sizes))
    since, size = lake.world.clock.time - GRACE, sum(sizes.values())
    current = CondemnedSet(id="1" * 32, state=state, since=since, files=files, objects=len(sizes), size=size)
    where = keys.collections(lake.record.id, lake.record.uid)
    access.create(lake.world.kv, where, Collections(current=current, nonce=Nonce("1" * 32)))


def test_what_is_spared_is_measured(lake: Lake) -> None:
    kept = lake.branch().put("x", b"kept")
    lake.branch().commit("kept")
    lake.sleep(GRACE)
    listed(lake, CollectionState.CONDEMNED, kept)
    spared = Collected(dry_run=True, spared=1, spared_size=4, named=1, named_size=4)
    assert lake.collect(CollectionPlan(dry_run=True)) == spared
    assert lake.collect() == replace(spared, dry_run=False)


def test_a_dry_run_counts_a_set_that_is_being_deleted(lake: Lake) -> None:
    lost = overwritten(lake)
    another = lake.branch().upload("y", b"unnamed")
    lake.sleep(GRACE)
    listed(lake, CollectionState.DELETING, lost)
    would = lake.collect(CollectionPlan(dry_run=True))
    did = lake.collect()
    assert (would.deleted, would.deleted_size, would.condemned, would.condemned_size) == (1, 4, 1, another.size)
    assert (did.deleted, did.deleted_size, did.condemned, did.condemned_size) == (1, 4, 1, another.size)
    assert (would.waiting, would.named, would.named_size) == (0, 1, 4)


def test_a_dry_run_changes_nothing(lake: Lake) -> None:
    overwritten(lake)
    lake.sleep(GRACE)
    before = sorted(path for path in lake.root.rglob("*") if path.is_file())
    assert lake.collect(CollectionPlan(dry_run=True)).condemned == 1
    assert sorted(path for path in lake.root.rglob("*") if path.is_file()) == before
    assert lake.world.kv.get(*_place(lake)) is None


def _place(lake: Lake) -> tuple[bytes, bytes]:
    where = keys.collections(lake.record.id, lake.record.uid)
    return where.partition, where.key


@pytest.mark.parametrize("how", ["stage", "stage_many", "transact", "merge", "check_merge"])
def test_what_is_condemned_cannot_be_staged(lake: Lake, how: str) -> None:
    lost = overwritten(lake)
    lake.repo.create_branch("dev", source="main")
    lake.branch().put("x", b"other")
    lake.branch().commit("other")
    lake.branch("dev").put("x", b"conflict")
    lake.branch("dev").commit("conflict")
    lake.sleep(GRACE)
    assert lake.collect().condemned == 1
    for _ in range(2):
        head, seen = lake.repo.commit("main").id, list(lake.branch().list())
        with pytest.raises(Conflict, match="store the content again") as caught:
            _use(lake, lost, how)
        assert (caught.value.kind, caught.value.details["address"]) == (Kind.ContentCollected, lost.address)
        assert (lake.repo.commit("main").id, list(lake.branch().list())) == (head, seen)
        lake.sleep(GRACE)
        lake.collect()
    assert lost.address not in lake.objects
    assert not lake.missing()


def _use(lake: Lake, entry: Entry, how: str) -> None:
    """Name the content of an entry anew."""
    main = lake.branch()
    match how:
        case "stage":
            main.stage("again", entry)
        case "stage_many":
            main.stage_many(pa.table({"key": ["again"], "address": [entry.address], "size": [4]}))
        case "transact":
            main.transact([Put("again", replace(entry, path="again"))], message="again", committer="")
        case "merge":
            lake.repo.merge("dev", into="main", resolve={"x": entry})
        case "check_merge":
            lake.repo.check_merge("dev", into="main", resolve={"x": entry})


def test_full_addresses_in_the_namespace_are_the_same_content(lake: Lake) -> None:
    """Two spellings of one address: lakeFS issues 4658 and 4698."""
    lost, kept = overwritten(lake), lake.branch().upload("kept", b"named by its full address")
    full = Entry(address=f"{lake.root.as_uri()}/{kept.address}", address_type=AddressType.FULL, size=25)
    lake.branch().stage("full", full)
    lake.branch().commit("full")
    lake.sleep(GRACE)
    assert lake.collect().condemned == 1
    with pytest.raises(Conflict, match="store the content again"):
        lake.branch().stage("y", replace(full, address=f"{lake.root.as_uri()}/{lost.address}"))
    lake.sleep(GRACE)
    assert lake.collect().deleted == 1
    assert lake.branch().read("full") == b"named by its full address"


def test_other_repositories_name_content_too(lake: Lake, tmp_path: Path) -> None:
    shared = lake.branch().upload("shared", b"shared")
    g = lake.world.graveler()
    other = g.create_repository("other", (tmp_path / "other").as_uri()).branch("main")
    full = Entry(address=f"{lake.root.as_uri()}/{shared.address}", address_type=AddressType.FULL, size=6)
    other.stage("x", full)
    other.commit("names the content of another repository")
    assert lake.collect(NOW).named == 1
    g.delete_repository("other")
    assert lake.collect(NOW).named == 1, "it can be restored"
    g.undelete_repository("other")
    assert g.repository("other").branch("main").read("x") == b"shared"


def test_another_repository_cannot_stage_what_is_condemned(lake: Lake, tmp_path: Path) -> None:
    lost = overwritten(lake)
    other = lake.world.graveler().create_repository("other", (tmp_path / "other").as_uri()).branch("main")
    lake.sleep(GRACE)
    lake.collect()
    with pytest.raises(Conflict) as caught:
        other.stage("x", Entry(f"{lake.root.as_uri()}/{lost.address}", 4, address_type=AddressType.FULL))
    assert (caught.value.kind, caught.value.details["repository"]) == (Kind.ContentCollected, "repo")


def test_all_commits_count(lake: Lake) -> None:
    """Those of deleted branches, and those that nothing leads to."""
    lake.repo.create_branch("dev", source="main").put("old", b"old")
    old = lake.branch("dev").commit("old")
    lake.repo.delete_branch("dev")
    lake.branch().put("x", b"x")
    lost = lake.branch().commit("lost")
    lake.branch().hard_reset("main~1")
    lake.sleep(GRACE)
    assert (lake.collect(NOW).condemned, lake.collect(NOW).named) == (0, 2)
    assert lake.repo.at(old.id).read("old") == b"old"
    assert lake.repo.at(lost.id).read("x") == b"x"
    assert lake.repo.undelete_branch("dev")
    assert not lake.missing()


def test_staged_and_compacted_content_counts(lake: Lake) -> None:
    main = lake.branch()
    main.put("compacted", b"1")
    main.compact()
    main.put("sealed", b"2")
    rows = [main.upload(f"bulk/{n:04}", b"3") for n in range(1_001)]
    main.stage_many(
        pa.table({"key": [row.path for row in rows], "address": [row.address for row in rows], "size": [1] * len(rows)})
    )
    main.put("staged", b"4")
    assert (lake.collect(NOW).condemned, lake.collect(NOW).named) == (0, 1_004)
    assert not lake.missing()


def test_objects_that_graveler_did_not_create_stay_unless_asked_for(lake: Lake) -> None:
    store = "team/graveler-kv/schema_version"
    for name in ("readme", "data/notes", "data/sub/part-0.parquet", "other/x", store):
        path = lake.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"not ours")
    lake.branch().stage("named", Entry("other/x", 8))
    assert lake.collect(NOW).deleted == 0
    done = lake.collect(replace(NOW, foreign=True))
    assert (done.deleted, done.named) == (3, 1)
    assert lake.branch().read("named") == b"not ours"
    assert not (lake.root / "data/notes").exists()
    assert (lake.root / store).exists(), "the metadata of a store in a bucket is not content"


def test_an_object_that_another_program_writes_again_stays(lake: Lake) -> None:
    """It is as new as one that was never condemned."""
    notes, other = lake.root / "notes.txt", lake.root / "other.txt"
    plan = CollectionPlan(foreign=True)
    for file in (notes, other):
        file.write_bytes(b"old")
    lake.branch().put("mine", b"mine")
    lake.branch().reset()
    lake.sleep(timedelta(days=8))
    assert lake.collect(plan).condemned == 3
    lake.sleep(timedelta(days=6))
    written(lake, notes)
    lake.sleep(timedelta(days=1))
    done = lake.collect(plan)
    assert (done.deleted, done.spared, done.spared_size) == (2, 1, 3)
    assert (notes.exists(), other.exists(), lake.objects) == (True, False, set())


@pytest.mark.parametrize("days", [0, 30])
def test_an_object_that_another_program_writes_again_before_an_interrupted_deletion_stays(
    lake: Lake, days: int
) -> None:
    """Whenever the deletion goes on, and however short the grace period then is."""
    notes, other, plan = lake.root / "notes.txt", lake.root / "other.txt", CollectionPlan(foreign=True)
    for file in (notes, other):
        file.write_bytes(b"old")
    lake.sleep(timedelta(days=8))
    lake.collect(plan)
    lake.sleep(timedelta(days=7))
    with patch.object(LocalBlobs, "delete_many", side_effect=Crash), pytest.raises(Crash):
        lake.collect(plan)
    written(lake, notes)
    lake.sleep(timedelta(days=days))
    done = lake.collect(plan)
    assert (done.deleted, done.condemned, done.young) == ((1, 1, 0) if days else (1, 0, 1))
    assert (notes.exists(), other.exists()) == (True, False)


def written(lake: Lake, file: Path) -> None:
    """Another program writes a file again, now."""
    now = lake.world.clock.time.timestamp()
    os.utime(file, (now, now))


def test_the_record_of_an_upload_keeps_its_objects(lake: Lake) -> None:
    from graveler_core.objects.uploads import Uploads, prefix

    stores, record = lake.world.stores(), lake.record
    uploads = Uploads(stores.kv, stores.blobs.at(record.storage_namespace), record, stores.clock, stores.ids)
    id = uploads.begin()
    uploads.blobs.create(f"{prefix(id)}part-0", b"x")
    assert (lake.collect(NOW).uploading, lake.collect(NOW).uploading_size, len(lake.objects)) == (1, 1, 1)
    uploads.settle(uploads.name([id]))
    assert (lake.collect(NOW).deleted, len(lake.objects)) == (1, 0)


def test_a_short_grace_is_for_who_is_alone() -> None:
    with pytest.raises(InvalidInput, match="1 day"):
        CollectionPlan(timedelta(hours=23))
    with pytest.raises(InvalidInput, match="negative"):
        CollectionPlan(-DAY, alone=True)
    with pytest.raises(InvalidInput, match="timedelta"):
        CollectionPlan("7d")  # type: ignore[arg-type]


@pytest.mark.parametrize("damaged", ["layout", "node", "another repository"])
def test_damage_ends_it(lake: Lake, tmp_path: Path, damaged: str) -> None:
    overwritten(lake)
    commit = access.read(lake.world.kv, keys.branch(lake.record, lake.branch().id))
    assert commit is not None
    if damaged == "layout":
        where = keys.commit_layout(lake.record, commit.value.commit_id)
        lake.world.kv.set(where.partition, where.key, b"\x01damaged")
    elif damaged == "node":
        for file in (lake.root / "_graveler").glob("[0-9a-f]*"):
            file.unlink()
    else:
        other = lake.world.graveler().create_repository("other", (tmp_path / "other").as_uri())
        record = access.read(lake.world.kv, keys.repository(other.id))
        assert record is not None
        where = keys.commit_layout(record.value, other.commit("main").id)
        lake.world.kv.set(where.partition, where.key, b"\x01damaged")
    before = lake.objects
    with pytest.raises(CorruptData):
        lake.collect(NOW)
    assert lake.objects == before


def test_a_namespace_of_another_is_left_alone(lake: Lake) -> None:
    overwritten(lake)
    claim = keys.namespace_claim(lake.record.storage_namespace)
    lake.world.kv.delete(claim.partition, claim.key)
    with pytest.raises(CorruptData, match="does not own"):
        lake.collect(NOW)
    assert len(lake.objects) == 2


def test_addresses_are_forgotten_in_the_end(lake: Lake) -> None:
    lost = overwritten(lake)
    lake.collect(NOW)
    lake.sleep(REMEMBERED - DAY)
    with pytest.raises(Conflict):
        lake.branch().stage("again", lost)
    lake.sleep(2 * DAY)
    lake.branch().upload("more", b"to collect")
    _age(lake)
    lake.collect(NOW)
    assert len(list((lake.root / "_graveler" / "collections").iterdir())) >= 1
    assert lake.branch().stage("again", lost).address == lost.address


def _age(lake: Lake) -> None:
    """Have all objects be older than the clock says."""
    then = lake.world.clock.time.timestamp() - 1
    for name in lake.objects:
        os.utime(lake.root / name, (then, then))


def test_files_that_no_record_lists_go(lake: Lake) -> None:
    left = lake.root / "_graveler" / "collections" / "left" / "000000.parquet"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"left")
    lake.collect()
    assert left.exists()
    lake.sleep(GRACE)
    lake.collect()
    assert not left.exists()


def moves(lake: Lake) -> dict[str, Callable[[], object]]:
    """Flows that move the names of content to another place."""

    def merge() -> None:
        lake.branch("dev").commit("staged")
        lake.repo.merge("dev", into="main")
        lake.repo.delete_branch("dev")

    def seal() -> None:
        lake.branch("dev").stage_many(pa.table({"key": ["bulk"], "data": [b"x"]}))
        lake.branch("dev").commit("with a layer")

    def again() -> None:
        lake.branch("dev").compact()
        lake.branch("dev").commit("compacted")
        lake.repo.delete_branch("dev")
        lake.repo.undelete_branch("dev")

    return {"merge": merge, "seal": seal, "compact": lambda: lake.branch("dev").compact(), "again": again}


@pytest.mark.parametrize("what", ["merge", "seal", "compact", "again"])
def test_names_that_move_while_it_reads_are_found(tmp_path: Path, what: str) -> None:
    """Before each call of the store once."""
    lake = Lake(tmp_path / "lake")
    overwritten(lake)
    lake.repo.create_branch("dev", source="main")
    lake.branch("dev").put("staged", b"staged")
    lake.branch("dev").put("other", b"other")
    lake.repo.create_branch("a-first", source="main")
    lake.sleep(GRACE)
    calls, at = 1, 0
    while at < calls:
        world = lake.world.fork()
        other = Lake(lake.root, world)
        kv = Interposed(world.kv)
        kv.before[at] = moves(other)[what]
        done = other.collect(replace(NOW, dry_run=True), kv)
        assert done.condemned == 1, (what, at)
        assert done.named == 3, (what, at)
        calls, at = len(kv.verbs), at + 1
    assert at > 10


def test_a_grace_period_that_a_clock_far_ahead_began_begins_again(lake: Lake) -> None:
    """Else nothing would be collected until that time."""
    overwritten(lake)
    lake.sleep(GRACE + timedelta(days=365))
    assert lake.collect().condemned == 1
    lake.sleep(-timedelta(days=365))
    assert lake.collect().deleted == 0
    lake.sleep(GRACE)
    assert lake.collect().deleted == 1
    assert not lake.missing()


def test_the_grace_period_begins_after_the_set_is_listed(tmp_path: Path) -> None:
    """A collector that pauses before its set is listed leaves stagers the whole period."""
    made = Lake(tmp_path / "lake")
    overwritten(made)
    made.sleep(GRACE)
    template = Template(made)
    rehearsal = template.copy()
    kv = Interposed(rehearsal.world.kv)
    assert rehearsal.collect(None, kv).condemned == 1
    condemns, confirms = [at for at, verb in enumerate(kv.verbs) if verb == "set_if"][-2:]
    for at in range(confirms):
        lake = template.copy()
        kv = Interposed(lake.world.kv)
        kv.before[at] = partial(lake.sleep, GRACE)
        assert lake.collect(None, kv).condemned == 1
        assert lake.collect().deleted == 0, at
        lake.sleep(GRACE)
        assert lake.collect().deleted == 1, at
    assert condemns < confirms


def test_a_set_that_its_collector_did_not_confirm_is_confirmed_by_the_next(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    overwritten(lake)
    lake.sleep(GRACE)
    rehearsal = Interposed(lake.world.fork().kv)
    lake.collect(None, rehearsal)
    confirms = [at for at, verb in enumerate(rehearsal.verbs) if verb == "set_if"][-1]
    kv = Interposed(lake.world.kv)
    kv.fail[confirms] = unavailable()
    with pytest.raises(Unavailable):
        lake.collect(None, kv)
    lake.sleep(GRACE)
    assert lake.collect(replace(CollectionPlan(), dry_run=True)).deleted == 0
    assert lake.collect().deleted == 0
    assert lake.collect().deleted == 0
    lake.sleep(GRACE)
    assert lake.collect().deleted == 1


def _attempted(lake: Lake, lost: Entry) -> bool:
    """Stage an entry. Return `False` if it is refused."""
    try:
        lake.branch().stage("again", lost)
    except Conflict:
        return False
    return True


@pytest.mark.parametrize(
    ("run", "expected"), [(0, {(True, False), (True, True), (False, False)}), (1, {(False, False)})]
)
def test_stagers_between_any_two_calls(tmp_path: Path, run: int, expected: set[tuple[bool, bool]]) -> None:
    """Who has staged an entry has its content afterwards. Who could not is told."""
    made = Lake(tmp_path / "lake")
    lost = overwritten(made)
    made.sleep(GRACE)
    for _ in range(run):
        made.collect()
        made.sleep(GRACE)
    template = Template(made)
    outcomes, at, calls = set[tuple[bool, bool]](), 0, 1
    while at < calls:
        lake, staged = template.copy(), list[bool]()
        kv = Interposed(lake.world.kv)
        act = partial(_attempted, lake, lost)
        kv.before[at] = lambda act=act, staged=staged: staged.append(act())  # type: ignore[misc]
        spared = lake.collect(None, kv).spared
        for _ in range(run, 2):
            lake.sleep(GRACE)
            spared += lake.collect().spared
        assert not lake.missing(), at
        assert staged == [lost.address in lake.objects], at
        outcomes.add((staged[0], bool(spared)))
        calls, at = len(kv.verbs), at + 1
    assert at > 10
    assert outcomes == expected


def test_a_collector_dies_at_any_call_and_the_next_goes_on(tmp_path: Path) -> None:
    made = Lake(tmp_path / "lake")
    overwritten(made)
    template = Template(made)
    at = reached = 0
    while at == reached:
        lake = template.copy()
        kv = Interposed(lake.world.kv)
        kv.fail[at] = Crash()
        try:
            lake.collect(NOW, kv)
        except Crash:
            reached += 1
        lake.collect(NOW)
        assert (len(lake.objects), lake.missing()) == (1, []), at
        at += 1
    assert at > 10


@pytest.mark.parametrize("done", [True, False])
def test_a_reply_is_lost(tmp_path: Path, done: bool) -> None:
    """The collector fails or goes on, and the next one finds a state that it knows."""
    made = Lake(tmp_path / "lake")
    overwritten(made)
    template = Template(made)
    lake = template.copy()
    rehearsal = Interposed(lake.world.kv)
    lake.collect(NOW, rehearsal)
    for at in rehearsal.writes:
        lake = template.copy()
        kv = Interposed(lake.world.kv)
        kv.lose[at] = done
        with suppress(OutcomeUnknown):
            lake.collect(NOW, kv)
        lake.collect(NOW)
        assert (len(lake.objects), lake.missing()) == (1, []), at


def test_two_collectors_between_any_two_calls(tmp_path: Path) -> None:
    made = Lake(tmp_path / "lake")
    overwritten(made)
    template = Template(made)
    at, calls = 0, 1
    while at < calls:
        lake = template.copy()
        kv = Interposed(lake.world.kv)
        kv.before[at] = partial(lake.collect, NOW)
        lake.collect(NOW, kv)
        lake.collect(NOW)
        calls, at = len(kv.verbs), at + 1
        assert (len(lake.objects), lake.missing()) == (1, []), at


@pytest.mark.parametrize("dry_run", [False, True])
def test_another_collector_verifies_the_set_between_any_two_calls(tmp_path: Path, dry_run: bool) -> None:
    """Its file is gone then. The first collector begins again."""
    made = Lake(tmp_path / "lake")
    overwritten(made)
    made.sleep(GRACE)
    made.collect()
    made.sleep(GRACE)
    template = Template(made)
    at, calls = 0, 1
    while at < calls:
        lake = template.copy()
        kv = Interposed(lake.world.kv)
        kv.before[at] = lake.collect
        done = lake.collect(CollectionPlan(dry_run=dry_run), kv)
        assert (done.condemned, done.waiting, len(lake.objects), lake.missing()) == (0, 0, 1, []), at
        calls, at = len(kv.verbs), at + 1
    assert at > 10


def test_a_collector_that_paused_before_its_swap_lists_no_file_that_another_one_dropped(tmp_path: Path) -> None:
    """The content is named again during the pause, so that the other collector condemns nothing."""
    made = Lake(tmp_path / "lake")
    made.collect(NOW)  # otherwise the other collector changes the record once
    lost = overwritten(made)
    made.sleep(GRACE)
    template = Template(made)
    at, calls = 0, 1
    while at < calls:
        lake = template.copy()
        kv = Interposed(lake.world.kv)
        kv.before[at] = partial(_named_again_and_collected, lake, lost)
        lake.collect(None, kv)
        calls, at = len(kv.verbs), at + 1
        for _ in range(3):
            lake.sleep(GRACE)
            lake.collect()
        assert lake.missing() == [], at


def test_a_drop_without_a_swap_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CollectionRecord, "renew", lambda record: True)
    with pytest.raises((AssertionError, CorruptData)):
        test_a_collector_that_paused_before_its_swap_lists_no_file_that_another_one_dropped(tmp_path)


def _named_again_and_collected(lake: Lake, lost: Entry) -> None:
    with suppress(Conflict):  # condemned already
        lake.branch().stage("again", lost)
    if not any(entry.path == "again" for entry in lake.branch().list()):
        lake.branch().put("again", b"lost")
    lake.sleep(GRACE)
    lake.collect()


def test_the_result_names_the_files_that_list_what_was_deleted(lake: Lake) -> None:
    lost = overwritten(lake)
    unnamed = lake.branch().upload("y", b"unnamed")
    lake.sleep(GRACE)
    assert lake.collect().files == ()
    lake.sleep(GRACE)
    assert lake.collect(CollectionPlan(dry_run=True)).files == ()
    (file,) = lake.collect().files
    rows = pq.read_table(url2pathname(urlsplit(file).path)).to_pylist()
    wanted = [{"address": one.address, "size": one.size, "reason": "unnamed"} for one in (lost, unnamed)]
    assert rows == sorted(wanted, key=lambda row: str(row["address"]))
    assert lake.collect().files == ()


def test_a_missing_file_of_a_set_ends_it(lake: Lake) -> None:
    overwritten(lake)
    lake.sleep(GRACE)
    lake.collect()
    for file in (lake.root / "_graveler" / "collections").rglob("*.parquet"):
        file.unlink()
    lake.sleep(GRACE)
    with pytest.raises(CorruptData, match="is missing, but the collection record lists it"):
        lake.collect()


@pytest.mark.parametrize("size", [1, 2, 3, 1_000])
def test_every_size_of_files_and_batches_collects_the_same(lake: Lake, size: int) -> None:
    main = lake.branch()
    lost = [main.put("x", b"%d" % number) for number in range(5)]
    main.put_many({f"kept/{number}": b"kept" for number in range(7)})
    main.commit("one of five, and seven")
    names = (
        "graveler_core.objects.sorted_files.FILE_ROWS",
        "graveler_core.gc.candidates._BATCH",
        "graveler_core.gc.named_addresses._LAYOUTS",
    )
    with smallest.patched(dict.fromkeys(names, size)):
        assert lake.collect().young == 12
        lake.sleep(GRACE)
        done = lake.collect()
        assert (done.condemned, done.named) == (4, 8)
        for entry in lost[:4]:
            with pytest.raises(Conflict) as caught:
                lake.branch().stage("y", entry)
            assert caught.value.kind is Kind.ContentCollected
        lake.sleep(GRACE)
        done = lake.collect()
        assert (done.deleted, done.spared, len(lake.objects), lake.missing()) == (4, 0, 8, [])


@pytest.mark.parametrize("many", [False, True])
def test_a_process_with_an_old_copy_of_the_repository_record_is_refused(lake: Lake, many: bool) -> None:
    """The copy says that no address needs a check. The re-read finds the new record."""
    lost = overwritten(lake)
    lake.sleep(GRACE)
    other = lake.branch()
    other.stage("z", entry(1))
    assert lake.collect().condemned == 1
    rows = pa.table({"key": ["y"], "address": [lost.address], "size": [4]})
    with pytest.raises((Conflict, OutcomeUnknown), match="a collection is deleting"):
        other.stage_many(rows) if many else other.stage("y", lost)
    lake.sleep(GRACE)
    lake.collect()
    assert lake.missing() == ["main/z"]


def test_fsck_knows_its_files(lake: Lake) -> None:
    overwritten(lake)
    lake.collect(NOW)
    assert not [finding for finding in lake.repo.fsck(deep=True) if "collections" in finding.id]
