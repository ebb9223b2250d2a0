"""graveler: Git for data, on any key-value store and any object store.

A module is imported when one of its names is first used.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graveler_core.errors import (
        Conflict,
        CorruptData,
        DirtyBranch,
        GravelerError,
        InvalidInput,
        LimitExceeded,
        NoChanges,
        NotFound,
        NotUnique,
        OutcomeUnknown,
        PermissionDenied,
        PredicateFailed,
        SlowDown,
        Unavailable,
    )
    from graveler_core.facade.branch import Branch
    from graveler_core.facade.graveler import Graveler
    from graveler_core.facade.history import CommitRecord, LogEntry
    from graveler_core.facade.listing import Listing
    from graveler_core.facade.repository import Repository
    from graveler_core.facade.snapshot import Snapshot
    from graveler_core.model.changes import Change, ChangeKind, ChangeSummary, MergeConflict, MergeStrategy
    from graveler_core.model.compaction import Thresholds
    from graveler_core.model.credentials import Credentials
    from graveler_core.model.entities import Tag
    from graveler_core.model.entry import AddressType, CommonPrefix, Entry
    from graveler_core.model.hook_runs import HookRequest
    from graveler_core.model.key_intervals import KeyInterval
    from graveler_core.model.operations import (
        Basis,
        ConflictKind,
        OperationConflict,
        Put,
        Remove,
        Resolution,
        Unchanged,
        operations_of,
    )
    from graveler_core.model.repository_settings import IndexSizes, RepositorySettings
    from graveler_core.model.scan import ScanPartition, ScanPlan
    from graveler_core.model.secrets_keys import SecretsKeys
    from graveler_core.stores.hooks import Hook
    from graveler_core.stores.ssh_signatures import SshVerifier, ssh_signature
    from graveler_core.version import __version__
    from graveler_core.wiring.copies import compare_stores, copy_store, finish_copy
    from graveler_core.wiring.handles import connect
    from graveler_core.wiring.sweeps import sweep_tombstones

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
    "IndexSizes",
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
    "RepositorySettings",
    "Resolution",
    "ScanPartition",
    "ScanPlan",
    "SecretsKeys",
    "SlowDown",
    "Snapshot",
    "SshVerifier",
    "Tag",
    "Thresholds",
    "Unavailable",
    "Unchanged",
    "__version__",
    "compare_stores",
    "connect",
    "copy_store",
    "finish_copy",
    "operations_of",
    "ssh_signature",
    "sweep_tombstones",
]

if not TYPE_CHECKING:

    def __getattr__(name):
        """Return a public name from the module that defines it."""
        from graveler_core.public_names import public_value

        return public_value(name)
