"""What a process works with, from its environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from graveler_core import connect
from graveler_core.errors import InvalidInput
from graveler_core.settings import Settings


def test_nothing_is_cached_on_disk_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GRAVELER_CACHE_DIR", "GRAVELER_CACHE_BYTES"):
        monkeypatch.delenv(name, raising=False)
    assert (Settings().cache_dir, Settings().cache_bytes) == (None, None)


def test_the_cache_is_named_by_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GRAVELER_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("GRAVELER_CACHE_BYTES", "1000000")
    assert (Settings().cache_dir, Settings().cache_bytes) == (tmp_path, 1_000_000)


def test_a_cache_without_room_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="at least 1"):
        connect("memory://", cache_dir=tmp_path, cache_bytes=0)
