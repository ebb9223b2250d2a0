"""Counters of what was staged, as records that a sensor reads: who writes them, and when they end.

    graveler_stats/<repository>/<branch>:<layer>/<writer>     all that this writer wrote to this layer so far

Single writes are counted in memory (`staging.write_counts`) and written down now and then, bulk writes at once where
they are large or where layers pile up. Each record has one writer, and is set whole: a lost answer or a second sending
changes nothing. They end with their layer; one that was written later is removed by whoever reads it, for a layer that
has left its branch's record is never listed again.

Nothing rests on them: a record that is missing delays a compaction, and one too many starts it early. So no failure
here becomes the answer of a write that has succeeded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from graveler_core.errors import GravelerError
from graveler_core.model.compaction import Counted, StagedCounts
from graveler_core.model.layers import Layer
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.staging.write_counts import Due, Place
from graveler_core.stores import Registers, Stores

MANY_LAYERS = 10
"""From so many layers on the branch is named to the sensors, whatever is in them."""
NAMED = "named"
"""The writer of records that count nothing."""


def count(stores: Stores, used: Registers, writes: int, tombstones: int) -> None:
    """Count records that were written to a branch's staging token."""
    branch = used.held.value
    if not stores.counts.counted(branch.staging_token, writes, tombstones):
        place = Place(used.repository, branch.id, branch.staging_token)
        write_down(stores, stores.counts.add(place, writes, tombstones, stores.wall()))


def count_layer(stores: Stores, now: Registers, layer: Layer, counted: tuple[int, int]) -> None:
    """Count a layer that a bulk write or a prefix operation has put on a branch.

    Args:
        now: The registers it was put on.
        counted: Records in it, and how many of them are tombstones.
    """
    if counted[0] >= stores.counts.worth:
        write_down(stores, [Due(Place(now.repository, now.branch.id, layer.id), stores.wall(), *counted)])
    elif len(now.branch.sealed_tokens) + 1 >= MANY_LAYERS:
        name(stores, now)


def name(stores: Stores, now: Registers) -> None:
    """Name a branch to the sensors for the number of its sealed layers; what was counted of them stays as it is."""
    place = Place(now.repository, now.branch.id, now.branch.sealed_tokens[0].id)
    write_down(stores, [Due(place, stores.wall(), 0, 0)], NAMED)


def write_down_at_end(stores: Stores) -> None:
    """Write down what is left, unless it is next to nothing."""
    write_down(stores, stores.counts.rest(stores.counts.every // 32))


def write_down(stores: Stores, due: Iterable[Due], writer: str = "") -> None:
    """Set counter records, of this process unless another writer is named; a failure is nobody's."""
    writer = writer or stores.counts.writer
    for count in due:
        place = count.place
        record = StagedCounts(
            repository=place.repository.id,
            uid=place.repository.uid,
            branch=place.branch,
            layer=place.layer,
            counted=Counted(writes=count.writes, tombstones=count.tombstones),
            since=datetime.fromtimestamp(count.since, UTC),
        )
        layer = keys.counts_of_layer(place.repository.id, place.branch, place.layer)
        with suppress(GravelerError):
            access.write(stores.kv, keys.COUNTS.at(f"{layer}{writer}"), record)


def end(stores: Stores, now: Registers, layers: Sequence[Layer], records: int | None) -> None:
    """Remove the counters of layers that have left their branch.

    Args:
        records: How many records all of them held, where known: few were hardly written down, and cost nothing then.
    """
    ids = {layer.id for layer in layers}
    counted = stores.counts.ended(now.repository, now.branch.id, ids)
    if records is None or max(records, counted) >= stores.counts.worth or len(layers) >= MANY_LAYERS:
        branch = keys.counts_of_branch(now.repository.id, now.branch.id)
        for found, held in access.scan(stores.kv, keys.COUNTS, prefix=branch):
            if held.value.layer in ids:
                remove(stores, found)


def remove(stores: Stores, name: str) -> None:
    """Remove one counter, of a layer that has left its branch."""
    where = keys.COUNTS.at(name)
    stores.kv.delete(where.partition, where.key)
