"""A conditional write beside a transaction, a bulk write and a committer of the same path: every order there is.

The write creates the path. Its row is right if the branch showed nothing at the path when the row was set in a token
that the branch lists. A write whose row was wrong must not be acknowledged. A transaction and a bulk write look at
the path
first and swap later, the committer seals, reads the token, and moves the head.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import dropwhile, takewhile

import pytest

from tests.proofs.model.reachable import reachable

Value = str | None


@dataclass(frozen=True)
class Record:
    """The branch record. Layers are numbers of tokens, newest first; the first one is the staging token."""

    heads: tuple[Value, ...] = (None,)
    layers: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class State:
    """What is stored, and where everyone stands."""

    record: Record = Record()
    rows: frozenset[tuple[int, str]] = frozenset()
    write: str = "read"
    saw: Record = Record()
    earlier: Record | None = None
    wrong: bool = False
    """Whether the row was set although the branch showed another entry."""
    transaction: Record | str | None = None
    bulk: Record | str | None = None
    committer: tuple[str, Record, Value] | None = None
    commits: int = 0

    def row(self, token: int) -> Value:
        return next((value for at, value in self.rows if at == token), None)

    def shown(self, record: Record, layers: tuple[int, ...]) -> Value:
        return next((found for token in layers if (found := self.row(token))), record.heads[-1])


def write(s: State, rule: str) -> Iterator[State]:
    """As `engine.staging.conditional`."""
    token = s.saw.layers[0]
    match s.write:
        case "read":
            yield replace(s, write="look", saw=s.record)
        case "look":
            found = s.shown(s.saw, s.saw.layers)
            if found == "mine" and s.earlier is not None and not _held(s, s.earlier, rule):
                yield replace(s, write="unknown")
            elif found == "mine" and s.row(token):
                yield replace(s, write="close")
            else:
                yield replace(s, write="set" if found in {None, "mine"} else "refused")
        case "set" if s.row(token):
            yield replace(s, write="read")
        case "set":
            rows = s.rows | {(token, "mine")}
            listed = token in s.record.layers
            wrong = s.wrong or (listed and s.shown(s.record, s.record.layers) == "theirs")
            yield replace(s, write="close", rows=rows, earlier=s.saw, wrong=wrong)
        case "close":
            yield replace(s, write="acknowledged" if s.saw == s.record else "read")


def _held(s: State, earlier: Record, rule: str) -> bool:
    """As `engine.staging.condition`."""
    token, now = earlier.layers[0], s.saw
    if token in now.layers:
        below = s.shown(now, now.layers[now.layers.index(token) + 1 :])
        return rule == "ignore what is below" or below in {None, "mine"}
    since = now.heads[len(earlier.heads) - 1 :]
    if rule == "stop at the first row":
        since = tuple(takewhile(lambda value: value != "mine", since))
    changed = dropwhile(lambda value: value == now.heads[len(earlier.heads) - 1], since)
    return rule == "ignore the heads" or "theirs" not in changed


def transaction(s: State) -> Iterator[State]:
    """A transaction, merge or import: it refuses a staged path."""
    if s.transaction is None and not any(map(s.row, s.record.layers)):
        yield replace(s, transaction=s.record)
    elif s.transaction == s.record:
        yield replace(s, transaction="done", record=replace(s.record, heads=(*s.record.heads, "theirs")))


def bulk(s: State) -> Iterator[State]:
    """A bulk write: below a token that it found empty, otherwise above the token, which it seals."""
    staging, *sealed = s.record.layers
    if s.bulk is None and s.row(staging) is None:
        yield replace(s, bulk=s.record)
    elif s.bulk == s.record:
        below = replace(s.record, layers=(staging, 9, *sealed))
        yield replace(s, bulk="done", record=below, rows=s.rows | {(9, "theirs")})


def commit(s: State) -> Iterator[State]:
    """Seal, read, and advance from the record that lists the same layers on the same head."""
    if s.committer is None:
        if s.commits < 2 and s.row(s.record.layers[0]):
            sealed = replace(s.record, layers=(s.commits + 1, *s.record.layers))
            yield replace(s, record=sealed, commits=s.commits + 1, committer=("scan", sealed, None))
        return
    step, used, value = s.committer
    if step == "scan":
        yield replace(s, committer=("advance", used, s.shown(used, used.layers[1:])))
    elif used == s.record:
        heads = (*used.heads, value)
        yield replace(s, committer=None, record=Record(heads, used.layers[:1]))
    else:
        yield replace(s, committer=None)


OTHERS = {"transaction": transaction, "bulk": bulk, "commit": commit}


def broken(rule: str, others: tuple[str, ...]) -> bool:
    """Whether a write with a wrong row is acknowledged in any order."""

    def steps(s: State) -> Iterator[State]:
        yield from write(s, rule)
        for name in others:
            yield from OTHERS[name](s)

    return any(s.write == "acknowledged" and s.wrong for s in reachable([State()], steps))


@pytest.mark.parametrize("others", [("transaction", "commit"), ("transaction", "bulk")])
def test_a_write_with_a_wrong_row_is_not_acknowledged(others: tuple[str, ...]) -> None:
    assert not broken("", others)


@pytest.mark.parametrize(
    ("rule", "others"),
    [
        ("ignore what is below", ("transaction",)),
        ("ignore what is below", ("bulk",)),
        ("ignore the heads", ("transaction", "commit")),
        ("stop at the first row", ("transaction", "commit")),
    ],
)
def test_a_rule_that_is_left_out_breaks_it(rule: str, others: tuple[str, ...]) -> None:
    assert broken(rule, others)


def test_commits_alone_make_no_outcome_unknown() -> None:
    def steps(s: State) -> Iterator[State]:
        yield from write(s, "")
        yield from commit(s)

    assert not any(s.write == "unknown" for s in reachable([State()], steps))


def test_a_layer_that_was_put_below_and_is_committed_is_not_detected() -> None:
    """The limit that `engine.staging.condition` names."""
    assert broken("", ("bulk", "commit"))
