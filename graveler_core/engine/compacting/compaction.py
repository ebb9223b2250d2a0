"""Compaction: combine the layers of a branch into its compacted tree, without a commit. Source: seed 004.

1. Read the records, bypassing the cache. If no layer contains changes, raise `NoChanges`. If another compaction began a
   short while ago, raise `SlowDown`.
2. Seal ✓: the staging token is put on top of `sealed_tokens` if it contains a record. The same swap sets the start
   time. A crash after this step leaves sealed layers, which readers see and the next commit or compaction includes.
   If the branch has very many layers, the token is not sealed, and only the layers are combined.
3. Build: apply all sealed layers to the compacted tree or the head, with the exact times and addresses that they
   show, also for entries whose identity did not change. Blobs are written, and nothing refers to them. A crash leaves
   unreferenced blobs.
4. Install ✓: the cleanup records of the layers are written before the swap of the branch record, or in one step with
   it if the store supports it. A crash between them leaves cleanup records of layers that are still listed; the
   cleaner keeps these layers. The compacted tree becomes the new one, and no layers remain. This is stricter than
   a commit: if the layers are not exactly those that were sealed, or the base has moved, another flow is working on the
   branch, and this compaction ends (`CompactionLost`).
5. Drop the data of the layers.

Readers see no change: the new tree is what the layers showed over the old one. Concurrent compactions are harmless,
because only one of them finds the layers that it sealed. The start time only avoids wasted work.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from graveler_core.committed.trees import totals
from graveler_core.engine.building.trees import compact_view
from graveler_core.engine.protocol.install import InstallVerdict, decide
from graveler_core.engine.protocol.registers import fresh, same_content
from graveler_core.engine.protocol.retry import retry
from graveler_core.engine.protocol.swap import cleanups, lists, retire, swap, without_layer
from graveler_core.engine.reading.view import view_under
from graveler_core.engine.staging.layer_room import is_crowded
from graveler_core.errors import Conflict, CorruptData, Kind, NoChanges, OutcomeUnknown, SlowDown
from graveler_core.model.clock import Instant
from graveler_core.model.entities import BranchRecord
from graveler_core.model.ids import BranchId, MetarangeId, RepositoryId
from graveler_core.model.layers import SealedToken
from graveler_core.objects.build_time import require_in_time
from graveler_core.records import layout as keys
from graveler_core.staging import area
from graveler_core.staging.stack import is_dirty
from graveler_core.stores import Registers, Stores


@dataclass(frozen=True, slots=True)
class Compacted:
    """Result of a compaction."""

    metarange_id: MetarangeId
    layers: int
    """Number of layers that were combined into the tree."""
    records: int
    """Number of their records, including tombstones. Only the newest record of each path counts."""
    tombstones: int
    added: int
    changed: int
    removed: int
    entries: int
    """Number of entries in the tree. `size` is the total size of their objects in bytes."""
    size: int


def compact(stores: Stores, repo: RepositoryId, branch: BranchId, every: timedelta = timedelta(0)) -> Compacted:
    """Compact all staged changes of a branch; if it has very many layers, those that are sealed already.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        branch: The branch.
        every: Minimum time since the start of an earlier compaction.

    Raises:
        NoChanges: Nothing is staged.
        SlowDown: Another compaction began too recently (`CompactionUnderWay`), or this one took too long
            (`RetriesExhausted`).
        Conflict: A commit, a reset or a bulk write came in between (`CompactionLost`). Nothing was changed.
    """
    begun = Instant.of(stores.clock)
    sealed = _seal(stores, repo, branch, every)
    layers = sealed.branch.sealed_tokens
    view = view_under(stores, sealed, layers)
    try:
        applied = compact_view(stores, branch, view)
    except CorruptData as missing:
        without_layer(stores, sealed, missing)
        raise _lost(branch) from missing
    metarange = applied.index.metarange_id
    # Before the install: it may read the root of the tree, and an error means that nothing was changed.
    entries, size = totals(view.indexes.trees, metarange)
    _install(stores, sealed, metarange, begun)
    retire(stores, sealed, layers)
    said = applied.given, applied.tombstones
    effect = applied.added, applied.changed, applied.removed
    return Compacted(metarange, len(layers), *said, *effect, entries, size)


def _seal(stores: Stores, repo: RepositoryId, branch: BranchId, every: timedelta) -> Registers:
    mine: set[datetime] = set()

    def attempt() -> Registers | None:
        now = fresh(stores, repo, branch)
        begun, start = now.branch.compaction_start_time, stores.clock.now()
        # After a lost response, the recorded start time may be that of this compaction.
        if begun not in mine and now.branch.compaction_began_within(every, start):
            raise SlowDown(
                f"branch {branch!r}: a compaction began at {begun:%Y-%m-%d %H:%M:%S} UTC, less than {every} ago",
                kind=Kind.CompactionUnderWay,
                branch=branch,
            )
        mine.add(start)
        filled = not area.is_empty(stores.kv, now.branch.staging_token)
        if filled or is_dirty(stores.stack(now.repository, now.branch.sealed_tokens)):
            return _sealed(stores, now, start, seals=filled and not is_crowded(now.branch))
        if same_content(now, fresh(stores, repo, branch)):
            raise NoChanges(f"branch {branch!r}: nothing to compact", branch=branch)
        return None

    return retry(stores, f"compaction of {repo}/{branch}", attempt)


def _sealed(stores: Stores, now: Registers, start: datetime, *, seals: bool) -> Registers | None:
    update: dict[str, object] = {"compaction_start_time": start}
    if seals:
        update["staging_token"] = keys.staging_token(now.repository, now.branch.id, stores.ids.fresh())
        update["sealed_tokens"] = (SealedToken(token=now.branch.staging_token), *now.branch.sealed_tokens)
    record = now.branch.model_copy(update=update)
    token = record.staging_token
    with suppress(OutcomeUnknown):  # sealed or not, it is safe to read the record again
        return swap(stores, now, record, mine=(lambda current: lists(current, token)) if seals else None)
    return None


def _install(stores: Stores, sealed: Registers, metarange: MetarangeId, begun: Instant) -> None:
    layers = sealed.branch.sealed_tokens
    before = cleanups(stores, sealed, layers)

    def attempt() -> Registers | None:
        now = fresh(stores, sealed.repository.id, sealed.branch.id)
        if (
            decide(sealed.branch, layers, now.branch).verdict is not InstallVerdict.INSTALL
            or now.branch.sealed_tokens != layers
        ):
            raise _lost(now.branch.id)
        update = {"compacted_metarange": metarange, "sealed_tokens": ()}
        record = now.branch.model_copy(update=update)

        def happened(current: BranchRecord) -> bool:
            # The tree alone proves nothing: its id depends on its content only, and an earlier record may have had the
            # same tree.
            mine = current.uid == sealed.branch.uid and current.compacted_metarange == metarange
            return mine and not any(lists(current, layer.id) for layer in layers)

        require_in_time(stores.clock, begun, f"compaction of branch {sealed.branch.id!r}")
        return swap(stores, now, record, mine=happened, before=before)

    retry(stores, f"compaction of {sealed.repository.id}/{sealed.branch.id}", attempt)


def _lost(branch: BranchId) -> Conflict:
    return Conflict(
        f"branch {branch!r}: its layers changed while they were being compacted",
        kind=Kind.CompactionLost,
        branch=branch,
    )
