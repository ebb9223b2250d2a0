"""Keys that encrypt the secrets of access keys. A server that verifies signatures of requests needs the secrets.

A text holds one or more keys, separated by white space. Each is 32 random bytes in base64. The first key encrypts, and
all of them decrypt. So a key is replaced in three steps: put a new key before the old one, encrypt all secrets again
(`Access.reseal_secrets`), remove the old key.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets
from collections.abc import Sequence
from typing import Final

from pydantic import SecretStr

from graveler_core.errors import InvalidInput

KEY_BYTES: Final = 32


class SecretsKeys:
    """Keys that encrypt secrets. They appear in no repr, log or pickle."""

    def __init__(self, keys: SecretStr | str) -> None:
        """Read keys.

        Args:
            keys: The keys as text, as `SecretsKeys.new` returns one.

        Raises:
            InvalidInput: The text has no key, or one that is not 32 bytes in base64.
        """
        text = keys.get_secret_value() if isinstance(keys, SecretStr) else keys
        if not isinstance(text, str):
            raise InvalidInput(f"secrets key (a {type(text).__name__}): must be a text")
        self._keys = {_key_id(key): key for key in map(_decoded, text.split())}
        if not self._keys:
            raise InvalidInput(
                "secrets key: must be 32 random bytes in base64; `graveler iam secrets-key new` makes one"
            )

    def __repr__(self) -> str:
        return f"SecretsKeys({', '.join(self._keys)})"

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("keys that encrypt secrets cannot be pickled")

    @classmethod
    def new(cls) -> SecretStr:
        """Return a new random key as text."""
        return SecretStr(base64.urlsafe_b64encode(secrets.token_bytes(KEY_BYTES)).decode())

    @property
    def ids(self) -> Sequence[str]:
        """Ids of the keys, which are not secret. The first one is that of the key that encrypts."""
        return [*self._keys]

    def key(self, id: str) -> bytes | None:
        """Return the key with an id, or `None`."""
        return self._keys.get(id)


def _decoded(text: str) -> bytes:
    try:
        key = base64.b64decode(text.translate(str.maketrans("-_", "+/")), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise InvalidInput(f"secrets key: each key must be {KEY_BYTES} bytes in base64; the value is not shown")
    return key


def _key_id(key: bytes) -> str:
    """Return a name of a key that tells nothing about it."""
    return hashlib.blake2b(key, digest_size=8, person=b"graveler-key-id").hexdigest()
