"""Records of users, groups, policies and their relations. Source: seed 003, `Data Modeling: IAM`.

Each entity has a uid, fresh for each creation, and is `active` until its deletion starts. A relation contains the uids
of both sides and is valid only while both are active with these uids. A relation that a deletion has left behind
therefore grants nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from pydantic import Field, SecretStr

from graveler_core.model.entities import Record, RegisterHolder
from graveler_core.model.ids import AccessKeyId, EntityUid, GroupId, Nonce, PolicyId, UserId
from graveler_core.model.permission import ContextKey


class EntityState(StrEnum):
    """State of an entity: `active` in use, `deleting` from the start of its deletion. There is no way back."""

    ACTIVE = "active"
    DELETING = "deleting"


class Entity(Record):
    """Common fields of users, groups and policies."""

    id: str
    uid: EntityUid
    state: EntityState = EntityState.ACTIVE
    creation_date: datetime

    @property
    def active(self) -> bool:
        """True if the entity may grant permissions."""
        return self.state is EntityState.ACTIVE


class User(Entity):
    """User who can authenticate."""

    id: UserId
    nonce: Nonce = Field(default=Nonce(""), exclude_if=operator.not_)
    """Changed to make a delayed deletion of the record fail: see `iam.last_administrator`."""


class Group(Entity):
    """Group of users who share policies."""

    id: GroupId
    nonce: Nonce = Field(default=Nonce(""), exclude_if=operator.not_)
    """As for users."""


class Effect(StrEnum):
    """Effect of a statement on the requests that match it. A denial overrides every permission."""

    ALLOW = "allow"
    DENY = "deny"


class Operator(StrEnum):
    """Comparison of a value in the request with the values of a condition."""

    STRING_EQUALS = "StringEquals"
    STRING_NOT_EQUALS = "StringNotEquals"
    STRING_LIKE = "StringLike"
    STRING_NOT_LIKE = "StringNotLike"
    DATE_LESS_THAN = "DateLessThan"
    DATE_GREATER_THAN = "DateGreaterThan"


Conditions = Mapping[Operator, Mapping[ContextKey, tuple[str, ...]]]


class Statement(Record):
    """Effect on the requests that match one of the actions, one of the resources, and all conditions."""

    effect: Effect
    actions: tuple[str, ...]
    """For example `fs:ReadObject`. `*` matches any characters, `?` matches one."""
    resources: tuple[str, ...]
    """ARNs with the same wildcards. `${user}` is replaced by the id of the requesting user."""
    conditions: Conditions = Field(default_factory=dict, exclude_if=operator.not_)


class Policy(Entity):
    """Named list of statements."""

    id: PolicyId
    statements: tuple[Statement, ...]
    nonce: Nonce
    """Fresh in every swap, so that no record is equal to an earlier one."""


class Membership(Record):
    """Membership of a user in a group."""

    user: UserId
    user_uid: EntityUid
    group: GroupId
    group_uid: EntityUid
    creation_date: datetime
    nonce: Nonce

    @property
    def uids(self) -> tuple[EntityUid, EntityUid]:
        """Uids of both sides, in the order of the key."""
        return self.user_uid, self.group_uid


class Attachment(Record):
    """Attachment of a policy to a user or a group."""

    holder: str
    """Id of the user or group. The key of the record says which of the two it is."""
    holder_uid: EntityUid
    policy: PolicyId
    policy_uid: EntityUid
    creation_date: datetime
    nonce: Nonce

    @property
    def uids(self) -> tuple[EntityUid, EntityUid]:
        """Uids of both sides, in the order of the key."""
        return self.holder_uid, self.policy_uid


class Credential(Record):
    """Access key of a user, with the hash of its secret."""

    access_key_id: AccessKeyId
    user: UserId
    user_uid: EntityUid
    secret_hash: str = Field(repr=False)
    """Argon2id hash with parameters and salt, in the PHC string format."""
    creation_date: datetime
    nonce: Nonce = Field(default=Nonce(""), exclude_if=operator.not_)
    """As for users."""


class SealedSecret(Record):
    """Secret of a credential, encrypted so that a server can verify signatures: see `iam.sealing`."""

    access_key_id: AccessKeyId
    user: UserId
    user_uid: EntityUid
    key_id: str
    """Id of the key that decrypts it."""
    sealed: bytes = Field(repr=False)


class UserCredential(Record):
    """Index record that lists the access keys of a user, in order."""

    access_key_id: AccessKeyId
    user_uid: EntityUid
    creation_date: datetime

    @property
    def uids(self) -> tuple[EntityUid]:
        """Uid of the first side."""
        return (self.user_uid,)


class IamSetup(Record):
    """Record that turns access control on for the store. From then on, every connection needs credentials."""

    admin: UserId
    admin_uid: EntityUid
    creation_date: datetime
    nonce: Nonce


class AccessChange(RegisterHolder):
    """Process that is about to change or delete a record so that permissions may be lost: see
    `iam.last_administrator`.
    """

    record: str
    """Key of the record."""


@dataclass(frozen=True, slots=True)
class NewCredential:
    """New credential, returned once to its creator. The store has a hash of the secret."""

    access_key_id: AccessKeyId
    user: UserId
    creation_date: datetime
    secret: SecretStr
