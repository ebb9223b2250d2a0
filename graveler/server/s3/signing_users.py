"""Authentication of requests by their signatures.

The secret of an access key is decrypted once a minute. The memory of the server holds the key that is derived from it
for one day and one region. Signatures of version 2 have no such key: a server that accepts them holds the secret.

Every 30 seconds, the server reads the permissions of a remembered user again, and checks that the access key still
exists.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Final

from pydantic import SecretStr

from graveler.server.authentication import REMEMBERED_SECONDS, SignedIn
from graveler.server.s3.chunked_body import ChunkSignatures
from graveler.server.s3.request import S3Request
from graveler.server.s3.signature import read_signature, signing_key
from graveler.server.s3.signature_version_2 import carries_v2, read_signature_v2
from graveler_core.model.clock import Clock, Instant, SystemClock

MAX_REMEMBERED_KEYS: Final = 1_024


class SigningUsers:
    """Authentication of the signed requests of one process. Thread-safe."""

    def __init__(
        self,
        find: Callable[[str], tuple[SignedIn, SecretStr]],
        clock: Clock | None = None,
        *,
        version_2: bool = False,
    ) -> None:
        """Create an authentication.

        Args:
            find: Returns the user and the secret of an access key, and raises `PermissionDenied` if there is none.
            clock: Source of time.
            version_2: Accept signatures of version 2 too.
        """
        self._find = find
        self._clock = clock or SystemClock()
        self._version_2 = version_2
        self._lock = Lock()
        self._known: OrderedDict[tuple[str, str, str], tuple[Instant, SignedIn, bytes]] = OrderedDict()

    def user_of(self, request: S3Request, host_bucket: str = "") -> tuple[SignedIn, ChunkSignatures | None]:
        """Return the user who has signed a request, and the verifier of the signatures of its chunks, if it has them.

        Args:
            request: The request.
            host_bucket: Bucket that the host names, or "".

        Raises:
            S3Refusal: The signature is missing, malformed, too old or wrong.
            PermissionDenied: The access key does not exist, or its secret is not kept.
        """
        if self._version_2 and carries_v2(request):
            older = read_signature_v2(request, host_bucket, self._clock.now())
            user, key = self._key_of(older.access_key_id, "", "", lambda secret: secret.encode())
            older.verify(key)
            return user, None
        signature = read_signature(request, self._clock.now())
        date, region = signature.date, signature.region
        user, key = self._key_of(
            signature.access_key_id, date, region, lambda secret: signing_key(secret, date, region)
        )
        signature.verify(request, key)
        return user, ChunkSignatures(key, signature.time, signature.scope, signature.value)

    def _key_of(self, id: str, date: str, region: str, derive: Callable[[str], bytes]) -> tuple[SignedIn, bytes]:
        name = (id, date, region)
        with self._lock:
            known = self._known.get(name)
        now = Instant.of(self._clock)
        if known is not None and known[0].is_within(REMEMBERED_SECONDS, now):
            return known[1:]
        user, secret = self._find(id)
        key = derive(secret.get_secret_value())
        with self._lock:
            self._known[name] = (now, user, key)
            self._known.move_to_end(name)
            while len(self._known) > MAX_REMEMBERED_KEYS:
                self._known.popitem(last=False)
        return user, key
