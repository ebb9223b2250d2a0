"""Room for further layers in the record of a branch.

Bulk writes and prefix operations are refused when a branch has many layers. Commits and compactions are never refused.
A commit that is refused by a hook, or fails, leaves the token that it has sealed, so many such commits would fill the
record. A flow therefore does not seal a token into a crowded record: first, the layers that are sealed already are
compacted.
"""

from __future__ import annotations

from typing import Final

from graveler_core.codec.records import encode
from graveler_core.model.entities import BranchRecord
from graveler_core.model.layers import MAX_LAYERS

MAX_LAYER_BYTES: Final = 64 * 1024
"""Size of a branch record, in bytes, above which no bulk write adds a layer."""
_CROWDED_BYTES: Final = 80 * 1024
"""Size of a branch record, in bytes, above which no token is sealed. It is larger than any record to which a bulk write
has added layers, and one more token fits into the largest value of a store.
"""


def has_room(branch: BranchRecord) -> bool:
    """Return true if a bulk write may add a layer, and seal the staging token below it."""
    return len(branch.sealed_tokens) + 2 <= MAX_LAYERS and len(encode(branch)) <= MAX_LAYER_BYTES


def is_crowded(branch: BranchRecord) -> bool:
    """Return true if the sealed layers must be compacted before the staging token is sealed."""
    layers = len(branch.sealed_tokens)
    return layers > MAX_LAYERS or (layers > 0 and len(encode(branch)) > _CROWDED_BYTES)
