"""Actions, resources and context of permission requests. The names are those of lakeFS; source: seed 003.

A resource is named by an ARN, `arn:graveler:<service>:::<kind>/<id>`. Names of repositories, branches, tags, users,
groups and policies contain no `/`. A path is the rest of its ARN and may contain any character. `*` and `?` are
wildcards only in policies.
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
"""Description of valid resources, for error messages."""


class Action(StrEnum):
    """Action in the form `<service>:<verb>`. Append-only, because stored policies contain these names."""

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
    GET_RETENTION = "retention:GetGarbageCollectionRules"
    SET_RETENTION = "retention:SetGarbageCollectionRules"
    ERASE_CONTENT = "retention:EraseContent"
    """Delete the content of paths in all history."""
    CHECK_REPOSITORY = "fs:CheckRepository"
    """Check everything stored for a repository, and report damage."""
    MAINTAIN_REPOSITORY = "fs:MaintainRepository"
    """Compact branches, and trim or mend the reflog. Users see no change."""
    EXPORT_TO_STORAGE = "fs:ExportToStorage"
    """Write a dump to an object store."""
    SET_COMMITTER = "fs:SetCommitter"
    """Create commits with a committer other than the user."""
    REPORT_CHECK = "fs:ReportCheck"
    """Report the result of a check, on which merges into protected branches may depend."""
    READ_HOOKS = "ci:ReadAction"
    """Read the hooks of a repository, and their runs."""
    SET_HOOKS = "ci:SetHooks"
    """Change the webhooks of a repository."""
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
    """Attributes of a request that conditions can test."""

    USER = "graveler:user"
    REPOSITORY = "graveler:repository"
    BRANCH = "graveler:branch"
    REF = "graveler:ref"
    TIME = "graveler:time"
    """ISO 8601, in UTC."""


@dataclass(frozen=True, slots=True)
class Request:
    """Request for permission."""

    action: Action
    resource: str
    """ARN of one resource, or the common beginning of several ARNs."""
    context: Mapping[str, str] = field(default_factory=dict)
    """Values by `ContextKey`. The principal adds user and time."""
    prefix: bool = False
    """True to ask for every resource that begins with `resource`, including `resource` itself. The request is allowed
    if one resource of one allowing statement covers all of them, and no denying statement matches any of them.
    """


def begins_resource(text: str, *, more: bool = False) -> bool:
    """Return true if a text begins with the ARN of a known kind of resource.

    Args:
        text: Beginning of an ARN.
        more: True if more text may follow, so that an incomplete kind is valid too.
    """

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
    """Return the ARN of a repository. With a trailing `/`, it is a prefix of everything in the repository.

    Args:
        repo: Name of the repository.

    Returns:
        The ARN.
    """
    return f"{FS_ARN}repository/{repo}"


def object_resource(repo: str, path: str) -> str:
    """Return the ARN of a path on any branch, or a prefix of paths.

    Args:
        repo: Name of the repository.
        path: The path, or a prefix.

    Returns:
        The ARN.
    """
    return f"{FS_ARN}repository/{repo}/object/{path}"


def branch_resource(repo: str, branch: str) -> str:
    """Return the ARN of a branch."""
    return f"{FS_ARN}repository/{repo}/branch/{branch}"


def tag_resource(repo: str, tag: str) -> str:
    """Return the ARN of a tag."""
    return f"{FS_ARN}repository/{repo}/tag/{tag}"


def namespace_resource(uri: str) -> str:
    """Return the ARN of a storage namespace or of an import source."""
    return f"{FS_ARN}namespace/{uri}"


def user_resource(user: str) -> str:
    """Return the ARN of a user and its credentials."""
    return f"{AUTH_ARN}user/{user}"


def group_resource(group: str) -> str:
    """Return the ARN of a group."""
    return f"{AUTH_ARN}group/{group}"


def policy_resource(policy: str) -> str:
    """Return the ARN of a policy."""
    return f"{AUTH_ARN}policy/{policy}"
