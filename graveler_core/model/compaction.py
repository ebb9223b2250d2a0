"""Records about compaction that are stored apart from the branches: counters, thresholds and the history.

None of these records affects what a reader sees. Counters may be late, and histories may be incomplete. An unnecessary
compaction changes nothing.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from graveler_core.errors import InvalidInput
from graveler_core.model.entities import Record
from graveler_core.model.ids import BranchId, BranchUid, RepositoryId, RepositoryUid

RECENT = 50
"""Maximum number of single compactions in the history of a branch."""
SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
"""Upper bounds, in seconds, of the duration histogram. Longer durations count only in the total."""


class Thresholds(BaseModel):
    """Limits beyond which a branch should be compacted. Reaching any one of them is enough."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tombstones: int = Field(default=10_000, ge=1)
    """Staged tombstones. Every listing reads each of them."""
    layers: int = Field(default=20, ge=1)
    """Sealed layers. Every lookup asks all of them. At 100 layers, bulk writes are refused."""
    staged: int = Field(default=250_000, ge=1)
    """Staged records, tombstones included. The next commit reads all of them."""
    age: timedelta = Field(default=timedelta(days=1), gt=timedelta(0))
    """Age of the oldest staged record. It counts only if the branch has more than a few staged records."""

    def __init__(self, **given: object) -> None:
        try:
            super().__init__(**given)
        except ValidationError as e:
            first = e.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            raise InvalidInput(f"thresholds: {where} {first['input']!r}: {first['msg']}") from None


class CompactionSettings(Record):
    """Compaction thresholds of a repository."""

    thresholds: Thresholds
    """Thresholds of every branch without its own."""
    branches: dict[BranchId, Thresholds] = Field(default_factory=dict)

    def of(self, branch: BranchId) -> Thresholds:
        """Return the thresholds of a branch."""
        return self.branches.get(branch, self.thresholds)


class Counted(BaseModel):
    """Number of records written to one layer. A record that was written twice counts twice."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    writes: int = Field(default=0, ge=0)
    """Number of writes, tombstones included."""
    tombstones: int = Field(default=0, ge=0)


class StagedCounts(Record):
    """Number of records that one writer (a process) has written to one layer, or that a scan found in it."""

    repository: RepositoryId
    uid: RepositoryUid
    branch: BranchId
    layer: str
    """Id of the layer: the staging token, or the id of a segment layer."""
    counted: Counted
    since: datetime
    """Time of the writer's first write to the layer."""
    scanned_over: dict[str, Counted] = Field(default_factory=dict)
    """For a scan: the counts of all writers at the time of the scan. The result of the scan replaces them. Records of
    earlier versions have the count of each writer. Only the sum matters.
    """


class CompactionOutcome(StrEnum):
    """Result of a compaction."""

    COMPACTED = "compacted"
    NOTHING = "nothing"
    """Nothing was staged."""
    BUSY = "busy"
    """Another compaction had started a short while before."""
    LOST = "lost"
    """A commit, a reset or a bulk write came in between."""
    FAILED = "failed"

    @property
    def takes_time(self) -> bool:
        """True if there was work to do. Other compactions are not counted in durations."""
        return self not in (CompactionOutcome.NOTHING, CompactionOutcome.BUSY)


class CompactionRun(BaseModel):
    """One compaction that sealed the layers of a branch."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    began: datetime
    seconds: float = Field(ge=0)
    outcome: CompactionOutcome
    layers: int = Field(default=0, ge=0)
    records: int = Field(default=0, ge=0)
    tombstones: int = Field(default=0, ge=0)


class CompactionHistory(Record):
    """Results of the compactions of a branch since the branch was created."""

    uid: BranchUid
    outcomes: dict[CompactionOutcome, int] = Field(default_factory=dict)
    seconds: float = 0.0
    """Sum of all durations, in seconds."""
    at_most: tuple[int, ...] = (0,) * len(SECONDS)
    """For each bound of `SECONDS`, the number of compactions that took no longer."""
    recent: tuple[CompactionRun, ...] = ()
    """The last compactions, oldest first."""

    def with_run(self, run: CompactionRun) -> CompactionHistory:
        """Return the history with one more compaction."""
        update: dict[str, object] = {"outcomes": {**self.outcomes, run.outcome: self.outcomes.get(run.outcome, 0) + 1}}
        if run.outcome.takes_time:
            update["seconds"] = self.seconds + run.seconds
            pairs = zip(SECONDS, self.at_most, strict=True)
            update["at_most"] = tuple(count + (run.seconds <= bound) for bound, count in pairs)
            update["recent"] = (*self.recent, run)[-RECENT:]
        return self.model_copy(update=update)
