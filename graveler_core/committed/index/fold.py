"""Folding the layers of an index into its metarange."""

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
    return apply(indexes.trees, index.metarange_id, overlaid(above).table, mapper=mapper).metarange_id
