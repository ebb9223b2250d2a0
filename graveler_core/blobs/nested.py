"""Reads while an object store asks for the parts of an upload, such as copies of content from one object to another.

obstore asks for the parts in the thread of the upload, which drives its runtime. During this time, another call of
obstore in the same thread panics. So such reads run in a thread of their own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


class _Here(threading.local):
    """State of a thread."""

    asked: bool = False
    """True while an object store asks this thread for a part of an upload."""


_here = _Here()


@contextmanager
def asked_for_part() -> Iterator[None]:
    """Note that an object store asks this thread for a part, inside the `with` statement."""
    before, _here.asked = _here.asked, True
    try:
        yield
    finally:
        _here.asked = before


def read_elsewhere(read: Callable[[], T]) -> T:
    """Return the result of a read, in another thread if this one is asked for a part of an upload."""
    if not _here.asked:
        return read()
    with ThreadPoolExecutor(1, "graveler-nested-read") as other:
        return other.submit(read).result()
