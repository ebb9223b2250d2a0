"""`graveler migrate lakefs`: what it prints, its exit codes, and that no secret shows."""

from __future__ import annotations

import pytest

from tests.foreign import fixtures
from tests.foreign.lakefs_history import SECRET
from tests.integration.command_line import Cli
from tests.integration.lakefs.replay import Replay, replaying
from tests.integration.lakefs.states import SOURCE

URI = "graveler://flights"


def dump(state: str) -> list[str]:
    return [SOURCE, URI, "--manifest", fixtures.manifest(state)]


def test_a_dump(cli: Cli) -> None:
    ran = cli("migrate", "lakefs", *dump("first"), "-n")
    assert (ran.code, ran.err, ran.out) == (0, "", "flights: would migrate 6 commits (0 are there)\n")
    ran = cli("migrate", "lakefs", *dump("first"))
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "flights: migrated 6 commits; branches created: dev, main; tags created: v1, v2\n"
    assert cli("migrate", "lakefs-verify", *dump("first")).out == f"equal: 6 commits of {SOURCE}\n"
    ran = cli("migrate", "lakefs-verify", *dump("second"))
    assert (ran.code, len(ran.lines)) == (1, 4)
    assert {line[1] + " " + line[3] for line in ran.lines} == {
        "commit missing",
        "branch missing",
        "branch changed",
        "tag missing",
    }
    ran = cli("migrate", "lakefs", *dump("second"))
    assert ran.out == "flights: migrated 1 commit; branches created: later; branches moved: main; tags created: v3\n"


def test_documents(cli: Cli) -> None:
    (document,) = cli("migrate", "lakefs", *dump("first"), "--json").documents
    names = {"moved": [], "unchanged": [], "kept": []}
    assert document == {
        "repository": "flights",
        "commits": 6,
        "earlier_commits": 0,
        "branches": {"created": ["dev", "main"], **names},
        "tags": {"created": ["v1", "v2"], **names},
        "staged": 0,
        "dry_run": False,
    }
    assert cli("migrate", "lakefs-verify", *dump("first"), "--json").documents == [
        {"type": "equal", "from": SOURCE, "commits": 6}
    ]


@pytest.mark.parametrize("wrong", [False, True])
def test_a_server(cli: Cli, wrong: bool) -> None:
    with replaying(Replay()) as server:
        url = server.url.replace("AKIA", "wrong") if wrong else server.url
        ran = cli("migrate", "lakefs", url, URI, "--objects", SOURCE, "--uncommitted")
        assert SECRET not in ran.out + ran.err
        if wrong:
            assert ran.code != 0
            assert "status 401" in ran.err
            return
        assert ran.out.endswith("; 4 uncommitted changes\n")
        ran = cli("migrate", "lakefs-verify", url, URI, "--objects", SOURCE)
        assert (
            ran.out == f"equal: 7 commits of lakefs+http://AKIAIOSFODNN7EXAMPLE:***@127.0.0.1:{server.port}/flights\n"
        )
