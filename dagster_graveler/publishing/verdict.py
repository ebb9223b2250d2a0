"""Verdict: the decision whether the commit of a branch may be published, by the evidence in Dagster's event log."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

import dagster as dg

from dagster_graveler.display.diff import escaped
from dagster_graveler.publishing.evidence import Evaluation, Evidence, TableWrite
from dagster_graveler.publishing.groups import GroupTable, TableGroup
from dagster_graveler.publishing.written import content_digest
from dagster_graveler.sensors.tick_time import Watch

if TYPE_CHECKING:
    from graveler_core.facade.repository import Repository
    from graveler_core.facade.snapshot import Snapshot
    from graveler_core.model.changes import Change

_FOREIGN_SHOWN = 5
_AFTER_SLASH = "0"
"""Next character after the slash. Every path in a table is less than the table's path followed by this character."""
Places = Mapping[dg.AssetKey, Collection[str]]
"""Prefixes below which the materializations of each table wrote, as in `Evidence.places`."""


class Outcome(StrEnum):
    """Result of a check, as it counts for a publication."""

    PASSED = "passed"
    WARNED = "failed with severity WARN"
    FAILED = "failed"
    OUTDATED = "evaluated before the last write of the table"
    MISSING = "not evaluated"


_RANKS = (Outcome.PASSED, Outcome.WARNED, Outcome.OUTDATED, Outcome.MISSING, Outcome.FAILED)
"""Outcomes, from the best one to the worst one."""


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """Outcome of a blocking check of a changed table."""

    table: GroupTable
    check: str
    outcome: Outcome
    run_id: str = ""
    partition: str = ""
    """Partition of the outcome, if the check is partitioned."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Tables that a merge would change, and changed paths that must not be published."""

    tables: tuple[GroupTable, ...]
    foreign: tuple[str, ...]
    """Paths that belong to no table."""
    unrecorded: tuple[str, ...] = ()
    """One path of each table, in a partition that no materialization wrote."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Decision about a commit."""

    changes: Changes
    findings: tuple[CheckFinding, ...]
    reasons: tuple[str, ...]
    """Reasons to keep the branch; none if the commit may be published."""

    @property
    def good(self) -> bool:
        """True if the commit may be published."""
        return not self.reasons

    @property
    def runs(self) -> list[str]:
        """Ids of the runs that evaluated the checks."""
        return sorted({finding.run_id for finding in self.findings if finding.run_id})

    def markdown(self) -> str:
        """Return the decision in words."""
        if self.reasons:
            return "\n".join(f"- {escaped(reason)}" for reason in self.reasons)
        tables = ", ".join(escaped(table.name) for table in self.changes.tables) or "none"
        count = len(self.findings)
        few = {0: "There are no blocking checks.", 1: "The blocking check was accepted."}
        return f"{few.get(count, f'All {count} blocking checks were accepted.')} Changed tables: {tables}."


def verdicts_table(verdicts: Iterable[Verdict]) -> dg.TableMetadataValue:
    """Return the findings of verdicts as a Dagster table.

    Args:
        verdicts: The verdicts.
    """
    columns = [dg.TableColumn(name) for name in ("table", "check", "result", "run")]
    records = [
        dg.TableRecord({"table": f.table.name, "check": f.check, "result": str(f.outcome), "run": f.run_id})
        for verdict in verdicts
        for f in verdict.findings
    ]
    return dg.MetadataValue.table(records, dg.TableSchema(columns=columns))


def committed_changes(
    repository: Repository, group: TableGroup, commit: str, into: str, places: Places | None = None
) -> Changes:
    """Return the changes that a merge would bring, with one small query for each table that was written in one place.

    The changes of a table that was written in several places are listed.

    Args:
        repository: The repository.
        group: The tables to look for.
        commit: Id of the commit to merge.
        into: Name of the branch to merge into.
        places: Prefixes below which each table was written. Default: anywhere in the table.
    """
    return _changes(group, _committed(repository, commit, into), places or {})


def kept_changes(  # noqa: PLR0913 - one call, the last two optional
    repository: Repository,
    group: TableGroup,
    branch: str,
    into: str,
    places: Places | None = None,
    *,
    watch: Watch | None = None,
) -> Changes:
    """Return the changes that a branch would bring after its staged changes are committed.

    Args:
        repository: The repository.
        group: The tables to look for.
        branch: Name of the branch.
        into: Name of the branch to merge into.
        places: Prefixes below which each table was written. Default: anywhere in the table.
        watch: Function that is called for each change, and may raise an exception to end the listing.
    """
    head = repository.commit(branch).id
    committed = _changes(group, _committed(repository, head, into), places or {}, watch)
    staged = _changes(group, repository.branch(branch).uncommitted, places or {}, watch)
    return Changes(
        tuple(dict.fromkeys((*committed.tables, *staged.tables))),
        tuple(dict.fromkeys((*committed.foreign, *staged.foreign))),
        tuple(dict.fromkeys((*committed.unrecorded, *staged.unrecorded))),
    )


def judge(
    at: Snapshot,
    group: TableGroup,
    evidence: Evidence,
    changes: Changes,
    digest: Callable[[Snapshot, str], str] = content_digest,
) -> Verdict:
    """Decide if the content of a ref may be published.

    Args:
        at: The content: a commit, or a branch with its staged changes.
        group: Tables and checks of the publication.
        evidence: Writes and checks on the branch.
        changes: Tables and paths that the publication would change.
        digest: Function that returns the digest of a table.
    """
    findings = tuple(_find(evidence, table, check) for table in changes.tables for check in table.checks)
    reasons = [*_unexpected(changes)]
    for table in changes.tables:
        reasons += _of_write(at, evidence, table, digest)
    reasons += _of_checks(findings, group)
    return Verdict(changes, findings, tuple(reasons))


def _committed(repository: Repository, commit: str, into: str) -> Callable[..., Iterable[Change]]:
    """Return the function that lists the changes that a merge would bring."""
    return partial(repository.diff, into, commit, since_merge_base=True)


def _changes(
    group: TableGroup, page: Callable[..., Iterable[Change]], places: Places, watch: Watch | None = None
) -> Changes:
    """Return the changed tables, and paths that must not be published, of a listing of changes.

    Args:
        group: The tables to look for.
        page: Function that lists the changes, from a path on (`start`).
        places: Prefixes below which each table was written.
        watch: Function that is called for each change.
    """
    outermost = {table: _outermost(places.get(table.key) or [f"{table.path}/"]) for table in group.tables}
    tables: dict[GroupTable, None] = {}
    foreign: list[str] = []
    unrecorded: list[str] = []
    found = iter(page())
    while len(foreign) < _FOREIGN_SHOWN and (change := next(found, None)) is not None:
        if watch is not None:
            watch()
        table = group.table_of(change.path)
        if table is None:
            foreign.append(change.path)
            continue
        tables[table] = None
        place = _place_of(change.path, outermost[table])
        if place is None:
            unrecorded.append(change.path)  # one path of the table is enough
            place = f"{table.path}/"
        elif len(outermost[table]) > 1:
            continue
        found = iter(page(start=f"{place.removesuffix('/')}{_AFTER_SLASH}"))
    return Changes(tuple(tables), tuple(foreign), tuple(unrecorded))


def _outermost(prefixes: Iterable[str]) -> list[str]:
    """Return the prefixes that lie in no other one, sorted."""
    found: list[str] = []
    for prefix in sorted(prefixes):
        if not found or not prefix.startswith(found[-1]):
            found.append(prefix)
    return found


def _place_of(path: str, outermost: list[str]) -> str | None:
    """Return the prefix of a path, or `None` if the path lies below none."""
    number = bisect_right(outermost, path)
    return outermost[number - 1] if number and path.startswith(outermost[number - 1]) else None


def _find(evidence: Evidence, table: GroupTable, check: str) -> CheckFinding:
    """Return the outcome of a check. For a partitioned check, this is the worst one of the written partitions."""
    key, write = dg.AssetCheckKey(table.key, check), evidence.writes.get(table.key)
    writes = evidence.partition_writes.get(table.key, {}) if check in table.partitioned else {}
    if write is None:
        return CheckFinding(table, check, Outcome.MISSING)
    if not writes:
        return _finding(evidence, table, check, write, evidence.evaluations.get(key))
    findings = [_finding(evidence, table, check, each, evidence.newest_for(key, each)) for each in writes.values()]
    return max(findings, key=lambda finding: _RANKS.index(finding.outcome))


def _finding(
    evidence: Evidence, table: GroupTable, check: str, write: TableWrite, evaluation: Evaluation | None
) -> CheckFinding:
    partition = (write.partition or "") if check in table.partitioned else ""
    if evaluation is None:
        return CheckFinding(table, check, Outcome.MISSING, partition=partition)
    if not evaluation.covers(write, evidence.contents_since(table, write)):
        outcome = Outcome.OUTDATED
    elif evaluation.passed:
        outcome = Outcome.PASSED
    else:
        outcome = Outcome.FAILED if evaluation.severe else Outcome.WARNED
    return CheckFinding(table, check, outcome, evaluation.run_id, partition)


def _unexpected(changes: Changes) -> Iterator[str]:
    for path in changes.foreign:
        yield f"path {path!r} was changed and belongs to no table of the group"
    for path in changes.unrecorded:
        yield f"path {path!r} was changed, but no run materialized its partition on this branch"


def _of_write(
    at: Snapshot, evidence: Evidence, table: GroupTable, digest: Callable[[Snapshot, str], str]
) -> Iterator[str]:
    write = evidence.writes.get(table.key)
    if write is None:
        yield f"table {table.name} was changed, but no run materialized it on this branch"
    elif write.content is None:
        yield (
            f"table {table.name}: its materialization does not record the content; the IO manager must add the "
            "metadata of dagster_graveler.publishing.written"
        )
    elif write.content != digest(at, table.path):
        yield f"table {table.name} was changed outside Dagster after its last materialization"


def _of_checks(findings: Iterable[CheckFinding], group: TableGroup) -> Iterator[str]:
    for finding in findings:
        allowed = finding.outcome is Outcome.WARNED and group.warn == "allow"
        if finding.outcome is not Outcome.PASSED and not allowed:
            where = f" (run {finding.run_id})" if finding.run_id else ""
            part = f", partition {finding.partition}" if finding.partition else ""
            yield f"check {finding.check} of {finding.table.name}{part}: {finding.outcome}{where}"
