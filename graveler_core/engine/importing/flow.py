"""Import: entries for objects that lie in an object store already, in one commit, without staging. Nothing is copied.

1. Records, fresh: an earlier call's commit ends this one; permission; the source lies apart from all namespaces.
2. Gather: the source is listed, to its end, into a tree of the imported entries that nothing names (`gathered`), here
   or on a cluster (`spreading`). This may take an hour and holds nobody up. What the branch does meanwhile does not
   matter.
3. Build, also outside the branch's turn: what was gathered is put on the head (`building`). Ranges, nodes; unreachable.
4. Records, fresh; all of 1 again; anything staged where the import has a say refuses it, what is staged elsewhere stays
   as it is (`unstaged`). If the head moved, what was built is carried over to it. Applied to the compacted tree too,
   where there is one. Header and layout; unreachable.
5. ✓ One swap from the very record that was checked: head := commit, compacted tree := its new version, layers stay. It
   makes the import visible, all of it. A lost swap goes back to 4: what was gathered is kept.

A crash before 5 leaves blobs that nothing names, for a collection, and the note of the idempotency key, if there is
one; after 5 nothing is left to do. So a repeated call lists again, and stores only what the first did not.

Two calls under one key: both may list and build, each looks for the key on the chain of the head that it swaps from, so
one of the swaps succeeds, and the other call gives its commit. Without a key the second finds that nothing changes.

Concurrent commits: an import never overwrites what it did not see, but for the paths that are its own, where it comes
after them, as its swap does. With `replace` all paths of its destination are its own.

An import that changes nothing ends with a closing re-read, then `NoChanges`; so does a refusal.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from graveler_core.engine.advance import Tried, advance
from graveler_core.engine.draft import Content, Draft, build
from graveler_core.engine.earlier import made_by_call, made_under_key
from graveler_core.engine.importing.apart import require_apart
from graveler_core.engine.importing.building import Built, build_on, carried, on_compacted
from graveler_core.engine.importing.foreseen import foreseen
from graveler_core.engine.importing.gathered import Gathered, gather
from graveler_core.engine.importing.request import ImportRequest, Outcome, Progress
from graveler_core.engine.importing.unstaged import require_unstaged
from graveler_core.engine.permitted import require_permitted
from graveler_core.engine.registers import fresh, same_content
from graveler_core.engine.retry import attempts
from graveler_core.engine.swap import record_writes, without_layer
from graveler_core.engine.view import commit_of, view_of
from graveler_core.errors import CorruptData, DirtyBranch, Kind, NoChanges, NotFound
from graveler_core.model.changes import ChangeSummary
from graveler_core.model.entities import Repository
from graveler_core.model.ids import CommitId, MetarangeId, Nonce, RepositoryId
from graveler_core.model.protection import Action
from graveler_core.objects.commits import StoredCommit
from graveler_core.stores import Registers, RetryBudget, Stores


@dataclass(slots=True)
class _Call:
    """What stays over all attempts."""

    request: ImportRequest
    draft: Draft
    nonce: Nonce
    gathered: Gathered
    built: Built
    """On the head that was seen last."""
    compacted: dict[MetarangeId, MetarangeId] = field(default_factory=dict)
    """Compacted trees that were met, with the import in them."""


def import_objects(
    stores: Stores, repo: RepositoryId, request: ImportRequest, draft: Draft, progress: Progress = lambda more: None
) -> Outcome:
    """Import in one commit, the branch's new head.

    Args:
        progress: Told how many more objects were listed, on whatever thread lists them.

    Raises:
        NoChanges: the branch holds all of it as it is; `details["commit"]` is the head.
        DirtyBranch: paths of the import are staged on the branch; `details["paths"]` has the first hundred.
        NotFound: no such repository or branch; (`ObjectNotFound`) there is nothing to import.
        InvalidInput: (`InvalidPath`) keys that are no valid paths; (`NamespaceInUse`) the source overlaps the storage
            namespace of a repository.
        PermissionDenied: the branch is protected from commits, or the repository is read-only.
        Unavailable: the source cannot be listed (`details["uri"]`), or a store not be reached.
    """
    tried, draft = Tried(), request.titled(draft)
    registers = fresh(stores, repo, request.into)
    made = None if request.dry_run else made_under_key(stores, registers, draft)
    if made is not None:
        return Outcome(made)
    require_permitted(registers, Action.COMMIT)
    require_apart(stores, request.source)
    if request.dry_run:
        return foreseen(stores, registers, request, progress)
    began = stores.clock.monotonic()
    repository = registers.repository
    gathered = gather(stores, repository, request, progress)
    now = fresh(stores, repo, request.into)
    _require_same(repository, now.repository)
    built = build_on(stores, repository, now.branch.commit_id, gathered)
    call = _Call(request, draft, Nonce(stores.ids.fresh()), gathered, built)
    # Who has worked for an hour may wait for as long before that is thrown away.
    budget = replace(stores.retry_budget, total=stores.retry_budget.total + stores.clock.monotonic() - began)
    with stores.turns.turn(repo, request.into), tried.told():
        commit = _installed(stores, repository, call, tried, budget)
    if commit.header.nonce != call.nonce:
        return Outcome(commit)
    done = call.built.made
    return Outcome(commit, ChangeSummary(done.added, done.changed, done.removed), gathered.tally)


def _installed(stores: Stores, began_in: Repository, call: _Call, tried: Tried, budget: RetryBudget) -> StoredCommit:
    repo, into = began_in.id, call.request.into
    began: CommitId | None = None
    for _ in attempts(stores, f"import into {repo}/{into}", budget):
        registers = fresh(stores, repo, into)
        began = began or registers.branch.commit_id
        _require_same(began_in, registers.repository)
        made = made_under_key(stores, registers, call.draft) or made_by_call(stores, registers, tried, began)
        if made is not None:
            return made
        require_permitted(registers, Action.COMMIT)
        require_apart(stores, call.request.source)
        try:
            commit, compacted = _prepared(stores, registers, call)
        except CorruptData as missing:
            without_layer(stores, registers, missing)
            continue
        except (DirtyBranch, NoChanges):
            if same_content(registers, fresh(stores, repo, into)):
                raise
            continue
        record = registers.branch.model_copy(update={"commit_id": commit.id, "compacted_metarange": compacted})
        if advance(stores, registers, record, commit.id, tried):
            return commit
    raise AssertionError("attempts() raises when it ends")


def _prepared(stores: Stores, registers: Registers, call: _Call) -> tuple[StoredCommit, MetarangeId | None]:
    """Check against one branch record, write all that the swap will make visible: the commit, the compacted tree."""
    repository, branch = registers.repository, registers.branch
    require_unstaged(view_of(stores, registers), call.gathered, branch.id)
    call.built = carried(stores, repository, call.built, branch.commit_id, call.gathered)
    made = call.built.made
    if made.effective == 0 and not call.draft.allow_empty:
        raise NoChanges(
            f"branch {branch.id!r}: holds all of {call.request.source.name} as it is", commit=branch.commit_id
        )
    compacted = branch.compacted_metarange
    if compacted is not None:
        if compacted not in call.compacted:
            call.compacted[compacted] = on_compacted(stores, repository, compacted, call.gathered)
        compacted = call.compacted[compacted]
    head = commit_of(stores, repository, branch.commit_id)
    content = Content(made.index, made.operations, (head,), call.nonce)
    commit, writes = build(stores, registers, call.draft, content)
    record_writes(stores, [*made.writes, *writes])
    return commit, compacted


def _require_same(began_in: Repository, now: Repository) -> None:
    """What was gathered is in the namespace of the repository in which the import began."""
    if now.uid != began_in.uid:
        raise NotFound(
            f"repository {now.id!r}: was deleted during the import, and another bears its name",
            kind=Kind.RepositoryNotFound,
            repository=now.id,
        )
