"""Check of all stored data of a repository. It only reads, except that it records a check of user data.

1. List the stored items: one listing of the storage namespace, and one scan of the objects, which hashes them.
2. Read branches and tags, and from them headers, layouts, nodes, ranges and runs, each once. Check the header's id,
the generation, and the operations digest against the changes that the commit itself contains. If the digests differ,
compare the commit with its first parent, which distinguishes a wrong inline index from wrong content. A deep check
also reads and hashes every range and run, computes every digest again from the content of the commit and its first
parent, and decodes staged records.
3. Read branches and tags again, and the data that they have reached since.
4. Report as unreachable the items of step 1 that steps 2 and 3 did not reach and that neither an unreachable commit
nor a replaced layout names. If an item could not be read, nothing is reported as unreachable, because it is unknown
which items it named.

Other processes may work concurrently. Items that they create are younger than step 1 and never reported as
unreachable. Items that step 2 misses are looked up once more, and records that have changed are read again. Commits
under construction are unreachable until their branch moves. Damage does not end the check; an unreachable store
does.

With `data`, the objects that entries name are checked last: see `gc.data_check`.

Memory is proportional to the number of items, not to their size: about 250 bytes for each blob or small run, and 400
bytes for each commit.
"""

from __future__ import annotations

from collections.abc import Iterator

from graveler_core.gc.collection_record import CollectionRecord
from graveler_core.gc.data_check import DataCheckPlan, DataProgress, check_data
from graveler_core.gc.findings import Finding, Thing, Trouble
from graveler_core.gc.inspection import Inspection, begun
from graveler_core.gc.stock import CONTENT, Progress
from graveler_core.model.entities import RepositoryRecord, RepositoryState
from graveler_core.objects import erasure_files
from graveler_core.objects.erased import erased_contents
from graveler_core.objects.incomplete_commits import commits_left
from graveler_core.stores import Stores


def fsck(  # noqa: PLR0913 - the options of a check
    stores: Stores,
    repo: RepositoryRecord,
    *,
    deep: bool = False,
    data: bool = False,
    checksums: bool = False,
    resume: bool = False,
    progress: Progress = lambda more: None,
    remaining: Progress = lambda more: None,
) -> Iterator[Finding]:
    """Yield the problems of a repository, lazily: damage as it is found, then unreachable data, then problems of the
    objects that entries name. An incomplete repository gives one finding, with the number of commits without index.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        deep: Also read every range, every run and every staged record. This takes as long as reading the whole
            repository and comparing each commit with its parent.
        data: Also check that every object that an entry names exists and has the right size.
        checksums: Also read these objects and compare their content with the checksums of entries. Implies `data`.
        resume: With `checksums`, continue an unfinished check, if there is one: see `gc.data_check_record`.
        progress: Called with the number of items examined since the last call.
        remaining: Called with the number of items that are still to be examined, once it is known: with `checksums`,
            when the objects to read have been chosen.

    Raises:
        Unavailable, SlowDown: The stores cannot be read.
    """
    if repo.state is RepositoryState.INCOMPLETE:
        yield _incomplete(stores, repo)
        return
    told, commits_lost = set[tuple[Thing, str]](), False
    for finding in _of_structure(begun(stores, repo, deep=deep, progress=progress)):
        if finding.damage:
            told.add((finding.thing, finding.id))
        if finding.trouble is Trouble.MISSING and finding.thing in (Thing.COMMIT, Thing.LAYOUT):
            commits_lost = True
        yield finding
    if data or checksums:
        plan = DataCheckPlan(checksums, resume, commits_lost)
        found = check_data(stores, repo, plan, DataProgress(progress, remaining))
        yield from (finding for finding in found if (finding.thing, finding.id) not in told)


def _incomplete(stores: Stores, repo: RepositoryRecord) -> Finding:
    why = (
        f"{commits_left(stores.kv, repo):,} commits have no index: complete it with `graveler migrate complete "
        f"graveler://{repo.id}`, or delete it"
    )
    return Finding(Trouble.INCOMPLETE, Thing.REPOSITORY, repo.id, why)


def _of_structure(check: Inspection) -> Iterator[Finding]:
    """Yield the problems of everything except the objects that entries name."""
    yield from check.names.claim(check.stock.owners)
    yield from check.names.default_branch()
    yield from check.names.waiting()
    yield from check.walk_all()
    if check.deep:
        yield from check.contents.check_operations()
        yield from check.log.check_operations()
    yield from _unreachable(check)


def _unreachable(check: Inspection) -> Iterator[Finding]:
    """Yield the unreachable data, after all reachable data has been noted."""
    alone = list(check.note_rest())
    yield from (finding for finding in alone if finding.damage)
    if check.blind:
        return
    yield from (finding for finding in alone if not finding.damage)
    yield from check.names.left_behind(check.began)
    for object_id, stored in check.stock.objects.items():
        if object_id not in check.walk.objects:
            yield _left_over(Thing.OBJECT, object_id.hex(), stored.size)
    for blob_id, blob in check.stock.blobs.items():
        if blob_id not in check.walk.blobs:
            yield _left_over(Thing.BLOB, CONTENT + blob_id.hex(), blob.size)
    for layer, files in check.stock.staged.items():
        if layer not in check.names.listed:
            yield _left_over(Thing.LAYER, layer, files.size)
    record, erasures = CollectionRecord(check.stores, check.repository), _erasures(check)
    for address, size in check.stock.foreign.items():
        if not record.lists(address) and erasure_files.erasure_of(address) not in erasures:
            yield _left_over(Thing.BLOB, address, size)


def _erasures(check: Inspection) -> set[str]:
    known = erased_contents(check.stores.kv, check.repository)
    current = known.current()
    return {*(() if current is None else (current.value.id,)), *(erasure.id for erasure in known.ended())}


def _left_over(thing: Thing, id: str, size: int) -> Finding:
    return Finding(Trouble.UNREACHABLE, thing, id, "nothing refers to it", size=size)
