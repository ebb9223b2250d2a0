"""Authentication of requests: HTTP Basic, with an access key and its secret, or the token of a session.

The verification of a secret takes a tenth of a second and 64 MiB on purpose. Verified credentials are remembered for
`REMEMBERED_SECONDS`, by a keyed hash, so that the memory of the server holds no secret. Every 30 seconds, the server
reads the permissions of a remembered user again, and checks that the credential still exists.

After `MAX_FAILURES` failed attempts in a row, an access key is refused without a verification for some seconds, so that
secrets cannot be tried quickly, and failed attempts cannot keep the processor busy. Credentials that were verified
earlier are not refused, even after they have expired, so that nobody who knows only the access key locks its owner
out. If a client repeats a wrong secret, it is refused at once for some seconds. This does not count as an attempt,
because the client tries nothing new.

Only a few verifications run at once: see `verification_turns`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from threading import Lock
from typing import Final

from graveler.server.verification_turns import VerificationTurns
from graveler_core.errors import GravelerError, Kind, PermissionDenied, SlowDown
from graveler_core.facade.graveler import Graveler
from graveler_core.model.clock import Clock, Instant, SystemClock
from graveler_core.model.counting import counted
from graveler_core.model.credentials import Credentials

REMEMBERED_SECONDS: Final = 60.0
"""Seconds for which verified credentials are remembered."""
MAX_REMEMBERED: Final = 1_024
MAX_FAILURES: Final = 5
LOCKED_SECONDS: Final = 5.0
"""Seconds for which an access key is refused after `MAX_FAILURES` failures in a row."""
RETRY_AFTER: Final = "retry_after"
"""Name of the detail of an error that says after how many seconds a request may be repeated."""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """An authenticated user, and the handle that checks its permissions."""

    user: str
    graveler: Graveler


class Authentication:
    """Authentication of the requests of one process. Thread-safe."""

    def __init__(
        self,
        sign_in: Callable[[Credentials], SignedIn],
        resume: Callable[[str], SignedIn],
        clock: Clock | None = None,
    ) -> None:
        """Create an authentication.

        Args:
            sign_in: Verifies credentials, and raises `PermissionDenied` if they are wrong.
            resume: Verifies the token of a session, and raises `PermissionDenied` if it is not valid.
            clock: Source of time.
        """
        self._sign_in = sign_in
        self._resume = resume
        self._clock = clock or SystemClock()
        self._key = secrets.token_bytes(32)
        self._turns = VerificationTurns()
        self._lock = Lock()
        self._verified: OrderedDict[bytes, tuple[Instant, SignedIn]] = OrderedDict()
        self._failures: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._refused: OrderedDict[bytes, float] = OrderedDict()

    def user_of(self, authorization: str | None, cookie: str = "") -> SignedIn:
        """Return the user of a request.

        Args:
            authorization: Header `Authorization` of the request.
            cookie: Token of a session, from a cookie. It counts only for a request without the header.

        Raises:
            PermissionDenied: (`InvalidCredentials`) Both are missing, malformed, or name wrong credentials.
            SlowDown: Too many attempts with the access key have failed, or too many credentials are being verified. In
                the first case, the details have `RETRY_AFTER`.
        """
        token = _bearer(authorization) if authorization else cookie
        if token:
            return self._session(token)
        given = _basic(authorization)
        if given is None:
            raise PermissionDenied("credentials are missing", kind=Kind.InvalidCredentials)
        return self.verify(given)

    def remembered(self, authorization: str | None, cookie: str = "") -> SignedIn | None:
        """Return the user of a request if its credentials were verified a short time ago, or `None`.

        Arguments are those of `user_of`.
        """
        token = _bearer(authorization) if authorization else cookie
        if token:
            return self._known(self._name_of_token(token))
        given = _basic(authorization)
        return None if given is None else self._known(self._name_of(given))

    def verify(self, given: Credentials) -> SignedIn:
        """Return the user of an access key and its secret. Errors are those of `user_of`."""
        name = self._name_of(given)
        known = self._known(name)
        if known is not None:
            return known
        self._require_not_refused(name)
        self._require_unlocked(given.access_key_id, name)
        with self._turns.turn(name, lambda: self._is_settled(name), known=self._was_right(name)):
            return self._known(name) or self._verified_now(given, name)

    def _verified_now(self, given: Credentials, name: bytes) -> SignedIn:
        """Verify a secret. Look first at what other requests have found meanwhile."""
        self._require_not_refused(name)
        self._require_unlocked(given.access_key_id, name)
        begun = Instant.of(self._clock)
        try:
            user = self._sign_in(given)
        except PermissionDenied as error:
            self._note_failure(given.access_key_id, name if error.kind is Kind.InvalidCredentials else None)
            raise
        self._remember(name, user, begun)
        with self._lock:
            self._failures.pop(given.access_key_id, None)
        return user

    def _session(self, token: str) -> SignedIn:
        """Return the user of a session. Wrong tokens are not counted, because they cost no verification of a secret."""
        name = self._name_of_token(token)
        known = self._known(name)
        if known is not None:
            return known
        begun = Instant.of(self._clock)
        user = self._resume(token)
        self._remember(name, user, begun)
        return user

    def _name_of(self, given: Credentials) -> bytes:
        """Return the keyed hash by which credentials are remembered."""
        return hmac.digest(self._key, _packed(given), hashlib.sha256)

    def _name_of_token(self, token: str) -> bytes:
        return hmac.digest(self._key, b"token\0" + token.encode(errors="surrogatepass"), hashlib.sha256)

    def _known(self, name: bytes) -> SignedIn | None:
        with self._lock:
            since, user = self._verified.get(name, (None, None))
        is_valid = since is not None and since.is_within(REMEMBERED_SECONDS, Instant.of(self._clock))
        return user if is_valid else None

    def _was_right(self, name: bytes) -> bool:
        """Return true if credentials were verified before, even if that was too long ago to rely on it."""
        with self._lock:
            return name in self._verified

    def _remember(self, name: bytes, user: SignedIn, begun: Instant) -> None:
        with self._lock:
            self._verified[name] = (begun, user)
            self._verified.move_to_end(name)
            while len(self._verified) > MAX_REMEMBERED:
                self._verified.popitem(last=False)

    def _is_settled(self, name: bytes) -> bool:
        return self._known(name) is not None or self._is_refused(name)

    def _is_refused(self, name: bytes) -> bool:
        with self._lock:
            until = self._refused.get(name, 0.0)
        return self._clock.monotonic() < until

    def _require_not_refused(self, name: bytes) -> None:
        if self._is_refused(name):
            raise PermissionDenied("the access key or its secret is wrong", kind=Kind.InvalidCredentials)

    def _require_unlocked(self, access_key_id: str, name: bytes) -> None:
        """Refuse an access key after too many failures, but no credentials that were right before."""
        with self._lock:
            count, last = self._failures.get(access_key_id, (0, 0.0))
            left = last + LOCKED_SECONDS - self._clock.monotonic()
        if count < MAX_FAILURES or left <= 0 or self._was_right(name):
            return
        raise SlowDown(
            f"too many attempts with this access key have failed; wait {counted(ceil(left), 'second')}",
            kind=Kind.RetriesExhausted,
            **{RETRY_AFTER: ceil(left)},
        )

    def _note_failure(self, access_key_id: str, wrong: bytes | None) -> None:
        with self._lock:
            count, _ = self._failures.get(access_key_id, (0, 0.0))
            self._failures[access_key_id] = (count + 1, self._clock.monotonic())
            self._failures.move_to_end(access_key_id)
            if wrong is not None:
                self._verified.pop(wrong, None)
                self._refused[wrong] = self._clock.monotonic() + LOCKED_SECONDS
                self._refused.move_to_end(wrong)
            while len(self._failures) > MAX_REMEMBERED:
                self._failures.popitem(last=False)
            while len(self._refused) > MAX_REMEMBERED:
                self._refused.popitem(last=False)


def _bearer(authorization: str) -> str:
    """Return the token of a header, or "" if it has none."""
    scheme, _, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _basic(authorization: str | None) -> Credentials | None:
    """Return the credentials of a header, or `None` if it is missing or malformed."""
    scheme, _, encoded = (authorization or "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        id, found, secret = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
        return Credentials(id, secret) if found else None
    except (ValueError, GravelerError):
        return None


def _packed(given: Credentials) -> bytes:
    return b"\0".join((given.access_key_id.encode(), given.secret_access_key.get_secret_value().encode()))
