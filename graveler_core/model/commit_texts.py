"""Limits of the texts of commits and tags."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.entities import Tag
from graveler_core.model.limit import require_limit
from graveler_core.model.names import text

MAX_MESSAGE_BYTES = 32_000
"""Maximum size in bytes of the message of a commit, as it is stored. Leaves room for its other texts."""
MAX_TEXT_BYTES = 32 * 1024
"""Maximum total size in bytes of all texts as they are stored, with control characters escaped. Header and layers must
fit into one value.
"""

MAX_TAG_CHAIN = 16
"""Maximum number of tags of a chain, in which each tag names the next one and contains a copy of it."""
_as_stored = json.JSONEncoder(ensure_ascii=False).encode


def require_texts(message: str, committer: str, metadata: Mapping[str, str], idempotency_key: str = "") -> None:
    """Check the texts of a commit.

    Args:
        message: Message of the commit.
        committer: Name of the committer.
        metadata: Metadata of the commit, as text by key.
        idempotency_key: Idempotency key of the commit.

    Raises:
        InvalidInput: A value is not text in valid Unicode.
        LimitExceeded: The message alone (`TextTooLong`) or all texts together (`MetadataTooLarge`) are too long.
    """
    if not isinstance(metadata, Mapping):
        raise InvalidInput(f"commit: metadata {metadata!r} must map text to text")
    rest = [committer, idempotency_key, *metadata, *metadata.values()]
    if not all(isinstance(each, str) for each in (message, *rest)):
        raise InvalidInput("commit: message, committer and metadata must be text")
    try:
        of_message, of_rest = _size([message]), _size(rest)
    except UnicodeEncodeError as e:
        raise InvalidInput(f"commit: message and metadata must be valid Unicode ({e.reason})") from e
    require_limit("message of a commit", of_message, MAX_MESSAGE_BYTES, "bytes", Kind.TextTooLong)
    require_limit("message and metadata", of_message + of_rest, MAX_TEXT_BYTES, "bytes", Kind.MetadataTooLarge)


def tag_texts(
    message: str, signature: str, tagger: str = "", metadata: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Check the texts of a tag.

    Args:
        message: Message of the tag.
        signature: Signature of the tag.
        tagger: Name of the person who makes the tag.
        metadata: Metadata of the tag, as text by key.

    Returns:
        The texts, by the names of the fields of a tag.

    Raises:
        InvalidInput: A value is not text in valid Unicode.
        LimitExceeded: (`TextTooLong`) The texts are too long.
    """
    kept = {} if metadata is None else metadata
    if not isinstance(kept, Mapping):
        raise InvalidInput(f"tag: metadata {metadata!r} must map text to text")
    given = {"message": message, "signature": signature, "tagger": tagger}
    given = {name: text(name, value) for name, value in given.items()}
    pairs = {text("metadata", key): text("metadata", value) for key, value in kept.items()}
    size = _size_of_tag(message, signature, tagger, pairs)
    require_limit("texts of a tag", size, MAX_TEXT_BYTES, "bytes", Kind.TextTooLong)
    return {**given, "metadata": pairs}


def require_tag_chain(tag: Tag) -> None:
    """Check a tag that names another tag, with all tags that it contains.

    Raises:
        LimitExceeded: There are too many tags (`TooManyItems`), or their texts are too long together (`TextTooLong`).
    """
    chain = list(tag.chain())
    require_limit("chain of tags", len(chain), MAX_TAG_CHAIN, "tags", Kind.TooManyItems)
    size = sum(_size_of_tag(each.message, each.signature, each.tagger, each.metadata) for each in chain)
    require_limit("texts of all tags of a chain", size, MAX_TEXT_BYTES, "bytes", Kind.TextTooLong)


def _size_of_tag(message: str, signature: str, tagger: str, metadata: Mapping[str, str]) -> int:
    named = [tagger] if tagger else []
    return _size([message, signature, *named, *metadata, *metadata.values()])


def _size(texts: Iterable[str]) -> int:
    """Return the size of texts as they are stored."""
    return sum(len(_as_stored(each).encode()) for each in texts)
