"""Downloads read large ranges, but only some of those that run at once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import pytest

from graveler.server import download_ranges
from graveler.server.download_ranges import ranges_of
from graveler_core import connect
from graveler_core.errors import Unavailable
from graveler_core.facade.content_file import ContentFile

DATA = bytes(range(250))


@pytest.fixture(params=[True, False], ids=["verified", "no-checksum"])
def content(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ContentFile:
    """Content of three ranges, or of three small ranges if too many downloads run."""
    monkeypatch.setattr("graveler_core.engine.reading.content.CHUNK_BYTES", 100)
    monkeypatch.setattr(download_ranges, "SMALL_RANGE_BYTES", 10)
    monkeypatch.setattr(download_ranges, "MAX_LARGE", 2)
    main = connect("memory://").create_repository("repo", f"memory://downloads-{os.urandom(8).hex()}").branch("main")
    main.put("a", DATA)
    if not request.param:
        main.stage("a", replace(main.get("a"), checksum="of another kind"))
    return main.open("a")


@pytest.mark.parametrize(("part", "expected"), [(None, DATA), ((0, 249), DATA), ((7, 200), DATA[7:201])])
def test_further_downloads_read_small_ranges(
    content: ContentFile, part: tuple[int, int] | None, expected: bytes
) -> None:
    """When a large one ends, whether it was read to its end or not, the next one is large again."""
    running = [ranges_of(content, part, verify=True) for _ in range(3)]
    assert [len(next(each)) for each in running] == [100, 100, 10]
    for ended in (running[0].close, lambda: list(running[1])):  # type: ignore[attr-defined]
        small = list(ranges_of(content, part, verify=True))
        assert (max(map(len, small)), b"".join(small)) == (10, expected)
        ended()
        large = ranges_of(content, part, verify=True)
        first = next(large)
        assert (len(first), first + b"".join(large)) == (100, expected)
        running.append(ranges_of(content, part, verify=True))
        assert len(next(running[-1])) == 100


def _unreadable(*of: object) -> Iterator[bytes]:
    raise Unavailable("the store cannot be read")


def test_a_download_that_fails_or_is_forgotten_ends(content: ContentFile, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        forgotten = ranges_of(content, None, verify=True)
        assert len(next(forgotten)) == 100
        del forgotten
    with monkeypatch.context() as patch:
        patch.setattr(ContentFile, "ranges", _unreadable)
        for _ in range(3):
            with pytest.raises(Unavailable):
                next(ranges_of(content, (0, 9), verify=True))
    assert len(next(ranges_of(content, None, verify=True))) == 100
