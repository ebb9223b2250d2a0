"""`graveler cherry-pick`, `transplant`, `revert`, `show`: commits applied again, undone and shown."""

from __future__ import annotations

import pytest

from tests.integration.command_line import Cli, refused
from tests.integration.test_cli_copying import MAIN, listed

DEV = "graveler://flights/dev"


@pytest.fixture
def two_commits(flights: Cli) -> Cli:
    """Branch `dev` from `main`, and two more commits on `main`, which move and copy a file."""
    flights("branch", "create", DEV, "--source", "main")
    flights("mv", f"{MAIN}/readme", f"{MAIN}/README")
    flights("commit", MAIN, "-m", "Shout", "--committer", "ada")
    flights("cp", f"{MAIN}/raw/jan.csv", f"{MAIN}/raw/copy.csv")
    flights("commit", MAIN, "-m", "Copy", "--meta", "rows=2")
    return flights


def messages(cli: Cli, uri: str) -> list[str]:
    return [row["message"] for row in cli("log", uri, "--json").documents]


def test_one_commit_is_applied_to_another_branch(two_commits: Cli) -> None:
    ran = two_commits("cherry-pick", MAIN, "dev", "--json")
    assert ran.documents[0]["message"] == "Copy"
    assert {"raw/copy.csv", "readme"} <= listed(two_commits, DEV).keys()
    assert messages(two_commits, DEV)[0] == "Copy"
    assert two_commits("cherry-pick", f"{MAIN}~1", DEV, "-m", "Louder").code == 0
    assert messages(two_commits, DEV)[0] == "Louder"


def test_several_commits_are_applied_together(two_commits: Cli) -> None:
    ran = two_commits("transplant", "graveler://flights", "dev", "main~1", "main")
    assert ran.code == 0, ran.err
    assert messages(two_commits, DEV)[:2] == ["Copy", "Shout"]
    assert listed(two_commits, DEV) == listed(two_commits)


def test_a_commit_is_undone(two_commits: Cli) -> None:
    assert two_commits("revert", f"{MAIN}~1", "main").code == 0
    assert {"readme", "raw/copy.csv"} <= listed(two_commits).keys()
    assert "README" not in listed(two_commits)
    assert len(messages(two_commits, MAIN)) == len(messages(two_commits, DEV)) + 3


def test_conflicts_are_listed_and_nothing_changes(two_commits: Cli) -> None:
    two_commits("rm", f"{DEV}/readme")
    two_commits("cp", f"{DEV}/raw/feb.csv", f"{DEV}/README")
    two_commits("commit", DEV, "-m", "Other")
    before = messages(two_commits, DEV)
    ran = two_commits("cherry-pick", f"{MAIN}~1", "dev", "--json")
    assert ran.code == 1
    assert [row["path"] for row in ran.documents if row["type"] == "conflict"] == ["README"]
    refused(ran, "cherry-pick of commit ", ": branch 'dev' has other changes of 1 path, the first is 'README'")
    undone = two_commits("revert", f"{MAIN}~1", "dev")
    refused(undone, "revert of commit ", ": branch 'dev' has other changes of 1 path, the first is 'README'")
    both = two_commits("transplant", "graveler://flights", "dev", "main~1", "main")
    refused(both, "transplant of commit ", "choose a strategy, or change the branch")
    assert messages(two_commits, DEV) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (f"cherry-pick {MAIN} graveler://other/dev", "must name a ref of repository 'flights'"),
        (f"cherry-pick {MAIN}/raw/ dev", "without a path"),
        (f"revert {MAIN} none", "none"),
        ("transplant graveler://flights dev main main~1", "oldest first"),
    ],
)
def test_what_cannot_be_applied_is_refused(two_commits: Cli, words: str, message: str) -> None:
    before = messages(two_commits, DEV), messages(two_commits, MAIN)
    refused(two_commits(*words.split()), message)
    assert (messages(two_commits, DEV), messages(two_commits, MAIN)) == before


def test_show_lists_a_commit_and_its_changes(two_commits: Cli) -> None:
    commit, change = two_commits("show", MAIN, "--json").documents
    assert (commit["type"], commit["message"], commit["metadata"]) == ("commit", "Copy", {"rows": "2"})
    assert (change["type"], change["kind"], change["path"]) == ("change", "added", "raw/copy.csv")
    lines = two_commits("show", f"{MAIN}~1").out.splitlines()
    assert lines[0] == f"commit {commit['parents'][0]}"
    assert "committer ada" in lines
    assert "Shout" in lines
    assert [line.split("\t")[-1] for line in lines[-2:]] == ["README", "readme"]
    assert len(two_commits("show", f"{MAIN}~1", "-n", "1", "--json").documents) == 2
