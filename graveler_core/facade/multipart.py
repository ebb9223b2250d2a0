"""Operations for multipart uploads: several processes store parts of one object."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from graveler_core.engine.staging import multipart
from graveler_core.engine.staging.content import Content, ContentSource
from graveler_core.facade.handle import Handle
from graveler_core.facade.readable_ref import require_seconds
from graveler_core.facade.staging import Staging
from graveler_core.guard import needs
from graveler_core.guard.operation import operation
from graveler_core.model.entry import Entry
from graveler_core.model.multipart import MultipartUpload, UploadedPart
from graveler_core.model.names import new_path_key, text
from graveler_core.model.permission import Action


class RepositoryUploads(Handle):
    """Multipart uploads to any branch of a repository."""

    @operation("list multipart uploads", needs.all_paths(*needs.SHOWN))
    def multipart_uploads(self) -> list[MultipartUpload]:
        """Return the multipart uploads that have not ended, ordered by branch and path. Damaged records are left out.

        Whoever knows the id of an upload can read its parts, so this needs the permission to read all paths.

        Returns:
            The uploads.

        Raises:
            NotFound: the repository has been deleted.
        """
        found = multipart.standing(self._stores, self._active())
        return sorted(found, key=lambda each: (each.branch, each.path.encode(), each.id))


class PartStaging(Staging):
    """Multipart uploads to a branch. Every method needs the permission to write the path."""

    @operation("begin multipart upload", needs.path(Action.WRITE_OBJECT))
    def begin_multipart(
        self, path: str, *, content_type: str | None = None, metadata: Mapping[str, str] | None = None
    ) -> str:
        """Begin a multipart upload. Any process can store its parts and end it.

        A sweep with `uploads=True` deletes the upload if it has not ended within the grace period of the sweep.

        Args:
            path: Path of the later entry.
            content_type: Media type of the content.
            metadata: Metadata of the entry, as text by key.

        Returns:
            Id of the upload.

        Raises:
            InvalidInput: (`InvalidPath`) the path is not valid, as for `put`.
        """
        new_path_key(path)
        return multipart.begin(*self._at, path, content_type, metadata or {})

    @operation("upload part", needs.path(Action.WRITE_OBJECT))
    def upload_part(
        self, path: str, upload: str, number: int, data: ContentSource, *, checksum: Callable[[], str] | None = None
    ) -> UploadedPart:
        """Store a part of an upload. It replaces a former part with the same number.

        Args:
            path: Path of the upload.
            upload: Id of the upload.
            number: Number of the part, 1 to 10,000. The content is assembled in the order of the numbers.
            data: Content of the part, as for `put`.
            checksum: Function that returns the checksum of the part after the data were read. By default, it is the
                SHA-256.

        Returns:
            The part.

        Raises:
            NotFound: (`UploadNotFound`) there is no such upload, or it has ended.
        """
        content = Content(data, checksum=checksum)
        return multipart.store_part(*self._at, path, text("upload", upload), number, content)

    @operation("presign parts", needs.path(Action.WRITE_OBJECT))
    def presign_parts(self, path: str, upload: str, numbers: Sequence[int], expires: int = 3_600) -> list[str]:
        """Return signed URLs at which a program may store parts of an upload with PUT, without other credentials.

        The store answers with an ETag, which `assemble_multipart` needs. `uploaded_parts` does not list such parts. The
        assembled content is a copy, so the URL changes nothing after that.

        Args:
            path: Path of the upload.
            upload: Id of the upload.
            numbers: Numbers of the parts, 1 to 10,000.
            expires: Seconds for which the URLs are valid, 1 to 604,800 (7 days).

        Returns:
            The URLs, in the order of the numbers.

        Raises:
            NotFound: (`UploadNotFound`) there is no such upload, or it has ended.
            InvalidInput: the store does not sign URLs (`file://` and `memory://`); a number is not valid.
        """
        require_seconds(expires)
        return multipart.signed_parts(*self._at, path, text("upload", upload), list(numbers), expires)

    @operation("list parts", needs.path(Action.WRITE_OBJECT))
    def uploaded_parts(self, path: str, upload: str) -> list[UploadedPart]:
        """Return the parts of an upload in the order of their numbers.

        Args:
            path: Path of the upload.
            upload: Id of the upload.

        Returns:
            The parts. A part that was stored again is listed once.

        Raises:
            NotFound: (`UploadNotFound`) there is no such upload, or it has ended.
        """
        return multipart.parts(*self._at, path, text("upload", upload))

    @operation("assemble multipart upload", needs.path(Action.WRITE_OBJECT))
    def assemble_multipart(self, path: str, upload: str, parts: Sequence[tuple[int, str]]) -> Entry:
        """Store the content of parts as one object, for an entry of a later `stage`. Then call `end_multipart`.

        Args:
            path: Path of the upload.
            upload: Id of the upload.
            parts: Numbers of the parts in ascending order, with their checksums. For a part that was stored at a URL of
                `presign_parts`, it is `etag:` and the ETag without quotes.

        Returns:
            The entry. Nothing refers to its content until it is staged.

        Raises:
            NotFound: (`UploadNotFound`) there is no such upload, or it has ended.
            SlowDown: another call has assembled the upload meanwhile. Of several calls at the same time, one returns an
                entry.
            InvalidInput: (`PartMismatch`) a part does not exist, has another checksum, or was stored again meanwhile at
                its signed URL.
        """
        return multipart.assemble(*self._at, path, text("upload", upload), list(parts))

    @operation("end multipart upload", needs.path(Action.WRITE_OBJECT))
    def end_multipart(self, path: str, upload: str) -> None:
        """End an upload and delete its parts: after its entry was staged, or to give it up.

        Args:
            path: Path of the upload.
            upload: Id of the upload.

        Raises:
            NotFound: (`UploadNotFound`) there is no such upload, or it has ended.
        """
        multipart.end(*self._at, path, text("upload", upload))
