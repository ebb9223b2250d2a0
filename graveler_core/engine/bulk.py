"""Bulk writes and prefix operations: build a layer that nobody sees, then one swap puts it on the branch.

1. Records, fresh. 100 layers are too many: the branch is named to the sensors, and `SlowDown`: commit or compact first.
2. The layer: a staging partition or segments under a fresh id, whose cleanup record is created first; a removal or
   restoration is only its line in the record. A crash leaves data that its cleanup record names.
3. ✓ One swap. If the staging token holds records, it is sealed and the layer put on top of it; if it was found empty,
   it stays current and the layer goes directly below it. (A token leaves the record only by commit, compaction, reset
   or branch deletion, never because it looked empty: a writer may be about to be acknowledged in it.)

A cleaner that finds the record of a layer that is not listed claims it (`purging`), and then swaps the branch record,
before it drops anything. So a swap from a branch record that was read before the layer was recorded fails if there was
a cleaner; after any later read the layer's record is read too, and a layer that was claimed is built again.

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
from graveler_core.engine.permitted import require_permitted
from graveler_core.engine.registers import fresh
from graveler_core.engine.retry import attempts
from graveler_core.engine.swap import lists, swap
from graveler_core.errors import GravelerError, Kind, SlowDown
from graveler_core.model.entities import Cleanup
from graveler_core.model.entry import TOMBSTONE
from graveler_core.model.ids import BranchId, LayerId, RepositoryId
from graveler_core.model.layers import MAX_LAYERS, Layer, PrefixRemoval, PrefixRestoration, SealedToken, SegmentLayer
from graveler_core.model.protection import Action
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.staging import area, segment_layer
from graveler_core.staging.stack import Stack, drop
from graveler_core.stores import Registers, Stores

SEGMENT_ROWS = 1_000
"""From this many records on, a bulk write becomes files instead of key-value rows."""
MAX_LAYER_BYTES = 64 * 1024
"""A larger branch record takes no further layer, so that a commit can always add the token that it seals."""


def stage_records(stores: Stores, repo: RepositoryId, branch: BranchId, records: pa.Table) -> None:
    """Stage a sorted table in `RECORD_SCHEMA`, keys distinct, all at once."""
    if records.num_rows == 0:
        require_permitted(fresh(stores, repo, branch), Action.WRITE)
        return

    def build(now: Registers) -> Layer:
        if records.num_rows < SEGMENT_ROWS:
            token = SealedToken(token=keys.staging_token(now.repository, branch, stores.ids.fresh()))
            _record(stores, now, token)
            area.put_table(stores.kv, token.token, records)
            return token
        layer = SegmentLayer(id=LayerId(stores.ids.fresh()), count=records.num_rows)
        _record(stores, now, layer)
        segment_layer.write(stores.blobs.at(now.repository.storage_namespace), layer.id, records, stores.executor.map)
        return layer

    _push(stores, repo, branch, _Wanted(build, (records.num_rows, pc.sum(records[TOMBSTONE]).as_py())))


def remove_prefix(stores: Stores, repo: RepositoryId, branch: BranchId, prefix: str) -> None:
    """Remove everything under a prefix: one line in the branch record, whatever lies there."""
    layer = PrefixRemoval(id=LayerId(stores.ids.fresh()), prefix=prefix)
    _push(stores, repo, branch, _Wanted(lambda now: layer))


def restore_prefix(stores: Stores, repo: RepositoryId, branch: BranchId, prefix: str) -> None:
    """Discard what is staged under a prefix: from here on the head shows through."""
    layer = PrefixRestoration(id=LayerId(stores.ids.fresh()), prefix=prefix)
    _push(stores, repo, branch, _Wanted(lambda now: layer, resets=True))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A layer to put on a branch."""

    build: Callable[[Registers], Layer]
    counted: tuple[int, int] = (0, 0)
    """Records in it, and how many of them are tombstones."""
    resets: bool = False


def _push(stores: Stores, repo: RepositoryId, branch: BranchId, wanted: _Wanted) -> None:
    built: tuple[str, Layer] | None = None
    for _ in attempts(stores, f"bulk write on {repo}/{branch}"):
        now = fresh(stores, repo, branch)
        if built is not None and lists(now.branch, built[1].id):
            # A swap that was taken for lost came through late. A layer is never listed twice.
            return
        require_permitted(now, Action.WRITE)
        if len(now.branch.sealed_tokens) + 2 > MAX_LAYERS or len(encode(now.branch)) > MAX_LAYER_BYTES:
            counting.name(stores, now)
            raise SlowDown(
                f"branch {branch!r}: has {len(now.branch.sealed_tokens)} layers of staged changes, may have at most "
                f"{MAX_LAYERS} in {MAX_LAYER_BYTES:,} bytes of prefixes; commit or compact it",
                kind=Kind.TooManyLayers,
                branch=branch,
            )
        if built is None or built[0] != now.repository.uid or _is_claimed(stores, now, built[1]):
            built = (now.repository.uid, wanted.build(now))
        layer = built[1]
        if _swapped(stores, now, layer, now.branch.epoch + (1 if wanted.resets else 0)):
            counting.count_layer(stores, now, layer, wanted.counted)
            return
    raise AssertionError("attempts() raises when it ends")


def _record(stores: Stores, now: Registers, layer: SealedToken | SegmentLayer) -> None:
    found = Cleanup(branch=now.branch.id, layer=layer, since=stores.clock.now())
    access.create(stores.kv, keys.cleanup(now.repository, layer.id), found)


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
