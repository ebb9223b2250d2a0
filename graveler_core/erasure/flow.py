"""Erasure: the content of some paths is deleted in all history, and branches lose the paths.

    (none)  ──begin──▶  erasing  ──▶  deleting  ──▶  done
                           └──▶  withdrawn

0. Read the names (`erasure.survey`). Refuse content that cannot be deleted, content that other paths or repositories
   share, and paths that protected branches show. Nothing is written before this step has ended.
1. Create the record `erasing` ✓. A repository has one erasure under way; another one ends it first.
2. Mark the address of each matching entry (`objects.erased`) as a round of this process, then list the round in the
   record ✓. From now on, nobody can stage these addresses (`engine.staging.kept_content`).
3. Count the erasure in the repository record ✓.
4. Remove the paths from all branches by ordinary commits ✓, and swap the record of every other branch ✓
   (`erasure.branches`).
5. Read the names again. If entries at the paths have other addresses, go back to 2. If other paths share the content
   now, enter the erasure as `withdrawn` ✓. This includes content that is marked and that no entry at the paths names
   any more. Otherwise enter it as `deleting` ✓.
6. Write the files of the erasure into the namespace (`objects.erasure_files`), delete the objects, enter the erasure
   under `erasures/<id>` as `done` ✓, and remove the record `erasing` ✓. Before each batch of deletions, check that the
   repository still owns the namespace (`gc.own_namespace`). If the store refuses to delete some of the objects, delete
   the others, and stay `deleting`. The next call tries again. Collections go on in the meantime.

Trees, layouts and ids do not change. A read finds an object missing, finds its mark, and reports the erasure.

Proof that no content is deleted that another path has got meanwhile. The address of an entry comes from the flow that
stored the content, from an entry that is staged by its address, or from another name of the same path. Consider an
entry at another path that is staged by its address and acknowledged:

* A single write ends with a re-read of the repository record. If the re-read comes before step 3, step 5 finds the
  entry. Otherwise the write finds another record, checks its address again, and finds the mark.
* A layer, a transaction and a resolution of a merge end with a swap of the branch record. After they have read it,
  they read the repository record, and look for marks if it counts an erasure. If the swap comes before step 4, step 5
  finds the entry. Otherwise the swap fails. They read the branch record again, and check again. So do flows on a
  branch that is created later. A layer that was built before is built again if the repository record, which is read
  after the branch record, counts another erasure.
* Commits, merges, reverts and new branches move names and create none, so their paths match the rule.

Content that is put at an erased path in the meantime has a new address. If step 5 finds its entry, its address is
marked, the branch loses the path, and the content is erased. If the put was not acknowledged before, its re-read finds
another repository record, and it checks the address of its first attempt (`engine.staging.write`). Otherwise the entry
is newer than the erasure, and its content stays. Afterwards no path shows erased content, except in commits, and on
branches to which an old commit is brought back: by a revert, a merge, a new branch, or an undeletion.

Two processes may work on one erasure. All decisions are swaps of the record, which every listing of a round changes. So
`deleting` can only follow a step 5 that found all listed marks. A process lists only its own rounds, after it has
written their marks. So the marks that a late process writes afterwards do not count: its swap fails, and nobody else
lists their round. A process that finds an address marked, but no round of the mark listed, adds its own round to the
mark, because the author of the mark may have died.
The steps of `deleting` can be repeated by anybody at any time: marks that count never change, and graveler never uses
an address again.

After a kill, the record says where to go on. The next call of `erase` in the repository and the next collection do so.
Then the call erases what it was asked for, because its paths may have got content since the former erasure read the
names.
If a repository is deleted, the erasure waits until it is restored. A dump contains the records and marks; a restoration
deletes the content of erasures that are `deleting` or `done`.
"""

from __future__ import annotations

from graveler_core.erasure.branches import require_removable
from graveler_core.erasure.report import Erased, naming_commits
from graveler_core.erasure.standing import ROUNDS, ErasurePlan, StandingErasure
from graveler_core.erasure.survey import Survey, refusal, sharing, survey
from graveler_core.errors import GravelerError, InvalidInput, Kind, NotFound, SlowDown
from graveler_core.gc.own_namespace import require_own_namespace
from graveler_core.gc.stock import Progress
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.erasure import Erasure, ErasureRule, ErasureState
from graveler_core.objects.erased import erased_contents
from graveler_core.refs import repositories
from graveler_core.stores import Stores


def erase(
    stores: Stores, repo: RepositoryRecord, plan: ErasurePlan, *, progress: Progress = lambda more: None
) -> Erased:
    """Erase the content of some paths. A repetition completes an interrupted call.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        plan: What to erase.
        progress: Called with the number of items examined since the last call.

    Returns:
        A report.

    Raises:
        NotFound: No commit and no branch has ever had the paths (`PathNotFound`), or the repository was deleted.
        InvalidInput: The repository is bare, or content cannot be deleted: it is inside entries, or not in the
            repository's namespace. Nothing was changed.
        LimitExceeded: (`MetadataTooLarge`) The texts of the commits are too long together. Nothing was changed.
        Conflict: Other paths or repositories refer to the content (`ContentShared`). No content was deleted. If they
            were staged in the meantime, branches may have lost the paths.
        PermissionDenied: The repository is read-only, or a branch that shows the paths is protected.
        CorruptData: An item that names objects is missing or damaged, so it is unknown what shares the content. Or the
            namespace belongs to another repository. Nothing more was deleted.
        SlowDown: The paths are written again and again, or others erase all the time. Erase again.
        Unavailable, OutcomeUnknown: Erase again. If the store refuses to delete some objects, all others are deleted.
    """
    if repo.bare:
        raise InvalidInput(f"erase: repository {repo.id!r} is bare")
    require_own_namespace(stores, repo, dry_run=plan.dry_run)
    if plan.dry_run:
        return _foreseen(stores, repo, plan, progress)
    repositories.require_changeable(repo)
    for _ in range(ROUNDS):
        erased = _attempt(stores, repo, plan, progress)
        if erased is not None:
            return erased
    raise SlowDown(f"erase: other erasures of repository {repo.id!r} came first, {ROUNDS} times; try again later")


def _attempt(stores: Stores, repo: RepositoryRecord, plan: ErasurePlan, progress: Progress) -> Erased | None:
    """Complete the erasure that is under way, and erase what is left. Return `None` if others came first.

    The former erasure may have read the names before this call began. So it replaces a new one only if it has the same
    paths, and this process itself has made the decision to delete.
    """
    work = StandingErasure(stores, repo, progress)
    ended = work.run()
    done = None
    if ended is None or ended.rule != plan.rule:
        work = StandingErasure(stores, repo, progress)  # the report contains nothing of other paths
    elif ended.state is ErasureState.DONE:
        done = ended
    if done is not None and done.id in work.decided:
        return work.report(done)
    found = survey(stores, repo, plan.rule, progress)
    if done is None:
        _require_any(repo, plan.rule, found)
    _require_admitted(stores, repo, plan, found, progress)
    if not found.objects.num_rows:
        work.remove_paths(plan)
        return work.report(done or plan)
    id = work.begin(plan)
    if not id:
        return None
    work.run()
    own = erased_contents(stores.kv, repo).find(id)
    if own is None:
        return None
    work.require_done(own)
    return work.report(own)


def resume(stores: Stores, repo: RepositoryRecord, *, progress: Progress = lambda more: None) -> GravelerError | None:
    """Complete the erasure that is under way, if there is one.

    Returns:
        The reason for which the store refuses to delete some of its objects, or `None`. The others are deleted.

    Raises:
        GravelerError: As for `erase`.
    """
    work = StandingErasure(stores, repo, progress)
    try:
        work.run()
    except GravelerError as e:
        if e is not work.undeleted:
            raise
    return work.undeleted


def erasures(stores: Stores, repo: RepositoryRecord) -> list[Erasure]:
    """Return the erasures of a repository, oldest first. The last one may be under way."""
    known = erased_contents(stores.kv, repo)
    current = known.current()
    ended = list(known.ended())
    if current is not None and current.value.id not in {one.id for one in ended}:
        ended.append(current.value)
    return ended


def _foreseen(stores: Stores, repo: RepositoryRecord, plan: ErasurePlan, progress: Progress) -> Erased:
    found = survey(stores, repo, plan.rule, progress)
    _require_any(repo, plan.rule, found)
    shared = sharing(stores, repo, plan.rule, found.objects, progress)
    return Erased(
        dry_run=True,
        rule=plan.rule,
        entries=found.entries,
        objects=found.objects.num_rows,
        size=found.size,
        naming=naming_commits(stores, repo, plan.rule, progress),
        shared=shared,
        inline=found.inline,
        outside=found.outside,
    )


def _require_any(repo: RepositoryRecord, rule: ErasureRule, found: Survey) -> None:
    if not (found.entries or found.inline or found.outside):
        raise NotFound(
            f"erase: no commit and no branch of repository {repo.id!r} has ever had {rule}", kind=Kind.PathNotFound
        )


def _require_admitted(
    stores: Stores, repo: RepositoryRecord, plan: ErasurePlan, found: Survey, progress: Progress
) -> None:
    """Refuse an erasure that cannot or must not delete what it finds, or whose paths a protected branch shows."""
    shared = [] if plan.shared else sharing(stores, repo, plan.rule, found.objects, progress)
    refused = refusal(plan.rule, found, shared)
    if refused is not None:
        raise refused
    require_removable(stores, repo, plan.rule)
