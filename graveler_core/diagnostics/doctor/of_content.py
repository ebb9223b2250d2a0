"""Problems that only a complete read finds, and the times of the last checks of user data.

The problems are damage anywhere (`gc.fsck`), and counters that differ from the staged records.
"""

from __future__ import annotations

from graveler_core.diagnostics.doctor.diagnosis import Ailment, DataChecked
from graveler_core.diagnostics.doctor.examination import Examination
from graveler_core.diagnostics.doctor.of_branches import branches
from graveler_core.engine.staging.pressure import counted_in
from graveler_core.gc.findings import Finding, Thing
from graveler_core.gc.fsck import fsck
from graveler_core.kv.bulk import about_rows
from graveler_core.model.entities import BranchRecord, RepositoryRecord
from graveler_core.model.layers import SealedToken
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.staging.stack import layers_of

SLACK = 4_096
"""Number of uncounted records that is tolerated: as many as four processes keep in memory."""
FACTOR = 2
_FILES = frozenset((Thing.NODE, Thing.RANGE, Thing.RUN, Thing.LAYER))


def examine_content(of: Examination, repo: RepositoryRecord) -> None:
    """Check all data of one repository."""
    with of.looking(f"graveler://{repo.id}: counters"):
        for branch in of.budget.over(branches(of, repo, tell=False)):
            _counters(of, repo, branch)
    with of.looking(f"graveler://{repo.id}: fsck"):
        for finding in fsck(of.stores, repo, deep=True, progress=of.budget.tick):
            if finding.damage:
                _damage(of, repo, finding)


def data_checks(of: Examination, repo: RepositoryRecord) -> None:
    """Note when the user data of one repository was last checked."""
    with of.looking(f"graveler://{repo.id}: checks of data"):
        held = access.read(of.stores.kv, keys.data_checks(repo))
        record = None if held is None else held.value
        unfinished = None if record is None or record.unfinished is None else record.unfinished.began
        sizes, checksums = (None, None) if record is None else (record.sizes, record.checksums)
        of.checked.append(DataChecked(repo.id, sizes, checksums, unfinished))


def _counters(of: Examination, repo: RepositoryRecord, branch: BranchRecord) -> None:
    """Examine counters. A record that was written twice counts twice, so the counter may be larger than the number of
    records, but not much smaller.
    """
    counted = counted_in(of.stores, repo, branch.id)
    tokens = [layer for layer in layers_of(branch) if isinstance(layer, SealedToken)]
    rows = sum(about_rows(of.stores.kv, keys.staging(layer.token)) for layer in of.budget.over(tokens))
    known = sum(counted.get(layer.id, 0) for layer in tokens)
    if rows > FACTOR * known + SLACK:
        where = f"graveler://{repo.id}/{branch.id}"
        what = f"about {rows:,} records are staged one by one or in small calls, but the counters say {known:,}"
        of.tell(Ailment.COUNTERS_OFF, where, what, "graveler", "status", where, "--exact", "--limit", "0")


def _damage(of: Examination, repo: RepositoryRecord, finding: Finding) -> None:
    named_by = f", referred to by {finding.named_by}" if finding.named_by else ""
    where = f"graveler://{repo.id}"
    what = f"{finding.trouble} {finding.thing} {finding.id}: {finding.why}{named_by}"
    if finding.thing is Thing.INDEX:
        of.tell(Ailment.INDEX_WRONG, where, what, "graveler", "fsck", where, "--repair-indexes")
    elif finding.thing in _FILES:
        remedy = "restore the object in the storage namespace from any copy or backup"
        of.tell(Ailment.CONTENT_DAMAGED, where, what, remedy=remedy)
    else:
        of.tell(Ailment.CONTENT_DAMAGED, where, what)
