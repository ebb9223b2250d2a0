"""Staged changes of branches according to their counters, for sensors, metrics and users.

A survey reads only the counters and the branches that they name. Its cost depends on the number of branches that are
written to, and not on their content. Branches with few staged records and few layers have no counters and are not
found. Source: seed 004, `Sensor`.

A survey removes counters of layers that are not listed by any branch, because no branch will list them again.

A record that cannot be read is passed to the caller's `damaged`, and only the branches that need it are left out. Their
counters stay, because it is unknown which layers are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import groupby, islice

import pyarrow.compute as pc

from graveler_core.engine.protocol import write_counters as counting
from graveler_core.engine.protocol.registers import fresh
from graveler_core.engine.protocol.retry import retry
from graveler_core.engine.protocol.swap import without_layer
from graveler_core.errors import CorruptData, InvalidInput, LimitExceeded, PredicateFailed
from graveler_core.model.compaction import CompactionSettings, Counted, StagedCounts, Thresholds
from graveler_core.model.entities import BranchRecord, RepositoryRecord, RepositoryState
from graveler_core.model.entry import TOMBSTONE
from graveler_core.model.ids import BranchId, RepositoryId
from graveler_core.model.layers import SealedToken, SegmentLayer
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Damaged, Held
from graveler_core.staging.pressure import Load, Pressure, pressure
from graveler_core.staging.stack import layers_of, scan
from graveler_core.stores import Registers, Stores
from graveler_core.telemetry.events import tell_damaged

AT_ONCE = 1_000
"""Number of branch records that are read in one round trip."""
SCAN = "scan"
"""Writer id of the counters that a scan stores."""
ALL = "all"
"""Name of the counts of all writers together in the record of a scan. The record has the same size for any number of
them.
"""


@dataclass(frozen=True, slots=True)
class BranchPressure:
    """Staged changes of a branch, and the resulting pressure."""

    repository: RepositoryRecord
    branch: BranchRecord
    load: Load
    thresholds: Thresholds
    pressure: Pressure

    @property
    def token(self) -> str:
        """Token from which a survey resumes after this branch."""
        return f"{self.repository.id}/{self.branch.id}"


@dataclass(slots=True)
class _Counters:
    """Counters of one branch, by name."""

    repository: RepositoryId
    branch: BranchId
    found: dict[str, StagedCounts] = field(default_factory=dict)


def survey(
    stores: Stores, *, prefix: str = "", after: str = "", damaged: Damaged, watch: Callable[[], None] | None = None
) -> Iterator[BranchPressure]:
    """Yield the branches that counters name, lazily and in the order of the names of the counters.

    Args:
        stores: Stores of the flow.
        prefix: Limits the result to tokens with this prefix: `<repository>/` for one repository.
        after: Token of a branch. Limits the result to the branches that follow it in this order.
        damaged: Called for each record that cannot be read. The branches that need it are left out.
        watch: Called after each removal of a counter. It may raise an exception to end the survey, because the next
            one does not find this counter again.
    """
    settings: dict[str, CompactionSettings | None] = {}
    for found, repository, branch in _looked_up(stores, prefix, after, damaged):
        for name in _ended(found, repository, branch):
            counting.remove(stores, name)
            if watch is not None:
                watch()
        if repository is not None and branch is not None and found.found:
            if repository.uid not in settings:
                settings[repository.uid] = _undamaged_settings(stores, repository, damaged)
            if (known := settings[repository.uid]) is not None:
                yield _pressure(stores, repository, branch, found, known)


def forget_ended(
    stores: Stores, *, prefix: str = "", after: str = "", dry_run: bool = False, damaged: Damaged
) -> Iterator[tuple[str, int]]:
    """Remove the counters of layers that no longer exist, as a survey does, without reading anything else.

    `damaged` is called for each record that cannot be read. The counters that need it stay.

    Yields:
        The token of each branch that counters name, even if the branch does not exist, and the number of counters
        that were removed, lazily.
    """
    for found, repository, branch in _looked_up(stores, prefix, after, damaged):
        ended = _ended(found, repository, branch)
        for name in () if dry_run else ended:
            counting.remove(stores, name)
        yield f"{found.repository}/{found.branch}", len(ended)


def of_branch(stores: Stores, repo: RepositoryId, branch: BranchId) -> BranchPressure:
    """Return the pressure on one branch, from its counters. Those that cannot be read are logged, and count nothing."""
    now = fresh(stores, repo, branch)
    return of_record(stores, now.repository, now.branch, settings_of(stores, now.repository), tell_damaged)


def of_record(
    stores: Stores,
    repository: RepositoryRecord,
    branch: BranchRecord,
    settings: CompactionSettings,
    damaged: Damaged,
) -> BranchPressure:
    """Return the pressure on a branch whose record was read, from its counters. Unlike a survey, this changes
    nothing. `damaged` is called for each counter that cannot be read, which counts nothing.
    """
    found = counting.readable(stores, keys.counts_of_branch(repository.id, branch.id), damaged)
    return _pressure(stores, repository, branch, _Counters(repository.id, branch.id, found), settings)


def recount(stores: Stores, repo: RepositoryId, branch: BranchId) -> BranchPressure:
    """Count the records of a branch's layers by reading them, and correct its counters. Remove damaged ones.

    Writers continue from their own counts. Counts from before the scan are replaced by the result of the scan. A layer
    that leaves the branch in the meantime is left out.
    """
    now = fresh(stores, repo, branch)
    counting.write_down(stores, stores.counts.rest())
    for layer in layers_of(now.branch):
        if isinstance(layer, SealedToken | SegmentLayer):
            try:
                _recount(stores, now, layer)
            except CorruptData as missing:
                without_layer(stores, now, missing)
    return of_branch(stores, repo, branch)


def counted_in(
    stores: Stores, repository: RepositoryRecord, branch: BranchId, damaged: Damaged | None = None
) -> dict[str, int]:
    """Return the counted number of records in the layers of a branch, by layer id. `damaged` is used as in
    `access.scan`.
    """
    found: dict[str, dict[str, StagedCounts]] = {}
    prefix = keys.counts_of_branch(repository.id, branch)
    for name, held in access.scan(stores.kv, keys.COUNTS, prefix=prefix, damaged=damaged):
        if held.value.uid == repository.uid:
            found.setdefault(held.value.layer, {})[name] = held.value
    return {layer: _total(counters).writes for layer, counters in found.items()}


def settings_of(stores: Stores, repository: RepositoryRecord) -> CompactionSettings:
    """Return the thresholds of a repository."""
    held = access.read(stores.kv, keys.compaction_settings(repository))
    return CompactionSettings(thresholds=Thresholds()) if held is None else held.value


def set_thresholds(
    stores: Stores, repository: RepositoryRecord, thresholds: Thresholds | None, branch: BranchId | None = None
) -> CompactionSettings:
    """Set the thresholds of a repository or of one of its branches. `None` removes them.

    The thresholds of a branch stay when it is deleted, because it may be restored. If the record is full, those of
    branches that do not exist are removed.

    Returns:
        All thresholds of the repository.

    Raises:
        InvalidInput: The value is not a `Thresholds`.
        LimitExceeded: Too many branches have thresholds of their own.
    """
    if thresholds is not None and not isinstance(thresholds, Thresholds):
        raise InvalidInput(f"thresholds {thresholds!r}: must be Thresholds or None")
    where = keys.compaction_settings(repository)

    def attempt() -> CompactionSettings | None:
        held = access.read(stores.kv, where)
        settings = CompactionSettings(thresholds=Thresholds()) if held is None else held.value
        if branch is None:
            settings = settings.model_copy(update={"thresholds": thresholds or Thresholds()})
        else:
            others = {name: own for name, own in settings.branches.items() if name != branch}
            own = {} if thresholds is None else {branch: thresholds}
            settings = settings.model_copy(update={"branches": dict(sorted((others | own).items()))})
        with suppress(PredicateFailed):
            try:
                return access.replace(stores.kv, where, held, settings).value
            except LimitExceeded:
                kept = _of_existing(stores, repository, settings, branch)
                return access.replace(stores.kv, where, held, kept).value
        return None

    return retry(stores, f"thresholds of {repository.id}", attempt)


def _of_existing(
    stores: Stores, repository: RepositoryRecord, settings: CompactionSettings, branch: BranchId | None
) -> CompactionSettings:
    """Return the thresholds without those of branches that do not exist, except one branch."""
    places = {name: keys.branch(repository, name) for name in settings.branches if name != branch}
    found = access.read_undamaged(stores.kv, places, tell_damaged)
    gone = {name for name, held in found.items() if held is None}
    kept = {name: own for name, own in settings.branches.items() if name not in gone}
    return settings.model_copy(update={"branches": kept})


def _counters(repo: RepositoryId, branch: BranchId, rows: Iterator[tuple[str, Held[StagedCounts]]]) -> _Counters:
    return _Counters(repo, branch, {name: held.value for name, held in rows})


def _looked_up(
    stores: Stores, prefix: str, after: str, damaged: Damaged
) -> Iterator[tuple[_Counters, RepositoryRecord | None, BranchRecord | None]]:
    """Yield the branches that counters name, with their repository and branch records. The records are read after the
    counters. A branch whose record, or whose repository's record, cannot be read is yielded without counters.
    """
    # In the names of counters, a colon follows "<repository>/<branch>". No other branch sorts in between.
    counters = access.scan(
        stores.kv, keys.COUNTS, prefix=prefix, after=f"{after}:\x7f" if after else "", damaged=damaged
    )
    groups = groupby(counters, key=lambda row: (row[1].value.repository, row[1].value.branch))
    while batch := [_counters(*named, rows) for named, rows in islice(groups, AT_ONCE)]:
        repositories = _repositories(stores, {found.repository for found in batch}, damaged)
        wanted = {
            (found.repository, found.branch): keys.branch(repository, found.branch)
            for found in batch
            if (repository := repositories.get(found.repository)) is not None
        }
        branches = access.read_undamaged(stores.kv, wanted, damaged)
        unreadable = wanted.keys() - branches.keys()
        for found in batch:
            named = (found.repository, found.branch)
            if found.repository not in repositories or named in unreadable:
                yield _Counters(*named), None, None
            else:
                branch = branches.get(named)
                yield found, repositories[found.repository], None if branch is None else branch.value


def _repositories(
    stores: Stores, names: set[RepositoryId], damaged: Damaged
) -> dict[RepositoryId, RepositoryRecord | None]:
    """Return the repositories, `None` for each one that is not active. Those that cannot be read are left out."""
    found = access.read_undamaged(stores.kv, {name: keys.repository(name) for name in sorted(names)}, damaged)
    return {
        name: held.value if held is not None and held.value.state is RepositoryState.ACTIVE else None
        for name, held in found.items()
    }


def _undamaged_settings(stores: Stores, repository: RepositoryRecord, damaged: Damaged) -> CompactionSettings | None:
    """Return the thresholds of a repository, or `None` if they cannot be read."""
    try:
        return settings_of(stores, repository)
    except CorruptData as e:
        damaged(e)
        return None


def _ended(found: _Counters, repository: RepositoryRecord | None, branch: BranchRecord | None) -> list[str]:
    """Remove the counters whose layer the branch no longer lists, and return their names. The branch was read after
    them.
    """
    listed = set() if branch is None else {layer.id for layer in layers_of(branch)}
    ended = [
        name
        for name, counts in found.found.items()
        if repository is None or counts.uid != repository.uid or counts.layer not in listed
    ]
    for name in ended:
        del found.found[name]
    return ended


def _pressure(
    stores: Stores, repository: RepositoryRecord, branch: BranchRecord, found: _Counters, settings: CompactionSettings
) -> BranchPressure:
    layers = layers_of(branch)
    counters = [
        (name, counts)
        for name, counts in found.found.items()
        if counts.uid == repository.uid and counts.layer in {layer.id for layer in layers}
    ]
    writes = tombstones = 0
    for layer in layers:
        of_layer = {name: counts for name, counts in counters if counts.layer == layer.id}
        counted = _total(of_layer)
        writes += max(counted.writes, layer.count if isinstance(layer, SegmentLayer) else 0)
        tombstones += counted.tombstones
    now = stores.moment()
    age = now - min((counts.since for _, counts in counters), default=now)
    load = Load(tombstones, writes, len(branch.sealed_tokens), max(age, timedelta(0)))
    thresholds = settings.of(branch.id)
    return BranchPressure(repository, branch, load, thresholds, pressure(load, thresholds))


def _total(counters: Mapping[str, StagedCounts]) -> Counted:
    """Return the total of the writers' counts of one layer. For counts from before a scan, the result of the scan is
    used.
    """
    written = _sum(counts.counted for name, counts in counters.items() if _writer(name) != SCAN)
    scanned = next((counts for name, counts in counters.items() if _writer(name) == SCAN), None)
    if scanned is None:
        return written
    before, found = _sum(scanned.scanned_over.values()), scanned.counted
    return Counted(
        writes=found.writes + max(0, written.writes - before.writes),
        tombstones=found.tombstones + max(0, written.tombstones - before.tombstones),
    )


def _sum(counts: Iterable[Counted]) -> Counted:
    writes = tombstones = 0
    for counted in counts:
        writes += counted.writes
        tombstones += counted.tombstones
    return Counted(writes=writes, tombstones=tombstones)


def _writer(name: str) -> str:
    return name.rpartition("/")[2]


def _recount(stores: Stores, now: Registers, layer: SealedToken | SegmentLayer) -> None:
    repository, branch = now.repository, now.branch.id
    start = keys.counts_of_layer(repository.id, branch, layer.id)
    counters = counting.readable(stores, start, lambda e: counting.remove(stores, e.details["record"]))
    written = _sum(counts.counted for name, counts in counters.items() if _writer(name) != SCAN)
    writes = tombstones = 0
    for page in scan(stores.stack(repository, (layer,))):
        writes += page.num_rows
        tombstones += pc.sum(page[TOMBSTONE]).as_py() or 0
    if writes or counters:
        since = min((counts.since for counts in counters.values()), default=stores.moment())
        record = StagedCounts(
            repository=repository.id,
            uid=repository.uid,
            branch=branch,
            layer=layer.id,
            counted=Counted(writes=writes, tombstones=tombstones),
            since=since,
            scanned_over={ALL: written},
        )
        access.write(stores.kv, keys.COUNTS.at(f"{start}{SCAN}"), record)
