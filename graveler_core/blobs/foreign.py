"""Objects that graveler does not own, in object stores and local directories: sources of imports.

A key is any key of the store, except keys that would name another object: with empty names, `.` or `..`. The rules for
graveler's own addresses (`blobs.addresses`) are stricter. Symbolic links below the location are not followed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile

import obstore
import pyarrow as pa
from obstore.exceptions import InvalidPathError

from graveler_core.blobs.failures import Verb, translating, unsigned
from graveler_core.blobs.local_listing import listed
from graveler_core.blobs.local_paths import file_chunks, file_info, opened_file, pread
from graveler_core.blobs.port import CHUNK_BYTES, LISTED, RANGE_BYTES, BlobInfo, Data, starts_at_any_key
from graveler_core.blobs.remote import RemoteStore, chunks, presigned, read_range
from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.address import Namespace

PAGE = 1000
"""Number of objects in a page, the maximum of one S3 request."""
_NAMED = re.compile(r'"((?:[^"\\]|\\.)*)"')


class ForeignRemote:
    """Foreign objects in a bucket, through obstore."""

    def __init__(self, store: RemoteStore, place: Namespace) -> None:
        self._store = store
        self._place = place
        self._root = place.path + "/" if place.path else ""

    def __repr__(self) -> str:
        return f"ForeignRemote({self._place.uri!r})"

    def pages(self, after: str = "", through: str | None = None) -> Iterator[pa.Table]:
        """Yield pages as the port specifies.

        Raises:
            InvalidInput: obstore cannot represent a key; the message contains the key.
        """
        for page in self._listed(after):
            yield _table([info for info in page if info.address > after and not _beyond(info.address, through)])
            if page and _beyond(page[-1].address, through):
                return

    def split_points(self, most: int) -> list[str]:
        """Return split points as the port specifies.

        They are the directories of the first level that has several. If there are few, they also include the
        directories one level below. Other stores than S3, GCS and memory have no split points, because they cannot
        start a listing at any key. Takes at most one request for each directory.
        """
        if not starts_at_any_key(self._place):
            return []
        level, found = "", self._directories("", most)
        while len(found) == 1 and found[0] != level:
            level, found = found[0], self._directories(found[0], most)
        if 1 < len(found) <= most // 4:
            inner = [self._directories(directory, most // len(found) - 1) for directory in found]
            found = sorted([*found, *(cut for cuts in inner for cut in cuts)])
        return found if len(found) > 1 else []

    def _directories(self, above: str, most: int) -> list[str]:
        """Return the first directories directly below a directory, skipping from key to key. At most `most` files and
        directories are looked at. A key in the last listed page needs no request.
        """
        found: list[str] = []
        page: list[BlobInfo] = []
        after = above
        for _ in range(most):
            key = _first(page, after)
            if key is None:
                page = next((page for page in self._listed(after) if _first(page, after) is not None), [])
                key = _first(page, after)
            if key is None or not key.startswith(above):
                break
            name, slash, _ = key[len(above) :].partition("/")
            if slash:
                found.append(f"{above}{name}/")
            # The character 0 sorts after the slash, so this is past everything in the directory.
            after = f"{above}{name}0" if slash else key
        return found

    def _listed(self, after: str) -> Iterator[list[BlobInfo]]:
        """Yield pages of the objects after a key, or from shortly before it."""
        skip = len(self._root)
        offset = self._root + after if after else None
        with translating(Verb.LIST, self._place.uri):
            try:
                for page in obstore.list(self._store, self._place.path or None, offset=offset, chunk_size=PAGE):
                    # The marker object of the location itself is listed without the slash.
                    yield [
                        BlobInfo(meta["path"][skip:], meta["size"], _unquoted(meta["e_tag"]), meta["last_modified"])
                        for meta in page
                        if len(meta["path"]) > skip
                    ]
            except InvalidPathError as e:
                raise _nameless(self._place, str(e)) from None

    def head(self, key: str) -> BlobInfo | None:
        uri = object_uri(self._place, key)
        with translating(Verb.READ, uri):
            try:
                meta = obstore.head(self._store, self._root + key)
            except FileNotFoundError:
                return None
        return BlobInfo(key, meta["size"], _unquoted(meta["e_tag"]), meta["last_modified"])

    def read(self, key: str) -> bytes:
        uri = object_uri(self._place, key)
        with translating(Verb.READ, uri):
            return obstore.get(self._store, self._root + key).bytes().to_bytes()

    def chunks(self, key: str) -> Iterator[Data]:
        return chunks(self._store, self._root + key, object_uri(self._place, key))

    def read_range(self, key: str, start: int, length: int) -> bytes:
        uri = object_uri(self._place, key)
        return read_range(self._store, self._root + key, start, length, uri) if length else b""

    @property
    def range_bytes(self) -> int:
        return RANGE_BYTES

    def presigned(self, key: str, seconds: int) -> str:
        return presigned(self._store, self._root + key, seconds, object_uri(self._place, key))


class ForeignFiles:
    """Foreign objects in a local directory: regular files. Links and other kinds are skipped.

    The ETag consists of inode, size and modification time, which change when a file is written.
    """

    def __init__(self, place: Namespace) -> None:
        self._place = place
        self._root = "/" + place.path

    def __repr__(self) -> str:
        return f"ForeignFiles({self._place.uri!r})"

    def pages(self, after: str = "", through: str | None = None) -> Iterator[pa.Table]:
        if os.path.isfile(self._root):
            return  # a file has no objects below it
        with translating(Verb.LIST, self._place.uri):
            found = takewhile(
                lambda info: not _beyond(info.address, through), listed(self._root, after=after, odd=True)
            )
            while page := [_written(info) for info in islice(found, PAGE)]:
                yield _table(page)

    def split_points(self, most: int) -> list[str]:
        """Return no split points, because concurrent listings of a disk are not faster."""
        return []

    def head(self, key: str) -> BlobInfo | None:
        with translating(Verb.READ, object_uri(self._place, key)):
            try:
                with opened_file(self._root, key) as fd:
                    return _written(file_info(key, os.fstat(fd)))
            except FileNotFoundError:
                return None

    def read(self, key: str) -> bytes:
        with (
            translating(Verb.READ, object_uri(self._place, key)),
            opened_file(self._root, key) as fd,
            os.fdopen(os.dup(fd), "rb") as file,
        ):
            return file.read()

    def chunks(self, key: str) -> Iterator[Data]:
        with translating(Verb.READ, object_uri(self._place, key)), opened_file(self._root, key) as fd:
            yield from file_chunks(fd)

    def read_range(self, key: str, start: int, length: int) -> bytes:
        with translating(Verb.READ, object_uri(self._place, key)), opened_file(self._root, key) as fd:
            return pread(fd, start, length)

    @property
    def range_bytes(self) -> int:
        return CHUNK_BYTES

    def presigned(self, key: str, seconds: int) -> str:
        raise unsigned(object_uri(self._place, key))


def object_uri(place: Namespace, key: str) -> str:
    """Return the URI of the object at a key.

    Raises:
        InvalidInput: The key would name another object.
    """
    if "\0" in key or any(segment in ("", ".", "..") for segment in key.split("/")):
        raise InvalidInput(
            f"key {key!r} below {place.uri}: must not contain NUL or empty, '.' or '..' segments",
            kind=Kind.InvalidPath,
            key=key,
        )
    path = f"{place.path}/{key}" if place.path else key
    return Namespace(place.scheme, place.bucket, path).uri


def _first(page: Sequence[BlobInfo], after: str) -> str | None:
    """Return the first key of a page that is greater than another key, or `None`."""
    return next((info.address for info in page if info.address > after), None)


def _beyond(key: str, through: str | None) -> bool:
    return through is not None and key > through


def _table(found: Sequence[BlobInfo]) -> pa.Table:
    columns = [
        pa.array([os.fsencode(info.address) for info in found], pa.binary()),
        pa.array([info.size for info in found], pa.int64()),
        pa.array([info.etag for info in found], pa.string()),
        pa.array([info.mtime for info in found], LISTED.field("mtime").type),
    ]
    return pa.Table.from_arrays(columns, schema=LISTED)


def _written(info: BlobInfo) -> BlobInfo:
    microseconds = int(info.mtime.timestamp() * 1_000_000)
    return BlobInfo(info.address, info.size, f"{info.etag}-{microseconds:x}", info.mtime)


def _unquoted(etag: str | None) -> str | None:
    """Return an ETag without the quotes that some responses have."""
    return None if etag is None else etag.replace('"', "")


def _nameless(place: Namespace, error: str) -> InvalidInput:
    named = _NAMED.search(error)
    key = named[1] if named else ""
    return InvalidInput(
        f"cannot list {place.uri}: it holds the key {key!r}, and no key with empty, '.' or '..' segments or control "
        "characters can be listed or read; list elsewhere, or import from an inventory",
        kind=Kind.InvalidPath,
        key=key,
        uri=place.uri,
    )
