"""Results of migrations, comparisons and verifications."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from graveler_core.errors import GravelerError
from graveler_core.transfer.kv_copy_compare import Differs

MAX_BROKEN = 100
"""Maximum number of broken rows of a repository that are listed."""
Progress = Callable[[int], object]
"""Called with the number of additional rows that were read, written or compared."""


@dataclass(frozen=True, slots=True)
class BrokenRow:
    """Row of the source that violates a rule."""

    table: str
    id: str
    """Key of the row in readable form; bytes that are not text are escaped."""
    rule: str
    """Violated rule."""

    def __str__(self) -> str:
        return f"{self.table} {self.id}: {self.rule}"


@dataclass(frozen=True, slots=True)
class Amounts:
    """Size of a source repository."""

    branches: int = 0
    tags: int = 0
    commits: int = 0
    staged: int = 0
    """Number of staged records of all branches, tombstones included."""

    def __add__(self, other: Amounts) -> Amounts:
        return Amounts(
            self.branches + other.branches,
            self.tags + other.tags,
            self.commits + other.commits,
            self.staged + other.staged,
        )


class Result(StrEnum):
    """Result for a repository."""

    MIGRATED = "migrated"
    WOULD_MIGRATE = "would migrate"
    """Result of a dry run."""
    THERE = "already there"
    """An earlier run has migrated the repository from this state of the source."""
    BROKEN = "broken"
    """The repository was not migrated, because some of its rows are broken."""
    REFUSED = "refused"
    """The repository was not migrated; see the error."""


@dataclass(frozen=True, slots=True)
class MigrationOutcome:
    """Result of a run or dry run for one repository."""

    repository: str
    result: Result
    amounts: Amounts = Amounts()
    resumed: bool = False
    """True if an earlier run had started the migration."""
    broken: tuple[BrokenRow, ...] = ()
    """The first broken rows, at most `MAX_BROKEN`."""
    broken_rows: int = 0
    """Total number of broken rows."""
    error: GravelerError | None = None

    @property
    def good(self) -> bool:
        """True if the repository is, or could be, migrated."""
        return self.result not in (Result.BROKEN, Result.REFUSED)


@dataclass(frozen=True, slots=True)
class Migrated:
    """Results of a run, by repository."""

    outcomes: tuple[MigrationOutcome, ...]

    @property
    def good(self) -> bool:
        """True if all requested repositories are, or could be, migrated."""
        return all(outcome.good for outcome in self.outcomes)


class MigratedEntity(StrEnum):
    """Kind of object that differs."""

    REPOSITORY = "repository"
    BRANCH = "branch"
    TAG = "tag"
    COMMIT = "commit"
    STAGED = "staged"
    """Staged record, named `<branch>/<path>`."""
    METARANGE = "metarange"


@dataclass(frozen=True, slots=True)
class MigrationDifference:
    """Difference between source and store."""

    repository: str
    entity: MigratedEntity
    name: str
    how: Differs
    """`missing`: not in the store; `surplus`: not in the source; `changed`: in both, `why` gives details."""
    why: str = ""

    def __str__(self) -> str:
        return f"{self.repository}: {self.entity} {self.name} is {self.how}" + (f": {self.why}" if self.why else "")


@dataclass(slots=True)
class BrokenRows:
    """Broken rows of a repository."""

    rows: list[BrokenRow] = field(default_factory=list)
    count: int = 0

    def add(self, table: str, id: object, rule: str) -> None:
        """Add a broken row."""
        self.count += 1
        if len(self.rows) < MAX_BROKEN:
            shown = id if isinstance(id, str) else repr(id)
            self.rows.append(BrokenRow(table, shown.encode(errors="backslashreplace").decode(), rule))
