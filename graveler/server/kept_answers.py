"""Answers to listings that this process keeps in memory, by the commit that they show.

An answer is sent again only after the listing has named its version: the caller may list the paths, and the content is
still that of the same commit. A listing without a version, such as one of a branch with uncommitted changes at the
listed paths, is written each time.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any, Final

from starlette.responses import Response

from graveler_core.facade.listing import Listing

KEPT_BYTES: Final = 32 << 20
"""Maximum size of all answers that a process keeps. The least recently used ones are dropped, and an answer of more
than an eighth of the size is not kept.
"""
_OF_ONE_ANSWER: Final = 1_000
"""Bytes that an answer takes besides its content, at most."""


class KeptAnswers:
    """Answers to listings. Thread-safe."""

    def __init__(self, max_bytes: int = KEPT_BYTES) -> None:
        """Keep nothing yet.

        Args:
            max_bytes: Maximum size of all answers.
        """
        self._max_bytes = max_bytes
        self._bytes = 0
        self._held: OrderedDict[bytes, tuple[bytes, str | None]] = OrderedDict()
        self._lock = Lock()

    def answer(self, listing: Listing[Any], key: tuple[object, ...], write: Callable[[], Response]) -> Response:
        """Return the answer to a listing.

        Args:
            listing: The listing, of which nothing was read.
            key: Everything that the answer depends on besides the content: texts, numbers and tuples of them. It may be
                large, so only a digest is kept.
            write: Reads the listing and returns its answer, of status 200 and with no headers but those of its content.
        """
        version = listing.version()
        if version is None:
            return write()
        id = hashlib.sha256(repr((version, key)).encode()).digest()
        kept = self._get(id)
        if kept is not None:
            return Response(kept[0], media_type=kept[1])
        answer = write()
        self._keep(id, bytes(answer.body), answer.media_type)
        return answer

    def _get(self, id: bytes) -> tuple[bytes, str | None] | None:
        with self._lock:
            found = self._held.get(id)
            if found is not None:
                self._held.move_to_end(id)
            return found

    def _keep(self, id: bytes, body: bytes, media_type: str | None) -> None:
        if _size(body) > self._max_bytes // 8:
            return
        with self._lock:
            before = self._held.pop(id, None)
            self._bytes -= 0 if before is None else _size(before[0])
            self._held[id] = (body, media_type)
            self._bytes += _size(body)
            while self._bytes > self._max_bytes:
                _, (dropped, _) = self._held.popitem(last=False)
                self._bytes -= _size(dropped)


def _size(body: bytes) -> int:
    return len(body) + _OF_ONE_ANSWER
