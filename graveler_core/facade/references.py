"""Branches, tags and the reflog of a repository. Every method only delegates to `engine` or `refs`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Literal

from graveler_core.engine.references import branching, tagging
from graveler_core.errors import CorruptData, InvalidInput
from graveler_core.facade.branch import Branch
from graveler_core.facade.handle import Handle
from graveler_core.facade.listing import Listing
from graveler_core.guard import needs
from graveler_core.guard.merges import new_name, new_tag
from graveler_core.guard.operation import operation
from graveler_core.guard.staged_names import shown_to
from graveler_core.model.bounds import Bounds
from graveler_core.model.commit_texts import tag_texts
from graveler_core.model.entities import BranchRecord, Tag
from graveler_core.model.ids import CommitId
from graveler_core.model.names import branch_id, commit_id, optional_commit_id, tag_id
from graveler_core.model.permission import Action
from graveler_core.model.tag_target import tag_target
from graveler_core.refs import branches


class References(Handle):
    """Methods of `Repository` for branches, tags and the reflog."""

    @operation("open branch", needs.branch(Action.READ_BRANCH, named="name"), branch="name")
    def branch(self, name: str) -> Branch:
        """Open a branch.

        Args:
            name: Name of the branch.

        Returns:
            The branch.

        Raises:
            NotFound: (`BranchNotFound`) the branch does not exist.
        """
        known = branches.get_branch(self._stores.kv, self._active(), branch_id(name))
        return Branch(self._stores, self._record, known.value.id)

    @operation("list branches", needs.repository(Action.LIST_BRANCHES))
    def branches(  # noqa: PLR0913 - one call, all of it optional
        self,
        prefix: str = "",
        after: str = "",
        limit: int | None = None,
        *,
        start: str = "",
        end: str | None = None,
        order_by: Literal["id", "commit_id"] = "id",
        damaged: Callable[[CorruptData], object] | None = None,
    ) -> Listing[BranchRecord]:
        """List branches, ordered by name, lazily; or ordered by head, which reads all branches first.

        Names are case-sensitive and ordered by their bytes, regardless of the store's own order.

        Args:
            prefix: List only branches whose names begin with this.
            after: Token of an item. List only later items.
            limit: Maximum number of branches. `None` means all.
            start: List only branches whose names are not less than this (inclusive).
            end: List only branches whose names are less than this (exclusive). `None` means no end; an end that is not
                greater than `start` gives an empty listing.
            order_by: "id" for the name, "commit_id" for the head.
            damaged: Called for each branch whose record cannot be read, which is then left out. Without it, such a
                record ends the listing.

        Returns:
            A listing of branch records, each as `Branch.record` returns it. The token of an item is its name, or
            `<head>/<name>` if ordered by head.

        Raises:
            CorruptData: the record of a branch cannot be read, and `damaged` is not given.
            InvalidInput: an argument is not valid.
        """
        if order_by not in ("id", "commit_id"):
            raise InvalidInput(f"order_by {order_by!r}: must be 'id' or 'commit_id'")
        within = Bounds(prefix, after, start, end)
        shown = shown_to(self._stores.principal, self.id)
        if order_by == "id":
            found = branches.list_branches(self._stores.kv, self._active(), within, damaged)
            return Listing(map(shown, found), lambda branch: branch.id, limit)
        return Listing(map(shown, self._by_head(within, damaged)), _head_token, limit)

    @operation(
        "create branch",
        needs.branch(Action.CREATE_BRANCH, named="name"),
        new_name("source", branch="name"),
        branch="name",
    )
    def create_branch(self, name: str, source: str) -> Branch:
        """Create a branch at the commit that a ref names. Nothing is copied. Staged changes of the source are not
        included.

        Args:
            name: Name of the new branch.
            source: Ref expression of the commit.

        Returns:
            The branch.

        Raises:
            NotUnique: (`BranchExists`, `TagExists`) a branch or tag has this name.
            NotFound: the ref does not name a commit.
        """
        record = branching.create_branch(self._stores, self.id, branch_id(name), source)
        return Branch(self._stores, self._record, record.id)

    @operation("delete branch", needs.branch(Action.DELETE_BRANCH, named="name"), needs.committer("by"), branch="name")
    def delete_branch(self, name: str, *, expected: str | None = None, by: str = "", message: str = "") -> None:
        """Delete a branch with all its staged changes. Its commits remain.

        Args:
            name: Name of the branch.
            expected: Id of the commit that the branch's head must be. `None` accepts any head.
            by: Name of the person who deletes it, for `reflog`.
            message: Reason, for `reflog`.

        Raises:
            NotFound: (`BranchNotFound`) the branch does not exist.
            Conflict: (`LostRace`) the head is not the expected commit. `details` has `expected` and `actual`.
            InvalidInput: (`DefaultBranch`) the branch is the default branch; or `expected` is not a commit id.
        """
        wanted = optional_commit_id("expected", expected)
        branching.delete_branch(self._stores, self.id, branch_id(name), expected=wanted, by=by, message=message)

    @operation("undelete branch", needs.branch(Action.CREATE_BRANCH, named="name"), branch="name")
    def undelete_branch(self, name: str) -> Branch:
        """Create a deleted branch again at the head that it had when it was last deleted. Its staged changes are not
        restored.

        Deletions are ordered by the clocks of the machines that made them, which may differ.

        Args:
            name: Name of the branch.

        Returns:
            The branch.

        Raises:
            NotUnique: (`BranchExists`, `TagExists`) a branch or tag has this name.
            NotFound: (`BranchNotFound`) no deletion of the branch is known; (`CommitNotFound`) its head does not
            exist any more.
        """
        record = branching.undelete_branch(self._stores, self.id, branch_id(name))
        return Branch(self._stores, self._record, record.id)

    @operation("show tag", needs.tag(Action.READ_TAG))
    def tag(self, name: str) -> Tag:
        """Read a tag.

        Args:
            name: Name of the tag.

        Returns:
            The tag, with its commit, message and signature.

        Raises:
            NotFound: (`TagNotFound`) the tag does not exist.
        """
        return branches.get_tag(self._stores.kv, self._active(), tag_id(name)).value

    @operation("list tags", needs.repository(Action.LIST_TAGS))
    def tags(
        self, prefix: str = "", after: str = "", limit: int | None = None, *, start: str = "", end: str | None = None
    ) -> Listing[Tag]:
        """List tags, ordered by name, lazily.

        Args:
            prefix: List only tags whose names begin with this.
            after: List only tags with a greater name.
            limit: Maximum number of tags. `None` means all.
            start: List only tags whose names are not less than this (inclusive).
            end: List only tags whose names are less than this (exclusive). `None` means no end; an end that is not
                greater than `start` gives an empty listing.

        Returns:
            A listing of tags. The token of an item is its name.

        Raises:
            InvalidInput: an argument is not valid.
        """
        found = branches.list_tags(self._stores.kv, self._active(), Bounds(prefix, after, start, end))
        return Listing(found, lambda tag: tag.id, limit)

    @operation("create tag", needs.tag(Action.CREATE_TAG), new_tag, needs.tagger)
    def create_tag(  # noqa: PLR0913 - one call, most of it optional
        self,
        name: str,
        ref: str,
        *,
        message: str = "",
        signature: str = "",
        tagger: str = "",
        metadata: Mapping[str, str] | None = None,
        target: Literal["commit", "tag", "tree"] = "commit",
    ) -> Tag:
        """Create a tag at the commit that a ref names; if the ref names a tag, at the tag's commit.

        With the target `"tag"`, the ref is the name of a tag, and the new tag names that tag: it contains a copy of
        it, with its texts and signature, and leads to its commit. With the target `"tree"`, the new tag names the
        content of the commit without its history. It can be read and compared like a commit, but it has no log, and no
        branch can be created from it or be merged with it.

        The hook for the verification of tags that was given to `connect` may refuse the tag by raising any
        exception.

        Args:
            name: Name of the tag.
            ref: Ref expression of the commit.
            message: Message of the tag.
            signature: Signature to store with the tag.
            tagger: Name of the person who makes the tag. With access control, it can only be the caller's user name,
            unless the caller may set another committer.
            metadata: Metadata of the tag, as text by key.
            target: What the tag names: the commit, the tag with the name `ref`, or the tree of the commit.

        Returns:
            The tag.

        Raises:
            NotUnique: (`BranchExists`, `TagExists`) a branch or tag has this name.
            NotFound: the ref does not name a commit, or (`TagNotFound`) the target is a tag that does not exist.
            InvalidInput: (`NotACommit`) the ref is a tag of a tree, and the target is a commit.
            LimitExceeded: (`TextTooLong`) the texts of the tag, or of its chain of tags, are too long together;
                (`TooManyItems`) the chain has too many tags.
        """
        tag = Tag(id=tag_id(name), commit_id=CommitId(""), **tag_texts(message, signature, tagger, metadata))
        return tagging.create_tag(self._stores, self.id, tag, ref, tag_target(target))

    @operation("assign tag", needs.tag(Action.CREATE_TAG, Action.DELETE_TAG), new_tag, needs.tagger)
    def assign_tag(  # noqa: PLR0913 - one call, most of it optional
        self,
        name: str,
        ref: str,
        *,
        expected: str,
        message: str = "",
        signature: str = "",
        tagger: str = "",
        metadata: Mapping[str, str] | None = None,
        target: Literal["commit", "tag", "tree"] = "commit",
    ) -> Tag:
        """Assign an existing tag to another commit, tree or tag. `Branch.hard_reset` does the same for a branch.

        Message, signature, tagger and metadata are replaced, because a signature holds for one commit only. The hook
        for the verification of tags may refuse the tag, as for `create_tag`.

        Args:
            name: Name of the tag.
            ref: Ref expression of the commit.
            expected: Id of the commit that the tag must name now.
            message: Message of the tag.
            signature: Signature to store with the tag.
            tagger: Name of the person who makes the tag. With access control, it can only be the caller's user name,
            unless the caller may set another committer.
            metadata: Metadata of the tag, as text by key.
            target: What the tag names, as for `create_tag`.

        Returns:
            The tag.

        Raises:
            NotFound: (`TagNotFound`) the tag does not exist, or the ref does not name a commit.
            Conflict: (`LostRace`) the tag does not name the expected commit. `details` has `expected` and `actual`.
            InvalidInput: `expected` is not a commit id; (`NotACommit`) the ref is a tag of a tree, and the target is a
                commit.
            LimitExceeded: (`TextTooLong`, `TooManyItems`) as for `create_tag`.
        """
        tag = Tag(id=tag_id(name), commit_id=CommitId(""), **tag_texts(message, signature, tagger, metadata))
        wanted = commit_id("expected", expected)
        return tagging.assign_tag(self._stores, self.id, tag, ref, wanted, tag_target(target))

    @operation("verify tag", needs.tag(Action.READ_TAG))
    def verify_tag(self, name: str) -> Tag:
        """Call the hook for the verification of tags on a tag. The hook may refuse the tag by raising any exception.

        Args:
            name: Name of the tag.

        Returns:
            The tag.

        Raises:
            NotFound: the tag or its commit does not exist.
            InvalidInput: no hook was given to `connect`.
        """
        return tagging.verify_tag(self._stores, self.id, tag_id(name))

    @operation("delete tag", needs.tag(Action.DELETE_TAG), needs.committer("by"))
    def delete_tag(self, name: str, *, expected: str | None = None, by: str = "", message: str = "") -> None:
        """Delete a tag. Its commit remains.

        Args:
            name: Name of the tag.
            expected: Id of the commit that the tag must name. `None` accepts any commit.
            by: Name of the person who deletes it, for `reflog`.
            message: Reason, for `reflog`.

        Raises:
            NotFound: (`TagNotFound`) the tag does not exist.
            Conflict: (`LostRace`) the tag does not name the expected commit. `details` has `expected` and `actual`.
            InvalidInput: `expected` is not a commit id.
        """
        wanted = optional_commit_id("expected", expected)
        tagging.delete_tag(self._stores, self.id, tag_id(name), expected=wanted, by=by, message=message)

    def _by_head(self, within: Bounds, damaged: Callable[[CorruptData], object] | None) -> Iterator[BranchRecord]:
        found = branches.list_branches(self._stores.kv, self._active(), replace(within, after=""), damaged)
        ordered = sorted(found, key=lambda branch: (branch.commit_id, branch.id))
        return iter([branch for branch in ordered if _head_token(branch) > within.after])


def _head_token(branch: BranchRecord) -> str:
    return f"{branch.commit_id}/{branch.id}"
