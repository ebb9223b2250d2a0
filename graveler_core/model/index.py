"""Where the entries of a commit are: the layered index. Source: seed 002, "Indexes".

Newest first: the inline index, the runs, the metarange. The first that knows a key decides. The metarange holds entries
alone; the layers above it hold elements, each an entry or a removal.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from graveler_core.model.ids import MetarangeId, ObjectId


class Run(BaseModel):
    """A sorted, immutable piece of what earlier commits changed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: ObjectId
    elements: int
    size: int
    """Bytes of its keys and records. Up to `Sizes.object_bytes` it is an object in the key-value store, else a blob."""


class Index(BaseModel):
    """A layered index, by the ids of its parts; equal parts hold equal entries, but not the other way round."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64")

    metarange_id: MetarangeId
    runs: tuple[Run, ...] = ()
    """Newest first."""
    inline: bytes = b""
    """`codec.elements`: what this commit changed, and what commits before it changed and no run holds yet."""
    own_run: bool = False
    """What this commit changed was too much for the inline index: it is the first run."""
