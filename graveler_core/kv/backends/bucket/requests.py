"""Requests to a bucket that holds a store.

Reads, which obstore repeats when they fail, and writes, which are sent once, have connections of their own. A write
that the service refuses because it is busy, or because another conditional write of the object is in progress, has
changed nothing. It is repeated a few times, and then raises `SlowDown`.

A process that was forked after a bucket was opened is refused (`blobs.forks`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import urlsplit

import obstore
from obstore.store import MemoryStore

from graveler_core.blobs.failures import Verb
from graveler_core.blobs.forks import note_use, require_first_process
from graveler_core.blobs.remote import RemoteStore
from graveler_core.errors import SlowDown, Unavailable
from graveler_core.kv.backends.backing_off import ATTEMPTS, backing_off, pause
from graveler_core.kv.backends.bucket.errors import ABSENT, FAILURES, exists, has_changed, mapped
from graveler_core.model.forks import ForkSafe

if TYPE_CHECKING:
    from obstore import HTTP_METHOD, ObjectMeta, PutMode, PutResult

_T = TypeVar("_T")
_R = TypeVar("_R")

THREADS: Final = 32
"""Maximum number of requests that one store sends at once for calls with many rows."""
_PAGE: Final = 1_000
"""Number of names in a page of a listing, which is that of the services, and of names in a request that deletes."""


@dataclass(frozen=True, slots=True)
class BucketObject:
    """An object that was read."""

    content: bytes
    tag: str
    """ETag, or generation on Google Cloud Storage: it differs after each write that is not a tombstone."""

    @property
    def is_tombstone(self) -> bool:
        """True if the object says that its key is absent."""
        return not self.content


class BucketRequests(ForkSafe):
    """Sends requests for the objects of one bucket. Thread-safe.

    Args:
        reading: Connections for reads. Failed reads are repeated.
        writing: Connections for writes, without repetitions.
        shown: URL of the store for messages.
        by_generation: True if the service compares generations instead of ETags.
    """

    def __init__(self, reading: RemoteStore, writing: RemoteStore, shown: str, *, by_generation: bool = False) -> None:
        super().__init__()
        self._reading = reading
        self._writing = writing
        self.shown = shown
        self._by_generation = by_generation
        self._threads: ThreadPoolExecutor | None = None
        self._closed = False
        note_use()

    def after_fork(self) -> None:
        """Forget the threads, which only the parent has."""
        super().after_fork()
        self._threads = None

    def close(self) -> None:
        """Refuse further requests. Tasks of other threads that have not begun are cancelled."""
        with self._lock:
            self._closed = True
            if self._threads is not None:
                self._threads.shutdown(wait=False, cancel_futures=True)

    def host(self, name: str) -> str | None:
        """Return the host that gets the requests for an object, or `None` if it is unknown.

        The configuration of obstore does not contain the values from the environment. A signed URL contains the host.
        """
        url = self.signed("GET", name, timedelta(minutes=1))
        return None if url is None else urlsplit(url).hostname

    def signed(self, method: HTTP_METHOD, name: str, valid: timedelta) -> str | None:
        """Return a signed URL for a request, or `None` if obstore cannot sign it.

        Args:
            method: Method of the request.
            name: Name of the object.
            valid: Time in which the service accepts the request.
        """
        self._check()
        if isinstance(self._reading, MemoryStore):
            return None
        try:
            return obstore.sign(self._reading, method, name, valid)
        except FAILURES:
            return None

    def read(self, name: str) -> BucketObject | None:
        """Return an object, or `None` if it does not exist."""
        self._check()
        try:
            found = obstore.get(self._reading, name)
            return BucketObject(found.bytes().to_bytes(), self._tag(found.meta))
        except FAILURES as error:
            if isinstance(error, ABSENT) and has_changed(error):
                return None
            raise mapped(error, Verb.READ, self.shown) from None

    def pages(self, directory: str, after: str | None = None) -> Iterator[Sequence[ObjectMeta]]:
        """Yield the objects of a directory in the order of their names, page by page.

        Args:
            directory: Directory without a slash at the end.
            after: Name after which the listing begins, or `None`.

        Raises:
            Unavailable: The service does not list names in their order.
        """
        self._check()
        last = ""
        try:
            for page in obstore.list(self._reading, directory, offset=after, chunk_size=_PAGE):
                for found in page:
                    if found["path"] <= last:
                        raise Unavailable(
                            f"{self.shown}: the service does not list objects in the order of their names"
                        )
                    last = found["path"]
                # Azure's emulator ignores where a listing is to begin, and obstore does not leave names out itself.
                yield page if after is None else [found for found in page if found["path"] > after]
                self._check()
        except FAILURES as error:
            raise mapped(error, Verb.LIST, self.shown) from None

    def create(self, name: str, content: bytes) -> str | None:
        """Create an object. Return its tag, or `None` if it exists."""
        return self._put_if(name, content, "create", exists)

    def replace(self, name: str, content: bytes, tag: str) -> str | None:
        """Replace an object that still has a tag. Return its new tag, or `None` if it has another tag or is gone."""
        condition: PutMode = {"version": tag} if self._by_generation else {"e_tag": tag}
        return self._put_if(name, content, condition, has_changed)

    def create_or_replace(self, name: str, content: bytes) -> str | None:
        """Create an object, or replace one that is a tombstone. Return its tag, or `None` if it is not a tombstone.

        Raises:
            SlowDown: Others create and delete it again and again.
        """
        for attempt in range(ATTEMPTS):
            tag = self.create(name, content)
            if tag is not None:
                return tag
            held = self.read(name)
            if held is not None:
                if not held.is_tombstone:
                    return None
                tag = self.replace(name, content, held.tag)
                if tag is not None:
                    return tag
            pause(attempt)
        raise self._contended(name)

    def replace_any(self, name: str, content: bytes) -> str | None:
        """Replace an object, whatever it holds. Return its tag, or `None` if it is absent or a tombstone.

        Raises:
            SlowDown: Others replace it again and again.
        """
        for attempt in range(ATTEMPTS):
            held = self.read(name)
            if held is None or held.is_tombstone:
                return None
            tag = self.replace(name, content, held.tag)
            if tag is not None:
                return tag
            pause(attempt)
        raise self._contended(name)

    def put(self, name: str, content: bytes) -> None:
        """Write an object, whether it exists or not."""

        def send() -> None:
            self._check()
            try:
                obstore.put(self._writing, name, content, mode="overwrite", use_multipart=False)
            except FAILURES as error:
                raise mapped(error, Verb.WRITE, self.shown) from None

        backing_off(send)

    def delete(self, names: Sequence[str]) -> None:
        """Delete objects, whether they exist or not."""
        for offset in range(0, len(names), _PAGE):
            self._delete(list(names[offset : offset + _PAGE]))

    def each(self, work: Callable[[_T], _R], tasks: Sequence[_T]) -> list[_R]:
        """Run a function for each task, several at once, and return its results in the order of the tasks.

        Raises:
            Exception: The error of the first failed task in this order. All running tasks have ended.
        """
        if len(tasks) <= 1:
            return [work(task) for task in tasks]
        running: list[Future[_R]] = []
        try:
            pool = self._pool()
            running += [pool.submit(work, task) for task in tasks]
            return [task.result() for task in running]
        except (CancelledError, RuntimeError):
            self._check()
            raise
        finally:
            for task in running:
                task.cancel()
            wait(running)

    def _put_if(
        self, name: str, content: bytes, condition: PutMode, is_loss: Callable[[Exception], bool]
    ) -> str | None:
        def send() -> str | None:
            self._check()
            try:
                return self._tag(obstore.put(self._writing, name, content, mode=condition, use_multipart=False))
            except FAILURES as error:
                if is_loss(error):
                    return None
                raise mapped(error, Verb.WRITE, self.shown) from None

        return backing_off(send)

    def _delete(self, names: list[str]) -> None:
        """Delete objects at once.

        Some services say that an object is absent. obstore then does not delete all others, so each is deleted alone.
        """

        def send() -> bool:
            self._check()
            try:
                obstore.delete(self._writing, names)
            except FAILURES as error:
                if not (isinstance(error, ABSENT) and has_changed(error)):
                    raise mapped(error, Verb.DELETE, self.shown) from None
                return False
            return True

        if not backing_off(send) and len(names) > 1:
            self.each(self._delete, [[name] for name in names])

    def _tag(self, meta: ObjectMeta | PutResult) -> str:
        tag = meta["version"] if self._by_generation else meta["e_tag"]
        if not isinstance(tag, str):
            raise Unavailable(f"{self.shown}: the service does not tell the ETags of objects", store=self.shown)
        return tag

    def _pool(self) -> ThreadPoolExecutor:
        self._check()
        with self._lock:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="graveler-bucket")
            return self._threads

    def _check(self) -> None:
        if self._closed:
            raise Unavailable(f"the store {self.shown} was closed", store=self.shown)
        require_first_process(f"the store {self.shown}")

    def _contended(self, name: str) -> SlowDown:
        return SlowDown(f"{self.shown}: other processes change {name} again and again", store=self.shown)
