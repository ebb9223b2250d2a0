"""Merge and transact: one swap moves the head from the very record that was checked. As `engine.merging.merge`."""

from __future__ import annotations

from graveler_core.model.layers import PrefixRemoval, PrefixRestoration
from tests.proofs.model.flows.registers import advanced, fresh, spent
from tests.proofs.model.operation import Operation, Refused
from tests.proofs.model.state import Commit, Record, Steps, Tree, Value
from tests.proofs.model.world import Broken, World, layered, lookup


def merge(w: World, op: Operation, change: Tree) -> Steps:
    """Merge a source that changed some keys since the root; the source wins."""
    source = object()
    for _ in range(5):
        used = _, record = yield from fresh(w)
        head = record.commit_id
        if not w.former.merge_drops_staged:
            yield from require_clean(w, record)
        if source in head.merged:
            return
        yield
        made = Commit({**head.tree, **change}, head, head.merged | {source})
        op.commit = made
        sealed = () if w.former.merge_drops_staged else record.sealed_tokens
        compacted = record.compacted_metarange if w.former.merge_keeps_compacted else None
        new = Record(record.uid, record.epoch, made, record.staging_token, sealed, compacted)
        if (yield from advanced(w, op, used, new, dict(change))):
            return
    raise spent()


def transact(w: World, op: Operation, change: Tree) -> Steps:
    """Put some keys, each of them expected to hold what the head held at first."""
    expected: Tree | None = None
    for attempt in range(5):
        used = _, record = yield from fresh(w)
        head = record.commit_id
        if op.commit is not None and any(commit is op.commit for commit in head.chain()):
            return
        if expected is None:
            expected = head.tree
        if not (attempt and w.former.transact_validates_once) and any(head.tree[k] != expected[k] for k in change):
            raise Refused("another value than expected")
        yield from _own_keys_unstaged(w, record, change)
        made = Commit({**head.tree, **change}, head, head.merged)
        op.commit = made
        compacted = record.compacted_metarange
        if compacted is not None and not w.former.transact_not_compacted:
            compacted = {**compacted, **change}
        new = Record(record.uid, record.epoch, made, record.staging_token, record.sealed_tokens, compacted)
        writes: dict[str, Value | bool] = dict(change)
        if (yield from advanced(w, op, used, new, writes)):
            if any(head.tree[k] != expected[k] for k in change):
                raise Broken("transact: another value than expected was overwritten")
            if any(lookup({}, record.sealed_tokens, record.base(), head.tree, k) != head.tree[k] for k in change):
                raise Broken("transact: a compacted change was overwritten")
            return
    raise spent()


def require_clean(w: World, record: Record) -> Steps:
    """Refuse a branch with any record in any layer, with a prefix layer, or compacted to something else."""
    if record.compacted_metarange is not None and record.compacted_metarange != record.commit_id.tree:
        raise Refused("dirty")
    for layer in record.layers():
        if hasattr(layer, "prefix"):
            if not w.former.dirty_by_effect:
                raise Refused("dirty")
            continue
        yield
        if w.data.get(layer.id) and not w.former.dirty_by_effect:
            raise Refused("dirty")
    head = record.commit_id.tree
    if w.former.dirty_by_effect and layered(w.data, record.layers(), record.base(), head) != head:
        raise Refused("dirty")


def _own_keys_unstaged(w: World, record: Record, change: Tree) -> Steps:
    left = set() if w.former.transact_ignores_staged else set(change)
    for layer in record.layers():
        kind = type(layer)
        if kind is PrefixRemoval and any(key.startswith(layer.prefix) for key in left):  # type: ignore[union-attr]
            raise Refused("own key staged")
        if kind is PrefixRestoration:
            left = {key for key in left if not key.startswith(layer.prefix)}  # type: ignore[union-attr]
        if kind not in (PrefixRemoval, PrefixRestoration) and left:
            yield
            if not left.isdisjoint(w.data.get(layer.id, ())):
                raise Refused("own key staged")
    compacted = record.compacted_metarange
    if compacted is not None and not w.former.transact_ignores_compacted:
        # What a restoration covers is looked up in the head, whatever the compacted tree holds.
        seen = change if w.former.transact_ignores_staged else left
        if any(compacted[key] != record.commit_id.tree[key] for key in seen):
            raise Refused("own key compacted")
