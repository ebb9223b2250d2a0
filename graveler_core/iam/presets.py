"""The policies and groups that every store with users begins with, as in lakeFS. People may change or delete them."""

from __future__ import annotations

from typing import Final

from graveler_core.model.iam import Effect, Statement
from graveler_core.model.ids import GroupId, PolicyId
from graveler_core.model.permission import EVERYTHING, user_resource
from graveler_core.model.policy_document import USER_VARIABLE

ADMINS: Final = GroupId("Admins")
SUPER_USERS: Final = GroupId("SuperUsers")
DEVELOPERS: Final = GroupId("Developers")
VIEWERS: Final = GroupId("Viewers")


def _allow(*actions: str, on: str = EVERYTHING) -> tuple[Statement, ...]:
    return (Statement(effect=Effect.ALLOW, actions=actions, resources=(on,)),)


_READ = ("fs:List*", "fs:Read*")
PRESET_POLICIES: Final[dict[PolicyId, tuple[Statement, ...]]] = {
    PolicyId("FSFullAccess"): _allow("fs:*"),
    PolicyId("FSReadWriteAll"): _allow(
        *_READ,
        "fs:WriteObject",
        "fs:DeleteObject",
        "fs:CreateCommit",
        "fs:CreateBranch",
        "fs:DeleteBranch",
        "fs:RevertBranch",
        "fs:CreateTag",
        "fs:DeleteTag",
    ),
    PolicyId("FSReadAll"): _allow(*_READ),
    PolicyId("RepoManagementFullAccess"): _allow("branches:*", "retention:*"),
    PolicyId("RepoManagementReadAll"): _allow("branches:Get*"),
    PolicyId("AuthFullAccess"): _allow("auth:*"),
    PolicyId("AuthManageOwnCredentials"): _allow("auth:*Credentials", on=user_resource(USER_VARIABLE)),
}
PRESET_GROUPS: Final[dict[GroupId, tuple[PolicyId, ...]]] = {
    ADMINS: (PolicyId("FSFullAccess"), PolicyId("AuthFullAccess"), PolicyId("RepoManagementFullAccess")),
    SUPER_USERS: (
        PolicyId("FSFullAccess"),
        PolicyId("AuthManageOwnCredentials"),
        PolicyId("RepoManagementReadAll"),
    ),
    DEVELOPERS: (
        PolicyId("FSReadWriteAll"),
        PolicyId("AuthManageOwnCredentials"),
        PolicyId("RepoManagementReadAll"),
    ),
    VIEWERS: (PolicyId("FSReadAll"), PolicyId("AuthManageOwnCredentials")),
}
"""Which policies hold for the members of each."""
