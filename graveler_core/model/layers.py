"""Layers of staged changes on a branch, between its head and its staging token. They are kept newest first.

A layer is frozen once a branch record lists it. Its id is never listed again once it has left the record. Removals and
restorations are stored in the branch record itself, so that they cost no additional read.
"""

from __future__ import annotations

import operator
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from graveler_core.model.ids import LayerId, StagingToken

MAX_LAYERS = 100
"""Number of layers from which on bulk writes and prefix operations are refused with `SlowDown`. Commits and compactions
are never refused.
"""


class _Layer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SealedToken(_Layer):
    """Former staging token, given by its key-value partition."""

    kind: Literal["token"] = "token"
    token: StagingToken

    @property
    def id(self) -> str:
        return self.token


class SegmentLayer(_Layer):
    """Sorted immutable segments in the storage namespace, below the id of the layer."""

    kind: Literal["segment"] = "segment"
    id: LayerId
    count: int = Field(ge=0)
    """Number of records, tombstones included."""


class PrefixRemoval(_Layer):
    """Removal of everything under `prefix` in the layers below."""

    kind: Literal["removal"] = "removal"
    id: LayerId
    prefix: str


class PrefixRestoration(_Layer):
    """Restoration of the head's content under `prefix`, or of its entry there if `exact`. It hides the layers below."""

    kind: Literal["restoration"] = "restoration"
    id: LayerId
    prefix: str
    exact: bool = Field(default=False, exclude_if=operator.not_)
    """`prefix` is the only path that the restoration covers."""


Layer = Annotated[SealedToken | SegmentLayer | PrefixRemoval | PrefixRestoration, Field(discriminator="kind")]
