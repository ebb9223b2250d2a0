"""Merge, cherry-pick, transplant and revert. Every method only delegates to `engine`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graveler_core.engine.committing.draft import Draft
from graveler_core.engine.merging import merge, sides, transplant
from graveler_core.engine.merging.sides import MergeRequest
from graveler_core.engine.merging.transplant import Replay
from graveler_core.engine.reading.history import DiffQuery
from graveler_core.engine.reading.tables import conflicts_of
from graveler_core.errors import InvalidInput
from graveler_core.facade.handle import Handle
from graveler_core.facade.history import CommitRecord, commit_record
from graveler_core.facade.listing import Listing
from graveler_core.facade.merge_form import merge_form
from graveler_core.guard import needs
from graveler_core.guard.merges import merged, replayed
from graveler_core.guard.operation import operation
from graveler_core.model.bounds import Bounds
from graveler_core.model.changes import MergeConflict, MergeStrategy, Resolved
from graveler_core.model.names import branch_id, many_prefixes
from graveler_core.model.permission import Action


class Merging(Handle):
    """Methods of `Repository` that apply changes of some commits to a branch."""

    @operation("merge", needs.branch(Action.CREATE_COMMIT, named="into"), merged, needs.committer(), branch="into")
    def merge(  # noqa: PLR0913 - one call, all of it optional
        self,
        source: str,
        into: str,
        *,
        message: str = "",
        committer: str = "",
        metadata: Mapping[str, str] | None = None,
        strategy: str | None = None,
        resolve: Mapping[str, Resolved] | None = None,
        squash: bool | None = None,
        replay: bool = False,
        allow_empty: bool = False,
        allow_unrelated: bool = False,
        unchanged: Sequence[str] = (),
        idempotency_key: str = "",
    ) -> CommitRecord:
        """Merge the commit of a ref into a branch, in one step.

        By default one merge commit is made. It has two parents: the previous head of the branch, and the source.

        Args:
            source: Ref expression of the commit to merge.
            into: Name of the destination branch.
            message: Message of the commit. With `replay`, it replaces the message of the last repeated commit.
            committer: Name of the committer. With access control the caller's user name, unless the caller may set
            another one.
            metadata: Metadata of the commit, as text by key. With `replay`: added to the metadata of the last
            repeated commit; a key that both have takes this value.
            strategy: Side that wins if both sides changed a path: "source", "destination", or `None` for a conflict.
            resolve: Result for single paths, regardless of the strategy: "source", "destination", an `Entry`, or
            `None` for no entry. The source must have changed each path; it need not be a conflict.
            squash: Make one commit with one parent, the previous head of the branch, as `git merge --squash` does. The
            commit does not record the source: a later merge of the same source compares with the same merge base again.
            The word had another meaning before: `False` is refused, and `True` warns (`FutureWarning`).
            replay: Repeat the source's commits, oldest first, each with its own message. The last one has the source as
            its second parent.
            allow_empty: Create the merge commit even if it changes nothing.
            allow_unrelated: Merge histories without a common commit, as if both had begun empty.
            unchanged: Prefixes below which the destination must have the same content as the merge base. Use it for a
            source that replaces everything below a prefix: files that another merge has added there since would
            otherwise stay. "" means the whole content.
            idempotency_key: Name of this call. A later call with the same key returns the commit that this call
            created.

        Returns:
            The new head of the branch.

        Raises:
            NoChanges: the branch already contains the source, or the source changes nothing here (with `replay`: none
            of its commits does); `details["commit"]` is the branch's head.
            Conflict: (`MergeConflict`) both sides changed some paths; `details["conflicts"]` lists the first
            thousand of `details["count"]`, and `conflicts` lists all. (`PrefixChanged`) the destination has changed
            below some prefixes of `unchanged`: `details["prefixes"]` lists them, and `details["paths"]` the first ten
            changed paths of each.
            DirtyBranch: the destination has uncommitted changes.
            NotFound: (`NoMergeBase`) the histories are unrelated.
            InvalidInput: the source did not change a path in `resolve`; `details["paths"]` lists these paths. Or
            `squash` and `replay` cannot be combined like this.
        """
        rules = (
            _strategy(strategy),
            resolve or {},
            merge_form(squash, replay),
            allow_unrelated,
            many_prefixes(unchanged),
        )
        draft = Draft(message, committer, metadata or {}, allow_empty, idempotency_key)
        return commit_record(merge.merge(self._stores, self.id, MergeRequest(source, branch_id(into), *rules), draft))

    @operation("check merge", needs.branch(Action.CREATE_COMMIT, named="into"), merged, branch="into")
    def check_merge(  # noqa: PLR0913 - the arguments of `merge`
        self,
        source: str,
        into: str,
        *,
        strategy: str | None = None,
        resolve: Mapping[str, Resolved] | None = None,
        squash: bool | None = None,
        replay: bool = False,
        allow_empty: bool = False,
        allow_unrelated: bool = False,
        unchanged: Sequence[str] = (),
        idempotency_key: str = "",
    ) -> None:
        """Raise the error that `merge` would raise now with the same arguments. Change nothing.

        The answer is that of one moment: a later merge may be refused nevertheless.

        Args:
            source: Ref expression of the commit to merge.
            into: Name of the destination branch.
            strategy: As for `merge`, like all further arguments.
            resolve: Results for single paths.
            squash: Make one commit with one parent.
            replay: Repeat the source's commits.
            allow_empty: Allow a merge that changes nothing.
            allow_unrelated: Allow histories without a common commit.
            unchanged: Prefixes below which the destination must not have changed since the merge base.
            idempotency_key: Name of the merge. If a merge with this key has been made, nothing is checked.

        Raises:
            GravelerError: the errors of `merge`.
        """
        rules = (
            _strategy(strategy),
            resolve or {},
            merge_form(squash, replay),
            allow_unrelated,
            many_prefixes(unchanged),
        )
        draft = Draft("", allow_empty=allow_empty, idempotency_key=idempotency_key)
        merge.check(self._stores, self.id, MergeRequest(source, branch_id(into), *rules), draft)

    @operation(
        "list conflicts",
        needs.refs(Action.READ_COMMIT, named=("source", "into")),
        needs.prefix(*needs.SHOWN, refs=("source", "into")),
    )
    def conflicts(  # noqa: PLR0913 - one call, all of it optional
        self,
        source: str,
        into: str,
        prefix: str = "",
        after: str = "",
        limit: int | None = None,
        *,
        start: str = "",
        end: str | None = None,
    ) -> Listing[MergeConflict]:
        """List the conflicts that a merge of two refs would have, in order of the paths, lazily. Change nothing.

        Args:
            source: Ref expression of the commit to merge.
            into: Ref expression of the destination.
            prefix: List only paths that begin with this.
            after: List only greater paths.
            limit: Maximum number of conflicts. `None` means all.
            start: List only paths that are not less than this (inclusive).
            end: List only paths that are less than this (exclusive). `None` means no end; an end that is not greater
                than `start` gives an empty listing.

        Returns:
            A listing of conflicts. The token of an item is its path.

        Raises:
            NotFound: a ref does not name a commit, or (`NoMergeBase`) the histories are unrelated.
        """
        query = DiffQuery(into, source, True, Bounds(prefix, after, start, end))
        pages = sides.conflicts(self._stores, self._active(), query)
        return Listing((found for page in pages for found in conflicts_of(page)), lambda found: found.path, limit)

    @operation(
        "cherry-pick",
        needs.branch(Action.CREATE_COMMIT, named="onto"),
        replayed("commit"),
        needs.committer(),
        branch="onto",
    )
    def cherry_pick(  # noqa: PLR0913 - one call, all of it optional
        self,
        commit: str,
        onto: str,
        *,
        message: str = "",
        committer: str = "",
        metadata: Mapping[str, str] | None = None,
        mainline: int = 1,
        idempotency_key: str = "",
    ) -> CommitRecord:
        """Apply the changes of one commit to a branch.

        Args:
            commit: Ref expression of the commit.
            onto: Name of the branch.
            message: Message of the new commit. By default that of the given commit.
            committer: Name of the committer, as for `merge`.
            metadata: Metadata of the new commit, added to that of the given commit.
            mainline: For a merge commit: number of the parent to compare it with, from 1.
            idempotency_key: Name of this call. A later call with the same key returns the commit that this call
            created.

        Returns:
            The new commit.

        Raises:
            Conflict: (`MergeConflict`) the branch changed the same paths.
            DirtyBranch: the branch has uncommitted changes.
            NoChanges: the commit changes nothing here.
            NotFound: the ref does not name a commit, or the branch does not exist.
        """
        draft = Draft(message, committer, metadata or {}, idempotency_key=idempotency_key)
        return self._replay(onto, Replay([commit], mainline=mainline, verb="cherry-pick"), draft)

    @operation("transplant", needs.branch(Action.CREATE_COMMIT, named="onto"), replayed("commits"), branch="onto")
    def transplant(
        self, commits: Sequence[str], onto: str, *, strategy: str | None = None, idempotency_key: str = ""
    ) -> CommitRecord:
        """Apply the changes of several commits to a branch: all of them or none.

        Args:
            commits: Ref expressions of the commits, oldest first, each the parent of the next.
            onto: Name of the branch.
            strategy: Side that wins if both sides changed a path: "source", "destination", or `None` for a conflict.
            idempotency_key: Name of this call. A later call with the same key returns the commit that this call
            created.

        Returns:
            The new head of the branch.

        Raises:
            Conflict: (`MergeConflict`) the branch changed the same paths.
            DirtyBranch: the branch has uncommitted changes.
            NoChanges: the commits change nothing here.
            InvalidInput: a commit is not the parent of the next.
        """
        replay = Replay(commits, _strategy(strategy))
        return self._replay(onto, replay, Draft("", idempotency_key=idempotency_key))

    @operation(
        "revert", needs.branch(Action.REVERT_BRANCH, named="onto"), replayed("commit"), needs.committer(), branch="onto"
    )
    def revert(  # noqa: PLR0913 - one call, all of it optional
        self,
        commit: str,
        onto: str,
        *,
        message: str = "",
        committer: str = "",
        metadata: Mapping[str, str] | None = None,
        allow_empty: bool = False,
        mainline: int = 1,
        idempotency_key: str = "",
    ) -> CommitRecord:
        """Undo the changes of one commit on a branch.

        Args:
            commit: Ref expression of the commit.
            onto: Name of the branch.
            message: Message of the new commit. By default it names the undone commit.
            committer: Name of the committer, as for `merge`.
            metadata: Metadata of the new commit.
            allow_empty: Create the commit even if it changes nothing.
            mainline: For a merge commit: number of the parent to compare it with, from 1.
            idempotency_key: Name of this call. A later call with the same key returns the commit that this call
            created.

        Returns:
            The new commit.

        Raises:
            Conflict: (`MergeConflict`) the branch changed the same paths since.
            DirtyBranch: the branch has uncommitted changes.
            NoChanges: undoing the commit changes nothing here.
            NotFound: the ref does not name a commit, or the branch does not exist.
        """
        replay = Replay([commit], mainline=mainline, verb="revert")
        return self._replay(onto, replay, Draft(message, committer, metadata or {}, allow_empty, idempotency_key))

    def _replay(self, onto: str, replay: Replay, draft: Draft) -> CommitRecord:
        return commit_record(transplant.transplant(self._stores, self.id, branch_id(onto), replay, draft))


def _strategy(name: str | None) -> MergeStrategy | None:
    if name is not None and name not in tuple(MergeStrategy):
        raise InvalidInput(f"strategy {name!r}: must be 'source', 'destination' or None")
    return None if name is None else MergeStrategy(name)
