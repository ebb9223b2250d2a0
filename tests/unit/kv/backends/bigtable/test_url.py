"""URLs of Bigtable stores."""

from __future__ import annotations

from pathlib import Path

import pytest

from graveler_core.errors import InvalidInput, Kind
from graveler_core.kv.backends.bigtable.url import parse_url


def test_urls(tmp_path: Path) -> None:
    plain = parse_url("bigtable://example.com:project/instance-1/lake")
    assert plain.table_name == "projects/example.com:project/instances/instance-1/tables/lake"
    assert (plain.app_profile, plain.credentials, plain.emulator, plain.timeout) == ("", None, None, 20)
    file = tmp_path / "key.json"
    file.touch()
    full = parse_url(f"bigtable://p/i/t?app_profile=lake&credentials={file}&emulator=127.0.0.1:8086&timeout=2.5")
    assert (full.app_profile, full.credentials, full.emulator) == ("lake", str(file), "127.0.0.1:8086")
    assert (full.timeout, full.shown, full.instance_name) == (2.5, "bigtable://p/i/t", "projects/p/instances/i")


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("bigtable://", "'' is not a project"),
        ("bigtable://p", "'' is not a instance"),
        ("bigtable://p/i", "'' is not a table"),
        ("bigtable://p/i/t/u", "'t/u' is not a table"),
        ("bigtable://p/i/t t", "'t t' is not a table"),
        ("bigtable://p?/i/t", "'' is not a instance"),
        ("bigtable://p/i/t?app_profile=a/b", "'a/b' is not the name of an app profile"),
        ("bigtable://p/i/t?credentials=nothing.json", "no file 'nothing.json'"),
        ("bigtable://p/i/t?emulator=localhost", "host:port"),
        ("bigtable://p/i/t?timeout=0", "timeout"),
        ("bigtable://p/i/t?region=x", "'region' is unknown"),
        ("bigtable://p/i/t?app_profile=", "unknown, repeated or empty"),
    ],
)
def test_urls_that_are_refused(url: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told) as caught:
        parse_url(url)
    assert caught.value.kind is Kind.InvalidUrl
