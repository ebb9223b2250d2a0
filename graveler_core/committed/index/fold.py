"""Folding the layers of an index into its metarange.

What the layers say was judged when it was committed: an entry that was changed and changed back has a new mtime, and
perhaps a new address, though the metarange below knows an equal one. The new one is what readers see, and so it stays.
"""

from __future__ import annotations

from graveler_core.committed.apply import Mapper, apply
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.layer import overlaid
from graveler_core.committed.index.layers import layers
from graveler_core.model.ids import MetarangeId
from graveler_core.model.index import Index


def fold(indexes: Indexes, index: Index, *, mapper: Mapper = map) -> MetarangeId:
    """The metarange of all that an index holds, made where there is none: equal entries, equal id."""
    above = layers(indexes, index)
    if not above:
        return index.metarange_id
    changes = overlaid(above).table
    return apply(indexes.trees, index.metarange_id, changes, mapper=mapper, verbatim=True).metarange_id
