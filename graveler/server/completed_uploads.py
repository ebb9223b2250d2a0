"""Ends of multipart uploads that a client repeats, because it has not got the answer to the first request."""

from __future__ import annotations

from graveler.server.entries import entry_at
from graveler.server.kept_md5 import kept_etag
from graveler_core.errors import Kind, NotFound, PermissionDenied
from graveler_core.facade.branch import Branch
from graveler_core.model.entry import Entry


def completed_entry(branch: Branch, path: str, id: str, etag: str | None) -> Entry | None:
    """Return the entry of a multipart upload that has ended, if it is still at its path.

    If the upload has not ended, another client wrote the equal entry, by a conditional write that came first.

    Args:
        branch: Branch of the upload.
        path: Path of the upload.
        id: Id of the upload.
        etag: ETag of its parts: see `kept_md5.etag_of_parts`.

    Returns:
        The entry; `None` if the upload has not ended, the path has another entry, or the user may not read it.
    """
    current = None
    try:
        current = entry_at(branch, path)
        if etag is not None and current is not None and kept_etag(current) == etag:
            branch.uploaded_parts(path, id)
    except NotFound as e:
        return current if e.kind is Kind.UploadNotFound else None
    except PermissionDenied:
        return None
    return None
