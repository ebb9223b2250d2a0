"""What a user shows to be let in."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import SecretStr

from graveler_core.errors import InvalidInput


@dataclass(frozen=True, slots=True, init=False)
class Credentials:
    """An access key: its id, which is not secret, and its secret, which shows nowhere.

    Args:
        access_key_id: Names the key.
        secret_access_key: As text, or hidden already.

    Raises:
        InvalidInput: one of them is no text, or empty.
    """

    access_key_id: str
    secret_access_key: SecretStr

    def __init__(self, access_key_id: str, secret_access_key: SecretStr | str) -> None:
        secret = secret_access_key if isinstance(secret_access_key, SecretStr) else SecretStr(secret_access_key)
        for what, text in (("access key id", access_key_id), ("secret", secret.get_secret_value())):
            if not isinstance(text, str) or not text:
                raise InvalidInput(f"credentials: the {what} must be text, and not empty")
        object.__setattr__(self, "access_key_id", access_key_id)
        object.__setattr__(self, "secret_access_key", secret)


def credentials(access_key_id: str | None, secret_access_key: SecretStr | str | None) -> Credentials | None:
    """The credentials that settings or options give; None where they give neither part.

    Raises:
        InvalidInput: one part is given without the other.
    """
    if not access_key_id and not secret_access_key:
        return None
    if not access_key_id or not secret_access_key:
        missing = "secret" if access_key_id else "access key id"
        raise InvalidInput(f"credentials: the {missing} is missing; give both parts, or neither")
    return Credentials(access_key_id, secret_access_key)
