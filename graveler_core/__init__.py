"""graveler: Git for data, on any key-value store and any object store."""

from graveler_core.model.changes import Change, ChangeKind, ChangeSummary, MergeConflict, MergeStrategy
from graveler_core.model.compaction import Thresholds
from graveler_core.model.credentials import Credentials
from graveler_core.model.entry import AddressType, CommonPrefix, Entry
from graveler_core.model.key_intervals import KeyInterval
from graveler_core.model.operations import Basis, ConflictKind, OperationConflict, Put, Remove, Resolution, Unchanged
from graveler_core.model.scan import ScanPartition, ScanPlan
from graveler_core.wiring import compare_stores, connect, copy_store

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
