"""Progress record that a store holds while another store is copied into it."""

from __future__ import annotations

from graveler_core.model.entities import Record
from graveler_core.model.ids import Nonce


class Copying(Record):
    """Progress of a copy from another store: see `transfer.kv_copy`.

    Only the next run of the copy reads this record. It is removed when the copy is complete.
    """

    source: str
    """Hex digest over the registers of the source. Identifies the source and its state."""
    run: Nonce
    """Fresh for each run, so that a run that was superseded notices it at its next step."""
    unit: str = ""
    """Unit that is being copied: the key of a repository record or deleted entry, or the name of a partition. Empty for
    the first unit.
    """
    partition: bytes = b""
    """Every partition of the unit before this one has been copied. Empty while the unit is being emptied."""
    key: bytes = b""
    """Last copied key of this partition."""
    compared: bool = False
    """True if all contents were compared and are equal. Only the registers may be missing."""
