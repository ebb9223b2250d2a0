"""Keys of users, groups and policies. Each key is built in one place. Source: seed 003, `Data Modeling: IAM`.

    partition  graveler_iam   users/<user>                        User
                              groups/<group>                      Group
                              policies/<policy>                   Policy
                              memberships/<user>/<group>          Membership
                              user_policies/<user>/<policy>       Attachment
                              group_policies/<group>/<policy>     Attachment
                              credentials/<access key>            Credential
                              sealed_secrets/<access key>         SealedSecret
                              user_credentials/<user>/<access key>  UserCredential
                              setup                               IamSetup
                              change                              AccessChange

Entities are ordered by name, as paging requires. A relation has one key. It is found from its first side by a prefix,
and from its second side by a scan of its folder; all these keys together are few. Names contain no `/`.
"""

from __future__ import annotations

from typing import Any

from graveler_core.model.iam import (
    AccessChange,
    Attachment,
    Credential,
    Group,
    IamSetup,
    Membership,
    Policy,
    SealedSecret,
    User,
    UserCredential,
)
from graveler_core.model.ids import AccessKeyId, GroupId, PolicyId, UserId
from graveler_core.records.layout import IAM
from graveler_core.records.location import Folder, Location

USERS = Folder(IAM, b"users/", User)
GROUPS = Folder(IAM, b"groups/", Group)
POLICIES = Folder(IAM, b"policies/", Policy)
MEMBERSHIPS = Folder(IAM, b"memberships/", Membership)
USER_POLICIES = Folder(IAM, b"user_policies/", Attachment)
GROUP_POLICIES = Folder(IAM, b"group_policies/", Attachment)
CREDENTIALS = Folder(IAM, b"credentials/", Credential)
SEALED_SECRETS = Folder(IAM, b"sealed_secrets/", SealedSecret)
USER_CREDENTIALS = Folder(IAM, b"user_credentials/", UserCredential)
SETUP = Location(IAM, b"setup", IamSetup)
CHANGE = Location(IAM, b"change", AccessChange)


def membership(user: UserId, group: GroupId) -> Location[Membership]:
    return MEMBERSHIPS.at(f"{of(user)}{group}")


def user_policy(user: UserId, policy: PolicyId) -> Location[Attachment]:
    return USER_POLICIES.at(f"{of(user)}{policy}")


def group_policy(group: GroupId, policy: PolicyId) -> Location[Attachment]:
    return GROUP_POLICIES.at(f"{of(group)}{policy}")


def credential(access_key: AccessKeyId) -> Location[Credential]:
    return CREDENTIALS.at(access_key)


def sealed_secret(access_key: AccessKeyId) -> Location[SealedSecret]:
    return SEALED_SECRETS.at(access_key)


def user_credential(user: UserId, access_key: AccessKeyId) -> Location[UserCredential]:
    return USER_CREDENTIALS.at(f"{of(user)}{access_key}")


def of(first: str) -> str:
    """Return the common prefix of all relations with this first side."""
    return f"{first}/"


def deciding(key: str) -> Location[Any]:
    """Return the location of a record that decides about permissions, by its key."""
    folder = next(folder for folder in _DECIDING if key.startswith(folder.prefix.decode()))
    return folder.at(key.removeprefix(folder.prefix.decode()))


_DECIDING: tuple[Folder[Any], ...] = (
    USERS,
    GROUPS,
    POLICIES,
    MEMBERSHIPS,
    USER_POLICIES,
    GROUP_POLICIES,
    CREDENTIALS,
)
