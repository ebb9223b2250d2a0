"""What a whole store consists of, though no store can list its partitions: a walk from what names them.

    graveler          the repositories, in any state: each is a unit
    graveler_deleted  what deleted repositories left: each is a unit, unless its repository's record still stands
    graveler_stats    a unit
    graveler_iam      a unit

A unit's partitions are those of `records.layout.partitions`, in this order. The two partitions that name the units,
`REGISTERS`, belong to none of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import dropwhile

from graveler_core.errors import CorruptData
from graveler_core.kv.store import Store
from graveler_core.model.entities import Repository
from graveler_core.records import access
from graveler_core.records import layout as keys

REGISTERS = (keys.DELETED, keys.GRAVELER)
"""In the order in which they are written: repositories last, and in their partition after the claims of namespaces."""
_ALONE = (keys.STATS, keys.IAM)


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of a store that is copied and compared as one."""

    name: str
    """Unique in its store: a key, or the name of a partition."""
    register: bytes
    """The partition that names it."""
    repository: Repository | None
    """None for a partition that belongs to no repository."""

    def partitions(self, kv: Store) -> Iterator[bytes]:
        """Its partitions, as the records in `kv` name them, lazily."""
        if self.repository is None:
            return iter((self.register,))
        branches = access.scan(kv, keys.branches(self.repository))
        cleanups = access.scan(kv, keys.cleanups(self.repository))
        return keys.partitions(
            self.repository, (held.value for _, held in branches), (held.value for _, held in cleanups)
        )


def units(kv: Store, start: str = "") -> Iterator[Unit]:
    """The units of a store from the one that bears the name `start` on, lazily; always in one order.

    Raises:
        CorruptData: no unit bears the name.
    """
    found = _all(kv)
    if start:
        found = dropwhile(lambda unit: unit.name != start, found)
    none = True
    for unit in found:
        none = False
        yield unit
    if none:
        raise CorruptData(f"the store has no part {start!r}, up to which it was copied", name=start)


def fingerprint(kv: Store) -> str:
    """Hex digest over the registers: stores of equal ones are one store, or one is a copy of the other.

    Every repository has a uid that no other one ever had, and every state of its record a nonce.
    """
    digest = hashlib.blake2b(digest_size=32)
    for partition in REGISTERS:
        for row in kv.scan(partition):
            for part in (partition, row.key, row.value):
                digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


def is_empty(kv: Store) -> bool:
    """Whether nothing leads to anything in a store."""
    return all(next(iter(kv.scan(partition, limit=1)), None) is None for partition in (*REGISTERS, *_ALONE))


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
