"""ApiRequest and response records of the API, with the field names that lakeFS's clients expect.

Optional fields without a value are left out of responses.
"""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, RootModel, SecretStr

MAX_PER_PAGE = 1_000
"""Maximum number of results of one page."""

R = TypeVar("R", bound="ApiResponse")


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
    metadata: dict[str, str] = Field(default_factory=dict)


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


class ProtectionRuleSettings(RootModel[list[ProtectionRuleBody]]):
    """New rules, as a JSON list."""


class MetadataUpdate(ApiRequest):
    metadata: dict[str, str]


class MetadataRemoval(ApiRequest):
    keys: list[str]


class BranchRetention(ApiRequest):
    branch_id: str
    retention_days: int


class CollectionRules(ApiRequest):
    """Rules for how long content of commits is kept."""

    default_retention_days: int
    branches: list[BranchRetention]


class ApiObject(ApiResponse):
    path: str
    path_type: Literal["object", "common_prefix"]
    physical_address: str
    checksum: str
    mtime: int
    """Seconds since 1970."""
    size_bytes: int | None = None
    physical_address_expiry: int | None = None
    metadata: dict[str, str] | None = None
    content_type: str | None = None


class ObjectStaging(ApiRequest):
    physical_address: str
    checksum: str
    size_bytes: int = Field(ge=0)
    mtime: int | None = None
    metadata: dict[str, str] = Field(default_factory=dict)
    content_type: str | None = None


class StorageClass(ApiResponse):
    """Properties that the object store gives to an object: none are known."""

    storage_class: str | None = None


class StagingLocation(ApiResponse):
    """Address for an upload straight to the object store."""

    physical_address: str
    presigned_url: str | None = None
    presigned_url_expiry: int | None = None
    """Seconds since 1970."""


class StagedLocation(ApiRequest):
    """Address to which a client has uploaded an object."""

    physical_address: str


class ObjectLink(ApiRequest):
    staging: StagedLocation
    checksum: str = Field(min_length=1)
    size_bytes: int = Field(ge=0)
    mtime: int | None = None
    user_metadata: dict[str, str] = Field(default_factory=dict)
    content_type: str | None = None


class PartsUpload(ApiResponse):
    """Upload in parts with signed URLs."""

    upload_id: str
    physical_address: str
    presigned_urls: list[str] | None = None
    """URLs of the first parts."""


class PartUrl(ApiResponse):
    presigned_url: str


class CopySource(ApiRequest):
    repository: str
    ref: str
    path: str
    range: str | None = None


class PartCopy(StagedLocation):
    copy_source: CopySource


class StoredPart(ApiRequest):
    part_number: int = Field(ge=1, le=10_000)
    etag: str


class PartsAssembly(StagedLocation):
    parts: list[StoredPart] = Field(min_length=1)
    user_metadata: dict[str, str] = Field(default_factory=dict)
    content_type: str | None = None


class ObjectCopy(ApiRequest):
    src_path: str
    src_ref: str | None = None
    shallow: bool = False


class PathList(ApiRequest):
    paths: list[str] = Field(max_length=MAX_PER_PAGE)


class ObjectErrorRecord(ApiResponse):
    status_code: int
    message: str
    path: str


class ObjectErrors(ApiResponse):
    errors: list[ObjectErrorRecord]


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
    metadata: dict[str, str] = Field(default_factory=dict)
    date: int | None = None
    """Seconds since 1970. The time of the call if missing."""
    allow_empty: bool = False


class MergeCreation(ApiRequest):
    message: str = ""
    metadata: dict[str, str] = Field(default_factory=dict)
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
    paths: list[ImportPath] = Field(min_length=1)
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


class StatsEvents(ApiRequest):
    events: list[dict[str, object]] = Field(default_factory=list)


class ApiUser(ApiResponse):
    id: str
    creation_date: int


class CurrentUser(ApiResponse):
    user: ApiUser


class VersionConfig(ApiResponse):
    version: str
    version_context: str = "lakeFS"
    """Name of the edition. `lakectl` warns before each command if it is another one."""
    latest_version: str = ""
    upgrade_recommended: bool = False
    upgrade_url: str = ""


class StorageConfig(ApiResponse):
    blockstore_type: str
    blockstore_namespace_example: str
    blockstore_namespace_ValidityRegex: str
    default_namespace_prefix: str = ""
    pre_sign_support: bool = False
    pre_sign_support_ui: bool = False
    import_support: bool = False
    import_validity_regex: str = ""
    pre_sign_multipart_upload: bool = False


class ServerConfig(ApiResponse):
    version_config: VersionConfig
    storage_config: StorageConfig
    storage_config_list: list[StorageConfig] = Field(default_factory=list)
    capabilities_config: dict[str, object] = Field(default_factory=dict)


class LoginConfig(ApiResponse):
    RBAC: Literal["none", "simplified", "external", "internal"]
    login_url: str = ""
    login_cookie_names: list[str] = Field(default_factory=list)
    logout_url: str = ""


class LoginBody(ApiRequest):
    access_key_id: str
    secret_access_key: SecretStr


class SessionToken(ApiResponse):
    token: str
    token_expiration: int
    """Seconds since 1970."""


class AuthCapabilities(ApiResponse):
    invite_user: bool = False
    forgot_password: bool = False


class GarbageCollectionConfig(ApiResponse):
    grace_period: int
    """Seconds for which content that nothing names is kept."""


class UsageReport(ApiResponse):
    """Number of requests by month, which clients show."""

    installation_id: str = "graveler"
    reports: list[str] = Field(default_factory=list)


class SetupState(ApiResponse):
    state: Literal["initialized", "not_initialized"]
    comm_prefs_missing: bool = False
    login_config: LoginConfig
