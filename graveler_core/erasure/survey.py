"""Entries that an erasure concerns, and other entries that name the same content.

1. `survey` reads all names of the repository. Entries whose paths match the rule name the content to erase.
2. `sharing` reads all names of all repositories of the store. Entries that do not match the rule, or belong to another
   repository, and name the same content, share it.

Names are read as for collections (`gc.named_addresses`): staged changes, compacted trees, and all commits.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.errors import Conflict, GravelerError, InvalidInput, Kind
from graveler_core.gc.all_repositories import all_repositories
from graveler_core.gc.named_addresses import WantedEntries, named_objects
from graveler_core.gc.relative_addresses import relative_addresses
from graveler_core.gc.stock import CONTENT, Progress
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.entry import ENTRY_SCHEMA, AddressType
from graveler_core.model.erasure import ErasureRule, ErasureState
from graveler_core.objects.erased import erased_contents
from graveler_core.segments.sorted_keys import KEY
from graveler_core.stores import Stores

EXAMPLES = 3
"""Number of entries that a message shows."""
_COLUMNS = (KEY, "address", "address_type", "size")
_ROWS = pa.schema([pa.field(name, ENTRY_SCHEMA.field(name).type) for name in _COLUMNS])
"""Schema of staged and of committed entries, in which the columns may be null or not."""
_OBJECTS = pa.schema([pa.field("address", pa.string()), pa.field("size", pa.int64())])


@dataclass(slots=True)
class Survey:
    """Entries of a repository that match the rule of an erasure."""

    objects: pa.Table = field(default_factory=_OBJECTS.empty_table)
    """Columns `address`, relative to the storage namespace, and `size`: each object once, sorted."""
    entries: int = 0
    """Number of distinct pairs of a path and an address."""
    inline: list[str] = field(default_factory=list)
    """Paths of entries that contain their content."""
    outside: list[str] = field(default_factory=list)
    """Entries whose content is not in the repository's namespace, or is a file of graveler itself."""

    @property
    def size(self) -> int:
        """Size of the objects in bytes."""
        return pc.sum(self.objects.column("size")).as_py() or 0


def survey(stores: Stores, repo: RepositoryRecord, rule: ErasureRule, progress: Progress) -> Survey:
    """Read the names of a repository, and return the entries that an erasure concerns. Content that an earlier erasure
    has deleted is left out of the objects.

    Memory holds path and address of each matching entry.

    Raises:
        CorruptData: An item that names objects is missing or damaged.
        SlowDown: A branch changes so often that it could not be read.
    """
    found, matching = Survey(), list[pa.Table]()
    for _, table in named_objects(stores, repo, WantedEntries(_COLUMNS, inline=True), progress):
        rows = table.filter(rule.matches(table.column(KEY)))
        if rows.num_rows:
            matching.append(rows.cast(_ROWS))
    if matching:
        _sort_out(found, pa.concat_tables(matching), repo.storage_namespace)
        known = erased_contents(stores.kv, repo).of(found.objects.column("address").to_pylist())
        done = pa.array([one for one, erasure in known.items() if erasure.state is ErasureState.DONE], pa.string())
        found.objects = found.objects.filter(pc.invert(pc.is_in(found.objects.column("address"), value_set=done)))
    return found


def refusal(rule: ErasureRule, found: Survey, shared: list[str]) -> GravelerError | None:
    """Return the error with which an erasure is refused, or `None`.

    Args:
        rule: Rule of the erasure.
        found: Entries that match.
        shared: Other entries that name the content, unless it is to be erased there, too.
    """
    if found.inline:
        return InvalidInput(
            f"erase {rule}: {_examples(found.inline)} contain their content in the entry itself, which is in commits "
            "that cannot change; nothing is erased",
            paths=found.inline,
        )
    if found.outside:
        return InvalidInput(
            f"erase {rule}: the content of {_examples(found.outside)} is not managed by this repository; erase it "
            "where it is stored. Nothing is erased here",
            entries=found.outside,
        )
    if shared:
        return Conflict(
            f"erase {rule}: {_examples(shared)} name the same content, which would be lost there; nothing is deleted "
            "unless shared content is erased, too",
            kind=Kind.ContentShared,
            shared=shared,
        )
    return None


def _examples(items: list[str]) -> str:
    more = f" and {len(items) - EXAMPLES:,} more" if len(items) > EXAMPLES else ""
    return ", ".join(items[:EXAMPLES]) + more


def _sort_out(found: Survey, rows: pa.Table, uri: str) -> None:
    """Divide the matching entries by the kind of their addresses."""
    relative = relative_addresses(rows, uri)
    own = pc.and_(pc.is_valid(relative), pc.invert(pc.fill_null(pc.starts_with(relative, CONTENT), False)))
    inline = pc.equal(rows.column("address_type"), AddressType.INLINE)
    found.inline = _distinct(rows.filter(inline).column(KEY))
    other = rows.filter(pc.invert(pc.or_(own, inline)))
    found.outside = [
        f"{key.decode()!r} at {address}"
        for key, address in sorted(set(zip(*other.select([KEY, "address"]).to_pydict().values(), strict=True)))
    ]
    mine = pa.table({KEY: rows.column(KEY), "address": relative, "size": rows.column("size")}).filter(own)
    # Threads cost more than they gain for the few entries of most erasures.
    found.entries = mine.group_by([KEY, "address"], use_threads=False).aggregate([]).num_rows
    grouped = mine.group_by("address", use_threads=False).aggregate([("size", "max")])
    grouped = grouped.rename_columns(["address", "size"])
    found.objects = grouped.sort_by("address").combine_chunks()


def sharing(
    stores: Stores, repo: RepositoryRecord, rule: ErasureRule, objects: pa.Table, progress: Progress
) -> list[str]:
    """Read the names of all repositories. Return the entries, as texts, that name some of the objects and do not match
    the rule, or belong to another repository.

    Raises:
        CorruptData: As for `survey`.
        SlowDown: As for `survey`.
    """
    if not objects.num_rows:
        return []
    wanted, shared = objects.column("address").combine_chunks(), set[str]()
    for one in all_repositories(stores.kv):
        own = one.uid == repo.uid
        for source, table in named_objects(stores, one, WantedEntries(_COLUMNS), progress):
            rows = table.filter(pc.invert(rule.matches(table.column(KEY))) if own else _is_full(table))
            hit = pc.fill_null(pc.is_in(relative_addresses(rows, repo.storage_namespace), value_set=wanted), False)
            for key in _distinct(rows.filter(hit).column(KEY)):
                shared.add(f"{key!r} in {source}" if own else f"entries of repository {one.id!r}")
    return sorted(shared)


def _is_full(table: pa.Table) -> pa.ChunkedArray:
    return pc.equal(table.column("address_type"), AddressType.FULL)


def _distinct(keys: pa.ChunkedArray) -> list[str]:
    return sorted(key.decode(errors="backslashreplace") for key in pc.unique(keys).to_pylist())
