"""Copy of a whole store into an empty one, between any two backends.

**The source must be at rest.** The copy cannot lock a store, so nobody may write to the source during the copy. Such
writes are lost, or make the copy fail. The copy detects them as far as possible. It reads the branch and cleanup
records of a repository again after its contents were copied. If a seal, commit, reset or compaction has changed them,
it copies the repository again, a few times. It reads the registers again before it writes them. At the end it reads
every row again in both stores, and fails if they differ.

**Registers are written last.** A repository is visible only through its record in the partition `graveler`. Everything
that belongs to it is copied and compared before any such record is written. After a crash, the target therefore shows
no repository. The records are written in pages of 10,000 rows. They become visible together if the store sets many keys
atomically and they fit into a page; otherwise in the order of their names, and each visible repository is complete.

**Two stores are never merged.** A target must be empty, or contain the marker of a copy of the same source. The marker
contains a digest of the registers of the source, in which every repository has a uid and every state of it a nonce. It
also contains the position of the copy, at which the next run continues after a crash. Each run swaps the marker from
the state that it wrote last, so a superseded run ends at its next step. Between two such swaps, both runs write the
same rows. A write that a server still executes for a killed process must end before the target is used. The marker is
removed at the end. From then on the target is an ordinary store, into which nothing can be copied. A target into which
another process wrote registers during the copy is refused as well.

**Within a repository**, its own partition is copied first. The staging partitions are those to which the *copied*
branch and cleanup records refer, which nobody changes. Before a repository is copied again, those partitions are
emptied first, and its own partition last.

Values are copied byte by byte. Predicates are those of the target. Memory holds a page of rows and the names of the
staging tokens of one repository. Objects in storage namespaces are not copied.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import dropwhile

from graveler_core.errors import Conflict, InvalidInput, Kind, NotUnique, PredicateFailed
from graveler_core.kv.bulk import drop_partition, get_many, scan_arrow
from graveler_core.kv.store import Store
from graveler_core.model.clock import IdSource, RandomIds
from graveler_core.model.copying import Copying
from graveler_core.model.ids import Nonce
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.transfer.kv_copy_compare import (
    Amount,
    Progress,
    amount_of,
    amount_of_contents,
    changed_register,
    compare_contents,
)
from graveler_core.transfer.kv_copy_loading import Loading, another_run, put, resent
from graveler_core.transfer.kv_copy_walk import REGISTERS, Unit, fingerprint, is_empty, units

_FINISH = "; if the store has been in use since then, graveler kv finish-copy (finish_copy) keeps it as it is"
ATTEMPTS = 3
"""Number of times that a changing repository is copied before the source counts as being in use."""


@dataclass(frozen=True, slots=True)
class Copied:
    """Content of a copied store."""

    repositories: int
    """Number of repositories in any state."""
    deleted: int
    """Number of deleted repositories that wait for the cleaner."""
    amount: Amount
    """Size of the whole store, including what earlier runs copied."""
    resumed: bool
    """True if an earlier run had started the copy."""


def copy_store(
    source: Store, target: Store, *, ids: IdSource | None = None, progress: Progress = lambda more: None
) -> Copied:
    """Copy a store that is not in use into an empty one, and compare both. Continues an interrupted copy.

    Args:
        source: Store to copy.
        target: Empty store, or one with an interrupted copy of the same source.
        ids: Source of the name of the run.
        progress: Called with the number of additional rows that were copied or compared; each row counts twice in
            all.

    Returns:
        A description of the copy.

    Raises:
        InvalidInput: The source is empty, or is itself an unfinished copy.
        NotUnique: The target contains something else (`StoreNotEmpty`).
        Conflict: The source changed in the meantime, or a row differs at the end (`StoreChanged`); or another run
            copies into the target (`LostRace`). A failed copy can be run again.
    """
    begun = _admitted(source, target)
    run = Nonce((ids or RandomIds()).fresh())
    if begun is None:
        try:
            held = access.create(target, keys.copying(), Copying(source=fingerprint(source), run=run))
        except PredicateFailed:
            raise another_run() from None
        loading = Loading(target, held)
    else:
        loading = Loading(target, begun)
        loading.move(run=run)
    copy = _Copy(source, loading, progress, fresh=begun is None)
    if loading.place.compared:
        contents = amount_of_contents(source)
    else:
        copy.contents()
        contents = copy.compare()
    copy.registers()
    return _copied(source, contents, resumed=begun is not None)


def measure(source: Store, target: Store) -> Copied:
    """Count what `copy_store` would copy, without changing anything. Raises the same errors."""
    begun = _admitted(source, target)
    return _copied(source, amount_of_contents(source), resumed=begun is not None)


def finish_copy(target: Store) -> None:
    """Remove the marker of a copy into a store that was used before the copy had removed it. Change nothing else.

    Such a store is refused as source and as target of copies. The copy had compared all contents and written records of
    repositories. If the store cannot set many keys atomically, records of other repositories may be missing.

    Args:
        target: Store into which the copy wrote.

    Raises:
        InvalidInput: The store has no marker, or the copy had not written records of repositories.
        Conflict: A run of the copy is going on (`LostRace`).
    """
    held = access.read(target, keys.copying())
    if held is None:
        raise InvalidInput("the store is no unfinished copy")
    if not held.value.compared or is_empty(target, REGISTERS):
        raise InvalidInput("the copy into the store had not written any repository; copy again")
    if not access.remove(target, keys.copying(), held):
        raise another_run()


@dataclass(slots=True)
class _Copy:
    source: Store
    loading: Loading
    progress: Progress
    fresh: bool
    """True if the target contains only what this run has copied."""

    def contents(self) -> None:
        """Copy everything except the registers, starting at the current position."""
        for unit in units(self.source, self.loading.place.unit):
            self._unit(unit)

    def compare(self) -> Amount:
        """Compare the copied rows, and store that they are equal. Return their amount."""
        self._require_same_registers()
        found = compare_contents(self.source, self.loading.target, self.progress)
        differences = found.differences
        if differences:
            self.loading.move(unit="", partition=b"", key=b"")
            raise _changed(
                f"{differences[0]} in the target: the source or the target was probably written to in the meantime",
                differences=[str(difference) for difference in differences],
            )
        self._require_same_registers()
        self.loading.move(compared=True)
        return found.equal

    def registers(self) -> None:
        """Write the records that make repositories visible, unless all of them exist, and remove the marker."""
        target = self.loading.target
        if _lacks(target, self.source) is not None:
            foreign = _lacks(self.source, target)
            if foreign is not None:
                raise _not_empty(f"it is in use: {foreign} was written during the copy{_FINISH}")
            for partition in REGISTERS:
                for batch in scan_arrow(self.source, partition):
                    rows = zip(batch["key"].to_pylist(), batch["value"].to_pylist(), strict=True)
                    put(target, [(partition, key, value) for key, value in rows])
            lacking = _lacks(target, self.source)
            if lacking is not None:
                raise _changed(f"{lacking} changed during the copy")
        self.loading.end()

    def _require_same_registers(self) -> None:
        if fingerprint(self.source) != self.loading.place.source:
            raise Conflict(
                "repositories of the source were created, deleted or changed while it was copied; "
                "empty the target and copy the source at rest",
                kind=Kind.StoreChanged,
            )

    def _unit(self, unit: Unit) -> None:
        """Copy a unit until its branches and cleanup records are unchanged after the copy."""
        for left in reversed(range(ATTEMPTS)):
            self._rows(unit)
            changed = changed_register(unit, self.source, self.loading.target)
            if changed is None:
                return
            self.fresh = False
            self.loading.move(partition=b"", key=b"")
            if not left:
                what = changed.key.decode(errors="backslashreplace").replace("branches/", "branch ", 1)
                raise _changed(f"{what} of {unit.name} changed {ATTEMPTS} times during the copy", part=unit.name)

    def _rows(self, unit: Unit) -> None:
        """Copy a unit from the current position, or from its beginning."""
        loading, target = self.loading, self.loading.target
        if loading.place.unit != unit.name:
            loading.move(unit=unit.name, partition=b"", key=b"")
        reached = loading.place
        if not reached.partition and not self.fresh:
            _empty(target, unit)
        walk = unit.partitions(target)
        for partition in dropwhile(lambda name: reached.partition not in (b"", name), walk):
            start = reached.key + b"\0" if partition == reached.partition else b""
            for batch in scan_arrow(self.source, partition, start=start):
                loading.add(partition, batch)
                self.progress(batch.num_rows)
            if unit.repository is not None and partition == keys.partition(unit.repository):
                loading.flush()  # the rest of the walk reads these rows
        loading.flush()


def _admitted(source: Store, target: Store) -> Held[Copying] | None:
    """Return the marker of a copy to continue, or `None` for a new copy.

    Raises:
        InvalidInput: The source is empty, or is itself an unfinished copy.
        NotUnique: The target contains something else.
    """
    if access.read(source, keys.copying()) is not None:
        raise InvalidInput(f"the source is itself an unfinished copy; repeat that copy{_FINISH}")
    if is_empty(source):
        raise InvalidInput("the source is empty")
    held = access.read(target, keys.copying())
    if held is None and not is_empty(target):
        raise _not_empty("the target of a copy must be empty")
    if held is not None and held.value.source != fingerprint(source):
        raise _not_empty(
            "it contains a part of a copy of another store, or of this store in another state; empty it first"
        )
    return held


def _empty(target: Store, unit: Unit) -> None:
    """Remove the copied rows of a unit. Rows that refer to others are removed last, so that the removal can be
    repeated.
    """
    named = unit.partitions(target)
    first = next(named)
    for partition in named:
        _drop(target, partition)
    _drop(target, first)


def _drop(target: Store, partition: bytes) -> None:
    resent(lambda: drop_partition(target, partition))


def _lacks(kv: Store, other: Store) -> str | None:
    """Return the first register of another store that is different or missing here."""
    for partition in REGISTERS:
        for batch in scan_arrow(other, partition):
            found = get_many(kv, [(partition, key) for key in batch["key"].to_pylist()])
            for key, value, stored in zip(batch["key"].to_pylist(), batch["value"].to_pylist(), found, strict=True):
                if stored is None or stored.value != value:
                    return f"{partition.decode()}/{key.decode(errors='backslashreplace')}"
    return None


def _copied(source: Store, contents: Amount, *, resumed: bool) -> Copied:
    registers = amount_of(source, REGISTERS)
    repositories = sum(1 for _ in source.scan(keys.GRAVELER, prefix=keys.REPOSITORIES.prefix))
    deleted = sum(1 for _ in source.scan(keys.DELETED))
    return Copied(repositories, deleted, contents + registers, resumed)


def _not_empty(why: str) -> NotUnique:
    return NotUnique(f"the target is not empty: {why}", kind=Kind.StoreNotEmpty)


def _changed(why: str, **details: object) -> Conflict:
    return Conflict(f"{why} (the source must be at rest; the copy can be run again)", kind=Kind.StoreChanged, **details)
