"""Import: create entries for objects that are already in an object store, in one commit, without staging or copying.

1. Read the records, bypassing the cache. If an earlier call has made the commit, return it. Check the permission, and
   check that the source does not overlap a storage namespace.
2. Gather: list the source completely into a tree of the imported entries, to which nothing refers (`gathering`), on
   this machine or on a cluster (`on_cluster`). This may take an hour and blocks no other flow. Changes of the branch
   in the meantime do not matter.
3. Build, also without holding the branch: apply the gathered entries to the head (`building`). This writes ranges
   and nodes, to which nothing refers.
4. Read the records, bypassing the cache, and repeat the checks of step 1. If anything is staged on a path of the
   import, refuse it; changes staged on other paths stay staged. If the head moved, carry the result over to the new
   head. If there is a compacted tree, apply the import to it too. Write header and layout, to which nothing refers.
5. ✓ Swap from the same record that was checked: the head becomes the commit, the compacted tree becomes its new
   version, and the layers stay. This makes the whole import visible. After a failed swap, continue with step 4; the
   gathered entries are kept.

A crash before step 5 leaves blobs to which nothing refers, for a sweep, and the record of the idempotency key, if
there is one. After step 5 there is nothing left to do. A repeated call therefore lists again, and stores only what
the first call did not.

Two calls with the same key may both list and build. Each looks for the key on the chain of the head that it swaps
from, so one of the swaps succeeds, and the other call returns its commit. Without a key, the second call finds that
nothing changes.

Concurrent commits: an import never changes paths outside the imported ones. If another commit changed one of the
imported paths and the import's swap comes later, the import overwrites the change. With `replace`, all paths of the
destination count as imported paths.

An import that changes nothing ends with a closing re-read, then `NoChanges`. A refusal ends in the same way.

An import is refused only if something is staged on one of the imported paths: a layer above the newest restoration
that covers the path has a record of the path or a prefix removal that covers it, or the compacted tree differs from
the head at the path. Such a change would hide the imported entry, and the next commit would revert the import. Changes
staged on other paths stay staged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice

import pyarrow as pa

from graveler_core.committed.diff import KEYS
from graveler_core.committed.index.diff import diff
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.lookup import lookup_many
from graveler_core.committed.index.scan import scan
from graveler_core.committed.trees import DECISIVE
from graveler_core.engine.committing.draft import CommitContent, Draft, new_commit
from graveler_core.engine.committing.earlier_attempts import find_by_key
from graveler_core.engine.committing.head import HeadMove, NewHead, move_head
from graveler_core.engine.importing.building import Built, build_on, carried, on_compacted
from graveler_core.engine.importing.gathering import Gathered, gather, require_something
from graveler_core.engine.importing.namespaces import require_apart
from graveler_core.engine.importing.request import ImportOutcome, ImportRequest, Progress, Tally
from graveler_core.engine.importing.rows import records
from graveler_core.engine.importing.sources import SHOWN
from graveler_core.engine.protocol.registers import fresh
from graveler_core.engine.protocol.restrictions import require_permitted
from graveler_core.engine.reading.view import BranchView, commit_of, view_of
from graveler_core.errors import DirtyBranch, Kind, NoChanges, NotFound
from graveler_core.model.changes import ChangeSummary
from graveler_core.model.clock import Instant
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import BranchId, MetarangeId, Nonce, RepositoryId
from graveler_core.model.importing import ImportMode
from graveler_core.model.index import Index
from graveler_core.model.protection import BranchAction
from graveler_core.objects.build_time import require_in_time
from graveler_core.segments.merge import effect
from graveler_core.segments.sorted_keys import KEY
from graveler_core.staging import stack as staged
from graveler_core.staging.prefixes import LookupSource, spans
from graveler_core.stores import Registers, Stores


@dataclass(slots=True)
class _Call:
    """Values that stay the same over all attempts, and results that are reused."""

    request: ImportRequest
    draft: Draft
    nonce: Nonce
    gathered: Gathered
    built: Built
    """Result for the head that was read last."""
    compacted: dict[MetarangeId, MetarangeId] = field(default_factory=dict)
    """Compacted trees that were found, with the import applied to them."""


def import_objects(
    stores: Stores, repo: RepositoryId, request: ImportRequest, draft: Draft, progress: Progress = lambda more: None
) -> ImportOutcome:
    """Import in one commit, which becomes the head of the branch.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        request: Objects to import, and their destination.
        draft: Message and origin of the commit.
        progress: Receives the number of objects that were listed since the last call, on any listing thread.

    Raises:
        NoChanges: The branch already has all entries. `details["commit"]` is the head.
        DirtyBranch: Paths of the import are staged on the branch. `details["paths"]` has the first hundred.
        NotFound: The repository or the branch does not exist, or there is nothing to import (`ObjectNotFound`).
        InvalidInput: Keys are not valid paths (`InvalidPath`), or the source overlaps the storage namespace of a
            repository (`NamespaceInUse`).
        PermissionDenied: The branch is protected from commits, or the repository is read-only.
        Unavailable: The source cannot be listed (`details["uri"]`), or a store cannot be reached.
        SlowDown: The import took more than ten hours (`RetriesExhausted`).
    """
    draft = request.titled(draft)
    registers = fresh(stores, repo, request.into)
    made = None if request.dry_run else find_by_key(stores, registers, draft)
    if made is not None:
        return ImportOutcome(made)
    require_permitted(registers, BranchAction.COMMIT)
    require_apart(stores, request.source)
    if request.dry_run:
        return foreseen(stores, registers, request, progress)
    return _imported(stores, registers.repository, request, draft, progress)


def _imported(
    stores: Stores, repository: RepositoryRecord, request: ImportRequest, draft: Draft, progress: Progress
) -> ImportOutcome:
    """Gather the objects, build on the head of the branch, and move the head."""
    begun = Instant.of(stores.clock)

    def heard(more: int) -> None:
        progress(more)
        require_in_time(stores.clock, begun, f"import into {request.into!r}")

    gathered = gather(stores, repository, request, heard)
    now = fresh(stores, repository.id, request.into)
    _require_same(repository, now)
    built = build_on(stores, repository, now.branch.commit_id, gathered)
    call = _Call(request, draft, Nonce(stores.ids.fresh()), gathered, built)
    # After an hour of work, the call may wait for another hour before it gives up the result.
    budget = replace(stores.retry_budget, total=stores.retry_budget.total + stores.clock.monotonic() - begun.monotonic)
    move = HeadMove(
        "import into",
        repository.id,
        request.into,
        draft,
        partial(_prepare, stores, call),
        check=partial(_require_same, repository),
        budget=budget,
        begun=begun,
    )
    commit = move_head(stores, move)
    if commit.header.nonce != call.nonce:
        return ImportOutcome(commit)
    done = call.built.made
    return ImportOutcome(commit, ChangeSummary(done.added, done.changed, done.removed), gathered.tally)


def _prepare(stores: Stores, call: _Call, registers: Registers) -> NewHead:
    """Check against one branch record, and prepare what the swap makes visible: the commit and the compacted tree."""
    require_apart(stores, call.request.source)
    repository, branch = registers.repository, registers.branch
    require_unstaged(view_of(stores, registers), call.gathered, branch.id)
    call.built = carried(stores, repository, call.built, branch.commit_id, call.gathered)
    made = call.built.made
    if made.effective == 0 and not call.draft.allow_empty:
        raise NoChanges(f"branch {branch.id!r}: already has all of {call.request.source.name}", commit=branch.commit_id)
    compacted = branch.compacted_metarange
    if compacted is not None:
        if compacted not in call.compacted:
            call.compacted[compacted] = on_compacted(stores, repository, compacted, call.gathered)
        compacted = call.compacted[compacted]
    head = commit_of(stores, repository, branch.commit_id)
    content = CommitContent(made.index, made.operations, (head,), call.nonce)
    commit, writes = new_commit(stores, registers, call.draft, content)
    return NewHead(commit, [*made.writes, *writes], compacted)


def _require_same(began_in: RepositoryRecord, registers: Registers) -> None:
    """Check that the repository is still the one in which the import began, because its namespace has the gathered
    tree.
    """
    now = registers.repository
    if now.uid != began_in.uid:
        raise NotFound(
            f"repository {now.id!r}: was deleted during the import, and another repository has its name",
            kind=Kind.RepositoryNotFound,
            repository=now.id,
        )


def foreseen(stores: Stores, registers: Registers, request: ImportRequest, progress: Progress) -> ImportOutcome:
    """List the source and compare it with the head. Staged changes are ignored. Raises the same errors as `gather`."""
    indexes = stores.indexes(registers.repository)
    head = commit_of(stores, registers.repository, registers.branch.commit_id).layout.index
    tally = Tally()
    added = changed = held = 0
    for table in stores.executor.ahead(records(request, request.source.pages(stores), tally, progress)):
        found = lookup_many(indexes, head, table.column(KEY).to_pylist(), DECISIVE)
        effects = effect(found, table)
        added, changed, held = added + effects.added, changed + effects.changed, held + found.num_rows
    require_something(request, tally)
    removed = 0
    if request.mode is ImportMode.REPLACE:
        removed = sum(page.num_rows for page in _held(indexes, head, request)) - held
    return ImportOutcome(None, ChangeSummary(added, changed, removed), tally)


def _held(indexes: Indexes, head: Index, request: ImportRequest) -> Iterator[pa.Table]:
    return scan(indexes, head, prefix=request.below.encode())


def require_unstaged(view: BranchView, gathered: Gathered, branch: BranchId) -> None:
    """Raise `DirtyBranch` if something is staged on a path of the import. `details["paths"]` has the first hundred.

    A write that is acknowledged after this check is ordered after the import, and stays staged on top of it.
    """
    # Staged changes may begin after a prefix, between the bytes of a character.
    paths = [key.decode(errors="replace") for key in islice(_staged(view, gathered), SHOWN)]
    if paths:
        raise DirtyBranch(
            f"import: some of its paths are staged on branch {branch!r}, the first is {paths[0]!r}; "
            "commit or reset them first",
            branch=branch,
            paths=paths,
        )


def _staged(view: BranchView, gathered: Gathered) -> Iterator[bytes]:
    start, end = gathered.span()
    for page in staged.scan(view.stack, start=start, end=end):
        yield from gathered.among(page.column(KEY).to_pylist())
    for span in spans(view.stack.layers, start, end):
        if span.source is LookupSource.NOTHING:
            first = gathered.first_of(span.start, span.end)
            if first is not None:
                yield first
        elif span.source is LookupSource.BASE and view.compacted is not None:
            for found in diff(view.indexes, view.head, view.compacted, start=span.start, end=span.end, wanted=KEYS):
                yield from gathered.among(found.keys.to_pylist())
