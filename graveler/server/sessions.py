"""Sessions: a user, for example of the web pages, sends an access key and its secret once, and then a token (JWT).

A token names the access key and the time at which it expires. It is signed with a key that the store derives for this
access key. Every server of the store knows this key, and the token is void once the access key is deleted. A cookie
that holds the token is invisible to scripts (`HttpOnly`) and is not sent with requests that other sites cause, except
when a link is followed (`SameSite`). No request that a link causes changes anything, and the cookie is ignored for
changes that pages of other sites cause (`same_site`).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

import jwt

from graveler.server.authentication import SignedIn
from graveler_core.errors import Kind, PermissionDenied

COOKIE: Final = "internal_auth_session"
"""Name of the cookie, as lakeFS's clients know it."""
SESSION_TIME: Final = timedelta(hours=12)
"""Time after which a user has to log in again."""
_ALGORITHM: Final = "HS256"
_AUDIENCE: Final = "graveler"

KeyOf = Callable[[str], tuple[SignedIn, bytes]]
"""Returns the user of an access key id, and the key that signs its tokens. Raises `PermissionDenied` without one."""


class UserSessions:
    """Sessions of the users of one store."""

    def __init__(self, key_of: KeyOf, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._key_of = key_of
        self._now = now

    def begin(self, access_key_id: str) -> tuple[str, datetime]:
        """Return a token for a user whose secret was verified, and the time at which it expires.

        Args:
            access_key_id: The access key that was verified.

        Raises:
            PermissionDenied: The access key does not exist any more.
        """
        _, key = self._key_of(access_key_id)
        end = self._now() + SESSION_TIME
        claims = {"sub": access_key_id, "aud": _AUDIENCE, "exp": end}
        return jwt.encode(claims, key, algorithm=_ALGORITHM), end

    def resume(self, token: str) -> SignedIn:
        """Return the user of a token.

        Raises:
            PermissionDenied: (`InvalidCredentials`) The token is malformed, was changed or has expired, or the access
                key was deleted.
        """
        try:
            unverified = jwt.decode(token, options={"verify_signature": False})
            user, key = self._key_of(str(unverified.get("sub", "")))
            claims = jwt.decode(
                token,
                key,
                algorithms=[_ALGORITHM],
                audience=_AUDIENCE,
                options={"require": ["exp", "aud", "sub"], "verify_exp": False},
            )
            end = float(claims["exp"])
        except (jwt.InvalidTokenError, ValueError, TypeError, RecursionError) as error:
            raise _invalid() from error
        if not self._now().timestamp() < end:
            raise _invalid()
        return user


def _invalid() -> PermissionDenied:
    return PermissionDenied("the session is not valid any more; log in again", kind=Kind.InvalidCredentials)
