"""Copies of entries. A copy within a repository shares the object of its source, if the user may name its address.

Many users may read an entry, but not name its address for a new entry: an import has given the entry the address of an
object elsewhere, for example. Such a user could download the content and upload it again, so the server does that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from graveler.server.kept_md5 import with_etag
from graveler.server.s3.object_metadata import etag_of
from graveler_core.errors import Kind, PermissionDenied
from graveler_core.facade.branch import Branch
from graveler_core.facade.content_file import ContentFile
from graveler_core.model.entry import Entry


def stage_shared(stage: Callable[[Entry], Entry], made: Entry) -> Entry | None:
    """Stage a copy that shares the object of its source.

    Args:
        stage: Stages an entry at the path of the copy.
        made: Entry of the copy.

    Returns:
        The staged entry. `None` if the user may not name its address: the content must be copied (`with_own_content`).

    Raises:
        GravelerError: As `stage` raises.
    """
    try:
        return stage(made)
    except PermissionDenied as error:
        if error.kind is not Kind.AccessDenied or made.address is None:
            raise
        return None


def with_own_content(branch: Branch, path: str, made: Entry, content: ContentFile) -> Entry:
    """Copy the content of an entry. Return the entry of the copy with this object. It keeps the ETag of the source.

    Args:
        branch: Branch of the copy.
        path: Path of the copy.
        made: Entry of the copy, which shares the object of its source.
        content: Content of the source.

    Returns:
        The entry, which is not staged.

    Raises:
        GravelerError: As `Branch.upload` and `ContentFile.chunks` raise.
    """
    copied = branch.upload(path, content.chunks(), to_stage=True)
    kept = with_etag(replace(made, checksum=copied.checksum), etag_of(made))
    return replace(copied, content_type=made.content_type, metadata=kept.metadata, identity=b"")
