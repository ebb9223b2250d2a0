"""Bulk writes and prefix operations: build a layer that is not visible yet, then add it to the branch with one swap.

1. Read the records, bypassing the cache. A branch may have at most 100 layers. A branch with more is reported to the
   sensors, and the caller gets `SlowDown`: it must commit or compact first.
2. Build the layer. It is a staging partition or segments under a fresh id, whose cleanup record is created first. A
   removal or restoration is only an element of the branch record. A crash leaves data that its cleanup record names.
   Rows that are distributed over many machines are written as segments there (`engine.staging.partitioned_layer`).
3. ✓ Swap the branch record. If the staging token contains records, it is sealed and the layer is put on top of it.
   If it was found empty, it stays current and the layer is put directly below it. (A token leaves the record only by
   commit, compaction, reset or deletion of the branch. An empty token is not removed, because a write to it may be
   about to be acknowledged.)

A cleaner that finds the record of a layer that is not listed claims the record (`purging`) and then swaps the branch
record before it drops anything. Therefore a swap from a branch record that was read before the layer's cleanup
record was created fails if a cleaner intervened. After any later read of the branch record, the layer's cleanup
record is read too, and a layer that was claimed is built again.

A layer that workers write is built before the first of these steps, because this may take long. The branch is read a
first time to refuse invalid requests early, and again when the layer is complete. By then the layer's cleanup record
is older than the second read, so it is read again before the swap. While the workers write, it is renewed
(`renewed`), so that a cleaner sees that the builder is alive.

Readers see the whole layer or nothing of it. A write that is acknowledged in the meantime is concurrent with the bulk
write, and either order is correct.

A layer that was built before an erasure marked content is built again, so that its addresses are checked again. The
erasure changes the branch record after that, so the swap of a layer that was read before fails
(`graveler_core.erasure.flow`).

A cleaner takes a layer from its builder when the cleanup record is older than any bulk write can be. A build on many
machines may take longer, so its driver renews the record by a swap. If the claim came first, the renewal fails. If
the renewal came first, the claim fails or is made on the renewed record. The renewal is an optimization: a layer
that was claimed nevertheless is built again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.engine.protocol import write_counters as counting
from graveler_core.engine.protocol.registers import fresh
from graveler_core.engine.protocol.restrictions import require_permitted
from graveler_core.engine.protocol.retry import retry
from graveler_core.engine.protocol.swap import lists, swap
from graveler_core.engine.staging.kept_content import require_kept_rows
from graveler_core.engine.staging.layer_room import MAX_LAYER_BYTES, has_room
from graveler_core.engine.staging.partitioned_layer import write_partitions
from graveler_core.errors import GravelerError, Kind, SlowDown
from graveler_core.model.changes import Written
from graveler_core.model.entities import Cleanup, RepositoryRecord
from graveler_core.model.entry import TOMBSTONE
from graveler_core.model.ids import BranchId, LayerId, RepositoryId
from graveler_core.model.layers import MAX_LAYERS, Layer, PrefixRemoval, PrefixRestoration, SealedToken, SegmentLayer
from graveler_core.model.protection import BranchAction
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.location import Location
from graveler_core.refs import repositories
from graveler_core.staging import area, segment_layer
from graveler_core.staging.stack import drop
from graveler_core.stores import Registers, SortedRows, Stores

SEGMENT_ROWS = 1_000
"""Minimum number of records for which a bulk write stores files instead of key-value rows."""


def stage_records(stores: Stores, repo: RepositoryId, branch: BranchId, records: pa.Table) -> None:
    """Stage a table in `RECORD_SCHEMA` atomically. It must be sorted, with distinct keys."""
    if records.num_rows == 0:
        require_permitted(fresh(stores, repo, branch), BranchAction.WRITE)
        return

    counted = (records.num_rows, pc.sum(records[TOMBSTONE]).as_py())

    def build(now: Registers) -> _Built:
        require_kept_rows(stores, now.repository, records)
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
    """Stage rows from many machines atomically, as files that these machines write. This process holds one line per
    file in memory.
    """
    made: dict[str, Written] = {}

    def build(now: Registers) -> _Built:
        layer = SegmentLayer(id=LayerId(stores.ids.fresh()), count=0)
        with renewed(stores, _record(stores, now, layer)):
            made[layer.id] = written = write_partitions(stores, now.repository, layer.id, rows)
        whole = layer.model_copy(update={"count": written.records})
        return _Built(whole, (written.records, written.removals))

    now = fresh(stores, repo, branch)
    _require_room(stores, now)
    built = build(now)
    if built.counted[0]:
        built = _push(stores, repo, branch, _Wanted(build), (now.repository, built))
    return made[built.layer.id]


def remove_prefix(stores: Stores, repo: RepositoryId, branch: BranchId, prefix: str) -> None:
    """Remove everything under a prefix, with one element in the branch record regardless of the number of entries."""
    layer = PrefixRemoval(id=LayerId(stores.ids.fresh()), prefix=prefix)
    _push(stores, repo, branch, _Wanted(lambda now: _Built(layer)))


def restore_prefix(stores: Stores, repo: RepositoryId, branch: BranchId, prefix: str, *, exact: bool = False) -> None:
    """Discard staged changes under a prefix, so that the head becomes visible there. If `exact`, it is a path."""
    layer = PrefixRestoration(id=LayerId(stores.ids.fresh()), prefix=prefix, exact=exact)
    _push(stores, repo, branch, _Wanted(lambda now: _Built(layer), resets=True))


@dataclass(frozen=True, slots=True)
class _Built:
    """Layer that no branch record lists yet."""

    layer: Layer
    counted: tuple[int, int] = (0, 0)
    """Number of records in the layer, and number of tombstones among them."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Layer to add to a branch."""

    build: Callable[[Registers], _Built]
    resets: bool = False


def _push(
    stores: Stores,
    repo: RepositoryId,
    branch: BranchId,
    wanted: _Wanted,
    made: tuple[RepositoryRecord, _Built] | None = None,
) -> _Built:
    """Add a layer to a branch: one that was built earlier for a repository record, or one that is built now."""

    def attempt() -> _Built | None:
        nonlocal made
        now = fresh(stores, repo, branch)
        if made is not None and lists(now.branch, made[1].layer.id):
            # A swap without a response took effect late. A layer is never listed twice.
            return made[1]
        _require_room(stores, now)
        if made is None or _is_outdated(stores, made[0]) or _is_claimed(stores, now, made[1].layer):
            made = (now.repository, wanted.build(now))
        built = made[1]
        if isinstance(built.layer, SegmentLayer) and not built.layer.count:
            return built  # built a second time, from rows that are gone; a layer without rows has no manifest
        if not _swapped(stores, now, built.layer, now.branch.epoch + (1 if wanted.resets else 0)):
            return None
        counting.count_layer(stores, now, built.layer, built.counted)
        return built

    return retry(stores, f"bulk write on {repo}/{branch}", attempt)


def _is_outdated(stores: Stores, built: RepositoryRecord) -> bool:
    """Return `True` if the repository that a layer was built for was replaced, or has marked content for an erasure
    since. The record is read again, because the one that was read with the branch may be older than the branch.
    """
    held = repositories.find(stores.kv, built.id)
    return held is None or (held.value.uid, held.value.erasures) != (built.uid, built.erasures)


def _require_room(stores: Stores, now: Registers) -> None:
    """Refuse to add a layer if the branch must not be written to or has too many layers."""
    require_permitted(now, BranchAction.WRITE)
    if not has_room(now.branch):
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
    """Return `True` if a cleaner claimed the layer as a leftover."""
    if not isinstance(layer, SealedToken | SegmentLayer):
        return False
    held = access.read(stores.kv, keys.cleanup(now.repository, layer.id))
    if held is None:
        # The cleaner has finished and removed the record. No other process will drop data that was written since then.
        with suppress(GravelerError):
            drop(stores.stack(now.repository, (layer,)))
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


EVERY: Final = 300.0
"""Interval between renewals, in seconds. It is a fraction of the time that `CleaningPlan.building` allows a builder."""


@contextmanager
def renewed(stores: Stores, where: Location[Cleanup]) -> Iterator[None]:
    """Renew a cleanup record periodically, in a separate thread, until the body ends."""
    ended = threading.Event()

    def work() -> None:
        while not ended.wait(EVERY) and renew(stores, where):
            pass

    thread = threading.Thread(target=work, name="graveler-renewal", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def renew(stores: Stores, where: Location[Cleanup]) -> bool:
    """Renew the record once. Return `False` if a cleaner has claimed it."""
    with suppress(GravelerError):
        held = access.read(stores.kv, where)
        if held is None or held.value.purging:
            return False
        access.replace(stores.kv, where, held, held.value.model_copy(update={"since": stores.clock.now()}))
    return True
