"""Limits of the texts of a commit."""

from __future__ import annotations

import json
from collections.abc import Mapping

from graveler_core.errors import InvalidInput

MAX_TEXT_BYTES = 32 * 1024
"""Maximum total size in bytes of all texts as they are stored, with control characters escaped. Header and layers must
fit into one value.
"""


def require_texts(message: str, committer: str, metadata: Mapping[str, str], idempotency_key: str = "") -> None:
    """Check the texts of a commit.

    Args:
        message: Message of the commit.
        committer: Name of the committer.
        metadata: Metadata of the commit, as text by key.
        idempotency_key: Idempotency key of the commit.

    Raises:
        InvalidInput: A value is not text in valid Unicode, or the texts are too long.
    """
    if not isinstance(metadata, Mapping):
        raise InvalidInput(f"commit: metadata {metadata!r} must map text to text")
    texts = [message, committer, idempotency_key, *metadata, *metadata.values()]
    if not all(isinstance(text, str) for text in texts):
        raise InvalidInput("commit: message, committer and metadata must be text")
    try:
        size = sum(len(json.dumps(text, ensure_ascii=False).encode()) for text in texts)
    except UnicodeEncodeError as e:
        raise InvalidInput(f"commit: message and metadata must be valid Unicode ({e.reason})") from e
    if size > MAX_TEXT_BYTES:
        raise InvalidInput(f"commit: message and metadata are {size:,} bytes, must be at most {MAX_TEXT_BYTES:,}")
