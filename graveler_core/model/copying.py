"""What a store holds while another one is copied into it."""

from __future__ import annotations

from graveler_core.model.entities import Record
from graveler_core.model.ids import Nonce


class Copying(Record):
    """How far the copy of another store has come: see `transfer.kv_copy`.

    Nothing reads it but the next run of the copy. It is removed at the end.
    """

    source: str
    """Hex digest over the source's registers: which store this is, in which state."""
    run: Nonce
    """Fresh for each run, so that a run that was taken for dead finds out at its next step."""
    unit: str = ""
    """What is being copied: key of a repository's record or deleted entry, name of a partition; "" for the first."""
    partition: bytes = b""
    """All of the unit before this partition is there, in the order of the walk; b"" while it is being emptied."""
    key: bytes = b""
    """And of this partition all up to this key."""
    compared: bool = False
    """All contents were compared, and equal: only the registers may be missing."""
