"""Reads of all objects of a repository in the key-value store, by type and id. Source: seed 002, `Persist`.

Objects have keys of the form `type/id`. A listing is sorted by them: commits, layouts, runs, each by id. Only the flows
write objects. Branches and tags are references, which have listings of their own. Nodes and ranges are files in the
storage namespace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from graveler_core.codec.records import commit_id, decode
from graveler_core.errors import CorruptData, InvalidInput, Kind, NotFound
from graveler_core.kv.bulk import get_many
from graveler_core.kv.store import Store
from graveler_core.model.bounds import ALL, Bounds
from graveler_core.model.entities import Commit, Layout, RepositoryRecord
from graveler_core.model.ids import CommitId, ObjectId
from graveler_core.model.stored_objects import ObjectType, StoredObject
from graveler_core.objects.objects import decode_object
from graveler_core.records import layout as keys


def read_objects(
    kv: Store, repo: RepositoryRecord, wanted: Sequence[str], *, missing_ok: bool = False
) -> list[StoredObject | None]:
    """Read objects by their keys, in the given order, past all caches.

    Args:
        kv: Key-value store.
        repo: Repository.
        wanted: Keys of the objects.
        missing_ok: Return `None` for an object that does not exist.

    Raises:
        InvalidInput: A key does not begin with a type.
        NotFound: Some objects do not exist (`ObjectNotFound`). `details["objects"]` has their keys.
        CorruptData: An object cannot be read, or does not match its id.
    """
    named = [_parsed(key) for key in wanted]
    rows = get_many(kv, [_place(repo, type, id) for type, id in named])
    absent = list(dict.fromkeys(key for key, row in zip(wanted, rows, strict=True) if row is None))
    if absent and not missing_ok:
        raise NotFound(
            f"objects {', '.join(absent)} do not exist in repository {repo.id!r}",
            kind=Kind.ObjectNotFound,
            objects=absent,
        )
    return [row and _DECODE[type](id, row.value) for (type, id), row in zip(named, rows, strict=True)]


def scan_objects(kv: Store, repo: RepositoryRecord, within: Bounds = ALL) -> Iterator[StoredObject]:
    """Yield the objects of a repository with keys within bounds, sorted by key, lazily and past all caches.

    Objects that flows write or a sweep deletes in the meantime may or may not be among them.

    Raises:
        CorruptData: An object cannot be read, or does not match its id.
    """
    first, last = within.interval()
    for type in ObjectType:
        base = f"{type}/".encode()
        start = first[len(base) :] if first.startswith(base) else b"" if first < base else None
        end = last[len(base) :] if last is not None and last.startswith(base) else None
        if start is not None and (end is not None or last is None or last > base):
            for name, value in _rows(kv, repo, type, start, end):
                yield _DECODE[type](name.decode(errors="backslashreplace"), value)


def _rows(
    kv: Store, repo: RepositoryRecord, type: ObjectType, start: bytes, end: bytes | None
) -> Iterator[tuple[bytes, bytes]]:
    prefix, partitions = _folder(repo, type)
    for partition in partitions:
        last = None if end is None else prefix + end
        for row in kv.scan(partition, prefix=prefix, start=prefix + start, end=last):
            yield row.key.removeprefix(prefix), row.value


def _folder(repo: RepositoryRecord, type: ObjectType) -> tuple[bytes, Sequence[bytes]]:
    if type is ObjectType.RUN:
        return keys.OBJECTS, keys.object_partitions(repo)
    folder = keys.commits(repo) if type is ObjectType.COMMIT else keys.commit_layouts(repo)
    return folder.prefix, [folder.partition]


def _parsed(key: str) -> tuple[ObjectType, str]:
    type, _, id = key.partition("/")
    if type not in list(ObjectType) or not id:
        raise InvalidInput(f"object {key!r}: must be {', '.join(ObjectType)}, a slash, and an id")
    return ObjectType(type), id


def _place(repo: RepositoryRecord, type: ObjectType, id: str) -> tuple[bytes, bytes]:
    if type is ObjectType.RUN:
        return keys.stored_object(repo, ObjectId(id))
    at = keys.commit(repo, CommitId(id)) if type is ObjectType.COMMIT else keys.commit_layout(repo, CommitId(id))
    return at.partition, at.key


def _commit(id: str, value: bytes) -> StoredObject:
    if commit_id(value) != id:
        raise CorruptData(f"commit {id}: its header does not match the id", kind=Kind.CorruptCommit, commit=id)
    return StoredObject(ObjectType.COMMIT, id, len(value), decode(Commit, value, f"commit {id}"))


def _layout(id: str, value: bytes) -> StoredObject:
    return StoredObject(ObjectType.LAYOUT, id, len(value), decode(Layout, value, f"layout of commit {id}"))


def _run(id: str, value: bytes) -> StoredObject:
    data, referenced = decode_object(value, ObjectId(id))
    return StoredObject(ObjectType.RUN, id, len(value), data, referenced)


_DECODE: dict[ObjectType, Callable[[str, bytes], StoredObject]] = {
    ObjectType.COMMIT: _commit,
    ObjectType.LAYOUT: _layout,
    ObjectType.RUN: _run,
}
