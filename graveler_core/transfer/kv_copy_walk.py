"""Walk over a whole store. Stores cannot list their partitions, so the walk starts at the records that refer to them.

    graveler          repositories in any state: each is a unit
    graveler_deleted  deleted repositories: each is a unit, unless its repository record still exists
    graveler_stats    a unit
    graveler_iam      a unit

The partitions of a unit are those of `records.layout.partitions`, in the same order. The two partitions that list the
units, `REGISTERS`, belong to no unit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile

from graveler_core.errors import CorruptData
from graveler_core.kv.store import Store
from graveler_core.model.entities import RepositoryRecord
from graveler_core.records import access
from graveler_core.records import layout as keys

REGISTERS = (keys.DELETED, keys.GRAVELER)
"""In the order in which they are written: repositories last, and within their partition after the namespace claims."""
_ALONE = (keys.STATS, keys.IAM)


@dataclass(frozen=True, slots=True)
class Unit:
    """Part of a store that is copied and compared as one."""

    name: str
    """Unique name in its store: a key, or the name of a partition."""
    register: bytes
    """Partition that lists the unit."""
    repository: RepositoryRecord | None
    """`None` for a partition that belongs to no repository."""

    def partitions(self, kv: Store) -> Iterator[bytes]:
        """Yield its partitions according to the records in `kv`."""
        if self.repository is None:
            return iter((self.register,))
        branches = access.scan(kv, keys.branches(self.repository))
        cleanups = access.scan(kv, keys.cleanups(self.repository))
        return keys.partitions(
            self.repository, (held.value for _, held in branches), (held.value for _, held in cleanups)
        )


def units(kv: Store, start: str = "") -> Iterator[Unit]:
    """Yield the units of a store, always in the same order, from the unit with the name `start` on.

    Raises:
        CorruptData: No unit has this name.
    """
    found = _all(kv)
    if start:
        found = dropwhile(lambda unit: unit.name != start, found)
    none = True
    for unit in found:
        none = False
        yield unit
    if none:
        raise CorruptData(f"the store has no unit {start!r}, at which the copy was interrupted", name=start)


def fingerprint(kv: Store) -> str:
    """Return a hex digest over the registers. Stores with equal digests are the same store, or copies of each other.

    Every repository has a uid that no other repository ever had, and every state of its record has a nonce.
    """
    digest = hashlib.blake2b(digest_size=32)
    for partition in REGISTERS:
        for row in kv.scan(partition):
            for part in (partition, row.key, row.value):
                digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


def is_empty(kv: Store, partitions: Sequence[bytes] = (*REGISTERS, *_ALONE)) -> bool:
    """Return true if a store has no registers, or no rows in other partitions that are given."""
    return all(next(iter(kv.scan(partition, limit=1)), None) is None for partition in partitions)


def _all(kv: Store) -> Iterator[Unit]:
    folder = keys.REPOSITORIES
    for name, held in access.scan(kv, folder):
        yield Unit(f"{folder.prefix.decode()}{name}", folder.partition, held.value)
    gone = keys.DELETED_REPOSITORIES
    for name, entry in access.scan(kv, gone):
        repository = entry.value.repository
        standing = access.read(kv, keys.repository(repository.id))
        if standing is None or standing.value.uid != repository.uid:
            yield Unit(f"{gone.prefix.decode()}{name}", gone.partition, repository)
    for partition in _ALONE:
        yield Unit(partition.decode(), partition, None)
