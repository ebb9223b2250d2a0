"""Stores whose drivers prepare a statement when it is first used, by a message of its own."""

from __future__ import annotations

from graveler_core.kv.registry import open_store
from graveler_core.kv.store import Store


def opened_with_a_swap(url: str) -> Store:
    """Open a store and swap a row of another partition, so that the next swap is one message."""
    store = open_store(url)
    store.set_if(b"q", b"k", b"2", store.set_if(b"q", b"k", b"1", None))
    store.delete(b"q", b"k")
    return store
