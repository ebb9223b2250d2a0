"""Multipart uploads, as programs see them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from graveler_core.model.ids import BranchId


@dataclass(frozen=True, slots=True)
class UploadedPart:
    """Part of an upload."""

    number: int
    size: int
    checksum: str
    """SHA-256 of the part, or the checksum that its uploader has named."""
    creation_date: datetime


@dataclass(frozen=True, slots=True)
class MultipartUpload:
    """Multipart upload that has not ended."""

    id: str
    branch: BranchId
    path: str
    creation_date: datetime
