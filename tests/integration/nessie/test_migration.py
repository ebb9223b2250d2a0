"""An export of Nessie comes over completely, in each version, and goes back as it was."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from graveler_core.errors import CorruptData, InvalidInput, NotFound, NotUnique
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.gc.findings import Trouble
from graveler_core.kv.backends.memory import open_memory
from graveler_core.model.entry import Entry
from graveler_core.refs import repositories
from graveler_core.transfer import migrated
from graveler_core.transfer.nessie import verification, writing
from graveler_core.transfer.nessie.files import delimited, open_files
from graveler_core.transfer.nessie.messages import ExportedCommitMessage, RefMessage
from tests.foreign.nessie_exports import (
    EMPTY,
    HISTORY,
    ORDERS,
    Export,
    Made,
    Op,
    commit_id,
    message,
    table,
    write_archive,
    write_directory,
)
from tests.foreign.nessie_exports import delimited as encoded
from tests.unit.engine.interposed import WRITES, Crash, Interposed
from tests.unit.engine.world import World
from tests.unit.engine.world import entry as some_entry

PATHS = {
    ("db",): "db",
    ("db", "orders"): "db/orders",
    ("db", "days"): "db/days",
    ("db", "a/b%c..d \u20ac"): "db/a%2Fb%25c..d \u20ac",
    (".", ".."): "%2E/%2E%2E",
    ("old",): "old",
}


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def graveler(world: World) -> Graveler:
    return world.graveler()


def archive(tmp_path: Path, export: Export = HISTORY, version: int = 2) -> str:
    return write_archive(export.files(version), tmp_path / f"export-{version}.zip")


def brought(world: World, graveler: Graveler, uri: str, name: str = "tables") -> Repository:
    graveler.migrate_nessie(name, uri, world.namespace(name))
    return graveler.repository(name)


def ids(graveler: Graveler, name: str = "tables") -> dict[str, str]:
    return {item.origin: item.commit_id for item in graveler.migrated_ids(name)}


def replayed(export: Export) -> dict[str, dict[str, Op]]:
    """What each commit shows, by path."""
    shown: dict[str, dict[str, Op]] = {"": {}}
    for commit in export.commits:
        now = dict(shown[commit.parent])
        for op in commit.ops:
            now.pop(PATHS.get(op.key, ""), None)
            if op.value:
                now[PATHS[op.key]] = op
        shown[commit.name] = now
    return shown


def listed(repo: Repository, ref: str) -> dict[str, Entry]:
    return {each.path: each for each in repo.at(ref).list() if isinstance(each, Entry)}


@pytest.mark.parametrize("version", [1, 2, 3])
def test_headers_references_commits_and_contents(
    world: World, graveler: Graveler, tmp_path: Path, version: int
) -> None:
    uri = (
        write_directory(HISTORY.files(version), tmp_path / "dir")
        if version == 3
        else archive(tmp_path, HISTORY, version)
    )
    dry = graveler.migrate_nessie("tables", uri, world.namespace("tables"), dry_run=True)
    assert (dry.commits, dry.version, [*graveler.list_repositories()]) == (6, version, [])
    done = graveler.migrate_nessie("tables", uri, world.namespace("tables"))
    assert done == replace(dry, dry_run=False)
    assert done.skipped_objects == (version == 3)
    assert done.renamed == {"feature/x": "feature-x", "release/1": "release-1"}
    repo, made, shown = graveler.repository("tables"), ids(graveler), replayed(HISTORY)
    for commit in HISTORY.commits:
        here, at = repo.commit(made[commit_id(commit.name).hex()]), made[commit_id(commit.name).hex()]
        assert (here.message, here.creation_date) == (commit.message, _time(commit.micros))
        assert here.parents == tuple(
            made[commit_id(name).hex()] for name in (commit.parent, *commit.more) if name not in ("", "gone")
        )
        assert listed(repo, at).keys() == shown[commit.name].keys()
        for path, op in shown[commit.name].items():
            entry = listed(repo, at)[path]
            assert (repo.at(at).read(path).decode(), entry.payload) == (op.value, op.payload)
            if op.id == "old-view":
                assert (entry.content_id, entry.metadata) == (None, {"nessie.content-id": op.id})
            else:
                assert (entry.content_id, entry.metadata) == (uuid.UUID(op.id), {})
    heads = {branch.id: branch.commit_id for branch in repo.branches()}
    assert heads == {
        "main": made[commit_id("idle").hex()],
        "feature-x": made[commit_id("side").hex()],
        "new": made[EMPTY.hex()],
    }
    assert {tag.id: tag.commit_id for tag in repo.tags()} == {
        "v1": made[commit_id("second").hex()],
        "release-1": made[commit_id("first").hex()],
    }
    assert repo.default_branch == "main"
    assert [*graveler.verify_nessie("tables", uri)] == []
    assert [each for each in repo.fsck(deep=True) if each.trouble is not Trouble.UNREACHABLE] == []


def test_the_namespace_of_another_store_is_taken_over_only_on_request(
    world: World, graveler: Graveler, tmp_path: Path
) -> None:
    uri = archive(tmp_path)
    other = replace(world, kv=open_memory("memory://")).graveler().create_repository("other", world.namespace("tables"))
    with pytest.raises(NotUnique, match=rf"belongs to repository {other.uid} of another store"):
        brought(world, graveler, uri)
    other.collect()
    assert [*graveler.list_repositories()] == []
    graveler.migrate_nessie("tables", uri, world.namespace("tables"), adopt=True)
    assert [*graveler.verify_nessie("tables", uri)] == []


def test_headers_become_committer_and_metadata(world: World, graveler: Graveler, tmp_path: Path) -> None:
    repo = brought(world, graveler, archive(tmp_path))
    made = {origin: repo.commit(id) for origin, id in ids(graveler).items()}
    first, second, merge = (made[commit_id(name).hex()] for name in ("first", "second", "merge"))
    origin = "graveler.migrated-from"
    assert first.committer == "ada"
    assert first.metadata == {
        "author": "ada",
        "nessie.headers": '{"author": ["ada", "grace"]}',
        origin: commit_id("first").hex(),
    }
    assert second.metadata == {
        "author": "ada",
        "date": "2020-01-01T00:00:00Z",
        "k": "one",
        "many": "x",
        "nessie.headers": '{"many": ["x", "y"]}',
        origin: commit_id("second").hex(),
    }
    assert merge.metadata["nessie.missing-parents"] == commit_id("gone").hex()
    assert repo.metadata()["owner"] == "ada"


def test_an_import_is_exported_as_it_was(world: World, graveler: Graveler, tmp_path: Path) -> None:
    repo = brought(world, graveler, archive(tmp_path))
    uri = f"{world.namespace('exports')}/back.zip"
    done = repo.export_nessie(uri)
    assert (done.branches, done.tags, done.commits) == (3, 2, 5)
    with open_files(world.blobs, uri) as files:
        commits = [ExportedCommitMessage.FromString(data) for data in delimited(files, "commits-00000001")]
        names = {
            found.name: found.pointer
            for found in map(RefMessage.FromString, delimited(files, "named-references-00000001"))
        }
    assert names == {
        "refs/heads/main": commit_id("idle"),
        "refs/heads/feature/x": commit_id("side"),
        "refs/heads/new": EMPTY,
        "refs/tags/v1": commit_id("second"),
        "refs/tags/release/1": commit_id("first"),
    }
    assert commits[0].id == commit_id("first")
    by_id = {found.id: found for found in commits}
    for there in HISTORY.commits:
        here = by_id[commit_id(there.name)]
        expected = ExportedCommitMessage.FromString(there.encoded(2))
        assert (here.parent, [*here.more_parents]) == (expected.parent, [*expected.more_parents])
        assert (here.message, here.created_micros) == (expected.message, expected.created_micros)
        headers = {header.name: [*header.values] for header in here.headers}
        assert {name: headers[name] for name in there.headers} == there.headers
        if there.name != "idle":  # its operations change nothing, so nothing is left of them
            operations = {op.key[0]: (op.kind, op.content_id, op.value) for op in here.operations}
            assert operations == {op.key[0]: (op.kind, op.content_id, op.value) for op in expected.operations}
    again = brought(world, graveler, uri, "again")
    assert listed(again, "main") == listed(repo, "main")


def test_a_restored_repository_is_that_of_the_export(world: World, graveler: Graveler, tmp_path: Path) -> None:
    uri, dump, back = archive(tmp_path), f"{world.namespace('dumps')}/x", f"{world.namespace('exports')}/back.zip"
    brought(world, graveler, uri).dump_refs(dump)
    there = replace(world, kv=open_memory("memory://")).graveler()
    repo = there.create_bare_repository("tables", world.namespace("tables"), adopt=True)
    repo.restore_refs(dump)
    assert ids(there) == ids(graveler)
    assert [*there.verify_nessie("tables", uri)] == []
    done = there.migrate_nessie("tables", uri, world.namespace("tables"))
    assert (done.commits, done.earlier_commits) == (0, 6)
    repo.export_nessie(back)
    with open_files(world.blobs, back) as files:
        commits = [ExportedCommitMessage.FromString(data) for data in delimited(files, "commits-00000001")]
    assert {commit.id for commit in commits} == {commit_id(commit.name) for commit in HISTORY.commits}


def test_a_repository_of_graveler_comes_back(world: World, graveler: Graveler) -> None:
    repo = world.repository()
    main, date = repo.branch("main"), datetime(2020, 1, 2, 3, 4, 5, 600_000, UTC)
    main.put("raw/a%2Fb.csv", b"AA,1\n")
    main.stage("plain", replace(some_entry(1), payload=3, content_id=uuid.UUID(ORDERS), metadata={"k": "v"}))
    main.commit("A day", committer="ada", metadata={"date": "someday", "committer": "eve", "k": "\u20ac"}, date=date)
    repo.create_branch("dev", "main")
    repo.branch("dev").stage("inline", Entry(data=b"\x00\xff", content_type="application/json", payload=1))
    repo.branch("dev").commit("In a branch", date=date)
    main.remove("plain")
    main.commit("Less")
    repo.merge("dev", into="main", message="Both")
    repo.create_tag("v1", "main~1")
    for uri, directory in ((f"{world.namespace('out')}/x.zip", False), (f"{world.namespace('out')}/dir", True)):
        done = repo.export_nessie(uri, directory=directory)
        with pytest.raises(NotUnique):
            repo.export_nessie(uri, directory=directory)
        copy = brought(world, graveler, uri, f"copy-{directory}".lower())
        assert [*graveler.verify_nessie(copy.id, uri)] == []
        assert (done.commits, done.tags) == (5, 1)
        for here, there in zip(repo.log("main"), copy.log("main"), strict=True):
            origin = {"graveler.migrated-from": here.id}
            assert (here.message, here.committer, here.creation_date) == (
                there.message,
                there.committer,
                there.creation_date,
            )
            assert {**here.metadata, **origin} == there.metadata
            assert [*listed(repo, here.id)] == [*listed(copy, there.id)]
        assert copy.branch("main").read("raw/a%2Fb.csv") == b"AA,1\n"
        assert listed(copy, "main~1").keys() == {"raw/a%2Fb.csv"}
        assert listed(copy, "dev")["inline"] == listed(repo, "dev")["inline"]
        assert listed(copy, "dev")["plain"].content_id == uuid.UUID(ORDERS)


def test_a_repetition_changes_nothing(world: World, graveler: Graveler, tmp_path: Path) -> None:
    uri = archive(tmp_path)
    repo = brought(world, graveler, uri)
    repo.branch("main").put("own", b"own")
    repo.branch("main").commit("Own work")
    head = repo.branch("main").record().commit_id
    done = graveler.migrate_nessie("tables", uri, world.namespace("tables"))
    assert (done.commits, done.earlier_commits) == (0, 6)
    assert repo.branch("main").record().commit_id == head
    assert [(found.name, found.how) for found in graveler.verify_nessie("tables", uri)] == [("main", "changed")]
    other = write_archive(replace(HISTORY, default="new").files(2), tmp_path / "other.zip")
    with pytest.raises(NotUnique, match="was not migrated from"):
        graveler.migrate_nessie("tables", other, world.namespace("tables"))


@pytest.mark.ci
def test_each_run_that_dies_is_completed_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrated, "BATCH_COMMITS", 2)
    uri, whole = archive(tmp_path), World()
    counted = Interposed(whole.kv)
    brought(whole, whole.graveler(counted), uri)
    expected = ids(whole.graveler())
    for at in (number for number, verb in enumerate(counted.verbs) if verb in WRITES):
        world = World()
        dying = Interposed(world.kv)
        dying.fail[at] = Crash()
        with pytest.raises(Crash):
            brought(world, world.graveler(dying), uri)
        again = world.graveler()
        brought(world, again, uri)
        assert ids(again) == expected
        assert [*again.verify_nessie("tables", uri)] == []


def test_small_files_and_batches_give_the_same(
    world: World, graveler: Graveler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri, out = archive(tmp_path), f"{world.namespace('out')}/x.zip"
    repo = brought(world, graveler, uri)
    expected, other = ids(graveler), World()
    for module, name in ((migrated, "BATCH_COMMITS"), (migrated, "BATCH_BYTES"), (writing, "FILE_BYTES")):
        monkeypatch.setattr(module, name, 1)
    monkeypatch.setattr(writing, "COMMITS_AT_ONCE", 1)
    brought(other, other.graveler(), uri)
    assert ids(other.graveler()) == expected
    repo.export_nessie(out)
    again = brought(world, graveler, out, "again")
    assert [commit.message for commit in again.log("main")] == [commit.message for commit in repo.log("main")]


def broken(name: str, data: bytes | None) -> dict[str, bytes]:
    files = HISTORY.files(2)
    if data is None:
        del files[name]
    else:
        files[name] = data
    return files


def with_commits(*commits: Made) -> dict[str, bytes]:
    return Export(commits, {"main": commits[-1].name}).files(2)


FIRST = HISTORY.commits[0]
META = HISTORY.files(2)["export-metadata"]
BROKEN = {
    "cut off": (broken("commits-00000001", HISTORY.files(2)["commits-00000001"][:-1]), "cut off"),
    "another count": (broken("commits-00000002", b""), "has 3 commits, but states 5"),
    "no commits": (broken("commits-00000001", None), "file commits-00000001 is missing"),
    "no heads": (broken("heads-and-forks", None), "file heads-and-forks is missing"),
    "an unknown head": (broken("heads-and-forks", message((1, b"xyz"))), "commit 78797a is named, but it is missing"),
    "an unknown version": (broken("export-metadata", META + message((2, 4))), "version 4 is unknown"),
    "no protobuf": (broken("export-metadata", b"\xff\xff"), "not readable"),
    "a file elsewhere": (broken("export-metadata", META + message((6, "../x"))), "../x"),
    "another reference": (
        broken("named-references-00000001", encoded([message((2, "refs/x/y"), (3, EMPTY))] * 5)),
        "neither a branch nor a tag",
    ),
    "a reference twice": (
        broken("named-references-00000001", encoded([message((2, "refs/heads/y"), (3, EMPTY))] * 5)),
        "duplicated",
    ),
    "a commit twice": (with_commits(FIRST, FIRST), "duplicated"),
    "no parent": (with_commits(Made("x", "y")), "its parent .* is missing"),
    "a circle": (with_commits(Made("x", "y"), Made("y", "x")), "ancestor of itself"),
    "another key": (with_commits(Made("x", ops=(Op(("a\0b",), "{}"),))), "not that of a content"),
    "an empty element": (with_commits(Made("x", ops=(Op(("a", ""), "{}"),))), "none may be empty"),
    "a long key": (with_commits(Made("x", ops=(Op(("a" * 1_001,), "{}"),))), "1,000"),
    "a payload": (with_commits(Made("x", ops=(Op(("a",), "{}", 128),))), "payload 128"),
    "a long message": (with_commits(Made("x", message="x" * 40_000)), "32,000"),
    "a reserved header": (with_commits(Made("x", headers={"nessie.headers": ["x"]})), "reserved"),
    "a time": (with_commits(Made("x", micros=1 << 62)), "commit .*"),
}


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_bad_input_gives_one_error_and_writes_nothing(
    world: World, graveler: Graveler, tmp_path: Path, name: str
) -> None:
    files, why = BROKEN[name]
    uri = (
        write_directory(files, tmp_path / "dir") if name == "a file elsewhere" else write_archive(files, tmp_path / "x")
    )
    with pytest.raises(CorruptData, match=why):
        graveler.migrate_nessie("tables", uri, world.namespace("tables"))
    assert [*graveler.list_repositories()] == []
    assert graveler.create_repository("tables", world.namespace("tables")).id == "tables"


def test_other_input(world: World, graveler: Graveler, tmp_path: Path) -> None:
    place, text = world.namespace("tables"), tmp_path / "text"
    text.write_text("no archive")
    with pytest.raises(CorruptData, match="not a readable ZIP archive"):
        graveler.migrate_nessie("tables", text.as_uri(), place)
    with pytest.raises(NotFound, match="neither a ZIP archive nor a directory"):
        graveler.migrate_nessie("tables", (tmp_path / "none").as_uri(), place)
    uri = archive(tmp_path)
    with pytest.raises(InvalidInput, match="no branch 'other'; name one of these: feature/x, main, new"):
        graveler.migrate_nessie("tables", uri, place, default_branch="other")
    twins = replace(HISTORY, branches={"feature/x": "first", "feature-x": "first", "main": "first"})
    with pytest.raises(InvalidInput, match=r"'feature/x' and 'feature-x' would both be 'feature-x'"):
        graveler.migrate_nessie("tables", write_archive(twins.files(2), tmp_path / "y"), place)


def test_a_difference_is_found(
    world: World, graveler: Graveler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The entry of one key, the entries of other keys, and the header are compared."""
    uri = archive(tmp_path)
    brought(world, graveler, uri)
    changed = replace(HISTORY.commits[0], ops=(Op(("db", "orders"), table(ORDERS, 9), 1, ORDERS),), message="Other")
    other = replace(HISTORY, commits=(changed, *HISTORY.commits[1:]))
    monkeypatch.setattr(
        verification, "migrated_repository", lambda stores, name, *_: repositories.find(stores.kv, name)
    )
    found = [*graveler.verify_nessie("tables", write_archive(other.files(2), tmp_path / "other.zip"))]
    assert {each.name for each in found} == {commit_id("first").hex()}
    assert sorted(each.why for each in found) == [
        "changes db, which the export does not",
        "message is Create the database, but Other in the export",
        "the entry of db/orders differs",
    ]


def _time(micros: int) -> datetime:
    return datetime.fromtimestamp(micros // 1_000_000, UTC).replace(microsecond=micros % 1_000_000)


def test_tags_of_tags_and_trees_are_exported_as_tags_of_commits(world: World, graveler: Graveler) -> None:
    repo = world.repository()
    repo.branch("main").stage("a", some_entry(1))
    head = repo.branch("main").commit("first").id
    repo.create_tag("v1", "main")
    repo.create_tag("of-tag", "v1", target="tag", message="approved")
    repo.create_tag("of-tree", "main", target="tree")
    out = f"{world.namespace('out')}/x.zip"
    assert repo.export_nessie(out).tags == 3
    again = brought(world, graveler, out, "again")
    made = again.commit("main")
    assert made.message == repo.commit(head).message
    assert [(tag.id, tag.target, tag.commit_id) for tag in again.tags()] == [
        (name, "commit", made.id) for name in ("of-tag", "of-tree", "v1")
    ]
