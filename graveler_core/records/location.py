"""Location and type of records in a key-value store. The layout modules define the actual locations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from graveler_core.model.entities import Record

R = TypeVar("R", bound=Record)


@dataclass(frozen=True, slots=True)
class Location(Generic[R]):
    """Partition and key of one record, and its type."""

    partition: bytes
    key: bytes
    model: type[R]

    @property
    def name(self) -> str:
        """Name of the record in error messages."""
        return record_name(self.partition, self.key)


@dataclass(frozen=True, slots=True)
class Folder(Generic[R]):
    """All records of one kind in a partition, in key order."""

    partition: bytes
    prefix: bytes
    model: type[R]

    def at(self, name: str) -> Location[R]:
        """Return the location of the record with this name."""
        return Location(self.partition, self.prefix + name.encode(), self.model)


def record_name(partition: bytes, key: bytes) -> str:
    """Return the name of a record in error messages."""
    return f"{partition.decode(errors='replace')}/{key.decode(errors='replace')}"
