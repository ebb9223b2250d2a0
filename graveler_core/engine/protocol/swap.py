"""The swap of a branch record, and the records and deletions for the layers that it retires."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from graveler_core.codec.records import encode
from graveler_core.engine.protocol import write_counters as counting
from graveler_core.engine.protocol.registers import fresh, require_repository
from graveler_core.errors import CorruptData, GravelerError, Kind, OutcomeUnknown, PredicateFailed
from graveler_core.model import past
from graveler_core.model.entities import BranchRecord, Cleanup
from graveler_core.model.ids import Nonce
from graveler_core.model.layers import Layer, SealedToken, SegmentLayer
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import LOST_ANSWERS
from graveler_core.records.rows import write_rows
from graveler_core.staging import stack
from graveler_core.stores import Registers, Stores

Write = tuple[bytes, bytes, bytes]
FEW_RECORDS = 5_000
"""Maximum number of records that stores drop in one transaction."""


def swap(
    stores: Stores,
    now: Registers,
    record: BranchRecord,
    *,
    mine: Callable[[BranchRecord], bool] | None = None,
    before: Sequence[Write] = (),
) -> Registers | None:
    """Replace the branch record that was read. Return the new registers, or `None` if another swap came first.

    Args:
        stores: Stores of the flow.
        now: Records that were read.
        record: Branch record to write.
        mine: Function that recognizes this swap in a later record after a lost response, by the fresh id that the
            record contains. By default, the record must equal the one that was sent, including its nonce.
        before: Records that are required before the swap. They are written with it in one step if the store supports
            it.

    Raises:
        NotFound: There are records to write before, and the repository or the branch was deleted meanwhile.
    """
    if before:
        require_repository(stores, now)
    where = keys.branch(now.repository, now.branch.id)
    try:
        new = following(stores, now.branch, record)
        held = access.replace(stores.kv, where, now.held, new, mine=mine, before=before)
    except PredicateFailed:
        return None
    stores.registers.replace(now.repository.id, now.branch.id, held)
    return Registers(now.repository, held)


def following(stores: Stores, now: BranchRecord, record: BranchRecord) -> BranchRecord:
    """Return the record to swap in for another one, with a fresh nonce and, if the head moves, the previous head.

    The fresh nonce makes the record different from every earlier record. Every swap of a branch record uses this
    function, so no flow can forget to record a move of the head. A swap that moves the head and counts as a reset is
    recorded as an assignment.
    """
    update: dict[str, object] = {"nonce": Nonce(stores.ids.fresh())}
    if record.commit_id != now.commit_id:
        assigned = record.epoch != now.epoch
        update["past"] = past.moved(now.past, now.commit_id, stores.moment(), assigned=assigned)
    return record.model_copy(update=update)


def lists(branch: BranchRecord, layer_id: str) -> bool:
    """Return `True` if a branch record lists this token or layer."""
    return layer_id == branch.staging_token or any(layer.id == layer_id for layer in branch.sealed_tokens)


def without_layer(stores: Stores, used: Registers, missing: CorruptData) -> Registers:
    """Read the records again after a layer was found missing. Raise the error if the record still lists the layer.

    Layers are dropped after they have left the record. A layer that is missing and no longer listed was therefore
    taken by another flow: the data that was read is out of date, and not corrupt. An error of another kind is raised
    as it is.
    """
    if missing.kind is not Kind.CorruptLayer:
        raise missing
    now = fresh(stores, used.repository.id, used.branch.id)
    if now.branch.uid == used.branch.uid and lists(now.branch, missing.details["layer"]):
        raise missing
    return now


def cleanups(stores: Stores, now: Registers, layers: Sequence[Layer]) -> list[Write]:
    """Return the cleanup records to write before a swap retires these layers. After a crash, the cleaner uses them."""
    since = stores.clock.now()
    retired = [layer for layer in layers if isinstance(layer, SealedToken | SegmentLayer)]
    found = [keys.cleanup(now.repository, layer.id) for layer in retired]
    return [
        (where.partition, where.key, encode(Cleanup(branch=now.branch.id, layer=layer, since=since, leaving=True)))
        for where, layer in zip(found, retired, strict=True)
    ]


def record_writes(stores: Stores, writes: Sequence[Write]) -> None:
    """Write the records that are required before a swap, in one round trip if the store supports it.

    Otherwise objects are written before the records that name them (`records.rows`). These are plain sets of keys that
    no other flow writes. After a lost response they are sent again, a few times.
    """
    for _ in range(LOST_ANSWERS - 1):
        with suppress(OutcomeUnknown):
            write_rows(stores.kv, writes)
            return
    write_rows(stores.kv, writes)


def retire(stores: Stores, now: Registers, layers: Sequence[Layer], records: int | None = None) -> None:
    """Empty the layers that a swap has removed from the record.

    The flow has already succeeded, so an error here is not raised. Leftovers are listed in the cleanup records, as
    after a crash.

    Args:
        stores: Stores of the flow.
        now: Records after the swap.
        layers: Layers to empty.
        records: Number of records in the layers, if known. Unless it is small, the layers are emptied in the
            background.
    """
    drop = partial(_drop, stores, now, tuple(layers), records)
    if records is not None and records <= FEW_RECORDS:
        drop()
    else:
        stores.background.start(drop)


def _drop(stores: Stores, now: Registers, layers: tuple[Layer, ...], records: int | None) -> None:
    leaving = stores.stack(now.repository, layers)
    with suppress(GravelerError):
        stack.drop(leaving)
        counting.end(stores, now, layers, records)
