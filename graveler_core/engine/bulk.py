"""Bulk writes and prefix operations: build a layer that nobody sees, then one swap puts it on the branch.

1. Records, fresh. 100 layers are too many: the branch is named to the sensors, and `SlowDown`: commit or compact first.
2. The layer: a staging partition or segments under a fresh id, whose cleanup record is created first; a removal or
   restoration is only its line in the record. A crash leaves data that its cleanup record names. Segments of rows that
   lie on many machines are written there (`engine.layer_parts`).
3. ✓ One swap. If the staging token holds records, it is sealed and the layer put on top of it; if it was found empty,
   it stays current and the layer goes directly below it. (A token leaves the record only by commit, compaction, reset
   or branch deletion, never because it looked empty: a writer may be about to be acknowledged in it.)

A cleaner that finds the record of a layer that is not listed claims it (`purging`), and then swaps the branch record,
before it drops anything. So a swap from a branch record that was read before the layer was recorded fails if there was
a cleaner; after any later read the layer's record is read too, and a layer that was claimed is built again.

What takes long is built before the first of these steps, and found built: for a layer that workers write, the branch
is read a first time to refuse what cannot be done, and again when the layer is whole. Its cleanup record, by then older
than that read, is read before the swap; and while the workers write it is renewed (`engine.renewal`), so that a cleaner
sees that the builder lives.

All of the layer is seen, or none of it. A write that is acknowledged meanwhile is concurrent: either order is right.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.codec.records import encode
from graveler_core.engine import counting
from graveler_core.engine.layer_parts import Written, write_parts
from graveler_core.engine.permitted import require_permitted
from graveler_core.engine.registers import fresh
from graveler_core.engine.renewal import renewed
from graveler_core.engine.retry import attempts
from graveler_core.engine.swap import lists, swap
from graveler_core.errors import GravelerError, Kind, SlowDown
from graveler_core.model.entities import Cleanup
from graveler_core.model.entry import TOMBSTONE
from graveler_core.model.ids import BranchId, LayerId, RepositoryId, RepositoryUid
from graveler_core.model.layers import MAX_LAYERS, Layer, PrefixRemoval, PrefixRestoration, SealedToken, SegmentLayer
from graveler_core.model.protection import Action
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.location import Location
from graveler_core.staging import area, segment_layer
from graveler_core.staging.stack import Stack, drop
from graveler_core.stores import Registers, SortedRows, Stores

SEGMENT_ROWS = 1_000
"""From this many records on, a bulk write becomes files instead of key-value rows."""
MAX_LAYER_BYTES = 64 * 1024
"""A larger branch record takes no further layer, so that a commit can always add the token that it seals."""


def stage_records(stores: Stores, repo: RepositoryId, branch: BranchId, records: pa.Table) -> None:
    """Stage a sorted table in `RECORD_SCHEMA`, keys distinct, all at once."""
    if records.num_rows == 0:
        require_permitted(fresh(stores, repo, branch), Action.WRITE)
        return

    counted = (records.num_rows, pc.sum(records[TOMBSTONE]).as_py())

    def build(now: Registers) -> _Built:
        if records.num_rows < SEGMENT_ROWS:
            token = SealedToken(token=keys.staging_token(now.repository, branch, stores.ids.fresh()))
            _record(stores, now, token)
            area.put_table(stores.kv, token.token, records)
            return _Built(token, counted)
        layer = SegmentLayer(id=LayerId(stores.ids.fresh()), count=records.num_rows)
        _record(stores, now, layer)
        segment_layer.write(stores.blobs.at(now.repository.storage_namespace), layer.id, records, stores.executor.map)
        return _Built(layer, counted)

    _push(stores, repo, branch, _Wanted(build))


def stage_sorted(stores: Stores, repo: RepositoryId, branch: BranchId, rows: SortedRows) -> Written:
    """Stage rows that lie on many machines, all at once, as files that those write. Memory here: a line a file."""
    made: dict[str, Written] = {}

    def build(now: Registers) -> _Built:
        layer = SegmentLayer(id=LayerId(stores.ids.fresh()), count=0)
        with renewed(stores, _record(stores, now, layer)):
            made[layer.id] = written = write_parts(stores, now.repository, layer.id, rows)
        whole = layer.model_copy(update={"count": written.records})
        return _Built(whole, (written.records, written.removals))

    now = fresh(stores, repo, branch)
    _require_room(stores, now)
    built = build(now)
    if built.counted[0]:
        built = _push(stores, repo, branch, _Wanted(build), (now.repository.uid, built))
    return made[built.layer.id]


def remove_prefix(stores: Stores, repo: RepositoryId, branch: BranchId, prefix: str) -> None:
    """Remove everything under a prefix: one line in the branch record, whatever lies there."""
    layer = PrefixRemoval(id=LayerId(stores.ids.fresh()), prefix=prefix)
    _push(stores, repo, branch, _Wanted(lambda now: _Built(layer)))


def restore_prefix(stores: Stores, repo: RepositoryId, branch: BranchId, prefix: str) -> None:
    """Discard what is staged under a prefix: from here on the head shows through."""
    layer = PrefixRestoration(id=LayerId(stores.ids.fresh()), prefix=prefix)
    _push(stores, repo, branch, _Wanted(lambda now: _Built(layer), resets=True))


@dataclass(frozen=True, slots=True)
class _Built:
    """A layer that no record lists yet."""

    layer: Layer
    counted: tuple[int, int] = (0, 0)
    """Records in it, and how many of them are tombstones."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A layer to put on a branch."""

    build: Callable[[Registers], _Built]
    resets: bool = False


def _push(
    stores: Stores,
    repo: RepositoryId,
    branch: BranchId,
    wanted: _Wanted,
    made: tuple[RepositoryUid, _Built] | None = None,
) -> _Built:
    """Put a layer on a branch: the one that was made for a repository before, or one that is built now."""
    for _ in attempts(stores, f"bulk write on {repo}/{branch}"):
        now = fresh(stores, repo, branch)
        if made is not None and lists(now.branch, made[1].layer.id):
            # A swap that was taken for lost came through late. A layer is never listed twice.
            return made[1]
        _require_room(stores, now)
        if made is None or made[0] != now.repository.uid or _is_claimed(stores, now, made[1].layer):
            made = (now.repository.uid, wanted.build(now))
        built = made[1]
        if _swapped(stores, now, built.layer, now.branch.epoch + (1 if wanted.resets else 0)):
            counting.count_layer(stores, now, built.layer, built.counted)
            return built
    raise AssertionError("attempts() raises when it ends")


def _require_room(stores: Stores, now: Registers) -> None:
    """Refuse a layer where the branch may not be written to, or has too many of them."""
    require_permitted(now, Action.WRITE)
    if len(now.branch.sealed_tokens) + 2 > MAX_LAYERS or len(encode(now.branch)) > MAX_LAYER_BYTES:
        counting.name(stores, now)
        raise SlowDown(
            f"branch {now.branch.id!r}: has {len(now.branch.sealed_tokens)} layers of staged changes, may have at most "
            f"{MAX_LAYERS} in {MAX_LAYER_BYTES:,} bytes of prefixes; commit or compact it",
            kind=Kind.TooManyLayers,
            branch=now.branch.id,
        )


def _record(stores: Stores, now: Registers, layer: SealedToken | SegmentLayer) -> Location[Cleanup]:
    where = keys.cleanup(now.repository, layer.id)
    access.create(stores.kv, where, Cleanup(branch=now.branch.id, layer=layer, since=stores.clock.now()))
    return where


def _is_claimed(stores: Stores, now: Registers, layer: Layer) -> bool:
    """Whether a cleaner took the layer for one that was left behind."""
    if not isinstance(layer, SealedToken | SegmentLayer):
        return False
    held = access.read(stores.kv, keys.cleanup(now.repository, layer.id))
    if held is None:
        # The cleaner has forgotten it: what was built since nobody else will drop.
        with suppress(GravelerError):
            drop(Stack(stores.kv, stores.blobs.at(now.repository.storage_namespace), (layer,)))
    return held is None or held.value.purging


def _swapped(stores: Stores, now: Registers, layer: Layer, epoch: int) -> bool:
    below = now.branch.sealed_tokens
    update: dict[str, object] = {"epoch": epoch}
    if area.is_empty(stores.kv, now.branch.staging_token):
        update["sealed_tokens"] = (layer, *below)
    else:
        update["sealed_tokens"] = (layer, SealedToken(token=now.branch.staging_token), *below)
        update["staging_token"] = keys.staging_token(now.repository, now.branch.id, stores.ids.fresh())
    record = now.branch.model_copy(update=update)
    return swap(stores, now, record, mine=lambda current: lists(current, layer.id)) is not None
