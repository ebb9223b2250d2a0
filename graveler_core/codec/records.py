"""Encoding of stored records: one format-version byte, then JSON with the fields in their order. A layout is binary
(`codec.layouts`).

The id of a commit is the hash of exactly these bytes, so stored commits can be verified by hashing them. The order of
fields in `model.entities` is therefore part of the format.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import TypeVar, cast

from pydantic import ValidationError

from graveler_core.codec.layouts import decode_layout, encode_layout
from graveler_core.errors import CorruptData, InvalidInput
from graveler_core.model.entities import FORMAT_VERSION, BranchRecord, Commit, Layout, Record, RepositoryRecord
from graveler_core.model.ids import CommitId

R = TypeVar("R", bound=Record)
_VERSION = bytes([FORMAT_VERSION])
_READ_OFTEN = (RepositoryRecord, BranchRecord)
"""Records that every flow reads again."""
_RECENT = 256
"""Number of them that are kept."""


def encode(record: Record) -> bytes:
    """Return the canonical bytes of a record.

    Raises:
        InvalidInput: A field has a value that could not be decoded again. (`model_copy` does not check values.)
    """
    if isinstance(record, Layout):
        return encode_layout(record)
    try:
        return _VERSION + record.model_dump_json(warnings="error").encode()
    except ValueError as e:  # pydantic_core's error; that package is not a direct dependency
        what = type(record).__name__
        raise InvalidInput(f"{what}: a field has the wrong type or is not valid Unicode: {e}") from e


def decode(model: type[R], data: bytes, name: str) -> R:
    """Decode a record.

    Args:
        model: Class of the record.
        data: Result of `encode`.
        name: Name of the record in error messages.

    Raises:
        CorruptData: The bytes are not a valid record in a format version that this library reads.
    """
    if model is Layout:
        return cast(R, decode_layout(data, name))
    if data[:1] != _VERSION:
        raise CorruptData(f"{name}: format version {data[:1].hex() or 'missing'} is not supported", name=name)
    try:
        return _recent(model, data) if model in _READ_OFTEN else _parsed(model, data)
    except ValidationError as e:
        first = e.errors(include_url=False, include_input=False)[0]
        raise CorruptData(f"{name}: {first['msg']} at {first['loc']}", name=name) from e
    except InvalidInput as e:  # raised by values that users can create too
        raise CorruptData(f"{name}: {e.message}", name=name) from e


def _parsed(model: type[R], data: bytes) -> R:
    return model.model_validate_json(data[1:])


@lru_cache(maxsize=_RECENT)
def _recent(model: type[R], data: bytes) -> R:
    """Parse a record, or return the one that was parsed from the same bytes. Records are immutable."""
    return _parsed(model, data)


def commit_id(header: bytes) -> CommitId:
    """Return the commit id for an encoded header."""
    return CommitId(hashlib.blake2b(header, digest_size=32).hexdigest())


def identify(commit: Commit) -> CommitId:
    """Return the id of a commit."""
    return commit_id(encode(commit))
