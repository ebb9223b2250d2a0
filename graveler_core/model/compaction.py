"""What is kept about compaction beside the branches: counters, thresholds, what compactions did.

None of it decides what a reader sees. Counters may be late and histories incomplete; a compaction that runs for nothing
changes nothing.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from graveler_core.errors import InvalidInput
from graveler_core.model.entities import Record
from graveler_core.model.ids import BranchId, BranchUid, RepositoryId, RepositoryUid

RECENT = 50
"""How many compactions of a branch its history tells one by one."""
SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
"""Upper bounds of the durations that a history counts; longer ones count in the total only."""


class Thresholds(BaseModel):
    """From where on a branch should be compacted: each is reached by itself."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tombstones: int = Field(default=10_000, ge=1)
    """Removals staged one by one or in bulk: listings read each of them."""
    layers: int = Field(default=20, ge=1)
    """Sealed layers: lookups ask all of them. At 100 bulk writes are refused."""
    staged: int = Field(default=250_000, ge=1)
    """Staged records, tombstones included: the next commit reads all of them."""
    age: timedelta = Field(default=timedelta(days=1), gt=timedelta(0))
    """How long ago the oldest of them was staged; a few records may grow as old as they like."""

    def __init__(self, **given: object) -> None:
        try:
            super().__init__(**given)
        except ValidationError as e:
            first = e.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            raise InvalidInput(f"thresholds: {where} {first['input']!r}: {first['msg']}") from None


class CompactionSettings(Record):
    """The thresholds of a repository."""

    thresholds: Thresholds
    """For every branch that has none of its own."""
    branches: dict[BranchId, Thresholds] = Field(default_factory=dict)

    def of(self, branch: BranchId) -> Thresholds:
        """The thresholds of a branch."""
        return self.branches.get(branch, self.thresholds)


class Counted(BaseModel):
    """Records that were written to one layer; a record that was written twice counts twice."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    writes: int = Field(default=0, ge=0)
    """Tombstones included."""
    tombstones: int = Field(default=0, ge=0)


class StagedCounts(Record):
    """What one writer, a process, has written to one layer so far; or what a scan found in it."""

    repository: RepositoryId
    uid: RepositoryUid
    branch: BranchId
    layer: str
    """Id of the layer: the staging token, or the id of a segment layer."""
    counted: Counted
    since: datetime
    """When the writer first wrote to it."""
    scanned_over: dict[str, Counted] = Field(default_factory=dict)
    """For a scan: what the writers had counted by then, and what was found replaces."""


class Outcome(StrEnum):
    """How a compaction ended."""

    COMPACTED = "compacted"
    NOTHING = "nothing"
    """Nothing was staged."""
    BUSY = "busy"
    """Another one had begun a short while before."""
    LOST = "lost"
    """A commit, a reset or a bulk write came in between."""
    FAILED = "failed"

    @property
    def takes_time(self) -> bool:
        """Whether there was something to do: only then a compaction counts in durations."""
        return self not in (Outcome.NOTHING, Outcome.BUSY)


class CompactionRun(BaseModel):
    """One compaction that sealed a branch's layers."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    began: datetime
    seconds: float = Field(ge=0)
    outcome: Outcome
    layers: int = Field(default=0, ge=0)
    records: int = Field(default=0, ge=0)
    tombstones: int = Field(default=0, ge=0)


class CompactionHistory(Record):
    """What the compactions of a branch did since it was created."""

    uid: BranchUid
    outcomes: dict[Outcome, int] = Field(default_factory=dict)
    seconds: float = 0.0
    """All durations together."""
    at_most: tuple[int, ...] = (0,) * len(SECONDS)
    """How many took no longer than each of `SECONDS`."""
    recent: tuple[CompactionRun, ...] = ()
    """The last ones, oldest first."""

    def with_run(self, run: CompactionRun) -> CompactionHistory:
        """The history with one more compaction."""
        update: dict[str, object] = {"outcomes": {**self.outcomes, run.outcome: self.outcomes.get(run.outcome, 0) + 1}}
        if run.outcome.takes_time:
            update["seconds"] = self.seconds + run.seconds
            pairs = zip(SECONDS, self.at_most, strict=True)
            update["at_most"] = tuple(count + (run.seconds <= bound) for bound, count in pairs)
            update["recent"] = (*self.recent, run)[-RECENT:]
        return self.model_copy(update=update)
