"""Generation, hashing and verification of secrets. The stored value is Argon2id (RFC 9106) with the defaults of
argon2-cffi.

Hashing takes 64 MiB of memory and at least a tenth of a second, so a connection authenticates only once. Secrets are
`SecretStr` values, which never appear in a repr, log or traceback.
"""

from __future__ import annotations

import base64
import secrets
from functools import cache
from typing import TYPE_CHECKING, Final

from pydantic import SecretStr

from graveler_core.errors import CorruptData
from graveler_core.extras import requires

if TYPE_CHECKING:
    from argon2 import PasswordHasher

SECRET_BYTES: Final = 30
NOBODYS: Final = "$argon2id$v=19$m=65536,t=3,p=4$EX7P8NIdVLut6s/yQ5oxaA$T41Rh5zJi6OSIRShjhBYWGNqJpe37aIgLnNgcXS8918"
"""Hash of a discarded secret. It is verified if a credential does not exist, so that this takes the same time."""


def draw() -> SecretStr:
    """Return a new secret: 40 characters of base64, as those of AWS and lakeFS."""
    return SecretStr(base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode())


def hashed(secret: SecretStr) -> str:
    """Return the hash of a secret with its parameters and salt, in the PHC string format."""
    return _hasher().hash(_bytes(secret))


def matches(secret_hash: str, secret: SecretStr) -> bool:
    """Return true if a secret matches a hash.

    Raises:
        CorruptData: The hash is damaged.
    """
    hasher = _hasher()
    from argon2.exceptions import InvalidHashError, VerificationError, VerifyMismatchError

    try:
        return hasher.verify(secret_hash, _bytes(secret))
    except VerifyMismatchError:
        return False
    except (InvalidHashError, VerificationError) as e:
        raise CorruptData(
            f"a credential's hash cannot be verified ({e}): delete the credential and create another one"
        ) from e


@cache
def _hasher() -> PasswordHasher:
    with requires("iam"):
        from argon2 import PasswordHasher
    return PasswordHasher()


def _bytes(secret: SecretStr) -> bytes:
    return secret.get_secret_value().encode("utf-8", "surrogatepass")
