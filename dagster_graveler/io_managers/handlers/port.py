"""Interface of handlers, and the values that `GravelerIOManager` passes to them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import dagster as dg

from dagster_graveler.io_managers.table_path import TablePath

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from graveler_core.facade.branch import Branch
    from graveler_core.facade.repository import Repository
    from graveler_core.facade.snapshot import Snapshot
    from graveler_core.model.entry import Entry

T = TypeVar("T")


@dataclass(frozen=True)
class Write:
    """A value to store."""

    table: TablePath
    branch: Branch
    at: Snapshot
    """The branch with its staged changes, to read."""
    append: str
    """Beginning of the names of files that are added to those of the table, in place of those that an earlier attempt
    added. "" replaces all files of the table.
    """
    file_name: str
    """Name of the file of a value that is not a table."""
    options: Mapping[str, str]
    """Store, repository and branch, as options of Spark's `format("graveler")`."""


@dataclass(frozen=True)
class StoredValue:
    """Result of a write."""

    paths: Sequence[str]
    size: int
    """Size of the files in bytes."""
    rows: int | None = None
    """Number of rows that were written. `None` if the value is not a table."""
    schema: dg.TableSchema | None = None


@dataclass(frozen=True)
class Read:
    """A value to load."""

    table: TablePath
    repository: Repository
    at: Snapshot
    files: Sequence[Entry]
    """Files of the value as a listing of the table has shown them, at least one."""
    columns: Sequence[str] | None
    """Columns to load. `None` means all."""
    session: Callable[[], SparkSession]


class Handler(ABC, Generic[T]):
    """Stores and loads values of one type."""

    @abstractmethod
    def write(self, value: T, write: Write) -> StoredValue:
        """Stage the files of a value on the branch. If the value is refused, the branch stays as it is."""

    @abstractmethod
    def read(self, read: Read) -> T:
        """Return the value of files.

        Raises:
            FileChanged: A file was replaced or removed after the listing.
        """


def type_names(found: Any) -> list[str]:
    """Return the names of a class and its bases, as `library.Class`: the modules in between are not stable."""
    return [
        f"{base.__module__.partition('.')[0].lstrip('_')}.{base.__name__}" for base in getattr(found, "__mro__", ())
    ]
