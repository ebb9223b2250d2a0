"""`KeptBranch`: a branch that runs left, and the decision of a tick about it."""

import hashlib
from dataclasses import dataclass

import dagster as dg

from dagster_graveler.publishing.evidence import BranchIdentity, Evidence
from dagster_graveler.publishing.verdict import Verdict
from dagster_graveler.runs import partition_label


@dataclass(frozen=True, slots=True)
class KeptBranch:
    """A branch of a group that no active run uses, and the decision about it."""

    place: BranchIdentity
    evidence: Evidence
    verdict: Verdict
    reasons: tuple[str, ...]
    """Reasons why it is not published; none if it is to be published."""
    others: tuple["KeptBranch", ...] = ()
    """Branches that the same run wrote in repositories of other targets."""
    waits: bool = False
    """True if no publication is to be requested now. Either an earlier target has a branch too, whose publication
    includes this one, or the pause after a publication that broke is not over.
    """
    is_examined: bool = True
    """False if the reason is that the branch could not be examined."""

    @property
    def newest_run(self) -> dg.DagsterRun:
        """Last run that used the branch."""
        return self.evidence.runs[-1]

    @property
    def run_with_partitions(self) -> dg.DagsterRun:
        """Last run with the partitions of the branch. A run of checks alone may have none."""
        return next((run for run in reversed(self.evidence.runs) if partition_label(run)), self.newest_run)

    @property
    def report(self) -> str:
        """Digest of the branch and the reasons, equal for equal reports."""
        return hashlib.sha256("\n".join((self.place.uid, *self.reasons)).encode()).hexdigest()[:16]

    @property
    def newest_evidence(self) -> float:
        """Time of the newest write or result of a check, in seconds since 1970; 0 without any."""
        found = [self.evidence, *(each.evidence for each in self.others)]
        times = [write.timestamp for one in found for write in one.writes.values()]
        times += [evaluation.timestamp for one in found for evaluation in one.evaluations.values()]
        return max(times, default=0.0)

    @property
    def state(self) -> str:
        """Key of the evidence: changes with each write and each result of a check."""
        return f"{self.place.uid}/{self.newest_evidence:.6f}"
