"""Positions of a log as opaque tokens, from which another process can resume at any later time.

A token is base64url text without padding. It contains a version (u8), the numbers of ids to show, to leave out, and to
skip to (u8 each), the ids (32 bytes each), and a check of 8 bytes over all of this and over the query (the *question*:
repository, ref and options). A token is therefore valid only for the same query in the same repository, and a damaged
token is detected. With access control the check is a signature (HMAC-SHA-256), so that nobody can make up a token;
without, it is a hash.
"""

from __future__ import annotations

import binascii
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode

from graveler_core.codec.content_hash import HASH
from graveler_core.errors import InvalidInput
from graveler_core.model.ids import CommitId
from graveler_core.refs.log import WIDEST, LogPosition

_VERSION = 1
_HEAD = 4
_ID = 32
_CHECK = 8
MAX_TOKEN_CHARS = -(-4 * (_HEAD + (WIDEST + 1) * _ID + _CHECK) // 3)


def encode(place: LogPosition, question: bytes, key: bytes = b"") -> str:
    """Encode a position as a token of at most `MAX_TOKEN_CHARS` characters.

    A token has about 60 characters for a history with one line, and 43 more for each additional open line: a commit
    from which the log has yet to continue.

    Args:
        place: Position to resume from.
        question: Canonical bytes of everything that determines the log and is not in the position.
        key: Key that signs the token; empty without access control.

    Returns:
        The token.
    """
    groups = (place.ahead, place.without, () if place.behind is None else (place.behind,))
    body = bytes([_VERSION, *map(len, groups)]) + b"".join(bytes.fromhex(at) for group in groups for at in group)
    return urlsafe_b64encode(body + _check(body, question, key)).rstrip(b"=").decode()


def decode(token: str, question: bytes, key: bytes = b"") -> LogPosition:
    """Decode a token.

    Args:
        token: Token that `encode` returned for the same question.
        question: The same bytes that were passed to `encode`.
        key: The same key that was passed to `encode`.

    Returns:
        The position.

    Raises:
        InvalidInput: The token is damaged, or belongs to another question, or was not signed with the key.
    """
    data = _bytes(token)
    body, check = data[:-_CHECK], data[-_CHECK:]
    if len(body) < _HEAD or not hmac.compare_digest(check, _check(body, question, key)) or body[0] != _VERSION:
        raise _refused(token)
    sizes = list(body[1:_HEAD])
    if sizes[2] > 1 or len(body) != _HEAD + sum(sizes) * _ID:
        raise _refused(token)
    ids = [CommitId(body[at : at + _ID].hex()) for at in range(_HEAD, len(body), _ID)]
    ahead, without, behind = ids[: sizes[0]], ids[sizes[0] : sizes[0] + sizes[1]], ids[sizes[0] + sizes[1] :]
    return LogPosition(tuple(ahead), tuple(without), behind[0] if behind else None)


def _bytes(token: str) -> bytes:
    if not isinstance(token, str) or len(token) > MAX_TOKEN_CHARS or not token.isascii():
        raise _refused(token)
    try:
        data = urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except binascii.Error as e:
        raise _refused(token) from e
    # The decoder ignores invalid characters and surplus bits. Accept only the one canonical token of a position.
    if urlsafe_b64encode(data).rstrip(b"=").decode() != token:
        raise _refused(token)
    return data


def _check(body: bytes, question: bytes, key: bytes) -> bytes:
    checked = len(question).to_bytes(8, "little") + question + body
    return (hmac.digest(key, checked, "sha256") if key else HASH(checked).digest())[:_CHECK]


def _refused(token: object) -> InvalidInput:
    shown = repr(token) if len(repr(token)) <= 80 else f"{repr(token)[:79]}…"
    return InvalidInput(f"after {shown}: must be a token of a log of the same repository, ref and options")
