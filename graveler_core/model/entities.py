"""The records that graveler keeps, as frozen pydantic models. Source: seeds 000 and 001, with the fields that the
guarantees need (uid, epoch, nonce, since, consumed, operations digest).

How a record becomes bytes is `codec`'s business, where it is kept `records`'.
"""

from __future__ import annotations

import operator
from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field, field_validator

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
from graveler_core.model.protection import ProtectionRule

FORMAT_VERSION = 1
OPERATIONS_RULE = 2
"""By which the operations digest of a new commit is made: see `segments.operations`."""


class Record(BaseModel):
    """Base of all stored records: frozen, and strict about unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64")


class RepositoryState(StrEnum):
    """`initial` while it is being created, `active` in use, `deleting` once deletion began."""

    INITIAL = "initial"
    ACTIVE = "active"
    DELETING = "deleting"


class Repository(Record):
    """A repository. Its uid, not its name, is in the key of everything that belongs to it."""

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
    """When the current state was entered."""
    was_active: bool = Field(default=False, exclude_if=operator.not_)
    """Set when it leaves `active`, and kept: what never was active is never restored."""
    read_only: bool = Field(default=False, exclude_if=operator.not_)
    """Nothing that its users see may be changed."""
    protection: tuple[ProtectionRule, ...] = Field(default=(), exclude_if=operator.not_)
    """Ordered by pattern."""
    migrating: str = Field(default="", exclude_if=operator.not_)
    """While `initial`, digest of the state of the source that is being migrated into it: see `transfer.migration`."""


class Branch(Record):
    """The one register of a branch: everything that a reader, writer or committer must see together."""

    id: BranchId
    uid: BranchUid
    epoch: int = 0
    """Counts resets and hard resets, so that a committer can tell a discarded change from a committed one."""
    commit_id: CommitId
    staging_token: StagingToken
    sealed_tokens: tuple[Layer, ...] = ()
    """Newest first."""
    compacted_metarange: MetarangeId | None = None
    compaction_start_time: datetime | None = None
    nonce: Nonce = Nonce("")
    """Fresh in every swap, so that no record is equal to an earlier one: a swap that comes late then fails, also where
    the branch is back to what it was."""
    past: str = Field(default="", exclude_if=operator.not_)
    """When and where it began, and its newest moves: see `model.past`."""


class Tag(Record):
    """A name for a commit that does not move."""

    id: TagId
    commit_id: CommitId
    message: str = ""
    signature: str = ""
    past: str = Field(default="", exclude_if=operator.not_)
    """When it was created: see `model.past`."""


class Commit(Record):
    """A commit's header. Its id is the hash of its encoding, so it fixes content and history."""

    version: int = Field(default=OPERATIONS_RULE, ge=1, le=OPERATIONS_RULE)
    """The rule of the operations digest."""
    committer: str
    message: str
    creation_date: datetime
    parents: tuple[CommitId, ...]
    metadata: dict[str, str] = Field(default_factory=dict)
    generation: int = Field(ge=1)
    """1 for a root; else 1 + the largest generation of the parents."""
    nonce: Nonce
    """Drawn once per logical commit, kept over retries."""
    consumed: tuple[str, ...] = ()
    """Ids of the layers that this commit took from its branch, newest first."""
    operations: str
    """Hex digest over the sorted effective changes against the first parent."""
    idempotency_key: str = ""
    """Names the call that made the commit, so that a repeated call finds it."""

    @field_validator("metadata")
    @classmethod
    def _sorted(cls, metadata: dict[str, str]) -> dict[str, str]:
        # The encoding keeps a dictionary's order, and the id is the encoding's hash.
        return dict(sorted(metadata.items()))


class Superseded(Record):
    """What an earlier layout of the same commit referred to, and until when it counts as referenced."""

    index: Index
    since: datetime


class Layout(Record):
    """Where a commit's content is kept. Replaceable (repacking) without changing the commit's id."""

    index: Index
    superseded: tuple[Superseded, ...] = ()


class DeletedState(StrEnum):
    """States of the entry that a deleted repository leaves for the cleaner."""

    DELETED = "deleted"
    PURGING = "purging"
    RESTORING = "restoring"


class DeletedRepository(Record):
    """What the cleaner finds: a repository that is gone for its users, with all that is needed to empty it."""

    repository: Repository
    state: DeletedState
    nonce: Nonce
    since: datetime
    emptying: bool = Field(default=False, exclude_if=operator.not_)
    """While `purging`: a cleaner has seen that nobody can reach the repository, and may have begun to empty it. It is
    never restored. Before, nothing was touched."""


class NamespaceClaim(Record):
    """Who owns a storage namespace. Two repositories never share one, nor does one lie inside another."""

    owner: RepositoryUid
    repository: RepositoryId
    nonce: Nonce
    since: datetime


class Cleanup(Record):
    """A layer that is about to leave its branch record, or to enter it: written before the swap that does so.

    A layer that was about to leave, and is not listed by the branch record that was read after this one, has left for
    ever, and whoever finds it may drop it. Any other one only by these steps: `purging` by a swap of this record; then
    a swap of the branch record that changes it, from one that does not list the layer. See `engine.cleaning`.
    """

    branch: BranchId
    layer: Layer
    since: datetime
    purging: bool = False
    """A cleaner has claimed the layer: no branch record may take it any more."""
    leaving: bool = Field(default=False, exclude_if=operator.not_)
    """Who wrote this had read the layer in its branch record: so it has entered."""


class Operation(Record):
    """An idempotency key in use: where to look for the commit that a former attempt may have made."""

    branch_uid: BranchUid
    base: CommitId
    since: datetime


class UploadState(StrEnum):
    """Nobody may name its objects while it is `uploading`; entries may from `naming` on, and never once `purging`."""

    UPLOADING = "uploading"
    NAMING = "naming"
    PURGING = "purging"


class Upload(Record):
    """Objects below one prefix that are stored before anything names them: see `objects.uploads`."""

    state: UploadState
    nonce: Nonce
    since: datetime
    """When the current state was entered."""


class Sweeping(Record):
    """Somebody deletes or renews blobs by their age at this moment: see `objects.sweep_register`."""

    nonce: Nonce
    since: datetime
