"""Whether the heads of branches can be read, and where a branch whose head is lost can go back to."""

from __future__ import annotations

from itertools import groupby

from graveler_core.diagnostics.doctor.diagnosis import Ailment, Diagnosis, Severity
from graveler_core.diagnostics.doctor.examination import Examination
from graveler_core.diagnostics.doctor.of_branches import log_damaged
from graveler_core.gc.heads import Consistency, HeadCheck, check_heads
from graveler_core.model.entities import Repository


def examine_heads(of: Examination, repo: Repository) -> None:
    """Read each head, as `gc.heads` does: lists the storage namespace, reads the nodes of each head."""
    with of.looking(f"graveler://{repo.id}: heads"):
        of.budget.tick()
        checks = check_heads(of.stores, repo, of.budget.tick)
        for name, some in groupby(checks, key=lambda check: check.branch):
            heads = list(some)
            if heads[0].state is Consistency.CONSISTENT:
                continue
            if name:
                of.tell(_lost(repo, heads))
            elif not any(found.ailment is Ailment.REFERENCE_LOG_DAMAGED for found in of.found if _of(repo, found)):
                of.tell(log_damaged(repo, heads[0].why))


def _of(repo: Repository, found: Diagnosis) -> bool:
    return found.where == f"graveler://{repo.id}"


def _lost(repo: Repository, heads: list[HeadCheck]) -> Diagnosis:
    """A branch whose head is not whole; its former heads follow, newest first."""
    now, *former = heads
    where = f"graveler://{repo.id}/{now.branch}"
    whole = next((head for head in former if head.state is Consistency.CONSISTENT), None)
    what = f"its head {now.commit[:12]} is {now.state}: {now.why}"
    why = "what the branch shows cannot be read, or only in part"
    if whole is None:
        remedy = (
            "put the lost object back from a copy (graveler fsck names it), or restore a dump into a new repository"
        )
        return Diagnosis(
            Ailment.HEAD_DAMAGED,
            Severity.CRITICAL,
            where,
            what,
            why,
            remedy,
            ("graveler", "fsck", f"graveler://{repo.id}"),
        )
    remedy = (
        "put the lost object back from a copy; or go back to the newest head that is whole, and lose what came since"
    )
    command = ("graveler", "reset", where, "--hard", whole.commit)
    return Diagnosis(Ailment.HEAD_DAMAGED, Severity.CRITICAL, where, what, why, remedy, command)
