"""Tests of the settings that a process reads from its environment."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr

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


class More(Settings):
    token: SecretStr | None = None


def test_what_is_shown_of_settings_holds_no_secret(tmp_path: Path) -> None:
    store, data = SecretStr("postgresql://ada:CANARY@host/db?password=CANARY"), "s3://ada:CANARY@bucket/x"
    shown = More(store=store, data=data, token=SecretStr("CANARY"), cache_dir=tmp_path).shown()
    assert "CANARY" not in repr(shown)
    assert (shown["store"], shown["token"]) == ("postgresql://ada:***@host/db?password=***", "***")
    assert (shown["data"], shown["cache_dir"]) == ("s3://ada:***@bucket/x", tmp_path)


def test_the_cache_in_memory_has_the_size_that_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRAVELER_MEMORY_CACHE_BYTES", raising=False)
    assert Settings().memory_cache_bytes is None
    monkeypatch.setenv("GRAVELER_MEMORY_CACHE_BYTES", "1000000")
    assert Settings().memory_cache_bytes == 1_000_000


@pytest.mark.parametrize(("size", "holds"), [(0, False), (None, True)])
def test_the_cache_in_memory_holds_no_more_than_its_size(size: int | None, holds: bool) -> None:
    with connect("memory://", memory_cache_bytes=size) as graveler:
        main = graveler.create_repository("lake", f"memory://cache-of-{size}", adopt=True).branch("main")
        main.put("a", b"one")
        main.commit("one")
        assert main.read("a") == b"one"
        assert (graveler._stores.ranges.held_bytes > 0) is holds


def test_a_cache_in_memory_of_less_than_nothing_is_refused() -> None:
    with pytest.raises(InvalidInput, match="memory_cache_bytes -1: must be at least 0"):
        connect("memory://", memory_cache_bytes=-1)


@pytest.mark.parametrize("value", ["10GiB", "", "1.5"])
@pytest.mark.parametrize("variable", ["GRAVELER_CACHE_BYTES", "GRAVELER_MEMORY_CACHE_BYTES"])
def test_a_value_that_is_not_valid_is_explained(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(InvalidInput) as refused:
        Settings()
    assert refused.value.message == f"environment variable {variable}: must be an integer"


def test_a_folder_that_cannot_be_read_is_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Such as the private folder of another user above the working directory. Tests may run as root, who reads it."""
    real = Path.is_file

    def is_file(path: Path) -> bool:
        if path.name == "config":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.delenv("GRAVELER_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Path, "is_file", is_file)
    with pytest.raises(InvalidInput, match=r"cannot be read .*Permission denied.*set GRAVELER_CONFIG"):
        Settings()
    monkeypatch.setenv("GRAVELER_CONFIG", "")
    assert Settings().config is None
