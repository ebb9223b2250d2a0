"""Stored records, as frozen pydantic models. Source: seeds 000 and 001, with the additional fields that the guarantees
need (uid, epoch, nonce, since, consumed, operations digest).

The package `codec` converts records to bytes. The package `records` defines their keys.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from graveler_core.model.ids import (
    BranchId,
    BranchUid,
    CommitId,
    MetarangeId,
    Nonce,
    RepositoryId,
    RepositoryUid,
    StagingToken,
    TagId,
)
from graveler_core.model.index import Index
from graveler_core.model.layers import Layer
from graveler_core.model.past import CREATED, steps
from graveler_core.model.protection import ProtectionRule, RequiredChecks
from graveler_core.model.repository_settings import DEFAULT_SIZES, IndexSizes
from graveler_core.model.tag_target import TagTarget
from graveler_core.model.webhooks import Webhook

FORMAT_VERSION = 1
OPERATIONS_RULE = 2
"""Rule for the operations digest of new commits: see `segments.operations`."""


class Record(BaseModel):
    """Base class of all stored records: frozen, unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64")


class RepositoryState(StrEnum):
    """State of a repository: `initial` during creation, `active` in use, `deleting` from the start of its deletion.
    A repository that was imported without indexes is `incomplete` between `initial` and `active`.
    """

    INITIAL = "initial"
    INCOMPLETE = "incomplete"
    ACTIVE = "active"
    DELETING = "deleting"

    @property
    def passes(self) -> bool:
        """True if a running operation ends the state. If it lasts too long, the operation was interrupted."""
        return self in (RepositoryState.INITIAL, RepositoryState.DELETING)


class RepositoryRecord(Record):
    """A repository. Every key that belongs to it contains its uid, not its name."""

    id: RepositoryId
    uid: RepositoryUid
    storage_namespace: str
    creation_date: datetime
    default_branch: BranchId
    state: RepositoryState
    bare: bool = False
    boundary_seed: int = Field(ge=0, lt=1 << 64)
    format_version: int = Field(default=FORMAT_VERSION, ge=1, le=FORMAT_VERSION)
    nonce: Nonce
    since: datetime
    """Time at which the current state was entered."""
    was_active: bool = Field(default=False, exclude_if=operator.not_)
    """True once the repository has left the state `active`. Only such a repository can be undeleted."""
    deletions: int = Field(default=0, ge=0, exclude_if=operator.not_)
    """Number of times that it was deleted. It tells the record of a deletion from that of an earlier one."""
    read_only: bool = Field(default=False, exclude_if=operator.not_)
    """True if nothing that users see may change."""
    protection: tuple[ProtectionRule, ...] = Field(default=(), exclude_if=operator.not_)
    """Ordered by pattern."""
    required_checks: tuple[RequiredChecks, ...] = Field(default=(), exclude_if=operator.not_)
    """Ordered by pattern."""
    webhooks: tuple[Webhook, ...] = Field(default=(), exclude_if=operator.not_)
    """Ordered by name."""
    addresses_checked: bool = Field(default=False, exclude_if=operator.not_)
    """True once a collection has condemned content. Flows that stage addresses then read the collection record."""
    former_heads: bool = Field(default=False, exclude_if=operator.not_)
    """True once a collection has required that every process records former heads. Versions that do not record them
    refuse a record with this field.
    """
    erasures: int = Field(default=0, ge=0, exclude_if=operator.not_)
    """Number of times that an erasure has marked content. Flows that stage addresses then look for marks."""
    migrating: str = Field(default="", exclude_if=operator.not_)
    """While `initial`: digest of the source that is being migrated into the repository. See `transfer.migration`."""
    description: str = Field(default="", exclude_if=operator.not_)
    index_sizes: IndexSizes = Field(default=DEFAULT_SIZES, exclude_if=lambda sizes: sizes == DEFAULT_SIZES)


class BranchRecord(Record):
    """The register of a branch: everything that a reader, writer or committer must see together."""

    id: BranchId
    uid: BranchUid
    epoch: int = 0
    """Number of resets and hard resets. A committer uses it to tell discarded changes from committed ones."""
    commit_id: CommitId
    staging_token: StagingToken
    sealed_tokens: tuple[Layer, ...] = ()
    """Newest first."""
    compacted_metarange: MetarangeId | None = None
    compaction_start_time: datetime | None = None
    nonce: Nonce = Nonce("")
    """Fresh in every swap, so that no record is equal to an earlier one. A delayed swap therefore fails even if all
    other fields have returned to their former values.
    """
    past: str = Field(default="", exclude_if=operator.not_)
    """Creation and newest moves of the branch: see `model.past`."""
    marked_default: bool = Field(default=False, exclude_if=operator.not_)
    """True if the branch was made the default branch. See `engine.references.repository_settings`."""

    def compaction_began_within(self, time: timedelta, now: datetime) -> bool:
        """Return `True` if a compaction began less than some time before `now`, or after it.

        A start after `now` was written by a process whose clock is ahead. A start that is later still does not count,
        so a wrong clock delays compactions by less than twice the time.
        """
        begun = self.compaction_start_time
        return begun is not None and abs(now - begun) < time

    def _html_row(self) -> dict[str, object]:
        """Return what a listing in a notebook shows of the branch, by name."""
        return {"branch": self.id, "commit": self.commit_id}


class Tag(Record):
    """Name of a commit, of the tree of a commit, or of another tag. It moves only if it is assigned explicitly.

    A tag of a tag contains a copy of that tag, so it does not change if that tag is assigned or deleted. Every tag
    contains the commit to which it leads. Flows that keep or follow commits therefore treat all tags alike.
    """

    id: TagId
    commit_id: CommitId
    message: str = ""
    signature: str = ""
    past: str = Field(default="", exclude_if=operator.not_)
    """Creation and newest assignments of the tag: see `model.past`."""
    tagger: str = Field(default="", exclude_if=operator.not_)
    """Name of the person who made the tag."""
    metadata: dict[str, str] = Field(default_factory=dict, exclude_if=operator.not_)
    """Texts by key, which users choose. In order of the keys."""
    tagged: Tag | None = Field(default=None, exclude_if=operator.not_)
    """The tag that this tag names, as it was, with its creation but without its assignments."""
    tree: MetarangeId = Field(default=MetarangeId(""), exclude_if=operator.not_)
    """Id of the tree that the tag names, directly or through another tag. It is the tree of the commit."""

    @field_validator("metadata")
    @classmethod
    def _in_order(cls, metadata: dict[str, str]) -> dict[str, str]:
        return dict(sorted(metadata.items()))

    @model_validator(mode="after")
    def _leads_on(self) -> Tag:
        if self.tagged is not None and (self.tagged.commit_id, self.tagged.tree) != (self.commit_id, self.tree):
            raise ValueError("the tag that it names leads to another commit or tree")
        return self

    @property
    def target(self) -> TagTarget:
        """Kind of object that the tag names."""
        if self.tagged is not None:
            return TagTarget.TAG
        return TagTarget.TREE if self.tree else TagTarget.COMMIT

    def chain(self) -> Iterator[Tag]:
        """Yield this tag, the tag that it names, the tag that that one names, and so on."""
        tag: Tag | None = self
        while tag is not None:
            yield tag
            tag = tag.tagged

    def leading_to(self, commit: CommitId) -> Tag:
        """Return the same tag at another commit, with the same content."""
        tagged = None if self.tagged is None else self.tagged.leading_to(commit)
        return self.model_copy(update={"commit_id": commit, "tagged": tagged})

    @property
    def creation_date(self) -> datetime | None:
        """Time of the creation of the tag. `None` for tags whose records do not contain it."""
        first = [step for step in steps(self.past, f"tag {self.id}") if step.mark == CREATED]
        return first[0].time if first else None

    def _html_row(self) -> dict[str, object]:
        """Return what a listing in a notebook shows of the tag, by name."""
        shown = {"tag": self.id, "commit": self.commit_id, "tagger": self.tagger, "message": self.message}
        return {name: value for name, value in shown.items() if value or name != "tagger"}


class Commit(Record):
    """Header of a commit. The commit id is the hash of the encoded header, so the id fixes content and history."""

    version: int = Field(default=OPERATIONS_RULE, ge=1, le=OPERATIONS_RULE)
    """Version of the header, which selects the rule of the operations digest."""
    committer: str
    message: str
    creation_date: datetime
    parents: tuple[CommitId, ...]
    metadata: dict[str, str] = Field(default_factory=dict)
    generation: int = Field(ge=1)
    """1 for a root commit, otherwise 1 + the largest generation of the parents."""
    nonce: Nonce
    """Drawn once for each logical commit and kept over retries."""
    consumed: tuple[str, ...] = ()
    """Ids of the layers that this commit took from its branch, newest first."""
    operations: str
    """Hex digest over the sorted effective changes against the first parent."""
    idempotency_key: str = ""
    """Key of the call that made the commit, so that a repeated call finds it."""

    @field_validator("metadata")
    @classmethod
    def _sorted(cls, metadata: dict[str, str]) -> dict[str, str]:
        # The encoding keeps the order of a dictionary, and the commit id is the hash of the encoding.
        return dict(sorted(metadata.items()))


class Superseded(Record):
    """Index of an earlier layout of the same commit, and the time at which that layout was replaced."""

    index: Index
    since: datetime


class Layout(Record):
    """Location of a commit's content. It can be replaced without changing the commit id."""

    index: Index
    superseded: tuple[Superseded, ...] = ()


class DeletedState(StrEnum):
    """State of the entry that a deleted repository leaves for the cleaner."""

    DELETED = "deleted"
    PURGING = "purging"
    RESTORING = "restoring"


class DeletedRepository(Record):
    """Deleted repository, with everything that the cleaner needs to remove its content."""

    repository: RepositoryRecord
    state: DeletedState
    nonce: Nonce
    since: datetime
    emptying: bool = Field(default=False, exclude_if=operator.not_)
    """While `purging`: a cleaner has verified that the repository cannot be reached, and may have started to remove its
    content. The repository can no longer be restored. Before this flag is set, nothing has been removed.
    """


class ClaimState(StrEnum):
    """State of the claim of a storage namespace."""

    OWNED = "owned"
    EMPTYING = "emptying"
    """No repository owns the namespace. Its objects are being deleted and cannot be staged: see `gc.namespaces`."""
    EMPTIED = "emptied"
    """The objects are deleted. The claim remains until no deletion can be in progress."""


class NamespaceClaim(Record):
    """Owner of a storage namespace. Two repositories never share a namespace, and no namespace lies inside another
    one.
    """

    owner: RepositoryUid
    repository: RepositoryId
    """While the namespace is emptied: the former repository."""
    nonce: Nonce
    since: datetime
    state: ClaimState = Field(default=ClaimState.OWNED, exclude_if=lambda state: state is ClaimState.OWNED)


class AbandonedNamespace(Record):
    """Storage namespace of a deleted repository that a cleaner has removed. Its objects still exist."""

    repository: RepositoryId
    uid: RepositoryUid
    nonce: Nonce
    since: datetime


class Cleanup(Record):
    """A layer that is about to leave its branch record, or to enter it. Written before the swap.

    If the layer was leaving and the branch record, read after this record, does not list it, the layer has left for
    good and may be dropped. In all other cases a cleaner first swaps this record to `purging`, then swaps the branch
    record from one that does not list the layer to a changed one, and only then drops the layer. See `engine.cleaning`.
    """

    branch: BranchId
    layer: Layer
    since: datetime
    purging: bool = False
    """True if a cleaner has claimed the layer. From then on no branch record may list it."""
    leaving: bool = Field(default=False, exclude_if=operator.not_)
    """True if the author of this record had seen the layer in its branch record."""


class Operation(Record):
    """Idempotency key in use. It says where to look for a commit that an earlier attempt may have made."""

    branch_uid: BranchUid
    base: CommitId
    since: datetime


class UploadState(StrEnum):
    """State of an upload. Entries may refer to its objects only from `naming` on, and never once it is `purging`."""

    UPLOADING = "uploading"
    NAMING = "naming"
    PURGING = "purging"


class UploadTarget(Record):
    """Branch and path at which the content of a multipart upload will be staged: see `engine.staging.multipart`."""

    branch: BranchId
    path: str
    content_type: str | None = None
    metadata: Mapping[str, str] = Field(default_factory=dict)


class UploadPart(Record):
    """Part of a multipart upload, which is stored as an object below the prefix of the upload."""

    address: str
    """Relative to the storage namespace."""
    size: int = Field(ge=0)
    checksum: str
    creation_date: datetime


class Upload(Record):
    """Objects below one prefix that are stored before any entry refers to them: see `objects.uploads`."""

    state: UploadState
    nonce: Nonce
    since: datetime
    """Time at which the current state was entered."""
    target: UploadTarget | None = Field(default=None, exclude_if=operator.not_)
    """Branch and path of a multipart upload."""


class RegisterHolder(Record):
    """Process that holds a register: see `records.timed_register`."""

    nonce: Nonce
    since: datetime


class Sweeping(RegisterHolder):
    """Process that currently deletes or renews files by age: see `objects.sweep_register`."""
