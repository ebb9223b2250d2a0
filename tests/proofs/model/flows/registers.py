"""Reading the two records, and judging a lost reply: what all flows share."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeAlias

from tests.proofs.model.operation import Lost, NotFound, Operation, Refused, Unknown
from tests.proofs.model.state import Commit, Record, Value
from tests.proofs.model.world import World

Registers: TypeAlias = tuple[int, Record]
"""The repository's uid and the branch record that were read together."""

TRIES = 5


def fresh(w: World) -> Generator[None, None, Registers]:
    """Both records from the store, the repository first; they need not be one snapshot."""
    yield
    uid = w.repository
    if uid <= 0:
        raise NotFound
    yield
    record = w.branches.get(uid)
    if record is None:
        raise NotFound
    w.fetched = (w.running, (uid, record))
    return uid, record


def cached(w: World) -> Generator[None, None, Registers]:
    """What a cache may hold: any records that stood once, mostly the last."""
    draw = w.random()
    if draw < 0.5:
        return w.past[-1]
    if draw < 0.8:
        return w.past[int(w.random() * len(w.past))]
    return (yield from fresh(w))


def closing(w: World, used: Registers) -> Generator[None, None, Registers]:
    """The closing re-read, bypassing the cache."""
    if w.former.reread_without_repository:
        yield
        record = w.branches.get(used[0])
        if record is None:
            raise NotFound
        return used[0], record
    if w.former.join_in_flight:
        asked_by, found = w.fetched
        if asked_by not in (0, w.running):
            yield
            return found
    return (yield from fresh(w))


def same_token(used: Registers, now: Registers) -> bool:
    """What a write used."""
    return used[0] == now[0] and used[1].uid == now[1].uid and used[1].staging_token is now[1].staging_token


def same_content(used: Registers, now: Registers) -> bool:
    """What a read used."""
    if used[1] is now[1]:
        return True
    a, b = used[1], now[1]
    return (
        same_token(used, now)
        and a.commit_id is b.commit_id
        and a.sealed_tokens == b.sealed_tokens
        and a.compacted_metarange == b.compacted_metarange
    )


def swapped(
    w: World,
    op: Operation,
    used: Registers,
    new: Record,
    mine: Callable[[Record], bool],
    *,
    writes: dict[str, Value | bool] | None = None,
) -> Generator[None, None, bool]:
    """One swap of the branch record, judged by the fresh id that it carries where the reply is lost."""
    uid, old = used
    yield
    try:
        return w.swap(op, uid, old, new, writes)
    except Lost:
        return (yield from _looked(w, op, used, new, mine, writes=writes))


def _looked(
    w: World,
    op: Operation,
    used: Registers,
    new: Record,
    mine: Callable[[Record], bool],
    *,
    writes: dict[str, Value | bool] | None,
) -> Generator[None, None, bool]:
    """After a lost reply: sent again while the record stands, so that it cannot come through later."""
    uid, old = used
    for _ in range(TRIES):
        yield
        now = w.branches.get(uid)
        if now is not None and mine(now):
            return True
        if now is not old:
            raise Unknown
        if w.former.lost_once:
            return False
        yield
        if w.swap(op, uid, old, new, writes):
            return True
    raise Unknown


def advanced(
    w: World, op: Operation, used: Registers, new: Record, writes: dict[str, Value | bool] | None = None
) -> Generator[None, None, bool]:
    """A swap that moves the head, judged by the chain of first parents where the reply is lost."""
    uid, old = used
    yield
    try:
        return w.swap(op, uid, old, new, writes)
    except Lost:
        if w.former.lost_means_failed:
            return False
    for _ in range(TRIES):
        yield
        now = w.branches.get(uid)
        if now is not old:
            return _moved(w, old, new, now)
        if w.former.lost_once:
            return False
        yield
        if w.swap(op, uid, old, new, writes):
            return True
    raise Unknown


def _moved(w: World, old: Record, new: Record, now: Record | None) -> bool:
    """Whether the branch moved by our own swap."""
    if now is None or now.uid != old.uid:
        raise Unknown
    if w.former.lost_by_head:
        return now.commit_id is new.commit_id
    if on_chain(new.commit_id, now.commit_id):
        return True
    if now.epoch == old.epoch and on_chain(old.commit_id, now.commit_id):
        return False
    raise Unknown


def on_chain(commit: Commit, head: Commit) -> bool:
    """Whether a commit is the head or one of its first parents."""
    return any(each is commit for each in head.chain())


def spent() -> Refused:
    """Attempts are spent; nothing is half done."""
    return Refused("attempts spent")
