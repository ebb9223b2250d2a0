"""Key that signs the tokens of logs in stores with access control.

A token names commits. A user who could forge a token could read the messages of any commit whose id is known, through a
ref that the user may read. The key is derived from the nonce of the setup record. The nonce is random, it never
changes, no operation shows it, and every process that opens the store knows it. So tokens of one process are valid in
the others.
"""

from __future__ import annotations

import hmac

from graveler_core.iam.principal import Principal
from graveler_core.kv.store import Store
from graveler_core.records import access
from graveler_core.records import iam_layout as keys


def log_key(kv: Store, principal: Principal | None) -> bytes:
    """Return the key for a handle: 32 bytes, or no bytes for a handle without access control.

    Args:
        kv: Key-value store.
        principal: Principal of the handle.
    """
    setup = None if principal is None else access.read(kv, keys.SETUP)
    return b"" if setup is None else hmac.digest(setup.value.nonce.encode(), b"tokens of logs", "sha256")
