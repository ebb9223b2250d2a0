"""Writers of one key: set, remove by tombstone, remove cheaply. As `engine.write`, and the rule of cheap deletes."""

from __future__ import annotations

from collections.abc import Generator

from tests.model.flows.registers import Registers, cached, closing, fresh, same_token, spent
from tests.model.operation import Operation
from tests.model.state import Steps, Value
from tests.model.world import World, lookup


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
    """Delete a staged entry that nothing lies below; else, and after any doubt, a tombstone."""
    op.writes = {key: None}
    used = yield from cached(w)
    token = used[1].staging_token.id
    yield
    staged = w.data.get(token, {}).get(key, ...)
    now = yield from fresh(w)
    if not same_token(used, now) or not _may_delete(w, now, key, staged):
        yield from _stage(w, now, key, None)
        return
    yield
    records = w.data.get(token, {})
    deleted = key in records and (records[key] == staged or w.former.cheap_delete_unconditional)
    if deleted:
        del records[key]
    if w.former.cheap_delete_unproved:
        return
    after = yield from closing(w, now)
    if deleted and after[0] == now[0] and after[1] is now[1]:
        return
    if w.former.cheap_delete_repeated and (yield from _shows_nothing(w, after, key)):
        return
    yield from _stage(w, after, key, None)


def _may_delete(w: World, now: Registers, key: str, staged: object) -> bool:
    if staged is ... or (staged is None and not w.former.tombstone_deleted):
        return False
    return w.former.cheap_delete_any_base or _nothing_below(now, key)


def _shows_nothing(w: World, used: Registers, key: str) -> Generator[None, None, bool]:
    yield
    record = used[1]
    if lookup(w.data, record.layers(), record.base(), record.commit_id.tree, key) is not None:
        return False
    now = yield from closing(w, used)
    return now[0] == used[0] and now[1] is record


def _nothing_below(now: Registers, key: str) -> bool:
    record = now[1]
    compacted = record.compacted_metarange
    return (
        not record.sealed_tokens
        and record.commit_id.tree[key] is None
        and (compacted is None or compacted[key] is None)
    )
