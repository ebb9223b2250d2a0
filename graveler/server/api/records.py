"""Request and response records of the API, with the field names that lakeFS's clients expect.

Records of objects, and of the server itself, have modules of their own. Optional fields without a value are left out of
responses.
"""

from __future__ import annotations

from typing import Annotated, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, FailFast, Field, RootModel

from graveler.server.api.first_wrong import first_wrong

MAX_PER_PAGE = 1_000
"""Maximum number of results of one page."""

R = TypeVar("R", bound="ApiResponse")
T = TypeVar("T")
RequestList = Annotated[list[T], FailFast()]
"""List of a request. The server reports only the first wrong item. To report all of a million takes half a minute."""
TextMap = Annotated[dict[str, str], first_wrong(lambda value: isinstance(value, str))]
"""Text by key, of a request. The server reports only the first wrong value."""


class ApiResponse(BaseModel):
    """Base class of response records."""

    model_config = ConfigDict(frozen=True)


class ApiRequest(BaseModel):
    """Base class of request bodies. Unknown fields are ignored, because newer clients send more fields."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class ErrorMessage(ApiResponse):
    message: str


class ApiMap(RootModel[dict[str, str]]):
    """Text by key, as a JSON object."""


class Pagination(ApiResponse):
    has_more: bool
    next_offset: str
    results: int
    max_per_page: int = MAX_PER_PAGE


class ResultPage(ApiResponse, Generic[R]):
    pagination: Pagination
    results: list[R]


class EmptyPage(ApiResponse):
    """A page of a listing without results."""

    pagination: Pagination
    results: list[str] = Field(default_factory=list)


class ApiRepository(ApiResponse):
    id: str
    creation_date: int
    """Seconds since 1970."""
    default_branch: str
    storage_namespace: str
    storage_id: str = ""
    read_only: bool = False


class RepositoryCreation(ApiRequest):
    name: str
    storage_namespace: str
    default_branch: str = "main"
    sample_data: bool = False
    read_only: bool = False


class ApiRef(ApiResponse):
    """A branch or a tag."""

    id: str
    commit_id: str


class BranchCreation(ApiRequest):
    name: str
    source: str


class TagCreation(ApiRequest):
    id: str
    ref: str


class ResetCreation(ApiRequest):
    type: Literal["object", "common_prefix", "reset"]
    path: str = ""


class CommitOverrides(ApiRequest):
    message: str | None = None
    metadata: TextMap = Field(default_factory=dict)


class RevertCreation(ApiRequest):
    ref: str
    parent_number: int = 0
    """Number of the parent of a merge commit, from 1. 0 for other commits."""
    commit_overrides: CommitOverrides = CommitOverrides()
    allow_empty: bool = False


class CherryPickCreation(ApiRequest):
    ref: str
    parent_number: int = 0
    commit_overrides: CommitOverrides = CommitOverrides()


class ProtectionRuleRecord(ApiResponse):
    pattern: str


class ProtectionRules(RootModel[list[ProtectionRuleRecord]]):
    """Rules, as a JSON list."""


class ProtectionRuleBody(ApiRequest):
    pattern: str


class ProtectionRuleSettings(RootModel[RequestList[ProtectionRuleBody]]):
    """New rules, as a JSON list."""


class MetadataUpdate(ApiRequest):
    metadata: TextMap


class MetadataRemoval(ApiRequest):
    keys: RequestList[str]


class BranchRetention(ApiRequest):
    branch_id: str
    retention_days: int


class CollectionRules(ApiRequest):
    """Rules for how long content of commits is kept."""

    default_retention_days: int
    branches: RequestList[BranchRetention]


class RightStats(ApiResponse):
    """Attributes of the right side of a difference."""

    checksum: str
    mtime: int
    content_type: str
    metadata: dict[str, str] | None = None


class DiffRecord(ApiResponse):
    type: Literal["added", "removed", "changed", "conflict", "prefix_changed"]
    path: str
    path_type: Literal["object", "common_prefix"]
    size_bytes: int | None = None
    right: RightStats | None = None


class ApiCommit(ApiResponse):
    id: str
    parents: list[str]
    committer: str
    message: str
    creation_date: int
    meta_range_id: str
    metadata: dict[str, str]
    generation: int
    version: int = 1


class CommitCreation(ApiRequest):
    message: str
    metadata: TextMap = Field(default_factory=dict)
    date: int | None = None
    """Seconds since 1970. The time of the call if missing."""
    allow_empty: bool = False


class MergeCreation(ApiRequest):
    message: str = ""
    metadata: TextMap = Field(default_factory=dict)
    strategy: Literal["", "source-wins", "dest-wins"] = ""
    allow_empty: bool = False
    squash_merge: bool = False


class MergeResult(ApiResponse):
    reference: str


class MergeBaseResult(ApiResponse):
    source_commit_id: str
    destination_commit_id: str
    base_commit_id: str


class ImportPath(ApiRequest):
    type: Literal["common_prefix", "object"]
    path: str
    """URI of the directory or the object."""
    destination: str


class ImportCreation(ApiRequest):
    paths: RequestList[ImportPath] = Field(min_length=1)
    commit: CommitCreation


class TaskId(ApiResponse):
    id: str


class ImportStatus(ApiResponse):
    completed: bool
    update_time: str
    """Time in the form of ISO 8601."""
    ingested_objects: int
    metarange_id: str
    commit: ApiCommit | None = None
    error: ErrorMessage | None = None


class RefsDump(ApiResponse):
    commits_meta_range_id: str
    tags_meta_range_id: str
    branches_meta_range_id: str


class DumpStatus(ApiResponse):
    """State of a dump or of a restoration."""

    id: str
    done: bool
    update_time: str
    """Time in the form of ISO 8601."""
    error: str | None = None
    refs: RefsDump | None = None


class RestoreCreation(ApiRequest):
    commits_meta_range_id: str
    tags_meta_range_id: str
    branches_meta_range_id: str
    force: bool = False
