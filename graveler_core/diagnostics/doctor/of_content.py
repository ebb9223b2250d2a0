"""What only reading everything shows: damage anywhere (`gc.fsck`), and counters that do not fit what is staged."""

from __future__ import annotations

from graveler_core.diagnostics.doctor.diagnosis import Ailment, Diagnosis, Severity
from graveler_core.diagnostics.doctor.examination import Examination
from graveler_core.diagnostics.doctor.of_branches import branches
from graveler_core.engine.pressure import counted_in
from graveler_core.gc.findings import Finding, Thing
from graveler_core.gc.fsck import fsck
from graveler_core.kv.bulk import about_rows
from graveler_core.model.entities import Branch, Repository
from graveler_core.model.layers import SealedToken
from graveler_core.records import layout as keys
from graveler_core.staging.stack import layers_of

SLACK = 4_096
"""So many records may be uncounted: what four processes hold back."""
FACTOR = 2
_FILES = frozenset((Thing.NODE, Thing.RANGE, Thing.RUN, Thing.LAYER))


def examine_content(of: Examination, repo: Repository) -> None:
    """Check all of one repository."""
    with of.looking(f"graveler://{repo.id}: counters"):
        for branch in of.budget.over(branches(of, repo, tell=False)):
            _counters(of, repo, branch)
    with of.looking(f"graveler://{repo.id}: fsck"):
        for finding in fsck(of.stores, repo, deep=True, progress=of.budget.tick):
            if finding.damage:
                of.tell(_damage(repo, finding))


def _counters(of: Examination, repo: Repository, branch: Branch) -> None:
    """A record that was written twice counts twice, so more may be counted than there is, not much less."""
    counted = counted_in(of.stores, repo, branch.id)
    tokens = [layer for layer in layers_of(branch) if isinstance(layer, SealedToken)]
    rows = sum(about_rows(of.stores.kv, keys.staging(layer.token)) for layer in of.budget.over(tokens))
    known = sum(counted.get(layer.id, 0) for layer in tokens)
    if rows > FACTOR * known + SLACK:
        where = f"graveler://{repo.id}/{branch.id}"
        of.tell(
            Diagnosis(
                Ailment.COUNTERS_OFF,
                Severity.WARNING,
                where,
                f"about {rows:,} records are staged one by one or in small calls, and {known:,} were counted",
                "nobody sees that the branch should be compacted",
                "count by reading, which sets the counters right",
                ("graveler", "status", where, "--exact", "--limit", "0"),
            )
        )


def _damage(repo: Repository, finding: Finding) -> Diagnosis:
    named_by = f", named by {finding.named_by}" if finding.named_by else ""
    remedy = "restore this row of the key-value store from a backup, or the repository from a dump"
    if finding.thing in _FILES:
        remedy = "put the object back below the storage namespace from a copy: any copy is right"
    return Diagnosis(
        Ailment.CONTENT_DAMAGED,
        Severity.CRITICAL,
        f"graveler://{repo.id}",
        f"{finding.trouble} {finding.thing} {finding.id}: {finding.why}{named_by}",
        "what leads there cannot be read",
        remedy,
    )
