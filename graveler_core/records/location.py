"""Where records are kept in a key-value store, and of which type they are; which places there are, the layouts say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from graveler_core.model.entities import Record

R = TypeVar("R", bound=Record)


@dataclass(frozen=True, slots=True)
class Location(Generic[R]):
    """Where one record is kept, and what it is."""

    partition: bytes
    key: bytes
    model: type[R]

    @property
    def name(self) -> str:
        """How an error names the record."""
        return f"{self.partition.decode(errors='replace')}/{self.key.decode(errors='replace')}"


@dataclass(frozen=True, slots=True)
class Folder(Generic[R]):
    """All records of one kind in a partition, in key order."""

    partition: bytes
    prefix: bytes
    model: type[R]

    def at(self, name: str) -> Location[R]:
        """The location of the record of this name."""
        return Location(self.partition, self.prefix + name.encode(), self.model)
