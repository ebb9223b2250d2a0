"""`graveler migrate` from a SQLite file: what it prints, its exit codes, and that no password shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.lifecycle.sources import entry, insert, make_tables, opened
from graveler_core.errors import CorruptData
from graveler_core.transfer.migration.write import Writing
from tests.integration.command_line import Cli, paths, refused
from tests.unit.engine.world import START

SOURCE = "sqlite:///source.db"


@pytest.fixture
def source(here: Path) -> str:
    """A repository of a commit, with two staged records."""
    with opened(f"sqlite:///{here}/source.db") as connection:
        make_tables(connection)
        place = (here / "lake").as_uri()
        row = {"id": "flights", "storage_namespace": place, "creation_date": START, "default_branch": "main"}
        insert(connection, "graveler_repositories", [row])
        commit = {"repository_id": "flights", "id": "c1", "committer": "ann", "message": "first", "metadata": {}}
        rest = {"creation_date": START, "meta_range_id": "", "parents": [], "version": 1}
        insert(connection, "graveler_commits", [{**commit, **rest}])
        branch = {"repository_id": "flights", "id": "main", "staging_token": "t", "commit_id": "c1"}
        insert(connection, "graveler_branches", [branch])
        staged = [{"staging_token": "t", "key": key, "identity": b"i", "data": entry(1)} for key in (b"a", b"b")]
        insert(connection, "graveler_staging_kv", staged)
    return SOURCE


def tagged(here: Path, name: str) -> None:
    with opened(f"sqlite:///{here}/source.db") as connection:
        insert(connection, "graveler_tags", [{"repository_id": "flights", "id": name, "commit_id": "c1"}])


def test_all_of_it(cli: Cli, source: str) -> None:
    ran = cli("migrate", "compare", source)
    assert (ran.code, ran.lines) == (1, [["flights", "repository", "flights", "missing", ""]])
    ran = cli("migrate", "run", source, "-n")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "flights: would migrate 1 branch, 0 tags, 1 commit, 2 staged records\n"
    assert cli("migrate", "compare", source).code == 1
    ran = cli("migrate", "run", source, "--repository", "flights")
    assert ran.out == "flights: migrated 1 branch, 0 tags, 1 commit, 2 staged records\n"
    assert cli("migrate", "run", source).out == "flights: already there\n"
    assert cli("migrate", "compare", source).out == "equal: 4 rows of sqlite:///source.db\n"
    assert cli("migrate", "verify", source).out.startswith("equal: ")
    assert paths(cli, "graveler://flights/main/") == ["a", "b"]
    ((origin, id),) = cli("migrate", "ids", "graveler://flights").lines
    assert origin == "c1"
    (document,) = cli("log", "graveler://flights/main", "--json").documents
    assert (document["id"], document["metadata"]) == (id, {"graveler.migrated-from": "c1"})


def test_documents(cli: Cli, source: str, here: Path) -> None:
    (missing,) = cli("migrate", "compare", source, "--json").documents
    assert missing == {
        "type": "difference",
        "repository": "flights",
        "entity": "repository",
        "name": "flights",
        "how": "missing",
        "why": "",
    }
    tagged(here, "a/b")
    ran = cli("migrate", "run", source, "--json")
    assert ran.code == 1
    outcome, row = ran.documents
    assert (outcome["type"], outcome["result"], outcome["broken_rows"]) == ("repository", "broken", 1)
    assert (row["type"], row["table"], row["id"]) == ("broken row", "graveler_tags", "a/b")
    assert row["rule"].startswith("tag name 'a/b': must be")
    ran = cli("migrate", "run", source)
    assert ran.out.splitlines()[0] == "flights: broken: 1 row is broken, so the repository was not migrated"
    with opened(f"sqlite:///{here}/source.db") as connection:
        connection.exec_driver_sql("UPDATE graveler_tags SET id = 'ab'")
    (outcome,) = cli("migrate", "run", source, "--json").documents
    assert outcome == {
        "type": "repository",
        "repository": "flights",
        "result": "migrated",
        "branches": 1,
        "tags": 1,
        "commits": 1,
        "staged": 2,
        "resumed": False,
        "broken_rows": 0,
        "error": None,
    }
    (equal,) = cli("migrate", "verify", source, "--json").documents
    assert (equal["type"], equal["from"]) == ("equal", source)
    (item,) = cli("migrate", "ids", "graveler://flights", "--json").documents
    assert item["origin"] == "c1"


def test_a_source_that_changed(cli: Cli, source: str, here: Path) -> None:
    assert cli("migrate", "run", source).code == 0
    tagged(here, "late")
    ran = cli("migrate", "run", source)
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.startswith("flights: refused: repository 'flights': the source has changed since it was migrated")
    ran = cli("migrate", "verify", source)
    assert (ran.code, ran.lines) == (1, [["flights", "tag", "late", "missing", ""]])


def test_a_migration_that_is_given_up(cli: Cli, source: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the error says: delete it, clean up, migrate again."""

    def dies(writing: Writing) -> None:
        raise CorruptData("died here")

    with monkeypatch.context() as patched:
        patched.setattr(Writing, "tags", dies)
        assert cli("migrate", "run", source).code == 1
    assert cli("repo", "list", "--json").documents == []
    tagged(here, "late")
    ran = cli("migrate", "run", source)
    assert ran.code == 1
    assert "delete the repository, clean up, and migrate again" in ran.out
    ran = cli("repo", "delete", "graveler://flights", "--yes", "--wait", "--alone")
    assert (ran.code, ran.err) == (0, "")
    assert cli("migrate", "run", source).out == "flights: migrated 1 branch, 1 tag, 1 commit, 2 staged records\n"


def test_refusals(cli: Cli, source: str) -> None:
    refused(cli("migrate", "run", source, "--repository", "nobody"), "'nobody'", "is not in the source")
    refused(cli("migrate", "run", "sqlite:///nothing.db"), "nothing.db")
    refused(cli("migrate", "verify", "mysql://host/x"), "postgresql://")
    assert cli("migrate", "run", source, "--boundary-seed", "-1").code == 2
    refused(cli("migrate", "ids", "graveler://flights"), "flights")


def test_passwords_are_never_shown(cli: Cli, here: Path) -> None:
    urls = (
        "postgresql://ada:canary@127.0.0.1:1/lake?connect_timeout=1",
        "mysql://ada:canary@host/x",
        "sqlite:///x.db?password=canary",
    )
    for url in urls:
        for arguments in (("compare", url), ("run", url), ("verify", url), ("run", url, "-n", "--json")):
            ran = cli("migrate", *arguments)
            assert ran.code == 1
            assert "canary" not in ran.out + ran.err


def test_a_source_without_repositories(cli: Cli, here: Path) -> None:
    with opened(f"sqlite:///{here}/source.db") as connection:
        make_tables(connection)
    ran = cli("migrate", "run", SOURCE)
    assert (ran.code, ran.out) == (0, "sqlite:///source.db contains no repositories\n")
