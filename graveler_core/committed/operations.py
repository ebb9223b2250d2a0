"""The operations digest of a commit: what it changed against its first parent, whatever it was built from."""

from __future__ import annotations

from graveler_core.codec.content_hash import ContentHash
from graveler_core.committed.apply import OPERATIONS_TAG
from graveler_core.committed.diff import as_changes, diff
from graveler_core.committed.trees import Trees
from graveler_core.model.entry import RECORD_SCHEMA
from graveler_core.model.ids import MetarangeId


def operations_between(trees: Trees, left: MetarangeId, right: MetarangeId) -> str:
    """The digest of what leads from one tree to another: as `apply` gives it for effective changes."""
    operations = ContentHash(OPERATIONS_TAG, RECORD_SCHEMA)
    for found in diff(trees, left, right):
        operations.update(as_changes(found))
    return operations.hexdigest()
