"""Records of users, groups, policies and credentials, with the field names that lakeFS's clients expect."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from graveler.server.api.first_wrong import first_wrong
from graveler.server.api.records import ApiRequest, ApiResponse, RequestList

GroupPermission = Literal["Read", "Write", "Super", "Admin"]
"""Word for the access of a group."""


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _are_lists_of_texts(value: object) -> bool:
    return isinstance(value, dict) and all(map(_are_texts, value.values()))


_Lists = Annotated[dict[str, RequestList[str]], first_wrong(_are_texts)]
Condition = Annotated[dict[str, _Lists], first_wrong(_are_lists_of_texts)]
"""Condition of a statement: values by key by operator. The server reports only the first wrong value."""


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
    action: RequestList[str]
    condition: Condition = Field(default_factory=dict, exclude_if=lambda given: not given)


class PolicyBody(ApiRequest):
    """A policy that a client creates or updates."""

    id: str
    statement: RequestList[StatementRecord]


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
