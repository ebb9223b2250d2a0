"""Object stores of the network, and memory, through obstore."""

from __future__ import annotations

from collections.abc import Iterator

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import AzureStore, GCSStore, MemoryStore, S3Store

from graveler_core.blobs.addresses import address_uri, checked_address, checked_prefix, checked_range, is_address
from graveler_core.blobs.failures import Verb, error_code, past_the_end, translated, translating
from graveler_core.blobs.port import BlobInfo, Data
from graveler_core.errors import NotFound, OutcomeUnknown, SlowDown
from graveler_core.model.address import Namespace

PAGE = 1000
"""Objects a request of a listing gives at most: what S3 allows."""
_ATTEMPTS = 3
_Store = S3Store | GCSStore | AzureStore | MemoryStore


class RemoteBlobs:
    """`Blobs` over one obstore store; obstore itself repeats requests that are safe to repeat."""

    def __init__(self, store: _Store, namespace: Namespace) -> None:
        self._store = store
        self._namespace = namespace
        self._root = namespace.path + "/" if namespace.path else ""

    def __repr__(self) -> str:
        return f"RemoteBlobs({self._namespace.uri!r})"

    def create(self, address: str, data: Data) -> bool:
        key, uri = self._key(address), self.uri(address)
        content = memoryview(data).cast("B") if len(data) else b""
        unknown: OutcomeUnknown | None = None
        for _ in range(_ATTEMPTS):
            try:
                obstore.put(self._store, key, content, mode="create", use_multipart=False)
            except AlreadyExistsError as e:
                if unknown is not None:
                    return self.read(address) == content
                # S3 answers so while another's write of the address is under way, which may yet fail.
                if error_code(e) != "ConditionalRequestConflict" or self.head(address) is not None:
                    return False
            except (BaseError, OSError, ValueError) as e:
                error = translated(e, Verb.WRITE, uri)
                if not isinstance(error, OutcomeUnknown):
                    raise error from None
                unknown = error
            else:
                return True
        raise unknown or SlowDown(f"cannot write {uri}: others create and remove it again and again", uri=uri)

    def read(self, address: str) -> bytes:
        key = self._key(address)
        with translating(Verb.READ, self.uri(address)):
            return obstore.get(self._store, key).bytes().to_bytes()

    def read_range(self, address: str, start: int, length: int) -> bytes:
        checked_range(address, start, length)
        key = self._key(address)
        try:
            if length:
                return obstore.get_range(self._store, key, start=start, length=length).to_bytes()
        except (BaseError, OSError, ValueError) as e:
            if not past_the_end(e):
                raise translated(e, Verb.READ, self.uri(address)) from None
            return b""
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
        """As the port says; a prefix that ends inside a segment is looked for from itself on, not its directory."""
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

    def renew(self, address: str) -> bool:
        key, uri = self._key(address), self.uri(address)
        with translating(Verb.READ, uri):
            try:
                found = obstore.get(self._store, key)
            except FileNotFoundError:
                return False
            content = found.bytes()
        with translating(Verb.WRITE, uri):
            # In one part, as it was created: the number of parts goes into S3's etag.
            obstore.put(self._store, key, content, attributes=found.attributes, mode="overwrite", use_multipart=False)
        return True

    def uri(self, address: str) -> str:
        return address_uri(self._namespace, address)

    def close(self) -> None:
        """Nothing to do: obstore closes its connections when the last reference goes."""

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


def _acceptable(mark: str) -> str:
    """The mark, or one a little before it where obstore would take its last segment for a way out."""
    if mark.rpartition("/")[2] in (".", ".."):
        return mark[:-1] + "-~"
    return mark
