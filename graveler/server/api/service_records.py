"""Request and response records of the API about the server itself: configuration, users, sessions and setup."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr

from graveler.server.api.records import ApiRequest, ApiResponse


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
    """Seconds for which content without a reference is kept."""


class UsageReport(ApiResponse):
    """Number of requests by month, which clients show."""

    installation_id: str = "graveler"
    reports: list[str] = Field(default_factory=list)


class SetupState(ApiResponse):
    state: Literal["initialized", "not_initialized"]
    comm_prefs_missing: bool = False
    login_config: LoginConfig
