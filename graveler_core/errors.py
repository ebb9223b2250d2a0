"""All errors that graveler raises, as one tree. This is the lowest layer: it imports no other module of graveler.

The class of an error says what the caller can do; its `kind` says what happened. The classes are few and fixed.
Kinds are append-only, because logs store them and they cross process boundaries.

    GravelerError
    ├── NotFound           name something that exists
    ├── NotUnique          choose another name, or use what exists
    ├── InvalidInput       fix the input: the message names the value and the rule
    │   └── LimitExceeded  make the value smaller: `details` has its size and the limit
    ├── Conflict           choose between the two sides (merge), or read again and retry (lost race, changed prefix)
    │   ├── DirtyBranch    commit or reset the staged changes first
    │   └── PredicateFailed  a compare-and-swap lost: read again (flows do; users rarely see it)
    ├── NoChanges          nothing to commit; `details["commit"]` may name the commit that has the changes
    ├── SlowDown           wait, then retry
    ├── OutcomeUnknown     the write may have happened: read before repeating it
    ├── Unavailable        the store cannot be reached or written: repair the environment
    ├── PermissionDenied   ask for the permission, or for a change of the rule that the message names
    └── CorruptData        restore the named object from a copy; repeating will not help
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar


class Kind(StrEnum):
    """Kind of error. Append-only."""

    RepositoryNotFound = "RepositoryNotFound"
    RepositoryDeleting = "RepositoryDeleting"
    BranchNotFound = "BranchNotFound"
    TagNotFound = "TagNotFound"
    CommitNotFound = "CommitNotFound"
    RefNotFound = "RefNotFound"
    PathNotFound = "PathNotFound"
    ObjectNotFound = "ObjectNotFound"
    NoMergeBase = "NoMergeBase"
    RepositoryExists = "RepositoryExists"
    BranchExists = "BranchExists"
    TagExists = "TagExists"
    NamespaceInUse = "NamespaceInUse"
    BlobExists = "BlobExists"
    InvalidName = "InvalidName"
    InvalidPath = "InvalidPath"
    InvalidRef = "InvalidRef"
    AmbiguousRef = "AmbiguousRef"
    InvalidUrl = "InvalidUrl"
    InvalidNamespace = "InvalidNamespace"
    InvalidValue = "InvalidValue"
    ValueTooLarge = "ValueTooLarge"
    MergeConflict = "MergeConflict"
    LostRace = "LostRace"
    CompactionLost = "CompactionLost"
    Discarded = "Discarded"
    BranchDirty = "BranchDirty"
    PredicateFailed = "PredicateFailed"
    NoChanges = "NoChanges"
    TooManyLayers = "TooManyLayers"
    StoreBusy = "StoreBusy"
    RetriesExhausted = "RetriesExhausted"
    OutcomeUnknown = "OutcomeUnknown"
    StoreUnreachable = "StoreUnreachable"
    StoreReadOnly = "StoreReadOnly"
    StoreFull = "StoreFull"
    NotAGravelerStore = "NotAGravelerStore"
    DefaultBranch = "DefaultBranch"
    PermissionDenied = "PermissionDenied"
    CorruptRecord = "CorruptRecord"
    CorruptRange = "CorruptRange"
    CorruptMetarange = "CorruptMetarange"
    CorruptCommit = "CorruptCommit"
    CorruptLayer = "CorruptLayer"
    CorruptObject = "CorruptObject"
    TransactionConflict = "TransactionConflict"
    NewerSchema = "NewerSchema"
    CompactionUnderWay = "CompactionUnderWay"
    CorruptDump = "CorruptDump"
    StoreNotEmpty = "StoreNotEmpty"
    StoreChanged = "StoreChanged"
    BranchProtected = "BranchProtected"
    RepositoryReadOnly = "RepositoryReadOnly"
    UserNotFound = "UserNotFound"
    GroupNotFound = "GroupNotFound"
    PolicyNotFound = "PolicyNotFound"
    MembershipNotFound = "MembershipNotFound"
    AttachmentNotFound = "AttachmentNotFound"
    CredentialNotFound = "CredentialNotFound"
    UserExists = "UserExists"
    GroupExists = "GroupExists"
    PolicyExists = "PolicyExists"
    AccessDenied = "AccessDenied"
    InvalidCredentials = "InvalidCredentials"
    IamSetUp = "IamSetUp"
    LastAdministrator = "LastAdministrator"
    CredentialsRequired = "CredentialsRequired"
    ChecksRequired = "ChecksRequired"
    PrefixChanged = "PrefixChanged"
    ContentCollected = "ContentCollected"
    ContentExpired = "ContentExpired"
    ContentErased = "ContentErased"
    ContentShared = "ContentShared"
    LocalConflict = "LocalConflict"
    BucketNotFound = "BucketNotFound"
    StoreNotDurable = "StoreNotDurable"
    StoreMoved = "StoreMoved"
    HookRefused = "HookRefused"
    HookNotFound = "HookNotFound"
    TaskNotFound = "TaskNotFound"
    PathExists = "PathExists"
    SecretNotKept = "SecretNotKept"
    UploadNotFound = "UploadNotFound"
    PartMismatch = "PartMismatch"
    NameTooLong = "NameTooLong"
    PathTooLong = "PathTooLong"
    TextTooLong = "TextTooLong"
    MetadataTooLarge = "MetadataTooLarge"
    TooManyItems = "TooManyItems"
    NotACommit = "NotACommit"
    RepositoryIncomplete = "RepositoryIncomplete"


class GravelerError(Exception):
    """Root of the tree.

    Args:
        message: One sentence that names the value and the rule, for a person.
        kind: What happened; the class's own default when not given.
        details: Data for programs (expected and actual commit, conflicts, the name asked for). Picklable values only.
    """

    default_kind: ClassVar[Kind]

    def __init__(self, message: str, *, kind: Kind | None = None, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind if kind is not None else self.default_kind
        self.details = details

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.message, self.kind, self.details))


def _rebuild(cls: type[GravelerError], message: str, kind: Kind, details: dict[str, Any]) -> GravelerError:
    return cls(message, kind=kind, **details)


class NotFound(GravelerError):
    """The named resource does not exist."""

    default_kind = Kind.ObjectNotFound


class NotUnique(GravelerError):
    """The resource to create already exists."""

    default_kind = Kind.BlobExists


class InvalidInput(GravelerError):
    """The input is not valid. Nothing was changed."""

    default_kind = Kind.InvalidValue


class LimitExceeded(InvalidInput):
    """A value is longer or larger than its limit. Nothing was changed."""

    default_kind = Kind.ValueTooLarge


class Conflict(GravelerError):
    """Two changes conflict. Nothing was changed. `details["conflicts"]` lists several conflicts."""

    default_kind = Kind.LostRace


class DirtyBranch(Conflict):
    """The branch has staged changes, and the operation requires a clean one."""

    default_kind = Kind.BranchDirty


class PredicateFailed(Conflict):
    """A compare-and-swap found a different value than expected. Nothing was written."""

    default_kind = Kind.PredicateFailed


class NoChanges(GravelerError):
    """There is nothing to commit."""

    default_kind = Kind.NoChanges


class SlowDown(GravelerError):
    """The store or the branch is overloaded. Nothing was changed. Repeat the same call later."""

    default_kind = Kind.StoreBusy


class OutcomeUnknown(GravelerError):
    """A write was sent and no response arrived: it may or may not have happened."""

    default_kind = Kind.OutcomeUnknown


class Unavailable(GravelerError):
    """The store cannot be reached, read or written."""

    default_kind = Kind.StoreUnreachable


class PermissionDenied(GravelerError):
    """The caller, or every caller, is not allowed to do this. Nothing was changed."""

    default_kind = Kind.PermissionDenied


class CorruptData(GravelerError):
    """Stored data does not match its id or format. The message names it."""

    default_kind = Kind.CorruptRecord
