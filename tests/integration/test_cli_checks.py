"""`graveler check report`, `list`, `require`, `required`: on files and SQLite."""

from __future__ import annotations

import pytest

from graveler_core.facade.checks import CheckRules
from graveler_core.facade.repository import Repository
from tests.integration.command_line import Cli, put, refused

MAIN, DEV, REPOSITORY = "graveler://flights/main", "graveler://flights/dev", "graveler://flights"


def rule(pattern: str, checks: list[str]) -> dict[str, object]:
    return {"type": "required checks", "pattern": pattern, "checks": checks}


def test_a_branch_takes_only_commits_that_passed(flights: Cli) -> None:
    flights("branch", "create", DEV)
    put(flights, "new", b"new", "dev")
    assert flights("commit", DEV, "-m", "new").code == 0
    assert flights("check", "require", MAIN, "rows", "keys", "--json").documents == [rule("main", ["keys", "rows"])]
    refused(flights("merge", DEV, MAIN), "'main'", "'keys' was not reported", "'rows' was not reported")
    assert flights("check", "report", DEV, "rows", "--passed").out == "check rows passed on dev\n"
    ran = flights("check", "report", DEV, "keys", "--failed", "-m", "2 twins", "--url", "https://ci/7", "--json")
    (document,) = ran.documents
    assert document.pop("since")
    assert document == {"name": "keys", "passed": False, "url": "https://ci/7", "message": "2 twins", "by": ""}
    refused(flights("merge", DEV, MAIN), "'keys' failed")
    assert flights("check", "list", DEV).lines == [
        ["keys", "failed", "", "2 twins", "https://ci/7"],
        ["rows", "passed", "", "", ""],
    ]
    flights("check", "report", DEV, "keys", "--passed")
    assert flights("merge", DEV, MAIN).code == 0


def test_rules_of_a_repository(flights: Cli) -> None:
    assert flights("check", "required", REPOSITORY, "--json").documents == []
    flights("check", "require", "graveler://flights/release-*", "rows")
    flights("check", "require", MAIN, "keys")
    assert flights("check", "required", REPOSITORY).lines == [["main", "keys"], ["release-*", "rows"]]
    assert flights("check", "require", MAIN, "--yes", "--json").documents == [rule("release-*", ["rows"])]
    refused(flights("check", "require", "graveler://flights/a b", "rows"), "a b")
    refused(flights("check", "report", "graveler://flights/nothing", "rows", "--passed"), "nothing")
    assert flights("check", "report", MAIN, "rows").code == 2


def test_single_checks_are_removed_from_a_rule(flights: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    flights("check", "require", MAIN, "rows", "keys", "old")
    assert flights("check", "unrequire", "--yes", MAIN, "old", "--json").documents == [rule("main", ["keys", "rows"])]
    refused(flights("check", "unrequire", "--yes", MAIN, "rows", "old"), "'old': not required by the rule 'main'")
    real = Repository.required_checks

    def required_checks(self: Repository) -> CheckRules:
        """Read the rules. Another process changes them immediately afterwards."""
        found = real(self)
        monkeypatch.setattr(Repository, "required_checks", real)
        self.require_checks("main", ["rows", "keys", "new"])
        return found

    monkeypatch.setattr(Repository, "required_checks", required_checks)
    assert flights("check", "unrequire", "--yes", MAIN, "rows", "--json").documents == [rule("main", ["keys", "new"])]
    assert flights("check", "unrequire", "--yes", MAIN, "keys", "new", "--json").documents == []
