"""The operations digest of a commit, found anew: from its own layer, or from its content and its parent's."""

from __future__ import annotations

from graveler_core.codec.content_hash import ContentHash
from graveler_core.codec.small_hash import OPERATIONS_TAG, operations_digest
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.layers import own_changes
from graveler_core.committed.index.operations import operations_between
from graveler_core.committed.index.scan import scan
from graveler_core.model.entry import RECORD_SCHEMA
from graveler_core.model.index import Index
from graveler_core.segments.merge import as_records


def of_own_layer(indexes: Indexes, index: Index) -> str | None:
    """The digest of what an index says that its commit changed; None where that is not kept apart.

    Raises:
        CorruptData: the inline index or the run is missing or damaged.
    """
    own = own_changes(indexes, index)
    if own is None:
        return None
    if not index.own_run:
        return operations_digest([(element.key, element.record) for element in own.elements])
    operations = ContentHash(OPERATIONS_TAG, RECORD_SCHEMA)
    operations.update(own.table)
    return operations.hexdigest()


def of_content(indexes: Indexes, before: Index | None, after: Index) -> str:
    """The digest of what leads from one index to another; from nothing, where there is no first one.

    Raises:
        CorruptData: something of them is missing or damaged.
    """
    if before is not None:
        return operations_between(indexes, before, after)[0]
    operations = ContentHash(OPERATIONS_TAG, RECORD_SCHEMA)
    for entries in scan(indexes, after):
        operations.update(as_records(entries))
    return operations.hexdigest()
