"""Steps that commit past what is staged: transactions and imports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

from graveler_core.blobs.open import OpenedBlobs
from graveler_core.model.operations import Basis, Operation, Put, Remove, Resolution, Unchanged
from tests.old_paths import any_path
from tests.proofs.differential.model import DIRTY, INVALID, NO_CHANGES, TRANSACTION_CONFLICT, Branch, Refusals
from tests.proofs.differential.steps.committing import key, used, words
from tests.proofs.differential.steps.expected_commits import judged
from tests.proofs.differential.steps.writing import pick
from tests.proofs.differential.values import Value, put, same, staged_value, under
from tests.proofs.differential.world import World

LOST_RACE = ("Conflict", "LostRace")


def transact(w: World, r: Random) -> None:
    """Put, remove and insist, in one commit."""
    name, said = pick(w, r), words(w, r)
    branch = w.model.branches.get(name)
    head = {} if branch is None else w.model.head(branch)
    paths = [*dict.fromkeys(_path(w, r, head) for _ in range(r.randint(1, 4)))]
    operations = [operation for path in paths for operation in _operations(w, r, path, head.get(path))]
    operations += _renames(w, r, paths, head)
    answer = r.choice((Resolution.CONFLICT, Resolution.CONFLICT, Resolution.APPLY, Resolution.DROP))
    on = _basis(w, r, branch)
    chosen, refused, before = key(w, r, name)
    w.said = ("transact", name, operations, answer, on, said, chosen)
    handle, forbidden = w.use(r), w.model.forbidden(name, "commit")
    may, wanted, hit, lenient = forbidden | refused | _invalid(operations), {}, [], False
    if before is not None and forbidden:
        return
    if branch is not None and before is None:
        refused, wanted, hit = _judged(w, branch, operations, answer)
        missing, lenient = _based(w, branch, on)
        may |= refused | missing
    options = {"on": on, "on_conflict": lambda conflict: answer, "idempotency_key": chosen, **said}
    opened = w.branch(handle, name)
    if lenient:
        return

    def call() -> object:
        with any_path():
            return opened.transact(operations, **options)

    record = judged(w, may, call, branch, hit)
    if record is None or branch is None:
        return
    if before is not None:
        w.equal("transaction of a key", record.id, before)
        return
    at = handle.repo.at(record.id)
    settled = {path: _drawn(w, at.get(path), value) if drawn else value for path, (value, drawn) in wanted.items()}
    effective = {path: value for path, value in settled.items() if not same(value, head.get(path))}
    content = dict(head)
    for path, value in effective.items():
        put(content, path, value)
    w.made(branch, record, content)
    w.model.over(branch, effective, record.id)
    used(w, branch, chosen, record.id)


def _path(w: World, r: Random, head: dict[str, Value]) -> str:
    return r.choice([*head]) if head and r.random() < 0.5 else w.names.path(r)


def _operations(w: World, r: Random, path: str, there: Value | None) -> list[Operation]:
    """Operations on a path, that fit what is there or, less often, do not."""
    entry = w.names.entry(r)
    if r.random() < 0.9:
        entry = replace(entry, content_id=None)
    fits = r.random() < 0.8
    if (there is None) == fits:
        if r.random() < 0.8:
            return [Put(path, entry)]
        return [Remove(path) if r.random() < 0.5 else Unchanged(path)]
    expected = w.names.entry(r) if there is None else there.entry
    kind = r.randrange(5)
    if kind == 0:
        return [Remove(path, expected if r.random() < 0.5 else None)]
    if kind == 1:
        return [Unchanged(path, expected if r.random() < 0.5 else None)]
    if kind == 2:
        return [Put(path, entry), Remove(path)]
    return [Put(path, replace(entry, payload=expected.payload, content_id=expected.content_id), expected)]


def _renames(w: World, r: Random, paths: Sequence[str], head: Mapping[str, Value]) -> list[Operation]:
    """Mostly nothing; or move an entry to another path, which now and then has one, or move several to one path."""
    sources = [path for path, value in head.items() if value.entry.content_id is not None and path not in paths]
    target = w.names.path(r)
    if not sources or target in paths or r.random() < 0.6:
        return []
    chosen = [path for path in r.sample(sources, min(len(sources), r.choice((1, 1, 1, 2, 3)))) if path != target]
    operations: list[Operation] = [Remove(path, head[path].entry if r.random() < 0.5 else None) for path in chosen]
    if not chosen:
        return []
    expected = head[r.choice(chosen)].entry
    entry = replace(w.names.entry(r), payload=expected.payload, content_id=expected.content_id)
    operations.append(Put(target, entry, expected if r.random() < 0.9 else None))
    return r.sample(operations, len(operations))


def _judged(
    w: World, branch: Branch, operations: Sequence[Operation], answer: Resolution
) -> tuple[Refusals, dict[str, tuple[Value | None, bool]], list[str]]:
    """Return the refusals of a transaction, its values, and the paths of its conflicts.

    Each value comes with true if it gets a content id that is drawn.
    """
    head, may, conflicts = w.model.head(branch), set(), list[str]()
    wanted: dict[str, tuple[Value | None, bool]] = {}
    removed: dict[str, Value | None] = {}
    for operation in sorted(operations, key=lambda o: not isinstance(o, Remove)):
        path, there = operation.path, head.get(operation.path)
        hit = _conflicts(operation, there, removed)
        if hit and answer is Resolution.CONFLICT:
            conflicts.append(path)
        if hit and answer is Resolution.DROP:
            continue
        if isinstance(operation, Remove):
            removed[path] = there
            wanted[path] = (None, False)
        elif isinstance(operation, Put):
            value = staged_value(operation.entry)
            wanted[path] = (value, operation.entry.content_id is None and operation.expected is None)
    if any(w.model.staged_at(branch, operation.path) for operation in operations):
        may.add(DIRTY)
    if conflicts:
        may.add(TRANSACTION_CONFLICT)
    changed = any(drawn or not same(value, head.get(path)) for path, (value, drawn) in wanted.items())
    if not changed and not conflicts:
        may.add(NO_CHANGES)
    return may, wanted, conflicts


def _invalid(operations: Sequence[Operation]) -> Refusals:
    """Return the refusal of operations that are invalid on every branch, and under a used key too."""
    ids = [o.entry.content_id for o in operations if isinstance(o, Put) and o.entry.content_id is not None]
    return {INVALID} if len(ids) > len(set(ids)) else set()


def _conflicts(operation: Operation, there: Value | None, removed: Mapping[str, Value | None]) -> bool:
    """Return true if an operation does not fit its path or the removals of the transaction.

    A put at a path without an entry renames a removed entry, which must have the content id of the new one.
    """
    expected = None if operation.expected is None else staged_value(operation.expected)
    if not isinstance(operation, Put):
        return there is None or (expected is not None and not same(there, expected))
    given = operation.entry.content_id
    again = operation.path in removed
    if expected is None:
        return not again and (there is not None or given is not None)
    if (operation.entry.payload, given) != (expected.entry.payload, expected.entry.content_id):
        return True
    if there is not None:
        return again or not same(there, expected)
    return given is None or not any(same(old, expected) for old in removed.values())


def _basis(w: World, r: Random, branch: Branch | None) -> Basis | str | None:
    """Mostly none; a commit, with prefixes or without."""
    if branch is None or r.random() < 0.7:
        return None
    commit = branch.head if r.random() < 0.5 else r.choice([*w.model.commits])
    if r.random() < 0.4:
        return commit
    return Basis(commit, tuple(w.names.prefix(r) for _ in range(r.randint(0, 2))))  # type: ignore[arg-type]


def _based(w: World, branch: Branch, on: Basis | str | None) -> tuple[Refusals, bool]:
    """What a basis is refused with, and whether the documentation leaves that open.

    It says that nothing may be staged under a prefix, down to the first restoration over it. What a restoration of a
    part of the prefix hides is left open.
    """
    if on is None:
        return set(), False
    basis = on if isinstance(on, Basis) else Basis(on)  # type: ignore[arg-type]
    if not basis.under:
        return (set() if basis.commit == branch.head else {LOST_RACE}), False
    may: Refusals = set()
    head, there = w.model.head(branch), w.model.content(basis.commit)
    one, other = under(head, basis.under), under(there, basis.under)
    if one.keys() != other.keys() or any(not same(one[path], other[path]) for path in one):
        may.add(LOST_RACE)
    for prefix in basis.under:
        if any(
            sign in "+=" and (sign, span) != ("+", prefix) and span.startswith(prefix) for sign, span in branch.spans
        ):
            return may, True
        if _staged_under(w, branch, prefix):
            may.add(DIRTY)
    return may, False


def _staged_under(w: World, branch: Branch, prefix: str) -> bool:
    if any(path.startswith(prefix) for path in branch.records):
        return True
    for sign, span in reversed(branch.spans):
        if sign == "+" and prefix.startswith(span):
            return False
        if sign == "-" and (prefix.startswith(span) or span.startswith(prefix)):
            return True
    base, head = branch.base, w.model.head(branch)
    return base is not None and any(
        not same(base.get(path), head.get(path)) for path in base.keys() | head.keys() if path.startswith(prefix)
    )


def _drawn(w: World, found: object, value: Value | None) -> Value | None:
    """The value with the content id that the library drew."""
    got = w.value(found)  # type: ignore[arg-type]
    w.require(got.entry.content_id is not None and value is not None, "no content id", found)
    w.equal("put", replace(got.entry, content_id=None), value.entry if value is not None else None)
    return got


def take_over(w: World, r: Random) -> None:
    """Import what lies in an object store, after changing something there."""
    name, mode, said = pick(w, r), r.choice(("add", "replace")), words(w, r)
    destination = r.choice(("", "in", "a", "a/b", "é"))
    uri = f"{w.namespace}-objects/raw"
    _change_objects(w, r, uri)
    single = r.random() < 0.4
    keys = r.sample([*w.objects], min(len(w.objects), r.randint(1, 3))) if single else [*w.objects]
    below = f"{destination}/" if destination else ""
    w.said = ("import", name, mode, destination, keys, single)
    if destination == "" and mode == "replace":
        return
    handle, may = w.use(r), w.model.forbidden(name, "commit")
    branch = w.model.branches.get(name)
    paths = {below + object: object for object in keys}
    if branch is not None:
        may |= _import_refusals(w, branch, paths, below, mode)
    options = {"mode": mode, **said}

    def call() -> object:
        if single:
            named = {object: f"{uri}/{object}" for object in keys}
            return handle.repo.import_objects(named, name, destination, **options)
        return handle.repo.import_prefix(uri, name, destination, **options)

    imported = w.attempt(may, call)
    if imported is None or branch is None:
        return
    record = imported.commit  # type: ignore[attr-defined]
    at, head = handle.repo.at(record.id), w.model.head(branch)
    ops: dict[str, Value | None] = {p: None for p in head if mode == "replace" and p.startswith(below)}
    for path, object in paths.items():
        value = _imported(w, uri, object, at.get(path))
        if same(head.get(path), value):
            ops.pop(path, None)
        else:
            ops[path] = value
    content = dict(head)
    for path, wanted in ops.items():
        put(content, path, wanted)
    w.equal("objects", imported.objects, len(keys))  # type: ignore[attr-defined]
    w.made(branch, record, content)
    w.model.over(branch, ops, record.id)


def _change_objects(w: World, r: Random, uri: str) -> None:
    """Write some objects of the place anew, or delete one."""
    blobs = OpenedBlobs().at(uri)
    for _ in range(r.randint(0, 2) if w.objects else 3):
        object = r.choice(("1", "2", "b/1", "b/é", "b.c", "z"))
        if object in w.objects:
            blobs.delete(object)
        data = b"%d" % r.randint(0, 99) * r.randint(1, 3)
        blobs.create(object, data)
        w.objects[object] = (data, None)
    if len(w.objects) > 3 and r.random() < 0.3:
        gone = r.choice([*w.objects])
        blobs.delete(gone)
        del w.objects[gone]


def _import_refusals(w: World, branch: Branch, paths: dict[str, str], below: str, mode: str) -> Refusals:
    """`NoChanges` can be told only where all objects are known; else both are accepted."""
    if any(w.model.staged_at(branch, path) for path in paths) or (
        mode == "replace" and _staged_under(w, branch, below)
    ):
        return {DIRTY}
    head = w.model.head(branch)
    known = {path: w.objects[object][1] for path, object in paths.items()}
    surplus = mode == "replace" and any(path.startswith(below) and path not in paths for path in head)
    if not surplus and all(value is not None and same(head.get(path), value) for path, value in known.items()):
        return {NO_CHANGES}
    return set()


def _imported(w: World, uri: str, object: str, found: object) -> Value:
    """What an import makes of an object: the same each time, until the object is written anew."""
    value = w.value(found)  # type: ignore[arg-type]
    data, known = w.objects[object]
    entry = value.entry
    w.equal("imported", (entry.size, entry.address_type.name), (len(data), "FULL"))
    w.require((entry.address or "").startswith(uri), "address", entry.address)
    w.require(known is None or known == value, "an object that did not change was imported otherwise", known, value)
    w.objects[object] = (data, value)
    return value
