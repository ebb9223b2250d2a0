"""The objects of others, in object stores and in local directories: what is imported is listed and read here.

A key here is any key of the store, but for what would name another object than it says: empty names, `.` and `..`. The
rules for addresses of our own (`blobs.addresses`) are narrower. No symbolic link is followed below the place.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile

import obstore
import pyarrow as pa
from obstore.exceptions import InvalidPathError
from obstore.store import AzureStore, GCSStore, MemoryStore, S3Store

from graveler_core.blobs.failures import Verb, translating
from graveler_core.blobs.local_listing import listed
from graveler_core.blobs.local_paths import file_info, opened_file
from graveler_core.blobs.port import LISTED, BlobInfo
from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.address import Namespace

PAGE = 1000
"""Objects in a page: what S3 gives to one request at most."""
UNORDERED = "--x-s3"
"""How the names of S3's directory buckets end, which are listed in no order."""
_LEAPING = {"s3", "gs", "memory"}
"""Stores that begin a listing at any key at no cost. Others list from the beginning and throw away."""
_NAMED = re.compile(r'"((?:[^"\\]|\\.)*)"')


class ForeignRemote:
    """`Foreign` over the obstore store of a whole bucket."""

    def __init__(self, store: S3Store | GCSStore | AzureStore | MemoryStore, place: Namespace) -> None:
        self._store = store
        self._place = place
        self._root = place.path + "/" if place.path else ""

    def __repr__(self) -> str:
        return f"ForeignRemote({self._place.uri!r})"

    def pages(self, after: str = "", through: str | None = None) -> Iterator[pa.Table]:
        """As the port says. A key that obstore has no name for ends the listing: `InvalidInput` with the key."""
        for page in self._listed(after):
            yield _table([info for info in page if info.address > after and not _beyond(info.address, through)])
            if page and _beyond(page[-1].address, through):
                return

    def cuts(self, most: int) -> list[str]:
        """As the port says: the directories of the first level that has several, and those below them if they are few.

        For stores that begin a listing anywhere (S3, GCS, memory). Found by leaping: one request a directory.
        """
        if self._place.scheme not in _LEAPING or self._place.bucket.endswith(UNORDERED):
            return []
        level, found = "", self._directories("", most)
        while len(found) == 1 and found[0] != level:
            level, found = found[0], self._directories(found[0], most)
        if 1 < len(found) <= most // 4:
            inner = [self._directories(directory, most // len(found) - 1) for directory in found]
            found = sorted([*found, *(cut for cuts in inner for cut in cuts)])
        return found if len(found) > 1 else []

    def _directories(self, above: str, most: int) -> list[str]:
        """The first directories right below one, from one key to the next; few of many files are looked at."""
        found: list[str] = []
        after = above
        for _ in range(most):
            key = next((info.address for page in self._listed(after) for info in page if info.address > after), None)
            if key is None or not key.startswith(above):
                break
            name, slash, _ = key[len(above) :].partition("/")
            if slash:
                found.append(f"{above}{name}/")
            # A zero sorts behind the slash: past everything in the directory.
            after = f"{above}{name}0" if slash else key
        return found

    def _listed(self, after: str) -> Iterator[list[BlobInfo]]:
        """Pages of what lies behind a key, or a little before it on."""
        skip = len(self._root)
        offset = self._root + after if after else None
        with translating(Verb.LIST, self._place.uri):
            try:
                for page in obstore.list(self._store, self._place.path or None, offset=offset, chunk_size=PAGE):
                    # What marks the place itself as a directory bears its name without the slash.
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


class ForeignFiles:
    """`Foreign` over a local directory: regular files; links and the rest are passed over.

    The etag is made of what changes when a file is written: its inode, size and modification time.
    """

    def __init__(self, place: Namespace) -> None:
        self._place = place
        self._root = "/" + place.path

    def __repr__(self) -> str:
        return f"ForeignFiles({self._place.uri!r})"

    def pages(self, after: str = "", through: str | None = None) -> Iterator[pa.Table]:
        if os.path.isfile(self._root):
            return  # nothing lies below a file
        with translating(Verb.LIST, self._place.uri):
            found = takewhile(
                lambda info: not _beyond(info.address, through), listed(self._root, after=after, odd=True)
            )
            while page := [_written(info) for info in islice(found, PAGE)]:
                yield _table(page)

    def cuts(self, most: int) -> list[str]:
        """None: a disk lists no faster in parts."""
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


def object_uri(place: Namespace, key: str) -> str:
    """The URI of the object at a key; `InvalidInput` where it would name another object."""
    if "\0" in key or any(segment in ("", ".", "..") for segment in key.split("/")):
        raise InvalidInput(
            f"key {key!r} below {place.uri}: must not contain NUL or empty, '.' or '..' segments",
            kind=Kind.InvalidPath,
            key=key,
        )
    path = f"{place.path}/{key}" if place.path else key
    return Namespace(place.scheme, place.bucket, path).uri


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
    """The etag without the quotes that some answers have and others have not."""
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
