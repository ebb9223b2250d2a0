"""URLs of the store in memory; what it does is in `StoreSuite`."""

from __future__ import annotations

import pytest

from graveler_core.errors import InvalidInput, Kind
from graveler_core.kv.backends.memory import open_memory


def test_a_nameless_store_is_private() -> None:
    open_memory("memory://").set(b"p", b"k", b"v")
    assert open_memory("memory://").get(b"p", b"k") is None


def test_a_named_store_is_shared_and_stays() -> None:
    first = open_memory("memory://shared-and-stays")
    first.set(b"p", b"k", b"v")
    first.close()
    assert open_memory("memory://shared-and-stays").get(b"p", b"k") is not None
    assert open_memory("memory://another").get(b"p", b"k") is None


@pytest.mark.parametrize("url", ["memory:", "memory:/x", "memory://a/b", "memory://a?b", "sqlite://"])
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="memory://name") as caught:
        open_memory(url)
    assert caught.value.kind is Kind.InvalidUrl
