"""Erasures in dumps. A restoration obeys them: it restores the records, and deletes erased content that still exists.

A dump reads the erasures last. An erasure that begins after that is not in the dump. If the dump is restored in the
same namespace, the files there name the erased content (`objects.erasure_files`), and the restoration enters them.

An erasure that had not begun to delete when it was dumped is restored as it was. The next call of `erase` or the next
collection completes it, unless the files show that it has ended. All others are restored as ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from graveler_core.blobs.deletion import RefusedDeletions, delete_permitted
from graveler_core.codec.records import decode, encode
from graveler_core.errors import CorruptData, GravelerError, PredicateFailed
from graveler_core.kv.store import Store
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.erasure import ErasedContent, Erasure, ErasureState
from graveler_core.objects import erasure_files
from graveler_core.objects.erased import erased_contents, name_of
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.stores import Stores
from graveler_core.transfer.format import DumpWriter
from graveler_core.transfer.format import RowKind as Rows

_RESTORED = "restored"
"""Round of the marks that a restoration makes from files in the namespace."""


def write_erasures(kv: Store, repo: RepositoryRecord, writer: DumpWriter) -> None:
    """Write the erasures of a repository, and the marks of their rounds."""
    known = erased_contents(kv, repo)
    current = known.current()  # read first, because it is entered as ended before it ends
    found = {} if current is None else {current.value.id: current.value}
    found |= {erasure.id: erasure for erasure in known.ended()}
    for _, erasure in sorted(found.items()):
        writer.row(Rows.ERASURE, encode(erasure))
    for mark in known.marks():
        if _counting(mark, found):
            writer.row(Rows.ERASED, encode(mark))


def checked_erasure(data: bytes) -> Erasure:
    """Return the erasure of a row of a dump.

    Raises:
        CorruptData: It is not valid.
    """
    erasure = decode(Erasure, data, "an erasure")
    if erasure_files.erasure_of(f"{erasure_files.PREFIX}{erasure.id}.json") != erasure.id or "/" in erasure.id:
        raise CorruptData(f"erasure {erasure.id!r}: has no valid id")
    return erasure


def checked_mark(data: bytes, erasures: Mapping[str, Erasure]) -> str:
    """Return the name of the mark of a row of a dump.

    Args:
        data: The row.
        erasures: Erasures of the dump, by id.

    Raises:
        CorruptData: It is not valid, or belongs to none of the erasures.
    """
    mark = decode(ErasedContent, data, "erased content")
    if not _counting(mark, erasures):
        raise CorruptData(f"erased content {mark.address!r}: belongs to no erasure of the dump")
    return name_of(mark.address)


def _counting(mark: ErasedContent, erasures: Mapping[str, Erasure]) -> bool:
    return mark.erasure in erasures and mark.counts_for(erasures[mark.erasure])


def obey_erasures(stores: Stores, repo: RepositoryRecord, dumped: Iterable[Erasure]) -> bool:
    """Enter the erasures of a dump and of the namespace, and delete the content that they have erased.

    The marks of the dump are restored already. Can be repeated.

    Args:
        stores: Stores of the flow.
        repo: The bare repository.
        dumped: Erasures of the dump.

    Returns:
        True if the repository has erased content.

    Raises:
        GravelerError: The store refuses to delete some of the content (`details["failed"]`). The rest is deleted.
    """
    blobs = stores.blobs.at(repo.storage_namespace)
    there = dict(_adopted(stores, repo))
    ended = dict(there)
    for erasure in dumped:
        if erasure.state is ErasureState.ERASING and erasure.id not in there:
            with suppress(PredicateFailed):
                access.create(stores.kv, keys.erasing(repo.id, repo.uid), erasure, once=True)
        elif erasure.ended is not None:
            ended[erasure.id] = erasure
        else:
            ended[erasure.id] = _as_done(stores, erasure)
    folder = keys.erasures(repo.id, repo.uid)
    for id, erasure in sorted(ended.items()):
        access.write_if_absent(stores.kv, folder.at(id), erasure)
    known, marked = erased_contents(stores.kv, repo), 0
    refused = RefusedDeletions()
    for erasure in ended.values():
        addresses = [mark.address for mark in known.marked(erasure)] if erasure.state is ErasureState.DONE else []
        marked += len(addresses)
        if erasure.id not in there and addresses:
            erasure_files.write(blobs, erasure, addresses)
        refused.add(delete_permitted(blobs, addresses, stores.executor.map))
    try:
        refused.require_none(marked - refused.count)
    except GravelerError as e:
        message = f"repository {repo.id!r} stays bare, because erased content still exists: {e.message}"
        raise type(e)(message, kind=e.kind, **e.details) from e
    return marked > 0 or known.current() is not None


def _adopted(stores: Stores, repo: RepositoryRecord) -> Iterator[tuple[str, Erasure]]:
    """Mark the content that files of the namespace name. Yield the erasures as ended, by id."""
    folder = keys.erased(repo.id, repo.uid)
    for erasure, addresses in erasure_files.read(stores.blobs.at(repo.storage_namespace)):
        done = _as_done(stores, erasure)
        for address in addresses:
            mark = ErasedContent(address=address, size=0, erasure=done.id, round=_RESTORED)
            access.write_if_absent(stores.kv, folder.at(name_of(address)), mark)
        yield done.id, done


def _as_done(stores: Stores, erasure: Erasure) -> Erasure:
    rounds = tuple(sorted({*erasure.rounds, _RESTORED}))
    fields = {"state": ErasureState.DONE, "rounds": rounds, "ended": erasure.ended or stores.clock.now()}
    return erasure.model_copy(update=fields)
