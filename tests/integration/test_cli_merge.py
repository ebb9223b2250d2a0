"""`graveler merge` with everything it can be asked for; conflicts as such are in `test_cli.py`."""

from __future__ import annotations

import pytest

from tests.integration.command_line import Cli, paths, put, refused

WORDS = ("merge", "graveler://flights/dev", "graveler://flights/main")


@pytest.fixture
def apart(flights: Cli) -> Cli:
    """Both branches changed January; dev has a second commit, and a path with a sign of equality."""
    flights("branch", "create", "graveler://flights/dev")
    for branch in ("main", "dev"):
        put(flights, "raw/jan.csv", branch.encode(), branch)
        put(flights, f"{branch}=1", b"own", branch)
        flights("commit", f"graveler://flights/{branch}", "-m", f"Change on {branch}")
    put(flights, "raw/mar.csv", b"march", "dev")
    flights("commit", "graveler://flights/dev", "-m", "March")
    return flights


def chain(cli: Cli) -> list[str]:
    """Messages of the branch's own commits, newest first."""
    log = cli("log", "graveler://flights/main", "--first-parent", "--json").documents
    return [commit["message"] for commit in log][:3]


@pytest.mark.parametrize(
    ("result", "shown"), [("source", "dev"), ("destination", "main"), ("remove", None)], ids=lambda value: value or ""
)
def test_a_path_is_resolved(apart: Cli, result: str, shown: str | None) -> None:
    assert apart(*WORDS, "--resolve", f"raw/jan.csv={result}", "--resolve", "dev=1=destination").code == 0
    assert ("raw/jan.csv" in paths(apart, "graveler://flights/main")) == (shown is not None)
    assert "dev=1" not in paths(apart, "graveler://flights/main")
    if shown is not None:
        assert apart("cat", "graveler://flights/main/raw/jan.csv").out == shown


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("raw/jan.csv=ours", "'ours' must be one of source, destination, remove"),
        ("raw/jan.csv", "must be KEY=VALUE"),
        ("nowhere=source", "not changed by the source"),
    ],
)
def test_a_bad_resolution_is_refused(apart: Cli, given: str, told: str) -> None:
    ran = apart(*WORDS, "--resolve", given)
    refused(ran)
    assert told in ran.err
    assert chain(apart)[0] == "Change on main"


def test_commits_are_repeated(apart: Cli) -> None:
    made = apart(*WORDS, "--strategy", "source", "--replay", "--meta", "by=hand", "--json").documents[0]
    assert chain(apart) == ["March", "Change on dev", "Change on main"]
    assert (made["message"], made["metadata"], len(made["parents"])) == ("March", {"by": "hand"}, 2)
    assert set(paths(apart, "graveler://flights/main")) == {*paths(apart, "graveler://flights/dev"), "main=1"}


def test_a_squash_has_one_parent(apart: Cli) -> None:
    ran = apart(*WORDS, "--strategy", "source", "--squash")
    assert "squashing dev into main" in ran.out
    assert ran.err == (
        "note: --squash makes one commit with one parent, as in Git; for a merge commit with two parents leave it out\n"
    )
    assert len(apart("log", "graveler://flights/main", "--json").documents[0]["parents"]) == 1
    assert chain(apart)[:2] == ["Squash 'dev' into 'main'", "Change on main"]


def test_the_former_words_are_refused(apart: Cli) -> None:
    ran = apart(*WORDS, "--no-squash")
    refused(ran, "--replay")
    refused(apart(*WORDS, "--squash", "--replay"), "exclude each other")
    assert chain(apart)[0] == "Change on main"


def test_what_changes_nothing_is_refused_unless_it_is_allowed(apart: Cli) -> None:
    left_out = [*WORDS, "--strategy", "destination", "--resolve", "dev=1=destination", "--resolve"]
    left_out.append("raw/mar.csv=destination")
    refused(apart(*left_out))
    assert apart(*left_out, "--allow-empty", "-m", "Leave it out").code == 0
    assert chain(apart)[0] == "Leave it out"
    refused(apart(*WORDS, "--allow-empty"))
    ran = apart(*WORDS, "--dry-run")
    refused(ran)
    assert ran.lines == []


def test_two_repositories_are_refused(apart: Cli) -> None:
    apart("repo", "create", "graveler://other")
    refused(apart("merge", "graveler://flights/dev", "graveler://other/main", "--allow-unrelated"))


@pytest.mark.parametrize("dry", [True, False])
def test_a_prefix_that_changed_refuses_the_merge(apart: Cli, dry: bool) -> None:
    words = [*WORDS, "--strategy", "source", *(["--dry-run"] if dry else [])]
    ran = apart(*words, "--unchanged", "reports/", "--unchanged", "raw/", "--unchanged", "main")
    refused(ran, "another commit changed 'raw/', 'main'", "'raw/jan.csv'", "'main=1'")
    assert ran.lines == ([["changed in both", "7", "3", "4", "raw/jan.csv"]] if dry else [])
    assert apart(*words, "--unchanged", "reports/").code == 0
    assert (chain(apart)[0] == "Change on main") == dry


def test_a_dry_run_ends_as_the_merge_would(apart: Cli) -> None:
    dry = (*WORDS, "--dry-run")
    refused(apart(*dry), "both sides changed 1 path,")
    given = (*dry, "--strategy", "source")
    assert apart(*given).code == 0
    apart("check", "require", "graveler://flights/main", "rows", "keys")
    apart("check", "report", "graveler://flights/dev", "rows", "--failed")
    refused(apart(*given), "'rows' failed", "'keys' was not reported")
    for check in ("rows", "keys"):
        apart("check", "report", "graveler://flights/dev", check, "--passed")
    assert apart(*given).code == 0
    apart("branch", "protect", "graveler://flights/main", "--block", "merge")
    refused(apart(*given), "blocks merge")
    apart("branch", "unprotect", "--yes", "graveler://flights/main")
    assert chain(apart)[0] == "Change on main"
    assert apart(*WORDS, "--strategy", "source").code == 0
    refused(apart(*given), "changes nothing here")
