"""Records of users, groups, policies and credentials, with the field names that lakeFS's clients expect."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from graveler.server.api.records import ApiRequest, ApiResponse

GroupPermission = Literal["Read", "Write", "Super", "Admin"]
"""Word for the access of a group."""


class UserCreation(ApiRequest):
    id: str


class GroupCreation(ApiRequest):
    id: str


class ApiGroup(ApiResponse):
    id: str
    name: str
    creation_date: int
    """Seconds since 1970."""


class GroupAcl(ApiRequest):
    permission: GroupPermission


class StatementRecord(ApiRequest):
    """A statement of a policy."""

    effect: Literal["allow", "deny"]
    resource: str
    """One ARN, or a JSON list of ARNs."""
    action: list[str]
    condition: dict[str, dict[str, list[str]]] = Field(default_factory=dict, exclude_if=lambda given: not given)


class PolicyBody(ApiRequest):
    """A policy that a client creates or updates."""

    id: str
    statement: list[StatementRecord]


class ApiPolicy(ApiResponse):
    id: str
    creation_date: int
    statement: list[StatementRecord]


class CredentialRecord(ApiResponse):
    access_key_id: str
    creation_date: int


class NewCredentialRecord(CredentialRecord):
    """A new credential. Its secret is shown once."""

    secret_access_key: str
