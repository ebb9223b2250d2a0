"""What may be asked for: actions, resources, and what a request says of its circumstances. Words of lakeFS, seed 003.

A resource is named by an ARN, `arn:graveler:<service>:::<kind>/<id>`. Names of repositories, branches, tags, users,
groups and policies hold no `/`; a path is the rest of its ARN as it is, and may hold anything, also `*` and `?`,
which mean something in policies alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

FS_ARN = "arn:graveler:fs:::"
AUTH_ARN = "arn:graveler:auth:::"
EVERYTHING = "*"
RESOURCES = (
    f"resources are {FS_ARN}repository/…, with /object/…, /branch/… or /tag/… behind it, {FS_ARN}namespace/…, "
    f"{AUTH_ARN}user/…, …group/…, …policy/…"
)
"""For messages."""


class Action(StrEnum):
    """What is done, as `<service>:<verb>`. Append-only: policies that are stored name them."""

    LIST_REPOSITORIES = "fs:ListRepositories"
    READ_REPOSITORY = "fs:ReadRepository"
    CREATE_REPOSITORY = "fs:CreateRepository"
    UPDATE_REPOSITORY = "fs:UpdateRepository"
    DELETE_REPOSITORY = "fs:DeleteRepository"
    ATTACH_STORAGE_NAMESPACE = "fs:AttachStorageNamespace"
    IMPORT_FROM_STORAGE = "fs:ImportFromStorage"
    LIST_OBJECTS = "fs:ListObjects"
    READ_OBJECT = "fs:ReadObject"
    WRITE_OBJECT = "fs:WriteObject"
    DELETE_OBJECT = "fs:DeleteObject"
    LIST_COMMITS = "fs:ListCommits"
    READ_COMMIT = "fs:ReadCommit"
    CREATE_COMMIT = "fs:CreateCommit"
    LIST_BRANCHES = "fs:ListBranches"
    READ_BRANCH = "fs:ReadBranch"
    CREATE_BRANCH = "fs:CreateBranch"
    DELETE_BRANCH = "fs:DeleteBranch"
    REVERT_BRANCH = "fs:RevertBranch"
    LIST_TAGS = "fs:ListTags"
    READ_TAG = "fs:ReadTag"
    CREATE_TAG = "fs:CreateTag"
    DELETE_TAG = "fs:DeleteTag"
    READ_CONFIG = "fs:ReadConfig"
    GET_BRANCH_PROTECTION = "branches:GetBranchProtectionRules"
    SET_BRANCH_PROTECTION = "branches:SetBranchProtectionRules"
    COLLECT_GARBAGE = "retention:CollectGarbage"
    CHECK_REPOSITORY = "fs:CheckRepository"
    """Look at all that is stored for it, and say what is damaged."""
    MAINTAIN_REPOSITORY = "fs:MaintainRepository"
    """Compact its branches, trim and mend its reflog: what nobody sees."""
    EXPORT_TO_STORAGE = "fs:ExportToStorage"
    """Write a dump to a place of an object store."""
    SET_COMMITTER = "fs:SetCommitter"
    """Make commits under another name than one's own."""
    LIST_USERS = "auth:ListUsers"
    READ_USER = "auth:ReadUser"
    CREATE_USER = "auth:CreateUser"
    DELETE_USER = "auth:DeleteUser"
    LIST_GROUPS = "auth:ListGroups"
    READ_GROUP = "auth:ReadGroup"
    CREATE_GROUP = "auth:CreateGroup"
    DELETE_GROUP = "auth:DeleteGroup"
    ADD_GROUP_MEMBER = "auth:AddGroupMember"
    REMOVE_GROUP_MEMBER = "auth:RemoveGroupMember"
    LIST_POLICIES = "auth:ListPolicies"
    READ_POLICY = "auth:ReadPolicy"
    CREATE_POLICY = "auth:CreatePolicy"
    UPDATE_POLICY = "auth:UpdatePolicy"
    DELETE_POLICY = "auth:DeletePolicy"
    ATTACH_POLICY = "auth:AttachPolicy"
    DETACH_POLICY = "auth:DetachPolicy"
    LIST_CREDENTIALS = "auth:ListCredentials"
    CREATE_CREDENTIALS = "auth:CreateCredentials"
    DELETE_CREDENTIALS = "auth:DeleteCredentials"


class ContextKey(StrEnum):
    """What a request may say of its circumstances, and a policy make a condition of."""

    USER = "graveler:user"
    REPOSITORY = "graveler:repository"
    BRANCH = "graveler:branch"
    REF = "graveler:ref"
    TIME = "graveler:time"
    """ISO 8601, in UTC."""


@dataclass(frozen=True, slots=True)
class Request:
    """May this be done?"""

    action: Action
    resource: str
    """The ARN of one thing, or how the ARNs of all begin that are asked for."""
    context: Mapping[str, str] = field(default_factory=dict)
    """By `ContextKey`; the principal adds user and time."""
    prefix: bool = False
    """Whether it asks for every resource that begins with `resource`, itself among them: allowed if one resource of one
    allowing statement covers all of them and no denying statement meets any."""


def begins_resource(text: str, *, more: bool = False) -> bool:
    """Whether a text begins as the ARN of something there is; with `more`, whether it does as soon as more follows."""

    def begins(text: str, kinds: tuple[str, ...]) -> bool:
        return any(text.startswith(kind) or (more and kind.startswith(text)) for kind in kinds)

    repositories = f"{FS_ARN}repository/"
    _, slash, within = text.removeprefix(repositories).partition("/")
    if text.startswith(repositories) and slash:
        return begins(within, _WITHIN_REPOSITORY)
    return begins(text, (repositories, f"{FS_ARN}namespace/", *_OF_AUTH))


_WITHIN_REPOSITORY = ("object/", "branch/", "tag/")
_OF_AUTH = (f"{AUTH_ARN}user/", f"{AUTH_ARN}group/", f"{AUTH_ARN}policy/")


def repository_resource(repo: str) -> str:
    """A repository; with a trailing `/`, a prefix of all that is in it."""
    return f"{FS_ARN}repository/{repo}"


def object_resource(repo: str, path: str) -> str:
    """A path of a repository, on whatever branch, or a prefix of paths."""
    return f"{FS_ARN}repository/{repo}/object/{path}"


def branch_resource(repo: str, branch: str) -> str:
    """A branch."""
    return f"{FS_ARN}repository/{repo}/branch/{branch}"


def tag_resource(repo: str, tag: str) -> str:
    """A tag."""
    return f"{FS_ARN}repository/{repo}/tag/{tag}"


def namespace_resource(uri: str) -> str:
    """A storage namespace, or a place of an object store to import from."""
    return f"{FS_ARN}namespace/{uri}"


def user_resource(user: str) -> str:
    """A user, with its credentials."""
    return f"{AUTH_ARN}user/{user}"


def group_resource(group: str) -> str:
    """A group."""
    return f"{AUTH_ARN}group/{group}"


def policy_resource(policy: str) -> str:
    """A policy."""
    return f"{AUTH_ARN}policy/{policy}"
