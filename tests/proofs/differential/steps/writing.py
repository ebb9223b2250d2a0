"""Steps that stage: entry by entry, in batches, by prefix; and what discards what is staged."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from random import Random

import pyarrow as pa

from graveler_core.errors import GravelerError
from graveler_core.model.changes import StagedRecord
from graveler_core.model.entry import Entry
from graveler_core.model.operations import Put
from tests.old_paths import any_path
from tests.proofs.differential.model import PATH_NOT_FOUND, Branch, Refusals
from tests.proofs.differential.values import staged_value
from tests.proofs.differential.world import Handle, World

UNKNOWN = ("OutcomeUnknown", "OutcomeUnknown")
INVALID_PATHS = {("InvalidInput", "InvalidPath"), ("LimitExceeded", "PathTooLong")}
BAD_PATHS = ("", "a\0b", "x" * 1_001, "\ud800", "é" * 501)
REFUSED_PATHS = ("/a", "a//", "a//b", "a/../b", "./a", "a\\b", "a\n", "\x7f")
"""Paths that no new entry may have, and that the other steps write as earlier versions did."""
MOST_LAYERS = 40
"""A branch with more waits for a commit; at 100 bulk writes are refused."""


def pick(w: World, r: Random) -> str:
    """A branch that exists, or now and then a name that may be free."""
    if r.random() < 0.03:
        return r.choice([*w.names.branches, "absent"])
    return r.choice([*w.model.branches])


def put(w: World, r: Random) -> None:
    """Upload content and stage it."""
    data = r.choice((b"", b"a", b"%d" % r.randint(0, 9), b"x" * 3_000))
    content_type, metadata = r.choice((None, "text/csv")), r.choice(w.names.metadata)
    source = BytesIO(data) if r.random() < 0.1 else data
    many = r.random() < 0.3

    def call(handle: Handle, name: str, path: str) -> Entry:
        branch = w.branch(handle, name)
        if many:
            (entry,) = branch.put_many({path: source}, remove=[path], content_type=content_type, metadata=metadata)
            return entry
        return branch.put(path, source, content_type=content_type, metadata=metadata)

    staged = _single(w, r, call)
    if staged is None:
        return
    handle, branch, path, entry = staged
    if entry.address is not None:
        w.contents[entry.address] = (entry, data)
    value = w.value(entry)
    said = (entry.path, entry.size, entry.content_type, dict(entry.metadata))
    w.equal("put", said, (path, len(data), content_type, metadata))
    w.model.stage(branch, {path: value}, layer=False)
    opened = handle.repo.at(branch.name) if r.random() < 0.3 else w.branch(handle, branch.name)
    w.equal("read", opened.read(path), data)


def stage(w: World, r: Random) -> None:
    """Stage an entry, and read it on another handle."""
    entry = w.names.entry(r)
    staged = _single(w, r, lambda handle, name, path: w.branch(handle, name).stage(path, entry))
    if staged is None:
        return
    _, branch, path, given = staged
    value = staged_value(entry)
    w.equal("stage", (given.path, w.value(given)), (path, value))
    w.model.stage(branch, {path: value}, layer=False)
    look(w, r, branch, path)


def remove(w: World, r: Random) -> None:
    """Remove a path, there or not; more often one that is staged."""
    found = _single(w, r, lambda handle, name, path: w.branch(handle, name).remove(path) or True, staged=True)
    if found is not None:
        handle, branch, path, _ = found
        w.model.remove(branch, path)
        if path not in branch.records:
            _tombstone(w, handle, branch, path)
        look(w, r, branch, path)


def stage_many(w: World, r: Random) -> None:
    """Stage entries and removals at once."""
    name, paths = pick(w, r), some_paths(w, r)
    entries = [w.names.entry(r) for _ in range(4)]
    removals = r.choice((0.0, 0.0, 0.3, 1.0))
    rows = {path: None if r.random() < removals else r.choice(entries) for path in paths}
    w.said = ("stage many", name, len(rows), [*rows][:20])
    doubled = [paths[0]] if paths and r.random() < 0.02 else []
    may = w.model.forbidden(name, "write") | (INVALID_PATHS if doubled else set())
    if held_up(w, name):
        return
    handle = w.use(r)
    done = w.attempt(may, lambda: w.branch(handle, name).stage_many(table(rows, doubled)) or True)
    if done:
        values = {id(entry): staged_value(entry) for entry in entries}
        staged = {path: None if entry is None else values[id(entry)] for path, entry in rows.items()}
        w.model.stage(w.model.branches[name], staged, layer=True)


def remove_many(w: World, r: Random) -> None:
    """Remove paths at once."""
    name, paths = pick(w, r), some_paths(w, r)
    w.said = ("remove many", name, len(paths), paths[:20])
    if held_up(w, name):
        return
    handle, may = w.use(r), w.model.forbidden(name, "write")
    if w.attempt(may, lambda: w.branch(handle, name).remove_many(iter(paths)) or True):
        branch = w.model.branches[name]
        if w.model.only_staged(branch, paths) and not any(_staged(w, handle, branch, path) for path in paths):
            for path in paths:
                w.model.remove(branch, path)
        else:
            w.model.stage(branch, dict.fromkeys(paths), layer=True)


def remove_prefix(w: World, r: Random) -> None:
    """Remove everything under a prefix."""
    name, prefix = pick(w, r), w.names.prefix(r)
    if not prefix and r.random() < 0.7:
        return
    w.said = ("remove prefix", name, prefix)
    if held_up(w, name):
        return
    handle, may = w.use(r), w.model.forbidden(name, "write")
    if w.attempt(may, lambda: w.branch(handle, name).remove_prefix(prefix) or True):
        w.model.span(w.model.branches[name], "-", prefix)


def reset(w: World, r: Random) -> None:
    """Discard what is staged, all of it or under a prefix."""
    name, prefix = pick(w, r), w.names.prefix(r)
    w.said = ("reset", name, prefix)
    if prefix and held_up(w, name):
        return
    handle, may = w.use(r), w.model.forbidden(name, "write")
    if w.attempt(may, lambda: w.branch(handle, name).reset(prefix) or True):
        branch = w.model.branches[name]
        if prefix:
            w.model.span(branch, "+", prefix)
        else:
            w.model.begin(branch)


def reset_path(w: World, r: Random) -> None:
    """Discard what is staged at one path."""
    name, path = pick(w, r), w.names.path(r)
    branch = w.model.branches.get(name)
    if branch is not None and branch.records and r.random() < 0.7:
        path = r.choice([*branch.records])
    w.said = ("reset path", name, path)
    if held_up(w, name):
        return
    handle, may = w.use(r), w.model.forbidden(name, "write")
    if w.attempt(may, lambda: w.branch(handle, name).reset(path=path) or True):
        w.model.restore(w.model.branches[name], path)
        look(w, r, w.model.branches[name], path)


def bad_paths(w: World, r: Random) -> None:
    """Paths that break a rule are refused, and change nothing."""
    name, path = r.choice([*w.model.branches]), r.choice(BAD_PATHS)
    w.said = ("bad path", name, path)
    handle = w.use(r)
    branch, entry = w.branch(handle, name), w.names.entry(r)
    calls = [
        lambda: branch.stage(path, entry),
        lambda: branch.put(path, b""),
        lambda: branch.remove(path),
        lambda: branch.get(path),
        lambda: branch.remove_many(["a", path]),
        lambda: branch.stage_many(pa.table({"key": [path.encode(errors="surrogatepass")]})),
    ]
    w.refused(INVALID_PATHS | w.model.forbidden(name, "write"), r.choice(calls))
    refused = r.choice(REFUSED_PATHS)
    calls = [
        lambda: branch.stage(refused, entry),
        lambda: branch.put(refused, b""),
        lambda: branch.put_many({"a": b"", refused: b""}),
        lambda: branch.stage_many(table({"a": entry, refused: entry}, [])),
        lambda: branch.transact([Put(refused, entry)], message="m"),
    ]
    w.refused(INVALID_PATHS | w.model.forbidden(name, "write"), r.choice(calls))
    if path:
        w.refused(INVALID_PATHS, r.choice((lambda: [*branch.list(path)], lambda: [*branch.uncommitted(path)])))


def some_paths(w: World, r: Random) -> list[str]:
    """Distinct paths: few as a rule, and sometimes as many as the episode allows."""
    most = min(r.choice((0, 1, 3, 12, 12)) if r.random() < 0.85 else w.shape.rows, len(w.names.paths))
    return r.sample(w.names.paths, r.randint(0 if most < 12 else most // 2, most))


def held_up(w: World, name: str) -> bool:
    """Whether a branch has so many layers that a bulk write might be refused."""
    return name in w.model.branches and w.model.branches[name].layers >= MOST_LAYERS


def look(w: World, r: Random, branch: Branch, path: str) -> None:
    """A lookup by some handle gives what the branch shows."""
    handle = w.use(r)
    wanted = branch.shown.get(path)
    may: Refusals = set() if wanted is not None else {PATH_NOT_FOUND}
    found = w.attempt(may, lambda: w.branch(handle, branch.name).get(path))
    if found is not None:
        w.equal("get", (found.path, w.value(found)), (path, wanted))


def table(rows: Mapping[str, Entry | None], doubled: list[str]) -> pa.Table:
    """Rows as users give them: what is removed says nothing else, and a key may be text or bytes."""
    paths = [*rows, *doubled]
    entries = [rows[path] for path in paths]

    def column(name: str, type: pa.DataType) -> pa.Array:
        return pa.array([None if entry is None else getattr(entry, name) for entry in entries], type)

    metadata = [None if entry is None else [*entry.metadata.items()] for entry in entries]
    ids = [None if e is None or e.content_id is None else e.content_id.bytes for e in entries]
    return pa.table(
        {
            "key": pa.array(paths if len(paths) % 2 else [path.encode() for path in paths]),
            "address": column("address", pa.string()),
            "address_type": column("address_type", pa.int8()),
            "size": column("size", pa.int64()),
            "checksum": column("checksum", pa.string()),
            "mtime": column("mtime", pa.timestamp("us", tz="UTC")),
            "content_type": column("content_type", pa.string()),
            "metadata": pa.array(metadata, pa.map_(pa.string(), pa.string())),
            "data": column("data", pa.binary()),
            "payload": column("payload", pa.int16()),
            "content_id": pa.array(ids, pa.binary(16)),
            "removed": pa.array([entry is None for entry in entries]),
        }
    )


def _single(w: World, r: Random, call, *, staged: bool = False):  # type: ignore[no-untyped-def]
    """Write one path; gives handle, branch, path and result, or None where the call was refused.

    A write that began on an old record of the repository or of the branch may be staged and refused afterwards: it is
    told `OutcomeUnknown`. Then the branch tells.
    """
    name, path = pick(w, r), w.names.path(r)
    branch: Branch | None = w.model.branches.get(name)
    if staged and branch is not None and branch.records and r.random() < 0.5:
        path = r.choice([*branch.records])
    w.said = ("write", name, path)
    handle, may = w.use(r), w.model.forbidden(name, "write")
    lenient = may | {UNKNOWN} if may else may
    try:
        with any_path():
            result = call(handle, name, path)
    except GravelerError as error:
        said = (type(error).__name__, str(error.kind))
        w.require(said in lenient, "refused", said, lenient, str(error))
        if said == UNKNOWN and branch is not None:
            adopt(w, handle, branch, path)
        return None
    w.require(not may, "succeeded, and should be refused", may)
    return handle, branch, path, result


def _staged(w: World, handle: Handle, branch: Branch, path: str) -> list[StagedRecord]:
    """The staged record of a path, or nothing."""
    return [record for record in w.branch(handle, branch.name).staged(path, limit=1) if record.path == path]


def _tombstone(w: World, handle: Handle, branch: Branch, path: str) -> None:
    """A removal that needs no tombstone may write one, where the handle knew an older record of the branch."""
    found = _staged(w, handle, branch, path)
    w.require(not found or found[0].entry is None, "removed, and still staged", path)
    if found:
        branch.records[path] = None


def adopt(w: World, handle: Handle, branch: Branch, path: str) -> None:
    """Take over what is staged at a path after a call of unknown outcome."""
    found = _staged(w, handle, branch, path)
    if found:
        value = w.optional(found[0].entry)
        if path not in branch.records or branch.records[path] != value:
            w.model.stage(branch, {path: value}, layer=False)
    else:
        w.require(path not in branch.records, "a record is gone", path)
