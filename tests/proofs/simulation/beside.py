"""Records of the store, read beside the engine, so that no actor takes a step meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from graveler_core.codec.records import decode
from graveler_core.kv.store import Store
from graveler_core.model.entities import Record
from graveler_core.records.location import Folder, Location

R = TypeVar("R", bound=Record)


@dataclass(frozen=True, slots=True)
class Records:
    """Reads records. The same bytes are decoded once, because judges read them after every change of the store."""

    kv: Store
    _decoded: dict[tuple[type[Any], bytes], Record] = field(default_factory=dict)

    def read(self, where: Location[R]) -> R | None:
        """A record, or None."""
        stored = self.kv.get(where.partition, where.key)
        return None if stored is None else self.decoded(where.model, stored.value)

    def scan(self, folder: Folder[R]) -> Iterator[tuple[str, R]]:
        """All records of a folder, by name."""
        for row in self.kv.scan(folder.partition, prefix=folder.prefix):
            yield row.key[len(folder.prefix) :].decode(), self.decoded(folder.model, row.value)

    def decoded(self, model: type[R], value: bytes) -> R:
        """The record of some bytes."""
        found = self._decoded.get((model, value))
        if found is None:
            found = self._decoded[model, value] = decode(model, value, model.__name__)
        return cast(R, found)
