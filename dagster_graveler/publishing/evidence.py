"""Evidence about a branch in Dagster's event log: writes of tables and results of checks, by the runs that used it.

Events of one run are ordered by their position in its log. Materializations of different runs are ordered by their
storage ids; a check of another run counts only if its step began after the write, and if the digest that it measured
is that of the table after this write or a later one. The clocks of machines differ, and digests do not.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dagster as dg

from dagster_graveler.publishing.groups import GroupTable, TableGroup
from dagster_graveler.publishing.written import ADDED, CONTENT, REPLACED, partition_prefixes
from dagster_graveler.run_tags import MARKED_TAG, MarkedBranch, branch_mark
from dagster_graveler.runs import partition_label, range_of_checks
from dagster_graveler.sensors.run_states import ENDED
from dagster_graveler.sensors.tick_time import Watch, unwatched

_EVENTS = {
    dg.DagsterEventType.ASSET_CHECK_EVALUATION,
    dg.DagsterEventType.ASSET_MATERIALIZATION,
    dg.DagsterEventType.STEP_RESTARTED,
    dg.DagsterEventType.STEP_START,
}
_PAGE = 1_000
"""Number of materializations that are read at a time."""
_LastWrites = dict[str | None, tuple[int, dg.EventLogEntry]]
"""Last materializations of a table in a run, with their positions in its log, by partition."""
_STARTS = (dg.DagsterEventType.STEP_START, dg.DagsterEventType.STEP_RESTARTED)


@dataclass(frozen=True, slots=True)
class BranchIdentity:
    """A branch. The uid distinguishes it from earlier and later branches with the same name."""

    repository: str
    branch: str
    uid: str


@dataclass(frozen=True, slots=True)
class Start:
    """Start of an attempt of a step: position in the log of its run, and time."""

    position: int
    timestamp: float


@dataclass(frozen=True, slots=True)
class TableWrite:
    """A materialization of a table."""

    run_id: str
    step: str
    position: int
    timestamp: float
    storage_id: int
    content: str | None
    """Digest of the table after the write; `None` if the IO manager did not record it."""
    partition: str | None
    partitions: str
    """Partitions of the run, as `partition_label` returns them."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A result of a check."""

    run_id: str
    step: str
    timestamp: float
    began: Start
    newest_start: Start
    """Newest start of the step in this run; differs from `began` if the step was repeated afterwards."""
    target: int | None
    """Storage id of the newest materialization that Dagster knew when the check was evaluated."""
    passed: bool
    severe: bool
    """False if the check is of severity WARN."""
    partition: str | None
    """Partition of a partitioned check. `None` also if the run has several partitions."""
    partitions: str
    """Partitions of the run, as `partition_label` returns them."""
    keys: frozenset[str] = frozenset()
    """Partitions that the check looked at, if the run has a range of partitions and the check is partitioned."""
    content: str | None = None
    """Digest of the table that the check measured; `None` if its metadata do not tell."""

    @property
    def scope(self) -> tuple[str | None, str]:
        """Subject of the result of a partitioned check: a partition, or all partitions of a run."""
        return self.partition, "" if self.partition is not None else self.partitions

    def concerns(self, write: TableWrite) -> bool:
        """Return true if the result of a partitioned check is about the partition of a write."""
        if self.partition is not None:
            return self.partition == write.partition
        return write.partition in self.keys or self.partitions == write.partitions

    def covers(self, write: TableWrite, contents: Container[str | None]) -> bool:
        """Return true if the check looked at the table after a write.

        Args:
            write: The write.
            contents: Digests of the table after this write and after later ones.
        """
        if self.run_id == write.run_id and self.step == write.step:
            return self.began == self.newest_start
        if self.run_id == write.run_id:
            return self.began.position > write.position
        if self.content is not None and self.content not in contents:
            return False
        return self.began.timestamp >= write.timestamp and (self.target is None or self.target >= write.storage_id)


@dataclass(slots=True)
class Evidence:
    """Writes and checks on a branch."""

    runs: list[dg.DagsterRun] = field(default_factory=list)
    """Runs that used the branch, oldest first."""
    writes: dict[dg.AssetKey, TableWrite] = field(default_factory=dict)
    """Newest write of each table."""
    partition_writes: dict[dg.AssetKey, dict[str, TableWrite]] = field(default_factory=dict)
    """Newest write of each partition of each table."""
    contents: dict[dg.AssetKey, dict[int, str | None]] = field(default_factory=dict)
    """Digests of each table after its writes, by storage id."""
    replaced: dict[dg.AssetKey, set[str]] = field(default_factory=dict)
    """Prefixes that any write of a table replaced."""
    places: dict[dg.AssetKey, set[str]] = field(default_factory=dict)
    """Prefixes below which any write of a table put files; the whole table if a write does not tell."""
    evaluations: dict[dg.AssetCheckKey, Evaluation] = field(default_factory=dict)
    """Newest result of each check."""
    scoped: dict[dg.AssetCheckKey, dict[tuple[str | None, str], Evaluation]] = field(default_factory=dict)
    """Newest result of each check for each of its scopes."""
    published: str = ""
    """Commit that the publish asset last reported for this branch."""
    published_id: int = 0
    """Storage id of the newest materialization of the publish asset for this branch."""

    @property
    def is_written_since_publication(self) -> bool:
        """True if a table was written on the branch after the publication that was last reported."""
        return any(write.storage_id > self.published_id for write in self.writes.values())

    def replaced_in(self, tables: Iterable[GroupTable]) -> list[str]:
        """Return the prefixes of some tables that any of their writes replaced."""
        return sorted(prefix for table in tables for prefix in self.replaced.get(table.key, ()))

    def contents_since(self, table: GroupTable, write: TableWrite) -> set[str | None]:
        """Return the digests of a table after a write and after later ones."""
        known = self.contents.get(table.key, {})
        return {write.content, *(content for at, content in known.items() if at >= write.storage_id)}

    def newest_for(self, check: dg.AssetCheckKey, write: TableWrite) -> Evaluation | None:
        """Return the newest result of a partitioned check that is about the partition of a write."""
        found = [each for each in self.scoped.get(check, {}).values() if each.concerns(write)]
        return max(found, key=lambda each: each.timestamp, default=None)


def gather(
    instance: dg.DagsterInstance, group: TableGroup, place: BranchIdentity, *, watch: Watch = unwatched
) -> Evidence:
    """Read the evidence about a branch.

    Args:
        instance: The instance whose runs used the branch.
        group: Tables and checks to look for.
        place: The branch.
        watch: Function that is called for each run and for each table of a run, and may raise an exception.
    """
    found = Evidence(runs=runs_on(instance, place))
    for run in found.runs:
        watch()
        _read_run(instance, group, run, found, watch)
    return found


def runs_on(instance: dg.DagsterInstance, place: BranchIdentity, newest: int | None = None) -> list[dg.DagsterRun]:
    """Return the runs that used a branch, oldest first. Runs that only inherited the tags of a parent do not count.

    A run that was started with the tag of the branch counts, although it may have ended before it marked itself.

    Args:
        instance: The instance of the runs.
        place: The branch.
        newest: Number of runs to read, the newest ones. `None` means all.
    """
    runs = instance.get_runs(_on(place), limit=newest)
    return [run for run in reversed(runs) if _uses_itself(run)]


def ids_on(instance: dg.DagsterInstance, place: BranchIdentity) -> frozenset[str]:
    """Return the ids of the runs that used a branch. They change if a run joins the branch, which it does before it
    writes. The newest run does not tell this, because an older one may join later.

    Args:
        instance: The instance of the runs.
        place: The branch.
    """
    return frozenset(run.run_id for run in runs_on(instance, place))


def is_in_use(instance: dg.DagsterInstance, place: BranchIdentity, besides: str = "") -> bool:
    """Return true if a run that has used a branch has not ended.

    Args:
        instance: The instance of the runs.
        place: The branch.
        besides: Id of a run that does not count.
    """
    active = [status for status in dg.DagsterRunStatus if status not in ENDED]
    runs = instance.get_runs(_on(place, active))
    return any(_uses_itself(run) and run.run_id != besides for run in runs)


def require_few_runs(instance: dg.DagsterInstance, place: BranchIdentity, maximum: int) -> None:
    """Require that few runs have the tag of a branch.

    Raises:
        LimitExceeded: (`TooManyItems`) There are more.
    """
    from graveler_core.errors import Kind
    from graveler_core.model.limit import require_limit

    number = instance.get_runs_count(_on(place))
    require_limit(f"branch {place.branch!r}", number, maximum, "runs", Kind.TooManyItems)


def _on(place: BranchIdentity, statuses: Sequence[dg.DagsterRunStatus] = ()) -> dg.RunsFilter:
    return dg.RunsFilter(tags=branch_mark(place.repository, MarkedBranch(place.branch, place.uid)), statuses=statuses)


def _uses_itself(run: dg.DagsterRun) -> bool:
    return run.tags.get(MARKED_TAG, run.run_id) == run.run_id


def _read_run(
    instance: dg.DagsterInstance, group: TableGroup, run: dg.DagsterRun, found: Evidence, watch: Watch
) -> None:
    tables = {table.key: f"{table.path}/" for table in group.tables}
    starts: dict[str, Start] = {}
    evaluated: list[tuple[dg.EventLogEntry, Start]] = []
    last_writes: dict[dg.AssetKey, _LastWrites] = {}
    published_at: list[float] = []
    for position, entry in enumerate(instance.all_logs(run.run_id, of_type=_EVENTS)):
        event, step = entry.dagster_event, entry.step_key or ""
        if event is None:
            continue
        if event.event_type in _STARTS:
            starts[step] = Start(position, entry.timestamp)
        elif event.event_type is dg.DagsterEventType.ASSET_CHECK_EVALUATION:
            evaluated.append((entry, starts.get(step, Start(position, entry.timestamp))))
        elif event.asset_key == group.publish_key:
            published_at = [entry.timestamp]
            found.published = _text(event, group.commit_label) if _text(event, "graveler/state") == "published" else ""
        elif event.asset_key in tables:
            last_writes.setdefault(event.asset_key, {})[event.partition] = position, entry
            replaced, added = _prefixes(event, REPLACED), _prefixes(event, ADDED)
            found.replaced.setdefault(event.asset_key, set()).update(replaced)
            found.places.setdefault(event.asset_key, set()).update([*replaced, *added] or [tables[event.asset_key]])
    for key, writes in last_writes.items():
        watch()
        _add_writes(instance, key, writes, run, found)
    if published_at:
        ids = _storage_ids(instance, group.publish_key, run.run_id, published_at)
        found.published_id = max(found.published_id, *ids.values())
    keys = range_of_checks(instance, run) if evaluated else {}
    for entry, began in evaluated:
        _add_evaluation(entry, (began, starts.get(entry.step_key or "", began)), run, keys, found)


def _add_writes(
    instance: dg.DagsterInstance, key: dg.AssetKey, writes: _LastWrites, run: dg.DagsterRun, found: Evidence
) -> None:
    storage_ids = _storage_ids(instance, key, run.run_id, [entry.timestamp for _, entry in writes.values()])
    of_partitions = found.partition_writes.setdefault(key, {})
    for partition, (position, entry) in writes.items():
        storage_id, event = storage_ids.get(partition), entry.dagster_event
        if storage_id is None or event is None:
            continue
        write = TableWrite(
            run_id=entry.run_id,
            step=entry.step_key or "",
            position=position,
            timestamp=entry.timestamp,
            storage_id=storage_id,
            content=_text(event, CONTENT) or None,
            partition=partition,
            partitions=partition_label(run),
        )
        found.contents.setdefault(key, {})[storage_id] = write.content
        if key not in found.writes or found.writes[key].storage_id <= storage_id:
            found.writes[key] = write
        if partition is not None and (
            partition not in of_partitions or of_partitions[partition].storage_id <= storage_id
        ):
            of_partitions[partition] = write


def _add_evaluation(
    entry: dg.EventLogEntry,
    starts: tuple[Start, Start],
    run: dg.DagsterRun,
    keys: Mapping[dg.AssetCheckKey, frozenset[str]],
    found: Evidence,
) -> None:
    """Add a result. `starts` are that of its attempt of the step and the newest one; `keys` as `range_of_checks`."""
    if entry.dagster_event is None:
        return
    data = entry.dagster_event.asset_check_evaluation_data
    target, check = data.target_materialization_data, data.asset_check_key
    content = data.metadata.get(CONTENT)
    made = Evaluation(
        run_id=entry.run_id,
        step=entry.step_key or "",
        timestamp=entry.timestamp,
        began=starts[0],
        newest_start=starts[1],
        target=None if target is None else target.storage_id,
        passed=data.passed,
        severe=data.severity is dg.AssetCheckSeverity.ERROR,
        partition=data.partition,
        partitions=partition_label(run),
        keys=keys.get(check, frozenset()),
        content=None if content is None else str(content.value),
    )
    newest, scoped = found.evaluations.get(check), found.scoped.setdefault(check, {})
    if newest is None or newest.timestamp <= made.timestamp:
        found.evaluations[check] = made
    if made.scope not in scoped or scoped[made.scope].timestamp <= made.timestamp:
        scoped[made.scope] = made


def _storage_ids(
    instance: dg.DagsterInstance, key: dg.AssetKey, run_id: str, times: Sequence[float]
) -> dict[str | None, int]:
    """Return the storage ids of the newest materializations by a run, by partition.

    They are those in the log of all runs. The log of a single run may have other ids.
    """
    around = dg.AssetRecordsFilter(key, after_timestamp=min(times) - 1, before_timestamp=max(times) + 1)
    found: dict[str | None, int] = {}
    cursor, more = None, True
    while more:
        page = instance.fetch_materializations(around, limit=_PAGE, cursor=cursor)
        for record in page.records:
            made = record.asset_materialization
            if record.run_id == run_id and made is not None:
                found[made.partition] = max(record.storage_id, found.get(made.partition, 0))
        cursor, more = page.cursor, page.has_more
    return found


def _metadata(event: dg.DagsterEvent) -> Mapping[str, Any]:
    return event.step_materialization_data.materialization.metadata


def _text(event: dg.DagsterEvent, key: str) -> str:
    value = _metadata(event).get(key)
    return "" if value is None else str(value.value)


def _prefixes(event: dg.DagsterEvent, key: str) -> list[str]:
    value = _metadata(event).get(key)
    return [] if value is None else partition_prefixes(value.value, event.partition)
