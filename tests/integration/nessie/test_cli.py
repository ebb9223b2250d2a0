"""`graveler migrate nessie`, `nessie-verify` and `nessie-export`: what they print, and their exit codes."""

from __future__ import annotations

from pathlib import Path

from tests.foreign.nessie_exports import HISTORY, write_directory
from tests.integration.command_line import Cli

URI = "graveler://tables"


def test_import_verify_and_export(cli: Cli, tmp_path: Path) -> None:
    source, back = write_directory(HISTORY.files(3), tmp_path / "export"), (tmp_path / "back.zip").as_uri()
    ran = cli("migrate", "nessie", source, URI, "-n")
    assert (ran.code, ran.err, ran.out) == (0, "", "tables: would import 6 commits (0 are there)\n")
    ran = cli("migrate", "nessie", source, URI)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.split("; ") == [
        "tables: imported 6 commits",
        "branches: feature-x, main, new",
        "tags: release-1, v1",
        "renamed: feature/x to feature-x, release/1 to release-1",
        "left out: 1 other object\n",
    ]
    assert cli("migrate", "nessie-verify", source, URI).out == f"equal: 6 commits of {source}\n"
    ran = cli("migrate", "nessie-export", URI, back)
    assert (ran.code, ran.out) == (0, f"{back}: exported 3 branches, 2 tags, 5 commits, 9 operations\n")
    (document,) = cli("migrate", "nessie", back, "graveler://again", "--json").documents
    assert document == {
        "repository": "again",
        "version": 2,
        "commits": 6,
        "earlier_commits": 0,
        "branches": ["feature-x", "main", "new"],
        "tags": ["release-1", "v1"],
        "renamed": {"feature/x": "feature-x", "release/1": "release-1"},
        "skipped_objects": 0,
        "dry_run": False,
        "incomplete": False,
    }
    cli("branch", "delete", f"{URI}/new", "--yes")
    ran = cli("migrate", "nessie-verify", source, URI)
    assert (ran.code, [line[1:4] for line in ran.lines]) == (1, [["branch", "new", "missing"]])


def test_import_without_indexes_and_completion(cli: Cli, tmp_path: Path) -> None:
    source = write_directory(HISTORY.files(2), tmp_path / "export")
    ran = cli("migrate", "nessie", source, URI, "--incomplete")
    assert (ran.code, ran.out.split("; ")[-1]) == (0, "incomplete: run graveler migrate complete graveler://tables\n")
    (listed,) = cli("repo", "list", "--json").documents
    assert (listed["id"], listed["state"]) == ("tables", "incomplete")
    ran = cli("ls", f"{URI}/main/")
    assert (ran.code, ran.out) == (1, "")
    assert "complete it with `graveler migrate complete graveler://tables`" in ran.err
    ran = cli("fsck", URI, "--json")
    assert (ran.code, [found["trouble"] for found in ran.documents]) == (1, ["incomplete"])
    ran = cli("migrate", "complete", URI, "--workers", "2")
    assert (ran.code, ran.out) == (0, "tables: completed 6 commits; 0 were complete\n")
    (document,) = cli("migrate", "complete", URI, "--json").documents
    assert document == {"repository": "tables", "commits": 0, "earlier_commits": 6}
    assert cli("migrate", "nessie-verify", source, URI).code == 0
