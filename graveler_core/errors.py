"""Every error that graveler raises, as one tree. The bottom layer: imports nothing of ours.

The classes say what the caller can *do*; `kind` says what happened, by the field's own names. Classes are few and
fixed; kinds only ever grow (a kind is stored in logs and crosses process borders, so none is renamed or removed).

    GravelerError
    ├── NotFound           name something that exists
    ├── NotUnique          choose another name, or use what exists
    ├── InvalidInput       fix the input: the message names the value and the rule
    ├── LimitExceeded      make the value smaller
    ├── Conflict           decide between the two sides (merge), or look again and retry (lost race)
    │   ├── DirtyBranch    commit or reset what is staged first
    │   └── PredicateFailed  a compare-and-swap lost: read again (flows do; users rarely see it)
    ├── NoChanges          nothing to commit; `details["commit"]` may name the commit that took the changes
    ├── SlowDown           wait, then try the same again
    ├── OutcomeUnknown     the write may have happened: look before repeating it
    ├── Unavailable        the store cannot be reached, or cannot be written: mend the surroundings
    ├── PermissionDenied   ask for the permission, or that the rule be lifted that the message names
    └── CorruptData        restore the named object from a copy; repeating will not help
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar


class Kind(StrEnum):
    """What happened. Append-only."""

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
    CredentialsRequired = "CredentialsRequired"


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
    """What was named does not exist."""

    default_kind = Kind.ObjectNotFound


class NotUnique(GravelerError):
    """What should be created exists already."""

    default_kind = Kind.BlobExists


class InvalidInput(GravelerError):
    """The input breaks a rule; nothing was changed."""

    default_kind = Kind.InvalidValue


class LimitExceeded(GravelerError):
    """A key, value or entry is larger than every store accepts."""

    default_kind = Kind.ValueTooLarge


class Conflict(GravelerError):
    """Two changes meet; nothing was changed. `details["conflicts"]` lists them where there are several."""

    default_kind = Kind.LostRace


class DirtyBranch(Conflict):
    """The branch has staged changes, and the operation needs a clean one."""

    default_kind = Kind.BranchDirty


class PredicateFailed(Conflict):
    """A compare-and-swap found another value than expected; nothing was written."""

    default_kind = Kind.PredicateFailed


class NoChanges(GravelerError):
    """There is nothing to commit."""

    default_kind = Kind.NoChanges


class SlowDown(GravelerError):
    """The store or the branch is overloaded; nothing was changed; the same call may be repeated later."""

    default_kind = Kind.StoreBusy


class OutcomeUnknown(GravelerError):
    """A write was sent and its answer never came: it may or may not have happened."""

    default_kind = Kind.OutcomeUnknown


class Unavailable(GravelerError):
    """The store cannot be reached, read or written at all."""

    default_kind = Kind.StoreUnreachable


class PermissionDenied(GravelerError):
    """The caller may not do this, or nobody may; nothing was changed."""

    default_kind = Kind.PermissionDenied


class CorruptData(GravelerError):
    """A stored thing is not what its id or format says; the message names it."""

    default_kind = Kind.CorruptRecord
