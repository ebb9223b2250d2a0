"""Content of an entry, verified against the length and the checksum of the entry."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from graveler_core.blobs.port import Blobs, Data, Foreign
from graveler_core.codec.checksums import sha256_digest
from graveler_core.engine.reading.expired import expired_error, expiries
from graveler_core.engine.reading.resolve import resolve
from graveler_core.errors import CorruptData, InvalidInput, NotFound
from graveler_core.model.address import parted
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.entry import AddressType, Entry
from graveler_core.refs import repositories
from graveler_core.refs.erased import require_not_erased
from graveler_core.stores import Stores

CHUNK_BYTES: Final = 8 << 20
"""Maximum number of bytes that `ranges` reads at once."""


class RunningDigest(Protocol):
    """Digest of the data so far, as those of `hashlib`."""

    def update(self, data: bytes, /) -> None:
        """Add data."""

    def hexdigest(self) -> str:
        """Return the digest of all data, in hexadecimal digits."""


@dataclass(frozen=True, slots=True)
class StoredContent:
    """Content of an entry of a repository. The entry is fixed, so the content never changes."""

    stores: Stores
    repository: RepositoryRecord
    entry: Entry
    ref: str
    """Commit, or branch, that contains the entry. If its content has expired, a missing object is no damage."""

    def read(self, *, verify: bool = True) -> bytes:
        """Return the whole content.

        Args:
            verify: Compare length and checksum with those of the entry. Only checksums `sha256:<64 hex digits>` are
            compared, which graveler computes for everything that it uploads.

        Raises:
            NotFound: The content was erased (`ContentErased`), the object is not in the object store
                (`ObjectNotFound`), or the content of the commit has expired, and nothing else names the object
                (`ContentExpired`).
            CorruptData: The content is not that of the entry, or the entry is inline and has no data, or no address.
        """
        digest = hashlib.sha256()
        seen = digest.update if verify and sha256_digest(self.entry.checksum) is not None else _unseen
        content = self._inline()
        if content is None:
            content = self._stored(lambda store, key: _joined(self._parts(store, key), seen))
            if verify and len(content) != self.entry.size:
                raise self._damaged(f"has {len(content)} bytes, must have {self.entry.size}")
        else:
            seen(content)
        if verify:
            self._verify_digest(digest.hexdigest())
        return content

    def chunks(
        self, *, verify: bool = True, digest: RunningDigest | None = None, most: int | None = None
    ) -> Iterator[bytes]:
        """Yield the whole content in ranges.

        Args:
            verify: As for `read`. The checksum is compared after the last range; without one, the length is compared
                before the last range is yielded.
            digest: Computes the SHA-256, for example in another thread. By default, `hashlib.sha256()`.
            most: As for `ranges`.

        Raises:
            NotFound: As for `read`.
            CorruptData: As for `read`. Ranges that were yielded before are not to be used.
        """
        if self._inline() is not None:
            yield self.read(verify=verify)
            return
        if not verify:
            yield from self.ranges(0, self.entry.size, most)
            return
        if sha256_digest(self.entry.checksum) is None:
            yield from self._of_equal_length(most)
            return
        digest = hashlib.sha256() if digest is None else digest
        for chunk in self.ranges(0, self.entry.size, most):
            digest.update(chunk)
            yield chunk
        self._verify_digest(digest.hexdigest())

    def ranges(self, start: int, end: int, most: int | None = None) -> Iterator[bytes]:
        """Yield the content between two positions in ranges, and compare no checksum.

        Args:
            start: First position.
            end: Position after the last one.
            most: Maximum length of a range. By default, the length suits the object store.

        Raises:
            GravelerError: As for `read_range`.
        """
        size = self._range_bytes(most)
        for position in range(start, end, size):
            yield self.read_range(position, min(size, end - position))

    def read_range(self, start: int, length: int) -> bytes:
        """Return at most `length` bytes from `start`: fewer if the content ends sooner.

        Raises:
            InvalidInput: A number is negative.
            NotFound: As for `read`.
            CorruptData: The object is shorter than the entry says, or as for `read`.
        """
        if start < 0 or length < 0:
            raise InvalidInput(f"range of {self.entry.path!r}: start {start}, length {length} must not be negative")
        inline = self._inline()
        if inline is not None:
            return inline[start : start + length]
        expected = max(0, min(length, self.entry.size - start))
        if not expected:
            return b""
        content = self._stored(lambda store, key: store.read_range(key, start, expected))
        if len(content) != expected:
            raise self._damaged(f"ends after {start + len(content)} bytes, must have {self.entry.size}")
        return content

    def uri(self) -> str:
        """Return the absolute URI of the object.

        Raises:
            InvalidInput: The entry is inline: it has no object.
        """
        if self.entry.address_type is AddressType.RELATIVE and self.entry.address is not None:
            return self.stores.blobs.at(self.repository.storage_namespace).uri(self.entry.address)
        if self._inline() is not None or self.entry.address is None:
            raise self._no_object()
        return self.entry.address

    def presigned(self, seconds: int) -> str:
        """Return a URL with which anybody can read the object for some time.

        Raises:
            InvalidInput: The store does not sign URLs, or the entry is inline.
            NotFound: The content was erased (`ContentErased`).
        """
        if self._inline() is not None:
            raise self._no_object()
        require_not_erased(self.stores.kv, self.repository, self.entry)
        store, key = self._located()
        return store.presigned(key, seconds)

    def _stored(self, read: Callable[[Blobs | Foreign, str], bytes]) -> bytes:
        store, key = self._located()
        try:
            return read(store, key)
        except NotFound as missing:
            require_not_erased(self.stores.kv, self.repository, self.entry)
            expired = _expiry(self.stores, self.repository, self.ref, self.entry.path)
            if expired is None:
                raise
            raise expired from missing

    def _parts(self, store: Blobs | Foreign, key: str) -> Iterator[Data]:
        """Yield the whole object. A large one is read in ranges, because the time of each request is limited."""
        size, step = self.entry.size, min(CHUNK_BYTES, store.range_bytes)
        return store.chunks(key) if size <= step else _to_the_end(store, key, size, step)

    def _of_equal_length(self, most: int | None) -> Iterator[bytes]:
        """Yield the whole content in ranges. The last one is read with one more byte, to see a longer object."""
        size, step = self.entry.size, self._range_bytes(most)
        last = max(0, size - 1) // step * step
        yield from self.ranges(0, last, most)
        content = self._stored(lambda store, key: store.read_range(key, last, size - last + 1))
        if len(content) > size - last:
            raise self._damaged(f"has more than {size} bytes")
        if len(content) < size - last:
            raise self._damaged(f"ends after {last + len(content)} bytes, must have {size}")
        yield content

    def _range_bytes(self, most: int | None) -> int:
        """Return the length of the ranges in which content is read."""
        most = CHUNK_BYTES if most is None else most
        if self._inline() is not None:
            return most
        store, _ = self._located()
        return min(most, store.range_bytes)

    def _inline(self) -> bytes | None:
        if self.entry.address_type is not AddressType.INLINE:
            return None
        if self.entry.data is None:
            raise CorruptData(f"entry {self.entry.path!r}: inline entry has no data", path=self.entry.path)
        return self.entry.data

    def _located(self) -> tuple[Blobs | Foreign, str]:
        address = self.entry.address
        if address is None:
            raise CorruptData(f"entry {self.entry.path!r}: has no address", path=self.entry.path)
        if self.entry.address_type is AddressType.RELATIVE:
            return self.stores.blobs.at(self.repository.storage_namespace), address
        place, key = parted(address)
        return self.stores.blobs.foreign(place), key

    def _verify_digest(self, digest: str) -> None:
        if sha256_digest(self.entry.checksum) not in (None, digest):
            raise self._damaged("differs from the checksum that was stored with the entry")

    def _damaged(self, how: str) -> CorruptData:
        where = "" if self.entry.address is None else f": object {self.uri()}"
        return CorruptData(
            f"content of {self.entry.path!r}{where} {how}", path=self.entry.path, address=self.entry.address
        )

    def _no_object(self) -> InvalidInput:
        return InvalidInput(
            f"entry {self.entry.path!r}: its content is stored in the entry itself, so there is no object",
            path=self.entry.path,
        )


def _unseen(chunk: Data) -> None:
    """Ignore a chunk."""


def _to_the_end(store: Blobs | Foreign, key: str, size: int, step: int) -> Iterator[bytes]:
    """Yield an object in ranges of `step` bytes, to its end. It may be shorter or longer than `size`."""
    position = 0
    while True:
        left = size - position
        # The last range is read with one more byte, to see that the object ends.
        wanted = left + 1 if 0 <= left <= step else step
        part = store.read_range(key, position, wanted)
        yield part
        position += len(part)
        if len(part) < wanted:
            return


def _joined(chunks: Iterator[Data], seen: Callable[[Data], object]) -> bytes:
    """Return the chunks as one value, and give each to a function while the next one arrives.

    A chunk is hashed while it is in the caches of the processor. `BytesIO` returns its buffer without a copy.
    """
    joined = io.BytesIO()
    for chunk in chunks:
        joined.write(chunk)
        seen(chunk)
    return joined.getvalue()


def _expiry(stores: Stores, repo: RepositoryRecord, ref: str, path: str) -> NotFound | None:
    """Return the error for a path whose object does not exist, if the content of its commit has expired.

    Args:
        stores: Stores of the flow.
        repo: Repository record, perhaps from a cache.
        ref: Id of a commit, or name of a branch, that contains the path.
        path: The path.
    """
    try:
        current = repositories.get(stores.kv, stores.clock, stores.ids, repo.id)
        commit = resolve(stores, current, ref).commit_id
    except NotFound:
        return None
    expiry = expiries(stores, current, [commit]).get(commit) if current.uid == repo.uid else None
    return None if expiry is None else expired_error(commit, expiry, path)
