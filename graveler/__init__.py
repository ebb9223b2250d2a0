"""graveler: Git for data, on any key-value store and any object store. The public Python API.

The names are those of `graveler_core`, which is imported when the first of them is used. So `graveler.spark.session`
and other lightweight modules can be imported without it.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graveler_core import (
        AddressType,
        Basis,
        Change,
        ChangeKind,
        ChangeSummary,
        CommonPrefix,
        ConflictKind,
        Credentials,
        Entry,
        KeyInterval,
        MergeConflict,
        MergeStrategy,
        OperationConflict,
        Put,
        Remove,
        Resolution,
        ScanPartition,
        ScanPlan,
        Thresholds,
        Unchanged,
        compare_stores,
        connect,
        copy_store,
    )

__all__ = [
    "AddressType",
    "Basis",
    "Change",
    "ChangeKind",
    "ChangeSummary",
    "CommonPrefix",
    "ConflictKind",
    "Credentials",
    "Entry",
    "KeyInterval",
    "MergeConflict",
    "MergeStrategy",
    "OperationConflict",
    "Put",
    "Remove",
    "Resolution",
    "ScanPartition",
    "ScanPlan",
    "Thresholds",
    "Unchanged",
    "compare_stores",
    "connect",
    "copy_store",
]

if not TYPE_CHECKING:

    def __getattr__(name):
        """Import `graveler_core` when one of its names is first used."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import graveler_core

        return getattr(graveler_core, name)
