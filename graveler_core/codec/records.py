"""Bytes of the stored records: one format-version byte, then the record as JSON in the order of its fields; a layout
is binary (`codec.layouts`).

The id of a commit is the hash of exactly these bytes, so what is stored proves itself: a reader hashes what it got. The
order of fields in `model.entities` is therefore part of the format.
"""

from __future__ import annotations

import hashlib
from typing import TypeVar, cast

from pydantic import ValidationError

from graveler_core.codec.layouts import decode_layout, encode_layout
from graveler_core.errors import CorruptData, InvalidInput
from graveler_core.model.entities import FORMAT_VERSION, Commit, Layout, Record
from graveler_core.model.ids import CommitId

R = TypeVar("R", bound=Record)
_VERSION = bytes([FORMAT_VERSION])


def encode(record: Record) -> bytes:
    """The record's canonical bytes.

    Raises:
        InvalidInput: a field has a value that could not be read back: `model_copy` takes whatever it is given.
    """
    if isinstance(record, Layout):
        return encode_layout(record)
    try:
        return _VERSION + record.model_dump_json(warnings="error").encode()
    except ValueError as e:  # of pydantic_core, which is no dependency of ours
        what = type(record).__name__
        raise InvalidInput(f"{what}: a field has the wrong type, or is no valid Unicode: {e}") from e


def decode(model: type[R], data: bytes, name: str) -> R:
    """Read a record back.

    Args:
        model: The class that was encoded.
        data: What `encode` gave.
        name: What to call the record in an error.

    Raises:
        CorruptData: the bytes are not such a record in a format version this library reads.
    """
    if model is Layout:
        return cast(R, decode_layout(data, name))
    if data[:1] != _VERSION:
        raise CorruptData(f"{name}: format version {data[:1].hex() or 'missing'} is not known here", name=name)
    try:
        return model.model_validate_json(data[1:])
    except ValidationError as e:
        first = e.errors(include_url=False, include_input=False)[0]
        raise CorruptData(f"{name}: {first['msg']} at {first['loc']}", name=name) from e
    except InvalidInput as e:  # of a part that people make too
        raise CorruptData(f"{name}: {e.message}", name=name) from e


def commit_id(header: bytes) -> CommitId:
    """The id of the commit whose encoded header this is."""
    return CommitId(hashlib.blake2b(header, digest_size=32).hexdigest())


def identify(commit: Commit) -> CommitId:
    """The id of a commit."""
    return commit_id(encode(commit))
