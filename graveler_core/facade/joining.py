"""Bringing what one line of history has into another: merge, cherry-pick, transplant, revert. Thin, as `repository`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graveler_core.engine import history, merge, transplant
from graveler_core.engine.draft import Draft
from graveler_core.engine.history import DiffQuery
from graveler_core.engine.merge_sides import MergeRequest
from graveler_core.engine.rows import conflicts_of
from graveler_core.engine.transplant import Replay
from graveler_core.errors import InvalidInput
from graveler_core.facade import needs
from graveler_core.facade.bringing import merged, replayed
from graveler_core.facade.handle import Handle
from graveler_core.facade.history import CommitRecord, commit_record
from graveler_core.facade.listing import Listing
from graveler_core.facade.operation import operation
from graveler_core.model.changes import MergeConflict, MergeStrategy, Resolved
from graveler_core.model.names import branch_id, prefix_key
from graveler_core.model.permission import Action


class Joining(Handle):
    """The part of a repository that moves changes between branches."""

    @operation("merge", needs.branch(Action.CREATE_COMMIT, named="into"), merged, needs.signed(), branch="into")
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
        squash: bool = True,
        allow_empty: bool = False,
        allow_unrelated: bool = False,
        idempotency_key: str = "",
    ) -> CommitRecord:
        """Merge the commit of a ref into a branch, in one step. Gives the branch's new head, which has two parents:
        before it on the branch, and the source.

        Args:
            message: Of the merge commit. Without `squash` the last repeated commit, else named by its own author.
            strategy: Who wins where both sides changed a path: "source", "destination", or None for a conflict.
            resolve: What single paths become, whatever the strategy: "source", "destination", an `Entry`, or None for
                no entry. The source must have changed each of them; whether it is a conflict does not matter.
            squash: Merge in one commit. Else repeat the source's commits, oldest first, each with its own message: the
                content at the end is the same.
            allow_empty: Make the merge commit even if it changes nothing.
            allow_unrelated: Merge histories that have no common commit, as if both had begun empty.
            idempotency_key: Names this call; a later call of the same key gives the commit that this one made.

        Raises:
            NoChanges: the branch has all of the source already, or nothing of it changes anything here;
                `details["commit"]` is the branch's head.
            Conflict: (`MergeConflict`) both sides changed some paths; `details["conflicts"]` lists the first thousand
                of `details["count"]`, `conflicts` all.
            DirtyBranch: the destination has uncommitted changes.
            NotFound: (`NoMergeBase`) the histories are unrelated.
            InvalidInput: a path to resolve is none that the source changed; `details["paths"]` lists them.
        """
        by = _strategy(strategy)
        request = MergeRequest(source, branch_id(into), by, resolve or {}, squash, allow_unrelated)
        draft = Draft(message, committer, metadata or {}, allow_empty, idempotency_key)
        return commit_record(merge.merge(self._stores, self.id, request, draft))

    @operation(
        "list conflicts",
        needs.through_refs(Action.READ_COMMIT, named=("source", "into")),
        needs.under(*needs.SHOWN, refs=("source", "into")),
    )
    def conflicts(
        self, source: str, into: str, prefix: str = "", after: str = "", limit: int | None = None
    ) -> Listing[MergeConflict]:
        """The paths that a merge of two refs could not decide, in order, lazily. Changes nothing.

        Raises:
            NotFound: (`NoMergeBase`) the histories are unrelated.
        """
        prefix_key(prefix)
        prefix_key(after)
        pages = history.conflicts(self._stores, self._active(), DiffQuery(into, source, True, prefix, after))
        return Listing((found for page in pages for found in conflicts_of(page)), lambda found: found.path, limit)

    @operation(
        "cherry-pick",
        needs.branch(Action.CREATE_COMMIT, named="onto"),
        replayed("commit"),
        needs.signed(),
        branch="onto",
    )
    def cherry_pick(  # noqa: PLR0913 - one call, all of it optional
        self,
        commit: str,
        onto: str,
        *,
        message: str = "",
        committer: str = "",
        mainline: int = 1,
        idempotency_key: str = "",
    ) -> CommitRecord:
        """Repeat what one commit changed on a branch.

        Args:
            mainline: For a merge commit: which parent it is compared with, from 1.
            idempotency_key: Names this call; a later call of the same key gives the commit that this one made.

        Raises:
            Conflict: (`MergeConflict`) the branch changed the same paths.
            DirtyBranch: the branch has uncommitted changes.
            NoChanges: the commit changes nothing here.
        """
        draft = Draft(message, committer, idempotency_key=idempotency_key)
        return self._replay(onto, Replay([commit], mainline=mainline), draft)

    @operation("transplant", needs.branch(Action.CREATE_COMMIT, named="onto"), replayed("commits"), branch="onto")
    def transplant(
        self, commits: Sequence[str], onto: str, *, strategy: str | None = None, idempotency_key: str = ""
    ) -> CommitRecord:
        """Repeat commits, oldest first and each the parent of the next, on a branch: all of them or none.

        Gives the branch's new head. Raises as `cherry_pick`.
        """
        replay = Replay(commits, _strategy(strategy))
        return self._replay(onto, replay, Draft("", idempotency_key=idempotency_key))

    @operation(
        "revert", needs.branch(Action.REVERT_BRANCH, named="onto"), replayed("commit"), needs.signed(), branch="onto"
    )
    def revert(  # noqa: PLR0913 - one call, all of it optional
        self,
        commit: str,
        onto: str,
        *,
        message: str = "",
        committer: str = "",
        mainline: int = 1,
        idempotency_key: str = "",
    ) -> CommitRecord:
        """Undo on a branch what one commit changed. Arguments and errors as `cherry_pick`."""
        replay = Replay([commit], mainline=mainline, backwards=True)
        return self._replay(onto, replay, Draft(message, committer, idempotency_key=idempotency_key))

    def _replay(self, onto: str, replay: Replay, draft: Draft) -> CommitRecord:
        return commit_record(transplant.transplant(self._stores, self.id, branch_id(onto), replay, draft))


def _strategy(name: str | None) -> MergeStrategy | None:
    if name is not None and name not in tuple(MergeStrategy):
        raise InvalidInput(f"strategy {name!r}: must be 'source', 'destination' or None")
    return None if name is None else MergeStrategy(name)
