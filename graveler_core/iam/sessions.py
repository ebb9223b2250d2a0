"""Sessions: a user who has authenticated by an access key goes on with a signed token instead of the secret.

The key that signs the tokens of an access key is derived from the stored hash of its secret. So every server of a store
verifies the tokens of all other servers, tokens remain valid after a restart, and nothing has to be configured. The
hash never leaves the store, and anybody who can read the store may do everything already. The deletion of the access
key or of the user ends the sessions: see `STALENESS` in `iam.principal` for the time that this takes.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from graveler_core.errors import Kind, PermissionDenied
from graveler_core.iam.entities import USERS, is_present
from graveler_core.iam.principal import Principal, stored_credential
from graveler_core.kv.store import Store
from graveler_core.model.clock import Clock
from graveler_core.records import access

_PURPOSE: Final = b"graveler session token 1"


def session_of(kv: Store, clock: Clock, access_key_id: str) -> tuple[Principal, bytes]:
    """Return the principal of an access key, and the key that signs its tokens. The caller verifies the token.

    Args:
        kv: Key-value store.
        clock: Clock of the principal.
        access_key_id: Id of the access key.

    Returns:
        The principal, and 32 bytes that must not be shown to anybody.

    Raises:
        PermissionDenied: The access key or its user does not exist (`InvalidCredentials`).
    """
    credential = stored_credential(kv, access_key_id)
    if credential is None or not is_present(access.read(kv, USERS.at(credential.user)), credential.user_uid):
        raise PermissionDenied("the access key of the session does not exist any more", kind=Kind.InvalidCredentials)
    key = hmac.digest(credential.secret_hash.encode(), _PURPOSE, hashlib.sha256)
    return Principal(kv, clock, credential), key
