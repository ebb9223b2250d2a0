"""`graveler diagnostics` and the options of logging, on files and SQLite."""

from __future__ import annotations

import json
import logging
import zipfile
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

import graveler_core
from tests.integration.command_line import Cli, put, refused

MAIN = "graveler://flights/main"


def documents(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return {
            name.removesuffix(".json"): json.loads(archive.read(name))
            for name in archive.namelist()
            if name.endswith(".json")
        }


def test_an_archive(flights: Cli, here: Path) -> None:
    put(flights, "staged/path", b"x")
    ran = flights("diagnostics", "--output", "out.zip", "--json")
    assert ran.code == 0, ran
    (told,) = ran.documents
    assert told == {"path": "out.zip", "sections": 6, "errors": 0, "incomplete": []}
    found = documents(here / "out.zip")
    assert list(found) == ["versions", "settings", "store", "repositories", "caches", "repositories/flights"]
    assert all(document["complete"] and document["section"] == name for name, document in found.items())
    assert found["store"]["store"]["backend"] == "sqlite"
    assert found["store"]["store"]["durability"] == "power"
    repository = found["repositories/flights"]
    assert repository["counts"]["commits"] == {"count": 2, "at_least": False}
    assert repository["namespace"]["readable"] is True
    (branch,) = repository["branches"]
    assert (branch["id"], branch["head"]["readable"], branch["head"]["generation"]) == ("main", True, 2)
    assert [layer["kind"] for layer in branch["layers"]] == ["token"]
    refused(flights("diagnostics", "--output", "out.zip"), "out.zip", "already")


def test_what_users_wrote_is_in_it_only_where_asked_for(flights: Cli, here: Path) -> None:
    put(flights, "staged/CANARY", b"CANARY")
    put(flights, "removed/CANARY", b"CANARY")
    flights("rm", "-r", "--yes", f"{MAIN}/removed/CANARY")
    flights("commit", MAIN, "-m", "CANARY", "--committer", "CANARY", "--meta", "k=CANARY")
    put(flights, "staged/CANARY", b"CANARY")
    for name, asked in (("without.zip", []), ("with.zip", ["--with-user-data"])):
        assert flights("diagnostics", "-o", name, *asked).code == 0
        with zipfile.ZipFile(here / name) as archive:
            text = "".join(archive.read(each).decode() for each in archive.namelist())
        assert ("CANARY" in text) is bool(asked), name
        assert ("except what was requested" in text) is bool(asked)


def test_no_secret_is_in_it(flights: Cli, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_SECRET_ACCESS_KEY", "PGPASSWORD"):
        monkeypatch.setenv(name, "CANARY")
    monkeypatch.setenv("GRAVELER_STORE", "postgresql://ada:CANARY@host/db?password=CANARY")
    monkeypatch.setenv("GRAVELER_DATA", "s3://ada:CANARY@bucket/root?sas_token=CANARY")
    assert flights("diagnostics", "-o", "out.zip", "--store", "sqlite:///.graveler/meta.db").code == 0
    with zipfile.ZipFile(here / "out.zip") as archive:
        text = "".join(archive.read(each).decode() for each in archive.namelist())
    assert "CANARY" not in text
    settings = documents(here / "out.zip")["settings"]["settings"]
    assert settings["store"] == "sqlite:///.graveler/meta.db"
    assert settings["data"] == "s3://ada:***@bucket/root?sas_token=***"


def test_options_of_object_stores_are_told_by_name_alone(flights: Cli, here: Path) -> None:
    options = {"secret_access_key": "CANARY", "region": "CANARY"}
    with graveler_core.connect(
        "sqlite:///.graveler/meta.db", storage_options=options, cache_dir=here / "cache", cache_bytes=1_000
    ) as graveler:
        graveler.diagnostics(here / "out.zip", settings={"token": SecretStr("CANARY")})
    with zipfile.ZipFile(here / "out.zip") as archive:
        assert "CANARY" not in "".join(archive.read(each).decode() for each in archive.namelist())
    told = documents(here / "out.zip")["settings"]["objects"]
    assert told["options"] == ["region", "secret_access_key"]
    assert told["disk_cache"] == {"directory": str(here / "cache"), "max_bytes": 1_000}


def test_a_name_is_made_where_none_is_given(flights: Cli, here: Path) -> None:
    assert flights("diagnostics", "--repository", "flights", "--budget", "30").code == 0
    (path,) = here.glob("graveler-diagnostics-*.zip")
    assert "repositories/flights" in documents(path)


@pytest.mark.parametrize("place", ["option", "environment"])
def test_events_are_logged_as_json(flights: Cli, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    arguments = ["--log-level", "debug", "--log-format", "json"]
    if place == "environment":
        monkeypatch.setenv("GRAVELER_LOG_LEVEL", "DEBUG")
        monkeypatch.setenv("GRAVELER_LOG_FORMAT", "json")
        arguments = []
    put(flights, "a", b"a")
    ran = flights(*arguments, "compact", MAIN)
    assert ran.code == 0, ran
    told = [json.loads(line) for line in ran.err.splitlines()]
    assert "background ok" in [event["event"] for event in told]
    assert all(
        event.keys() >= {"event", "flow", "outcome", "duration", "level", "logger", "timestamp"} for event in told
    )
    assert logging.getLogger("graveler").level == logging.NOTSET


def test_events_are_logged_as_text(flights: Cli) -> None:
    put(flights, "a", b"a")
    ran = flights("compact", MAIN, "--log-level", "debug")
    (line,) = [line for line in ran.err.splitlines() if "background" in line]
    assert 'level=debug logger=graveler.background event="background ok"' in line


def test_no_secret_is_logged(cli: Cli) -> None:
    ran = cli("repo", "list", "--store", "postgresql://ada:CANARY@127.0.0.1:1/db", "--log-level", "debug")
    assert ran.code == 1
    assert "CANARY" not in ran.out + ran.err


def test_nothing_is_logged_unless_asked_for(flights: Cli) -> None:
    put(flights, "a", b"a")
    assert flights("compact", MAIN).err == ""
    refused(flights("compact", MAIN, "--log-level", "loud"), "loud", "debug, info, warning, error")
    refused(flights("compact", MAIN, "--log-level", "info", "--log-format", "xml"), "xml", "text, json")
