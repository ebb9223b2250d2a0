"""What may stand on a branch between its head and its staging token: the layers, newest first.

A layer is frozen once a branch record lists it, and its id is never listed again once it has left the record. Removals
and restorations live in the record itself, so that they cost no extra read.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from graveler_core.model.ids import LayerId, StagingToken

MAX_LAYERS = 100
"""Bulk writes and prefix operations are refused (`SlowDown`) at this many layers; commit and compaction are exempt."""


class _Layer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SealedToken(_Layer):
    """A former staging token: its key-value partition."""

    kind: Literal["token"] = "token"
    token: StagingToken

    @property
    def id(self) -> str:
        return self.token


class SegmentLayer(_Layer):
    """Sorted immutable segments in the storage namespace, under the layer's id."""

    kind: Literal["segment"] = "segment"
    id: LayerId
    count: int = Field(ge=0)
    """Records in it, tombstones included."""


class PrefixRemoval(_Layer):
    """Everything below it under `prefix` is gone."""

    kind: Literal["removal"] = "removal"
    id: LayerId
    prefix: str


class PrefixRestoration(_Layer):
    """Under `prefix`, look through everything below it to the branch's head."""

    kind: Literal["restoration"] = "restoration"
    id: LayerId
    prefix: str


Layer = Annotated[SealedToken | SegmentLayer | PrefixRemoval | PrefixRestoration, Field(discriminator="kind")]
