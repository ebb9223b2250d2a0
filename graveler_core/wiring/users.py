"""Users of stores: principals by credentials, sessions and signatures, and their handles."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from logging import INFO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import SecretStr

    from graveler_core.facade.graveler import Graveler
    from graveler_core.iam.principal import Principal
    from graveler_core.model.credentials import Credentials
    from graveler_core.model.secrets_keys import SecretsKeys
    from graveler_core.stores import Stores


def principal_of(stores: Stores, credentials: Credentials | None) -> Principal | None:
    """Return the principal for some credentials, or `None` if access control is not set up.

    Raises:
        PermissionDenied: as for `connect`.
    """
    from graveler_core.errors import Kind, PermissionDenied
    from graveler_core.iam.principal import authenticate, is_set_up

    if is_set_up(stores.kv):
        if credentials is None:
            raise PermissionDenied(
                "this store wants credentials: give connect(credentials=…), or set GRAVELER_ACCESS_KEY_ID and "
                "GRAVELER_SECRET_ACCESS_KEY",
                kind=Kind.CredentialsRequired,
            )
        return authenticate(stores.kv, stores.clock, credentials.access_key_id, credentials.secret_access_key)
    if credentials is not None:
        raise PermissionDenied(
            "credentials were given to a store that knows none: `graveler iam setup` makes the first; or connect "
            "without",
            kind=Kind.InvalidCredentials,
        )
    _say_that_it_is_open()
    return None


def sign_in(stores: Stores, credentials: Credentials | None) -> Graveler:
    """Return a handle for a user on stores that are open already, as a server needs for each of its users.

    Args:
        stores: The stores. The handle uses them too, so close the stores and not the handle.
        credentials: Credentials of the user, as for `connect`.

    Returns:
        The handle.

    Raises:
        PermissionDenied: As for `connect`.
    """
    from graveler_core.facade.graveler import Graveler

    principal = principal_of(stores, credentials)
    return Graveler(replace(stores, principal=principal))


def session_user(stores: Stores, access_key_id: str) -> tuple[Graveler, bytes]:
    """Return the handle of a user, and the key with which the caller verifies the token of the user's session.

    Args:
        stores: The stores, as for `sign_in`.
        access_key_id: Id of the access key with which the session was begun.

    Returns:
        The handle, and the key. It must not be shown to anybody.

    Raises:
        PermissionDenied: (`InvalidCredentials`) the access key does not exist any more.
    """
    from graveler_core.facade.graveler import Graveler
    from graveler_core.iam.sessions import session_of

    principal, key = session_of(stores.kv, stores.clock, access_key_id)
    return Graveler(replace(stores, principal=principal)), key


def signing_user(stores: Stores, secrets_keys: SecretsKeys, access_key_id: str) -> tuple[Graveler, SecretStr]:
    """Return the handle of a user, and the secret with which the caller verifies that the user has signed a request.

    Args:
        stores: The stores, as for `sign_in`.
        secrets_keys: Keys that decrypt secrets.
        access_key_id: Id of the access key.

    Returns:
        The handle, and the secret of the access key.

    Raises:
        PermissionDenied: (`InvalidCredentials`) the access key does not exist; (`SecretNotKept`) its secret cannot be
            recovered.
    """
    from graveler_core.facade.graveler import Graveler
    from graveler_core.iam.sealing import signing_user as found

    principal, secret = found(stores.kv, stores.clock, secrets_keys, access_key_id)
    return Graveler(replace(stores, principal=principal)), secret


@cache
def _say_that_it_is_open() -> None:
    """Log once in each process that a store has no access control."""
    from graveler_core.telemetry.events import tell

    tell(
        "connect",
        INFO,
        "a store was opened on which nothing is said about who may do what, so whoever can open it may do anything; "
        "`graveler iam setup` changes that",
    )
