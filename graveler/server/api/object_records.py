"""Request and response records of the API about objects: listings, uploads, copies and removals."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from graveler.server.api.records import MAX_PER_PAGE, ApiRequest, ApiResponse, RequestList, TextMap


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
    metadata: TextMap = Field(default_factory=dict)
    content_type: str | None = None


class StorageClass(ApiResponse):
    """Properties that the object store gives to an object. The server knows none."""

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
    user_metadata: TextMap = Field(default_factory=dict)
    content_type: str | None = None


class PartsUpload(ApiResponse):
    """Multipart upload with signed URLs."""

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
    parts: RequestList[StoredPart] = Field(min_length=1)
    user_metadata: TextMap = Field(default_factory=dict)
    content_type: str | None = None


class ObjectCopy(ApiRequest):
    src_path: str
    src_ref: str | None = None
    shallow: bool = False


class PathList(ApiRequest):
    paths: RequestList[str] = Field(max_length=MAX_PER_PAGE)


class ObjectErrorRecord(ApiResponse):
    status_code: int
    message: str
    path: str


class ObjectErrors(ApiResponse):
    errors: list[ObjectErrorRecord]
