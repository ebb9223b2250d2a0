"""Encryption of the secrets of credentials, so that a server can verify signatures.

A signature is computed from the secret itself, so its hash is not enough. Such a secret is stored a second time, in a
record of its own, encrypted by AES-256-GCM with a key that is not in the store (`model.secrets_keys`). The access key
and the uid of its user are authenticated with it: the record of one credential cannot be used for another.

    create   listing key → sealed secret → credential ✓
    delete   credential ✓ → sealed secret → listing key
    reseal   sealed secret ✓

The record of the credential decides: a sealed secret without it is never used. A crash leaves at most such a record,
and the deletion of the user removes it. Each creation draws a new access key, so a sealed secret is created once. The
swap that encrypts it again replaces exactly the record that was read, so it never restores one that was deleted.
"""

from __future__ import annotations

from dataclasses import dataclass
from secrets import token_bytes
from typing import TYPE_CHECKING, Final

from pydantic import SecretStr

from graveler_core.errors import CorruptData, Kind, PermissionDenied, PredicateFailed
from graveler_core.extras import requires
from graveler_core.iam.entities import USERS, is_present
from graveler_core.iam.principal import Principal, stored_credential
from graveler_core.kv.store import Store
from graveler_core.model.clock import Clock
from graveler_core.model.iam import Credential, SealedSecret
from graveler_core.model.secrets_keys import SecretsKeys
from graveler_core.records import access
from graveler_core.records import iam_layout as keys

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_NONCE_BYTES: Final = 12


@dataclass(slots=True)
class Resealed:
    """Result of a rotation of the key, as numbers of secrets."""

    resealed: int = 0
    """Secrets that are encrypted with the first key now."""
    current: int = 0
    """Secrets that were encrypted with the first key already."""
    unreadable: int = 0
    """Secrets that no key decrypts, because the key is missing or the record is damaged. Their access keys cannot sign
    requests.
    """


def seal(sealing: SecretsKeys, of: Credential | SealedSecret, secret: SecretStr) -> SealedSecret:
    """Encrypt the secret of a credential with the first key.

    Args:
        sealing: The keys.
        of: The credential, or its sealed secret.
        secret: The secret.
    """
    id, nonce = sealing.ids[0], token_bytes(_NONCE_BYTES)
    hidden = _cipher(sealing, id).encrypt(nonce, secret.get_secret_value().encode(), _bound(of))
    return SealedSecret(
        access_key_id=of.access_key_id, user=of.user, user_uid=of.user_uid, key_id=id, sealed=nonce + hidden
    )


def signing_user(kv: Store, clock: Clock, sealing: SecretsKeys, access_key_id: str) -> tuple[Principal, SecretStr]:
    """Return the user of an access key and the secret, to verify a signature.

    The user is authenticated only if a signature with this secret is correct.

    Args:
        kv: Key-value store.
        clock: Clock of the principal.
        sealing: Keys that decrypt secrets.
        access_key_id: Id of the access key.

    Returns:
        The principal, and the secret of the access key.

    Raises:
        PermissionDenied: (`InvalidCredentials`) The access key does not exist, or its user was deleted;
            (`SecretNotKept`) the store has only a hash of the secret, or none of the keys decrypts it.
    """
    credential = stored_credential(kv, access_key_id)
    if credential is None or not is_present(access.read(kv, USERS.at(credential.user)), credential.user_uid):
        raise PermissionDenied("the access key does not exist", kind=Kind.InvalidCredentials)
    return Principal(kv, clock, credential), _secret(kv, sealing, credential)


def reseal(kv: Store, sealing: SecretsKeys) -> Resealed:
    """Encrypt all secrets with the first key. A secret that is deleted meanwhile stays deleted."""
    done, damaged = Resealed(), list[CorruptData]()
    for name, held in access.scan(kv, keys.SEALED_SECRETS, damaged=damaged.append):
        record = held.value
        if record.key_id == sealing.ids[0]:
            done.current += 1
        elif sealing.key(record.key_id) is None:
            done.unreadable += 1
        else:
            try:
                sealed = seal(sealing, record, _opened(sealing, record, name))
                access.replace(kv, keys.SEALED_SECRETS.at(name), held, sealed)
            except CorruptData as e:
                damaged.append(e)
            except PredicateFailed:  # deleted, or encrypted again by another rotation
                continue
            else:
                done.resealed += 1
    done.unreadable += len(damaged)
    return done


def _secret(kv: Store, sealing: SecretsKeys, credential: Credential) -> SecretStr:
    held = access.read(kv, keys.sealed_secret(credential.access_key_id))
    if held is None:
        raise PermissionDenied(
            "only a hash of this access key's secret is stored, so its signatures cannot be verified: create an access "
            "key with `graveler iam credential create --s3`",
            kind=Kind.SecretNotKept,
        )
    if held.value.user_uid != credential.user_uid or sealing.key(held.value.key_id) is None:
        raise PermissionDenied(
            "the secret of this access key is encrypted with a secrets key that the server does not have: start it "
            "with this key too, or create another access key",
            kind=Kind.SecretNotKept,
            key_id=held.value.key_id,
        )
    return _opened(sealing, held.value, credential.access_key_id)


def _opened(sealing: SecretsKeys, record: SealedSecret, access_key_id: str) -> SecretStr:
    """Decrypt the secret of an access key. A copied record of another one is as useless as a damaged record."""
    with requires("server"):
        from cryptography.exceptions import InvalidTag
    nonce, hidden = record.sealed[:_NONCE_BYTES], record.sealed[_NONCE_BYTES:]
    try:
        if record.access_key_id != access_key_id:
            raise ValueError(f"the record is that of access key {record.access_key_id}")
        found = _cipher(sealing, record.key_id).decrypt(nonce, hidden, _bound(record))
    except (InvalidTag, ValueError) as e:
        raise CorruptData(
            f"the secret of access key {access_key_id} is damaged: delete the access key and create another one",
            kind=Kind.CorruptRecord,
        ) from e
    return SecretStr(found.decode())


def _cipher(sealing: SecretsKeys, id: str) -> AESGCM:
    with requires("server"):
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    key = sealing.key(id)
    assert key is not None  # noqa: S101 - callers have looked it up
    return AESGCM(key)


def _bound(of: Credential | SealedSecret) -> bytes:
    """Return the associated data of a sealed secret: its access key, and the uid of its user."""
    return f"graveler {of.access_key_id} {of.user_uid}".encode()
