"""Credentials: access keys of users, each with a secret that is shown once.

    create   user is active → listing key → sealed secret → credential ✓ → is the user still active?
    delete   credential ✓ → sealed secret → listing key

The record of the credential decides: while it exists and its user is active with the same uid, it can be used to
authenticate. The listing key is written before the record and removed after it, so every credential is listed. A crash
between the two leaves a listing key that is not shown. If the user was deleted during the creation, both are removed
again. If a crash prevents this, the credential is unusable, because the uid is not active. Each creation draws a new
access key and sends its request only once, so a delayed request never restores a deleted credential.

The sealed secret exists only if the secret is kept for signatures: see `iam.sealing`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice

from graveler_core.errors import Kind, NotFound
from graveler_core.iam import hashing, sealing
from graveler_core.iam.change_guard import ChangeGuard, is_same, unguarded
from graveler_core.iam.entities import ATTEMPTS, USERS, contended, get, is_present, not_found
from graveler_core.kv.store import Store
from graveler_core.model.clock import Clock, IdSource
from graveler_core.model.iam import Credential, NewCredential, UserCredential
from graveler_core.model.ids import AccessKeyId, UserId
from graveler_core.model.names import new_access_key
from graveler_core.model.secrets_keys import SecretsKeys
from graveler_core.records import access
from graveler_core.records import iam_layout as keys

_PAGE = 100


def create_credential(
    kv: Store, clock: Clock, ids: IdSource, user: UserId, kept_by: SecretsKeys | None = None
) -> NewCredential:
    """Create a credential for a user.

    Args:
        kv: Key-value store.
        clock: Source of the creation date.
        ids: Source of the access key.
        user: The user.
        kept_by: Keys that encrypt the secret, so that signatures can be verified. Without them only a hash is stored.

    Returns:
        The credential with its secret.

    Raises:
        NotFound: The user does not exist.
        OutcomeUnknown: A credential with an unknown secret may exist; the listing of the user shows it.
    """
    uid = get(kv, USERS, user).uid
    secret = hashing.draw()
    record = Credential(
        access_key_id=new_access_key(ids.fresh()),
        user=user,
        user_uid=uid,
        secret_hash=hashing.hashed(secret),
        creation_date=clock.now(),
    )
    listed = UserCredential(access_key_id=record.access_key_id, user_uid=uid, creation_date=record.creation_date)
    listing = access.create(kv, keys.user_credential(user, record.access_key_id), listed, once=True)
    sealed = None
    if kept_by is not None:
        kept = sealing.seal(kept_by, record, secret)
        sealed = access.create(kv, keys.sealed_secret(record.access_key_id), kept, once=True)
    made = access.create(kv, keys.credential(record.access_key_id), record, once=True)
    if not is_present(access.read(kv, USERS.at(user)), uid):
        access.remove(kv, keys.credential(record.access_key_id), made)
        if sealed is not None:
            access.remove(kv, keys.sealed_secret(record.access_key_id), sealed)
        access.remove(kv, keys.user_credential(user, record.access_key_id), listing)
        raise not_found(USERS, user)
    return NewCredential(record.access_key_id, user, record.creation_date, secret)


def delete_credential(kv: Store, user: UserId, access_key: AccessKeyId, guard: ChangeGuard = unguarded) -> None:
    """Delete a credential, so that it can no longer be used to authenticate.

    Raises:
        NotFound: The user has no such credential.
    """
    listing = access.read(kv, keys.user_credential(user, access_key))
    if not _removed(kv, user, access_key, guard) and listing is None:
        raise NotFound(
            f"user {user!r} has no credential {access_key!r}", kind=Kind.CredentialNotFound, access_key_id=access_key
        )
    sealed = access.read(kv, keys.sealed_secret(access_key))
    if sealed is not None:
        access.remove(kv, keys.sealed_secret(access_key), sealed)
    if listing is not None:
        access.remove(kv, keys.user_credential(user, access_key), listing)


def _removed(kv: Store, user: UserId, access_key: AccessKeyId, guard: ChangeGuard) -> bool:
    """Remove the record of a credential. Return false if the user has no such record."""
    where = keys.credential(access_key)
    for _ in range(ATTEMPTS):
        made = access.read(kv, where)
        if made is None or made.value.user != user:
            return False
        with guard(where, None, user):
            if access.remove(kv, where, made, lives_on=partial(is_same, before=made.value)):
                return True
    raise contended(f"credential {access_key!r}")


def credentials_of(kv: Store, user: UserId, *, prefix: str = "", after: str = "") -> Iterator[UserCredential]:
    """Yield the credentials of a user, in the order of their access keys.

    Raises:
        NotFound: The user does not exist. Raised with the first item.
    """
    uid = get(kv, USERS, user).uid
    base = keys.of(user)
    rows = access.scan(kv, keys.USER_CREDENTIALS, prefix=base + prefix, after=base + after if after else "")
    listed = (held.value for _, held in rows if held.value.user_uid == uid)
    while page := list(islice(listed, _PAGE)):
        there = access.read_many(kv, [keys.credential(each.access_key_id) for each in page])
        yield from (each for each, made in zip(page, there, strict=True) if made is not None)
