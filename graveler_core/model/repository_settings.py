"""Settings of a repository that its record contains: default branch, description, and sizes of indexes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.ids import BranchId
from graveler_core.model.limit import require_limit
from graveler_core.model.names import text

MAX_DESCRIPTION_BYTES: Final = 4 * 1_024
"""Maximum size of the description of a repository in bytes. Every operation reads it with the repository record."""


class IndexSizes(BaseModel):
    """Sizes at which the index of a commit changes its shape. `None` means the size that the library uses by default.

    The sizes decide where changes are stored, not what a commit contains: commits made with other sizes read the same
    and have the same ids. They apply to commits that are made afterwards. The sizes of ranges are no settings, because
    equal entries would then have trees with different ids.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    inline_bytes: int | None = Field(default=None, ge=256, le=64 << 10)
    """Maximum size in bytes of the inline index, which each commit contains. Default 8 KiB. A larger one makes commits
    larger, and runs rarer."""
    object_bytes: int | None = Field(default=None, ge=256, le=80 << 10)
    """Maximum size in bytes of a run in the key-value store. Default 64 KiB. Larger runs are files of the object
    store."""
    fan_out: int | None = Field(default=None, ge=2, le=64)
    """Number of neighbouring runs of similar size that are merged into one. Default 8. A larger one writes less, and
    makes lookups ask more runs."""
    fold_elements: int | None = Field(default=None, ge=16, le=1_000_000)
    """Minimum number of changes above the metarange before index maintenance folds them into it. Default 4,096."""

    def __init__(self, **given: object) -> None:
        try:
            super().__init__(**given)
        except ValidationError as e:
            first = e.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            raise InvalidInput(f"index sizes: {where} {first['input']!r}: {first['msg']}") from None

    def chosen(self) -> dict[str, int]:
        """Return the sizes that are set, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}


DEFAULT_SIZES: Final = IndexSizes()
"""Index sizes of a repository for which none are set."""


@dataclass(frozen=True, slots=True)
class RepositorySettings:
    """Settings of a repository. They are changed together, in one step."""

    default_branch: BranchId
    description: str
    index_sizes: IndexSizes

    @property
    def version(self) -> str:
        """Version of the settings: a hash of their values. A change may depend on it."""
        said = (self.default_branch, self.description, sorted(self.index_sizes.chosen().items()))
        return hashlib.blake2b(repr(said).encode(), digest_size=16).hexdigest()


def description(value: str) -> str:
    """Check the description of a repository.

    Raises:
        InvalidInput: It is not valid Unicode text.
        LimitExceeded: (`TextTooLong`) It is too long.
    """
    size = len(text("description", value).encode())
    require_limit("description", size, MAX_DESCRIPTION_BYTES, "bytes", Kind.TextTooLong)
    return value
