"""One swap of a branch record, and the recording and dropping of the layers that it retires."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial

from graveler_core.codec.records import encode
from graveler_core.engine import counting
from graveler_core.engine.registers import fresh
from graveler_core.errors import CorruptData, GravelerError, Kind, OutcomeUnknown, PredicateFailed
from graveler_core.kv.bulk import set_many
from graveler_core.model import past
from graveler_core.model.entities import Branch, Cleanup
from graveler_core.model.ids import Nonce
from graveler_core.model.layers import Layer, SealedToken, SegmentLayer
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import LOST_ANSWERS
from graveler_core.staging import stack
from graveler_core.stores import Registers, Stores

Write = tuple[bytes, bytes, bytes]
FEW_RECORDS = 5_000
"""What stores drop in one transaction."""


def swap(
    stores: Stores, now: Registers, record: Branch, *, mine: Callable[[Branch], bool] | None = None
) -> Registers | None:
    """Replace the branch record that was read; None if another swap came first.

    Args:
        mine: Recognises this swap in a later record after a lost answer, by the fresh id that it carries; equality
            with what was sent, its nonce included, when not given.
    """
    where = keys.branch(now.repository, now.branch.id)
    try:
        held = access.replace(stores.kv, where, now.held, following(stores, now.branch, record), mine=mine)
    except PredicateFailed:
        return None
    registers = Registers(now.repository, held)
    stores.registers.keep(now.repository.id, now.branch.id, registers)
    return registers


def following(stores: Stores, now: Branch, record: Branch) -> Branch:
    """The record to swap in for another: equal to none that stood before, and where the head moves, knowing from where.

    Every swap of a branch record goes through here, so no move of a head is forgotten, whatever flow makes it. One that
    moves the head and counts as a reset is an assignment.
    """
    update: dict[str, object] = {"nonce": Nonce(stores.ids.fresh())}
    if record.commit_id != now.commit_id:
        assigned = record.epoch != now.epoch
        update["past"] = past.moved(now.past, now.commit_id, moment(stores), assigned=assigned)
    return record.model_copy(update=update)


def moment(stores: Stores) -> datetime:
    """The time of an event of a reference."""
    return datetime.fromtimestamp(stores.wall(), UTC)


def lists(branch: Branch, layer_id: str) -> bool:
    """Whether a branch record names this token or layer."""
    return layer_id == branch.staging_token or any(layer.id == layer_id for layer in branch.sealed_tokens)


def without_layer(stores: Stores, used: Registers, missing: CorruptData) -> Registers:
    """The registers now, after a layer was found missing; raises the finding if it stands, or is of another kind.

    Layers are dropped after they have left the record, so a layer that is missing and not listed any more was taken by
    somebody else, and what was read is out of date, not corrupt.
    """
    if missing.kind is not Kind.CorruptLayer:
        raise missing
    now = fresh(stores, used.repository.id, used.branch.id)
    if now.branch.uid == used.branch.uid and lists(now.branch, missing.details["layer"]):
        raise missing
    return now


def cleanups(stores: Stores, now: Registers, layers: Sequence[Layer]) -> list[Write]:
    """The records that must stand before a swap retires these layers: after a crash the cleaner finds them."""
    since = stores.clock.now()
    retired = [layer for layer in layers if isinstance(layer, SealedToken | SegmentLayer)]
    found = [keys.cleanup(now.repository, layer.id) for layer in retired]
    return [
        (where.partition, where.key, encode(Cleanup(branch=now.branch.id, layer=layer, since=since, leaving=True)))
        for where, layer in zip(found, retired, strict=True)
    ]


def record_writes(stores: Stores, writes: Sequence[Write]) -> None:
    """Write what must stand before a swap, in one round trip where the store can.

    Plain sets of what nobody else writes: after a lost answer they are sent again, a few times.
    """
    for _ in range(LOST_ANSWERS - 1):
        with suppress(OutcomeUnknown):
            set_many(stores.kv, list(writes))
            return
    set_many(stores.kv, list(writes))


def retire(stores: Stores, now: Registers, layers: Sequence[Layer], records: int | None = None) -> None:
    """Empty layers that a swap has taken out of the record.

    The flow has succeeded by then, so no failure here becomes its answer: what is left, as after a crash, is in the
    cleanup records.

    Args:
        records: How many the layers hold, where known. Unless they are few, nobody waits until they are gone.
    """
    drop = partial(_drop, stores, now, tuple(layers), records)
    if records is not None and records <= FEW_RECORDS:
        drop()
    else:
        stores.background.start(drop)


def _drop(stores: Stores, now: Registers, layers: tuple[Layer, ...], records: int | None) -> None:
    blobs = stores.blobs.at(now.repository.storage_namespace)
    with suppress(GravelerError):
        stack.drop(stack.Stack(stores.kv, blobs, layers))
        counting.end(stores, now, layers, records)
