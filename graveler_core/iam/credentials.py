"""Credentials: access keys of users, each with a secret that is shown once.

    create   user active → key that lists it → credential ✓ → user active still?
    delete   credential ✓ → key that lists it

The credential's own record decides: with it somebody can authenticate, while its user is active under the uid that it
bears. The listing key is written before and removed after it, so each credential is listed; a crash between leaves a
key that is not shown. Against a deletion of the user, as in `relations`: if the user is not there any more at the
end, both are taken back, and what a crash leaves is out of use by the uid. An access key is drawn anew each time, so
nothing that comes late brings a deleted credential back: it is sent once.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from graveler_core.errors import Kind, NotFound
from graveler_core.iam import hashing
from graveler_core.iam.entities import USERS, get, is_present, not_found
from graveler_core.kv.store import Store
from graveler_core.model.clock import Clock, IdSource
from graveler_core.model.iam import Credential, NewCredential, UserCredential
from graveler_core.model.ids import AccessKeyId, UserId
from graveler_core.records import access
from graveler_core.records import iam_layout as keys

_PAGE = 100


def create_credential(kv: Store, clock: Clock, ids: IdSource, user: UserId) -> NewCredential:
    """Create a credential. Its secret is in the answer, and nowhere else.

    Raises:
        NotFound: there is no such user.
        OutcomeUnknown: there may be a credential now whose secret nobody knows; the user's listing shows it.
    """
    uid = get(kv, USERS, user).uid
    secret = hashing.draw()
    record = Credential(
        access_key_id=AccessKeyId(ids.fresh()),
        user=user,
        user_uid=uid,
        secret_hash=hashing.hashed(secret),
        creation_date=clock.now(),
    )
    listed = UserCredential(access_key_id=record.access_key_id, user_uid=uid, creation_date=record.creation_date)
    listing = access.create(kv, keys.user_credential(user, record.access_key_id), listed, once=True)
    made = access.create(kv, keys.credential(record.access_key_id), record, once=True)
    if not is_present(access.read(kv, USERS.at(user)), uid):
        access.remove(kv, keys.credential(record.access_key_id), made)
        access.remove(kv, keys.user_credential(user, record.access_key_id), listing)
        raise not_found(USERS, user)
    return NewCredential(record.access_key_id, user, record.creation_date, secret)


def delete_credential(kv: Store, user: UserId, access_key: AccessKeyId) -> None:
    """Delete a credential: nobody authenticates with it any more. Raises `NotFound` where the user has none such."""
    listing = access.read(kv, keys.user_credential(user, access_key))
    made = access.read(kv, keys.credential(access_key))
    if made is not None and made.value.user != user:
        made = None
    if listing is None and made is None:
        raise NotFound(
            f"user {user!r} has no credential {access_key!r}", kind=Kind.CredentialNotFound, access_key_id=access_key
        )
    if made is not None:
        access.remove(kv, keys.credential(access_key), made)
    if listing is not None:
        access.remove(kv, keys.user_credential(user, access_key), listing)


def credentials_of(kv: Store, user: UserId, *, prefix: str = "", after: str = "") -> Iterator[UserCredential]:
    """The credentials of a user in order of their access keys, lazily. Raises `NotFound` at the first."""
    uid = get(kv, USERS, user).uid
    base = keys.of(user)
    rows = access.scan(kv, keys.USER_CREDENTIALS, prefix=base + prefix, after=base + after if after else "")
    listed = (held.value for _, held in rows if held.value.user_uid == uid)
    while page := list(islice(listed, _PAGE)):
        there = access.read_many(kv, [keys.credential(each.access_key_id) for each in page])
        yield from (each for each, made in zip(page, there, strict=True) if made is not None)
