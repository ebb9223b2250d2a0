"""Places of a log as opaque text, to resume from in another process, after any time.

Text of base64url without padding over: a version (u8), the numbers of ids ahead, to leave out, and behind (u8 each),
the ids (32 bytes each), and the first 8 bytes of a hash over all of this and over what was asked for. So a token is
good for the question that it was given for, in the repository that gave it, and for no other; a damaged one is told
from a good one. The hash is no secret: who makes up a token can name any commit, and sees what a log of it shows.
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode

from graveler_core.codec.content_hash import HASH
from graveler_core.errors import InvalidInput
from graveler_core.model.ids import CommitId
from graveler_core.refs.log import WIDEST, Place

_VERSION = 1
_HEAD = 4
_ID = 32
_CHECK = 8
MAX_TOKEN_CHARS = -(-4 * (_HEAD + (WIDEST + 1) * _ID + _CHECK) // 3)


def encode(place: Place, question: bytes) -> str:
    """A token of at most `MAX_TOKEN_CHARS` characters: about 60 where the history has one line, 43 more for each other.

    Args:
        place: Where to resume.
        question: Canonical bytes of all that decides what the log shows and that the place does not hold.
    """
    groups = (place.ahead, place.without, () if place.behind is None else (place.behind,))
    body = bytes([_VERSION, *map(len, groups)]) + b"".join(bytes.fromhex(at) for group in groups for at in group)
    return urlsafe_b64encode(body + _check(body, question)).rstrip(b"=").decode()


def decode(token: str, question: bytes) -> Place:
    """The place that a token stands for. Raises `InvalidInput` for whatever this question's `encode` did not give."""
    data = _bytes(token)
    body, check = data[:-_CHECK], data[-_CHECK:]
    if len(body) < _HEAD or check != _check(body, question) or body[0] != _VERSION:
        raise _refused(token)
    sizes = list(body[1:_HEAD])
    if sizes[2] > 1 or len(body) != _HEAD + sum(sizes) * _ID:
        raise _refused(token)
    ids = [CommitId(body[at : at + _ID].hex()) for at in range(_HEAD, len(body), _ID)]
    ahead, without, behind = ids[: sizes[0]], ids[sizes[0] : sizes[0] + sizes[1]], ids[sizes[0] + sizes[1] :]
    return Place(tuple(ahead), tuple(without), behind[0] if behind else None)


def _bytes(token: str) -> bytes:
    if not isinstance(token, str) or len(token) > MAX_TOKEN_CHARS or not token.isascii():
        raise _refused(token)
    try:
        data = urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except binascii.Error as e:
        raise _refused(token) from e
    # The decoder passes over foreign characters and surplus bits; one place has one token.
    if urlsafe_b64encode(data).rstrip(b"=").decode() != token:
        raise _refused(token)
    return data


def _check(body: bytes, question: bytes) -> bytes:
    return HASH(len(question).to_bytes(8, "little") + question + body).digest()[:_CHECK]


def _refused(token: object) -> InvalidInput:
    shown = repr(token) if len(repr(token)) <= 80 else f"{repr(token)[:79]}…"
    return InvalidInput(f"after {shown}: must be a token of a log of the same repository, ref and options")
