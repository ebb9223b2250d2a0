"""Remote object stores, and memory, through obstore."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Literal

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import AzureStore, GCSStore, MemoryStore, S3Store

from graveler_core.blobs.addresses import address_uri, checked_address, checked_prefix, checked_range, is_address
from graveler_core.blobs.deletion import batches, is_refusal
from graveler_core.blobs.failures import (
    Verb,
    error_code,
    names_a_key,
    past_the_end,
    translated,
    translating,
    unsigned,
    was_repeated,
)
from graveler_core.blobs.nested import read_elsewhere
from graveler_core.blobs.port import CHUNK_BYTES, UPLOADED_BYTES, BlobInfo, Blobs, Data
from graveler_core.blobs.upload import UploadParts
from graveler_core.errors import GravelerError, NotFound, OutcomeUnknown, SlowDown
from graveler_core.model.address import Namespace

PAGE = 1000
"""Maximum number of objects in a page of a listing, as S3 allows."""
DELETED_AT_ONCE = 1000
"""Maximum number of objects of one call: deleted by one request, as S3 allows, or by concurrent requests."""
REQUEST_BYTES = 16 << 20
"""Bytes that one request of an upload sends. With 10,000 requests, the limit of S3, an object has at most 156 GiB."""
_CONCURRENT_REQUESTS = UPLOADED_BYTES // REQUEST_BYTES
_CONCURRENT_DELETIONS = 16
_ATTEMPTS = 3
RemoteStore = S3Store | GCSStore | AzureStore | MemoryStore


class RemoteBlobs(Blobs):
    """Objects in one obstore store. obstore itself repeats requests that are safe to repeat."""

    def __init__(self, store: RemoteStore, namespace: Namespace) -> None:
        self._store = store
        self._namespace = namespace
        self._root = namespace.path + "/" if namespace.path else ""

    def __repr__(self) -> str:
        return f"RemoteBlobs({self._namespace.uri!r})"

    def create(self, address: str, data: Data, *, sure: bool = False) -> bool:
        key, uri = self._key(address), self.uri(address)
        content = memoryview(data).cast("B") if len(data) else b""
        unknown: OutcomeUnknown | None = None
        repeated = False
        for _ in range(_ATTEMPTS):
            try:
                obstore.put(self._store, key, content, mode="create", use_multipart=False)
            except AlreadyExistsError as e:
                repeated = repeated or unknown is not None or was_repeated(e)
                # S3 returns this error while another write of the address is in progress, which may still fail.
                if error_code(e) != "ConditionalRequestConflict" or self.head(address) is not None:
                    # An earlier request, whose response was lost, may have created the object.
                    return repeated and not sure and self.read(address) == content
            except (BaseError, OSError, ValueError) as e:
                error = translated(e, Verb.WRITE, uri)
                if not isinstance(error, OutcomeUnknown):
                    raise error from None
                unknown = error
            else:
                return True
        raise unknown or SlowDown(f"cannot write {uri}: other processes create and delete it repeatedly", uri=uri)

    def upload(self, address: str, parts: Iterable[Data]) -> None:
        key, source = self._key(address), UploadParts(parts)
        try:
            with translating(Verb.WRITE, self.uri(address)):
                obstore.put(
                    self._store,
                    key,
                    source,
                    mode="overwrite",
                    use_multipart=True,
                    chunk_size=REQUEST_BYTES,
                    max_concurrency=_CONCURRENT_REQUESTS,
                )
        finally:
            source.raise_error()

    def read(self, address: str) -> bytes:
        key = self._key(address)
        with translating(Verb.READ, self.uri(address)):
            return read_elsewhere(lambda: obstore.get(self._store, key).bytes().to_bytes())

    def chunks(self, address: str) -> Iterator[Data]:
        return chunks(self._store, self._key(address), self.uri(address))

    def read_range(self, address: str, start: int, length: int) -> bytes:
        checked_range(address, start, length)
        if length:
            return read_range(self._store, self._key(address), start, length, self.uri(address))
        if self.head(address) is None:
            raise NotFound(f"{self.uri(address)}: there is no such object", uri=self.uri(address))
        return b""

    def head(self, address: str) -> BlobInfo | None:
        key = self._key(address)
        with translating(Verb.READ, self.uri(address)):
            try:
                meta = obstore.head(self._store, key)
            except FileNotFoundError:
                return None
        return BlobInfo(address, meta["size"], meta["e_tag"], meta["last_modified"])

    def list(self, prefix: str = "", after: str = "") -> Iterator[BlobInfo]:
        """List as the port specifies. If the prefix ends inside a segment, the listing starts at the prefix itself."""
        directory = checked_prefix(prefix).rpartition("/")[0]
        checked_prefix(after)
        if is_address(prefix) and after < prefix:
            exact = self.head(prefix)
            if exact is not None:
                yield exact
            after = prefix
        for info in self._pages(directory, max(after, prefix)):
            if not info.address.startswith(prefix):
                if info.address > prefix:
                    return
                continue
            if info.address > after:
                yield info

    def delete(self, address: str) -> None:
        key, uri = self._key(address), self.uri(address)
        with translating(Verb.DELETE, uri):
            try:
                obstore.delete(self._store, key)
            except FileNotFoundError:
                return

    @property
    def deletes_at_once(self) -> int:
        return 1 if isinstance(self._store, MemoryStore) else DELETED_AT_ONCE

    def delete_many(self, addresses: Sequence[str]) -> dict[str, GravelerError]:
        keys = {address: self._key(address) for address in addresses}
        failed = dict[str, GravelerError]()
        for batch in batches(list(keys), self.deletes_at_once):
            failed |= self._deleted(batch, [keys[address] for address in batch])
        return failed

    def _deleted(self, addresses: Sequence[str], keys: Sequence[str]) -> dict[str, GravelerError]:
        """Delete objects by one request if the store has one. Return errors by address.

        obstore reports only one of the keys that were refused, so the objects are then deleted one by one.
        """
        if len(addresses) == 1 or not isinstance(self._store, S3Store):
            return self._deleted_one_by_one(addresses)
        try:
            obstore.delete(self._store, keys)
        except (BaseError, OSError, ValueError) as e:
            if not names_a_key(e):
                return dict.fromkeys(addresses, translated(e, Verb.DELETE, self._namespace.uri))
            return self._deleted_one_by_one(addresses)
        return {}

    def _deleted_one_by_one(self, addresses: Sequence[str]) -> dict[str, GravelerError]:
        """Delete objects by concurrent requests. After an error that is not about one object, send no more."""
        ends = list[GravelerError]()

        def error(address: str) -> GravelerError | None:
            if ends:
                return ends[0]
            try:
                self.delete(address)
            except GravelerError as e:
                if not is_refusal(e):
                    ends.append(e)
                return e
            return None

        with ThreadPoolExecutor(_CONCURRENT_DELETIONS) as pool:
            errors = zip(addresses, pool.map(error, addresses), strict=True)
            return {address: error for address, error in errors if error is not None}

    def renew(self, address: str) -> bool:
        key, uri = self._key(address), self.uri(address)
        with translating(Verb.READ, uri):
            try:
                found = obstore.get(self._store, key)
            except FileNotFoundError:
                return False
            content = found.bytes()
        with translating(Verb.WRITE, uri):
            # Write it in one part, as `create` does, because the ETag of S3 depends on the number of parts.
            obstore.put(self._store, key, content, attributes=found.attributes, mode="overwrite", use_multipart=False)
        return True

    def uri(self, address: str) -> str:
        return address_uri(self._namespace, address)

    def presigned(self, address: str, seconds: int, *, upload: bool = False) -> str:
        return presigned(self._store, self._key(address), seconds, self.uri(address), "PUT" if upload else "GET")

    def close(self) -> None:
        """Do nothing: obstore closes its connections when the last reference is deleted."""

    def _key(self, address: str) -> str:
        return self._root + checked_address(address)

    def _pages(self, directory: str, after: str) -> Iterator[BlobInfo]:
        root = self._root
        within = (root + directory).rstrip("/") or None
        offset = root + _acceptable(after) if after else None
        with translating(Verb.LIST, self._namespace.uri):
            for page in obstore.list(self._store, within, offset=offset, chunk_size=PAGE):
                for meta in page:
                    address = meta["path"][len(root) :]
                    yield BlobInfo(address, meta["size"], meta["e_tag"], meta["last_modified"])


def chunks(store: RemoteStore, key: str, uri: str) -> Iterator[Data]:
    """Yield an object in chunks. While one is processed, the socket receives the next ones."""
    with translating(Verb.READ, uri):
        parts = iter(read_elsewhere(lambda: obstore.get(store, key).stream(min_chunk_size=CHUNK_BYTES)))
        while (part := read_elsewhere(lambda: next(parts, None))) is not None:
            if part:
                yield memoryview(part)


def read_range(store: RemoteStore, key: str, start: int, length: int, uri: str) -> bytes:
    """Return at most `length` bytes of an object from `start`; `length` is not 0."""
    try:
        return read_elsewhere(lambda: obstore.get_range(store, key, start=start, length=length).to_bytes())
    except (BaseError, OSError, ValueError) as e:
        if past_the_end(e):
            return b""
        raise translated(e, Verb.READ, uri) from None


def presigned(store: RemoteStore, key: str, seconds: int, uri: str, method: Literal["GET", "PUT"] = "GET") -> str:
    """Return a signed URL for an object and a method of HTTP.

    Raises:
        InvalidInput: The store does not sign URLs.
    """
    if isinstance(store, MemoryStore):
        raise unsigned(uri)
    with translating(Verb.OPEN, uri):
        return obstore.sign(store, method, key, timedelta(seconds=seconds))


def _acceptable(mark: str) -> str:
    """Return a start key for obstore: the mark, or a slightly smaller key if its last segment is `.` or `..`.

    obstore refuses these segments.
    """
    if mark.rpartition("/")[2] in (".", ".."):
        return mark[:-1] + "-~"
    return mark
