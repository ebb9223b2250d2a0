"""One record of each kind of what says who may, with every field filled."""

from __future__ import annotations

from datetime import UTC, datetime

from graveler_core.model.entities import Record
from graveler_core.model.iam import (
    AccessChange,
    Attachment,
    Credential,
    Effect,
    EntityState,
    Group,
    IamSetup,
    Membership,
    Operator,
    Policy,
    SealedSecret,
    Statement,
    User,
    UserCredential,
)
from graveler_core.model.ids import AccessKeyId, EntityUid, GroupId, Nonce, PolicyId, UserId
from graveler_core.model.permission import ContextKey

SINCE = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
KEY = AccessKeyId("0a" * 16)
IAM_RECORDS: dict[str, Record] = {
    "user": User(id=UserId("ada"), uid=EntityUid("u1"), creation_date=SINCE),
    "group": Group(id=GroupId("Admins"), uid=EntityUid("g1"), state=EntityState.DELETING, creation_date=SINCE),
    "policy": Policy(
        id=PolicyId("ReadRaw"),
        uid=EntityUid("p1"),
        creation_date=SINCE,
        statements=(
            Statement(effect=Effect.ALLOW, actions=("fs:Read*", "fs:ListObjects"), resources=("*",)),
            Statement(
                effect=Effect.DENY,
                actions=("*",),
                resources=("arn:graveler:fs:::repository/flights/object/é/*", "arn:graveler:auth:::user/${user}"),
                conditions={
                    Operator.STRING_LIKE: {ContextKey.REF: ("main", "release-*")},
                    Operator.DATE_LESS_THAN: {ContextKey.TIME: ("2026-12-31T00:00:00Z",)},
                },
            ),
        ),
        nonce=Nonce("n1"),
    ),
    "membership": Membership(
        user=UserId("ada"),
        user_uid=EntityUid("u1"),
        group=GroupId("Admins"),
        group_uid=EntityUid("g1"),
        creation_date=SINCE,
        nonce=Nonce("n2"),
    ),
    "attachment": Attachment(
        holder="ada",
        holder_uid=EntityUid("u1"),
        policy=PolicyId("ReadRaw"),
        policy_uid=EntityUid("p1"),
        creation_date=SINCE,
        nonce=Nonce("n3"),
    ),
    "credential": Credential(
        access_key_id=KEY,
        user=UserId("ada"),
        user_uid=EntityUid("u1"),
        secret_hash="$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$aGFzaA",
        creation_date=SINCE,
    ),
    "sealed secret": SealedSecret(
        access_key_id=KEY, user=UserId("ada"), user_uid=EntityUid("u1"), key_id="0b" * 8, sealed=b"\x00\xffsealed"
    ),
    "user credential": UserCredential(access_key_id=KEY, user_uid=EntityUid("u1"), creation_date=SINCE),
    "iam setup": IamSetup(admin=UserId("ada"), admin_uid=EntityUid("u1"), creation_date=SINCE, nonce=Nonce("n4")),
    "access change": AccessChange(record="users/ada", nonce=Nonce("n5"), since=SINCE),
}
