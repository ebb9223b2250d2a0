"""Compaction: the layers of a branch become its compacted tree, without a commit. Source: seed 004.

1. Records, fresh. No layer says anything: `NoChanges`. A compaction that began a short while ago goes on: `SlowDown`.
2. Seal ✓: the staging token goes on top of `sealed_tokens` if it holds a record, and the start time is set in the same
   swap. A crash after it leaves sealed layers that readers see and the next commit or compaction takes.
3. Build: all sealed layers onto the compacted tree or the head, with the times and addresses that they show, also of
   what is equal by identity to what was there. Blobs and cleanup records, none of them reachable. A crash leaves
   unreferenced blobs, and records of layers that are still listed, which the cleaner spares.
4. Install ✓: compacted tree := the new one, no layers. Stricter than a commit: if the layers are not exactly those
   that were sealed, or the base has moved, somebody else is at work, and this compaction gives way (`CompactionLost`).
5. Drop the layers' data.

What readers see does not change: the new tree is what the layers showed over the old one. Concurrent compactors are
harmless, since only one of them finds what it sealed; the start time merely spares them the work.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from graveler_core.committed.trees import totals
from graveler_core.engine.building import compacted_onto
from graveler_core.engine.install import Verdict, decide
from graveler_core.engine.registers import fresh, same_content
from graveler_core.engine.retry import attempts
from graveler_core.engine.swap import cleanups, lists, record_writes, retire, swap, without_layer
from graveler_core.engine.view import view_under
from graveler_core.errors import Conflict, CorruptData, Kind, NoChanges, OutcomeUnknown, SlowDown
from graveler_core.model.entities import Branch
from graveler_core.model.ids import BranchId, MetarangeId, RepositoryId
from graveler_core.model.layers import Layer, SealedToken
from graveler_core.records import layout as keys
from graveler_core.staging import area
from graveler_core.staging.stack import Stack, is_dirty
from graveler_core.stores import Registers, Stores


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a compaction did."""

    metarange_id: MetarangeId
    layers: int
    """Layers that went into the tree."""
    records: int
    """What they said, of each path the newest; tombstones included."""
    tombstones: int
    added: int
    changed: int
    removed: int
    entries: int
    """What the tree holds now, and how many bytes its entries describe."""
    size: int


def compact(stores: Stores, repo: RepositoryId, branch: BranchId, every: timedelta = timedelta(0)) -> Compacted:
    """Compact everything staged on a branch.

    Args:
        every: Give way to a compaction that began less than this long ago.

    Raises:
        NoChanges: nothing is staged.
        SlowDown: (`CompactionUnderWay`) another one began too lately.
        Conflict: (`CompactionLost`) a commit, a reset or a bulk write came in between; nothing was changed.
    """
    sealed = _seal(stores, repo, branch, every)
    layers = sealed.branch.sealed_tokens
    view = view_under(stores, sealed, layers)
    try:
        applied = compacted_onto(stores, branch, view)
    except CorruptData as missing:
        without_layer(stores, sealed, missing)
        raise _lost(branch) from missing
    record_writes(stores, cleanups(stores, sealed, layers))
    metarange = applied.index.metarange_id
    _install(stores, sealed, metarange)
    retire(stores, sealed, layers)
    said = applied.given, applied.tombstones
    effect = applied.added, applied.changed, applied.removed
    return Compacted(metarange, len(layers), *said, *effect, *totals(view.indexes.trees, metarange))


def _seal(stores: Stores, repo: RepositoryId, branch: BranchId, every: timedelta) -> Registers:
    mine: set[datetime] = set()
    for _ in attempts(stores, f"compaction of {repo}/{branch}"):
        now = fresh(stores, repo, branch)
        begun, start = now.branch.compaction_start_time, stores.clock.now()
        # After a lost answer the start that stands there may be this compaction's own.
        if begun is not None and begun not in mine and start - begun < every:
            raise SlowDown(
                f"branch {branch!r}: a compaction began at {begun:%Y-%m-%d %H:%M:%S} UTC, less than {every} ago",
                kind=Kind.CompactionUnderWay,
                branch=branch,
            )
        mine.add(start)
        filled = not area.is_empty(stores.kv, now.branch.staging_token)
        if filled or _any_records(stores, now, now.branch.sealed_tokens):
            sealed = _sealed(stores, now, start, filled=filled)
            if sealed is not None:
                return sealed
        elif same_content(now, fresh(stores, repo, branch)):
            raise NoChanges(f"branch {branch!r}: nothing to compact", branch=branch)
    raise AssertionError("attempts() raises when it ends")


def _sealed(stores: Stores, now: Registers, start: datetime, *, filled: bool) -> Registers | None:
    update: dict[str, object] = {"compaction_start_time": start}
    if filled:
        update["staging_token"] = keys.staging_token(now.repository, now.branch.id, stores.ids.fresh())
        update["sealed_tokens"] = (SealedToken(token=now.branch.staging_token), *now.branch.sealed_tokens)
    record = now.branch.model_copy(update=update)
    token = record.staging_token
    with suppress(OutcomeUnknown):  # sealed or not, nothing is lost by looking again
        return swap(stores, now, record, mine=(lambda current: lists(current, token)) if filled else None)
    return None


def _any_records(stores: Stores, now: Registers, layers: tuple[Layer, ...]) -> bool:
    blobs = stores.blobs.at(now.repository.storage_namespace)
    return is_dirty(Stack(stores.kv, blobs, layers))


def _install(stores: Stores, sealed: Registers, metarange: MetarangeId) -> None:
    layers = sealed.branch.sealed_tokens
    for _ in attempts(stores, f"compaction of {sealed.repository.id}/{sealed.branch.id}"):
        now = fresh(stores, sealed.repository.id, sealed.branch.id)
        if (
            decide(sealed.branch, layers, now.branch).verdict is not Verdict.INSTALL
            or now.branch.sealed_tokens != layers
        ):
            raise _lost(now.branch.id)
        update = {"compacted_metarange": metarange, "sealed_tokens": ()}
        record = now.branch.model_copy(update=update)

        def happened(current: Branch) -> bool:
            # The tree alone proves nothing: it is known by its content, and may have stood there before.
            mine = current.uid == sealed.branch.uid and current.compacted_metarange == metarange
            return mine and not any(lists(current, layer.id) for layer in layers)

        if swap(stores, now, record, mine=happened) is not None:
            return
    raise AssertionError("attempts() raises when it ends")


def _lost(branch: BranchId) -> Conflict:
    return Conflict(
        f"branch {branch!r}: its layers changed while they were being compacted",
        kind=Kind.CompactionLost,
        branch=branch,
    )
