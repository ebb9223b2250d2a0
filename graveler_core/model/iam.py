"""Users, groups, policies, and what ties them together, as records. Source: seed 003, `Data Modeling: IAM`.

An entity has a uid, fresh per creation, and is `active` until its deletion begins. A relation carries the uids of
both its sides: it counts only while both are active under these uids, so what a deletion has not pruned yet, or never
will, grants nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from pydantic import Field, SecretStr

from graveler_core.model.entities import Record
from graveler_core.model.ids import AccessKeyId, EntityUid, GroupId, Nonce, PolicyId, UserId
from graveler_core.model.permission import ContextKey


class EntityState(StrEnum):
    """`active` in use, `deleting` once deletion began; there is no way back."""

    ACTIVE = "active"
    DELETING = "deleting"


class Entity(Record):
    """What a user, a group and a policy have in common."""

    id: str
    uid: EntityUid
    state: EntityState = EntityState.ACTIVE
    creation_date: datetime

    @property
    def active(self) -> bool:
        """Whether it may grant anything."""
        return self.state is EntityState.ACTIVE


class User(Entity):
    """Who authenticates."""

    id: UserId


class Group(Entity):
    """Some users, who share policies."""

    id: GroupId


class Effect(StrEnum):
    """What a statement says of the requests that it fits. Deny wins."""

    ALLOW = "allow"
    DENY = "deny"


class Operator(StrEnum):
    """How a condition compares what a request says with its own values: with any of them, or with none."""

    STRING_EQUALS = "StringEquals"
    STRING_NOT_EQUALS = "StringNotEquals"
    STRING_LIKE = "StringLike"
    STRING_NOT_LIKE = "StringNotLike"
    DATE_LESS_THAN = "DateLessThan"
    DATE_GREATER_THAN = "DateGreaterThan"


Conditions = Mapping[Operator, Mapping[ContextKey, tuple[str, ...]]]


class Statement(Record):
    """An effect on the requests that fit: one of its actions, one of its resources, all of its conditions."""

    effect: Effect
    actions: tuple[str, ...]
    """As `fs:ReadObject`; `*` stands for any characters, `?` for one."""
    resources: tuple[str, ...]
    """ARNs, with the same wildcards; `${user}` stands for the id of who asks."""
    conditions: Conditions = Field(default_factory=dict, exclude_if=operator.not_)


class Policy(Entity):
    """Statements under a name."""

    id: PolicyId
    statements: tuple[Statement, ...]
    nonce: Nonce
    """Fresh in every swap, so that no record is equal to an earlier one."""


class Membership(Record):
    """A user is in a group."""

    user: UserId
    user_uid: EntityUid
    group: GroupId
    group_uid: EntityUid
    creation_date: datetime
    nonce: Nonce

    @property
    def uids(self) -> tuple[EntityUid, EntityUid]:
        """Of both sides, in the order of its key."""
        return self.user_uid, self.group_uid


class Attachment(Record):
    """A policy holds for a user, or for the members of a group."""

    holder: str
    """A user or a group: its key says which."""
    holder_uid: EntityUid
    policy: PolicyId
    policy_uid: EntityUid
    creation_date: datetime
    nonce: Nonce

    @property
    def uids(self) -> tuple[EntityUid, EntityUid]:
        """Of both sides, in the order of its key."""
        return self.holder_uid, self.policy_uid


class Credential(Record):
    """An access key of a user: what its secret is checked against."""

    access_key_id: AccessKeyId
    user: UserId
    user_uid: EntityUid
    secret_hash: str = Field(repr=False)
    """Argon2id with its parameters and salt, in the PHC string format."""
    creation_date: datetime


class UserCredential(Record):
    """Says which access keys a user has, in their order."""

    access_key_id: AccessKeyId
    user_uid: EntityUid
    creation_date: datetime

    @property
    def uids(self) -> tuple[EntityUid]:
        """Of its first side."""
        return (self.user_uid,)


class IamSetup(Record):
    """The store has users: from this record on, whoever comes must say who they are."""

    admin: UserId
    admin_uid: EntityUid
    creation_date: datetime
    nonce: Nonce


@dataclass(frozen=True, slots=True)
class NewCredential:
    """A credential as it is shown once, to who asked for it. The secret is kept nowhere."""

    access_key_id: AccessKeyId
    user: UserId
    creation_date: datetime
    secret: SecretStr
