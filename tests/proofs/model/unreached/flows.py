"""Flows of writers and users. Each step is one access to the store."""

from __future__ import annotations

from collections.abc import Iterator

from tests.proofs.model.unreached.state import HIGH, LOW, NONE, Record, State


def writer(s: State, without: str) -> Iterator[State]:
    """`engine.committing.head.advance`, with links as in a replay. The records are stored before the swap."""
    stored = s._replace(wrote=True)
    match s.writer:
        case "begin" if not s.at:
            yield s._replace(writer="low", writer_saw=s.branch)
        case "low":
            yield stored._replace(writer="high", headers=s.headers | {LOW})
        case "high":
            yield stored._replace(writer="tell", headers=s.headers | {HIGH})
        case "tell" if s.late and without != "late writers stop":
            yield s._replace(writer="end")
        case "tell":
            yield s._replace(writer="swap", told=True)
        case "swap" if s.branch == s.writer_saw:
            yield s._replace(writer="end", at=True, branch=s.branch + 1, reached=True)
        case "swap":
            yield s._replace(writer="begin")
    if s.writer not in ("", "end"):
        yield s._replace(writer="end")


def user(s: State, without: str) -> Iterator[State]:
    """`create_tag` at an id that a hook or an error has told."""
    ended = s._replace(user="end", user_saw=Record()).over("user")
    match s.user:
        case "begin" if s.told:
            yield s._replace(user="create" if without == "users ask" else "ask")
        case "ask":
            record = s.record
            gone = record.removed | (record.ids if record.state == "removing" else NONE)
            if HIGH in gone and without != "users are refused":
                yield ended
            elif record.state == "announced" and HIGH in record.ids - record.revived:
                yield s._replace(user="revive", user_saw=record)
            else:
                yield s._replace(user="create")
        case "revive":
            same = s.record.version == s.user_saw.version
            record = s.record._replace(version=s.record.version + 1, revived=s.record.revived | {HIGH})
            if same:
                yield s._replace(user="create", record=record, user_saw=Record())
            elif without == "a revival is a swap":
                yield s._replace(user="create", user_saw=Record())
            else:
                yield s._replace(user="ask", user_saw=Record())
        case "create":
            yield ended._replace(tag=True, reached=True)
    if s.user not in ("", "begin", "end"):
        yield ended


def resets(s: State, without: str) -> Iterator[State]:
    """`engine.references.reset.hard_reset` to an id, also of a merge or replay that leads to it. It reads the branch,
    asks, and swaps the branch. It may be as slow as it likes.
    """
    ended = s._replace(resetter="end", resetter_saw=Record())
    match s.resetter:
        case "begin" if s.told and not s.at:
            yield s._replace(resetter="ask", resetter_branch=s.branch)
        case "ask":
            gone = s.record.removed | (s.record.ids if s.record.state == "removing" else NONE)
            if HIGH in gone:
                yield ended
            elif s.record.state == "announced" and HIGH in s.record.ids - s.record.revived:
                yield s._replace(resetter="revive", resetter_saw=s.record)
            else:
                yield s._replace(resetter="swap")
        case "revive":
            record = s.record._replace(version=s.record.version + 1, revived=s.record.revived | {HIGH})
            if s.record.version == s.resetter_saw.version:
                yield s._replace(resetter="swap", record=record, resetter_saw=Record())
            else:
                yield s._replace(resetter="ask", resetter_saw=Record())
        case "swap" if s.branch == s.resetter_branch:
            yield ended._replace(at=True, branch=s.branch + 1, reached=True)
        case "swap" if without == "a reset asks again":
            yield s._replace(resetter_branch=s.branch)
        case "swap":
            yield s._replace(resetter="begin")
    if s.resetter not in ("", "begin", "end"):
        yield ended


def moves(s: State, without: str) -> Iterator[State]:
    """A hard reset of the branch, or a deletion of the tag. It may be as slow as it likes."""
    first = without != "record a former head first"
    match s.mover:
        case "begin" if s.at:
            yield s._replace(mover="reset", mover_saw=s.branch, former=s.former or first)
        case "begin" if s.tag:
            yield s._replace(mover="delete", former=s.former or first)
        case "reset":
            moved = s._replace(mover="record", at=False, branch=s.branch + 1)
            yield moved if s.branch == s.mover_saw else s._replace(mover="begin")
        case "delete":
            yield s._replace(mover="record", tag=False)
        case "record":
            yield s._replace(mover="end", former=True)
    if s.mover not in ("", "begin", "end"):
        yield s._replace(mover="end")


def old(s: State) -> Iterator[State]:
    """A hard reset by a process that does not record former heads. It cannot read a repository record with the flag."""
    ended = s._replace(old="end").over("old")
    match s.old:
        case "begin" if s.at and not s.record.state:
            yield s._replace(old="reset", old_saw=s.branch)
        case "reset":
            yield ended._replace(at=False, branch=s.branch + 1) if s.branch == s.old_saw else ended
