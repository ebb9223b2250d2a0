"""Copying a whole key-value store to another one, and comparing both."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.lifecycle.stock import commits_of, filled_repository
from benchmarks.scenario import Measured, Place, clocked, scenario
from graveler_core import compare_stores, copy_store
from graveler_core.transfer.kv_copy import Copied


@scenario("lifecycle", filled_repository, counts="staged records")
def copy_a_store(place: Place) -> Iterator[Measured]:
    """Copy a store to another one of the same kind, or from PostgreSQL to SQLite, and compare both."""
    target, copied = beside(place), list[Copied]()
    taken = clocked(lambda: copied.append(copy_store(place.store, target)))
    what = f"{commits_of(place):,} commits and {place.size:,} staged records"
    rows = copied[0].amount.rows
    yield taken.named(f"copy {what}, compared")
    yield Measured(f"copy {what}, compared: rows", "per s", (rows / taken.wall[0] * 1e3,))
    yield Measured(f"{what}: rows", "rows", (rows,))
    yield Measured(f"{what}: keys and values", "MB", (copied[0].amount.size / 1e6,))
    yield clocked(lambda: compare_stores(place.store, target)).named(f"compare {what}")


def beside(place: Place) -> str:
    """Return the URL of an empty store that is the target of copies."""
    if place.store.startswith("memory:"):
        return f"{place.store}-copy"
    if place.store.startswith("sqlite:"):
        return place.store.replace("/meta.db", "/copy.db")
    return place.data.replace("file://", "sqlite:///", 1) + "-copy.db?durability=process"
