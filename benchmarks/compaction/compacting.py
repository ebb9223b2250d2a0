"""Time and peak memory of a compaction of staged changes, without other work."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.compaction.reading import HOW, name_of, removed_entries
from benchmarks.core import staged_entries, staged_in_bulk
from benchmarks.scenario import Measured, Place, clocked, scenario

_SIZES = (10_000, 100_000, 1_000_000)


@scenario("compaction", staged_entries, sizes=_SIZES, runs=3)
def compact_rows(place: Place) -> Iterator[Measured]:
    """Compact entries that were staged one by one."""
    yield from _compacted(place, "one by one")


@scenario("compaction", staged_in_bulk, sizes=_SIZES, runs=3)
def compact_bulk(place: Place) -> Iterator[Measured]:
    """Compact entries that were staged by one `stage_many`."""
    yield from _compacted(place, "in bulk")


@scenario("compaction", removed_entries, sizes=_SIZES, counts="tombstones")
def compact_tombstones(place: Place) -> Iterator[Measured]:
    """Compact staged removals. The size is the number of removals."""
    for how in HOW:
        with place.connect() as g:
            branch = place.repo(g).branch(name_of(how))
            yield clocked(branch.compact).named(f"compact, removed {how}")


def _compacted(place: Place, staged: str) -> Iterator[Measured]:
    with place.connect() as g:
        main = place.repo(g).branch("main")
        yield clocked(main.compact).named(f"compact, staged {staged}")
