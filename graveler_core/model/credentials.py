"""Credentials with which a user authenticates."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import SecretStr

from graveler_core.errors import InvalidInput


@dataclass(frozen=True, slots=True, init=False)
class Credentials:
    """Access key: its id, which is not secret, and its secret, which is never displayed.

    Args:
        access_key_id: Id of the access key.
        secret_access_key: Secret, as plain text or as a `SecretStr`.

    Raises:
        InvalidInput: A part is not text, or is empty.
    """

    access_key_id: str
    secret_access_key: SecretStr

    def __init__(self, access_key_id: str, secret_access_key: SecretStr | str) -> None:
        secret = secret_access_key if isinstance(secret_access_key, SecretStr) else SecretStr(secret_access_key)
        for what, text in (("access key id", access_key_id), ("secret", secret.get_secret_value())):
            if not isinstance(text, str) or not text:
                raise InvalidInput(f"credentials: the {what} must be text and must not be empty")
        object.__setattr__(self, "access_key_id", access_key_id)
        object.__setattr__(self, "secret_access_key", secret)


def credentials(access_key_id: str | None, secret_access_key: SecretStr | str | None) -> Credentials | None:
    """Build credentials from settings or options.

    Args:
        access_key_id: Id of the access key, or nothing.
        secret_access_key: Its secret, or nothing.

    Returns:
        The credentials, or `None` if neither part is given.

    Raises:
        InvalidInput: Only one part is given.
    """
    if not access_key_id and not secret_access_key:
        return None
    if not access_key_id or not secret_access_key:
        missing = "secret" if access_key_id else "access key id"
        raise InvalidInput(f"credentials: the {missing} is missing; give both parts or neither")
    return Credentials(access_key_id, secret_access_key)
