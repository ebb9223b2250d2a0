"""Counters of staged writes: records that a sensor reads, with their writers and their lifetime.

    graveler_stats/<repository>/<branch>:<layer>/<writer>     everything that this writer wrote to this layer so far

Single writes are counted in memory (`staging.write_counts`) and stored from time to time. Bulk writes are stored at
once if they are large or if the branch has many layers. Each record has one writer, and is set as a whole, so a lost
response or a repeated write changes nothing. Counters are deleted with their layer. A reader removes a counter that
was stored after that, because a layer that has left its branch record is never listed again.

Correctness does not depend on counters: a missing record delays a compaction, and an extra record starts it early.
Therefore an error here never becomes the result of a write that has succeeded. A damaged record counts as missing, and
is removed with its layer, or when the records of the layer are counted again.
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
from graveler_core.records.access import Damaged
from graveler_core.staging.write_counts import BranchLayer, Due
from graveler_core.stores import Registers, Stores

MANY_LAYERS = 10
"""Number of layers from which a branch is reported to the sensors, regardless of the content of the layers."""
NAMED = "named"
"""Writer id of records that count nothing."""


def count(stores: Stores, used: Registers, writes: int, tombstones: int) -> None:
    """Count records that were written to the staging token of a branch."""
    branch = used.held.value
    if not stores.counts.counted(branch.staging_token, writes, tombstones):
        place = BranchLayer(used.repository, branch.id, branch.staging_token)
        write_down(stores, stores.counts.add(place, writes, tombstones, stores.wall()))


def count_layer(stores: Stores, now: Registers, layer: Layer, counted: tuple[int, int]) -> None:
    """Count a layer that a bulk write or a prefix operation has added to a branch.

    Args:
        stores: Stores of the flow.
        now: Records before the layer was added.
        layer: The layer.
        counted: Number of records in it, and number of tombstones among them.
    """
    if counted[0] >= stores.counts.worth:
        write_down(stores, [Due(BranchLayer(now.repository, now.branch.id, layer.id), stores.wall(), *counted)])
    elif len(now.branch.sealed_tokens) + 1 >= MANY_LAYERS:
        name(stores, now)


def name(stores: Stores, now: Registers) -> None:
    """Report a branch to the sensors because of the number of its sealed layers. Counters of the layers do not
    change.
    """
    place = BranchLayer(now.repository, now.branch.id, now.branch.sealed_tokens[0].id)
    write_down(stores, [Due(place, stores.wall(), 0, 0)], NAMED)


def write_down_at_end(stores: Stores) -> None:
    """Store the remaining counts at the end of the process, unless they are very small."""
    write_down(stores, stores.counts.rest(stores.counts.every // 32))


def write_down(stores: Stores, due: Iterable[Due], writer: str = "") -> None:
    """Store counter records of this process, or of another writer if one is given. Errors are ignored."""
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
        stores: Stores of the flow.
        now: Records after the layers left.
        layers: The layers.
        records: Number of records in all of the layers, if known. Small layers probably have no counters, so nothing
            is removed for them.
    """
    ids = {layer.id for layer in layers}
    counted = stores.counts.ended(now.repository, now.branch.id, ids)
    if records is None or max(records, counted) >= stores.counts.worth or len(layers) >= MANY_LAYERS:
        repo, branch = now.repository.id, now.branch.id
        damaged = list[str]()
        found = readable(stores, keys.counts_of_branch(repo, branch), lambda e: damaged.append(e.details["record"]))
        ended = tuple(keys.counts_of_layer(repo, branch, id) for id in ids)
        for each in (*found, *damaged):
            if each.startswith(ended):
                remove(stores, each)


def readable(stores: Stores, prefix: str, damaged: Damaged) -> dict[str, StagedCounts]:
    """Return counters by name. `damaged` is used as in `access.scan`."""
    found = access.scan(stores.kv, keys.COUNTS, prefix=prefix, damaged=damaged)
    return {name: held.value for name, held in found}


def remove(stores: Stores, name: str) -> None:
    """Remove one counter of a layer that has left its branch."""
    where = keys.COUNTS.at(name)
    stores.kv.delete(where.partition, where.key)
