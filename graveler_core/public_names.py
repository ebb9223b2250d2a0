"""Public names of the library, with the modules that define them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

PUBLIC_NAMES = {
    "AddressType": "model.entry",
    "Basis": "model.operations",
    "Branch": "facade.branch",
    "Change": "model.changes",
    "ChangeKind": "model.changes",
    "ChangeSummary": "model.changes",
    "CommitRecord": "facade.history",
    "CommonPrefix": "model.entry",
    "Conflict": "errors",
    "ConflictKind": "model.operations",
    "CorruptData": "errors",
    "Credentials": "model.credentials",
    "DirtyBranch": "errors",
    "Entry": "model.entry",
    "Graveler": "facade.graveler",
    "GravelerError": "errors",
    "Hook": "stores.hooks",
    "HookRequest": "model.hook_runs",
    "IndexSizes": "model.repository_settings",
    "InvalidInput": "errors",
    "KeyInterval": "model.key_intervals",
    "LimitExceeded": "errors",
    "Listing": "facade.listing",
    "LogEntry": "facade.history",
    "MergeConflict": "model.changes",
    "MergeStrategy": "model.changes",
    "NoChanges": "errors",
    "NotFound": "errors",
    "NotUnique": "errors",
    "OperationConflict": "model.operations",
    "OutcomeUnknown": "errors",
    "PermissionDenied": "errors",
    "PredicateFailed": "errors",
    "Put": "model.operations",
    "Remove": "model.operations",
    "Repository": "facade.repository",
    "RepositorySettings": "model.repository_settings",
    "Resolution": "model.operations",
    "ScanPartition": "model.scan",
    "ScanPlan": "model.scan",
    "SecretsKeys": "model.secrets_keys",
    "SlowDown": "errors",
    "Snapshot": "facade.snapshot",
    "SshVerifier": "stores.ssh_signatures",
    "Tag": "model.entities",
    "Thresholds": "model.compaction",
    "Unavailable": "errors",
    "Unchanged": "model.operations",
    "__version__": "version",
    "compare_stores": "wiring.copies",
    "connect": "wiring.handles",
    "copy_store": "wiring.copies",
    "finish_copy": "wiring.copies",
    "operations_of": "model.operations",
    "ssh_signature": "stores.ssh_signatures",
    "sweep_tombstones": "wiring.sweeps",
}


def public_value(name: str) -> Any:
    """Return the value of a public name.

    Args:
        name: The name, an attribute of `graveler_core`.

    Returns:
        The class, function or text.

    Raises:
        AttributeError: The name is not public.
    """
    if name not in PUBLIC_NAMES:
        raise AttributeError(f"module 'graveler_core' has no attribute {name!r}")
    return getattr(import_module(f"graveler_core.{PUBLIC_NAMES[name]}"), name)
