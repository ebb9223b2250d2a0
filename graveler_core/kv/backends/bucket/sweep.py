"""Removal of tombstones from a store in a bucket, while others use the store.

A tombstone means the same as no object: the key is absent. A sweep deletes an object only on the condition that it has
the ETag of an empty object, and the service compares and deletes in one step. So a sweep never changes which keys are
present, whatever happens between its listing and its deletion:

* Another process creates the key over the tombstone first: the object has another ETag, and the deletion is refused.
* The deletion comes first: the other process finds no object, and creates one.
* The key is created and deleted in between: the object is a tombstone again, and may be deleted.
* The deletion arrives late, or its answer is lost: the condition is evaluated when it arrives.

So no waiting time is needed, and a sweep that pauses or dies does no harm. Everything rests on the condition, which not
all services have, and some ignore. Each sweep probes it first.

obstore sends no conditions with deletions. The request is signed by obstore and sent here.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import timedelta
from http import HTTPStatus
from typing import Final
from uuid import uuid4

from graveler_core.errors import Kind, PermissionDenied, SlowDown, Unavailable
from graveler_core.kv.backends.backing_off import backing_off
from graveler_core.kv.backends.bucket.names import TOMBSTONE, RowNames, content_of
from graveler_core.kv.backends.bucket.requests import BucketRequests

_BATCH: Final = 1_000
"""Number of deletions that are in memory as requests."""
_SECONDS: Final = 20
"""Maximum time until an answer arrives."""
_VALID: Final = timedelta(minutes=10)
"""Time in which the service accepts a request."""
_REFUSED: Final = (HTTPStatus.PRECONDITION_FAILED, HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)
_BUSY: Final = (
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.INTERNAL_SERVER_ERROR,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
)
"""Statuses after which a conditional deletion is repeated. It may have been executed, and then finds no object."""
_DENIED: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


class TombstoneSweep:
    """A sweep of one store.

    Args:
        requests: Requests to the bucket.
        names: Names of the objects of the store.
    """

    def __init__(self, requests: BucketRequests, names: RowNames) -> None:
        self._requests = requests
        self._names = names

    def run(self) -> int:
        """Delete the tombstones that are there. Return their number.

        Raises:
            Unavailable: Kind StoreNotDurable: the service has no conditional deletions. Other kinds: it cannot be
                reached.
            PermissionDenied: The service denies a deletion.
        """
        self._probe()
        removed = 0
        for batch in self._tombstones():
            removed += sum(self._requests.each(lambda found: self._delete(*found), batch))
        return removed

    def _tombstones(self) -> Iterator[list[tuple[str, str]]]:
        """Yield name and ETag of tombstones."""
        batch: list[tuple[str, str]] = []
        for page in self._requests.pages(self._names.root):
            for found in page:
                tag = found["e_tag"]
                if not found["size"] and tag and not found["path"].startswith(f"{self._names.probes}/"):
                    batch.append((found["path"], tag))
            if len(batch) >= _BATCH:
                yield batch
                batch = []
        if batch:
            yield batch

    def _probe(self) -> None:
        """Try conditional deletions on objects that are then deleted."""
        names = [f"{self._names.probes}/{uuid4().hex}/{each}!" for each in ("row", "tombstone")]
        try:
            row = self._requests.create(names[0], content_of(b"k", b"v"))
            tombstone = self._requests.create(names[1], TOMBSTONE)
            refused = not self._delete(names[0], tombstone or "")
            held = self._requests.read(names[0])
            if not refused or held is None or held.tag != row:
                raise self._unable("it deleted an object that has another ETag")
            if not self._delete(names[1], tombstone or "") or self._requests.read(names[1]) is not None:
                raise self._unable("it does not delete an object that has the ETag")
        finally:
            self._requests.delete(names)

    def _delete(self, name: str, tag: str) -> bool:
        """Delete an object that still has an ETag. Return false if it has another one, or is gone."""
        return backing_off(lambda: self._sent(name, tag))

    def _sent(self, name: str, tag: str) -> bool:
        url = self._requests.signed("DELETE", name, _VALID)
        if url is None:
            raise self._unable("its requests cannot be signed")
        request = urllib.request.Request(url, method="DELETE", headers={"If-Match": tag})  # noqa: S310 - of obstore
        shown = self._requests.shown
        try:
            with urllib.request.urlopen(request, timeout=_SECONDS):  # noqa: S310 - the same
                return True
        except urllib.error.HTTPError as error:
            # The original error is dropped, because its URL is signed.
            status = error.code
            error.close()
        except OSError:
            raise Unavailable(f"{shown} cannot be reached", store=shown) from None
        if status in _REFUSED:
            return False
        if status in _BUSY:
            raise SlowDown(f"{shown}: the service is busy", store=shown)
        if status in _DENIED:
            raise PermissionDenied(f"{shown}: the service denies the deletion of objects", store=shown)
        raise self._unable(f"its answer to a conditional deletion is {status}")

    def _unable(self, why: str) -> Unavailable:
        return Unavailable(
            f"tombstones of {self._requests.shown} cannot be swept: {why}; the service needs conditional deletions",
            kind=Kind.StoreNotDurable,
            store=self._requests.shown,
        )
