"""The operations digest of a commit: what it changed against its first parent, whatever it was built from."""

from __future__ import annotations

from graveler_core.codec.content_hash import ContentHash
from graveler_core.codec.small_hash import OPERATIONS_TAG
from graveler_core.committed.diff import CHANGES, as_changes
from graveler_core.committed.index.diff import diff
from graveler_core.committed.index.indexes import Indexes
from graveler_core.model.entry import RECORD_SCHEMA
from graveler_core.model.index import Index


def operations_between(indexes: Indexes, left: Index, right: Index) -> tuple[str, int]:
    """The digest of what leads from one index to another, as `successor` gives it, and how many changes that are."""
    operations = ContentHash(OPERATIONS_TAG, RECORD_SCHEMA)
    count = 0
    for found in diff(indexes, left, right, wanted=CHANGES):
        operations.update(as_changes(found))
        count += len(found)
    return operations.hexdigest(), count
