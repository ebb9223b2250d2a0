"""Writers of one key: set, remove by tombstone, remove cheaply. As in `engine.staging`."""

from __future__ import annotations

from tests.proofs.model.flows.registers import Registers, cached, closing, fresh, same_token, spent
from tests.proofs.model.operation import Lost, Operation, Unknown
from tests.proofs.model.state import Record, Steps, Value
from tests.proofs.model.world import World


def write(w: World, op: Operation, key: str, value: Value) -> Steps:
    """Set a value, or a tombstone, in the staging token; then the closing re-read."""
    op.writes = {key: value}
    yield from _stage(w, (yield from cached(w)), key, value)


def _stage(w: World, used: Registers, key: str, value: Value) -> Steps:
    for _ in range(5):
        yield
        w.data.setdefault(used[1].staging_token.id, {})[key] = value
        if w.former.writer_no_reread:
            return
        now = yield from closing(w, used)
        if same_token(used, now):
            return
        used = now
    raise spent()


def remove_cheaply(w: World, op: Operation, key: str) -> Steps:
    """Delete a staged entry that nothing lies below, if the entry and the record still stand; else a tombstone."""
    op.writes = {key: None}
    used = yield from cached(w)
    yield
    staged = w.data.get(used[1].staging_token.id, {}).get(key)
    if w.former.cheap_delete_entry_alone:
        used = yield from fresh(w)
    active = w.repository == used[0] or w.former.cheap_delete_without_repository
    if active and staged is not None and _nothing_below(w, used[1], key):
        yield
        try:
            deleted = w.delete(op, used, key, staged)
        except Lost:
            if not w.former.lost_delete_repeated:
                raise Unknown from None
            deleted = False
        if w.former.cheap_delete_entry_alone and deleted:
            after = yield from closing(w, used)
            deleted = after[0] == used[0] and after[1] is used[1]
            used = after
        if deleted:
            return
    yield from _stage(w, used, key, None)


def _nothing_below(w: World, record: Record, key: str) -> bool:
    if w.former.cheap_delete_any_base:
        return not record.sealed_tokens
    tree = record.commit_id.tree if w.former.cheap_delete_head_only else record.base()
    return tree[key] is None and (w.former.cheap_delete_any_layers or not record.sealed_tokens)
