"""Body of a request as an iterable of bytes for a worker thread. It is read piece by piece, with back-pressure.

The server asks for the body (`100 Continue`) when the first piece is requested. An operation that refuses a request
before it reads the body saves the client the transfer.

The event loop receives the body into a buffer, and wakes the worker thread when there is enough to be worth it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import suppress
from threading import Condition
from typing import Final

from python_multipart.multipart import parse_options_header
from starlette.requests import ClientDisconnect, Request

from graveler.server.form_content import FormContent
from graveler_core.errors import InvalidInput, Unavailable
from graveler_core.model.counting import counted

WANTED_BYTES: Final = 1 << 20
"""Number of bytes for which the worker thread waits a short time, before it takes the bytes that are there."""
BUFFER_BYTES: Final = 4 << 20
"""Number of bytes in the buffer at which the server stops receiving until the worker thread has taken them."""
SMALL_BYTES: Final = 64 << 10
"""Maximum size of a body that is received before the worker thread begins, because waking the thread costs more."""
_PATIENCE_SECONDS: Final = 0.02
IDLE_SECONDS: Final = 60.0
PROGRESS_BYTES: Final = 64 << 10
"""Bytes of a body that must arrive within `IDLE_SECONDS`, unless the rest does. Otherwise the server gives it up."""
SILENCE_SECONDS: Final = 1.0
"""Seconds without a byte after which the server no longer waits for the rest of a body that nobody needs."""
DISCARD_SECONDS: Final = 10.0
"""Seconds for which the server receives the rest of a body that nobody needs."""


class BodyStream:
    """Body of one request. Create it in the event loop, and iterate over it once, in a worker thread."""

    def __init__(self, request: Request) -> None:
        self._received = _Buffer(request, asyncio.get_running_loop())
        kind, options = parse_options_header(request.headers.get("content-type"))
        self._boundary = options.get(b"boundary") if kind == b"multipart/form-data" else None
        self._type = request.headers.get("content-type")
        self._length = request.headers.get("content-length")
        self.ended = False
        """True once a worker thread has read the whole body."""
        self._is_form = kind == b"multipart/form-data"
        self._waits = "expect" in request.headers

    async def receive_small(self) -> None:
        """Receive the whole body now if it is small, and the client does not wait for `100 Continue`."""
        length = self._length or ""
        if length.isdecimal() and int(length) <= SMALL_BYTES and not self._waits:
            await self._received.receive()

    @property
    def waits(self) -> bool:
        """True if the server still receives the body, or has not begun to. False if it has no more to receive."""
        return not self._received.ended

    async def discard_rest(self, most: int) -> bool:
        """Receive the rest of the body and forget it. Call it when no thread reads the body any more.

        Args:
            most: Number of bytes after which the server gives up, as it does if the client is slow.

        Returns:
            True if the whole body was received.
        """
        return await self._received.discard(most)

    def content(self) -> tuple[str | None, Iterable[bytes]]:
        """Return the content type of what the client uploads, and its content.

        For a form, this is its part `content`. The form is read up to the beginning of this part.

        Raises:
            InvalidInput: The form has no such part. Iterating over the content of an incomplete form raises it too.
        """
        if not self._is_form:
            return self._type, self.raw()
        if not self._boundary:
            raise InvalidInput("content-type multipart/form-data: needs a boundary")
        return FormContent(self._boundary).read(self.raw())

    def raw(self) -> Iterator[bytes]:
        """Yield the body as it is, whatever its content type says.

        Raises:
            Unavailable: The client has gone before the end of the body, or has sent too little within `IDLE_SECONDS`.
        """
        received = 0
        try:
            for piece in self._received.pieces():
                received += len(piece)
                yield piece
        except ClientDisconnect as error:
            raise Unavailable(
                "the client ended the connection before the end of the body; nothing is staged"
            ) from error
        self.ended = True
        if self._length is not None and received != int(self._length):
            raise Unavailable(
                f"the body has {counted(received, 'byte')}, its header says {self._length}; nothing is staged"
            )


class _Buffer:
    """Pieces of a body between the event loop, which receives them, and the thread that takes them."""

    def __init__(self, request: Request, loop: asyncio.AbstractEventLoop) -> None:
        self._request = request
        self._loop = loop
        self._changed = Condition()
        self._pieces: list[bytes] = []
        self._size = 0
        self._wanted = WANTED_BYTES
        self._begun = self.ended = False
        self._error: Exception | None = None
        self._space = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._discards = False
        self._discarded = 0
        self._arrived = asyncio.Event()

    def pieces(self) -> Iterator[bytes]:
        """Receive the body unless it was received, and yield its pieces. Runs in a worker thread."""
        receiving = None if self._begun else asyncio.run_coroutine_threadsafe(self.receive(), self._loop)
        try:
            while taken := self._take():
                yield from taken
        finally:
            if receiving is not None:
                receiving.cancel()
        if self._error is not None:
            raise self._error

    async def receive(self) -> None:
        """Receive the body into the buffer, until its end or an error. The client may not be slow for long."""
        self._begun, self._task = True, asyncio.current_task()
        arrived = 0
        try:
            async with asyncio.timeout(IDLE_SECONDS) as limit:
                async for piece in self._request.stream():
                    arrived += len(piece)
                    if self._add(piece):
                        limit.reschedule(None)
                        await self._space.wait()
                        arrived = PROGRESS_BYTES
                    if arrived >= PROGRESS_BYTES:
                        arrived = 0
                        limit.reschedule(self._loop.time() + IDLE_SECONDS)
        except TimeoutError:
            self._error = Unavailable(f"the client sent too little within {IDLE_SECONDS:g} seconds; nothing is staged")
        except asyncio.CancelledError:
            self._error = ClientDisconnect()
            raise
        except ClientDisconnect as error:
            self._error = error
        finally:
            with self._changed:
                self.ended = True
                self._changed.notify()
            self._arrived.set()

    async def discard(self, most: int) -> bool:
        """Receive the rest and forget it: see `BodyStream.discard_rest`. Runs in the event loop."""
        end = self._loop.time() + DISCARD_SECONDS
        with self._changed:
            self._discards = True
            self._pieces, self._size = [], 0
        self._space.set()
        if not self._begun:
            self._task = self._loop.create_task(self.receive())
        with suppress(TimeoutError):
            while not self.ended and self._discarded <= most and self._loop.time() < end:
                self._arrived.clear()
                await asyncio.wait_for(self._arrived.wait(), SILENCE_SECONDS)
        if not self.ended and self._task is not None:
            self._task.cancel()
        return self.ended and self._error is None

    def _add(self, piece: bytes) -> bool:
        """Add a piece. Return true if the buffer is full."""
        if self._discards:
            self._discarded += len(piece)
            self._arrived.set()
            return False
        with self._changed:
            if piece:
                self._pieces.append(piece)
                self._size += len(piece)
            if self._size >= self._wanted:
                self._changed.notify()
            full = self._size >= BUFFER_BYTES
            if full:
                self._space.clear()
        return full

    def _take(self) -> list[bytes]:
        """Wait for pieces and return them, or nothing after the last one."""
        with self._changed:
            if not self._changed.wait_for(self._is_enough, _PATIENCE_SECONDS):
                self._wanted = 1
                self._changed.wait_for(self._is_enough)
                self._wanted = WANTED_BYTES
            taken, full = self._pieces, self._size >= BUFFER_BYTES
            self._pieces, self._size = [], 0
        if full:
            self._loop.call_soon_threadsafe(self._space.set)
        return taken

    def _is_enough(self) -> bool:
        return self.ended or self._size >= self._wanted
