"""The command line on history: logs by range, prefix and token, what commits changed, differences, merges."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.integration.command_line import Cli, Ran, put, refused


def test_a_commit_and_its_log(flights: Cli) -> None:
    put(flights, "raw/mar.csv", b"march")
    made = flights("commit", "graveler://flights/main", "-m", "March", "--committer", "grace", "--json").documents[0]
    first, second, *_ = flights("log", "graveler://flights/main", "--json").documents
    assert first == {"type": "commit", **made, "token": first["token"]}
    assert (made["message"], made["committer"], made["metadata"]) == ("March", "grace", {})
    assert made["parents"] == [second["id"]]
    assert (second["message"], second["committer"], second["metadata"]) == ("Load two months", "ada", {"rows": "2"})
    rows = flights("log", "graveler://flights/main", "--limit", "1").lines
    assert [(row[0], row[2], row[3]) for row in rows] == [(made["id"], "grace", "March")]


def test_a_message_without_text_is_refused_unless_asked_for(flights: Cli) -> None:
    put(flights, "raw/mar.csv", b"march")
    for message in ("", " \n"):
        refused(flights("commit", "graveler://flights/main", "-m", message), "--allow-empty-message")
    made = flights("commit", "graveler://flights/main", "-m", "", "--allow-empty-message", "--json").documents[0]
    assert made["message"] == ""


@pytest.fixture
def diverged(flights: Cli) -> Cli:
    """A branch with two commits of its own, and another commit on main."""
    flights("branch", "create", "graveler://flights/dev", "--source", "main")
    put(flights, "raw/mar.csv", b"march", "dev")
    flights("commit", "graveler://flights/dev", "-m", "March")
    put(flights, "notes", b"notes", "dev")
    put(flights, "raw/jan.csv", b"better", "dev")
    flights("commit", "graveler://flights/dev", "-m", "Mend January")
    put(flights, "readme", b"read me")
    flights("commit", "graveler://flights/main", "-m", "Polite readme")
    return flights


def test_a_log_since_a_ref_and_of_a_prefix(diverged: Cli) -> None:
    def messages(*words: str) -> list[str]:
        ran = diverged("log", "graveler://flights/dev", *words)
        assert ran.code == 0, ran.err
        return [row[-1] for row in ran.lines]

    assert messages() == ["Mend January", "March", "Load two months", "Repository created"]
    assert messages("--since", "main") == messages("--since", "graveler://flights/main") == ["Mend January", "March"]
    assert messages("--path", "raw/jan") == ["Mend January", "Load two months"]
    assert messages("--path", "raw/", "--since", "main~1", "-n", "1") == ["Mend January"]
    diverged("merge", "graveler://flights/main", "graveler://flights/dev", "-m", "Merge")
    assert messages("--first-parent", "-n", "2", "--path", "readme") == ["Merge", "Load two months"]
    refused(diverged("log", "graveler://flights/dev", "--since", "absent"), "absent")
    refused(diverged("log", "graveler://flights/dev", "--since", "graveler://weather/main"), "weather", "flights")


def test_a_log_with_what_each_commit_changed(diverged: Cli) -> None:
    words = ["log", "graveler://flights/dev", "-n", "2"]
    assert [row[3:] for row in diverged(*words, "--stat").lines] == [
        ["+1 ~1 -0", "Mend January"],
        ["+1 ~0 -0", "March"],
    ]
    counted = diverged(*words, "--stat", "--path", "raw/", "--json").documents
    assert [row["changes"] for row in counted] == [
        {"added": 0, "changed": 1, "removed": 0},
        {"added": 1, "changed": 0, "removed": 0},
    ]
    rows = diverged(*words, "--changes").lines
    head, before = (row["id"] for row in counted)
    assert [(row[0], row[1].partition(" ")[2] or row[1]) for row in rows] == [
        (head, "ada: Mend January"),
        ("added", "notes"),
        ("changed", "raw/jan.csv"),
        (before, "ada: March"),
        ("added", "raw/mar.csv"),
    ]
    first, added, changed, *_ = diverged(*words, "--changes", "--json").documents
    assert [row["type"] for row in (first, added, changed)] == ["commit", "change", "change"]
    assert (added["path"], added["commit"], changed["before"]["size"]) == ("notes", first["id"], 7)
    refused(diverged(*words, "--stat", "--changes"), "--stat", "--changes")


def test_a_log_in_pieces(diverged: Cli) -> None:
    words = ["log", "graveler://flights/dev", "--json", "-n", "1"]
    seen: list[str] = []
    tokens: list[str] = []
    while rows := diverged(*words, *tokens).documents:
        seen.append(rows[0]["message"])
        tokens = ["--after", rows[0]["token"]]
        put(diverged, "more", f"{len(seen)}".encode(), "dev")
        diverged("commit", "graveler://flights/dev", "-m", "Meanwhile")
    assert seen == ["Mend January", "March", "Load two months", "Repository created"]
    refused(diverged(*words, "--after", "nonsense"), "nonsense", "token")
    refused(diverged(*words, "--first-parent", *tokens), "token")


def test_a_difference_since_the_merge_base_and_its_counts(diverged: Cli) -> None:
    def changes(uri: str) -> list[tuple[str, str]]:
        return [(row[0], row[-1]) for row in diverged("diff", uri).lines]

    own = [("added", "notes"), ("changed", "raw/jan.csv"), ("added", "raw/mar.csv")]
    assert changes("graveler://flights/main...dev") == own
    assert changes("graveler://flights/main..dev") == [*own, ("changed", "readme")]
    assert changes("graveler://flights/main...dev/raw/") == own[1:]
    assert diverged("diff", "graveler://flights/main..dev", "--stat").out == "2 added, 2 changed, 0 removed\n"
    assert diverged("diff", "graveler://flights/main...dev/raw/", "--stat", "--json").documents == [
        {"type": "summary", "added": 1, "changed": 1, "removed": 0}
    ]
    assert len(diverged("diff", "graveler://flights/main..dev", "-n", "2").lines) == 2


def test_branches_diff_and_merge(flights: Cli) -> None:
    assert flights("branch", "create", "graveler://flights/dev", "--source", "main").code == 0
    put(flights, "raw/mar.csv", b"march", "dev")
    flights("commit", "graveler://flights/dev", "-m", "March")
    expected = [("added", "raw/mar.csv")]
    for sides in (["graveler://flights/main..dev"], ["graveler://flights/main", "graveler://flights/dev"]):
        assert [(row[0], row[-1]) for row in flights("diff", *sides).lines] == expected
    assert flights("diff", "graveler://flights/main..dev/other/") == Ran(0, "", "")
    heads = {row["id"]: row["commit_id"] for row in flights("branch", "list", "graveler://flights", "--json").documents}
    merged = flights("merge", "graveler://flights/dev", "graveler://flights/main", "--json").documents[0]
    assert merged["parents"] == [heads["main"], heads["dev"]]
    assert flights("diff", "graveler://flights/main..dev").out == ""
    chain = flights("log", "graveler://flights/main", "--first-parent", "--json").documents
    assert "March" not in [commit["message"] for commit in chain]
    assert "March" in [commit["message"] for commit in flights("log", "graveler://flights/main", "--json").documents]
    assert flights("branch", "delete", "graveler://flights/dev", "--yes").code == 0
    assert [row[1] for row in flights("branch", "list", "graveler://flights").lines] == ["main"]


def test_a_branch_is_deleted_told_and_undeleted(diverged: Cli) -> None:
    head = diverged("log", "graveler://flights/dev", "--json", "-n", "1").documents[0]["id"]
    gone = diverged("branch", "delete", "graveler://flights/dev", "--yes", "-m", "merged by hand", "--committer", "ada")
    assert gone.code == 0, gone.err
    deleted, created = diverged("reflog", "graveler://flights", "--json").documents
    assert {
        name: deleted[name] for name in ("type", "kind", "ref_type", "ref", "before", "after", "by", "message")
    } == {
        "type": "event",
        "kind": "deleted",
        "ref_type": "branch",
        "ref": "dev",
        "before": head,
        "after": None,
        "by": "ada",
        "message": "merged by hand",
    }
    assert (created["kind"], created["ref"]) == ("created", "dev")
    kinds = [row[1] for row in diverged("reflog", "graveler://flights/dev").lines]
    assert kinds == ["deleted", "moved", "moved", "created"]
    behind = diverged("reflog", "graveler://flights", "--after", deleted["token"], "--json").documents
    assert behind == [created]
    again = diverged("branch", "undelete", "graveler://flights/dev", "--json").documents
    assert again == [{"id": "dev", "commit_id": head}]
    refused(diverged("branch", "undelete", "graveler://flights/dev"), "dev", "exists")
    refused(diverged("branch", "undelete", "graveler://flights/nobody"), "nobody", "no record of its deletion")
    refused(diverged("reflog", "graveler://flights/main/path"), "must name")
    refused(diverged("reflog", "graveler://flights", "--after", "x"), "token")


def test_tags_are_verified_by_what_the_settings_name(
    flights: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "tag_rules.py").write_text(
        "from graveler_core.errors import PermissionDenied\n"
        "def signed(tag, commit):\n"
        "    if tag.signature != 'ada':\n"
        "        raise PermissionDenied(f'tag {tag.id}: not signed by ada')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert flights("tag", "create", "graveler://flights/v1", "main").code == 0
    refused(flights("tag", "verify", "graveler://flights/v1"), "v1", "verify_tag")
    monkeypatch.setenv("GRAVELER_TAG_VERIFIER", "tag_rules:signed")
    refused(flights("tag", "verify", "graveler://flights/v1"), "not signed by ada")
    refused(flights("tag", "create", "graveler://flights/v2", "main"), "not signed by ada")
    made = flights("tag", "create", "graveler://flights/v2", "main", "--signature", "ada", "--json").documents
    assert flights("tag", "verify", "graveler://flights/v2", "--json").documents == made
    assert made[0]["signature"] == "ada"
    monkeypatch.setenv("GRAVELER_TAG_VERIFIER", "tag_rules")
    refused(flights("tag", "verify", "graveler://flights/v2"), "GRAVELER_TAG_VERIFIER")


def test_all_commits_by_id(diverged: Cli) -> None:
    diverged("branch", "delete", "graveler://flights/dev", "--yes")
    found = diverged("commits", "graveler://flights", "--json").documents
    logged = {row["id"]: row for row in diverged("log", "graveler://flights/main", "--json").documents}
    ids = [row["id"] for row in found]
    assert ids == sorted(ids)
    assert {row["message"] for row in found if row["id"] not in logged} == {"March", "Mend January"}
    for row in found:
        if row["id"] in logged:
            assert {**row, "token": logged[row["id"]]["token"]} == logged[row["id"]]
    pieces = [diverged("commits", "graveler://flights", "--after", after, "-n", "1").lines for after in ("", *ids)]
    assert [row[0] for rows in pieces for row in rows] == ids
    ends = diverged("commits", "graveler://flights", "--not-first-parent", "--json").documents
    parents = {row["parents"][0] for row in found if row["parents"]}
    assert ends == [row for row in found if row["id"] not in parents]
    assert len(ends) == 2


def test_one_tag_and_one_branch(flights: Cli) -> None:
    made = flights("tag", "create", "graveler://flights/v1", "main", "-m", "First", "--json").documents
    assert flights("tag", "show", "graveler://flights/v1", "--json").documents == made
    commit = made[0]["commit_id"]
    assert flights("tag", "show", "graveler://flights/v1").out == f"{commit}\tv1\tFirst\t\tcommit {commit[:12]}\n"
    assert flights("branch", "show", "graveler://flights/main").out == f"{commit}\tmain\n"
    assert flights("branch", "show", "graveler://flights/main", "--json").documents == [
        {"id": "main", "commit_id": commit}
    ]
    refused(flights("tag", "show", "graveler://flights/v"), "tag 'v' does not exist")
    refused(flights("branch", "show", "graveler://flights/v1"), "v1")


def test_tags_of_tags_and_trees(flights: Cli) -> None:
    uri = "graveler://flights"
    (first,) = flights("tag", "create", f"{uri}/v1", "main", "-m", "First", "--json").documents
    named = flights("tag", "create", f"{uri}/approved", "v1", "--target", "tag")
    assert named.out == "tagged tag v1 as approved\n", named
    (approved,) = flights("tag", "show", f"{uri}/approved", "--json").documents
    assert (approved["target"], approved["tagged"], approved["commit_id"]) == ("tag", first, first["commit_id"])
    (tree,) = flights("tag", "create", f"{uri}/content", "approved", "--target", "tree", "--json").documents
    assert (tree["target"], tree["tree"] is None, tree["tagged"]) == ("tree", False, None)
    assert flights("ls", f"{uri}/content").out == flights("ls", f"{uri}/main").out
    refused(flights("log", f"{uri}/content"), "is a tag of a tree")
    refused(flights("tag", "create", f"{uri}/v2", "main", "--target", "tag"), "tag 'main' does not exist")
    assigned = flights(
        "tag", "assign", f"{uri}/v1", "content", "--expected", first["commit_id"], "--target", "tag", "--json"
    )
    assert assigned.documents[0]["tagged"]["tree"] == tree["tree"]


def test_stored_objects_are_listed_by_type(flights: Cli) -> None:
    commits = sorted(row["id"] for row in flights("commits", "graveler://flights", "--json").documents)
    found = flights("repo", "objects", "graveler://flights", "--prefix", "commit/", "--json").documents
    assert [(row["type"], row["id"], row["referenced"]) for row in found] == [("commit", id, None) for id in commits]
    rest = ("--after", f"commit/{commits[-1]}", "--limit", "1")
    assert flights("repo", "objects", "graveler://flights", *rest).out.startswith(f"layout/{commits[0]}\t")
    bounds = ("--from", f"layout/{commits[0]}", "--to", f"layout/{commits[1]}")
    assert len(flights("repo", "objects", "graveler://flights", *bounds).lines) == 1


def test_listings_have_a_start_and_an_end(flights: Cli) -> None:
    """Seed 002, "All pageable operations": keys, differences and references with start and end."""
    put(flights, "raw/mar.csv", b"march")
    for name in ("a", "b", "c"):
        flights("branch", "create", f"graveler://flights/{name}", "--source", "main")
        flights("tag", "create", f"graveler://flights/t{name}", "main")
        flights("repo", "create", f"graveler://other-{name}")
    put(flights, "raw/apr.csv", b"april", "a")
    put(flights, "readme", b"changed", "a")
    flights("commit", "graveler://flights/a", "-m", "April")

    def listed(key: str, *words: str) -> list[str]:
        ran = flights(*words, "--json")
        assert ran.code == 0, ran.err
        return [row[key] for row in ran.documents]

    paths = listed("path", "ls", "-r", "graveler://flights/main")
    assert paths == ["raw/feb.csv", "raw/jan.csv", "raw/mar.csv", "readme"]
    bounds = ("--from", "raw/jan.csv", "--to", "readme")
    assert listed("path", "ls", "-r", "graveler://flights/main", *bounds) == paths[1:3]
    assert listed("path", "ls", "-r", "graveler://flights/main", *bounds, "--after", "raw/jan.csv") == paths[2:3]
    assert listed("path", "ls", "graveler://flights/main", *bounds) == ["raw/"]
    changed = flights("status", "graveler://flights/main", *bounds, "--json").documents
    assert [row["path"] for row in changed if row["type"] == "change"] == ["raw/mar.csv"]
    assert listed("path", "diff", "graveler://flights/main..a", "--to", "raw/z") == ["raw/apr.csv"]
    assert listed("path", "diff", "graveler://flights/main..a", "--from", "raw/b") == ["readme"]
    assert listed("id", "branch", "list", "graveler://flights", "--from", "b", "--to", "main") == ["b", "c"]
    assert listed("id", "branch", "list", "graveler://flights", "--prefix", "m", "--to", "n") == ["main"]
    assert listed("id", "tag", "list", "graveler://flights", "--from", "tb", "--limit", "1") == ["tb"]
    assert listed("id", "repo", "list", "--from", "other-b", "--to", "other-c") == ["other-b"]
    ids = listed("id", "commits", "graveler://flights")
    assert listed("id", "commits", "graveler://flights", "--from", ids[1], "--to", ids[2]) == [ids[1]]
    tokens = [row["token"] for row in flights("reflog", "graveler://flights", "--json").documents]
    newer = flights("reflog", "graveler://flights", "--from", tokens[1], "--to", tokens[3], "--json").documents
    assert [row["token"] for row in newer] == tokens[1:3]
    refused(flights("diff", "graveler://flights/main..a", "--stat", "--to", "x"), "--stat")
    refused(flights("status", "graveler://flights", "--to", "x"), "--to", "needs the URI of a branch")


def test_references_are_changed_only_where_they_are_expected(flights: Cli) -> None:
    """Seed 002: conditional deletion and assignment."""
    first, second = (row["id"] for row in flights("log", "graveler://flights/main", "--json").documents)
    flights("branch", "create", "graveler://flights/dev", "--source", "main")
    flights("tag", "create", "graveler://flights/v1", "main~1", "-m", "old")
    wrong = ("--expected", second, "--yes")
    refused(flights("branch", "delete", "graveler://flights/dev", *wrong), f"names commit {first}, not {second}")
    refused(flights("reset", "graveler://flights/dev", "--hard", "main~1", *wrong), first, second)
    refused(flights("tag", "delete", "graveler://flights/v1", "--expected", first, "--yes"), first, second)
    refused(flights("tag", "assign", "graveler://flights/v1", "main", "--expected", first), first, second)
    refused(flights("reset", "graveler://flights/dev", "--expected", first, "--yes"), "--expected: needs --hard")
    refused(flights("branch", "delete", "graveler://flights/dev", "--expected", first[:8], "--yes"), "64 characters")
    right = ("--expected", first, "--yes")
    made = flights("tag", "assign", "graveler://flights/v1", "main", "--expected", second, "-m", "new", "--json")
    assert {"id": "v1", "commit_id": first, "message": "new", "signature": ""}.items() <= made.documents[0].items()
    assert flights("reset", "graveler://flights/dev", "--hard", "main~1", *right).code == 0
    assert flights("branch", "delete", "graveler://flights/dev", "--expected", second, "--yes").code == 0
    assert flights("tag", "delete", "graveler://flights/v1", *right).code == 0
    assert [row[-1] for row in flights("branch", "list", "graveler://flights").lines] == ["main"]


def test_tags_are_signed_and_verified(flights: Cli, tmp_path: Path) -> None:
    """Seed 002: "a cryptographic signature" of tags, by a real signer."""
    for name in ("ada", "eve"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    allowed = tmp_path / "allowed"
    allowed.write_text(f"ada@example.com {(tmp_path / 'ada.pub').read_text()}")
    uri, trusted = "graveler://flights/v1", ("--allowed-signers", str(allowed))
    (made,) = flights("tag", "create", uri, "main", "-m", "ok", "--sign", str(tmp_path / "ada"), "--json").documents
    assert flights("tag", "verify", uri, *trusted).out == "tag v1 is signed by ada@example.com\n"
    (shown,) = flights("tag", "verify", uri, *trusted, "--json").documents
    assert shown == {**made, "signer": "ada@example.com"}
    eve = ("--sign", str(tmp_path / "eve"), "--expected", made["commit_id"])
    assert flights("tag", "assign", uri, "main~1", *eve).code == 0
    refused(flights("tag", "verify", uri, *trusted), "not signed by an allowed signer")
    refused(flights("tag", "assign", uri, "main", *eve, "--signature", "s"), "--sign and --signature exclude")
    refused(flights("tag", "create", "graveler://flights/v2", "main", "--sign", "nothing"), "no such file")
