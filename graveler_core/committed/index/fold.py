"""Fold the layers of an index into its metarange.

Changes in layers were compared with the parent when they were committed. An entry that was changed and changed back
has a new mtime, and perhaps a new address, although the metarange below has an equal entry. Readers see the new one,
so folding keeps it.
"""

from __future__ import annotations

from graveler_core.committed.apply import Mapper, apply
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.layer import overlaid
from graveler_core.committed.index.layers import layers
from graveler_core.model.ids import MetarangeId
from graveler_core.model.index import Index


def fold(indexes: Indexes, index: Index, *, mapper: Mapper = map) -> MetarangeId:
    """Return the metarange with all entries of an index; write it if necessary. Equal entries give an equal id."""
    above = layers(indexes, index)
    if not above:
        return index.metarange_id
    changes = overlaid(above).table
    return apply(indexes.trees, index.metarange_id, changes, mapper=mapper, verbatim=True).metarange_id
