"""Multipart uploads: parts of one object that several processes store, and that become one object at the end.

    begin      upload record (`objects.uploads`), with the branch and the path     uploading
    part       object below the prefix of the upload → part record → is the upload still there?
    assemble   read the upload record and the part records → read the parts and store one object
               → ✓ renew the upload record that was read
    end        uploading → purging ✓ → delete the objects and the part records → remove the upload record

All state is in the store, so any process can go on. The assembled object is stored outside the prefix of the upload,
like the content of every other write, and is staged by the caller. The upload ends after that. If the process dies
before the end, everything is still there: assembling again stores the same content again, and staging it again changes
nothing. An upload that nobody ends is given up by a sweep after its grace period, with all its parts.

A client repeats its request if it waits too long for the answer, so several processes may assemble an upload at the
same time. Of those that have read the same record, only the first one renews it. The others return no entry. They could
otherwise stage it after the first one has ended the upload, and replace what the client has written since. A process
that begins after the renewal is not excluded. So the caller stages the entry at once: if it pauses here, while another
process assembles and ends the upload and the client writes the path again, it replaces this later write.

A part can also be stored by a program that has a signed URL for it. The name of its object contains the number of the
part. It has no part record, because the program does not report that it has stored the object. The object is found
when the parts are assembled, and must have the ETag that the caller names. It is looked at again after it was read,
because whoever holds the URL may have replaced it in between. The assembled object is a copy, so whoever holds the URL
cannot change it. An object that is stored there after the end is deleted by a collection.

A part that is stored again replaces the record of the former one. Its object stays until the end. If an upload ends
while a part is stored, the last step of that flow finds no upload, and removes what it has stored. If it dies first, it
leaves an object that a collection deletes, and a part record that a sweep removes. If an upload ends while it is
assembled, the assembly fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from graveler_core.blobs.port import Blobs
from graveler_core.engine.protocol.registers import fresh
from graveler_core.engine.protocol.restrictions import require_permitted
from graveler_core.engine.staging.content import PART_BYTES, Content, UploadedContent, upload
from graveler_core.errors import InvalidInput, Kind, NotFound, SlowDown
from graveler_core.model.entities import RepositoryRecord, Upload, UploadPart, UploadState, UploadTarget
from graveler_core.model.entry import AddressType, Entry
from graveler_core.model.ids import BranchId, RepositoryId
from graveler_core.model.multipart import MultipartUpload, UploadedPart
from graveler_core.model.names import path_key
from graveler_core.model.protection import BranchAction
from graveler_core.objects.uploads import Uploads, prefix
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.stores import Stores
from graveler_core.telemetry.events import tell_damaged

MAX_PARTS = 10_000
ETAG = "etag:"
"""Beginning of the checksum of a part that was stored at a signed URL."""


def begin(  # noqa: PLR0913, PLR0917 - the branch and the later entry
    stores: Stores,
    repo: RepositoryId,
    branch: BranchId,
    path: str,
    content_type: str | None,
    metadata: Mapping[str, str],
) -> str:
    """Begin an upload for a path of a branch. Return its id."""
    path_key(path)
    registers = fresh(stores, repo, branch)
    require_permitted(registers, BranchAction.WRITE)
    target = UploadTarget(branch=branch, path=path, content_type=content_type, metadata=dict(metadata))
    return _uploads(stores, registers.repository).begin(target)


def store_part(  # noqa: PLR0913, PLR0917 - the upload, and the part
    stores: Stores,
    repo: RepositoryId,
    branch: BranchId,
    path: str,
    id: str,
    number: int,
    content: Content,
) -> UploadedPart:
    """Store a part. A former part with this number is replaced.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        branch: The branch.
        path: Path of the upload.
        id: Id of the upload.
        number: Number of the part.
        content: Content of the part.

    Raises:
        NotFound: (`UploadNotFound`) There is no such upload for the path. Nothing is kept of the part.
        InvalidInput: The number is not from 1 to 10,000.
    """
    _require_number(number)
    uploads = _uploads(stores, fresh(stores, repo, branch).repository)
    _target(uploads, branch, path, id)
    stored = upload(uploads.blobs, f"{prefix(id)}{stores.ids.fresh()}", content)
    record = UploadPart(
        address=stored.address,
        size=stored.size,
        checksum=stored.checksum,
        creation_date=stores.clock.now(),
    )
    where = keys.upload_part(uploads.repository, id, number)
    access.write(stores.kv, where, record)
    try:
        _target(uploads, branch, path, id)
    except NotFound:
        uploads.blobs.delete(stored.address)
        uploads.forget_parts(id)
        raise
    return UploadedPart(number, record.size, record.checksum, record.creation_date)


def signed_parts(  # noqa: PLR0913, PLR0917 - the upload, the parts, and the time
    stores: Stores, repo: RepositoryId, branch: BranchId, path: str, id: str, numbers: Sequence[int], expires: int
) -> list[str]:
    """Return for each number a signed URL that takes the content of a part with PUT for `expires` seconds.

    Raises:
        NotFound: (`UploadNotFound`) There is no such upload for the path.
        InvalidInput: A number is not from 1 to 10,000, or the store does not sign URLs.
    """
    for number in numbers:
        _require_number(number)
    uploads = _uploads(stores, fresh(stores, repo, branch).repository)
    _target(uploads, branch, path, id)
    return [uploads.blobs.presigned(_signed_address(id, number), expires, upload=True) for number in numbers]


def parts(stores: Stores, repo: RepositoryId, branch: BranchId, path: str, id: str) -> list[UploadedPart]:
    """Return the parts of an upload in the order of their numbers.

    Raises:
        NotFound: (`UploadNotFound`) There is no such upload for the path, or it has ended meanwhile.
    """
    uploads = _uploads(stores, fresh(stores, repo, branch).repository)
    found = sorted(uploads.parts(id).items()) if uploads.is_id(id) else []
    _target(uploads, branch, path, id)  # last, so that no part was missing because the upload had ended
    return [UploadedPart(number, part.size, part.checksum, part.creation_date) for number, part in found]


def assemble(  # noqa: PLR0913, PLR0917 - the upload and its parts
    stores: Stores, repo: RepositoryId, branch: BranchId, path: str, id: str, numbers: Sequence[tuple[int, str]]
) -> Entry:
    """Store the content of parts as one object. Return its entry, which is not staged.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        branch: The branch.
        path: Path of the upload.
        id: Id of the upload.
        numbers: Numbers of the parts in their order, with the checksums that the parts must have: `etag:` and the ETag
            without quotes for a part that was stored at a signed URL.

    Raises:
        NotFound: (`UploadNotFound`) There is no such upload for the path, or it has ended meanwhile.
        SlowDown: Another process has assembled the upload meanwhile.
        InvalidInput: (`PartMismatch`) A part does not exist, has another checksum, or was stored again at its signed
            URL meanwhile; or the numbers do not ascend.
    """
    uploads = _uploads(stores, fresh(stores, repo, branch).repository)
    held, target = _found(uploads, branch, path, id)
    stored = _joined(stores, uploads, target, id, numbers)
    if not uploads.renew(id, held):
        uploads.blobs.delete(stored.address)
        _target(uploads, branch, path, id)
        raise SlowDown(
            f"upload {id}: another request has completed it meanwhile, or does so now; try again",
            kind=Kind.RetriesExhausted,
        )
    return Entry(
        address=stored.address,
        address_type=AddressType.RELATIVE,
        size=stored.size,
        checksum=stored.checksum,
        content_type=target.content_type,
        metadata=target.metadata,
        mtime=stores.clock.now(),
        path=path,
    )


def _joined(
    stores: Stores, uploads: Uploads, target: UploadTarget, id: str, numbers: Sequence[tuple[int, str]]
) -> UploadedContent:
    """Store the content of parts as one object. Raise as `assemble` does."""
    if not numbers or any(a >= b for (a, _), (b, _) in pairwise(numbers)):
        raise InvalidInput("parts: must be at least one, in ascending order, each once", kind=Kind.PartMismatch)
    there = uploads.parts(id)
    named = [number for number, checksum in numbers if checksum.startswith(ETAG)]
    signed = _signed_parts(stores, uploads.blobs, id, named)
    there |= signed
    chosen = []
    for number, checksum in numbers:
        part = there.get(number)
        if part is None or part.checksum != checksum:
            _target(uploads, target.branch, target.path, id)  # the upload may have ended meanwhile
            raise InvalidInput(f"part {number}: was not uploaded with this checksum", kind=Kind.PartMismatch)
        chosen.append(part)
    try:
        stored = upload(uploads.blobs, f"data/{stores.ids.fresh()}", Content(_content(uploads.blobs, chosen)))
    except NotFound:
        raise _missing(id, target.path) from None
    now = _signed_parts(stores, uploads.blobs, id, named)
    if changed := [number for number in named if now.get(number) != signed.get(number)]:
        _target(uploads, target.branch, target.path, id)
        raise InvalidInput(f"part {changed[0]}: was stored again while it was read", kind=Kind.PartMismatch)
    return stored


def end(stores: Stores, repo: RepositoryId, branch: BranchId, path: str, id: str) -> None:
    """End an upload, and delete its parts.

    Raises:
        NotFound: (`UploadNotFound`) There is no such upload for the path.
    """
    uploads = _uploads(stores, fresh(stores, repo, branch).repository)
    _target(uploads, branch, path, id)
    uploads.give_up([id])


def standing(stores: Stores, repository: RepositoryRecord) -> Iterator[MultipartUpload]:
    """Yield the multipart uploads that have not ended, in no order. A record that cannot be read is logged and
    left out."""
    for id, held in _uploads(stores, repository).standing(damaged=tell_damaged):
        target = held.value.target
        if held.value.state is UploadState.UPLOADING and target is not None:
            yield MultipartUpload(id, target.branch, target.path, held.value.since)


def _signed_parts(stores: Stores, blobs: Blobs, id: str, numbers: Sequence[int]) -> dict[int, UploadPart]:
    """Return the parts with these numbers that were stored at signed URLs. Others are left out."""
    found = stores.executor.map(lambda number: blobs.head(_signed_address(id, number)), list(numbers))
    return {
        number: UploadPart(
            address=info.address, size=info.size, checksum=ETAG + (info.etag or "").strip('"'), creation_date=info.mtime
        )
        for number, info in zip(numbers, found, strict=True)
        if info is not None
    }


def _signed_address(id: str, number: int) -> str:
    return f"{prefix(id)}part-{number}"


def _require_number(number: int) -> None:
    if not 1 <= number <= MAX_PARTS:
        raise InvalidInput(f"part number {number}: must be from 1 to {MAX_PARTS:,}")


def _uploads(stores: Stores, repository: RepositoryRecord) -> Uploads:
    blobs = stores.blobs.at(repository.storage_namespace)
    return Uploads(stores.kv, blobs, repository, stores.clock, stores.ids)


def _target(uploads: Uploads, branch: BranchId, path: str, id: str) -> UploadTarget:
    return _found(uploads, branch, path, id)[1]


def _found(uploads: Uploads, branch: BranchId, path: str, id: str) -> tuple[Held[Upload], UploadTarget]:
    """Return the record of an upload that has not ended, and its target."""
    held = uploads.find(id) if uploads.is_id(id) else None
    target = None if held is None or held.value.state is not UploadState.UPLOADING else held.value.target
    if held is None or target is None or (target.branch, target.path) != (branch, path):
        raise _missing(id, path)
    return held, target


def _content(blobs: Blobs, chosen: Sequence[UploadPart]) -> Iterator[bytes]:
    for part in chosen:
        for start in range(0, part.size, PART_BYTES):
            yield blobs.read_range(part.address, start, min(PART_BYTES, part.size - start))


def _missing(id: str, path: str) -> NotFound:
    return NotFound(
        f"upload {id[:64]!r}: does not exist for the path {path!r}, or has ended", kind=Kind.UploadNotFound, upload=id
    )
