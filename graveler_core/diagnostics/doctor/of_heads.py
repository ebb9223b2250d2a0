"""Problems of branch heads, and the commits to which a branch with a damaged head can be reset."""

from __future__ import annotations

from itertools import groupby

from graveler_core.diagnostics.doctor.diagnosis import Ailment, Diagnosis
from graveler_core.diagnostics.doctor.examination import Examination
from graveler_core.diagnostics.doctor.of_branches import log_damaged
from graveler_core.gc.heads import Consistency, HeadCheck, check_heads
from graveler_core.model.entities import RepositoryRecord


def examine_heads(of: Examination, repo: RepositoryRecord) -> None:
    """Check the head of each branch as `gc.heads` does: list the storage namespace, and read the nodes of each head."""
    with of.looking(f"graveler://{repo.id}: heads"):
        of.budget.tick()
        checks = check_heads(of.stores, repo, of.budget.tick)
        for name, some in groupby(checks, key=lambda check: check.branch):
            heads = list(some)
            if heads[0].state is Consistency.CONSISTENT:
                continue
            if name:
                _lost(of, repo, heads)
            elif not any(found.ailment is Ailment.REFERENCE_LOG_DAMAGED for found in of.found if _of(repo, found)):
                log_damaged(of, repo, heads[0].why)


def _of(repo: RepositoryRecord, found: Diagnosis) -> bool:
    return found.where == f"graveler://{repo.id}"


def _lost(of: Examination, repo: RepositoryRecord, heads: list[HeadCheck]) -> None:
    """Add the finding of a branch with a damaged head. The newest intact former head is proposed."""
    now, *former = heads
    where = f"graveler://{repo.id}/{now.branch}"
    whole = next((head for head in former if head.state is Consistency.CONSISTENT), None)
    what = f"its head {now.commit[:12]} is {now.state}: {now.why}"
    if whole is None:
        of.tell(Ailment.HEAD_DAMAGED, where, what, "graveler", "fsck", f"graveler://{repo.id}")
    else:
        back = "or go back to the newest head that is whole, and lose what came since"
        command = ("graveler", "reset", where, "--hard", whole.commit, "--yes")
        of.tell(Ailment.HEAD_DAMAGED, where, what, *command, remedy=f"put the lost object back from a copy; {back}")
