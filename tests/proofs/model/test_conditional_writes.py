"""A conditional write beside other writes, a committer and a compactor of the same path: every order there is.

The write creates the path. Its row is right if the branch showed nothing at the path when the row was set in a token
that the branch lists. A write whose row was wrong must not be acknowledged. A transaction and a bulk write look at
the path first and swap later. The committer seals, reads the layers, moves the head, and drops the layers. The
compactor replaces the layers by a compacted tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import dropwhile, takewhile
from typing import NamedTuple

import pytest

from tests.proofs.model.reachable import reachable

Value = str | None


class Head(NamedTuple):
    """What a commit shows at the path, and the layers that it took, newest first."""

    value: Value = None
    consumed: tuple[int, ...] = ()


class Record(NamedTuple):
    """The branch record. Layers are numbers of tokens, newest first; the first one is the staging token."""

    heads: tuple[Head, ...] = (Head(),)
    layers: tuple[int, ...] = (0,)
    compacted: tuple[Value, ...] = ()
    """What the compacted tree shows, if there is one."""


class State(NamedTuple):
    """What is stored, and where everyone stands."""

    record: Record = Record()
    rows: frozenset[tuple[int, str]] = frozenset()
    write: str = "read"
    saw: Record = Record()
    earlier: tuple[Record, ...] = ()
    """What the attempts have read that have set a row."""
    wrong: bool = False
    """Whether the row was set although the branch showed another entry."""
    transaction: Record | str | None = None
    bulk: Record | str | None = None
    put: bool = False
    committer: tuple[str, Record, Value] | None = None
    commits: int = 0
    compactor: tuple[str, Record, Value] | None = None

    def row(self, token: int) -> Value:
        return next((value for at, value in self.rows if at == token), None)

    def shown(self, record: Record, layers: tuple[int, ...]) -> Value:
        base = record.compacted[0] if record.compacted else record.heads[-1].value
        return next((found for token in layers if (found := self.row(token))), base)


def write(s: State, rule: str) -> Iterator[State]:
    """As `engine.staging.conditional`."""
    token = s.saw.layers[0]
    match s.write:
        case "read":
            yield s._replace(write="look", saw=s.record)
        case "look":
            found = s.shown(s.saw, s.saw.layers)
            asked = s.earlier[-1:] if rule == "ask for the last row" else s.earlier
            if found == "mine" and not all(_held(s, earlier, rule) for earlier in asked):
                yield s._replace(write="unknown")
            elif found == "mine" and s.row(token):
                yield s._replace(write="close")
            else:
                yield s._replace(write="set" if found in {None, "mine"} else "refused")
        case "set" if s.row(token):
            yield s._replace(write="read")
        case "set":
            rows = s.rows | {(token, "mine")}
            listed = token in s.record.layers
            wrong = s.wrong or (listed and s.shown(s.record, s.record.layers) == "theirs")
            yield s._replace(write="close", rows=rows, earlier=(*s.earlier, s.saw), wrong=wrong)
        case "close":
            yield s._replace(write="acknowledged" if s.saw == s.record else "read")


def _held(s: State, earlier: Record, rule: str) -> bool:
    """As `engine.staging.condition`."""
    token, now = earlier.layers[0], s.saw
    if token in now.layers:
        below = s.shown(now, now.layers[now.layers.index(token) + 1 :])
        return rule == "ignore what is below" or below in {None, "mine"}
    since = now.heads[len(earlier.heads) - 1 :]
    taken = next((head.consumed for head in since[1:] if token in head.consumed), None)
    if taken and rule != "ignore what a commit took" and not {*taken[taken.index(token) :]} <= {*earlier.layers}:
        return False
    left = {*earlier.layers}.difference(*(head.consumed for head in since[1:]))
    if taken and rule != "ignore what a compaction took" and left:
        return False
    shown: tuple[Value, ...] = tuple(head.value for head in since)
    if rule == "stop at the first row":
        shown = tuple(takewhile(lambda value: value != "mine", shown))
    changed = dropwhile(lambda value: value == since[0].value, shown)
    return rule == "ignore the heads" or "theirs" not in changed


def transaction(s: State) -> Iterator[State]:
    """A transaction, merge or import: it refuses a staged path."""
    if s.transaction is None and not any(map(s.row, s.record.layers)):
        yield s._replace(transaction=s.record)
    elif s.transaction == s.record:
        yield s._replace(transaction="done", record=s.record._replace(heads=(*s.record.heads, Head("theirs"))))


def put(s: State) -> Iterator[State]:
    """A write without a condition."""
    if not s.put and s.row(s.record.layers[0]) is None:
        yield s._replace(put=True, rows=s.rows | {(s.record.layers[0], "theirs")})


def bulk(s: State) -> Iterator[State]:
    """A bulk write: below a token that it found empty, otherwise above the token, which it seals."""
    staging, *sealed = s.record.layers
    if s.bulk is None and s.row(staging) is None:
        yield s._replace(bulk=s.record)
    elif s.bulk == s.record:
        below = s.record._replace(layers=(staging, 9, *sealed))
        yield s._replace(bulk="done", record=below, rows=s.rows | {(9, "theirs")})


def commit(s: State) -> Iterator[State]:
    """Seal, read, and advance from the record that lists the same layers on the same head."""
    if s.committer is None:
        if s.commits < 2 and s.row(s.record.layers[0]):
            sealed = s.record._replace(layers=(s.commits + 1, *s.record.layers))
            yield s._replace(record=sealed, commits=s.commits + 1, committer=("scan", sealed, None))
        return
    step, used, value = s.committer
    if step == "scan":
        yield s._replace(committer=("advance", used, s.shown(used, used.layers[1:])))
    elif step == "drop":
        yield s._replace(committer=None, rows=frozenset(row for row in s.rows if row[0] not in used.layers[1:]))
    elif used == s.record:
        heads = (*used.heads, Head(value, used.layers[1:]))
        yield s._replace(committer=("drop", used, None), record=Record(heads, used.layers[:1]))
    else:
        yield s._replace(committer=None)


def compact(s: State) -> Iterator[State]:
    """Seal, read, and install the tree in the record that lists the same layers on the same head."""
    if s.compactor is None:
        if any(map(s.row, s.record.layers)):
            sealed = s.record._replace(layers=(7, *s.record.layers))
            yield s._replace(record=sealed, compactor=("scan", sealed, None))
        return
    step, used, value = s.compactor
    if step == "scan":
        yield s._replace(compactor=("install", used, s.shown(used, used.layers[1:])))
    elif step == "drop":
        rows = frozenset(row for row in s.rows if row[0] not in used.layers[1:])
        yield s._replace(compactor=("end", used, None), rows=rows)
    elif step == "install" and used == s.record:
        installed = used._replace(layers=used.layers[:1], compacted=(value,))
        yield s._replace(compactor=("drop", used, None), record=installed)


OTHERS = {"transaction": transaction, "put": put, "bulk": bulk, "commit": commit, "compact": compact}


def broken(rule: str, others: tuple[str, ...]) -> bool:
    """Whether a write with a wrong row is acknowledged in any order."""

    def steps(s: State) -> Iterator[State]:
        yield from write(s, rule)
        for name in others:
            yield from OTHERS[name](s)

    return any(s.write == "acknowledged" and s.wrong for s in reachable([State()], steps))


@pytest.mark.parametrize(
    "others",
    [
        ("transaction", "commit"),
        ("transaction", "bulk"),
        ("bulk", "commit"),
        ("put", "commit"),
        ("put", "compact"),
        ("put", "compact", "commit"),
    ],
)
def test_a_write_with_a_wrong_row_is_not_acknowledged(others: tuple[str, ...]) -> None:
    assert not broken("", others)


@pytest.mark.parametrize(
    ("rule", "others"),
    [
        ("ignore what is below", ("transaction",)),
        ("ignore what is below", ("bulk",)),
        ("ignore the heads", ("transaction", "commit")),
        ("stop at the first row", ("transaction", "commit")),
        ("ignore what a commit took", ("bulk", "commit")),
        ("ask for the last row", ("bulk", "commit")),
        ("ignore what a compaction took", ("put", "compact", "commit")),
    ],
)
def test_a_rule_that_is_left_out_breaks_it(rule: str, others: tuple[str, ...]) -> None:
    assert broken(rule, others)


def test_commits_alone_make_no_outcome_unknown() -> None:
    def steps(s: State) -> Iterator[State]:
        yield from write(s, "")
        yield from commit(s)

    assert not any(s.write == "unknown" for s in reachable([State()], steps))


def test_a_layer_that_was_put_below_and_is_compacted_is_not_detected() -> None:
    """The limit that `engine.staging.condition` names."""
    assert broken("", ("bulk", "compact"))
