"""An export that was read and checked once: counts, references, order of the commits, and a digest of all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from tempfile import TemporaryFile
from typing import Any, Final, TypeVar

from google.protobuf.message import DecodeError

from graveler_core.blobs.port import BlobStores
from graveler_core.codec.content_hash import HASH
from graveler_core.errors import InvalidInput, NotFound
from graveler_core.model.ids import BranchId
from graveler_core.transfer.broken_values import BrokenValueError
from graveler_core.transfer.files import TemporaryDump
from graveler_core.transfer.nessie.commits import ExportedCommits
from graveler_core.transfer.nessie.files import ExportFiles, broken_export, delimited, open_files, whole
from graveler_core.transfer.nessie.messages import (
    BRANCH,
    DESCRIPTION_FILE,
    EMPTY_ID,
    HEADS_FILE,
    HEADS_PREFIX,
    META_FILE,
    TAG,
    TAGS_PREFIX,
    DescriptionMessage,
    HeadsMessage,
    MetaMessage,
    NamedReferenceMessage,
    RefMessage,
)
from graveler_core.transfer.nessie.names import local_names

OWN: Final = "graveler"
"""Version of Nessie that graveler states in its exports."""
VERSIONS = (1, 2, 3)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class NessieExport:
    """Export of a repository of Nessie, or of graveler in the same format."""

    uri: str
    version: int
    own: bool
    """True if graveler has written it."""
    digest: str
    """Identifies its content, 64 hexadecimal digits."""
    created: datetime
    default_branch: str
    properties: Mapping[str, str]
    branches: Mapping[str, str]
    """Id in Nessie of the commit of each branch, by the name in Nessie."""
    tags: Mapping[str, str]
    branch_names: Mapping[str, str]
    """Name in graveler of each branch, by the name in Nessie."""
    tag_names: Mapping[str, str]
    objects: int
    """Number of other objects in the export."""
    commits: ExportedCommits
    order: tuple[str, ...]
    """Ids of the commits, parents before children."""

    def broken(self, why: object) -> Exception:
        """Return the error for a part of the export that is damaged or cannot be imported."""
        return broken_export(self.uri, str(why))

    def default(self, wanted: str | None) -> BranchId:
        """Return the name in graveler of the default branch.

        Raises:
            InvalidInput: There is no such branch.
        """
        name = self.default_branch if wanted is None else wanted
        if name not in self.branch_names:
            named = ", ".join(sorted(self.branch_names)) or "none"
            raise InvalidInput(f"default branch: the export has no branch {name!r}; name one of these: {named}")
        return BranchId(self.branch_names[name])


@contextmanager
def open_export(blobs: BlobStores, uri: str) -> Iterator[NessieExport]:
    """Read and check an export. Its commits can be read until the `with` statement ends.

    Args:
        blobs: Object stores.
        uri: URI of a ZIP archive, or of a directory.

    Raises:
        InvalidInput: The URI or a name in the export is invalid.
        NotFound: There is no export.
        CorruptData: The export is damaged or incomplete (`CorruptDump`).
        Unavailable: The temporary files cannot be written.
    """
    with TemporaryFile(buffering=0) as spool:
        with open_files(blobs, uri) as files:
            try:
                export = _Reading(files).export(TemporaryDump(spool))
            except BrokenValueError as e:
                raise broken_export(uri, str(e)) from e
        yield export


class _Reading:
    """Export that is being read."""

    def __init__(self, files: ExportFiles) -> None:
        self.files = files
        self.hash = HASH()
        try:
            self.meta = self._message(MetaMessage, b"".join(files.chunks(META_FILE)))
        except NotFound as e:
            raise broken_export(files.uri, f"has no file {META_FILE}") from e
        if self.meta.version not in VERSIONS:
            raise BrokenValueError(f"version {self.meta.version} is unknown; only 1, 2 and 3 can be read")

    def export(self, spool: TemporaryDump) -> NessieExport:
        """Read everything."""
        meta, described = self.meta, self._description()
        created = _time(described.created_millis or meta.created_millis)
        commits = ExportedCommits(spool, meta.version, created)
        for name in meta.commit_files:
            for data in delimited(self.files, name):
                commits.add(self._hashed(b"commit", data))
        self._counted("commits", len(commits.parents), meta.commits)
        branches, tags = self._references()
        pointers = {*branches.values(), *tags.values()}
        commits.needs_first |= EMPTY_ID in pointers
        for id in (*pointers, *self._heads()):
            if not commits.has(id) and id != EMPTY_ID:
                raise BrokenValueError(f"commit {id} is named, but it is missing")
        return NessieExport(
            self.files.uri,
            meta.version,
            meta.nessie_version.startswith(OWN),
            self.hash.hexdigest()[:64],
            created,
            described.default_branch or "main",
            dict(described.properties),
            branches,
            tags,
            local_names("branch", branches),
            local_names("tag", tags),
            meta.objects,
            commits,
            tuple(commits.order()),
        )

    def _description(self) -> Any:
        """Return the description of the repository. Version 1 may lack it."""
        try:
            data = b"".join(self.files.chunks(DESCRIPTION_FILE))
        except NotFound:
            data = b""
        return self._message(DescriptionMessage, self._hashed(b"description", data))

    def _heads(self) -> list[str]:
        found = self._message(HeadsMessage, whole(self.files, HEADS_FILE))
        return [id.hex() for id in (*found.heads, *found.fork_points)]

    def _references(self) -> tuple[dict[str, str], dict[str, str]]:
        kinds: tuple[dict[str, str], dict[str, str]] = {}, {}
        count = 0
        convert: Callable[[bytes], tuple[int, str, bytes]] = self._first if self.meta.version == 1 else self._later
        for file in self.meta.reference_files:
            for data in delimited(self.files, file):
                kind, name, pointer = convert(self._hashed(b"reference", data))
                if name in kinds[kind]:
                    raise BrokenValueError(f"reference {name!r} is duplicated")
                kinds[kind][name] = pointer.hex() or EMPTY_ID
                count += 1
        self._counted("references", count, self.meta.references)
        return kinds

    def _first(self, data: bytes) -> tuple[int, str, bytes]:
        said = self._message(NamedReferenceMessage, data)
        if said.kind not in (BRANCH, TAG):
            raise BrokenValueError(f"reference {said.name!r} has the unknown kind {said.kind}")
        return said.kind, said.name, said.pointer

    def _later(self, data: bytes) -> tuple[int, str, bytes]:
        said = self._message(RefMessage, data)
        for kind, prefix in ((BRANCH, HEADS_PREFIX), (TAG, TAGS_PREFIX)):
            if said.name.startswith(prefix):
                return kind, said.name.removeprefix(prefix), said.pointer
        raise BrokenValueError(f"reference {said.name!r} is neither a branch nor a tag")

    def _counted(self, what: str, found: int, expected: int) -> None:
        if found != expected:
            raise BrokenValueError(f"has {found:,} {what}, but states {expected:,}: a file is incomplete")

    def _hashed(self, kind: bytes, data: bytes) -> bytes:
        self.hash.update(b"%s %d " % (kind, len(data)) + data)
        return data

    def _message(self, of: Any, data: bytes) -> Any:
        try:
            return of.FromString(data)
        except DecodeError as e:
            raise BrokenValueError(f"a message is not readable ({e})") from e


def _time(millis: int) -> datetime:
    try:
        return _EPOCH + timedelta(milliseconds=millis)
    except OverflowError as e:
        raise BrokenValueError(f"its time {millis} ms is outside the years 1 to 9999") from e
