"""Metadata of a repository: texts by key, which users choose."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from pydantic import Field

from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.entities import Record
from graveler_core.model.ids import Nonce
from graveler_core.model.limit import require_limit

MAX_METADATA_BYTES: Final = 32 * 1024
"""Maximum size in bytes of the metadata of a repository, as JSON. The record must fit into one value."""


class RepositoryMetadata(Record):
    """Metadata of a repository. Every change is a swap with a fresh nonce."""

    values: dict[str, str] = Field(default_factory=dict)
    """In order of the keys."""
    nonce: Nonce


def repository_metadata(values: Mapping[str, str]) -> dict[str, str]:
    """Check metadata, and return it in order of the keys.

    Raises:
        InvalidInput: A key or a value is not text in valid Unicode, a key is empty.
        LimitExceeded: (`MetadataTooLarge`) There is too much.
    """
    if not isinstance(values, Mapping) or not all(isinstance(text, str) for pair in values.items() for text in pair):
        raise InvalidInput(f"repository metadata: {values!r} must map text to text")
    if "" in values:
        raise InvalidInput("repository metadata: a key must not be empty")
    try:
        size = len(json.dumps(dict(values), ensure_ascii=False).encode())
    except UnicodeEncodeError as error:
        raise InvalidInput(f"repository metadata: must be valid Unicode ({error.reason})") from error
    require_limit("repository metadata", size, MAX_METADATA_BYTES, "bytes", Kind.MetadataTooLarge)
    return dict(sorted(values.items()))
