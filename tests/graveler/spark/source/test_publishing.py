"""Uploads and their one commit, without Spark: attempts, races, repetitions, what is staged."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import LongType, StructField, StructType

from graveler.spark.source import publishing, upload
from graveler.spark.source.publishing import MARKER, Job, StreamBatch, publish
from graveler.spark.source.target import Target, target_of
from graveler.spark.source.upload import Uploaded, discard
from graveler.spark.source.writing import Writer
from graveler_core.errors import Conflict, DirtyBranch, InvalidInput, Kind, LimitExceeded, NotFound, OutcomeUnknown
from graveler_core.facade.snapshot import Snapshot
from graveler_core.model.entry import AddressType, CommonPrefix, Entry
from graveler_core.model.operations import Operation
from tests.graveler.spark.source.lakes import Lake

SCHEMA = StructType([StructField("n", LongType())])


def target(lake: Lake, *, overwrite: bool = False, **options: str) -> Target:
    given = lake.options(branch="main", path="t", **options)
    return target_of(given, SCHEMA, overwrite=overwrite, stream=False)


def stored(at: Target, *numbers: int) -> Uploaded:
    return upload.upload(at, [pa.record_batch({"n": pa.array(numbers, pa.int64())})])


def write(lake: Lake, *numbers: int, **options: Any) -> Target:
    at = target(lake, **options)
    publish(at, Job([stored(at, *numbers)], at.key))
    return at


def files(lake: Lake, ref: str = "main") -> list[str]:
    found = lake.repo.at(ref).list("t/")
    return [each.path for each in found if not isinstance(each, CommonPrefix) and not each.path.endswith(MARKER)]


def numbers(lake: Lake, ref: str = "main") -> list[int]:
    tables = [pq.read_table(pa.BufferReader(lake.repo.at(ref).read(path))) for path in files(lake, ref)]
    return sorted(n for table in tables for n in table.column("n").to_pylist())


def objects(lake: Lake) -> list[str]:
    return [blob.address for blob in lake.repo._stores.blobs.at(lake.repo.storage_namespace).list("data/")]


def test_append_and_overwrite_are_one_commit_each(place: Lake) -> None:
    write(place, 1, 2, message="first", committer="ada", metadata='{"run": "7"}')
    write(place, 3)
    write(place, 4, overwrite=True)
    log = list(place.repo.log("main"))
    assert [commit.message for commit in log] == ["Overwrite t", "Append to t", "first", "Repository created"]
    assert (log[2].committer, log[2].metadata) == ("ada", {"run": "7"})
    assert [numbers(place, commit.id) for commit in log] == [[4], [1, 2, 3], [1, 2], []]


def test_what_is_staged_elsewhere_stays_staged(place: Lake) -> None:
    place.repo.branch("main").put("other", b"x")
    write(place, 1, overwrite=True)
    assert [change.path for change in place.repo.branch("main").uncommitted()] == ["other"]
    assert [entry.path for entry in place.repo.at("main@").list("o")] == []


def test_what_is_staged_in_the_table_is_not_lost(place: Lake) -> None:
    write(place, 1)
    place.repo.branch("main").put("t/mine", b"x")
    write(place, 2)
    with pytest.raises(DirtyBranch, match=r"'t/mine' is staged on branch 'main', under 't/'; commit or reset"):
        write(place, 3, overwrite=True)
    assert numbers(place, "main@") == [1, 2]


def test_a_repetition_under_its_key_gives_the_first_commit_and_leaves_nothing(place: Lake) -> None:
    write(place, 1, idempotency_key="job-1")
    before = objects(place)
    at = write(place, 1, idempotency_key="job-1")
    assert numbers(place) == [1]
    assert objects(place) == before
    assert standing(at) == []
    assert len(list(place.repo.log("main"))) == 2


def write_batch(lake: Lake, batch: StreamBatch, *numbers: int, key: str = "") -> bool:
    """True if a commit contains the batch."""
    at = target(lake)
    commit = publish(at, Job([stored(at, *numbers)], key or batch.key, batch))
    assert standing(at) == []
    return commit is not None and commit.metadata == {"spark.query": batch.query, "spark.batch": str(batch.number)}


def test_a_batch_is_not_committed_again_when_its_key_is_forgotten(place: Lake) -> None:
    for query in ("one", "two"):
        assert write_batch(place, StreamBatch(query, 10), 1)
    write(place, 2)
    before = objects(place)
    for query in ("one", "two"):
        assert not write_batch(place, StreamBatch(query, 10), 1, key="forgotten")
    assert (numbers(place), objects(place)) == ([1, 1, 2], before)
    assert write_batch(place, StreamBatch("one", 11), 3)
    assert not write_batch(place, StreamBatch("one", 11), 3, key="forgotten")
    assert numbers(place) == [1, 1, 2, 3]
    write(place, 4, overwrite=True)
    assert not write_batch(place, StreamBatch("one", 11), 3, key="forgotten")
    assert numbers(place) == [4]


def test_a_batch_that_came_in_between_is_not_committed_again(place: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    batch, real = StreamBatch("one", 1), publishing._operations

    def late(*args: Any) -> Any:
        with monkeypatch.context() as patched:
            patched.setattr(publishing, "_operations", real)
            other = target(place)
            publish(other, Job([stored(other, 1)], batch.key, batch))
        return real(*args)

    at = target(place)
    job = Job([stored(at, 1)], "forgotten", batch)
    with monkeypatch.context() as patched:
        patched.setattr(publishing, "_operations", late)
        assert publish(at, job) is None
    assert numbers(place) == [1]


@pytest.mark.parametrize("content", [b"", b"done", b"[]", b'{"batches": 7}', b'{"batches": {"one": "x"}}', b"[" * 5000])
def test_markers_of_other_programs_name_no_batch(place: Lake, content: bytes) -> None:
    main = place.repo.branch("main")
    main.stage(f"t/{MARKER}", Entry(data=content, size=len(content), address_type=AddressType.INLINE))
    main.commit("Marker of another program")
    assert write_batch(place, StreamBatch("one", 1), 1)
    assert not write_batch(place, StreamBatch("one", 1), 1, key="forgotten")


def test_a_marker_names_the_streams_that_wrote_last(place: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "MAX_STREAMS", 2)
    for query, number in (("one", 1), ("two", 1), ("one", 2), ("three", 1)):
        assert write_batch(place, StreamBatch(query, number), number)
    assert not write_batch(place, StreamBatch("one", 2), 2, key="forgotten")
    assert write_batch(place, StreamBatch("two", 1), 1, key="forgotten")


def test_only_the_attempt_that_is_handed_back_counts(place: Lake) -> None:
    at = target(place)
    first, second = stored(at, 1, 2), stored(at, 1, 2)
    assert first.files[0].checksum == second.files[0].checksum
    assert first.files[0].address != second.files[0].address
    publish(at, Job([second], at.key))
    assert numbers(place) == [1, 2]


@pytest.mark.parametrize("overwrite", [True, False])
@pytest.mark.parametrize("former", [True, False])
def test_a_writer_in_between_is_not_overlooked(
    place: Lake, monkeypatch: pytest.MonkeyPatch, *, overwrite: bool, former: bool
) -> None:
    if former:
        write(place, 0)
    real, calls = publishing._operations, 0

    def late(*args: Any) -> Any:
        nonlocal calls
        found = real(*args)
        calls += 1
        if calls == 1:
            write(place, 8, overwrite=True)
        return found

    monkeypatch.setattr(publishing, "_operations", late)
    write(place, 9, overwrite=overwrite)
    assert calls == 3
    assert numbers(place) == ([9] if overwrite else [8, 9])


@pytest.mark.parametrize("how", ["commit", "merge", "compaction and commit"])
def test_files_of_others_that_come_in_between_are_overwritten_too(
    place: Lake, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """They know no marker, and the paths of the overwrite are not theirs."""
    write(place, 0)
    branch = place.repo.branch("main")
    real, calls = publishing._operations, 0

    def late(*args: Any) -> Any:
        nonlocal calls
        found = real(*args)
        calls += 1
        if calls == 1 and how == "merge":
            side = place.repo.create_branch("side", "main")
            side.put("t/theirs", b"x")
            side.commit("theirs")
            place.repo.merge("side", "main")
        elif calls == 1:
            branch.put("t/theirs", b"x")
            if how != "commit":
                branch.compact()
            branch.commit("theirs")
        return found

    monkeypatch.setattr(publishing, "_operations", late)
    write(place, 9, overwrite=True)
    assert calls == 2
    assert numbers(place) == [9]
    assert place.repo.at("main~1").read("t/theirs") == b"x"


def test_what_is_staged_in_between_is_not_lost(place: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    write(place, 0)
    real = publishing._operations

    def late(*args: Any) -> Any:
        place.repo.branch("main").put("t/theirs", b"x")
        return real(*args)

    monkeypatch.setattr(publishing, "_operations", late)
    with pytest.raises(DirtyBranch, match="'t/theirs' is staged"):
        write(place, 9, overwrite=True)
    assert numbers(place, "main@") == [0]
    assert place.repo.branch("main").read("t/theirs") == b"x"


def test_commits_elsewhere_are_no_hindrance(place: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = publishing._operations, 0

    def late(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        found = real(*args)
        place.repo.branch("main").put("beside", b"x")
        place.repo.branch("main").commit("beside")
        return found

    monkeypatch.setattr(publishing, "_operations", late)
    write(place, 9, overwrite=True)
    assert calls == 1
    assert [commit.message for commit in place.repo.log("main", limit=2)] == ["Overwrite t", "beside"]


def test_a_repetition_of_an_overwrite_does_not_overwrite_what_came_since(place: Lake) -> None:
    write(place, 1, overwrite=True, idempotency_key="job-1")
    write(place, 2)
    place.repo.branch("main").put("t/mine", b"x")
    write(place, 1, overwrite=True, idempotency_key="job-1")
    assert numbers(place, "main@") == [1, 2]


def test_writers_that_always_lose_give_up(place: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    real = publishing._operations
    write(place, 0)
    monkeypatch.setattr(publishing, "_ATTEMPTS", 2)
    stale = place.repo.at("main@")
    write(place, 1)

    def outdated(_: Snapshot, aim: Target, job: Job, __: Entry | None) -> list[Operation]:
        return real(stale, aim, job, stale.get(aim.path_of(MARKER)))

    monkeypatch.setattr(publishing, "_operations", outdated)
    with pytest.raises(Conflict) as e:
        write(place, 2)
    assert e.value.kind is Kind.TransactionConflict
    assert numbers(place) == [0, 1]


def test_nothing_to_write(place: Lake) -> None:
    write(place)
    assert files(place) == []
    assert len(list(place.repo.log("main"))) == 1
    write(place, overwrite=True)
    (path,) = files(place)
    table = pq.read_table(pa.BufferReader(place.repo.at("main").read(path)))
    assert (table.num_rows, table.column_names) == (0, ["n"])


def test_large_tasks_make_several_files(place: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload, "_GROUP_BYTES", 8_000)
    at = target(place, file_bytes="10000")
    scattered = pa.array([(n * 7_919) % 1_000_003 for n in range(9_000)])
    uploaded = upload.upload(at, pa.table({"n": scattered}).to_batches(max_chunksize=500))
    assert len(uploaded.files) > 2
    publish(at, Job([uploaded], at.key))
    assert len(numbers(place)) == 9_000


def test_a_task_that_fails_deletes_what_it_stored(place: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload, "_GROUP_BYTES", 1)
    at = target(place, file_bytes="1")

    def batches() -> Any:
        yield pa.record_batch({"n": [1]})
        yield pa.record_batch({"n": [2]})
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        upload.upload(at, batches())
    assert objects(place) == []


def test_abort_deletes_only_where_nothing_can_have_been_committed(place: Lake) -> None:
    at = target(place)
    done = stored(at, 1)
    Writer(at).abort([done])
    assert objects(place) == [done.files[0].address]
    Writer(at).abort([done, None])
    assert objects(place) == []
    discard(at, [done])


def standing(at: Target) -> list[str]:
    return [held.value.state.value for _, held in upload.uploads_of(at).standing()]


def sweep(lake: Lake) -> int:
    return lake.repo.sweep(grace=timedelta(0), alone=True, uploads=True).uploads


def test_what_a_dead_driver_has_left_is_swept_and_never_named(place: Lake) -> None:
    write(place, 1)
    kept, at = objects(place), target(place)
    done = [stored(at, 2), stored(at, 3), stored(at)]
    assert standing(at) == ["uploading"] * 2
    assert sweep(place) == 2
    assert objects(place) == kept
    with pytest.raises(Conflict, match="took longer than the grace") as e:
        publish(at, Job(done, at.key))
    assert e.value.kind is Kind.Discarded
    assert numbers(place) == [1]


def test_what_was_committed_is_not_swept(place: Lake) -> None:
    at = write(place, 1, 2)
    write(place, 3, overwrite=True)
    assert standing(at) == []
    assert sweep(place) == 0
    assert [numbers(place, ref) for ref in ("main~1", "main")] == [[1, 2], [3]]


def test_what_is_refused_is_deleted_at_once(place: Lake) -> None:
    place.repo.branch("main").stage("t/mine", Entry(address="data/mine"))
    at = target(place, overwrite=True)
    with pytest.raises(DirtyBranch):
        publish(at, Job([stored(at, 1)], at.key))
    assert (objects(place), standing(at)) == ([], [])


def test_an_unknown_outcome_leaves_what_may_be_named(place: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*_: Any) -> Any:
        raise OutcomeUnknown("lost")

    at = target(place)
    done = stored(at, 1)
    with monkeypatch.context() as patched:
        patched.setattr(publishing, "_commit", lost)
        with pytest.raises(OutcomeUnknown):
            publish(at, Job([done], at.key))
    Writer(at).abort([done, None])
    assert standing(at) == ["naming"]
    assert sweep(place) == 0
    assert (objects(place), standing(at)) == ([done.files[0].address], [])


def test_a_worker_that_sees_other_files_stores_nothing(place: Lake) -> None:
    at = target(place)
    elsewhere = replace(at, sights=tuple(replace(sight, inode=1) for sight in at.sights))
    assert len(elsewhere.sights) == 2
    with pytest.raises(InvalidInput, match="finds another file there than the driver does"):
        stored(elsewhere, 1)
    assert objects(place) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ref": "main"}, "option 'ref': unknown for writes; allowed are store, .*idempotency_key"),
        ({"branch": ""}, "option 'branch': is needed"),
        ({"path": ""}, "option 'path': is needed"),
        ({"metadata": "[1]"}, "'metadata': must be a JSON object of strings"),
        ({"metadata": "{"}, "'metadata': must be a JSON object of strings"),
        ({"file_bytes": "0"}, "'file_bytes': must be a whole number"),
    ],
)
def test_wrong_options(place: Lake, options: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        target_of({**place.options(branch="main", path="t"), **options}, SCHEMA, overwrite=False, stream=False)


def test_an_idempotency_key_that_is_too_long_is_refused_before_rows_are_computed(place: Lake) -> None:
    given = place.options(branch="main", path="t", idempotency_key="x" * 40_000)
    with pytest.raises(LimitExceeded, match="message and metadata: has 40,006 bytes"):
        target_of(given, SCHEMA, overwrite=False, stream=False)


@pytest.mark.parametrize("missing", ["branch", "repository"])
def test_no_such_branch_or_repository(place: Lake, missing: str) -> None:
    given = {**place.options(branch="main", path="t"), missing: "none"}
    with pytest.raises(NotFound, match="none"):
        target_of(given, SCHEMA, overwrite=False, stream=False)


def test_a_name_that_is_refused_comes_with_one_that_is_allowed(place: Lake) -> None:
    given = place.options(branch="feature/x", path="t")
    with pytest.raises(InvalidInput, match="for example 'feature-x'"):
        target_of(given, SCHEMA, overwrite=False, stream=False)


@pytest.mark.parametrize(
    ("ddl", "message"),
    [
        ("a INT, b INTERVAL DAY TO SECOND", "column 'b': has type interval day to second"),
        ("a STRUCT<x: ARRAY<VOID>>", "column 'a': has type void"),
        ("a MAP<STRING, VARIANT>", "column 'a': has type variant"),
        ("a INT, A INT", "column 'a': must be unique, ignoring case"),
    ],
)
def test_columns_that_would_not_come_back(place: Lake, spark: Any, ddl: str, message: str) -> None:
    schema = StructType.fromDDL(ddl)
    with pytest.raises(InvalidInput, match=message):
        target_of(place.options(branch="main", path="t"), schema, overwrite=False, stream=False)
