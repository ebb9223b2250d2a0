"""graveler: Git for data, on any key-value store and any object store. The public Python API.

The names are those of `graveler_core`. A module is imported when one of its names is first used.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graveler_core import (
        AddressType,
        Basis,
        Branch,
        Change,
        ChangeKind,
        ChangeSummary,
        CommitRecord,
        CommonPrefix,
        Conflict,
        ConflictKind,
        CorruptData,
        Credentials,
        DirtyBranch,
        Entry,
        Graveler,
        GravelerError,
        Hook,
        HookRequest,
        InvalidInput,
        KeyInterval,
        LimitExceeded,
        Listing,
        LogEntry,
        MergeConflict,
        MergeStrategy,
        NoChanges,
        NotFound,
        NotUnique,
        OperationConflict,
        OutcomeUnknown,
        PermissionDenied,
        PredicateFailed,
        Put,
        Remove,
        Repository,
        Resolution,
        ScanPartition,
        ScanPlan,
        SlowDown,
        Snapshot,
        Tag,
        Thresholds,
        Unavailable,
        Unchanged,
        __version__,
        compare_stores,
        connect,
        copy_store,
    )

__all__ = [
    "AddressType",
    "Basis",
    "Branch",
    "Change",
    "ChangeKind",
    "ChangeSummary",
    "CommitRecord",
    "CommonPrefix",
    "Conflict",
    "ConflictKind",
    "CorruptData",
    "Credentials",
    "DirtyBranch",
    "Entry",
    "Graveler",
    "GravelerError",
    "Hook",
    "HookRequest",
    "InvalidInput",
    "KeyInterval",
    "LimitExceeded",
    "Listing",
    "LogEntry",
    "MergeConflict",
    "MergeStrategy",
    "NoChanges",
    "NotFound",
    "NotUnique",
    "OperationConflict",
    "OutcomeUnknown",
    "PermissionDenied",
    "PredicateFailed",
    "Put",
    "Remove",
    "Repository",
    "Resolution",
    "ScanPartition",
    "ScanPlan",
    "SlowDown",
    "Snapshot",
    "Tag",
    "Thresholds",
    "Unavailable",
    "Unchanged",
    "__version__",
    "compare_stores",
    "connect",
    "copy_store",
]

if not TYPE_CHECKING:

    def __getattr__(name):
        """Return a name of `graveler_core`."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import graveler_core

        return getattr(graveler_core, name)
