"""The names of a repository: branches, tags, and what happened to them. Thin, as `repository`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from graveler_core.engine import branching, reference_mending, reference_trimming, reflog
from graveler_core.engine.reference_trimming import Trimmed
from graveler_core.errors import InvalidInput
from graveler_core.facade import needs
from graveler_core.facade.branch import Branch
from graveler_core.facade.bringing import named_anew
from graveler_core.facade.handle import Handle
from graveler_core.facade.listing import Listing
from graveler_core.facade.operation import operation
from graveler_core.gc.heads import HeadCheck, check_heads
from graveler_core.model.entities import Branch as BranchRecord
from graveler_core.model.entities import Tag
from graveler_core.model.ids import CommitId
from graveler_core.model.names import branch_id, prefix_key, tag_id, text
from graveler_core.model.permission import Action
from graveler_core.model.references import EventKind, ReferenceEvent, ReferenceType
from graveler_core.refs import branches


@dataclass(frozen=True, slots=True)
class ReflogEntry:
    """Something that happened to a branch or tag."""

    time: datetime
    kind: EventKind
    """created, deleted, assigned (a hard reset), moved."""
    type: ReferenceType
    """branch or tag."""
    name: str
    before: CommitId | None
    after: CommitId | None
    by: str
    """Who, where that was said; so is the message."""
    message: str
    token: str
    """What `reflog(after=…)` takes to go on behind this event."""


class References(Handle):
    """The part of a repository that has names."""

    @operation("open branch", needs.branch(Action.READ_BRANCH, named="name"), branch="name")
    def branch(self, name: str) -> Branch:
        """A branch to work on. Raises `NotFound` (`BranchNotFound`)."""
        known = branches.get_branch(self._stores.kv, self._active(), branch_id(name))
        return Branch(self._stores, self._record, known.value.id)

    @operation("list branches", needs.repository(Action.LIST_BRANCHES))
    def branches(
        self,
        prefix: str = "",
        after: str = "",
        limit: int | None = None,
        *,
        order_by: Literal["id", "commit_id"] = "id",
    ) -> Listing[BranchRecord]:
        """The branches, ordered by name, lazily; or ordered by head, which reads all of them first.

        Names are told apart by case, and ordered by their bytes, whatever the store's own order is.
        """
        if order_by not in ("id", "commit_id"):
            raise InvalidInput(f"order_by {order_by!r}: must be 'id' or 'commit_id'")
        prefix_key(prefix)
        prefix_key(after)
        if order_by == "id":
            found = branches.list_branches(self._stores.kv, self._active(), prefix=prefix, after=after)
            return Listing(found, lambda branch: branch.id, limit)
        by_head = self._by_head(prefix, after)
        return Listing(by_head, _head_token, limit)

    @operation(
        "create branch",
        needs.branch(Action.CREATE_BRANCH, named="name"),
        named_anew("source", branch="name"),
        branch="name",
    )
    def create_branch(self, name: str, source: str) -> Branch:
        """Create a branch at the commit that a ref names; what is staged on the source stays there. Copies nothing."""
        record = branching.create_branch(self._stores, self.id, branch_id(name), source)
        return Branch(self._stores, self._record, record.id)

    @operation("delete branch", needs.branch(Action.DELETE_BRANCH, named="name"), needs.signed("by"), branch="name")
    def delete_branch(self, name: str, *, by: str = "", message: str = "") -> None:
        """Delete a branch with everything staged on it; its commits stay.

        Args:
            by: Who deletes it, for `reflog`.
            message: Why.
        """
        branching.delete_branch(self._stores, self.id, branch_id(name), by=by, message=message)

    @operation("undelete branch", needs.branch(Action.CREATE_BRANCH, named="name"), branch="name")
    def undelete_branch(self, name: str) -> Branch:
        """Create a branch anew at the head that it had when it was deleted last. What was staged on it stays gone.

        Raises:
            NotUnique: (`BranchExists`) a branch, or (`TagExists`) a tag, bears the name.
            NotFound: (`BranchNotFound`) no deletion of such a branch is known; (`CommitNotFound`) its head is gone.
        """
        record = branching.undelete_branch(self._stores, self.id, branch_id(name))
        return Branch(self._stores, self._record, record.id)

    @operation("list tags", needs.repository(Action.LIST_TAGS))
    def tags(self, prefix: str = "", after: str = "", limit: int | None = None) -> Listing[Tag]:
        """The tags, ordered by name, lazily."""
        prefix_key(prefix)
        prefix_key(after)
        found = branches.list_tags(self._stores.kv, self._active(), prefix=prefix, after=after)
        return Listing(found, lambda tag: tag.id, limit)

    @operation("create tag", needs.tag(Action.CREATE_TAG), named_anew("ref", tag="name"))
    def create_tag(self, name: str, ref: str, *, message: str = "", signature: str = "") -> Tag:
        """Create a tag at the commit that a ref names, a tag's own commit where it names a tag.

        The hook that verifies tags, where one was given to `connect`, may refuse it by whatever it raises.
        """
        said = {"message": text("message", message), "signature": text("signature", signature)}
        tag = Tag(id=tag_id(name), commit_id=CommitId(""), **said)
        return branching.create_tag(self._stores, self.id, tag, ref)

    @operation("verify tag", needs.tag(Action.READ_TAG))
    def verify_tag(self, name: str) -> Tag:
        """Have the hook that verifies tags look at one; gives the tag.

        Raises:
            NotFound: no such tag, or its commit is gone.
            InvalidInput: no hook was given to `connect`.
            Whatever the hook raises.
        """
        return branching.verify_tag(self._stores, self.id, tag_id(name))

    @operation("delete tag", needs.tag(Action.DELETE_TAG), needs.signed("by"))
    def delete_tag(self, name: str, *, by: str = "", message: str = "") -> None:
        """Delete a tag; its commit stays. Arguments as `delete_branch`."""
        branching.delete_tag(self._stores, self.id, tag_id(name), by=by, message=message)

    @operation("reflog", needs.repository(Action.LIST_BRANCHES, Action.LIST_TAGS))
    def reflog(self, name: str | None = None, after: str = "", limit: int | None = None) -> Listing[ReflogEntry]:
        """What happened to branches and tags, newest first, lazily: creations, deletions, hard resets.

        Of one name also the newest moves of its branches: eight of each. A branch that was created, or reset, by a
        process that died right afterwards may be missing from the list of all names, as long as it stands.

        Args:
            name: Only of branches and tags that bear or bore this name.
            after: The token of an event; only what comes behind it.

        Raises:
            CorruptData: what the log is kept in is damaged; `details["commit"]` names its commit. Branches and tags
                can be used all the same; `mend_reflog` mends it.
        """
        reflog.require_place(after)
        if name is not None:
            reflog.require_name(name)
        return Listing(self._events(name, after), lambda entry: entry.token, limit)

    @operation("check references", needs.repository(Action.CHECK_REPOSITORY))
    def check_references(self) -> Iterator[HeadCheck]:
        """Whether the heads that branches have, and the newest ones that they had, can be read; lazily.

        Lists the storage namespace, and reads the nodes of each head. `fsck` looks at everything.
        """
        return check_heads(self._stores, self._active())

    @operation("mend reflog", needs.repository(Action.MAINTAIN_REPOSITORY))
    def mend_reflog(self) -> bool:
        """Set the log back to the newest of its commits that is whole; gives whether that was needed.

        What only later ones held is lost to the log: creations, deletions and hard resets since. What stands is not
        touched, and what its records remember is logged again when something happens to it.
        """
        return reference_mending.mend(self._stores, self._active())

    @operation("trim reflog", needs.repository(Action.MAINTAIN_REPOSITORY))
    def trim_reflog(self, keep: int = 100) -> Trimmed:
        """Rewrite the log of branches and tags, so that it is kept in fewer commits of its own; it tells the same.

        Args:
            keep: So many of them stay; what came before is folded into the oldest.

        Raises:
            InvalidInput: less than one.
            CorruptData: the log is damaged; `mend_reflog` mends it.
        """
        return reference_trimming.trim(self._stores, self._active(), keep)

    def _events(self, name: str | None, after: str) -> Iterator[ReflogEntry]:
        repository = self._active()
        if name is None:
            found = reflog.events(self._stores, repository, after)
        else:
            found = reflog.of_name(self._stores, repository, name, after)
        yield from map(_entry, found)

    def _by_head(self, prefix: str, after: str) -> Iterator[BranchRecord]:
        found = branches.list_branches(self._stores.kv, self._active(), prefix=prefix)
        ordered = sorted(found, key=lambda branch: (branch.commit_id, branch.id))
        return iter([branch for branch in ordered if _head_token(branch) > after])


def _head_token(branch: BranchRecord) -> str:
    return f"{branch.commit_id}/{branch.id}"


def _entry(event: ReferenceEvent) -> ReflogEntry:
    said = (event.time, event.kind, event.type, event.name, event.before, event.after, event.by, event.message)
    return ReflogEntry(*said, token=event.id)
