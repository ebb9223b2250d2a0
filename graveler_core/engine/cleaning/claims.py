"""Storage namespaces that nobody owns: claims of creations that stalled until their records were gone.

A claim is removed if neither a deleted entry of its owner stands, nor `repos/<name>` is its owner's, nor, read again,
the entry; and only the very claim that was read first. Why that is never the claim of a repository that lives, or can
be restored: of such a one the record or the entry stands at any moment. (It is created with the record. Deletion makes
the entry before it removes the record, restoration the record before it removes the entry.) With no entry at the first
look the record stood; with no record at the second it was deleted in between; with no entry at the third it was
restored since, and a restoration renews the claim first, which then is not the one that was read. And a creation whose
record is gone is never activated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

from graveler_core.engine.cleaning.work import Position, Step, Work
from graveler_core.model.entities import NamespaceClaim
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.records.location import Location

Row = tuple[str, Held[NamespaceClaim]]


def claims(work: Work, at: Position) -> Iterator[Step]:
    """Go through the claims."""
    only = work.plan.repository
    rows = access.scan(work.stores.kv, keys.NAMESPACES, after=at[0], damaged=work.damaged)
    while page := list(islice(rows, work.page)):
        mine = [row for row in page if only is None or row[1].value.repository == only]
        work.together("claims of storage namespaces", mine, partial(_orphans, work))
        yield (page[-1][0],), len(page)


def _orphans(work: Work, rows: Sequence[Row]) -> None:
    # Nearly all are their owners'; only of the others the three looks are taken.
    for looks_at_entry in (False, True, False, True):
        rows = _unowned(work, rows, looks_at_entry)
    for uri, held in rows:
        where = keys.namespace_claim(uri)
        work.done.claims += work.plan.dry_run or access.remove(work.stores.kv, where, held)


def _unowned(work: Work, rows: Sequence[Row], looks_at_entry: bool) -> list[Row]:
    """Those whose owner's entry, or record, does not stand."""
    owners = [(held.value.repository, held.value.owner) for _, held in rows]
    wheres: list[Location[Any]] = [
        keys.deleted_repository(name, uid) if looks_at_entry else keys.repository(name) for name, uid in owners
    ]
    found = access.read_many(work.stores.kv, wheres)
    return [
        row
        for row, (_, uid), held in zip(rows, owners, found, strict=True)
        if held is None or not (looks_at_entry or held.value.uid == uid)
    ]
