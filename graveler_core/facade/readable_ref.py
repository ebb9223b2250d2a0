"""Read operations that snapshots and branches share. Every method only delegates to `engine`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Literal, overload

from graveler_core.engine.reading import listing, snapshot, usage
from graveler_core.engine.reading.content import StoredContent
from graveler_core.engine.reading.listing import PAGE_ROWS, Beginning, ItemReader, PageSource, Window
from graveler_core.errors import InvalidInput, Kind, NotFound
from graveler_core.facade.content_file import ContentFile
from graveler_core.facade.listing import Listing, number
from graveler_core.facade.scan import Scan
from graveler_core.guard import needs
from graveler_core.guard.operation import operation
from graveler_core.guard.scope import Scope
from graveler_core.model.bounds import Bounds
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.entry import CommonPrefix, Entry
from graveler_core.model.names import path_key, prefix_key
from graveler_core.model.permission import Action
from graveler_core.model.scan import EntryScanPlan, Pinned, scanned_keys
from graveler_core.model.usage import Usage
from graveler_core.stores import Stores
from graveler_core.telemetry import FlowTarget

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as ds

ARROW_PAGE_ROWS: Final = 65_536
"""Number of entries that operations on columns read at once."""
MAX_PRESIGNED_SECONDS: Final = 604_800
"""Longest validity of a presigned URL that S3 accepts."""


def require_seconds(expires: int) -> None:
    """Check the number of seconds for which a presigned URL is valid.

    Raises:
        InvalidInput: It is not a whole number from 1 to 604,800.
    """
    if not isinstance(expires, int) or not 1 <= expires <= MAX_PRESIGNED_SECONDS:
        raise InvalidInput(f"expires {expires!r}: must be a whole number of seconds from 1 to 604,800")


class ReadableRef(ABC):
    """Entries of a repository, read through a ref. Base class of `Snapshot` and `Branch`."""

    def __init__(self, stores: Stores, record: RepositoryRecord, scope: Scope) -> None:
        self._stores = stores
        self._record = record
        self._scope = scope
        self._flow_target: FlowTarget = (scope.repository, scope.branch)
        self._origin: str = scope.branch  # commit or branch that contains the entries

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._record.id!r}, {self._scope.ref!r})"

    @operation("get", needs.path(Action.READ_OBJECT))
    def get(self, path: str) -> Entry:
        """Return the entry at a path. A branch includes what is staged on it.

        Args:
            path: Path of the entry.

        Returns:
            The entry, with its path.

        Raises:
            NotFound: (`PathNotFound`) there is no entry at the path.
            InvalidInput: (`InvalidPath`) the path is not valid.
        """
        return self._get(path)

    @operation("read", needs.path(Action.READ_OBJECT))
    def read(self, path: str, offset: int = 0, length: int | None = None, *, verify: bool = True) -> bytes:
        """Return the content at a path, or a range of it. A branch includes what is staged on it.

        Args:
            path: Path of the entry.
            offset: Number of bytes to skip.
            length: Maximum number of bytes. `None` means all that follow the offset.
            verify: Compare whole content with the length and the checksum of the entry. For a range, the length is
            always compared.

        Returns:
            The bytes.

        Raises:
            NotFound: (`PathNotFound`) there is no entry at the path; (`ObjectNotFound`) the object that the entry
                names does not exist.
            CorruptData: the object is not the one that was stored.
            InvalidInput: (`InvalidPath`) the path is not valid; or a number is negative.
        """
        stored = self._content(path)
        if offset == 0 and length is None:
            return stored.read(verify=verify)
        return stored.read_range(offset, max(0, stored.entry.size - offset) if length is None else length)

    @operation("open", needs.path(Action.READ_OBJECT))
    def open(self, path: str) -> ContentFile:
        """Open the content at a path as a binary file that is read in ranges. A branch includes what is staged on it.

        The file shows the content of this moment, even if the branch changes later. Only the ranges that are read are
        transferred, so their checksum is not compared.

        Args:
            path: Path of the entry.

        Returns:
            A file that can be read and sought. Wrap it in `io.BufferedReader` for many small reads.

        Raises:
            NotFound: (`PathNotFound`) there is no entry at the path.
            InvalidInput: (`InvalidPath`) the path is not valid.
        """
        return ContentFile(self._content(path))

    @operation("download", needs.path(Action.READ_OBJECT))
    def download(self, path: str, file: BinaryIO, *, verify: bool = True) -> Entry:
        """Write the content at a path to a binary file, in bounded memory. A branch includes what is staged on it.

        Args:
            path: Path of the entry.
            file: File to write to.
            verify: Compare the content with the length and the checksum of the entry.

        Returns:
            The entry.

        Raises:
            NotFound: (`PathNotFound`) there is no entry at the path; (`ObjectNotFound`) the object that the entry
                names does not exist.
            CorruptData: the object is not the one that was stored. The file may hold a part of it.
            InvalidInput: (`InvalidPath`) the path is not valid.
        """
        stored = self._content(path)
        for chunk in stored.chunks(verify=verify):
            file.write(chunk)
        return stored.entry

    @operation("uri", needs.path(Action.READ_OBJECT))
    def uri(self, path: str) -> str:
        """Return the URI of the object at a path, for engines that read object stores directly.

        The object never changes. A reader of the URI needs its own credentials for the object store, and bypasses the
        access control of graveler.

        Args:
            path: Path of the entry.

        Returns:
            URI such as "s3://bucket/lake/data/5f3a…".

        Raises:
            NotFound: (`PathNotFound`) there is no entry at the path.
            InvalidInput: the content is stored in the entry itself; (`InvalidPath`) the path is not valid.
        """
        return self._content(path).uri()

    @operation("presign", needs.path(Action.READ_OBJECT))
    def presign(self, path: str, expires: int = 3_600) -> str:
        """Return a URL with which anybody can read the object at a path for some time.

        Args:
            path: Path of the entry.
            expires: Seconds for which the URL is valid, 1 to 604,800 (7 days).

        Returns:
            A signed HTTPS URL.

        Raises:
            NotFound: (`PathNotFound`) there is no entry at the path.
            InvalidInput: the store does not sign URLs (`file://` and `memory://`); the content is stored in the entry
                itself; the number of seconds or the path is not valid.
        """
        require_seconds(expires)
        return self._content(path).presigned(expires)

    @overload
    def list(
        self,
        /,
        prefix: str = "",
        after: str = "",
        delimiter: Literal[""] = "",
        limit: int | None = None,
        *,
        start: str = "",
        end: str | None = None,
    ) -> Listing[Entry]: ...
    @overload
    def list(
        self,
        /,
        prefix: str = "",
        after: str = "",
        delimiter: str = "",
        limit: int | None = None,
        *,
        start: str = "",
        end: str | None = None,
    ) -> Listing[Entry | CommonPrefix]: ...
    @operation("list", needs.prefix(*needs.SHOWN))
    def list(  # noqa: PLR0913 - one call, all of it optional
        self,
        prefix: str = "",
        after: str = "",
        delimiter: str = "",
        limit: int | None = None,
        *,
        start: str = "",
        end: str | None = None,
    ) -> Listing[Any]:
        """List entries in order of their paths as bytes, lazily. A branch includes what is staged on it.

        Args:
            prefix: Beginning of the paths to list.
            after: List only entries with a greater path, and groups that contain one. A group is not listed if this is
                its path.
            delimiter: Group paths that are equal up to the next delimiter after the prefix, and list each group as one
                `CommonPrefix`. Without a delimiter, list every entry.
            limit: Maximum number of items. `None` means all.
            start: List only paths that are not less than this (inclusive).
            end: List only paths that are less than this (exclusive). `None` means no end; an end that is not greater
                than `start` gives an empty listing. A group is listed if one of its paths is in between.

        Returns:
            A listing of entries and common prefixes. The token of an item is its path.

        Raises:
            InvalidInput: an argument is not valid.
        """
        prefix_key(delimiter)
        page = PAGE_ROWS if limit is None or delimiter else max(1, min(number("limit", limit, 0), PAGE_ROWS))
        window = Window(Bounds(prefix, after, start, end), delimiter, page)
        reader = ItemReader(self._source(), self._beginning(), window)
        return Listing(reader.read(), lambda item: item.path, limit, reader.version)

    @operation("usage", needs.prefix(*needs.SHOWN))
    def usage(self, prefix: str = "", depth: int = 1) -> Iterator[Usage]:
        """Count the entries below each directory and sum their sizes, lazily. A branch includes what is staged on it.

        Entries are measured, not objects: content that two entries name counts twice. If the branch changes during the
        call, the numbers may be those of several states.

        Args:
            prefix: Beginning of the paths to measure.
            depth: Number of levels of directories below the prefix to show. Deeper ones are only part of the
                directories that contain them. 0 shows only the total.

        Returns:
            An iterator over the directories, in order of their paths, but each after those that it contains. The last
            item is the total: its path is the prefix.

        Raises:
            InvalidInput: an argument is not valid.
        """
        beginning, levels = prefix_key(prefix), number("depth", depth, 0)
        pages = listing.tables(self._source(), Window(Bounds(prefix), page=ARROW_PAGE_ROWS))
        return usage.by_directory(pages, beginning, levels)

    @operation("open a dataset", needs.prefix(*needs.SHOWN))
    def dataset(
        self, prefix: str = "", format: str = "parquet", *, partitioning: Any = "hive", schema: pa.Schema | None = None
    ) -> ds.Dataset:
        """Open the entries below a prefix as an Arrow dataset. A branch includes what is staged on it.

        The dataset shows the content of this moment, even if the branch changes later. Only the ranges that Arrow needs
        are transferred, so checksums are not compared. Entries with names that begin with `.` or `_`, or end in `/`,
        are left out.

        Args:
            prefix: Beginning of the paths, such as `flights/`.
            format: Format of the files, as for `pyarrow.dataset.dataset`: `parquet`, `csv`, `json`, `feather`, `orc`.
            partitioning: Partitioning of the directories below the prefix, as for `pyarrow.dataset.dataset`.
            schema: Schema of the dataset. `None` means that of the first file.

        Returns:
            The dataset. It holds all entries in memory.

        Raises:
            NotFound: (`PathNotFound`) there is no entry below the prefix.
            InvalidInput: (`InvalidPath`) the prefix is not valid.
        """
        from graveler_core.facade.entry_files import dataset_of

        prefix_key(prefix)
        repository = snapshot.readable(self._stores, self._record.id)
        found = listing.items(self._source(), Window(Bounds(prefix)))
        entries = (item for item in found if isinstance(item, Entry))
        files = (entry for entry in entries if not entry.path.endswith("/"))  # the others mark directories
        contents = (StoredContent(self._stores, repository, entry, self._origin) for entry in files)
        return dataset_of(contents, prefix, format, partitioning, schema)

    @operation("scan", needs.prefix(*needs.SHOWN))
    def scan(self, prefix: str = "", start: str = "", end: str | None = None) -> Scan:
        """Scan entries in partitions that other processes can read. A branch includes what is staged on it.

        The scan shows the state of this moment. For a branch with staged changes, a tree of this state is written,
        which costs about as much as a commit. A sweep deletes the tree after its grace period.

        Args:
            prefix: Beginning of the paths to scan.
            start: Scan only paths that are not less than this.
            end: Scan only paths that are less than this. `None` means no limit.

        Returns:
            The scan. Its rows are in `ENTRY_SCHEMA`.

        Raises:
            NotFound: the repository or the branch has been deleted.
            InvalidInput: an argument is not valid.
        """
        intervals = scanned_keys(prefix, start, end)
        repository = snapshot.readable(self._stores, self._record.id)
        return Scan(self._stores, EntryScanPlan(self._pin(repository), prefix, intervals), (self._scope,))

    def _content(self, path: str) -> StoredContent:
        repository = snapshot.readable(self._stores, self._record.id)
        return StoredContent(self._stores, repository, self._get(path), self._origin)

    def _get(self, path: str) -> Entry:
        path_key(path)
        found = self._find(path)
        if found is None:
            ref = self._scope.ref
            raise NotFound(f"path {path!r} does not exist at {ref!r}", kind=Kind.PathNotFound, path=path)
        return found

    @abstractmethod
    def _find(self, path: str) -> Entry | None:
        """Return the entry at a valid path, or `None`."""

    @abstractmethod
    def _pin(self, repository: RepositoryRecord) -> Pinned:
        """Return the current content as an immutable value."""

    @abstractmethod
    def _source(self) -> PageSource:
        """Return the function that reads pages of entries."""

    @abstractmethod
    def _beginning(self) -> Beginning:
        """Return the function that begins a listing of entries."""
