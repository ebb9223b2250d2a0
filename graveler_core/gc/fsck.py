"""A check of everything that is stored for a repository. Changes nothing.

1. What is stored: one listing of the storage namespace, one scan of the objects, which hashes them.
2. Branches and tags; from them headers, layouts, nodes, ranges and runs, each once. A header's id, the generation, and
   the operations digest against the changes that the commit itself holds. Deep, every range and run is read and hashed,
   every digest is found anew from the content of the commit and of its first parent, and staged records are decoded.
3. Branches and tags again, and what they lead to since.
4. What was stored in 1 and was not met in 2 and 3, nor is named by a commit that nothing leads to any more or by a
   layout before it was replaced, is unreachable. Not told where something on the way could not be read: then nobody
   knows what it led to.

Others go on meanwhile. What they make is younger than 1 and never called unreachable; what 2 misses is looked for once
more where it should be; a record that changed since it was read is read again. Commits that are under construction are
unreachable until their branch moves. Damage ends nothing: a store that cannot be reached does.

Memory is bounded by the number of things, not by what they hold: some 250 bytes a blob or small run, 400 a commit.
"""

from __future__ import annotations

from collections.abc import Iterator

from graveler_core.gc.findings import Finding, Thing, Trouble
from graveler_core.gc.inspection import Inspection, begun
from graveler_core.gc.stock import CONTENT, Progress
from graveler_core.model.entities import Repository
from graveler_core.stores import Stores


def fsck(
    stores: Stores, repo: Repository, *, deep: bool = False, progress: Progress = lambda more: None
) -> Iterator[Finding]:
    """What is wrong with a repository, lazily: damage as it is met, what is unreachable at the end.

    Args:
        deep: Read every range, every run and every staged record; as long as reading the repository, and a comparison
            of each commit with its parent.
        progress: Told how many more things were looked at.

    Raises:
        Unavailable, SlowDown: the stores cannot be read.
    """
    check = begun(stores, repo, deep=deep, progress=progress)
    yield from check.names.claim()
    yield from check.names.default_branch()
    yield from check.names.waiting()
    yield from check.walk_all()
    if deep:
        yield from check.contents.check_operations()
        yield from check.log.check_operations()
    yield from _unreachable(check)


def _unreachable(check: Inspection) -> Iterator[Finding]:
    """What nothing leads to, once all is noted that something does."""
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
    for address, size in check.stock.foreign.items():
        yield _left_over(Thing.BLOB, address, size)


def _left_over(thing: Thing, id: str, size: int) -> Finding:
    return Finding(Trouble.UNREACHABLE, thing, id, "nothing names it", size=size)
