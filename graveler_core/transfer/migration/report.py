"""What a migration, a comparison and a verification say: the values that they give back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from graveler_core.errors import GravelerError
from graveler_core.transfer.kv_copy_compare import Differs

MAX_BROKEN = 100
"""So many broken rows of a repository are told one by one."""
Progress = Callable[[int], object]
"""Told how many more rows were read, written or compared."""


@dataclass(frozen=True, slots=True)
class BrokenRow:
    """A row of the source that cannot become a record."""

    table: str
    id: str
    """Its key in the table, and for people: what is no text is shown escaped."""
    rule: str
    """What it breaks."""

    def __str__(self) -> str:
        return f"{self.table} {self.id}: {self.rule}"


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much a repository of the source is."""

    branches: int = 0
    tags: int = 0
    commits: int = 0
    staged: int = 0
    """Staged records of all branches, tombstones among them."""

    def __add__(self, other: Amounts) -> Amounts:
        return Amounts(
            self.branches + other.branches,
            self.tags + other.tags,
            self.commits + other.commits,
            self.staged + other.staged,
        )


class Result(StrEnum):
    """What became of a repository."""

    MIGRATED = "migrated"
    WOULD_MIGRATE = "would migrate"
    """Said by a dry run."""
    THERE = "already there"
    """An earlier run has migrated it from this very state of the source."""
    BROKEN = "broken"
    """Rows of it cannot be migrated, so nothing of it was."""
    REFUSED = "refused"
    """An error says why."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run did with a repository, or, as a dry run, would do."""

    repository: str
    result: Result
    amounts: Amounts = Amounts()
    resumed: bool = False
    """Whether an earlier run had begun it."""
    broken: tuple[BrokenRow, ...] = ()
    """The first of them, at most `MAX_BROKEN`."""
    broken_rows: int = 0
    """How many there are."""
    error: GravelerError | None = None

    @property
    def good(self) -> bool:
        """Whether it is, or could be, migrated."""
        return self.result not in (Result.BROKEN, Result.REFUSED)


@dataclass(frozen=True, slots=True)
class Migrated:
    """What a run did, repository by repository."""

    outcomes: tuple[Outcome, ...]

    @property
    def good(self) -> bool:
        """Whether all repositories that were asked for are there, or could be migrated."""
        return all(outcome.good for outcome in self.outcomes)


class Entity(StrEnum):
    """What differs."""

    REPOSITORY = "repository"
    BRANCH = "branch"
    TAG = "tag"
    COMMIT = "commit"
    STAGED = "staged"
    """A staged record: its name is `<branch>/<path>`."""
    METARANGE = "metarange"


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that source and store do not have in common."""

    repository: str
    entity: Entity
    name: str
    how: Differs
    """`missing`: the store lacks it; `surplus`: the source lacks it; `changed`: both have it, `why` says the rest."""
    why: str = ""

    def __str__(self) -> str:
        return f"{self.repository}: {self.entity} {self.name} is {self.how}" + (f": {self.why}" if self.why else "")


@dataclass(slots=True)
class BrokenRows:
    """The broken rows of a repository that were found so far."""

    rows: list[BrokenRow] = field(default_factory=list)
    count: int = 0

    def add(self, table: str, id: object, rule: str) -> None:
        """Take one down."""
        self.count += 1
        if len(self.rows) < MAX_BROKEN:
            shown = id if isinstance(id, str) else repr(id)
            self.rows.append(BrokenRow(table, shown.encode(errors="backslashreplace").decode(), rule))
