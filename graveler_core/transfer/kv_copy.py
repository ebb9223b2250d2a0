"""Copying a whole store into an empty one, between any two backends. Source: `graveler kv copy`.

**The source must be at rest.** No store can be frozen from here, so: nobody may write to it from the beginning of the
copy to its end, or what is written is lost or makes the copy fail. What can be told is told. Branch and cleanup records
are read again after the contents of their repository were copied: a seal, commit, reset or compaction shows there, and
the repository is copied anew, a few times. Registers are read again before they are written. At the end every row is
read again on both sides: a write that came before that is a difference, and differences are an error.

**Registers come last.** A repository is seen by its record under `graveler` alone. All that it leads to is copied and
compared before any such record is written, so whatever crash ends a copy, the target shows no repository. The records
are written in pages of 10,000 rows: at once, where the store sets many keys atomically and they fit into a page; else
in the order of their names, and each repository that shows is whole.

**Two stores are never merged.** A target is empty, or holds the marker of a copy of the same source: the marker has a
digest of the source's registers, in which every repository has a uid and every state of it a nonce. It also has the
place up to which the copy has come, so the next run of a killed one goes on there; each run swaps the marker from its
own last state, so a run that others took for dead ends at its next step. Between two such swaps it writes what the
other one writes too; a write that a server still does for a process that was killed must end before the target is
used. The marker is removed at the end. From then on the target is a store like any other, and refuses
to be copied into. A target into which somebody else wrote registers meanwhile is refused as well.

**Within a repository** its own partition comes first, and the staging partitions are those that the *copied* branch and
cleanup records name, which nobody changes. To copy a repository anew, what they name is emptied first, its own
partition last.

Values are copied byte by byte; predicates are the target's own. In memory are a page of rows and the names of one
repository's staging tokens. Objects in storage namespaces stay where they are.
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

ATTEMPTS = 3
"""How often a repository is copied before its changes count as a source that is in use."""


@dataclass(frozen=True, slots=True)
class Copied:
    """What a store holds that was copied, or would be."""

    repositories: int
    """In any state."""
    deleted: int
    """Deleted repositories that wait for the cleaner."""
    amount: Amount
    """All of the store, whichever run copied it."""
    resumed: bool
    """Whether a former run had begun the copy."""


def copy_store(
    source: Store, target: Store, *, ids: IdSource | None = None, progress: Progress = lambda more: None
) -> Copied:
    """Copy all that is in a store at rest into an empty one, and compare both; go on with a copy that did not end.

    Args:
        ids: Where the name of the run comes from.
        progress: Told how many more rows were copied or compared: each row twice in all.

    Raises:
        InvalidInput: there is nothing to copy, or the source is itself a copy that did not end.
        NotUnique: (`StoreNotEmpty`) the target holds something else.
        Conflict: (`StoreChanged`) the source changed meanwhile, or a row differs at the end; (`LostRace`) another run
            copies into the target. A copy that failed can be run again.
    """
    begun = _admitted(source, target)
    run = Nonce((ids or RandomIds()).fresh())
    if begun is None:
        try:
            held = access.create(target, keys.copying(), Copying(source=fingerprint(source), run=run))
        except PredicateFailed as e:
            raise another_run() from e
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
    """What `copy_store` would copy, counted; it changes nothing. Raises as `copy_store`."""
    begun = _admitted(source, target)
    return _copied(source, amount_of_contents(source), resumed=begun is not None)


@dataclass(slots=True)
class _Copy:
    source: Store
    loading: Loading
    progress: Progress
    fresh: bool
    """Whether nothing can be in the target but what this run has copied."""

    def contents(self) -> None:
        """Copy all but the registers, from the place on that was reached."""
        for unit in units(self.source, self.loading.place.unit):
            self._unit(unit)

    def compare(self) -> Amount:
        """Compare what was copied, and remember that it is equal. Gives how much it is."""
        self._require_same_registers()
        found = compare_contents(self.source, self.loading.target, self.progress)
        differences = found.differences
        if differences:
            self.loading.move(unit="", partition=b"", key=b"")
            raise _changed(
                f"{differences[0]} in the target: was something written to the source, or to the target, meanwhile?",
                differences=[str(difference) for difference in differences],
            )
        self._require_same_registers()
        self.loading.move(compared=True)
        return found.equal

    def registers(self) -> None:
        """Write the records that make repositories visible, unless all of them stand there; remove the marker."""
        target = self.loading.target
        if _lacks(target, self.source) is not None:
            foreign = _lacks(self.source, target)
            if foreign is not None:
                raise _not_empty(f"it is in use: {foreign} was written while it was copied into")
            for partition in REGISTERS:
                for batch in scan_arrow(self.source, partition):
                    rows = zip(batch["key"].to_pylist(), batch["value"].to_pylist(), strict=True)
                    put(target, [(partition, key, value) for key, value in rows])
            lacking = _lacks(target, self.source)
            if lacking is not None:
                raise _changed(f"{lacking} changed while it was copied")
        self.loading.end()

    def _require_same_registers(self) -> None:
        if fingerprint(self.source) != self.loading.place.source:
            raise Conflict(
                "repositories of the source were created, deleted or changed while it was copied; "
                "empty the target and copy the source at rest",
                kind=Kind.StoreChanged,
            )

    def _unit(self, unit: Unit) -> None:
        """Copy a unit, until its branches and cleanup records stand as they were copied."""
        for left in reversed(range(ATTEMPTS)):
            self._rows(unit)
            changed = changed_register(unit, self.source, self.loading.target)
            if changed is None:
                return
            self.fresh = False
            self.loading.move(partition=b"", key=b"")
            if not left:
                what = changed.key.decode(errors="backslashreplace").replace("branches/", "branch ", 1)
                raise _changed(f"{what} of {unit.name} changed {ATTEMPTS} times while it was copied", part=unit.name)

    def _rows(self, unit: Unit) -> None:
        """Copy a unit from the place on that was reached in it, or from its beginning."""
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
                loading.flush()  # the rest of the walk reads it
        loading.flush()


def _admitted(source: Store, target: Store) -> Held[Copying] | None:
    """The marker of a copy to go on with, None for a target in which none has begun; an error if it may not be."""
    if access.read(source, keys.copying()) is not None:
        raise InvalidInput("the source is itself a copy that has not ended: end it first")
    if is_empty(source):
        raise InvalidInput("the source holds nothing: there is nothing to copy")
    held = access.read(target, keys.copying())
    if held is None and not is_empty(target):
        raise _not_empty("a store is copied into an empty one only")
    if held is not None and held.value.source != fingerprint(source):
        raise _not_empty("it holds a part of a copy of another store, or of this one in another state; empty it first")
    return held


def _empty(target: Store, unit: Unit) -> None:
    """Remove what was copied of a unit: last what names the rest, so that it can be done again."""
    named = unit.partitions(target)
    first = next(named)
    for partition in named:
        _drop(target, partition)
    _drop(target, first)


def _drop(target: Store, partition: bytes) -> None:
    resent(lambda: drop_partition(target, partition))


def _lacks(kv: Store, other: Store) -> str | None:
    """The first register of another store that does not stand here as it does there."""
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
