"""Evidence about a branch in Dagster's event log: writes of tables and results of checks, by the runs that used it.

Events of one run are ordered by their position in its log. Materializations of different runs are ordered by their
storage ids; a check of another run counts only if its step began after the write.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import dagster as dg

from dagster_graveler.publishing.groups import GroupTable, TableGroup
from dagster_graveler.publishing.written import CONTENT, REPLACED
from dagster_graveler.run_tags import MARKED_TAG, MarkedBranch, branch_mark

_EVENTS = {
    dg.DagsterEventType.ASSET_CHECK_EVALUATION,
    dg.DagsterEventType.ASSET_MATERIALIZATION,
    dg.DagsterEventType.STEP_RESTARTED,
    dg.DagsterEventType.STEP_START,
}
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
    replaced: tuple[str, ...]


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

    def covers(self, write: TableWrite) -> bool:
        """Return true if the check looked at the table after this write."""
        if self.run_id == write.run_id and self.step == write.step:
            return self.began == self.newest_start
        if self.run_id == write.run_id:
            return self.began.position > write.position
        return self.began.timestamp >= write.timestamp and (self.target is None or self.target >= write.storage_id)


@dataclass(slots=True)
class Evidence:
    """Writes and checks on a branch."""

    runs: list[dg.DagsterRun] = field(default_factory=list)
    """Runs that used the branch, oldest first."""
    writes: dict[dg.AssetKey, TableWrite] = field(default_factory=dict)
    """Newest write of each table."""
    replaced: dict[dg.AssetKey, set[str]] = field(default_factory=dict)
    """Prefixes that any write of a table replaced."""
    evaluations: dict[dg.AssetCheckKey, Evaluation] = field(default_factory=dict)
    """Newest result of each check."""
    published: str = ""
    """Commit that the publish asset last reported for this branch."""

    def replaced_in(self, tables: Iterable[GroupTable]) -> list[str]:
        """Return the prefixes of some tables that any of their writes replaced."""
        return sorted(prefix for table in tables for prefix in self.replaced.get(table.key, ()))


def gather(instance: dg.DagsterInstance, group: TableGroup, place: BranchIdentity) -> Evidence:
    """Read the evidence about a branch.

    Args:
        instance: The instance whose runs used the branch.
        group: Tables and checks to look for.
        place: The branch.
    """
    found = Evidence(runs=runs_on(instance, place))
    for run in found.runs:
        _read_run(instance, group, run, found)
    return found


def runs_on(instance: dg.DagsterInstance, place: BranchIdentity) -> list[dg.DagsterRun]:
    """Return the runs that used a branch, oldest first. Runs that only inherited the tags of a parent do not count."""
    tags = branch_mark(place.repository, MarkedBranch(place.branch, place.uid))
    runs = instance.get_runs(dg.RunsFilter(tags=tags), ascending=True)
    return [run for run in runs if run.tags.get(MARKED_TAG) == run.run_id]


def _read_run(instance: dg.DagsterInstance, group: TableGroup, run: dg.DagsterRun, found: Evidence) -> None:
    tables = {table.key: table for table in group.tables}
    starts: dict[str, Start] = {}
    evaluated: list[tuple[dg.AssetCheckKey, dg.EventLogEntry, Start]] = []
    last_writes: dict[dg.AssetKey, tuple[int, dg.EventLogEntry]] = {}
    for position, entry in enumerate(instance.all_logs(run.run_id, of_type=_EVENTS)):
        event, step = entry.dagster_event, entry.step_key or ""
        if event is None:
            continue
        if event.event_type in _STARTS:
            starts[step] = Start(position, entry.timestamp)
        elif event.event_type is dg.DagsterEventType.ASSET_CHECK_EVALUATION:
            check = event.asset_check_evaluation_data.asset_check_key
            evaluated.append((check, entry, starts.get(step, Start(position, entry.timestamp))))
        elif event.asset_key == group.publish_key:
            found.published = _text(event, group.commit_label) if _text(event, "graveler/state") == "published" else ""
        elif event.asset_key in tables:
            last_writes[event.asset_key] = position, entry
            found.replaced.setdefault(event.asset_key, set()).update(_replaced(event))
    for key, (position, entry) in last_writes.items():
        _add_write(instance, tables[key], position, entry, found)
    for check, entry, began in evaluated:
        _add_evaluation(check, entry, began, starts, found)


def _add_write(
    instance: dg.DagsterInstance, table: GroupTable, position: int, entry: dg.EventLogEntry, found: Evidence
) -> None:
    storage_id = _storage_id(instance, table.key, entry)
    newest = found.writes.get(table.key)
    if storage_id is None or entry.dagster_event is None or (newest and newest.storage_id > storage_id):
        return
    event = entry.dagster_event
    found.writes[table.key] = TableWrite(
        run_id=entry.run_id,
        step=entry.step_key or "",
        position=position,
        timestamp=entry.timestamp,
        storage_id=storage_id,
        content=_text(event, CONTENT) or None,
        replaced=tuple(_replaced(event)),
    )


def _add_evaluation(
    check: dg.AssetCheckKey, entry: dg.EventLogEntry, began: Start, starts: Mapping[str, Start], found: Evidence
) -> None:
    newest = found.evaluations.get(check)
    if entry.dagster_event is None or (newest and newest.timestamp > entry.timestamp):
        return
    data, step = entry.dagster_event.asset_check_evaluation_data, entry.step_key or ""
    target = data.target_materialization_data
    found.evaluations[check] = Evaluation(
        run_id=entry.run_id,
        step=step,
        timestamp=entry.timestamp,
        began=began,
        newest_start=starts.get(step, began),
        target=None if target is None else target.storage_id,
        passed=data.passed,
        severe=data.severity is dg.AssetCheckSeverity.ERROR,
    )


def _storage_id(instance: dg.DagsterInstance, key: dg.AssetKey, entry: dg.EventLogEntry) -> int | None:
    """Return the storage id of a materialization in the log of all runs. The log of a single run may have other ids."""
    around = dg.AssetRecordsFilter(key, after_timestamp=entry.timestamp - 1, before_timestamp=entry.timestamp + 1)
    records = instance.fetch_materializations(around, limit=10_000).records
    return max((record.storage_id for record in records if record.run_id == entry.run_id), default=None)


def _metadata(event: dg.DagsterEvent) -> Mapping[str, Any]:
    return event.step_materialization_data.materialization.metadata


def _text(event: dg.DagsterEvent, key: str) -> str:
    value = _metadata(event).get(key)
    return "" if value is None else str(value.value)


def _replaced(event: dg.DagsterEvent) -> Iterator[str]:
    value = _metadata(event).get(REPLACED)
    prefixes: Iterable[Any] = value.value if value is not None and isinstance(value.value, list) else ()
    return (str(prefix) for prefix in prefixes)
