"""`graveler branch protect`, `unprotect`, `protections`, `repo read-only`: on files and SQLite."""

from __future__ import annotations

from tests.integration.command_line import Cli, put, refused

MAIN, REPOSITORY = "graveler://flights/main", "graveler://flights"
DIRECT = ["write", "commit", "force"]


def rule(pattern: str, blocks: list[str]) -> dict[str, object]:
    return {"type": "protection", "pattern": pattern, "blocks": blocks}


def test_rules_of_a_repository(flights: Cli) -> None:
    assert flights("branch", "protections", REPOSITORY, "--json").documents == []
    assert flights("branch", "protect", MAIN, "--json").documents == [rule("main", DIRECT)]
    ran = flights("branch", "protect", "graveler://flights/r[0-9]*", "-b", "merge", "-b", "write", "--json")
    assert ran.documents == [rule("main", DIRECT), rule("r[0-9]*", ["write", "merge"])]
    assert flights("branch", "protections", REPOSITORY).lines == [
        ["main", "write,commit,force"],
        ["r[0-9]*", "write,merge"],
    ]
    assert flights("branch", "unprotect", "--yes", "graveler://flights/r[0-9]*", "--json").documents == [
        rule("main", DIRECT)
    ]
    refused(flights("branch", "unprotect", "--yes", "graveler://flights/r[0-9]*"), "no rule", "r[0-9]*")
    refused(flights("branch", "protect", MAIN, "--block", "reads"), "reads", "write, commit, merge, force")
    refused(flights("branch", "protect", "graveler://flights/a b"), "a b")


def test_a_protected_branch_takes_merges_alone(flights: Cli) -> None:
    flights("branch", "create", "graveler://flights/dev")
    flights("branch", "protect", MAIN)
    refused(flights("rm", f"{MAIN}/readme"), "'main' is protected", "'main' blocks write")
    refused(flights("commit", MAIN, "-m", "x"), "blocks commit")
    put(flights, "new", b"new", "dev")
    assert flights("commit", "graveler://flights/dev", "-m", "new").code == 0
    assert flights("merge", "graveler://flights/dev", MAIN).code == 0


def test_read_only(flights: Cli) -> None:
    assert flights("repo", "read-only", REPOSITORY, "--json").documents == [
        {"repository": "flights", "read_only": False}
    ]
    assert flights("repo", "read-only", REPOSITORY, "--on").out == "repository flights is read-only\n"
    refused(flights("repo", "delete", REPOSITORY, "--yes"), "read-only")
    refused(flights("tag", "create", "graveler://flights/v1", "main"), "read-only")
    assert flights("ls", "-r", MAIN).code == 0
    assert flights("repo", "read-only", REPOSITORY, "--off").out == "repository flights is writable\n"
    assert flights("repo", "delete", REPOSITORY, "--yes").code == 0


def test_settings_of_a_repository(flights: Cli) -> None:
    flights("branch", "create", "graveler://flights/dev", "--source", "main")
    (before,) = flights("repo", "settings", REPOSITORY, "--json").documents
    version = before.pop("version")
    assert before == {"repository": "flights", "default_branch": "main", "description": "", "index_sizes": {}}
    words = ["--default-branch", "dev", "--description", "of Ada", "--fan-out", "4", "--expected", version]
    (after,) = flights("repo", "settings", REPOSITORY, *words, "-m", "why", "--json").documents
    assert (after["default_branch"], after["description"], after["index_sizes"]) == ("dev", "of Ada", {"fan_out": 4})
    refused(flights("repo", "settings", REPOSITORY, "--fan-out", "8", "--expected", version), version, "as expected")
    refused(flights("repo", "settings", REPOSITORY, "--expected", version), "--expected: needs a setting")
    refused(flights("repo", "settings", REPOSITORY, "--inline-bytes", "1"), "inline_bytes 1")
    refused(flights("repo", "settings", REPOSITORY, "--default-branch", "none"), "'none' does not exist")
    refused(flights("branch", "delete", "graveler://flights/dev", "--yes"), "default branch")
    (more,) = flights("repo", "settings", REPOSITORY, "--fan-out", "0", "--fold-elements", "99", "--json").documents
    assert more["index_sizes"] == {"fold_elements": 99}
    assert "index_sizes: fold_elements=99" in flights("repo", "settings", REPOSITORY).out
    events = flights("reflog", REPOSITORY, "--json").documents
    moved = next(event for event in events if event["ref"] == "default_branch")
    assert (moved["kind"], moved["ref_type"], moved["before"]) == ("assigned", "setting", None)
    assert moved["message"] == "main -> dev: why"
    assert flights("repo", "metadata", REPOSITORY, "--set", "a=1", "--set", "b=2").out == "a: 1\nb: 2\n"
    assert flights("repo", "metadata", REPOSITORY, "--unset", "a", "--json").documents == [
        {"repository": "flights", "metadata": {"b": "2"}}
    ]
