"""Authentication of requests by their signatures.

The secret of an access key is decrypted once a minute. The memory of the server holds the key that is derived from it
for one day and one region. The permissions of a remembered user are read again every 30 seconds, and with them whether
the access key still exists.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from threading import Lock
from time import monotonic
from typing import Final

from pydantic import SecretStr

from graveler.server.authentication import REMEMBERED_SECONDS, SignedIn
from graveler.server.s3.chunked_body import ChunkSignatures
from graveler.server.s3.request import S3Request
from graveler.server.s3.signature import RequestSignature, read_signature, signing_key

MAX_REMEMBERED_KEYS: Final = 1_024


class SigningUsers:
    """Authentication of the signed requests of one process. Thread-safe."""

    def __init__(
        self,
        find: Callable[[str], tuple[SignedIn, SecretStr]],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Create an authentication.

        Args:
            find: Returns the user and the secret of an access key, and raises `PermissionDenied` if there is none.
            now: Returns the current time.
            clock: Returns a time in seconds that never goes back.
        """
        self._find = find
        self._now = now
        self._clock = clock
        self._lock = Lock()
        self._known: OrderedDict[tuple[str, str, str], tuple[float, SignedIn, bytes]] = OrderedDict()

    def user_of(self, request: S3Request) -> tuple[SignedIn, ChunkSignatures]:
        """Return the user who has signed a request, and the verifier of the chunks of its body.

        Raises:
            S3Refusal: The signature is missing, malformed, too old or wrong.
            PermissionDenied: The access key does not exist, or its secret is not kept.
        """
        signature = read_signature(request, self._now())
        user, key = self._key_of(signature)
        signature.verify(request, key)
        return user, ChunkSignatures(key, signature.time, signature.scope, signature.value)

    def _key_of(self, signature: RequestSignature) -> tuple[SignedIn, bytes]:
        name = (signature.access_key_id, signature.date, signature.region)
        with self._lock:
            until, user, key = self._known.get(name, (0.0, None, b""))
            if user is not None and self._clock() < until:
                return user, key
        user, secret = self._find(signature.access_key_id)
        key = signing_key(secret.get_secret_value(), signature.date, signature.region)
        with self._lock:
            self._known[name] = (self._clock() + REMEMBERED_SECONDS, user, key)
            self._known.move_to_end(name)
            while len(self._known) > MAX_REMEMBERED_KEYS:
                self._known.popitem(last=False)
        return user, key
