"""Secrets of credentials: drawn, hashed and checked. What is kept is Argon2id (RFC 9106) by argon2-cffi's defaults.

They take 64 MiB of memory and three passes each time, a tenth of a second and more on one core: so whoever
authenticates does so once. A secret is a `SecretStr` here: it shows itself in no repr, log or traceback.
"""

from __future__ import annotations

import secrets
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError, VerifyMismatchError
from pydantic import SecretStr

from graveler_core.errors import CorruptData

SECRET_BYTES: Final = 32
NOBODYS: Final = "$argon2id$v=19$m=65536,t=3,p=4$EX7P8NIdVLut6s/yQ5oxaA$T41Rh5zJi6OSIRShjhBYWGNqJpe37aIgLnNgcXS8918"
"""Of a secret that was thrown away: checked where no credential is there, so that this takes as long."""
_HASHER: Final = PasswordHasher()


def draw() -> SecretStr:
    """A fresh secret: 43 characters of base64 for URLs."""
    return SecretStr(secrets.token_urlsafe(SECRET_BYTES))


def hashed(secret: SecretStr) -> str:
    """What is kept of a secret: parameters, salt and hash, in the PHC string format."""
    return _HASHER.hash(_bytes(secret))


def matches(secret_hash: str, secret: SecretStr) -> bool:
    """Whether it is the secret of this hash. Raises `CorruptData` for what is no such hash."""
    try:
        return _HASHER.verify(secret_hash, _bytes(secret))
    except VerifyMismatchError:
        return False
    except (InvalidHashError, VerificationError) as e:
        raise CorruptData(f"a credential's hash cannot be checked ({e}): delete it, and create another one") from e


def _bytes(secret: SecretStr) -> bytes:
    return secret.get_secret_value().encode("utf-8", "surrogatepass")
