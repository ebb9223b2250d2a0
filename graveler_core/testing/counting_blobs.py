"""Wrapper of an object store that counts calls and injects faults, for tests of request budgets and error handling."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from graveler_core.blobs.deletion import batches
from graveler_core.blobs.passing import PassingBlobs
from graveler_core.blobs.port import BlobInfo, Blobs, Data
from graveler_core.errors import GravelerError

Fault = Callable[[str, str], Exception | None]
"""Function of verb and address that returns the error to raise instead of the call, or `None`."""


class CountingBlobs(PassingBlobs):
    """`Blobs` that counts calls by verb, and bytes read and written.

    Args:
        blobs: Object store to wrap.
        fault: Injects errors. Failed calls are counted too.
    """

    def __init__(self, blobs: Blobs, fault: Fault | None = None) -> None:
        super().__init__(blobs)
        self._fault = fault
        self._lock = threading.Lock()
        self.calls: Counter[str] = Counter()
        self.bytes_read = 0
        self.bytes_written = 0
        """Bytes passed to `create` and `upload`, including those of existing objects."""

    def create(self, address: str, data: Data, *, sure: bool = False) -> bool:
        self._count("create", address, written=memoryview(data).nbytes)
        return self.beneath.create(address, data, sure=sure)

    def upload(self, address: str, parts: Iterable[Data]) -> None:
        self._count("upload", address)
        self.beneath.upload(address, map(self._sent, parts))

    def read(self, address: str) -> bytes:
        self._count("read", address)
        return self._received(self.beneath.read(address))

    def chunks(self, address: str) -> Iterator[Data]:
        self._count("read", address)
        for chunk in self.beneath.chunks(address):
            with self._lock:
                self.bytes_read += len(chunk)
            yield chunk

    def read_range(self, address: str, start: int, length: int) -> bytes:
        self._count("read_range", address)
        return self._received(self.beneath.read_range(address, start, length))

    def head(self, address: str) -> BlobInfo | None:
        self._count("head", address)
        return self.beneath.head(address)

    def list(self, prefix: str = "", after: str = "") -> Iterator[BlobInfo]:
        self._count("list", prefix)
        yield from self.beneath.list(prefix, after)

    def delete(self, address: str) -> None:
        self._count("delete", address)
        self.beneath.delete(address)

    def delete_many(self, addresses: Sequence[str]) -> dict[str, GravelerError]:
        """Count one call for each request that the store sends, and inject the errors of each address."""
        with self._lock:
            self.calls["delete"] += len(batches(addresses, self.deletes_at_once))
        failed = dict[str, GravelerError]()
        for address in addresses:
            try:
                self._inject("delete", address)
            except GravelerError as e:
                failed[address] = e
        return failed | self.beneath.delete_many([address for address in addresses if address not in failed])

    def renew(self, address: str) -> bool:
        self._count("renew", address)
        return self.beneath.renew(address)

    def reset(self) -> None:
        """Set all counters to 0."""
        with self._lock:
            self.calls.clear()
            self.bytes_read = self.bytes_written = 0

    def _count(self, verb: str, address: str, written: int = 0) -> None:
        with self._lock:
            self.calls[verb] += 1
            self.bytes_written += written
        self._inject(verb, address)

    def _inject(self, verb: str, address: str) -> None:
        error = self._fault(verb, address) if self._fault is not None else None
        if error is not None:
            raise error

    def _sent(self, part: Data) -> Data:
        with self._lock:
            self.bytes_written += memoryview(part).nbytes
        return part

    def _received(self, content: bytes) -> bytes:
        with self._lock:
            self.bytes_read += len(content)
        return content
