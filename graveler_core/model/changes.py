"""Values that describe the differences between two states of a branch."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias

import pyarrow as pa

from graveler_core.model.entry import ENTRY_SCHEMA, Entry
from graveler_core.model.html import html_table

STATE_FIELDS = [field.with_nullable(True) for field in ENTRY_SCHEMA if field.name != "key"]
"""Columns of an entry without its key."""
CHANGE_SCHEMA = pa.schema(
    [
        pa.field("key", pa.binary(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("before", pa.struct(STATE_FIELDS)),
        pa.field("after", pa.struct(STATE_FIELDS)),
    ]
)
"""Columns of changes. `kind` is a value of `ChangeKind`. `before` is null for an added path, `after` for a removed
path.
"""


class ChangeKind(StrEnum):
    """Kind of change of a path."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Change:
    """Difference at one path. `before` is `None` for an added path, `after` is `None` for a removed path."""

    path: str
    kind: ChangeKind
    before: Entry | None
    after: Entry | None

    def _html_row(self) -> dict[str, object]:
        """Return what a listing in a notebook shows of the change, by name."""
        sizes = {"size before": self.before, "size after": self.after}.items()
        shown = {name: entry.html_rows()["size"] for name, entry in sizes if entry is not None}
        return {"path": self.path, "change": self.kind.value, **shown}

    def _repr_html_(self) -> str:
        before = {} if self.before is None else self.before.html_rows()
        after = {} if self.after is None else self.after.html_rows()
        states = {"before": before, "after": after}.items()
        differing = [name for name in before | after if before.get(name) != after.get(name)]
        rows = {f"{name} {when}": state.get(name) for name in differing for when, state in states}
        return html_table(f"{self.kind.value} {self.path}", rows)


@dataclass(frozen=True, slots=True)
class ChangeSummary:
    """Number of paths that differ between two states, by kind."""

    added: int = 0
    changed: int = 0
    removed: int = 0

    def _repr_html_(self) -> str:
        return html_table("Changes", {"added": self.added, "changed": self.changed, "removed": self.removed})

    @property
    def total(self) -> int:
        """Total number of changed paths."""
        return self.added + self.changed + self.removed


@dataclass(frozen=True, slots=True)
class StagedRecord:
    """Staged record of one path: an entry, or `None` for a tombstone."""

    path: str
    entry: Entry | None


@dataclass(frozen=True, slots=True)
class Written:
    """Statistics of a layer that workers have written."""

    records: int
    """Number of rows, including removals."""
    removals: int
    files: int


class MergeStrategy(StrEnum):
    """The side that wins if both sides changed a path. Without a strategy, such paths are conflicts."""

    SOURCE = "source"
    DESTINATION = "destination"


class MergeForm(StrEnum):
    """Commits that a merge makes. The content at the end is the same."""

    COMMIT = "commit"
    """One merge commit with two parents: the destination's head and the source."""
    SQUASH = "squash"
    """One commit with one parent, the destination's head. The merge base of the two sides stays where it is."""
    REPLAY = "replay"
    """The source's commits, repeated; the last one has the source as its second parent."""

    def message(self, source: str, into: str) -> str:
        """Return the default message."""
        return f"{'Squash' if self is MergeForm.SQUASH else 'Merge'} {source!r} into {into!r}"


Resolved: TypeAlias = MergeStrategy | Literal["source", "destination"] | Entry | None
"""Resolution of one path in a merge: a side by name, an entry, or `None` to remove the path."""


class MergeConflictKind(StrEnum):
    """Kind of disagreement between the two sides of a merge."""

    BOTH_ADDED = "added in both"
    BOTH_CHANGED = "changed in both"
    REMOVED_IN_SOURCE = "removed in source"
    REMOVED_IN_DESTINATION = "removed in destination"


@dataclass(frozen=True, slots=True)
class MergeConflict:
    """Path that source and destination changed differently since their merge base. A side without an entry has
    `None`.
    """

    path: str
    base: Entry | None
    source: Entry | None
    destination: Entry | None

    @property
    def kind(self) -> MergeConflictKind:
        """Kind of the conflict. If one side removed the path, the other side changed it."""
        if self.source is None:
            return MergeConflictKind.REMOVED_IN_SOURCE
        if self.destination is None:
            return MergeConflictKind.REMOVED_IN_DESTINATION
        return MergeConflictKind.BOTH_ADDED if self.base is None else MergeConflictKind.BOTH_CHANGED
