"""The actors that merge: from the side branch, or from branches of their own that replace a prefix."""

from __future__ import annotations

from graveler_core.engine.committing import commit
from graveler_core.engine.committing.draft import Draft
from graveler_core.engine.merging import merge
from graveler_core.engine.merging.sides import MergeRequest
from graveler_core.engine.references.branching import create_branch
from graveler_core.engine.staging import bulk, write
from graveler_core.model.changes import MergeForm, MergeStrategy
from graveler_core.model.ids import BranchId, CommitId
from graveler_core.objects.commits import StoredCommit
from graveler_core.refs.branches import get_branch
from graveler_core.refs.repositories import get as get_repository
from graveler_core.stores import Stores
from tests.proofs.simulation.cast import PATHS, PREFIXES, SIDE, WORK, Cast
from tests.proofs.simulation.history import REPO, Operation
from tests.proofs.simulation.observe import Observer


def merge_side(cast: Cast, stores: Stores, name: str) -> None:
    for _ in range(cast.chance.choice([1, 1, 2])):
        on_the_side(cast, stores, name)
    mark = cast.mark()
    form = form_of(cast)
    with cast.history.operation("merge", name, mark=mark) as operation:
        strategy = cast.chance.choice([None, MergeStrategy.SOURCE])
        request = MergeRequest(source_of(operation, stores, SIDE, form), WORK, strategy, form=form)
        changed(cast.observer, operation, merge.merge(stores, REPO, request, Draft(mark, name)))


def form_of(cast: Cast) -> MergeForm:
    """Commits that a merge makes."""
    chance = cast.chance.random()
    return MergeForm.COMMIT if chance < 0.4 else MergeForm.REPLAY if chance < 0.7 else MergeForm.SQUASH


def source_of(operation: Operation, stores: Stores, branch: BranchId, form: MergeForm) -> str:
    """What a merge names: the branch, or for a squash, which does not record its source, the branch's head."""
    if form is not MergeForm.SQUASH:
        return branch
    repo = get_repository(stores.kv, stores.clock, stores.ids, REPO)
    operation.source = get_branch(stores.kv, repo, branch).value.commit_id
    return operation.source


def on_the_side(cast: Cast, stores: Stores, name: str) -> None:
    """A commit that can be merged or replayed."""
    path, entry = cast.chance.choice(PATHS), cast.entry()
    cast.side_values.add((path, entry.size))
    with cast.history.operation("on the side", name):
        write.stage(stores, REPO, SIDE, path, entry)
        commit.commit(stores, REPO, SIDE, Draft(cast.aside(), name))


def publish(cast: Cast, stores: Stores, name: str) -> None:
    """One file in the place of all that the head holds under a prefix, by a merge that depends on the prefix.

    The source wins every conflict, so nothing but the prefix keeps two of these calls apart. `expected` is what the
    merge base holds under the prefix.
    """
    prefix, run = PREFIXES[0], BranchId(f"run-{next(cast.numbers)}")
    files = [path for path in PATHS if path.startswith(prefix)]
    path, entry = cast.chance.choice(files), cast.entry()
    form = form_of(cast)
    with cast.history.operation("on the side", name) as prepared:
        base: CommitId = create_branch(stores, REPO, run, WORK).commit_id
        bulk.remove_prefix(stores, REPO, run, prefix)
        write.stage(stores, REPO, run, path, entry)
        commit.commit(stores, REPO, run, Draft(cast.aside(), name))
    if prepared.error is not None:
        return
    held = dict(cast.observer.targets()).get(base, {})
    may_set = frozenset((file, entry.size if file == path else None) for file in files)
    expected = {file: held.get(file) for file in files}
    with cast.history.operation("merge", name, mark=cast.mark(), may_set=may_set, expected=expected) as operation:
        source = source_of(operation, stores, run, form)
        request = MergeRequest(source, WORK, MergeStrategy.SOURCE, form=form, unchanged=(prefix,))
        made = merge.merge(stores, REPO, request, Draft(operation.mark, name))
        changed(cast.observer, operation, made)
        operation.may_set = frozenset()


def changed(observer: Observer, operation: Operation, made: StoredCommit) -> None:
    """What a commit changed, once it is made: before, nobody knows."""
    operation.answer = made.id
    # A head that nobody saw is that of a repository which was deleted meanwhile.
    if made.id in observer.heads:
        repo, _ = observer.heads[made.id]
        replaced = made.header.parents[0]
        while replaced not in observer.heads:
            replaced = observer.header(repo, replaced).parents[0]
        before, after = (observer.content(repo, c) for c in (replaced, made.id))
        operation.sets = {path: after.get(path) for path in PATHS if before.get(path) != after.get(path)}
