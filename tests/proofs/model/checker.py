"""The promises, checked on a history: exactly what seed 003 allows for staged writes, and the head as one register.

Of one key, an *event* is a call that wrote it: a set, a removal, a reset to what the head held, a merge, a creation. A
value that was seen between two steps is allowed if it is of an event that began before the second, and no
acknowledged event came wholly between that event and the first step. So values may come back (1-3-2, B-A-N-A-N-A) as
long as their writers were concurrent; an acknowledged write is seen, or one that did not happen before it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from tests.proofs.model.operation import Operation, Outcome
from tests.proofs.model.state import EXISTS, KEYS, Tree, Value
from tests.proofs.model.world import Broken, World, visible

Event: TypeAlias = tuple[int, int, Value | bool, Operation | None]
"""Its first and last step, its value, and whose it is."""

_PROVES = (Outcome.DONE, Outcome.NO_CHANGES)


def check(w: World, ops: list[Operation]) -> None:
    """Raise `Broken` for the first promise that the history breaks."""
    events = _events(w, ops)
    _check_seen(w, events)
    _check_trees(w, events)
    _check_existence(ops, events[EXISTS])
    _check_heads(w, ops)
    _check_absorbed(w)
    _check_end(w, events)
    _check_leaks(w)


def _events(w: World, ops: list[Operation]) -> dict[str, list[Event]]:
    first = w.past[0][1].commit_id.tree
    events: dict[str, list[Event]] = {key: [(-2, -1, first[key], None)] for key in KEYS}
    events[EXISTS] = [(-2, -1, True, None)]
    for op in ops:
        if op.writes:
            for key, value in op.writes.items():
                events[key].append((op.start, op.end, value, op))
    return events


def _allowed(events: list[Event], value: Value | bool, start: int, end: int) -> bool:
    newest = max(begun for begun, ended, _, _ in events if ended < start)
    return any(held is value or held == value for begun, ended, held, _ in events if begun < end and ended >= newest)


def _require(events: list[Event], value: Value | bool, span: tuple[int, int], what: str) -> None:
    if not _allowed(events, value, *span):
        raise Broken(f"{what} in {span}: {value!r}, of {[(e[:3]) for e in events]}")


def _check_seen(w: World, events: dict[str, list[Event]]) -> None:
    for op, key, value in w.seen:
        if op.outcome is Outcome.DONE:
            _require(events[key], value, (op.start, op.end), f"{op.kind} {key}")
    for op, page in w.pages:
        if op.outcome is Outcome.DONE:
            _check_whole(events, page, f"page of {op.kind}")


def _check_trees(w: World, events: dict[str, list[Event]]) -> None:
    """A commit, a compacted tree, and the head that a NoChanges speaks of, are listings of the whole branch."""
    for op, when, tree in w.trees:
        for key, value in tree.items():
            _require(events[key], value, (op.start, when + 1), f"tree of {op.kind}, {key}")
        _check_whole(events, tree, f"tree of {op.kind}")


def _check_whole(events: dict[str, list[Event]], seen: Tree, what: str) -> None:
    """What one call wrote at once is there whole, or overwritten by what did not happen before it."""
    for key, value in seen.items():
        authors = [op for _, _, held, op in events[key] if held == value]
        if value is None or len(authors) != 1 or authors[0] is None or len(authors[0].writes or ()) < 2:
            continue
        author = authors[0]
        for other in author.writes or ():
            if other in seen and not any(
                held == seen[other] and ended >= author.start for _, ended, held, _ in events[other]
            ):
                raise Broken(f"{what}: has {key} of {author}, and {other} of before")


def _check_existence(ops: list[Operation], events: list[Event]) -> None:
    if len(events) == 1:
        if any(op.outcome is Outcome.NOT_FOUND for op in ops):
            raise Broken("not found, and nobody deleted anything")
        return
    for op in ops:
        if op.kind.startswith(("delete", "create", "clean")):
            continue
        if op.outcome in _PROVES:
            _require(events, True, (op.start, op.told), f"{op.kind} succeeded")
        elif op.outcome is Outcome.NOT_FOUND:
            _require(events, False, (op.start, op.told), f"{op.kind} found nothing")


def _check_heads(w: World, ops: Iterable[Operation]) -> None:
    """Each call moves the head once, when it says so, and not when it says that it did not; a key makes one commit."""
    for _, head, _ in w.moves:
        if head.key and head.parent is not None and any(commit.key == head.key for commit in head.parent.chain()):
            raise Broken("two commits under one idempotency key")
    moved = [op for op, _, _ in w.moves]
    for op in ops:
        many = moved.count(op) if moved else 0
        if many > 1:
            raise Broken(f"{op} moved the head twice")
        if many and op.outcome in (Outcome.REFUSED, Outcome.NO_CHANGES, Outcome.NOT_FOUND):
            raise Broken(f"{op} moved the head, and says that it did not")
        if (
            op.commit is not None
            and op.outcome is Outcome.DONE
            and not any(commit is op.commit for _, commit, _ in w.moves)
        ):
            raise Broken(f"{op} says that it moved the head, and did not")


def _check_absorbed(w: World) -> None:
    """What a commit calls absorbed has left into the chain, not by a reset."""
    for op, layers in w.absorbed:
        if any(layer.id in w.discarded for layer in layers):
            raise Broken(f"{op} says that another commit took what a reset discarded")


def _check_end(w: World, events: dict[str, list[Event]]) -> None:
    """What stays after everything has ended."""
    record = w.branches.get(w.repository)
    span = (w.now, w.now + 1)
    _require(events[EXISTS], record is not None, span, "at the end, existence")
    if record is not None:
        for key, value in visible(w, record).items():
            _require(events[key], value, span, f"at the end, {key}")
        ids = [layer.id for layer in record.layers()]
        if len(ids) != len(set(ids)):
            raise Broken("a layer is listed twice")


def _check_leaks(w: World) -> None:
    """Every partition that a record listed once is listed, or named by a cleanup record, or of a dead repository."""
    if w.repository <= 0:
        return
    record = w.branches.get(w.repository)
    for uid, former in w.past:
        if uid == w.repository:
            for layer in former.sealed_tokens:
                if w.data.get(layer.id) and layer.id not in w.cleanup and not (record and record.lists(layer)):
                    raise Broken(f"{layer.id} is leaked")
